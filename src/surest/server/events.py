"""What changes in a study, told to whoever watches: one look at the log for all of them, however many they are."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

from surest.errors import SurestError, UnknownStudyError
from surest.server.auth import token_of
from surest.server.endpoints import Asked
from surest.server.errors import Refused

if TYPE_CHECKING:
    from surest.server.studies import Moment, Served

LOOK_SECONDS = 1.0  # how often the log is looked at for what other processes did
LEAST_SECONDS = 0.25  # between two looks, however much happens here
BEAT_SECONDS = 15.0  # after which a sign of life is sent, so that a lost connection is noticed


async def within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event for at most this long; whether it came."""
    with suppress(TimeoutError):
        return await asyncio.wait_for(event.wait(), seconds)
    return False


class Watch:
    """All who watch one study in this process. It looks at the log as long as there is somebody."""

    def __init__(self, study: "Served") -> None:
        self.study = study
        self.stirred = asyncio.Event()  # set whenever something happens to the study in this process
        self.listeners = 0
        self._task: asyncio.Task[None] | None = None
        self._last: Moment | None = None
        self._changed = asyncio.Event()  # another one after each change

    async def changes(self) -> "AsyncGenerator[Moment | None, None]":
        """The present moment, then each that differs from the one before it; None as a sign of life. Ends with the study.

        Who is slow sees the last one, and not those between.
        """
        self.listeners += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        try:
            seen = None
            while not self._task.done():
                if self._last not in (seen, None):
                    yield (seen := self._last)
                elif not await within(self._changed, BEAT_SECONDS):
                    yield None
        finally:
            self.listeners -= 1

    async def _look(self) -> None:
        """Look at the log now and then, at once when something happened here, until nobody watches any more."""
        while self.listeners and not self.study.studies.closing.is_set():
            began = time.monotonic()
            self.stirred.clear()
            try:
                moment = await self.study.moment()
            except SurestError:  # it is gone, or the database is: browsers connect again by themselves
                break
            if moment != self._last:
                self._publish(moment)
            await asyncio.sleep(max(0.0, LEAST_SECONDS - (time.monotonic() - began)))
            await within(self.stirred, LOOK_SECONDS - LEAST_SECONDS)
        self._publish(None)

    def _publish(self, moment: "Moment | None") -> None:
        self._last = moment
        self._changed.set()
        self._changed = asyncio.Event()


async def streamed(request: Asked, told: "Callable[[Moment], Awaitable[str]]", beat: str) -> Response:
    """What changes in the study that an address names, as server-sent events: what is told of each change, and a beat."""
    await request.study.opened()  # refused where there is none
    if _is_full(request):
        raise Refused(503, "too many browsers are watching this service; try again later", retry_after=30)
    events = watched(request, told, beat)
    return StreamingResponse(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def _is_full(request: Asked) -> bool:
    """Whether as many watch as may: of all, or of one sender."""
    watching, limits = request.service.watching, request.service.limits
    return watching.total() >= limits.listeners or watching[request.sender] >= limits.listeners_each


async def watched(request: Asked, told: "Callable[[Moment], Awaitable[str]]", beat: str) -> AsyncGenerator[str, None]:
    """The events for whoever sent a request: as long as there is room, and their token is not revoked."""
    study, service = request.study, request.service
    yield "retry: 2000\n\n"
    if _is_full(request):
        return  # others came at the same moment
    service.watching[request.sender] += 1
    try:
        async with aclosing(study.watch.changes()) as changes:
            async for moment in changes:
                if service.tokens and service.tokens.identify(token_of(request)) is None:
                    return
                yield beat if moment is None else await told(moment)
        await study.moment()  # is the study gone, or only the database?
    except UnknownStudyError:
        yield "event: gone\ndata:\n\n"
    except SurestError:
        return  # the browser says that the connection is lost, and connects again
    finally:
        service.watching[request.sender] -= 1
        service.watching += Counter()  # forgets who watches nothing any more
