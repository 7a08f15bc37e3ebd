"""The proof of the paper's lower bound: the instance I, its alternatives I'_i and I''_i, and their divergences.

Each alternative differs from I in one arm and has another best arm, so a δ-correct algorithm must pull that arm often enough
to see the difference: E[T_i]·KL(X_i, X_i') ≥ ln 1/(2.4δ).
"""

from dataclasses import dataclass

import numpy as np

from surest.arms.finite import FiniteArms, finite_arms
from surest.core.protocol import FloatArray
from surest.errors import UsageError


@dataclass(frozen=True)
class Alternative:
    """An instance that differs from I in one arm."""

    arms: FiniteArms
    arm: int
    """The arm that differs, from 0."""
    divergence: float
    """KL(X_i, X_i'), in nats, by the paper's formula."""


def first_alternative(instance: FiniteArms, arm: int) -> Alternative:
    """I'_i of case 1 (σ_i² ≥ 5Δ_i): the two values stay, their probabilities move by Δ_i/σ_i.

    The best arm (i = 1) falls by 2Δ_2 and another arm rises by 2Δ_i. KL(X_i, X_i') = ½ ln 1/(1 − 4Δ²/σ²).

    >>> from surest.arms.instances import lower_bound_instance
    >>> other = first_alternative(lower_bound_instance([0.01], [0.09]), 1)
    >>> other.arms.means.round(3), round(other.divergence, 6)
    (array([0.5 , 0.51]), 0.002227)
    """
    gap, sigma, (low, high) = _parts(instance, arm)
    if not sigma > 2 * gap:
        raise UsageError(
            f"arm {arm}: I' needs σ > 2Δ to move Δ/σ of probability, but σ = {sigma:.3g} and Δ = {gap:.3g}"
        )
    up = gap / sigma * (-1 if arm == 0 else 1)
    law = (np.array([low, high]), np.array([0.5 - up, 0.5 + up]))
    return Alternative(_replaced(instance, arm, law), arm, float(-np.log1p(-4 * gap**2 / sigma**2) / 2))


def second_alternative(instance: FiniteArms, arm: int) -> Alternative:
    """I''_i of case 2 (σ_i² < 5Δ_i): a little probability moves to the end of the range.

    For the best arm 4Δ_2 moves to 0 and KL(X_1, X_1'') = ln 1/(1 − 4Δ_2); for another, 2Δ_i moves to 1 and
    KL(X_i, X_i'') = ln 1/(1 − 2Δ_i).

    >>> from surest.arms.instances import lower_bound_instance
    >>> other = second_alternative(lower_bound_instance([0.05], [0.04]), 0)
    >>> other.arms.means.round(3), round(other.divergence, 4)
    (array([0.4 , 0.45]), 0.2231)
    """
    gap, _, (low, high) = _parts(instance, arm)
    moved, where = (4 * gap, 0.0) if arm == 0 else (2 * gap, 1.0)
    law = (np.array([low, high, where]), np.array([(1 - moved) / 2, (1 - moved) / 2, moved]))
    return Alternative(_replaced(instance, arm, law), arm, float(-np.log1p(-moved)))


def law_divergence(arms: FiniteArms, others: FiniteArms, arm: int) -> float:
    """KL between an arm's laws in two instances, from the laws themselves; infinite where one has an atom the other lacks.

    >>> from surest.arms.finite import bernoulli
    >>> round(law_divergence(bernoulli([0.5]), bernoulli([0.25]), 0), 4)
    0.1438
    """
    values, p = arms.law(arm)
    other_values, q = others.law(arm)
    if not np.isin(values, other_values).all():
        return float("inf")
    return float((p * np.log(p / q[np.searchsorted(other_values, values)])).sum())


def _parts(instance: FiniteArms, arm: int) -> tuple[float, float, FloatArray]:
    """Δ_i (Δ_2 for the best arm), σ_i, and the two values of X_i."""
    gaps = instance.means[0] - instance.means[1:]
    gap = float(gaps.min() if arm == 0 else gaps[arm - 1])
    values, _ = instance.law(arm)
    return gap, float(np.sqrt(instance.variances[arm])), np.array([values[0], values[-1]])


def _replaced(instance: FiniteArms, arm: int, law: tuple[FloatArray, FloatArray]) -> FiniteArms:
    laws = [law if i == arm else instance.law(i) for i in range(len(instance))]
    return finite_arms(laws, instance.labels)
