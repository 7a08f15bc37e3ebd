"""The paper's claims as functions that measure and assert. Hidden constants are worked out, or bands measured once.

A claim "with probability at least 1 − δ" is checked on a number of runs decided beforehand, with fixed seeds: the count of
failures is pinned, and so few must be implausible if the failure probability were δ.
"""

from collections.abc import Callable, Sequence
from math import ceil, e, log, log2
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.stats import binom

from surest.arms.finite import FiniteArms, bernoulli, finite_arms
from surest.core.procedure import Running
from surest.core.protocol import Procedure
from surest.lab.paper import elimination, estimates, identification
from surest.lab.paper.constants import PRINTED
from surest.lab.theory import hardness
from surest.search.simulate import simulate

Start = Callable[[np.ndarray, np.random.Generator], Procedure[Any]]


def runs_of(start: Start, arms: FiniteArms, runs: int, first: int = 0) -> list[Running[Any]]:
    """Independent runs with the seeds `first`, `first` + 1, …"""
    everyone = np.arange(len(arms))
    return [
        simulate(start(everyone, np.random.default_rng(seed)), arms.simulate(seed))
        for seed in range(first, first + runs)
    ]


def claim(failures: int, runs: int, delta: float, pinned: int = 0) -> None:
    """So many failures, as pinned; and were each run to fail with probability δ, so few would be a chance of 1 in 1000."""
    assert failures == pinned
    assert binom.cdf(failures, runs, delta) < 1e-3


def band(values: Sequence[float], centre: float, width: float) -> None:
    """A mean lies within a part `width` of what was measured once, above and below."""
    assert abs(np.mean(values) / centre - 1) < width, f"mean {np.mean(values):.4g}, expected about {centre:.4g}"


def expression(variances: np.ndarray, gaps: Any, delta: float, union: int = 1) -> float:
    """Σ (σ²/Δ² + 1/Δ)(ln 1/δ + ln ln 1/Δ [+ ln |S|]), the doubly logarithmic term as in the paper's footnote 2."""
    logs = log(1 / delta) + np.log(e + np.log(1 / np.minimum(gaps, 1.0))) + log(union)
    return float(np.sum((variances / np.square(gaps) + 1 / np.asarray(gaps)) * logs))


# --- section 2: VarTest, VarEst, MeanEst -----------------------------------------------------------------------------


def true_probability(p: float, tau: float, delta: float, c: float) -> tuple[float, float]:
    """ln Pr[VarTest is true] and ln Pr[false] for a Bernoulli(p) arm: (x − y)²/2 is ½ with probability 2p(1 − p).

    T is taken from the procedure's own request.
    """
    request = next(estimates.var_test(np.array([0]), tau, delta, c))
    pairs = request.total // 2
    most = np.floor(2 * tau * pairs)  # true if more than so many pairs differ
    return binom.logsf(most, pairs, 2 * p * (1 - p)), binom.logcdf(most, pairs, 2 * p * (1 - p))


def excess_over_lemma(delta: float, c: float) -> tuple[float, float]:
    """By how much, in nats, the error probability exceeds Lemma 2.1's at worst, where σ² ≥ 2τ and where σ² ≤ τ/2."""
    above, below = [], []
    for tau in 0.5 ** np.arange(1, 13):
        for factor in (2, 2.5, 3, 4, 8, 16, 64):
            claimed = log(delta) - c * log(factor)
            if factor * tau <= 0.25:
                above.append(true_probability(_p(factor * tau), tau, delta, c)[1] - claimed)
            if tau / factor <= 0.25:
                below.append(true_probability(_p(tau / factor), tau, delta, c)[0] - claimed)
    return max(above), max(below)


def _p(variance: float) -> float:
    """The smaller p with p(1 − p) = variance."""
    return (1 - (1 - 4 * variance) ** 0.5) / 2


def check_var_test_frequencies() -> None:
    """2,000 arms are 2,000 runs: how often VarTest is true must fit the exact law, on both sides, with a small c."""
    for p, tau, delta, c in ((0.3, 1 / 4, 0.2, 1.0), (0.05, 1 / 16, 0.1, 2.0), (0.5, 1 / 4, 0.3, 2.0)):
        arms = bernoulli([p] * 2000)
        above = simulate(estimates.var_test(np.arange(2000), tau, delta, c), arms.simulate(1)).value
        likely = np.exp(true_probability(p, tau, delta, c)[0])
        assert 0.02 < likely < 0.98, "or the test says little"
        assert 1e-3 < binom.cdf(above.sum(), 2000, likely) < 1 - 1e-3


