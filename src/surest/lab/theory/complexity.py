"""How hard an instance is: gaps, variances, and the paper's two sums."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surest.arms.characteristic import ROUNDING
from surest.core.protocol import FloatArray


@dataclass(frozen=True)
class Hardness:
    """The quantities that bound the pulls an instance needs."""

    best: int
    means: FloatArray
    gaps: FloatArray
    """Δ_i = μ_best − μ_i, and for the best arm the smallest of these."""
    variances: FloatArray
    costs: FloatArray
    """σ_i²/Δ_i² + 1/Δ_i."""
    h: float
    """H = Σ 1/Δ_i²."""
    h_var: float
    """H_var = Σ (σ_i²/Δ_i² + 1/Δ_i)."""


def hardness(means: npt.ArrayLike, variances: npt.ArrayLike) -> Hardness:
    """Gaps and sums of an instance; infinite where two arms are best.

    >>> hard = hardness([0.5, 0.4], [0.25, 0.24])
    >>> round(hard.h), round(hard.h_var)
    (200, 69)
    """
    mu, var = np.asarray(means, float), np.asarray(variances, float)
    best = int(mu.argmax())
    gaps = mu[best] - mu
    gaps[gaps < ROUNDING] = 0.0
    gaps[best] = np.delete(gaps, best).min() if len(mu) > 1 else np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        costs = np.where(gaps > 0, var / gaps**2 + 1 / gaps, np.inf)
        h = np.sum(1 / gaps**2)
    return Hardness(best, mu, gaps, var, costs, float(h), float(costs.sum()))


def entropy(gaps: FloatArray) -> float:
    """The gap entropy Ent(Δ_2 … Δ_n) of Chen, Li and Qiao: that of Σ 1/Δ² over the classes 2^−k ≤ Δ < 2^−(k−1), in nats.

    >>> from math import log
    >>> entropy(np.array([0.5, 0.5, 0.25, 0.25])) == 0.2 * log(5) + 0.8 * log(1.25)
    True
    """
    _, classes = np.unique(np.frexp(gaps)[1], return_inverse=True)
    share = np.bincount(classes, gaps**-2.0) / (gaps**-2.0).sum()
    return float(-(share * np.log(share)).sum()) + 0.0  # not −0.0


def gap_entropy(hard: Hardness) -> float:
    """Ent(I) of an instance: 0 where all gaps have one scale, up to ln k where k scales weigh equally; NaN where it has none.

    >>> round(gap_entropy(hardness([0.9, 0.4, 0.65, 0.65], [0.1] * 4)), 3)
    0.349
    """
    others = np.delete(hard.gaps, hard.best)
    return entropy(others) if others.size and others.min() > 0 else float("nan")


def paper_lower_bound(hard: Hardness, delta: float) -> float:
    """The paper's lower bound on the expected pulls of any δ-correct algorithm: (1/80)·H_var·ln(1/δ).

    >>> round(paper_lower_bound(hardness([0.5, 0.4], [0.25, 0.24]), 0.1), 2)
    1.99
    """
    return float(hard.h_var * np.log(1 / delta) / 80)
