"""What a result says, in which units, how it prints; other questions than "which is the best?" in words, JSON and studies."""

import asyncio
import io
import json
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from rich.console import Console

import surest
from calling import Run
from surest.arms.finite import bernoulli
from surest.core.problem import problem_of
from surest.core.protocol import Answer, Pull, Statistic
from surest.report.report import read_report
from surest.result.data import Listed, Result
from surest.text import at_most


@pytest.fixture(scope="module")
def decided() -> Result:
    return surest.identify(bernoulli([0.8, 0.3, 0.2], ["new [x]", "old", "none"]), 0.05, seed=1)


def test_rich_prints_the_same_words(decided: Result) -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(decided)
    printed = [line.rstrip() for line in console.export_text().rstrip().splitlines()]
    assert printed == str(decided).splitlines()


@pytest.mark.parametrize("value", [1e-9, 0.0121, 0.1, 0.9949, 0.996, 12.34, 99.6])
def test_a_bound_is_never_rounded_down(value: float) -> None:
    assert value <= float(at_most(value)) <= 1.1 * value


@pytest.mark.parametrize("bounds", [(1.0, 5.0), (-100.0, -50.0), (0.0, 1e-3)])
def test_bounds_change_the_units_and_nothing_else(bounds: tuple[float, float]) -> None:
    low, high = bounds
    rng = np.random.default_rng(4)
    unit = {"a": rng.integers(0, 5, 50) / 4, "b": rng.integers(0, 4, 50) / 4, "c": rng.integers(0, 3, 50) / 4}
    own = {label: low + rewards * (high - low) for label, rewards in unit.items()}
    for settings in ({"epsilon": 0.05}, {"budget": 100}):
        scaled = {**settings, **({"epsilon": 0.05 * (high - low)} if "epsilon" in settings else {})}
        plain = surest.identify(unit, seed=2, resample=True, **settings)
        result = surest.identify(own, seed=2, bounds=bounds, resample=True, **scaled)
        assert result.pulls_per_arm.tolist() == plain.pulls_per_arm.tolist()
        assert (result.best, result.certified) == (plain.best, plain.certified)
        assert result.means == pytest.approx(low + plain.means * (high - low))
        for ours, theirs in zip(result.intervals, plain.intervals, strict=True):
            assert ours == pytest.approx(low + theirs * (high - low))
        assert result.epsilon_certified == pytest.approx(plain.epsilon_certified * (high - low))
        assert result.achieved_delta == pytest.approx(plain.achieved_delta, rel=1e-6)


def test_the_table_is_a_sequence(decided: Result) -> None:
    assert (len(decided.arms), [row.label for row in decided.arms]) == (3, list(decided.labels))
    row = decided.arms["old"]
    assert (row, row._fields) == (decided.arms[1], ("label", "pulls", "mean", "low", "high"))
    assert row.low < row.mean < row.high
    assert sum(r.pulls for r in decided.arms) == decided.pulls
    with pytest.raises(KeyError):
        decided.arms["new"]


def test_the_table_cuts_many_arms_and_long_labels() -> None:
    arms = {
        "x" * 200 if i == 3 else f"arm {i}": {"successes": 900 if i == 3 else i, "trials": 1000} for i in range(100)
    }
    text = str(surest.identify(arms).arms).splitlines()
    assert len(text) == 1 + 6 + 1
    assert text[1].startswith("xxx")
    assert text[2].startswith("arm 99 ")
    assert text[-1] == "… 94 more"
    assert max(map(len, text)) <= 100


def test_a_result_is_a_snapshot() -> None:
    session = surest.Session(2)
    before = session.result()
    for ticket in session.ask(4):
        session.tell(ticket.id, 1)
    assert before.pulls == before.pulls_per_arm.sum() == 0
    assert (before.reason, session.result().pulls) == ("still running", 4)


def test_recorded_rewards_are_looked_at_with_one_seed() -> None:
    """With a new seed at each look, looking again and again would find a verdict sooner or later."""
    rewards = {"a": [0.0, 1.0] * 20, "b": [1.0, 1.0, 0.0] * 15}
    first, second = surest.identify(rewards), surest.identify({arm: of + [0.0] for arm, of in rewards.items()})
    assert first.seed == second.seed == 0
    assert surest.identify(rewards, seed=3).seed == 3


def test_labels_keep_their_type() -> None:
    async def one() -> float:
        return 1.0

    found = asyncio.run(surest.aidentify({1: one, 2: lambda: asyncio.sleep(0, 0.0)}, seed=1))
    assert (found.best, found.labels, surest.Session([1, 2]).ask()[0].label) == (1, (1, 2), 1)
    assert surest.identify({1: lambda: 1.0, 2: lambda: 0.0}, seed=1).best == 1


# --- other questions -------------------------------------------------------------------------------------------------------

