"""How much anybody may send, how fast, and how long anything may take."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The limits of a service. All of them can be set where it is made; these are for a team."""

    body: int = 1 << 20  # bytes of a request
    upload: int = 32 << 20  # bytes of a request that makes a study: a list of items may be long
    body_seconds: float = 20.0  # in which a body must have come
    header_seconds: float = 10.0  # in which the head of a request must have come, on a new connection
    send_seconds: float = 60.0  # in which somebody must read a part of a response
    rate: float = 2000.0  # requests a second of one token, or of one address where no tokens are set
    stranger_rate: float = 100.0  # requests a second from one address that come without a token
    wrong_tokens: float = 0.2  # wrong tokens a second from one address
    wait: float = 60.0  # seconds for which `ask` may be left waiting
    connections: int = 4000  # At a time. Those beyond are answered with status 503.
    threads: int = 16  # calls of workers and administrators to the database at a time
    look_threads: int = 8
    """Calls for pages and results at a time; one token, or address without tokens, has at most half of them."""
    heavy_threads: int = 2
    """Reports, exports, decisions and imports that are made at a time; half of them for one token."""
    heavy_calls: int = 8  # those of one token that are being made or wait for it
    listeners: int = 500  # browsers that watch at a time
    listeners_each: int = 100  # browsers of one token that watch at a time
    grace_seconds: float = 30.0  # in which the service ends after SIGTERM, whatever is running
    studies: int = 200  # studies that are kept in memory at a time
