"""``surest evaluate``, as a user calls it."""

import csv
import io
import json
import random
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import surest
from calling import Run
from surest.cli import main, progress

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
