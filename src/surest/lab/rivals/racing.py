"""Racing: pull all arms that are left, and drop those that are surely worse."""

from functools import partial
from math import log

import numpy as np

from surest.core.protocol import IntArray
from surest.kernels.lab.constants import BETTING_RACING, KL_RACING, PEAK, POINTS, SUCCESSIVE_ELIMINATION
from surest.lab.rivals.optimism import rate_settings
from surest.lab.rivals.shared import EVEN_DAR, GARIVIER, KAUFMANN
from surest.lab.stepwise import Stepwise, fresh_state, pullwise


# Successive Elimination (Even-Dar, Mannor, Mansour 2002): pull all that is left, drop what is clearly worse.
def successive_elimination(arms: IntArray, delta: float, *, rng: np.random.Generator, c: float = 5.0) -> Stepwise:
    """The best arm, with probability 1 − δ, for c > 4."""
    return Stepwise(SUCCESSIVE_ELIMINATION, fresh_state(len(arms), (log(c * len(arms) / delta),), rng=rng))


# KL-Racing (Kaufmann, Kalyanakrishnan 2013) and Chernoff-Racing (Garivier, Kaufmann 2016): drop the worst when sure.
def kl_racing(arms: IntArray, delta: float, *, rng: np.random.Generator, heuristic: bool = False) -> Stepwise:
    """The best arm, with probability 1 − δ; `heuristic` takes a smaller rate."""
    settings = *rate_settings(len(arms), delta, heuristic), False
    return Stepwise(KL_RACING, fresh_state(len(arms), settings, rng=rng))


def chernoff_racing(arms: IntArray, delta: float, *, rng: np.random.Generator) -> Stepwise:
    """Racing on the likelihood ratio of the best and the worst arm, with the heuristic rate."""
    settings = *rate_settings(len(arms), delta, heuristic=True), True
    return Stepwise(KL_RACING, fresh_state(len(arms), settings, rng=rng))


# Racing on betting confidence sequences (Waudby-Smith, Ramdas 2024): pull all that is left, drop what is surely worse.
ROWS = 1 + 2 * POINTS  # of memory: see `kernels.lab.capital`


def betting_racing(arms: IntArray, delta: float, *, rng: np.random.Generator) -> Stepwise:
    """The best arm, with probability 1 − δ: n one-sided bets at δ/n each."""
    return Stepwise(BETTING_RACING, fresh_state(len(arms), (log(len(arms) / delta),), rows=ROWS, rng=rng))


# PEAK (Cho, Gan, Kallus 2024): capital averaged over arms tests "arm a is the best" without a union over arms.
#
# For a vector m of means the average over arms j of ½·K+_j(m_j) + ½·K−_j(m_j) is a fair bet against m. Arm a is out once it
# is at least 1/δ for every m in which a is the best.
def peak(arms: IntArray, delta: float, *, rng: np.random.Generator) -> Stepwise:
    """The best arm, with probability 1 − δ."""
    settings = log(1 / delta), len(arms) / delta
    return Stepwise(PEAK, fresh_state(len(arms), settings, rows=ROWS + 2 * (POINTS - 1), rng=rng))


ENTRIES = (
    pullwise("successive-elimination", successive_elimination, "best arm", "proven", EVEN_DAR,
        "Pulls all arms in turn and drops those that are clearly worse; Hoeffding bounds."),
    pullwise("kl-racing", kl_racing,
        "best arm", "proven", KAUFMANN, "Pulls all arms in turn, drops the worst when it is sure."),
    pullwise("kl-racing-heuristic", partial(kl_racing, heuristic=True),
        "best arm", "heuristic", f"{KAUFMANN}; {GARIVIER}",
        "kl-racing with the rate ln((1 + ln t)/δ) of Garivier and Kaufmann 2016, section 6; no proof.", heuristic_of="kl-racing"),
    pullwise("chernoff-racing", chernoff_racing,
        "best arm", "heuristic", GARIVIER, "Racing on likelihood ratios with the rate ln((1 + ln t)/δ); no proof."),
    pullwise("betting-racing", betting_racing, "best arm", "proven", "Waudby-Smith, Ramdas 2024",
        "Pulls all arms in turn and drops those that betting confidence sequences put below another.", costly=20),
    pullwise("peak", peak, "best arm", "reconstruction", "Cho, Gan, Kallus 2024",
        "Averages betting capital over arms in place of a union; pulls the leader or the arm least refuted.", costly=20),
)  # fmt: skip
