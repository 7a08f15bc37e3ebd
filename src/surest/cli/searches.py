"""Searches whose evaluations are costly, commands and Python arms, are kept in a study while they run."""

import json
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import click
import msgspec

from surest.arms.files import read_items
from surest.arms.kinds import Functions, kind_of_arms
from surest.cli.output import command_again, show_result, shows_history
from surest.cli.progress import Screen
from surest.cli.settings import Given
from surest.cli.streams import say
from surest.core.duels import DUELS
from surest.core.problem import default_algorithm
from surest.core.scale import Scale
from surest.errors import UsageError
from surest.masking import masked
from surest.search.call import Work, seed_of, work_of
from surest.search.commands import PLACES, Command, Runner
from surest.search.desk import Desk
from surest.search.executor import drive, keep_busy
from surest.search.run import Run, item_keys
from surest.search.session import Ticket
from surest.study.settings import KNOWN, STORAGE
from surest.study.study import Study, open_study

SCRATCH = re.compile(r"sqlite:///(.*/)?surest-[a-z]+-[0-9a-f]{8}\.db")
"""The file of one search: it is deleted once that search is over, even if it was resumed in between."""


@contextmanager
def kept(given: Given, labels: Sequence[str], workers: int, settings: Given) -> Iterator[Study]:
    """The study that keeps a search: the one that was named, or one in a file of its own, gone once the search is over.

    What ends unfinished is kept, and the command that goes on with it is printed.
    """
    command, named = str(click.get_current_context().command.name), given["study"] is not None
    room = Path() if os.access(".", os.W_OK) else Path(tempfile.gettempdir())  # for passing things
    own = f"sqlite:///{room / f'surest-{command}-{secrets.token_hex(4)}.db'}"
    storage, name = (given["storage"] or STORAGE, given["study"]) if named else (own, command)
    passing = not named or (SCRATCH.fullmatch(storage) is not None and name in storage)
    study = _opened(storage, name, labels, workers, settings)
    try:
        yield study
    finally:
        told = 0 if study.finished else study.status().told
        if told or (named and not study.finished):
            _tell_how_to_go_on(study, storage, told)
        elif passing:
            study.close()
            for end in ("", "-wal", "-shm"):
                Path(f"{storage.removeprefix('sqlite:///')}{end}").unlink(missing_ok=True)


def _opened(storage: str, name: str, labels: Sequence[str], workers: int, settings: Given) -> Study:
    """The study, made if it is not there. Of one that is there, only what the command line says must agree with it."""
    options = {key: value for key, value in settings.items() if key not in KNOWN}
    own = {key: value for key, value in settings.items() if key in KNOWN}
    try:
        found = open_study(storage, name)
    except UsageError:  # there is none yet; a mistake in what was given is told below
        algorithm = own.get("algorithm", default_algorithm(own))
        return open_study(storage, name, labels, **own, **keep_busy(algorithm, workers, options))
    kept_options = {**found.settings.problem.options, **options} if options else {}
    return open_study(storage, name, labels, **own, **kept_options)


def _tell_how_to_go_on(study: Study, storage: str, told: int) -> None:
    where = {"study": study.name, "storage": storage}
    hidden = masked(storage) != storage
    if hidden:
        del where["storage"]
    line = command_again(click.get_current_context(), study.settings.problem.seed, **where)
    how = f"To go on{', with --storage as before' if hidden else ''}:"
    say(
        f"surest: {'1 reward is' if told == 1 else f'{told:,} rewards are'} kept in {study.store.shown}. {how}\n  {line}",
        err=True,
    )


def check_words(study: Study, words: Sequence[str]) -> None:
    """Refuse a command that would evaluate all arms, or all items, alike."""
    said = {place for place in PLACES for word in words if f"{{{place}}}" in word}
    pairs, command = study.settings.problem.algorithm == DUELS, f"the command {' '.join(words)!r}"
    if pairs and not ("arm" in said or {"first", "second"} <= said):
        raise UsageError(f"{command} must contain {{first}} and {{second}}: the study is of duels")
    if len(study.labels) > 1 and "arm" not in said and not pairs:
        raise UsageError(f"{command} must contain {{arm}}, or all arms would be the same")
    if study.items and "item" not in said:
        raise UsageError(f"{command} must contain {{item}}: the study is on a list of items")
    if not study.items and "item" in said:
        raise UsageError(f"study {study.name!r} has no items; take {{item}} out of the command")


