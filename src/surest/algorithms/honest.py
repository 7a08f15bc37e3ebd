"""The winner's mean, estimated on evaluations that did not choose it: what follows a verdict where an estimate is asked for."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from surest.core.protocol import Answer, Cells, Procedure, Pull, Statistic
from surest.errors import UsageError
from surest.evidence.honest import mean_interval


def honest(
    procedure: Procedure[Answer], k: int, delta: float, items: int | None = None, population: bool = False
) -> Procedure[Answer]:
    """A procedure, and then k more evaluations of the arm that it certifies: on a list the next k items of its order.

    The rewards before are a part of the list's mean, those after a uniform sample of the rest. Theorem and proof: docs/money.md.
    """
    sums, counts, order, reply = defaultdict[int, float](float), defaultdict[int, int](int), None, None
    while True:
        try:
            request: Any = procedure.send(reply)
        except StopIteration as end:
            answer: Answer = end.value
            break
        if isinstance(request, Pull) and request.ahead:  # nothing may be evaluated that an estimate does not follow
            request = Pull(request.arms, request.times, request.statistic, request.status, (), request.evidence)
        reply = yield request
        if isinstance(request, Cells):
            order = request.ahead
            for arm, row in zip(request.arms.tolist(), reply, strict=True):
                sums[arm] += float(row.sum())
                counts[arm] += len(row)
    if not answer.certified or (items is not None and order is None):
        return answer
    winner = answer.arm
    if items is None:
        sample = np.asarray((yield Pull([winner], [k], Statistic.REWARDS, _status(answer), so_far=answer)))
        low, high = mean_interval(sample, delta)
        return replace(answer, estimate=(float(sample.mean()), low, high, k))
    rest = np.asarray(order)
    if counts[winner] + len(rest) != items:
        raise UsageError("estimate needs an algorithm that says in which order items come; race does")
    if not len(rest):
        mean = sums[winner] / items
        return replace(answer, estimate=(mean, mean, mean, 0))
    reply = yield Cells([winner], rest[:k], rest[k:], _status(answer), so_far=answer)
    sample, before = np.asarray(reply)[0], 0.0 if population else counts[winner] / items
    low, high = mean_interval(sample, delta, None if population else len(rest))
    done = 0.0 if population else sums[winner] / items
    mean, low, high = (done + (1 - before) * end for end in (float(sample.mean()), low, high))
    return replace(answer, estimate=(mean, low, high, len(sample)))


def _status(answer: Answer) -> Any:
    return None if answer.status is None else lambda: answer.status
