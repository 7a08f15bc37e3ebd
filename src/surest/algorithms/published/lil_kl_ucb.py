"""lil-KLUCB (Tánczos, Nowak, Mankoff 2017): KL-LUCB with bounds of the law of the iterated logarithm."""

from math import log

import numpy as np

from surest.algorithms.stepwise import (
    ASKED,
    TOTAL,
    State,
    Stepwise,
    empirical_best,
    everyone,
    first_of,
    fresh_state,
    pullwise,
)
from surest.compiled import compiled
from surest.core.protocol import IntArray
from surest.evidence.intervals import kl_iterated_log
from surest.evidence.kernels import kl_upper, surely_above
from surest.numerics import zeta

RATIO, POWER = 1.2, 1.25
"""Of the epochs in `kl_iterated_log`. The paper's constants are others; these come with a proof in docs/rivals.md."""
LOG_UPPER, LOG_LOWER, LOG_ZETA, EPSILON = 0, 1, 2, 3
"""Places in the settings: ln(1/level) of the upper and the lower bounds, ln ζ(POWER), ε."""
UPPER = 0
"""A row of memory."""


def lil_kl_ucb(arms: IntArray, delta: float, *, rng: np.random.Generator, epsilon: float = 0.0) -> Stepwise:
    """An arm within ε of the best, with probability 1 − δ.

    The best arm's upper bound fails with probability δ/2, each other arm's lower bound with δ/(2(n − 1)).
    """
    n = len(arms)
    settings = {
        LOG_UPPER: log(2 / delta),
        LOG_LOWER: log(2 * (n - 1) / delta),
        LOG_ZETA: log(zeta(POWER)),
        EPSILON: epsilon,
    }
    return Stepwise(_decide, fresh_state(n, settings, rng=rng))


@compiled
def _decide(state: State) -> int:
    if state.marks[TOTAL] == 0:
        return everyone(state)
    log_upper, log_lower, log_zeta = state.settings[LOG_UPPER], state.settings[LOG_LOWER], state.settings[LOG_ZETA]
    upper = state.memory[UPPER]
    for i in range(state.marks[ASKED]):  # only these arms' bounds have changed
        arm = state.pick[i]
        mean, count = state.sums[arm] / state.counts[arm], state.counts[arm]
        upper[arm] = kl_upper(mean, kl_iterated_log(count, log_upper, RATIO, POWER, log_zeta) / count)
    leader = empirical_best(state)
    challenger = first_of(upper, len(state.counts), leader, state.noise)
    state.pick[0], state.pick[1] = leader, challenger
    mean, count = state.sums[leader] / state.counts[leader], state.counts[leader]
    level = kl_iterated_log(count, log_lower, RATIO, POWER, log_zeta) / count
    return 0 if surely_above(mean, level, upper[challenger] - state.settings[EPSILON]) else 2


ENTRIES = (
    pullwise(
        lambda task: lil_kl_ucb(task.arms, task.delta, epsilon=task.epsilon, rng=task.rng),
        name="lil-kl-ucb",
        goal="either",
        standing="reconstruction",
        reference="Tánczos, Nowak, Mankoff 2017",
        summary="KL-LUCB with iterated-logarithm bounds; constants derived here, not the authors'.",
    ),
)
