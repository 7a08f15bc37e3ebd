"""Other questions than "which is the best?": how they are asked, refused, answered in words, JSON, pages and studies."""

import json

import numpy as np
import pytest

import surest
from surest.core.problem import problem_of
from surest.core.protocol import Answer, Pull, Statistic
from surest.errors import UsageError
from surest.report.page import Report, title, to_html, to_markdown
from surest.report.report import read_report

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


def test_the_m_best():
    result = asked(top=2)
    assert (result.chosen, result.indices) == (("a", "c"), (0, 2))
    assert "Arms a and c are the 2 best" in str(result)
    with pytest.raises(AttributeError, match=r"\.chosen"):
        _ = result.best
    data = result.to_json()
    assert (data["question"], data["chosen"], data["indices"], data["arm"]) == ("top", ["a", "c"], [0, 2], None)


def test_above_a_bar():
    result = asked(above=0.6)
    assert result.chosen == ("a", "c")
    assert "Arms a and c lie above 0.6. Arms b and d lie below 0.6." in str(result)
    assert result.to_json()["verdicts"][1] == {"arm": "b", "verdict": "below"}
    assert asked(above=0.95).chosen == ()


def test_better_than_a_control():
    result = asked(control="d", margin=0.1)
    assert result.chosen == ("a", "c")
    assert "Arms a and c are better than d. Arm b is not better than d by more than 0.1." in str(result)
    assert [v["verdict"] for v in result.to_json()["verdicts"]] == ["better", "not better", "better", "control"]


@pytest.mark.parametrize("question", [{"top": 2}, {"above": 0.6}, {"above": 0.95}, {"control": "d"}])
def test_a_result_comes_back_from_its_json_and_makes_a_page(question):
    result = asked(**question)
    again = read_report(json.dumps(result.to_json())).result
    assert (again.chosen, again.verdicts) == (result.chosen, result.verdicts)
    assert again.problem.question == result.problem.question
    for text in (to_html(Report(again)), to_markdown(Report(again)), title(Report(again))):
        assert text
    assert result.plot() is not None


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"top": 2, "above": 0.5}, "one at a time"),
        ({"top": 4}, "with 4 arms it must be less than 4"),
        ({"top": 0}, "from 1 on"),
        ({"top": "3"}, "from 1 on"),
        ({"above": 1.5}, "between 0 and 1"),
        ({"above": float("nan")}, "between 0 and 1"),
        ({"above": 0.5, "minimise": True}, "leave it out"),
        ({"control": "z"}, "label of one of the arms"),
        ({"margin": 0.1}, "goes with a control"),
        ({"control": "a", "margin": -1}, "≥ 0"),
        ({"control": "a", "margin": 2}, "smaller than the range"),
        ({"error": "fdr"}, "with a bar"),
        ({"above": 0.5, "error": "both"}, "fdr"),
    ],
)
def test_a_question_that_makes_no_sense(question, said):
    with pytest.raises(UsageError, match=said):
        asked(**question)


def test_the_question_is_in_the_users_units():
    asked = problem_of(LABELS, above=30, bounds=(0, 60), epsilon=6)
    assert asked.question.bar == 0.5
    assert problem_of(LABELS, control="a", margin=6, bounds=(0, 60), minimise=True).question.margin == pytest.approx(
        0.1
    )
