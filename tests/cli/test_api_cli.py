"""surest identify with Python arms, bounds, pictures of progress, and Ctrl-C."""

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from calling import Run
from surest.search.watching import Looks
from waiting import PATIENCE, begun, line_with, until

ARMS = """
import time
def nap():
    open("napping", "w").close()
    while True:
        time.sleep(0.1)  # a signal that comes just before one long sleep is only seen after it
sleepy = {"a": nap, "b": nap}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "arms_of_test.py").write_text(ARMS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "identify --quiet")


ENDLESS = ["identify", "bernoulli:0.5,0.5,0.4", "--seed", "1"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_ends_with_the_answer_so_far_and_a_pipe_gets_plain_lines(number: int, status: int) -> None:
    process = begun(*ENDLESS)
    assert process.stderr is not None
    first = process.stderr.readline()
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == status
    assert "To do it again:\n  surest identify bernoulli:0.5,0.5,0.4 --seed=1\n" in err
    assert "Not decided (interrupted). Arm" in out
    assert "Traceback" not in err
    assert first.startswith("pulls ")
    assert "leader" in first
    assert "contenders 1, 2" in first
    assert "\x1b" not in first


def test_ctrl_c_in_a_slow_arm_does_not_wait(folder: Path) -> None:
    process = begun("identify", "arms_of_test.py:sleepy", "--json")
    until((folder / "napping").exists, "an arm is called")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, json.loads(out)["reason"]) == (130, "interrupted")


def test_python_arms_are_kept_in_a_study_and_gone_on_with(folder: Path, run) -> None:
    process = begun("identify", "arms_of_test.py:sleepy", "--study=s", "--seed=1")
    until((folder / "napping").exists, "an arm is called")
    process.send_signal(signal.SIGTERM)
    assert line_with("waiting", process).endswith("for 1 running evaluation to finish; SIGTERM again to end it\n")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    assert "Not decided (interrupted)" in out
    (line,) = [line for line in err.splitlines() if line.startswith("  surest ")]
    source = folder / "arms_of_test.py"
    source.write_text(source.read_text() + "\n\nsleepy = {label: (lambda k=k: k) for k, label in enumerate(sleepy)}\n")
    status, out, _ = run(*shlex.split(line)[2:], "--json")
    found = json.loads(out)
    assert (status, found["certified"], found["seed"]) == (0, True, 1)
    assert sum(of_arm.get("interrupted", 0) for of_arm in found["health"].values()) == 1
    for given in (["bernoulli:0.5,0.4"], ["arms_of_test.py:sleepy", "--vectorised"]):
        assert run(*given, "--study=s")[0] == 2


def test_an_output_that_nobody_reads_to_its_end_is_no_fault() -> None:
    for command in (["algorithms"], ["algorithms", "--json"]):
        process = begun(*command)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        assert (process.wait(PATIENCE), err) == (0, "")


def test_a_terminal_shows_a_live_view() -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "surest", *ENDLESS]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    seen = b""
    while not (b"forecast" in seen and b"\xe2\x94\x81" in seen):
        seen += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    os.close(ours)
    text = seen.decode(errors="replace")
    for word in ("leader", "contenders", "1, 2", "interval", "time", "pulls", "forecast", "━", "Ctrl-C"):
        assert word in text
    assert process.returncode == 130
    assert b"\x1b" not in out


def test_looking_takes_a_twentieth_of_the_time() -> None:
    """A clock of our own: a round takes 10 ms, a look 200 ms."""
    now = [0.0]

    class Slow:
        pulls, request, status = 0, None, None

    def show(*_: object) -> None:
        now[0] += 0.2

    looks = Looks(show, every=0.1, clock=lambda: now[0])
    rounds = 20_000
    for _ in range(rounds):
        now[0] += 0.01
        looks(Slow)  # type: ignore[arg-type]
    assert 0.9 * 0.05 < (now[0] - 0.01 * rounds) / now[0] < 1.1 * 0.05
