"""``surest gate``, as a build calls it."""

import csv
import gzip
import io
import json
import random
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import surest
from calling import Run

CHANCE = random.Random(2)
OLD = {f"q{i}": int(CHANCE.random() < 0.7) for i in range(200)}
NEW = {item: value if CHANCE.random() < 0.9 else 1 - value for item, value in OLD.items()}
WORSE = {item: value if CHANCE.random() < 0.7 else 0 for item, value in OLD.items()}


def write(name: str, scores: Mapping[str, Any], header: str = "item,value") -> str:
    Path(name).write_text("".join([header, "\n", *(f"{item},{value}\n" for item, value in scores.items())]))
    return name


@pytest.fixture
def run(run: Run) -> Run:
    write("old.csv", OLD)
    write("new.csv", NEW)
    write("worse.csv", WORSE)

    return partial(run, "gate")


def test_the_status_tells_the_verdict(run: Run) -> None:
    status, out, err = run("old.csv", "new.csv", "--margin", ".1")
    assert (status, err) == (0, "")
    assert out.startswith(
        "PASS: new.csv is not worse than old.csv by more than 0.1 on the 200 items of the list, certain. "
    )
    assert [line[:10] for line in out.splitlines()[1:]] == ["On further", "surest wou"]
    assert run("old.csv", "worse.csv", "--margin=.1")[0] == 4
    write("half.csv", dict(list(WORSE.items())[:60]))
    status, out, err = run("old.csv", "half.csv", "--margin=.1")
    assert (status, out[:9]) == (3, "UNDECIDED")
    assert "half.csv has no value for 140 items of the list" in err


def test_json_and_markdown(run: Run) -> None:
    status, out, _ = run("old.csv", "worse.csv", "--margin=.05", "--json", "--markdown=summary.md")
    found = json.loads(out)
    assert status == 4
    assert (found["verdict"], found["exact"], found["items"], found["margin"], found["delta"]) == (
        "fail",
        True,
        200,
        0.05,
        0.05,
    )
    assert found["difference"] == pytest.approx((sum(WORSE.values()) - sum(OLD.values())) / 200)
    summary = Path("summary.md").read_text()
    assert summary.startswith("**FAIL**: worse.csv is worse than old.csv by more than 0.05")
    assert "| items | that count so far | 200 of 200 |" in summary
    empty = json.loads(run("old.csv", write("empty.csv", {}), "--json")[1])
    assert empty["difference"] is None, "JSON has no NaN"
    assert empty["next"][0][0] == "empty.csv"


def test_a_build_evaluates_what_is_suggested_until_it_knows(run: Run) -> None:
    grown: dict[str, Any] = {}
    status, looks = 3, 0
    while status == 3:
        status, out, _ = run("old.csv", write("grown.csv", grown), "--margin=.05", "--seed=4f2a9c", "--suggest=10")
        looks += 1
        if status == 3:
            rows = list(csv.DictReader(io.StringIO(out)))
            assert {row["arm"] for row in rows} == {"grown.csv"}
            grown |= {row["item"]: WORSE[row["item"]] for row in rows}
    assert (status, out[:5]) == (4, "FAIL:")
    assert 0 < len(grown) < 150
    again = surest.gate("old.csv", "grown.csv", 0.05, seed="4f2a9c")
    assert str(again) == out.strip()


def test_a_line_that_is_being_written_is_left_for_later(run: Run) -> None:
    items = [item for _, item in surest.gate("old.csv", {}, seed=1).wanted]
    text = "item,value\n" + "".join(f"{item},{OLD[str(item)]}\n" for item in items[:20])
    Path("torn.csv").write_text(text + f"{items[20]},0")
    assert surest.gate("old.csv", "torn.csv", seed=1).items_counted == 20
    Path("torn.csv").write_text(text + f"{items[20]}")
    assert surest.gate("old.csv", "torn.csv", seed=1).items_counted == 20
    row = json.dumps({"item": items[0], "value": 1})
    Path("torn.jsonl").write_text(f"{row}\n{row[:-4]}")
    assert surest.gate("old.csv", "torn.jsonl", seed=1).items_counted == 1
    Path("torn.jsonl").write_text("")
    assert surest.gate("old.csv", "torn.jsonl", seed=1).items_counted == 0
    Path("whole.csv").write_text(Path("old.csv").read_text().rstrip("\n"))
    assert surest.gate("old.csv", "whole.csv").exact, "a complete file may lack its last line break"


def test_other_forms_of_files(run: Run) -> None:
    lines = [json.dumps({"id": item, "score": bool(value)}) for item, value in WORSE.items()]
    Path("worse.jsonl").write_text("\n".join(lines) + "\n")
    expected = run("old.csv", "worse.csv", "--json")[1]
    Path("old.jsonl").write_text(
        "".join(json.dumps({"id": item, "score": value}) + "\n" for item, value in OLD.items())
    )
    status, out, _ = run("old.jsonl", "worse.jsonl", "--value-column=score", "--json")
    assert status == 4
    assert json.loads(out)["means"] == json.loads(expected)["means"]
    Path("packed.csv.gz").write_bytes(gzip.compress(Path("worse.csv").read_bytes()))
    assert run("old.csv", "packed.csv.gz")[0] == 4
    write("renamed.csv", OLD, "question,correct")
    columns = ["--item-column=question", "--value-column=correct"]
    assert run("renamed.csv", write("other.csv", NEW, "question,correct"), *columns, "--margin=.2")[0] == 0


