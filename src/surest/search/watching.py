"""Looking at a search while it runs, and ending it with Ctrl-C without losing the answer so far."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from importlib import import_module
from types import TracebackType
from typing import Any, Self

from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.core.scale import Scale
from surest.errors import Stop
from surest.search.interrupts import first_interrupt

Hook = Callable[[Running[Answer]], None]


class Watch:
    """Several hooks as one, which ends the run at its next look once it was interrupted.

    The first Ctrl-C makes it raise `Stop`, so that evaluations that run are finished; the second is Python's own.
    """

    def __init__(self, *hooks: Hook | None, view: AbstractContextManager[Hook] | None = None) -> None:
        self.hooks = [hook for hook in hooks if hook is not None]
        self.interrupted = False
        self._view, self._stack = view, ExitStack()

    def __enter__(self) -> Self:
        if self._view is not None:
            self.hooks.append(self._stack.enter_context(self._view))
        self._stack.enter_context(self.signals())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._stack.close()

    def __call__(self, running: Running[Answer]) -> None:
        """Look."""
        if self.interrupted:
            raise Stop("interrupted")
        for hook in self.hooks:
            hook(running)

    def signals(self) -> AbstractContextManager[None]:
        """Which signals end the search, and how."""
        return first_interrupt(self.interrupt)

    def interrupt(self) -> None:
        """End the search at the next look."""
        self.interrupted = True


def watching(
    labels: tuple[Any, ...], scale: Scale, progress: Hook | bool | None, *hooks: Hook | None, items: bool = False,
    ticks: bool = False,
) -> Watch:  # fmt: skip
    """What looks at a run: the hooks given, a function that shows progress or, if told nothing, a live view.

    `ticks` says that functions are called in this thread, so that the view is on its own for as long as one takes.
    """
    view = None
    if progress in (None, True) and ("ipykernel" in sys.modules or sys.stderr.isatty()):
        live = import_module("surest.report.terminal")  # found when asked: nobody else needs a screen
        view = live.shown_live(labels, scale, items, ticks)
    return Watch(*hooks, progress if callable(progress) else None, view=view)
