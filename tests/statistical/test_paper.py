"""The paper's lemmas, theorems and figures, each as a check; and the checks can fail: seeded mistakes are caught by them."""

import time
from math import e, exp, log
from pathlib import Path

import numpy as np
import pytest

from agreement import paper_transcription as slow
from agreement.test_paper import LEAN, check_agreement, check_scripted_stars
from mistakes import mistakes_in, put, rebuilt
from statistical import paper_claims as claims
from statistical.list_tables import MANY, PINNED
from surest.arms.finite import finite_arms
from surest.arms.instances import example1, lower_bound_instance, parse_source
from surest.core.protocol import Pull, Statistic
from surest.lab.paper import elimination, estimates, identification
from surest.lab.paper.constants import Constants
from surest.lab.theory import hardness
from surest.search.identify import identify
from surest.search.simulate import simulate

# --- lemmas 2.1 to 2.4: what VarTest, VarEst and MeanEst promise ---------------------------------------------------------


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


@pytest.mark.parametrize("delta", [0.42, 0.1, 0.001])
@pytest.mark.parametrize("ell", [0.3, 0.1, 0.03, 0.001])
def test_var_est_law_is_within_its_lemma(delta: float, ell: float) -> None:
    for p in (0.5, 0.3, 0.1, 0.05, 0.01, 0.001):
        claims.check_var_est_law(p, delta, ell)


# --- theorems on identification, and the lemmas on the way that can be checked -------------------------------------------


@pytest.mark.parametrize(
    ("start", "arms", "runs", "ratio", "width"),
    [
        (claims.start_star, claims.FOUR, 70, 6836, 0.03),
        (claims.start_vd, claims.mixed(15), 70, 1.185e9, 0.06),
        (claims.start_star, claims.mixed(15), 20, 2.518e9, 0.06),
        pytest.param(claims.start_star, claims.mixed(15), 70, 2.518e9, 0.06, marks=MANY),
    ],
)
def test_identifiers_are_right_and_pull_as_much_as_their_theorems_say(start, arms, runs, ratio, width) -> None:
    claims.check_identifier(start, arms, runs, ratio, width)


@pytest.mark.parametrize(("n", "runs"), [(20, 20), (100, 10), (1000, 2)])
def test_example1_pulls_follow_the_theorems_as_n_grows(n: int, runs: int) -> None:
    """n grows fifty times, the paper's expressions six hundred, the ratios to them hardly: no ln n is hidden in VD's."""
    arms = example1(n)
    hard = hardness(arms.means, arms.variances)
    wrong, pulls = claims.measure(claims.start_vd, arms, runs)
    naively_wrong, naive_pulls = claims.measure(lambda S, _: elimination.naive_best_arm(S, 0.1), arms, runs)
    assert (wrong, naively_wrong) == (0, 0)
    assert 1.0e10 < np.mean(pulls) / claims.expression(hard.variances, hard.gaps, 0.1) < 1.4e10
    assert 350 < np.mean(naive_pulls) / claims.expression(hard.variances, hard.gaps, 0.1, n) < 450


