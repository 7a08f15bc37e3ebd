"""What a newcomer meets: messages that name the right word, output that cannot be misled, secrets that stay secret."""

import asyncio
import csv
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import surest
from calling import Run
from surest.core.scale import Scale
from surest.errors import EvaluationError, RewardError
from surest.result.making import bounds_too_wide
from surest.search.desk import Desk
from surest.search.executor import drive

ESCAPE = "\x1b[31mred"
LABELS = ["model[large]", "[/x]", ESCAPE, ":smile:"]


def rows(path: str, labels: list[str]) -> str:
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["arm", "value"])
        writer.writerows(
            [label, int(i % 10 < (9 if k == 0 else 2))] for i in range(60) for k, label in enumerate(labels)
        )
    return path


def test_labels_and_names_of_studies_are_shown_as_text(run: Run) -> None:
    name = f"{ESCAPE}[/x]"
    assert run("study", "create", "fake", "--arm=x\n7 fake", "--arm=b")[0] == 2
    said = [run("study", "create", name, *(f"--arm={label}" for label in LABELS))]
    said.append(run("study", "ask", name, "-k", "8"))
    tickets = said[-1][1].splitlines()
    assert [line.split(" ", 1)[1] for line in tickets[::2]] == ["model[large]", "[/x]", "\\x1b[31mred", ":smile:"]
    said.append(run("study", "fail", name, "1", ESCAPE))
    said += [run("study", what, name) for what in ("status", "result")]
    said += [run("report", name, f"--output=r.{form}") for form in ("md", "html", "json")]
    said += [run("study", "list"), run("study", "result", f"{ESCAPE} nowhere"), run("study", "delete", name, "--yes")]
    assert [status for status, _, _ in said] == [0, 0, 0, 0, 3, 0, 0, 0, 0, 2, 0]
    for _, out, err in said:
        assert "\x1b" not in out + err
    for form in ("md", "html"):
        assert "\x1b" not in Path(f"r.{form}").read_text()


def test_no_report_has_a_password(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUREST_STORAGE", "sqlite:///kept.db?password=s3cret")
    run("study", "create", "n", "--arms=2")
    for form in ("md", "html", "json"):
        assert "s3cret" not in "".join(map(str, run("report", "n", f"--output=o.{form}")))
        assert "s3cret" not in Path(f"o.{form}").read_text()


def test_bounds_are_warned_of_where_rewards_fill_little_of_them_and_tell_so() -> None:
    assert bounds_too_wide(Scale(0, 60), 1.0, 3.9, 1000) is not None
    assert bounds_too_wide(Scale(0, 60), 1.0, 4.1, 1000) is None
    assert bounds_too_wide(Scale(0, 60), 1.0, 3.9, 19) is None
    assert bounds_too_wide(Scale(0, 1), 0.0, 0.0, 1000) is None  # rare events that have not happened yet


async def one() -> float:
    return 1.0


def coins(seed: int = 0) -> dict[Any, Callable[[], bool]]:
    rng = random.Random(seed)
    return {1: lambda: rng.random() < 0.9, 2: lambda: rng.random() < 0.1}


def test_labels_keep_their_type() -> None:
    assert surest.identify(coins(), seed=1).best == 1
    found = asyncio.run(surest.aidentify({1: one, 2: lambda: asyncio.sleep(0, 0.0)}, seed=1))
    assert (found.best, found.labels, surest.Session([1, 2]).ask()[0].label) == (1, (1, 2), 1)


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


def test_a_worker_says_that_it_waits(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    storage = "sqlite:///surest.db"
    study = surest.open_study(storage, "mine", ["a", "b"], 0.2, seed=1, batch=2)
    held = study.ask(100, worker="elsewhere")
    from surest.cli.searches import _say_once

    say_once = _say_once()
    say_once()
    say_once()
    assert capsys.readouterr().err.count("waiting for rewards of other workers") == 1
    waited = []

    def then_told() -> None:
        if not waited:
            study.tell_all(held, [float(ticket.arm) for ticket in held])
        waited.append(1)

    drive(Desk(study, on_wait=then_told), lambda ticket: (float, ticket.arm), None, 1)
    assert waited
    assert study.result().best == "b"
