"""The decisions of a gate and of a challenge: both scores on each item, in the order in which items count."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from surest.core.scale import Scale, checked_scale
from surest.decision.chain import Chain, checked_names, first_line
from surest.evidence.lists.gate import UNKNOWN, Predictions, bet_above, mirrored
from surest.result.gate import Gate

GATE_VERSION = 3
"""Since version 2 the order follows from the seed and the positions of the items, not from their names; version 3 adds what was
known before."""


class Fought(NamedTuple):
    """A challenge that has ended."""

    names: tuple[str, str]  # of the champion and of the challenger
    items: Sequence[Any]
    scale: Scale
    delta: float
    worth: float
    level: float
    number: int
    key: str  # draws the order
    known: Mapping[int, float]
    """The champion's scores that were known at the start, by the position of the item."""
    scores: Sequence[tuple[int, float, float]]
    """Of each item that counted: its position, the champion's score and the challenger's."""
    verdict: str
    wealth: float  # what the bets that decided it came to


def decision_of_challenge(fought: Fought) -> Chain:
    """The lines of a challenge's decision."""
    scale, items = fought.scale, checked_names(fought.items, "items")
    asked = fought.delta, fought.worth, (scale.low, scale.high), scale.minimise
    header = first_line(
        "champion", checked_names(fought.names, "candidates"), asked, fought.key, items=items, target="items"
    )
    known = [list(pair) for pair in sorted(fought.known.items())]
    chain = Chain(header | {"level": fought.level, "number": fought.number, "known": known})
    for item, old, new in fought.scores:
        chain.add("scores", item=item, arms=[0, 1], values=[old, new])
    said, counted = fought.verdict != "undecided", len(fought.scores)
    decided = [[counted, math.log(fought.wealth)]] if said and fought.wealth < math.inf else []
    return _concluded(chain, fought.verdict, said and not decided, {}, counted, decided)


def _concluded(
    chain: Chain, verdict: str, exact: bool, events: Mapping[str, int], counted: int, decided: list[list[float]]
) -> Chain:
    claim = {"verdict": verdict, "exact": exact, "delta": chain.header["delta"], "events": dict(events)}
    return chain.conclude(claim=claim, counted=[counted] * 2, decided=decided)


def decision_of_gate(gate: Gate) -> Chain:
    """The lines of a gate's decision."""
    names, places = checked_names([name for name, *_ in gate.scores], "items"), gate.places or range(len(gate.scores))
    level, unnamed = gate.delta if gate.level is None else gate.level, range(len(names), gate.items or 0)

    def listed(values: Sequence[Any]) -> list[Any]:
        """Values in the order of the list, given in the order in which items count."""
        return [value for _, value in sorted(zip(places, values, strict=True))]

    items = [*listed(names), *(f"(item {k + 1})" for k in unnamed if not gate.places)]
    asked = gate.delta, gate.margin, gate.bounds, gate.minimise
    header = first_line(
        "gate", checked_names(gate.names, "arms"), asked, gate.seed or "", items=items, target=gate.target
    ) | {"version": GATE_VERSION, "predicted": gate.share < 1, "equivalent": gate.equivalent, "level": level}
    known = bool(gate.features)
    header["baseline"] = listed([row[1] for row in gate.scores]) if known else []
    header["features"] = listed([*map(list, gate.features)]) if known else []
    chain = Chain(header)
    happened: dict[str, Counter[tuple[str, int]]] = {}
    for what, arm, name in gate.events:
        happened.setdefault(name, Counter())[what, arm] += 1
    for k, (name, baseline, candidate) in enumerate(gate.scores):
        if not math.isnan(baseline + candidate):
            chain.add_events(happened.get(name, Counter()))
            kind = "scores" if k < gate.items_counted else "known"
            chain.add(kind, item=places[k], arms=[0, 1], values=[baseline, candidate])
    events = dict(sorted(Counter(what for what, *_ in gate.events).items()))
    return _concluded(chain, gate.verdict, gate.exact, events, gate.items_counted, _decided(gate, level))


def _decided(gate: Gate, level: float) -> list[list[float]]:
    """The items after which bets reached what the verdict needs, and their evidence in nats; empty if they did not."""
    if gate.verdict == "undecided":
        return []
    scale, same = checked_scale(gate.bounds, gate.minimise), gate.equivalent
    margin, total = gate.margin / scale.width, math.inf if gate.items is None else float(gate.items)
    scores = scale.to_unit(np.array([row[1:] for row in gate.scores]).reshape(-1, 2))
    apart, told = np.diff(scores[: gate.items_counted], axis=1)[:, 0], UNKNOWN
    if gate.features:
        told = Predictions(scores[:, 0], np.array(gate.features).reshape(len(scores), -1)).extend(apart)
    bets = [(1, -margin, level), (-1, -margin, level)]
    if gate.failed:
        bets = [(-1, 0.0, gate.delta / (1 + same)), (1, 0.0, gate.delta / 2)]
    found = []
    for sign, mark, error in bets[: 1 + same]:
        seen = told if sign == 1 else mirrored(told)
        after, wealth = bet_above(sign * apart, total, mark, 1 / error, mark < 0, seen, gate.share)
        if after >= 0 and wealth < math.inf:
            found.append([after, math.log(wealth)])
    return found if not gate.passed or len(found) == 1 + same else []
