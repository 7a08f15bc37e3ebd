"""K_inf and T* against slow searches that share no code with them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surest.arms.finite import FiniteArms, finite_arms
from surest.arms.instances import example1
from surest.lab.characteristic import characteristic
from surest.lab.divergence import k_inf_above, k_inf_below, kl_each

unit = st.floats(1e-9, 1 - 1e-9) | st.sampled_from([0.0, 0.5, 1.0])


@given(unit, unit)
@settings(deadline=None)
def test_k_inf_of_a_bernoulli_arm_is_kl(p: float, x: float) -> None:
    values, probabilities = np.array([0.0, 1.0]), np.array([1 - p, p])
    assert k_inf_above(values, probabilities, x).value == pytest.approx(
        kl_each(p, x) if x > p else 0, rel=1e-6, abs=1e-12
    )
    assert k_inf_below(values, probabilities, x).value == pytest.approx(
        kl_each(p, x) if x < p else 0, rel=1e-6, abs=1e-12
    )


@pytest.mark.parametrize("seed", range(12))
def test_k_inf_and_its_slopes_are_those_of_a_slow_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.sort(rng.random(4)) * (1 if seed % 3 else 0.6)  # every third law stays far from 1
    probabilities = rng.dirichlet(np.ones(4))
    mean = probabilities @ values
    x = mean + (1 - mean) * rng.uniform(0.05, 0.6)
    found = k_inf_above(values, probabilities, x)
    assert found.value == pytest.approx(dual_by_search(values, probabilities, np.array([x]))[0], rel=1e-9)
    assert k_inf_below(1 - values, probabilities, 1 - x).value == pytest.approx(found.value, rel=1e-12)
    h = 1e-4
    beside = [k_inf_above(values, probabilities, x + step).value for step in (-h, h)]
    assert found.slope == pytest.approx((beside[1] - beside[0]) / (2 * h), rel=1e-4)
    assert found.curvature == pytest.approx((beside[0] - 2 * found.value + beside[1]) / h**2, rel=1e-2)


def on_a_grid(arms: FiniteArms, points: int = 4001) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
    """For each challenger: levels between the means, and both divergences there, by search over a grid of duals."""
    best = int(arms.means.argmax())
    levels, ours, theirs = [], [], []
    for j in range(len(arms)):
        if j != best:
            x = np.linspace(arms.means[j], arms.means[best], points)[1:-1]
            levels.append(x)
            ours.append(dual_by_search(1 - arms.law(best)[0], arms.law(best)[1], 1 - x))
            theirs.append(dual_by_search(*arms.law(j), x))
    return levels, ours, theirs


def dual_by_search(values: np.ndarray, probabilities: np.ndarray, x: np.ndarray) -> np.ndarray:
    """max over λ of E log(1 − λ(X − x)) by golden section, straight from the definition."""
    low, high = np.zeros_like(x), 1 / (1 - x)
    golden = (np.sqrt(5) - 1) / 2

    def value(slope: np.ndarray) -> np.ndarray:
        inside = np.maximum(1 - slope[:, None] * (values - x[:, None]), 1e-300)
        return np.asarray((probabilities * np.log(inside)).sum(1))

    for _ in range(60):
        a, b = high - golden * (high - low), low + golden * (high - low)
        rises = value(a) < value(b)
        low, high = np.where(rises, a, low), np.where(rises, high, b)
    return value((low + high) / 2)


def worth(weights: np.ndarray, best: int, grid: tuple) -> float:
    """min over challengers and levels of w_1·K⁻ + w_j·K⁺: what `weights` achieve, 1/T* at the most."""
    _, ours, theirs = grid
    others = np.delete(weights, best)
    return min(float((weights[best] * k + w * h).min()) for w, k, h in zip(others, ours, theirs, strict=True))


def random_arms(seed: int, n: int) -> FiniteArms:
    rng = np.random.default_rng(seed)
    laws = [(rng.random(m) ** rng.choice([0.5, 1, 2]), rng.dirichlet(np.ones(m))) for m in rng.integers(2, 6, n)]
    laws[0] = (np.round(laws[0][0]), laws[0][1])  # a Bernoulli arm among them
    if seed % 2:
        laws[1] = ([0.4], [1])  # and a constant
    return finite_arms(laws)


@pytest.mark.parametrize("arms", [*(random_arms(seed, 3 if seed < 4 else 12) for seed in range(6)), example1(12)])
def test_no_other_shares_do_better(arms: FiniteArms) -> None:
    """The problem is concave, so it is enough that no small move of the shares helps."""
    best, grid, exact = int(arms.means.argmax()), on_a_grid(arms, 2001), characteristic(arms)
    assert exact.weights.sum() == pytest.approx(1)
    reached = worth(exact.weights, best, grid)
    assert reached == pytest.approx(1 / exact.time, rel=1e-3)
    rng = np.random.default_rng(0)
    for _ in range(200):
        moved = exact.weights * np.exp(rng.normal(0, 0.05, len(arms)))
        assert worth(moved / moved.sum(), best, grid) <= reached * (1 + 1e-5)


@given(
    st.lists(st.lists(st.tuples(st.floats(0, 1), st.floats(1e-9, 1)), min_size=1, max_size=4), min_size=1, max_size=6)
)
@settings(max_examples=150, deadline=None)
def test_any_instance_has_an_answer(laws: list[list[tuple[float, float]]]) -> None:
    arms = finite_arms([tuple(zip(*law, strict=True)) for law in laws])
    found = characteristic(arms)
    if np.isfinite(found.time):
        assert found.weights.sum() == pytest.approx(1)
        assert (found.weights >= 0).all()
        assert found.time > 0 or len(arms) == 1
