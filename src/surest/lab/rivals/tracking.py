"""Top Two and Track-and-Stop: pull in the proportions in which evidence grows fastest."""

from functools import partial
from math import log

import numpy as np

from surest.core.protocol import IntArray
from surest.kernels.lab.constants import ATOMS, EB_TC_EPSILON, TOP_TWO, TRACK_AND_STOP, TRACK_GLOBAL
from surest.lab.numerics import minimum, zeta
from surest.lab.rivals.shared import GARIVIER, JOURDAN
from surest.lab.stepwise import Stepwise, fresh_state, pullwise


# Top Two, EB-TCI (Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022), for any rewards in [0, 1].
#
# The leader is the arm of the largest mean; the challenger has the smallest transport cost W + ln(its pulls), W being the
# least count·K_inf of both arms together over all common means u. Stop when W exceeds the threshold for every other arm.
def top_two(
    arms: IntArray, delta: float, *, rng: np.random.Generator, information_directed: bool = False,
    heuristic: bool = False,
) -> Stepwise:  # fmt: skip
    """The best arm, with probability 1 − δ; threshold ln((K − 1)/δ) + 2·ln(1 + t/2) + 2.

    The leader is pulled with probability β = 1/2 or, `information_directed` (You, Qin, Wang, Yang 2023), with
    probability equal to its part of the transport cost. `heuristic`: threshold ln((1 + ln t)/δ), without a proof.
    """
    level = log(1 / delta) if heuristic else log((len(arms) - 1) / delta) + 2
    settings = level, information_directed, heuristic
    return Stepwise(TOP_TWO, fresh_state(len(arms), settings, rows=6 + 2 * ATOMS, rng=rng))


# EB-TCε (Jourdan, Degenne, Kaufmann 2023): Top Two for an arm within ε of the best, by gaps that ε is added to.
#
# The leader is the arm of the largest mean, the challenger the one with the least (gap + ε)/√(1/N_leader + 1/N_challenger).
def eb_tc_epsilon(arms: IntArray, delta: float, *, epsilon: float, rng: np.random.Generator) -> Stepwise:
    """An arm within ε of the best, with probability 1 − δ; β = 1/2, and one ε for sampling and stopping."""
    settings = 2 * calibration(0.5 * log((len(arms) - 1) / delta)), epsilon
    return Stepwise(EB_TC_EPSILON, fresh_state(len(arms), settings, rows=3, rng=rng), "certified ε-optimal")


def calibration(x: float) -> float:
    """C_G of Kaufmann and Koolen (2021): min over ½ < λ ≤ 1 of (g(λ) + x)/λ; about x + ln x."""

    def at(lam: float) -> float:
        g = 2 * lam - 2 * lam * log(4 * lam) + log(zeta(2 * lam)) - 0.5 * log(1 - lam)
        return float((g + x) / lam)

    return minimum(at, 0.5 + 1e-9, 1 - 1e-9)


# Track-and-Stop (Garivier, Kaufmann 2016), D-tracking: pull in the proportions that end soonest, as far as one knows.
def track_and_stop(arms: IntArray, delta: float, *, rng: np.random.Generator, heuristic: bool = False) -> Stepwise:
    """The best arm, with probability 1 − δ: threshold ln(2t(K − 1)/δ), or the heuristic ln((1 + ln t)/δ)."""
    level = log(1 / delta) if heuristic else log(2 * (len(arms) - 1) / delta)
    state = fresh_state(len(arms), (level, heuristic), rows=TRACK_GLOBAL + 1, rng=rng)
    state.memory[TRACK_GLOBAL, 1] = -1
    return Stepwise(TRACK_AND_STOP, state)


ENTRIES = (
    pullwise("top-two", top_two,
        "best arm", "proven", JOURDAN, "Pulls the leader or its closest challenger, by a fair coin; K_inf."),
    pullwise("top-two-ids", partial(top_two, information_directed=True),
        "best arm", "proven", f"{JOURDAN}; You, Qin, Wang, Yang 2023",
        "top-two with a coin weighted by what either pull would tell."),
    pullwise("top-two-heuristic", partial(top_two, heuristic=True), "best arm", "heuristic", f"{JOURDAN}; {GARIVIER}",
        "top-two with the threshold ln((1 + ln t)/δ), which nobody has proved.", heuristic_of="top-two"),
    pullwise("top-two-ids-heuristic", partial(top_two, information_directed=True, heuristic=True),
        "best arm", "heuristic", f"{JOURDAN}; You, Qin, Wang, Yang 2023; {GARIVIER}",
        "top-two-ids with the threshold ln((1 + ln t)/δ), which nobody has proved.", heuristic_of="top-two-ids"),
    pullwise("eb-tc-epsilon", eb_tc_epsilon, "ε-optimal arm", "reconstruction", "Jourdan, Degenne, Kaufmann 2023",
        "Top Two for an arm within ε of the best: ε is added to every gap; sub-Gaussian bounds."),
    pullwise("track-and-stop", track_and_stop,
        "best arm", "proven", GARIVIER, "Tracks the optimal proportions of pulls; likelihood-ratio stop."),
    pullwise("track-and-stop-heuristic", partial(track_and_stop, heuristic=True), "best arm", "heuristic", GARIVIER,
        "track-and-stop with the threshold ln((1 + ln t)/δ) of its authors' experiments; no proof.",
        heuristic_of="track-and-stop"),
)  # fmt: skip
