"""What changes in a study, told to whoever watches: one look at the log for all of them, however many they are."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from surest.errors import SurestError, UnknownStudyError
from surest.server.auth import is_known
from surest.server.errors import Refused
from surest.server.studies import Studies, within
from surest.study.log import Facts, Log, times_told
from surest.study.study import Study

LOOK_SECONDS = 1.0  # how often the log is looked at for what other processes did
LEAST_SECONDS = 0.25  # between two looks, however much happens here
IDLE_SECONDS = 60.0  # without a reward, after which a study is idle
BEAT_SECONDS = 15.0  # after which a sign of life is sent, so that a lost connection is noticed


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

    def json(self) -> dict[str, Any]:
        """As plain data."""
        return {name: value for name, value in self._asdict().items() if name != "study"}


def moment_of(study: Study) -> Moment:
    """How many rewards, tickets and arms there are: counted by the database, without a replay."""
    with study.store.reading() as log:
        facts = study.facts(log)
        happened = sum(one.times for one in log.count_events(study.id))
        idle = is_idle(log, study.id, facts)
        return Moment(study.id, facts.told, facts.open, facts.expired, facts.arms, happened, facts.paused, idle)


def is_idle(log: Log, study: int, facts: Facts) -> bool:
    """Whether no reward came lately."""
    return max(times_told(log, study, facts, 20), default=0.0) < facts.now - IDLE_SECONDS


class Watch:
    """All who watch one study in this process. It looks at the log as long as there is somebody."""

    def __init__(self, studies: Studies, name: str) -> None:
        self.studies, self.name = studies, name
        self.listeners: set[asyncio.Queue[Moment | None]] = set()
        self._task: asyncio.Task[None] | None = None
        self._last: Moment | None = None

    async def changes(self) -> AsyncGenerator[Moment | None, None]:
        """The present moment, then each that differs from the one before it; None as a sign of life. Ends with the study.

        Who is slow sees the last one, and not those between.
        """
        queue: asyncio.Queue[Moment | None] = asyncio.Queue(maxsize=1)
        self.listeners.add(queue)
        try:
            if self._last is not None:
                queue.put_nowait(self._last)
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._look())
            while not self.studies.closing.is_set():
                try:
                    moment = await asyncio.wait_for(queue.get(), BEAT_SECONDS)
                except TimeoutError:
                    yield None
                    continue
                if moment is None:
                    return
                yield moment
        finally:
            self.listeners.discard(queue)

    async def _look(self) -> None:
        """Look at the log now and then, at once when something happened here, until nobody watches any more."""
        stirred = self.studies.stirred(self.name)
        while self.listeners and not self.studies.closing.is_set():
            began = time.monotonic()
            stirred.clear()
            try:
                moment = await self.studies.with_study(self.name, moment_of)
            except SurestError:  # it is gone, or the database is: browsers connect again by themselves
                break
            if moment != self._last:
                self._last = moment
                self._publish(moment)
            await asyncio.sleep(max(0.0, LEAST_SECONDS - (time.monotonic() - began)))
            await within(stirred, LOOK_SECONDS - LEAST_SECONDS)
        self._last = None
        self._publish(None)

    def _publish(self, moment: Moment | None) -> None:
        for queue in self.listeners:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(moment)


class Watches:
    """Everybody who watches anything."""

    def __init__(self, studies: Studies) -> None:
        self.studies = studies
        self.of_sender: Counter[str] = Counter()
        self._by_name: dict[str, Watch] = {}

    @property
    def listeners(self) -> int:
        """How many watch."""
        return sum(len(watch.listeners) for watch in self._by_name.values())

    def is_full(self, sender: str) -> bool:
        """Whether as many watch as may: of all, or of one sender."""
        limits = self.studies.limits
        return self.listeners >= limits.listeners or self.of_sender[sender] >= limits.listeners_each

    def of(self, name: str) -> Watch:
        """Those who watch a study."""
        for idle in [other for other, watch in self._by_name.items() if not watch.listeners and other != name]:
            del self._by_name[idle]
        return self._by_name.setdefault(name, Watch(self.studies, name))


async def streamed(request: Request, told: Callable[[Moment], Awaitable[str]], beat: str) -> Response:
    """What changes in the study that an address names, as server-sent events: what is told of each change, and a beat."""
    name = request.path_params["name"]
    await request.app.state.studies.study(name)  # refused where there is none
    if request.app.state.watches.is_full(request.state.sender):
        raise Refused(503, "too many browsers are watching this service; try again later", retry_after=30)
    events = _events(request, name, told, beat)
    return StreamingResponse(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def _events(
    request: Request, name: str, told: Callable[[Moment], Awaitable[str]], beat: str
) -> AsyncIterator[str]:
    yield "retry: 2000\n\n"
    try:
        async with contextlib.aclosing(watched(request, name)) as changes:
            async for moment in changes:
                yield beat if moment is None else await told(moment)
        await request.app.state.studies.with_study(name, moment_of)  # is the study gone, or only the database?
    except UnknownStudyError:
        yield "event: gone\ndata:\n\n"
    except SurestError:
        return  # the browser says that the connection is lost, and connects again


async def watched(request: Request, name: str) -> AsyncGenerator[Moment | None, None]:
    """What changes in a study, for whoever sent a request: as long as there is room, and their token is not revoked."""
    watches, sender = request.app.state.watches, request.state.sender
    if watches.is_full(sender):
        return  # others came at the same moment
    watches.of_sender[sender] += 1
    try:
        async with contextlib.aclosing(watches.of(name).changes()) as changes:
            async for moment in changes:
                if not is_known(request, request.app.state.tokens):
                    return
                yield moment
    finally:
        watches.of_sender[sender] -= 1
        watches.of_sender += Counter()  # forgets who watches nothing any more
