"""Who may do what: bearer tokens, a cookie for browsers, and forms that only our own pages can send."""

import hashlib
import hmac
import ipaddress
import re
import secrets
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any
from urllib.parse import SplitResult, urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from surest.server.bodies import json_response
from surest.server.errors import Refused
from surest.server.limits import Rate
from surest.server.studies import ASKED, Kind
from surest.server.tokens import Identity, Role, Tokens

COOKIE = "surest_token"  # A browser's token. Scripts cannot read it, and other sites cannot send it.
VISIT = "surest_visit"  # what ties forms to a browser where no tokens are set: a random text
EVERYBODY = Identity("everybody", "administer")
"""The identity of all requests if there are no tokens: only this machine can send any then."""
HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]*)?")
"""A host and its port, as the header Host has them."""
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
Answer = Callable[[Request], Awaitable[Any]]


def identify(request: Request, tokens: Tokens) -> Identity | None:
    """Who sends a request to a service with tokens; None without a token. A wrong one is refused."""
    header = request.headers.get("authorization", "")
    scheme, _, given = header.partition(" ")
    token = given.strip() if scheme.lower() == "bearer" else request.cookies.get(COOKIE, "")
    if not token:
        return None
    found = tokens.identify(token)
    if found is None:
        raise Refused(401, "unknown token; ask whoever runs the service for a new one")
    return found


def count_wrong(request: Request, wrong: Rate) -> None:
    """Refuse an address that sent many wrong tokens."""
    if not wrong.take("?" if request.client is None else request.client.host):
        raise Refused(429, "too many wrong tokens; try again later", retry_after=1 / wrong.rate)


def is_known(request: Request, tokens: Tokens) -> bool:
    """Whether a request's token is still valid: it may be revoked while somebody watches."""
    try:
        return not tokens or identify(request, tokens) is not None
    except Refused:
        return False


class Handler:
    """An endpoint: it checks the role, and that no other site made a browser send the request.

    Heavy ones have a few threads of their own. The answer is a response, or data that is sent as JSON.
    """

    def __init__(self, answer: Answer, role: Role | None, *, heavy: bool = False, status: int = 200) -> None:
        self.__name__, self.__doc__ = answer.__name__, answer.__doc__
        self.answer, self.role, self.status = answer, role, status
        self.kind: Kind = "heavy" if heavy else "look" if role in (None, "look") else "work"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive, send)
        if self.role is not None:
            check(request, self.role)
        ASKED.set((self.kind, request.state.sender))
        found = await self.answer(request)
        response = found if isinstance(found, Response) else json_response(found, self.status)
        await response(scope, receive, send)


def needs(role: Role | None, *, heavy: bool = False) -> Callable[[Answer], Handler]:
    """Make an endpoint that requires a role."""
    return lambda answer: Handler(answer, role, heavy=heavy)


def check(request: Request, role: Role) -> None:
    """Raise unless the sender has a role."""
    who: Identity | None = request.state.who
    if who is None:
        raise Refused(401, "a token is required: send it as 'Authorization: Bearer TOKEN', or log in at /login")
    if not who.may(role):
        raise Refused(403, f"this needs a token that may {role}; the one called {who.name!r} may {who.role}")
    if request.method not in ("GET", "HEAD") and not from_here(request):
        raise Refused(403, "cross-site request refused")


def from_here(request: Request) -> bool:
    """Whether a request comes from our own pages, or not from a browser at all. Browsers say where it comes from."""
    if request.headers.get("authorization", "").lower().startswith("bearer "):
        return True  # no browser adds that by itself
    site = request.headers.get("sec-fetch-site")
    if site is not None and site not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    return origin is None or _parts(origin).netloc == request.headers.get("host")


@lru_cache(maxsize=1024)  # asked for every request
def is_local(host: str) -> bool:
    """Whether only this machine can reach a host.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("::1"), is_local("0.0.0.0"), is_local("example.org")
    (True, True, True, False, False)
    >>> is_local("::ffff:127.0.0.1"), is_local("192.0.2.7")
    (True, False)
    """
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def host_of(request: Request) -> str:
    """The Host without its port; empty if it is not a valid name, as in ``evil@localhost``."""
    found = HOST.fullmatch(request.headers.get("host", ""))
    return "" if found is None else (found[1] or found[2]).lower()


def _parts(address: str) -> SplitResult:
    """The parts of a URL that somebody sent; empty if it is invalid, such as ``http://[``."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


def csrf_of(request: Request) -> str:
    """What a form must send along, in the field ``csrf``. Another site can neither read nor make it."""
    secret = request.cookies.get(COOKIE) or request.cookies.get(VISIT) or _visit(request)
    return hmac.new(secret.encode(), b"surest form", hashlib.sha256).hexdigest()


def check_csrf(request: Request, given: object) -> None:
    """Refuse a form that was not made by `csrf_of` for this browser."""
    if not (request.cookies.get(COOKIE) or request.cookies.get(VISIT)):
        raise Refused(403, "the form was sent without a cookie; allow cookies for this page and reload it")
    if not isinstance(given, str) or not hmac.compare_digest(csrf_of(request).encode(), given.encode()):
        raise Refused(403, "the form is out of date; reload the page")


def visited(request: Request, response: Response) -> Response:
    """A page's response, with the cookie that its forms need."""
    if not request.cookies.get(COOKIE) and not request.cookies.get(VISIT):
        _set(request, response, VISIT, _visit(request))
    return response


def log_in(request: Request, response: Response, token: str) -> Response:
    """Let a browser send a token by itself from now on."""
    _set(request, response, COOKIE, token)
    return response


def log_out(response: Response) -> Response:
    """Let a browser forget its token."""
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return response


def _set(request: Request, response: Response, name: str, value: str) -> None:
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, path="/", httponly=True, samesite="strict", secure=secure, max_age=30 * 86400)


def _visit(request: Request) -> str:
    """A random text for a browser that has none, the same for all of a page."""
    if not hasattr(request.state, "visit"):
        request.state.visit = secrets.token_urlsafe(24)
    return str(request.state.visit)
