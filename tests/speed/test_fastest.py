"""Times of commands: what is measured, compared, printed and refused."""

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surest
from calling import Run
from pages import same_as_kept
from surest.speed.evidence import EARLY, PILOT, fewest_blocks
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


def test_a_result_shows_what_the_command_prints() -> None:
    timings = found({"<old>": 1.3, "new": 1.0})
    text, page = str(timings), timings._repr_html_()
    said = [verdict(timings), *comparisons(timings)]
    assert text.splitlines()[: len(said)] == said
    for cell in (cell for row in table(timings)[1] for cell in row):
        assert cell in text
        assert cell.replace("<old>", "&lt;old&gt;") in page
    assert all(line.replace("<old>", "&lt;old&gt;") in page for line in said)
    assert repr(timings) == f"Timings(best='new', certified=True, runs={timings.runs})"


def timings_of(times: Iterator[float]) -> Timings:
    """Two functions, of which the first takes these times."""
    clock = Clock()

    def work() -> None:
        clock.now += next(times)

    return surest.fastest({"a": work, "b": clock.takes(1.2)}, clock=clock, seed=1, max_runs=30)


def test_advice_fits_what_was_seen() -> None:
    """A first run that takes longer than all others needs warming up; times that scatter throughout do not."""
    cold = timings_of(chain([2.0], cycle([1.0, 1.0, 1.0, 1.0, 0.5])))
    noisy = timings_of(chain([1.0], cycle([1.0, 1.0, 1.0, 1.0, 0.5])))
    (first,), (second,), (third,) = (one.warnings for one in (cold, noisy, replace(noisy, by="cpu")))
    assert "its first run took longest, so more --warmup may help" in first
    assert "they scatter throughout, so a quiet machine or more runs may help, or --by cpu." in second
    assert "warmup" not in second
    assert third.endswith("a quiet machine or more runs may help.")


def test_a_factor_without_bounds_says_why() -> None:
    """Commands that are all far slower end before bounds can be finite: the verdict needs fewer runs than they do."""
    timings = found({"a": 1.0, "b": 3.0, "c": 4.0, "far": 6.0})
    assert timings.certified
    assert timings.ratio(3)[::2] == (0.0, math.inf)
    runs = len(timings.commands[3].times + timings.commands[3].uncounted)
    fewest = fewest_blocks(4, timings.answer.pairs.level)
    assert runs < fewest
    said = f"(no bounds: it was known to be slower after {runs} runs, the pilot included, and bounds need {fewest})."
    assert comparisons(timings)[-1].endswith(said)
    assert table(timings)[1][3][-2].endswith(" (no bounds)")
    assert "(no bounds" not in comparisons(found({"a": 1.0, "b": 1.3}))[0]
