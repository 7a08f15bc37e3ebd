"""What people read: messages name things as those who read them do."""

import inspect
import io
from pathlib import Path

import numpy as np
import pytest

import surest
from surest.cli import main
from surest.errors import EvaluationError, RewardError, UsageError
from surest.report.page import to_html, to_markdown
from surest.report.report import Report
from surest.testing import check_algorithm

ALGORITHM = """
from surest import Pull, Statistic

def larger_mean(arms, delta):
    means = yield Pull(arms, 20, Statistic.MEAN)
    return int(means.argmax())
"""


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main([*words])
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SUREST_STORAGE", raising=False)
    return tmp_path


def test_an_item_is_called_by_its_text(here: Path) -> None:
    def broken(item: str) -> float:
        raise OSError("no answer")

    items = ["what is a bandit?", "why?"]
    for kept in ({}, {"storage": "sqlite:///s.db", "name": "kept"}):
        with pytest.raises(EvaluationError, match=r"an evaluation on item '(what is a bandit\?|why\?)' \(ticket"):
            surest.evaluate({"a": broken, "b": len}, items, seed=1, **kept)
    with pytest.raises(RewardError, match=r"on item '(what is a bandit\?|why\?)'"):
        surest.evaluate({"a": lambda item: 7, "b": lambda item: 8}, items, seed=1)


def test_a_study_that_is_there_already(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    created = ["study", "create", "mine", "--arm", "a"]
    assert run(capsys, *created)[:2] == (0, "study mine: 1 arm\n")
    status, _, err = run(capsys, *created)
    assert status == 2
    assert "load_if_exists" not in err
    assert "surest study delete mine" in err
    assert "\t1 arm\t" in run(capsys, "study", "list")[1]


def test_nobody_can_be_asked(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run(capsys, "study", "create", "mine", "--arms", "2")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    status, _, err = run(capsys, "study", "delete", "mine")
    assert status == 2
    assert "give --yes" in err
    assert run(capsys, "study", "delete", "mine", "--yes")[0] == 0


def test_messages_name_the_options_of_the_command_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "t.csv").write_text("model,question,score\na,1,0.5\n")
    status, _, err = run(capsys, "evaluate", "t.csv")
    assert (status, "--arm-column" in err) == (2, True)
    status, _, err = run(capsys, "identify", "--command=a=echo 85", "--command=b=echo 1")
    assert (status, "--bounds LOW,HIGH" in err or "--bounds" in err) == (2, True)


def test_a_decided_table_needs_no_further_cell(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{arm},{item},{float(arm == 'a')}" for arm in "ab" for item in range(40)]
    (here / "t.csv").write_text("\n".join(["arm,item,value", *rows]) + "\n")
    status, out, err = run(capsys, "evaluate", "t.csv", "--suggest", "2")
    assert (status, out) == (0, "arm,item\n")
    assert "no further cell is needed" in err


def test_an_algorithm_for_items_is_not_called_fine() -> None:
    with pytest.raises(UsageError, match="race works on a list of items"):
        check_algorithm("race")


def test_a_printed_result_and_its_report_have_health_and_warnings() -> None:
    from concurrent.futures import ThreadPoolExecutor
    from dataclasses import replace

    failed = iter([OSError("no answer")])

    def flaky() -> float:
        error = next(failed, None)
        if error is not None:
            raise error
        return 1.0

    with ThreadPoolExecutor(1) as pool:
        result = surest.identify({"a": flaky, "b": lambda: 0.0}, executor=pool, seed=1)
    assert str(result).endswith("health: a: 1 failed, 1 retried")
    warned = replace(result, warnings=("rewards fill little of [0, 60]",))
    for page in (to_html(Report(warned)), to_markdown(Report(warned))):
        assert "Warning: rewards fill little of" in page


def test_signatures_show_the_usual_algorithm() -> None:
    usual = {f: inspect.signature(f).parameters["algorithm"].default for f in (surest.evaluate, surest.aevaluate)}
    assert set(usual.values()) == {"race"}
    assert inspect.signature(surest.identify).parameters["algorithm"].default == "wager"


def test_a_session_takes_an_algorithm_in_a_file(here: Path) -> None:
    (here / "mine.py").write_text(ALGORITHM)
    session = surest.Session(["a", "b"], algorithm="mine.py:larger_mean")
    while not session.finished:
        for ticket in session.ask(8):
            session.tell(ticket.id, ticket.arm)
    assert session.result().best == "b"


def test_a_worker_says_that_it_waits(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    storage = "sqlite:///surest.db"
    study = surest.open_study(storage, "mine", ["a", "b"], 0.2, seed=1, batch=2)
    held = study.ask(100, worker="elsewhere")
    from surest.cli.searches import _say_once

    say_once = _say_once()
    say_once()
    say_once()
    assert capsys.readouterr().err.count("waiting for rewards that other workers owe") == 1
    waited = []

    def then_told() -> None:
        if not waited:
            study.tell_all(held, [float(ticket.arm) for ticket in held])
        waited.append(1)

    from surest.search.executor import Inline
    from surest.study.work import work_on

    work_on(study, lambda ticket: (float, ticket.arm), Inline(), in_flight=1, on_wait=then_told)
    assert waited
    assert study.result().best == "b"


def test_a_wide_frame_and_an_array_are_the_other_way_round() -> None:
    pd = pytest.importorskip("pandas")
    values = np.array([[1.0] * 60, [0.0] * 60])
    assert surest.evaluate(values, seed=1).best == 0
    assert surest.evaluate(pd.DataFrame({"good": values[0], "bad": values[1]}), seed=1).best == "good"
