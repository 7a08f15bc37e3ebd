"""HTTP to a service of studies: connections that are kept, a token that is never shown, and patience when the service is away."""

import http.client
import json
import os
import re
import time
import weakref
from collections import deque
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import quote, unquote, urlsplit

import msgspec

import surest.errors
from surest.errors import StorageError, SurestError, UsageError
from surest.masking import hidden_in, masked

T = TypeVar("T")
TOKEN = "SUREST_TOKEN"  # the environment variable that holds a token, where the URL has none
PATIENCE = 60.0  # seconds for which a service that is away is called again
FIRST_PATIENCE = 5.0  # … and for which one is called that never answered: its address may be wrong
SECONDS = 60.0  # in which an answer must come, beside the time for which was asked to wait
LOST = (http.client.HTTPException, OSError)
FRAMES = {"content-length", "transfer-encoding"}  # headers one of which every whole answer has
HOST = re.compile(r"[\w.-]+|[0-9a-f:.]+(%[\w.-]+)?")
"""Names, also international ones, and addresses; a backslash is no part of a host, whatever else takes it for one."""
AWAY = (429, 502, 503, 504)  # statuses that say: later


class Unanswered(Exception):
    """A request that may or may not have been carried out: its answer did not come."""


class Connection:
    """A service, from any thread: each call takes a connection that nobody uses."""

    def __init__(self, url: str, patience: float = PATIENCE) -> None:
        self._url, self.shown, self.patience = url, masked(url), patience
        parts = urlsplit(url)
        try:
            host, port = parts.hostname, parts.port
        except ValueError:
            raise UsageError(f"storage {self.shown!r}: what follows the host's colon is not a port number") from None
        if parts.username or parts.netloc.count("@") > 1:  # whose host is the other part, people take for the host
            raise UsageError(
                f"storage {self.shown!r}: a service's URL has no user; write a token with a colon before it, http://:TOKEN@host"
            )
        if not host or not HOST.fullmatch(host) or parts.query or parts.fragment:
            raise UsageError(f"storage {self.shown!r} is not a service's URL; write http://host:8080 or https://host")
        self._secure, self._host, self._port = parts.scheme == "https", host, port
        self._prefix = parts.path.rstrip("/")
        token = unquote(parts.password or "") or os.environ.get(TOKEN, "")
        if not token.isascii() or any(not mark.isprintable() or mark.isspace() for mark in token):
            raise UsageError(f"the token for {self.shown} has characters that no token has")
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._reached = False
        self._begin_here()

    def get(self, path: str) -> Any:
        """What is at a path."""
        return self.call("GET", path)

    def post(self, path: str, data: Any = None, *, again: bool = True, wait: float = 0.0, later: Any = None) -> Any:
        """Send something. `again` says that it does no harm to send it twice: then a lost answer is asked for again."""
        return self.call("POST", path, {} if data is None else data, again=again, wait=wait, later=later)

    def call(
        self, method: str, path: str, data: Any = None, *, again: bool = True, wait: float = 0.0, later: Any = None
    ) -> Any:
        """The answer to a request; while the service is away, it is sent again, where `later` is given with that instead."""
        body = data if isinstance(data, bytes) else None if data is None else json.dumps(data).encode()
        patience = self.patience if self._reached else min(self.patience, FIRST_PATIENCE)
        deadline, pause = time.monotonic() + patience, 0.0
        if not again:
            self.close()  # the service may just be letting go of an idle connection
        while True:
            try:
                status, answer, after = self._once(method, path, body, wait)
            except Unanswered as lost:
                if not again or time.monotonic() > deadline:
                    raise self._away(str(lost)) from None
            else:
                if status < 300:
                    return answer
                if status not in AWAY or time.monotonic() > deadline:
                    raise self._refused(status, answer)
                pause = max(pause, min(after, 5.0))
            time.sleep(pause)
            pause = min(max(0.05, 2 * pause), 2.0)
            body = body if later is None else json.dumps(later).encode()

    def read(self, answer: Any, form: type[T]) -> T:
        """An answer in the form that it must have: whatever answers there may send anything."""
        try:
            return msgspec.convert(answer, form)
        except msgspec.ValidationError as error:
            raise self.strange(str(error)) from None

    def field(self, answer: Any, name: str, form: type[T]) -> T:
        """One field of an answer, in the form that it must have."""
        return self.read(self.read(answer, dict).get(name), form)

    def strange(self, why: str) -> StorageError:
        """What to say of an answer that no service of surest sends."""
        return StorageError(f"{self.shown} sent what no service of surest sends: {why[:200]}")

    def _once(self, method: str, path: str, body: bytes | None, wait: float) -> tuple[int, Any, float]:
        """Status, JSON, and after how many seconds to try again."""
        kept = self._taken()
        try:
            kept.timeout = SECONDS + wait
            if kept.sock is not None:
                kept.sock.settimeout(SECONDS + wait)
            kept.request(method, self._prefix + path, body, self._headers)
            response = kept.getresponse()
            text = response.read()
        except LOST as error:
            kept.close()
            raise Unanswered(hidden_in(str(error) or type(error).__name__, self._url)) from None
        except BaseException:
            kept.close()  # an interrupt in the middle of an answer
            raise
        self._reached = True
        try:
            answer = json.loads(text) if text else None
        except (ValueError, RecursionError):
            answer = None
        if answer is None and not FRAMES & {name.lower() for name in response.headers}:
            kept.close()
            raise Unanswered("its answer was cut short")  # http.client takes half of a head for all of it
        self._idle.append(kept)
        if answer is None and response.status < 300:
            raise self._away("what answers there is not a service of surest")
        after = response.headers.get("Retry-After", "0")
        return response.status, answer, float(after) if after.isdecimal() else 0.0

    def _taken(self) -> http.client.HTTPConnection:
        """A connection that lies idle, or a new one; a fork has its own."""
        if self._pid != os.getpid():
            self._begin_here()
        try:
            return self._idle.pop()
        except IndexError:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            return kind(self._host, self._port)

    def _begin_here(self) -> None:
        self._pid, self._idle = os.getpid(), deque[http.client.HTTPConnection]()
        weakref.finalize(self, _close_all, self._idle)

    def close(self) -> None:
        """Close the connections that lie idle. They are opened again when they are needed."""
        _close_all(self._idle)

    def _refused(self, status: int, answer: Any) -> SurestError:
        """What the service said, as the error that the library raises."""
        said = answer.get("error") if isinstance(answer, dict) else None
        if not isinstance(said, dict):
            return self._away(f"it answered with status {status}, and not as a service of surest does")
        message = str(said.get("message", "")).replace("this service", self.shown)
        kind = getattr(surest.errors, str(said.get("kind")), None)
        if isinstance(kind, type) and issubclass(kind, SurestError):
            return kind(message)
        if status in (401, 403):
            hint = f"; the variable {TOKEN} or http://:TOKEN@host holds one" if status == 401 else ""
            return UsageError(f"{self.shown}: {message}{hint}")
        return UsageError(f"{self.shown}: {message}") if status < 500 else StorageError(f"{self.shown}: {message}")

    def _away(self, why: str) -> StorageError:
        return StorageError(
            f"{self.shown} cannot be reached ({why}). This call was not acknowledged; whatever was acknowledged before is kept, "
            "and telling a reward again is harmless"
        )


def _close_all(connections: "deque[http.client.HTTPConnection]") -> None:
    while connections:
        with suppress(IndexError):  # another thread was faster
            connections.pop().close()


def study_path(name: str, rest: str = "") -> str:
    """The address of a study."""
    return f"/api/studies/{quote(name, safe='')}{'/' if rest else ''}{rest}"
