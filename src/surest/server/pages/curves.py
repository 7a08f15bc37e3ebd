"""Evidence over time of the studies that are looked at."""

import threading

from surest.core.procedure import Running
from surest.core.protocol import Answer, Point
from surest.result.making import status_of
from surest.study.replay import later_arms
from surest.study.study import Study

MOST_REPLAYED = 20_000
"""Rewards up to which evidence over time is taken from a replay when a study is first looked at."""
MOST_POINTS = 400
"""Points of a curve: more cannot be seen."""
KEPT = 200
"""Studies whose curves are kept."""
LOOKS = 40
"""Points of a curve that is taken from the cells of a list."""


class Curves:
    """Evidence over time of the studies that were looked at: replayed once, from then on a point at each look."""

    def __init__(self) -> None:
        self._points: dict[int, list[Point]] = {}
        self._lock = threading.Lock()

    def seen(self, study: Study, told: int, now: Point | None) -> tuple[Point, ...]:
        """The points up to now."""
        with self._lock:
            points = self._points.get(study.id)
        if points is None:
            earlier = replayed(study) if told <= MOST_REPLAYED else ()
            with self._lock:
                points = self._points.setdefault(study.id, list(earlier))
                if len(self._points) > KEPT:
                    del self._points[next(iter(self._points))]
        with self._lock:
            if now is not None and (not points or now.pulls > points[-1].pulls):
                points.append(now)
            if len(points) > MOST_POINTS:
                points[:] = [*points[:-1:2], points[-1]]
            return tuple(points)


def replayed(study: Study) -> tuple[Point, ...]:
    """Evidence over time from the log: by a study of its own, so that nobody waits for it."""
    own = Study(study.store, study.name)
    return _on_items(own) if own.items else own.result(history=True).history


def _on_items(study: Study) -> tuple[Point, ...]:
    """Evidence as the cells of a list came."""
    with study.store.reading() as log:
        arms = log.read_arms(study.id)
        told = [ticket for ticket in log.read_tickets(study.id) if ticket.reward is not None]
    session = study.settings.session([arm.label for arm in arms if arm.added_at == 0])
    for at, labels in later_arms((arm.label, arm.added_at) for arm in arms).items():
        session.grow(labels, at)
    points: list[Point] = []
    step = max(len(told) // LOOKS, 1)
    for number, ticket in enumerate(told, 1):
        session.tell_cell(ticket.arm, ticket.item or 0, ticket.reward or 0.0)
        point = point_of(session.running) if number % step == 0 else None
        if point is not None and (not points or point.pulls > points[-1].pulls):
            points.append(point)
    return tuple(points)


def point_of(running: Running[Answer]) -> Point | None:
    """The evidence now, where the algorithm tells it."""
    status = status_of(running)
    if status is None or status.evidence is None or status.threshold is None:
        return None
    return Point(running.pulls, status.evidence, status.threshold)
