"""Times of commands: what is measured, compared, printed and refused."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surest
from calling import Run
from pages import same_as_kept
from surest.speed.evidence import (
    EARLY,
    PILOT,
)
from surest.speed.result import Timings, comparisons, table, verdict
from surest.speed.timing import Run as Timed
from surest.speed.timing import Stopwatch
from waiting import until


class Clock:
    """A clock that functions move: they take as long as they say, with a little noise that repeats."""

    def __init__(self, seed: int = 0, noise: float = 0.02) -> None:
        self.now, self.noise, self.rng = 0.0, noise, np.random.default_rng(seed)

    def __call__(self) -> float:
        return self.now

    def takes(self, seconds: float) -> Callable[[], None]:
        def work() -> None:
            self.now += seconds * (1 + self.noise * float(self.rng.uniform(-1, 1)))

        return work


def found(seconds: dict[str, float], noise: float = 0.02, **settings: object) -> Timings:
    clock = Clock(noise=noise)
    return surest.fastest({label: clock.takes(s) for label, s in seconds.items()}, clock=clock, seed=1, **settings)


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands take as many seconds as their last word says, and nothing is run."""
    rng = np.random.default_rng(4)

    def seconds(self: Stopwatch, label: str, words: list[str], *, ignore_failure: bool = False) -> Timed:
        return Timed(float(words[-1]) * (1 + 0.02 * float(rng.uniform(-1, 1))), 0.5, 0.25, 0)

    monkeypatch.setattr(Stopwatch, "run", seconds)


def described(timings: object) -> str:
    """What is said of times, and how many of them count; the processor's are real ones, and left out."""
    if not isinstance(timings, Timings):
        return repr(timings)
    counted = [f"{len(one.times)} and {len(one.uncounted)} that do not count" for one in timings.commands]
    rows = [" | ".join([*row[:3], *row[5:]]) for row in table(timings)[1]]
    told = [verdict(timings), *comparisons(timings), *rows, *timings.warnings]
    return "\n".join([f"{timings.best}, certified {timings.certified}, {timings.answer.reason}", *counted, *told])


def test_what_is_found_and_shown(
    simulated: None, run: Run, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr("surest.speed.view.EVERY_LINE", 0.0)
    same_as_kept(Path(__file__).with_name("timings.txt"), request, run, {**globals()}, show=described)


def test_failures_may_count_and_a_shell_is_used_for_all_where_one_needs_it(run: Run) -> None:
    def told(*words: str) -> Any:
        return run("fastest", *words, "--max-runs", "6", "--json", "--quiet").json

    assert told("true", "exit 3", "-i")["commands"][1]["exit_codes"] == [3]
    piped = told("true", "true | true")
    assert (piped["shell"], piped["shell_seconds"] > 0) == ("sh", True)
    assert (told("true", "true")["shell"], told("true", "true", "--shell", "sh -e")["shell"]) == (None, "sh -e")


def test_helpers_run_as_hyperfine_runs_them(tmp_path: Path, run: Run) -> None:
    log = tmp_path / "log"

    def appends(word: str) -> str:
        return f"echo {word} >> {log}"

    helpers = {"setup": "setup", "pa": "prepare", "pb": "prepare", "clean": "cleanup"}
    given = [f"--{option}={appends(word)}" for word, option in helpers.items()]
    assert run("fastest", appends("a"), appends("b"), *given, "--warmup", "2", "--max-runs", "7", "--quiet")[0] in (
        0,
        3,
    )
    lines = log.read_text().split()
    assert lines[:2] == ["setup"] * 2
    assert lines[-2:] == ["clean"] * 2
    counts = sorted(lines.count(word) for word in "ab")
    assert 2 + 7 - (PILOT - EARLY) <= counts[0] <= counts[1] == 2 + 7  # under load one of them may seem hopeless
    assert all(lines[k - 1] == f"p{line}" for k, line in enumerate(lines) if line in "ab")


def test_real_commands_end_by_themselves_with_the_right_first(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_text("".join(f"{k * k}\n" for k in range(20_000)))
    status, out, _ = run(
        "fastest", *(f"gzip -{level} -k -c {path}" for level in (9, 6, 1)), "--json", "--quiet", "--delta", "0.001"
    )
    data = json.loads(out)
    assert (status, data["indices"], data["certified"]) == (0, [2], True)
    assert [row["verdict"] for row in data["commands"]] == ["slower", "slower", "fastest"]
    assert all(row["user"] >= 0 for row in data["commands"])


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_command_and_tells_the_answer_so_far(tmp_path: Path, number: int, expected: int) -> None:
    log, script = tmp_path / "log", tmp_path / "script"
    script.write_text(f"echo $$ >> {log}\ntest $(wc -l < {log}) -lt 21 || exec sleep 60\n")
    command = f"sh {script}"
    environment = {**os.environ, "PYTHONPATH": str(Path(surest.__file__).parents[1])}
    words = [sys.executable, "-m", "surest", "fastest", command, command, "--quiet", "--json", "--tolerance", "0.1%"]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: log.exists() and len(log.read_text().split()) >= 21, "the last run has begun")
        process.send_signal(number)
        out, err = process.communicate(timeout=100)
    assert process.returncode == expected, err
    data = json.loads(out)
    assert (data["certified"], data["reason"]) == (False, "interrupted")
    counted = [len(row["times"]) for row in data["commands"]]
    left = (20 - data["uncounted_runs"]) // 2  # a pause of the machine may shorten the pilot
    assert counted == [left, left]
    with pytest.raises(ProcessLookupError):
        os.kill(int(log.read_text().split()[-1]), 0)  # the command that ran was ended
