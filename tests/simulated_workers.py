"""Workers on a simulated clock: the project's own loop, evaluations that take a stated time, and nobody waits for them."""

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from surest.search.desk import Desk
from surest.search.loop import Outcome, loop
from surest.search.session import Ticket


@dataclass
class Workers:
    """Evaluate tickets on so many workers, and keep the books."""

    number: int
    draw: Callable[[Ticket], tuple[float, Any]]
    """How long an evaluation takes, and what it gives."""
    now: float = 0.0
    busy: list[tuple[float, float]] = field(default_factory=list)
    """When each evaluation began and ended."""

    def work(self, desk: Desk, *, stop_at: float = float("inf"), drain: bool = True) -> None:
        """Work until the desk is finished, or an interrupt comes; a second one comes at once unless they `drain`."""
        steps, flying, order = loop(desk, self.number), [], itertools.count()
        try:
            step, stopped = next(steps), False
            while True:
                for ticket in step.start:
                    seconds, reward = self.draw(ticket)
                    heapq.heappush(flying, (self.now + seconds, next(order), Outcome(ticket, reward)))
                    self.busy.append((self.now, self.now + seconds))
                if not stopped and flying[0][0] > stop_at:
                    self.now, stopped = stop_at, True
                    step = steps.throw(KeyboardInterrupt())
                    if not drain:
                        steps.throw(KeyboardInterrupt())
                    continue
                self.now, _, outcome = heapq.heappop(flying)
                step = steps.send([outcome])
        except StopIteration:
            return

    def utilisation(self, begin: float) -> float:
        """The part of the workers' time that was spent evaluating, from a moment on."""
        spent = sum(max(0.0, min(end, self.now) - max(start, begin)) for start, end in self.busy)
        return spent / (self.number * (self.now - begin))
