"""The special functions that surest needs besides NumPy, so that it does not depend on SciPy, with which tests compare them."""

import math

STEPS = 300  # the maximum number of steps of a search or a series; a few dozen are usual


def log_beta(a: float, b: float) -> float:
    """The logarithm of Euler's beta function."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def beta_share(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_share(b, a, 1 - x)
    tiny = 1e-300
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1), tiny)
    fraction = d
    for m in range(1, 100 * STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = fraction
        for coefficient in (even, odd):
            d, c = 1 / _away(1 + coefficient * d, tiny), _away(1 + coefficient / c, tiny)
            fraction *= c * d
        if abs(fraction - before) <= 1e-16 * fraction:
            break
    return math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta(a, b)) * fraction / a


def _away(value: float, tiny: float) -> float:
    """The value, or `tiny` in place of 0."""
    return value if abs(value) > tiny else tiny


def at_least(count: int, trials: int, p: float) -> float:
    """The probability of at least `count` successes in independent trials."""
    return 1.0 if count <= 0 else 0.0 if count > trials else beta_share(count, trials - count + 1, p)
