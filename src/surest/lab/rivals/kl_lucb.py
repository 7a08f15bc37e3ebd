"""KL-LUCB (Kaufmann, Kalyanakrishnan 2013): LUCB with Chernoff bounds, which rewards near 0 or 1 make short.

For the m best arms: of the m largest means the arm of the least lower bound, and of the others that of the largest upper one.
"""

from functools import partial
from typing import Any

import numpy as np

from surest.algorithms.entry import Task
from surest.core.protocol import IntArray
from surest.core.question import BEST, Question
from surest.kernels.constants import KL_LUCB
from surest.lab.rivals.exploration import rate_settings
from surest.lab.rivals.references import GARIVIER, KAUFMANN
from surest.lab.stepwise import Stepwise, fresh_state, named, pullwise


def kl_lucb(
    arms: IntArray,
    delta: float,
    *,
    rng: np.random.Generator,
    epsilon: float = 0.0,
    question: Question = BEST,
    heuristic: bool = False,
) -> Stepwise:
    """An arm within ε of the best, or m arms within ε of the m-th best, with probability 1 − δ.

    `heuristic` takes a smaller rate (see `exploration`).
    """
    settings = *rate_settings(len(arms), delta, heuristic), epsilon, question.top
    return Stepwise(KL_LUCB, fresh_state(len(arms), settings, rng=rng), top=named(question))


def _build(task: Task, heuristic: bool = False) -> Stepwise:
    given: dict[str, Any] = {"epsilon": task.epsilon, "rng": task.rng, "question": task.question}
    return kl_lucb(task.arms, task.delta, heuristic=heuristic, **given)


ENTRIES = (
    pullwise(
        _build,
        name="kl-lucb",
        goal="either",
        standing="proven",
        reference=KAUFMANN,
        summary="LUCB with Chernoff bounds, shorter for means near 0 or 1.",
        answers=("best", "top"),
    ),
    pullwise(
        partial(_build, heuristic=True),
        name="kl-lucb-heuristic",
        goal="either",
        standing="heuristic",
        reference=f"{KAUFMANN}; {GARIVIER}",
        summary="kl-lucb with the rate ln((1 + ln t)/δ) of Garivier and Kaufmann 2016, section 6; no proof.",
        answers=("best", "top"),
        heuristic_of="kl-lucb",
    ),
)