def var_est_law(p: float, delta: float, ell: float) -> dict[float, float]:
    """The exact law of VarEst's output for a Bernoulli(p) arm."""
    law, left, tau = {}, 1.0, 0.5
    while tau > ell:
        is_true, is_false = np.exp(true_probability(p, tau, delta / e, 80))
        law[tau] = left * is_true
        left *= is_false
        tau /= 2
    law[tau] = left
    return law


def check_var_est_law(p: float, delta: float, ell: float) -> None:
    """Lemma 2.2, exactly: τ > ℓ/2; the range of (b); the tails of (b) and (c)."""
    law, variance = var_est_law(p, delta, ell), p * (1 - p)
    assert min(law) > ell / 2
    if variance > ell:
        assert sum(q for tau, q in law.items() if not variance / 4 <= tau < 2 * variance) <= delta
    for x in law:
        tail = delta * 2.0 ** (-20 * ceil(abs(log2(variance / x))))
        if x >= 2 * variance and (variance > ell or x >= 2 * ell):  # (b), (c)
            assert sum(q for tau, q in law.items() if tau >= x) <= tail
        if variance > ell and x < variance / 4:  # (b)
            assert sum(q for tau, q in law.items() if tau <= x) <= tail


def var_est_most(smallest: Any, delta: float) -> Any:
    """Pulls of VarEst whose last test has τ = smallest: Σ_r 2⌈80·2^r·ln(e/δ)⌉ over r = 1 … log2(1/smallest)."""
    return 320 / smallest * log(e / delta) + 2 * np.log2(1 / smallest)


def check_var_est(delta: float = 0.1, ell: float = 0.02) -> None:
    """Lemma 2.2's range and sample bounds, on 200 arms each of five variances."""
    variances = np.repeat([0.25, 0.12, 0.05, 0.03, 0.004], 200)
    arms = bernoulli([_p(v) for v in variances])
    done = simulate(estimates.var_est(np.arange(1000), delta, ell), arms.simulate(2))
    estimate, pulls = done.value, done.pulls_per_arm
    assert (estimate > ell / 2).all()
    assert (pulls <= var_est_most(ell, delta)).all()  # (a): the last τ tested is above ℓ
    large = variances > ell
    wrong = (estimate < variances / 4) | (estimate >= 2 * variances) | (pulls > var_est_most(variances / 4, delta))
    claim(int(wrong[large].sum()), int(large.sum()), delta)  # (b)


def check_mean_est_pulls(epsilon: float = 0.02, delta: float = 0.1) -> None:
    """σ² = 0.09 and 0.0099 are far from the thresholds, so VarEst finds 1/16 and ≤ ε: the pulls are known exactly."""
    done = simulate(estimates.mean_est(np.array([0, 1]), epsilon, delta), bernoulli([0.1, 0.01]).simulate(3))
    for arm, last, found in ((0, 4, 1 / 16), (1, 5, 1 / 64)):
        tests = sum(2 * ceil(80 * 2**r * log(2 * e / delta)) for r in range(1, last + 1))
        means = ceil((8 * found / epsilon**2 + 2 / (3 * epsilon)) * log(4 / delta))
        assert done.pulls_per_arm[arm] == tests + means


def mean_est_most(variances: Any, epsilon: float, delta: float) -> Any:
    """MeanEst's pulls where σ̂² < 2·max(σ², ε): Lemma 2.3 with its constants worked out."""
    estimate = 2 * np.maximum(variances, epsilon)
    main = (8 * estimate / epsilon**2 + 2 / (3 * epsilon)) * log(4 / delta) + 1
    return var_est_most(epsilon, delta / 2) + main


def check_mean_est(epsilon: float = 0.03, delta: float = 0.1) -> None:
    """Lemma 2.3 on 150 arms each of four laws; Lemma 2.4 with c = 700, which is what its proof gives for δ ≤ 0.1."""
    laws = [([0, 1], [1, 1]), ([0, 1], [19, 1]), ([0.4, 0.5], [1, 1]), ([0, 0.3, 1], [5, 4, 1])]
    arms = finite_arms([law for law in laws for _ in range(150)])
    done = simulate(estimates.mean_est(np.arange(600), epsilon, delta), arms.simulate(4))
    off = np.abs(done.value - arms.means) > epsilon
    long = done.pulls_per_arm > mean_est_most(arms.variances, epsilon, delta)
    claim(int((off | long).sum()), 600, delta)
    assert (done.pulls_per_arm <= 700 / epsilon**2 * log(1 / delta)).all()  # 2.4 (a)
    # 2.4 (b), j = 3: a probability of δ·2^-60
    assert (done.pulls_per_arm <= 700 * (3 * arms.variances / epsilon**2 + 1 / epsilon) * log(1 / delta)).all()


