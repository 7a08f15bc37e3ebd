"""Shell commands as arms: each run's last line of standard output is a number."""

import contextlib
import errno
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from surest.core.costs import Scored, parted
from surest.core.duels import TIES, VERSUS
from surest.core.scale import Scale
from surest.errors import RewardError, SourceError, UsageError

KEPT = 2000
"""Characters of a failed run's error output that are kept: its end, where the reason is."""
OPERATORS = {"|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1"}
"""What a shell would understand and a program would take for an argument."""
PLACES = ("arm", "first", "second", "item", "seed")
"""Placeholders that a command may have in braces."""
PRIVATE = ("SUREST_STORAGE", "SUREST_TOKEN")
"""Environment variables that are ours alone: they may hold a password."""


class CommandFailed(Exception):
    """A run that gave no reward. It may be retried."""


class CommandTimedOut(CommandFailed, TimeoutError):
    """A run that took too long."""


@dataclass(frozen=True)
class Command:
    """An arm: a name, and the words of a command line."""

    label: str
    words: tuple[str, ...]

    @property
    def reads_item(self) -> bool:
        """Whether an item is given on standard input: no word has a place for it."""
        return not any("{item}" in word for word in self.words)

    def line(self, seed: int, item: str | None = None) -> list[str]:
        """The words to run, with the arm's name, the item and the seed in their places.

        >>> Command("fast", ("solve", "--with={arm}", "{item}", "{seed}", "{x}")).line(7, "a {seed} b")
        ['solve', '--with=fast', 'a {seed} b', '7', '{x}']
        """
        values = {"arm": self.label, "item": "{item}" if item is None else item, "seed": str(seed)}
        values["first"], _, values["second"] = self.label.partition(VERSUS)
        place = "{(" + "|".join(PLACES) + ")}"
        return [re.sub(place, lambda found: values[found[1]], word) for word in self.words]


def parse_command(text: str) -> Command:
    """An arm from NAME=COMMAND. The command is run without a shell."""
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
    # A semicolon that is not quoted ends a word: 'echo 1; exit'.
    apart = shlex.shlex(line, posix=True, punctuation_chars=";")
    apart.whitespace_split, apart.commenters = True, ""
    operator = next((word for word in [*words, *apart] if word in OPERATORS), None)
    if operator is not None:
        raise SourceError(f"--command {text!r}: {operator!r} needs a shell; write {label}=sh -c '…'")
    return checked_command(Command(label, words))


def checked_command(command: Command) -> Command:
    """The same command, validated: there is such a program, and no placeholder is misspelt."""
    for word in command.words:
        for name in re.findall(r"\{([a-z]+)\}", word):
            near = get_close_matches(name, PLACES, 1, 0.7)
            if name not in PLACES and near:
                raise SourceError(f"command {command.label!r} says {{{name}}}; did you mean {{{near[0]}}}?")
    program = command.words[0]
    if not any(f"{{{place}}}" in program for place in PLACES) and shutil.which(program) is None:
        raise not_startable(command.label, command.words, "there is no such program, or it may not be executed")
    return command


def parse_commands(texts: Sequence[str]) -> list[Command]:
    """Several arms, whose names differ."""
    commands = [parse_command(text) for text in texts]
    labels = [command.label for command in commands]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise SourceError(f"two commands are called {twice!r}; names must differ")
    return commands


def last_line(output: str) -> str:
    """The last line that is not empty."""
    return next((line.strip() for line in reversed(output.split("\n")) if line.strip()), "")


def last_number(output: str) -> Scored:
    """The number on the last line that is not empty, and a second one after it: what the run cost.

    >>> last_number("solving …\\n0.25\\n\\n"), last_number("0.25 0.003\\n")
    (Scored(value=0.25, cost=None), Scored(value=0.25, cost=0.003))
    """
    last = last_line(output)
    if not last:
        raise CommandFailed("it printed nothing; the last line of its standard output must be a number")
    try:
        number, *cost = map(float, last.split())
    except ValueError:
        number, cost = math.nan, []
    if math.isnan(number) or len(cost) > 1:
        raise CommandFailed(f"the last line of its standard output is {last[:200]!r}, not a number")
    return parted((number, *cost, None)[:2], "a run")


def winner_in(output: str, command: Command) -> Scored | None:
    """The first player's score in a duel, where the last line names the winner or a tie.

    >>> winner_in("b is shorter\\nb\\n", Command("a vs b", ("judge",)))
    Scored(value=0.0, cost=None)
    """
    first, duel, second = command.label.partition(VERSUS)
    last = last_line(output)
    scores = {**dict.fromkeys(TIES, 0.5), first: 1.0, second: 0.0}
    known = last if last in (first, second) else last.lower()
    return Scored(scores[known], None) if duel and known in scores else None


