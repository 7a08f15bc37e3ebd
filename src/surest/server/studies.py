"""The studies of a store, as a service has them: opened once, called in a bounded number of threads."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from surest.errors import UnknownStudyError, UsageError
from surest.server.errors import Refused
from surest.server.limits import Limits
from surest.server.names import check_name
from surest.study.log import Store, store_of
from surest.study.study import Study, delete_study, open_study
from surest.study.telling import Ask, Call, Handed, Outcome, carry_out

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
            raise Refused(
                429, f"{there.calls} of your reports or exports are still being made; wait for them", retry_after=5
            )
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


LOOK_SECONDS = 1.0
"""How often those who wait are tried again: other processes may have told something, and leases run out."""
MOST = 500  # calls in one transaction


async def within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event for at most this long; whether it came."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True


@dataclass
class Pending:
    """A call whose answer is awaited."""

    call: Call
    answer: "asyncio.Future[Outcome]"
    deadline: float = 0.0

    def waits(self, outcome: Outcome, now: float) -> bool:
        """Whether it goes on waiting: it asked for tickets, there are none now, and there is time left."""
        nothing = isinstance(outcome, Handed) and not outcome.tickets and not outcome.finished
        return nothing and self.deadline > now


class Desk:
    """One study's desk in this process."""

    def __init__(self, studies: "Studies", name: str) -> None:
        self.studies, self.name = studies, name
        self._inbox: list[Pending] = []
        self._waiting: list[Pending] = []
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """How many wait for a ticket."""
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        """Whether nobody is here."""
        return not self._inbox and not self._waiting and (self._task is None or self._task.done())

    def ask(
        self, k: int, worker: str, wait: float = 0.0, held: Sequence[int] | None = None
    ) -> "asyncio.Future[Handed]":
        """Up to k tickets; if there are none now, wait up to `wait` seconds for one. Cancel it when the worker leaves."""
        return self.submit(Ask(k, worker, None if held is None else frozenset(held)), time.monotonic() + wait)

    def submit(self, call: Call, deadline: float = 0.0) -> "asyncio.Future[Any]":
        """The outcome of a call. Rewards are on disk by then."""
        pending = Pending(call, asyncio.get_running_loop().create_future(), deadline)
        self._inbox.append(pending)
        self._wake.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._serve())
        return pending.answer

    def wake(self) -> None:
        """Try those who wait again: something happened."""
        self._wake.set()

    async def _serve(self) -> None:
        """Carry out all pending calls together, until there are none."""
        while self._inbox or self._waiting:
            if not self._inbox:
                soonest = min(pending.deadline for pending in self._waiting) - time.monotonic()
                await within(self._wake, max(0.0, min(LOOK_SECONDS, soonest)))
            self._wake.clear()
            batch, self._inbox = self._inbox[:MOST], self._inbox[MOST:]
            batch, self._waiting = [*self._waiting, *batch], []
            batch = [pending for pending in batch if not pending.answer.done()]  # who has left needs no ticket
            if batch:
                await self._answer(batch)

    async def _answer(self, batch: list[Pending]) -> None:
        outcomes = await self._carried_out([pending.call for pending in batch])
        now = time.monotonic()
        for pending, outcome in zip(batch, outcomes, strict=True):
            if pending.answer.done():
                await self._take_back(pending.call, outcome)
            elif isinstance(outcome, Exception):
                pending.answer.set_exception(outcome)
            elif pending.waits(outcome, now) and not self.studies.closing.is_set():
                self._waiting.append(pending)
            else:
                self.studies.handed += len(outcome.tickets) if isinstance(outcome, Handed) else 0
                self.studies.told += outcome if isinstance(outcome, int) else 0
                pending.answer.set_result(outcome)
        if any(not isinstance(pending.call, Ask) for pending in batch) or len(self._waiting) < len(batch):
            self.studies.stirred(self.name).set()

    async def _carried_out(self, calls: list[Call]) -> Sequence[Outcome | Exception]:
        try:
            return await self.studies.with_study(self.name, carry_out, calls)
        except Exception as error:
            asks = [isinstance(call, Ask) for call in calls]
            if isinstance(error, UsageError) or not any(asks) or all(asks):
                return [error] * len(calls)
            # An algorithm that fails, or a log that cannot be replayed, must not keep rewards from being written.
            said = iter(await self._carried_out([call for call in calls if not isinstance(call, Ask)]))
            return [error if is_ask else next(said) for is_ask in asks]

    async def _take_back(self, call: Call, outcome: Any) -> None:
        """Return the tickets of a worker that left while it was being served."""
        if isinstance(call, Ask) and isinstance(outcome, Handed) and outcome.tickets:
            numbers = [ticket.id for ticket in outcome.tickets]
            await self.studies.with_study(self.name, Study.give_back, numbers, call.worker)


OPEN_SECONDS = 60.0  # after which a study that nobody used may be forgotten, where there are many


def _there(study: Study) -> Study:
    with study.store.reading() as log:  # without a replay: one that is damaged can still be deleted
        study.facts(log)
    return study


