"""A confidence interval of one mean from a sample whose size was fixed beforehand: bets against each value that it may have.

docs/money.md has the theorem. For a value m, factors 1 + λ(x − mᵢ) are fair if the mean is m: on a list mᵢ is the mean of what is
left of it, (M·m − sum so far) / (M − i), on fresh pulls m itself. An average over λ of both signs reaches 1/δ with probability δ.
"""

import numpy as np

from surest.core.protocol import FloatArray

GRID = 2000
"""Values that are tried, evenly spread over [0, 1]; the interval is one step wider at each end than those left."""
FRACTIONS = 0.9 / 2.0 ** np.arange(9)
"""Stakes, as parts of the largest that cannot lose all."""


def mean_interval(sample: FloatArray, delta: float, whole: int | None = None) -> tuple[float, float]:
    """Bounds of a mean on [0, 1], both at once at 1 − δ, from a sample; without replacement from a list of `whole`, if given.

    >>> low, high = mean_interval(np.tile([1.0, 1, 0], 100), 0.05)
    >>> round(low, 2), round(high, 2)
    (0.57, 0.75)
    >>> mean_interval(np.array([1.0, 0, 1]), 0.05, whole=3)
    (0.6666666666666666, 0.6666666666666666)
    """
    if whole is not None and len(sample) >= whole:
        return float(sample.mean()), float(sample.mean())
    values, seen = np.linspace(0, 1, GRID + 1)[:, None], 0.0
    logs, alive = np.zeros((GRID + 1, 2 * len(FRACTIONS))), np.ones(GRID + 1, bool)
    for place, x in enumerate(sample.tolist()):
        left = values if whole is None else (whole * values - seen) / (whole - place)
        alive &= ((left >= -1e-12) & (left <= 1 + 1e-12))[:, 0]  # no list has such a mean
        left = np.clip(left, 1e-12, 1 - 1e-12)
        stakes = np.concatenate([FRACTIONS / left, -FRACTIONS / (1 - left)], axis=1)
        logs += np.log1p(stakes * (x - left))
        seen += x
        top = logs.max(axis=1)
        alive &= np.log(np.exp(logs - top[:, None]).mean(axis=1)) + top < -np.log(delta)
    kept = np.flatnonzero(alive)
    if not len(kept):  # between two values of the grid
        return float(sample.mean()), float(sample.mean())
    return max((int(kept[0]) - 1) / GRID, 0.0), min((int(kept[-1]) + 1) / GRID, 1.0)
