"""Sums, upper-bound expressions, and the lower bound's instances, against what the paper says of them."""

import math

import numpy as np
import pytest

from surest.arms.finite import FiniteArms, finite_arms
from surest.arms.instances import lower_bound_instance
from surest.lab.divergence import chernoff_information, kl_each
from surest.lab.theory import (
    UPPER_BOUNDS,
    hardness,
    upper_bounds,
)


def sums(arms: FiniteArms):
    return hardness(arms.means, arms.variances)


def test_upper_bounds_written_out() -> None:
    hard = hardness([0.9, 0.6, 0.8], [0.09, 0.24, 0.16])
    log, tail = math.log(20), [math.log(math.e + math.log(1 / gap)) for gap in (0.1, 0.3, 0.1)]
    found = upper_bounds(hard, 0.05)
    assert found.keys() == UPPER_BOUNDS.keys()
    assert found["median-elimination"] == pytest.approx(3 * 100 * log)
    assert found["exponential-gap"] == pytest.approx((log + tail[1]) / 0.09 + (log + tail[2]) / 0.01)
    added = math.log(3) * (1 / 0.09 + 1 / 0.01)
    assert found["successive-elimination"] == pytest.approx(found["exponential-gap"] + added)
    share = (1 / 0.09) / (1 / 0.09 + 100)
    ent = -share * math.log(share) - (1 - share) * math.log(1 - share)  # 0.3 is in [1/4, 1/2), 0.1 in [1/16, 1/8)
    assert found["entropy"] == pytest.approx((1 / 0.09 + 100) * (log + ent))
    costs = [9 + 10, 0.24 / 0.09 + 1 / 0.3, 16 + 10]
    assert found["vd-best-arm-id"] == pytest.approx(sum(c * (log + t) for c, t in zip(costs, tail, strict=True)))
    assert found["naive-best-arm"] == pytest.approx(found["vd-best-arm-id"] + sum(costs) * math.log(3))


def test_lil_klucb_is_the_least_over_levels() -> None:
    means, delta = np.array([0.7, 0.5, 0.2]), 0.1

    def chernoff(x: float, y: float) -> float:  # straight from its definition
        z = np.linspace(x, y, 20_001)
        return float(np.minimum(kl_each(z, x), kl_each(z, y)).max())

    def term(d: float, arms: int) -> float:
        return (math.log(arms / delta) + math.log(math.e + max(math.log(1 / d), 0))) / d

    levels = np.linspace(0.5, 0.7, 202)[1:-1]
    least = min(term(chernoff(x, 0.7), 3) + sum(term(chernoff(m, x), 1) for m in (0.5, 0.2)) for x in levels)
    assert upper_bounds(hardness(means, means * (1 - means)), delta)["lil-klucb"] == pytest.approx(least, rel=1e-3)
    assert chernoff_information([0.0, 0.5], [0.5, 1.0]) == pytest.approx([math.log(2)] * 2)


SMALL_GAPS, LARGE_VARIANCES = [0.004, 0.01, 0.015], [0.09, 0.08, 0.07, 0.099]
LARGE_GAPS, SMALL_VARIANCES = [0.05, 0.08, 0.099], [0.04, 0.09, 0.0001, 0.0]


def alternative(instance: FiniteArms, arm: int, gap: float, first: bool) -> FiniteArms:
    """The paper's instance that differs in one arm: I' moves Δ/σ between its two values (case 1), I'' a little to an end."""
    values, _ = instance.law(arm)
    if first:
        up = gap / math.sqrt(instance.variances[arm]) * (-1 if arm == 0 else 1)
        law = (values, [0.5 - up, 0.5 + up])
    else:
        moved = 4 * gap if arm == 0 else 2 * gap
        law = ([values[0], values[-1], float(arm > 0)], [(1 - moved) / 2, (1 - moved) / 2, moved])
    return finite_arms([law if i == arm else instance.law(i) for i in range(len(instance))])


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("arm", range(4))
def test_the_proof_s_bound_holds_arm_by_arm(arm: int, first: bool) -> None:
    """ln(1/2.4δ)/KL is at least 1/80 (best arm) and 1/30 (others) of the arm's share of H_var·ln(1/δ), for δ < 0.1."""
    gaps, variances = (SMALL_GAPS, LARGE_VARIANCES) if first else (LARGE_GAPS, SMALL_VARIANCES)
    instance = lower_bound_instance(gaps, variances)
    hard, gap, variance = sums(instance), [gaps[0], *gaps][arm], variances[arm]
    assert first == (variance >= 5 * gap)  # the cases of the proof
    other = alternative(instance, arm, gap, first)
    assert instance.means.argmax() == 0
    assert other.means.argmax() == (arm or 1)
    assert np.delete(other.means - instance.means, arm) == pytest.approx(0)
    part = 1 - 4 * gap**2 / variance if first else (1 - (4 if arm == 0 else 2) * gap) ** 2
    divergence = -math.log(part) / 2
    values, p = instance.law(arm)
    others, q = other.law(arm)
    assert divergence == pytest.approx((p * np.log(p / q[np.searchsorted(others, values)])).sum(), rel=1e-9)
    for delta in (0.099, 0.01, 1e-6):
        needed = math.log(1 / (2.4 * delta)) / divergence
        assert needed >= (1 / 30 if arm else 1 / 80) * hard.costs[arm] * math.log(1 / delta)
