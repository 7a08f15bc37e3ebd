"""Results and running searches on a terminal."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from surest.core.costs import money
from surest.core.procedure import Running
from surest.core.protocol import Answer, Status
from surest.core.scale import Scale
from surest.result.questions import names
from surest.text import count, counted, guessed, seconds_words, visible

if TYPE_CHECKING:
    from surest.study.outcome import Progress


EVERY = 0.1  # minimum seconds between two updates
TICKS = 2  # redraws of the clock per second while nothing else changes
ARMS = 5  # arms in the live view
NAMED = 5  # contenders are named if there are at most this many


class View:
    """The state of a running search in words and numbers; `began` is its start by `clock`."""

    def __init__(
        self, labels: tuple[Any, ...], scale: Scale, *, clock: Callable[[], float] = time.monotonic, items: bool = False
    ) -> None:
        self.labels, self.scale, self.clock = labels, scale, clock
        self.counted = "evaluations" if items else "pulls"
        self.began = clock()
        self.footing = "Ctrl-C stops with the answer so far"  # the last line of the screen

    def facts(self, running: Running[Answer], status: Status | None) -> dict[str, str]:
        """The facts by name."""
        request = running.request
        passed = seconds_words(self.clock() - self.began)
        facts = {self.counted: count(running.pulls), "time": passed + self.more(running, status)}
        if running.budget is not None:
            facts[self.counted] += f" of at most {count(running.budget)}"
        costs = running.costs
        if costs:
            most = "" if costs.budget is None else f" of at most {money(costs.budget, costs.unit)}"
            facts["spent"] = f"{money(costs.total, costs.unit)}{most}"
        if status is None:
            if request is not None:
                facts["now"] = f"{len(request.arms):,} arms, {count(request.total)} {self.counted}"
            return facts
        if status.verdicts is not None:
            yes, no, others = (sum(verdict == sign for verdict in status.verdicts) for sign in (1, -1, 0))
            others -= status.differences is not None  # they are from a control, which gets no verdict
            facts["declared"] = f"{yes:,} yes, {no:,} no, {others:,} open"
        elif len(status.chosen) > 1:
            facts["leading"] = names([self.labels[arm] for arm in status.chosen])
        elif running.pulls:
            facts["leader"] = visible(self.labels[status.leader])
        left = status.contenders
        if left is not None and len(left) <= NAMED:
            facts["contenders"] = ", ".join(visible(self.labels[arm]) for arm in left)
        elif status.in_play is not None:
            facts["in play"] = f"{status.in_play:,} of {len(self.labels):,} arms"
        if status.evidence is not None and status.threshold is not None and status.evidence > 0:
            facts["evidence"] = f"{status.evidence:.2f} of {status.threshold:.2f}"
        if status.forecast is not None:
            facts["forecast"] = f"perhaps {guessed(status.forecast)} more {self.counted}"
        return facts

    def line(self, running: Running[Answer], status: Status | None) -> str:
        """The facts in one line."""
        return ", ".join(f"{name} {value}" for name, value in self.facts(running, status).items())

    def leading(self, running: Running[Answer], status: Status) -> list[int]:
        """The arms to show: the leader, then contenders by their means."""
        first = list(status.chosen) or [status.leader]
        among = np.arange(len(running.means)) if status.contenders is None else np.array(status.contenders, np.int64)
        order = among[np.argsort(-np.nan_to_num(running.means[among], nan=-1.0), kind="stable")[: 2 * ARMS]]
        return [*first, *(int(arm) for arm in order if arm not in first)][:ARMS]

    def whole(self, running: Running[Answer], status: Status | None) -> float | None:
        """How many evaluations there may be in all, as far as is known."""
        if status is not None and status.forecast is not None:
            whole = running.pulls + status.forecast
            return whole if running.budget is None else min(whole, running.budget)
        return None if running.budget is None else running.budget

    def more(self, running: Running[Answer], status: Status | None) -> str:
        """How much longer it may take."""
        whole = self.whole(running, status)
        if whole is None or not running.pulls:
            return ""
        passed = self.clock() - self.began
        left = passed * (whole - running.pulls) / running.pulls
        return f", perhaps {guessed(left, seconds_words)} more"


def progress_words(progress: "Progress") -> str:
    """The progress of a study."""
    waiting = f", {progress.waiting:,} to be handed out again" if progress.waiting else ""
    spare = f" ({progress.not_needed:,} of them not needed)" if progress.not_needed else ""
    return f"{counted(progress.told, 'reward')} told{spare}, {counted(progress.out, 'ticket')} with workers{waiting}"
