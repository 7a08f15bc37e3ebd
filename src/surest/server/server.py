"""Run the service: a socket, limits that the application cannot keep, signals."""

import asyncio
import logging
import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Sequence
from ipaddress import ip_address, ip_network
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from surest.errors import UsageError
from surest.server.app import Service
from surest.server.limits import Limits
from surest.server.logs import log, set_up
from surest.server.studies import Studies

LARGEST_HEAD = 16 << 10  # bytes of a request's line and headers
KEEP_ALIVE_SECONDS = 75  # for which a connection is kept without a request: longer than most proxies keep theirs
STRANGERS_SECONDS = 5  # the same where nobody has sent a token on it
SPARE_FILES = 200  # files that are open beside connections: of the database, and those that are sent


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise UsageError(f"cannot listen on {host} port {port}: {error}; give another --host or --port") from None
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a small answer does not wait for the next one
    listening.listen(2048)
    return listening


def allow_files(most: int) -> int:
    """Raise the limit of open files to `most`, as far as the system allows; often it is 1,024."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return most
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


class Crowd:
    """Who has how many connections, so that nobody takes all: an address, or the token that was sent on them.

    Connections without a token are at most half of all, and those of one address a third, but for a proxy that is known.
    Beyond that the oldest is let go, so that whoever comes next can still send a token. A token has at most half of all.
    """

    def __init__(self, most: int, proxies: Sequence[str] = ()) -> None:
        self.most = most
        self._proxies = [ip_network(proxy, strict=False) for proxy in proxies]
        self._strangers: dict[Patient, str] = {}
        self._known: dict[Patient, str] = {}
        self._of: Counter[str] = Counter()

    def enter(self, connection: "Patient") -> None:
        """A connection is made."""
        address = self._shared(connection.client)
        self._strangers[connection] = address
        self._of[address] += 1
        if address and self._of[address] > self.most // 3:
            next(other for other, its in self._strangers.items() if its == address).let_go()
        elif len(self._strangers) > self.most // 2:
            next(iter(self._strangers)).let_go()

    def know(self, connection: "Patient", owner: str) -> bool:
        """A token was sent on it; False if its owner has too many."""
        if self._known.get(connection) == owner:
            return True
        self.leave(connection)
        self._known[connection] = owner
        self._of[owner] += 1
        if self._of[owner] <= self.most // 2:
            return True
        idle = next((other for other, its in self._known.items() if its == owner and other.is_idle), None)
        if idle is not None:
            idle.let_go()
        return idle is not None

    def leave(self, connection: "Patient") -> None:
        """A connection is gone."""
        owner = self._strangers.pop(connection, None)
        owner = self._known.pop(connection, None) if owner is None else owner
        if owner is not None:
            self._of[owner] -= 1
            if not self._of[owner]:
                del self._of[owner]

    def _shared(self, client: tuple[str, int] | None) -> str:
        """The address whose connections are counted together; none for a proxy, behind which anybody may be."""
        try:
            address = ip_address("" if client is None else client[0])
        except ValueError:
            return ""
        if any(address in network for network in self._proxies):
            return ""
        return str(address if address.version == 4 else ip_network((address, 64), strict=False))


class Patient(H11Protocol):
    """Connections that must send the head of a request in time, once they are made or have begun to send it."""

    header_seconds = 10.0
    crowd: Crowd
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        super().connection_made(transport)
        self.timeout_keep_alive = STRANGERS_SECONDS
        self.app_state = {**self.app_state, "connection": self}  # so that a request knows on which one it came
        self.crowd.enter(self)
        self._wait(True)

    def known(self, owner: str) -> bool:
        """Keep the connection longer, since it has sent a token; False if its owner has too many."""
        self.timeout_keep_alive = KEEP_ALIVE_SECONDS
        return self.crowd.know(self, owner)

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def let_go(self) -> None:
        """Make room for others."""
        self.crowd.leave(self)
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest, or no longer."""
        super().data_received(data)
        self._wait(self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0]))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self.crowd.leave(self)
        self._wait(False)
        super().connection_lost(exc)

    def _wait(self, begun: bool) -> None:
        if begun and self._deadline is None:
            self._deadline = self.loop.call_later(self.header_seconds, self.transport.close)
        elif not begun and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class Server(uvicorn.Server):
    """A server that lets those who wait go when it is told to end."""

    studies: Studies
    grace_seconds: float
    signal: str | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish what is in hand; a second signal ends at once."""
        if self.should_exit:
            self.force_exit = True
        else:
            last = threading.Timer(self.grace_seconds, self._end_now)
            last.daemon = True
            last.start()
        self.signal = signal.Signals(sig).name
        self.should_exit = True
        asyncio.get_running_loop().call_soon_threadsafe(self.studies.close)  # it may be asleep

    def _end_now(self) -> None:
        """End, whatever is running: no thread can be stopped, and what has not been acknowledged may be lost."""
        log("ended", signal=self.signal, unfinished=True)
        logging.shutdown()
        os._exit(0)


def run(
    app: Service, listening: socket.socket, limits: Limits, *, quiet: bool = False, proxies: Sequence[str] = ()
) -> None:
    """Serve until SIGTERM or Ctrl-C, then finish what is in hand, as far as there is time.

    What `proxies` (addresses or networks) say of where a request came from is believed.
    """
    set_up(logging.WARNING if quiet else logging.INFO)
    connections = min(limits.connections, max(allow_files(limits.connections + SPARE_FILES) - SPARE_FILES, 20))
    crowd = Crowd(connections, proxies)
    protocol = type("Connection", (Patient,), {"header_seconds": limits.header_seconds, "crowd": crowd})
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        limit_concurrency=connections,
        timeout_graceful_shutdown=0.8 * limits.grace_seconds,  # type: ignore[arg-type]
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
    )
    server = Server(config)
    server.studies, server.grace_seconds = app.studies, limits.grace_seconds
    host, port = listening.getsockname()[:2]
    log("serving", host=host, port=port, store=app.studies.store.shown, tokens=len(app.tokens.all()))
    server.run([listening])
    if app.studies.is_busy:
        server._end_now()  # everybody is answered or gone, and threads that still work would keep the process
    log("ended", signal=server.signal)
