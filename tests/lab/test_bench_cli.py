"""surest bench, as a user calls it."""

import csv
import io
import os
import signal

import pytest

from calling import Run
from waiting import PATIENCE, begun, until

KEYS = {"instance", "n", "algorithm", "standing", "delta", "runs", "wrong", "undecided", "mean", "median", "q95", "max"}
KEYS |= {"lower_bound", "ratio", "seconds"}
TIMES = ("seconds", "microseconds")


@pytest.fixture
def bench(run: Run) -> Run:
    return lambda line, *more: run(f"bench {line} --workers 1", *more)


def timeless(said):
    return [{key: value for key, value in row.items() if key not in TIMES} for row in said.json]


def test_rows_come_in_every_form_and_a_file_of_ones_own_is_a_suite(run, bench, tmp_path):
    (tmp_path / "own.csv").write_text("instance,arm,value,count\nx,a,1,3\nx,a,0,1\nx,b,0,1\ny,a,0.5,1\ny,b,0.25,2\n")
    given = "own.csv skewed --algorithms wager --algorithms lucb --delta 0.1,0.2 --runs 2"
    rows = run(f"bench {given} --json").json  # by as many workers as there are processors
    named = [(instance, algorithm) for instance in ("own/x", "own/y", "skewed") for algorithm in ("wager", "lucb")]
    assert sorted((row["instance"], row["algorithm"]) for row in rows) == sorted(2 * named)
    assert all(set(row) >= KEYS for row in rows)
    read = [row["algorithm"] for row in csv.DictReader(io.StringIO(bench(given, "--csv").out))]
    assert read == [row["algorithm"] for row in rows]
    assert bench(given, "--markdown").out.startswith("| instance | n | algorithm |")
    assert "mean pulls" in bench(given).out
    assert [path.name for path in tmp_path.iterdir()] == ["own.csv"], "the file of finished runs is gone"


def test_all_algorithms_are_run_unless_told_and_those_left_out_are_named(bench):
    said = bench("bernoulli:0.9,0.1 --runs 1 --json --budget 2000")
    names = {row["algorithm"] for row in said.json}
    assert {"wager", "kl-lucb", "sequential-halving", "vd-best-arm-id"} <= names
    assert "median-elimination" not in names
    assert "left out: median-elimination" in said.err


def test_finished_runs_are_kept_where_told_and_taken_from_there(bench, tmp_path):
    given, kept = "example1:5 --algorithms lucb --json", "--output kept.jsonl"
    bench(f"{given} {kept} --runs 2")
    assert len((tmp_path / "kept.jsonl").read_text().splitlines()) == 2
    more = bench(f"{given} {kept} --runs 3 --resume")
    assert len((tmp_path / "kept.jsonl").read_text().splitlines()) == 3
    assert timeless(more) == timeless(bench(f"{given} --runs 3"))


GATED = """
import pathlib, time
from surest import Pull, Statistic
from surest.lab.bench.run import SLICE

def number():
    return len(pathlib.Path("begun").read_text())

def gated(arms, delta, *, rng):
    if not pathlib.Path("go").exists():
        with open("begun", "a") as begun:
            begun.write(".")
        if number() < 5:
            time.sleep(0.6 * SLICE)  # after a slice of time, what is done is written down
    while number() >= 5 and not pathlib.Path("go").exists():  # it cannot end before it is interrupted
        time.sleep(0.01)
    means = yield Pull(arms, 1 + rng.integers(100), Statistic.MEAN)
    return int(means.argmax())
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_benchmark_goes_on(run, bench, tmp_path, number, status):
    (tmp_path / "gated.py").write_text(GATED)
    given = "example1:5 --algorithms gated.py:gated --runs 8 --json --seed 4 --quiet"
    command, environment = f"bench {given} --workers 1", {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = begun(*command.split(), cwd=tmp_path, env=environment)
    until(lambda: _lines(tmp_path), "a run is written down")
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == status
    assert out == ""
    (printed,) = [line for line in err.splitlines() if line.startswith("  surest bench ")]
    before = _lines(tmp_path)
    assert 0 < before < 8
    if number == signal.SIGTERM:
        return  # what follows would be the same
    (tmp_path / "go").touch()
    assert timeless(run(printed.removeprefix("  surest "))) == timeless(bench(given))
    assert _lines(tmp_path) == 0


def _lines(folder):
    return sum(len(path.read_bytes().splitlines()) for path in folder.glob("surest-bench-*.jsonl"))


def test_a_picture_is_drawn(bench, tmp_path):
    given = "example1:3 example1:4 example1:6 --algorithms wager,lucb --runs 2"
    assert bench(f"{given} --plot pulls.svg").status == 0
    assert b"<svg" in (tmp_path / "pulls.svg").read_bytes()
    assert bench(f"{given} --plot times.png --picture times").status == 0
    assert (tmp_path / "times.png").read_bytes()[:4] == b"\x89PNG"
