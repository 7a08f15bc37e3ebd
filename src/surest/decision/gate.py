"""The decision of a gate: both scores on each item, in the order in which items count."""

import math
from collections import Counter
from typing import Any

import numpy as np

from surest.core.scale import checked_scale
from surest.decision.chain import Chain, check_apart
from surest.evidence.lists.gate import bet_above
from surest.result.gate import Gate
from surest_verify_lists import gate_sentence

ORDER_BY_PLACE = 2
"""The version of a gate's file in which the order follows from the seed and the items' places on the list, not their names."""


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
        "version": ORDER_BY_PLACE,
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


def _decided(gate: Gate) -> list[list[float]]:
    """After how many items bets reached what the verdict needs, and their evidence in nats; nothing where they did not."""
    if gate.verdict == "undecided":
        return []
    scale, passed = checked_scale(gate.bounds, gate.minimise), gate.passed
    scores = np.array([row[1:] for row in gate.scores[: gate.items_counted]]).reshape(-1, 2)
    apart = np.diff(scale.to_unit(scores), axis=1)[:, 0] * (1 if passed else -1)
    margin, total = gate.margin / scale.width, math.inf if gate.items is None else float(gate.items)
    after, wealth = bet_above(apart, total, -margin if passed else 0.0, 1 / gate.delta, passed and margin > 0)
    return [] if after < 0 or wealth == math.inf else [[after, math.log(wealth)]]
