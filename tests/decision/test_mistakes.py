"""A mistake in the evidence of the library makes decisions that the verifier refuses."""

from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import surest
from decision.decisions import challenges, cheapest_of_four, known_gate, lines_of, made, refusal
from evidence.test_over_all_orders import gate_rule, race_mutant
from statistical.race_mutants import mistakes_of, mutant_of, source_of
from surest.algorithms.wager import ledger as ledgers
from surest.algorithms.wager.ledger import Ledger
from surest.evidence.cheapest import Cheapest
from surest.evidence.lists import champion, gate, scores, top, verdict
from surest.kernels import lists

Change = tuple[str, str]
Group = tuple[dict[str, Any], Callable[[Any], dict[str, Any]], Callable[[], Iterable[Any]]]
"""Mistakes by name, what each puts in which place, and decided searches, some of which must then be refused."""


def decided(count: int, **settings: Any) -> Iterable[surest.Result]:
    """Searches on lists of items."""
    rng = np.random.default_rng(8)
    for seed in range(count):
        table = (rng.random((4, 120)) < np.array([[0.7], [0.6], [0.5], [0.5]])).astype(float)
        table *= 0.8 * settings["spread"] if "spread" in settings else 1.0
        yield surest.evaluate(table, seed=seed, simulate=True, **settings)


def gates() -> Iterable[surest.Gate]:
    """Gates that pass or fail by bets."""
    for seed in range(4):
        rng = np.random.default_rng([2, seed])
        old = (rng.random(300) < 0.6).astype(float)
        new = np.where(rng.random(300) < 0.3, np.roll(old, 1), old) if seed % 2 else old * (rng.random(300) < 0.7)
        baseline, candidate = ({f"q{i}": x for i, x in enumerate(side.tolist())} for side in (old, new))
        found = surest.gate(baseline, candidate.get, 0.15, seed=str(seed))
        assert found.verdict == ("pass" if seed % 2 else "fail")
        yield found


def of_race(changes: list[Change]) -> dict[str, Any]:
    return {"surest.evidence.lists.verdict.Standings": race_mutant(*changes).Standings}


def of_pairs(changes: list[Change]) -> dict[str, Any]:
    if changes[0][0] in source_of(lists):
        return {"surest.evidence.lists.scores.lists": mutant_of(lists, *changes)}
    return {"surest.evidence.lists.verdict.Pairs": mutant_of(scores, *changes).Pairs}


def of_challenge(change: Change) -> dict[str, Any]:
    if change[0] in source_of(champion):
        return {"surest.search.champion.Contest": mutant_of(champion, change).Contest}
    if change[0] in source_of(gate):
        return {"surest.evidence.lists.champion.Predictions": mutant_of(gate, change).Predictions}
    return {"surest.evidence.lists.gate.lists": mutant_of(lists, change)}


def at_users(module: ModuleType, name: str, *users: str) -> Callable[[list[Change]], dict[str, Any]]:
    """Put a name of a changed module where these modules use it."""
    places = [f"{user}.{name}" for user in users]
    return lambda changes: dict.fromkeys(places, getattr(mutant_of(module, *changes), name))


def with_old_rewards(ledger: Ledger, arm: int) -> None:
    ledger.since.take(ledger.before)
    ledger.nominees.append(arm)
    ledger.live = True
    ledger.shares[arm] += ledgers.slot_share(len(ledger.nominees))
    ledger._place_bets(arm)


