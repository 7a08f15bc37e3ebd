"""Looking at a run while it goes on, without slowing it down: a status costs time when there are many arms."""

import math
import time
from collections.abc import Callable

from surest.core.procedure import Running
from surest.core.protocol import Answer, Point, Pull, Status


class Looks:
    """A hook that looks at a run now and then, and keeps what it saw in `points`.

    Parameters
    ----------
    show : callable, optional
        Called at each look with the run and its status (None where the algorithm tells none).
    every : float
        Seconds between two looks, at least.
    growth : float
        How many times as many pulls there must be at the next look, at least; its fourth power while there is no evidence.
    share, free : float
        Looking takes at most `free` seconds plus this share of the time, but for the look that exceeds it and for the
        first one.
    """

    def __init__(
        self,
        show: Callable[[Running[Answer], Status | None], None] | None = None,
        *,
        every: float = 0.0,
        growth: float = 1.0,
        share: float = 0.05,
        free: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.show, self.every, self.growth, self.share, self.free, self.clock = show, every, growth, share, free, clock
        self.points: list[Point] = []
        self.began = self.last = clock()
        self.spent = 0.0
        self.pulls = -1

    def __call__(self, running: Running[Answer]) -> None:
        """Look, if it is time."""
        now = self.clock()
        if now - self.last < self.every or self.spent > self.free + self.share * (now - self.began):
            return
        is_early = bool(self.points) and self.points[-1].evidence == -math.inf
        if running.pulls < self.growth ** (4 if is_early else 1) * self.pulls:
            return
        request = running.request
        if self.show is None and isinstance(request, Pull) and request.evidence is not None:
            self.points.append(Point(running.pulls, *request.evidence()))
        else:
            self._see(running, running.status if request is not None else None)
        self.last = self.clock()
        self.spent += self.last - now if self.pulls >= 0 else 0.0
        self.pulls = running.pulls

    def _see(self, running: Running[Answer], status: Status | None) -> None:
        if status is not None and status.evidence is not None and status.threshold is not None:
            self.points.append(Point(running.pulls, status.evidence, status.threshold))
        if self.show is not None:
            self.show(running, status)


def history() -> Looks:
    """What records evidence over time for a picture, in less than a tenth of the time (docs/wager.md has figures).

    A look takes about as long as a round or two, so there are few of them. In a run of seconds their number depends on pulls
    alone, so that a seed gives the same record again; only in a long one it depends on the time that they take.
    """
    return Looks(growth=1.5, share=0.05, free=1.0)


def points_of(looks: Looks | None) -> tuple[Point, ...]:
    """What was seen over time; nothing where nobody looked."""
    return () if looks is None else tuple(looks.points)
