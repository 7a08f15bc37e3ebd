"""wager-top: the m best arms. It nominates a set, and bets on each arm inside against each one outside of it."""

from functools import partial
from itertools import count
from typing import Any

import numpy as np

from surest.algorithms.entry import Entry, Script, Task
from surest.algorithms.options import Option
from surest.algorithms.questions.sets import SetLedger
from surest.algorithms.wager.ahead import plan_ahead
from surest.algorithms.wager.wager import FIRST
from surest.core.protocol import Answer, IntArray, Procedure, Pull, Statistic


def wager_top(
    arms: IntArray,
    delta: float,
    *,
    top: int,
    epsilon: float = 0.0,
    rng: np.random.Generator,
    batch: int = 1,
    workers: int = 1,
    script: Script = (),
) -> Procedure[Answer]:
    """The `top` best arms (or as many within ε of the last of them), wrong with probability at most δ, whenever it stops.

    `batch`, `workers` and `script` as for `wager`.
    """
    planning = workers > 1
    if planning and len(script) > 0:
        batch, workers = max(batch, 2 * workers), 1
    ledger = SetLedger(len(arms), top, delta, epsilon)
    planned = [np.full(len(arms), FIRST)]
    for k in count():
        requests = [(np.flatnonzero(times), times[times > 0]) for times in planned]
        pulled, often = script[k] if k < len(script) else requests[0]
        ahead = [Pull(arms[others], times, Statistic.ATOMS) for others, times in requests[1:]]
        reply = yield Pull(arms[pulled], often, Statistic.ATOMS, ledger.status, ahead)
        ledger.count(pulled, reply)
        ledger.nominate_if_due()
        ledger.refute()
        if ledger.decided and (planning or k + 1 >= len(script)):
            break  # what a plan announced is not needed any more
        del planned[0]
        plan_ahead(planned, ledger.book.counts, batch, workers, partial(ledger.next_batch, rng))
    reason = "certified" if epsilon == 0 else "certified ε-optimal"
    return Answer(ledger.chosen, reason=reason, status=ledger.status())


def _start(task: Task, **options: Any) -> Procedure[Answer]:
    top, script = task.question.top, task.script
    return wager_top(task.arms, task.delta, top=top, epsilon=task.epsilon, rng=task.rng, script=script, **options)


ENTRIES = (
    Entry(
        name="wager-top",
        start=_start,
        goal="either",
        standing="proven",
        reference="docs/questions.md",
        summary="The m best arms: bets on each arm of a nominated set and against each one outside of it.",
        answers=("top",),
        options={
            "batch": Option("whole number", "the least number of pulls to ask for at a time; 1 unless told"),
            "workers": Option(
                "whole number", "evaluations under way at a time, for which it plans ahead; 1 unless told"
            ),
        },
        any_sampling=True,
    ),
)
