"""``surest study work``: a worker that needs no loop of one's own."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from surest.cli.streams import say
from surest.errors import UsageError
from surest.search.commands import PLACES, Command, Runner
from surest.search.seeds import seed_of
from surest.search.session import Ticket
from surest.study.study import Study
from surest.study.work import work_on


def check_words(study: Study, words: Sequence[str]) -> None:
    """Refuse a command that would evaluate all arms, or all items, alike."""
    said = {place for place in PLACES for word in words if f"{{{place}}}" in word}
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
    check_words(study, words)
    runner = Runner(replace(study.settings.problem.scale, clip=clip), timeout)

    def work(ticket: Ticket) -> tuple[Any, ...]:
        item = study.item_of(ticket)
        seed = seed_of(study.seed, ticket)
        return runner.run, Command(ticket.label, tuple(words)), seed, None if item is None else item.key

    with ThreadPoolExecutor(workers) as pool:
        try:
            work_on(study, work, pool, in_flight=workers, retries=retries, on_wait=_say_once())
        finally:
            runner.stop()
