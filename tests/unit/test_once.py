"""`surest identify FILE --suggest K`: a record that another program writes, each row counted once, in order."""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from surest import identify
from surest.arms.recorded import read_in_order
from surest.cli import main
from surest.core.session import Session
from surest.drivers.recorded import feed
from surest.errors import SourceError

MEANS = {"a": 0.3, "b": 0.5, "c": 0.8}


def surest(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit_:
        main(["identify", *arguments])
    captured = capsys.readouterr()
    return exit_.value.code, captured.out, captured.err


def sequences(length: int = 3000) -> dict[str, list[float]]:
    rng = np.random.default_rng(11)
    return {arm: (rng.random(length) < mean).astype(float).tolist() for arm, mean in MEANS.items()}


def numbers(path: Path) -> dict[str, list[float]]:
    return {arm: list(rewards) for arm, rewards in read_in_order(path).numbers.items()}


def append(path: Path, rows: list[tuple[str, float]]) -> None:
    with path.open("a", newline="") as file:
        csv.writer(file).writerows(rows)


def test_following_the_suggestions_leads_to_the_decision_of_an_uninterrupted_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other program runs what is suggested, and now and then more than that."""
    source, path, rng = sequences(), tmp_path / "results.csv", np.random.default_rng(2)
    recorded = dict.fromkeys(MEANS, 0)
    path.write_text("arm,value\n")
    given = [str(path), "--suggest=5", "--json", *(f"--arm={arm}" for arm in MEANS)]
    calls = 0
    while True:
        status, out, _ = surest(*given, capsys=capsys)
        result = json.loads(out)
        assert result["rows"] == sum(recorded.values())
        assert all(done <= recorded[arm] for arm, done in zip(MEANS, result["pulls_per_arm"], strict=True))
        if status == 0:
            break
        assert (status, result["certified"], result["reason"]) == (3, False, "more rewards needed")
        calls += 1
        todo = [s["arm"] for s in result["suggestions"] for _ in range(s["times"] + int(rng.integers(0, 4)))]
        rng.shuffle(todo)
        for arm in todo:
            append(path, [(arm, source[arm][recorded[arm]])])
            recorded[arm] += 1
    whole = Session(list(MEANS), 0.05, seed=0, batch=10)
    fed = feed(whole, list(source.values()))
    assert not fed.missing
    assert result["suggestions"] == []
    assert (result["arm"], result["pulls_per_arm"]) == ("c", whole.running.pulls_per_arm.tolist())
    assert 5 < calls < 200


def test_rows_count_once_in_order_and_the_surplus_is_kept() -> None:
    session = Session(["a", "b"], 0.1, algorithm="naive-best-arm", record=True)
    first = session.running.request.total // 2
    rewards = np.random.default_rng(1).random(first + 5).tolist()
    fed = feed(session, [rewards, []])
    assert fed.used == (first, 0)
    assert fed.missing == {1: first}
    longer = Session(["a", "b"], 0.1, algorithm="naive-best-arm", record=True)
    fed = feed(longer, [rewards, rewards[::-1]])
    assert fed.used == (first + 5, first + 5)
    request, reply = longer.running.transcript[0]
    assert request.times.tolist() == [first, first]
    expected = Session(["a", "b"], 0.1, algorithm="naive-best-arm", record=True)
    expected.tell_all(expected.ask(2 * first), np.array([*rewards[:first], *rewards[::-1][:first]]))
    assert reply.tolist() == expected.running.transcript[0][1].tolist()


def test_a_person_sees_what_to_run_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "times.csv"
    path.write_text("arm,value\nquick,4\nslow,50\nslow,52\n")
    arms = ["--arm=quick", "--arm=slow", "--arm=new"]
    status, out, err = surest(str(path), "--suggest=1", "--bounds=0,60", "--minimise", *arms, capsys=capsys)
    assert (status, err) == (3, "")
    assert "Not decided (more rewards needed)" in out
    assert ["quick", "1"] in [line.split() for line in out.splitlines()]
    assert "… 1 more" in out


def test_a_line_that_is_being_written_is_left_for_later(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(b"arm,value\na,0.5\nb,0.25\nb,0.7")
    assert numbers(path) == {"a": [0.5], "b": [0.25]}
    status, _, err = surest(str(path), "--suggest=3", capsys=capsys)
    assert status == 3
    assert "has no end yet" in err
    path.write_bytes("arm,value\na,0.5\né,0.25\né".encode()[:-1])
    assert numbers(path) == {"a": [0.5], "é": [0.25]}
    path.write_text("arm,val")
    assert numbers(path) == {}


def test_a_folder_is_read_by_the_names_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "2.csv").write_text("value,arm\n0.3,a\n0.4,b\n")
    (tmp_path / "1.csv").write_text("arm,value\na,0.1\na,0.2\n")
    (tmp_path / "3.csv.gz").write_bytes(gzip.compress(b"arm,value\na,0.5\n"))
    (tmp_path / "notes.txt").write_text("not a record")
    assert numbers(tmp_path) == {"a": [0.1, 0.2, 0.3, 0.5], "b": [0.4]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arm,value,count\na,0.5,3\n", "their order is lost"),
        ("arm,value\na,x\n", "line 2: value 'x' is not a number"),
        ("arm,value\na,nan\n", "line 2: value 'nan' is not a number"),
        ("arm,value\na\n", "1 fields where the header has 2"),
        ("name,value\na,1\n", "a file needs arm,value"),
        ("instance,arm,value\nx,a,0\ny,a,0\n", "holds 2 instances"),
    ],
)
def test_a_bad_record_is_refused(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.csv"
    path.write_text(text)
    with pytest.raises(SourceError, match=message):
        read_in_order(path)
    status, out, err = surest(str(path), "--suggest=3", capsys=capsys)
    assert (status, out) == (2, "")
    assert "Traceback" not in err


def test_what_does_not_fit_the_record_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.csv"
    path.write_text("arm,value\na,0.5\nb,7\n")
    for given, message in [
        ([str(path)], "line 3: value '7' is not in [0, 1]"),
        ([str(path), "--arm=a", "--clip"], "'b', which no --arm names"),
        ([str(path), "--arm=a", "--arm=b", "--arm=a", "--clip"], "two arms are called 'a'"),
        ([str(tmp_path / "none.csv"), "--arm=a"], "there is no file"),
        ([str(tmp_path), "--command=a=echo 1"], "a SOURCE does not go with --command"),
    ]:
        status, out, err = surest(*given, "--suggest=3", capsys=capsys)
        assert (status, out) == (2, "")
        assert message in err
    path.write_text("arm,value\n")
    assert "name the arms with --arm" in surest(str(path), "--suggest=1", capsys=capsys)[2]
    (tmp_path / "empty").mkdir()
    assert "holds no file" in surest(str(tmp_path / "empty"), "--suggest=1", capsys=capsys)[2]


def test_equal_arms_are_certified_in_at_most_delta_of_the_files() -> None:
    """Rewards that were recorded are evidence, not a law: 20 rows of three equal arms certify one of them hardly ever."""
    rng, delta, files = np.random.default_rng(11), 0.05, 400
    certified = 0
    for _ in range(files):
        rows = {label: rng.integers(0, 2, 20).astype(float) for label in "abc"}
        certified += identify(rows, delta).certified
    assert certified == 0
    simulated = sum(identify(rows, delta, resample=True, seed=seed).certified for seed in range(20))
    assert simulated == 20  # the mistake that this guards against


def test_a_column_of_items_is_not_left_out_in_silence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.csv"
    path.write_text("arm,item,value\na,q1,1\nb,q1,0\n")
    _, out, err = surest(str(path), capsys=capsys)
    assert "the column 'item' was not used" in err
    assert "'surest evaluate'" in err
    assert "item" not in out
    assert surest(str(path), "--arm-column=item", capsys=capsys)[2] == ""
