"""The decision of a gate: both scores on each item, in the order in which items count."""

import math
from collections import Counter
from typing import Any

import numpy as np

from surest.core.scale import checked_scale
from surest.decision.chain import Chain, checked_names, first_line
from surest.evidence.lists.gate import UNKNOWN, Predictions, bet_above, mirrored
from surest.result.gate import Gate
from surest_verify_lists import gate_sentence

VERSION = 3
"""Since version 2 the order follows from the seed and the positions of the items, not from their names; version 3 adds what was
known before."""


def decision_of_gate(gate: Gate) -> Chain:
    """The lines of a gate's decision.

    >>> import surest
    >>> old = {f"q{i}": float(i % 3 > 0) for i in range(90)}
    >>> chain = decision_of_gate(surest.gate(old, {**old, "q1": 0.0}, margin=0.1, seed=1))
    >>> len(chain.lines), chain.lines[1][-43:]
    (93, b'"item":59,"arms":[0,1],"values":[1.0,1.0]}\\n')
    """
    items = _items(gate)
    places = gate.places or range(len(items))
    asked = gate.delta, gate.margin, gate.bounds, gate.minimise
    more: dict[str, Any] = {
        "version": VERSION,
        "items": items,
        "target": gate.target,
        "predicted": gate.share < 1,
        "equivalent": gate.equivalent,
        "level": gate.delta if gate.level is None else gate.level,
        "baseline": _as_listed(gate, [row[1] for row in gate.scores]) if gate.features else [],
        "features": _as_listed(gate, [list(row) for row in gate.features]),
    }
    labels = checked_names(gate.names, "arms")
    header = first_line("gate", labels, asked, gate.seed or "", **more)
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
    claim: dict[str, Any] = {"verdict": gate.verdict, "exact": gate.exact, "delta": gate.delta, "events": events}
    counted = [gate.items_counted] * 2
    return chain.conclude(gate_sentence(header, claim), claim=claim, counted=counted, decided=_decided(gate))


def _items(gate: Gate) -> list[str]:
    """The items, in the order of the list."""
    names = checked_names([name for name, *_ in gate.scores], "items")
    if gate.places:
        return [name for _, name in sorted(zip(gate.places, names, strict=True))]
    return names + [f"(item {k + 1})" for k in range(len(names), gate.items or 0)]


def _as_listed(gate: Gate, values: list[Any]) -> list[Any]:
    """Values in the order of the list, given in the order in which items count."""
    return [value for _, value in sorted(zip(gate.places or range(len(values)), values, strict=bool(values)))]


def _decided(gate: Gate) -> list[list[float]]:
    """The items after which bets reached what the verdict needs, and their evidence in nats; empty if they did not."""
    if gate.verdict == "undecided":
        return []
    scale, same = checked_scale(gate.bounds, gate.minimise), gate.equivalent
    margin, total = gate.margin / scale.width, math.inf if gate.items is None else float(gate.items)
    scores = scale.to_unit(np.array([row[1:] for row in gate.scores]).reshape(-1, 2))
    apart, told = np.diff(scores[: gate.items_counted], axis=1)[:, 0], UNKNOWN
    if gate.features:
        told = Predictions(scores[:, 0], np.array(gate.features).reshape(len(scores), -1)).extend(apart)
    level = gate.delta if gate.level is None else gate.level
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
