"""A confidence interval of one mean from a sample whose size was fixed beforehand: bets against each value that it may have.

docs/money.md has the theorem. For a value m, factors 1 + λ(x − mᵢ) are fair if the mean is m: on a list mᵢ is the mean of what is
left of it, (its weight·m − weighted sum so far) / weight left, on fresh pulls m itself. Bets with λ > 0 win the more, the smaller
m is; those with λ < 0, the larger. An average over λ of one sign reaches 2/δ with probability δ/2.
"""

import numpy as np

from surest.core.protocol import FloatArray

GRID = 2000  # values that are tried, evenly spread over [0, 1]
FRACTIONS = 0.9 / 2.0 ** np.arange(9)  # stakes, as parts of the largest that cannot lose all


def mean_interval(
    sample: FloatArray, delta: float, weights: FloatArray | None = None, total: float = 0.0
) -> tuple[float, float]:
    """Bounds of a mean on [0, 1], both at once at 1 − δ, from a sample of fresh draws.

    With `weights` it is one of a list without replacement, each time in proportion to weight: these are those of the sample, and
    `total` is that of the list.
    """
    if weights is not None and weights.sum() >= total * (1 - 1e-12):  # the whole list
        return (float(weights @ sample) / total,) * 2
    values, low, high, enough = np.linspace(0, 1, GRID + 1), 0.0, 1.0, np.log(2 / delta)
    above, below = np.zeros((GRID + 1, len(FRACTIONS))), np.zeros((GRID + 1, len(FRACTIONS)))
    each = np.zeros(len(sample)) if weights is None else weights
    before, used = np.cumsum(each * sample) - each * sample, np.cumsum(each) - each
    for place, x in enumerate(sample.tolist()):
        left = values if weights is None else (total * values - before[place]) / max(total - used[place], 1e-12)
        left = np.clip(left, 1e-12, 1 - 1e-12)[:, None]
        above += np.log1p(FRACTIONS * (x / left - 1))
        below += np.log1p(FRACTIONS * ((1 - x) / (1 - left) - 1))
        low = max(low, float(values[_log_mean(above) >= enough].max(initial=0.0)))
        high = min(high, float(values[_log_mean(below) >= enough].min(initial=1.0)))
        open_ = (values > low) & (values < high)
        if 2 * open_.sum() < len(values):
            values, above, below = values[open_], above[open_], below[open_]
            if not len(values):
                break
    if weights is not None:  # what the rest of the list can do
        seen, rest = float(weights @ sample), total - float(weights.sum())
        low, high = max(low, seen / total), min(high, (seen + rest) / total)
    return min(low, high), max(low, high)


def _log_mean(logs: FloatArray) -> FloatArray:
    top = logs.max(axis=1)
    found: FloatArray = np.log(np.exp(logs - top[:, None]).mean(axis=1)) + top
    return found
