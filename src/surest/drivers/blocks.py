"""Run an algorithm that decides pull by pull on simulated arms, in machine code, block by block.

An arm's single rewards are a stream that depends on the seed and the arm alone (`bandits.finite.Draws`), so they may be
drawn before they are asked for. What comes out is what the algorithm's generator would have done, request for request.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np

from surest.algorithms.stepwise import ASKED, TOTAL, State, Stepwise, absorb, fresh_state
from surest.arms.finite import FiniteSimulation
from surest.compiled import Kernel, compiled, compiled_as, compiler
from surest.core.protocol import Answer, FloatArray, IntArray, Pull, Statistic, Status

FIRST, GROWTH, MOST, ALL = 256, 8, 8192, 2**20
"""Rewards drawn for an arm at first, how much more each time, at most, and places for the rewards of all arms."""
STOPPED, SPENT, REFILL = 0, 1, 2


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


@lru_cache(maxsize=1)
def _signature() -> Any:
    """What a `decide` in machine code takes and returns."""
    numba = compiler()
    return numba.int64(numba.typeof(fresh_state(2, (0.0,), rng=np.random.default_rng(0))))


@lru_cache(maxsize=1)
def _machine_code() -> Any:
    """`_advance` in machine code: for every `decide` the same."""
    numba, signature = compiler(), _signature()
    int64, rewards = numba.int64, numba.float64[:, ::1]
    decide, state, whole = numba.types.FunctionType(signature), signature.args[0], int64[::1]
    return compiled_as(_advance, int64(decide, state, rewards, whole, whole, whole, whole))


@lru_cache
def _pointer(decide: Kernel) -> Any:
    """A compiled `decide` as a value, found once: numba looks for it for half a millisecond."""
    return compiler().types.CompileResultWAP(decide.dispatcher().get_compile_result(_signature()))


def _loop(decide: Callable[[State], int]) -> Callable[..., int]:
    """`_advance` with its first argument: in machine code, or as plain Python where there is no compiler."""
    kernel = cast(Kernel, decide)
    if compiler() is None:
        plain = cast(Kernel, compiled(_advance)).plain
        return np.errstate(all="ignore")(partial(plain, kernel.plain))
    return partial(_machine_code(), _pointer(kernel))


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
    advance = _loop(stepwise.decide)
    while (why := advance(state, rewards, used, drawn, progress, log)) == REFILL:
        arm = int(progress[3])
        drawn[arm] = min(GROWTH * drawn[arm], most)
        rewards[arm, : drawn[arm]] = _rewards(simulation, np.array([arm]), int(drawn[arm]))
        used[arm] = 0
    value = stepwise.answer if why == STOPPED else None
    pulls = int(state.marks[TOTAL])
    with np.errstate(invalid="ignore"):
        means = state.sums / state.counts
    return Finished(value, stepwise.status, pulls, state.counts, int(progress[2]), means, log[:pulls])


def _rewards(simulation: FiniteSimulation, arms: IntArray, times: int) -> FloatArray:
    return cast(FloatArray, simulation.answer(Pull(arms, times, Statistic.REWARDS)))