def _say_once() -> Callable[[], None]:
    """Says, once, that nothing can be done until others have told their rewards."""
    line = "surest: waiting for rewards of other workers (surest study status shows how many)"
    return cache(lambda: say(line, err=True))


def run_worker(
    study: Study, words: Sequence[str], *, workers: int, timeout: float | None, retries: int | None, clip: bool
) -> None:
    """Evaluate tickets by a command until the study is finished: the last line of its output is the reward."""
    check_words(study, words)
    runner = Runner(replace(study.settings.problem.scale, clip=clip), timeout)

    def work(ticket: Ticket) -> tuple[Any, ...]:
        item = study.item_of(ticket)
        seed = seed_of(study.seed, ticket)
        return runner.run, Command(ticket.label, tuple(words)), seed, None if item is None else item.key

    with ThreadPoolExecutor(workers) as pool:
        try:
            drive(Desk(study, retries, on_wait=_say_once()), work, pool, workers)
        finally:
            runner.stop()


def run_commands(
    given: Given, settings: Given, scale: Scale, commands: Sequence[Command],
    players: Sequence[str] = (),
) -> int:  # fmt: skip
    """Run commands, several at a time; on the items of a file, where one is given, drawn for each duel of `players`."""
    runner, workers, items = Runner(scale, given["timeout"]), given["workers"] or 1, None
    if given.get("items") is not None:
        values = [item.value for item in read_items(given["items"])]
        items = [value if isinstance(value, str) else json.dumps(value) for value in values]
    labels, listed = tuple(players or [command.label for command in commands]), items is not None and not players
    screen = Screen(labels, scale, quiet=given["quiet"], kept=True, items=listed, commands=runner)
    functions = [runner.arm(command) for command in commands]
    if items is not None and listed:
        settings = {**settings, "items": item_keys(items)}
    with ThreadPoolExecutor(workers) as pool:
        work = lambda seed: work_of(functions, seed, seeded=True, items=items, drawn=bool(players))  # noqa: E731
        return searched(given, settings, scale, screen, work, pool, workers)


def run_python(given: Given, settings: Given, scale: Scale, arms: Any) -> int:
    """Python arms whose rewards are kept in a study: called one after the other, in this thread, where Ctrl-C finds them."""
    source = kind_of_arms(arms, scale)
    if not isinstance(source, Functions):
        raise click.UsageError("--study needs --command or Python callables; other rewards come again with --seed")
    screen = Screen(tuple(map(str, source.labels)), scale, quiet=given["quiet"], kept=True)
    guarded = [screen.arm(label, arm) for label, arm in zip(screen.view.labels, source.functions, strict=True)]
    return searched(given, settings, scale, screen, lambda seed: work_of(guarded, seed), None)


def searched(
    given: Given, settings: Given, scale: Scale, screen: Screen, work: Callable[[int], Work],
    pool: Executor | None, workers: int = 1,
) -> int:  # fmt: skip
    """Let a driver do the `work` that a seed makes, on the study that keeps its rewards, and show what was found."""
    labels, runner, record = screen.view.labels, screen.commands, given["decision"] is not None
    settings = {"bounds": (scale.low, scale.high), "minimise": scale.minimise, **settings}
    if given["on_failure"] is not None:
        value = scale.number(given["on_failure"], "--on-failure")
        settings = {**settings, "on_failure": value, "retries": given["retries"]}
    with kept(given, labels, workers, settings) as study:
        problem = msgspec.structs.replace(study.settings.problem, labels=labels)
        with Run(
            study, problem, view=screen, history=shows_history(given), record=record, retries=given["retries"]
        ) as run:
            try:
                drive(run.desk, work(problem.seed), pool, workers)
            finally:
                if runner is not None:
                    runner.stop()  # before the pool is waited for
                if pool is not None:
                    pool.shutdown()
        result = run.found()
        last = {} if runner is None else runner.said
        said = {**{label: last[label] for label in labels if label in last}, **last}
        status = show_result(result, given, {"last_failures": said})
    for label, why in said.items():
        what = f"duel of {label}" if settings.get("algorithm") == DUELS else f"run of arm {label!r}"
        say(f"surest: a {what} failed: {why}", err=True)
    return status
