"""What a request passes through once it is let in: its role is checked, its body read, and what comes back is sent."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import quote, unquote

import msgspec
from starlette.convertors import Convertor
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from surest.errors import UsageError
from surest.server.auth import COOKIE, VISIT, check, check_csrf
from surest.server.errors import Refused
from surest.server.tokens import Identity, Role

if TYPE_CHECKING:
    from surest.server.app import Service
    from surest.server.studies import Served

T = TypeVar("T")
Kind = Literal["work", "look", "heavy"]
ASKED: ContextVar[tuple[Kind, str]] = ContextVar("surest_asked", default=("work", ""))
"""What kind of work the current request is, and who sent it."""
SOON_SECONDS = 0.05
"""In which most requests are answered; only then it is of interest whether the client is still there."""


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
LARGE = 1 << 15  # bytes of a response from which on somebody may be too slow to read it


class Asked(Request):
    """A request to the service, and what was answered."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, service: "Service") -> None:
        super().__init__(scope, receive, send)
        self.service = service
        self.status: int | None = None  # of the answer, once it begins
        self.address = "?" if self.client is None else self.client.host
        self.root = str(scope.get("root_path", "")).rstrip("/")  # before every path, behind a proxy that adds it
        self.who: Identity | None = None
        self.sender = self.address  # whose limits count: those of a token, or of an address
        self.most = 0  # bytes that its body may have

    @property
    def name(self) -> str:
        """The study that the address names."""
        return str(self.path_params["name"])

    @property
    def study(self) -> "Served":
        """That study, as the service has it."""
        return self.service.studies.of(self.name)

    @cached_property
    def secret(self) -> str:
        """What ties forms to a browser: its token or, where it has none, a random text that it keeps."""
        return self.cookies.get(COOKIE) or self.cookies.get(VISIT) or secrets.token_urlsafe(24)

    @property
    def public_url(self) -> str:
        """The address of the service, as whoever asks calls it."""
        return str(self.base_url).rstrip("/")

    def path_of(self, study: str) -> str:
        """The path of a study's page."""
        return f"{self.root}/studies/{quoted(study)}"

    async def body(self) -> bytes:
        """All of the body; refused if it is too large or too slow, without keeping more than is allowed."""
        stated = self.headers.get("content-length", "0")
        if stated.isdigit() and int(stated) > self.most:
            raise self._too_large()
        if hasattr(self, "_body"):
            return self._body
        parts, size, seconds = [], 0, self.service.limits.body_seconds
        try:
            async with asyncio.timeout(seconds):
                async for part in self.stream():
                    size += len(part)
                    if size > self.most:
                        raise self._too_large()
                    parts.append(part)
        except TimeoutError:
            raise Refused(408, f"the body did not arrive within {seconds:g} seconds") from None
        except ClientDisconnect:
            raise Refused(400, "the connection was closed before the whole body arrived") from None
        self._body = b"".join(parts)
        return self._body

    async def answer(self, message: Message) -> None:
        """Send a part of the response, with the headers that every one has; who does not read it is given up."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(header for header in ENCODED if header[0] not in own)]
        may_wait = message.get("more_body") or len(message.get("body", b"")) > LARGE
        async with asyncio.timeout(self.service.limits.send_seconds if may_wait else None):
            await self._send(message)

    def _too_large(self) -> Refused:
        return Refused(413, f"the request is larger than {self.most:,} bytes, the maximum")


Answer = Callable[..., Awaitable[Any]]
"""Takes a request, and what its body says if it has one. What it returns is a response, or data that is sent as JSON."""


@dataclass(frozen=True, eq=False)
class Endpoint:
    """What is done at an address."""

    method: str  # or several, with spaces between
    path: str
    role: Role | None  # none for what anybody may ask
    answer: Answer
    body: Any = None  # the form of its body, or forms, if it has one
    status: int = 200
    query: tuple[tuple[str, str], ...] = ()  # names and descriptions of what may follow a question mark
    kind: str = "application/json"
    gives: Any = None  # the form of its answer, where it is described
    heavy: bool = False  # whether it may take long: then it has few threads of its own
    upload: bool = False  # whether its body may be long
    waits: bool = False  # whether it is given up when the client leaves, as all that is only read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request: Asked = scope["asked"]
        if self.role is not None:
            check(request, self.role)
        ASKED.set(("heavy" if self.heavy else "look" if self.role in (None, "look") else "work", request.sender))
        said, reads = [], request.method in ("GET", "HEAD")
        if self.body is not None:
            request.most = request.service.limits.upload if self.upload else request.service.limits.body
            said = [FormData() if reads else await parsed(request, self.body)]  # a form is shown before it is sent
        try:
            answering = self.answer(request, *said)
            found = await (unless_gone(request, answering) if reads or self.waits else answering)
        finally:
            await request.close()  # a file that came with a form
        response = found if isinstance(found, Response) else json_response(found, self.status)
        await response(scope, receive, send)

    @property
    def summary(self) -> str:
        """The first line of what is said of the function."""
        return str(self.answer.__doc__).partition("\n")[0]

    def route(self) -> Route:
        """As a route."""
        return Route(self.path, self, methods=self.method.split(), name=self.answer.__name__)


async def parsed(request: Asked, form: Any) -> Any:
    """The body of a request, read as a form: one of HTML that one of our own pages sent, or JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if form is not FormData and kind != "application/json":
        stated = f"the body is {kind[:60] or 'of no stated type'!r}"
        raise Refused(415, f"{stated}; send JSON, as 'Content-Type: application/json'")
    if form is FormData and kind not in ("multipart/form-data", "application/x-www-form-urlencoded"):
        raise Refused(415, f"the body is {kind[:60]!r}; this address accepts forms")
    body = await request.body()
    if form is not FormData:
        return decoded(body, form)
    try:
        sent = await request.form(max_files=1, max_fields=100, max_part_size=len(body) + 1)
    except (HTTPException, UnicodeDecodeError, KeyError) as error:
        raise Refused(400, f"the form cannot be read: {getattr(error, 'detail', error)}") from None
    check_csrf(request, sent.get("csrf"))
    return sent


