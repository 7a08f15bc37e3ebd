"""Lists of items: ``surest gate``, as a build calls it, and what evaluations and items are called."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import surest
from calling import Run
from cli.test_transcripts import OLD, WORSE, write
from surest.cli import progress
from surest.errors import EvaluationError, RewardError


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


@pytest.mark.usefixtures("run")
def test_the_call_for_items_is_named() -> None:
    for column in ("question", "fold", "Task_ID"):
        Path("items.csv").write_text(f"model,{column},value\na,q,1\nb,q,0\n")
        for arms in (pd.read_csv("items.csv"), Path("items.csv")):
            (said,) = surest.identify(arms, columns={"arm": "model"}).warnings
            assert re.search(rf"surest.evaluate\(…, columns={{'arm': 'model', 'item': '(?i:{column})'}}\)$", said)
    assert surest.identify(pd.DataFrame({"id": [1.0, 0.0], "task": [0.0, 1.0]})).warnings == ()


def test_an_item_is_called_by_its_text(run: Run) -> None:
    def broken(item: str) -> float:
        raise OSError("no answer")

    items = ["what is a bandit?", "why?"]
    for kept in ({}, {"storage": "sqlite:///s.db", "name": "kept"}):
        with pytest.raises(EvaluationError, match=r"an evaluation on item '(what is a bandit\?|why\?)' \(ticket"):
            surest.evaluate({"a": broken, "b": len}, items, seed=1, **kept)
    with pytest.raises(RewardError, match=r"on item '(what is a bandit\?|why\?)'"):
        surest.evaluate({"a": lambda item: 7, "b": lambda item: 8}, items, seed=1)
