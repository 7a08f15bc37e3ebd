"""How far a mean is from what was seen: kl of Bernoulli laws, its like for any law on [0, 1], K_inf, and radii of bounds.

For one law at a time: these are for the inner loops of algorithms. `lab.divergence` has the same for many laws at once, on
arrays and with derivatives; it is 10 times as fast there or more, and a test holds the two to each other. A radius is added to
or taken from an empirical mean. A level is compared with count·kl(mean, x). "One-sided" says that the stated probability is that
of a failure on one side. docs/rivals.md has the proofs.
"""

from surest.core.protocol import FloatArray
from surest.kernels import libm
from surest.kernels.lab.constants import LAST, VARIANCE


def kl(p: float, q: float) -> float:
    """Kullback-Leibler divergence of the Bernoulli law of mean p from that of mean q; finite for means of 0 or 1.

    >>> kl(0.0, 0.5) == libm.log(2), kl(1.0, 1.0), kl(0.5, 1.0)
    (True, 0.0, inf)
    """
    if (q <= 0 and p > 0) or (q >= 1 and p < 1):
        return libm.inf
    above = p * libm.log(p / q) if p > 0 else 0.0
    below = (1 - p) * libm.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return max(above + below, 0.0)


def kl_upper(p: float, level: float) -> float:
    """The largest q ≥ p with kl(p, q) ≤ level, never below it: Newton comes down from above on a convex function.

    >>> round(kl_upper(0.0, libm.log(2)), 9), kl_upper(1.0, 3.0), round(kl_upper(0.5, 0.02), 6)
    (0.5, 1.0, 0.599008)
    """
    if p >= 1 or level <= 0:
        return p
    if p <= 0:
        return -(libm.exp(-level) - 1)
    rest = 1 - p
    target = p * libm.log(p) + rest * libm.log(rest) - level
    # Both starts have kl(p, q) ≥ level: the first by Pinsker's inequality, the second because p·ln(p/q) ≥ p·ln p.
    q = min(p + libm.sqrt(level / 2), 1 - rest * libm.exp(-(level - p * libm.log(p)) / rest))
    for _ in range(60):
        if q >= 1:
            return 1.0
        step = (target - p * libm.log(q) - rest * libm.log(1 - q)) * q * (1 - q) / (q - p)
        q -= step
        if step <= LAST * (q - p):
            break
    return q


def surely_above(p: float, level: float, q: float) -> bool:
    """Whether kl_lower(p, level) ≥ q, without a search.

    >>> surely_above(0.9, 0.5, 0.3), surely_above(0.9, 0.5, 0.8), surely_above(0.9, 0.5, -0.1)
    (True, False, True)
    """
    return q <= 0 or (q < p and kl(p, q) >= level)


def kl_lower(p: float, level: float) -> float:
    """The smallest q ≤ p with kl(p, q) ≤ level, never above it.

    >>> round(kl_lower(1.0, libm.log(2)), 9)
    0.5
    """
    return 1 - kl_upper(1 - p, level)


def k_inf(values: FloatArray, weights: FloatArray, count: int, u: float, mirrored: bool = False) -> tuple[float, float]:
    """Σ weights · ln(1 − λ(x − u)) at its maximum over 0 ≤ λ ≤ 1/(1 − u), and that λ.

    Divided by the sum of the weights this is K_inf, the smallest divergence of the law of `values[:count]` from any law
    on [0, 1] with a mean of u or more. λ is its derivative by u, times the sum of the weights. Bernoulli rewards give kl.
    `mirrored` stands for 1 − values.

    >>> import numpy as np
    >>> value, slope = k_inf(np.array([0.0, 1.0]), np.array([3.0, 1.0]), 2, 0.5)
    >>> round(value / 4, 12) == round(kl(0.25, 0.5), 12)
    True
    """
    total, mean, square = 0.0, 0.0, 0.0
    for i in range(count):
        x = 1 - values[i] if mirrored else values[i]
        total += weights[i]
        mean += weights[i] * x
        square += weights[i] * ((x - u) * (x - u))
    if total == 0 or mean >= u * total:
        return 0.0, 0.0
    if u >= 1:
        return libm.inf, libm.inf
    low, high = 0.0, 1 / (1 - u)
    slack = 0.0  # the derivative at the right end; where it is not negative, the maximum is there
    for i in range(count):
        x = 1 - values[i] if mirrored else values[i]
        slack -= weights[i] * (x - u) / max(1 - high * (x - u), 1e-300)
    if slack >= 0:
        return log_wealth(values, weights, count, u, high, mirrored), high * total
    bet = min((u * total - mean) / square, 0.5 * high)  # the first term is right for small ones
    for _ in range(100):
        slope, curve = 0.0, 0.0
        for i in range(count):
            x = 1 - values[i] if mirrored else values[i]
            ratio = (x - u) / (1 - bet * (x - u))
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
    return log_wealth(values, weights, count, u, bet, mirrored), bet * total


