"""LUCB and its kin: pull the leader and what may overtake it, by upper and lower bounds of means."""

from functools import partial
from math import log, sqrt

import numpy as np

from surest.core.protocol import IntArray
from surest.core.question import BEST, Question
from surest.kernels.lab.constants import EPOCH_POWER, KL_LUCB, LIL_KL_UCB, LUCB, UGAPE
from surest.kernels.lab.constants import LIL_UCB as RULE
from surest.lab.numerics import zeta
from surest.lab.rivals.shared import GABILLON, GARIVIER, H1, KAUFMANN, LIL_UCB, check_budget, told_h1
from surest.lab.stepwise import Stepwise, fresh_state, named, pullwise


# LUCB1 (Kalyanakrishnan, Tewari, Auer, Stone 2012): pull the leader and the arm most likely to overtake it.
#
# For the m best arms: of the m largest means the arm of the least lower bound, and of the others that of the largest upper one.
def lucb(
    arms: IntArray, delta: float, *, rng: np.random.Generator, epsilon: float = 0.0, question: Question = BEST
) -> Stepwise:
    """An arm within ε of the best, or m arms within ε of the m-th best, with probability 1 − δ."""
    settings = log(1.25 * len(arms) / delta), epsilon, question.top
    return Stepwise(LUCB, fresh_state(len(arms), settings, rng=rng), top=named(question))


# The exploration rates of KL-LUCB and KL-Racing: the proven one (Kaufmann, Kalyanakrishnan 2013) and ln((1 + ln t)/δ), with
# which Garivier and Kaufmann (2016, section 6) ran them. No theorem covers the second.
ALPHA, K1 = 1.1, 405.5  # of the proven rate


def rate_settings(n: int, delta: float, heuristic: bool) -> tuple[float, float]:
    """The settings of the proven rate, or of ln((1 + ln t)/δ): ln(1/level) and α of `kernels.lab.divergence.kl_rate`."""
    if heuristic:
        return log(1 / delta), 0.0
    return log(K1 * n / delta), ALPHA


# KL-LUCB (Kaufmann, Kalyanakrishnan 2013): LUCB with Chernoff bounds, which rewards near 0 or 1 make short.
#
# For the m best arms: of the m largest means the arm of the least lower bound, and of the others that of the largest upper one.
def kl_lucb(
    arms: IntArray, delta: float, *, rng: np.random.Generator, epsilon: float = 0.0, question: Question = BEST,
    heuristic: bool = False,
) -> Stepwise:  # fmt: skip
    """An arm within ε of the best, or m arms within ε of the m-th best, with probability 1 − δ.

    `heuristic` takes the smaller rate.
    """
    settings = *rate_settings(len(arms), delta, heuristic), epsilon, question.top
    return Stepwise(KL_LUCB, fresh_state(len(arms), settings, rng=rng), top=named(question))


# lil'UCB (Jamieson, Malloy, Nowak, Bubeck 2014): optimism with bounds of the law of the iterated logarithm.
def lil_factor(epsilon: float) -> float:
    """c_ε of the iterated-logarithm bound."""
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


# lil-KLUCB (Tánczos, Nowak, Mankoff 2017): KL-LUCB with bounds of the law of the iterated logarithm.
def lil_kl_ucb(arms: IntArray, delta: float, *, rng: np.random.Generator, epsilon: float = 0.0) -> Stepwise:
    """An arm within ε of the best, with probability 1 − δ.

    The best arm's upper bound fails with probability δ/2, each other arm's lower bound with δ/(2(n − 1)).
    """
    n = len(arms)
    settings = log(2 / delta), log(2 * (n - 1) / delta), log(zeta(EPOCH_POWER)), epsilon
    return Stepwise(LIL_KL_UCB, fresh_state(n, settings, rng=rng))


