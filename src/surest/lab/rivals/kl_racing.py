"""KL-Racing (Kaufmann, Kalyanakrishnan 2013) and Chernoff-Racing (Garivier, Kaufmann 2016): drop the worst when sure."""

import numpy as np

from surest.core.protocol import IntArray
from surest.kernels.constants import KL_RACING
from surest.lab.rivals.exploration import rate_settings
from surest.lab.rivals.references import GARIVIER, KAUFMANN
from surest.lab.stepwise import Stepwise, fresh_state, pullwise


def kl_racing(arms: IntArray, delta: float, *, rng: np.random.Generator, heuristic: bool = False) -> Stepwise:
    """The best arm, with probability 1 − δ; `heuristic` takes a smaller rate (see `exploration`)."""
    settings = *rate_settings(len(arms), delta, heuristic), False
    return Stepwise(KL_RACING, fresh_state(len(arms), settings, rng=rng))


def chernoff_racing(arms: IntArray, delta: float, *, rng: np.random.Generator) -> Stepwise:
    """Racing on the likelihood ratio of the best and the worst arm, with the heuristic rate."""
    settings = *rate_settings(len(arms), delta, heuristic=True), True
    return Stepwise(KL_RACING, fresh_state(len(arms), settings, rng=rng))


ENTRIES = (
    pullwise(
        lambda task: kl_racing(task.arms, task.delta, rng=task.rng),
        name="kl-racing",
        goal="best arm",
        standing="proven",
        reference=KAUFMANN,
        summary="Pulls all arms in turn, drops the worst when it is sure.",
    ),
    pullwise(
        lambda task: kl_racing(task.arms, task.delta, rng=task.rng, heuristic=True),
        name="kl-racing-heuristic",
        goal="best arm",
        standing="heuristic",
        reference=f"{KAUFMANN}; {GARIVIER}",
        summary="kl-racing with the rate ln((1 + ln t)/δ) of Garivier and Kaufmann 2016, section 6; no proof.",
        heuristic_of="kl-racing",
    ),
    pullwise(
        lambda task: chernoff_racing(task.arms, task.delta, rng=task.rng),
        name="chernoff-racing",
        goal="best arm",
        standing="heuristic",
        reference=GARIVIER,
        summary="Racing on likelihood ratios with the rate ln((1 + ln t)/δ); no proof.",
    ),
)
