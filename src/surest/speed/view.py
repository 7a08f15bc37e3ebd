"""What a person sees of ``surest fastest``: progress while it measures, the verdict and a table at the end."""

import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import FrameType

import click
from rich.console import Group
from rich.live import Live
from rich.text import Text

from surest.cli import Terminated
from surest.cli.console import Output
from surest.cli.output import command_again, say_table, warn
from surest.cli.progress import EVERY_LINE
from surest.cli.settings import Given
from surest.cli.streams import print_json, say
from surest.errors import Stop
from surest.report.live import facts_table
from surest.search.watching import handled_by
from surest.speed.evidence import PILOT
from surest.speed.procedure import Block, leader, unbeaten
from surest.speed.result import Timings, claim, comparisons, cost, table_lines, verdict
from surest.text import visible

EVERY_LIVE = 0.5
"""Seconds between two looks on a terminal, at least: drawing warms the processor's caches with other things."""


class FastestView:
    """Called with each block before it runs; shows how far it is, on standard error, never while a command runs.

    The first Ctrl-C, or SIGTERM, ends the command that runs, and the answer so far is reported.
    """

    def __init__(self, labels: Sequence[str], *, quiet: bool) -> None:
        self.labels, self.quiet = labels, quiet
        self.live: Live | None = None
        if sys.stderr.isatty() and not quiet:
            self.live = Live(console=Output(stderr=True), transient=True, auto_refresh=False)
        self.stopped_by: int | None = None
        self.blocks, self.shown = 0, time.monotonic()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Show progress and heed signals meanwhile."""
        with handled_by(self._signalled), self.live or nullcontext():
            yield

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        again, self.stopped_by = self.stopped_by is not None, number
        if again or self.blocks == 0:
            raise self.interrupt()
        raise Stop("interrupted")

    def interrupt(self) -> KeyboardInterrupt:
        """What ends the program when there is no answer to report."""
        return Terminated() if self.stopped_by == signal.SIGTERM else KeyboardInterrupt()

    def __call__(self, block: Block) -> None:
        """Show the state, unless it was shown just before."""
        self.blocks += 1
        every = EVERY_LINE if self.live is None else EVERY_LIVE
        if self.quiet or time.monotonic() - self.shown < every:
            return
        self.shown = time.monotonic()
        facts, towards = self._facts(block)
        if self.live is None:
            say(", ".join(f"{name} {value}" for name, value in facts.items()), err=True)
            return
        grid = facts_table(facts, 1.0, towards)
        self.live.update(Group(grid, Text("Ctrl-C stops with the answer so far", style="dim")), refresh=True)

    def _facts(self, block: Block) -> tuple[dict[str, str], float]:
        if block.pairs is None:
            return {"runs of each": f"{self.blocks - 1:,}", "now": f"a pilot of {PILOT}, which does not count"}, 0.0
        pairs = block.pairs
        first = leader(pairs, unbeaten(pairs))
        towards = pairs.towards(first)
        return {
            "runs of each": f"{self.blocks - 1:,}",
            "leader": visible(self.labels[first]),
            "in play": f"{len(block.arms)} of {len(self.labels)} commands",
            "evidence": f"{towards:.0%} of what a decision needs",
        }, towards


def show(found: Timings, given: Given) -> None:
    """The verdict, the factors and the table; with ``--json`` all of it as data."""
    if given["as_json"]:
        print_json({**found.to_dict(), "command": command_again(click.get_current_context(), found.seed)})
        return
    say(verdict(found), bold=verdict(found) if found.certified else "", fg="yellow")
    for line in comparisons(found):
        say(line)
    warn(found)
    say("")
    say_table("\n".join(table_lines(found, shutil.get_terminal_size().columns)))
    say(f"\n{claim(found)}\n{cost(found)}", wrap=True, dim=True)
