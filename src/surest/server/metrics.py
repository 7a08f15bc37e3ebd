"""What Prometheus reads: counts and times of requests, and what is going on now."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from surest.server.events import Watches
    from surest.server.studies import Studies

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Seconds."""


class Metrics:
    """Counts since the process began. Routes are counted by their pattern: names of studies make no new ones."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.buckets: Counter[tuple[str, float]] = Counter()
        self.seconds: Counter[str] = Counter()
        self.times: Counter[str] = Counter()
        self.running = 0

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self.requests[method, route, status] += 1
        self.times[route] += 1
        self.seconds[route] += seconds  # type: ignore[assignment]
        bucket = next((bound for bound in BUCKETS if seconds <= bound), None)
        if bucket is not None:
            self.buckets[route, bucket] += 1

    def text(self, studies: "Studies", watches: "Watches") -> str:
        """All of it, in Prometheus' form."""
        desks = studies.desks.values()
        now = {
            "surest_requests_running": ("Requests that are being answered.", self.running),
            "surest_asks_waiting": ("Workers that wait for a ticket.", sum(desk.waiting for desk in desks)),
            "surest_watching": ("Browsers that watch a study.", watches.listeners),
            "surest_studies_open": ("Studies that are kept in memory.", studies.opened),
            "surest_resident_bytes": ("Memory of this process.", resident_bytes()),
        }
        lines = [line for name, (what, value) in now.items() for line in _metric(name, "gauge", what, value)]
        for name, what, value in (
            ("surest_tickets_handed_total", "Tickets that were handed out here.", studies.handed),
            ("surest_rewards_told_total", "Rewards that were told here.", studies.told),
        ):
            lines += _metric(name, "counter", what, value)
        return "\n".join([*lines, *self._requests(), *self._seconds()]) + "\n"

    def _requests(self) -> Iterator[str]:
        yield "# HELP surest_requests_total Requests that were answered."
        yield "# TYPE surest_requests_total counter"
        for (method, route, status), number in sorted(self.requests.items()):
            yield f'surest_requests_total{{method="{method}",route="{route}",status="{status}"}} {number}'

    def _seconds(self) -> Iterator[str]:
        yield "# HELP surest_request_seconds How long requests took."
        yield "# TYPE surest_request_seconds histogram"
        for route in sorted(self.times):
            reached = 0
            for bound in BUCKETS:
                reached += self.buckets[route, bound]
                yield f'surest_request_seconds_bucket{{route="{route}",le="{bound:g}"}} {reached}'
            yield f'surest_request_seconds_bucket{{route="{route}",le="+Inf"}} {self.times[route]}'
            yield f'surest_request_seconds_sum{{route="{route}"}} {self.seconds[route]:.6f}'
            yield f'surest_request_seconds_count{{route="{route}"}} {self.times[route]}'


def _metric(name: str, kind: str, what: str, value: float) -> list[str]:
    return [f"# HELP {name} {what}", f"# TYPE {name} {kind}", f"{name} {value}"]


def resident_bytes() -> int:
    """Memory of this process; 0 where the system does not say."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * 4096
