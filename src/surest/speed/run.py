"""Which command or function is the fastest, by measuring: `surest.fastest`."""

import contextlib
import math
import os
import secrets
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np

from surest.core.keywords import TEXT, Kind, check_keywords, number
from surest.core.protocol import FloatArray, checked_delta
from surest.errors import Stop, UsageError
from surest.speed.evidence import PILOT, Comparisons
from surest.speed.procedure import Block, undecided
from surest.speed.procedure import fastest as procedure_for
from surest.speed.result import Timed, TimesAnswer, Timings
from surest.speed.timing import NOTHING, Run, Stopwatch, chosen_shell, less, shell_start, words_of

Job = str | Callable[[], Any]  # a command line, or a function
Jobs = Job | Sequence[Job] | None  # one for all commands, or one for each
_Runs = list[tuple[Comparisons | None, Run]]
"""The runs of one command, each with the comparisons in which it counts; None in a pilot."""
SEED_BITS = 31
BY = ("wall", "cpu")
_HELPER = Kind(
    lambda it: it is None or isinstance(it, str) or callable(it) or isinstance(it, Sequence),
    "a command line or a function, or one for each command",
)
OWN = {
    "tolerance": number("a fraction from 0 up to 1, such as 0.02 for 2 %", lambda x: 0 <= x < 1, optional=False),
    "warmup": number("a number of runs ≥ 0", lambda x: x >= 0, whole=True, optional=False),
    "min_runs": number("a number of runs ≥ 0", lambda x: x >= 0, whole=True, optional=False),
    "max_runs": number(f"{PILOT + 1} runs or more: {PILOT} do not count", lambda x: x > PILOT, whole=True),
    "seed": number("a whole number ≥ 0, such as 7", lambda x: x >= 0, whole=True),
    "shell": TEXT,
    **dict.fromkeys(("setup", "prepare", "cleanup"), _HELPER),
}
"""Keywords of timings."""


def fastest(
    commands: Sequence[Job] | Mapping[str, Job],
    *,
    delta: float = 0.05,
    tolerance: float = 0.02,
    warmup: int = 0,
    min_runs: int = 10,
    max_runs: int | None = None,
    setup: Jobs = None,
    prepare: Jobs = None,
    cleanup: Jobs = None,
    shell: str | None = None,
    ignore_failure: bool = False,
    by: str = "wall",
    seed: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
    on_block: Callable[[Block], None] | None = None,
) -> Timings:
    """Find the fastest of several commands or functions by measuring them; docs/fastest.md says what exactly is certified.

    Parameters
    ----------
    commands : sequence or mapping of str to command lines or functions
        At least two. What a name in a mapping stands for is called that; otherwise a command line is its own name.
    delta : float
        The allowed probability of a wrong verdict.
    tolerance : float
        Commands that differ by no more than this fraction count as equal. With 0 and equal commands only `max_runs` ends it.
    warmup : int
        Runs of each command before anything is measured.
    min_runs, max_runs : int
        Minimum and maximum runs of a command, including five that do not count.
    setup, prepare, cleanup : command line or function, or one for each command
        Run once for each command before the first run, before every run, and once for each command after the last.
    shell : str, optional
        What runs command lines; "default" is sh, "none" no shell. Default: sh if one of the commands needs a shell.
    ignore_failure : bool
        Count failed runs, too.
    by : {"wall", "cpu"}
        The time that decides: on the clock, or of the processor (user and system), which other programs disturb less.
    seed : int, optional
        Makes the order of the commands within blocks repeatable.
    clock : callable
        Returns the time in seconds.
    on_block : callable, optional
        Called with each block before it runs. It may raise `surest.Stop`.

    Returns
    -------
    Timings
        `best`, `certified`, `ratio(j)`, `warnings`, `to_dict()`, and all times.

    Examples
    --------
    >>> import itertools, surest
    >>> now, jitter = [0.0], itertools.cycle([0.0, 0.1, 0.05])
    >>> def takes(seconds):  # a stand-in for work: it moves the clock
    ...     def work():
    ...         now[0] += seconds + next(jitter)
    ...     return work
    >>> found = surest.fastest({"old": takes(3), "new": takes(2)}, clock=lambda: now[0], seed=1)
    >>> found.best, found.certified, found.runs
    ('new', True, 24)
    """
    given = labelled(commands)
    check_keywords(locals(), **OWN)
    _check(len(given), delta, tolerance, max_runs, by)
    seed = secrets.randbits(SEED_BITS) if seed is None else seed
    rng = np.random.default_rng(seed)
    began = time.perf_counter()
    with contextlib.closing(Stopwatch(clock)) as stopwatch:
        lab = Laboratory(given, stopwatch, shell, ignore_failure)
        befores, prepares, afters = (
            lab.helpers(jobs, what) for jobs, what in ((setup, "setup"), (prepare, "prepare"), (cleanup, "cleanup"))
        )
        with _tidied(afters):
            _do(befores)
            lab.calibrate()
            for _ in range(warmup):
                for j in rng.permutation(len(given)):
                    lab.measured(j, prepares[j])
            procedure = procedure_for(
                len(given), delta, tolerance=tolerance, rng=rng, slack=tolerance * judged(lab.start, by),
                min_runs=min_runs, max_runs=max_runs,
            )  # fmt: skip
            answer, runs = _driven(procedure, lambda j: lab.measured(j, prepares[j]), len(given), on_block, by)
    timed = tuple(
        _timed(label, job, found, answer.pairs, by) for (label, job), found in zip(given.items(), runs, strict=True)
    )
    return Timings(timed, answer, seed, time.perf_counter() - began, lab.shell, judged(lab.start, by), by)