LABELS = ["a", "b", "c", "d"]
MEANS = np.array([0.9, 0.2, 0.7, 0.5])


def by_means(arms, delta, *, question, times=10):
    """Answers every question by plain means."""
    means = yield Pull(arms, times, Statistic.MEAN)
    if question.kind == "top":
        return Answer(np.argsort(-means)[: question.top])
    against = question.bar if question.kind == "above" else means[question.control] + question.margin
    verdicts = np.sign(means - against).astype(int)
    if question.kind == "control":
        verdicts[question.control] = 0
    return Answer(np.flatnonzero(verdicts == 1), verdicts=verdicts)


def asked(**question):
    arms = {label: (lambda mean=mean: mean) for label, mean in zip(LABELS, MEANS, strict=True)}
    return surest.identify(arms, algorithm=by_means, **question)


def test_answers_are_data() -> None:
    top, above, control = asked(top=2), asked(above=0.6), asked(control="d", margin=0.1)
    assert {found.chosen for found in (top, above, control)} == {("a", "c")}
    with pytest.raises(AttributeError, match=r"\.chosen"):
        _ = top.best
    data = top.to_dict()
    assert (data["question"], data["chosen"], data["indices"], data["arm"]) == ("top", ["a", "c"], [0, 2], None)
    assert (above.to_dict()["verdicts"][1], asked(above=0.95).chosen) == ({"arm": "b", "verdict": "below"}, ())
    verdicts = [verdict["verdict"] for verdict in control.to_dict()["verdicts"]]
    assert verdicts == ["better", "not better", "better", "control"]


def test_the_question_is_in_the_users_units():
    asked = problem_of(LABELS, above=30, bounds=(0, 60), epsilon=6)
    assert asked.question.bar == 0.5
    assert problem_of(LABELS, control="a", margin=6, bounds=(0, 60), minimise=True).question.margin == pytest.approx(
        0.1
    )


@pytest.mark.parametrize(
    ("question", "first", "asked", "other"),
    [
        ({"top": 2}, 110, "of the 2nd best at δ = 0.1", " of the best at"),
        ({"above": 0.6}, 20, " of 4.", "best"),
        ({"control": "d", "margin": 0.1}, 20, " of 3.", "best"),  # the control gets no verdict
    ],
)
def test_a_study_asks_every_question(question, first: int, asked: str, other: str, run: Run):
    study = surest.open_study("sqlite:///surest.db", "s", LABELS, 0.1, seed=3, **question)
    rng = np.random.default_rng(5)
    for _ in range(first):
        study.tell_all(tickets := study.ask(5), [float(rng.random() < MEANS[ticket.arm]) for ticket in tickets])
    said = run("study status s")
    assert (said.status, asked in said.words, other in said.words) == (0, True, False)
    while tickets := study.ask(50):
        study.tell_all(tickets, [float(rng.random() < MEANS[ticket.arm]) for ticket in tickets])
    assert run("study status s").status == 0
    found = surest.open_study("sqlite:///surest.db", "s").result()
    assert (found.certified, found.chosen) == (True, ("a", "c"))
    assert found.problem.question == study.settings.session(LABELS).problem.question


def test_with_fresh_pulls_contenders_hold_for_each_of_the_m_best_and_on_a_list_for_all_together():
    fresh = surest.identify(surest.bernoulli([0.6, 0.6, 0.6, 0.5, 0.1, 0.1, 0.1]), top=2, seed=1, budget=1500)
    assert 2 < len(fresh.contenders) < 7
    assert "Each of the 2 best is among arms" in str(fresh)
    assert "95 % for each" in str(fresh)
    close = replace(fresh, problem=msgspec.structs.replace(fresh.problem, epsilon=0.01))
    assert "among" not in str(close)  # no theorem says it
    listed = replace(fresh, listed=Listed(range(9), 5, *[np.empty(0, np.int64)] * 3))
    assert "The 2 best are among arms" in str(listed)


def test_differences_from_a_control_on_fresh_pulls() -> None:
    result = surest.identify(bernoulli([0.5, 0.9, 0.1], ["old", "good", "bad"]), control="old", margin=0.2, seed=1)
    low, high = result.differences
    assert (low[0], high[0]) == (0, 0)
    assert -0.1 < low[1] < 0.4 < high[1] < 0.9
    assert low[2] < -0.4 < high[2] < 0.3
    data = result.to_dict()
    assert data["differences_low"] == low.tolist()
    again = read_report(json.dumps(data)).result
    assert np.array_equal(again.differences[1], high)


def test_a_control_is_named_as_its_label_reads(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/s.db"
    surest.open_study(storage, "s", [1, 2, 3], 0.1, control=2, seed=1)
    assert surest.open_study(storage, "s", control="2").settings.problem.control == "2"
