"""Digests, wealth and certificates, against many digits and against brute force."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import one_pair as cert
from one_pair import Pair, above, below, exact_value, growth, mixture
from surest.evidence.pulls.betting import confidence_sequence
from surest.evidence.pulls.digest import Digests
from surest.kernels.bets import wide_bets
from surest.kernels.constants import ALPHA, DECAY, IDLE, JOINT, RHO, WAIT

unit = st.floats(0, 1, allow_subnormal=False).map(lambda v: round(v, 6))
levels = st.floats(0.001, 0.999)
bets = st.floats(0, ALPHA)


def digest(rewards: list[float] | np.ndarray, atoms: int = 8) -> Digests:
    digests = Digests(1, atoms)
    digests.add(np.zeros(len(rewards), int), rewards)
    return digests


def wealth(digests: Digests, x: float, alpha: float, is_above: bool) -> float:
    return growth(digests.values[0], digests.weights[0], digests.size[0], x, alpha, is_above)[0]


def true_wealth(rewards: list[float], x: float, alpha: float, is_above: bool) -> float:
    v = np.asarray(rewards)
    return float(np.log1p(alpha * ((v - x) / x if is_above else (x - v) / (1 - x))).sum())


@settings(max_examples=300, deadline=None)
@given(st.lists(unit, min_size=1, max_size=60), levels, bets, st.booleans(), st.integers(2, 6))
def test_wealth_from_a_digest_is_at_most_the_true_one(
    rewards: list[float], x: float, alpha: float, is_above: bool, atoms: int
) -> None:
    digests = digest(rewards, atoms)
    true = true_wealth(rewards, x, alpha, is_above)
    assert wealth(digests, x, alpha, is_above) <= true + 1e-9 * (1 + abs(true))
    size = digests.size[0]
    assert size <= atoms
    assert digests.values[0, 0] == min(rewards)
    assert digests.values[0, size - 1] == max(rewards)
    kept = digests.weights[0, :size] @ digests.values[0, :size] / digests.weights[0, :size].sum()
    assert kept == pytest.approx(np.mean(rewards), abs=1e-12)
    assert digests.means[0] == pytest.approx(np.mean(rewards), abs=1e-15)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(unit, max_size=12), min_size=1, max_size=5), st.randoms(), levels, bets, st.booleans())
def test_merging_in_any_order_keeps_the_inequality(
    parts: list[list[float]], random: object, x: float, alpha: float, is_above: bool
) -> None:
    everything = [v for part in parts for v in part]
    digests = [digest(part, 4) for part in parts]
    random.shuffle(digests)  # type: ignore[attr-defined]
    total = digests.pop()
    while digests:
        other = digests.pop()
        total.take(other)
        assert other.counts[0] == 0
        assert other.size[0] == 0
    true = true_wealth(everything, x, alpha, is_above)
    assert wealth(total, x, alpha, is_above) <= true + 1e-9 * (1 + abs(true))
    assert total.counts[0] == len(everything)


def test_a_digest_of_32_atoms_inflates_the_variance_by_less_than_one_percent() -> None:
    rng = np.random.default_rng(1)
    for rewards in (rng.random(20_000), rng.beta(0.5, 3, 20_000), np.clip(rng.normal(0.6, 0.1, 20_000), 0, 1)):
        kept = digest(rewards, 32)
        v, w = kept.values[0, : kept.size[0]], kept.weights[0, : kept.size[0]]
        variance = w @ (v - kept.means[0]) ** 2 / w.sum()
        assert 1.0 <= variance / rewards.var() < 1.01


def exact_mixture(atoms: list[tuple[float, int]], x: float, is_above: bool, bets: int) -> mpmath.mpf:
    """A(x) or B(x) by 50 digits, term by term as the text has it."""
    with mpmath.workdps(50):
        total = mpmath.mpf(IDLE)
        for k in range(bets):
            alpha = mpmath.mpf(ALPHA) / mpmath.mpf(RHO) ** k
            product = mpmath.mpf(1 - IDLE) * mpmath.mpf(1 - DECAY) * mpmath.mpf(DECAY) ** k
            for value, times in atoms:
                ratio = mpmath.mpf(value) / x if is_above else (1 - mpmath.mpf(value)) / (1 - mpmath.mpf(x))
                product *= (1 - alpha + alpha * ratio) ** times
            total += product
        return mpmath.log(total)


@pytest.mark.parametrize(
    "atoms",
    [
        [(0.0, 3), (1.0, 5)],
        [(0.0, 10**9)],
        [(1.0, 10**9)],
        [(0.0, 499_000_000), (1.0, 501_000_000)],
        [(0.2, 40), (0.5, 1), (0.9, 7)],
        [(0.5, 10**6)],
    ],
)
@pytest.mark.parametrize("x", [1e-6, 0.3, 0.5, 0.5001, 0.97, 1 - 1e-6])
def test_mixtures_agree_with_fifty_digits(atoms: list[tuple[float, int]], x: float) -> None:
    digests = Digests(1)
    digests.add([0] * len(atoms), [v for v, _ in atoms], [t for _, t in atoms])
    for function, is_above in ((above, True), (below, False)):
        exact = float(exact_mixture(atoms, x, is_above, wide_bets(digests.counts, digests.sums, is_above)[0]))
        assert function(digests, x)[0] == pytest.approx(exact, rel=1e-7, abs=1e-6)


def test_the_weights_of_all_bets_sum_to_one() -> None:
    assert IDLE + (1 - IDLE) * (1 - DECAY) / (1 - DECAY) == 1.0
    assert JOINT.sum() + IDLE == pytest.approx(1.0, abs=1e-12)
    assert (JOINT > 0).all()


@pytest.mark.parametrize("is_above", [True, False])
def test_mixtures_are_convex_and_their_slopes_are_right(is_above: bool) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        d = digest(rng.choice([0, 0.3, 0.5, 1.0], rng.integers(1, 300)))
        x = np.linspace(0.02, 0.98, 97)
        given = d.values[0], d.weights[0], d.size[0], wide_bets(d.counts, d.sums, is_above)[0]
        log, slope = np.array([mixture(*given, t, is_above) for t in x]).T
        assert (np.diff(log, 2) >= -1e-9).all()
        assert (np.diff(log) * (-1 if is_above else 1) >= -1e-12).all()
        near = np.array([mixture(*given, t + 1e-6, is_above)[0] for t in x])
        assert slope == pytest.approx((near - log) / 1e-6, rel=1e-3, abs=1e-2)


def test_confidence_sequences_cover_at_every_time() -> None:
    """P(some time's interval misses the mean) ≤ δ: 400 runs of 500 rewards a law, decided beforehand, δ = 0.1."""
    rng = np.random.default_rng(11)
    laws = {
        0.5: lambda shape: rng.random(shape) < 0.5,
        0.05: lambda shape: rng.random(shape) < 0.05,
        0.52: lambda shape: np.where(rng.random(shape) < 0.2, 1.0, 0.4),
        2 / 7: lambda shape: rng.beta(2, 5, shape),
    }
    misses = []
    for mean, law in laws.items():
        rewards = np.asarray(law((500, 400)), float)
        digests, out = Digests(400), np.zeros(400, bool)
        for t in range(500):
            digests.add(np.arange(400), rewards[t])
            if t < 50 or t % 10 == 0:
                level = math.log(2 / 0.1)
                out |= (above(digests, mean) >= level) | (below(digests, mean) >= level)
        misses.append(int(out.sum()))
        low, high = confidence_sequence(digests, 0.1)
        assert ((low <= mean) & (mean <= high))[~out].all()
    assert all(m <= 60 for m in misses)  # binomial: 400 at 0.1 exceed 60 with probability 0.001
    assert sum(misses) > 0  # bets that never win would never miss


def test_intervals_are_about_as_narrow_as_those_of_an_independent_implementation() -> None:
    """Widths that ``betting_cs(rewards, alpha=0.05)`` of confseq 0.0.11 gave: its C++ part does not build everywhere."""
    rng = np.random.default_rng(1)
    coin, beta = (rng.random(400) < 0.5).astype(float), rng.beta(10, 30, 400)
    for rewards, theirs in ((coin, {50: 0.412, 400: 0.185}), (beta, {50: 0.139, 400: 0.027})):
        for t, width in theirs.items():
            ours = confidence_sequence(digest(rewards[:t], 32), 0.05)
            assert 0.6 < (ours[1] - ours[0])[0] / width < 1.3


rows = st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0]), st.integers(1, 400)), max_size=4)


