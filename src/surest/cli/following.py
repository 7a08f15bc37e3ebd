"""``surest identify FILE``, read once or, with ``--follow``, again and again: new rows count as they come, until they decide."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from surest.arms.finite import FiniteArms
from surest.arms.instances import is_path, parse_source
from surest.arms.kinds import Records, read_source
from surest.arms.recorded import InOrder
from surest.arms.totals import Totals
from surest.cli.progress import Screen
from surest.cli.settings import columns_given
from surest.cli.streams import say
from surest.core.scale import Scale
from surest.errors import SourceError, Stop
from surest.search.identify import judge_totals
from surest.search.recorded import Feeding, with_batch
from surest.search.session import Session

EVERY = 1.0
"""Seconds between two looks at a file."""
STEPS = 10
"""How often between them Ctrl-C is heeded, and the live view moves on."""
PATIENCE = 3
"""Looks at a file that cannot be read as it should before that is an error: whoever writes it may be in the middle."""

K = TypeVar("K", Totals, InOrder)


def read(given: Mapping[str, Any], scale: Scale) -> Totals | InOrder | FiniteArms:
    """What a SOURCE holds that is no Python: simulated arms that are named, or what `read_source` finds in a file."""
    if not is_path(given["source"]):
        return parse_source(given["source"], given["instance"])
    return read_source(
        given["source"], columns_given(given), bounds=(scale.low, scale.high), clip=scale.clip,
        instance=given["instance"], resample=given["resample"], growing=given["follow"] or given["suggest"] is not None,
        add=given["sum_rows"],
    )  # fmt: skip


def _still(kind: type[K], what: str, given: Mapping[str, Any], scale: Scale) -> K:
    """What the file holds by now, which must be of the same kind as before."""
    found = read(given, scale)
    if not isinstance(found, kind):
        raise SourceError(f"{given['source']} held {what}, and does no longer; begin a new search")
    return found


def records_in(recorded: InOrder, named: tuple[str, ...], source: str, scale: Scale) -> Records:
    """The rewards, all within the range, of the arms: those named, or all in the record."""
    if not named and not recorded.numbers:
        raise SourceError(f"{source} holds no rewards yet; add some, or name the arms with --arm")
    strange = [label for label in recorded.numbers if label not in named]
    if named and strange:
        raise SourceError(f"{source} has rewards of {strange[0]!r}, which no --arm names")
    labels = named or tuple(recorded.numbers)
    found = (np.asarray(recorded.numbers.get(label, ()), float) for label in labels)
    return Records(labels, [scale.numbers(each, f"arm {label!r}") for label, each in zip(labels, found, strict=True)])


def follow_rewards(
    given: Mapping[str, Any], settings: Mapping[str, Any], scale: Scale, seen: InOrder
) -> tuple[InOrder, int | None]:
    """Recorded rewards once they decide, or once a signal came: all that there are, and the signal; `seen` are the first."""
    source, labels = given["source"], given["labels"] or tuple(_of_two_arms(given, scale, seen).numbers)
    session = Session(labels, **with_batch({"seed": 0, **settings}))
    feeding, seen = Feeding(session), InOrder({}, ())

    def take() -> bool:
        nonlocal seen
        recorded = _still(InOrder, "rewards", given, scale)
        check_grown(seen, recorded, source)
        strange = next((label for label in recorded.numbers if label not in labels), None)
        if strange is not None:
            raise SourceError(
                f"{source}: arm {strange!r} came after the search had begun with {', '.join(labels)}; start again, and name "
                "every arm with --arm"
            )
        feeding.more(records_in(recorded, labels, source, scale).rewards)
        seen = recorded
        return session.finished

    with Screen(labels, scale, quiet=given["quiet"]) as screen:
        follow(source, take, screen, lambda: screen(session.running))
    return seen, screen.stopped_by


def follow_totals(
    given: Mapping[str, Any], settings: Mapping[str, Any], scale: Scale, seen: Totals
) -> tuple[Totals, int | None]:
    """Totals once they decide, or once a signal came, and the signal; `seen` are the first."""
    source = given["source"]
    running, _ = judge_totals(seen, **settings)

    def take() -> bool:
        nonlocal seen, running
        seen = _still(Totals, "totals", given, scale).since(seen, source)
        running, _ = judge_totals(seen, **settings)
        if screen.live is None and not given["quiet"]:
            screen.show(running, running.status)
        return running.value is not None and running.value.certified

    def look() -> None:
        if screen.stopped_by is not None:
            raise Stop("interrupted")
        if screen.live is not None:
            screen.show(running, running.status)

    with Screen(seen.labels, scale, quiet=given["quiet"]) as screen:
        screen.view.counted = "trials"
        follow(source, take, screen, look)
    return seen, screen.stopped_by


def follow(source: str, take: Callable[[], bool], screen: Screen, look: Callable[[], None]) -> None:
    """Take in a file now, and again whenever it has changed, until that decides; `look` raises `Stop` to end it before.

    A file that cannot be taken in is tried again a few times: somebody may be writing it.
    """
    # A view that stands still should say what it waits for.
    screen.view.footing = f"waiting for more in {source}; {screen.view.footing}"
    stamp: object = None
    strikes = 0
    with suppress(Stop):
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


def _of_two_arms(given: Mapping[str, Any], scale: Scale, seen: InOrder) -> InOrder:
    """The rewards of a file once it has those of at least two arms; `seen` are the first."""
    if len(seen.numbers) < 2:
        say(f"surest: waiting for rows of two arms in {given['source']}; --arm names the arms", err=True)
    while len(seen.numbers) < 2:
        time.sleep(EVERY)
        seen = _still(InOrder, "rewards", given, scale)
    say(f"surest: following {given['source']}: arms {', '.join(seen.numbers)}. --arm names others", err=True)
    return seen


def _stamp(path: Path) -> object:
    """What changes when a file, or one of a folder, is written."""
    found = []
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        with suppress(OSError):  # it may be gone by now
            found.append((str(file), file.stat().st_size, file.stat().st_mtime_ns))
    return found
