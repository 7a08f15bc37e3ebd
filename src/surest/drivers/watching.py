"""Looking at a search from Python while it runs, and ending it with Ctrl-C without losing the answer so far."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.core.scale import Scale
from surest.drivers.interrupts import Pressed, first_interrupt
from surest.errors import Stop

Hook = Callable[[Running[Answer]], None]


class Watched:
    """Several hooks as one, which remembers the run that it saw, and ends it at its next look once it was interrupted."""

    def __init__(self, hooks: Iterable[Hook | None]) -> None:
        self.hooks = [hook for hook in hooks if hook is not None]
        self.running: Running[Answer] | None = None
        self.interrupted = False

    def __call__(self, running: Running[Answer]) -> None:
        """Look."""
        self.running = running
        if self.interrupted:
            raise Stop("interrupted")
        for hook in self.hooks:
            hook(running)

    def ended_by(self, end: BaseException) -> str:
        """Why the search ended before its time, in words: by `Stop`, or by Ctrl-C."""
        self.interrupted = self.interrupted or isinstance(end, Pressed)
        return "interrupted" if isinstance(end, Pressed) else str(end) or "stopped"

    def interrupt(self) -> None:
        """End the search at the next look."""
        self.interrupted = True


@contextmanager
def watching(
    labels: tuple[Any, ...], scale: Scale, progress: Hook | bool | None, *hooks: Hook | None, items: bool = False,
    ticks: bool = False,
) -> Iterator[Watched]:  # fmt: skip
    """What to call with the state of a run: the hooks given, a function that shows progress or, if told nothing, a live view.

    `ticks` says that functions are called in this thread, so that the view is on its own for as long as one takes.

    The first Ctrl-C makes it raise `Stop`, so that evaluations that run are finished; the second is Python's own.
    """
    watched = Watched([*hooks, progress if callable(progress) else None])
    with ExitStack() as stack:
        if progress in (None, True) and somebody_looks():
            live = import_module("surest.report.live")  # found when asked: nobody else needs a screen
            watched.hooks.append(stack.enter_context(live.shown_live(labels, scale, items, ticks)))
        stack.enter_context(first_interrupt(watched.interrupt))
        yield watched


def somebody_looks() -> bool:
    """Whether standard error is a terminal, or this is a notebook."""
    return "ipykernel" in sys.modules or sys.stderr.isatty()
