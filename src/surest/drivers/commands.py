"""Shell commands as arms: each run's last line of standard output is a number."""

import contextlib
import errno
import math
import os
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from surest.errors import RewardError, SourceError, UsageError

KEPT = 2000
"""Characters of a failed run's error output that are kept: its end, where the reason is."""
OPERATORS = {"|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1"}
"""What a shell would understand and a program would take for an argument."""


class CommandFailed(Exception):
    """A run that gave no reward. It may be retried."""


class CommandTimedOut(CommandFailed, TimeoutError):
    """A run that took too long."""


@dataclass(frozen=True)
class Scale:
    """The numbers that may be printed."""

    low: float = 0.0
    high: float = 1.0
    clip: bool = False
    """Count a number beyond the range as the nearer bound. The best arm is then the best by means of clipped numbers."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Their range."""
        return self.low, self.high

    def reward(self, number: float) -> float:
        """The reward that a number stands for.

        >>> Scale(0, 60).reward(12.5), Scale(0, 60, clip=True).reward(300)
        (12.5, 60.0)
        """
        if self.clip and not math.isnan(number):
            number = min(max(number, self.low), self.high)
        if not self.low <= number <= self.high:
            raise RewardError(
                f"{number!r}, which is not in [{self.low:g}, {self.high:g}]; state wider --bounds, or --clip to count such a "
                "number as the nearer bound"
            )
        return float(number)


@dataclass(frozen=True)
class Command:
    """An arm: a name, and the words of a command line."""

    label: str
    words: tuple[str, ...]

    def line(self, seed: int) -> list[str]:
        """The words to run, with the seed in its place."""
        return [word.replace("{seed}", str(seed)) for word in self.words]


def parse_command(text: str) -> Command:
    """An arm from NAME=COMMAND. The command is run without a shell.

    >>> parse_command("fast=echo --seed '{seed}' --eps=0.1").line(7)
    ['echo', '--seed', '7', '--eps=0.1']
    """
    label, equals, line = text.partition("=")
    label = label.strip()
    if not equals or not label or any(character.isspace() for character in label):
        raise SourceError(f"--command {text!r}: write NAME=COMMAND, as in 'fast=./solve --fast {{seed}}'")
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise SourceError(f"--command {text!r}: {error}") from None
    if not words or "\0" in line:
        raise SourceError(f"--command {text!r}: there is no command after {label}=")
    operator = next((word for word in words if word in OPERATORS), None)
    if operator is not None:
        raise SourceError(f"--command {text!r}: {operator} needs a shell; write {label}=sh -c '…'")
    if "{seed}" not in words[0] and shutil.which(words[0]) is None:
        raise _not_startable(label, words, "there is no such program, or it may not be executed")
    return Command(label, words)


def parse_commands(texts: Sequence[str]) -> list[Command]:
    """Several arms, all with names of their own."""
    commands = [parse_command(text) for text in texts]
    labels = [command.label for command in commands]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise SourceError(f"two commands are called {twice!r}; names must differ")
    return commands


def last_number(output: str) -> float:
    """The number on the last line that is not empty.

    >>> last_number("solving …\\n0.25\\n\\n")
    0.25
    """
    lines = output.split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), None)
    if last is None:
        raise CommandFailed("it printed nothing; the last line of its standard output must be a number")
    try:
        number = float(last)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise CommandFailed(f"the last line of its standard output is {last[:200]!r}, not a number")
    return number


@dataclass
class Runner:
    """Runs commands, from any number of threads; `stop` ends all that still run."""

    scale: Scale = Scale()
    timeout: float | None = None
    said: dict[str, str] = field(default_factory=dict)
    """What the latest failed run of each arm had to say."""

    def __post_init__(self) -> None:
        if self.timeout is not None and not 0 < self.timeout < math.inf:
            raise UsageError(f"the timeout is {self.timeout}; it is a number of seconds above 0")
        self._live: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, command: Command, seed: int) -> float:
        """The reward of one run."""
        try:
            output = self._output(command, command.line(seed))
            return self.scale.reward(last_number(output))
        except RewardError as error:
            raise RewardError(f"arm {command.label!r} gave {error}") from None
        except CommandFailed as error:
            if not self._stopped:  # those that were ended have not failed
                self.said[command.label] = str(error)
            raise

    def _output(self, command: Command, words: list[str]) -> str:
        process = self._started(command, words)
        try:
            output, errors = process.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            _kill(process)
            _, errors = process.communicate()
            raise CommandTimedOut(f"it took longer than {self.timeout:g} s{_shown(errors)}") from None
        finally:
            with self._lock:
                self._live.discard(process)
        if process.returncode:
            raise CommandFailed(f"{_end(process.returncode)}{_shown(errors)}")
        return output.decode("utf-8", "replace")

    def _started(self, command: Command, words: list[str]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise CommandFailed("stopped")
            try:
                # a session of its own: what the command starts can be ended with it
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
                    raise CommandFailed(f"it could not be started: {error.strerror}") from None
                raise _not_startable(command.label, words, error.strerror or str(error)) from None
            self._live.add(process)
            return process

    def stop(self) -> None:
        """End every run that is under way, and start no more."""
        with self._lock:
            self._stopped = True
            for process in self._live:
                _kill(process)


def _not_startable(label: str, words: Sequence[str], why: str) -> SourceError:
    return SourceError(f"command {label!r} cannot be started: {shlex.join(words)}: {why}")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a command and what it started."""
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _end(status: int) -> str:
    return f"it ended with exit status {status}" if status > 0 else f"it was ended by signal {-status}"


def _shown(errors: bytes) -> str:
    text = errors.decode("utf-8", "replace").strip()
    if not text:
        return ", without error output"
    return f"; its error output{' ends' if len(text) > KEPT else ''}:\n{text[-KEPT:]}"