def log_wealth(values: FloatArray, weights: FloatArray, count: int, u: float, bet: float, mirrored: bool) -> float:
    """Σ weights · ln(1 − λ(x − u)) at one λ."""
    wealth = 0.0
    for i in range(count):
        if weights[i] > 0:
            x = 1 - values[i] if mirrored else values[i]
            wealth += weights[i] * libm.log1p(-bet * (x - u))
    return max(wealth, 0.0)


# --- radii and levels ---------------------------------------------------------------------------------------------------
def hoeffding(count: float, log_inverse: float) -> float:
    """Radius at one count; fails with probability e^(−log_inverse), one-sided.

    >>> round(hoeffding(50, libm.log(20)), 4)
    0.1731
    """
    return libm.sqrt(log_inverse / (2 * count))


def empirical_bernstein(variance: float, count: float, log_inverse: float) -> float:
    """Radius at one count ≥ 2 from the unbiased variance; fails with probability 2·e^(−log_inverse), one-sided.

    Maurer and Pontil 2009, Theorem 4.

    >>> round(empirical_bernstein(0.0, 101, 3.0), 3), round(empirical_bernstein(0.25, 101, 3.0), 3)
    (0.07, 0.192)
    """
    return libm.sqrt(2 * variance * log_inverse / count) + 7 * log_inverse / (3 * (count - 1))


def iterated_log(count: float, failure: float, epsilon: float) -> float:
    """Radius valid at all counts together; fails with probability `lil_factor(epsilon)`·failure, one-sided.

    Jamieson, Malloy, Nowak, Bubeck 2014, Lemma 1. The inner logarithm is not taken below 1: at count 1 and ε = 0 it would
    be 0, whose logarithm is not a number. A larger radius is as valid.

    >>> iterated_log(1, 0.01, 0.0) == libm.sqrt(libm.log(100) / 2)
    True
    """
    inner = max(libm.log((1 + epsilon) * count), 1.0)
    return (1 + libm.sqrt(epsilon)) * libm.sqrt(2 * VARIANCE * (1 + epsilon) * libm.log(inner / failure) / count)


def kl_iterated_log(count: float, log_inverse: float, ratio: float, power: float, log_zeta: float) -> float:
    """Level for count·kl(mean, μ), valid at all counts together; fails with probability e^(−log_inverse), one-sided.

    Counts are cut into epochs [ratio^k, ratio^(k+1)); epoch k fails with probability proportional to (k + 1)^−power, and
    `log_zeta` is the logarithm of the sum of these.

    >>> round(kl_iterated_log(1000, libm.log(20), 1.2, 1.25, libm.log(4.5951118)), 3)
    10.916
    """
    return ratio * (log_inverse + log_zeta + power * libm.log(1 + libm.log(count) / libm.log(ratio)))


def kl_rate(total: float, log_inverse: float, alpha: float) -> float:
    """Level for count·kl(mean, x) after `total` pulls: z + ln z with z = log_inverse + alpha·ln(total).

    Kaufmann and Kalyanakrishnan 2013, with log_inverse = ln(k₁K/δ). Alpha 0 stands for ln((1 + ln total)/δ), the rate of the
    experiments of Garivier and Kaufmann 2016, section 6, with log_inverse = ln(1/δ), which no theorem covers.

    >>> round(kl_rate(1000, libm.log(405.5 * 4 / 0.1), 1.1), 3), round(kl_rate(1000, libm.log(10), 0.0), 3)
    (20.143, 4.37)
    """
    if alpha == 0:
        return log_inverse + libm.log(1 + libm.log(total))
    z = log_inverse + alpha * libm.log(total)
    return z + libm.log(z)
