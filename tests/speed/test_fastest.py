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

import numpy as np
import pytest

import surest
from calling import Run
from pages import same_as_kept
from surest.errors import EvaluationError
from surest.speed.evidence import (
    EARLY,
    PILOT,
    Comparisons,
    clip_range,
    fewest_blocks,
    median_interval,
    nominee_weights,
    pair_ranges,
    ratios,
)
from surest.speed.result import Timings, comparisons, table, verdict
from surest.speed.run import judged
from surest.speed.timing import Run as Timed
from surest.speed.timing import Stopwatch, chosen_shell, needs_shell
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


def test_ranges_are_fixed_by_the_pilot_and_common_to_a_pair() -> None:
    pilot = np.array([[1.0, 3.0], [1.1, 3.0], [1.2, 3.0], [1.05, 3.0], [1.0, 3.0]])
    assert clip_range(pilot[:, 0], 0.02) == pytest.approx((0.85, 1.45))
    assert clip_range(np.array([1.0, 1.1, 99.0, 1.05, 1.0]), 0.02) == pytest.approx((0.65, 1.85))  # one outlier
    assert clip_range(pilot[:, 1], 0.02) == pytest.approx((2.85, 3.15))
    low, high = pair_ranges(pilot, 0.02)
    assert low == pytest.approx(np.array([[0.85, 0.85], [0.85, 2.85]]))
    assert high == pytest.approx(np.array([[1.45, 3.0], [3.0, 3.15]]))  # the second is far slower: its shortest time
    assert nominee_weights(pilot) == pytest.approx(np.array([0.9, 0.1]))
    low, high = pair_ranges(pilot * [1, 0.53], 0.02)
    assert high[0, 1] == pytest.approx(1.52 * 1.05)  # nor do longer times than these matter
    low, high = pair_ranges(pilot * [1, 0.5], 0.02)
    assert high[0, 1] == pytest.approx(1.575)  # not far: the range that holds both
    pilot = np.column_stack([pilot, [9.0, 9.5, 9.2, np.nan, np.nan], [8.0, 8.5, 8.2, np.nan, np.nan]])
    low, high = pair_ranges(pilot, 0.02)  # both hopeless ones are one opponent: their ranges are the same
    assert low[0] == pytest.approx([0.85, 0.85, 0.85, 0.85])
    assert high[0] == pytest.approx([1.45, 3.0, 8.0, 8.0])
    assert (low == low.T).all()
    assert (high == high.T).all()


def test_quotients_need_blocks() -> None:
    assert [fewest_blocks(n, 0.05) for n in (2, 3)] == [7, 9]
    assert ratios(np.array([3.0, 1.0, 0.0]), np.array([2.0, 0.0, 0.0])).tolist() == [1.5, np.inf, 1.0]


def test_the_time_of_a_run_is_that_on_the_clock_or_all_of_the_processor() -> None:
    assert [judged(Timed(0.5, 0.25, 0.125, 0), by) for by in ("wall", "cpu")] == [0.5, 0.375]


def test_a_shell_runs_what_a_program_would_take_for_an_argument() -> None:
    lines = ["gzip -1 -c file", "cat file | wc", "A=1 env", "exit 3"]
    assert [needs_shell(line) for line in lines] == [False, True, True, True]
    assert [chosen_shell(shell, ["ls", "ls | wc"]) for shell in (None, "none")] == ["sh", None]


def test_a_command_that_fails_is_an_error_with_its_output(run: Run) -> None:
    said = run("fastest", "true", "echo it broke >&2; exit 3", "--quiet")
    assert (said.status, said.out) == (2, "")
    assert all(words in said.err for words in ("ended with exit status 3", "it broke", "--ignore-failure"))
    status, out, _ = run("fastest", "true", "exit 3", "-i", "--max-runs", "6", "--json", "--quiet")
    assert status == 3
    assert json.loads(out)["commands"][1]["exit_codes"] == [3]


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


def test_it_cleans_up_after_a_failure(tmp_path: Path) -> None:
    for command, helpers, said in (
        ("false", {"cleanup": f"touch {tmp_path / 'cleaned'}"}, "'false' failed"),
        ("true", {"prepare": "exit 4"}, "prepare: exit 4"),
        ("true", {"cleanup": "exit 5"}, "cleanup: exit 5"),
        ("exit 3", {}, "exit status 3"),
    ):
        with pytest.raises(EvaluationError, match=said):
            surest.fastest(["true", command], max_runs=6, **helpers)
    assert (tmp_path / "cleaned").exists()


def test_a_shell_is_used_for_all_where_one_needs_it(run: Run) -> None:
    data = json.loads(run("fastest", "true", "true | true", "--max-runs", "6", "--json", "--quiet")[1])
    assert data["shell"] == "sh"
    assert data["shell_seconds"] > 0
    assert json.loads(run("fastest", "true", "true", "--max-runs", "6", "--json", "--quiet")[1])["shell"] is None
    given = ("true", "true", "--shell", "sh -e", "--max-runs", "6", "--json", "--quiet")
    assert json.loads(run("fastest", *given)[1])["shell"] == "sh -e"


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


def test_bounds_of_ratios_share_the_error_among_all_pairs() -> None:
    """All pairs' bounds hold together, so each of the six pairs of four commands has a sixth of the level."""
    times = np.random.default_rng(1).lognormal(0, 0.2, (60, 4))
    pairs = Comparisons(times[:5], delta=0.05, tolerance=0.02)
    for block in times[5:]:
        pairs.count(block)
    assert pairs.ratio(0, 3) == median_interval(times[:, 3] / times[:, 0], pairs.level / 6)
    assert pairs.ratio(0, 3) != median_interval(times[:, 3] / times[:, 0], pairs.level)


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
    said = f"(no bounds: it was known to be slower after {runs} runs, and bounds need {fewest})."
    assert comparisons(timings)[-1].endswith(said)
    assert table(timings)[1][3][-2].endswith(" (no bounds)")
    assert "(no bounds" not in comparisons(found({"a": 1.0, "b": 1.3}))[0]