# --- section 3 ---------------------------------------------------------------------------------------------------------

FOUR = bernoulli([0.5, 0.45, 0.43, 0.4])
DELTA = 0.1


def identifiers(epsilon: float, delta: float) -> dict[str, Start]:
    """Every algorithm that is δ-correct on an instance whose second gap exceeds ε."""
    return {
        "NaiveBestArm": lambda S, rng: elimination.naive_best_arm(S, delta),
        "NaiveBestArmEst": lambda S, rng: elimination.naive_best_arm_est(S, epsilon, delta, rng=rng),
        "BestArmEst": lambda S, rng: elimination.best_arm_est(S, epsilon, delta, rng=rng),
        "VD-BestArmId": lambda S, rng: identification.vd_best_arm_id(S, delta, rng=rng),
        "VD-BestArmId*": lambda S, rng: identification.vd_best_arm_id_star(S, delta, rng=rng),
    }


def measure(start: Start, arms: FiniteArms, runs: int, epsilon: float = 0.0) -> tuple[int, list[int]]:
    """How many answers were wrong, and the pulls of each run."""
    done = runs_of(start, arms, runs)
    wrong = sum(arms.means[run.value] < arms.means.max() - epsilon for run in done)
    return int(wrong), [run.pulls for run in done]


def check_identifier(start: Start, arms: FiniteArms, runs: int, ratio: float, width: float, union: int = 1) -> None:
    """δ-correct, and pulls so many times the paper's expression. Fewer than 66 runs cannot tell δ, but must all be right."""
    wrong, pulls = measure(start, arms, runs)
    hard = hardness(arms.means, arms.variances)
    assert wrong == 0
    if runs >= 66:
        claim(wrong, runs, DELTA)
    band(np.array(pulls) / expression(hard.variances, hard.gaps, DELTA, union), ratio, width)


def check_naive(runs: int = 100) -> None:
    """Theorem 3.1: pulls are some 196 times its expression."""
    check_identifier(identifiers(0.0, DELTA)["NaiveBestArm"], FOUR, runs, 196, 0.04, union=4)


def check_naive_est(runs: int = 120, epsilon: float = 0.06) -> None:
    """Corollary 3.2: an arm within ε. Two arms are, and both come up, since the choice among survivors is random."""
    arms = bernoulli([0.5, 0.495, 0.4, 0.3])
    done = runs_of(identifiers(epsilon, DELTA)["NaiveBestArmEst"], arms, runs)
    claim(sum(run.value > 1 for run in done), runs, DELTA)
    assert 0.3 * runs < sum(run.value == 1 for run in done) < 0.7 * runs
    gaps = np.maximum(hardness(arms.means, arms.variances).gaps, epsilon)
    band([run.pulls / expression(arms.variances, gaps, DELTA, 4) for run in done], 674, 0.04)


# --- section 4 ---------------------------------------------------------------------------------------------------------


def mixed(n: int) -> FiniteArms:
    """Arms of large, middling and tiny variance in turn, their means falling from 0.8."""
    means = 0.8 - 0.5 * np.arange(n) / n
    kinds = [
        lambda m: ([0, 1], [1 - m, m]),
        lambda m: ([m - 0.15, m + 0.15], [1, 1]),
        lambda m: ([m - 0.02, m + 0.02], [1, 1]),
    ]
    return finite_arms([kinds[i % 3](m) for i, m in enumerate(means)])


MIXED = mixed(40)


def group_elim_most(arms: FiniteArms, epsilon: float, delta: float) -> float:
    """Theorem 4.2 (d) with its constants worked out: VarEst and MeanEst of every arm."""
    buckets = ceil(log2(2 / epsilon))
    first = len(arms) * var_est_most(epsilon, delta / (2 * buckets**2))
    return first + float(np.sum(mean_est_most(arms.variances, epsilon / 2, delta / (9 * buckets))))


def true_bucket(variances: np.ndarray, buckets: int) -> np.ndarray:
    """B_j of section 4.1."""
    with np.errstate(divide="ignore"):
        return np.clip(1 + np.floor(-np.log2(variances)), 1, buckets).astype(int)


