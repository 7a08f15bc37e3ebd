"""A procedure seen as ask and tell: the one place that validates rewards, hands out tickets and keeps them in order.

Rewards count in the order in which they were asked for, whatever the order in which they are told. No input or output here.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from surest.algorithms import DEFAULT, lookup, start
from surest.errors import PullLimitError, RewardError, TicketError, UsageError
from surest.protocol import FloatArray, Status
from surest.result import Result, result_of, status_of
from surest.running import Running, statistic_of

MOST_TICKETS = 10**8
"""Rewards of one request that a session keeps in memory until the last of them has come."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """One evaluation to make: pull `arm` once and tell the reward under `id`."""

    id: int
    arm: int
    label: str


class Session:
    """Ask what to evaluate, tell what came of it, in any order and from any number of workers.

    Parameters
    ----------
    arms : int or sequence of str
        How many arms there are, or their labels.
    delta : float
        The allowed probability of a wrong answer.
    epsilon : float
        How far from the best an answer may be; 0 asks for the best arm itself.
    budget : int, optional
        The most pulls to ask for.
    algorithm : str
        A name from ``surest algorithms``.
    bounds : (float, float)
        The range of the rewards.

    Examples
    --------
    >>> session = Session(["a", "b"], delta=0.1, algorithm="naive-best-arm")
    >>> ticket, = session.ask()
    >>> ticket
    Ticket(id=0, arm=0, label='a')
    >>> session.tell(ticket.id, 0.75)
    >>> session.tell(ticket.id, 7)
    Traceback (most recent call last):
        ...
    surest.errors.RewardError: reward 7 for ticket 0 (arm 'a') is not a number in [0, 1]
    """

    def __init__(
        self,
        arms: int | Sequence[str],
        delta: float = 0.05,
        *,
        epsilon: float = 0.0,
        budget: int | None = None,
        algorithm: str = DEFAULT,
        bounds: tuple[float, float] = (0.0, 1.0),
        seed: int = 0,
        record: bool = False,
        **options: Any,
    ) -> None:
        self.labels = tuple(str(i) for i in range(arms)) if isinstance(arms, int) else distinct(arms)
        self.low, self.high = checked_bounds(bounds)
        self.delta, self.epsilon, self.algorithm, self.seed = delta, epsilon, algorithm, seed
        self._arrivals: list[int] = []
        procedure = start(
            algorithm,
            len(self.labels),
            delta,
            epsilon=epsilon / (self.high - self.low),
            budget=budget,
            seed=seed,
            arrivals=self._arrivals,
            **options,
        )
        self.running = Running(procedure, len(self.labels), budget=budget, record=record)
        self._first = 0  # the id of the current request's first ticket
        self._told: list[float] = []  # every reward of the requests before, by ticket id
        self._open()

    def _open(self) -> None:
        """Prepare for the request that the procedure now waits on."""
        request = self.running.request
        self._handed = 0  # tickets of this request handed out so far
        self._again: deque[int] = deque()  # failed ones, to be handed out again
        if request is None:
            self._rewards, self._ends, self._missing = np.empty(0), np.empty(0, np.int64), 0
            return
        if request.total > MOST_TICKETS:
            raise PullLimitError(
                f"{self.algorithm} asks for {request.total:.3g} evaluations at once, more than a session keeps in memory "
                f"({MOST_TICKETS:.0e}); such algorithms run on simulated arms of finite support only"
            )
        self._ends = np.cumsum(request.times)
        self._rewards = np.full(request.total, np.nan)
        self._missing = request.total

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to ask: decided, or budget spent."""
        return self.running.request is None

    @property
    def pending(self) -> int:
        """How many tickets are handed out and not yet told."""
        told = len(self._rewards) - self._missing
        return self._handed - len(self._again) - told

    def ask(self, k: int = 1) -> list[Ticket]:
        """Up to k tickets. Fewer, or none, when the algorithm first needs the rewards of those already out."""
        if k < 1:
            raise UsageError(f"asked for {k} tickets; ask for at least one")
        again = [self._again.popleft() for _ in range(min(k, len(self._again)))]
        fresh = range(self._handed, min(self._handed + k - len(again), len(self._rewards)))
        self._handed += len(fresh)
        return [self._ticket(place) for place in [*again, *fresh]]

    def tell(self, ticket: int, reward: float) -> None:
        """Say what an evaluation gave. What cannot be counted is refused, and changes nothing."""
        value = self._checked(ticket, reward)
        place = ticket - self._first
        if place < 0 or not np.isnan(self._rewards[place]):
            self._agrees(ticket, value)
            return
        self._count(place, value)

    def _agrees(self, ticket: int, value: float) -> None:
        """Refuse a second, different reward of a ticket."""
        place = ticket - self._first
        earlier = self._told[ticket] if place < 0 else float(self._rewards[place])
        if not np.isnan(earlier) and value != earlier:
            raise TicketError(
                f"ticket {ticket} was already told {self._unscaled(earlier)}; it cannot become {self._unscaled(value)}"
            )

    def _count(self, place: int, value: float) -> None:
        if place in self._again:
            self._again.remove(place)  # it failed, and then came after all
        self._rewards[place] = value
        self._missing -= 1
        if not self._missing:
            self._close()

    def tell_all(self, tickets: Sequence[Ticket], rewards: FloatArray) -> None:
        """Tell the rewards of several tickets, in the tickets' order: all of them, or none."""
        if len(tickets) != len(rewards):
            raise RewardError(f"{len(tickets)} tickets but {len(rewards)} rewards")
        values = [self._checked(ticket.id, reward) for ticket, reward in zip(tickets, rewards, strict=True)]
        fresh: dict[int, float] = {}
        for ticket, value in zip(tickets, values, strict=True):
            self._agrees(ticket.id, value)
            if fresh.setdefault(ticket.id, value) != value:
                raise TicketError(f"ticket {ticket.id} is told two rewards at once")
        places = {number - self._first: value for number, value in fresh.items() if number >= self._first}
        for place in [place for place in places if np.isnan(self._rewards[place])]:
            self._count(place, places[place])

    def feed(self, rewards: FloatArray) -> None:
        """Answer the whole current request at once, with its rewards in the order of the tickets.

        >>> session = Session(["a", "b"], delta=0.1, algorithm="naive-best-arm")
        >>> session.feed(np.ones(session.running.request.total))
        >>> session.running.rounds
        1
        """
        if self.finished or self._handed or len(rewards) != len(self._rewards):
            raise TicketError(
                f"{len(rewards)} rewards at once for {len(self._rewards)} tickets, {self._handed} of them out"
            )
        if not ((self.low <= rewards) & (rewards <= self.high)).all():
            raise RewardError(f"not all rewards lie in [{self.low:g}, {self.high:g}]")
        self._rewards = (rewards - self.low) / (self.high - self.low)
        self._close()

    def grow(self, labels: Sequence[str]) -> None:
        """Add arms while the session runs: the algorithm learns of them with the reply to its current request.

        Refused by algorithms whose guarantee would not hold.
        """
        if not lookup(self.algorithm).growing:
            raise UsageError(f"{self.algorithm} cannot take in new arms while it runs; start again with all arms")
        if self.finished:
            raise UsageError("the search has ended; start a new one with all arms")
        self.labels = distinct((*self.labels, *labels))
        self.running.grow(len(labels))
        self._arrivals.append(len(labels))

    def fail(self, ticket: int, reason: str = "") -> None:
        """Say that an evaluation gave no reward: its ticket is handed out again. It is never dropped."""
        place = self._place(ticket)
        if place < 0 or not np.isnan(self._rewards[place]):
            raise TicketError(f"ticket {ticket} was already told a reward; it cannot fail now ({reason})")
        if place not in self._again:
            self._again.append(place)

    def status(self) -> Status:
        """What the algorithm can say of its state now."""
        return status_of(self.running) or Status(leader=self._result().index)

    def result(self) -> Result:
        """The verdict; before the end, the answer so far, not certified."""
        return self._result()

    def _result(self) -> Result:
        return result_of(
            self.running,
            self.labels,
            algorithm=self.algorithm,
            entry=lookup(self.algorithm),
            delta=self.delta,
            epsilon=self.epsilon,
            seed=self.seed,
        )

    def _close(self) -> None:
        """All rewards of the request are there: count them, in the order in which they were asked for."""
        rewards, request = self._rewards, self.running.request
        assert request is not None
        self._told.extend(rewards.tolist())
        self._first += len(rewards)
        self.running.send(statistic_of(request, rewards))
        self._open()

    def _ticket(self, place: int) -> Ticket:
        request = self.running.request
        assert request is not None
        arm = int(request.arms[np.searchsorted(self._ends, place, side="right")])
        return Ticket(self._first + place, arm, self.labels[arm])

    def _place(self, ticket: int) -> int:
        place = int(ticket) - self._first if isinstance(ticket, int | np.integer) else -1
        if not isinstance(ticket, int | np.integer) or ticket < 0 or place >= self._handed:
            raise TicketError(f"ticket {ticket!r} was never handed out; tell the ids that ask() gave")
        return place

    def _checked(self, ticket: int, reward: float) -> float:
        """The reward on [0, 1]."""
        place = self._place(ticket)
        if counts(reward, self.low, self.high):
            return (float(reward) - self.low) / (self.high - self.low)
        whose = f" (arm {self._ticket(place).label!r})" if place >= 0 else ""
        raise RewardError(
            f"reward {reward!r} for ticket {ticket}{whose} is not a number in [{self.low:g}, {self.high:g}]"
        )

    def _unscaled(self, value: float) -> float:
        return self.low + value * (self.high - self.low)


def counts(reward: object, low: float, high: float) -> bool:
    """Whether a reward is a number in the stated range: no string, no NaN, however large an integer.

    >>> [counts(r, 0, 1) for r in (0.5, True, -0.0, float("nan"), 10**400, "0.5", np.float32(1))]
    [True, True, True, False, False, False, True]
    """
    # NumPy would round the bounds to the reward's own precision: 1e-300 <= float32(0) holds there.
    value = reward.item() if isinstance(reward, np.generic) else reward
    return isinstance(value, int | float | Real) and bool(low <= value <= high)  # type: ignore[operator]


def distinct(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels as text, refused where two are the same."""
    texts = tuple(map(str, labels))
    if len(set(texts)) < len(texts):
        twice = next(label for label in texts if texts.count(label) > 1)
        raise UsageError(f"two arms are called {twice!r}; labels must differ")
    return texts


def checked_bounds(bounds: tuple[float, float]) -> tuple[float, float]:
    """Bounds as numbers, refused where they are no range."""
    try:
        low, high = map(float, bounds)
    except (TypeError, ValueError):
        low = high = 0.0
    if not (isfinite(high - low) and low < high):
        raise UsageError(f"bounds {bounds}: give the lowest and the highest possible reward, the lower first")
    return low, high
