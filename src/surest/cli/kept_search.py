"""Searches whose evaluations are costly are kept in a study while they run: whatever ends them, they go on where they were."""

import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from surest.cli import streams
from surest.cli.reproduce import command_again
from surest.core.problem import SETTINGS, default_algorithm
from surest.errors import UsageError
from surest.masking import masked
from surest.search.executor import keep_busy
from surest.study.settings import Handling
from surest.study.stores import STORAGE
from surest.study.study import Study, open_study

KNOWN = {*SETTINGS, *Handling.__struct_fields__, "items"}
"""What `open_study` takes by name; other settings are the algorithm's own options."""
SCRATCH = re.compile(r"sqlite:///(.*/)?surest-[a-z]+-[0-9a-f]{8}\.db")
"""A file of one search, which is gone once that search is over, be it resumed in between."""


@contextmanager
def kept(given: Mapping[str, Any], labels: Sequence[str], workers: int, settings: Mapping[str, Any]) -> Iterator[Study]:
    """The study that keeps a search: the one that was named, or one in a file of its own, gone once the search is over.

    What ends unfinished is kept, and the command that goes on with it is printed.
    """
    scratch = None if given["study"] is not None else _scratch()
    storage = given["storage"] or STORAGE if scratch is None else f"sqlite:///{scratch}"
    name = str(click.get_current_context().command.name) if scratch is not None else given["study"]
    resumed = scratch is None and SCRATCH.fullmatch(storage) is not None and name in storage
    study = _opened(storage, name, labels, workers, settings)
    try:
        yield study
    finally:
        told = 0 if study.finished else study.status().told
        if told or (scratch is None and not study.finished):
            _tell_how_to_go_on(study, storage, told)
        elif scratch is not None or resumed:
            study.close()
            for end in ("", "-wal", "-shm"):
                Path(f"{storage.removeprefix('sqlite:///')}{end}").unlink(missing_ok=True)


def _scratch() -> Path:
    """A new file in this folder, or where there is room for passing things."""
    folder = Path() if os.access(".", os.W_OK) else Path(tempfile.gettempdir())
    return folder / f"surest-{click.get_current_context().command.name}-{secrets.token_hex(4)}.db"


def _opened(storage: str, name: str, labels: Sequence[str], workers: int, settings: Mapping[str, Any]) -> Study:
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
    streams.say(
        f"surest: {'1 reward is' if told == 1 else f'{told:,} rewards are'} kept in {study.store.shown}. {how}\n  {line}",
        err=True,
    )
