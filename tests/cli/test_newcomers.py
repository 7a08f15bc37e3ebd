"""What a newcomer meets: messages that name the right word, output that cannot be misled, secrets that stay secret."""

import asyncio
import csv
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import surest
from calling import Run
from surest.core.scale import Scale
from surest.errors import EvaluationError, RewardError
from surest.result.json import from_json
from surest.result.making import bounds_too_wide
from surest.search.desk import Desk
from surest.search.executor import drive

ESCAPE = "\x1b[31mred"
LABELS = ["model[large]", "[/x]", ESCAPE, ":smile:"]


# --- standard output -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (">/dev/full", "cannot be written: No space left on device"),
        (">&-", "is closed; send it to a file, or to /dev/null"),
    ],
)
def test_an_output_that_cannot_be_written_is_told_by_the_command(where: str, said: str) -> None:
    words = [sys.executable, "-m", "surest", "identify", "bernoulli:0.9,0.1", "--seed=1", "--quiet", "--json"]
    done = subprocess.run(["sh", "-c", f'"$@" {where}', "sh", *words], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (1, f"surest: standard output {said}\n")


# --- labels ----------------------------------------------------------------------------------------------------------


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


def test_what_a_command_says_is_shown_as_text(run: Run) -> None:
    status, _, err = run("identify", "--command=a=echo 1", "--command=b=sh -c 'printf \"\\033[31mno\" >&2; exit 1'")
    assert status == 2
    assert "\ufffd[31mno" in err
    assert "\x1b" not in err


# --- secrets ---------------------------------------------------------------------------------------------------------


def test_no_report_has_a_password(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUREST_STORAGE", "sqlite:///kept.db?password=s3cret")
    run("study", "create", "n", "--arms=2")
    for form in ("md", "html", "json"):
        assert "s3cret" not in "".join(map(str, run("report", "n", f"--output=o.{form}")))
        assert "s3cret" not in Path(f"o.{form}").read_text()


# --- bounds ----------------------------------------------------------------------------------------------------------


def timed(bounds: tuple[float, float]) -> surest.Result:
    rng = random.Random(3)
    arms = {"a": lambda: rng.uniform(0.03, 0.05), "b": lambda: rng.uniform(0.035, 0.055)}
    return surest.identify(arms, bounds=bounds, minimise=True, seed=1)


def test_bounds_that_are_too_wide_are_warned_of() -> None:
    """The price in this test, a few hundred times the pulls, is below the 2,400 that the warning allows for."""
    wide, narrow = timed((0, 60)), timed((0, 0.1))
    assert (wide.best, narrow.best) == ("a", "a")
    assert 100 < wide.pulls / narrow.pulls < 2400
    assert narrow.warnings == ()
    (warning,) = wide.warnings
    assert warning.startswith("Rewards so far lie in [0.03, 0.055], which is 0.042 % of the bounds [0, 60]. ")
    assert "up to about 2,400 times as many" in warning
    assert f"Warning: {warning}" in str(wide)
    assert wide.to_dict()["warnings"] == [warning]
    assert from_json(json.loads(json.dumps(wide.to_dict())), "it").warnings == (warning,)


def test_rewards_that_fill_the_bounds_or_do_not_tell_are_not_warned_of() -> None:
    assert bounds_too_wide(Scale(0, 60), 1.0, 3.9, 1000) is not None
    assert bounds_too_wide(Scale(0, 60), 1.0, 4.1, 1000) is None
    assert bounds_too_wide(Scale(0, 60), 1.0, 3.9, 19) is None
    assert bounds_too_wide(Scale(0, 1), 0.0, 0.0, 1000) is None  # rare events that have not happened yet


# --- Python ----------------------------------------------------------------------------------------------------------


async def one() -> float:
    return 1.0


def coins(seed: int = 0) -> dict[Any, Callable[[], bool]]:
    rng = random.Random(seed)
    return {1: lambda: rng.random() < 0.9, 2: lambda: rng.random() < 0.1}


def test_labels_keep_their_type() -> None:
    assert surest.identify(coins(), seed=1).best == 1
    found = asyncio.run(surest.aidentify({1: one, 2: lambda: asyncio.sleep(0, 0.0)}, seed=1))
    assert (found.best, found.labels, surest.Session([1, 2]).ask()[0].label) == (1, (1, 2), 1)


# --- algorithms in files ---------------------------------------------------------------------------------------------

ALGORITHMS = """
from surest import Pull, Statistic
def race(arms, delta, *, times=50):
    means = yield Pull(arms, times, Statistic.MEAN)
    return int(arms[means.argmax()])
def late(arms, delta):
    yield Pull(arms, 5, Statistic.MEAN)
    return 1 / 0
def early(arms, delta):
    raise KeyError("k")
good, bad = (lambda: 1), (lambda: 0)
arms = {"good": good, "bad": bad}
"""


@pytest.mark.parametrize(
    "source",
    [
        ["bernoulli:0.9,0.1"],
        ["rows.csv"],
        ["rows.csv", "--resample"],
        ["law.csv"],
        ["mine.py:arms"],
        ["mine.py:arms", "--study=s"],
        ["--command=good=echo 1", "--command=bad=echo 0"],
    ],
    ids=" ".join,
)
def test_an_algorithm_in_a_file_works_on_every_source(run: Run, source: list[str]) -> None:
    Path("mine.py").write_text(ALGORITHMS)
    Path("law.csv").write_text("arm,value,count\na,1,9\na,0,1\nb,0,9\nb,1,1\n")
    rows("rows.csv", ["a", "b"])
    given = ["identify", *source, "--algorithm=mine.py:race", "--option=times=10", "--quiet", "--seed=1", "--json"]
    status, out, err = run(*given)
    found = json.loads(out)
    assert (status, err, found["index"], found["pulls"], found["standing"]) == (0, "", 0, 20, "yours, unproven")


# --- what a first try gets wrong -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("run")
def test_the_call_for_items_is_named() -> None:
    for column in ("question", "fold", "Task_ID"):
        Path("items.csv").write_text(f"model,{column},value\na,q,1\nb,q,0\n")
        for arms in (pd.read_csv("items.csv"), Path("items.csv")):
            (said,) = surest.identify(arms, columns={"arm": "model"}).warnings
            assert re.search(rf"surest.evaluate\(…, columns={{'arm': 'model', 'item': '(?i:{column})'}}\)$", said)
    assert surest.identify(pd.DataFrame({"id": [1.0, 0.0], "task": [0.0, 1.0]})).warnings == ()


def test_identify_and_bounds_give_the_same_lower_bound(run: Run) -> None:
    for source in ("bernoulli:0.9,0.7,0.5", "bernoulli:0.9,0.75", "example1:5"):
        bound = run("bounds", source).words.partition("T*·kl(δ, 1−δ) = ")[2].partition(" pulls here")[0]
        assert f"must expect to make at least {bound} pulls here" in run("identify", source, "--seed", "1").words


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