@dataclass
class Runner:
    """Runs commands, from any number of threads; `stop` ends all that still run, and so does the end of this process."""

    scale: Scale = field(default_factory=Scale)
    timeout: float | None = None
    said: dict[str, str] = field(default_factory=dict)
    """What the latest failed run of each arm had to say."""

    def __post_init__(self) -> None:
        if self.timeout is not None and not 0 < self.timeout < math.inf:
            raise UsageError(f"timeout is {self.timeout}; give a number of seconds above 0")
        self._live: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self._guard = Watchman()

    @property
    def under_way(self) -> int:
        """How many commands run."""
        return len(self._live)

    def arm(self, command: Command) -> Callable[..., Scored]:
        """A command as a function: of the seed, or of an item and the seed."""
        return lambda *given: self.run(command, given[-1], *map(str, given[:-1]))

    def run(self, command: Command, seed: int, item: str | None = None) -> Scored:
        """The reward of one run, and what it cost."""
        given = item + "\n" if item is not None and command.reads_item else None
        try:
            output = self._output(command, command.line(seed, item), given)
            number, cost = winner_in(output, command) or last_number(output)
            return Scored(self.scale.number(number, "a run"), cost)
        except RewardError:
            raise RewardError(
                f"arm {command.label!r} gave {number!r}, which is not in [{self.scale.low:g}, {self.scale.high:g}]. With --clip "
                "such a number counts as the nearer bound, and a search that was kept goes on with all that was measured. Wider "
                "--bounds need a new search"
            ) from None
        except CommandFailed as error:
            if not self._stopped:  # those that were ended have not failed
                self.said[command.label] = str(error)
            raise

    def _output(self, command: Command, words: list[str], given: str | None) -> str:
        process = self._started(command, words, reads=given is not None)
        try:
            output, errors = process.communicate(None if given is None else given.encode(), timeout=self.timeout)
        except subprocess.TimeoutExpired:
            kill(process)
            _, errors = process.communicate()
            raise CommandTimedOut(f"it took longer than {self.timeout:g} s{error_output(errors)}") from None
        finally:
            with self._lock:
                self._live.discard(process)
            self._guard.ended(process.pid)
        if process.returncode:
            raise CommandFailed(f"{how_it_ended(process.returncode)}{error_output(errors)}")
        return output.decode("utf-8", "replace")

    def _started(self, command: Command, words: list[str], reads: bool) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise CommandFailed("stopped")
            self._guard.start()
            try:
                # a session of its own: what the command starts can be ended with it
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.PIPE if reads else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                    env=without_secrets(os.environ),
                )
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
                    raise CommandFailed(f"it could not be started: {error.strerror}") from None
                raise not_startable(command.label, words, error.strerror or str(error)) from None
            self._guard.began(process.pid)
            self._live.add(process)
            return process

    def stop(self) -> None:
        """End every run that is under way, and start no more."""
        with self._lock:
            self._stopped = True
            for process in self._live:
                kill(process)


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a command: without the address of our database, and whatever else of ours holds a password.

    >>> without_secrets({"HOME": "/home/me", "SUREST_STORAGE": "sqlite:///s.db", "SUREST_X": "http://me:pass@host"})
    {'HOME': '/home/me'}
    """
    ours = {name for name in environment if name.startswith("SUREST_")}
    secret = {name for name in ours if name in PRIVATE or re.search(r"://[^/]*:[^/]*@|password=", environment[name])}
    return {name: value for name, value in environment.items() if name not in secret}


def not_startable(label: str, words: Sequence[str], why: str) -> SourceError:
    """The error for a command that the system does not start."""
    return SourceError(f"command {label!r} cannot be started: {shlex.join(words)}: {why}")


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a command and what it started."""
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def how_it_ended(status: int) -> str:
    """What a status that is not 0 means, in words."""
    return f"it ended with exit status {status}" if status > 0 else f"it was ended by signal {-status}"


def error_output(errors: bytes) -> str:
    """The end of what a failed command wrote to standard error, to be put after how it ended."""
    text = errors.decode("utf-8", "replace").strip()
    if not text:
        return ", without error output"
    return f"; its error output{' ends' if len(text) > KEPT else ''}:\n{text[-KEPT:]}"


LIBRARIES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What the interpreter may need of the environment."""
WATCH = """
import os, signal, sys
live = set()
for line in sys.stdin:
    (live.add if line[0] == "+" else live.discard)(int(line[1:]))
for group in live:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""


class Watchman:
    """Knows which process groups to end when this process ends. Where the system has no such things, it does nothing."""

    def __init__(self) -> None:
        self._pipe: int | None = None
        self.pid: int | None = None
        """The process that keeps watch."""

    def start(self) -> None:
        """Begin to keep watch, unless it has begun."""
        if self.pid is not None or not hasattr(os, "posix_spawn") or not sys.executable:
            return
        outlet, self._pipe = os.pipe()
        try:
            self.pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", "-c", WATCH],
                {name: os.environ[name] for name in LIBRARIES if name in os.environ},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, outlet, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
                setsid=True,  # out of reach of a terminal's Ctrl-C
            )
        except (OSError, NotImplementedError):
            os.close(self._pipe)
            self._pipe = None
        else:
            weakref.finalize(self, _end, self._pipe, self.pid)
        finally:
            os.close(outlet)

    def began(self, group: int) -> None:
        """A process group has started."""
        self._say(f"+{group}\n")

    def ended(self, group: int) -> None:
        """A process group has ended."""
        self._say(f"-{group}\n")

    def _say(self, line: str) -> None:
        if self._pipe is not None:
            # Whole lines, from any thread: they are shorter than what a pipe takes at once.
            with contextlib.suppress(OSError):  # it was killed: then nobody keeps watch
                os.write(self._pipe, line.encode())


def _end(pipe: int, pid: int) -> None:
    os.close(pipe)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
