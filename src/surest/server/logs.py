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
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

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


BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, inf)  # seconds


class Metrics:
    """Counts since the process began. Routes are counted by their pattern: names of studies make no new ones."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.took: dict[str, list[int]] = defaultdict(lambda: [0] * len(BUCKETS))  # of a route, at most so many seconds
        self.seconds: dict[str, float] = defaultdict(float)
        self.running = 0

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self.requests[method, route, status] += 1
        self.seconds[route] += seconds
        took = self.took[route]
        for bucket in range(bisect_left(BUCKETS, seconds), len(BUCKETS)):
            took[bucket] += 1


def resident_bytes() -> int:
    """Memory of this process; 0 where the system does not say."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * 4096
