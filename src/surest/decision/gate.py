"""The decision of a gate: both scores on each item, in the order in which items count."""

import math
from collections import Counter
from typing import Any

import numpy as np

from surest.core.scale import checked_scale
from surest.decision.chain import Chain, check_apart
from surest.evidence.lists.gate import UNKNOWN, Predictions, bet_above, mirrored
from surest.result.gate import Gate
from surest_verify_lists import gate_sentence

VERSION = 3
"""From version 2 on the order follows from the seed and the items' places on the list, not their names; version 3 has what was
known beforehand."""


def decision_of_gate(gate: Gate) -> Chain:
    """The lines of a gate's decision.

    >>> import surest
    >>> old = {f"q{i}": float(i % 3 > 0) for i in range(90)}
    >>> chain = decision_of_gate(surest.gate(old, {**old, "q1": 0.0}, margin=0.1, seed=1))
    >>> len(chain.lines), chain.lines[1][-43:]
    (93, b'"item":59,"arms":[0,1],"values":[1.0,1.0]}\\n')
    """
    names, chain = _names(gate), Chain()
    places = gate.places or range(len(names))
    header = {
        "version": VERSION,
        "algorithm": "gate",
        "labels": list(gate.names),
        "delta": gate.delta,
        "epsilon": gate.margin,
        "bounds": list(gate.bounds),
        "minimise": gate.minimise,
        "seed": gate.seed or "",
        "note": "",
        "items": names,
        "target": gate.target,
        "predicted": gate.share < 1,
        "equivalent": gate.equivalent,
        "level": gate.delta if gate.level is None else gate.level,
        "baseline": _as_listed(gate, [row[1] for row in gate.scores]) if gate.features else [],
        "features": _as_listed(gate, [list(row) for row in gate.features]),
    }
    chain.add("surest decision", **header)
    happened: dict[str, Counter[tuple[str, int]]] = {}
    for what, arm, name in gate.events:
        happened.setdefault(name, Counter())[what, arm] += 1
    for k, (name, baseline, candidate) in enumerate(gate.scores):
        if not math.isnan(baseline + candidate):
            for (what, arm), times in sorted(happened.get(name, {}).items()):
                chain.add("event", what=what, arm=arm, times=times)
            kind = "scores" if k < gate.items_counted else "known"
            chain.add(kind, item=places[k], arms=[0, 1], values=[baseline, candidate])
    events = dict(sorted(Counter(what for what, *_ in gate.events).items()))
    claim: dict[str, Any] = {"verdict": gate.verdict, "exact": gate.exact, "delta": gate.delta, "events": events}
    counted = [gate.items_counted] * 2
    chain.add("conclusion", words=gate_sentence(header, claim), claim=claim, counted=counted, decided=_decided(gate))
    chain.end()
    return chain


def _names(gate: Gate) -> list[str]:
    """The list, in its own order."""
    names = [name for name, *_ in gate.scores]
    check_apart(list(gate.names), "arms")
    check_apart(names, "items")
    if gate.places:
        return [name for _, name in sorted(zip(gate.places, names, strict=True))]
    return names + [f"(item {k + 1})" for k in range(len(names), gate.items or 0)]


def _as_listed(gate: Gate, values: list[Any]) -> list[Any]:
    """What stands in the order in which items count, in the order of the list."""
    return [value for _, value in sorted(zip(gate.places or range(len(values)), values, strict=bool(values)))]


def _decided(gate: Gate) -> list[list[float]]:
    """After how many items bets reached what the verdict needs, and their evidence in nats; nothing where they did not."""
    if gate.verdict == "undecided":
        return []
    scale, same = checked_scale(gate.bounds, gate.minimise), gate.equivalent
    margin, total = gate.margin / scale.width, math.inf if gate.items is None else float(gate.items)
    scores = scale.to_unit(np.array([row[1:] for row in gate.scores]).reshape(-1, 2))
    apart, told = np.diff(scores[: gate.items_counted], axis=1)[:, 0], UNKNOWN
    if gate.features:
        told = Predictions(scores[:, 0], np.array(gate.features).reshape(len(scores), -1)).extend(apart)
    level = gate.delta if gate.level is None else gate.level
    bets = (
        [(1, -margin, level), (-1, -margin, level)]
        if gate.passed
        else [(-1, 0.0, gate.delta / (1 + same)), (1, 0.0, gate.delta / 2)]
    )
    found = []
    for sign, mark, error in bets[: 1 + same]:
        seen = told if sign == 1 else mirrored(told)
        after, wealth = bet_above(sign * apart, total, mark, 1 / error, mark < 0, seen, gate.share)
        if after >= 0 and wealth < math.inf:
            found.append([after, math.log(wealth)])
    return found if not gate.passed or len(found) == 1 + same else []