GROW, LIMITS, FACTORS = Ledger.grow, Cheapest._limits, Cheapest._factors
LEDGER, WRITER = "surest.algorithms.wager.ledger", "surest.decision.pulls"
WAGER: dict[str, dict[str, Any]] = {
    "the prior of a nomination is not paid for": dict.fromkeys(
        (f"{LEDGER}.slot_share", f"{WRITER}.slot_share"), lambda k: 1.0
    ),
    "rewards before the nomination count as fresh": {f"{LEDGER}.Ledger.nominate": with_old_rewards},
    "a lower goal than δ asks for": dict.fromkeys((f"{LEDGER}.W", f"{WRITER}.W"), 0.999),
}
ADDED = {
    "arms that come later cost nothing": {
        f"{LEDGER}.Ledger.grow": lambda book, more: [GROW(book, more), book.prices.fill(0.0)]
    },
}
CHEAPEST = {
    "the sum twice": ("_limits", lambda self, o, j, c: 2 * LIMITS(self, o, j, c)),
    "no slack": ("_limits", lambda self, o, j, c: LIMITS(self, o, j, min(c, -0.02))),
    "a stake that knows the item": ("_factors", lambda *given: np.maximum(FACTORS(*given), 1.0)),
}
CHALLENGE = {
    "unknown scores are taken for 0": ("np.where(there, baseline, 1.0)", "np.where(there, baseline, 0.0)"),
    "the ridge is too small": ("RIDGE * np.eye(size)", "0.1 * np.eye(size)"),
    "the prediction has seen the item": ("for s in range(counted, start):", "for s in range(counted, start + 1):"),
    "promoted at delta": ("(0.0, 1 / level, False", "(0.0, 1 / delta, False"),
    "rejected at twice delta": ("(-worth, 1 / delta, worth > 0", "(-worth, 0.5 / delta, worth > 0"),
}
BETS = {name: changes for name, changes in mistakes_of("gate").items() if name != "certain too early"}
PREDICTED = ("a prediction that saw the item", "the baseline's mean on items seen")
GROUPS: dict[str, Group] = {
    "an arm": (
        mistakes_of("race, seen in a decision") | mistakes_of("race, seen over all orders"),
        of_race,
        partial(decided, 3),
    ),
    "a set": (
        mistakes_of("the best arms"),
        at_users(top, "Sets", "surest.evidence.lists.top", "surest.decision.rounds"),
        partial(decided, 3, top=2),
    ),
    "closeness": (mistakes_of("pairs"), of_pairs, partial(decided, 12, epsilon=0.2)),
    "a spread": (
        mistakes_of("spread"),
        at_users(verdict, "Verdict", "surest.algorithms.race", "surest.decision.rounds"),
        partial(decided, 12, spread=0.5, epsilon=0.1),
    ),
    "a gate": (
        BETS | mistakes_of("gate, seen in a decision"),
        lambda changes: dict.fromkeys(
            ("surest.evidence.lists.gate.bet_above", "surest.decision.two.bet_above"), gate_rule(*changes)
        ),
        gates,
    ),
    "predictions": (
        {name: mistakes_of("predictions of a gate")[name] for name in PREDICTED},
        lambda changes: {"surest.evidence.lists.gate.lists": mutant_of(lists, *changes)},
        lambda: map(known_gate, range(3)),
    ),
    "a challenge": (CHALLENGE, of_challenge, lambda: (one for seed in range(12) for one in challenges(seed))),
    "the cheapest": (
        CHEAPEST,
        lambda mistake: {f"surest.evidence.cheapest.Cheapest.{mistake[0]}": mistake[1]},
        lambda: [cheapest_of_four()],
    ),
    "fresh rewards": (WAGER, dict, lambda: (made("best", seed) for seed in range(4))),
    "added arms": (ADDED, dict, lambda: (made("growing", seed) for seed in range(4))),
}


@pytest.mark.parametrize(("group", "name"), [(group, name) for group in GROUPS for name in GROUPS[group][0]])
def test_a_mistake_is_noticed(group: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mistakes, places, searches = GROUPS[group]
    for place, mistaken in places(mistakes[name]).items():
        monkeypatch.setattr(place, mistaken)
    assert any(refusal(lines_of(found)) for found in searches())


@pytest.mark.parametrize("group", GROUPS)
def test_without_a_mistake_these_are_valid(group: str) -> None:
    assert not any(refusal(lines_of(found)) for found in GROUPS[group][2]())
