"""Let any `concurrent.futures.Executor` answer a session's tickets: threads, processes, loky's or Dask's workers.

Rewards count in the order of the tickets, whatever the order in which they come: `Session` sees to that.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from queue import Empty, SimpleQueue
from typing import Any

from surest.algorithms import options_of
from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.core.session import Session, Ticket
from surest.drivers.call import Work
from surest.drivers.dask import Reach
from surest.drivers.failures import Failures, described
from surest.errors import EvaluationError, TicketError, UsageError

IN_FLIGHT = 16
"""Evaluations under way at a time, where nothing else is said. Not the number of cores: a run must not depend on them."""
BATCHES = 2
"""The least batch, in terms of what is in flight: workers wait at the end of each batch only."""
LOOK = 0.2
"""Seconds after which the hook is called again while nothing is done."""

Hook = Callable[[Running[Answer]], None]
Workers = Executor | Callable[[], Executor]
"""An executor, or a function that gives one and is called again when that one breaks."""


def evaluate(
    session: Session,
    work: Work,
    executor: Workers,
    *,
    in_flight: int = IN_FLIGHT,
    retries: int | None = None,
    on_failure: float | None = None,
    on_request: Hook | None = None,
) -> None:
    """Keep up to `in_flight` evaluations under way until the session is finished. What failed is in the session's `health`.

    The executor stays open. If this ends with an error, what has not begun is cancelled.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import random
    >>> session = Session(2, delta=0.1, batch=16)
    >>> with ThreadPoolExecutor(4) as pool:
    ...     evaluate(session, lambda ticket: (random.betavariate, 3 - 2 * ticket.arm, 2), pool, in_flight=8)
    >>> session.result().best, session.health
    ('0', {})
    """
    checked_in_flight(in_flight)
    failures = Failures(session, retries, on_failure)
    pool, renew = started(executor)
    reach = Reach()
    flying: dict[Future[Any], tuple[Ticket, Executor]] = {}
    done: SimpleQueue[Future[Any]] = SimpleQueue()
    try:
        while not session.finished:
            if on_request is not None:
                on_request(session.running)
            for ticket in session.ask(in_flight - len(flying)) if len(flying) < in_flight else ():
                job = work(ticket)
                reach.check(pool, ticket, job[0])
                future = submitted(pool, job)
                flying[future] = ticket, pool
                future.add_done_callback(done.put)
            if not flying:
                raise TicketError(
                    "the session's tickets were all handed out to others; nothing is left to evaluate here"
                )
            future = _next(done, session, on_request)
            ticket, used = flying.pop(future)
            reward, error = outcome(future)
            if error is None:
                session.tell(ticket.id, reward)
                continue
            if isinstance(error, BrokenExecutor):
                if renew is None:
                    raise EvaluationError(_broken(error, [ticket, *(other for other, _ in flying.values())])) from error
                pool = renew() if used is pool else pool
            failures.count(ticket, error)
    finally:
        for future in flying:
            future.cancel()


def started(executor: Workers) -> tuple[Executor, Callable[[], Executor] | None]:
    """An executor, and how to get another one when it breaks."""
    if isinstance(executor, Executor):
        return executor, None
    pool = executor() if callable(executor) else executor
    if not isinstance(pool, Executor):
        raise UsageError(
            f"executor is {executor!r}; give a concurrent.futures executor such as ThreadPoolExecutor(8), Dask's "
            "client.get_executor(), or a function that returns one"
        )
    return pool, executor


def submitted(pool: Executor, job: tuple[Any, ...]) -> Future[Any]:
    """A job under way; where the pool does not take it (broken, closed, not to be pickled), a future that says so."""
    try:
        return pool.submit(*job)
    except Exception as error:
        future: Future[Any] = Future()
        future.set_exception(error)
        return future


def outcome(future: Future[Any]) -> tuple[Any, BaseException | None]:
    """What an evaluation gave: a reward, or why there is none. A function that exits its process has failed, no more."""
    try:
        return future.result(), None
    except (Exception, SystemExit) as error:
        return None, error


def _next(done: SimpleQueue[Future[Any]], session: Session, on_request: Hook | None) -> Future[Any]:
    """The next evaluation that is done. While there is none, the hook is called now and then: it may want to stop."""
    while True:
        try:
            return done.get(timeout=None if on_request is None else LOOK)
        except Empty:
            if on_request is not None:
                on_request(session.running)


def keep_busy(algorithm: str, in_flight: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """The algorithm's options, with batches large enough for so many workers.

    >>> keep_busy("wager", 8, {}), keep_busy("wager", 8, {"batch": 1}), keep_busy("naive-best-arm", 8, {})
    ({'batch': 16}, {'batch': 1}, {})
    """
    least = {"batch": BATCHES * checked_in_flight(in_flight)} if "batch" in options_of(algorithm) else {}
    return {**least, **options}


def checked_in_flight(in_flight: int) -> int:
    """A number of evaluations under way at a time, refused where it is none."""
    if not isinstance(in_flight, int) or in_flight < 1:
        raise UsageError(f"in_flight is {in_flight!r}; it is a number of evaluations under way at a time, from 1 on")
    return in_flight


def _broken(error: BaseException, tickets: list[Ticket]) -> str:
    labels = ", ".join(sorted({repr(ticket.label) for ticket in tickets}))
    return (
        f"the executor broke ({described(error)}) while these arms were evaluated: {labels}. A worker died: out of memory, "
        "killed, or crashed. To go on with a new executor, give a function that makes one: "
        "executor=lambda: ProcessPoolExecutor(4), or executor=loky.get_reusable_executor"
    )
