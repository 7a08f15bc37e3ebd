"""The checks of the paper layer can fail: seeded mistakes, each caught by the check named beside it."""

import inspect
import sys
from types import ModuleType

import numpy as np
import pytest

from agreement import paper_transcription as slow
from agreement.paper_agreement import LEAN, check_agreement, check_scripted_stars
from statistical import paper_claims as claims
from surest.algorithms.paper import (
    best_arm_est,
    expected_time,
    group_elim,
    iter_elim,
    mean_est,
    naive,
    var_est,
    var_test,
    vd_best_arm_id,
)
from surest.arms.finite import finite_arms
from surest.core.protocol import Pull, Statistic
from surest.search.simulate import simulate


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
        procedure = var_test.var_test(np.array([0]), 0.25, 0.1, 80)
        next(procedure)
        with pytest.raises(StopIteration) as end:
            procedure.send(np.array([reply]))
        assert end.value.value == [expected]


def check_var_est_boundary() -> None:
    """At τ_r = ℓ VarEst ends without a test: ℓ = ¼ means one request, for τ = ½."""
    done = simulate(var_est.var_est(np.array([0]), 0.1, 0.25), finite_arms([([0.5], [1])]).simulate(0))
    assert done.value.tolist() == [0.25]
    assert done.rounds == 1


def check_naive_boundary() -> None:
    """An arm exactly ε_r below the best stays: 0.25 outlives round 1 (ε = ½) beside 0.75."""
    arms = Scripted([0.75, 0.25])
    assert simulate(naive.naive_best_arm(np.arange(2), 0.1), arms).value == 0
    assert arms.asked == 2


def check_vd_stopping_boundary() -> None:
    """Line 8 asks for more than 2ε_1 = ¼. Round 1 sees 0.5 and 0.75, though the arm chosen is the first."""
    arms = Scripted([0.5, 0.75], [0.75, 0.25])
    assert simulate(_vd(arms), arms).value == 0
    assert arms.asked == 6, "a second round: in each, line 5 and the two rounds of NaiveBestArmEst in line 6"


def check_vd_stops_either_way() -> None:
    """Line 8 takes |·|: round 1 sees 0.25 and 0.75, the arm chosen is the first, and its estimate the smaller one."""
    arms = Scripted([0.25, 0.75], [0.75, 0.25])
    assert simulate(_vd(arms), arms).value == 0
    assert arms.asked == 3, "one round: line 5 and the two rounds of NaiveBestArmEst in line 6"


def check_vd_elimination_boundary() -> None:
    """Line 9 keeps an arm exactly ε_1 = ⅛ below; so round 2, whose line 8 is not satisfied either (⅛ is 2ε_2)."""
    arms = Scripted([0.625, 0.5])
    assert simulate(_vd(arms), arms).value == 0
    assert arms.asked == 10


def _vd(arms: Scripted):
    return vd_best_arm_id.vd_best_arm_id(np.arange(len(arms.labels)), 0.1, rng=np.random.default_rng(0))


def agrees(name: str):
    """Agreement with the transcription, on some instances."""

    def check() -> None:
        for seed in range(12):
            check_agreement(name, 2 + seed, LEAN, seed)

    return check


def agrees_as_printed(name: str):
    return lambda: check_agreement(name, 4, slow.PRINTED, 3)


def check_stars() -> None:
    check_scripted_stars(40)


def check_vd_pulls() -> None:
    """The band on the mean number of pulls, and no wrong answer in 70 runs."""
    claims.check_vd(claims.FOUR, 70, 3217, 0.06)


def check_star_pulls() -> None:
    claims.check_star(claims.FOUR, 70, 6836, 0.06)


