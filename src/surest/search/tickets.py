"""Which evaluations a request stands for, which of them are out, and what came back: the books of a search's tickets.

Tickets are handed out by number, and rewards taken on [0, 1]; NaN says that nothing was told. Rewards count in the order of the
request, whatever the order in which they come. There are three kinds of books: `PullTickets` for fresh pulls, `ArmTickets` for
fresh pulls and many workers, `CellTickets` for a list of items.
"""

from array import array
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np

from surest.core.procedure import statistic_of
from surest.core.protocol import FloatArray, IntArray, Pull, Reply
from surest.errors import TicketError

RETRIES = 3
"""Retries of a failed evaluation, by default."""
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
    draw: int | None = None
    """Of a study whose arms have queues: the number of arms times the place in its queue, plus the arm. Seeds are made of it."""

    def __repr__(self) -> str:
        on = "" if self.item is None else f", item={self.item!r}"
        return f"Ticket(id={self.id}, arm={self.arm}, label={self.label!r}{on})"


@dataclass(eq=False)
class Counts:
    """What all kinds of books count."""

    request: Any = field(default=None, init=False)  # the one that the procedure waits on
    handed: int = field(default=0, init=False)  # tickets handed out so far
    told: int = field(default=0, init=False)  # tickets told so far
    missing: int = field(default=-1, init=False)  # rewards that the current request lacks; -1 where there is none
    again: dict[int, None] = field(default_factory=dict, init=False)  # failed, in order, to be handed out again

    @property
    def pending(self) -> int:
        """How many tickets are out."""
        return self.handed - len(self.again) - self.told

    def ask(self, k: int) -> tuple[list[int], list[int]]:
        """Up to k tickets: those to be handed out again, and fresh ones."""
        again = list(islice(self.again, k))
        for number in again:
            del self.again[number]
        return again, self.fresh(k - len(again)) if k > len(again) else []

    def fresh(self, k: int) -> list[int]:
        """Hand out up to k tickets for the first time."""
        raise NotImplementedError

    def place(self, number: int, counted: IntArray) -> int:
        """How many rewards of its arm come before a ticket's; `counted` says how many of each arm have answered a request."""
        return 0

    def is_out(self, number: int) -> bool:
        """Whether a ticket was ever handed out."""
        return 0 <= number < self.handed

    def is_current(self, number: int) -> bool:
        """Whether a ticket belongs to the current request, or to one that was announced."""
        return True


