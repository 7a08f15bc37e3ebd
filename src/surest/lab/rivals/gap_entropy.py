"""Gap-entropy elimination (Chen, Li, Qiao 2017, in the form of Aronow, Kallus, Lopatto 2026): guess the complexity.

Stage t runs as if B = 100^t pulls were enough, from all arms anew, and is rejected where they are not. Names of the
procedures and letters are those of the papers; docs/algorithms/gap-entropy-elimination.md derives J, M and c.
"""

from math import ceil, floor, log

import numpy as np

from surest.algorithms.entry import Entry, certified, started
from surest.core.protocol import FloatArray, IntArray, Procedure, Pull, Statistic, whole
from surest.errors import PullLimitError
from surest.lab.rivals.shared import largest, leading

Thetas = tuple[float, float]
STAGES = 100  # the error probability is proved for so many; 100^10 pulls already cannot be counted in 64 bits


def gap_entropy_elimination(
    arms: IntArray, delta: float, *, rng: np.random.Generator, j: int = 16, m: float = 3e15, c: float = 1.0
) -> Procedure[int]:
    """The best arm, with probability 1 − δ."""
    eta = c * min(delta, 0.01)
    for t in range(1, STAGES + 1):
        left = yield from _limited(_stage(arms, eta, t, j, rng), ceil(m * 100.0**t))
        if left is not None and len(left) == 1:
            return int(left[0])
    raise PullLimitError(f"no stage of {STAGES} told the arms apart; if two may be equally good, give a budget")


def _limited(stage: Procedure[IntArray | None], most: int) -> Procedure[IntArray | None]:
    """A stage, rejected if it would use more than `most` pulls."""
    used, reply = 0, None
    while True:
        try:
            request = stage.send(reply)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        used += request.total
        if used > most:
            stage.close()
            return None
        reply = yield request


def _stage(arms: IntArray, eta: float, t: int, j: int, rng: np.random.Generator) -> Procedure[IntArray | None]:
    """What is left of all arms under the guess B; None, or no arm, where the stage is rejected."""
    b, rho = 100.0**t, eta**2
    rounds = max(0, floor(log(b / (log(1 / eta) + log(t + 1))) / log(4)) - j)
    left, used, charged, below = arms, 0.0, 0.0, 0.3
    for r in range(1, rounds + 1):
        if len(left) <= 1:
            break
        epsilon, w = 0.5**r, len(left) * 4.0**r
        z = w * log(b / (eta * w))
        if used + 4 * w >= b or charged + z >= 100 * b:
            return None
        charged += z
        alpha, above = eta / (50 * t**2 * r**2), below + 1 / (10 * (rounds + 1 - r) ** 2)
        some = yield from _median(left, epsilon / 8, rng)
        (mean,) = yield from _mean(np.array([some]), epsilon / 8, alpha, some)
        low, high = mean - 7 * epsilon / 4, mean - 9 * epsilon / 8
        if (yield from _fraction(left, low, high, (below, above), alpha, some, rng)):
            low, high = mean - 3 * epsilon / 4, mean - 5 * epsilon / 8
            left = yield from _eliminate(left, low, high, 4 * w * rho / b, some, rng)
            used += 4 * w
        below = above
    return left


def _mean(arms: IntArray, epsilon: float, alpha: float, leader: int) -> Procedure[FloatArray]:
    """Each mean to within ε, with probability 1 − α."""
    means: FloatArray = yield Pull(arms, whole(2 * log(2 / alpha) / epsilon**2), Statistic.MEAN, leading(leader))
    return means


def _median(arms: IntArray, epsilon: float, rng: np.random.Generator) -> Procedure[int]:
    """An arm within ε of the best, with probability 0.99."""
    left, k = arms, 1
    while len(left) >= 2:
        means = yield from _mean(left, epsilon / 4 * 0.75 ** (k - 1) / 2, 0.01 / 2**k / 3, int(left[0]))
        left = largest(left, means, (len(left) + 1) // 2, rng)
        k += 1
    return int(left[0])


def _fraction(
    arms: IntArray, low: float, high: float, thetas: Thetas, alpha: float, leader: int, rng: np.random.Generator
) -> Procedure[bool]:
    """True if more than θ+ of the arms are under `low`, False if less than θ− are under `high`; but for α."""
    (below, above), n = thetas, len(arms)
    d, middle = above - below, (below + above) / 2
    draws, accuracy = ceil(36 / d**2 * log(2 / alpha)), (high - low) / 2
    if n * log(2 * n / alpha) <= draws * log(12 / d):
        # differs: where it takes fewer pulls, every arm is estimated once, all of them rightly but for α. The test then
        # promises the same, and needs no draws by the million.
        means = yield from _mean(arms, accuracy, alpha / n, leader)
        return bool((means < (low + high) / 2).mean() > middle)
    left, seen = rng.multinomial(draws, np.full(n, 1 / n)), 0
    while left.any():  # each drawn arm is estimated afresh each time it is drawn; one request for all that are due
        means = yield from _mean(arms[left > 0], accuracy, d / 6, leader)
        seen += int((means < (low + high) / 2).sum())
        left -= left > 0
    return seen > middle * draws


def _eliminate(
    arms: IntArray, low: float, high: float, alpha: float, leader: int, rng: np.random.Generator
) -> Procedure[IntArray]:
    """Drop arms until few are under `low`; an arm whose mean is `high` or more stays, but for α/10."""
    left, k, middle, epsilon = arms, 1, (low + high) / 2, high - low
    while len(left) and (yield from _fraction(left, low, middle, (0.05, 0.1), alpha / (10 * 2**k), leader, rng)):
        means = yield from _mean(left, epsilon / 4, alpha / (10 * 2**k), leader)
        left = left[means >= middle + epsilon / 4]
        k += 1
    return left


ENTRIES = (
    Entry("gap-entropy-elimination", started(gap_entropy_elimination, certified),
        "best arm", "proven", "Chen, Li, Qiao 2017; Aronow, Kallus, Lopatto 2026",
        "Guesses the complexity, 100 times more each stage; pulls grow with the entropy of the gaps.", costly=20),
)  # fmt: skip
