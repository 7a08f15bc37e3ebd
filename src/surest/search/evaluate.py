"""The front door for lists of items: `evaluate`, and `aevaluate` for async functions."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any

import msgspec
import numpy as np

from surest.arms.kinds import check_takes
from surest.arms.tables import Table, table_of
from surest.core.costs import Scored, parted
from surest.core.keywords import FUNCTION, check_keywords, shown_like
from surest.core.problem import Problem, check_spread, labels_of, problem_of, takes_items_settings
from surest.core.scale import checked_scale
from surest.errors import UsageError
from surest.result.data import Listed, Result
from surest.result.known import agreeing, is_right, known, with_gaps
from surest.search.call import Work, is_async, work_of
from surest.search.cells import further, population, searched
from surest.search.executor import IN_FLIGHT, Workers, drive
from surest.search.loading import resolved
from surest.search.run import Run
from surest.search.watching import Hook


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
    simulate: bool = False,
    history: bool = True,
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
        array (a row for each arm and a column for each item), a CSV file. Of a complete table the answer is exact, and
        `needed` says what a search would have evaluated. One with gaps is what is known so far. In a mapping of functions
        the `control` may be its scores on the items, known beforehand: it is not evaluated, others are predicted from it.
    items : sequence, optional
        The items: questions, instances, folds, seeds. Duplicates count twice.
    score : callable, optional
        ``score(arm, item)``, for arms that are labels.
    target : {"items", "population"}
        Whether the verdict is about the mean on these items, or about what they are a random sample of.
    repeats : int
        Evaluations per cell; their mean counts.
    spread : float, optional
        Maximum difference of two arms on any item, as `race` uses it: fewer cells if arms are alike. It must hold on
        items that are never evaluated, too; docs/items.md says when to state one.
    seed : int, optional
        Seed of the order of the items; fresh, and reported, by default. For a table it is then made from the names of its arms
        and items, so that the order stays the same while it is filled. Choosing the best of several seeds voids the claim.
    columns : mapping, optional
        Other names of a table's columns: ``{"arm": "model", "item": "question", "value": "score"}``.
    delta, epsilon, budget, bounds, minimise, cost, budget_cost, cost_unit, storage, name, progress
        As for `identify`; `budget` is the maximum number of cells to evaluate. A table may have a column cost. The result then
        says what all cells would cost. A complete table is not searched, so that nothing is shown.
    executor, in_flight, retries, on_failure
        As for `identify`. Idle workers evaluate ahead; the transcript is that of a single worker.
    simulate : bool
        Search a table as if each score had to be evaluated, instead of saying what all of them say.
    history : bool
        Keep evidence over time in ``result.history``, for ``result.plot("evidence")``.
    **settings
        The algorithm's own options, such as ``group`` and ``weights``.

    Returns
    -------
    Result
        With `.best`, `.contenders`, `.certified`, `.exact`, `.evaluations`, `.cells`, `.table`, `.differences` and more. Of a
        table also `.population`, the answer for further items like these, and `.needed`.

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
    check_keywords(locals(), score=FUNCTION)
    kept = {"retries": retries, "on_failure": on_failure, "storage": storage, "name": name}
    if items is None:
        given = {"score": score, "executor": executor, **kept, "repeats": settings.get("repeats")}
        for unused in (option for option, value in given.items() if value is not None):
            raise UsageError(f"{unused} applies to functions and items only; a table is read as it is")
        table = table_of(arms, columns)
        for note in table.notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        seed = table_seed(table) if seed is None else seed
        return _of_table(table, {"delta": delta, "seed": seed, **resolved(settings)}, progress, simulate, history)
    if simulate or columns is not None:
        raise UsageError(f"{'simulate' if simulate else 'columns'} requires a table of scores; functions are evaluated")
    in_flight = 1 if executor is None else in_flight
    how = {"in_flight": in_flight, "seed": seed, "history": history, "delta": delta, **kept, **settings}
    run, work = _begun(arms, items, score, {"progress": progress, "ticks": executor is None, **how})
    with run:
        drive(run.desk, work, executor, in_flight)
    return further(run.found()) if storage is None else run.found()


@shown_like(evaluate, "columns", "executor", "simulate")
async def aevaluate(
    arms: Any,
    items: Sequence[Any],
    delta: float = 0.05,
    *,
    score: Callable[..., Any] | None = None,
    in_flight: int = IN_FLIGHT,
    progress: Hook | bool | None = None,
    history: bool = True,
    **how: Any,
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
    check_keywords({**locals(), **how}, score=FUNCTION)
    how |= {"in_flight": in_flight, "history": history, "delta": delta, "progress": progress}
    run, work = _begun(arms, items, score, how, asynchronous=True)
    with run:
        await run.await_all(work, in_flight)
    return further(run.found())


def _begun(arms: Any, items: Any, score: Any, how: dict[str, Any], *, asynchronous: bool = False) -> tuple[Run, Work]:
    """A search on a list, and what to call for each cell."""
    frame = hasattr(items, "columns")
    if frame or isinstance(items, Mapping | str | bytes | set | frozenset) or not hasattr(items, "__iter__"):
        hint = "; for the rows of a data frame: frame.to_dict('records')" if frame else ""
        raise UsageError(f"items are {type(items).__name__}; give a list: questions, instances, numbers{hint}")
    listed = list(items)
    if not listed:
        raise UsageError("there are no items; give at least one")
    if how.get("control") is not None:
        arms, how = _known_control(arms, listed, how)
    labels, functions = _functions(arms, score, asynchronous=asynchronous)
    run, mean = Run.begun(labels, items=listed, **how), amean_of if asynchronous else mean_of
    repeats = run.problem.repeats
    several = functions if repeats == 1 else [partial(mean, function, repeats) for function in functions]
    return run, work_of(several, 0, items=run.items)


def mean_of(function: Callable[..., Any], repeats: int, item: Any) -> Scored:
    """The mean of several evaluations of one cell, and what they cost together."""
    return _mean([function(item) for _ in range(repeats)])


async def amean_of(function: Callable[..., Any], repeats: int, item: Any) -> Scored:
    """`mean_of` for a function that is awaited."""
    return _mean([await function(item) for _ in range(repeats)])


def table_seed(table: Table) -> int:
    """The seed of a table's order, where none is given: from the names of its arms and items, and nothing else."""
    names = "\0".join([*map(str, table.labels), "", *map(str, table.items)])
    return int.from_bytes(sha256(names.encode(errors="replace")).digest()[:4], "big")


