"""The studies of a store, as a service has them: opened once, called in a bounded number of threads."""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple, TypeVar

from surest.core.protocol import Point
from surest.errors import UnknownStudyError, UsageError
from surest.server.endpoints import ASKED, Kind
from surest.server.errors import Refused
from surest.server.events import Watch, within
from surest.server.limits import Limits
from surest.study.log import Facts, Store
from surest.study.outcome import IDLE_SECONDS, times_told
from surest.study.settings import store_of
from surest.study.study import Study, delete_study, open_study
from surest.study.telling import Ask, Call, Handed, Outcome, carry_out

T = TypeVar("T")


class Moment(NamedTuple):
    """What a look at the log sees: enough to know that something changed."""

    study: int  # its number: one that was deleted and made anew is another
    told: int
    out: int
    waiting: int  # Of those that are out: to be handed out again. A lease may run out while nobody does anything.
    arms: int
    events: int
    paused: bool
    idle: bool  # no reward came lately: how many come a second is not known any more


def moment_of(study: Study) -> Moment:
    """How many rewards, tickets and arms there are: counted by the database, without a replay."""
    with study.store.reading() as log:
        facts = study.facts(log)
        happened = sum(one.times for one in log.count_events(study.id))
        last = max(times_told(log, study.id, facts, 20), default=0.0)
    told, idle = facts.tickets - facts.open, last < facts.now - IDLE_SECONDS
    return Moment(study.id, told, facts.open, facts.expired, facts.arms, happened, facts.paused, idle)


