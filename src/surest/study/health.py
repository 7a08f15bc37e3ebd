"""How a study stands, for people and programs that look at it now and then."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from surest.core.session import Session
from surest.result.data import Result
from surest.study import log
from surest.study.schema import events, tickets
from surest.study.settings import Settings

Health = dict[str, dict[str, int]]
"""How often evaluations of an arm failed, timed out, expired, were interrupted, retried, or counted as a stated reward
(imputed)."""
RECENT = 200
"""Rewards from which the speed is taken."""


@dataclass(frozen=True)
class Progress:
    """A study at one moment."""

    name: str
    finished: bool
    result: Result
    """The verdict, or the answer so far."""
    told: int
    """Rewards told, those of the current request included."""
    out: int
    """Tickets with workers."""
    waiting: int
    """Tickets to be handed out again: failed, or their lease ran out."""
    request_left: int
    """Rewards that the current request still lacks."""
    per_second: float | None
    """Rewards a second, lately."""
    in_play: int | None
    """How many arms may still be the best, where the algorithm says so."""
    health: Health

    @property
    def seconds_left(self) -> float | None:
        """A guess at the time still needed, where the algorithm ventures one."""
        if self.result.forecast is None or not self.per_second:
            return None
        return self.result.forecast / self.per_second

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "name": self.name,
            "finished": self.finished,
            "told": self.told,
            "out": self.out,
            "waiting": self.waiting,
            "request_left": self.request_left,
            "per_second": self.per_second,
            "in_play": self.in_play,
            "seconds_left": self.seconds_left,
            **self.result.to_json(),
            "health": self.health,
        }


def health_line(health: Health) -> str:
    """One line for every report.

    >>> health_line({}), health_line({"a": {"failed": 2, "retried": 1}})
    ('health: no evaluation failed or expired', 'health: a: 2 failed, 1 retried')
    """
    if not health:
        return "health: no evaluation failed or expired"
    return "health: " + "; ".join(
        f"{arm}: {', '.join(f'{n} {kind}' for kind, n in of.items())}" for arm, of in health.items()
    )


def health_of(connection: Connection, study: int, labels: tuple[str, ...]) -> Health:
    """What befell the tickets of each arm, where anything did."""
    query = (
        sa.select(events.c.arm, events.c.kind, sa.func.count())
        .where(events.c.study == study)
        .group_by(events.c.arm, events.c.kind)
        .order_by(events.c.arm, events.c.kind)
    )
    found: Health = defaultdict(dict)
    for arm, kind, number in connection.execute(query):
        found[labels[arm]][kind] = number
    return dict(found)


def last_failures_of(connection: Connection, study: int, labels: tuple[str, ...]) -> dict[str, str]:
    """What an evaluation of each arm said when it last failed, where one did and said something."""
    query = (
        sa.select(events.c.arm, events.c.reason)
        .where(events.c.study == study, events.c.kind.in_(("failed", "timed out")), events.c.reason != "")
        .order_by(events.c.id)
    )
    return {labels[arm]: reason for arm, reason in connection.execute(query)}


def progress_of(
    connection: Connection, study: int, name: str, session: Session, settings: Settings, now: log.Now
) -> Progress:
    """Look at a study."""
    at = connection.execute(sa.select(now)).scalar_one()
    handed, opened = log.next_ticket(connection, study), log.count_open(connection, study)
    waiting = log.count_open(connection, study, at)
    request, running = session.running.request, session.running
    health = health_of(connection, study, session.labels)
    status = session.status()
    return Progress(
        name=name,
        finished=session.finished,
        result=session.result(),
        told=handed - opened,
        out=opened - waiting,
        waiting=waiting,
        request_left=0 if request is None else request.total - (handed - opened - running.pulls),
        per_second=_speed(connection, study),
        in_play=status.in_play,
        health=health,
    )


def _speed(connection: Connection, study: int) -> float | None:
    query = (
        sa.select(tickets.c.told)
        .where(tickets.c.study == study, tickets.c.told.is_not(None))
        .order_by(tickets.c.id.desc())
        .limit(RECENT)
    )
    times = list(connection.execute(query).scalars())
    spread = max(times) - min(times) if len(times) > 1 else 0.0
    return (len(times) - 1) / spread if spread > 0 else None
