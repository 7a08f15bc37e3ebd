"""How far arms can be below the best: against the definition, and against the truth."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from asking import feed
from surest.evidence.pulls.apart import shortfalls
from surest.evidence.pulls.betting import above, below
from surest.evidence.pulls.digest import Digests
from surest.kernels.constants import CLOSE
from surest.search.session import Session


def rewards(rng: np.random.Generator, means: list[float], times: int) -> Digests:
    digests = Digests(len(means))
    for arm, mean in enumerate(means):
        digests.add(np.full(times, arm), (rng.random(times) < mean).astype(float))
    return digests


def holds(digests: Digests, i: int, gap: float, delta: float) -> bool:
    """The definition, at 80 levels: A_i(x) + B_j(x + gap) ≥ log(n/δ) for every other arm j."""
    others, goal = np.delete(np.arange(len(digests.size)), i), math.log(len(digests.size) / delta)
    levels = np.linspace(0, 1 - gap, 82)[1:-1]
    return all((above(digests, x)[i] + below(digests, x + gap)[others] >= goal).all() for x in levels)


@pytest.mark.parametrize("seed", range(2))
def test_it_is_the_smallest_gap_that_is_refuted_against_every_other_arm(seed: int) -> None:
    digests = rewards(np.random.default_rng(seed), [0.5, 0.45, 0.2], 300)
    gaps = shortfalls(digests, [0, 2], 0.1)
    for i, gap in zip([0, 2], gaps, strict=True):
        assert holds(digests, i, gap, 0.1)
        assert not holds(digests, i, gap - 10 * CLOSE, 0.1)


def test_rewards_in_two_parts_count_as_one() -> None:
    rng = np.random.default_rng(3)
    first, second = rewards(rng, [0.6, 0.5], 40), rewards(rng, [0.6, 0.5], 60)
    together = first.copy()
    together.take(second.copy())
    assert shortfalls(first, [0, 1], 0.1, second).tolist() == shortfalls(together, [0, 1], 0.1).tolist()


def test_nothing_is_known_without_rewards_and_the_only_arm_is_the_best() -> None:
    assert shortfalls(Digests(2), [0, 1], 0.1).tolist() == [1.0, 1.0]
    assert shortfalls(Digests(1), [0], 0.1).tolist() == [0.0]


def missed(seed: int) -> bool:
    """Whether at one of 8 looks some arm is further below the best than its bound says."""
    rng, means, delta = np.random.default_rng(seed), [0.5, 0.5, 0.4, 0.35], 0.3
    seen = Digests(4)
    for _ in range(8):
        seen.take(rewards(rng, means, 30))
        if (np.max(means) - means > shortfalls(seen, range(4), delta)).any():
            return True
    return False


def test_all_bounds_hold_at_all_looks() -> None:
    count = sum(missed(seed) for seed in range(50))
    assert count == 0 <= binom.ppf(1 - 1e-4, 50, 0.3)


def test_once_arms_were_added_nothing_is_said_of_all_arms_together() -> None:
    """All arms share δ, and arms that come later may be chosen by what was seen."""
    session, rng = Session(["a", "b"], reserve=0.1, seed=1), np.random.default_rng(1)
    for grown in (False, True):
        while session.running.pulls < (400 if grown else 200):
            feed(session, (rng.random(session.running.request.total) < 0.5).astype(float))
        result = session.result()
        assert len(result.contenders or ()) == len(session.labels)
        assert (result.apart is None, result.lead_bounds is None) == (grown, grown)
        if not grown:
            session.grow(["c"])
