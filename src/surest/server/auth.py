"""Who may do what: bearer tokens, a cookie for browsers, and forms that only our own pages can send."""

import hashlib
import hmac
import ipaddress
import re
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from surest.server.errors import Refused
from surest.server.tokens import Identity, Role

if TYPE_CHECKING:
    from surest.server.endpoints import Asked

COOKIE = "surest_token"  # A browser's token. Scripts cannot read it, and other sites cannot send it.
VISIT = "surest_visit"  # what ties forms to a browser where no tokens are set: a random text
EVERYBODY = Identity("everybody", "administer", "", 0.0)
"""The identity of all requests if there are no tokens: only this machine can send any then."""
HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]*)?")
"""A host and its port, as the header Host has them."""
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


def token_of(request: Request) -> str:
    """The token that a request brings; empty if it brings none."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else request.cookies.get(COOKIE, "")


def identify(request: "Asked") -> Identity | None:
    """Who sends a request to a service with tokens; None without a token. A wrong one is refused."""
    token = token_of(request)
    found = holder_of(request, token) if token else None
    if token and found is None:
        raise Refused(401, "unknown token; ask whoever runs the service for a new one")
    return found


def holder_of(request: "Asked", token: str) -> Identity | None:
    """Whose token it is; None if nobody's. An address that sends many of those is refused."""
    found = request.service.tokens.identify(token)
    wrong = request.service.wrong
    if found is None and not wrong.take(request.address):
        raise Refused(429, "too many wrong tokens; try again later", retry_after=1 / wrong.rate)
    return found


def check(request: "Asked", role: Role) -> None:
    """Raise unless the sender has a role, and no other site made a browser send the request."""
    if request.who is None:
        raise Refused(401, "a token is required: send it as 'Authorization: Bearer TOKEN', or log in at /login")
    if not request.who.may(role):
        who = request.who
        raise Refused(403, f"this needs a token that may {role}; the one called {who.name!r} may {who.role}")
    headers = request.headers
    if request.method in ("GET", "HEAD") or headers.get("authorization", "").lower().startswith("bearer "):
        return  # which no browser adds by itself
    # From our own pages, or not from a browser at all: browsers say where a request comes from.
    ours, origin = headers.get("sec-fetch-site", "none") in ("same-origin", "none"), headers.get("origin")
    try:
        ours = ours and (origin is None or urlsplit(origin).netloc == headers.get("host"))
    except ValueError:  # such as http://[
        ours = False
    if not ours:
        raise Refused(403, "cross-site request refused")


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


def calls_it_local(request: Request) -> bool:
    """Whether the header Host names this machine; it may be no valid name, as in ``evil@localhost``."""
    found = HOST.fullmatch(request.headers.get("host", ""))
    return found is not None and (found[1] or found[2]).lower() in LOCAL


def csrf_of(request: "Asked") -> str:
    """What a form must send along, in the field ``csrf``. Another site can neither read nor make it."""
    return hmac.new(request.secret.encode(), b"surest form", hashlib.sha256).hexdigest()


def check_csrf(request: "Asked", given: object) -> None:
    """Refuse a form that was not made by `csrf_of` for this browser."""
    if request.secret not in request.cookies.values():
        raise Refused(403, "the form was sent without a cookie; allow cookies for this page and reload it")
    if not isinstance(given, str) or not hmac.compare_digest(csrf_of(request).encode(), given.encode()):
        raise Refused(403, "the form is out of date; reload the page")


def set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    """Let a browser send a value by itself from now on: its token, or what ties forms to it."""
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, path="/", httponly=True, samesite="strict", secure=secure, max_age=30 * 86400)


def log_out(response: Response) -> Response:
    """Let a browser forget its token."""
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return response
