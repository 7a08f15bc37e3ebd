"""Ctrl-C while evaluations run: the first lets them finish, the second does not."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Pressed(KeyboardInterrupt):
    """Ctrl-C in an arm, or while evaluations were awaited: between two steps of the search, so that it has an answer so far."""


def between_steps(interrupt: KeyboardInterrupt) -> KeyboardInterrupt:
    """The same as `Pressed`; an interrupt of another kind, such as SIGTERM's on the command line, as it is.

    >>> between_steps(KeyboardInterrupt())
    Pressed()
    """
    return Pressed() if type(interrupt) is KeyboardInterrupt else interrupt


@contextmanager
def first_interrupt(ask_to_stop: Callable[[], object]) -> Iterator[None]:
    """Let the first SIGINT call `ask_to_stop`, and the second do what the first would have done.

    Where somebody else handles SIGINT (a command line with a hook that raises `Stop`, a server), or outside the main thread,
    this does nothing.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not _replaceable(before):
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


def _replaceable(handler: Any) -> bool:
    """Whether it is Python's own handler, or that of `asyncio.run`."""
    owner = getattr(getattr(handler, "func", None), "__self__", None)
    asyncio = sys.modules.get("asyncio")  # slow to import, and without it there is no such handler
    return handler is signal.default_int_handler or (asyncio is not None and isinstance(owner, asyncio.Runner))
