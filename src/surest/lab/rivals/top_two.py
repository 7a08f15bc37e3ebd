"""Top Two, EB-TCI (Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022), for any rewards in [0, 1].

The leader is the arm of the largest mean; the challenger has the smallest transport cost W + ln(its pulls), W being the
least count·K_inf of both arms together over all common means u. Stop when W exceeds the threshold for every other arm.
"""

from math import log

import numpy as np

from surest.core.protocol import IntArray
from surest.kernels.constants import ATOMS, TOP_TWO
from surest.lab.rivals.references import GARIVIER, JOURDAN
from surest.lab.stepwise import Stepwise, fresh_state, pullwise


def top_two(
    arms: IntArray,
    delta: float,
    *,
    rng: np.random.Generator,
    information_directed: bool = False,
    heuristic: bool = False,
) -> Stepwise:
    """The best arm, with probability 1 − δ; threshold ln((K − 1)/δ) + 2·ln(1 + t/2) + 2.

    The leader is pulled with probability β = 1/2 or, `information_directed` (You, Qin, Wang, Yang 2023), with
    probability equal to its part of the transport cost. `heuristic`: threshold ln((1 + ln t)/δ), without a proof.
    """
    level = log(1 / delta) if heuristic else log((len(arms) - 1) / delta) + 2
    settings = level, information_directed, heuristic
    return Stepwise(TOP_TWO, fresh_state(len(arms), settings, rows=6 + 2 * ATOMS, rng=rng))


ENTRIES = (
    pullwise(
        lambda task: top_two(task.arms, task.delta, rng=task.rng),
        name="top-two",
        goal="best arm",
        standing="proven",
        reference=JOURDAN,
        summary="Pulls the leader or its closest challenger, by a fair coin; K_inf.",
    ),
    pullwise(
        lambda task: top_two(task.arms, task.delta, rng=task.rng, information_directed=True),
        name="top-two-ids",
        goal="best arm",
        standing="proven",
        reference=f"{JOURDAN}; You, Qin, Wang, Yang 2023",
        summary="top-two with a coin weighted by what either pull would tell.",
    ),
    pullwise(
        lambda task: top_two(task.arms, task.delta, rng=task.rng, heuristic=True),
        name="top-two-heuristic",
        goal="best arm",
        standing="heuristic",
        reference=f"{JOURDAN}; {GARIVIER}",
        summary="top-two with the threshold ln((1 + ln t)/δ), which nobody has proved.",
        heuristic_of="top-two",
    ),
    pullwise(
        lambda task: top_two(task.arms, task.delta, rng=task.rng, information_directed=True, heuristic=True),
        name="top-two-ids-heuristic",
        goal="best arm",
        standing="heuristic",
        reference=f"{JOURDAN}; You, Qin, Wang, Yang 2023; {GARIVIER}",
        summary="top-two-ids with the threshold ln((1 + ln t)/δ), which nobody has proved.",
        heuristic_of="top-two-ids",
    ),
)
