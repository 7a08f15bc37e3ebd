"""``surest evaluate``, as a user calls it."""

import csv
import io
import json
import os
import random
import shlex
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import surest
from calling import Run, ran
from surest.cli import main, progress
from waiting import PATIENCE, begun, line_with, until

KEYS = {"arm", "index", "certified", "exact", "reason", "delta", "epsilon", "epsilon_certified", "achieved_delta"} | {
    *("contenders", "evaluations", "cells", "items", "items_used", "evaluations_per_arm", "means", "target"),
    *("algorithm", "standing", "seed", "seconds"),
}
MEANS = {"wordy": 0.2, "kind": 0.9, "terse": 0.4}
CHANCE = random.Random(1)
CELLS = {(arm, f"q{i}"): float(CHANCE.random() < mean) for i in range(60) for arm, mean in MEANS.items()}


def write(path: Path, cells: dict[tuple[str, str], Any], header: str = "arm,item,value") -> str:
    path.write_text("\n".join([header, *(f"{arm},{item},{value}" for (arm, item), value in cells.items())]) + "\n")
    return str(path)


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "evaluate --quiet")


def test_a_complete_table_is_decided(run: Run, tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", CELLS)
    status, out, _ = run(table, "--seed", "1", "--json")
    found = json.loads(out)
    assert status == 0
    assert set(found) >= KEYS
    assert (found["arm"], found["index"], found["certified"]) == ("kind", 1, True), "the place of its first appearance"
    assert (found["cells"], found["items"]) == (180, 60)
    assert sum(found["evaluations_per_arm"]) == found["evaluations"] == 180 > found["needed"]
    simulated = json.loads(run(table, "--seed", "1", "--simulate", "--json")[1])
    assert simulated["evaluations"] == found["needed"]
    assert run(table, "--simulate")[1].startswith("Simulation: ")
    python = surest.evaluate(table, seed=1)
    assert (python.best, python.needed) == (found["arm"], found["needed"])
    status, out, _ = run(table, "--seed", "1")
    assert status == 0
    assert "kind" in out
    assert "items" in out


def test_following_suggestions_leads_to_the_answer_of_the_complete_table(run: Run, tmp_path: Path) -> None:
    complete = json.loads(run(write(tmp_path / "all.csv", CELLS), "--json", "--simulate")[1])
    known: dict[tuple[str, str], Any] = dict.fromkeys(CELLS, "")
    for _ in range(180):
        table = write(tmp_path / "known.csv", known)
        status, out, _ = run(table, "--suggest", "4")
        if status == 0:
            break
        assert status == 3
        rows = list(csv.DictReader(io.StringIO(out)))
        assert 1 <= len(rows) <= 4
        for row in rows:
            assert known[row["arm"], row["item"]] == "", "nothing is asked for twice"
            known[row["arm"], row["item"]] = CELLS[row["arm"], row["item"]]
    status, out, _ = run(table, "--json")
    found = json.loads(out)
    assert status == 0
    assert [found[key] for key in ("arm", "reason", "evaluations")] == [
        complete[key] for key in ("arm", "reason", "evaluations")
    ]


SCORER = """
import sys
text = sys.argv[2] if len(sys.argv) > 2 else sys.stdin.read()
print(sys.argv[1] if "question" in text else "nothing")
"""


def test_commands_get_the_item_in_its_place_or_on_standard_input(run: Run, tmp_path: Path) -> None:
    (tmp_path / "items.txt").write_text("\n".join(f"question {i}" for i in range(30)))
    python = f"{shlex.quote(sys.executable)} -S -c {shlex.quote(SCORER)}"
    given = ["--items=items.txt", f"--command=good={python} 0.9 {{item}}", f"--command=bad={python} 0.1"]
    status, out, err = run(*given, "--workers=2", "--seed=1", "--json")
    found = json.loads(out)
    assert (status, found["arm"], found["certified"]) == (0, "good", True), err
    assert found["evaluations"] <= found["cells"] == 60
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.txt"], "what was kept is gone at the end"


def test_a_run_ended_by_sigterm_goes_on_with_the_command_it_printed(tmp_path: Path) -> None:
    (tmp_path / "items.txt").write_text("\n".join(f"question {i}" for i in range(60)))
    (tmp_path / "score.py").write_text(
        "import os, sys, time\n"
        "with open('calls', 'a') as calls: calls.write(sys.argv[2] + chr(10))\n"
        "while len(open('calls').readlines()) >= 6 and not os.path.exists('go'): time.sleep(.01)\n"
        "print(sys.argv[1])"
    )
    python = f"{shlex.quote(sys.executable)} -S score.py"
    environment = {**os.environ, "PYTHONPATH": str(Path(surest.__file__).parents[1])}
    arms = ["--command", f"good={python} 0.6 good-{{item}}", "--command", f"bad={python} 0.4 bad-{{item}}"]
    given = ["evaluate", "--items", "items.txt", *arms, "--workers", "2", "--json", "--quiet", "--delta", "1e-4"]
    how: dict[str, Any] = {"cwd": tmp_path, "env": environment}
    first = begun(*given, **how)
    calls = tmp_path / "calls"
    until(lambda: calls.exists() and calls.read_text().count("\n") >= 6, "six cells are evaluated")
    first.send_signal(signal.SIGTERM)
    line_with("waiting", first)
    (tmp_path / "go").touch()
    _, said = first.communicate(timeout=PATIENCE)
    assert first.returncode == 143, said
    words = shlex.split(next(line for line in said.splitlines() if line.startswith("  surest ")))
    done = ran("-m", *words, "--json", **how)
    assert done.status == 0, done.err
    found = done.json
    assert found["arm"] == "good"
    called = calls.read_text().split("\n")[:-1]
    assert len(called) <= found["evaluations"] + 2, "only what was under way was evaluated again"


def test_suggestions_are_json_where_json_is_asked_for(run: Run, tmp_path: Path) -> None:
    known = {cell: value if cell[1] in ("q1", "q2") else "" for cell, value in CELLS.items()}
    table = write(tmp_path / "t.csv", known)
    rows = list(csv.DictReader(io.StringIO(run(table, "--suggest", "4")[1])))
    status, out, _ = run(table, "--suggest", "4", "--json")
    found = json.loads(out)
    assert (status, found["certified"], found["suggestions"]) == (3, False, rows)
    assert json.loads(run(write(tmp_path / "all.csv", CELLS), "--suggest=4", "--json")[1])["suggestions"] == []


def test_evaluations_on_a_list_are_not_called_pulls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "EVERY_LINE", 0.0)
    Path("items.txt").write_text("1\n2\n3\n")
    with pytest.raises(SystemExit):
        main(["evaluate", "--items", "items.txt", "--command", "a=echo 1", "--command", "b=echo 0"])
    said = capsys.readouterr()
    assert said.err.startswith("evaluations 0, time ")
    assert "pull" not in said.err + said.out
