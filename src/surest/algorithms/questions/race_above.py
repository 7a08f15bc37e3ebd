"""Which arms lie above a bar on a list of items: open arms go through the items in one random order.

What makes its verdicts right is in evidence/item_bars.py; the theorems and proofs are in docs/questions.md.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from surest.algorithms.entry import Entry, Task
from surest.algorithms.item_walk import LIST_OPTIONS, each_arm_answer, ordered, walk
from surest.core.protocol import Answer, IntArray, Procedure
from surest.core.question import Error
from surest.evidence.item_bars_verdict import Above


def race_above(
    arms: IntArray,
    delta: float,
    *,
    bar: float,
    items: int,
    rng: np.random.Generator,
    error: Error = "fwer",
    epsilon: float = 0.0,
    target: str = "items",
    budget: int | None = None,
    group: Sequence[int] | None = None,
    weights: Sequence[float] | None = None,
) -> Procedure[Answer]:
    """Declare of each arm whether its mean on a list of items is at least the bar or less.

    With `error="fwer"`, any verdict is wrong with probability at most δ; with "fdr", the expected share of wrong ones among
    the arms declared above is at most δ, and so is that among the arms declared below. With ε > 0, a verdict on an arm within
    ε of the bar is not wrong. `budget` is in cells.

    >>> table = np.array([[1.0, 1, 1, 0, 1], [0, 0, 1, 0, 0]])
    >>> procedure, reply = race_above(np.arange(2), 0.05, bar=0.5, items=5, rng=np.random.default_rng(1)), None
    >>> try:
    ...     while True:
    ...         request = procedure.send(reply)
    ...         reply = table[np.ix_(request.arms, request.items)]
    ... except StopIteration as end:
    ...     print(end.value.arms, end.value.verdicts, end.value.reason)
    (0,) (1, -1) exact: nothing can change it
    """
    units, population = ordered(items, rng, target, group, weights)
    evidence = Above(len(arms), units.weights, bar, delta, epsilon, error, population)
    finished = yield from walk(arms, units, evidence, budget)
    return each_arm_answer(arms, evidence, evidence.declared.exact and not population, finished)


def _start(task: Task, **options: Any) -> Procedure[Answer]:
    assert task.items is not None
    return race_above(
        task.arms,
        task.delta,
        bar=task.question.bar,
        error=task.question.error,
        items=task.items,
        rng=task.rng,
        epsilon=task.epsilon,
        target=task.target,
        budget=task.budget,
        **options,
    )


ENTRIES = (
    Entry(
        name="race-above",
        start=_start,
        goal="either",
        standing="proven",
        reference="docs/questions.md",
        summary="Which arms lie above a bar on a list of items: open arms go through the items in one random order.",
        options=LIST_OPTIONS,
        works_on="items",
        answers=("above",),
    ),
)