def parts(*lists: list[tuple[float, int]]) -> list[tuple[np.ndarray, np.ndarray, int]]:
    found = []
    for atoms in lists:
        d = Digests(1)
        d.add([0] * len(atoms), [v for v, _ in atoms], [t for _, t in atoms])
        found.append((d.values[0], d.weights[0], int(d.size[0])))
    return found


@settings(max_examples=150, deadline=None)
@given(rows, rows, rows, st.floats(0.01, 0.9), st.floats(0.01, 0.9), st.floats(0.01, 0.99), st.sampled_from([0.0, 0.1]))
def test_a_certificate_is_never_above_any_value_and_close_to_the_least(
    before: list, since: list, nominee: list, bet_nominee: float, bet: float, start: float, epsilon: float
) -> None:
    early, late, own = parts(before, since, nominee)
    bets = 9 + int(math.log2(2 + sum(t for _, t in before + since)))
    rest = epsilon, Pair(early, late, own, bets, 0.55, 0.45, bet_nominee, bet)
    bound, where = cert.certificate(start, math.inf, *rest)
    grid = np.concatenate([10.0 ** np.arange(-12, -2), np.linspace(0.01, 0.99, 99), 1 - 10.0 ** np.arange(-12, -2)])
    grid = np.append(grid * (1 - epsilon), np.clip(where, 1e-12, 1 - epsilon - 1e-12))
    values = [cert.log_value(x, *rest)[0] for x in grid]
    assert bound <= min(values) + 1e-9
    low, high = 1e-9, (1 - epsilon) * (1 - 1e-9)
    for _ in range(100):  # convex: thirds
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if cert.log_value(a, *rest)[0] < cert.log_value(b, *rest)[0] else (a, high)
    assert bound >= min(*values, cert.log_value(low, *rest)[0]) - 1e-5


