"""Times of commands: what is measured, compared, printed and refused."""

import json
import math
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import surest
from calling import Run
from pages import transcript
from surest.errors import EvaluationError, Stop, UsageError
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
from surest.speed.procedure import Block
from surest.speed.result import Timings, comparisons, table, verdict
from surest.speed.run import judged
from surest.speed.timing import Run as Timed
from surest.speed.timing import Stopwatch, chosen_shell, needs_shell
from surest.text import plain_data
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


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "fastest")


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


def test_the_fastest_is_named_with_its_factors() -> None:
    timings = found({"slow": 1.65, "fast": 1.0, "slower": 4.0})
    assert (timings.best, timings.certified, timings.answer.reason) == ("fast", True, "certified")
    assert [timings.answer.verdict(j) for j in range(3)] == ["slower", "fastest", "slower"]
    low, middle, high = timings.ratio(0)
    assert low < 1.65 < high < 1.72
    assert middle == pytest.approx(1.65, abs=0.03)
    assert [len(command.uncounted) for command in timings.commands] == [EARLY, PILOT, EARLY]


def test_a_common_slow_down_cancels() -> None:
    clock, runs = Clock(), iter(range(10**6))

    def slowing(seconds: float) -> Callable[[], None]:
        return lambda: clock.takes(seconds * (1 + next(runs) / 200))()

    timings = surest.fastest({"a": slowing(1.0), "b": slowing(1.3)}, clock=clock, seed=2, warmup=1)
    assert (timings.best, timings.certified) == ("a", True)
    assert timings.ratio(1)[1] == pytest.approx(1.3, abs=0.05)


def test_what_is_not_decided_says_what_is_left() -> None:
    timings = found({"a": 1.0, "b": 1.0, "c": 2.0}, noise=0.2, max_runs=40)
    assert not timings.certified
    assert timings.answer.reason == "max runs reached"
    assert "The fastest is one of a and b, 95 %." in verdict(timings)
    assert all(len(command.times) + len(command.uncounted) <= 40 for command in timings.commands)


def test_a_machine_that_changes_is_measured_anew() -> None:
    clock = Clock()
    slower = [1.0]

    def work(seconds: float) -> Callable[[], None]:
        return lambda: clock.takes(seconds * slower[0])()

    def change(block: Block) -> None:
        if block.pairs is not None and len(block.pairs.blocks) == 7:
            slower[0] = 1.5

    timings = surest.fastest({"a": work(1.0), "b": work(1.04)}, clock=clock, seed=1, on_block=change)
    assert (timings.best, timings.certified) == ("a", True)
    assert [len(command.uncounted) for command in timings.commands] == [PILOT + 20 + PILOT] * 2
    assert min(timings.commands[0].times) > 1.4
    assert timings.answer.pairs.level == pytest.approx(0.05 * 0.05)
    assert timings.warnings == (
        "The machine changed while it was measured: the first 25 runs of a command do not count.",
    )


def test_commands_that_are_slower_in_turn_are_measured_anew() -> None:
    clock = Clock()
    pilot = [1.0 + 0.1 * k for k in range(PILOT)]
    early, late = [*pilot, *[1.0] * 30, *[1.5] * 999], [*pilot, *[1.5] * 30, *[1.0] * 999]

    def work(seconds: Iterator[float]) -> Callable[[], None]:
        return lambda: clock.takes(next(seconds))()

    timings = surest.fastest(
        {"early": work(iter(early)), "late": work(iter(late))}, clock=clock, seed=1, delta=0.2, min_runs=230
    )
    assert (timings.best, timings.certified) == ("late", True)
    assert len(timings.commands[0].uncounted) > 2 * PILOT


def test_the_order_within_blocks_is_shuffled_and_repeatable() -> None:
    def orders(seed: int) -> list[list[int]]:
        seen: list[list[int]] = []
        clock = Clock()
        commands, look = {label: clock.takes(1.0) for label in "abc"}, lambda block: seen.append(block.arms.tolist())
        surest.fastest(commands, clock=clock, seed=seed, max_runs=30, on_block=look)
        return seen

    assert orders(1) == orders(1) != orders(2)
    assert len({tuple(order) for order in orders(1)}) == 6


@pytest.mark.parametrize("blocks", [4, 0])
def test_a_hook_may_stop_it_even_before_anything_counts(blocks: int) -> None:
    def stop(block: Block) -> None:
        if block.pairs is not None and len(block.pairs.blocks) == blocks:
            raise Stop("enough")

    timings = found({"a": 1.0, "b": 1.5}, on_block=stop)
    assert (timings.certified, timings.answer.reason, timings.best) == (False, "enough", "a")
    assert [len(command.times) for command in timings.commands] == [blocks] * 2
    json.dumps(plain_data(timings.to_dict()), allow_nan=False)
    if blocks == 0:
        assert comparisons(timings) == []
        assert table(timings)[1][0][1:7] == ["– ± –", "– … –", "–", "–", "0", "1.00"]


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


