"""The whole vocabulary between an algorithm and the world. No input or output here.

An algorithm is a generator: it yields a request, receives the reply, and returns its answer. Requests are of two kinds:
`Pull` asks for fresh rewards of some arms, `Cells` for the rewards of some arms on some items of a list. An algorithm never
pulls, waits, stores or looks at a clock; drivers do that. Procedures compose with ``yield from``.

>>> from surest.core.protocol import Pull, Statistic
>>> def larger_mean(arms, times):
...     means = yield Pull(arms, times, Statistic.MEAN)
...     return arms[means.argmax()]
>>> procedure = larger_mean(np.array([0, 1]), 10)
>>> request = next(procedure)
>>> request.total
20
>>> procedure.send(np.array([0.2, 0.7]))
Traceback (most recent call last):
    ...
StopIteration: 1
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from surest.errors import PullLimitError, UsageError

IntArray = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


class Statistic(StrEnum):
    """What of an arm's fresh rewards x_1 … x_T a request asks for."""

    MEAN = "mean"
    """An array, one element per arm: the mean reward."""
    PAIRS = "pairs"
    """An array, one element per arm: the mean of (x_r − x_{r+T/2})²/2 over r = 1 … T/2. T is even."""
    ATOMS = "atoms"
    """`Atoms`: each arm's distinct rewards and how often each came."""
    REWARDS = "rewards"
    """One array: the rewards themselves, arm after arm, each arm's in the order in which they were asked for."""


@dataclass(frozen=True, slots=True)
class Atoms:
    """Rewards as multisets: arm k's distinct values are ``values[start[k]:start[k + 1]]``, in rising order."""

    start: IntArray
    values: FloatArray
    counts: IntArray


R = TypeVar("R")
Reply = FloatArray | Atoms


@dataclass(frozen=True, slots=True)
class Status:
    """What an algorithm can say of its state while it runs. What it does not know stays None."""

    leader: int
    """The arm it would name now."""
    achieved_delta: float | None = None
    """The error level at which the leader is certified as things stand: an anytime p-value."""
    epsilon_certified: float | None = None
    """The smallest ε for which the leader is certified ε-optimal at the requested δ."""
    contenders: tuple[int, ...] | None = None
    """The arms that may still be the best: at level δ a best arm is among them, at every moment."""
    in_play: int | None = None
    """How many arms may still be the best, or have no verdict."""
    apart: float | None = None
    """How far apart the contenders can be, where there are several: at level δ all their means are within this of the best."""
    evidence: float | None = None
    """Evidence, in nats, where it is weakest …"""
    threshold: float | None = None
    """… and how much of it a decision needs."""
    forecast: float | None = None
    """A guess at the pulls still needed."""
    nominees: tuple[int, ...] = ()
    """The arms nominated so far (Wager)."""
    chosen: tuple[int, ...] = ()
    """The arms it would name now, where the question asks for several."""
    verdicts: tuple[int, ...] | None = None
    """What is certified of each arm, where the question asks something of each: 1, −1 or, as long as it is open, 0."""
    means: FloatArray | None = None
    """Each arm's mean so far, where that is not the mean of its rewards: items of a list may count differently."""
    intervals: tuple[FloatArray, FloatArray] | None = None
    """Each arm's confidence bounds. Whether they hold for each arm or for all at once, the algorithm's page says."""
    differences: tuple[FloatArray, FloatArray] | None = None
    """Bounds of each arm's mean less the leader's (the control's, where there is one), for all arms at once, where the algorithm
    compares arms item by item."""
    duels: Any = None
    """What duels came to (`result.duels.Duels`): leader, chosen and contenders are then players, and what is pulled are pairs."""
    lead: "Leads | None" = None
    """By how much the leader (the last arm chosen) is ahead of others: a function, as it takes a while to compute."""


class LeadBounds(NamedTuple):
    """Bounds of how much larger one arm's mean is than another's. They hold for all pairs of arms at once."""

    arm: int
    over: int
    low: float
    high: float


