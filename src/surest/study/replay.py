"""To resume is to replay: recorded rewards go into a fresh session, and each recorded request is checked on the way."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from surest.core.procedure import Running
from surest.core.protocol import Answer, FloatArray, IntArray, Pull
from surest.core.session import Session
from surest.errors import StorageError, TranscriptError
from surest.study.log import Recorded
from surest.study.records import runs_of


def later_arms(arms: Iterable[tuple[str, int]]) -> dict[int, list[str]]:
    """Arms that came later, by the ticket from which on the algorithm knows them; of each arm its label and that ticket.

    >>> later_arms([("a", 0), ("b", 0), ("c", 12), ("d", 12)])
    {12: ['c', 'd']}
    """
    found: dict[int, list[str]] = {}
    for label, added_at in arms:
        if added_at > 0:
            found.setdefault(added_at, []).append(label)
    return found


def next_request(session: Session, first: int) -> Recorded | None:
    """The request that a session now waits on; None at its end."""
    request = session.running.request
    return _recorded(request, first) if isinstance(request, Pull) else None


def requests_ahead(session: Session, first: int) -> list[Recorded]:
    """What a session now waits on, and what it has announced; at its end, what had been announced."""
    current, found = session.running.request, list[Recorded]()
    for request in (*([current] if isinstance(current, Pull) else []), *session.running.announced):
        found.append(_recorded(request, found[-1].end if found else first))
    return found


def _recorded(request: Pull, first: int) -> Recorded:
    return Recorded(first, request.total, str(request.statistic), runs_of(request))


def replay(
    session: Session,
    position: int,
    requests: Sequence[Recorded],
    arms: IntArray | None,
    rewards: FloatArray,
    additions: Mapping[int, list[str]],
    on_request: Callable[[Running[Answer]], None] | None = None,
) -> int:
    """Feed whole requests whose first ticket is `position`; the first ticket of the next one.

    `arms` and `rewards` are those of the tickets from `position` on; the arms are None where only rewards were kept.
    `additions` are arms by the ticket from which on they count.
    `on_request` looks at the run before each request is answered.
    """
    start = position
    for recorded in requests:
        if session.finished:  # what was announced and evaluated, but is not needed any more
            break
        request = session.running.request
        if recorded != next_request(session, position) or not isinstance(request, Pull):
            raise TranscriptError(
                f"ticket {position}: the log says {recorded}, but replaying it the algorithm asks "
                f"{next_request(session, position)}. The log was changed, or this version of {session.running.name} differs "
                "from the one that wrote it"
            )
        here = slice(position - start, position - start + recorded.total)
        if arms is not None and not np.array_equal(arms[here], np.repeat(request.arms, request.times)):
            raise StorageError(f"the study's log is damaged: the tickets from {position} on do not fit their request")
        position += recorded.total
        if position in additions:
            session.grow(additions[position])
        if on_request is not None:
            on_request(session.running)
        session.feed(rewards[here])
    return position
