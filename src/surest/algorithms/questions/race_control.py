"""Which arms beat a control on a list of items: the control and the open arms go through the items in one random order.

What makes its verdicts right is in evidence/item_bars.py; the theorem and its proof are in docs/questions.md.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from surest.algorithms.entry import Entry, Task
from surest.algorithms.item_walk import LIST_OPTIONS, each_arm_answer, ordered, walk
from surest.core.protocol import Answer, IntArray, Procedure
from surest.errors import UsageError
from surest.evidence.item_bars_verdict import Against


def race_control(
    arms: IntArray,
    delta: float,
    *,
    control: int,
    items: int,
    rng: np.random.Generator,
    margin: float = 0.0,
    target: str = "items",
    budget: int | None = None,
    group: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
) -> Procedure[Answer]:
    """Declare of each arm whether its mean on a list of items is more than the control's, or not more by more than `margin`.

    Any verdict is wrong with probability at most δ. Of an arm that is better by less than the margin both are true, and
    either may be declared. `control` is a position among the arms, `budget` is in cells.

    >>> table = np.array([[1.0, 1, 1, 0, 1], [0, 0, 1, 0, 0]])
    >>> procedure, reply = race_control(np.arange(2), 0.05, control=1, items=5, rng=np.random.default_rng(1)), None
    >>> try:
    ...     while True:
    ...         request = procedure.send(reply)
    ...         reply = table[np.ix_(request.arms, request.items)]
    ... except StopIteration as end:
    ...     print(end.value.arms, end.value.verdicts, end.value.reason)
    (0,) (1, 0) exact: nothing can change it
    """
    units, population = ordered(items, rng, target, group, weights)
    evidence = Against(len(arms), units.weights, control, margin, delta, population)
    finished = yield from walk(arms, units, evidence, budget)
    return each_arm_answer(arms, evidence, evidence.declared.exact and not population, finished)


def _start(task: Task, **options: Any) -> Procedure[Answer]:
    assert task.items is not None
    if task.epsilon > 0:
        raise UsageError(
            f"epsilon is {task.epsilon:g}; with a control, margin says how close counts as the same, and there is no epsilon"
        )
    return race_control(
        task.arms,
        task.delta,
        control=task.question.control,
        margin=task.question.margin,
        items=task.items,
        rng=task.rng,
        target=task.target,
        budget=task.budget,
        **options,
    )


ENTRIES = (
    Entry(
        name="race-control",
        start=_start,
        goal="either",
        standing="proven",
        reference="docs/questions.md",
        summary="Which arms beat a control on a list of items: open arms go through the items in one random order.",
        options=LIST_OPTIONS,
        works_on="items",
        answers=("control",),
    ),
)
