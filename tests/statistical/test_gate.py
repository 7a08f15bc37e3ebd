"""A gate's verdict is wrong with probability at most δ: counted; tests/evidence has small lists, exactly, and mistakes."""

import numpy as np
import pytest

from statistical.list_tables import MANY, most_allowed
from surest.evidence.lists.gate import judge


def differences(items: int, better: int, worse: int) -> np.ndarray:
    """Differences of 0/1 scores: the candidate is right alone on some items, the baseline on others."""
    return np.repeat([1.0, -1.0, 0.0], [better, worse, items - better - worse])


BOUNDARY = {  # lists on which one verdict is wrong, with its side and the margin
    "worse by more than the margin": ("passed", differences(100, 19, 30), 0.1),
    "no difference": ("failed", differences(100, 25, 25), 0.1),
    "pass, 20 % disagree": ("passed", differences(1000, 84, 115), 0.03),
    "fail, 20 % disagree": ("failed", differences(1000, 100, 100), 0.03),
    "pass, rare large losses": ("passed", np.repeat([0.02, -1.0], [950, 50]), 0.03),
    "fail, rare large gains": ("failed", np.repeat([-0.02, 0.98], [980, 20]), 0.03),
}
MANY_ORDERS = zip([*BOUNDARY][2:], [(282, 931), (347, 1064), (344, 1025), (377, 1120)], strict=True)


@pytest.mark.parametrize(
    ("name", "delta", "runs", "count"),
    [
        ("worse by more than the margin", 0.3, 100, 19),
        ("no difference", 0.3, 100, 25),
        pytest.param("worse by more than the margin", 0.3, 300, 63, marks=MANY),
        pytest.param("no difference", 0.3, 300, 57, marks=MANY),
        *(
            pytest.param(n, d, 4000, c, marks=MANY)
            for n, cs in MANY_ORDERS
            for d, c in zip((0.1, 0.3), cs, strict=True)
        ),
    ],
)
def test_wrong_verdicts_at_the_boundary_are_as_rare_as_delta_allows(
    name: str, delta: float, runs: int, count: int
) -> None:
    """In so many random orders a verdict is ever reached that is wrong on this list."""
    rng, (side, path, margin) = np.random.default_rng(17), BOUNDARY[name]
    found = (judge(rng.permutation(path), float(len(path)), margin, delta) for _ in range(runs))
    assert sum(getattr(one, side) is not None for one in found) == count <= most_allowed(runs, delta)


@pytest.mark.parametrize(
    ("better", "worse", "runs", "low", "high"),
    [
        (100, 100, 12, 440, 660),
        pytest.param(115, 85, 1000, 257, 281, marks=MANY),
        pytest.param(100, 100, 1000, 505, 545, marks=MANY),
        pytest.param(92, 107, 1000, 636, 680, marks=MANY),
    ],
)
def test_items_needed(better: int, worse: int, runs: int, low: float, high: float) -> None:
    """Items until a verdict, on average: 1,000 items, a margin of .03, δ = .05."""
    rng, path = np.random.default_rng(3), differences(1000, better, worse)
    found = [judge(rng.permutation(path), 1000.0, 0.03, 0.05) for _ in range(runs)]
    assert low < np.mean([min(one.passed or 1000, one.failed or 1000) for one in found]) < high


@pytest.mark.parametrize(
    ("delta", "runs", "counts"),
    [
        (0.1, 40, [2, 18, 2]),
        pytest.param(0.1, 100, [6, 53, 2], marks=MANY),
        pytest.param(0.1, 4000, [223, 2010, 66], marks=MANY),
        pytest.param(0.3, 4000, [768, 2239, 394], marks=MANY),
    ],
)
def test_samples_of_a_population(delta: float, runs: int, counts: list[int]) -> None:
    """Wrongly passed at the boundary, wrongly passed by the rule for lists, wrongly failed where there is no difference."""
    rng, found = np.random.default_rng(5), np.zeros(3, int)
    for _ in range(runs):
        worse = rng.choice([1.0, -1.0, 0.0], 200, p=[0.2, 0.3, 0.5])
        equal = rng.choice([1.0, -1.0, 0.0], 200, p=[0.25, 0.25, 0.5])
        passed = (judge(worse, total, 0.1, delta).passed is not None for total in (np.inf, 200.0))
        found += *passed, judge(equal, np.inf, 0.1, delta).failed is not None
    assert found.tolist() == counts
    assert max(counts[0], counts[2]) <= most_allowed(runs, delta) < counts[1]


def test_each_end_of_the_interval_holds_at_all_times() -> None:
    """At δ = .2 an end may miss in a fifth of the runs. What was refuted stays so: a late look shows all earlier ones."""
    rng, runs, misses = np.random.default_rng(9), 50, np.zeros(2)
    path = differences(120, 30, 24)
    for _ in range(runs):
        order = rng.permutation(path)
        late = judge(order[:-1], 120.0, 0.05, 0.2)
        misses += late.low > 0.05 + 1e-9, late.high < 0.05 - 1e-9
    assert misses.max() <= most_allowed(runs, 0.2)
    assert misses.min() > 0, "the ends are not so wide that they could not miss"
