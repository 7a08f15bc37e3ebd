"""Radii and levels of confidence bounds for a mean of rewards in [0, 1]. Pure functions; docs/rivals.md has the proofs.

A radius is added to or taken from an empirical mean. A level is compared with count·kl(mean, x). "One-sided" says that
the stated probability is that of a failure on one side.
"""

from math import log, sqrt

from surest.compiled import compiled

VARIANCE = 0.25
"""σ² of rewards in [0, 1]: they are sub-Gaussian with it."""


@compiled
def hoeffding(count: float, log_inverse: float) -> float:
    """Radius at one count; fails with probability e^(−log_inverse), one-sided.

    >>> round(hoeffding(50, log(20)), 4)
    0.1731
    """
    return sqrt(log_inverse / (2 * count))


@compiled
def empirical_bernstein(variance: float, count: float, log_inverse: float) -> float:
    """Radius at one count ≥ 2 from the unbiased variance; fails with probability 2·e^(−log_inverse), one-sided.

    Maurer and Pontil 2009, Theorem 4.

    >>> round(empirical_bernstein(0.0, 101, 3.0), 3), round(empirical_bernstein(0.25, 101, 3.0), 3)
    (0.07, 0.192)
    """
    return sqrt(2 * variance * log_inverse / count) + 7 * log_inverse / (3 * (count - 1))


@compiled
def iterated_log(count: float, failure: float, epsilon: float) -> float:
    """Radius valid at all counts together; fails with probability `lil_factor(epsilon)`·failure, one-sided.

    Jamieson, Malloy, Nowak, Bubeck 2014, Lemma 1. The inner logarithm is not taken below 1: at count 1 and ε = 0 it would
    be 0, whose logarithm is not a number. A larger radius is as valid.

    >>> iterated_log(1, 0.01, 0.0) == sqrt(log(100) / 2)
    True
    """
    inner = max(log((1 + epsilon) * count), 1.0)
    return (1 + sqrt(epsilon)) * sqrt(2 * VARIANCE * (1 + epsilon) * log(inner / failure) / count)


def lil_factor(epsilon: float) -> float:
    """c_ε of the iterated-logarithm bound.

    >>> round(lil_factor(0.01))
    21153
    """
    return (2 + epsilon) / epsilon * float(log(1 + epsilon) ** -(1 + epsilon))


@compiled
def kl_iterated_log(count: float, log_inverse: float, ratio: float, power: float, log_zeta: float) -> float:
    """Level for count·kl(mean, μ), valid at all counts together; fails with probability e^(−log_inverse), one-sided.

    Counts are cut into epochs [ratio^k, ratio^(k+1)); epoch k fails with probability proportional to (k + 1)^−power, and
    `log_zeta` is the logarithm of the sum of these.

    >>> round(kl_iterated_log(1000, log(20), 1.2, 1.25, log(4.5951118)), 3)
    10.916
    """
    return ratio * (log_inverse + log_zeta + power * log(1 + log(count) / log(ratio)))


@compiled
def kl_rate(total: float, log_inverse: float, alpha: float) -> float:
    """Level for count·kl(mean, x) after `total` pulls: z + ln z with z = log_inverse + alpha·ln(total).

    Kaufmann and Kalyanakrishnan 2013, with log_inverse = ln(k₁K/δ). Alpha 0 stands for ln((1 + ln total)/δ), the rate of the
    experiments of Garivier and Kaufmann 2016, section 6, with log_inverse = ln(1/δ), which no theorem covers.

    >>> round(kl_rate(1000, log(405.5 * 4 / 0.1), 1.1), 3), round(kl_rate(1000, log(10), 0.0), 3)
    (20.143, 4.37)
    """
    if alpha == 0:
        return log_inverse + log(1 + log(total))
    z = log_inverse + alpha * log(total)
    return z + log(z)