def check_group_elim(runs: int = 70, epsilon: float = 0.03, delta: float = 0.1) -> None:
    """Theorem 4.2 (a) to (d), and Lemma 4.5."""
    arms, buckets = MIXED, ceil(log2(2 / epsilon))
    failures = 0
    done = runs_of(lambda S, _: elimination.group_elim(S, epsilon, delta), arms, runs)
    for run in done:
        active, recycled = run.value
        assert len(np.unique(np.append(active, recycled))) == len(active) + len(recycled)
        assert len(recycled) <= buckets  # (a), always
        assert len(active) <= 2 / 3 * (len(arms) - len(recycled))  # Lemma 4.5 over all buckets, always
        weight = arms.variances + epsilon
        cut = weight[active].sum() <= 255 / 256 * weight.sum()  # (b)
        close = arms.means[np.append(active, recycled)].max() >= arms.means.max() - epsilon  # (c)
        cheap = run.pulls <= group_elim_most(arms, epsilon, delta)  # (d)
        failures += not (cut and close and cheap)
    claim(failures, runs, delta)
    bound = expression(arms.variances, epsilon, delta)
    band([run.pulls / bound for run in done], 347, 0.03)


def check_buckets(runs: int = 250, epsilon: float = 0.03, delta: float = 0.1) -> None:
    """Lemmas 4.4 and 4.7: VarEst puts every arm into some bucket, and hardly any three buckets away from its own."""
    arms, buckets = MIXED, ceil(log2(2 / epsilon))
    real = true_bucket(arms.variances, buckets)
    failures = 0
    for run in runs_of(lambda S, _: estimates.var_est(S, delta / (2 * buckets**2), epsilon), arms, runs):
        found = 1 - np.log2(run.value).round().astype(int)
        assert found.min() >= 1
        assert found.max() <= buckets
        far = [
            np.sum((real == i) & (found == j)) >= np.sum(real == i) * 2.0 ** (-10 * abs(i - j)) / buckets
            for i in np.unique(real)
            for j in range(1, buckets + 1)
            if abs(i - j) >= 3
        ]
        failures += any(far)
    claim(failures, runs, delta / 3)


def check_reduction(runs: int = 20, epsilon: float = 0.03, delta: float = 0.1) -> None:
    """Lemmas 4.8 to 4.10: what stays of a good bucket has at most 127/128 of its variances, + ε an arm; always."""
    arms, buckets = MIXED, ceil(log2(2 / epsilon))
    real, compared = true_bucket(arms.variances, buckets), 0
    for seed in range(runs):
        found: dict[int, np.ndarray] = {}  # B̂_j by j
        with patch.object(elimination, "var_est", watched(elimination.var_est, found)):
            kept, _ = simulate(elimination.group_elim(np.arange(len(arms)), epsilon, delta), arms.simulate(seed)).value
        for j, bucket in found.items():
            near = [np.sum(real[bucket] == i) <= len(bucket) * 2.0 ** (-5 * abs(i - j)) for i in far_from(j, buckets)]
            if len(bucket) < 2 or not all(near):  # the lemmas speak of good buckets of two or more
                continue
            before, after = arms.variances[bucket], arms.variances[np.intersect1d(bucket, kept)]
            if j <= buckets - 3:
                assert after.sum() <= 127 / 128 * before.sum()  # Lemma 4.8
            assert (after + epsilon).sum() <= 127 / 128 * (before + epsilon).sum()  # Corollary 4.9, Lemma 4.10
            compared += 1
    assert compared >= 2 * runs, compared


def far_from(j: int, buckets: int) -> list[int]:
    return [i for i in range(1, buckets + 1) if abs(i - j) >= 3]


def watched(estimate: Any, found: dict[int, np.ndarray]) -> Any:
    """VarEst, which also notes the buckets that its answers make."""

    def procedure(members: np.ndarray, *args: Any, **kwargs: Any) -> Procedure[Any]:
        variances = yield from estimate(members, *args, **kwargs)
        places = 1 - np.log2(variances).round().astype(int)
        found.update({int(j): members[places == j] for j in np.unique(places)})
        return variances

    return procedure


def check_iter_elim(runs: int = 70, epsilon: float = 0.1, delta: float = 0.1) -> None:
    """Theorem 4.3 (a) to (c)."""
    arms = MIXED
    rounds = ceil(log(len(arms) / 10) / log(1.5))  # each leaves at most ⅔ of the active arms
    beta = PRINTED.iter_beta
    most = 10 + sum(ceil(log2(2 / (beta**r * (1 - beta) * epsilon))) for r in range(rounds))
    done = runs_of(lambda S, _: elimination.iter_elim(S, epsilon, delta), arms, runs)
    failures = 0
    for run in done:
        assert len(run.value) <= most  # (a), always
        failures += arms.means[run.value].max() < arms.means.max() - epsilon  # (b)
    claim(failures, runs, delta)
    bound = expression(arms.variances, epsilon, delta)
    band([run.pulls / bound for run in done], 4.76e7, 0.03)  # (c)


