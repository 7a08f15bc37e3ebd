"""``surest identify FILE``, read once or, with ``--follow``, again and again: new rows count as they come, until they decide."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from surest.arms.kinds import read_source
from surest.arms.recorded import InOrder
from surest.arms.totals import Totals
from surest.cli.progress import Screen
from surest.cli.settings import columns_given
from surest.cli.streams import say
from surest.core.protocol import FloatArray
from surest.core.scale import Scale
from surest.errors import SourceError, Stop
from surest.result.data import Result
from surest.search.identify import judge_totals
from surest.search.recorded import Feeding, with_batch
from surest.search.session import Session

EVERY = 1.0
"""Seconds between two looks at a file."""
STEPS = 10
"""How often between them Ctrl-C is heeded, and the live view moves on."""
PATIENCE = 3
"""Looks at a file that cannot be read as it should before that is an error: whoever writes it may be in the middle."""


def _read_rewards(given: Mapping[str, Any], scale: Scale) -> InOrder:
    """The recorded rewards of a file or folder that grows."""
    how: dict[str, Any] = {
        "bounds": (scale.low, scale.high),
        "clip": scale.clip,
        "instance": given["instance"],
        "growing": True,
    }
    found = read_source(given["source"], columns_given(given), counts=False, **how)
    if not isinstance(found, InOrder):
        raise SourceError(f"{given['source']} held rewards, and does not any more")
    return found


def labels_in(recorded: InOrder, named: tuple[str, ...], source: str) -> tuple[str, ...]:
    """The arms: those named, or all in the record."""
    if not named and not recorded.numbers:
        raise SourceError(f"{source} holds no rewards yet; add some, or name the arms with --arm")
    strange = [label for label in recorded.numbers if label not in named]
    if named and strange:
        raise SourceError(f"{source} has rewards of {strange[0]!r}, which no --arm names")
    return named or tuple(recorded.numbers)


def rewards_of(recorded: InOrder, label: str, scale: Scale) -> FloatArray:
    """An arm's rewards, all within the range."""
    return scale.numbers(np.asarray(recorded.numbers.get(label, ()), float), f"arm {label!r}")


def ended(result: Result, stopped_by: int | None) -> Result:
    """A result, with the reason that a signal gave it."""
    return result if stopped_by is None or result.certified else replace(result, reason="interrupted")


def _say_what_is_awaited(screen: Screen, source: str) -> None:
    """A view that stands still should say what it waits for."""
    screen.view.footing = f"waiting for more in {source}; {screen.view.footing}"


def follow_rewards(given: Mapping[str, Any], settings: Mapping[str, Any], scale: Scale) -> tuple[InOrder, int | None]:
    """Recorded rewards once they decide, or once a signal came: all that there are, and the signal."""
    source = given["source"]
    labels = _awaited_labels(given, scale)
    session = Session(labels, **with_batch({"seed": 0, **settings}))
    feeding, seen = Feeding(session), InOrder({}, ())
    with Screen(labels, scale, quiet=given["quiet"]) as screen:
        _say_what_is_awaited(screen, source)

        def take() -> bool:
            nonlocal seen
            recorded = _read_rewards(given, scale)
            check_grown(seen, recorded, source)
            strange = next((label for label in recorded.numbers if label not in labels), None)
            if strange is not None:
                raise SourceError(
                    f"{source}: arm {strange!r} came after the search had begun with {', '.join(labels)}; start again, and name "
                    "every arm with --arm"
                )
            feeding.more([rewards_of(recorded, label, scale) for label in labels])
            seen = recorded
            return session.finished

        follow(source, take, lambda: screen(session.running))
        return seen, screen.stopped_by


def follow_totals(
    given: Mapping[str, Any], settings: Mapping[str, Any], scale: Scale, seen: Totals
) -> tuple[Totals, int | None]:
    """Totals once they decide, or once a signal came, and the signal; `seen` are the first."""
    source, columns = given["source"], columns_given(given)
    running, _ = judge_totals(seen, **settings)
    with Screen(seen.labels, scale, quiet=given["quiet"]) as screen:
        screen.view.counted = "trials"
        _say_what_is_awaited(screen, source)

        def take() -> bool:
            nonlocal seen, running
            found = read_source(source, columns, bounds=(0, 1), growing=True, add=given["sum_rows"])
            if not isinstance(found, Totals):
                raise SourceError(f"{source} held totals, and does not any more")
            totals = found.since(seen, source)
            seen, (running, _) = totals, judge_totals(totals, **settings)
            if screen.live is None and not given["quiet"]:
                screen.show(running, running.status)
            return running.value is not None and running.value.certified

        def look() -> None:
            if screen.stopped_by is not None:
                raise Stop("interrupted")
            if screen.live is not None:
                screen.show(running, running.status)

        follow(source, take, look)
        return seen, screen.stopped_by


def follow(source: str, take: Callable[[], bool], look: Callable[[], None]) -> None:
    """Take in a file now, and again whenever it has changed, until that decides; `look` raises `Stop` to end it before.

    A file that cannot be taken in is tried again a few times: somebody may be writing it.
    """
    stamp: object = None
    strikes = 0
    try:
        while True:
            before = _stamp(Path(source))
            if before != stamp or strikes:
                try:
                    if take():
                        return
                    stamp, strikes = before, 0
                except SourceError:
                    strikes += 1
                    if strikes > PATIENCE:
                        raise
            for _ in range(STEPS):
                look()
                time.sleep(EVERY / STEPS)
    except Stop:
        return


def check_grown(before: InOrder, after: InOrder, source: str) -> None:
    """Refuse a record in which what counted has changed."""
    for label, was in before.numbers.items():
        now = after.numbers.get(label, ())
        same = next((k for k, (old, new) in enumerate(zip(was, now, strict=False)) if old != new), None)
        if same is not None:
            what = f"reward {same + 1} of arm {label!r} was {was[same]:g}, and is {now[same]:g} now"
        elif len(now) < len(was):
            what = f"there were {len(was):,} rewards of arm {label!r}, and there are {len(now):,} now"
        else:
            continue
        raise SourceError(f"{source} has changed: {what}. Rows may only be added at its end; begin a new search")


def _awaited_labels(given: Mapping[str, Any], scale: Scale) -> tuple[str, ...]:
    """The arms named, or those of the file, once it has at least two."""
    labels: tuple[str, ...] = given["labels"]
    told = False
    while not labels:
        found = tuple(_read_rewards(given, scale).numbers)
        if len(found) > 1:
            labels = found
            say(f"surest: following {given['source']}: arms {', '.join(labels)}. --arm names others", err=True)
            break
        if not told:
            say(f"surest: waiting for rows of two arms in {given['source']}; --arm names the arms", err=True)
            told = True
        time.sleep(EVERY)
    return labels


def _stamp(path: Path) -> object:
    """What changes when a file, or one of a folder, is written."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return [(str(file), found.st_size, found.st_mtime_ns) for file in files if (found := _stat(file)) is not None]


def _stat(path: Path) -> Any:
    try:
        return path.stat()
    except OSError:
        return None
