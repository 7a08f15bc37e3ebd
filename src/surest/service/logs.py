"""A log for programs: one JSON object a line on standard error. Tokens, bodies and queries are never in it."""

import json
import logging
import sys
import threading
import time
from typing import Any

LOGGER = logging.getLogger("surest.service")


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


def log(event: str, *, level: int = logging.INFO, error: BaseException | None = None, **fields: Any) -> None:
    """Write down what happened."""
    LOGGER.log(level, event, extra={"fields": fields}, exc_info=error)


def _thread_failed(what: threading.ExceptHookArgs) -> None:
    """Say what went wrong in a thread, such as one that compiles, in one line too."""
    log("fault", level=logging.ERROR, error=what.exc_value, thread=None if what.thread is None else what.thread.name)


def set_up(level: int = logging.INFO) -> None:
    """Send what the service, its server and its other threads say to standard error."""
    logging.captureWarnings(True)
    threading.excepthook = _thread_failed
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    for name in ("surest.service", "uvicorn", "uvicorn.error", "asyncio", "py.warnings"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(max(level, logging.WARNING) if name != "surest.service" else level)
