"""Results and running searches on a terminal."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from surest.core.costs import money
from surest.core.procedure import Running
from surest.core.protocol import Answer, Status
from surest.core.scale import Scale
from surest.result.data import Result
from surest.result.duels import score_text, wins_of
from surest.result.questions import chosen_names, names
from surest.result.table import SHOWN, ArmTable
from surest.result.words import verdict
from surest.search.watching import Looks
from surest.text import count, counted, decimals, guessed, seconds_words, shortened, visible

if TYPE_CHECKING:
    from surest.study.outcome import Progress


def emphasised(result: Result) -> Text:
    """The verdict, with the arms in bold and a missing guarantee in yellow."""
    text, name = Text(verdict(result)), chosen_names(result)
    start = text.plain.find(name)
    if start < 0:  # nothing was pulled
        start = len(text)
    text.stylize("bold", start, start + len(name))
    if not result.certified:
        text.stylize("yellow", 0, start)
    return text


def arm_table(arms: ArmTable, most: int = SHOWN) -> Table:
    """The leading arms in columns."""
    heads, rows = arms.cells(most)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if head in ("mean", arms.counted, "share") else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    if len(arms) > len(rows):
        table.add_row(Text(f"… {len(arms) - len(rows):,} more", style="dim"))
    return table


def wins_table(result: Result) -> Table:
    """Who beats whom, in the order found: wins warm, losses cold, certified ones bold."""
    labels, cells = wins_of(result)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("score of", no_wrap=True)
    for place in range(len(labels)):
        table.add_column(str(place + 1), justify="right", no_wrap=True)
    for i, (label, row) in enumerate(zip(labels, cells, strict=True)):
        shown = []
        for j, (score, certain) in enumerate(row):
            style = "dim" if score in (None, 0.5) else "yellow" if score is not None and score > 0.5 else "blue"
            shown.append(
                Text("" if i == j else score_text(score), f"bold {style}" if certain and style != "dim" else style)
            )
        table.add_row(Text(f"{i + 1} {shortened(label, 24)}"), *shown)
    return table


def next_table(suggestions: Sequence[Mapping[str, Any]], arms: int) -> Table:
    """The arms to evaluate next, and how often; of so many `arms` in all."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("run next")
    table.add_column("times", justify="right")
    for suggestion in suggestions:
        table.add_row(Text(visible(suggestion["arm"])), count(suggestion["times"]))
    if arms > len(suggestions):
        table.add_row(Text(f"… {arms - len(suggestions):,} more", style="dim"))
    return table


ARMS = 5
"""Arms in the live view: the leader, then contenders by their means."""
NAMED = 5
"""Contenders are named if there are at most this many."""
EVERY = 0.1
"""Minimum seconds between two updates."""
TICKS = 2
"""Redraws of the clock per second while nothing else changes."""


