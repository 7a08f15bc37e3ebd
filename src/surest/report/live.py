"""Running searches, and who beats whom, drawn on a terminal with rich: imported only where something is drawn."""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from surest.core.procedure import Running
from surest.core.protocol import Answer, Status
from surest.core.scale import Scale
from surest.report.terminal import EVERY, TICKS, View
from surest.result.data import Result
from surest.result.duels import wins_of
from surest.search.watching import Looks
from surest.text import count, decimals, seconds_words, shortened, visible


def wins_table(result: Result) -> Table:
    """Who beats whom, in the order found: wins warm, losses cold, certified ones bold."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("score of", no_wrap=True)
    labels, cells = wins_of(result)
    for place in range(len(labels)):
        table.add_column(str(place + 1), justify="right", no_wrap=True)
    for place, (label, row) in enumerate(zip(labels, cells, strict=True), 1):
        shown = []
        for one in row:
            style = "dim" if one.share in (None, 0.5) else "yellow" if (one.share or 0.0) > 0.5 else "blue"
            shown.append(Text(one.text, f"bold {style}" if one.certain and style != "dim" else style))
        table.add_row(Text(f"{place} {shortened(label, 24)}"), *shown)
    return table


def facts_table(facts: Mapping[str, Any], whole: float | None, done: float) -> Table:
    """Facts by name, and a progress bar where it is known how much there is to do."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=60)
    for name, value in facts.items():
        style = "bold" if name in ("leader", "leading", "declared") else ""
        table.add_row(name, Text(value, style=style) if isinstance(value, str) else value)
    if whole is not None:
        table.add_row("", ProgressBar(total=whole, completed=done, width=40))
    return table


def screen(view: View, running: Running[Answer], status: Status | None) -> Group:
    """The facts and leading arms in at most 80 columns, with a progress bar up to the forecast."""
    facts = {**view.facts(running, status), "time": Clock(view, view.more(running, status))}
    parts = [facts_table(facts, view.whole(running, status), running.pulls)]
    if status is not None and running.pulls:
        parts.append(_arms(view, running, status))
    return Group(*parts, Text(visible(view.footing), style="dim"))


def _arms(view: View, running: Running[Answer], status: Status) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1))
    table.add_column("arm", no_wrap=True, max_width=30)
    for head in ("mean", "interval", view.counted):
        table.add_column(head, justify="right", no_wrap=True)
    digits, state = min(decimals(view.scale.low, view.scale.high), 4), view.scale.status(status)
    means = view.scale.from_unit(running.means) if state.means is None else state.means
    low, high = state.intervals or (np.full(len(means), np.nan),) * 2
    for arm in view.leading(running, status):
        interval = "" if np.isnan(low[arm]) else f"{low[arm]:,.{digits}f} – {high[arm]:,.{digits}f}"
        interval = "exact" if low[arm] == high[arm] else interval
        mean = "–" if np.isnan(means[arm]) else f"{means[arm]:,.{digits}f}"
        label = Text(shortened(visible(view.labels[arm]), 30))
        table.add_row(label, mean, interval, count(int(running.pulls_per_arm[arm])))
    return table


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
        live.update(screen(view, running, status), refresh=True)

    with live:
        yield Looks(show, every=EVERY, growth=1.0, free=0.0)
