"""Divergences between laws on [0, 1], of many at once: what one reward is worth in telling them apart, in nats.

`kernels.lab.divergence` has kl and K_inf of one law at a time, for inner loops.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surest.core.protocol import BoolArray, FloatArray

STEPS = 100  # Newton steps before a search falls back on its bracket; a handful is usual
TINY = 1e-16


def kl_each(p: npt.ArrayLike, q: npt.ArrayLike) -> FloatArray:
    """The Kullback-Leibler divergence of Bernoulli(p) from Bernoulli(q)."""
    a, b = np.asarray(p, float), np.asarray(q, float)
    return _relative_entropy(a, b) + _relative_entropy(1 - a, 1 - b)


def _relative_entropy(a: FloatArray, b: FloatArray) -> FloatArray:
    """a·ln(a/b) in each place, with few wrong digits where the two are close."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        close = np.abs(a - b) < b / 2
        found = a * np.where(close, np.log1p((a - b) / b), np.log(a) - np.log(b))
    return np.where(a == 0, 0.0, found)


def chernoff_information(x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
    """D*(x, y) = max over z in [x, y] of min(kl(z, x), kl(z, y)), for x ≤ y: the two meet at the maximum."""
    low, high = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
    with np.errstate(divide="ignore", invalid="ignore"):
        rise, fall = np.log(high) - np.log(low), np.log1p(-low) - np.log1p(-high)
        z = fall / (rise + fall)  # where kl(z, x) = kl(z, y)
    z = np.where(low == 0, 0.0, np.where(high == 1, 1.0, z))  # where one of them is infinite, the other decides
    met = np.where(low == 0, kl_each(z, high), kl_each(z, low))
    return np.where(high > low, met, 0.0)


class KInf(NamedTuple):
    """K_inf at a level x, with its first two derivatives in x."""

    value: FloatArray
    slope: FloatArray
    curvature: FloatArray


def k_inf_above(
    values: FloatArray, probabilities: FloatArray, x: npt.ArrayLike, guess: FloatArray | None = None
) -> KInf:
    """K_inf: the least KL(ν, ν') over laws ν' on [0, 1] whose mean is at least x.

    By its dual (Honda and Takemura 2010), K_inf(ν, x) = max over λ in [0, 1/(1−x)] of E log(1 − λ(X − x)); the maximiser
    is the slope in x. Laws are rows, in which atoms of probability 0 do no harm, with a level for each; `guess` has slopes to
    start from.
    """
    level = np.asarray(x, float)
    d = values - level[..., None]
    lead = -_mean(probabilities, d)  # x − E X
    inside = (lead > 0) & (level < 1)
    cap = 1 / np.maximum(1 - level, TINY)
    at_cap = inside & _pays_to_go_on(d, probabilities, values.max(-1), cap)
    start = lead / np.maximum(_mean(probabilities, d**2), TINY) if guess is None else guess
    slope = np.where(at_cap, cap, _dual(d, probabilities, inside & ~at_cap, cap, start))
    z = np.maximum(-slope[..., None] * d, TINY - 1)
    value = np.maximum(_mean(probabilities, np.log1p(z)), 0.0)
    spread = _mean(probabilities, (1 / (1 + z) - 1) ** 2)  # E w² − 1 for w = 1/(1 − λ(X − x)), since E w = 1
    with np.errstate(all="ignore"):
        curvature = slope**2 * np.where(at_cap, 1.0, (1 + spread) / spread)
    certain = (level >= 1) & (lead > 0)
    return KInf(
        np.where(inside, value, np.where(certain, np.inf, 0.0)),
        np.where(inside, slope, np.where(certain, np.inf, 0.0)),
        np.where(inside, curvature, np.where(certain, np.inf, 0.0)),
    )


def k_inf_below(
    values: FloatArray, probabilities: FloatArray, x: npt.ArrayLike, guess: FloatArray | None = None
) -> KInf:
    """The least KL(ν, ν') over laws ν' on [0, 1] whose mean is at most x; its slope is that of the mirrored problem, ≥ 0."""
    return k_inf_above(1 - values, probabilities, 1 - np.asarray(x, float), guess)


def _mean(probabilities: FloatArray, values: FloatArray) -> FloatArray:
    """The expectation under each law. NumPy is slow at many sums of a few terms, so these are added one by one."""
    terms = probabilities * values
    if terms.shape[-1] >= 8:
        return np.asarray(terms.sum(-1))
    total = terms[..., 0]
    for k in range(1, terms.shape[-1]):
        total = total + terms[..., k]
    return total


def _pays_to_go_on(d: FloatArray, probabilities: FloatArray, top: FloatArray, cap: FloatArray) -> BoolArray:
    """Whether the dual still rises at the end of its range: then mass goes to 1, where the law has none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        falls = _mean(probabilities, d / (1 - cap[..., None] * d))
    return np.asarray((top < 1) & (falls <= 0))


def _dual(
    d: FloatArray, probabilities: FloatArray, wanted: BoolArray, cap: FloatArray, start: FloatArray
) -> FloatArray:
    """The λ in (0, cap) with E[d/(1 − λd)] = 0, by Newton's method inside a bracket.

    Multiplied by its two outer poles the function is linear for every law of two atoms, and nearly so for others.
    """
    top, bottom = d.max(-1), -d.min(-1)
    low, high = np.zeros(cap.shape), cap.copy()
    slope = np.where((start > 0) & (start < cap), start, cap / 2)
    for _ in range(STEPS):
        with np.errstate(all="ignore"):
            w = 1 / (1 - slope[..., None] * d)
            h, dh = _mean(probabilities, d * w), _mean(probabilities, (d * w) ** 2)
            low, high = np.where(h < 0, slope, low), np.where(h < 0, high, slope)
            a, b = 1 - slope * top, 1 + slope * bottom
            moved = slope - h * a * b / (dh * a * b + h * (bottom * a - top * b))
        moved = np.where((moved >= low) & (moved <= high), moved, (low + high) / 2)
        # Newton's steps square the error; below the second bound the level x itself is not known better.
        settled = (np.abs(moved - slope) <= 1e-8 * slope) | (np.abs(moved - slope) * dh <= 4 * TINY)
        slope = moved
        if (settled | ~wanted).all():
            break
    return slope