def _check(n: int, delta: float, tolerance: float, max_runs: int | None, by: str) -> None:
    """Validate the settings before anything runs."""
    if n < 2:
        raise UsageError(
            f"only {n} command is given; give at least two to compare" if n else "give two commands to compare"
        )
    checked_delta(delta)
    if tolerance == 0 and max_runs is None:
        raise UsageError("with a tolerance of 0, two equal commands would never be told apart; set max_runs")
    if by not in BY:
        raise UsageError(f"by is {by!r:.60}; give 'wall' or 'cpu'")


@dataclass
class Laboratory:
    """Where commands are run and timed."""

    jobs: Mapping[str, Job]
    stopwatch: Stopwatch
    asked_shell: str | None
    ignore_failure: bool | None = None
    shell: str | None = None
    start: Run = NOTHING  # what the start of the shell takes

    def __post_init__(self) -> None:
        self.shell = chosen_shell(self.asked_shell, [job for job in self.jobs.values() if isinstance(job, str)])
        self.named = list(self.jobs.items())

    def calibrate(self) -> None:
        """Measure the start of the shell."""
        self.start = shell_start(self.stopwatch, self.shell)

    def measured(self, j: int, prepare: Callable[[], object] = lambda: None) -> Run:
        """One run of a command, after what prepares it."""
        prepare()
        label, job = self.named[j]
        if isinstance(job, str):
            words = words_of(job, self.shell)
            return less(self.stopwatch.run(label, words, ignore_failure=self.ignore_failure), self.start)
        began, before = self.stopwatch.clock(), os.times()
        job()
        seconds, after = self.stopwatch.clock() - began, os.times()
        return Run(seconds, after.user - before.user, after.system - before.system, 0)

    def helpers(self, jobs: Jobs, what: str) -> list[Callable[[], object]]:
        """What is run beside the commands, one for each of them."""
        n, given = len(self.jobs), (lambda: None) if jobs is None else jobs
        each = [given] if isinstance(given, str) or callable(given) else list(given)
        if len(each) == 1:
            each *= n
        if len(each) != n:
            raise UsageError(
                f"{what} is given {len(each)} times; give it once for all commands, or once for each of {n}"
            )
        return [partial(self._help, job, what) if isinstance(job, str) else job for job in each]

    def _help(self, line: str, what: str) -> None:
        shell = self.shell if self.asked_shell is not None else chosen_shell(None, [line])
        self.stopwatch.run(f"{what}: {line}", words_of(line, shell))


@contextmanager
def _tidied(afters: Sequence[Callable[[], object]]) -> Iterator[None]:
    """Clean up in any case. After an error, a failing clean-up is not reported: the error is what matters."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(UsageError):
            _do(afters)
        raise
    _do(afters)


def _do(helpers: Sequence[Callable[[], object]]) -> None:
    for helper in helpers:
        helper()


def _driven(
    procedure: Generator[Block, FloatArray, TimesAnswer], measured: Callable[[int], Run], n: int,
    on_block: Callable[[Block], None] | None, by: str,
) -> tuple[TimesAnswer, list[_Runs]]:  # fmt: skip
    """Run blocks until the procedure ends or is stopped; an interrupted block does not count."""
    runs: list[_Runs] = [[] for _ in range(n)]
    reply, pairs = None, None
    try:
        while True:
            block = next(procedure) if reply is None else procedure.send(reply)
            pairs = block.pairs or pairs
            if on_block is not None:
                on_block(block)
            found = [measured(int(j)) for j in block.arms]
            for j, run in zip(block.arms, found, strict=True):
                runs[j].append((block.pairs, run))
            reply = np.array([judged(run, by) for run in found])
    except StopIteration as end:
        return end.value, runs
    except Stop as stop:
        if pairs is None:
            raise
        return undecided(pairs, str(stop)), runs


def judged(run: Run, by: str) -> float:
    """The time of a run that counts."""
    return run.seconds if by == "wall" else run.user + run.system


def _timed(label: str, job: Job, runs: _Runs, pairs: Comparisons, by: str) -> Timed:
    counted = [run for where, run in runs if where is pairs]
    return Timed(
        label, job if isinstance(job, str) else label, tuple(judged(run, by) for run in counted),
        tuple(judged(run, by) for where, run in runs if where is not pairs),
        fmean([run.seconds for run in counted] or [math.nan]), fmean([run.user for run in counted] or [math.nan]),
        fmean([run.system for run in counted] or [math.nan]), tuple(run.status for run in counted),
    )  # fmt: skip


def named(job: Job) -> str:
    """A command line, or the name of a function."""
    return job if isinstance(job, str) else str(getattr(job, "__name__", repr(job)))


def labelled(commands: Sequence[Job] | Mapping[str, Job], names: Sequence[str] = ()) -> dict[str, Job]:
    """Commands by name: the given names first, else the commands themselves, numbered if repeated."""
    if isinstance(commands, Mapping):
        return dict(commands)
    if isinstance(commands, str) or not isinstance(commands, Sequence):
        raise UsageError(f"commands are {commands!r:.60}; give a list of at least two command lines or functions")
    if len(names) > len(commands):
        raise UsageError(f"there are {len(names)} names for {len(commands)} commands; give at most one for each")
    found: dict[str, Job] = {}
    for k, job in enumerate(commands):
        name = names[k] if k < len(names) else named(job)
        again = 1 + sum(name in (label, label.rpartition(" (")[0]) for label in found)
        found[name if again == 1 else f"{name} ({again})"] = job
    return found
