"""Let any `concurrent.futures.Executor` answer a session's tickets: threads, processes, loky's or Dask's workers.

Rewards count in the order of the tickets, whatever the order in which they come: `Session` sees to that.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from functools import partial
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any

from surest.algorithms import Algorithm
from surest.errors import EvaluationError, UsageError
from surest.search.call import Work
from surest.search.desk import LOOK, Desk
from surest.search.loading import entry_of, told
from surest.search.loop import Outcome, loop
from surest.search.session import Ticket
from surest.search.watching import first_interrupt

IN_FLIGHT = 16
"""Evaluations under way at a time, where nothing else is said. Not the number of cores: a run must not depend on them."""

Workers = Executor | Callable[[], Executor]
"""An executor, or a function that gives one and is called again when that one breaks."""


def drive(desk: Desk, work: Work, executor: Workers | None, in_flight: int) -> None:
    """Let an executor, or else this thread, do what the loop says, until it ends. The executor stays open.

    Up to `in_flight` evaluations are under way at a time. If this ends with an error, what has not begun is cancelled. If it is
    interrupted, or the desk raises `Stop`, what runs is finished and told first; a second interrupt abandons it.
    """
    if executor is None:
        return _here(desk, work, in_flight)
    steps = loop(desk, in_flight)
    jobs = Jobs(executor, work)
    try:
        with first_interrupt(lambda: jobs.ended.put(None)):
            step = next(steps)
            while True:
                jobs.start(step.start)
                if step.draining:
                    jobs.cancel()
                try:
                    ended = jobs.wait()
                except KeyboardInterrupt as interrupt:
                    step = steps.throw(interrupt)
                else:
                    step = steps.send(ended)
    except StopIteration:
        return
    finally:
        jobs.cancel()
        steps.close()


def _here(desk: Desk, work: Work, in_flight: int) -> None:
    """Let this thread do what the loop says: evaluations one after the other."""
    steps, pressed = loop(desk, in_flight), list[bool]()
    try:
        with first_interrupt(lambda: pressed.append(True)):
            step = next(steps)
            while True:
                ended = list[Outcome]()
                for ticket in step.start:
                    function, *arguments = work(ticket)
                    try:
                        ended.append(Outcome(ticket, function(*arguments)))
                    except (Exception, KeyboardInterrupt) as error:
                        ended.append(Outcome(ticket, error=error))
                try:
                    if not ended and not pressed:
                        time.sleep(LOOK)
                    if pressed:
                        pressed.clear()
                        raise KeyboardInterrupt
                except KeyboardInterrupt as interrupt:
                    step = steps.throw(interrupt)
                    if not ended:
                        continue
                step = steps.send(ended)
    except StopIteration:
        return
    finally:
        steps.close()


class Jobs:
    """Evaluations on an executor."""

    def __init__(self, executor: Workers, work: Work) -> None:
        self.renew = executor if callable(executor) and not isinstance(executor, Executor) else None
        pool: Any = executor if self.renew is None else self.renew()
        if not isinstance(pool, Executor):
            raise UsageError(
                f"executor is {executor!r}; give a concurrent.futures executor such as ThreadPoolExecutor(8), Dask's "
                "client.get_executor(), or a function that returns one"
            )
        self.pool: Executor = pool
        self.work = work
        self.flying: dict[Future[Any], tuple[Ticket, Executor]] = {}
        self.ended: SimpleQueue[Future[Any] | None] = SimpleQueue()
        """What is done; None for an interrupt. A signal's handler may put something into a SimpleQueue."""
        self._loaded: set[tuple[int, str]] = set()  # executors and modules whose functions their workers can load

    def start(self, tickets: list[Ticket]) -> None:
        """Start the evaluations of tickets."""
        for ticket in tickets:
            function, *arguments = self.work(ticket)
            self._check_loads(self.pool, ticket, function)
            try:
                future = self.pool.submit(function, *arguments)
            except Exception as error:  # broken, closed, not to be pickled
                future = Future()
                future.set_exception(error)
            self.flying[future] = ticket, self.pool
            future.add_done_callback(self.ended.put)

    def _check_loads(self, pool: Executor, ticket: Ticket, function: Callable[..., Any]) -> None:
        """Let every Dask worker load a module's function once.

        One that cannot drops the connection, and the run would wait forever.
        Other executors say by themselves what they cannot load.
        """
        key = id(pool), home(function)
        if key in self._loaded:
            return
        self._loaded.add(key)
        if not type(pool).__module__.startswith("distributed."):
            return
        pickle: Any = import_module("distributed.protocol.pickle")
        client: Any = pool._client  # type: ignore[attr-defined]
        try:
            client.run(pickle.loads, pickle.dumps(function))
        except Exception as error:
            raise UsageError(
                f"a Dask worker cannot load arm {ticket.label!r}: {told(error)}. Make its module known to the workers, for "
                "instance with client.upload_file('module.py')"
            ) from error

    def wait(self) -> list[Outcome]:
        """What has ended: waits a moment for the first, and for no other."""
        try:
            first = self.ended.get(timeout=LOOK)
        except Empty:
            return []
        return drained(first, self.ended, self._outcome)

    def _outcome(self, ended: Future[Any]) -> Outcome:
        """What an evaluation gave. A function that exits its process has failed, no more."""
        ticket, used = self.flying.pop(ended)
        if ended.cancelled():
            return Outcome(ticket, begun=False)
        try:
            return Outcome(ticket, ended.result())
        except BrokenExecutor as error:
            if self.renew is None:
                labels = ", ".join(sorted({repr(each.label) for each, _ in [(ticket, used), *self.flying.values()]}))
                broken = EvaluationError(
                    f"the executor broke ({told(error)}) while these arms were evaluated: {labels}. A worker died: out of "
                    "memory, killed, or crashed. To go on with a new executor, give a function that makes one: "
                    "executor=lambda: ProcessPoolExecutor(4), or executor=loky.get_reusable_executor"
                )
                broken.__cause__ = error
                return Outcome(ticket, error=broken)
            if used is self.pool:
                self.pool = self.renew()
            return Outcome(ticket, error=error)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            return Outcome(ticket, error=error)

    def cancel(self) -> None:
        """Let what has not begun not begin."""
        for future in list(self.flying):
            future.cancel()


def drained(first: Any, ended: Any, outcome: Callable[[Any], Outcome]) -> list[Outcome]:
    """What a queue has by now, after its first entry; None in it is an interrupt, which comes once all before it is told."""
    found: list[Outcome] = []
    while first is not None:
        found.append(outcome(first))
        if ended.empty():
            return found
        first = ended.get_nowait()
    if not found:
        raise KeyboardInterrupt
    ended.put_nowait(None)
    return found


def keep_busy(algorithm: Algorithm, in_flight: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """The algorithm's options, with what it needs to know to keep so many workers busy.

    >>> keep_busy("wager", 8, {}), keep_busy("wager", 8, {"batch": 1}), keep_busy("naive-best-arm", 8, {})
    ({'workers': 8}, {'batch': 1}, {})
    """
    plans = in_flight > 1 and "workers" in (entry_of(algorithm).options or {}) and "batch" not in options
    return {**({"workers": in_flight} if plans else {}), **options}


def home(function: Callable[..., Any]) -> str:
    """The module that a worker must import to call a function.

    >>> home(partial(home, 1)), home(partial)
    ('surest.search.executor', 'functools')
    """
    while isinstance(function, partial):
        function = function.func
    return getattr(function, "__module__", None) or type(function).__module__
