"""What a person sees while an identification runs: a live view on a terminal, plain lines elsewhere."""

import sys
import time
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from surest.protocol import Answer, Status
from surest.running import Running

EVERY_LIVE, EVERY_LINE = 0.1, 2.0
"""Seconds between two looks."""


def count(number: float) -> str:
    """A number of pulls as a person reads it.

    >>> count(1234567), count(5.9e13)
    ('1,234,567', '5.90e+13')
    """
    return f"{number:,.0f}" if number < 1e9 else f"{number:.2e}"


class Watch:
    """Called with the state of a run before each request; shows it now and then, on standard error."""

    def __init__(self, labels: tuple[str, ...], *, quiet: bool) -> None:
        self.labels = labels
        self.quiet = quiet
        console = Console(stderr=True)
        self.live = Live(console=console, transient=True, auto_refresh=False) if sys.stderr.isatty() else None
        self.last = time.monotonic()

    def __enter__(self) -> "Watch":
        if self.live is not None and not self.quiet:
            self.live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self.live is not None and not self.quiet:
            self.live.stop()

    def __call__(self, running: Running[Answer]) -> None:
        """Look, if it is time."""
        now = time.monotonic()
        if self.quiet or now - self.last < (EVERY_LINE if self.live is None else EVERY_LIVE):
            return
        self.last = now
        request = running.request
        status = request.status() if request is not None and request.status is not None else None
        if self.live is not None:
            self.live.update(self._view(running, status), refresh=True)
        else:
            print(self._line(running, status), file=sys.stderr, flush=True)

    def _facts(self, running: Running[Answer], status: Status | None) -> dict[str, str]:
        request = running.request
        facts = {"pulls": count(running.pulls), "rounds": f"{running.rounds:,}"}
        if status is None:
            if request is not None:
                facts["now"] = f"{len(request.arms)} arms, {count(request.total)} pulls"
            return facts
        facts["leader"] = self.labels[status.leader]
        if status.in_play is not None:
            facts["in play"] = f"{status.in_play:,} of {len(self.labels):,} arms"
        if status.evidence is not None and status.threshold is not None:
            facts["evidence"] = f"{max(status.evidence, 0):.2f} of {status.threshold:.2f}"
        if status.forecast is not None:
            facts["forecast"] = f"about {count(status.forecast)} more pulls"
        return facts

    def _line(self, running: Running[Answer], status: Status | None) -> str:
        return ", ".join(f"{name} {value}" for name, value in self._facts(running, status).items())

    def _view(self, running: Running[Answer], status: Status | None) -> Group:
        table = Table.grid(padding=(0, 2))
        for name, value in self._facts(running, status).items():
            table.add_row(Text(name, style="dim"), value)
        if status is None or status.evidence is None or status.threshold is None:
            return Group(table)
        return Group(table, ProgressBar(total=status.threshold, completed=max(status.evidence, 0), width=50))
