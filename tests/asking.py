"""Ask and tell until a search is over; and what was asked and answered on the way."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from surest.core.procedure import Exchange
from surest.core.protocol import Procedure, Pull, R, Request
from surest.errors import TranscriptError
from surest.search.session import Session, Ticket
from surest.study.study import Study

Asked = TypeVar("Asked", Session, Study)


def answered(asked: Asked, reward: Callable[[Ticket], Any], k: int = 1) -> Asked:
    """A session or a study that was told rewards until its end, of so many tickets at a time."""
    while not asked.finished:
        for ticket in asked.ask(k):
            asked.tell(ticket.id, reward(ticket))
    return asked


def feed(session: Session, rewards: Any) -> None:
    """Tell the rewards of the whole current request, none of whose tickets are out."""
    assert session.running.request is not None
    assert session.running.request.total == len(rewards)
    session.tell_all(session.ask(len(rewards)), rewards)


def transcript(found: Any) -> list[tuple[object, ...]]:
    """The requests and replies of a result, or of what runs in a session."""
    told = []
    for request, reply in found.transcript:
        each = request.times if isinstance(request, Pull) else request.items
        plain = reply.tolist() if isinstance(reply, np.ndarray) else [x.tolist() for x in (reply.values, reply.counts)]
        told.append((request.arms.tolist(), each.tolist(), plain))
    return told


def driven(procedure: Any, answer: Callable[[Any], Any]) -> Any:
    """What a procedure returns whose requests are answered one after another."""
    reply = None
    try:
        while True:
            reply = answer(procedure.send(reply))
    except StopIteration as end:
        return end.value


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