class Leads(Protocol):
    """What computes by how much an arm is ahead of another, as things stood when it was made."""

    @property
    def others(self) -> tuple[int, ...]:
        """The arms over which it can tell the lead: the runner-up, and the leading ones."""

    def __call__(self, over: int | None = None) -> LeadBounds:
        """The bounds of the lead over an arm, by default the runner-up."""


class Point(NamedTuple):
    """The state of a run at one moment."""

    pulls: int
    evidence: float
    """In nats, where it is weakest; below zero, or −inf, before anything speaks for the leader."""
    threshold: float


@dataclass(frozen=True, slots=True, init=False)
class Answer:
    """How a procedure ends: the arms it names, one for "which is the best?", any number for other questions.

    >>> Answer(2).arms, Answer([0, 3]).arms
    ((2,), (0, 3))
    """

    arms: tuple[int, ...]
    certified: bool
    """Whether the guarantee holds for them."""
    reason: str
    status: Status | None
    contenders: tuple[int, ...] | None
    """The arms that may still be right, at level δ, where the procedure can say it."""
    verdicts: tuple[int, ...] | None
    """One verdict per arm (1, −1 or 0), where the question asks something of each: see `core.question`."""
    estimate: tuple[float, float, float, int] | None
    """The mean of the arm, its bounds, and on how many evaluations after the verdict it rests, where that was asked for."""

    def __init__(
        self, arms: int | Sequence[int], certified: bool = True, reason: str = "certified",
        status: Status | None = None, contenders: Sequence[int] | None = None, verdicts: Sequence[int] | None = None,
        estimate: tuple[float, float, float, int] | None = None,
    ) -> None:  # fmt: skip
        if status is not None:
            contenders = status.contenders if contenders is None else contenders
            verdicts = status.verdicts if verdicts is None else verdicts
        named = [arms] if isinstance(arms, int | np.integer) else arms
        for name, numbers in (("arms", named), ("contenders", contenders), ("verdicts", verdicts)):
            object.__setattr__(self, name, None if numbers is None else tuple(map(int, numbers)))
        for name, value in (("certified", certified), ("reason", reason), ("status", status), ("estimate", estimate)):
            object.__setattr__(self, name, value)

    @property
    def arm(self) -> int:
        """The first of the arms: the best one, where one was asked for."""
        return self.arms[0]


class Pull:
    """A request for fresh rewards: pull each of `arms` (none twice) `times` times, reply with `statistic` of them.

    `status`, where an algorithm gives it, tells the state at the moment of the request; it is a function because
    most requests are never looked at. It must not be called once the procedure has gone on. `evidence` tells only the status'
    evidence and threshold, which may be much cheaper.

    `ahead` are the requests that follow this one, unless the procedure ends, whatever the replies are. A driver with idle workers
    may evaluate them beforehand; whether it does makes no difference to the algorithm.

    `so_far` is what the procedure has to say if the request is never answered, where it has reached its verdict.

    >>> Pull([0, 1, 2], 2**62, Statistic.MEAN).total
    13835058055282163712
    """

    __slots__ = ("ahead", "arms", "evidence", "so_far", "statistic", "status", "times", "total")

    def __init__(
        self, arms: npt.ArrayLike, times: npt.ArrayLike, statistic: Statistic,
        status: Callable[[], Status] | None = None, ahead: Sequence["Pull"] = (),
        evidence: Callable[[], tuple[float, float]] | None = None, so_far: Answer | None = None,
    ) -> None:  # fmt: skip
        self.arms: IntArray = np.atleast_1d(np.asarray(arms, dtype=np.int64))
        often = np.asarray(times, dtype=np.int64)
        self.times: IntArray = often if often.shape == self.arms.shape else np.broadcast_to(often, self.arms.shape)
        self.statistic = statistic
        self.status = status
        self.ahead = tuple(ahead)
        self.evidence, self.so_far = evidence, so_far
        self.total = (int((self.times >> 32).sum()) << 32) + int((self.times & 0xFFFFFFFF).sum())
        """All pulls of the request, without overflow: 10^5 arms of 10^17 pulls each do not fit into 64 bits."""

    def __repr__(self) -> str:
        return f"Pull(arms={self.arms.tolist()}, times={self.times.tolist()}, {self.statistic})"

    def same_as(self, other: "Request") -> bool:
        """Whether both ask for the same."""
        return (
            isinstance(other, Pull)
            and self.statistic == other.statistic
            and np.array_equal(self.arms, other.arms)
            and np.array_equal(self.times, other.times)
        )


