"""The command line, called in the process of the tests."""

import json
import re
import shlex
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from surest.cli import main
from surest.errors import SurestError

VOLATILE = {
    r"Usage: .*\nTry .*\n\n": "",
    r"\b\d+(\.\d+)?(e-\d+)? (s|ms|seconds)\b": r"… \3",
    r" at 0x[0-9a-fA-F]+": " at 0x…",
    r"/tmp/[\w./-]*/": "…/",
    r'("(seconds|version|seed)": )[^,\n]+': r"\1…",
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


def steady(text: str) -> str:
    """Text without what differs from one run to the next."""
    for pattern, stands in VOLATILE.items():
        text = re.sub(pattern, stands, text)
    return text


def transcript(run: Run, *lines: str) -> str:
    """What a terminal shows of some commands, with every status that is not 0. None has a traceback."""
    shown = []
    for line in lines:
        status, out, err = run(line)
        assert "Traceback" not in err, err
        shown += [f"$ surest {line}\n", out, err, f"status {status}\n" if status else ""]
    return steady("".join(shown))


def refusals(run: Run, lines: str) -> str:
    """What is answered to commands, one on a line, each of which is a mistake: status 2 and a message on standard error."""
    shown = []
    for line in filter(None, lines.splitlines()):
        status, out, err = run(line)
        assert (status, out, bool(err), "Traceback" in err) == (2, "", True, False), (line, status, out, err)
        shown.append(f"$ surest {line}\n{err}")
    return steady("".join(shown))


def refused(*calls: Callable[[], object]) -> str:
    """The messages of calls, each of which is a mistake of its caller."""
    messages = []
    for call in calls:
        with pytest.raises(SurestError) as error:
            call()
        messages.append(f"{type(error.value).__name__}: {error.value}\n")
    return steady("".join(messages))
