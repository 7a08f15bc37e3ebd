"""LUCB1 (Kalyanakrishnan, Tewari, Auer, Stone 2012): pull the leader and the arm most likely to overtake it.

For the m best arms: of the m largest means the arm of the least lower bound, and of the others that of the largest upper one.
"""

from math import log

import numpy as np

from surest.core.protocol import IntArray
from surest.core.question import BEST, Question
from surest.kernels.constants import LUCB
from surest.lab.stepwise import Stepwise, fresh_state, named, pullwise


def lucb(
    arms: IntArray, delta: float, *, rng: np.random.Generator, epsilon: float = 0.0, question: Question = BEST
) -> Stepwise:
    """An arm within ε of the best, or m arms within ε of the m-th best, with probability 1 − δ."""
    settings = log(1.25 * len(arms) / delta), epsilon, question.top
    return Stepwise(LUCB, fresh_state(len(arms), settings, rng=rng), top=named(question))


ENTRIES = (
    pullwise(
        lambda task: lucb(task.arms, task.delta, epsilon=task.epsilon, rng=task.rng, question=task.question),
        name="lucb",
        goal="either",
        standing="proven",
        reference="Kalyanakrishnan, Tewari, Auer, Stone 2012",
        summary="Pulls the leader and its most optimistic rival; Hoeffding bounds.",
        answers=("best", "top"),
    ),
)