def _of_table(
    table: Table, given: Mapping[str, Any], progress: Hook | bool | None, simulate: bool, history: bool
) -> Result:
    """What a table says, watched meanwhile."""
    if table.costs is not None and given.get("cost") is None:
        costs = dict(zip(map(str, table.labels), table.costs, strict=True))
        given = {"cost_unit": table.cost_unit, **given, "cost": costs}
    problem = problem_of(list(table.labels), items=len(table.items), **given)
    with Run(None, problem, progress=progress, history=history) as run:
        found = _told(table, problem, run, simulate)
    return run.found(found)


def _told(table: Table, problem: Problem, run: Run, simulate: bool) -> Result:
    """What a table says: of a complete one all that there is to know, unless a search on it is to be simulated."""
    there, units = ~np.isnan(table.values), np.full(table.values.shape, np.nan)
    outside = np.argwhere((table.values < problem.scale.low) | (table.values > problem.scale.high)).tolist()
    cell = [f"arm {table.labels[arm]!r} on item {table.items[place]!r}" for arm, place in outside[:1]]
    units[there] = problem.scale.to_unit(problem.scale.numbers(table.values[there], *cell or ["a cell"]))
    for place, item in enumerate(table.items) if problem.spread is not None else ():
        row = {arm: float(units[arm, place]) for arm in np.flatnonzero(there[:, place]).tolist()}
        check_spread(problem, row, f"item {item!r:.80}")
    quiet = table.complete and not simulate
    found = searched(problem, table, units, None if quiet else run, run.looks)
    if simulate:
        return replace(found, resampled=True)
    if not table.complete:
        found = with_gaps(found, table.values)
        return replace(found, listed=_listed(found, beside=population(problem, table, units, found.means)))
    exact = known(msgspec.structs.replace(problem, target="items"), table.items, table.values)
    needed = found.evaluations if found.certified else None
    if problem.target == "population":
        listed = _listed(exact, items_used=found.items_used, needed=needed, beside=exact)
        all_: dict[str, Any] = {"means": exact.means, "pulls": exact.pulls, "pulls_per_arm": exact.pulls_per_arm}
        return replace(found, **all_, evaluations=exact.pulls, listed=listed)
    misled = needed is not None and not is_right(exact, found)
    beside = population(problem, table, units, exact.means)
    beside = None if beside is None else agreeing(exact, beside)
    spent = {} if found.cost is None else {"needed_cost": None if needed is None else found.cost}
    listed = _listed(exact, needed=needed, misled=misled, beside=beside, **spent)
    whole = None if problem.prices is None else problem.prices * len(table.items)
    return replace(exact, listed=listed, warnings=found.warnings, cost_by_arm=whole, cost_of_all=found.cost_of_all)