@pytest.mark.parametrize("times", [[0.0, 0.0], [1e-10, 0.0], [0.0, 1.0]])
def test_times_of_zero_do_no_harm(times: list[float]) -> None:
    pairs = Comparisons(np.array([times] * PILOT), 0.05, 0.02)
    for _ in range(200):
        pairs.count(np.array(times))
    assert np.isfinite(pairs.faster_evidence).all()
    assert pairs.faster[0, 1] == (times == [0.0, 1.0])
    assert pairs.settled[0, 1] or pairs.faster[1, 0]


@pytest.mark.parametrize("time_", [-1.0, math.inf])
def test_what_is_not_a_time_is_refused(time_: float) -> None:
    pairs = Comparisons(np.ones((PILOT, 2)), 0.05, 0.02)
    with pytest.raises(UsageError, match="a number of seconds"):
        pairs.count(np.array([1.0, time_]))


def test_outliers_are_clipped_and_said() -> None:
    clock = Clock()
    count = iter(range(10**6))

    def spiky() -> None:
        clock.takes(30.0 if (k := next(count)) > 6 and k % 5 == 0 else 1.0)()

    timings = surest.fastest({"spiky": spiky, "even": clock.takes(1.3)}, clock=clock, seed=1)
    assert timings.clipped(0) > 0.1
    assert any("of the runs of spiky lay outside" in warning for warning in timings.warnings)
    assert timings.best == "spiky" or not timings.certified
    assert any("unusually long runs" in warning for warning in timings.warnings)


def test_a_median_has_no_bounds_at_first() -> None:
    assert median_interval(np.array([2.0, 1.0, 3.0]), 0.05) == (0.0, 2.0, math.inf)
    assert math.isnan(median_interval(np.array([]), 0.05)[1])
    assert [fewest_blocks(n, 0.05) for n in (2, 3)] == [7, 9]
    assert ratios(np.array([3.0, 1.0, 0.0]), np.array([2.0, 0.0, 0.0])).tolist() == [1.5, math.inf, 1.0]


def test_the_time_of_a_run_is_that_on_the_clock_or_all_of_the_processor() -> None:
    assert [judged(Timed(0.5, 0.25, 0.125, 0), by) for by in ("wall", "cpu")] == [0.5, 0.375]


def test_a_shell_runs_what_a_program_would_take_for_an_argument() -> None:
    lines = ["gzip -1 -c file", "cat file | wc", "A=1 env", "exit 3"]
    assert [needs_shell(line) for line in lines] == [False, True, True, True]
    assert [chosen_shell(shell, ["ls", "ls | wc"]) for shell in (None, "none")] == ["sh", None]


def test_a_command_that_fails_is_an_error_with_its_output(run: Run) -> None:
    said = run("true", "echo it broke >&2; exit 3", "--quiet")
    assert (said.status, said.out) == (2, "")
    assert all(words in said.err for words in ("ended with exit status 3", "it broke", "--ignore-failure"))
    status, out, _ = run("true", "exit 3", "-i", "--max-runs", "6", "--json", "--quiet")
    assert status == 3
    assert json.loads(out)["commands"][1]["exit_codes"] == [3]


def test_helpers_run_as_hyperfine_runs_them(tmp_path: Path, run: Run) -> None:
    log = tmp_path / "log"

    def appends(word: str) -> str:
        return f"echo {word} >> {log}"

    helpers = {"setup": "setup", "pa": "prepare", "pb": "prepare", "clean": "cleanup"}
    given = [f"--{option}={appends(word)}" for word, option in helpers.items()]
    assert run(appends("a"), appends("b"), *given, "--warmup", "2", "--max-runs", "7", "--quiet")[0] in (0, 3)
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


def test_what_people_read(
    simulated: None, run: Run, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr("surest.speed.view.EVERY_LINE", 0.0)
    shown = transcript(
        lambda line: run(*shlex.split(line), "--seed", "3"),
        "'sleep 3' 'sleep 1.5' -n 'long nap'",
        "'sleep 1' 'sleep 1' --quiet",
        "'sleep 1' 'sleep 1' --max-runs 10 --quiet",
        "'sleep 1' 'sleep 1.03' --tolerance 10% --quiet",
        "'sleep 1' 'sleep 2' --runs 40 --quiet",
        "'sleep 1' 'sleep 2' -n 'a | b' --export-markdown times.md --quiet",
        "'sleep 1' 'sleep 1' 'sleep 2' -n a -n b -n c --quiet",
        "'sleep 2' 'sleep 1' --export-json times.json --json --quiet",
    )
    assert shown + "".join(Path(f"times.{form}").read_text() for form in ("md", "json")) == snapshot


def test_a_shell_is_used_for_all_where_one_needs_it(run: Run) -> None:
    data = json.loads(run("true", "true | true", "--max-runs", "6", "--json", "--quiet")[1])
    assert data["shell"] == "sh"
    assert data["shell_seconds"] > 0
    assert json.loads(run("true", "true", "--max-runs", "6", "--json", "--quiet")[1])["shell"] is None
    given = ("true", "true", "--shell", "sh -e", "--max-runs", "6", "--json", "--quiet")
    assert json.loads(run(*given)[1])["shell"] == "sh -e"


def test_real_commands_end_by_themselves_with_the_right_first(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_text("".join(f"{k * k}\n" for k in range(20_000)))
    status, out, _ = run(
        *(f"gzip -{level} -k -c {path}" for level in (9, 6, 1)), "--json", "--quiet", "--delta", "0.001"
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
