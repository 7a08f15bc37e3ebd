"""Lists of items: ``surest gate``, as a build calls it, and what evaluations and items are called."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import surest
from calling import Run
from cli.test_transcripts import OLD, WORSE, write
from surest.cli import progress


def test_a_build_evaluates_what_is_suggested_until_it_knows(run: Run) -> None:
    grown: dict[str, Any] = {}
    look = "gate", write("old.csv", OLD), write("grown.csv", grown), "--margin=.05", "--seed=4f2a9c", "--suggest=10"
    while (said := run(*look)).status == 3:
        rows = list(csv.DictReader(io.StringIO(said.out)))
        assert {row["arm"] for row in rows} == {"grown.csv"}
        grown |= {row["item"]: WORSE[row["item"]] for row in rows}
        write("grown.csv", grown)
    assert (said.status, said.out[:5], 0 < len(grown) < 150) == (4, "FAIL:", True)
    assert str(surest.gate("old.csv", "grown.csv", 0.05, seed="4f2a9c")) == said.out.strip()


@pytest.mark.usefixtures("run")
def test_a_line_that_is_being_written_is_left_for_later() -> None:
    write("old.csv", OLD)
    items = [item for _, item in surest.gate("old.csv", {}, seed=1).wanted]
    text = "item,value\n" + "".join(f"{item},{OLD[str(item)]}\n" for item in items[:20])
    row = json.dumps({"item": items[0], "value": 1})
    for name, torn, counted in (
        ("torn.csv", f"{text}{items[20]},0", 20),
        ("torn.csv", f"{text}{items[20]}", 20),
        ("torn.jsonl", f"{row}\n{row[:-4]}", 1),
        ("torn.jsonl", "", 0),
    ):
        Path(name).write_text(torn)
        assert surest.gate("old.csv", name, seed=1).items_counted == counted
    Path("whole.csv").write_text(Path("old.csv").read_text().rstrip("\n"))
    assert surest.gate("old.csv", "whole.csv").exact, "a complete file may lack its last line break"


def test_evaluations_on_a_list_are_not_called_pulls(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY_LINE", 0.0)
    Path("items.txt").write_text("1\n2\n3\n")
    said = run("evaluate --items=items.txt --command='a=echo 1' --command='b=echo 0'")
    assert said.err.startswith("evaluations 0, time ")
    assert "pull" not in said.err + said.out