def _listed(result: Result, **more: Any) -> Listed:
    assert result.listed is not None
    return replace(result.listed, **more)


def _functions(arms: Any, score: Any, *, asynchronous: bool) -> tuple[tuple[Any, ...], list[Callable[..., Any]]]:
    if isinstance(arms, Mapping):
        if score is not None:
            raise UsageError("score requires labels; these arms are functions already")
        labels, functions = labels_of(list(arms)), list(arms.values())
    elif score is not None:
        labels = labels_of(arms)
        functions = [partial(score, label) for label in labels]
    else:
        raise UsageError("give arms as {label: function of an item}, or labels and score=function(arm, item)")
    use = "not an async function; use surest." if asynchronous else "an async function; use await surest.a"
    for label, function in zip(labels, functions, strict=True):
        if not callable(function):
            raise UsageError(
                f"arm {label!r} is {function!r:.60}; give a function of an item, or leave out items for a table"
            )
        if is_async(function) != asynchronous:
            raise UsageError(f"arm {label!r} is {use}evaluate(…) instead")
        name = getattr(getattr(function, "func", function), "__name__", "a function")
        check_takes(function, 1, f"{name} is called with {'an item' if score is None else 'an arm and an item'}")
    return labels, functions


def _known_control(arms: Any, items: Sequence[Any], settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Arms and settings where the control is given as its row of scores: it is not evaluated, and `known` has the row."""
    label = settings.get("control")
    row = arms.get(label) if isinstance(arms, Mapping) else None
    if row is None or callable(row):
        return arms, settings
    scale = checked_scale(settings.get("bounds", (0.0, 1.0)), settings.get("minimise", False))
    values = _scores_on(items, row)
    if values is None:
        raise UsageError(
            f"the control {label!r} has no score for some of the {len(items)} items; give it all, or a function"
        )
    units = [[scale.to_unit(scale.number(x, f"control {label!r}")) for x in values]]
    for old in settings.get("older", ()):
        values = _scores_on(items, old)
        if values is None:
            raise UsageError(
                f"a row of older has no score for some of the {len(items)} items; give each row as {{item: score}}, or a score "
                "for each item in their order"
            )
        units.append([scale.to_unit(scale.number(x, "a score in older")) for x in values])
    other = next((function for function in arms.values() if callable(function)), None)  # the control's is never called
    return {**arms, label: other}, {**settings, "known": units[0], "older": units[1:]}


def _scores_on(items: Sequence[Any], row: Any) -> list[Any] | None:
    """The scores of a row, a mapping or in the order of the items, on each of them; None if some are missing."""
    values = [row.get(item) for item in items] if isinstance(row, Mapping) else list(row)
    return None if len(values) != len(items) or None in values else values


def _mean(rewards: list[Any]) -> Scored:
    told = [parted(reward) for reward in rewards]
    values, costs = [float(each.value) for each in told], [each.cost for each in told if each.cost is not None]
    mean = min(max(sum(values) / len(values), min(values)), max(values))  # rounding must not leave their range
    return Scored(mean, sum(costs) if len(costs) == len(told) else None)
