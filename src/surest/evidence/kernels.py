"""How far a mean is from what was seen: kl of Bernoulli laws, and its like for any law on [0, 1], K_inf.

For one law at a time: these compile, for the inner loops of algorithms. `theory.divergence` has the same for many laws at
once, on arrays and with derivatives; it is 10 times as fast there or more, and a test holds the two to each other.
"""

from math import exp, inf, log, log1p, sqrt

from surest.compiled import compiled
from surest.core.protocol import FloatArray

LAST = 1e-8
"""A Newton step smaller than this, in proportion, is the last one: it squares the error."""


@compiled
def kl(p: float, q: float) -> float:
    """Kullback-Leibler divergence of the Bernoulli law of mean p from that of mean q; finite for means of 0 or 1.

    >>> kl(0.0, 0.5) == log(2), kl(1.0, 1.0), kl(0.5, 1.0)
    (True, 0.0, inf)
    """
    above = p * log(p / q) if p > 0 else 0.0
    below = (1 - p) * log((1 - p) / (1 - q)) if p < 1 else 0.0
    return max(above + below, 0.0)


@compiled
def kl_upper(p: float, level: float) -> float:
    """The largest q ≥ p with kl(p, q) ≤ level, never below it: Newton comes down from above on a convex function.

    >>> round(kl_upper(0.0, log(2)), 9), kl_upper(1.0, 3.0), round(kl_upper(0.5, 0.02), 6)
    (0.5, 1.0, 0.599008)
    """
    if p >= 1 or level <= 0:
        return p
    if p <= 0:
        return -float(exp(-level) - 1)
    rest = 1 - p
    target = p * log(p) + rest * log(rest) - level
    # Both starts have kl(p, q) ≥ level: the first by Pinsker's inequality, the second because p·ln(p/q) ≥ p·ln p.
    q = min(p + sqrt(level / 2), 1 - rest * exp(-(level - p * log(p)) / rest))
    for _ in range(60):
        if q >= 1:
            return 1.0
        step = (target - p * log(q) - rest * log(1 - q)) * q * (1 - q) / (q - p)
        q -= step
        if step <= LAST * (q - p):
            break
    return q


@compiled
def surely_above(p: float, level: float, q: float) -> bool:
    """Whether kl_lower(p, level) ≥ q, without a search.

    >>> surely_above(0.9, 0.5, 0.3), surely_above(0.9, 0.5, 0.8), surely_above(0.9, 0.5, -0.1)
    (True, False, True)
    """
    return q <= 0 or (q < p and kl(p, q) >= level)


@compiled
def kl_lower(p: float, level: float) -> float:
    """The smallest q ≤ p with kl(p, q) ≤ level, never above it.

    >>> round(kl_lower(1.0, log(2)), 9)
    0.5
    """
    return 1 - kl_upper(1 - p, level)


@compiled
def k_inf(values: FloatArray, weights: FloatArray, count: int, u: float) -> tuple[float, float]:
    """Σ weights · ln(1 − λ(x − u)) at its maximum over 0 ≤ λ ≤ 1/(1 − u), and that λ.

    Divided by the sum of the weights this is K_inf, the smallest divergence of the law of `values[:count]` from any law
    on [0, 1] with a mean of u or more. λ is its derivative by u, times the sum of the weights. Bernoulli rewards give kl.

    >>> import numpy as np
    >>> value, slope = k_inf(np.array([0.0, 1.0]), np.array([3.0, 1.0]), 2, 0.5)
    >>> round(value / 4, 12) == round(kl(0.25, 0.5), 12)
    True
    """
    total, mean, square = 0.0, 0.0, 0.0
    for i in range(count):
        total += weights[i]
        mean += weights[i] * values[i]
        square += weights[i] * ((values[i] - u) * (values[i] - u))
    if total == 0 or mean >= u * total:
        return 0.0, 0.0
    if u >= 1:
        return inf, inf
    low, high = 0.0, 1 / (1 - u)
    slack = 0.0  # the derivative at the right end; where it is not negative, the maximum is there
    for i in range(count):
        slack -= weights[i] * (values[i] - u) / max(1 - high * (values[i] - u), 1e-300)
    if slack >= 0:
        return _log_wealth(values, weights, count, u, high), high * total
    bet = min((u * total - mean) / square, 0.5 * high)  # the first term is right for small ones
    for _ in range(100):
        slope, curve = 0.0, 0.0
        for i in range(count):
            ratio = (values[i] - u) / (1 - bet * (values[i] - u))
            slope -= weights[i] * ratio
            curve -= weights[i] * ratio * ratio
        if slope > 0:
            low = bet
        else:
            high = bet
        move = bet - slope / curve
        previous, bet = bet, move if low < move < high else 0.5 * (low + high)
        if abs(bet - previous) <= LAST * bet:
            break
    return _log_wealth(values, weights, count, u, bet), bet * total


@compiled
def _log_wealth(values: FloatArray, weights: FloatArray, count: int, u: float, bet: float) -> float:
    wealth = 0.0
    for i in range(count):
        if weights[i] > 0:
            wealth += weights[i] * log1p(-bet * (values[i] - u))
    return max(wealth, 0.0)
