"""Race: the best arm on a list of items. All arms go through the items in one random order, and weak arms drop out.

What makes its answer right is in evidence/items.py; the theorem and its proof are in docs/items.md.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from surest.algorithms.entry import Entry, Task, arms_in
from surest.algorithms.item_walk import LIST_OPTIONS, PLAIN_PAIRS, PLAIN_STATUS, evaluate_next, ordered
from surest.algorithms.options import Option
from surest.compiled import prefer_machine_code
from surest.core.protocol import Answer, Cells, FloatArray, IntArray, Procedure, Status
from surest.evidence.item_units import Units
from surest.evidence.item_verdict import SHARE, SHARE_WITH_EPSILON, Verdict, with_waiting
from surest.evidence.items import Standings


def race(
    arms: IntArray,
    delta: float,
    *,
    items: int,
    rng: np.random.Generator,
    epsilon: float = 0.0,
    target: str = "items",
    budget: int | None = None,
    arrivals: Sequence[int | tuple[int, int]] = (),
    reserve: float = 0.0,
    group: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
) -> Procedure[Answer]:
    """The arm with the best mean on a list of items (or one within ε of it), wrong with probability at most δ.

    Scores lie in [0, 1]. The items are taken in a random order, drawn from `rng` before anything is known. `budget` is in
    cells. `reserve` is the part of δ kept for arms that come later; `arrivals` says how many each addition brings, and is
    looked at before each request. An addition may also be a pair: how many, and how many items, in their order, had a cell
    evaluated when it was made; the new arms then take part after these.

    >>> table = np.array([[1.0, 1, 1, 0, 1], [0, 0, 1, 0, 0]])
    >>> procedure, reply = race(np.arange(2), 0.05, items=5, rng=np.random.default_rng(1)), None
    >>> try:
    ...     while True:
    ...         request = procedure.send(reply)
    ...         reply = table[np.ix_(request.arms, request.items)]
    ... except StopIteration as end:
    ...     print(end.value.arm, end.value.reason)
    0 exact: no other arm can catch up
    """
    units, population = ordered(items, rng, target, group, weights)
    n, share = len(arms), SHARE_WITH_EPSILON if epsilon > 0 else SHARE
    standings = Standings(n, units.weights, delta * (1 - reserve), share=share, population=population)
    verdict = Verdict(standings, delta, epsilon, np.full(n, (1 - reserve) / n))
    spent = additions = 0

    def status() -> Status:
        if standings.t >= PLAIN_STATUS or standings.t * len(standings.play) ** 2 >= PLAIN_PAIRS:
            prefer_machine_code()
        return with_waiting(verdict.status(), n + arms_in(arrivals) - len(standings.sums))

    while True:
        t, waiting = standings.t, False
        if additions < len(arrivals):
            more, first = _addition(arrivals[additions], units)
            waiting = first > t and t < len(units)
            if not waiting:
                cost = more * int(units.starts[t])
                if budget is not None and spent + cost > budget:
                    return Answer(int(arms[standings.leader]), False, "budget spent", status())
                additions, spent = additions + 1, spent + cost
                arms = np.append(arms, arms.max() + 1 + np.arange(more))
                part = reserve / (additions * (additions + 1))
                standings.grow((yield from _catch_up(arms[-more:], units, t, status)), delta * part)
                verdict.grow(np.full(more, part / more))
                continue
        if t == len(units) or (verdict.chosen is not None and not waiting):
            return _answer(arms, standings, verdict, len(units))
        cost = len(standings.play) * len(units.of(t))
        if budget is not None and spent + cost > budget:
            return Answer(int(arms[standings.leader]), False, "budget spent", status())
        standings.count((yield from evaluate_next(arms[standings.play], units, t, spent, status)))
        spent += cost
        verdict.look()


def _catch_up(arms: IntArray, units: Units, t: int, status: Callable[[], Status]) -> Procedure[FloatArray]:
    """Evaluate new arms on the units that were counted: their sums are needed."""
    if t == 0:
        return np.zeros((0, len(arms)))
    end = units.starts[t]
    reply = yield Cells(arms, units.items[:end], units.items[end:], status)
    return units.values(reply, 0, t)


def _addition(given: int | tuple[int, int], units: Units) -> tuple[int, int]:
    """How many arms an addition brings, and after how many units they take part at the earliest."""
    if isinstance(given, int | np.integer):
        return int(given), 0
    return given[0], int(np.searchsorted(units.starts, given[1]))


def _answer(arms: IntArray, standings: Standings, verdict: Verdict, units: int) -> Answer:
    """Name the best arm, and say what the answer rests on."""
    named = verdict.chosen
    status = verdict.status()
    if standings.population and named is None:
        return Answer(int(arms[status.leader]), False, "all items seen", status)
    out = np.setdiff1d(np.arange(len(arms)), standings.play)
    sure = "exact: " if bool(standings.certain[out].all()) and not standings.population else ""
    if standings.t == units and not standings.population:
        how = "all items seen" if len(verdict.tied) == 1 else "tied"
        tied = [int(arms[arm]) for arm in verdict.tied]
        return Answer(tied[0], True, sure + how, status, contenders=tied)
    if len(arms) == 1:
        return Answer(int(arms[0]), True, "the only arm", status)
    if len(standings.play) > 1:
        return Answer(int(arms[status.leader]), True, "certified ε-optimal", status)
    return Answer(int(arms[status.leader]), True, f"{sure}no other arm can catch up" if sure else "certified", status)


def _start(task: Task, **options: Any) -> Procedure[Answer]:
    assert task.items is not None
    return race(
        task.arms,
        task.delta,
        items=task.items,
        rng=task.rng,
        epsilon=task.epsilon,
        target=task.target,
        budget=task.budget,
        arrivals=task.arrivals,
        **options,
    )


ENTRIES = (
    Entry(
        name="race",
        start=_start,
        goal="either",
        standing="proven",
        reference="docs/items.md",
        summary="The default on a list of items: all arms go through the items in one random order, and weak arms drop out.",
        options={
            "reserve": Option("number", "the part of δ kept for arms that are added later; 0 unless told"),
            **LIST_OPTIONS,
        },
        works_on="items",
        growing=True,
        reserve="reserve",
    ),
)
