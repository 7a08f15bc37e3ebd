"""``--decision FILE`` of every command, as a user runs it; what surest-verify prints, and its exit status."""

import json
import random
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import surest
import surest_verify
from calling import Run, ran
from decision.decisions import chained
from decision.test_tampering import SAMPLES, decision
from surest_verify import verify

Verify = Callable[..., tuple[int, str, str]]
KEPT = {path.stem: path for path in Path(__file__).parent.glob("*-version-*.jsonl")}
"""Decision files of earlier versions. Those of version 1 are, byte for byte, what b9e40dd writes."""


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Verify:
    """Run surest-verify: its status, output and errors, without hashes."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["surest-verify", *map(str, arguments)])
        status = surest_verify.main()
        out, err = capsys.readouterr()
        return status, re.sub("[0-9a-f]{64}", "…", out), err

    return run


@pytest.mark.parametrize("sample", [*SAMPLES, *KEPT])
def test_what_is_printed(sample: str, checked: Verify, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = KEPT.get(sample, tmp_path / "decision.jsonl")
    if sample in SAMPLES:
        chained(decision(sample)).write(path)
    status, out, err = checked(path)
    assert (status, out.splitlines()[-1], err) == (0, "VALID", "")
    assert out == snapshot


def test_a_known_hash_and_every_status(checked: Verify, tmp_path: Path) -> None:
    path = tmp_path / "decision.jsonl.gz"
    known_by = chained(decision("seconds")).write(path)
    assert "the one given" in checked(path, "--hash", known_by.upper())[1]
    status, out, _ = checked(path, "--hash", "0" * 64)
    assert (status, out.startswith("NOT VALID: line ")) == (1, True)
    path.write_bytes(path.read_bytes()[:-20])
    assert (checked(path)[0], checked()[0]) == (1, 2)
    for unreadable in (tmp_path / "missing.jsonl", tmp_path):
        status, out, err = checked(unreadable)
        assert (status, out, "nothing was checked" in err) == (2, "", True)


def test_labels_cannot_act_on_a_terminal(checked: Verify, tmp_path: Path) -> None:
    path = tmp_path / "decision.jsonl"
    surest.identify({"\x1b[31mred": [1.0] * 80, "\udc80 δ": [0.0] * 80}, seed=1, record=True).write_decision(path)
    status, out, _ = checked(path)
    assert (status, "\x1b" in out, "[31mred" in out) == (0, False, True)


@pytest.fixture
def run(run: Run) -> Run:
    """Run a command in a folder with a table and a file of rewards."""
    rng = random.Random(1)
    rows = [f"{arm},{float(rng.random() < mean)}" for _ in range(300) for arm, mean in (("a", 0.7), ("b", 0.3))]
    Path("rewards.csv").write_text("arm,value\n" + "\n".join(rows) + "\n")
    cells = [f"{arm},q{i},{float(rng.random() < mean)}" for i in range(200) for arm, mean in (("a", 0.8), ("b", 0.4))]
    Path("table.csv").write_text("arm,item,value\n" + "\n".join(cells) + "\n")
    return run


@pytest.mark.parametrize(
    "line",
    [
        "identify rewards.csv",
        "identify bernoulli:0.5,0.3 --seed 1 --quiet",
        "identify bernoulli:0.5,0.3,0.1 --top 2 --seed 1 --quiet",
        "identify --command a='echo 0.75' --command b='echo 0.25' --quiet",
        "identify --command a='echo 0.75' --command b='echo 0.25' --study s --storage sqlite:///s.db --quiet",
        "evaluate table.csv",
        "evaluate table.csv --cheapest 0.1 --cost a=2 --cost b=1",
        "gate table.csv --baseline b --candidate a --margin 0.05",
    ],
)
def test_what_is_printed_checks_what_was_written(line: str, run: Run) -> None:
    status, out, _ = run(line, "--decision", "decision.jsonl.gz")
    assert status == 0
    check = " ".join(out[out.index("surest-verify") :].split())
    _, file, _, known_by = shlex.split(check)[:4]
    assert any(said.endswith(f"{known_by}, the one given") for said in verify(file, known_by))


def test_json_has_the_hash_and_a_report_the_command(run: Run) -> None:
    _, out, _ = run("identify", "rewards.csv", "--decision", "decision.jsonl", "--json")
    decision = json.loads(out)["decision"]
    assert verify(decision["file"], decision["hash"])
    Path("result.json").write_text(out)
    assert run("report", "result.json", "--output", "report.md")[0] == 0
    assert decision["check"] in Path("report.md").read_text()


def test_a_study_has_its_decision_while_it_runs(run: Run) -> None:
    study = surest.open_study("sqlite:///s.db", "s", ["a", "b"], seed=1, retries=0, on_failure=0.0)
    for k in range(10):
        for ticket in study.ask():
            if k % 9:
                study.tell(ticket.id, 1.0 - ticket.arm)
            else:
                study.fail(ticket.id)
    storage = ("--storage", "sqlite:///s.db")
    assert run("study", "result", "s", *storage, "--decision", "earlier.jsonl")[0] == 3
    while not study.finished:
        for ticket in study.ask():
            study.tell(ticket.id, 1.0 - ticket.arm)
    status, out, _ = run("study", "result", "s", *storage, "--decision", "later.jsonl", "--json")
    assert status == 0
    said = verify("later.jsonl", json.loads(out)["decision"]["hash"])
    assert "of them were imputed, not measured" in said[-2]
    earlier, later = (Path(f"{name}.jsonl").read_bytes().splitlines() for name in ("earlier", "later"))
    assert verify("earlier.jsonl")
    assert earlier[:-2] == later[: len(earlier) - 2]


def test_the_program_runs_alone(run: Run, tmp_path: Path) -> None:
    """Its file in a folder, and a Python that has no packages."""
    run("evaluate", "table.csv", "--decision", "decision.jsonl")
    surest.duel([("a", "b", 1)] * 30, record=True).write_decision(tmp_path / "duels.jsonl")
    shutil.copy(surest_verify.__file__, tmp_path)
    for file in ("duels.jsonl", "decision.jsonl"):
        said = ran("-S", "-I", "surest_verify.py", file, cwd=tmp_path, env={})
        assert said.out.endswith("\nVALID\n"), said.err
