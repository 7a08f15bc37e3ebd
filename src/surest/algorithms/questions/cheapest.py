"""The cheapest arm within ε of the best, on a list of items or with fresh pulls. See evidence/cheapest.py."""

from typing import Any

import numpy as np

from surest.algorithms.entry import Entry, Option, Task
from surest.core.protocol import Answer, Cells, Procedure, Pull, Statistic
from surest.errors import UsageError
from surest.evidence.cheapest import Cheapest

GROWTH = 0.01  # rounds of pulls at a time, as a part of those that were made
MOST_ARMS = 500  # claims are kept of every pair of arms


def cheapest(task: Task, *, batch: int = 1) -> Procedure[Answer]:
    """Name the cheapest arm within ε of the best, wrong with probability at most δ; all arms that matter are evaluated alike."""
    asked, n = task.question, len(task.arms)
    if len(asked.prices) != n:
        raise UsageError("cheapest needs what an evaluation of each arm costs: cost={arm: number}, --cost ARM=NUMBER")
    if n > MOST_ARMS:
        raise UsageError(f"cheapest compares every pair of arms and supports up to {MOST_ARMS} arms; got {n}")
    finite = task.items is not None and task.target == "items"
    evidence = Cheapest(np.array(asked.prices), task.items if finite else None, task.delta, asked.within, asked.slack)
    order = None if task.items is None else task.rng.permutation(task.items)
    spent = 0
    while evidence.named is None:
        t, play = evidence.t, evidence.play
        rounds = 1 if order is not None else max(batch, int(GROWTH * t), 1)
        if (order is not None and t == len(order)) or (
            task.budget is not None and spent + len(play) * rounds > task.budget
        ):
            reason = "budget spent" if order is None or t < len(order) else "all items seen"
            return Answer(evidence.leader, False, reason, evidence.status())
        spent += len(play) * rounds
        if order is not None:
            evidence.count((yield Cells(task.arms[play], order[t : t + 1], order[t + 1 :], evidence.status))[:, 0])
            continue
        reply = yield Pull(task.arms[play], rounds, Statistic.REWARDS, evidence.status)
        for row in np.asarray(reply).reshape(len(play), rounds).T:
            if evidence.named is None:
                evidence.count(row[np.isin(play, evidence.play)])
    return evidence.answer()


def _entry(name: str, summary: str, **facts: Any) -> Entry:
    fixed: dict[str, Any] = {"goal": "either", "standing": "proven", "answers": ("cheapest",), "start": cheapest}
    return Entry(name=name, summary=summary, reference="docs/questions/cheapest.md", **fixed, **facts)


ENTRIES = (
    _entry(
        "race-cheapest", "The cheapest arm within a distance of the best on a list of items: arms that matter go through it.",
        works_on="items", options={},
    ),
    _entry(
        "wager-cheapest", "The cheapest arm within a distance of the best, by fresh pulls in rounds.",
        options={"batch": Option("whole number", "minimum number of rounds per request; default 1")},
    ),
)  # fmt: skip
