"""Other questions than "which is the best?": how they are asked, refused, answered in words, JSON, pages and studies."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

import surest
from calling import Run
from surest.arms.finite import bernoulli
from surest.core.problem import problem_of
from surest.core.protocol import Answer, Pull, Statistic
from surest.report.report import read_report
from surest.result.data import Listed

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
