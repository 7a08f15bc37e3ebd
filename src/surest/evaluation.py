"""The front door for lists of items: `evaluate`, and `aevaluate` for async functions."""

import inspect
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from surest.algorithms import lookup, start_on
from surest.arms.tables import Table, table_of
from surest.core.problem import Problem, labels_of, problem_of, takes_items_settings
from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.core.scale import checked_scale
from surest.core.session import Session
from surest.drivers import asynchronous
from surest.drivers.call import Work, scored, work_of
from surest.drivers.cells import missing_cells, read_off
from surest.drivers.desk import Hook
from surest.drivers.executor import IN_FLIGHT, Inline, Workers
from surest.drivers.executor import evaluate as evaluate_tickets
from surest.drivers.interrupts import Pressed
from surest.drivers.watching import Watched, watching
from surest.errors import Interrupted, Stop, UsageError
from surest.loading import resolved
from surest.result.data import Result
from surest.result.making import listed_of, result_of

if TYPE_CHECKING:
    from surest.study.study import Study


@takes_items_settings
def evaluate(
    arms: Any,
    items: Sequence[Any] | None = None,
    delta: float = 0.05,
    *,
    score: Callable[..., Any] | None = None,
    seed: int | None = None,
    columns: Mapping[str, str] | None = None,
    executor: Workers | None = None,
    in_flight: int = IN_FLIGHT,
    retries: int | None = None,
    on_failure: float | None = None,
    storage: Any = None,
    name: str | None = None,
    progress: Hook | bool | None = None,
    **settings: Any,
) -> Result:
    """Find the arm with the best mean on a list of items, wrong with probability at most `delta`.

    All arms are evaluated on the same items, in one random order; weak arms drop out, and no cell (an arm on an item) is
    evaluated twice. The guarantee assumes nothing of the scores but their range: the only randomness is the order.

    Parameters
    ----------
    arms : mapping, sequence or table
        ``{label: function(item)}``; or labels, with ``score(arm, item)``; or, without `items`, a table of scores: a
        DataFrame (columns arm, item, value; or a column for each arm and a row for each item), ``{arm: {item: value}}``, a 2-D
        array (a row for each arm and a column for each item), a CSV file. A table may have gaps: it is then what is known so far.
    items : sequence, optional
        The items: questions, instances, folds, seeds. An item that stands twice counts twice.
    delta : float
        The allowed probability of a wrong answer.
    score : callable, optional
        ``score(arm, item)``, for arms that are labels.
    epsilon : float
        How far from the best an answer may be, in the units of the scores. 0 asks for the best itself.
    budget : int, optional
        The most cells to evaluate. When they do not suffice, the answer so far is returned, with its contenders.
    target : {"items", "population"}
        Whether the verdict is about the mean on these items, or about what they are a random sample of.
    repeats : int
        Evaluations that a cell is the mean of.
    bounds : (float, float)
        The lowest and the highest possible score.
    minimise : bool
        Scores are costs, times or losses: the smallest mean is the best.
    seed : int, optional
        Draws the order of the items. Fresh, and reported, if not given. For a table it is then made from the names of its arms
        and items, so that the order stays the same while it is filled. Choosing the best of several seeds voids the claim.
    columns : mapping, optional
        Other names of a table's columns: ``{"arm": "model", "item": "question", "value": "score"}``.
    executor, in_flight, retries, on_failure
        As for `identify`. Idle workers evaluate ahead; the transcript is that of a single worker.
    storage, name : str, optional
        Keep the evaluations in a study: the same call goes on where it was.
    progress : bool or callable, optional
        Show the search while it runs, where standard error is a terminal, and in a notebook. False shows nothing; a function is
        called instead with the state of the run before each item, and may raise `surest.Stop`.
    **settings
        The algorithm's own options, such as ``group`` and ``weights``.

    Returns
    -------
    Result
        With `.best`, `.contenders`, `.certified`, `.exact`, `.evaluations`, `.cells`, `.table`, `.differences` and more.

    Raises
    ------
    Interrupted
        On Ctrl-C, once the evaluations that run have ended: its `result` is the answer so far. A second Ctrl-C does not wait.

    Examples
    --------
    >>> questions = [f"question {i}" for i in range(400)]
    >>> judges = {"terse": lambda q: len(q) % 2, "kind": lambda q: 1.0, "wordy": lambda q: 0.5}
    >>> result = evaluate(judges, questions, seed=1)
    >>> result.best, result.certified, result.evaluations < result.cells / 10
    ('kind', True, True)
    """
    began = time.perf_counter()
    given: dict[str, Any] = {"delta": delta, "seed": secrets.randbits(32) if seed is None else seed}
    given |= resolved(settings)
    scale = checked_scale(given.get("bounds", (0.0, 1.0)), given.get("minimise", False))
    if items is None:
        _refuse(score=score, executor=executor, retries=retries, on_failure=on_failure, storage=storage, name=name)
        table = table_of(arms, columns)
        if seed is None:
            given["seed"] = table_seed(table)
        with watching(table.labels, scale, progress, items=True) as watched:
            found = _from_table(table, given, watched)
    else:
        labels, functions = _functions(arms, score, asynchronous=False)
        listed = _checked_list(items)
        work = _repeated(functions, listed, given.get("repeats", 1))
        how: dict[str, Any] = {"in_flight": in_flight if executor is not None else 1, "retries": retries}
        pool = Inline() if executor is None else executor
        with watching(labels, scale, progress, items=True, ticks=executor is None) as watched:
            if storage is not None or name is not None:
                kept = {key: value for key, value in given.items() if key != "seed" or seed is not None}
                found = _in_study(storage, name, labels, listed, kept, work, pool, watched, on_failure, how)
            else:
                session = Session.of(problem_of(labels, items=_count(listed), **given))
                session.item_names = listed
                stopped = None
                try:
                    evaluate_tickets(session, work, pool, on_failure=on_failure, on_request=watched, **how)
                except (Stop, Pressed) as end:
                    stopped = watched.ended_by(end)
                found = session.result(items=listed, stopped=stopped)
    return _ended(replace(found, seconds=time.perf_counter() - began), watched, storage is not None or name is not None)


