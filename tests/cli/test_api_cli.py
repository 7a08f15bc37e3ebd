"""What is seen of a search while it runs, and Ctrl-C."""

import os
import pty
import signal
import subprocess
import sys

import pytest

from surest.search.watching import Looks
from waiting import PATIENCE, begun

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
    looks.began = looks.last = 0.0
    rounds = 20_000
    for _ in range(rounds):
        now[0] += 0.01
        looks(Slow)  # type: ignore[arg-type]
    looking = now[0] - 0.01 * rounds
    assert 0.9 * 0.05 * now[0] < looking < looks.free + 0.05 * now[0] + 0.4, (
        "and the first look, and one that exceeds it"
    )