class PullTickets(Counts):
    """Tickets of fresh pulls: request after request, numbered through, arm after arm within a request.

    Tickets of announced requests are handed out after those of the current one. Numbers do not depend on whether they are.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first = self.end = 0  # the tickets of the current request
        self.rewards = array("d")  # of all tickets that there are, by number; NaN where nothing was told yet
        self.adopted = array("q")  # the arms of tickets that others handed out, by number; -1 where we did
        self.arms = np.empty(0, np.int64)  # of the current request, then of those announced …
        self.ends = np.empty(0, np.int64)  # … and where the tickets of each end

    def open(self, request: Any, announced: Sequence[Pull] = ()) -> None:
        """Prepare for the request that the procedure now waits on, and for those that it has announced."""
        self.request, self.missing = request, -1
        if request is None:
            return
        requests = [request, *announced]
        self.arms = np.concatenate([each.arms for each in requests])
        self.ends = self.first + np.cumsum(np.concatenate([each.times for each in requests]))
        self.end = self.first + request.total
        self.rewards.extend(array("d", [nan]) * (int(self.ends[-1]) - len(self.rewards)))
        self.missing = request.total
        if self.told > self.first:  # some were evaluated beforehand
            self.missing = sum(map(isnan, self.rewards[self.first : self.end]))

    def fresh(self, k: int) -> list[int]:
        numbers = range(self.handed, min(self.handed + k, len(self.rewards)))
        self.handed += len(numbers)
        return list(numbers)

    def adopt(self, arms: IntArray, values: FloatArray, items: IntArray) -> IntArray:
        """Take in tickets that others handed out: they follow those that are known, for requests to come too."""
        start, self.handed = self.handed, self.handed + len(values)
        self.adopted.extend(array("q", [-1]) * (start - len(self.adopted)))
        self.adopted.frombytes(arms.astype(np.int64).tobytes())
        self.rewards.extend(array("d", [nan]) * (self.handed - len(self.rewards)))
        self.rewards[start : self.handed] = array("d", values.tobytes())
        told = np.flatnonzero(~np.isnan(values)) + start
        self.told += len(told)
        self.missing -= int(np.searchsorted(told, self.end) - np.searchsorted(told, self.first))
        return np.arange(start, self.handed)

    def cells(self, numbers: Sequence[int]) -> list[tuple[int, int | None]]:
        """The arms and items of tickets of the current request, and of those announced."""
        arms = self.arms[np.searchsorted(self.ends, numbers, side="right")]
        return [(arm, None) for arm in arms.tolist()]

    def place(self, number: int, counted: IntArray) -> int:
        k = int(np.searchsorted(self.ends, number, side="right"))
        starts = np.concatenate([[self.first], self.ends[:-1]])
        earlier = (self.ends - starts)[:k][self.arms[:k] == self.arms[k]].sum()
        return int(counted[self.arms[k]] + earlier + number - starts[k])

    def is_current(self, number: int) -> bool:
        return number >= self.first

    def reward(self, number: int) -> float:
        """What a ticket was told; NaN if nothing."""
        return self.rewards[number]

    def put(self, number: int, value: float) -> None:
        """Take the reward of a ticket that has none."""
        self.again.pop(number, None)  # where it failed, and then came after all
        self.rewards[number] = value
        self.told += 1
        self.missing -= number < self.end

    def reply(self) -> Reply:
        """What the request asks for. Its tickets are history from then on."""
        claimed = np.array(self.adopted[self.first : self.end], np.int64)
        if ((claimed >= 0) & (claimed != np.repeat(self.request.arms, self.request.times)[: len(claimed)])).any():
            raise TicketError(f"the tickets from {self.first} on do not fit their request")
        rewards = np.array(self.rewards[self.first : self.end])
        self.first = self.end
        return statistic_of(self.request, rewards)


@dataclass(eq=False)
class CellTickets(Counts):
    """Tickets of cells: each cell of arms × items is evaluated once, asked for by the algorithm or ahead of it."""

    may_go_ahead: bool = True  # not under a budget: what is evaluated ahead may never count
    values: dict[Cell, float] = field(default_factory=dict, init=False)
    sums: dict[int, float] = field(default_factory=dict, init=False)  # of each arm's values
    tickets: list[Cell] = field(default_factory=list, init=False)  # by number
    numbers: dict[Cell, int] = field(default_factory=dict, init=False)
    _lacking: set[Cell] = field(default_factory=set, init=False)  # cells of the request that have no reward

    def open(self, request: Any, announced: Sequence[Pull] = ()) -> None:
        self.request = request
        arms, items = ([], []) if request is None else (request.arms.tolist(), request.items.tolist())
        self._lacking = {(arm, item) for item in items for arm in arms if (arm, item) not in self.values}
        self.missing = -1 if request is None else len(self._lacking)

    def wanted(self, k: int, taken: Collection[Cell], under_way: int) -> list[Cell]:
        """The first k cells, of those not taken and not known, that the algorithm needs now or, with others under way, next.

        Who evaluates one at a time never goes ahead: it would only be wasted on arms that drop out.
        """
        if self.request is None:
            return []
        arms, found = self.request.arms.tolist(), list[Cell]()
        limit, early = AHEAD * (k + under_way) if k + under_way > 1 and self.may_go_ahead else 0, 0
        for place, item in enumerate([*self.request.items.tolist(), *self.request.ahead.tolist()]):
            if place == len(self.request.items):  # who is behind may be out before it is needed
                arms = sorted(arms, key=lambda arm: -self.sums.get(arm, 0.0))
            for arm in arms:
                early += place >= len(self.request.items)
                if early > limit:
                    return found
                if (arm, item) not in taken and (arm, item) not in self.values:
                    found.append((arm, item))
                    if len(found) == k:
                        return found
        return found

    def met(self, length: int, out: Collection[Cell] = ()) -> int:
        """How many of all items, in the algorithm's order, have a cell that is told, asked for or out.

        The request's items and those ahead are the end of that order, or all of it.
        """
        if self.request is None:
            return length
        order = [*self.request.items.tolist(), *self.request.ahead.tolist()]
        touched = {item for cells in (self.values, self.tickets, out) for _, item in cells}
        touched.update(self.request.items.tolist())
        return length - len(order) + max(place for place, item in enumerate(order) if item in touched) + 1

    def fresh(self, k: int) -> list[int]:
        cells = self.wanted(k, self.numbers, self.pending)
        numbers = list(range(self.handed, self.handed + len(cells)))
        self.tickets += cells
        self.handed += len(cells)
        self.numbers.update(zip(cells, numbers, strict=True))
        return numbers

    def adopt(self, arms: IntArray, values: FloatArray, items: IntArray) -> IntArray:
        for arm, item, value in zip(arms.tolist(), items.tolist(), values.tolist(), strict=True):
            if not isnan(value) and (arm, item) not in self.values:
                self.know((arm, item), value)
        return np.full(len(arms), -1)

    def cells(self, numbers: Sequence[int]) -> list[Cell]:
        return [self.tickets[number] for number in numbers]

    def reward(self, number: int) -> float:
        return self.values.get(self.tickets[number], nan)

    def put(self, number: int, value: float) -> None:
        self.again.pop(number, None)
        self.told += 1
        self.know(self.tickets[number], value)

    def know(self, cell: Cell, value: float) -> None:
        """Take the reward of a cell that has none."""
        self.values[cell] = value
        self.sums[cell[0]] = self.sums.get(cell[0], 0.0) + value
        if cell in self._lacking:
            self._lacking.discard(cell)
            self.missing -= 1

    def reply(self) -> Reply:
        items = self.request.items.tolist()
        return np.array([[self.values[arm, item] for item in items] for arm in self.request.arms.tolist()])


SPARE = 32
"""Rewards evaluated, or being evaluated, that no request has counted yet: at most so many for each worker."""


class ArmTickets(Counts):
    """Tickets of n arms. A ticket's number is n times its place in the queue of its arm, plus the arm.

    Tickets of the current request come first, then those of announced requests. Once these are all handed out, and fewer than
    `workers` evaluations are under way, further tickets follow, of arms with the same shares: most of them are needed later.
    """

    def __init__(self, arms: int, workers: int) -> None:
        super().__init__()
        self.n, self.workers = arms, workers
        self.seen = 0  # requests, from the current one on, that are part of `asked`
        self.counted = np.zeros(arms, np.int64)  # of each arm, how many rewards have answered a request …
        self.asked = np.zeros(arms, np.int64)  # … how many were asked for or announced …
        self.queued = np.zeros(arms, np.int64)  # … and how many were handed out
        self.todo: deque[tuple[int, int]] = deque()  # an arm, and how many of its tickets are to be handed out by then
        self.ends: dict[int, int] = {}  # of each arm of the current request, where its part of the queue ends
        self.rewards = [array("d") for _ in range(arms)]  # of all that were handed out; NaN where nothing was told yet

    def open(self, request: Any, announced: Sequence[Pull] = ()) -> None:
        self.request, self.missing = request, -1
        if request is None:
            return
        requests = [request, *announced]
        for new in requests[self.seen :]:
            self.asked[new.arms] += new.times
            self.todo.extend(zip(new.arms.tolist(), self.asked[new.arms].tolist(), strict=True))
        self.seen = len(requests)
        self._skip_handed()
        ends = self.counted[request.arms] + request.times
        self.ends = dict(zip(request.arms.tolist(), ends.tolist(), strict=True))
        self.missing = request.total - sum(len(part) - sum(map(isnan, part)) for part in self._current())

    def _current(self) -> Iterator["array[float]"]:
        """The rewards of the current request, arm after arm, as far as their tickets were handed out."""
        for arm, end in self.ends.items():
            yield self.rewards[arm][int(self.counted[arm]) : end]

    def fresh(self, k: int) -> list[int]:
        numbers: list[int] = []
        while len(numbers) < k:
            self._skip_handed()
            if not self.todo:  # all that was asked for or announced is handed out
                ahead = self.handed - int(self.counted.sum())
                if self.pending >= self.workers or ahead >= SPARE * self.workers:
                    break
            numbers.append(self._next_of(self.todo[0][0] if self.todo else self._likely()))
        return numbers

    def _skip_handed(self) -> None:
        """Forget what is to be handed out where it is by now."""
        while self.todo and self.queued[self.todo[0][0]] >= self.todo[0][1]:
            self.todo.popleft()

    def _likely(self) -> int:
        """The arm that is most wanting, if the requests to come have the shares of those that are known."""
        shares = self.asked - self.counted
        arms = np.flatnonzero(shares)
        return int(arms[((self.queued[arms] - self.asked[arms] + 1) / shares[arms]).argmin()])

    def _next_of(self, arm: int) -> int:
        place = int(self.queued[arm])
        self.queued[arm] += 1
        self.rewards[arm].append(nan)
        self.handed += 1
        return place * self.n + arm

    def adopt(self, arms: IntArray, values: FloatArray, items: IntArray) -> IntArray:
        numbers, order = np.empty(len(arms), np.int64), np.argsort(arms, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(arms[order])) + 1) if len(arms) else ():
            arm = int(arms[part[0]])
            numbers[part] = arm + self.n * np.arange(self.queued[arm], self.queued[arm] + len(part))
            self.queued[arm] += len(part)
            self.rewards[arm].frombytes(values[part].tobytes())
        told = ~np.isnan(values)
        self.missing -= sum(number // self.n < self.ends.get(number % self.n, 0) for number in numbers[told].tolist())
        self.handed += len(arms)
        self.told += int(told.sum())
        return numbers

    def is_out(self, number: int) -> bool:
        return 0 <= number < self.n * len(self.rewards[number % self.n])

    def cells(self, numbers: Sequence[int]) -> list[tuple[int, int | None]]:
        return [(number % self.n, None) for number in numbers]

    def place(self, number: int, counted: IntArray) -> int:
        return number // self.n

    def is_current(self, number: int) -> bool:
        return number // self.n >= int(self.counted[number % self.n])

    def reward(self, number: int) -> float:
        return self.rewards[number % self.n][number // self.n]

    def put(self, number: int, value: float) -> None:
        place, arm = divmod(number, self.n)
        self.again.pop(number, None)
        self.rewards[arm][place] = value
        self.told += 1
        self.missing -= place < self.ends.get(arm, 0)

    def reply(self) -> Reply:
        rewards = np.concatenate([np.array(part) for part in self._current()])
        self.counted[self.request.arms] += self.request.times
        self.seen -= 1
        return statistic_of(self.request, rewards)


Tickets = PullTickets | ArmTickets | CellTickets
