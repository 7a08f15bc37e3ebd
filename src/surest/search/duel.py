"""The front doors for duels: `duel`, and `aduel` for async judges."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from surest.arms.files import Columns
from surest.arms.games import Games, games_of, score_of
from surest.core.duels import DUELS
from surest.core.keywords import check_columns, check_keywords, shown_like
from surest.core.problem import labels_of
from surest.errors import UsageError
from surest.result.data import Result
from surest.search.call import is_async, work_of
from surest.search.executor import IN_FLIGHT, Workers, drive
from surest.search.recorded import feed
from surest.search.run import Run
from surest.search.watching import Hook, first_interrupt

SETTINGS = ("delta", "epsilon", "top", "budget", "note", "batch")
"""What may be asked of duels, apart from how they are run."""
KEPT = ("seed", "retries", "on_failure", "storage", "name", "history", "record")
"""How they are run, as far as a `Run` knows by itself."""


def duel(
    arms: Any,
    judge: Callable[..., Any] | None = None,
    items: Sequence[Any] | None = None,
    delta: float = 0.05,
    *,
    strict: bool = False,
    rank: bool = False,
    seed: int | None = None,
    columns: Columns | None = None,
    shuffle: int | None = None,
    executor: Workers | None = None,
    in_flight: int = IN_FLIGHT,
    retries: int | None = None,
    on_failure: float | None = None,
    on_request: Hook | None = None,
    storage: Any = None,
    name: str | None = None,
    progress: Hook | bool | None = None,
    history: bool = False,
    record: bool = False,
    **settings: Any,
) -> Result:
    """Find who beats all others head to head, wrong with probability at most `delta`, by duels.

    Parameters
    ----------
    arms : sequence of labels, or recorded duels
        Who meets whom. Without a judge: a CSV file (columns first, second, and score or winner), a PGN file of games, an output
        of promptfoo with select-best, a data frame, or rows (first, second, score), each used at most once, in order.
    judge : callable, optional
        ``judge(first, second)``, or with `items` ``judge(first, second, item)``: 1 if the first is better, 0 if the second is,
        0.5 for a tie, or the label of the winner, or "tie". Who comes first is drawn.
    items : sequence, optional
        Items for the duels; each duel draws one, with replacement.
    delta, epsilon, top, budget, note
        As for `identify`: the allowed error probability; how far below an even score the named arm may be; how many
        arms to name that beat all others; the maximum number of duels.
    strict : bool
        Also show that an arm beats all others. Else the verdict may be "…, if any arm does".
    rank : bool
        Go on until every pair is told apart: a full ranking.
    seed, executor, in_flight, retries, on_failure, on_request, storage, name, progress, history, record
        As for `identify`. A judge that raises, or returns None or no valid score, is retried 3 times by default; with
        ``on_failure=0.5`` the duel then counts as a tie.
    columns : mapping, optional
        Other names of the columns: ``{"first": "model_a", "second": "model_b"}``.
    shuffle : int, optional
        Put recorded duels in a random order first, drawn from this seed: where they are an independent sample whose order was
        lost. Choose it beforehand. Without it, duels of a pair that cannot be in random order are refused.
    batch : int
        Minimum number of duels per request; default 1.

    Returns
    -------
    Result
        `best` is the winner, or None if there is shown to be none; `contenders` are who may still be it; `duels` has the table
        of wins, the groups of the ranking, and the bias of sides.

    Examples
    --------
    >>> import random
    >>> rng, strength = random.Random(1), {"terse": 0.2, "kind": 0.8, "rude": 0.1}
    >>> def judge(first, second):
    ...     return rng.random() < strength[first] / (strength[first] + strength[second])
    >>> result = duel(list(strength), judge, seed=1)
    >>> result.best, result.certified
    ('kind', True)
    """
    check_keywords(locals())
    shown = {"on_request": on_request, "progress": progress, "history": history, "record": record}
    asked = {**_asked(settings, delta, strict, rank), **shown, "seed": seed}
    kept = {"retries": retries, "on_failure": on_failure, "storage": storage, "name": name}
    if judge is None:
        if any(given is not None for given in (items, executor, *kept.values())):
            raise UsageError(
                "recorded duels need no items, executor, retries, on_failure, storage or name; leave them out"
            )
        check_columns(columns, arms)
        return _recorded(games_of(arms, columns, shuffle), asked)
    if is_async(judge):
        raise UsageError("the judge is an async function: await surest.aduel")
    if columns is not None or shuffle is not None:
        raise UsageError("columns and shuffle require recorded duels; leave them out, or leave out the judge")
    in_flight = 1 if executor is None else in_flight
    with _begun(arms, in_flight=in_flight, **kept, **asked) as run:
        pairs = pairs_of(partial(_judged, judge), labels_of(arms))
        drive(run.desk, work_of(pairs, run.problem.seed, items=items, drawn=True), executor, in_flight)
    return _found(run, arms)


@shown_like(duel, "columns", "shuffle", "executor")
async def aduel(
    arms: Sequence[Any],
    judge: Callable[..., Awaitable[Any]],
    items: Sequence[Any] | None = None,
    delta: float = 0.05,
    *,
    strict: bool = False,
    rank: bool = False,
    in_flight: int = IN_FLIGHT,
    on_request: Hook | None = None,
    progress: Hook | bool | None = None,
    **how: Any,
) -> Result:
    """`duel` for an async judge: up to `in_flight` duels are awaited at a time.

    Examples
    --------
    >>> import asyncio, random
    >>> rng = random.Random(0)
    >>> async def judge(first, second):
    ...     await asyncio.sleep(0)
    ...     return "b" if rng.random() < 0.9 else "a"
    >>> asyncio.run(aduel(["a", "b"], judge, in_flight=4)).best
    'b'
    """
    check_keywords({**locals(), **how})
    kept = {name: how.pop(name) for name in KEPT if name in how}
    asked = {**_asked(how, delta, strict, rank), "on_request": on_request, "progress": progress}
    with _begun(arms, in_flight=in_flight, **kept, **asked) as run:
        pairs = pairs_of(partial(_ajudged, judge), labels_of(arms))
        await run.await_all(work_of(pairs, run.problem.seed, items=items, drawn=True), in_flight)
    return _found(run, arms)


def pairs_of(judge: Callable[..., Any], players: Sequence[Any]) -> list[Callable[..., Any]]:
    """A function of an item for each ordered pair of players, as `surest.core.duels` numbers them."""
    return [partial(judge, a, b) for i, a in enumerate(players) for j, b in enumerate(players) if i != j]


def _judged(judge: Callable[..., Any], first: Any, second: Any, *item: Any) -> Any:
    return score_of(judge(first, second, *item), first, second)


async def _ajudged(judge: Callable[..., Awaitable[Any]], first: Any, second: Any, *item: Any) -> Any:
    return score_of(await judge(first, second, *item), first, second)


def _asked(settings: Mapping[str, Any], delta: float, strict: bool, rank: bool) -> dict[str, Any]:
    """What is asked, as settings of the search; other settings are refused."""
    wrong = next((name for name in settings if name not in SETTINGS), None)
    if wrong is not None:
        raise UsageError(f"duels take no setting {wrong!r}; they take {', '.join(SETTINGS)}")
    if rank and (settings.get("top") is not None or strict):
        raise UsageError("rank tells every pair apart, and so who beats all others; leave out top and strict")
    flags = {name: True for name, on in (("strict", strict), ("rank", rank)) if on}
    return {"delta": delta, **settings, **flags, "algorithm": DUELS}


def _begun(arms: Any, **how: Any) -> Run:
    if isinstance(arms, str | bytes) or not isinstance(arms, Sequence):
        raise UsageError(f"arms are {arms!r:.60}; give a list of at least two labels, and a judge")
    return Run.begun([str(player) for player in labels_of(arms)], **how)


def _found(run: Run, arms: Sequence[Any]) -> Result:
    run.problem = msgspec.structs.replace(run.problem, labels=labels_of(arms))
    found = run.found()
    return replace(found, problem=msgspec.structs.replace(found.problem, labels=labels_of(arms)))


def _recorded(games: Games, asked: Mapping[str, Any]) -> Result:
    """What recorded duels say: those that the search asks for, each once and in order."""
    asked = {"batch": 10, **asked, "rows": games.rows, "seed": asked["seed"] or 0}
    with _begun(list(games.players), **asked) as run, first_interrupt(run.interrupt):
        feed(run.session, games.scores)
    return replace(_found(run, games.players), health=None, warnings=games.notes)
