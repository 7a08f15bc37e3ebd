"""Run an algorithm that decides pull by pull on simulated arms, in machine code, block by block.

An arm's single rewards are a stream that depends on the seed and the arm alone (`bandits.finite.Draws`), so they may be
drawn before they are asked for. What comes out is what the algorithm's generator would have done, request for request.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numba import float64, int64, typeof, types
from numba.experimental.function_type import _get_wrapper_address

from surest.algorithms.stepwise import ASKED, LEADER, TOTAL, State, Stepwise, absorb, fresh_state
from surest.arms.finite import FiniteSimulation
from surest.compiled import compiled_as
from surest.core.protocol import Answer, FloatArray, IntArray, Pull, Statistic, Status

FIRST, GROWTH, MOST, ALL = 256, 8, 8192, 2**20
"""Rewards drawn for an arm at first, how much more each time, at most, and places for the rewards of all arms."""
STOPPED, SPENT, REFILL = 0, 1, 2

_STATE: Any = typeof(fresh_state(2, (0.0,), rng=np.random.default_rng(0)))  # type: ignore[no-untyped-call]
_SIGNATURE = int64(_STATE)


class _Pointer(types.WrapperAddressProtocol):
    """A compiled `decide` as a value, found once: numba looks for it for half a millisecond."""

    def __init__(self, decide: Any) -> None:
        decide.compile(_SIGNATURE)
        self._address = _get_wrapper_address(decide, _SIGNATURE)  # type: ignore[no-untyped-call]

    def __wrapper_address__(self) -> Any:
        return self._address

    def signature(self) -> Any:
        """What it takes and returns."""
        return _SIGNATURE


@lru_cache
def _pointer(decide: Callable[[State], int]) -> _Pointer:
    return _Pointer(decide)


def _advance(
    decide: Any, state: State, rewards: FloatArray, used: IntArray, drawn: IntArray, progress: IntArray, log: IntArray
) -> int:
    """Decide and consume rewards until it stops, the budget is spent, or an arm has none left.

    `progress` holds: arms picked and not yet pulled, the budget, rounds, the arm that needs rewards. `log`, unless
    empty, receives the arms in the order in which they were pulled.
    """
    while True:
        asked = progress[0]
        if asked == 0:
            asked = decide(state)
            if asked == 0:
                return STOPPED
            state.marks[ASKED] = asked
            progress[0] = asked
            if state.marks[TOTAL] + asked > progress[1]:
                return SPENT
        for i in range(asked):
            if used[state.pick[i]] == drawn[state.pick[i]]:
                progress[3] = state.pick[i]
                return REFILL
        for i in range(asked):
            arm = state.pick[i]
            state.fresh[i] = rewards[arm, used[arm]]
            used[arm] += 1
            if len(log) > 0:
                log[state.marks[TOTAL] + i] = arm
        absorb(state)
        progress[0] = 0
        progress[2] += 1


advance = compiled_as(
    _advance,
    int64(types.FunctionType(_SIGNATURE), _STATE, float64[:, ::1], int64[::1], int64[::1], int64[::1], int64[::1]),
)


@dataclass(frozen=True)
class Finished:
    """How a run ended: what `Running` says of one, as far as it applies."""

    value: Answer | None
    """The answer, or None where the budget was spent."""
    status: Status
    pulls: int
    pulls_per_arm: IntArray
    rounds: int
    means: FloatArray
    pulled: IntArray
    """The arms in the order in which they were pulled, where that was asked for."""

    @property
    def spent(self) -> bool:
        """Whether it ended because the budget was spent."""
        return self.value is None


def simulate_blocks(
    stepwise: Stepwise, simulation: FiniteSimulation, *, budget: int | None = None, record: bool = False
) -> Finished:
    """Run to the end, or to the first request that the budget does not allow. `record` needs a budget, and its memory.

    >>> from surest.algorithms import REGISTRY, Task
    >>> from surest.arms.finite import bernoulli
    >>> task = Task(np.arange(2), 0.1, 0.0, None, np.random.default_rng(0))
    >>> simulate_blocks(REGISTRY["lucb"].stepwise(task), bernoulli([0.8, 0.2]).simulate(1)).value.arm
    0
    """
    state, n = stepwise.state, len(simulation.labels)
    first, most = max(8, min(FIRST, ALL // n)), max(8, min(MOST, ALL // n))
    rewards, used, drawn = np.empty((n, most)), np.zeros(n, np.int64), np.full(n, first)
    rewards[:, :first] = np.reshape(_rewards(simulation, np.arange(n), first), (n, first))
    limit = np.iinfo(np.int64).max if budget is None else budget
    progress = np.array([0, limit, 0, 0], np.int64)
    log = np.zeros(limit if record else 0, np.int64)
    decide = _pointer(stepwise.decide)
    while (why := advance(decide, state, rewards, used, drawn, progress, log)) == REFILL:
        arm = int(progress[3])
        drawn[arm] = min(GROWTH * drawn[arm], most)
        rewards[arm, : drawn[arm]] = _rewards(simulation, np.array([arm]), int(drawn[arm]))
        used[arm] = 0
    status = Status(leader=int(state.marks[LEADER]))
    value = Answer(status.leader, stepwise.certified, stepwise.reason, status) if why == STOPPED else None
    pulls = int(state.marks[TOTAL])
    with np.errstate(invalid="ignore"):
        means = state.sums / state.counts
    return Finished(value, status, pulls, state.counts, int(progress[2]), means, log[:pulls])


def _rewards(simulation: FiniteSimulation, arms: IntArray, times: int) -> FloatArray:
    return cast(FloatArray, simulation.answer(Pull(arms, times, Statistic.REWARDS)))
