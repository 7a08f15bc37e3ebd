"""Run an algorithm that decides pull by pull on simulated arms, by kernels alone, block by block.

An arm's single rewards are a stream that depends on the seed and the arm alone (`bandits.finite.Draws`), so they may be
drawn before they are asked for. What comes out is what the algorithm's generator would have done, request for request.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np

from surest.arms.finite import FiniteSimulation
from surest.core.protocol import Answer, FloatArray, IntArray, Pull, Statistic, Status
from surest.kernels.constants import REFILL, STOPPED, TOTAL
from surest.kernels.rivals import advance
from surest.lab.stepwise import Stepwise

FIRST, GROWTH, MOST, ALL = 256, 8, 8192, 2**20
"""Rewards drawn for an arm at first, how much more each time, at most, and places for the rewards of all arms."""


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
    views = state.views()
    while (why := advance(stepwise.rule, views, rewards, used, drawn, progress, log)) == REFILL:
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