class View:
    """The state of a running search in words and numbers; `began` is its start by `clock`."""

    def __init__(
        self, labels: tuple[Any, ...], scale: Scale, *, clock: Callable[[], float] = time.monotonic, items: bool = False
    ) -> None:
        self.labels, self.scale, self.clock = labels, scale, clock
        self.counted = "evaluations" if items else "pulls"
        self.began = clock()
        self.footing = "Ctrl-C stops with the answer so far"
        """The last line of the screen."""

    def facts(self, running: Running[Answer], status: Status | None) -> dict[str, str]:
        """The facts by name."""
        request = running.request
        passed = seconds_words(self.clock() - self.began)
        facts = {self.counted: count(running.pulls), "time": passed + self._more(running, status)}
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
            declared = [sum(verdict == sign for verdict in status.verdicts) for sign in (1, -1, 0)]
            facts["declared"] = "{:,} yes, {:,} no, {:,} open".format(*declared)
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

    def screen(self, running: Running[Answer], status: Status | None) -> Group:
        """The facts and leading arms in at most 80 columns, with a progress bar up to the forecast."""
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=60)
        for name, value in self.facts(running, status).items():
            shown: Any = Text(value, style="bold" if name in ("leader", "leading", "declared") else "")
            table.add_row(name, Clock(self, self._more(running, status)) if name == "time" else shown)
        whole = self._whole(running, status)
        if whole is not None:
            table.add_row("", ProgressBar(total=whole, completed=running.pulls, width=40))
        parts: list[Any] = [table]
        if status is not None and running.pulls:
            parts.append(self._arms(running, status))
        return Group(*parts, Text(visible(self.footing), style="dim"))

    def _arms(self, running: Running[Answer], status: Status) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1))
        table.add_column("arm", no_wrap=True, max_width=30)
        for head in ("mean", "interval", self.counted):
            table.add_column(head, justify="right", no_wrap=True)
        digits, state = min(decimals(self.scale.low, self.scale.high), 4), self.scale.status(status)
        means = self.scale.from_unit(running.means) if state.means is None else state.means
        low, high = state.intervals or (np.full(len(means), np.nan),) * 2
        for arm in self._shown(running, status):
            interval = "" if np.isnan(low[arm]) else f"{low[arm]:,.{digits}f} – {high[arm]:,.{digits}f}"
            mean = "–" if np.isnan(means[arm]) else f"{means[arm]:,.{digits}f}"
            label = Text(shortened(visible(self.labels[arm]), 30))
            table.add_row(label, mean, interval, count(int(running.pulls_per_arm[arm])))
        return table

    def _shown(self, running: Running[Answer], status: Status) -> list[int]:
        first = list(status.chosen) or [status.leader]
        among = np.arange(len(running.means)) if status.contenders is None else np.array(status.contenders, np.int64)
        order = among[np.argsort(-np.nan_to_num(running.means[among], nan=-1.0), kind="stable")[: 2 * ARMS]]
        return [*first, *(int(arm) for arm in order if arm not in first)][:ARMS]

    def _whole(self, running: Running[Answer], status: Status | None) -> float | None:
        if status is not None and status.forecast is not None:
            whole = running.pulls + status.forecast
            return whole if running.budget is None else min(whole, running.budget)
        return None if running.budget is None else running.budget

    def _more(self, running: Running[Answer], status: Status | None) -> str:
        whole = self._whole(running, status)
        if whole is None or not running.pulls:
            return ""
        passed = self.clock() - self.began
        left = passed * (whole - running.pulls) / running.pulls
        return f", perhaps {guessed(left, seconds_words)} more"


class Clock:
    """The elapsed time when drawn. It does not touch the search, so a thread may draw it while that runs."""

    def __init__(self, view: View, more: str) -> None:
        self.view, self.more = view, more

    def __rich__(self) -> Text:
        return Text(seconds_words(self.view.clock() - self.view.began) + self.more)


@contextlib.contextmanager
def shown_live(
    labels: tuple[Any, ...], scale: Scale, items: bool = False, ticks: bool = False
) -> Iterator[Callable[..., None]]:
    """A hook that shows a search live in a terminal or a notebook, and erases it at the end. With `ticks` a thread redraws the
    clock between two calls."""
    notebook = "ipykernel" in sys.modules
    view = View(labels, scale, items=items)
    redrawn: Any = {"auto_refresh": ticks and not notebook, "refresh_per_second": TICKS}
    live = Live(console=Console(stderr=not notebook), transient=True, **redrawn)

    def show(running: Running[Answer], status: Status | None) -> None:
        live.update(view.screen(running, status), refresh=True)

    with live:
        yield Looks(show, every=EVERY)


def progress_words(progress: "Progress") -> str:
    """The progress of a study."""
    waiting = f", {progress.waiting:,} to be handed out again" if progress.waiting else ""
    spare = f" ({progress.not_needed:,} of them not needed)" if progress.not_needed else ""
    return f"{counted(progress.told, 'reward')} told{spare}, {counted(progress.out, 'ticket')} with workers{waiting}"