@takes_items_settings
async def aevaluate(
    arms: Any,
    items: Sequence[Any],
    delta: float = 0.05,
    *,
    score: Callable[..., Any] | None = None,
    seed: int | None = None,
    in_flight: int = IN_FLIGHT,
    retries: int | None = None,
    on_failure: float | None = None,
    storage: Any = None,
    name: str | None = None,
    progress: Hook | bool | None = None,
    **settings: Any,
) -> Result:
    """`evaluate` for async functions: up to `in_flight` of them are awaited at a time.

    Examples
    --------
    >>> import asyncio
    >>> async def judged(arm, item):
    ...     return float(arm == "kind")
    >>> result = asyncio.run(aevaluate(["terse", "kind"], range(100), score=judged, seed=1))
    >>> result.best, result.certified
    ('kind', True)
    """
    began = time.perf_counter()
    labels, functions = _functions(arms, score, asynchronous=True)
    listed = _checked_list(items)
    repeats = settings.get("repeats", 1)
    if repeats != 1:
        functions = [partial(amean_of, function, repeats) for function in functions]
    given: dict[str, Any] = {"delta": delta, "seed": secrets.randbits(32) if seed is None else seed}
    given |= resolved(settings)
    work = work_of(functions, given["seed"], items=listed)
    scale = checked_scale(given.get("bounds", (0.0, 1.0)), given.get("minimise", False))
    how: dict[str, Any] = {"in_flight": in_flight, "retries": retries}
    stopped, study = None, None
    if storage is not None or name is not None:
        kept = {key: value for key, value in given.items() if key != "seed" or seed is not None}
        study = _study(storage, name, labels, listed, kept, on_failure)
    else:
        session = Session.of(problem_of(labels, items=_count(listed), **given))
        session.item_names = listed
    with watching(labels, scale, progress, items=True) as watched:
        try:
            if study is not None:
                from surest.study.work import awork_on

                await awork_on(study, work, on_request=watched, **how)
            else:
                await asynchronous.evaluate(session, work, on_failure=on_failure, on_request=watched, **how)
        except (Stop, Pressed) as end:
            stopped = watched.ended_by(end)
    found = session.result(items=listed, stopped=stopped) if study is None else _kept(study, labels, listed, stopped)
    return _ended(replace(found, seconds=time.perf_counter() - began), watched, study is not None)


