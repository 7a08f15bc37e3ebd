"""Race for the m best arms on a list of items: all undecided arms go through the items in one random order.

What makes its answer right is in evidence/item_top.py; the theorem and its proof are in docs/questions.md.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from surest.algorithms.entry import Entry, Task
from surest.algorithms.item_walk import LIST_OPTIONS, ordered, walk
from surest.compiled import prefer_machine_code
from surest.core.protocol import Answer, IntArray, Procedure
from surest.errors import UsageError
from surest.evidence.item_top_verdict import Top

MOST_ARMS = 3000
"""Second moments are kept for every pair of arms."""
PLAIN_SETS = 200
"""With more sets than this, machine code is loaded at once."""


def race_top(
    arms: IntArray,
    delta: float,
    *,
    top: int,
    items: int,
    rng: np.random.Generator,
    epsilon: float = 0.0,
    target: str = "items",
    budget: int | None = None,
    group: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
) -> Procedure[Answer]:
    """The `top` arms with the best means on a list of items, as a set that is wrong with probability at most δ.

    They are named by their means so far, the best first; that order is not certified. With ε > 0, arms within ε of the
    last of the best will do. `budget` is in cells.

    >>> table = np.array([[1.0, 1, 1, 0, 1], [0, 0, 1, 0, 0], [1, 1, 0, 1, 1]])
    >>> procedure, reply = race_top(np.arange(3), 0.05, top=2, items=5, rng=np.random.default_rng(1)), None
    >>> try:
    ...     while True:
    ...         request = procedure.send(reply)
    ...         reply = table[np.ix_(request.arms, request.items)]
    ... except StopIteration as end:
    ...     print(end.value.arms, end.value.reason)
    (0, 2) exact: no other arm can catch up
    """
    if len(arms) > MOST_ARMS:
        raise UsageError(
            f"race-top compares every pair of arms; with {len(arms)} arms that is too much, it takes up to {MOST_ARMS}"
        )
    units, population = ordered(items, rng, target, group, weights)
    evidence = Top(len(arms), top, units.weights, delta, epsilon, population)
    if len(getattr(evidence.evidence, "alive", arms)) > PLAIN_SETS:
        prefer_machine_code()
    finished = yield from walk(arms, units, evidence, budget)
    status, named = evidence.status(), arms[evidence.chosen].tolist()
    if not finished:
        return Answer(named, False, "budget spent", status)
    if evidence.close:
        return Answer(named, True, "certified ε-optimal", status)
    if len(evidence.undecided) and population:
        return Answer(named, False, "all items seen", status)
    sure = "exact: " if evidence.evidence.exact and not population else ""
    if len(evidence.undecided):
        return Answer(named, True, sure + ("tied" if evidence.tied else "all items seen"), status)
    return Answer(named, True, "exact: no other arm can catch up" if sure else "certified", status)


def _start(task: Task, **options: Any) -> Procedure[Answer]:
    assert task.items is not None
    return race_top(
        task.arms,
        task.delta,
        top=task.question.top,
        items=task.items,
        rng=task.rng,
        epsilon=task.epsilon,
        target=task.target,
        budget=task.budget,
        **options,
    )


ENTRIES = (
    Entry(
        name="race-top",
        start=_start,
        goal="either",
        standing="proven",
        reference="docs/questions.md",
        summary="The m best arms on a list of items, as a set: undecided arms go through the items in one random order.",
        options=LIST_OPTIONS,
        works_on="items",
        answers=("top",),
    ),
)
