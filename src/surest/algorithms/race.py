"""Race: all arms go through a list of items in one random order, and an arm drops out when what is asked of it is settled.

The question chooses the evidence, in evidence/lists: `verdict` for the best arm, `top` for the m best, `bars` for a bar or a
control. Theorems and proofs are in docs/items.md and docs/questions.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from surest.algorithms.entry import Entry, Option, arms_in, started
from surest.core.problem import SPREAD_TOLERANCE
from surest.core.protocol import Answer, Cells, FloatArray, IntArray, Procedure, Status
from surest.core.question import BEST, Kind, Question
from surest.errors import UsageError
from surest.evidence.lists.bars import EachArm
from surest.evidence.lists.gate import directions
from surest.evidence.lists.top import Top
from surest.evidence.lists.units import Units, as_they_are, in_random_order
from surest.evidence.lists.verdict import Verdict, with_waiting

MOST_ARMS = 3000  # for the m best, second moments are kept for every pair of arms


def race(
    arms: IntArray, delta: float, *, items: int, rng: np.random.Generator, question: Question = BEST,
    epsilon: float = 0.0, target: str = "items", spread: float = 1.0, budget: int | None = None,
    arrivals: Sequence[int | tuple[int, int]] = (), reserve: float = 0.0, group: Sequence[int] | None = None,
    weights: Sequence[float] | None = None, shuffled: bool = False, known: Sequence[float] | None = None,
    older: Sequence[Sequence[float]] = (), **gate: Any,
) -> Procedure[Answer]:  # fmt: skip
    """Answer a question about the means of arms on a list of items, wrong with probability at most δ.

    Scores lie in [0, 1]. The items are taken in a random order, drawn from `rng` before anything is known. `budget` is in
    cells. With ε > 0, an arm within ε of the best will do; of the m best, arms within ε of the last of them; and a verdict
    on an arm within ε of a bar is not wrong. With ``error="fdr"`` the question bounds the expected share of wrong verdicts
    among the arms declared above, and among those declared below.

    For the best arm, two arms may be stated to differ by at most `spread` on every item. Where they do not after all, nothing
    that was said holds: the answer is not certified, and all arms are contenders.

    For the best arm, arms may be added: `reserve` is the part of δ kept for them; `arrivals` says how many each addition
    brings, and is looked at before each request. An addition may also be a pair: how many, and how many items, in their
    order, had a cell evaluated when it was made; the new arms then take part after these.

    With a control, `known` may be its score on every item: it is not evaluated then, and scores are predicted from it and from
    `older` rows. With ``gate=True`` it is asked of two arms whether the first is better than the control, the second, and `known`
    is the row of the first; see `EachArm`. With `shuffled` the items come as they are: in a random order drawn elsewhere.
    """
    population = target == "population"
    units = as_they_are(items) if shuffled else in_random_order(items, rng, group, weights)
    if population and not np.allclose(units.weights, 1):
        raise UsageError("a claim on the population needs items (or clusters) of equal weight; ask for target='items'")
    extra: dict[str, Any] = {} if spread == 1 else {"spread": spread}
    if known is not None:
        extra |= known_row(items, known, older, units, population, group is None and weights is None)
    evidence = evidence_on(question, len(arms), units.weights, delta, epsilon, population, reserve, **gate, **extra)
    first, spent, additions, end = len(arms), 0, 0, len(units.weights)

    def status() -> Status:
        found = evidence.status()
        return with_waiting(found, first + arms_in(arrivals) - len(arms)) if arrivals else found

    least = evidence.least_evidence if isinstance(evidence, Verdict) else None

    def within(cost: int) -> bool:
        return budget is None or spent + cost <= budget

    while True:
        t, waiting = evidence.scores.t, False
        if additions < len(arrivals):
            added = arrivals[additions]
            more, begun = added if isinstance(added, tuple) else (int(added), 0)
            waiting = t < end and bool(units.starts[t] < begun)
            if not waiting:
                assert isinstance(evidence, Verdict)
                cost = more * int(units.starts[t])
                if not within(cost):
                    break
                additions, spent = additions + 1, spent + cost
                new = arms.max() + 1 + np.arange(more)
                evidence.grow((yield from _catch_up(new, units, t, status)), reserve / (additions * (additions + 1)))
                arms = np.append(arms, new)
                continue
        play = evidence.left if waiting else evidence.play
        if t == end or len(play) == 0:
            answer = evidence.answer()
            return replace(answer, arms=arms[list(answer.arms)].tolist())
        first_item, next_item = int(units.starts[t]), int(units.starts[t + 1])
        cost = len(play) * (next_item - first_item)
        if not within(cost):
            break
        now, ahead = units.items[first_item:next_item], units.items[next_item:]
        reply = yield Cells(arms[play], now, ahead, status, None if arrivals else least)
        if spread < 1 and np.ptp(reply, axis=0).max() > spread * (1 + SPREAD_TOLERANCE):
            every = tuple(range(first + arms_in(arrivals)))
            void = Status(leader=status().leader, contenders=every, in_play=len(every), achieved_delta=1.0)
            return Answer([int(arms[void.leader])], False, "scores further apart than the spread", void)
        evidence.count(units.values(reply, t, t + 1)[0])
        spent += cost
    last = status()
    named = [last.leader] if question.best else list(last.chosen)
    return Answer(arms[named].tolist(), False, "budget spent", last)


def evidence_on(
    question: Question, n: int, weights: FloatArray, delta: float, epsilon: float = 0.0, population: bool = False,
    reserve: float = 0.0, **more: Any,
) -> Verdict | Top | EachArm:  # fmt: skip
    """What scores of n arms, unit by unit, say in answer to a question; `weights` are the units', in their order."""
    if question.best:
        return Verdict(n, weights, delta, epsilon, population, reserve, **more)
    if question.each_arm:
        return EachArm(n, weights, question, delta, epsilon, population, **more)
    if n > MOST_ARMS:
        raise UsageError(f"race-top compares every pair of arms and supports up to {MOST_ARMS} arms; got {n}")
    return Top(n, question.top, weights, delta, epsilon, population)


