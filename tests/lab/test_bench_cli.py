"""surest bench, as a user calls it."""

import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys
from functools import partial

import pytest

from calling import Run
from waiting import PATIENCE, until

KEYS = {"instance", "n", "algorithm", "standing", "delta", "runs", "wrong", "undecided", "mean", "median", "q95", "max"}
KEYS |= {"lower_bound", "ratio", "seconds"}
TIMES = ("seconds", "microseconds")


@pytest.fixture
def bench(run: Run) -> Run:
    return partial(run, "bench")


def timeless(text):
    return [{key: value for key, value in row.items() if key not in TIMES} for row in json.loads(text)]


def test_json_rows_have_the_documented_keys(bench, tmp_path):
    line = "example1:3 skewed --algorithms wager,lucb --delta 0.1,0.2 --runs 2 --json"
    status, out, _ = bench(*shlex.split(line))
    rows = json.loads(out)
    assert (status, len(rows)) == (0, 8)
    assert all(set(row) >= KEYS for row in rows)
    assert list(tmp_path.iterdir()) == []  # the file of finished runs is gone when all are finished


def test_csv_and_markdown_and_a_table(bench):
    given = ["example1:3", "--algorithms", "wager", "--algorithms", "naive-best-arm", "--runs", "2", "--workers", "1"]
    rows = csv.DictReader(io.StringIO(bench(*given, "--csv")[1]))
    assert [row["algorithm"] for row in rows] == ["wager", "naive-best-arm"]
    assert bench(*given, "--markdown")[1].startswith("| instance | n | algorithm |")
    out = bench(*given)[1]
    assert "mean pulls" in out


def test_a_file_of_ones_own_works_like_a_suite(bench, tmp_path):
    (tmp_path / "own.csv").write_text("instance,arm,value,count\nx,a,1,3\nx,a,0,1\nx,b,0,1\ny,a,0.5,1\ny,b,0.25,2\n")
    _, out, _ = bench("own.csv", "--algorithms", "wager", "--runs", "2", "--json", "--workers", "1")
    assert [row["instance"] for row in json.loads(out)] == ["own/x", "own/y"]


def test_all_algorithms_are_run_unless_told_and_those_left_out_are_named(bench):
    _, out, err = bench("bernoulli:0.9,0.1", "--runs", "1", "--json", "--workers", "1", "--budget", "2000")
    names = {row["algorithm"] for row in json.loads(out)}
    assert {"wager", "kl-lucb", "sequential-halving", "vd-best-arm-id"} <= names
    assert "median-elimination" not in names
    assert "left out: median-elimination" in err


def test_finished_runs_are_kept_where_told_and_taken_from_there(bench, tmp_path):
    given = ["example1:5", "--algorithms", "lucb", "--json", "--workers", "1", "--output", "kept.jsonl"]
    bench(*given, "--runs", "2")
    assert len((tmp_path / "kept.jsonl").read_text().splitlines()) == 2
    _, more, _ = bench(*given, "--runs", "3", "--resume")
    assert len((tmp_path / "kept.jsonl").read_text().splitlines()) == 3
    assert timeless(more) == timeless(bench(*given[:4], "--workers", "1", "--runs", "3")[1])


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
def test_an_interrupted_benchmark_goes_on(bench, tmp_path, number, status):
    (tmp_path / "gated.py").write_text(GATED)
    given = ["example1:5", "--algorithms", "gated.py:gated", "--runs", "8", "--json", "--seed", "4", "--quiet"]
    command = [sys.executable, "-m", "surest", "bench", *given, "--workers", "1"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=tmp_path, **pipes, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    until(lambda: _lines(tmp_path), "a run is written down")
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == status
    assert out == b""
    (printed,) = [line for line in err.decode().splitlines() if line.startswith("  surest bench ")]
    before = _lines(tmp_path)
    assert 0 < before < 8
    if number == signal.SIGTERM:
        return  # what follows would be the same
    (tmp_path / "go").touch()
    _, resumed, _ = bench(*shlex.split(printed)[2:])
    _, whole, _ = bench(*given, "--workers", "1")
    assert timeless(resumed) == timeless(whole)
    assert _lines(tmp_path) == 0


def _lines(folder):
    return sum(len(path.read_bytes().splitlines()) for path in folder.glob("surest-bench-*.jsonl"))


def test_a_picture_is_drawn(bench, tmp_path):
    given = ["example1:3", "example1:4", "example1:6", "--algorithms", "wager,lucb", "--runs", "2", "--workers", "1"]
    assert bench(*given, "--plot", "pulls.svg")[0] == 0
    assert b"<svg" in (tmp_path / "pulls.svg").read_bytes()
    assert bench(*given, "--plot", "times.png", "--picture", "times")[0] == 0
    assert (tmp_path / "times.png").read_bytes()[:4] == b"\x89PNG"
