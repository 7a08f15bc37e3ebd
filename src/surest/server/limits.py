"""How much anybody may send, how fast, and how long anything may take."""

import time
from collections import OrderedDict
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
