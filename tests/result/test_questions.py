"""Other questions than "which is the best?": how they are asked, refused, answered in words, JSON, pages and studies."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

import surest
from surest.arms.finite import bernoulli
from surest.cli import cli
from surest.core.problem import problem_of
from surest.core.protocol import Answer, Pull, Statistic
from surest.errors import UsageError
from surest.report.page import Report, reproduction, settings_rows, title, to_html, to_markdown
from surest.report.report import read_report
from surest.result.listed import Listed

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
    data = result.to_dict()
    assert (data["question"], data["chosen"], data["indices"], data["arm"]) == ("top", ["a", "c"], [0, 2], None)


def test_above_a_bar():
    result = asked(above=0.6)
    assert result.chosen == ("a", "c")
    assert "Arms a and c lie at or above 0.6. Arms b and d lie below 0.6." in str(result)
    assert result.to_dict()["verdicts"][1] == {"arm": "b", "verdict": "below"}
    assert asked(above=0.95).chosen == ()


def test_better_than_a_control():
    result = asked(control="d", margin=0.1)
    assert result.chosen == ("a", "c")
    assert "Arms a and c are better than d. Arm b is not better than d by more than 0.1." in str(result)
    assert [v["verdict"] for v in result.to_dict()["verdicts"]] == ["better", "not better", "better", "control"]


@pytest.mark.parametrize("question", [{"top": 2}, {"above": 0.6}, {"above": 0.95}, {"control": "d"}])
def test_a_result_comes_back_from_its_json_and_makes_a_page(question):
    result = asked(**question)
    again = read_report(json.dumps(result.to_dict())).result
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


def test_an_algorithm_that_does_not_answer_a_question_names_those_that_do():
    with pytest.raises(UsageError, match=r"naive-best-arm does not answer which are the 2 best arms; .* wager-top"):
        surest.Session(LABELS, top=2, algorithm="naive-best-arm")


def test_the_question_is_in_the_users_units():
    asked = problem_of(LABELS, above=30, bounds=(0, 60), epsilon=6)
    assert asked.question.bar == 0.5
    assert problem_of(LABELS, control="a", margin=6, bounds=(0, 60), minimise=True).question.margin == pytest.approx(
        0.1
    )


@pytest.mark.parametrize(
    ("question", "algorithm"),
    [
        (["--top", "2"], "wager-top"),
        (["--above", "0.6"], "wager-above"),
        (["--above", "0.6", "--error", "fdr"], "wager-above"),
        (["--control", "2", "--margin", "0.2"], "wager-control"),
    ],
)
def test_the_command_line_asks_every_question(question, algorithm, tmp_path: Path):
    arguments = ["identify", "bernoulli:0.9,0.2,0.8,0.3", "--delta", "0.1", "--seed", "1", *question]
    shown = CliRunner().invoke(cli, [*arguments, "--quiet"], standalone_mode=False)
    assert shown.return_value == 0, shown.output
    assert "Any method" not in shown.output  # that bound is about the best arm
    data = json.loads(CliRunner().invoke(cli, [*arguments, "--json", "--quiet"], standalone_mode=False).output)
    assert (data["chosen"], data["indices"]) == (["1", "3"], [0, 2])
    assert data["algorithm"] == algorithm
    assert data["certified"]


@pytest.mark.parametrize("question", [{"top": 2}, {"above": 0.6}, {"control": "d", "margin": 0.1}])
def test_a_study_asks_every_question(question, tmp_path: Path):
    storage = f"sqlite:///{tmp_path}/s.db"
    study = surest.open_study(storage, "s", LABELS, 0.1, seed=3, **question)
    rng = np.random.default_rng(5)
    for _ in range(3000):
        tickets = study.ask(50)
        if not tickets:
            break
        study.tell_all(tickets, [float(rng.random() < MEANS[ticket.arm]) for ticket in tickets])
    found = surest.open_study(storage, "s").result()
    assert found.certified
    assert found.chosen == ("a", "c")
    assert found.problem.question == study.settings.session(LABELS).problem.question
    shown = CliRunner().invoke(cli, ["study", "status", "s", "--storage", storage])
    assert shown.exit_code == 0, shown.output


def test_with_fresh_pulls_contenders_hold_for_each_of_the_m_best_and_on_a_list_for_all_together():
    fresh = surest.identify(surest.bernoulli([0.6, 0.6, 0.6, 0.5, 0.1, 0.1, 0.1]), top=2, seed=1, budget=1500)
    assert 2 < len(fresh.contenders) < 7
    assert "Each of the 2 best is among arms" in str(fresh)
    assert "95 % for each" in str(fresh)
    close = replace(fresh, problem=msgspec.structs.replace(fresh.problem, epsilon=0.01))
    assert "among" not in str(close)  # no theorem says it
    listed = replace(fresh, listed=Listed(range(9), 5, *[np.empty(0, np.int64)] * 3))
    assert "The 2 best are among arms" in str(listed)


ON_THE_BAR = {"x": [1, 0, 1, 0], "y": [0, 1, 0, 1], "z": [0, 0, 0, 1]}
TIED = {arm: dict(enumerate(values)) for arm, values in ON_THE_BAR.items()}


def test_a_tie_at_the_end_of_a_list_is_named():
    found = surest.evaluate(TIED, top=1, seed=1)
    (other,) = {"x", "y"} - set(found.chosen)
    assert f"Arm {other} is as good as it, up to rounding." in str(found)
    assert "can catch up" not in str(found)


def test_a_mean_on_the_bar_is_not_said_to_lie_above_it():
    assert "Arms x and y lie at or above 0.5 on these 4 items." in str(surest.evaluate(TIED, above=0.5, seed=1))


def test_a_share_of_wrong_verdicts_where_none_is_above():
    found = surest.identify(surest.bernoulli([0.1, 0.2]), above=0.9, error="fdr", seed=1)
    assert found.verdicts == (-1, -1)
    assert "Of the arms declared, at most 5 % are wrong" in str(found)


def test_a_status_is_about_its_own_question(tmp_path: Path):
    storage = f"sqlite:///{tmp_path}/s.db"
    rng = np.random.default_rng(5)
    for name, question in (("top", {"top": 2}), ("control", {"control": "d"})):
        study = surest.open_study(storage, name, LABELS, 0.1, seed=3, **question)
        for _ in range(110):
            tickets = study.ask(5)
            study.tell_all(tickets, [float(rng.random() < MEANS[ticket.arm]) for ticket in tickets])
    top, control = (
        " ".join(CliRunner().invoke(cli, ["study", "status", name, "--storage", storage]).output.split())
        for name in ("top", "control")
    )
    assert "of the 2nd best at δ = 0.1" in top
    assert " of the best at" not in top
    assert " of 3." in control  # the control gets no verdict


def test_a_page_says_how_to_ask_the_same_again():
    ((_, call),) = reproduction(Report(asked(top=2)))
    assert "top=2" in call
    ((_, call),) = reproduction(Report(surest.evaluate(TIED, control="x", margin=0.1, seed=1)))
    assert "surest.evaluate(arms, items" in call
    assert "control='x', margin=0.1" in call
    told = dict(settings_rows(Report(asked(above=0.6, error="fdr"))))
    assert not any("the best an answer" in name or "probability of a wrong answer" in name for name in told)


def test_one_arm_has_no_m_best():
    with pytest.raises(UsageError, match="there is only one arm"):
        surest.identify(surest.bernoulli([0.5]), top=1)


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
