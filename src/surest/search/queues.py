"""Tickets of fresh pulls for many workers: a queue of rewards for each arm.

A request takes the next rewards of its arms, in the order in which their tickets were handed out. So idle workers may evaluate
arms that nobody has asked for yet: which rewards answer which request does not depend on when they were evaluated.
"""

from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from math import isnan, nan

import numpy as np

from surest.core.procedure import statistic_of
from surest.core.protocol import Cells, FloatArray, IntArray, Pull, Reply
from surest.search.tickets import taken

SPARE = 32
"""Rewards evaluated, or being evaluated, that no request has counted yet: at most so many for each worker."""


class ArmTickets:
    """Tickets of n arms. A ticket's number is n times its place in the queue of its arm, plus the arm.

    Tickets of the current request come first, then those of announced requests. Once these are all handed out, and fewer than
    `workers` evaluations are under way, further tickets follow, of arms with the same shares: most of them are needed later.
    """

    def __init__(self, arms: int, workers: int) -> None:
        self.n, self.workers = arms, workers
        self.request: Pull | None = None
        self.seen = 0  # requests, from the current one on, that are part of `asked`
        self.counted = np.zeros(arms, np.int64)  # of each arm, how many rewards have answered a request …
        self.asked = np.zeros(arms, np.int64)  # … how many were asked for or announced …
        self.handed = np.zeros(arms, np.int64)  # … and how many were handed out
        self.todo: deque[tuple[int, int]] = deque()  # an arm, and how many of its tickets are to be handed out by then
        self.ends: dict[int, int] = {}  # of each arm of the current request, where its part of the queue ends
        self.rewards = [array("d") for _ in range(arms)]  # of all that were handed out; NaN where nothing was told yet
        self.missing = 0  # rewards that the current request lacks
        self.pending = 0  # tickets that are out
        self.evaluations = 0  # rewards taken so far
        self.again: dict[int, None] = {}  # failed ones, in order, to be handed out again

    def open(self, request: Pull | Cells | None, announced: Sequence[Pull] = ()) -> None:
        """Prepare for the request that the procedure now waits on, and for those that it has announced."""
        assert not isinstance(request, Cells)
        self.request = request
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

    @property
    def untouched(self) -> bool:
        """Whether all that was handed out has been counted."""
        return bool((self.handed == self.counted).all())

    @property
    def complete(self) -> bool:
        """Whether the request can be answered."""
        return self.request is not None and not self.missing

    def ask(self, k: int) -> tuple[list[int], list[int]]:
        """Up to k tickets: those to be handed out again, and fresh ones."""
        again = taken(self.again, k)
        self.pending += len(again)
        fresh: list[int] = []
        while len(again) + len(fresh) < k:
            self._skip_handed()
            if not self.todo and not self._may_go_ahead:
                break
            fresh.append(self._next_of(self.todo[0][0] if self.todo else self._likely()))
        return again, fresh

    def _skip_handed(self) -> None:
        """Forget what is to be handed out where it is by now."""
        while self.todo and self.handed[self.todo[0][0]] >= self.todo[0][1]:
            self.todo.popleft()

    @property
    def _may_go_ahead(self) -> bool:
        ahead = int(self.handed.sum() - self.counted.sum())
        return self.pending < self.workers and ahead < SPARE * self.workers

    def _likely(self) -> int:
        """The arm that is most wanting, if the requests to come have the shares of those that are known."""
        shares = self.asked - self.counted
        arms = np.flatnonzero(shares)
        return int(arms[((self.handed[arms] - self.asked[arms] + 1) / shares[arms]).argmin()])

    def _next_of(self, arm: int) -> int:
        place = int(self.handed[arm])
        self.handed[arm] += 1
        self.rewards[arm].append(nan)
        self.pending += 1
        return place * self.n + arm

    def adopt(self, arms: IntArray, values: FloatArray, items: IntArray) -> IntArray:
        """Take in tickets that others handed out, in that order; their numbers here."""
        numbers, order = np.empty(len(arms), np.int64), np.argsort(arms, kind="stable")
        for part in np.split(order, np.flatnonzero(np.diff(arms[order])) + 1) if len(arms) else ():
            arm = int(arms[part[0]])
            numbers[part] = arm + self.n * np.arange(self.handed[arm], self.handed[arm] + len(part))
            self.handed[arm] += len(part)
            self.rewards[arm].frombytes(values[part].tobytes())
        told = ~np.isnan(values)
        self.missing -= sum(number // self.n < self.ends.get(number % self.n, 0) for number in numbers[told].tolist())
        self.pending += int((~told).sum())
        self.evaluations += int(told.sum())
        return numbers

    def is_out(self, number: int) -> bool:
        """Whether a ticket was ever handed out."""
        return 0 <= number < self.n * len(self.rewards[number % self.n])

    def cells(self, numbers: Sequence[int]) -> list[tuple[int, None]]:
        """The arms of tickets."""
        return [(number % self.n, None) for number in numbers]

    def place(self, number: int, counted: IntArray) -> int:
        """How many rewards of its arm come before a ticket's."""
        return number // self.n

    def is_current(self, number: int) -> bool:
        """Whether a ticket has not been counted yet."""
        return number // self.n >= int(self.counted[number % self.n])

    def reward(self, number: int) -> float:
        """What a ticket was told; NaN if nothing."""
        return self.rewards[number % self.n][number // self.n]

    def put(self, number: int, value: float) -> None:
        """Take the reward of a ticket that has none."""
        place, arm = divmod(number, self.n)
        if number in self.again:  # it failed, and then came after all
            del self.again[number]
        else:
            self.pending -= 1
        self.rewards[arm][place] = value
        self.evaluations += 1
        self.missing -= place < self.ends.get(arm, 0)

    def fail(self, number: int) -> bool:
        """Let a ticket be handed out again; False if that is so already."""
        if number in self.again:
            return False
        self.again[number] = None
        self.pending -= 1
        return True

    def fill(self, values: FloatArray) -> None:
        """Answer the whole request at once: nothing was handed out that is not counted."""
        assert self.request is not None
        for arm, part in zip(self.ends, np.split(values, np.cumsum(self.request.times)[:-1]), strict=True):
            self.rewards[arm].frombytes(part.tobytes())
        self.handed[self.request.arms] += self.request.times
        self.evaluations += len(values)
        self.missing = 0

    def reply(self) -> Reply:
        """The statistic that the request wants."""
        assert self.request is not None
        rewards = np.concatenate([np.array(part) for part in self._current()])
        self.counted[self.request.arms] += self.request.times
        self.seen -= 1
        return statistic_of(self.request, rewards)