class Cells:
    """A request for a block of cells: evaluate each of `arms` on each of `items` of a list, none twice.

    Arms and items are positions, from 0. The reply is an array of rewards, one row per arm and one column per item. A cell is
    evaluated once in the life of a search: asked for again, it has the reward that it had. `status`, `evidence` and `so_far` are
    those of a `Pull`.

    `ahead` names the items that the algorithm will come to next, in order. A driver with idle workers may evaluate the same
    arms on them beforehand; whether it does makes no difference to the algorithm.

    >>> Cells([0, 2], [7], ahead=[3, 5])
    Cells(arms=[0, 2], items=[7])
    """

    __slots__ = ("ahead", "arms", "evidence", "items", "so_far", "status", "total")

    def __init__(
        self, arms: npt.ArrayLike, items: npt.ArrayLike, ahead: npt.ArrayLike = (),
        status: Callable[[], Status] | None = None, evidence: Callable[[], tuple[float, float]] | None = None,
        so_far: Answer | None = None,
    ) -> None:  # fmt: skip
        self.arms: IntArray = np.atleast_1d(np.asarray(arms, dtype=np.int64))
        self.items: IntArray = np.atleast_1d(np.asarray(items, dtype=np.int64))
        self.ahead: IntArray = np.asarray(ahead, dtype=np.int64)
        self.status, self.evidence, self.so_far = status, evidence, so_far
        self.total = len(self.arms) * len(self.items)
        """All cells of the request."""

    def __repr__(self) -> str:
        return f"Cells(arms={self.arms.tolist()}, items={self.items.tolist()})"

    def same_as(self, other: "Request") -> bool:
        """Whether both ask for the same."""
        return (
            isinstance(other, Cells)
            and np.array_equal(self.arms, other.arms)
            and np.array_equal(self.items, other.items)
        )


Request = Pull | Cells
Procedure = Generator[Any, Any, R]
"""A generator that yields requests, is sent replies, and returns an R. `core.procedure` checks requests and replies."""


class Bandit(Protocol):
    """What can be pulled."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The arms' names, in order."""

    def answer(self, request: Any) -> Reply:
        """Reply to a request: with the statistic that a `Pull` names, or with the cells that a `Cells` asks for."""


def atoms_of(arms: Sequence[tuple[FloatArray, IntArray]]) -> Atoms:
    """Put the multisets of several arms into one reply."""
    start = np.cumsum([0, *(len(values) for values, _ in arms)])
    return Atoms(start, np.concatenate([v for v, _ in arms]), np.concatenate([c for _, c in arms]))


def whole(sizes: npt.ArrayLike) -> IntArray:
    """Round sample sizes up: the paper's are real numbers, pulls are not."""
    rounded = np.ceil(np.asarray(sizes, dtype=np.float64))
    if not (rounded < 2.0**63).all():
        raise PullLimitError(
            f"{rounded.max():.3g} pulls of one arm in one request cannot be counted in 64 bits; "
            "if two arms may be equally good, give a budget or an ε > 0"
        )
    return np.maximum(rounded, 1).astype(np.int64)


def checked_delta(delta: float) -> float:
    """A validated error probability."""
    if isinstance(delta, bool) or not isinstance(delta, Real) or not 0 < delta < 1:
        raise UsageError(
            f"delta is {delta!r:.60}; the allowed error probability must lie strictly between 0 and 1, e.g. 0.05"
        )
    return delta
