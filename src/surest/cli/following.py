"""``surest identify FILE``, read once or, with ``--follow``, again and again: new rows count as they come, until they decide."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import numpy as np

from surest.arms.finite import FiniteArms
from surest.arms.instances import is_path, parse_source
from surest.arms.kinds import read_source
from surest.arms.recorded import Records
from surest.arms.tables import Table
from surest.arms.totals import Totals
from surest.cli.progress import Screen
from surest.cli.settings import Given, columns_given
from surest.cli.streams import say
from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.core.scale import Scale
from surest.errors import SourceError, Stop
from surest.search.identify import judge_totals
from surest.search.recorded import Feeding, with_batch
from surest.search.session import Session

EVERY = 1.0  # seconds between two looks at a file
STEPS = 10  # how often between them Ctrl-C is heeded, and the live view moves on
PATIENCE = 3
"""Looks at a file that cannot be read as it should before that is an error: whoever writes it may be in the middle."""

K = TypeVar("K", Totals, Records)
Judge = Callable[[K], tuple[Running[Answer], bool]]
"""Takes in all that there is; the run that it comes to, and whether that decides."""


def read(given: Given, scale: Scale) -> Totals | Records | FiniteArms:
    """What a SOURCE holds that is no Python: simulated arms that are named, or what `read_source` finds in a file."""
    if not is_path(given["source"]):
        return parse_source(given["source"], given["instance"])
    found = read_source(
        given["source"], scale, columns_given(given), instance=given["instance"], law=given["resample"] or None,
        growing=given["follow"] or given["suggest"] is not None, add=given["sum_rows"],
    )  # fmt: skip
    assert not isinstance(found, Table)
    return found


def naming(records: Records, labels: tuple[str, ...], source: str) -> Records:
    """The rewards of the arms that were named, or of all in the record."""
    if not labels and not records.labels:
        raise SourceError(f"{source} holds no rewards yet; add some, or name the arms with --arm")
    return records.since(Records(labels, [np.empty(0)] * len(labels)), source) if labels else records


def followed_rewards(given: Given, settings: Given, scale: Scale, seen: Records) -> Records:
    """Recorded rewards once they decide, or once a signal came: all that there are; `seen` are the first."""
    labels = given["labels"] or _of_two_arms(given, scale, seen).labels
    session = Session(labels, **with_batch({"seed": 0, **settings}))
    feeding = Feeding(session)

    def judge(records: Records) -> tuple[Running[Answer], bool]:
        feeding.more(records.rewards)
        return session.running, session.finished

    return _followed(given, scale, judge, Records(labels, [np.empty(0)] * len(labels)))


def followed_totals(given: Given, settings: Given, scale: Scale, seen: Totals) -> Totals:
    """Totals once they decide, or once a signal came; `seen` are the first."""

    def judge(totals: Totals) -> tuple[Running[Answer], bool]:
        running, _ = judge_totals(totals, **settings)
        return running, running.value is not None and running.value.certified

    return _followed(given, scale, judge, seen, counted="trials")


def _followed(given: Given, scale: Scale, judge: Judge[K], seen: K, counted: str = "pulls") -> K:
    """Take in a file now, and again whenever it has changed, until that decides, or a signal ends it."""
    running, _ = judge(seen)
    screen = Screen(seen.labels, scale, quiet=given["quiet"])
    screen.view.counted = counted
    # A view that stands still should say what it waits for.
    screen.view.footing = f"waiting for more in {given['source']}; {screen.view.footing}"

    def wait() -> None:
        for _ in range(STEPS):
            screen(running)
            time.sleep(EVERY / STEPS)

    changes = _changes(given, scale, type(seen), seen, wait)
    with screen, suppress(Stop):
        for seen in changes:
            running, decided = judge(seen)
            if decided:
                break
    return seen


def _changes(given: Given, scale: Scale, kind: type[K], seen: K | None, wait: Callable[[], object]) -> Iterator[K]:
    """What a file of this kind holds now, and whenever it has changed: grown out of what was `seen`, where there is such.

    A file that cannot be taken in is tried again a few times: somebody may be writing it.
    """
    source, stamp, strikes = given["source"], None, 0
    while True:
        before = _stamp(Path(source))
        if before != stamp or strikes:
            try:
                found = read(given, scale)
                if not isinstance(found, kind):
                    what = "rewards" if kind is Records else "totals"
                    raise SourceError(f"{source} held {what}, and does no longer; begin a new search")
                if seen is not None:
                    seen = found = found.since(seen, source)
                stamp, strikes = before, 0
                yield found
            except SourceError:
                strikes += 1
                if strikes > PATIENCE:
                    raise
        wait()


def _of_two_arms(given: Given, scale: Scale, seen: Records) -> Records:
    """The rewards of a file once it has those of at least two arms; `seen` are the first."""
    if len(seen.labels) < 2:
        say(f"surest: waiting for rows of two arms in {given['source']}; --arm names the arms", err=True)
        changes = _changes(given, scale, Records, None, lambda: time.sleep(EVERY))
        seen = next(found for found in changes if len(found.labels) > 1)
    say(f"surest: following {given['source']}: arms {', '.join(seen.labels)}. --arm names others", err=True)
    return seen


def _stamp(path: Path) -> object:
    """What changes when a file, or one of a folder, is written."""
    found = []
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        with suppress(OSError):  # it may be gone by now
            found.append((str(file), file.stat().st_size, file.stat().st_mtime_ns))
    return found
