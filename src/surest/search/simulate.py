"""Run a procedure on a bandit that answers at once."""

from collections.abc import Callable, Iterable

from surest.core.procedure import Exchange, Running
from surest.core.protocol import Bandit, Procedure, R, Request
from surest.errors import TranscriptError

Hook = Callable[[Running[R]], None]
"""Called before each request is put to the bandit."""


def simulate(
    procedure: Procedure[R],
    bandit: Bandit,
    *,
    budget: int | None = None,
    on_request: Hook[R] | None = None,
    record: bool = False,
    name: str = "(unnamed)",
) -> Running[R]:
    """Drive a procedure to its end, or to the first request that the budget does not allow.

    >>> import numpy as np
    >>> from surest.algorithms.paper.mean_est import mean_est
    >>> from surest.arms.finite import bernoulli
    >>> done = simulate(mean_est(np.array([0, 1]), 0.05, 0.1), bernoulli([0.9, 0.2]).simulate(seed=1))
    >>> done.value.round(1)
    array([0.9, 0.2])
    """
    running = Running(procedure, len(bandit.labels), budget=budget, record=record, name=name)
    answer_from(bandit, running, on_request)
    return running


def answer_from(bandit: Bandit, running: Running[R], on_request: Hook[R] | None = None) -> None:
    """Let a bandit answer the requests of a run until it has none."""
    while running.request is not None:
        if on_request is not None:
            on_request(running)
        running.send(bandit.answer(running.request), type(bandit).__name__)


def replay(procedure: Procedure[R], transcript: Iterable[Exchange]) -> R | Request:
    """Feed recorded replies to a fresh procedure, checking each request; its answer, or the request it now waits on."""
    try:
        request: Request = next(procedure)
        for number, (recorded, reply) in enumerate(transcript):
            if not request.same_as(recorded):
                raise TranscriptError(f"exchange {number}: the transcript has {recorded}, the procedure asks {request}")
            request = procedure.send(reply)
    except StopIteration as end:
        result: R = end.value
        return result
    return request
