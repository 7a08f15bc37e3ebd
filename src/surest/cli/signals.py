"""SIGTERM ends a command as Ctrl-C does: with what it has kept, and how to go on."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALLED = 128
"""The exit status of what a signal ended is this plus the signal's number."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends what runs as Ctrl-C does."""


@contextmanager
def heeding_sigterm() -> Iterator[None]:
    """Let SIGTERM end what runs as Ctrl-C does: what tidies up after an exception then does so."""

    def end(number: int, frame: FrameType | None) -> None:
        if os.getpid() == own:  # a forked child has inherited this
            raise Terminated
        os._exit(SIGNALLED + number)

    own = os.getpid()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
