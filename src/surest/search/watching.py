"""Looking at a search while it runs, at little cost, and ending it with Ctrl-C without losing the answer so far."""

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from types import FrameType
from typing import Any

from surest.core.procedure import Running
from surest.core.protocol import Answer, Point, Status

Hook = Callable[[Running[Answer]], None]


class Pressed(KeyboardInterrupt):
    """Ctrl-C in an arm, or while evaluations were awaited: between two steps of the search, so that it has an answer so far."""


def between_steps(interrupt: KeyboardInterrupt) -> KeyboardInterrupt:
    """The same as `Pressed`; an interrupt of another kind, such as SIGTERM's on the command line, as it is."""
    return Pressed() if type(interrupt) is KeyboardInterrupt else interrupt


@contextmanager
def first_interrupt(ask_to_stop: Callable[[], object]) -> Iterator[None]:
    """Let the first SIGINT call `ask_to_stop`, and the second do what the first would have done.

    Where somebody else handles SIGINT (a command line with a hook that raises `Stop`, a server), or outside the main thread,
    this does nothing.
    """
    before: Any = signal.getsignal(signal.SIGINT)
    asyncio = sys.modules.get("asyncio")  # slow to import, and without it `asyncio.run` has no handler
    owner = getattr(getattr(before, "func", None), "__self__", None)
    ours = before is signal.default_int_handler or (asyncio is not None and isinstance(owner, asyncio.Runner))
    if threading.current_thread() is not threading.main_thread() or not ours:
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        ask_to_stop()

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, before)


@contextmanager
def handled_by(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Let SIGINT and SIGTERM call `handler` for a while. Outside the main thread, which alone may say so, this does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)


@dataclass(eq=False)
class Looks:
    """A hook that looks at a run now and then, and keeps what it saw in `points`.

    `show` is called at each look with the run and its status (None where the algorithm tells none). Between two looks there are
    at least `every` seconds and `growth` times as many pulls, its fourth power while there is no evidence. Looking takes at most
    `free` seconds plus a `share` of the time, but for the look that exceeds it and for the first one.

    By default it records evidence over time for a picture, in less than a tenth of the time (docs/wager.md has figures). A look
    takes about as long as a round or two, so there are few of them. In a run of seconds their number depends on pulls alone, so
    that a seed gives the same record again; only in a long one it depends on the time that they take.
    """

    show: Callable[[Running[Answer], Status | None], None] | None = None
    _: KW_ONLY
    every: float = 0.0
    growth: float = 1.5
    share: float = 0.05
    free: float = 1.0
    clock: Callable[[], float] = time.monotonic
    points: list[Point] = field(default_factory=list, init=False)
    began: float = field(default_factory=time.monotonic, init=False)
    last: float = field(default_factory=time.monotonic, init=False)  # when it looked, …
    pulls: int = field(default=-1, init=False)  # … after how many pulls …
    spent: float = field(default=0.0, init=False)  # … and how long all looks took

    def __call__(self, running: Running[Answer]) -> None:
        """Look, if it is time."""
        now = self.clock()
        if now - self.last < self.every or self.spent > self.free + self.share * (now - self.began):
            return
        is_early = bool(self.points) and self.points[-1].evidence == -math.inf
        if running.pulls < self.growth ** (4 if is_early else 1) * self.pulls:
            return
        request = running.request
        if self.show is None and request is not None and request.evidence is not None:
            self.points.append(Point(running.pulls, *request.evidence()))
        else:
            status = running.status
            if status is not None and status.evidence is not None and status.threshold is not None:
                self.points.append(Point(running.pulls, status.evidence, status.threshold))
            if self.show is not None:
                self.show(running, status)
        self.last = self.clock()
        self.spent += self.last - now if self.pulls >= 0 else 0.0
        self.pulls = running.pulls
