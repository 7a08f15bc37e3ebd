"""Async functions as arms: an LLM's answer, a web request. `aidentify` is `identify` for them."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from inspect import isawaitable
from typing import Any

from surest.algorithms import DEFAULT
from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.core.session import Session, Ticket
from surest.drivers.call import Work, work_of
from surest.drivers.executor import IN_FLIGHT, checked_in_flight, keep_busy
from surest.drivers.failures import Failures
from surest.errors import Stop, TicketError, UsageError
from surest.result.data import Result

Arm = Callable[..., Awaitable[Any]]


async def aidentify(
    arms: Mapping[str, Arm] | Sequence[Arm],
    delta: float = 0.05,
    *,
    seed: int | None = None,
    algorithm: str = DEFAULT,
    seeded: bool = False,
    in_flight: int = IN_FLIGHT,
    retries: int | None = None,
    on_failure: float | None = None,
    on_request: Callable[[Running[Answer]], None] | None = None,
    **settings: Any,
) -> Result:
    """Find the best of several async functions, wrong with probability at most `delta`.

    Parameters
    ----------
    arms : mapping or sequence of async functions
        Each returns one reward when awaited. A mapping's keys are the arms' labels.
    in_flight : int
        The most evaluations under way at a time.
    delta, seed, algorithm, seeded, retries, on_failure, on_request, **settings
        As for `identify`: epsilon, budget, bounds, record and the algorithm's own options.

    Returns
    -------
    Result

    Examples
    --------
    >>> import random
    >>> rng = random.Random(0)
    >>> async def judged(quality):
    ...     await asyncio.sleep(0)
    ...     return rng.random() < quality
    >>> result = asyncio.run(aidentify({"terse": lambda: judged(0.4), "kind": lambda: judged(0.8)}, in_flight=4))
    >>> result.best, result.certified
    ('kind', True)
    """
    began = time.perf_counter()
    labels, functions = _named(arms)
    seed = secrets.randbits(32) if seed is None else seed
    session = Session(labels, delta, algorithm=algorithm, seed=seed, **keep_busy(algorithm, in_flight, settings))
    work = work_of(functions, seed, seeded=seeded)
    how: dict[str, Any] = {"retries": retries, "on_failure": on_failure, "on_request": on_request}
    try:
        await evaluate(session, work, in_flight=in_flight, **how)
        result = session.result()
    except Stop as stop:
        result = replace(session.result(), reason=str(stop) or "stopped")
    return replace(result, seconds=time.perf_counter() - began)


async def evaluate(
    session: Session,
    work: Work,
    *,
    in_flight: int = IN_FLIGHT,
    retries: int | None = None,
    on_failure: float | None = None,
    on_request: Callable[[Running[Answer]], None] | None = None,
) -> None:
    """Keep up to `in_flight` awaitables under way until the session is finished. What failed is in the session's `health`."""
    checked_in_flight(in_flight)
    failures = Failures(session, retries, on_failure)
    flying: dict[asyncio.Task[Any], Ticket] = {}
    done: asyncio.Queue[asyncio.Task[Any]] = asyncio.Queue()
    try:
        while not session.finished:
            if on_request is not None:
                on_request(session.running)
            for ticket in session.ask(in_flight - len(flying)) if len(flying) < in_flight else ():
                task = asyncio.create_task(_awaited(*work(ticket)))
                flying[task] = ticket
                task.add_done_callback(done.put_nowait)
            if not flying:
                raise TicketError(
                    "the session's tickets were all handed out to others; nothing is left to evaluate here"
                )
            task = await done.get()
            ticket = flying.pop(task)
            try:
                reward = task.result()
            except (Exception, asyncio.CancelledError) as error:
                failures.count(ticket, error)
            else:
                session.tell(ticket.id, reward)
    finally:
        for task in flying:
            task.cancel()
        await asyncio.gather(*flying, return_exceptions=True)


async def _awaited(function: Arm, *arguments: Any) -> Any:
    given = function(*arguments)
    if not isawaitable(given):
        raise UsageError(f"{function!r} gave {given!r}, which cannot be awaited; aidentify takes async functions only")
    return await given


def _named(arms: Mapping[str, Arm] | Sequence[Arm]) -> tuple[list[str], list[Arm]]:
    if isinstance(arms, Mapping):
        labels, functions = [str(label) for label in arms], list(arms.values())
    elif isinstance(arms, Sequence) and not isinstance(arms, str):
        labels, functions = [str(i) for i in range(len(arms))], list(arms)
    else:
        raise UsageError(f"arms are {type(arms).__name__}; give a mapping or a sequence of async functions")
    if not all(callable(function) for function in functions):
        raise UsageError("an arm is no function; aidentify takes async functions (not what they return)")
    return labels, functions
