"""Successive Rejects (Audibert, Bubeck 2010): spend a fixed budget in phases, rejecting the worst arm after each."""

import numpy as np

from surest.algorithms.entry import Entry, spent
from surest.core.protocol import IntArray, Procedure, Pull, Statistic
from surest.lab.rivals.references import AUDIBERT
from surest.lab.rivals.shared import largest, leading, phase_ends


def successive_rejects(arms: IntArray, budget: int, *, rng: np.random.Generator) -> Procedure[int]:
    """The arm that is left."""
    left, sums, done = arms, np.zeros(len(arms)), 0
    for times in phase_ends(len(arms), budget):
        if times > done:
            means = yield Pull(left, times - done, Statistic.MEAN, leading(int(left[sums[left].argmax()])))
            sums[left] += (times - done) * means
            done = times
        left = np.sort(largest(left, sums[left], len(left) - 1, rng))
    return int(left[0])


ENTRIES = (
    Entry(
        start=lambda task: spent(successive_rejects(task.arms, task.budget, rng=task.rng)),
        name="successive-rejects",
        goal="fixed budget",
        standing="proven",
        reference=AUDIBERT,
        summary="Spends the budget in phases and rejects the worst arm after each.",
    ),
)
