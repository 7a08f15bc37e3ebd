"""Threads in which a service works: those of workers are never behind pages, and pages never behind reports and exports."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from surest.server.errors import Refused
from surest.server.limits import Limits

T = TypeVar("T")
Kind = Literal["work", "look", "heavy"]
ASKED: ContextVar[tuple[Kind, str]] = ContextVar("surest_asked", default=("work", ""))
"""What kind of work the current request is, and who sent it."""


@dataclass
class Sender:
    """Whoever sends requests: its turns, and its calls that run or wait for one."""

    turns: asyncio.Semaphore
    calls: int = 0


class Lane:
    """Some threads, of which one sender has at most `each` at a time, with at most `most` calls that run or wait.

    A call whose caller is cancelled is dropped if it has not begun. If it has, it goes on, since no thread can be stopped,
    and counts as its sender's until it ends.
    """

    def __init__(self, name: str, threads: int, each: int | None = None, most: int | None = None) -> None:
        self._threads = ThreadPoolExecutor(threads, f"surest-{name}")
        self._each, self._most = threads if each is None else each, most
        self._senders: dict[str, Sender] = {}

    @property
    def is_busy(self) -> bool:
        """Whether any call runs or waits."""
        return bool(self._senders)

    async def call(self, sender: str, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread, when it is the sender's turn."""
        there = self._senders.setdefault(sender, Sender(asyncio.Semaphore(self._each)))
        if self._most is not None and there.calls >= self._most:
            raise Refused(429, f"{there.calls} reports or exports for you are being made; wait for them", retry_after=5)
        there.calls += 1
        try:
            await there.turns.acquire()
        except BaseException:
            self._left(sender)
            raise
        loop, running = asyncio.get_running_loop(), self._threads.submit(function, *arguments)

        def ended(_: "Future[T]") -> None:
            with suppress(RuntimeError):  # the loop has ended before the thread
                loop.call_soon_threadsafe(self._ended, sender)

        running.add_done_callback(ended)
        return await asyncio.wrap_future(running)

    def _ended(self, sender: str) -> None:
        self._senders[sender].turns.release()
        self._left(sender)

    def _left(self, sender: str) -> None:
        there = self._senders[sender]
        there.calls -= 1
        if not there.calls:
            del self._senders[sender]

    def close(self) -> None:
        """Drop what has not begun."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Lanes:
    """The lanes of a service."""

    def __init__(self, limits: Limits) -> None:
        self._by_kind: dict[Kind, Lane] = {
            "work": Lane("work", limits.threads),
            "look": Lane("look", limits.look_threads, max(1, limits.look_threads // 2)),
            "heavy": Lane("heavy", limits.heavy_threads, max(1, limits.heavy_threads // 2), limits.heavy_calls),
        }

    @property
    def is_busy(self) -> bool:
        """Whether any call runs or waits."""
        return any(lane.is_busy for lane in self._by_kind.values())

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread of the lane that the current request belongs to."""
        kind, sender = ASKED.get()
        return await self._by_kind[kind].call(sender, function, *arguments)

    def close(self) -> None:
        """Drop what has not begun."""
        for lane in self._by_kind.values():
            lane.close()
