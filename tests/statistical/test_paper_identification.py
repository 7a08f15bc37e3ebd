"""Theorems 1.2, 3.1, 4.1 to 4.3, 5.1 and H.1, with the lemmas on the way that can be checked."""

import numpy as np
import pytest

from statistical import paper_claims as claims
from surest.algorithms.paper.constants import Constants
from surest.algorithms.paper.expected_time import vd_best_arm_id_star
from surest.algorithms.paper.naive import naive_best_arm
from surest.algorithms.paper.vd_best_arm_id import vd_best_arm_id
from surest.arms.instances import example1, lower_bound_instance
from surest.lab.theory import hardness


def test_naive_best_arm() -> None:
    claims.check_naive()


def test_naive_best_arm_est() -> None:
    claims.check_naive_est()


def test_group_elim_four_guarantees() -> None:
    claims.check_group_elim()


def test_group_elim_buckets() -> None:
    claims.check_buckets()


def test_group_elim_reduces_the_variances_of_every_good_bucket() -> None:
    claims.check_reduction()


def test_iter_elim_three_guarantees() -> None:
    claims.check_iter_elim()


def test_iter_elim_ends_though_all_means_tie() -> None:
    claims.check_ties_end()


def test_best_arm_est() -> None:
    claims.check_best_arm_est()


def test_vd_best_arm_id_with_few_arms() -> None:
    claims.check_vd(claims.FOUR, 200, 3217, 0.03)


def test_vd_best_arm_id_with_many_arms() -> None:
    claims.check_vd(claims.mixed(15), 100, 1.185e9, 0.06)


def test_vd_best_arm_id_rounds() -> None:
    claims.check_vd_rounds(claims.FOUR, 650)


def test_vd_best_arm_id_pulls_of_each_arm() -> None:
    """Lemmas 5.6 to 5.8: each arm's pulls against its own term of the sum."""
    arms, runs = claims.FOUR, 560
    done = claims.runs_of(lambda S, rng: vd_best_arm_id(S, 0.1, rng=rng), arms, runs)
    hard = hardness(arms.means, arms.variances)
    terms = [claims.expression(v, gap, 0.1) for v, gap in zip(hard.variances, hard.gaps, strict=True)]
    ratios = np.array([run.pulls_per_arm for run in done]) / terms
    assert ratios.mean(axis=0) == pytest.approx([1457, 3718, 4948, 4459], rel=0.06)
    claims.claim(int((ratios > 4 * 5000).any(axis=1).sum()), runs, 0.1 / 8)  # 5.6 with j = 1 and c = 5,000


def test_star_with_few_arms() -> None:
    claims.check_star(claims.FOUR, 100, 6836, 0.03)


def test_star_with_many_arms() -> None:
    claims.check_star(claims.mixed(15), 70, 2.518e9, 0.06)


def test_star_pull_by_pull_from_the_front_door() -> None:
    """The form for real arms; with lean constants, since it makes each pull alone."""
    lean = Constants(var_test_c=0.1, mean_est_square=0.2, mean_est_linear=0.1)
    arms = example1(3)
    for seed in range(3):
        [run] = claims.runs_of(
            lambda S, rng: vd_best_arm_id_star(S, 0.1, rng=rng, constants=lean, pull_by_pull=True), arms, 1, first=seed
        )
        assert run.value == 0
        assert run.rounds == run.pulls


@pytest.mark.parametrize(("n", "runs"), [(20, 20), (100, 10), (1000, 4)])
def test_example1_pulls_follow_the_theorems_as_n_grows(n: int, runs: int) -> None:
    """n grows fifty times, the paper's expressions six hundred, the ratios to them hardly: no ln n is hidden in VD's."""
    arms = example1(n)
    hard = hardness(arms.means, arms.variances)
    main = claims.measure(lambda S, rng: vd_best_arm_id(S, 0.1, rng=rng), arms, runs)
    naive = claims.measure(lambda S, _: naive_best_arm(S, 0.1), arms, runs)
    assert (main.wrong, naive.wrong) == (0, 0)
    assert 1.0e10 < np.mean(main.pulls) / claims.expression(hard.variances, hard.gaps, 0.1) < 1.4e10
    assert 350 < np.mean(naive.pulls) / claims.expression(hard.variances, hard.gaps, 0.1, n) < 450


@pytest.mark.parametrize("n", [10, 100, 1000, 10_000])
def test_example1_sums(n: int) -> None:
    """Appendix C: H_var is of order n ln n, H of order n²."""
    arms = example1(n)
    hard = hardness(arms.means, arms.variances)
    assert 2.2 < hard.h_var / (n * np.log(n)) < 3.3
    assert 2.5 < hard.h / n**2 < np.pi**2 / 6 + 1.001


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


@pytest.mark.parametrize("name", list(claims.identifiers(0.1, 0.1)))
@pytest.mark.parametrize("case", list(INSTANCES))
def test_lower_bound_holds_for_every_algorithm(name: str, case: str) -> None:
    gaps, variances = INSTANCES[case]
    delta = 0.09
    start = claims.identifiers(min(gaps) / 2, delta)[name]
    smallest = claims.check_lower_bound(start, lower_bound_instance(gaps, variances), delta, runs=75)
    assert smallest > 300, "the paper's algorithms are nowhere near the bound, which is 1/80"


def test_lower_bound_refuses_an_algorithm_that_pulls_too_little() -> None:
    """The check can fail: NaiveBestArm with far too lean constants breaks the bound."""
    lean = Constants(var_test_c=0.001, mean_est_square=0.001, mean_est_linear=0.001)
    with pytest.raises(AssertionError, match="lower bound"):
        claims.check_lower_bound(
            lambda S, _: naive_best_arm(S, 0.09, constants=lean), lower_bound_instance(*INSTANCES["mixed"]), 0.09, 75
        )
