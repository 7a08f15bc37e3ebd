"""Racing on betting confidence sequences (Waudby-Smith, Ramdas 2024): pull all that is left, drop what is surely worse."""

from math import log

import numpy as np

from surest.core.protocol import IntArray
from surest.kernels.constants import BETTING_RACING, POINTS
from surest.lab.stepwise import Stepwise, fresh_state, pullwise

ROWS = 1 + 2 * POINTS
"""Of memory: see `kernels.capital`."""


def betting_racing(arms: IntArray, delta: float, *, rng: np.random.Generator) -> Stepwise:
    """The best arm, with probability 1 − δ: n one-sided bets at δ/n each."""
    return Stepwise(BETTING_RACING, fresh_state(len(arms), (log(len(arms) / delta),), rows=ROWS, rng=rng))


ENTRIES = (
    pullwise(
        lambda task: betting_racing(task.arms, task.delta, rng=task.rng),
        name="betting-racing",
        goal="best arm",
        standing="proven",
        reference="Waudby-Smith, Ramdas 2024",
        summary="Pulls all arms in turn and drops those that betting confidence sequences put below another.",
        costly=20,
    ),
)
