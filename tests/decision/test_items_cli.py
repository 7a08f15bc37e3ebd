"""``--decision FILE`` of ``surest evaluate`` and ``surest gate``, and ``surest-verify``, as people call them."""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import surest_verify
from surest.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    rows = [f"{arm},q{i},{int(i % 7 >= k)}\n" for k, arm in enumerate(("kind", "terse", "wordy")) for i in range(140)]
    Path("scores.csv").write_text("arm,item,value\n" + "".join(rows))

    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main([*arguments])
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return call


def checked(shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command prints that a result names for checking it."""
    monkeypatch.setattr("sys.argv", shlex.split(shown.rpartition("Check this yourself: ")[2]))
    assert surest_verify.main() == 0
    return capsys.readouterr().out


def test_a_search_on_a_table(run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, shown, _ = run("evaluate", "scores.csv", "--seed", "1", "--decision", "decision.jsonl.gz")
    assert status == 0
    said = checked(shown, monkeypatch, capsys)
    assert '"kind" has the largest mean of 3 arms on these 140 items' in said
    assert said.endswith("\nVALID\n")


def test_a_gate(run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    arms = ("--baseline", "kind", "--candidate", "terse", "--margin", "0.2", "--decision", "gate.jsonl")
    status, shown, _ = run("gate", "scores.csv", *arms)
    assert status == 0
    assert 'the mean of "terse" is not smaller than that of "kind" by more than 0.2 on' in checked(
        shown, monkeypatch, capsys
    )
    decision = json.loads(run("gate", "scores.csv", *arms, "--json")[1])["decision"]
    assert decision["hash"] in shown


def test_another_hash_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run("evaluate", "scores.csv", "--top", "2", "--decision", "decision.jsonl")
    monkeypatch.setattr("sys.argv", ["surest-verify", "decision.jsonl", "--hash", "0" * 64])
    assert surest_verify.main() == 1
    assert "NOT VALID: line " in capsys.readouterr().out


def test_a_question_that_cannot_be_checked_is_refused_before_any_work(run: Run) -> None:
    status, _, said = run("evaluate", "scores.csv", "--above", "0.5", "--decision", "decision.jsonl")
    assert status == 2
    assert "race-above" in said
    assert not Path("decision.jsonl").exists()


def test_the_program_runs_alone(run: Run, tmp_path: Path) -> None:
    """The two files in a folder, and a Python that has no packages."""
    run("evaluate", "scores.csv", "--decision", "decision.jsonl")
    for name in ("surest_verify.py", "surest_verify_lists.py"):
        shutil.copy(Path(surest_verify.__file__ or "").with_name(name), tmp_path)
    command = [sys.executable, "-S", "-I", "surest_verify.py", "decision.jsonl"]
    done = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, timeout=60)
    assert done.stdout.endswith("\nVALID\n"), done.stderr
    (tmp_path / "surest_verify_lists.py").unlink()
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    done = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "surest_verify_lists.py" in done.stderr) == (2, True)
