"""What a notebook shows of a result."""

import re
from pathlib import Path

import surest
from asking import answered
from surest.arms.finite import bernoulli


def test_a_result_in_a_notebook() -> None:
    arms = bernoulli([0.9, 0.2, 0.3], ["<script>x</script>", "b", "c"])
    shown = surest.identify(arms, delta=0.1, seed=1)._repr_html_()
    assert "wrong with probability at most 0.1" in shown
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "<svg" in shown
    assert not re.search(r"https?://", shown)


def test_a_gate_in_a_notebook() -> None:
    scores = {"<b>old": {f"q{i}": float(i % 3 > 0) for i in range(90)}, "new": {f"q{i}": 1.0 for i in range(90)}}
    shown = surest.gate("<b>old", "new", margin=0.03, table=scores)._repr_html_()
    assert "<b>PASS</b>" in shown
    assert "&lt;b&gt;old" in shown
    assert "candidate − baseline" in shown


def test_a_study_in_a_notebook_before_and_after() -> None:
    study = surest.open_study("memory:", "<b>demo", ["a", "b"], 0.2)
    shown = study._repr_html_()
    assert "Study &lt;b&gt;demo (memory:) is running: 0 rewards told, 0 tickets with workers." in shown
    assert "No pull has been counted yet" in shown
    shown = answered(study, lambda ticket: float(ticket.label == "a"))._repr_html_()
    assert "is finished" in shown
    assert "Arm a is the best" in shown
    assert "a is 1.00 ahead of the runner-up b so far" in shown
    assert "<svg" in shown


def test_a_study_in_a_line(tmp_path: Path) -> None:
    study = surest.open_study(f"sqlite:///{tmp_path}/s.db", "mine", ["a", "b"])
    assert repr(study) == f"Study('mine', 2 arms, in sqlite:///{tmp_path}/s.db)"


def test_a_plan_shows_itself() -> None:
    plan = surest.plan(surest.bernoulli([0.9, 0.1]), runs=20)
    page = plan._repr_html_()
    assert page.count("<tr>") == 2
    assert "50% end within" in page
    assert plan.about.split("<")[0][:20] in page
