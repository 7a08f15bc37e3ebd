"""What `fastest` says of times is wrong with probability at most δ, on machines that drift; its mutants are caught."""

import itertools

import numpy as np
import pytest

from statistical.list_tables import PINNED, most_allowed
from statistical.times_simulation import MACHINES, Machine, mutant, played, wrong_at_once, wrong_runs
from surest.speed.evidence import PILOT, Comparisons, least_count

RECENT_STAKES = (
    "self._faster += np.where(both[..., np.newaxis], faster, 0.0)",
    """own = np.clip(times[:, np.newaxis], self.low, self.high)
        gains = (own.T - own) / (self.high - self.low)
        self.recent = (getattr(self, "recent", []) + [gains])[-11:]
        before = self.recent[:-1] or [np.zeros_like(gains)]
        stakes = np.clip(np.mean(before, axis=0) / (np.mean(np.square(before), axis=0) + 0.01), 0.0, 0.95)
        self._faster += np.log1p(stakes * gains)[..., np.newaxis]""",
)
"""Stakes that follow the last ten blocks."""
SWITCHING = (
    "        faster, close = block_factors(times, ",
    """        mixed = times.copy()
        if len(self.blocks) > 2:
            mixed[:-1] = times[int(np.argmin(self.blocks[-3][:-1]))]
        faster, close = block_factors(mixed, """,
)
"""Opponents of the last command that change from block to block: whichever is about to be fast."""
ALTERNATING = Machine(lambda b: [(0.3, 0.8)[b % 2], (0.8, 0.3)[b % 2], 0.5])
"""The last command is the fastest on average, and in no block."""


@pytest.mark.parametrize(
    ("name", "seen"), [("equal", 8), ("a step", 0), ("at the tolerance", 0), ("back and forth", 0)]
)
def test_wrong_statements_are_rare_under_drift(name: str, seen: int) -> None:
    runs, delta = 100, 0.3
    wrong = wrong_runs(MACHINES[name], delta, runs, 80)
    assert wrong == seen <= most_allowed(runs, delta)


def test_many_runs_at_a_time_are_the_same_as_one_after_another() -> None:
    machine = MACHINES["equal"]
    one = wrong_runs(machine, 0.9, 60, 60)
    (many,) = wrong_at_once(machine, [0.9], 4000, 60, seed=1)
    assert (one, many) == (36, 2203)  # rates that a binomial law does not tell apart


IN_MANY_RUNS = {name: tuple(wrong) for name, wrong in PINNED["fastest"].items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_wrong_statements_in_many_runs(name: str) -> None:
    wrong = wrong_at_once(MACHINES[name], [0.1, 0.3], 4000, 300, seed=2)
    assert tuple(wrong) == IN_MANY_RUNS[name]
    assert wrong[0] <= most_allowed(4000, 0.1)
    assert wrong[1] <= most_allowed(4000, 0.3)


def test_stakes_that_follow_the_last_blocks_and_opponents_that_switch_are_noticed() -> None:
    runs, delta = 40, 0.3
    most = most_allowed(runs, delta)
    assert wrong_runs(MACHINES["back and forth"], delta, runs, 80, mutant(RECENT_STAKES)) > most
    assert wrong_runs(ALTERNATING, delta, runs, 60) == 0
    assert wrong_runs(ALTERNATING, delta, runs, 60, mutant(SWITCHING)) > most


SLOWEST_OF_GROUP = ("other[..., far].min(axis=-1", "other[..., far].max(axis=-1")
"""The hopeless commands stand for the slowest of them."""
ONE_OF_GROUP = ("other[..., far].min(axis=-1, keepdims=True)", "other")
"""Each hopeless command is compared by itself, at the level of all of them together."""


def wrong_about_a_group(others: int, delta: float, runs: int, compare: type[Comparisons]) -> int:
    """In how many runs command 0 is said to be faster than one of several that a pilot took for hopeless, and that are not."""
    wrong = 0
    for seed in range(runs):
        rng = np.random.default_rng([seed, 7])
        pilot = np.array([[1.0, *[2.0] * others]] * PILOT)
        pilot[3:, 1:] = np.nan
        pairs = compare(pilot, delta, 0.02)
        for _ in range(20):
            pairs.count(rng.choice([1.0, 2.0], 1 + others))
        wrong += bool(pairs.faster[0].any())
    return wrong


def test_hopeless_commands_are_one_opponent_that_is_as_quick_as_the_quickest_of_them() -> None:
    runs, delta = 60, 0.5
    most = most_allowed(runs, 0.9 * 0.9 * delta)  # the part of the error that command 0 has
    assert wrong_about_a_group(1, delta, runs, Comparisons) <= most
    assert wrong_about_a_group(12, delta, runs, Comparisons) <= 1
    assert wrong_about_a_group(12, delta, runs, mutant(SLOWEST_OF_GROUP)) > most
    assert wrong_about_a_group(12, delta, runs, mutant(ONE_OF_GROUP)) > most


def test_the_expected_wealth_is_one() -> None:
    """All sequences of fair differences, weighted: no stake gains or loses on average."""
    pilot = np.array([[1.0, 1.0], [1.3, 1.2], [0.9, 0.9], [0.8, 0.8], [1.2, 1.1]])
    total = np.zeros((2, 2))
    blocks = [((1.0, 1.1), 1 / 2), ((1.1, 1.0), 1 / 4), ((1.2, 1.1), 1 / 4)]
    for sequence in itertools.product(blocks, repeat=5):
        pairs = Comparisons(pilot, 0.1, 0.0)
        for times, _ in sequence:
            pairs.count(np.array(times))
        total += np.prod([chance for _, chance in sequence]) * np.exp(pairs.faster_evidence)
    assert total == pytest.approx(np.ones((2, 2)))


def test_the_right_command_is_named_in_about_as_many_blocks_as_before() -> None:
    machine = Machine(lambda b: [1.1, 1.0, 1.4], (0.93, 1.0, 1.07))
    answers = [played(machine, 0.05, seed) for seed in range(40)]
    assert [answer.arm for answer in answers] == [1] * 40
    assert all(answer.certified for answer in answers)
    assert np.mean([len(answer.pairs.blocks) for answer in answers]) == pytest.approx(26.5, rel=0.2)
    assert np.mean([answer.pairs.runs[2] for answer in answers]) < 30  # slow commands drop out early


def test_equal_commands_end_as_equal() -> None:
    answers = [played(Machine(lambda b: [1.0, 1.0], (0.98, 1.0, 1.02)), 0.05, seed) for seed in range(20)]
    assert [{answer.verdict(0), answer.verdict(1)} for answer in answers] == [{"fastest", "equal"}] * 20
    assert np.mean([len(answer.pairs.blocks) for answer in answers]) == pytest.approx(47, rel=0.2)


@pytest.mark.parametrize(("delta", "seen"), [(0.1, 58), (0.3, 239)])
def test_the_interval_of_the_median_holds_at_all_times(delta: float, seen: int) -> None:
    runs, looks = 1000, 200
    above = np.random.default_rng(3).integers(0, 2, (runs, looks)).cumsum(axis=1)
    needed = np.array([least_count(t, delta / 2) or t + 1 for t in range(1, looks + 1)])
    below = np.arange(1, looks + 1) - above
    missed = int(((above >= needed) | (below >= needed)).any(axis=1).sum())
    assert missed == seen <= most_allowed(runs, delta)


def test_a_pilot_is_not_counted() -> None:
    assert played(MACHINES["equal"], 0.05, 1, max_runs=PILOT + 3).pairs.runs.tolist() == [3, 3]
