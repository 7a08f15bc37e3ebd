"""The one loop: ask, evaluate, tell, fail.

It starts nothing and waits for nothing itself: it is a generator that yields what to start and is sent what has ended. So
threads, processes, clusters, coroutines and commands share it, on a session or a study. Drivers differ only in how an evaluation
is started and awaited (`executor`, `asynchronous`).

On the first interrupt nothing new is started, and what runs is finished and told: to break evaluations off and draw them anew
would favour rewards that come quickly. On the second interrupt they are abandoned.
"""

from collections.abc import Generator
from typing import Any, NamedTuple

from surest.core.scale import no_score
from surest.errors import RewardError, Stop, SurestError, UsageError
from surest.search.desk import Desk
from surest.search.session import Ticket
from surest.search.watching import between_steps


class Step(NamedTuple):
    """What a driver is to do next, before it waits."""

    start: list[Ticket]
    """Evaluations to start."""
    draining: bool
    """Whether the run is ending: what has not begun is to be cancelled, what has begun is awaited."""


class Outcome(NamedTuple):
    """What became of an evaluation: a reward, or why there is none."""

    ticket: Ticket
    reward: Any = None
    error: BaseException | None = None
    begun: bool = True
    """False where it was cancelled before it began. To evaluate it later is then no second draw."""


Steps = Generator[Step, list[Outcome], None]


def loop(desk: Desk, in_flight: int) -> Steps:
    """Keep up to `in_flight` evaluations under way until the desk is finished.

    A driver starts the tickets of each step, waits for something to end, at most a moment, and sends what has ended. It throws
    in `KeyboardInterrupt` when it is interrupted. Whatever ends the loop, tickets that are not evaluated any more are given back.

    >>> from surest.search.session import Session
    >>> session = Session(["a", "b"], delta=0.1, batch=4)
    >>> steps = loop(Desk(session), in_flight=2)
    >>> step = next(steps)
    >>> [ticket.id for ticket in step.start], step.draining
    ([0, 1], False)
    >>> [ticket.id for ticket in steps.send([Outcome(step.start[0], 1.0)]).start]
    [2]
    >>> steps.throw(KeyboardInterrupt()).draining
    True
    """
    if not isinstance(in_flight, int) or in_flight < 1:
        raise UsageError(f"in_flight is {in_flight!r}; give the evaluations under way at a time, at least 1")
    flying: dict[int, Ticket] = {}
    left: list[Ticket] = []  # neither told nor failed
    ending: BaseException | None = None
    try:
        while True:
            fresh: list[Ticket] = []
            desk.keep(flying.values())
            if ending is None:
                try:
                    desk.look()
                    fresh = desk.ask(in_flight - len(flying)) if len(flying) < in_flight else []
                except Stop as stop:
                    ending = stop
            flying.update((ticket.id, ticket) for ticket in fresh)
            idle = ending is None and not fresh and len(flying) < in_flight
            if idle and all(ticket.item is None for ticket in flying.values()):
                desk.ask(0)
                if desk.book.finished:
                    flying.clear()  # fresh pulls ahead of the algorithm are not needed; cells of a list are worth keeping
                    return
            if not flying:
                if ending is not None:
                    raise ending
                desk.wait_for_others()
            try:
                ended = yield Step(fresh, ending is not None)
            except KeyboardInterrupt as interrupt:
                if ending is not None:
                    raise between_steps(interrupt) from None
                ending, ended = between_steps(interrupt), []
            for outcome in ended:
                problem = _settled(desk, outcome) if outcome.begun else None
                asked_to_stop = isinstance(problem, Stop | KeyboardInterrupt)
                # Where somebody may go on with it, what runs is finished before the run ends.
                if problem is not None and ending is None and not (desk.lasting or asked_to_stop):
                    raise problem
                flying.pop(outcome.ticket.id, None)
                if problem is not None or not outcome.begun:
                    left.append(outcome.ticket)
                if ending is None:
                    ending = problem
                elif problem is not None and not asked_to_stop:
                    ending.add_note(f"while running evaluations were finished: {problem}")
            if ending is not None:
                desk.ask(0)  # else the next ask does so, in the same transaction
    finally:
        desk.give_back([*left, *flying.values()])


def _settled(desk: Desk, outcome: Outcome) -> BaseException | None:
    """Tell what an evaluation gave, or that it failed. What this does not allow to go on is returned."""
    if isinstance(outcome.error, KeyboardInterrupt):
        return between_steps(outcome.error)  # of an arm, or of a worker that Ctrl-C reached too
    if isinstance(outcome.error, SurestError):
        return outcome.error  # a mistake, which would only come again; or `Stop`
    error = outcome.error
    try:
        if error is None:
            try:
                desk.tell(outcome.ticket, outcome.reward)
            except RewardError:
                error = no_score(outcome.reward)
                if error is None:
                    raise
        if error is not None:
            desk.fail(outcome.ticket, error)
    except SurestError as problem:
        return problem
    return None
