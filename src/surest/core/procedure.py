"""A procedure on its way: the request it waits on, what it has cost, how it ended. Drivers and sessions move it."""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Generic

import numpy as np

from surest.core.costs import Spent
from surest.core.protocol import (
    Atoms,
    Cells,
    FloatArray,
    IntArray,
    Procedure,
    Pull,
    R,
    Reply,
    Request,
    Statistic,
    Status,
    atoms_of,
)
from surest.errors import ContractError, PullLimitError
from surest.text import short

Exchange = tuple[Request, Reply]
MOST_TICKETS = 10**8  # rewards of one request that are kept in memory until the last of them has come


class Running(Generic[R]):
    """Advances a procedure reply by reply, under a budget of pulls. Every request and every reply is checked.

    `name` is what messages call the procedure, `standing` what is known of its guarantee; `items` is the length of the list that
    it works on, if there is one.
    """

    def __init__(
        self, procedure: Procedure[R], n: int, *, budget: int | None = None, record: bool = False,
        name: str = "(unnamed)", items: int | None = None, costs: Spent | None = None, standing: str = "",
    ) -> None:  # fmt: skip
        self._procedure, self.name, self.items, self.standing = procedure, name, items, standing
        self.budget = budget
        self.costs = costs  # what was spent on each arm; None where nothing is known of that
        self.request: Request | None = None
        """What the procedure waits on; None once it has ended or the budget does not allow its next request."""
        self.value: R | None = None  # what the procedure returned
        self.unanswered: Request | None = None  # the request that the budget did not allow …
        self.spent = False  # … and whether there is one: it ended because the budget was spent
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
    def settled(self) -> Any:
        """What the procedure returned, or has to say already while it goes on."""
        return self.value if self.value is not None or self.request is None else self.request.so_far

    @property
    def means(self) -> FloatArray:
        """Every arm's mean reward so far; NaN where nothing is known."""
        with np.errstate(invalid="ignore"):
            return self._sums / self._known

    @property
    def status(self) -> Status | None:
        """The procedure's own word on its state, at its last request or in its answer, where it gives one. It is made once: that
        costs time."""
        if self.settled is not None:
            return getattr(self.settled, "status", None)
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
        if self.costs is not None and not self.costs.told:
            self.costs.add(request.arms, np.full(len(request.arms), np.nan), times)
        if isinstance(request, Cells) or request.statistic is not Statistic.PAIRS:
            self._sums[request.arms] += _sums(request, reply)
            self._known[request.arms] += times
            rewards = reply.values if isinstance(reply, Atoms) else np.asarray(reply)
            if rewards.size and not (isinstance(request, Pull) and request.statistic is Statistic.MEAN):
                self.least, self.most = min(self.least, float(rewards.min())), max(self.most, float(rewards.max()))
        if self.transcript is not None:
            self.transcript.append((request, reply))
        self._advance(reply)

    def _advance(self, reply: Reply | None) -> None:
        self._status = None
        try:
            request = self._procedure.send(reply)
        except StopIteration as end:
            self.request, self.value = None, end.value
            return
        check_request(request, len(self.pulls_per_arm), self.name, self.items, self.request)
        if isinstance(self.request, Pull) and self.request.ahead:
            check_announced(self.request.ahead, request, self.name)
        beyond = self.budget is not None and self.pulls + request.total > self.budget
        times = request.times if isinstance(request, Pull) else len(request.items)
        if beyond or (self.costs is not None and not self.costs.told and self.costs.beyond(request.arms, times)):
            self.request, self.unanswered, self.value, self.spent = None, request, request.so_far, True
            self._status = request.status() if request.status is not None else None
            self._procedure.close()
        else:
            ahead = request.ahead if isinstance(request, Pull) else ()
            if ahead and self.budget is not None:
                costs = accumulate((later.total for later in ahead), initial=self.pulls + request.total)
                ahead = tuple(later for later, cost in zip(ahead, list(costs)[1:], strict=True) if cost <= self.budget)
            self.request, self.announced = request, ahead


def statistic_of(request: Request, rewards: FloatArray) -> Reply:
    """The reply to a request, from its rewards: arm after arm, each arm's in the order in which they were asked for."""
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


def check_size(request: Pull, name: str) -> None:
    """Refuse a request whose rewards do not fit into memory."""
    if request.total > MOST_TICKETS:
        raise PullLimitError(
            f"{name} asks for {request.total:.3g} evaluations at once, more than a session keeps in memory "
            f"({MOST_TICKETS:.0e}); such algorithms run on simulated arms of finite support only"
        )


def _sums(request: Request, reply: Reply) -> FloatArray:
    if isinstance(request, Cells):
        return np.asarray(np.asarray(reply).sum(axis=1), np.float64)
    if isinstance(reply, Atoms):
        return np.add.reduceat(reply.values * reply.counts, reply.start[:-1])
    if request.statistic is Statistic.MEAN:
        return reply * request.times
    return np.add.reduceat(reply, np.cumsum(request.times) - request.times)


