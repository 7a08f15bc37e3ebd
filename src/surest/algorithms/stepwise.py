"""Algorithms that decide pull by pull: one compiled function from what was seen to what to pull next.

Such an algorithm is a `Stepwise`: a function ``decide(state)`` that names the next arms in ``state.pick`` and returns how
many they are, 0 to stop and answer ``state.marks[LEADER]``, or the arms that `CHOSEN` marks. Two drivers call the same
function. `run` yields a request a decision, and so works with anything that can be pulled. `advance` decides and consumes
rewards drawn beforehand, block by block, without leaving machine code: see `surest.drivers.blocks`.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from surest.algorithms.entry import Entry
from surest.compiled import compiled
from surest.core.protocol import Answer, BoolArray, FloatArray, IntArray, Procedure, Pull, Statistic, Status
from surest.core.question import Question

LEADER, TOTAL, ASKED = 0, 1, 2
"""Places in `State.marks`: the arm it would name, all pulls so far, the arms asked for last."""
CHOSEN = 0
"""The row of `State.memory` that marks the arms it would name, where it names several: 1 the best one, 2 the next, …"""
SPARE = 8
"""A row of memory has at least so many places, for numbers that belong to no arm."""


class State(NamedTuple):
    """Everything such an algorithm knows, in arrays that it may change."""

    counts: IntArray
    sums: FloatArray
    squares: FloatArray
    active: BoolArray
    """Arms still in play, for those that drop some."""
    pick: IntArray
    """The arms to pull next: the first so many as `decide` returned."""
    fresh: FloatArray
    """The rewards of the arms last picked, in their order."""
    marks: IntArray
    memory: FloatArray
    """The algorithm's own: rows with a place an arm."""
    settings: FloatArray
    """Its constants; each rule names their places."""
    noise: npt.NDArray[np.uint64]
    """The state of a small random generator, for ties and coins."""


class Stepwise(NamedTuple):
    """A rule and where it starts."""

    decide: Callable[[State], int]
    state: State
    reason: str = "certified"
    certified: bool = True
    top: int = 0
    """How many arms it names, by the row `CHOSEN`; 0: the leader."""

    @property
    def status(self) -> Status:
        """What it would name now; before its first decision the first arms."""
        ranks, leader = self.state.memory[CHOSEN, : len(self.state.counts)], int(self.state.marks[LEADER])
        marked = np.argsort(np.where(ranks > 0, ranks, np.inf), kind="stable")
        return Status(leader=leader, chosen=tuple(marked[: self.top].tolist()))

    @property
    def answer(self) -> Answer:
        """What it names at its end."""
        status = self.status
        return Answer(status.chosen or status.leader, self.certified, self.reason, status)


def fresh_state(
    n: int, settings: Mapping[int, float] | tuple[float, ...], *, rows: int = 1, rng: np.random.Generator
) -> State:
    """The state before the first pull; settings by their place (a rule names its places), or in order."""
    placed = settings if isinstance(settings, Mapping) else dict(enumerate(settings))
    return State(
        counts=np.zeros(n, np.int64),
        sums=np.zeros(n),
        squares=np.zeros(n),
        active=np.ones(n, np.bool_),
        pick=np.zeros(n, np.int64),
        fresh=np.zeros(n),
        marks=np.zeros(4, np.int64),
        memory=np.zeros((rows, max(n, SPARE))),
        settings=np.array([placed[place] for place in range(len(placed))], np.float64),
        noise=rng.integers(1, 2**63, 1, np.uint64),
    )


def named(question: Question) -> int:
    """How many arms an algorithm names, where it is asked for the best one or for several: see `Stepwise.top`."""
    return question.top if question.kind == "top" else 0


def run(stepwise: Stepwise) -> Procedure[Answer]:
    """The algorithm as a procedure: a request a decision."""
    decide, state = stepwise.decide, stepwise.state
    while asked := decide(state):
        state.marks[ASKED] = asked
        state.fresh[:asked] = yield Pull(state.pick[:asked].copy(), 1, Statistic.REWARDS, lambda: stepwise.status)
        absorb(state)
    return stepwise.answer


def pullwise(build: Callable[..., Stepwise], **facts: Any) -> Entry:
    """The entry of an algorithm that decides pull by pull; `build` takes a `Task` and the algorithm's own options."""
    return Entry(start=lambda task, **options: run(build(task, **options)), stepwise=build, **facts)


@compiled
def absorb(state: State) -> None:
    """Count the fresh rewards."""
    asked = state.marks[ASKED]
    for i in range(asked):
        arm, reward = state.pick[i], state.fresh[i]
        state.counts[arm] += 1
        state.sums[arm] += reward
        state.squares[arm] += reward * reward
    state.marks[TOTAL] += asked


@compiled
def everyone(state: State) -> int:
    """Ask for one pull of every arm in play."""
    asked = 0
    for arm in range(len(state.counts)):
        if state.active[arm]:
            state.pick[asked] = arm
            asked += 1
    return asked


@compiled
def random_below(noise: npt.NDArray[np.uint64], bound: int) -> int:
    """A random whole number from 0 to bound − 1 (xorshift64*; the bias is below bound/2^53)."""
    x = noise[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    noise[0] = x
    unit = np.float64((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0
    return int(unit * bound)


@compiled
def empirical_best(state: State) -> int:
    """The arm in play with the largest mean, one of them at random where several have it; it becomes the leader."""
    best, top, ties = -1, -1.0, 1
    for arm in range(len(state.counts)):
        if not state.active[arm]:
            continue
        mean = state.sums[arm] / state.counts[arm]
        if mean > top:
            best, top, ties = arm, mean, 1
        elif mean == top:
            ties += 1
            if random_below(state.noise, ties) == 0:
                best = arm
    state.marks[LEADER] = best
    return best


@compiled
def empirical_top(state: State, m: int) -> None:
    """Mark the m arms in play with the largest means in the row `CHOSEN`, ties at random; the best becomes the leader."""
    state.memory[CHOSEN, :] = 0.0
    leader = empirical_best(state)
    state.memory[CHOSEN, leader] = 1.0
    for rank in range(2, m + 1):
        for arm in range(len(state.counts)):  # the next best is the best of those not marked yet
            state.active[arm] = state.memory[CHOSEN, arm] == 0.0
        state.memory[CHOSEN, empirical_best(state)] = rank
    state.active[:] = True
    state.marks[LEADER] = leader


@compiled
def first_of(values: FloatArray, n: int, other_than: int, noise: npt.NDArray[np.uint64]) -> int:
    """The arm with the largest of n values, one at random where several have it; `other_than` (−1: none) is passed over."""
    first, ties = -1, 1
    for arm in range(n):
        if arm == other_than:
            continue
        if first < 0 or values[arm] > values[first]:
            first, ties = arm, 1
        elif values[arm] == values[first]:
            ties += 1
            if random_below(noise, ties) == 0:
                first = arm
    return first