# UGapE (Gabillon, Ghavamzadeh, Lazaric 2012): shrink the gap between the best guess and what could beat it.
HOEFFDING, BERNSTEIN, BUDGET, ADAPTIVE = 0.0, 1.0, 2.0, 3.0  # kinds of radius, as `kernels.lab.rivals.ugape` knows them


def ugape(
    arms: IntArray, delta: float, *, rng: np.random.Generator, epsilon: float = 0.0, variance: bool = False
) -> Stepwise:
    """UGapEc: an arm within ε of the best, with probability 1 − δ; `variance` takes empirical Bernstein bounds."""
    kind = BERNSTEIN if variance else HOEFFDING
    settings = kind, log(4 * len(arms) / delta), epsilon
    return Stepwise(UGAPE, fresh_state(len(arms), settings, rows=2, rng=rng))


def ugape_b(
    arms: IntArray, budget: int, *, rng: np.random.Generator, h1: float | None = None, adaptive: bool = False
) -> Stepwise:
    """UGapEb: spend the budget; a = (T − K)/(16·H1), and `adaptive` estimates H1 as it goes."""
    n, hardness = len(arms), 1.0 if adaptive else told_h1("ugape-b", h1)
    check_budget(n, budget)
    a = (budget - n) / 16
    settings = ADAPTIVE if adaptive else BUDGET, a / hardness, budget
    state = fresh_state(n, settings, rows=2, rng=rng)
    state.memory[1, 0] = np.inf  # the smallest gap index so far
    return Stepwise(UGAPE, state, "fixed budget", certified=False)


ENTRIES = (
    pullwise("lucb", lucb, "either", "proven", "Kalyanakrishnan, Tewari, Auer, Stone 2012",
        "Pulls the leader and its most optimistic rival; Hoeffding bounds.", answers=("best", "top")),
    pullwise("kl-lucb", kl_lucb, "either", "proven", KAUFMANN,
        "LUCB with Chernoff bounds, shorter for means near 0 or 1.", answers=("best", "top")),
    pullwise("kl-lucb-heuristic", partial(kl_lucb, heuristic=True), "either", "heuristic", f"{KAUFMANN}; {GARIVIER}",
        "kl-lucb with the rate ln((1 + ln t)/δ) of Garivier and Kaufmann 2016, section 6; no proof.",
        answers=("best", "top"), heuristic_of="kl-lucb"),
    pullwise("lil-ucb", lil_ucb, "best arm", "proven", LIL_UCB,
        "Optimism with iterated-logarithm bounds; stops when one arm has nine times the pulls of all others."),
    pullwise("lil-ucb-lucb-stop", partial(lil_ucb, lucb_stop=True),
        "best arm", "proven", LIL_UCB, "lil-ucb, stopped when one arm's lower bound reaches the others' upper ones."),
    pullwise("lil-ucb-heuristic", lil_ucb_heuristic, "best arm", "heuristic", LIL_UCB,
        "lil-ucb with the constants of its authors' experiments; no proof.", heuristic_of="lil-ucb"),
    pullwise("lil-kl-ucb", lil_kl_ucb, "either", "reconstruction", "Tánczos, Nowak, Mankoff 2017",
        "KL-LUCB with iterated-logarithm bounds; constants derived here, not the authors'."),
    pullwise("ugape", ugape,
        "either", "proven", GABILLON, "Shrinks the gap between the best guess and what could beat it."),
    pullwise("ugape-v", partial(ugape, variance=True), "either", "proven", GABILLON,
        "ugape with empirical Bernstein bounds: arms of small variance need fewer pulls."),
    pullwise("ugape-b", ugape_b, "fixed budget", "proven", GABILLON,
        "ugape for a fixed budget; must be told H1 = Σ 1/gap².", options={"h1": H1}, told_h1=True),
    pullwise("ugape-b-adaptive", partial(ugape_b, adaptive=True),
        "fixed budget", "heuristic", GABILLON, "ugape-b with the hardness estimated as it goes; no proof."),
)  # fmt: skip
