"""Rivals run through the same protocol as everything else; their two drivers agree; the traps of public code are not ours."""

import numpy as np
import pytest

from agreement.rivals_agreement import RIVALS
from surest.algorithms import Task, start
from surest.arms.finite import FiniteArms, bernoulli, finite_arms
from surest.core.question import Question
from surest.errors import UsageError
from surest.lab.stepwise import simulate_blocks
from surest.search.simulate import simulate

EASY = bernoulli([0.2, 0.8, 0.5])
SKEWED = finite_arms([([0.5], [1]), ([0.4, 1.0], [0.8, 0.2])])
MANY_VALUES = finite_arms([(np.linspace(0, 1, 90), np.arange(1, 91)), (np.linspace(0, 0.9, 80), np.ones(80))])
STEPWISE = [name for name, entry in RIVALS.items() if entry.stepwise is not None]
BUDGETED = [name for name, entry in RIVALS.items() if entry.goal == "fixed budget"]
CONFIDENT = [name for name, entry in RIVALS.items() if entry.goal != "fixed budget"]


def options(name: str) -> dict[str, float]:
    return {"h1": 20.0} if name in ("ucb-e", "ugape-b") else {}


def epsilon(name: str) -> float:
    return 0.1 if RIVALS[name].goal == "ε-optimal arm" else 0.0


@pytest.mark.parametrize("arms", [EASY, SKEWED, MANY_VALUES], ids=["bernoulli", "skewed", "many values"])
@pytest.mark.parametrize("name", STEPWISE)
def test_the_block_driver_does_what_the_generator_does(name: str, arms: FiniteArms) -> None:
    n, budget = len(arms), 1500
    task = Task(np.arange(n), 0.1, epsilon(name), budget, np.random.default_rng([7, n]))
    given = {"budget": budget, "record": True}
    fast = simulate_blocks(RIVALS[name].stepwise(task, **options(name)), arms.simulate(7), **given)
    procedure = start(name, n, 0.1, epsilon=epsilon(name), budget=budget, seed=7, **options(name))
    slow = simulate(procedure, arms.simulate(7), **given)
    assert np.concatenate([request.arms for request, _ in slow.transcript]).tolist() == fast.pulled.tolist()
    assert (slow.pulls, slow.rounds, slow.value, slow.spent) == (fast.pulls, fast.rounds, fast.value, fast.spent)
    assert slow.pulls_per_arm.tolist() == fast.pulls_per_arm.tolist()
    if slow.spent:
        assert slow.status == fast.status


@pytest.mark.parametrize("name", [name for name in CONFIDENT if "top" in RIVALS[name].answers])
def test_the_m_best_are_named_by_either_driver_the_best_first(name: str) -> None:
    arms, question = bernoulli([0.1, 0.9, 0.2, 0.8]), Question("top", top=2)
    shown = []
    slow = simulate(
        start(name, 4, 0.1, seed=3, question=question),
        arms.simulate(3),
        on_request=lambda running: shown.append(running.request.status()),
    )
    task = Task(np.arange(4), 0.1, 0.0, None, np.random.default_rng([3, 4]), question=question)
    fast = simulate_blocks(RIVALS[name].stepwise(task), arms.simulate(3))
    assert set(slow.value.arms) == {1, 3}
    assert list(slow.value.arms) == sorted(slow.value.arms, key=lambda arm: -slow.means[arm])
    assert (slow.value, slow.pulls) == (fast.value, fast.pulls)
    assert shown[0].chosen == (0, 1)
    assert all(status.leader == status.chosen[0] for status in shown)


@pytest.mark.parametrize("name", BUDGETED)
def test_a_budgeted_rival_answers_within_its_budget_certifies_nothing_and_refuses_too_small_a_one(name: str) -> None:
    done = simulate(start(name, 3, 0.1, budget=300, seed=1, **options(name)), EASY.simulate(1), budget=300)
    assert (done.value.arm, done.value.certified, done.value.reason) == (1, False, "fixed budget")
    assert 200 <= done.pulls <= 300
    with pytest.raises(UsageError, match="too small"):
        simulate(start(name, 3, 0.1, budget=2, **options(name)), EASY.simulate(1), budget=2)


@pytest.mark.parametrize("name", [*STEPWISE, "exponential-gap-elimination", "median-elimination"])
def test_a_spent_budget_reports_the_leader(name: str) -> None:
    if name in BUDGETED:
        return
    budget = {"exponential-gap-elimination": 40_000, "median-elimination": 150_000}.get(name, 20)
    done = simulate(start(name, 3, 0.01, epsilon=epsilon(name), seed=2), EASY.simulate(2), budget=budget)
    assert done.spent
    assert done.status.leader == 1 or name in STEPWISE  # after 20 pulls a leader need not be the best
    assert done.pulls <= budget


@pytest.mark.parametrize("name", [n for n in STEPWISE if n not in BUDGETED])
@pytest.mark.parametrize("means", [[0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.02, 0.0]], ids=str)
def test_empirical_means_of_0_and_1_are_numbers_like_others(name: str, means: list[float]) -> None:
    task = Task(np.arange(len(means)), 0.1, 0.0, None, np.random.default_rng(0))
    done = simulate_blocks(RIVALS[name].stepwise(task), bernoulli(means).simulate(5), budget=3_000_000)
    assert done.value is not None or name in ("lil-ucb", "successive-elimination")
    assert done.status.leader == int(np.argmax(means))
