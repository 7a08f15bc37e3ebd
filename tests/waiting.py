"""Waiting for what another process or thread does. A loaded machine may take its time: no test depends on how long."""

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

PATIENCE = 240.0
"""Seconds after which something is taken to hang. Nothing that works comes near it."""


def until(happened: Callable[[], object], what: str = "what was waited for") -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, f"this did not come about in {PATIENCE:.0f} s: {what}"
        time.sleep(0.01)


def together(*calls: Callable[[], object]) -> None:
    """Make calls at the same time, each in a thread of its own. None of them may fail or hang."""
    with ThreadPoolExecutor(len(calls)) as pool:
        for made in [pool.submit(call) for call in calls]:
            made.result(PATIENCE)


def begun(*words: str, **how: Any) -> subprocess.Popen[str]:
    """A command of surest in a process of its own, whose output can be read."""
    command = [sys.executable, "-m", "surest", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)


def line_with(words: str, process: subprocess.Popen[str]) -> str:
    """The next line on a process's standard error in which the words are."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return line
    raise AssertionError(f"the process ended without saying {words!r}")