MUTANTS = [  # module, its text, the mistake, who catches it
    (var_test, "variance > tau", "variance >= tau", check_var_test_boundary),
    (var_test, "log(1 / delta)", "log(1 / (10 * delta))", claims.check_mean_est_pulls),
    (var_test, "log(1 / delta)", "log(1 / (10 * delta))", claims.check_group_elim),
    (var_test, "c / tau * log(1 / delta)", "c / tau", claims.check_mean_est_pulls),
    (var_test, "c / tau * log(1 / delta)", "c / tau", claims.check_group_elim),
    (var_test, "2.0 * times", "2.0 * (times // 2)", agrees("VarTest")),
    (var_est, "tau <= ell", "tau < ell", check_var_est_boundary),
    (var_est, "delta / constants.var_test_delta", "delta", claims.check_mean_est_pulls),
    (var_est, "tau = 0.5**r", "tau = 0.25**r", agrees("VarEst")),
    (mean_est, "constants.mean_est_log / delta", "constants.mean_est_log / (10 * delta)", check_vd_pulls),
    (mean_est, "rate * log(constants.mean_est_log / delta)", "rate", check_vd_pulls),
    (mean_est, "* variance / epsilon**2", "* variance / epsilon", claims.check_naive),
    (mean_est, "* variance / epsilon**2", "* 0.25 / epsilon**2", claims.check_mean_est_pulls),
    (naive, ">= means.max() - epsilon_r", "> means.max() - epsilon_r", check_naive_boundary),
    (naive, "delta_r / len(left)", "delta_r", claims.check_naive),
    (
        naive,
        "delta / (constants.naive_delta * r**2)",
        "10 * delta / (constants.naive_delta * r**2)",
        claims.check_naive,
    ),
    (naive, "ceil_log2(1 / epsilon) + 1", "ceil_log2(1 / epsilon)", claims.check_naive_est),
    (naive, "ceil_log2(1 / epsilon) + 1", "ceil_log2(1 / epsilon)", agrees("NaiveBestArmEst")),
    (group_elim, "len(members) >= 2", "len(members) >= 1", agrees("GroupElim")),
    (group_elim, "(len(means) + 1) // 2", "(len(means) + 2) // 2", agrees("GroupElim")),
    (group_elim, "np.argsort(-means", "np.argsort(means", claims.check_group_elim),
    (
        group_elim,  # as the pseudocode has it: drop what is below the median, which is nothing where all tie
        'np.argsort(-means, kind="stable")[: (len(means) + 1) // 2]',
        "np.flatnonzero(means >= np.median(means))",
        claims.check_ties_end,
    ),
    (iter_elim, "> constants.iter_stop", ">= constants.iter_stop", agrees("IterElim")),
    (iter_elim, "beta**r * (1 - beta) * epsilon", "(1 - beta) * epsilon", agrees("IterElim")),
    (iter_elim, "(1 - beta) * epsilon", "epsilon", claims.check_iter_elim),
    (iter_elim, "recycled.append(bin_)", "recycled = [bin_]", agrees("IterElim")),
    (best_arm_est, "1 / epsilon > log", "1 / epsilon <= log", agrees("BestArmEst")),
    (best_arm_est, "delta / constants.best_parts", "10 * delta / constants.best_parts", claims.check_best_arm_est),
    (vd_best_arm_id, "> constants.main_stop", ">= constants.main_stop", check_vd_stopping_boundary),
    (vd_best_arm_id, "if abs(means[left == first]", "if (means[left == first]", check_vd_stops_either_way),
    (group_elim, "(len(means) + 1) // 2", "len(means)", claims.check_reduction),
    (vd_best_arm_id, ">= means[left == first]", "> means[left == first]", check_vd_elimination_boundary),
    (vd_best_arm_id, "delta / (constants.main_delta", "10 * delta / (constants.main_delta", check_vd_pulls),
    (vd_best_arm_id, "delta_r / constants.main_parts_delta", "delta_r", check_vd_pulls),
    (vd_best_arm_id, "constants.main_delta * r**2", "constants.main_delta", agrees("VD-BestArmId")),
    (vd_best_arm_id, "best_arm_est(others,", "best_arm_est(left,", agrees_as_printed("VD-BestArmId")),
    (expected_time, "(r if i < winner else r - 1)", "r", check_stars),
    (expected_time, "(1 if copy.request is None", "(0 if copy.request is None", check_stars),
    (expected_time, "2**i * (copy.pulls", "(copy.pulls", check_stars),
    (expected_time, "delta / 2**i, rng=own", "10 * delta / 2**i, rng=own", check_star_pulls),
]


def mutate(module: ModuleType, right: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a changed copy of a module's functions wherever the true ones are used."""
    source = inspect.getsource(module)
    assert source.count(right) == 1, f"{right!r} must be found once"
    changed = dict(vars(module))
    exec(compile(source.replace(right, wrong), module.__file__, "exec"), changed)
    own = {
        value: changed[name]
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    }
    for user in [m for name, m in sys.modules.items() if name.startswith(("surest.", "agreement.", "statistical."))]:
        for name, value in list(vars(user).items()):
            if inspect.isfunction(value) and value in own:
                monkeypatch.setattr(user, name, own[value])


CHECKS = list({check.__qualname__ + str(check.__closure__): check for *_, check in MUTANTS}.values())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__qualname__)
def test_without_a_mistake_the_check_passes(check) -> None:
    check()


@pytest.mark.parametrize(
    ("module", "right", "wrong", "check"), MUTANTS, ids=lambda part: part if isinstance(part, str) else ""
)
def test_a_mistake_is_caught(module, right, wrong, check, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(module, right, wrong, monkeypatch)
    with pytest.raises((AssertionError, ValueError)):  # a wrong result, or a request that makes no sense
        check()
