"""Track-and-Stop (Garivier, Kaufmann 2016), D-tracking: pull in the proportions that end soonest, as far as one knows."""

from math import log

import numpy as np

from surest.core.protocol import IntArray
from surest.kernels.constants import TRACK_AND_STOP, TRACK_GLOBAL
from surest.lab.rivals.references import GARIVIER
from surest.lab.stepwise import Stepwise, fresh_state, pullwise


def track_and_stop(arms: IntArray, delta: float, *, rng: np.random.Generator, heuristic: bool = False) -> Stepwise:
    """The best arm, with probability 1 − δ: threshold ln(2t(K − 1)/δ), or the heuristic ln((1 + ln t)/δ)."""
    level = log(1 / delta) if heuristic else log(2 * (len(arms) - 1) / delta)
    state = fresh_state(len(arms), (level, heuristic), rows=TRACK_GLOBAL + 1, rng=rng)
    state.memory[TRACK_GLOBAL, 1] = -1
    return Stepwise(TRACK_AND_STOP, state)


ENTRIES = (
    pullwise(
        lambda task: track_and_stop(task.arms, task.delta, rng=task.rng),
        name="track-and-stop",
        goal="best arm",
        standing="proven",
        reference=GARIVIER,
        summary="Tracks the optimal proportions of pulls; likelihood-ratio stop.",
    ),
    pullwise(
        lambda task: track_and_stop(task.arms, task.delta, rng=task.rng, heuristic=True),
        name="track-and-stop-heuristic",
        goal="best arm",
        standing="heuristic",
        reference=GARIVIER,
        summary="track-and-stop with the threshold ln((1 + ln t)/δ) of its authors' experiments; no proof.",
        heuristic_of="track-and-stop",
    ),
)