def check_ties_end() -> None:
    """Constant arms tie exactly; IterElim must still end, and keep one of the best."""
    arms = finite_arms([([0.5], [1])] * 30 + [([0.2], [1])] * 30)
    left = simulate(elimination.iter_elim(np.arange(60), 0.1, 0.1), arms.simulate(0), budget=10**11)  # it takes 10^10
    assert not left.spent, "it does not end"
    assert len(left.value) <= 10
    assert left.value.min() < 30


def check_best_arm_est(runs: int = 70, epsilon: float = 0.05, delta: float = 0.1) -> None:
    """Theorem 4.1."""
    wrong, pulls = measure(identifiers(epsilon, delta)["BestArmEst"], MIXED, runs, epsilon=epsilon)
    claim(wrong, runs, delta)
    band(np.array(pulls) / expression(MIXED.variances, epsilon, delta), 6.28e8, 0.03)


# --- section 5 and Appendix B ----------------------------------------------------------------------------------------


start_vd, start_star = (identifiers(0.0, DELTA)[name] for name in ("VD-BestArmId", "VD-BestArmId*"))


def check_vd_in_detail(runs: int = 650) -> None:
    """Theorem 5.1 and its lemmas: the best arm stays, rounds are few, arms of A_s are gone after round s; each arm's pulls."""
    arms = FOUR
    hard = hardness(arms.means, arms.variances)
    last = ceil(log2(1 / hard.gaps.min())) + 1
    fatal = 1 + np.floor(np.log2(1 / hard.gaps)).astype(int)  # s with 2^−s < Δ ≤ 2^(−s+1)
    lost = late = survived = 0
    pulls, original = [], identification.mean_est
    for seed in range(runs):
        played: list[list[int]] = []  # the arms in play in each round, those of line 5

        def seen(S: np.ndarray, *others: Any, played: list[list[int]] = played, **named: Any) -> Procedure[Any]:
            played.append(S.tolist())
            return (yield from original(S, *others, **named))

        with patch.object(identification, "mean_est", seen):
            [run] = runs_of(start_vd, arms, 1, first=seed)
        lost += any(hard.best not in S for S in played)  # not M_1
        late += len(played) > last or run.value != hard.best  # not M_2
        survived += any(
            i in S for r, S in enumerate(played, 1) for i in range(len(arms)) if i != hard.best and r > fatal[i]
        )
        pulls.append(run.pulls_per_arm)
    claim(lost, runs, DELTA / 9)  # 5.2
    claim(late, runs, DELTA / 3)  # 5.3, 5.4
    claim(survived, runs, (len(arms) - 1) * DELTA / 8)  # 5.5 for each arm, δ_r ≤ δ/2
    terms = [expression(v, gap, DELTA) for v, gap in zip(hard.variances, hard.gaps, strict=True)]
    ratios = np.array(pulls) / terms
    for each, expected in zip(ratios.T, [1457, 3718, 4948, 4459], strict=True):  # 5.6 to 5.8
        band(each, expected, 0.06)
    claim(int((ratios > 4 * 5000).any(axis=1).sum()), runs, DELTA / 8)  # 5.6 with j = 1 and c = 5,000
    band(np.sum(pulls, axis=1) / sum(terms), 3217, 0.03)  # 5.1


# --- Appendix H: the lower bound -------------------------------------------------------------------------------------


def check_lower_bound(start: Start, arms: FiniteArms, delta: float, runs: int) -> float:
    """Theorem H.1, Lemmas H.2 and H.3, for the mean over runs; the smallest ratio of an arm's pulls to its own bound."""
    done = runs_of(start, arms, runs)
    hard = hardness(arms.means, arms.variances)
    each = (hard.variances / hard.gaps**2 + 1 / hard.gaps) * log(1 / delta)
    pulls = np.mean([run.pulls_per_arm for run in done], axis=0)
    assert pulls.sum() >= each.sum() / 80, "below the lower bound"
    assert pulls[0] >= each[0] / 80, "below the best arm's lower bound"
    assert (pulls[1:] >= each[1:] / 30).all(), "below another arm's lower bound"
    wrong = sum(run.value != 0 for run in done)  # it is a bound for δ-correct algorithms
    assert wrong == 0
    if runs > 73:
        claim(wrong, runs, delta)
    return float((pulls / each).min())
