"""The service as an ASGI application: what its requests share, and what is checked before any handler."""

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.convertors import register_url_convertor
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from surest.errors import SurestError
from surest.server import api
from surest.server.auth import EVERYBODY, calls_it_local, identify, is_local
from surest.server.endpoints import Asked, NameConvertor
from surest.server.errors import Refused, status_of
from surest.server.limits import Limits
from surest.server.logs import Metrics, log
from surest.server.openapi import plain_path
from surest.server.pages import site
from surest.server.pages.render import response_to
from surest.server.studies import Studies
from surest.server.tokens import Tokens
from surest.study.log import Store

LONGEST_PATH = 8000
LARGEST_HEADERS = 16_000
FORWARDED = {b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip", b"via"}
"""Headers of proxies: whoever asks may be anywhere."""
OPEN = {"/healthz", "/openapi.json"}  # open to everybody, whatever token is sent along
METHODS = {"GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"}


class Rate:
    """A bucket of requests for each sender, which fills at a steady rate and holds some seconds' worth."""

    def __init__(self, rate: float, seconds: float = 5.0, most: int = 10_000) -> None:
        self.rate, self.size, self.most = rate, max(1.0, rate * seconds), most
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, sender: str, now: float | None = None) -> bool:
        """Count a request; False if there are too many.

        >>> rate = Rate(1.0, seconds=2.0)
        >>> [rate.take("ann", now=0.0) for _ in range(3)], rate.take("ann", now=1.0), rate.take("bob", now=1.0)
        ([True, True, False], True, True)
        """
        at = time.monotonic() if now is None else now
        level, then = self._buckets.get(sender, (self.size, at))
        level = min(self.size, level + (at - then) * self.rate)
        allowed = level >= 1
        self._buckets[sender] = (level - 1 if allowed else level, at)
        self._buckets.move_to_end(sender)
        if len(self._buckets) > self.most:
            self._buckets.popitem(last=False)
        return allowed


class Service(Starlette):
    """Routes and their guard, who also says what went wrong: Starlette's own layers for that would be in the way."""

    def __init__(self, storage: str | Store, tokens: Tokens, limits: Limits) -> None:
        register_url_convertor("name", NameConvertor())  # before routes are made that use it
        self.studies, self.tokens, self.limits = Studies(storage, limits), tokens, limits
        self.wrong = Rate(limits.wrong_tokens, seconds=50.0)
        self._rate, self._strangers = Rate(limits.rate), Rate(limits.stranger_rate)
        self.watching: Counter[str] = Counter()  # browsers that watch a study, by sender
        self.metrics = Metrics()
        pages = [endpoint.route() for endpoint in (*api.ENDPOINTS, *site.PAGES)]
        files = Mount("/static", StaticFiles(directory=Path(__file__).parent / "static"))
        super().__init__(routes=[*pages, files], lifespan=self._lifetime)

    @asynccontextmanager
    async def _lifetime(self, _: Starlette) -> AsyncIterator[None]:
        await self.studies.call(lambda: self.studies.store.prepare(create=True))
        yield
        self.studies.end()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        scope["app"] = self
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.router(scope, receive, send)
            return
        began = time.monotonic()
        scope["path"] = scope.get("raw_path", scope["path"].encode()).decode("ascii", "replace")  # see `NameConvertor`
        request = scope["asked"] = Asked(scope, receive, send, self)
        self.metrics.running += 1
        try:
            self._admit(request)
            await self.router(scope, receive, request.answer)
        except asyncio.CancelledError:  # by the server, whose time is up
            await self._failed(request, Refused(503, "the service is shutting down; try again later"))
        except Exception as error:
            await self._failed(request, error)
        finally:
            self.metrics.running -= 1
            self._count(request, time.monotonic() - began)

    def _admit(self, request: Asked) -> None:
        """Check the limits, and find out who sends a request."""
        if len(request.scope["path"]) > LONGEST_PATH:
            raise Refused(414, f"the address is longer than {LONGEST_PATH} characters")
        headers = request.scope["headers"]
        if sum(len(name) + len(value) for name, value in headers) > LARGEST_HEADERS:
            raise Refused(431, f"the headers are larger than {LARGEST_HEADERS} bytes")
        names = [name for name, _ in headers]
        if b"transfer-encoding" in names and b"content-length" in names:
            raise Refused(
                400, "the request has both Content-Length and Transfer-Encoding", headers={"Connection": "close"}
            )
        if names.count(b"host") > 1:
            raise Refused(400, "the request has more than one Host header")
        guarded = bool(self.tokens)
        near = calls_it_local(request) and (request.client is None or is_local(request.address))
        if not guarded and not (near and FORWARDED.isdisjoint(names)):
            raise Refused(
                421,
                "without tokens, only requests from this machine to localhost are served; make a token with 'surest serve token'",
            )
        if request.scope["path"] not in OPEN:
            request.who = identify(request) if guarded else EVERYBODY
        if request.who is not None and guarded:
            request.sender = f"token {request.who.name}"
        connection = getattr(request.state, "connection", None)
        if request.who is not None and connection is not None and not connection.known(request.sender):
            raise Refused(429, "too many connections", retry_after=1, headers={"Connection": "close"})
        rate = self._strangers if request.who is None else self._rate
        if not rate.take(request.sender):
            raise Refused(429, f"more than {rate.rate:g} requests per second; slow down", retry_after=1)

    async def _failed(self, request: Asked, error: Exception) -> None:
        """Send an error, if nothing was sent yet. Internal errors go to the log, with a traceback."""
        if status_of(error) == 500 and not isinstance(error, TimeoutError | ConnectionError):
            log("fault", level=logging.ERROR, error=error, path=request.scope["path"])
        if request.status is None and status_of(error) != 499:
            await response_to(request, error)(request.scope, request.receive, request.answer)
        elif not isinstance(error, SurestError | TimeoutError | ConnectionError):
            raise error  # the server ends the connection, so that nobody takes half an answer for all of it

    def _count(self, request: Asked, seconds: float) -> None:
        route = plain_path(getattr(request.scope.get("route"), "path", None) or "other")
        method = request.method if request.method in METHODS else "other"
        status = request.status or 499  # who asked has left
        self.metrics.count(method, route, status, seconds)
        path, ms = request.scope["path"][:500], round(1000 * seconds, 1)
        who, client = request.who and request.who.name, request.client and request.client.host
        log("request", method=method, path=path, status=status, ms=ms, who=who, client=client)


def make_app(
    storage: str | Store, *, tokens: Tokens | Path | str | None = None, limits: Limits | None = None
) -> Service:
    """The service on a store.

    `tokens` say who may do what. Without them, or where there are none, every request from this machine may do everything, and
    requests under another name than localhost are refused.

    >>> app = make_app("memory:docs")
    >>> str(app.url_path_for("ask", name="prompts/2"))
    '/api/studies/prompts%2F2/ask'
    """
    known = tokens if isinstance(tokens, Tokens) else Tokens(None if tokens is None else Path(tokens))
    return Service(storage, known, Limits() if limits is None else limits)