def decoded(data: bytes, form: type[T]) -> T:
    """JSON, read as a form."""
    try:
        return msgspec.json.decode(data, type=form)
    except msgspec.ValidationError as error:
        raise Refused(422, f"invalid body: {error}; see /openapi.json") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON: {error}") from None


async def unless_gone(request: Request, answering: Awaitable[T]) -> T:
    """An answer, for as long as whoever asked for it is there: nobody needs what takes a while any more then."""
    answer = asyncio.ensure_future(answering)
    waiting: set[asyncio.Future[Any]] = {answer}
    try:
        await asyncio.wait(waiting, timeout=SOON_SECONDS)
        if not answer.done():
            waiting.add(asyncio.ensure_future(left(request.receive)))
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise Refused(499, "the client disconnected")
        return answer.result()
    finally:
        for one in waiting:
            one.cancel()


async def left(receive: Receive) -> None:
    """Wait until whoever sent a request has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def json_response(found: Any, status: int = 200) -> Response:
    """An answer as JSON."""
    return Response(msgspec.json.encode(found), status, media_type="application/json")


class NameConvertor(Convertor[str]):
    """A part of a path that is one name: any text, percent-encoded. Paths are matched as they were sent: ``%2F`` is no border."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """The name."""
        try:
            name = unquote(value, errors="strict")
        except UnicodeDecodeError:
            raise UsageError(f"{value[:60]!r} in the address is not percent-encoded UTF-8") from None
        if "\x00" in name:  # PostgreSQL cannot even look for it
            raise UsageError(f"{value[:60]!r} in the address contains a NUL, which no name may")
        return name

    def to_string(self, value: str) -> str:
        """The name in an address."""
        return quoted(value)


def quoted(name: str) -> str:
    """A name as a part of an address."""
    return quote(name, safe="")
