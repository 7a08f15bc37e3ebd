"""The decisions of a gate and of a challenge: both scores on each item, in the order in which items count."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surest.core.scale import Scale, checked_scale
from surest.decision.chain import Chain, checked_names, first_line
from surest.evidence.lists.gate import UNKNOWN, Predictions, bet_above, mirrored
from surest.result.gate import Gate

GATE_VERSION, CHALLENGE_VERSION = 4, 2
"""Since version 2 the order follows from the seed and the positions of the items, not from their names; version 3 adds what was
known before, and version 4, like version 2 of a challenge, has stakes that suppose a lead."""


def decision_of_challenge(
    names: tuple[str, str], items: Sequence[Any], scale: Scale, delta: float, worth: float, *, level: float, number: int,
    key: str, known: Mapping[int, float], scores: Sequence[tuple[int, float, float]], verdict: str, wealth: float,
) -> Chain:  # fmt: skip
    """The lines of a challenge's decision; `names` are those of the champion and of the challenger.

    The `key` drew the order; `known` are the champion's scores at the start, by the position of the item. `scores` has the
    position of each item that counted, the champion's score and the challenger's, and `wealth` is what the bets came to.
    """
    chain = Chain(first_line(
        "champion", checked_names(names, "candidates"), delta=delta, epsilon=worth, bounds=(scale.low, scale.high),
        minimise=scale.minimise, seed=key, note="", items=checked_names(items, "items"), target="items", level=level,
        number=number, known=[list(pair) for pair in sorted(known.items())], version=CHALLENGE_VERSION,
    ))  # fmt: skip
    for item, old, new in scores:
        chain.add("scores", item=item, arms=[0, 1], values=[old, new])
    said = verdict != "undecided"
    decided = [[len(scores), math.log(wealth)]] if said and wealth < math.inf else []
    return _concluded(chain, verdict, said and not decided, {}, len(scores), decided)


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
    known = bool(gate.features)
    chain = Chain(first_line(
        "gate", checked_names(gate.names, "arms"), delta=gate.delta, epsilon=gate.margin, bounds=gate.bounds,
        minimise=gate.minimise, seed=gate.seed or "", note="", items=items, target=gate.target, version=GATE_VERSION,
        predicted=gate.share < 1, equivalent=gate.equivalent, level=level,
        baseline=listed([row[1] for row in gate.scores]) if known else [],
        features=listed([*map(list, gate.features)]) if known else [],
    ))  # fmt: skip
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
        after, wealth = bet_above(sign * apart, total, mark, 1 / error, seen, gate.share)
        if after >= 0 and wealth < math.inf:
            found.append([after, math.log(wealth)])
    return found if not gate.passed or len(found) == 1 + same else []
