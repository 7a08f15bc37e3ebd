"""UCB-E (Audibert, Bubeck 2010): spend a fixed budget on the arms of the largest mean + √(a/pulls)."""

import numpy as np

from surest.core.protocol import IntArray
from surest.kernels.constants import UCB_E
from surest.lab.rivals.references import AUDIBERT
from surest.lab.rivals.shared import H1, check_budget, phase_ends, told_h1
from surest.lab.stepwise import Stepwise, fresh_state, pullwise


def ucb_e(arms: IntArray, budget: int, *, rng: np.random.Generator, h1: float) -> Stepwise:
    """The arm of the largest mean; a = (25/36)·(T − K)/H1 with the H1 = Σ 1/gap² that the caller knows."""
    check_budget(len(arms), budget)
    a = 25 / 36 * (budget - len(arms)) / h1
    state = fresh_state(len(arms), (a, budget, False), rng=rng)
    return Stepwise(UCB_E, state, "fixed budget", certified=False)


def ucb_e_adaptive(arms: IntArray, budget: int, *, rng: np.random.Generator) -> Stepwise:
    """The same with a = T/H2, H2 estimated at the ends of the phases of Successive Rejects."""
    n, ends = len(arms), phase_ends(len(arms), budget)
    totals = [sum(ends[:k]) + (n - k) * ends[k] for k in range(n - 1)]  # pulls of Successive Rejects after phase k + 1
    state = fresh_state(n, (budget / n, budget, True, *totals), rng=rng)
    return Stepwise(UCB_E, state, "fixed budget", certified=False)


ENTRIES = (
    pullwise(
        lambda task, *, h1=None: ucb_e(task.arms, task.budget, rng=task.rng, h1=told_h1("ucb-e", h1)),
        name="ucb-e",
        goal="fixed budget",
        standing="proven",
        reference=AUDIBERT,
        summary="Optimism for a fixed budget; must be told H1 = Σ 1/gap².",
        options={"h1": H1},
        told_h1=True,
    ),
    pullwise(
        lambda task: ucb_e_adaptive(task.arms, task.budget, rng=task.rng),
        name="ucb-e-adaptive",
        goal="fixed budget",
        standing="heuristic",
        reference=AUDIBERT,
        summary="ucb-e with the hardness estimated as it goes; no proof.",
    ),
)
