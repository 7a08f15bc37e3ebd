"""The constants of gap-entropy elimination: what its page derives, counted."""

from math import ceil, floor, log, pi

import numpy as np
import pytest

from surest.arms.finite import bernoulli
from surest.core.protocol import Pull, Statistic
from surest.errors import PullLimitError
from surest.lab.rivals.gap_entropy import STAGES, _limited, gap_entropy_elimination
from surest.search.simulate import simulate


def outer_share(eta: float, t: int, j: int) -> float:
    """The pulls of the Mean and Fraction calls of a stage's rounds, as printed, as a share of B."""
    b = 100.0**t
    rounds = max(0, floor(log(b / (log(1 / eta) + log(t + 1))) / log(4)) - j)
    pulls = 0
    for r in range(1, rounds + 1):
        alpha, d = eta / (50 * t**2 * r**2), 1 / (10 * (rounds + 1 - r) ** 2)
        pulls += ceil(128 * 4**r * log(2 / alpha))
        pulls += ceil(36 * d**-2 * log(2 / alpha)) * ceil(2 * (5 / 16) ** -2 * 4**r * log(12 / d))
    return pulls / b


def test_sixteen_is_the_least_j() -> None:
    grid = [(10.0**-x, t) for x in (2, 3, 5, 10, 30, 100) for t in range(1, 60)]
    assert max(outer_share(*point, 16) for point in grid) == pytest.approx(0.0069, rel=0.01)
    assert max(outer_share(*point, 15) for point in grid) > 0.01


def test_the_series_behind_j() -> None:
    total = sum(4.0**-s * (128 + 73_728 * s**4 * log(120 * s**2)) for s in range(1, 60))
    assert 16 * total * 4.0**-16 < 0.01
    assert total == pytest.approx(2.47e6, rel=0.01)


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