def test_sorted_estimates_are_as_close_as_the_estimates() -> None:
    """Lemma F.1."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        means = rng.random(rng.integers(1, 30)).round(1)
        estimates = means + rng.uniform(-0.1, 0.1, len(means))
        assert np.abs(np.sort(estimates) - np.sort(means)).max() <= np.abs(estimates - means).max() + 1e-15


INSTANCES = {  # the two cases of the lower bound's proof, and both at once
    "σ² ≥ 5Δ": ([0.008, 0.015], [0.09, 0.09, 0.09]),
    "σ² < 5Δ": ([0.03, 0.06, 0.09], [0.01, 0.001, 0.04, 0.0]),
    "mixed": ([0.015, 0.09], [0.09, 0.0004, 0.09]),
}


@pytest.mark.parametrize("runs", [15, pytest.param(75, marks=MANY)])
@pytest.mark.parametrize("name", list(claims.identifiers(0.1, 0.1)))
@pytest.mark.parametrize("case", list(INSTANCES))
def test_lower_bound_holds_for_every_algorithm(name: str, case: str, runs: int) -> None:
    gaps, variances = INSTANCES[case]
    start = claims.identifiers(min(gaps) / 2, 0.09)[name]
    smallest = claims.check_lower_bound(start, lower_bound_instance(gaps, variances), 0.09, runs)
    assert smallest > 300, "the paper's algorithms are nowhere near the bound, which is 1/80"


def test_lower_bound_refuses_an_algorithm_that_pulls_too_little() -> None:
    """The check can fail: NaiveBestArm with far too lean constants breaks the bound."""
    lean = Constants(var_test_c=0.001, mean_est_square=0.001, mean_est_linear=0.001)
    arms = lower_bound_instance(*INSTANCES["mixed"])
    with pytest.raises(AssertionError, match="lower bound"):
        claims.check_lower_bound(lambda S, _: elimination.naive_best_arm(S, 0.09, constants=lean), arms, 0.09, 15)


# --- figures that anyone can see for themselves with `surest identify`, as printed constants give them (δ = 0.1) ----------

FIGURES = [(source, name, *pulls) for name, some in PINNED["pulls"].items() for source, pulls in some.items()]


@pytest.mark.parametrize(("source", "algorithm", "least", "most"), FIGURES)
def test_pulls(source: str, algorithm: str, least: float, most: float) -> None:
    for seed in range(1, 6):
        result = identify(parse_source(source), 0.1, algorithm=algorithm, seed=seed)
        assert result.index == 0
        assert result.certified
        assert least < result.pulls < most


@pytest.mark.slow
def test_ten_thousand_arms_take_seconds_and_time_grows_no_more_than_about_linearly() -> None:
    """From 10^4 arms to 10^5, in one run, at most 15 times; H_var grows 12.4 times."""
    seconds = []
    for n in (10_000, 100_000):
        arms, began = parse_source(f"example1:{n}"), time.process_time()
        result = identify(arms, 0.1, algorithm="vd-best-arm-id", seed=1)
        assert (result.index, result.pulls) == (0, sum(result.pulls_per_arm.tolist()))
        seconds.append(time.process_time() - began)
    print(f"n = 10^4: {seconds[0]:.2f} s, n = 10^5: {seconds[1]:.2f} s, ratio {seconds[1] / seconds[0]:.1f}")
    assert seconds[0] < 60
    assert seconds[1] / seconds[0] < 15


# --- seeded mistakes, each caught by the check named beside it ------------------------------------------------------------


class Scripted:
    """Arms of variance zero, whose means are told by a script, a line a request; the last line stays."""

    def __init__(self, *means: list[float]) -> None:
        self.script = [np.array(line) for line in means]
        self.labels = tuple(map(str, range(len(means[0]))))
        self.asked = 0
        """Requests for means."""

    def answer(self, request: Pull) -> np.ndarray:
        if request.statistic is Statistic.PAIRS:
            return np.zeros(len(request.arms))
        self.asked += 1
        return self.script[min(self.asked, len(self.script)) - 1][request.arms]


def check_var_test_boundary() -> None:
    """VarTest is true above τ, not at τ."""
    for reply, expected in ((0.25, False), (np.nextafter(0.25, 1), True)):
        procedure = estimates.var_test(np.array([0]), 0.25, 0.1, 80)
        next(procedure)
        with pytest.raises(StopIteration) as end:
            procedure.send(np.array([reply]))
        assert end.value.value == [expected]


def check_var_est_boundary() -> None:
    """At τ_r = ℓ VarEst ends without a test: ℓ = ¼ means one request, for τ = ½."""
    done = simulate(estimates.var_est(np.array([0]), 0.1, 0.25), finite_arms([([0.5], [1])]).simulate(0))
    assert done.value.tolist() == [0.25]
    assert done.rounds == 1


def check_naive_boundary() -> None:
    """An arm exactly ε_r below the best stays: 0.25 outlives round 1 (ε = ½) beside 0.75."""
    arms = Scripted([0.75, 0.25])
    assert simulate(elimination.naive_best_arm(np.arange(2), 0.1), arms).value == 0
    assert arms.asked == 2


def check_vd_boundaries() -> None:
    """How often VD asks for means until it ends: in each round once in line 5 and twice for NaiveBestArmEst in line 6."""
    for asked, *script in (
        (
            6,
            [0.5, 0.75],
            [0.75, 0.25],
        ),  # line 8 asks for more than 2ε_1 = ¼, which round 1 sees; the arm chosen is the first
        (3, [0.25, 0.75], [0.75, 0.25]),  # line 8 takes |·|: the estimate of the arm chosen is the smaller one
        (
            10,
            [0.625, 0.5],
        ),  # line 9 keeps an arm exactly ε_1 = ⅛ below; in round 2 line 8 is not satisfied either (⅛ is 2ε_2)
    ):
        arms = Scripted(*script)
        assert simulate(identification.vd_best_arm_id(np.arange(2), 0.1, rng=np.random.default_rng(0)), arms).value == 0
        assert arms.asked == asked


def agrees(name: str, *, as_printed: bool = False):
    """Agreement with the transcription, on some instances."""

    def check() -> None:
        for seed in [3] if as_printed else range(12):
            check_agreement(name, 4 if as_printed else 2 + seed, slow.PRINTED if as_printed else LEAN, seed)

    return check


def check_stars() -> None:
    check_scripted_stars(40)


def check_vd_pulls() -> None:
    claims.check_identifier(claims.start_vd, claims.FOUR, 70, 3217, 0.06)


def check_star_pulls() -> None:
    """The band on the mean number of pulls alone."""
    claims.check_identifier(claims.start_star, claims.FOUR, 20, 6836, 0.06)


CHECKS = [
    pytest.param(check, marks=MANY * (check is claims.check_vd_in_detail))  # `check_vd_pulls` has 70 of its runs
    for name, check in {**vars(claims), **globals()}.items()
    if name.startswith("check_") and len(check.__defaults__ or ()) == check.__code__.co_argcount
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_what_the_paper_says(check) -> None:
    """Every check of the claims, and those of the mistakes; tests/agreement has the transcriptions."""
    check()


MISTAKES = mistakes_in(Path(__file__).with_name("paper_mistakes.txt"))


@pytest.mark.parametrize(("module", "caught_by", "right", "wrong"), MISTAKES)
def test_a_mistake_is_caught(module, caught_by, right, wrong, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a check of the claims or of a boundary, or where it no longer agrees with the transcription."""
    how, _, name = caught_by.rpartition(" ")
    check = agrees(name, as_printed=how == "as printed") if how else {**vars(claims), **globals()}[name]
    put(monkeypatch, rebuilt([f"surest.lab.paper.{module}"], (right, wrong)))
    with pytest.raises((AssertionError, ValueError)):  # a wrong result, or a request that makes no sense
        check()
