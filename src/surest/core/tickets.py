"""Which evaluations a request stands for, which of them are out, and what came back: one desk for each kind of request.

A desk hands out tickets by number and takes rewards on [0, 1]. Rewards count in the order of the request, whatever the order in
which they come.
"""

from array import array
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate
from math import isnan, nan
from typing import NamedTuple

import numpy as np

from surest.core.procedure import statistic_of
from surest.core.protocol import Cells, FloatArray, Pull, Reply
from surest.errors import PullLimitError

MOST_TICKETS = 10**8
"""Rewards of one request that are kept in memory until the last of them has come."""
AHEAD = 2
"""Cells evaluated before the algorithm asks for them: at most so many times the evaluations under way."""

Cell = tuple[int, int]
"""An arm and an item, by position."""


class Ticket(NamedTuple):
    """One evaluation to make: evaluate `arm` (on `item`, if there is a list of them), and tell the reward under `id`."""

    id: int
    arm: int
    label: str
    item: int | None = None

    def __repr__(self) -> str:
        on = "" if self.item is None else f", item={self.item!r}"
        return f"Ticket(id={self.id}, arm={self.arm}, label={self.label!r}{on})"


class PullDesk:
    """Tickets of fresh pulls: request after request, numbered through, arm after arm within a request.

    Tickets of requests that were announced are handed out after those of the current one. Numbers do not depend on it.
    """

    def __init__(self) -> None:
        self.first = 0  # the number of the current request's first ticket
        self.told = array("d")  # every reward of the requests before, by ticket
        self.handed = 0  # tickets from `first` on that were handed out so far
        self.again: dict[int, None] = {}  # failed ones, in order, to be handed out again
        self.rewards = array("d")  # from `first` on; NaN where nothing was told yet
        self.arms = np.empty(0, np.int64)  # of the current request, then of those announced …
        self.ends = np.empty(0, np.int64)  # … and where the tickets of each end
        self.size = self.missing = 0  # tickets of the current request; those without a reward
        self.early = 0  # rewards of announced requests
        self.request: Pull | None = None

    def open(self, request: Pull | None, name: str = "the algorithm", room: int | None = None) -> None:
        """Prepare for the request that the procedure now waits on, and those announced, up to so many tickets in all."""
        self.request = request
        if request is None:
            self.early += self.size - self.missing
            self.size = self.missing = 0
            return
        if request.total > MOST_TICKETS:
            raise PullLimitError(
                f"{name} asks for {request.total:.3g} evaluations at once, more than a session keeps in memory "
                f"({MOST_TICKETS:.0e}); such algorithms run on simulated arms of finite support only"
            )
        within = MOST_TICKETS if room is None else min(room, MOST_TICKETS)
        totals = accumulate(later.total for later in (request, *request.ahead))
        requests = [later for later, end in zip((request, *request.ahead), totals, strict=True) if end <= within]
        self.arms = np.concatenate([later.arms for later in requests])
        self.ends = np.cumsum(np.concatenate([later.times for later in requests]))
        more = int(self.ends[-1]) - len(self.rewards)
        self.rewards.extend(array("d", [nan]) * more)
        self.size = request.total
        self.missing = sum(map(isnan, self.rewards[: self.size])) if self.early else self.size
        self.early -= self.size - self.missing

    @property
    def pending(self) -> int:
        """How many tickets are out."""
        return self.handed - len(self.again) - (self.size - self.missing) - self.early

    @property
    def complete(self) -> bool:
        """Whether the request can be answered."""
        return self.request is not None and not self.missing

    @property
    def evaluations(self) -> int:
        """Rewards taken so far."""
        return len(self.told) + self.size - self.missing + self.early

    def ask(self, k: int) -> tuple[list[int], list[int]]:
        """Up to k tickets: those to be handed out again, and fresh ones."""
        again = [self.first + place for place, _ in zip(self.again, range(k), strict=False)]
        for number in again:
            del self.again[number - self.first]
        fresh = range(self.handed, min(self.handed + k - len(again), len(self.rewards)))
        self.handed += len(fresh)
        return again, [self.first + place for place in fresh]

    def is_out(self, number: int) -> bool:
        """Whether a ticket was ever handed out."""
        return 0 <= number < self.first + self.handed

    def cells(self, numbers: Sequence[int]) -> list[tuple[int, None]]:
        """The arms of tickets of the current request, and of those announced."""
        places = np.asarray(numbers, np.int64) - self.first
        arms = self.arms[np.searchsorted(self.ends, places, side="right")]
        return [(arm, None) for arm in arms.tolist()]

    def is_current(self, number: int) -> bool:
        """Whether a ticket belongs to the current request, or to one that was announced."""
        return number >= self.first

    def reward(self, number: int) -> float:
        """What a ticket was told; NaN if nothing."""
        return self.told[number] if number < self.first else self.rewards[number - self.first]

    def put(self, number: int, value: float) -> None:
        """Take the reward of a ticket that has none."""
        place = number - self.first
        self.again.pop(place, None)  # where it failed, and then came after all
        self.rewards[place] = value
        if place < self.size:
            self.missing -= 1
        else:
            self.early += 1

    def fail(self, number: int) -> bool:
        """Let a ticket be handed out again; False if that is so already."""
        if number - self.first in self.again:
            return False
        self.again[number - self.first] = None
        return True

    def fill(self, values: FloatArray) -> None:
        """Answer the whole request at once: nothing of it was handed out."""
        self.rewards[: self.size] = array("d", values.tobytes())
        self.handed, self.missing = self.size, 0

    def reply(self) -> Reply:
        """The statistic that the request wants. Its tickets are history from then on."""
        assert self.request is not None
        rewards = self.rewards[: self.size]
        self.told.extend(rewards)
        self.first += self.size
        self.handed -= self.size
        del self.rewards[: self.size]
        self.again = {place - self.size: None for place in self.again}
        passed = len(self.request.arms)
        self.arms, self.ends = self.arms[passed:], self.ends[passed:] - self.size
        self.size = self.missing = 0
        return statistic_of(self.request, np.array(rewards))