def taken(name: str) -> Refused:
    """The refusal of a name that another study has."""
    return Refused(409, f"there is already a study {name!r:.100}; choose another name")


class Studies:
    """The studies of one store. All calls to it run in threads: nothing waits for a database in the event loop."""

    def __init__(self, storage: str | Store, limits: Limits) -> None:
        self.store, self.limits = store_of(storage), limits
        self.closing = asyncio.Event()
        self._lanes: dict[Kind, Lane] = {
            "work": Lane("work", limits.threads),
            "look": Lane("look", limits.look_threads, max(1, limits.look_threads // 2)),
            "heavy": Lane("heavy", limits.heavy_threads, max(1, limits.heavy_threads // 2), limits.heavy_calls),
        }
        self._health: asyncio.Task[list[str]] | None = None
        self._open: OrderedDict[str, Study] = OrderedDict()
        self._used: dict[str, float] = {}
        self._stirred: dict[str, asyncio.Event] = {}
        self.desks: dict[str, Desk] = {}
        self.handed = self.told = 0

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread of the lane that the current request belongs to."""
        kind, sender = ASKED.get()
        return await self._lanes[kind].call(sender, function, *arguments)

    @property
    def is_busy(self) -> bool:
        """Whether any call runs or waits."""
        return any(lane.is_busy for lane in self._lanes.values())

    async def names(self) -> list[str]:
        """All studies by name."""
        return await self.call(self._names)

    def _names(self) -> list[str]:
        with self.store.reading() as log:
            return log.study_names()

    async def answers(self, seconds: float) -> bool:
        """Whether the store answers in time. All who ask at the same moment wait for one look, in a thread of its own."""
        if self._health is None or self._health.done():
            self._health = asyncio.create_task(asyncio.to_thread(self._names))
        done, _ = await asyncio.wait([self._health], timeout=seconds)
        return bool(done) and self._health.result() is not None

    async def study(self, name: str) -> Study:
        """A study, opened once: its session is kept in step with the log, so that no request replays all of it."""
        found = self._open.get(name)
        if found is None:
            found = await self.call(Study, self.store, name)
            found = self._open.setdefault(name, found)
            self._forget_idle()
        self._open.move_to_end(name)
        self._used[name] = time.monotonic()
        return found

    async def with_study(self, name: str, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function with a study as its first argument, in a thread. One made again meanwhile is reopened."""
        try:
            return await self.call(function, await self.study(name), *arguments)
        except UnknownStudyError:
            if self._open.pop(name, None) is None:
                raise
            return await self.call(function, await self.study(name), *arguments)

    async def there(self, name: str) -> Study:
        """A study as it is now, with all its arms: another process may have made it again, or added some."""
        return await self.with_study(name, _there)

    def _forget_idle(self) -> None:
        before = time.monotonic() - OPEN_SECONDS
        for name in list(self._open):
            if len(self._open) <= self.limits.studies or self._used[name] > before:
                return
            del self._open[name], self._used[name]
            self._stirred.pop(name, None)

    @property
    def opened(self) -> int:
        """How many studies are kept in memory."""
        return len(self._open)

    def desk(self, name: str) -> Desk:
        """The desk of a study."""
        if len(self.desks) > self.limits.studies:
            self.desks = {other: desk for other, desk in self.desks.items() if not desk.idle}
            self._stirred = {other: event for other, event in self._stirred.items() if other in self.desks}
        return self.desks.setdefault(name, Desk(self, name))

    def end(self) -> None:
        """Release those who wait, drop calls that have not begun, and close the store."""
        self.close()
        for lane in self._lanes.values():
            lane.close()
        self.store.close()

    def close(self) -> None:
        """Release those who wait: the service is ending."""
        self.closing.set()
        for name in {*self.desks, *self._stirred}:
            self.stir(name)

    async def create(self, name: str, arms: int | list[str], /, **settings: Any) -> Study:
        """Make a study; raises if the name is taken."""
        check_name(name)
        if name in await self.names():
            raise taken(name)
        try:
            await self.call(lambda: open_study(self.store, name, arms, load_if_exists=False, **settings))
        except UsageError:
            if name in await self.names():  # somebody else was faster
                raise taken(name) from None
            raise
        return await self.study(name)

    async def add_arms(self, name: str, labels: list[str]) -> Study:
        """Add arms to a study that runs."""
        await self.with_study(name, Study.add_arms, labels)
        self.stir(name)
        return await self.study(name)

    async def pause(self, name: str, paused: bool) -> None:
        """Stop handing out tickets, or go on."""
        await self.with_study(name, Study.pause, paused)
        self.stir(name)

    async def delete(self, name: str) -> None:
        """Delete a study and all its rewards."""
        await self.call(delete_study, self.store, name)
        self._open.pop(name, None)
        self.stir(name)

    def stirred(self, name: str) -> asyncio.Event:
        """Set whenever something happens to a study in this process."""
        return self._stirred.setdefault(name, asyncio.Event())

    def stir(self, name: str) -> None:
        """Say that something happened to a study."""
        self.stirred(name).set()
        if name in self.desks:
            self.desks[name].wake()
