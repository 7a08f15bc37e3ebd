"""Champions whose scores are known in part: wrong verdicts are rare, and orders are fresh."""

from collections import Counter

import numpy as np
import pytest

import surest
from statistical.list_tables import most_allowed
from surest.evidence.lists import champion as evidence


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
