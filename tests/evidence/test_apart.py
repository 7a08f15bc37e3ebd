"""How far arms, and contenders on a list, can be below the best: against the definition, and against the truth."""

import math

import numpy as np
import pytest

from asking import feed
from one_pair import above, below
from surest.evidence.lists.race import Standings
from surest.evidence.lists.verdict import BISECTIONS, pairs_apart
from surest.evidence.pulls.apart import shortfalls
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


# --- on lists -----------------------------------------------------------------------------------------------------------


def slow_apart(
    scores: list[list[float]], wealth: list[float], seen: list[int], play: list[int], total: int, delta: float
) -> float:
    """The same in plain Python: the smallest gap of the grid at which every pair has what it needs."""

    def evidence(i: int, j: int, gap: float) -> float:
        split, lead = [1 / 8] * 8, 0.0
        for s in range(seen[j]):
            left, apart = total - s, scores[s][i] - scores[s][j]
            if left - lead <= 1e-9 * left or lead + total * gap >= left:
                return float("inf")
            for k in range(8):
                split[k] *= 1 + 0.9 * 0.5**k / (1 - lead / left) * (apart + (lead + total * gap) / left)
            lead += apart
        return float("inf") if total - seen[j] - lead - total * gap <= 1e-9 * total else sum(split)

    n = len(wealth)
    for step in range(1, 2**BISECTIONS + 1):
        gap = step / 2**BISECTIONS
        if all(
            0.8 * wealth[j] + 0.2 / (n - 1) * evidence(i, j, gap) >= 1 / delta for i in play for j in range(n) if j != i
        ):
            return gap
    return 1.0


@pytest.mark.parametrize("seed", range(3))
def test_the_distance_agrees_with_a_slow_computation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = (rng.random((3, 60)) < np.array([0.7, 0.6, 0.3])[:, None]).astype(float)
    standings = Standings(3, np.ones(60), 0.2, share=0.99)
    for item in range(40):
        standings.count(table[standings.play, item])
        if len(standings.play) == 2:
            break
    scores = np.nan_to_num(standings.scores.values[: standings.scores.t]).tolist()
    seen, play = standings.scores.seen.tolist(), standings.play.tolist()
    slow = slow_apart(scores, standings.current().tolist(), seen, play, 60, 0.2)
    assert pairs_apart(standings, 0.2) == pytest.approx(slow, abs=1e-12)
    assert 0.1 < slow < 1