def test_before_any_reward_all_that_can_be_bet_is_one() -> None:
    """base_j + w·π_k = 1 whoever was nominated before: nothing of the prior is lost, nothing counted twice."""
    from surest.algorithms.wager.ledger import W, slot_share, unused_share

    nothing = parts([], [], [])
    counted = WAIT + (1 - WAIT) * (1 - DECAY**10)  # the smallest bets are left out while there are no rewards
    for own_slots, used in (([], 1), ([1], 2), ([1], 3), ([2], 3)):
        other_slots = sum(slot_share(k) for k in range(1, used) if k not in own_slots)
        base = (1 - W) + W * unused_share(used) + W * sum(slot_share(k) for k in own_slots)
        pair = Pair(*nothing, 10, base, W * slot_share(used), 0.1, 0.1)
        value, slope, _, _ = cert.log_value(0.4, 0.0, pair)
        assert math.exp(value) / counted + W * other_slots == pytest.approx(1.0)
        assert slope == 0.0


def exact_least(pair: Pair, near: float, width: float) -> mpmath.mpf:
    """A value of the exact function close to its infimum, and so not below it: it is convex, by the golden section."""
    golden = (mpmath.sqrt(5) - 1) / 2
    low, high = mpmath.mpf(near) - width, mpmath.mpf(near) + width
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b = exact_value(a, pair), exact_value(b, pair)
    for _ in range(22):
        if at_a < at_b:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = exact_value(a, pair)
        else:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = exact_value(b, pair)
    return min(at_a, at_b)


@pytest.mark.parametrize("digits", [9, 13, 15, 16, 18])
@pytest.mark.parametrize("values", [(0.0, 1.0), (0.1, 0.9), (0.3, 0.35)])
def test_a_certificate_of_very_many_rewards_is_not_above_the_true_one(digits: int, values: tuple[float, float]) -> None:
    """10^digits rewards since the nomination, 0.37 of them high, but for a lead of the nominee worth some nats."""
    low, high = values
    many, gap = 10**digits, high - low
    with mpmath.workdps(60):
        for lead, bet, start in ((3, 1.0, 0.9), (4, 0.7, 0.01), (5, 1.3, 0.4)):
            more, fewer = (37 * many // 100 + sign * int(lead * math.sqrt(many)) for sign in (1, -1))
            early, late, own = parts([], [(low, many - fewer), (high, fewer)], [(low, many - more), (high, more)])
            x, shift = low + 0.37 * gap, lead / math.sqrt(many)
            guess, other = (bet * shift / gap / 0.2331 * away for away in (x, 1 - x))
            pair = Pair(early, late, own, 9 + int(math.log2(many)) + 2, 0.5, 0.45, guess, other)
            if digits >= 16:  # too many to be counted
                assert cert.certificate(start, math.inf, 0.0, pair)[0] == -math.inf
                continue
            least = exact_least(pair, x, 9 * gap / math.sqrt(many))
            for goal in (math.inf, float(least) - 1.0):
                bound, _ = cert.certificate(start, goal, 0.0, pair)
                assert bound <= least
                if digits <= 13:  # what rounding may have added is little, and only that is taken off
                    assert bound >= least - (0.01 if goal == math.inf else 1.0)


def test_a_certificate_is_a_number_when_all_bets_of_one_side_are_ruined() -> None:
    """Ten million fresh rewards of the nominee at 0.4 and of the challenger at 0.5: no bet on the nominee is above −745 nats."""
    early, late, own = parts([], [(0.0, 5_000_000), (1.0, 5_000_000)], [(0.0, 6_000_000), (1.0, 4_000_000)])
    pair = Pair(early, late, own, 30, 0.5, 0.45, 0.5, 0.5)
    for x in np.linspace(0.05, 0.95, 19):
        assert np.isfinite(cert.log_value(x, 0.0, pair)).all()
    bound, where = cert.certificate(0.5, math.inf, 0.0, pair)
    assert np.isfinite(bound)
    assert 0 < where < 1


def test_no_certificate_is_kept_that_is_not_a_number() -> None:
    early, late, own = parts([(0.5, 3)], [(0.5, 3)], [(0.5, 3)])
    for guess in (math.nan, 0.1):
        bound, where = cert.certificate(math.nan, math.inf, 0.0, Pair(early, late, own, 9, 0.5, 0.45, guess, 0.1))
        assert not math.isnan(bound)
        assert 0 < where < 1
