"""How hard an instance is: gaps, variances, and the paper's two sums."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from surest.core.protocol import FloatArray
from surest.lab.characteristic import ROUNDING
from surest.lab.divergence import chernoff_information
from surest.lab.numerics import minimum


@dataclass(frozen=True)
class Hardness:
    """The quantities that bound the pulls an instance needs."""

    best: int
    means: FloatArray
    gaps: FloatArray  # Δ_i = μ_best − μ_i, and for the best arm the smallest of these
    variances: FloatArray
    costs: FloatArray  # σ_i²/Δ_i² + 1/Δ_i
    h: float  # H = Σ 1/Δ_i²
    h_var: float  # H_var = Σ (σ_i²/Δ_i² + 1/Δ_i)

    @property
    def others(self) -> FloatArray:
        """Δ_2 … Δ_n."""
        return np.delete(self.gaps, self.best)


def hardness(means: npt.ArrayLike, variances: npt.ArrayLike) -> Hardness:
    """Gaps and sums of an instance; infinite where two arms are best."""
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
    """The gap entropy Ent(Δ_2 … Δ_n) of Chen, Li and Qiao: that of Σ 1/Δ² over the classes 2^−k ≤ Δ < 2^−(k−1), in nats."""
    _, classes = np.unique(np.frexp(gaps)[1], return_inverse=True)
    share = np.bincount(classes, gaps**-2.0) / (gaps**-2.0).sum()
    return float(-(share * np.log(share)).sum()) + 0.0  # not −0.0


def gap_entropy(hard: Hardness) -> float:
    """Ent(I) of an instance: 0 where all gaps have one scale, up to ln k where k scales weigh equally; NaN where it has none."""
    return entropy(hard.others) if hard.others.size and hard.others.min() > 0 else float("nan")


def paper_lower_bound(hard: Hardness, delta: float) -> float:
    """The paper's lower bound on the expected pulls of any δ-correct algorithm: (1/80)·H_var·ln(1/δ)."""
    return float(hard.h_var * np.log(1 / delta) / 80)


class UpperBound(NamedTuple):
    """One expression: whose it is, what it says, and its value as a function of the instance and δ."""

    method: str
    formula: str
    value: Callable[[Hardness, float], Any]


def doubly_log(gaps: npt.ArrayLike) -> FloatArray:
    """ln(e + ln 1/Δ), the paper's ln ln 1/Δ for gaps that need not be small."""
    return np.asarray(np.log(np.e + np.maximum(np.log(1 / np.asarray(gaps, float)), 0.0)))


def lil_klucb(hard: Hardness, delta: float) -> float:
    """The expression of lil-KLUCB in Chernoff information D* (Tánczos, Nowak and Mankoff 2017), minimised over the levels θ̃.

    Only their largest θ̃ enters the best arm's term, and the others fall as their own level rises: all levels are θ̃.
    """
    means = hard.means
    top, others = means[hard.best], np.delete(means, hard.best)

    def at(level: float) -> float:
        d1, d = chernoff_information(level, top), chernoff_information(others, level)
        first = (np.log(len(means) / delta) + doubly_log(d1)) / d1
        return float(first + ((np.log(1 / delta) + doubly_log(d)) / d).sum())

    low, width = others.max(), top - others.max()
    with np.errstate(divide="ignore"):
        return minimum(lambda u: at(low + u * width), 0.0, 1.0)


UPPER_BOUNDS: dict[str, UpperBound] = {
    # Even-Dar, Mannor and Mansour 2002, both; Δ is the smallest gap.
    "median-elimination": UpperBound(
        "Median Elimination", "n/Δ² · ln 1/δ",
        lambda hard, delta: len(hard.gaps) / hard.gaps[hard.best] ** 2 * np.log(1 / delta),
    ),
    "successive-elimination": UpperBound(
        "Successive Elimination", "Σ 1/Δᵢ² · (ln 1/δ + ln n + lnln 1/Δᵢ)",
        lambda hard, delta: (
            hard.others**-2.0 * (np.log(1 / delta) + np.log(len(hard.gaps)) + doubly_log(hard.others))
        ).sum(),
    ),
    # Equation (1): Karnin, Koren, Somekh 2013; Jamieson et al. 2014.
    "exponential-gap": UpperBound(
        "Exponential-Gap Elimination, lil'UCB", "Σ 1/Δᵢ² · (ln 1/δ + lnln 1/Δᵢ)",
        lambda hard, delta: (hard.others**-2.0 * (np.log(1 / delta) + doubly_log(hard.others))).sum(),
    ),
    # Chen, Li and Qiao 2017, the first term of equation (2). Left out is the second, 1/Δ_2²·ln ln 1/Δ_2 times
    # a polylogarithm of n and 1/δ that is not stated.
    "entropy": UpperBound(
        "Chen, Li and Qiao (first term only)", "Σ 1/Δᵢ² · (ln 1/δ + Ent(Δ₂ … Δₙ))",
        lambda hard, delta: (hard.others**-2.0).sum() * (np.log(1 / delta) + entropy(hard.others)),
    ),
    "lil-klucb": UpperBound("lil-KLUCB", "(ln n/δ + lnln 1/D₁)/D₁ + Σ (ln 1/δ + lnln 1/Dᵢ)/Dᵢ", lil_klucb),
    # The paper, section 3, and equation (3), its main theorem.
    "naive-best-arm": UpperBound(
        "NaiveBestArm", "Σ (σᵢ²/Δᵢ² + 1/Δᵢ) · (ln 1/δ + lnln 1/Δᵢ + ln n)",
        lambda hard, delta: (hard.costs * (np.log(len(hard.gaps) / delta) + doubly_log(hard.gaps))).sum(),
    ),
    "vd-best-arm-id": UpperBound(
        "VD-BestArmId", "Σ (σᵢ²/Δᵢ² + 1/Δᵢ) · (ln 1/δ + lnln 1/Δᵢ)",
        lambda hard, delta: (hard.costs * (np.log(1 / delta) + doubly_log(hard.gaps))).sum(),
    ),
}  # fmt: skip


def upper_bounds(hard: Hardness, delta: float) -> dict[str, float]:
    """Every expression of `UPPER_BOUNDS`; infinite where two arms are best, 0 for a single arm."""
    if len(hard.gaps) == 1 or not hard.gaps.min() > 0:
        return dict.fromkeys(UPPER_BOUNDS, 0.0 if len(hard.gaps) == 1 else np.inf)
    return {name: float(bound.value(hard, delta)) for name, bound in UPPER_BOUNDS.items()}
