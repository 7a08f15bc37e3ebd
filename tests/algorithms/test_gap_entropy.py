"""The constants of gap-entropy elimination: what its page derives, counted."""

from math import pi

import numpy as np
import pytest

from surest.arms.finite import bernoulli
from surest.core.protocol import Pull, Statistic
from surest.errors import PullLimitError
from surest.lab.rivals.gap_entropy import STAGES, _limited, gap_entropy_elimination
from surest.search.simulate import simulate


def test_all_errors_together_are_less_than_delta() -> None:
    for delta in (0.9, 0.1, 0.01, 1e-6):
        eta = min(delta, 0.01)
        assert (pi**2 / 6) ** 2 / 50 * eta + STAGES * eta**2 / 10 <= 0.16 * delta


def test_a_stage_over_its_limit_is_rejected() -> None:
    def stage():
        yield Pull([0], 60, Statistic.MEAN)
        yield Pull([0], 60, Statistic.MEAN)
        return np.array([0])

    arms = bernoulli([0.5])
    assert simulate(_limited(stage(), 119), arms.simulate(0)).value is None
    assert simulate(_limited(stage(), 120), arms.simulate(0)).value.tolist() == [0]


def test_arms_that_cannot_be_told_apart_end_in_words() -> None:
    procedure = gap_entropy_elimination(np.arange(2), 0.1, rng=np.random.default_rng(0))
    with pytest.raises(PullLimitError, match="equally good"):
        simulate(procedure, bernoulli([0.5, 0.5]).simulate(0))
