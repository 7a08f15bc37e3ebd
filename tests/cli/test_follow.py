"""`surest identify FILE --follow`: what comes is counted as it comes, and what has changed is refused. No test waits."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from calling import Run
from pages import same_as_kept
from surest import identify
from surest.cli import following, progress


def rows(count: int, seed: int = 3) -> list[tuple[str, int]]:
    rng = np.random.default_rng(seed)
    arms = rng.choice(["a", "b", "c"], count)
    return [(str(arm), int(rng.random() < {"a": 0.7, "b": 0.4, "c": 0.3}[str(arm)])) for arm in arms]


INTERRUPT = ""
"""Stands for a file that stays as it is while somebody presses Ctrl-C."""


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Write a file that a command follows: instead of sleeping, the next text is written to it."""
    monkeypatch.setattr(following, "STEPS", 1)
    monkeypatch.setattr(progress, "EVERY_LINE", 0.0)

    def written(path: str, first: str, *texts: str, mode: str = "w") -> None:
        Path(path).write_text(first)
        steps = iter(texts)

        def sleep(seconds: float) -> None:
            text = next(steps)
            if text == INTERRUPT:
                os.kill(os.getpid(), signal.SIGINT)
            else:
                with open(path, mode) as file:
                    file.write(text)

        monkeypatch.setattr(following.time, "sleep", sleep)

    return written


def test_a_growing_file_ends_where_the_whole_file_does(run: Run, changes: Callable[..., None]) -> None:
    """Rows come in portions that end anywhere, in the middle of a line too."""
    text = "".join(f"{arm},{value}\n" for arm, value in rows(2000))
    portions = [text[at : at + 97] for at in range(0, len(text), 97)]
    changes("grow.csv", "arm,value\n", *portions, mode="a")
    status, out, err = run("identify grow.csv --follow --arm=a --arm=b --arm=c --json")
    found = json.loads(out)
    assert (status, found["arm"], found["certified"]) == (0, "a", True)
    assert found["rows"] < 2000
    whole = {arm: [float(v) for label, v in rows(2000) if label == arm] for arm in "abc"}
    told = identify(whole, seed=0)
    assert (found["pulls_per_arm"], found["means"]) == (told.pulls_per_arm.tolist(), told.means.tolist())
    assert "--follow" not in found["command"]
    assert "pulls" in err or "left for later" in err or err == ""


def test_who_may_be_the_best_is_shown_while_totals_grow(run: Run, changes: Callable[..., None]) -> None:
    head = "arm,clicks,impressions\n"
    changes("totals.csv", f"{head}a,10,100\nb,12,100\n", f"{head}a,100,1000\nb,222,1000\n")
    status, out, err = run("identify totals.csv --follow --json")
    assert (status, json.loads(out)["pulls"], "contenders" in err) == (0, 2000, True)


def test_what_is_said(run: Run, changes: Callable[..., None], request: pytest.FixtureRequest) -> None:
    names = {"changes": changes, "INTERRUPT": INTERRUPT}
    same_as_kept(Path(__file__).with_name("follow.txt"), request, run, names)
