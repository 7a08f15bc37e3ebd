"""The command line, called in the process of the tests."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from surest.cli import main
from surest.errors import SurestError
from waiting import PATIENCE

VOLATILE = {
    r"Usage: .*\nTry .*\n\n": "",
    r"\b\d+(\.\d+)?(e-\d+)? (s|ms|seconds)\b": r"… \3",
    r" at 0x[0-9a-fA-F]+": " at 0x…",
    rf"({re.escape(str(Path(__file__).parent))}|/tmp)/[\w./-]*/": "…/",
    r'("(seconds|version|seed|began)": )[^,}\n]+': r"\1…",
    r"\d{4}-\d\d-\d\d \d\d:\d\d": "…",
    r"[\d.,]+ rewards per second": "… rewards per second",
    r"(?<=per second so far\): ).*": "…",  # a loaded machine may say minutes
    r"seed \d{6,}": "seed …",
    r'"history": \[\[.*?\]\]': '"history": [[…]]',  # looks take their time, so where they come depends on it
}
"""What differs from one run to the next, and what stands for it."""


class Said(NamedTuple):
    """How a command ended: its exit status, standard output and standard error."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def words(self) -> str:
        """What a person reads, without line breaks."""
        return " ".join((self.out + self.err).split())


Run = Callable[..., Said]
"""Takes a command as one line, or its words."""


def in_process(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run commands as `surest` does, without a new process."""

    def call(line: str = "", *more: str) -> Said:
        with pytest.raises(SystemExit) as ended:
            main([*shlex.split(line), *more])
        return Said(int(ended.value.code or 0), *capsys.readouterr())

    return call


def ran(*words: object, **how: Any) -> Said:
    """How a process of Python ends: of `-c` and code, `-m` and a module, or a file."""
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **how)
    return Said(done.returncode, done.stdout, done.stderr)


def steady(text: str) -> str:
    """Text without what differs from one run to the next."""
    for pattern, stands in VOLATILE.items():
        text = re.sub(pattern, stands, text)
    return text


def refused(*calls: Callable[[], object]) -> str:
    """The messages of calls, each of which is a mistake of its caller."""
    messages = []
    for call in calls:
        with pytest.raises(SurestError) as error:
            call()
        messages.append(f"{type(error.value).__name__}: {error.value}\n")
    return steady("".join(messages))