def _ended(found: Result, watched: Watched, kept: bool) -> Result:
    """The result, or, where Ctrl-C ended the search, `Interrupted` with it."""
    if watched.interrupted and not found.certified:
        raise Interrupted(found, kept=kept)
    return found


async def amean_of(function: Callable[..., Any], repeats: int, item: Any) -> float:
    """The mean of several awaited evaluations of one cell."""
    values = [float(await function(item)) for _ in range(repeats)]
    return min(max(sum(values) / repeats, min(values)), max(values))


def table_seed(table: Table) -> int:
    """The seed of a table's order, where none is given: from the names of its arms and items, and nothing else."""
    names = "\0".join([*map(str, table.labels), "", *map(str, table.items)])
    return int.from_bytes(sha256(names.encode(errors="replace")).digest()[:4], "big")


def _first_outside(table: Table, problem: Problem) -> str:
    """The cell that a complaint is about: the first that is out of range."""
    outside = np.argwhere((table.values < problem.scale.low) | (table.values > problem.scale.high))
    if not len(outside):
        return "a cell of the table"
    arm, place = outside[0].tolist()
    return f"arm {table.labels[arm]!r} on item {table.items[place]!r}"


def _from_table(table: Table, given: Mapping[str, Any], hook: Hook | None) -> Result:
    problem = problem_of(list(table.labels), items=len(table.items), **given)
    known, units = ~np.isnan(table.values), np.full(table.values.shape, np.nan)
    units[known] = problem.scale.to_unit(problem.scale.numbers(table.values[known], _first_outside(table, problem)))
    running: Running[Answer] = Running(
        start_on(problem), len(problem.labels), budget=problem.budget, name=lookup(problem.algorithm).name,
        items=problem.items,
    )  # fmt: skip
    stopped, used = None, np.zeros_like(known)
    try:
        read_off(running, units, hook, used)
    except Stop as stop:
        stopped = str(stop) or "stopped"
    if running.request is not None and stopped is None:
        stopped = "more cells needed"
    arms, places = np.nonzero(used)
    listed = listed_of(running, problem, table.items, (arms, places, table.values[used]))
    standing = lookup(problem.algorithm).standing
    found = result_of(running, problem, standing=standing, stopped=stopped, evaluations=int(used.sum()))
    wanted = [(problem.labels[a], table.items[i]) for a, i in missing_cells(running, units, MOST_WANTED)]
    return replace(found, listed=listed, wanted_cells=tuple(wanted))


MOST_WANTED = 10_000
"""Cells to evaluate next that a result lists, at most."""


def _functions(arms: Any, score: Any, *, asynchronous: bool) -> tuple[tuple[Any, ...], list[Callable[..., Any]]]:
    """Labels, and a function of an item for each."""
    if isinstance(arms, Mapping):
        if score is not None:
            raise UsageError("score goes with labels; these arms are functions already")
        labels, functions = labels_of(list(arms)), list(arms.values())
    elif score is not None:
        labels = labels_of(arms)
        functions = scored(score, labels)
    else:
        raise UsageError("give arms as {label: function of an item}, or labels and score=function(arm, item)")
    for label, function in zip(labels, functions, strict=True):
        if not callable(function):
            raise UsageError(
                f"arm {label!r} is {function!r:.60}; give a function of an item, or leave out items for a table"
            )
        inner = getattr(function, "func", function)
        if inspect.iscoroutinefunction(inner) != asynchronous:
            hint = "await surest.aevaluate(…)" if not asynchronous else "surest.evaluate(…)"
            kind = "not an async function" if asynchronous else "an async function"
            raise UsageError(f"arm {label!r} is {kind}; use {hint} instead")
    return labels, functions


