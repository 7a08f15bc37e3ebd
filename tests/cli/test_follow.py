"""`surest identify FILE --follow`: what comes is counted as it comes, and what has changed is refused. No test waits."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from calling import Run, Said
from surest import identify
from surest.cli import Terminated, following, progress


def rows(count: int, seed: int = 3) -> list[tuple[str, int]]:
    rng = np.random.default_rng(seed)
    arms = rng.choice(["a", "b", "c"], count)
    return [(str(arm), int(rng.random() < {"a": 0.7, "b": 0.4, "c": 0.3}[str(arm)])) for arm in arms]


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command that is followed: instead of sleeping, the next of `steps` happens to the file."""
    monkeypatch.setattr(following, "STEPS", 1)
    monkeypatch.setattr(progress, "EVERY_LINE", 0.0)

    def surest(steps: Iterator[object], *arguments: str) -> Said:
        monkeypatch.setattr(following.time, "sleep", lambda seconds: next(steps))
        return run("identify", *arguments)

    return surest


def written(path: str, texts: list[str], mode: str = "w") -> Iterator[None]:
    for text in texts:
        with open(path, mode) as file:
            file.write(text)
        yield None
    raise AssertionError("it should have ended before")


def test_a_growing_file_ends_where_the_whole_file_does(run: Run) -> None:
    """Rows come in portions that end anywhere, in the middle of a line too."""
    Path("grow.csv").write_text("arm,value\n")
    text = "".join(f"{arm},{value}\n" for arm, value in rows(2000))
    portions = [text[at : at + 97] for at in range(0, len(text), 97)]
    status, out, err = run(
        written("grow.csv", portions, "a"), "grow.csv", "--follow", "--arm=a", "--arm=b", "--arm=c", "--json"
    )
    found = json.loads(out)
    assert (status, found["arm"], found["certified"]) == (0, "a", True)
    assert found["rows"] < 2000
    whole = {arm: [float(v) for label, v in rows(2000) if label == arm] for arm in "abc"}
    told = identify(whole, seed=0)
    assert (found["pulls_per_arm"], found["means"]) == (told.pulls_per_arm.tolist(), told.means.tolist())
    assert "--follow" not in found["command"]
    assert "pulls" in err or "left for later" in err or err == ""


def test_it_waits_for_two_arms_unless_they_are_named(run: Run) -> None:
    Path("grow.csv").write_text("arm,value\na,1\n")
    text = ["a,1\n", "b,0\n", *(f"{arm},{value}\n" * 3 for arm, value in (("a", 1), ("b", 0)) * 30)]
    status, out, err = run(written("grow.csv", text, "a"), "grow.csv", "--follow", "--quiet")
    assert status == 0
    assert "waiting for rows of two arms" in err
    assert "following grow.csv: arms a, b" in err
    assert out.startswith("Arm a is the best")


@pytest.mark.parametrize(
    ("later", "words"),
    [
        ("arm,value\na,0\nb,0\nb,1\n", "reward 1 of arm 'a' was 1, and is 0 now"),
        ("arm,value\na,1\nb,0\n", "there were 2 rewards of arm 'b', and there are 1 now"),
        (
            "arm,value\na,1\nb,0\nb,1\nc,1\n",
            "arm 'c' is not among the arms a, b; name every arm with --arm from the beginning",
        ),
        ("arm,value\na,1\nb,0\nb,1\na,x\n", "line 5: value 'x' is not a number"),
    ],
)
def test_a_file_that_changed_is_refused_after_a_few_looks(run: Run, later: str, words: str) -> None:
    Path("grow.csv").write_text("arm,value\na,1\nb,0\nb,1\n")
    status, _, err = run(written("grow.csv", [later] * 5), "grow.csv", "--follow")
    assert status == 2
    assert words in err


def test_a_file_that_is_being_rewritten_is_waited_for(run: Run) -> None:
    """Totals are rewritten as a whole; whoever looks in between sees half of them."""
    first, half = "arm,clicks,impressions\na,10,100\nb,12,100\n", "arm,clicks,impressions\na,100,10"
    last = "arm,clicks,impressions\na,100,1000\nb,222,1000\n"
    Path("totals.csv").write_text(first)
    status, out, err = run(written("totals.csv", [half, half, last]), "totals.csv", "--follow", "--json")
    assert (status, json.loads(out)["pulls"], "contenders" in err) == (0, 2000, True)
    Path("totals.csv").write_text(first)
    shrunk = "arm,clicks,impressions\na,9,100\nb,12,100\n"
    status, _, err = run(written("totals.csv", [shrunk] * 5), "totals.csv", "--follow")
    assert status == 2
    assert "arm 'a' had 10 successes of 100 trials, and has 9 of 100 now" in err


@pytest.mark.parametrize(
    ("name", "text"), [("rows", "arm,value\na,1\nb,0\nb,1\n"), ("totals", "arm,clicks,impressions\na,1,9\nb,2,9\n")]
)
def test_ctrl_c_ends_with_the_answer_so_far(run: Run, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> Iterator[None]:
        os.kill(os.getpid(), signal.SIGINT)
        yield None
        raise Terminated

    Path(f"{name}.csv").write_text(text)
    status, out, _ = run(interrupted(), f"{name}.csv", "--follow", "--quiet")
    assert status == 130
    assert "Not decided (interrupted)." in out
