"""A log for programs: JSON lines on standard error. Tokens, bodies and queries are never in it."""

import json
import logging
import os
import queue
import sys
import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surest.server.app import Service

LOGGER = logging.getLogger("surest.server")
MOST_LINES = 10_000  # that wait to be written; those beyond are dropped
LAST_SECONDS = 1.0  # for which the end of the service waits for the last lines to be written


class Lines(logging.Formatter):
    """A record as one line of JSON. Control characters in it are escaped, so that nobody can write a line of their own."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        data: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info is not None and record.exc_info[0] is not None:
            data["traceback"] = self.formatException(record.exc_info)
        return json.dumps(data, ensure_ascii=True, default=str)


class Behind(logging.Handler):
    """Writes in a thread of its own: a standard error that nobody reads stops neither the service nor its end."""

    def __init__(self, file: int) -> None:
        super().__init__()
        self._file, self._lines = file, queue.Queue[bytes](MOST_LINES)
        threading.Thread(target=self._write, name="surest-log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Leave a line to be written."""
        with suppress(queue.Full):
            self._lines.put_nowait(self.format(record).encode() + b"\n")

    def flush(self) -> None:
        """Wait until all is written, but not for long. Called at the end of the process."""
        deadline = time.monotonic() + LAST_SECONDS
        while self._lines.unfinished_tasks and time.monotonic() < deadline:
            time.sleep(0.01)

    def _write(self) -> None:
        while line := self._lines.get():
            with suppress(OSError):  # nobody can be told
                while line:
                    line = line[os.write(self._file, line) :]
            self._lines.task_done()


def log(event: str, *, level: int = logging.INFO, error: BaseException | None = None, **fields: Any) -> None:
    """Write down what happened."""
    LOGGER.log(level, event, extra={"fields": fields}, exc_info=error)


def _thread_failed(what: threading.ExceptHookArgs) -> None:
    """Say what went wrong in a thread in one line too."""
    log("fault", level=logging.ERROR, error=what.exc_value, thread=None if what.thread is None else what.thread.name)


def set_up(level: int = logging.INFO) -> None:
    """Send what the service, its server and its other threads say to standard error."""
    logging.captureWarnings(True)
    threading.excepthook = _thread_failed
    handler = Behind(sys.stderr.fileno())
    handler.setFormatter(Lines())
    for name in ("surest.server", "uvicorn", "uvicorn.error", "asyncio", "py.warnings"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(max(level, logging.WARNING) if name != "surest.server" else level)


BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # seconds
BOUNDS = [*(f"{bound:g}" for bound in BUCKETS), "+Inf"]


class Metrics:
    """Counts since the process began. Routes are counted by their pattern: names of studies make no new ones."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.took: dict[str, list[int]] = defaultdict(lambda: [0] * len(BOUNDS))  # how many, in each bucket of a route
        self.seconds: dict[str, float] = defaultdict(float)
        self.running = 0

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self.requests[method, route, status] += 1
        self.took[route][bisect_left(BUCKETS, seconds)] += 1
        self.seconds[route] += seconds

    def text(self, service: "Service") -> str:
        """All of it, in Prometheus' form."""
        studies = service.studies
        waiting = sum(len(study.desk.waiting) for study in studies.served.values())
        requests = {
            f'{{method="{method}",route="{route}",status="{status}"}}': number
            for (method, route, status), number in sorted(self.requests.items())
        }
        families: list[tuple[str, str, str, float | dict[str, float]]] = [
            ("requests_running", "gauge", "Requests that are being answered.", self.running),
            ("asks_waiting", "gauge", "Workers that wait for a ticket.", waiting),
            ("watching", "gauge", "Browsers that watch a study.", service.watching.total()),
            ("studies_open", "gauge", "Studies that are kept in memory.", len(studies.served)),
            ("resident_bytes", "gauge", "Memory of this process.", resident_bytes()),
            ("tickets_handed_total", "counter", "Tickets that were handed out here.", studies.handed),
            ("rewards_told_total", "counter", "Rewards that were told here.", studies.told),
            ("requests_total", "counter", "Requests that were answered.", {**requests}),
            ("request_seconds", "histogram", "How long requests took.", dict(self._seconds())),
        ]
        lines: list[str] = []
        for name, kind, what, found in families:
            lines += [f"# HELP surest_{name} {what}", f"# TYPE surest_{name} {kind}"]
            values = found if isinstance(found, dict) else {"": found}
            lines += [f"surest_{name}{labels} {value}" for labels, value in values.items()]
        return "\n".join(lines) + "\n"

    def _seconds(self) -> Iterator[tuple[str, float]]:
        """The histogram of each route: how many requests took at most so long, all seconds, and all requests."""
        for route, counts in sorted(self.took.items()):
            for bound, reached in zip(BOUNDS, accumulate(counts), strict=True):
                yield f'_bucket{{route="{route}",le="{bound}"}}', reached
            yield f'_sum{{route="{route}"}}', round(self.seconds[route], 6)
            yield f'_count{{route="{route}"}}', sum(counts)


def resident_bytes() -> int:
    """Memory of this process; 0 where the system does not say."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * 4096
