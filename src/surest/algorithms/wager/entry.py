"""What is known of Wager; its machinery is imported when it is started."""

from typing import Any

from surest.algorithms.entry import Entry, Option, Task
from surest.core.protocol import Answer, Procedure

NO_MORE = "all rewards counted"
"""Why it ends where arms in play have none left."""


def _start(task: Task, **options: Any) -> Procedure[Answer]:
    from surest.algorithms.wager.wager import wager

    given: dict[str, Any] = {"epsilon": task.epsilon, "rng": task.rng, "arrivals": task.arrivals, "script": task.script}
    return wager(task.arms, task.delta, costs=task.question.prices, **given, **options)


ENTRIES = (
    Entry(
        name="wager",
        start=_start,
        goal="either",
        standing="proven",
        reference="docs/wager.md",
        summary="The default: bets on the leader and against every other arm; valid at any time, in any order of work.",
        options={
            "batch": Option("whole number", "minimum number of pulls per request; default 1"),
            "reserve": Option("number", "the part of δ kept for arms that are added later; default 0"),
            "rows": Option("value", "the most rewards that each arm can give, known beforehand; default unlimited"),
            "workers": Option("whole number", "evaluations under way at a time, for which it plans ahead; default 1"),
        },
        growing=True,
        reserve="reserve",
        any_sampling=True,
    ),
)