def _repeated(functions: Sequence[Callable[..., Any]], items: Sequence[Any], repeats: int) -> Work:
    if repeats == 1:
        return work_of(functions, 0, items=items)
    return lambda ticket: (mean_of, functions[ticket.arm], items[ticket.item or 0], repeats)


def mean_of(function: Callable[..., Any], item: Any, repeats: int) -> float:
    """The mean of several evaluations of one cell."""
    values = [float(function(item)) for _ in range(repeats)]
    return min(max(sum(values) / repeats, min(values)), max(values))  # rounding must not leave their range


def _checked_list(items: Any) -> list[Any]:
    """The items as a list, refused where it is not clear what an item is."""
    if (
        hasattr(items, "columns")
        or isinstance(items, Mapping | str | bytes | set | frozenset)
        or not hasattr(items, "__iter__")
    ):
        hint = "; for the rows of a data frame: frame.to_dict('records')" if hasattr(items, "columns") else ""
        raise UsageError(f"items are {type(items).__name__}; give a list: questions, instances, numbers{hint}")
    return list(items)


def _count(items: Sequence[Any]) -> int:
    if not items:
        raise UsageError("there are no items; give at least one")
    return len(items)


def _refuse(**given: Any) -> None:
    """Refuse what a table has no use for."""
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"{name} goes with functions and items; a table is read as it is")


def item_keys(items: Sequence[Any]) -> list[str]:
    """What a study calls items: their text, or, where that is long or not one of its kind, position and digest.

    >>> item_keys(["q1", "q2"]), item_keys([1, 1])
    (['q1', 'q2'], ['0-6b86b273ff34', '1-6b86b273ff34'])
    """
    texts = [str(item) for item in items]
    plain = len(set(texts)) == len(texts) and all(0 < len(text) <= 200 and text.isprintable() for text in texts)
    if plain and all(text.strip() for text in texts):
        return texts
    return [f"{i}-{sha256(text.encode(errors='replace')).hexdigest()[:12]}" for i, text in enumerate(texts)]


def _in_study(
    storage: Any, name: str | None, labels: tuple[Any, ...], items: list[Any], given: dict[str, Any], work: Work,
    pool: Workers, watched: Watched, on_failure: float | None, how: dict[str, Any],
) -> Result:  # fmt: skip
    from surest.study.work import work_on

    study, stopped = _study(storage, name, labels, items, given, on_failure), None
    try:
        work_on(study, work, pool, on_request=watched, **how)
    except (Stop, Pressed) as end:
        stopped = watched.ended_by(end)
    return _kept(study, labels, items, stopped)


def _study(
    storage: Any,
    name: str | None,
    labels: tuple[Any, ...],
    items: list[Any],
    given: dict[str, Any],
    on_failure: float | None,
) -> "Study":
    """The study that keeps an evaluation, made if it is not there."""
    from surest.study.study import open_study

    if storage is None or name is None:
        raise UsageError("storage and name go together: storage='sqlite:///studies.db', name='prompts'")
    texts = [str(label) for label in labels]
    return open_study(storage, name, texts, items=item_keys(items), on_failure=on_failure, **given)


def _kept(study: "Study", labels: tuple[Any, ...], items: list[Any], stopped: str | None) -> Result:
    """What a study came to, with the caller's own labels and items."""
    from surest.study.outcome import events_of

    found = study.session().result(items=items, stopped=stopped)
    problem = problem_of(labels, **{**study.settings.problem.settings(), "items": len(items)})
    return replace(found, problem=problem, health=study.health(), events=events_of(study))
