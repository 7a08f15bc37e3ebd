"""UGapE (Gabillon, Ghavamzadeh, Lazaric 2012): shrink the gap between the best guess and what could beat it."""

from math import log

import numpy as np

from surest.core.protocol import IntArray
from surest.kernels.constants import UGAPE
from surest.lab.rivals.references import GABILLON
from surest.lab.rivals.shared import H1, check_budget, told_h1
from surest.lab.stepwise import Stepwise, fresh_state, pullwise

HOEFFDING, BERNSTEIN, BUDGET, ADAPTIVE = 0.0, 1.0, 2.0, 3.0
"""Kinds of radius, as `kernels.rivals.ugape` knows them."""


def ugape(
    arms: IntArray, delta: float, *, rng: np.random.Generator, epsilon: float = 0.0, variance: bool = False
) -> Stepwise:
    """UGapEc: an arm within ε of the best, with probability 1 − δ; `variance` takes empirical Bernstein bounds."""
    kind = BERNSTEIN if variance else HOEFFDING
    settings = kind, log(4 * len(arms) / delta), epsilon
    return Stepwise(UGAPE, fresh_state(len(arms), settings, rows=2, rng=rng))


def ugape_b(arms: IntArray, budget: int, *, rng: np.random.Generator, h1: float | None) -> Stepwise:
    """UGapEb: spend the budget; a = (T − K)/(16·H1), and with `h1` None H1 is estimated as it goes."""
    n = len(arms)
    kind = ADAPTIVE if h1 is None else BUDGET
    check_budget(n, budget)
    a = (budget - n) / 16
    settings = kind, a if h1 is None else a / h1, budget
    state = fresh_state(n, settings, rows=2, rng=rng)
    state.memory[1, 0] = np.inf  # the smallest gap index so far
    return Stepwise(UGAPE, state, "fixed budget", certified=False)


ENTRIES = (
    pullwise(
        lambda task: ugape(task.arms, task.delta, epsilon=task.epsilon, rng=task.rng),
        name="ugape",
        goal="either",
        standing="proven",
        reference=GABILLON,
        summary="Shrinks the gap between the best guess and what could beat it.",
    ),
    pullwise(
        lambda task: ugape(task.arms, task.delta, epsilon=task.epsilon, rng=task.rng, variance=True),
        name="ugape-v",
        goal="either",
        standing="proven",
        reference=GABILLON,
        summary="ugape with empirical Bernstein bounds: arms of small variance need fewer pulls.",
    ),
    pullwise(
        lambda task, *, h1=None: ugape_b(task.arms, task.budget, rng=task.rng, h1=told_h1("ugape-b", h1)),
        name="ugape-b",
        goal="fixed budget",
        standing="proven",
        reference=GABILLON,
        summary="ugape for a fixed budget; must be told H1 = Σ 1/gap².",
        options={"h1": H1},
        told_h1=True,
    ),
    pullwise(
        lambda task: ugape_b(task.arms, task.budget, rng=task.rng, h1=None),
        name="ugape-b-adaptive",
        goal="fixed budget",
        standing="heuristic",
        reference=GABILLON,
        summary="ugape-b with the hardness estimated as it goes; no proof.",
    ),
)
