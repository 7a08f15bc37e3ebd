"""``--decision FILE`` of every command, as a user runs it: what is printed checks what was written."""

import json
import random
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import surest
import surest_verify
from calling import Run
from decision.decisions import lines_of
from surest_verify import verify


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


def test_what_was_imputed_is_told_where_workers_evaluate_ahead(tmp_path: Path) -> None:
    session = surest.Session(["a", "b"], seed=1, workers=4, record=True)
    while not session.finished:
        tickets = session.ask(4)
        for ticket in reversed(tickets):  # what comes first does not matter
            if ticket.id % 7 == 0:
                session.note(ticket.id, "imputed")
            session.tell(ticket.id, 0.9 - 0.7 * ticket.arm)
    result = session.result()
    path = tmp_path / "decision.jsonl"
    result.write_decision(path)
    assert verify(str(path))
    told = sum(line.get("times", 0) for line in lines_of(result) if line["kind"] == "event")
    counted = sum(place < result.arms[arm].pulls for _, place, arm, _ in result.events)
    assert 0 < counted == told <= len(result.events)


def test_the_program_runs_alone(run: Run, tmp_path: Path) -> None:
    """Its file in a folder, and a Python that has no packages."""
    run("evaluate", "table.csv", "--decision", "decision.jsonl")
    surest.duel([("a", "b", 1)] * 30, record=True).write_decision(tmp_path / "duels.jsonl")
    shutil.copy(surest_verify.__file__, tmp_path)
    command = [sys.executable, "-S", "-I", "surest_verify.py", "decision.jsonl"]
    for file in ("duels.jsonl", "decision.jsonl"):
        command[-1] = file
        done = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, timeout=60)
        assert done.stdout.endswith("\nVALID\n"), done.stderr
