"""lil'UCB (Jamieson, Malloy, Nowak, Bubeck 2014): optimism with bounds of the law of the iterated logarithm."""

from math import log, sqrt

import numpy as np

from surest.core.protocol import IntArray
from surest.kernels.constants import LIL_UCB as RULE
from surest.lab.rivals.references import LIL_UCB
from surest.lab.stepwise import Stepwise, fresh_state, pullwise


def lil_factor(epsilon: float) -> float:
    """c_ε of the iterated-logarithm bound.

    >>> round(lil_factor(0.01))
    21153
    """
    return (2 + epsilon) / epsilon * float(log(1 + epsilon) ** -(1 + epsilon))


def lil_ucb(arms: IntArray, delta: float, *, rng: np.random.Generator, lucb_stop: bool = False) -> Stepwise:
    """The best arm, with probability 1 − δ: ε = 0.01, β = 1, λ = 9 and the authors' δ'.

    It stops when one arm has λ times the pulls of all others; with `lucb_stop`, when one arm's lower bound reaches the
    others' upper ones. differs: from about 5/δ arms on δ' is smaller than the authors', so that λ = 9 is covered by a proof
    for every number of arms (docs/rivals.md).
    """
    n, epsilon, beta = len(arms), 0.01, 1.0
    c = lil_factor(epsilon)
    level = min((sqrt(1 + delta) - 1) ** 2 / (4 * c), delta / (3 * c * n))
    stop = 0.0 if lucb_stop else ((2 + beta) / beta) ** 2
    settings = epsilon, beta, level, stop, delta / (c * n)
    return Stepwise(RULE, fresh_state(n, settings, rows=3, rng=rng))


def lil_ucb_heuristic(arms: IntArray, delta: float, *, rng: np.random.Generator) -> Stepwise:
    """The constants of the authors' experiments: ε = 0, β = 1/2, λ = 1 + 10/n, δ' = δ/5. No theorem covers them."""
    n = len(arms)
    settings = 0.0, 0.5, delta / 5, 1 + 10 / n, 1.0
    return Stepwise(RULE, fresh_state(n, settings, rows=3, rng=rng))


ENTRIES = (
    pullwise(
        lambda task: lil_ucb(task.arms, task.delta, rng=task.rng),
        name="lil-ucb",
        goal="best arm",
        standing="proven",
        reference=LIL_UCB,
        summary="Optimism with iterated-logarithm bounds; stops when one arm has nine times the pulls of all others.",
    ),
    pullwise(
        lambda task: lil_ucb(task.arms, task.delta, rng=task.rng, lucb_stop=True),
        name="lil-ucb-lucb-stop",
        goal="best arm",
        standing="proven",
        reference=LIL_UCB,
        summary="lil-ucb, stopped when one arm's lower bound reaches the others' upper ones.",
    ),
    pullwise(
        lambda task: lil_ucb_heuristic(task.arms, task.delta, rng=task.rng),
        name="lil-ucb-heuristic",
        goal="best arm",
        standing="heuristic",
        reference=LIL_UCB,
        summary="lil-ucb with the constants of its authors' experiments; no proof.",
        heuristic_of="lil-ucb",
    ),
)