def check_request(request: Any, n: int, name: str, items: int | None = None, before: Request | None = None) -> Request:
    """A request, validated for an algorithm on n arms (and on a list of `items` items).

    `before` is the request that was checked last: what both look ahead at is not gone through again.
    """
    if not isinstance(request, Pull | Cells):
        raise _broken(name, request, "is not a request", "a procedure yields Pull or Cells (see surest.core.protocol)")
    wrong = _wrong_positions(request.arms, n, "arm")
    if isinstance(request, Cells):
        ahead, seen = request.ahead, before.ahead.base if isinstance(before, Cells) else None
        part = seen is not None and ahead.base is seen  # of one list, else gone through once for each of its items
        if items is None:
            allowed = "there is no list of items here: every evaluation is a fresh pull (surest.evaluate has one)"
            wrong = wrong or ("wants cells", allowed)
        elif len(ahead) and not part and not (ahead.min() >= 0 and ahead.max() < items):
            allowed = f"there are {items} items, numbered 0 to {items - 1}"
            wrong = wrong or ("looks ahead at items that do not exist", allowed)
        else:
            wrong = wrong or _wrong_positions(request.items, items, "item")
    elif not isinstance(request.statistic, Statistic):
        kinds = ", ".join(Statistic.__members__)
        wrong = wrong or (f"wants the statistic {request.statistic!r}", f"a statistic is one of Statistic.{kinds}")
    elif not (request.times >= 1).all():
        wrong = wrong or ("pulls an arm less than once", "a request pulls each of its arms at least once")
    elif request.statistic is Statistic.PAIRS and (request.times % 2).any():
        allowed = "the statistic 'pairs' needs an even number of pulls of each arm"
        wrong = wrong or ("wants pairs of an odd number of pulls", allowed)
    if wrong is not None:
        raise _broken(name, request, *wrong)
    for later in request.ahead if isinstance(request, Pull) else ():
        check_request(later, n, name, items)
    return request


def check_announced(announced: Sequence[Pull], request: Request, name: str) -> None:
    """Refuse a request that breaks what the one before announced: what is announced may have been evaluated already."""
    follows = [request, *(request.ahead if isinstance(request, Pull) else ())]
    for place, expected in enumerate(announced):
        if place == len(follows) or not expected.same_as(follows[place]):
            did = "is not" if place == 0 else "no longer announces"
            raise _broken(
                name, request, f"{did} {short(expected, 100)}", "the request before had announced that in `ahead`"
            )


def check_reply(request: Request, reply: Any, bandit: str) -> None:
    """Refuse a reply that does not answer the request with rewards in [0, 1]."""
    answered = f"{bandit} answered "  # the rest of a message costs time
    if isinstance(request, Pull) and request.statistic is Statistic.ATOMS:
        if not isinstance(reply, Atoms) or len(reply.start) != len(request.arms) + 1:
            raise ContractError(
                f"{answered}{short(request, 100)} with {short(reply, 100)}; the statistic 'atoms' is answered with Atoms of "
                f"{len(request.arms)} arms"
            )
        values = reply.values
    else:
        wanted: tuple[int, ...] = (len(request.arms),)
        if isinstance(request, Cells):
            wanted = len(request.arms), len(request.items)
        elif request.statistic is Statistic.REWARDS:
            wanted = (request.total,)
        if not isinstance(reply, np.ndarray) or reply.dtype != np.float64 or reply.shape != wanted:
            raise ContractError(
                f"{answered}{short(request, 100)} with {short(reply, 100)}; it needs an array of float64 of shape {wanted}"
            )
        values = reply
    if not (values.size == 1 and 0.0 <= values.item() <= 1.0) and not (values.min() >= 0.0 and values.max() <= 1.0):
        raise ContractError(f"{answered}{short(request, 100)} with numbers outside of [0, 1], where rewards must lie")


def _wrong_positions(places: IntArray, n: int, what: str) -> tuple[str, str] | None:
    if places.ndim != 1 or not len(places):
        return f"names no {what}", f"a request names at least one {what}, in an array of one dimension"
    if len(places) == 1:
        first = last = int(places[0])
        rising = True
    else:
        first, last = int(places.min()), int(places.max())
        rising = bool((places[1:] > places[:-1]).all())
    if first < 0 or last >= n:
        return f"names {what} {first if first < 0 else last}", f"there are {n} {what}s, numbered 0 to {n - 1}"
    if not rising and len(np.unique(places)) < len(places):
        twice = int(places[np.flatnonzero(np.bincount(places)[places] > 1)[0]])
        how = "with the number of its pulls" if what == "arm" else "in the order in which they count"
        return f"names {what} {twice} twice", f"a request names each {what} once, {how}"
    return None


def _broken(name: str, request: object, did: str, allowed: str) -> ContractError:
    return ContractError(f"algorithm {name} asked for {short(request, 100)}, which {did}; {allowed}")
