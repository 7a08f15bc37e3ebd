"""Ask and tell until a search is over; and what was asked and answered on the way."""

from collections.abc import Callable
from typing import Any, TypeVar

from surest.search.session import Session, Ticket
from surest.study.study import Study

Asked = TypeVar("Asked", Session, Study)


def answered(asked: Asked, reward: Callable[[Ticket], Any], k: int = 1) -> Asked:
    """A session or a study that was told rewards until its end, of so many tickets at a time."""
    while not asked.finished:
        for ticket in asked.ask(k):
            asked.tell(ticket.id, reward(ticket))
    return asked


def transcript(found: Any) -> list[tuple[object, ...]]:
    """The requests and replies of a result, or of what runs in a session."""
    return [(request.arms.tolist(), request.times.tolist(), reply.tolist()) for request, reply in found.transcript]
