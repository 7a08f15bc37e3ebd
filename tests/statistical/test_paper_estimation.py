"""Lemmas 2.1 to 2.4: what VarTest, VarEst and MeanEst promise."""

from math import e, exp, log

import pytest

from statistical import paper_claims as claims


@pytest.mark.parametrize("nats", [1.85, 2.0, 3.0, 6.0])
def test_var_test_lemma_by_exact_probabilities(nats: float) -> None:
    """The error probabilities are 10^-25 and less, so they are computed, not sampled."""
    above, below = claims.excess_over_lemma(exp(-nats), 80)
    assert above < 0
    assert below < 0


def test_var_test_lemma_is_false_at_its_own_limit() -> None:
    """δ = 1/e, τ = 1/32, σ² = τ/2: the lemma claims ln Pr ≤ −1 − 80 ln 2 = −56.5. The other side fails too, by less."""
    is_true, _ = claims.true_probability(claims._p(1 / 64), 1 / 32, 1 / e, 80)
    assert is_true == pytest.approx(-35.7, abs=0.05)
    assert -1 - 80 * log(2) == pytest.approx(-56.5, abs=0.05)
    above, below = claims.excess_over_lemma(1 / e, 80)
    assert above == pytest.approx(4.5, abs=0.1)
    assert below == pytest.approx(22.1, abs=0.1)


def test_var_test_lemma_follows_from_chernoff_where_we_say_it_does() -> None:
    """2(x − y)²/2 lies in [0, 1], so Chernoff's exponent doubles, and L = ln 1/δ ≥ c·ln 2/(c(2 ln 2 − 1) − 1) suffices."""
    c, nats = 80, 1.855
    assert nats >= c * log(2) / (c * (2 * log(2) - 1) - 1)
    for x in (2, 2.5, 3, 5, 10, 100, 1e4, 1e8):  # σ²/τ, or τ/σ²
        claimed = nats + c * log(x)
        assert 2 * c * nats * (x - 1 - log(x)) >= claimed  # σ² = xτ
        assert 2 * c * nats * (log(x) - 1 + 1 / x) >= claimed  # τ = xσ²


def test_var_test_is_true_as_often_as_its_exact_law_says() -> None:
    claims.check_var_test_frequencies()


@pytest.mark.parametrize("delta", [0.42, 0.1, 0.001])
@pytest.mark.parametrize("ell", [0.3, 0.1, 0.03, 0.001])
def test_var_est_law_is_within_its_lemma(delta: float, ell: float) -> None:
    for p in (0.5, 0.3, 0.1, 0.05, 0.01, 0.001):
        claims.check_var_est_law(p, delta, ell)


def test_var_est_range_and_pulls() -> None:
    claims.check_var_est()


def test_mean_est_accuracy_and_pulls() -> None:
    claims.check_mean_est()


def test_mean_est_pulls_exactly() -> None:
    claims.check_mean_est_pulls()
