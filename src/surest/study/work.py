"""Let an executor work on a study: what `drivers.executor` does for a session, on a log that outlives the process.

Any number of processes may do so at a time. Whoever stops in good order gives its tickets back.
"""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from surest.core.session import Ticket
from surest.drivers.call import Work
from surest.drivers.executor import LOOK, Hook, checked_in_flight, outcome, submitted
from surest.drivers.failures import checked_retries, exhausted, kind_of
from surest.errors import SurestError, TicketError
from surest.study.leases import give_back, renew, take_over
from surest.study.study import Study

RENEWALS = 4
"""How often leases are lengthened in the time of one."""
POLL = 0.2
"""Seconds after which one asks again where the rewards of others are awaited."""


def work_on(
    study: Study,
    work: Work,
    executor: Executor,
    *,
    in_flight: int,
    retries: int | None = None,
    on_request: Hook | None = None,
) -> None:
    """Keep up to `in_flight` evaluations of a study under way until it is finished. The executor stays open.

    A failed evaluation is retried as the study's settings say. Where they name no reward for a failure, it is retried so
    often (`retries`, 3 unless told), and then the work ends with an error.

    >>> import tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from surest import open_study
    >>> with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
    ...     study = open_study(f"sqlite:///{folder}/studies.db", "demo", ["a", "b"], 0.1, seed=1, batch=8)
    ...     work_on(study, lambda ticket: (float, ticket.label == "b"), pool, in_flight=2)
    ...     study.result().best
    'b'
    """
    checked_in_flight(in_flight)
    limit = checked_retries(retries, study.settings.on_failure)
    failed: Counter[int] = Counter()
    flying: dict[Future[Any], Ticket] = {}
    done: SimpleQueue[Future[Any]] = SimpleQueue()
    look = _every(LOOK, lambda: on_request(study.running) if on_request is not None else None)
    keep = _every(study.settings.lease_seconds / RENEWALS, lambda: renew(study, [t.id for t in flying.values()]))
    take_over(study)
    try:
        while True:
            look()
            keep()
            for ticket in study.ask(in_flight - len(flying)) if len(flying) < in_flight else ():
                future = submitted(executor, work(ticket))
                flying[future] = ticket
                future.add_done_callback(done.put)
            if not flying:
                if study.finished:
                    return
                time.sleep(POLL)  # the rewards that others owe are needed first
            for future in _finished(done):
                ticket = flying[future]
                reward, error = outcome(future)
                if isinstance(error, SurestError):  # a mistake, which would only come again
                    raise error
                with suppress(TicketError):  # our lease ran out, and another worker was faster: its reward counts
                    if error is None:
                        study.tell(ticket.id, reward)
                    else:
                        study.fail(ticket.id, str(error), kind=kind_of(error))
                        failed[ticket.id] += 1
                del flying[future]
                if error is not None and study.settings.on_failure is None and failed[ticket.id] > limit:
                    raise exhausted(ticket, failed[ticket.id], error)
    finally:
        for future in flying:
            future.cancel()
        give_back(study, [ticket.id for ticket in flying.values()])


def _every(seconds: float, do: Callable[[], None]) -> Callable[[], None]:
    """Do something when called, but not more often than this."""
    last = -float("inf")

    def maybe() -> None:
        nonlocal last
        if time.monotonic() - last >= seconds:
            do()
            last = time.monotonic()

    return maybe


def _finished(done: SimpleQueue[Future[Any]]) -> list[Future[Any]]:
    """What is finished: waits a little for the first, and for no other."""
    found = []
    with suppress(Empty):
        found.append(done.get(timeout=LOOK))
        while True:
            found.append(done.get_nowait())
    return found
