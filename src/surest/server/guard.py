"""Checks before any handler: who sends a request, and whether it keeps the limits; and headers of every response."""

import asyncio
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from surest.errors import SurestError
from surest.server.auth import EVERYBODY, calls_it_local, identify, is_local
from surest.server.endpoints import Asked
from surest.server.errors import Refused, status_of
from surest.server.logs import log
from surest.server.openapi import plain_path
from surest.server.pages.render import response_to

if TYPE_CHECKING:
    from surest.server.app import Service

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every response. Scripts and styles come from our own files alone."""
ENCODED = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
LONGEST_PATH = 8000
LARGEST_HEADERS = 16_000
LARGE = 1 << 15  # bytes of a response from which on somebody may be too slow to read it
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


class Guard:
    """Stands before the routes of a service."""

    def __init__(self, routes: ASGIApp, service: "Service") -> None:
        self.routes, self.service = routes, service
        self._rate, self._strangers = Rate(service.limits.rate), Rate(service.limits.stranger_rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.routes(scope, receive, send)
            return
        began, answer = time.monotonic(), _Answer(send, self.service.limits.send_seconds)
        scope["path"] = scope.get("raw_path", scope["path"].encode()).decode("ascii", "replace")  # see `NameConvertor`
        request = scope["asked"] = Asked(scope, receive, self.service)
        self.service.metrics.running += 1
        try:
            self._admit(request)
            await self.routes(scope, receive, answer.send)
        except asyncio.CancelledError:  # by the server, whose time is up
            await self._failed(request, Refused(503, "the service is shutting down; try again later"), answer)
        except Exception as error:
            await self._failed(request, error, answer)
        finally:
            self.service.metrics.running -= 1
            self._count(request, answer, time.monotonic() - began)

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
        guarded = bool(self.service.tokens)
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

    async def _failed(self, request: Asked, error: Exception, answer: "_Answer") -> None:
        """Send an error, if nothing was sent yet. Internal errors go to the log, with a traceback."""
        if status_of(error) == 500 and not isinstance(error, TimeoutError | ConnectionError):
            log("fault", level=logging.ERROR, error=error, path=request.scope["path"])
        if answer.status is None and status_of(error) != 499:
            response = response_to(request, error)
            await response(request.scope, request.receive, answer.send)
        elif not isinstance(error, SurestError | TimeoutError | ConnectionError):
            raise error  # the server ends the connection, so that nobody takes half an answer for all of it

    def _count(self, request: Asked, answer: "_Answer", seconds: float) -> None:
        route = plain_path(getattr(request.scope.get("route"), "path", None) or "other")
        method = request.method if request.method in METHODS else "other"
        status = answer.status or 499  # who asked has left
        self.service.metrics.count(method, route, status, seconds)
        path, ms = request.scope["path"][:500], round(1000 * seconds, 1)
        who, client = request.who and request.who.name, request.client and request.client.host
        log("request", method=method, path=path, status=status, ms=ms, who=who, client=client)


@dataclass
class _Answer:
    """The response: adds the headers that every response has, and gives up on clients that do not read it."""

    _send: Send
    _seconds: float
    status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(header for header in ENCODED if header[0] not in own)]
        if message.get("more_body") or len(message.get("body", b"")) > LARGE:
            async with asyncio.timeout(self._seconds):
                await self._send(message)
        else:
            await self._send(message)