def test_two_arms_of_a_table_or_a_study(run: Run) -> None:
    rows = [f"{arm},{item},{value}" for arm, row in (("old", OLD), ("worse", WORSE)) for item, value in row.items()]
    Path("table.csv").write_text("\n".join(["arm,item,value", *rows]) + "\n")
    assert run("table.csv", "--baseline=old", "--candidate=worse", "--margin=.05")[0] == 4
    assert run("table.csv", "--baseline=worse", "--candidate=old", "--margin=.05")[0] == 0
    surest.evaluate(["old", "worse"], list(OLD), 1e-6, score=lambda arm, item: (OLD if arm == "old" else WORSE)[item],
                    storage="sqlite:///s.db", name="s", seed=1)  # fmt: skip
    status, out, _ = run("--storage=sqlite:///s.db", "--study=s", "--baseline=old", "--candidate=worse", "--margin=.05")
    assert (status, out[:5]) == (4, "FAIL:")


def test_lists_and_populations(run: Run) -> None:
    Path("items.txt").write_text("".join(f"{item}\n" for item in [*OLD, *(f"more {i}" for i in range(100))]))
    status, out, _ = run("old.csv", "old.csv", "--items=items.txt", "--margin=.5")
    assert status in (0, 3)
    assert "300 items" in out
    assert run("old.csv", "old.csv", "--items=300", "--shuffled", "--margin=.05")[0] == 0
    assert run("old.csv", "old.csv", "--target=population", "--margin=.1")[0] == 0
    assert run("old.csv", "old.csv", "--target=population")[0] == 3
    few = write("few.csv", dict(list(NEW.items())[:150]))
    assert run("old.csv", few, "--common", "--margin=.3")[0] == 0
    assert run("old.csv", few, "--strict")[0] == 2


def test_suggestions_are_json_where_json_is_asked_for(run: Run) -> None:
    first = json.loads(run("old.csv", write("none.csv", {}), "--suggest=200", "--json")[1])
    assert len(first["next"]) == 200
    assert first["next"][0][0] == "none.csv"
    status, out, _ = run("old.csv", write("none.csv", {}), "--suggest=3", "--json")
    assert (status, json.loads(out)["next"]) == (3, first["next"][:3])
    later = [item for _, item in first["next"][1:60]]
    _, _, err = run("old.csv", write("later.csv", {item: WORSE[item] for item in later}))
    assert f"59 items have both values, but none counts yet: the next item, {first['next'][0][1]!r}, lacks one." in err


def test_a_difference_of_costs_is_not_negative_zero(run: Run) -> None:
    found = json.loads(run("old.csv", write("same.csv", OLD), "--minimise", "--json")[1])
    assert [str(number) for number in (found["difference"], *found["interval"])] == ["0.0"] * 3


def test_options_for_what_is_known_and_asked(run: Run) -> None:
    rows = [f"v{k},{item},{value}" for k in range(2) for item, value in NEW.items()]
    Path("table.csv").write_text("\n".join(["arm,item,value", *rows]) + "\n")
    status, out, _ = run(
        "old.csv", "new.csv", "--equivalent=.2", "--history=table.csv", "--history=worse.csv", "--json"
    )
    assert (status, json.loads(out)["equivalent"]) == (0, True)
    assert run("old.csv", "new.csv", "--margin=.1", "--no-predict")[0] == 0
    assert run("old.csv", "new.csv", "--history=none.csv")[0] == 2
    run("old.csv", "worse.csv", "--flips=flips.csv")
    flips = list(csv.DictReader(io.StringIO(Path("flips.csv").read_text())))
    assert {row["item"] for row in flips} == {item for item in OLD if OLD[item] != WORSE[item]}
    assert {(row["baseline"], row["candidate"]) for row in flips} == {("1.0", "0.0")}
    assert "right or wrong" in run("old.csv", write("real.csv", dict.fromkeys(OLD, 0.5)), "--flips=flips.csv")[2]
    assert run("old.csv", "new.csv", "--margin=.1", "--ledger=team.db")[0] == 2, "an order of its own"
    assert run("old.csv", "new.csv", "--margin=.1", "--ledger=team.db", "--seed=a")[0] == 0
    status, out, _ = run("--ledger=team.db", "--show")
    assert (status, out.splitlines()[-1][:18]) == (0, "1 gate, 1 passed. ")
    assert json.loads(run("--ledger=team.db", "--show", "--json")[1])[0]["verdict"] == "pass"
    assert run("old.csv", "--show")[0] == 2
