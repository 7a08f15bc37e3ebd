"""Tokens, and what each may do. Only their digests are kept, in a file that its owner alone can read."""

import hashlib
import io
import logging
import os
import secrets
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from surest.errors import UsageError
from surest.server.logs import log
from surest.study.settings import storable
from surest.text import is_one_line

Role = Literal["look", "work", "administer"]
ROLES: tuple[Role, ...] = ("look", "work", "administer")  # each may do all that the ones before it may
PREFIX = "surest-"


class Identity(msgspec.Struct, frozen=True):
    """Who sends a request: whose token it is, as the file has it."""

    name: str
    role: Role
    digest: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    made: float

    def may(self, role: Role) -> bool:
        """Whether a role is theirs."""
        return ROLES.index(self.role) >= ROLES.index(role)


def digest_of(token: str) -> str:
    """What is kept of a token. It is 256 random bits, so a fast digest is as good as a slow one."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class Tokens:
    """The tokens of a file, read again when it changes. Without a file, or with an empty one, there are none.

    They are true where a token is needed: as soon as there is one, and from then on, even if the last one is revoked or the
    file is lost. Else a running service would suddenly let everybody in.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, ...] | None = None
        self._known: dict[str, Identity] = {}
        self._needed = False

    def __bool__(self) -> bool:
        if self.path is None:
            return False
        with self._lock:
            self._heed()
            self._needed = bool(self._known) or self._needed
            return self._needed

    def all(self) -> list[Identity]:
        """What is kept, in the order in which it was made."""
        with self._lock:
            self._refresh()
            return list(self._known.values())

    def identify(self, token: str) -> Identity | None:
        """Whose token this is; None if nobody's. Digests are looked up, so the time says nothing about tokens."""
        with self._lock:
            self._heed()
            return self._known.get(digest_of(token))

    def add(self, name: str, role: Role) -> str:
        """Make a token. It is returned once, and kept nowhere."""
        storable(name, "a token's name")
        if not is_one_line(name):
            raise UsageError(f"a token's name is {name!r:.60}; it must be one line of text, without tabs")
        with self._alone():
            there = self.all()
            if any(kept.name == name for kept in there):
                raise UsageError(f"there is already a token called {name!r}; revoke it first, or choose another name")
            token = PREFIX + secrets.token_urlsafe(32)
            self._write([*there, Identity(name, role, digest_of(token), time.time())])
        return token

    def revoke(self, name: str) -> None:
        """Revoke a token. A running service notices with its next request."""
        with self._alone():
            there = self.all()
            left = [kept for kept in there if kept.name != name]
            if len(left) == len(there):
                names = ", ".join(kept.name for kept in there) or "none"
                raise UsageError(f"there is no token called {name!r}; there are {names}")
            self._write(left)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold a lock on the file, so that no other process's change is lost."""
        if self.path is None:
            raise UsageError("there is no token file; give one with --tokens")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            beside = self.path.with_name(f"{self.path.name}.lock")  # the file itself is replaced
            descriptor = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._unusable("written", error) from None
        with open(descriptor, "wb") as lock:
            if sys.platform != "win32":
                import fcntl

                fcntl.flock(lock, fcntl.LOCK_EX)
            else:
                import msvcrt

                msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)
            yield

    def _heed(self) -> None:
        """Read what is new. While the file is damaged nobody gets in; the log says why, clients are not told."""
        try:
            self._refresh()
        except UsageError as error:
            if self._known or not self._needed:
                log("tokens", level=logging.ERROR, reason=str(error))
            self._known, self._needed = {}, True

    def _refresh(self) -> None:
        if self.path is None:
            return
        try:
            status = self.path.stat()
            seen = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode)
            if seen == self._seen:
                return
            if sys.platform != "win32" and status.st_mode & 0o077:
                raise UsageError(f"other users can access the token file {self.path}; run chmod 600 {self.path}")
            kept = msgspec.json.decode(self.path.read_bytes(), type=list[Identity])
            self._seen, self._known = seen, {one.digest: one for one in kept}
        except FileNotFoundError:
            self._seen, self._known = None, {}
        except (OSError, msgspec.MsgspecError) as error:
            raise self._unusable("read", error) from None

    def _unusable(self, how: str, error: Exception) -> UsageError:
        return UsageError(f"the token file {self.path} cannot be {how}: {error}")

    def _write(self, tokens: list[Identity]) -> None:
        from surest.study.transfer import put_in_place  # only those who make tokens need it

        assert self.path is not None
        try:
            put_in_place(io.BytesIO(msgspec.json.format(msgspec.json.encode(tokens))), self.path, 0o600)
        except OSError as error:
            raise self._unusable("written", error) from None
