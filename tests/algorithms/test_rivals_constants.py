"""The inequalities behind the word `proven` in docs/rivals.md, checked as numbers, and kernels against slow references."""

from math import ceil, e, inf, log, pi, sqrt

import numpy as np
import pytest
from scipy.special import zeta

from agreement.rivals_transcription import slow_weights
from surest.kernels.lab.constants import EPOCH_POWER as POWER
from surest.kernels.lab.constants import EPOCH_RATIO as RATIO
from surest.kernels.lab.constants import TRACK_GLOBAL
from surest.kernels.lab.divergence import (
    iterated_log,
    k_inf,
    kl,
    kl_iterated_log,
    kl_lower,
    kl_rate,
    kl_upper,
    surely_above,
)
from surest.kernels.lab.tracking import note, track
from surest.lab import divergence
from surest.lab.rivals.gap_entropy import STAGES
from surest.lab.rivals.k_inf_track_and_stop import batch
from surest.lab.rivals.optimism import lil_ucb


@pytest.mark.parametrize("delta", [0.5, 0.1, 1e-6])
@pytest.mark.parametrize("n", [2, 10, 1000])
def test_the_rate_of_kl_lucb_spends_at_most_delta(n: int, delta: float) -> None:
    """n·Σ_t e·⌈β ln t⌉·e^−β ≤ δ: one side of each arm, all counts up to t (Garivier, Cappé 2011, Theorem 10)."""
    t = np.arange(n, 200_000)
    z = log(405.5 * n / delta) + 1.1 * np.log(t)
    beta = z + np.log(z)
    assert kl_rate(t[-1], log(405.5 * n / delta), 1.1) == pytest.approx(beta[-1])
    head = float((e * np.ceil(beta * np.log(t)) * np.exp(-beta)).sum()) * n
    # From T on a term is at most e·(1 + ln z/z + 1/ln T)·ln t·δ/(405.5·n·t^1.1), as (β ln t + 1)/z ≤ that factor·ln t.
    last, final = float(t[-1]), float(z[-1])
    factor = e * (1 + log(final) / final + 1 / (final * log(last))) * delta / 405.5
    tail = factor * (log(last) / 0.1 + 1 / 0.01) * last**-0.1
    assert head + tail <= delta


@pytest.mark.parametrize("delta", [0.9, 0.5, 0.1, 0.01, 1e-6])
@pytest.mark.parametrize("n", [2, 5, 80, 10_000])
def test_nine_times_the_pulls_of_all_others_is_enough_for_lil_ucb(n: int, delta: float) -> None:
    """No wrong arm can have λ·T pulls against T of the best while all radii at level ω = δ/(c·n) hold."""
    stepwise = lil_ucb(np.arange(n), delta, rng=np.random.default_rng(0))
    epsilon, beta, level, stop, omega = stepwise.state.settings
    assert (epsilon, beta, stop) == (0.01, 1.0, 9.0)
    for best in np.unique(np.geomspace(1, 1e12, 2000).round()):
        wrong = iterated_log(stop * best, omega, epsilon) + (1 + beta) * iterated_log(stop * best, level, epsilon)
        assert wrong < (1 + beta) * iterated_log(best, level, epsilon) - iterated_log(best, omega, epsilon)


def test_all_errors_of_gap_entropy_elimination_are_less_than_delta() -> None:
    for delta in (0.9, 0.1, 0.01, 1e-6):
        eta = min(delta, 0.01)
        assert (pi**2 / 6) ** 2 / 50 * eta + STAGES * eta**2 / 10 <= 0.16 * delta


def test_the_epochs_of_lil_kl_ucb_spend_at_most_their_share() -> None:
    log_zeta = log(float(zeta(POWER)))
    spent = sum(np.exp(-kl_iterated_log(RATIO**k, 0.0, RATIO, POWER, log_zeta) / RATIO) for k in range(3000))
    assert 0.8 < spent <= 1
    assert kl_iterated_log(1, 5.0, RATIO, POWER, log_zeta) == pytest.approx(RATIO * (5 + log_zeta))


