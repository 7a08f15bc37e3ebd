"""Run the service: a socket, limits that the application cannot keep, signals."""

import asyncio
import logging
import signal
import socket
from types import FrameType
from typing import Any

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from surest.compiled import compile_in_background
from surest.errors import UsageError
from surest.service.limits import Limits
from surest.service.logs import log, set_up
from surest.service.studies import Studies

LARGEST_HEAD = 16 << 10
"""Bytes of a request's line and headers."""
GRACE_SECONDS = 30
"""In which requests in hand are finished after SIGTERM."""
KEEP_ALIVE_SECONDS = 75
"""For which a connection is kept without a request: longer than most proxies keep theirs."""


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


def allow_files(most: int) -> None:
    """Let this process have so many connections and files open, as far as the system allows it: often it is 1,024."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Patient(H11Protocol):
    """Connections that must send the head of a request in time, once they are made or have begun to send it."""

    header_seconds = 10.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest, or no longer."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._wait()
        else:
            self._wait_no_more()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.header_seconds, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class Server(uvicorn.Server):
    """A server that lets those who wait go when it is told to end."""

    studies: Studies
    signal: str | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish what is in hand; a second signal ends at once."""
        if self.should_exit:
            self.force_exit = True
        self.signal = signal.Signals(sig).name
        self.should_exit = True
        self._loop.call_soon_threadsafe(self.studies.close)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal comes."""
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)


def run(app: Starlette, listening: socket.socket, limits: Limits, *, quiet: bool = False) -> None:
    """Serve until SIGTERM or Ctrl-C, then finish what is in hand."""
    set_up(logging.WARNING if quiet else logging.INFO)
    allow_files(limits.connections + 1000)
    compile_in_background()
    protocol = type("Connection", (Patient,), {"header_seconds": limits.header_seconds})
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        limit_concurrency=limits.connections,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = Server(config)
    server.studies = app.state.studies
    host, port = listening.getsockname()[:2]
    log("serving", host=host, port=port, store=app.state.studies.store.shown, tokens=len(app.state.tokens.all()))
    server.run([listening])
    log("ended", signal=server.signal)
