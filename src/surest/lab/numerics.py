"""Numerical analysis for researchers, besides NumPy: SciPy has it too, in 140 MB. Tests compare each function with SciPy's."""

import math
from collections.abc import Callable
from statistics import NormalDist

from surest.numerics import STEPS, beta_share

GOLDEN = (math.sqrt(5) - 1) / 2
NARROW = 1e-9  # the part of an interval to which golden sections narrow it down
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
"""The Bernoulli numbers B₂, B₄, … of the Euler-Maclaurin formula."""

normal_quantile = NormalDist().inv_cdf


def root(function: Callable[[float], float], low: float, high: float, relative: float = 4e-16) -> float:
    """Where a function changes its sign between two points, by Chandrupatla's method (1997).

    It takes a step of inverse quadratic interpolation where that is safe, and halves the interval elsewhere.
    """
    a, b = float(high), float(low)
    fa, fb = function(a), function(b)
    if fa * fb > 0:
        raise ValueError(f"the function has the same sign at {low} and {high}")
    c, fc, part = a, fa, 0.5
    for _ in range(STEPS):
        x = a + part * (b - a)
        fx = function(x)
        if (fx > 0) == (fa > 0):
            c, fc = a, fa
        else:
            c, b, fc, fb = b, a, fb, fa
        a, fa = x, fx
        best, value = (a, fa) if abs(fa) < abs(fb) else (b, fb)
        tolerance = relative * abs(best) / abs(b - a) if b != a else 1.0
        if tolerance > 0.5 or value == 0:
            return best
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        part = 0.5
        if phi * phi < xi and (1 - phi) * (1 - phi) < 1 - xi:
            part = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        part = min(max(part, tolerance), 1 - tolerance)
    return best


def minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """The least value between two points of a function that falls and then rises, by golden sections."""
    a, b = low, high
    x, y = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    fx, fy = function(x), function(y)
    while b - a > NARROW * (high - low):
        if fx <= fy:
            b, y, fy = y, x, fx
            x = b - GOLDEN * (b - a)
            fx = function(x)
        else:
            a, x, fx = x, y, fy
            y = a + GOLDEN * (b - a)
            fy = function(y)
    return min(fx, fy)


def zeta(s: float) -> float:
    """Riemann's zeta function, Σ n^−s for s > 1, by the Euler-Maclaurin formula."""
    n = 10
    total: float = math.fsum(k**-s for k in range(1, n)) + n ** (1 - s) / (s - 1) + n**-s / 2
    term = s * n ** (-s - 1)
    for k, number in enumerate(BERNOULLI, 1):
        total += number * term / math.factorial(2 * k)
        term *= (s + 2 * k - 1) * (s + 2 * k) / n**2
    return total


def student_tail(degrees: float, t: float) -> float:
    """The probability that Student's t exceeds a value."""
    half = 0.5 * beta_share(degrees / 2, 0.5, degrees / (degrees + t * t))
    return half if t >= 0 else 1 - half
