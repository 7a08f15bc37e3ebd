"""The winner's mean, estimated on evaluations that did not choose it: what follows a verdict where an estimate is asked for."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surest.core.protocol import Answer, Cells, Procedure, Pull, Statistic
from surest.errors import UsageError
from surest.evidence.honest import mean_interval
from surest.evidence.lists.units import shares


def honest(
    procedure: Procedure[Answer], k: int, delta: float, items: int | None = None, population: bool = False,
    group: Sequence[int] | None = None, weights: Sequence[float] | None = None,
) -> Procedure[Answer]:  # fmt: skip
    """A procedure, then k more evaluations of the arm that it certifies: on a list the next k items, or clusters, of its order.

    The rewards before are a part of the list's mean, those after a random sample of the rest. Theorem and proof: docs/money.md.
    """
    each = np.ones(items or 0) if weights is None else np.asarray(weights, np.float64)
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
                sums[arm] += float(row @ each[request.items])
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
        raise UsageError("estimate requires an algorithm that announces the order of the items, such as race")
    total, left = float(each.sum()), float(each[rest].sum())
    if not len(rest):
        mean = sums[winner] / total
        return replace(answer, estimate=(mean, mean, mean, 0))
    cluster = np.arange(len(rest)) if group is None else np.asarray(group)[rest]
    starts = np.append(0, np.flatnonzero(np.diff(cluster)) + 1)  # clusters are taken whole
    sizes = np.add.reduceat(each[rest], starts)
    until = int(np.append(starts, len(rest))[min(k, len(starts))])
    reply = yield Cells([winner], rest[:until], rest[until:], _status(answer), so_far=answer)
    sample = np.add.reduceat(np.asarray(reply)[0] * each[rest[:until]], starts[:k]) / sizes[:k]
    if population:
        low, high = mean_interval(sample, delta)
        return replace(answer, estimate=(float(sample.mean()), low, high, until))
    ends = (float(shares(sizes, len(sample)) @ sample), *mean_interval(sample, delta, sizes[:k], left))
    mean, low, high = ((sums[winner] + left * of) / total for of in ends)
    return replace(answer, estimate=(mean, low, high, until))


def _status(answer: Answer) -> Any:
    return None if answer.status is None else lambda: answer.status
