"""Async functions as arms: an LLM's answer, a web request. `aidentify` is `identify` for them."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from inspect import isawaitable
from typing import Any

from surest import compiled
from surest.arms.kinds import async_arms
from surest.core.problem import default_algorithm
from surest.core.session import Session, Ticket
from surest.drivers.call import Work, work_of
from surest.drivers.desk import Desk, Hook, SessionDesk
from surest.drivers.executor import IN_FLIGHT, LOOK, keep_busy
from surest.drivers.interrupts import Pressed, first_interrupt
from surest.drivers.loop import Outcome, checked_in_flight, loop
from surest.drivers.watching import watching
from surest.errors import Interrupted, Stop, UsageError
from surest.loading import entry_of
from surest.result.data import Result

Arm = Callable[..., Awaitable[Any]]
Task = asyncio.Task[Any]


async def aidentify(
    arms: Mapping[Any, Arm] | Sequence[Arm],
    delta: float = 0.05,
    *,
    seed: int | None = None,
    seeded: bool = False,
    in_flight: int = IN_FLIGHT,
    retries: int | None = None,
    on_failure: float | None = None,
    on_request: Hook | None = None,
    progress: Hook | bool | None = None,
    **settings: Any,
) -> Result:
    """Find the best of several async functions, wrong with probability at most `delta`.

    Parameters
    ----------
    arms : mapping or sequence of async functions
        Each returns one reward when awaited. A mapping's keys are the arms' labels.
    in_flight : int
        The most evaluations under way at a time.
    delta, seed, seeded, retries, on_failure, on_request, progress, **settings
        As for `identify`: algorithm, epsilon, budget, bounds, record and the algorithm's own options.

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
    algorithm = settings.pop("algorithm", None) or default_algorithm(settings)
    if "items" in settings or entry_of(algorithm).works_on == "items":
        raise UsageError(
            "aidentify draws fresh rewards; for arms on a list of items await surest.aevaluate(arms, items)"
        )
    began, compiling = time.perf_counter(), compiled.seconds_spent()
    source = async_arms(arms, seeded=seeded)
    seed = secrets.randbits(32) if seed is None else seed
    session = Session(source.labels, delta, algorithm=algorithm, seed=seed, **keep_busy(algorithm, in_flight, settings))
    work = work_of(source.functions, seed, seeded=seeded)
    how: dict[str, Any] = {"retries": retries, "on_failure": on_failure, "in_flight": in_flight}
    with watching(source.labels, session.scale, progress, on_request) as watched:
        try:
            await evaluate(session, work, on_request=watched, **how)
            result = session.result()
        except (Stop, Pressed) as end:
            result = replace(session.result(), reason=watched.ended_by(end))
    result = replace(result, seconds=time.perf_counter() - began - (compiled.seconds_spent() - compiling))
    if watched.interrupted and not result.certified:
        raise Interrupted(result)
    return result


async def evaluate(
    session: Session,
    work: Work,
    *,
    in_flight: int = IN_FLIGHT,
    retries: int | None = None,
    on_failure: float | None = None,
    on_request: Hook | None = None,
) -> None:
    """Keep up to `in_flight` awaitables under way until the session is finished. What failed is in the session's `health`."""
    await drive(SessionDesk(session, retries, on_failure, on_request), work, in_flight)


async def drive(desk: Desk, work: Work, in_flight: int) -> None:
    """Let tasks of this event loop do what the loop says, until it ends."""
    steps = loop(desk, checked_in_flight(in_flight))
    flying: dict[Task, Ticket] = {}
    ended: asyncio.Queue[Task | None] = asyncio.Queue()
    wake = asyncio.get_running_loop().call_soon_threadsafe
    try:
        with first_interrupt(lambda: wake(ended.put_nowait, None)):
            step = next(steps)
            while True:
                for ticket in step.start:
                    task = asyncio.create_task(_awaited(*work(ticket)))
                    flying[task] = ticket
                    task.add_done_callback(ended.put_nowait)
                try:
                    done = await _next(ended, flying)
                except KeyboardInterrupt as interrupt:
                    step = steps.throw(interrupt)
                else:
                    step = steps.send(done)
    except StopIteration:
        return
    finally:
        for task in flying:
            task.cancel()
        await asyncio.gather(*flying, return_exceptions=True)
        steps.close()


async def _next(ended: asyncio.Queue[Task | None], flying: dict[Task, Ticket]) -> list[Outcome]:
    """The next evaluation that has ended; nothing where that takes more than a moment."""
    try:
        async with asyncio.timeout(LOOK):
            task = await ended.get()
    except TimeoutError:
        return []
    if task is None:
        raise KeyboardInterrupt
    ticket = flying.pop(task)
    try:
        return [Outcome(ticket, task.result())]
    except (Exception, asyncio.CancelledError) as error:
        return [Outcome(ticket, error=error)]


async def _awaited(function: Arm, *arguments: Any) -> Any:
    given = function(*arguments)
    if not isawaitable(given):
        raise UsageError(f"{function!r} gave {given!r}, which cannot be awaited; aidentify takes async functions only")
    return await given
