"""The studies of a store, as a service has them: opened once, called in a bounded number of threads."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from surest.errors import UnknownStudyError, UsageError
from surest.server.desk import Desk
from surest.server.errors import Refused
from surest.server.lanes import Lanes
from surest.server.limits import Limits
from surest.server.names import check_name
from surest.study.log import Store
from surest.study.stores import store_of
from surest.study.study import Study, delete_study, open_study

T = TypeVar("T")
OPEN_SECONDS = 60.0
"""After which a study that nobody used may be forgotten, where there are many."""


def _there(study: Study) -> Study:
    with study.store.reading() as log:  # without a replay: one that is damaged can still be deleted
        study.see_arms(log)
    return study


def taken(name: str) -> Refused:
    """What to say of a name that a study has already."""
    return Refused(409, f"there is already a study {name!r:.100}; give this one another name")


class Studies:
    """The studies of one store. All calls to it run in threads: nothing waits for a database in the event loop."""

    def __init__(self, storage: str | Store, limits: Limits) -> None:
        self.store, self.limits = store_of(storage), limits
        self.closing = asyncio.Event()
        self.lanes = Lanes(limits)
        self._health: asyncio.Task[list[str]] | None = None
        self._open: OrderedDict[str, Study] = OrderedDict()
        self._used: dict[str, float] = {}
        self._stirred: dict[str, asyncio.Event] = {}
        self.desks: dict[str, Desk] = {}
        self.handed = self.told = 0

    async def prepare(self) -> None:
        """Make the store ready."""
        await self.call(lambda: self.store.prepare(create=True))

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in a thread of the lane that the current request belongs to."""
        return await self.lanes.call(function, *arguments)

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
        """Call a function with a study as its first argument, in a thread. One that was made anew meanwhile is opened anew."""
        try:
            return await self.call(function, await self.study(name), *arguments)
        except UnknownStudyError:
            if self._open.pop(name, None) is None:
                raise
            return await self.call(function, await self.study(name), *arguments)

    async def there(self, name: str) -> Study:
        """A study that is there now, with all of its arms: another process may have made it anew, or added some."""
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
        """Where workers of a study come to."""
        if len(self.desks) > self.limits.studies:
            self.desks = {other: desk for other, desk in self.desks.items() if not desk.idle}
            self._stirred = {other: event for other, event in self._stirred.items() if other in self.desks}
        return self.desks.setdefault(name, Desk(self, name))

    def close(self) -> None:
        """Let those who wait go: the service ends."""
        self.closing.set()
        for name, desk in self.desks.items():
            desk.wake()
            self.stir(name)
        for event in self._stirred.values():
            event.set()

    async def create(self, name: str, arms: int | list[str], /, **settings: Any) -> Study:
        """Make a study; refused where there is one of that name."""
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
        """Delete a study and all that was told to it."""
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
