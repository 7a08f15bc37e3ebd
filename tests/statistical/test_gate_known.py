"""Gates that predict the candidate's scores from known rows, and that ask whether both are the same: errors and items."""

from pathlib import Path

import numpy as np
import pytest

import surest_verify as verifier
from statistical.list_tables import answer_to, ended, most_allowed
from surest.algorithms.race import race
from surest.arms.tables import read_table
from surest.core.question import Question
from surest.evidence.lists.gate import Predictions, bet_above, directions, judge, mirrored
from surest.kernels.constants import PLAIN
from surest.study.ledger import share

DATA = Path(__file__).parents[3] / "shared" / "data" / "items"


def rows(rng: np.random.Generator, total: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A baseline, a candidate and three older rows, right or wrong, of items that are harder or easier for all."""
    ease = rng.random(total)
    drawn = (rng.random((5, total)) < np.clip(ease * 1.6 - 0.3, 0, 1)).astype(float)
    return drawn[0], drawn[1], drawn[2:]


def needed(path: np.ndarray, told: np.ndarray, plain: float) -> int:
    """Items until a verdict at a margin of .03 and δ = .05."""
    ends = (path, told, -0.03), (-path, mirrored(told), 0.0)
    found = [bet_above(d, float(len(d)), x, 20.0, t, plain)[0] for d, t, x in ends]
    return min(len(path) if after < 0 else after for after in found)


def needed_before(path: np.ndarray) -> int:
    """The same by the rule of decision files up to version 3, which the verifier keeps, without predictions."""
    total, found = len(path), [len(path)]
    for differences, level in ((path, -0.03), (-path, 0.0)):
        rule = verifier.parts(0.98), verifier.by_mean(level, level < 0)
        wealths = verifier.bets_above([(d, 0.0) for d in differences.tolist()], total, level, *rule)
        least = np.append(0, differences.cumsum()) - total + np.arange(total + 1)
        found += [t for t, wealth in enumerate(wealths) if wealth >= 20 or least[t] > total * level + 1e-6][:1]
    return min(found)


def ratios(tables: list[str], pairs: int, orders: int) -> np.ndarray:
    """Mean items needed over those before, for pairs of rows drawn at random: without history, and with all other rows."""
    rng, found = np.random.default_rng(11), []
    for name in tables:
        values = read_table(DATA / f"{name}.csv.gz").values
        means = values.mean(axis=1)
        near = np.argwhere((np.abs(means[:, None] - means) <= 0.1) & ~np.eye(len(means), dtype=bool))
        for i, j in near[rng.choice(len(near), pairs, replace=False)].tolist():
            old, apart, more = values[i], values[j] - values[i], directions(values[i], np.delete(values, [i, j], 0))
            items = []
            for k in range(orders):
                order = np.random.default_rng([13, k, i, j]).permutation(len(old))
                path = np.ascontiguousarray(apart[order])
                told = [Predictions(old[order], some).extend(path) for some in (None, more[order])]
                items.append([needed_before(path), *(needed(path, one, PLAIN) for one in told)])
            mean = np.mean(items, axis=0)
            found.append(mean[1:] / mean[0])
    return np.array(found)


HELD = ["lcb_execution_cot", "lcb_testgen", "aslib_QBF-2016", "prompts_Llama-3.1-8B", "prompts_Qwen2-7B"]


@pytest.mark.skipif(not DATA.exists(), reason="needs the tables of real scores")
@pytest.mark.parametrize(
    ("tables", "pairs", "orders"),
    [(HELD[1:3], 3, 8), pytest.param([*HELD, "aslib_CSP-MZN-2013"], 4, 24, marks=pytest.mark.slow)],
)
def test_known_rows_need_fewer_items(tables: list[str], pairs: int, orders: int) -> None:
    found = ratios(tables, pairs, orders)
    assert np.median(found[:, 0]) <= (0.9 if orders > 20 else 0.92), "few orders are noisy"
    assert np.median(found[:, 1]) <= 0.8
    assert found.max() <= (1.15 if orders > 20 else 1.3)


@pytest.mark.parametrize(("better", "worse", "wrong"), [(32, 20, "passed"), (20, 32, "passed"), (25, 25, "failed")])
def test_equivalence_is_wrong_as_rarely_as_delta_allows(better: int, worse: int, wrong: str) -> None:
    """Means of ±.11 at a margin of .1 are not the same; a mean of 0 is not different."""
    path, rng, runs = np.repeat([1.0, -1.0, 0.0], [better, worse, 110 - better - worse]), np.random.default_rng(3), 40
    found = [judge(rng.permutation(path)[:100], 110.0, 0.1, 0.3, equivalent=True) for _ in range(runs)]
    times = sum(getattr(one, wrong) is not None for one in found)
    assert times <= most_allowed(runs, 0.3)
    right = "failed" if wrong == "passed" else "passed"
    assert sum(getattr(one, right) is not None for one in found) > 12


def test_of_1000_gates_with_a_ledger_few_passes_are_wrong() -> None:
    """80 % of candidates are worse than allowed, by the least that 400 items can show; the others are better by .03."""
    rng, passes, wrong = np.random.default_rng(8), np.zeros(2, int), np.zeros(2, int)
    for number in range(1, 1001):
        null = rng.random() < 0.8
        better, worse = (29, 50) if null else (46, 34)
        path = rng.permutation(np.repeat([1.0, -1.0, 0.0], [better, worse, 400 - better - worse]))
        for k, level in enumerate((0.05 * share(number) * (1 + passes[0]), 0.05)):
            passed = not null or bet_above(path, 400.0, -0.05, 1 / level)[0] >= 0  # in the end for certain
            passes[k], wrong[k] = passes[k] + passed, wrong[k] + (passed and null)
    assert wrong[0] <= 0.05 * passes[0]
    assert wrong[1] > 0.05 * passes[1], "δ for each is not enough"


def test_a_known_control_is_as_right_as_delta_allows() -> None:
    """One arm is as good as the control, and not better; one is better by just more than the margin."""
    ease = np.random.default_rng(1).random(80)
    control = (ease < 0.5).astype(float)
    same = (np.roll(ease, 7) < 0.5).astype(float)
    better = same.copy()
    better[np.flatnonzero(same == 0)[:9]] = 1.0
    table, runs, wrong, right = np.array([control, same, better]), 80, 0, 0
    for seed in range(runs):
        question = Question("control", margin=8.5 / 80)
        found = answer_to(race, table, 0.3, seed, question=question, known=control.tolist())
        wrong += "exact" not in found.reason and (found.verdicts[1] == 1 or found.verdicts[2] == -1)
        right += found.verdicts == (0, -1, 1)
    assert wrong <= most_allowed(runs, 0.3)
    assert right > 0.6 * runs


@pytest.mark.parametrize("equivalent", [False, True])
def test_a_race_for_a_gate_ends_when_all_items_so_far_decide(equivalent: bool) -> None:
    """One look at a time, or all at once: the same verdict after the same number of items."""
    rng, total = np.random.default_rng(5), 150
    for k in range(6):
        old, new, older = rows(rng, total)
        new = np.where(rng.random(total) < 0.6, old, new) if k % 2 else new * (rng.random(total) < 0.7)
        path = new - old
        told = Predictions(old, directions(old, older)).extend(path)
        found = judge(path, float(total), 0.1, 0.3, told, PLAIN, equivalent=equivalent)
        after = min(at for at in (found.passed, found.failed, total) if at is not None)
        asked = {"known": old.tolist(), "older": older.tolist(), "gate": True, "shuffled": True}
        question, seen = Question("control", control=1, margin=0.1), []
        procedure = race(np.arange(2), 0.3, items=total, rng=rng, question=question, equivalent=equivalent, **asked)
        ended(procedure, np.array([old, new]), lambda request, seen=seen: seen.append(request.arms.tolist()))
        assert seen == [[1]] * after
