"""Async functions as arms, an LLM's answer or a web request, awaited in this event loop."""

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any

from surest.errors import UsageError
from surest.search.call import Work
from surest.search.desk import LOOK, Desk
from surest.search.executor import drained
from surest.search.loop import Outcome, loop
from surest.search.session import Ticket
from surest.search.watching import first_interrupt

Arm = Callable[..., Awaitable[Any]]
Task = asyncio.Task[Any]


async def drive(desk: Desk, work: Work, in_flight: int) -> None:
    """Let tasks of this event loop do what the loop says, until it ends."""
    steps = loop(desk, in_flight)
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
    """What has ended: waits a moment for the first, and for no other."""
    try:
        async with asyncio.timeout(LOOK):
            first = await ended.get()
    except TimeoutError:
        return []

    def outcome(task: Task) -> Outcome:
        ticket = flying.pop(task)
        try:
            return Outcome(ticket, task.result())
        except (Exception, asyncio.CancelledError) as error:
            return Outcome(ticket, error=error)

    return drained(first, ended, outcome)


async def _awaited(function: Arm, *arguments: Any) -> Any:
    given = function(*arguments)
    if not isawaitable(given):
        raise UsageError(f"{function!r} gave {given!r}, which cannot be awaited; aidentify takes async functions only")
    return await given
