"""What a person sees while an identification runs: a live view on a terminal, plain lines elsewhere."""

import contextlib
import functools
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

import click

from surest.cli import STOPPED_BY, Terminated
from surest.cli.streams import say
from surest.core.procedure import Running
from surest.core.protocol import Answer, Status
from surest.core.scale import Scale
from surest.errors import Stop, UsageError
from surest.report.terminal import EVERY, TICKS, View
from surest.search.watching import Looks, handled_by

if TYPE_CHECKING:
    from surest.search.commands import Runner

EVERY_LINE = 2.0  # minimum number of seconds between two plain lines
SLOWER = 0.02
"""Plain lines come less often in a long run: no sooner than this part of its time after the one before."""


class Screen:
    """What a command shows of a run, now and then, on standard error: a view for the one watcher, which heeds signals.

    The first Ctrl-C, or SIGTERM, ends the search where its state is sound: before the next request, or in an arm's own code.
    Where rewards are `kept`, evaluations that run are finished first: to break them off and make them again would favour
    rewards that come quickly. The answer so far is then reported. A second one interrupts at once.
    """

    def __init__(
        self, labels: tuple[Any, ...], scale: Scale, *, quiet: bool, kept: bool = False, items: bool = False,
        commands: "Runner | None" = None,
    ) -> None:  # fmt: skip
        self.view, self.kept, self.commands = View(labels, scale, items=items), kept, commands
        self.live: Any = None
        if sys.stderr.isatty() and not quiet:
            from rich.live import Live

            from surest.cli.console import Output

            # Between two looks a thread draws the last one again, with the time that has passed since.
            self.live = Live(console=Output(stderr=True), transient=True, refresh_per_second=TICKS)
        every = EVERY_LINE if self.live is None else EVERY
        self.looks = None if quiet else Looks(self.show, every=every, growth=1.0, free=0.0)
        self.stopped_by: int | None = None  # the signal that ended it, if one did
        self._in_arm = False
        self._said_that_it_waits = False
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(handled_by(self._interrupt))
        self._stack.enter_context(self.live or contextlib.nullcontext())
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()
        click.get_current_context().meta[STOPPED_BY] = self.stopped_by

    @property
    def stopping(self) -> bool:
        """Whether a signal asked for the end."""
        return self.stopped_by is not None

    def __call__(self, running: Running[Answer]) -> None:
        """Look, if it is time."""
        if self.stopping:
            self._say_that_it_waits()
            raise Stop("interrupted")
        if self.looks is not None:
            self.looks(running)

    def arm(self, label: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A user's callable that Ctrl-C may interrupt, and whose errors are told as its own."""

        @functools.wraps(function, updated=())
        def guarded(*arguments: int) -> Any:
            self._in_arm = True
            try:
                return function(*arguments)
            except KeyboardInterrupt:
                raise Stop("interrupted") from None
            except Exception as error:
                raise UsageError(f"arm {label!r} raised {type(error).__name__}: {error}") from error
            finally:
                self._in_arm = False

        return guarded

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        again, self.stopped_by = self.stopped_by is not None, number
        if again or (self._in_arm and not self.kept):
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
        if self._in_arm:
            self._say_that_it_waits()

    def _say_that_it_waits(self) -> None:
        """Say, once, what the end of the search waits for. A signal's handler may call this: it writes past all buffers."""
        running = self._in_arm if self.commands is None else self.commands.under_way
        if self._said_that_it_waits or not running or not self.kept:
            return
        self._said_that_it_waits = True
        them = "1 running evaluation" if running == 1 else f"{running:,} running evaluations"
        again = "Ctrl-C" if self.stopped_by == signal.SIGINT else "SIGTERM"
        line = f"surest: waiting for {them} to finish; {again} again to end {'it' if running == 1 else 'them'}"
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            if self.live is not None:
                self.live.console.print(line)
            else:
                os.write(sys.stderr.fileno(), f"{line}\n".encode())

    def show(self, running: Running[Answer], status: Status | None) -> None:
        """Show the state of the run."""
        if self.live is not None:
            from surest.report.live import screen

            self.live.update(screen(self.view, running, status), refresh=True)
            return
        say(self.view.line(running, status), err=True)
        if self.looks is not None:
            self.looks.every = max(EVERY_LINE, SLOWER * (self.looks.clock() - self.looks.began))
