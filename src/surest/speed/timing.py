"""How long a command takes: one at a time, its output thrown away, with a shell where it needs one."""

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import fmean, median
from typing import NamedTuple

from surest.errors import EvaluationError, SourceError
from surest.search.commands import Watchman, error_output, how_it_ended, kill, not_startable, without_secrets
from surest.search.watching import handled_by

SHELL_SIGNS = frozenset("|&;<>()$`\\*?[]#~!{}\n")
"""What a shell understands, and a program would take for an argument."""
DEFAULT_SHELL = "sh"
CALIBRATION = 20  # runs of an empty command that tell how long the shell takes to start


class Run(NamedTuple):
    """One run: seconds on the clock, seconds of the processor in the program and in the system, exit status."""

    seconds: float
    user: float
    system: float
    status: int


NOTHING = Run(0.0, 0.0, 0.0, 0)


def words_in(line: str) -> list[str]:
    """The words of a command line; raises if there are none."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise SourceError(f"command {line!r}: {error}") from None
    if not words or "\0" in line:
        raise SourceError(f"command {line!r} is empty; write a command line such as 'sort data.txt'")
    return words


def needs_shell(line: str) -> bool:
    """Whether a command line means something to a shell alone: a pipe, a pattern, a variable, a command built into it."""
    program = words_in(line)[0]
    return bool(SHELL_SIGNS & set(line)) or "=" in program or shutil.which(program) is None


def chosen_shell(shell: str | None, lines: Sequence[str]) -> str | None:
    """The shell that runs all of these lines, or None. By default there is one if a line needs it."""
    if shell == "none":
        return None
    if shell is None:
        for line in lines:
            _check_program(line)
        return DEFAULT_SHELL if any(map(needs_shell, lines)) else None
    shell = DEFAULT_SHELL if shell == "default" else shell
    if shutil.which(words_in(shell)[0]) is None:
        raise SourceError(f"there is no shell {shell!r}; give the name of one, 'default' or 'none'")
    return shell


def _check_program(line: str) -> None:
    """Raise if not even the shell knows a command: with failures ignored, it would be the fastest."""
    words = words_in(line)
    if "=" in words[0] or SHELL_SIGNS & set(line) or shutil.which(words[0]) is not None:
        return
    asked = [DEFAULT_SHELL, "-c", 'command -v "$1"', DEFAULT_SHELL, words[0]]
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        raise not_startable(line, words, "there is no such program, or it may not be executed")


def words_of(line: str, shell: str | None) -> list[str]:
    """The words to run for a command line."""
    return words_in(line) if shell is None else [*words_in(shell), "-c", line]


class Stopwatch:
    """Runs commands one after the other. Ctrl-C ends the one that runs, and so does the end of this process."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self._guard = Watchman()
        self._errors = tempfile.TemporaryFile()  # a pipe would have to be read while the command runs  # noqa: SIM115

    def close(self) -> None:
        """Forget what commands wrote."""
        self._errors.close()

    def run(self, label: str, words: Sequence[str], *, ignore_failure: bool | None = None) -> Run:
        """Run a command and time it; raises if it fails, unless failures are ignored. None: they cannot be."""
        self._errors.seek(0)
        self._errors.truncate()
        self._guard.start()
        process = None
        try:
            with _postponed_signals():
                began = self.clock()
                process = self._started(label, words)
            self._guard.began(process.pid)
            user, system = _waited(process)
            ended = self.clock()
        except BaseException:
            if process is not None:
                kill(process)
                process.wait()
            raise
        finally:
            if process is not None:
                self._guard.ended(process.pid)
        if process.returncode and not ignore_failure:
            self._errors.seek(0)
            hint = "" if ignore_failure is None else "\nWith --ignore-failure (-i) such a run counts like any other."
            ended_so = how_it_ended(process.returncode) + error_output(self._errors.read())
            raise EvaluationError(f"command {label!r} failed: {ended_so}{hint}")
        return Run(ended - began, user, system, process.returncode)

    def _started(self, label: str, words: Sequence[str]) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                start_new_session=True,  # what the command starts can be ended with it
                env=without_secrets(os.environ),
            )
        except OSError as error:
            raise not_startable(label, words, error.strerror or str(error)) from None


@contextmanager
def _postponed_signals() -> Iterator[None]:
    """Postpone Ctrl-C and SIGTERM until a command that is being started can be ended."""
    came: list[int] = []
    try:
        with handled_by(lambda number, frame: came.append(number)):
            yield
    finally:
        if came:
            signal.raise_signal(came[0])


def _waited(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Wait for the end; user and system time, NaN if the system does not tell."""
    if not hasattr(os, "wait4"):
        process.wait()
        return float("nan"), float("nan")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # or it would wait for it again
    return usage.ru_utime, usage.ru_stime


def shell_start(stopwatch: Stopwatch, shell: str | None) -> Run:
    """What the start of the shell takes: the median on the clock, and mean processor times."""
    if shell is None:
        return NOTHING
    runs = [stopwatch.run(shell, words_of("", shell)) for _ in range(CALIBRATION)]
    return Run(median(r.seconds for r in runs), fmean(r.user for r in runs), fmean(r.system for r in runs), 0)


def less(run: Run, start: Run) -> Run:
    """A run without the start of the shell."""
    seconds, user, system = (max(own - of, 0.0) for own, of in zip(run[:3], start[:3], strict=True))
    return Run(seconds, user, system, run.status)
