"""My algorithm (Author, Author 2026): pull all arms that are left, in growing batches, and drop what is clearly worse."""

from functools import partial
from math import log, sqrt

import numpy as np

from surest.algorithms.entry import Entry, Option, certified, started
from surest.core.protocol import FloatArray, IntArray, Procedure, Pull, Statistic, Status


def my_algorithm(arms: IntArray, delta: float, *, rng: np.random.Generator, batch: int = 20) -> Procedure[int]:
    """The best arm; comments cite the line or the equation of the paper that is implemented."""
    left, sums, times = arms, np.zeros(len(arms)), 0  # line 1
    for r in range(1, 10**9):  # line 2
        means = yield Pull(left, batch * r, Statistic.MEAN, partial(_status, left, sums))  # line 3
        sums[left] += batch * r * means
        times += batch * r
        radius = sqrt(log(4 * len(arms) * r**2 / delta) / (2 * times))  # equation (5)
        left = left[sums[left] / times >= sums[left].max() / times - 2 * radius]  # line 4
        if len(left) == 1:
            break
    return int(rng.choice(left))  # line 5; all randomness comes from rng


def _status(left: IntArray, sums: FloatArray) -> Status:
    """What it can say of its state while it runs: at least its leader."""
    return Status(leader=int(left[sums[left].argmax()]))


ENTRIES = (
    Entry(
        name="my-algorithm",
        start=started(my_algorithm, certified),
        goal="best arm",
        standing="heuristic",  # "proven" only if a theorem covers it, as it stands, for any rewards in [0, 1]
        reference="Author, Author 2026",
        summary="Pulls all arms that are left in growing batches, and drops what is clearly worse.",
        options={"batch": Option("whole number", "pulls of every arm in the first round; default 20")},
    ),
)
