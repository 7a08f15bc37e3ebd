"""A procedure on its way: the request it waits on, what it has cost, how it ended. Drivers and sessions move it."""

import math
from itertools import accumulate
from typing import Generic

import numpy as np

from surest.core.contract import check_announced, check_reply, check_request
from surest.core.protocol import (
    Atoms,
    Cells,
    FloatArray,
    Procedure,
    Pull,
    R,
    Reply,
    Request,
    Statistic,
    Status,
    atoms_of,
)

Exchange = tuple[Request, Reply]


class Running(Generic[R]):
    """Advances a procedure reply by reply, under a budget of pulls. Every request and every reply is checked.

    `name` is what messages call the procedure; `items` is the length of the list that it works on, if there is one.

    >>> def larger_mean(arms, times):
    ...     means = yield Pull(arms, times, Statistic.MEAN)
    ...     return int(arms[means.argmax()])
    >>> running = Running(larger_mean(np.arange(2), 10), n=2)
    >>> running.request.total
    20
    >>> running.send(np.array([0.2, 0.7]))
    >>> running.request is None, running.value, running.pulls
    (True, 1, 20)
    """

    def __init__(
        self,
        procedure: Procedure[R],
        n: int,
        *,
        budget: int | None = None,
        record: bool = False,
        name: str = "(unnamed)",
        items: int | None = None,
    ) -> None:
        self._procedure, self.name, self.items = procedure, name, items
        self.budget = budget
        self.request: Request | None = None
        """What the procedure waits on; None once it has ended or the budget does not allow its next request."""
        self.value: R | None = None
        """What the procedure returned."""
        self.unanswered: Request | None = None
        """The request that the budget did not allow."""
        self.announced: tuple[Pull, ...] = ()
        """The requests that follow, as far as the budget goes. Once it has ended, those that are not needed any more."""
        self._status: Status | None = None  # at the current request, once it was asked for
        self.rounds = 0
        self.pulls_per_arm = np.zeros(n, np.int64)
        self._sums = np.zeros(n)  # of the rewards that replies told of; pairs tell nothing of the mean
        self._known = np.zeros(n, np.int64)
        self.least, self.most = math.inf, -math.inf
        """The smallest and the largest reward, as far as replies tell of single ones."""
        self.pulls = 0
        self.transcript: list[Exchange] | None = [] if record else None
        self.additions: list[tuple[int, int]] = []
        """Arms that were added: how many requests had been answered then, and how many arms came."""
        self._advance(None)

    @property
    def spent(self) -> bool:
        """Whether it ended because the budget was spent."""
        return self.unanswered is not None

    @property
    def means(self) -> FloatArray:
        """Every arm's mean reward so far; NaN where nothing is known."""
        with np.errstate(invalid="ignore"):
            return self._sums / self._known

    @property
    def status(self) -> Status | None:
        """The procedure's own word on its state at its last request, where it gives one. It is made once: that costs time."""
        if self._status is None and self.request is not None and self.request.status is not None:
            self._status = self.request.status()
        return self._status

    def grow(self, more: int) -> None:
        """Make room for more arms."""
        self._status = None  # it says of arms that wait, too
        self.additions.append((self.rounds, more))
        self.pulls_per_arm = np.append(self.pulls_per_arm, np.zeros(more, np.int64))
        self._sums = np.append(self._sums, np.zeros(more))
        self._known = np.append(self._known, np.zeros(more, np.int64))

    def send(self, reply: Reply, bandit: str = "the bandit") -> None:
        """Answer the request. `bandit` is what a message about a wrong reply calls whoever gave it."""
        request = self.request
        assert request is not None, "nothing was asked"
        check_reply(request, reply, bandit)
        self.rounds += 1
        self.pulls += request.total
        times = request.times if isinstance(request, Pull) else len(request.items)
        self.pulls_per_arm[request.arms] += times
        if isinstance(request, Cells) or request.statistic is not Statistic.PAIRS:
            self._sums[request.arms] += _sums(request, reply)
            self._known[request.arms] += times
            self._widen(request, reply)
        if self.transcript is not None:
            self.transcript.append((request, reply))
        self._advance(reply)

    def _widen(self, request: Request, reply: Reply) -> None:
        if isinstance(request, Pull) and request.statistic is Statistic.MEAN:
            return
        rewards = reply.values if isinstance(reply, Atoms) else np.asarray(reply)
        if rewards.size:
            self.least, self.most = min(self.least, float(rewards.min())), max(self.most, float(rewards.max()))

    def _advance(self, reply: Reply | None) -> None:
        self._status = None
        try:
            request = self._procedure.send(reply)
        except StopIteration as end:
            self.request, self.value = None, end.value
            return
        check_request(request, len(self.pulls_per_arm), self.name, self.items, self.request)
        if self.request is not None:
            check_announced(self.request, request, self.name)
        if self.budget is not None and self.pulls + request.total > self.budget:
            self.request, self.unanswered = None, request
            self._status = request.status() if request.status is not None else None
            self._procedure.close()
        else:
            self.request, self.announced = request, self._announced(request)

    def _announced(self, request: Request) -> tuple[Pull, ...]:
        """What a request announces, as far as the budget goes."""
        ahead = request.ahead if isinstance(request, Pull) else ()
        if self.budget is None or not ahead:
            return ahead
        costs = accumulate((later.total for later in ahead), initial=self.pulls + request.total)
        return tuple(later for later, cost in zip(ahead, list(costs)[1:], strict=True) if cost <= self.budget)


def statistic_of(request: Request, rewards: FloatArray) -> Reply:
    """The reply to a request, from its rewards: arm after arm, each arm's in the order in which they were asked for.

    >>> statistic_of(Pull([4, 7], [2, 4], Statistic.MEAN), np.array([0, 1, 1, 1, 1, 0]))
    array([0.5 , 0.75])
    >>> statistic_of(Pull([4, 7], [2, 4], Statistic.PAIRS), np.array([0, 1, 1, 1, 1, 0]))
    array([0.5 , 0.25])
    """
    assert isinstance(request, Pull)
    if request.statistic is Statistic.REWARDS:
        return rewards
    ends = np.cumsum(request.times)
    parts = np.split(rewards, ends[:-1])
    match request.statistic:
        case Statistic.MEAN:
            return np.array([part.mean() for part in parts])
        case Statistic.PAIRS:
            halves = [np.split(part, 2) for part in parts]
            return np.array([((early - late) ** 2).mean() / 2 for early, late in halves])
        case Statistic.ATOMS:
            return atoms_of([np.unique(part, return_counts=True) for part in parts])


def _sums(request: Request, reply: Reply) -> FloatArray:
    """The sum of each arm's rewards in a reply."""
    if isinstance(request, Cells):
        return np.asarray(np.asarray(reply).sum(axis=1), np.float64)
    if isinstance(reply, Atoms):
        return np.add.reduceat(reply.values * reply.counts, reply.start[:-1])
    if request.statistic is Statistic.MEAN:
        return reply * request.times
    return np.add.reduceat(reply, np.cumsum(request.times) - request.times)
