"""The functions of numerical analysis, beside SciPy's."""

import math

import numpy as np
import pytest
from scipy import optimize, special

from surest import numerics
from surest.lab import numerics as of_lab
from surest.lab.divergence import kl_each
from surest.speed.evidence import ALL_ABOVE, least_count


def test_the_incomplete_beta_function() -> None:
    rng = np.random.default_rng(1)
    a, b, x = 10 ** rng.uniform(-1, 3, 500), 10 ** rng.uniform(-1, 3, 500), rng.random(500)
    expected = special.betainc(a, b, x)
    found = [numerics.beta_share(*each) for each in zip(a.tolist(), b.tolist(), x.tolist(), strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-290)
    assert (numerics.beta_share(2, 3, 0.0), numerics.beta_share(2, 3, 1.0)) == (0.0, 1.0)


@pytest.mark.parametrize(("trials", "p"), [(1, 0.5), (60, 0.05), (100, 0.01), (3000, 0.1)])
def test_binomial_tails(trials: int, p: float) -> None:
    for count in {1, 2, trials // 20 + 1, trials // 2 + 1, trials}:
        assert math.isclose(numerics.at_least(count, trials, p), special.bdtrc(count - 1, trials, p), rel_tol=1e-10)
    assert (numerics.at_least(0, trials, p), numerics.at_least(trials + 1, trials, p)) == (1.0, 0.0)


def test_tails_of_student_and_quantiles_of_the_normal_law() -> None:
    for degrees in (1, 4, 29, 999):
        for t in (-3.0, -0.2, 0.0, 0.5, 1.7, 6.0):
            assert math.isclose(of_lab.student_tail(degrees, t), special.stdtr(degrees, -t), rel_tol=1e-10)
    for p in (1e-12, 0.01, 0.5, 0.8, 1 - 1e-9):
        assert math.isclose(of_lab.normal_quantile(p), special.ndtri(p), rel_tol=1e-14, abs_tol=1e-15)


def test_zeta() -> None:
    for s in (1 + 1e-8, 1.01, 1.5, 2.0, 3.7, 20.0):
        assert math.isclose(of_lab.zeta(s), special.zeta(s), rel_tol=1e-14)


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        (lambda x: math.cos(x) - x**3, 0.0, 1.0),
        (lambda x: math.expm1(x - 20), -50.0, 50.0),
        (lambda x: x**9, -1.0, 3.0),
        (lambda x: -1.0 if x < 1e-7 else 1.0, 0.0, 1.0),
        (lambda x: x - 1, 1.0, 2.0),
    ],
)
def test_roots(function: object, low: float, high: float) -> None:
    found = of_lab.root(function, low, high)
    expected = optimize.bisect(function, low, high, xtol=1e-15, rtol=1e-15, maxiter=500)
    assert math.isclose(found, expected, rel_tol=1e-14, abs_tol=1e-14)
    with pytest.raises(ValueError, match="same sign"):
        of_lab.root(lambda x: x + 1, 0.0, 1.0)


def test_minima() -> None:
    for function in (lambda x: (x - 0.123) ** 2, lambda x: 1 / x + 3 / (1 - x), lambda x: x):
        expected = optimize.minimize_scalar(function, bounds=(0, 1), method="bounded", options={"xatol": 1e-10}).fun
        assert math.isclose(of_lab.minimum(function, 0.0, 1.0), expected, rel_tol=1e-9, abs_tol=1e-8)


def test_divergences() -> None:
    rng = np.random.default_rng(2)
    p = np.concatenate([rng.random(200), [0, 0, 1, 1, 0.5, 0.3]])
    q = np.concatenate([rng.random(100), p[100:200] + rng.normal(0, 1e-9, 100), [0, 1, 0, 1, 0.5 + 1e-14, 0]])
    expected = special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)
    np.testing.assert_allclose(kl_each(p, q), expected, rtol=1e-12, atol=1e-16)


def test_the_least_count_is_that_of_the_integral() -> None:
    for t in (1, 5, 40, 333):
        for error in (0.1, 0.025, 1e-4):
            k = np.arange(t // 2, t + 1)
            wealth = (t + 1) * math.log(2) + special.betaln(k + 1, t - k + 1)
            wealth += np.log((1 - ALL_ABOVE) * special.betaincc(k + 1, t - k + 1, 0.5))
            wealth[-1] = np.logaddexp(wealth[-1], t * math.log(2) + math.log(ALL_ABOVE))
            enough = k[wealth >= -math.log(error)]
            assert least_count(t, error) == (enough[0] if len(enough) else None)
