"""To resume is to replay: recorded rewards go into a fresh session, and each recorded request is checked on the way.

Where the algorithm now asks for something else than it once did, the log is refused: its answer might not be what was promised.
An algorithm whose guarantee holds whatever is pulled when is told instead what was asked (`script_of`), and goes on from there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING

import numpy as np

from surest.core.protocol import Answer, Pull
from surest.errors import TranscriptError
from surest.study.log import Recorded
from surest.study.records import arms_of, runs_of

if TYPE_CHECKING:
    from surest.algorithms.entry import Script
    from surest.core.procedure import Running
    from surest.search.session import Session


class Departure(TranscriptError):
    """The algorithm asks for something else than the log says, at a ticket. It may be told what was asked, and go on."""

    def __init__(self, message: str, ticket: int) -> None:
        super().__init__(message)
        self.ticket = ticket


def departure(session: "Session", message: str, ticket: int) -> TranscriptError:
    """The log does not fit: a `Departure` where the guarantee of the algorithm holds whatever is pulled when."""
    return Departure(message, ticket) if may_be_told(session) else TranscriptError(message)


def may_be_told(session: "Session") -> bool:
    """Whether the algorithm of a session may be told what to ask: its guarantee holds whatever is pulled when."""
    from surest.algorithms import lookup  # most of what is asked of a study needs none

    return lookup(session.problem.algorithm).any_sampling


def script_of(requests: Sequence[Recorded], added_at: Sequence[int]) -> "Script":
    """What was asked, for an algorithm that may be told; of each arm the ticket from which on it is known.

    A request names arms that are known, and each arm is pulled as soon as it is: no version has ever asked otherwise.

    >>> script_of([Recorded(0, 4, "atoms", "[[0,1,2]]"), Recorded(4, 3, "atoms", "[[1,2,1],[0,0,1]]")], [0, 0, 4])
    [(array([0, 1]), array([2, 2])), (array([1, 2, 0]), array([1, 1, 1]))]
    """
    script, pulled = [], np.zeros(len(added_at), bool)
    for request in requests:
        arms, times = arms_of(request.runs, len(added_at))
        known = np.asarray(added_at) <= request.first
        if known[arms].all():
            pulled[arms] = True
        if not np.array_equal(pulled, known):
            raise TranscriptError(
                f"ticket {request.first}: the log says {request}, but then there were {int(known.sum())} arms, each to be pulled "
                "at once. The log was changed"
            )
        script.append((arms, times))
    return script


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


def next_request(session: "Session") -> Recorded | None:
    """The request that a session now waits on; None at its end."""
    request = session.running.request
    return _recorded(request, session.running.pulls) if isinstance(request, Pull) else None


def requests_ahead(session: "Session") -> list[Recorded]:
    """What a session now waits on, and what it has announced; at its end, what had been announced."""
    current, found = session.running.request, list[Recorded]()
    for request in (*([current] if isinstance(current, Pull) else []), *session.running.announced):
        found.append(_recorded(request, found[-1].end if found else session.running.pulls))
    return found


def unneeded(session: "Session", requests: Sequence[Recorded]) -> bool:
    """Whether requests after the end had been announced, so that it may have come before they were needed.

    A script does not say which of its requests had been announced; an algorithm that needs them all does not end before.
    """
    return session.scripted or list(requests) == requests_ahead(session)[: len(requests)]


def _recorded(request: Pull, first: int) -> Recorded:
    return Recorded(first, request.total, str(request.statistic), runs_of(request))


def check_under_way(session: "Session", written: Sequence[Recorded]) -> None:
    """See that the requests which are being answered are those of the session."""
    asked, position = requests_ahead(session), session.running.pulls
    fits = list(written[: len(asked)]) == asked[: len(written)]  # some are not written down yet, or others have gone on
    if session.finished:
        fits = unneeded(session, written)
    if not fits:
        said = f"ticket {position}: the log says {written[0]}, and {session.running.name} otherwise"
        raise departure(session, said, position)


def answer_all(
    session: "Session",
    written: Sequence[Recorded],
    additions: Mapping[int, list[str]],
    on_request: "Callable[[Running[Answer]], object] | None" = None,
) -> list[Recorded]:
    """Answer requests as long as their rewards are there; those which are not among the `written` ones.

    `written` are the requests of the log from the current one on, and each is checked. Their numbers are those of rewards as
    they count. `additions` are arms by the ticket from which on they count. `on_request` looks at the run before each reply.
    """
    found = list[Recorded]()
    for recorded in chain(written, repeat(None)):
        if session.finished or not session.answerable:
            break
        asked = next_request(session)
        if recorded is not None and recorded != asked:
            raise departure(
                session,
                f"ticket {session.running.pulls}: the log says {recorded}, but replaying it the algorithm asks {asked}. The log "
                f"was changed, or this version of {session.running.name} differs from the one that wrote it",
                session.running.pulls,
            )
        if asked is not None:
            if recorded is None:
                found.append(asked)
            if asked.end in additions:
                session.grow(additions[asked.end])
        if on_request is not None:
            on_request(session.running)
        session.answer()
    return found
