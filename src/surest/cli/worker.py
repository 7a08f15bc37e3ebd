"""``surest study work``: a worker that needs no loop of one's own."""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from surest.cli.compiling import tell_of_compiling
from surest.cli.streams import say
from surest.core.session import Ticket
from surest.drivers.commands import Command, Runner
from surest.drivers.seeds import seed_of
from surest.errors import UsageError
from surest.study.study import Study
from surest.study.work import work_on

PLACES = re.compile(r"\{(arm|item|seed)\}")


def words_for(words: Sequence[str], label: str, item: str | None, seed: int) -> tuple[str, ...]:
    """The words of a command, with an arm's label, an item's key and a seed in their places.

    >>> words_for(["./judge", "--model={arm}", "{item}", "{seed}", "{x}"], "small", "q {seed}", 7)
    ('./judge', '--model=small', 'q {seed}', '7', '{x}')
    """
    values = {"arm": label, "item": "" if item is None else item, "seed": str(seed)}
    return tuple(PLACES.sub(lambda place: values[place[1]], word) for word in words)


def check_words(study: Study, words: Sequence[str]) -> None:
    """Refuse a command that would evaluate all arms, or all items, alike."""
    said = {place for word in words for place in PLACES.findall(word)}
    if len(study.labels) > 1 and "arm" not in said:
        raise UsageError(f"the command {' '.join(words)!r} must say {{arm}} somewhere, or all arms would be the same")
    if study.items and "item" not in said:
        raise UsageError(
            f"the command {' '.join(words)!r} must say {{item}} somewhere: the study is on a list of items"
        )
    if not study.items and "item" in said:
        raise UsageError(f"study {study.name!r} has no items; take {{item}} out of the command")


def _say_once() -> Callable[[], None]:
    """Says, once, that nothing can be done until others have told their rewards."""
    said = False

    def say_it() -> None:
        nonlocal said
        if not said:
            say("surest: waiting for rewards that other workers owe (surest study status shows how many)", err=True)
        said = True

    return say_it


def run_worker(
    study: Study, words: Sequence[str], *, workers: int, timeout: float | None, retries: int | None, clip: bool
) -> None:
    """Evaluate tickets by a command until the study is finished: the last line of its output is the reward."""
    tell_of_compiling()
    check_words(study, words)
    runner = Runner(replace(study.settings.problem.scale, clip=clip), timeout)

    def work(ticket: Ticket) -> tuple[Any, ...]:
        item = study.item_of(ticket)
        own = seed_of(study.seed, ticket)
        return (
            runner.run,
            Command(ticket.label, words_for(words, ticket.label, None if item is None else item.key, own)),
            own,
        )

    with ThreadPoolExecutor(workers) as pool:
        try:
            work_on(study, work, pool, in_flight=workers, retries=retries, on_wait=_say_once())
        finally:
            runner.stop()