class Lane:
    """Some threads, of which one sender has at most `each` at a time, with at most `most` calls that run or wait.

    A call whose caller is cancelled is dropped if it has not begun. If it has, it goes on, since no thread can be stopped,
    and counts as its sender's until it ends.
    """

    def __init__(self, name: str, threads: int, each: int, most: float = inf) -> None:
        self._threads = ThreadPoolExecutor(threads, f"surest-{name}")
        self._each, self._most = each, most
        self._turns: dict[str, asyncio.Semaphore] = {}
        self.calls = Counter[str]()  # of each sender, those that run or wait for their turn

    async def call(self, sender: str, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread, when it is the sender's turn."""
        turns = self._turns.setdefault(sender, asyncio.Semaphore(self._each))
        if self.calls[sender] >= self._most:
            raise Refused(
                429,
                f"{self.calls[sender]} of your reports or exports are still being made; wait for them",
                retry_after=5,
            )
        self.calls[sender] += 1
        try:
            await turns.acquire()
        except BaseException:
            self._left(sender)
            raise
        loop, running = asyncio.get_running_loop(), self._threads.submit(function, *arguments)

        def ended(_: "Future[T]") -> None:
            with suppress(RuntimeError):  # the loop has ended before the thread
                loop.call_soon_threadsafe(self._left, sender, turns)

        running.add_done_callback(ended)
        return await asyncio.wrap_future(running)

    def _left(self, sender: str, turns: asyncio.Semaphore | None = None) -> None:
        if turns is not None:
            turns.release()
        self.calls[sender] -= 1
        if not self.calls[sender]:
            del self.calls[sender], self._turns[sender]

    def close(self) -> None:
        """Drop what has not begun."""
        self._threads.shutdown(wait=False, cancel_futures=True)


LOOK_SECONDS = 1.0
"""How often those who wait are tried again: other processes may have told something, and leases run out."""
MOST = 500  # calls in one transaction


@dataclass
class Pending:
    """A call whose answer is awaited."""

    call: Call
    answer: "asyncio.Future[Any]"
    deadline: float


class Desk:
    """One study's desk in this process."""

    def __init__(self, study: "Served") -> None:
        self.study = study
        self.waiting: list[Pending] = []  # for a ticket
        self.wake = asyncio.Event()  # set when those who wait are to be tried again: something happened
        self._inbox: list[Pending] = []
        self._task: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nobody is here."""
        return self._task is None or self._task.done()

    def submit(self, call: Call, wait: float = 0.0) -> "asyncio.Future[Any]":
        """The outcome of a call. Rewards are on disk by then; who asks may wait so many seconds for a ticket, or leave."""
        pending = Pending(call, asyncio.get_running_loop().create_future(), time.monotonic() + wait)
        self._inbox.append(pending)
        self.wake.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._serve())
        return pending.answer

    async def _serve(self) -> None:
        """Carry out all pending calls together, until there are none."""
        while self._inbox or self.waiting:
            if not self._inbox:
                soonest = min(pending.deadline for pending in self.waiting) - time.monotonic()
                await within(self.wake, max(0.0, min(LOOK_SECONDS, soonest)))
            self.wake.clear()
            batch, self._inbox = self._inbox[:MOST], self._inbox[MOST:]
            batch, self.waiting = [*self.waiting, *batch], []
            batch = [pending for pending in batch if not pending.answer.done()]  # who has left needs no ticket
            if batch:
                await self._answer(batch)

    async def _answer(self, batch: list[Pending]) -> None:
        calls, studies = [pending.call for pending in batch], self.study.studies
        outcomes: list[Outcome]
        try:
            outcomes = await self.study.call(carry_out, calls)
        except Exception as error:
            outcomes = [error] * len(calls)
        now = time.monotonic()
        for pending, outcome in zip(batch, outcomes, strict=True):
            nothing = isinstance(outcome, Handed) and not outcome.tickets and not outcome.finished
            if pending.answer.done():  # who asked has left while being served
                if isinstance(pending.call, Ask) and isinstance(outcome, Handed) and outcome.tickets:
                    numbers = [ticket.id for ticket in outcome.tickets]
                    await self.study.call(Study.give_back, numbers, pending.call.worker)
            elif isinstance(outcome, Exception):
                pending.answer.set_exception(outcome)
            elif nothing and pending.deadline > now and not studies.closing.is_set():
                self.waiting.append(pending)
            else:
                studies.handed += len(outcome.tickets) if isinstance(outcome, Handed) else 0
                studies.told += outcome if isinstance(outcome, int) else 0
                pending.answer.set_result(outcome)
        if any(not isinstance(pending.call, Ask) for pending in batch) or len(self.waiting) < len(batch):
            self.study.watch.stirred.set()


class Served:
    """A study by its name, as this process serves it: opened once, with its desk, who watches it, and what pages show of it."""

    def __init__(self, studies: "Studies", name: str) -> None:
        self.studies, self.name = studies, name
        self.used = time.monotonic()
        self.desk, self.watch = Desk(self), Watch(self)
        self.evidence: tuple[int, tuple[Point, ...]] | None = None  # over time, and of which study of this name
        self._study: Study | None = None
        self._made: dict[Hashable, tuple[Hashable, asyncio.Future[Any]]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether nobody is here."""
        return self.desk.is_idle and not self.watch.listeners

    async def opened(self) -> Study:
        """The study, whose session is kept in step with the log, so that no request replays all of it."""
        if self._study is None:
            try:
                found = await self.studies.call(Study, self.studies.store, self.name)
            except UnknownStudyError:
                self.studies.forget(self)
                raise
            self._study = self._study or found  # others may have come at the same moment
        return self._study

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function with the study as its first argument, in a thread. One made again meanwhile is reopened."""
        known = self._study
        try:
            return await self.studies.call(function, known or await self.opened(), *arguments)
        except UnknownStudyError:
            if known is None:
                raise
            self._study = None
            return await self.studies.call(function, await self.opened(), *arguments)

    async def moment(self) -> Moment:
        """The study as it is now, at a glance."""
        return await self.call(moment_of)

    async def made(self, what: Hashable, make: Callable[[Study], T], at: Hashable = None) -> T:
        """What a function makes of the study as it is now, or `at` what it depends on: once for all who want the same."""
        now = await self.call(moment_of) if at is None else at
        moment, making = self._made.get(what, (None, None))
        failed = making is not None and making.done() and (making.cancelled() or making.exception() is not None)
        if making is None or moment != now or failed:
            making = asyncio.ensure_future(self.call(make))
            self._made[what] = now, making
        found: T = await asyncio.shield(making)
        return found

    async def there(self) -> tuple[Study, Facts]:
        """The study as it is now, with all its arms: another process may have made it again, or added some."""

        def looked_at(study: Study) -> tuple[Study, Facts]:
            with study.store.reading() as log:  # without a replay: one that is damaged can still be deleted
                return study, study.facts(log)

        return await self.call(looked_at)

    async def change(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function that changes the study, and say that something happened to it."""
        found = await self.call(function, *arguments)
        self.stir()
        return found

    async def delete(self) -> None:
        """Delete it and all its rewards."""
        await self.studies.call(delete_study, self.studies.store, self.name)
        self._study = None
        self.stir()

    def stir(self) -> None:
        """Say that something happened to it."""
        self.watch.stirred.set()
        self.desk.wake.set()


OPEN_SECONDS = 60.0  # after which a study that nobody used may be forgotten, where there are many


class Studies:
    """The studies of one store. All calls to it run in threads: nothing waits for a database in the event loop."""

    def __init__(self, storage: str | Store, limits: Limits) -> None:
        self.store, self.limits = store_of(storage), limits
        self.closing = asyncio.Event()
        self.served: OrderedDict[str, Served] = OrderedDict()  # those that were used last at the end
        self.handed = self.told = 0
        self._lanes: dict[Kind, Lane] = {
            "work": Lane("work", limits.threads, limits.threads),
            "look": Lane("look", limits.look_threads, max(1, limits.look_threads // 2)),
            "heavy": Lane("heavy", limits.heavy_threads, max(1, limits.heavy_threads // 2), limits.heavy_calls),
        }
        self._health: asyncio.Task[list[str]] | None = None

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread of the lane that the current request belongs to."""
        kind, sender = ASKED.get()
        return await self._lanes[kind].call(sender, function, *arguments)

    @property
    def is_busy(self) -> bool:
        """Whether any call runs or waits."""
        return any(lane.calls for lane in self._lanes.values())

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

    def of(self, name: str) -> Served:
        """A study by its name, whether there is one or not."""
        found = self.served.get(name)
        if found is None:
            found = self.served[name] = Served(self, name)
            self._forget_idle()
        self.served.move_to_end(name)
        found.used = time.monotonic()
        return found

    def forget(self, study: Served) -> None:
        """Keep nothing of a study that there is not."""
        if self.served.get(study.name) is study:
            del self.served[study.name]

    def _forget_idle(self) -> None:
        before = time.monotonic() - OPEN_SECONDS
        for study in list(self.served.values()):
            if len(self.served) <= self.limits.studies or study.used > before:
                return
            if study.is_idle:
                self.forget(study)

    async def make(self, name: str, function: Callable[..., object], *arguments: Any) -> None:
        """Make a study of a name that none has yet, by calling a function with the store and more."""
        if name in (".", ".."):  # browsers and curl take them for folders, percent-encoded too
            raise UsageError(f"a study of a service cannot be called {name!r}: no URL leads to it; choose another name")
        taken = Refused(409, f"there is already a study {name!r:.100}; choose another name")
        if name in await self.names():
            raise taken
        try:
            await self.call(function, self.store, *arguments)
        except UsageError:
            if name in await self.names():  # somebody else was faster
                raise taken from None
            raise

    async def create(self, name: str, arms: int | list[str], /, **settings: Any) -> Study:
        """Make a study; raises if the name is taken."""
        await self.make(name, lambda store: open_study(store, name, arms, load_if_exists=False, **settings))
        return await self.of(name).opened()

    def close(self) -> None:
        """Release those who wait: the service is ending."""
        self.closing.set()
        for study in self.served.values():
            study.stir()

    def end(self) -> None:
        """Release those who wait, drop calls that have not begun, and close the store."""
        self.close()
        for lane in self._lanes.values():
            lane.close()
        self.store.close()
