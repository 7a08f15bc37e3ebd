"""How far apart the contenders on a list can be: the number itself, where it is told, and in which units."""

import numpy as np
import pytest

from surest.core.protocol import Status
from surest.core.scale import Scale
from surest.evidence.lists.race import Standings
from surest.evidence.lists.verdict import BISECTIONS, Verdict, pairs_apart, with_waiting
from surest.lab.bench.items import run_on_table


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


def test_it_is_told_while_there_are_several_contenders() -> None:
    rng = np.random.default_rng(1)
    table = (rng.random((4, 200)) < np.array([0.6, 0.58, 0.55, 0.2])[:, None]).astype(float)
    short = run_on_table(table, 0.05, 1, budget=250).answer
    assert len(short.contenders) > 1
    assert 0 < short.status.apart < 1
    assert run_on_table(np.array([[1.0] * 50, [0.0] * 50]), 0.05, 1).answer.status.apart is None


def test_with_many_arms_it_is_read_off_the_intervals() -> None:
    verdict = Verdict(41, np.ones(100), 0.05, 0.0)
    standings = verdict.standings
    for _ in range(50):
        standings.count(np.full(41, 0.5))
    status = verdict.status()
    low, high = status.intervals
    assert status.apart == high.max() - low.min() < 0.6


def test_of_arms_that_wait_nothing_is_known_and_it_is_in_the_units_of_the_scores() -> None:
    status = Status(leader=0, contenders=(0, 1), in_play=2, apart=0.25)
    assert with_waiting(status, 1).apart == 1
    assert with_waiting(status, 0).apart == 0.25
    assert Scale(0, 60, minimise=True).status(Status(leader=0, apart=0.25)).apart == 15
    assert Scale(0, 60).status(Status(leader=0)).apart is None
