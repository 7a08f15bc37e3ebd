"""A procedure seen as ask and tell: the one place that validates rewards, hands out tickets and keeps them in order.

Rewards count in the order in which they were asked for, whatever the order in which they are told. No input or output here.
"""

from array import array
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite, isnan, nan
from numbers import Real
from typing import Any, NamedTuple, SupportsFloat, TypeVar

import numpy as np

from surest.algorithms import DEFAULT, lookup, start
from surest.core.procedure import Running, statistic_of
from surest.core.protocol import FloatArray, IntArray, Point, Status
from surest.errors import PullLimitError, RewardError, TicketError, UsageError
from surest.result.data import Result, ends, in_units, result_of, status_of

Number = TypeVar("Number", float, FloatArray)

MOST_TICKETS = 10**8
"""Rewards of one request that a session keeps in memory until the last of them has come."""


class Ticket(NamedTuple):
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
    minimise : bool
        Rewards are costs: the arm of the smallest mean is the best.

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
        minimise: bool = False,
        seed: int = 0,
        record: bool = False,
        **options: Any,
    ) -> None:
        self.labels = tuple(str(i) for i in range(arms)) if isinstance(arms, int) else distinct(arms)
        self.low, self.high = checked_bounds(bounds)
        self.minimise = minimise
        self._worst, self._best = ends((self.low, self.high), minimise)  # 0 and 1 for the procedure
        self.delta, self.epsilon, self.algorithm, self.seed = delta, epsilon, algorithm, seed
        self.options = options
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
        self.health: dict[str, dict[str, int]] = {}
        """How many evaluations failed, timed out, were retried or counted as a stated reward (imputed), by arm."""
        self._told = array("d")  # every reward of the requests before, by ticket id
        self._open()

    def _open(self) -> None:
        """Prepare for the request that the procedure now waits on."""
        request = self.running.request
        self._handed = 0  # tickets of this request handed out so far
        self._again: dict[int, None] = {}  # failed ones, in order, to be handed out again
        if request is None:
            self._rewards, self._ends, self._missing = array("d"), np.empty(0, np.int64), 0
            return
        if request.total > MOST_TICKETS:
            raise PullLimitError(
                f"{self.algorithm} asks for {request.total:.3g} evaluations at once, more than a session keeps in memory "
                f"({MOST_TICKETS:.0e}); such algorithms run on simulated arms of finite support only"
            )
        self._ends = np.cumsum(request.times)
        self._rewards = array("d", [nan]) * request.total  # NaN where nothing was told yet
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
        if not isinstance(k, int | np.integer) or k < 1:
            raise UsageError(f"asked for {k!r} tickets; ask for a whole number, at least one")
        again = [place for place, _ in zip(self._again, range(int(k)), strict=False)]
        fresh = range(self._handed, min(self._handed + int(k) - len(again), len(self._rewards)))
        for place in again:
            del self._again[place]
            self.note(place + self._first, "retried")
        self._handed += len(fresh)
        return self._tickets([*again, *fresh])

    def tell(self, ticket: int, reward: SupportsFloat) -> None:
        """Say what an evaluation gave. What cannot be counted is refused, and changes nothing."""
        value = self._checked(ticket, reward)
        place = int(ticket) - self._first
        if self._agrees(ticket, value):
            return
        self._again.pop(place, None)  # where it failed, and then came after all
        self._rewards[place] = value
        self._missing -= 1
        if not self._missing:
            self._close()

    def tell_all(self, tickets: Sequence[Ticket], rewards: Sequence[SupportsFloat] | FloatArray) -> None:
        """Tell the rewards of several tickets, in the tickets' order: all of them, or none."""
        if len(tickets) != len(rewards):
            raise RewardError(f"{len(tickets)} tickets but {len(rewards)} rewards; give one for each")
        fresh: dict[int, float] = {}
        for ticket, value in zip(tickets, self._checked_all(tickets, rewards), strict=True):
            if fresh.setdefault(ticket.id, value) != value:
                raise TicketError(f"ticket {ticket.id} is told two rewards at once")
            if self._agrees(ticket.id, value):
                del fresh[ticket.id]
        for number, value in fresh.items():
            self._again.pop(number - self._first, None)
            self._rewards[number - self._first] = value
        self._missing -= len(fresh)
        if fresh and not self._missing:
            self._close()

    def _agrees(self, ticket: int, value: float) -> bool:
        """Whether a ticket was told this reward before. Another one is refused."""
        place = ticket - self._first
        earlier = self._told[ticket] if place < 0 else self._rewards[place]
        if isnan(earlier):
            return False
        if value != earlier:
            raise TicketError(
                f"ticket {ticket} was already told {self._unscaled(earlier)}; it cannot become {self._unscaled(value)}"
            )
        return True

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
        self._rewards = array("d", self._scaled(rewards).tobytes())
        self._close()

    def grow(self, labels: Sequence[str]) -> None:
        """Add arms while the session runs: the algorithm learns of them with the reply to its current request.

        Refused by algorithms whose guarantee would not hold.
        """
        entry = lookup(self.algorithm)
        if not entry.growing:
            raise UsageError(f"{self.algorithm} cannot take in new arms while it runs; start again with all arms")
        if entry.reserve is not None and not self.options.get(entry.reserve):
            raise UsageError(
                f"nothing of delta was kept for arms that come later; start with {entry.reserve}=0.1 "
                f"(--option {entry.reserve}=0.1) to allow them"
            )
        if self.finished:
            raise UsageError("the search has ended; start a new one with all arms")
        self.labels = distinct((*self.labels, *labels))
        self.running.grow(len(labels))
        self._arrivals.append(len(labels))

    def fail(self, ticket: int, reason: str = "", *, kind: str = "failed") -> None:
        """Say that an evaluation gave no reward: its ticket is handed out again. It is never dropped."""
        place = self._place(ticket)
        if place < 0 or not isnan(self._rewards[place]):
            why = f" ({reason})" if reason else ""
            raise TicketError(f"ticket {ticket} was already told a reward; it cannot fail now{why}")
        if place not in self._again:
            self._again[place] = None
            self.note(ticket, kind)

    def note(self, ticket: int, kind: str) -> None:
        """Count what befell a ticket of the current request, for the health line."""
        of_arm = self.health.setdefault(self.labels[self._arms_of([self._place(ticket)])[0]], {})
        of_arm[kind] = of_arm.get(kind, 0) + 1

    def status(self) -> Status:
        """What the algorithm can say of its state now."""
        status = status_of(self.running)
        if status is None:
            return Status(leader=self.result().index)
        return in_units(status, (self.low, self.high), self.minimise)

    def result(self, history: tuple[Point, ...] = ()) -> Result:
        """The verdict; before the end, the answer so far, not certified. `history` is evidence over time, if it was kept."""
        found = result_of(
            self.running,
            self.labels,
            algorithm=self.algorithm,
            entry=lookup(self.algorithm),
            delta=self.delta,
            epsilon=self.epsilon,
            seed=self.seed,
            bounds=(self.low, self.high),
            minimise=self.minimise,
            history=history,
        )
        return replace(found, health={label: dict(of_arm) for label, of_arm in self.health.items()})

    def _close(self) -> None:
        """All rewards of the request are there: count them, in the order in which they were asked for."""
        request = self.running.request
        assert request is not None
        self._told.extend(self._rewards)
        self._first += len(self._rewards)
        self.running.send(statistic_of(request, np.array(self._rewards)))
        self._open()

    def _tickets(self, places: list[int]) -> list[Ticket]:
        arms = self._arms_of(places).tolist()
        labels = self.labels
        return [Ticket(self._first + place, arm, labels[arm]) for place, arm in zip(places, arms, strict=True)]

    def _arms_of(self, places: Sequence[int]) -> IntArray:
        request = self.running.request
        if request is None:
            return np.empty(0, np.int64)
        return request.arms[np.searchsorted(self._ends, places, side="right")]

    def _place(self, ticket: int) -> int:
        """A ticket's place in the current request; below zero if it belongs to an earlier one."""
        if isinstance(ticket, bool) or not isinstance(ticket, int | np.integer):
            raise TicketError(f"ticket {ticket!r} is no ticket's id; tell the ids that ask() gave")
        place = int(ticket) - self._first
        if ticket < 0 or place >= self._handed:
            raise TicketError(f"ticket {ticket} was never handed out; tell the ids that ask() gave")
        return place

    def _checked(self, ticket: int, reward: SupportsFloat) -> float:
        """The reward on [0, 1]."""
        place = self._place(ticket)
        if (type(reward) is float and self.low <= reward <= self.high) or counts(reward, self.low, self.high):
            return self._scaled(float(reward))
        whose = f" (arm {self.labels[self._arms_of([place])[0]]!r})" if place >= 0 else ""
        raise RewardError(
            f"reward {reward!r} for ticket {ticket}{whose} is not a number in [{self.low:g}, {self.high:g}]"
        )

    def _checked_all(self, tickets: Sequence[Ticket], rewards: Sequence[SupportsFloat] | FloatArray) -> list[float]:
        """The rewards on [0, 1]: at once where an array holds them and all is well, else one by one for the message."""
        if isinstance(rewards, np.ndarray) and rewards.ndim == 1 and rewards.dtype.kind in "fiub":
            numbers = self._scaled(rewards.astype(np.float64))
            handed = range(self._first + self._handed)
            if ((self.low <= rewards) & (rewards <= self.high)).all() and all(t.id in handed for t in tickets):
                values: list[float] = numbers.tolist()
                return values
        return [self._checked(ticket.id, reward) for ticket, reward in zip(tickets, rewards, strict=True)]

    def _scaled(self, reward: Number) -> Number:
        """On [0, 1], where 1 is the best."""
        return (reward - self._worst) / (self._best - self._worst) + 0.0  # -0.0 becomes 0.0

    def _unscaled(self, value: float) -> float:
        return self._worst + value * (self._best - self._worst)


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