def known_row(
    items: int, known: Sequence[float], older: Sequence[Sequence[float]], units: Units, population: bool, equal: bool
) -> dict[str, FloatArray]:
    """The row that is known and what older rows tell of the items, in the order in which these come."""
    row, rows = np.asarray(known, np.float64), np.asarray(older if len(older) else np.empty((0, items)), np.float64)
    if row.shape != (items,) or not ((row >= 0) & (row <= 1)).all() or rows.shape[1:] != (items,):
        raise UsageError(f"known, and each row of older, must be {items} scores within the bounds, one per item")
    if population or not equal:
        raise UsageError("known requires a list of equally weighted items: leave out target, group, weights")
    return {"known": row[units.items], "more": directions(row, rows)[units.items]}


def _catch_up(arms: IntArray, units: Units, t: int, status: Callable[[], Status]) -> Procedure[FloatArray]:
    """Evaluate new arms on the units that were counted: their sums are needed."""
    if t == 0:
        return np.zeros((0, len(arms)))
    end = units.starts[t]
    reply = yield Cells(arms, units.items[:end], units.items[end:], status)
    return units.values(reply, 0, t)


LIST_OPTIONS = {
    "group": Option("value", "the cluster of each item, for items that belong together"),
    "weights": Option("value", "the weight of each item in the mean; default equal"),
}
KNOWN_OPTIONS = {
    "known": Option(
        "value", "the control's score on each item, known beforehand (of a gate, the baseline's), on [0, 1]"
    ),
    "older": Option("value", "rows of further scores on the items, to predict from, with known"),
}
GATE_OPTIONS = {
    "shuffled": Option("value", "whether the items are in a random order already"),
    "equivalent": Option("value", "whether to ask if both are equal, up to the margin"),
    "level": Option("number", "the part of δ at which it is said that the candidate is not worse; default 1"),
}


def _entry(kind: Kind, summary: str, **facts: Any) -> Entry:
    best = kind == "best"
    usual: dict[str, Any] = {
        "name": "race" if best else f"race-{kind}",
        "start": started(race),
        "reference": "docs/items.md" if best else "docs/questions.md",
        "options": LIST_OPTIONS,
    }
    fixed: dict[str, Any] = {"goal": "either", "standing": "proven", "works_on": "items", "answers": (kind,)}
    return Entry(summary=summary, **fixed, **usual | facts)


RESERVE = Option("number", "the part of δ kept for arms that are added later; default 0")
ENTRIES = (
    _entry(
        "best",
        "The default on a list of items: all arms go through the items in one random order, and weak arms drop out.",
        options={"reserve": RESERVE, **LIST_OPTIONS},
        growing=True,
        spread=True,
        reserve="reserve",
    ),
    _entry(
        "top", "The m best arms on a list of items, as a set: undecided arms go through the items in one random order."
    ),
    _entry(
        "above", "Which arms lie above a bar on a list of items: open arms go through the items in one random order."
    ),
    _entry(
        "control",
        "Which arms beat a control on a list of items: open arms go through the items in one random order.",
        options={**LIST_OPTIONS, **KNOWN_OPTIONS},
    ),
    _entry(
        "control",
        "Whether a candidate, the control, is worse than a baseline on a list of items by more than a margin.",
        name="gate",
        reference="docs/gate.md",
        start=started(partial(race, gate=True)),
        options={**GATE_OPTIONS, **KNOWN_OPTIONS},
    ),
)
