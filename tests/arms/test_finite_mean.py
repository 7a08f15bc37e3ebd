"""The short way to the mean of a two-valued arm is the long way."""

import numpy as np
import pytest

from surest.arms.finite import EXACT, _counts, _mean_of


@pytest.mark.parametrize("times", [1, 7, 10**6, 10**13, EXACT, EXACT + 5])
@pytest.mark.parametrize("values", [[0.0, 1.0], [0.125, 0.75], [0.1, 0.3, 0.9], [0.4]])
def test_the_mean_is_that_of_the_counts(times: int, values: list[float]) -> None:
    probabilities = np.arange(1.0, len(values) + 1) / np.arange(1.0, len(values) + 1).sum()
    for seed in range(5):
        counts = _counts(np.random.default_rng(seed), times, probabilities)
        assert counts.sum() == times
        mean = _mean_of(np.random.default_rng(seed), times, np.array(values), probabilities)
        assert mean == pytest.approx(counts @ np.array(values) / times, rel=1e-14)
