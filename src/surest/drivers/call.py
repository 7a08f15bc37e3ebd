"""Let Python functions answer a session's tickets, one after the other."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from surest.protocol import Answer
from surest.running import Running
from surest.session import Session

PORTION = 10_000
"""Tickets taken at a time."""


def call(
    session: Session,
    functions: Sequence[Callable[..., Any]],
    *,
    vectorised: bool = False,
    on_request: Callable[[Running[Answer]], None] | None = None,
) -> None:
    """Answer tickets until the session is finished.

    A function is called without arguments for each reward, or, `vectorised`, with a count for so many of them.

    >>> import random
    >>> rng = random.Random(1)
    >>> session = Session(2, delta=0.1, algorithm="naive-best-arm")
    >>> call(session, [lambda: rng.random() < 0.9, lambda: rng.random() < 0.1])
    >>> session.result().best
    '0'
    """
    while not session.finished:
        if on_request is not None:
            on_request(session.running)
        if not vectorised:
            for ticket in session.ask(PORTION):
                session.tell(ticket.id, functions[ticket.arm]())
            continue
        for arm, group in groupby(session.ask(PORTION), key=lambda ticket: ticket.arm):
            tickets = list(group)
            session.tell_all(tickets, np.atleast_1d(functions[arm](len(tickets))))