def test_iterated_logarithms_are_numbers_at_the_first_pull() -> None:
    for epsilon in (0.0, 0.01):
        assert 0 < iterated_log(1, 0.02, epsilon) < inf
    assert kl_rate(1, log(10), 0.0) == pytest.approx(log(10))


def test_bounds_invert_kl() -> None:
    rng = np.random.default_rng(0)
    for p, level in zip(rng.random(300), 10 ** rng.uniform(-7, 1.5, 300), strict=True):
        q = kl_upper(p, level)
        assert 1 - q < 1e-9 or kl(p, q) == pytest.approx(level, rel=1e-6)
        assert kl_lower(p, level) == pytest.approx(1 - kl_upper(1 - p, level))
        low = kl_lower(p, level)
        assert surely_above(p, level, low - 1e-7) or low < 1e-7
        assert not surely_above(p, level, low + 1e-7)


def test_kernels_agree_with_the_divergences_of_the_theory() -> None:
    rng = np.random.default_rng(3)
    for p, q in rng.random((100, 2)):
        assert kl(p, q) == pytest.approx(float(divergence.kl_each(p, q)), abs=1e-14)
    values, weights = np.sort(rng.random(6)), rng.integers(1, 9, 6).astype(float)
    for u in rng.uniform(0.01, 0.99, 50):
        expected = divergence.k_inf_above(values, weights / weights.sum(), u)
        value, slope = k_inf(values, weights, 6, u)
        assert value / weights.sum() == pytest.approx(float(expected.value), abs=1e-10)
        assert slope / weights.sum() == pytest.approx(float(expected.slope), rel=1e-6, abs=1e-9)


def tracker() -> np.ndarray:
    memory = np.zeros((TRACK_GLOBAL + 1, 8))
    memory[-1, 1] = -1
    return memory


def tracked(means: np.ndarray | list[float], memory: np.ndarray) -> np.ndarray:
    for arm, mean in enumerate(means):
        note(memory, arm, mean)
    track(memory, len(means), int(np.argmax(means)))
    return memory[0, : len(means)].copy()


@pytest.mark.parametrize(
    ("means", "complexity"), [([0.5, 0.45, 0.43, 0.4], 989.8), ([0.3, 0.21, 0.2, 0.19, 0.18], 326.6)], ids=["μ1", "μ2"]
)
def test_optimal_weights_of_the_published_instances(means: list[float], complexity: float) -> None:
    weights, characteristic = slow_weights(np.array(means))
    assert characteristic == pytest.approx(complexity, abs=0.05)
    np.testing.assert_allclose(tracked(means, tracker()), weights, atol=2e-5)


def test_optimal_weights_follow_moving_means() -> None:
    rng, memory, means = np.random.default_rng(4), tracker(), np.array([0.5, 0.3, 0.45, 0.6])
    for step in range(150):
        means = np.clip(means + rng.normal(0, 0.01, 4), 0.01, 0.99)
        if np.diff(np.sort(means))[-1] > 1e-3:
            found = tracked(means, memory)
            if step % 3 == 0:  # the slow search takes its time
                np.testing.assert_allclose(found, slow_weights(means)[0], atol=1e-4)


@pytest.mark.parametrize("means", [[1.0, 0.0], [1.0, 0.5, 0.0], [0.3, 0.0, 0.0]], ids=str)
def test_optimal_weights_of_means_0_and_1(means: list[float]) -> None:
    weights = tracked(means, tracker())
    assert weights.sum() == pytest.approx(1)
    assert (weights > 0).all()


def test_a_batch_of_k_inf_track_and_stop_feeds_the_starving_first_and_then_follows_the_weights() -> None:
    rng = np.random.default_rng(0)
    counts = np.array([900, 90, 10])
    times = batch(counts, np.array([0.5, 0.5, 0.0]), rng)
    lacking = ceil(sqrt(1000 + 100) - 10)
    assert times.sum() == 100
    assert times[2] == lacking
    times = batch(np.array([10, 10, 10]), np.full(3, np.nan), rng)  # no weights where means tie
    assert times.sum() >= 3
