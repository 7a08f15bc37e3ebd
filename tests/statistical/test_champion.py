"""Champions whose scores are known in part: over all orders the mean wealth is at most 1, and mistakes push it above."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

import surest
from statistical.list_tables import most_allowed
from statistical.race_mutants import mistakes_of, mutant_of, source_of
from surest.evidence.lists import champion as evidence
from surest.evidence.lists import gate
from surest.evidence.lists.gate import mirrored, new_state
from surest.kernels.constants import STEPS, WEIGHTS

ROWS = np.array([[0.0, 0.0, 1.0, 1.0, 0.3], [0.2, 0.0, 0.9, 0.0, 1.0]])
KNOWN = [np.isin(range(5), places) for places in ([0], [2, 3], [0, 1], [1, 2, 4], [0, 1, 2, 3, 4])]


def wealths(known: np.ndarray, apart: np.ndarray, mean: float) -> list[float]:
    """What the bets beside predictions, of both sides, come to against the truth at the end of one order."""
    contest = evidence.Contest(known, 0.0, 1e-250, 1e-250)
    contest._known._every = 2
    for difference in apart.tolist():
        contest.verdict = ""
        contest.add(difference)
    made = []
    for path, told, x in ((apart, contest._known._told, mean), (-apart, mirrored(contest._known._told), -mean)):
        state = new_state()
        evidence.lists.bet_above(path, told, 0, float(len(path)), x, 1e250, False, 0.0, state)
        made.append(float(WEIGHTS @ state[1 + STEPS : 2 + 2 * STEPS]))
    return made


def worst(*, known_first: bool = False, known_mean: bool = False) -> float:
    """The largest mean over all orders, of both sides, whichever scores of the champion are known."""
    found = []
    for old, new in (ROWS, ROWS[::-1]):
        for there in KNOWN:
            taken = np.where(there, old, old[there].mean()) if known_mean else old
            known, made = taken if known_mean else np.where(there, old, np.nan), []
            for order in map(list, permutations(range(5))):
                if known_first:
                    order.sort(key=lambda item: not there[item])
                made.append(wealths(known[order], (new - taken)[order], float(np.mean(new - old))))
            found.append(np.mean(made, axis=0).max())
    return float(max(found))


def test_over_all_orders_the_mean_wealth_is_at_most_1_whatever_is_known() -> None:
    assert 0.9 < worst() <= 1 + 1e-12


def test_known_cells_first_and_the_mean_of_known_cells_are_seen_over_all_orders() -> None:
    assert worst(known_first=True) > 1.4
    assert worst(known_mean=True) > 1.5


MISTAKES = mistakes_of("champion")


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_predictions_is_seen_over_all_orders(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (change,) = MISTAKES[name]
    if change[0] in source_of(gate):
        monkeypatch.setattr(evidence, "Predictions", mutant_of(gate, change).Predictions)
    else:
        monkeypatch.setattr(gate, "lists", mutant_of(evidence.lists, change))
    assert worst() > 1.001


@pytest.mark.parametrize(("up", "down", "wrong"), [(15, 15, "promoted"), (21, 9, "rejected")])
def test_wrong_verdicts_are_as_rare_as_their_levels_allow(up: int, down: int, wrong: str) -> None:
    """One that is as good, and one that is better by just `worth`, only items that the champion got right being known."""
    rng, runs, times = np.random.default_rng(5), 150, 0
    old = np.repeat([1.0, 0.0], 60)
    new, known = old.copy(), np.where(np.arange(120) < 48, old, np.nan)
    new[:down], new[60 : 60 + up] = 0.0, 1.0
    levels = (0.2, 1e-200) if wrong == "promoted" else (1e-200, 0.2)
    for _ in range(runs):
        order = rng.permutation(120)
        contest = evidence.Contest(known[order], 0.1, *levels)
        times += [contest.add(apart) for apart in (new - old)[order][:-1].tolist()][-1] == wrong
    assert 0 < times <= most_allowed(runs, 0.2)


def test_orders_are_uniform() -> None:
    seen = Counter(tuple(evidence.fresh_order(3, "x", number).tolist()) for number in range(1200))
    assert len(seen) == 6
    assert min(seen.values()) > 150, seen


def test_one_that_repairs_what_it_has_seen_passes_in_the_same_order_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def tries() -> int:
        times = 0
        for seed in range(25):
            seen: list[int] = []

            def score(candidate: object, item: int, seen: list[int] = seen) -> float:
                if candidate == "sees":
                    seen.append(item)
                return 0.2 if candidate == "old" else 1.0 if isinstance(candidate, list) and item in candidate else 0.1

            champion = surest.Champion(score, range(200), seed=seed)
            champion.challenge("old")
            champion.challenge("sees")
            times += champion.challenge(seen[:20]).promoted  # worse on all other items, and on average
        return times

    assert tries() <= 2
    monkeypatch.setattr("surest.search.champion.fresh_order", lambda n, seed, _: evidence.fresh_order(n, seed, 0))
    assert tries() == 25


def test_the_order_does_not_depend_on_what_is_known() -> None:
    calls: dict[bool, list[int]] = {False: [], True: []}
    for known in (False, True):
        champion = surest.Champion(
            lambda who, item, known=known: calls[known].append(item) or 0.5 if who == "new" else 0.5, range(40), seed=3
        )
        champion.challenge("old")
        if known:
            champion._book.keep(champion._book.key("old"), dict.fromkeys(range(20), 0.5))
        champion.challenge("new")
    assert calls[False] == calls[True] == evidence.fresh_order(40, "3", 1).tolist()