class CellDesk:
    """Tickets of cells: each cell of arms × items is evaluated once, asked for by the algorithm or ahead of it."""

    def __init__(self) -> None:
        self.values: dict[Cell, float] = {}
        self.tickets: list[Cell] = []  # by number
        self.numbers: dict[Cell, int] = {}
        self.again: dict[int, None] = {}
        self.told = 0  # tickets, not cells: some cells are known without one
        self.open(None)

    def open(self, request: Cells | None, name: str = "the algorithm", room: int | None = None) -> None:
        """Prepare for the request that the procedure now waits on."""
        self.request = request
        wanted = [] if request is None else list(_block(request.arms.tolist(), request.items.tolist()))
        self.missing = sum(cell not in self.values for cell in wanted)

    @property
    def pending(self) -> int:
        """How many tickets are out."""
        return len(self.tickets) - len(self.again) - self.told

    @property
    def complete(self) -> bool:
        """Whether the request can be answered."""
        return self.request is not None and not self.missing

    @property
    def evaluations(self) -> int:
        """Rewards taken so far, those of known cells included."""
        return len(self.values)

    def wanted(self, k: int, taken: Collection[Cell]) -> list[Cell]:
        """The first k cells that the algorithm needs now, or will need next, of those not taken and not known."""
        if self.request is None:
            return []
        arms, found = self.request.arms.tolist(), list[Cell]()
        limit, early = AHEAD * (k + self.pending), 0
        for place, item in enumerate([*self.request.items.tolist(), *self.request.ahead.tolist()]):
            for arm in arms:
                early += place >= len(self.request.items)
                if early > limit:
                    return found
                if (arm, item) not in taken and (arm, item) not in self.values:
                    found.append((arm, item))
                    if len(found) == k:
                        return found
        return found

    def ask(self, k: int) -> tuple[list[int], list[int]]:
        """Up to k tickets: those to be handed out again, and fresh ones."""
        again = [number for number, _ in zip(self.again, range(k), strict=False)]
        for number in again:
            del self.again[number]
        cells = self.wanted(k - len(again), self.numbers) if k > len(again) else []
        fresh = list(range(len(self.tickets), len(self.tickets) + len(cells)))
        self.tickets += cells
        self.numbers.update(zip(cells, fresh, strict=True))
        return again, fresh

    def is_out(self, number: int) -> bool:
        """Whether a ticket was ever handed out."""
        return 0 <= number < len(self.tickets)

    def cells(self, numbers: Sequence[int]) -> list[Cell]:
        """The arms and items of tickets."""
        return [self.tickets[number] for number in numbers]

    def is_current(self, number: int) -> bool:
        """Cells are current as long as the search runs."""
        return True

    def reward(self, number: int) -> float:
        """What a ticket was told; NaN if nothing."""
        return self.values.get(self.tickets[number], nan)

    def put(self, number: int, value: float) -> None:
        """Take the reward of a ticket that has none."""
        self.again.pop(number, None)
        self.told += 1
        self.know(self.tickets[number], value)

    def know(self, cell: Cell, value: float) -> None:
        """Take the reward of a cell that has none."""
        self.values[cell] = value
        request = self.request
        if request is not None and cell[0] in request.arms and cell[1] in request.items:
            self.missing -= 1

    def fail(self, number: int) -> bool:
        """Let a ticket be handed out again; False if that is so already."""
        if number in self.again:
            return False
        self.again[number] = None
        return True

    def reply(self) -> Reply:
        """The rewards of the request's cells, a row an arm."""
        assert self.request is not None
        items = self.request.items.tolist()
        return np.array([[self.values[arm, item] for item in items] for arm in self.request.arms.tolist()])


def _block(arms: Sequence[int], items: Sequence[int]) -> Iterator[Cell]:
    """The cells of a block, item by item."""
    return ((arm, item) for item in items for arm in arms)
