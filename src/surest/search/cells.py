"""Let a table of arms × items answer a procedure, as far as it is filled."""

from dataclasses import replace

import msgspec
import numpy as np

from surest.algorithms import running_on
from surest.arms.tables import Table
from surest.core.problem import Problem, default_algorithm
from surest.core.procedure import Running
from surest.core.protocol import Answer, BoolArray, Cells, FloatArray
from surest.errors import Stop, UsageError
from surest.result.data import Listed, Result
from surest.result.known import agreeing
from surest.result.making import result_of
from surest.search.desk import Hook
from surest.search.tickets import Cell
from surest.search.watching import Looks

MOST_WANTED = 10_000
"""Cells to evaluate next that a result lists, at most."""


def read_off(
    running: Running[Answer], table: FloatArray, on_request: Hook | None = None, used: BoolArray | None = None
) -> BoolArray:
    """Answer requests for cells from a table on [0, 1] until one of them lacks a cell; which cells were used.

    They are marked in `used`, if given: what was used is then known even where `on_request` stops the run.
    """
    used = np.zeros(table.shape, np.bool_) if used is None else used
    while isinstance(running.request, Cells):
        if on_request is not None:
            on_request(running)
        block = running.request.arms[:, None], running.request.items
        cells = table[block]
        if np.isnan(cells).any():
            break
        used[block] = True
        running.send(cells, "the table")
    return used


def missing_cells(running: Running[Answer], table: FloatArray, most: int) -> list[Cell]:
    """The first cells that a table lacks, in the order in which they will be needed, so many at most."""
    request = running.request
    if not isinstance(request, Cells):
        return []
    items = np.concatenate([request.items, request.ahead])
    gaps = np.argwhere(np.isnan(table[np.ix_(request.arms, items)].T))[:most]
    return [(int(request.arms[arm]), int(items[place])) for place, arm in gaps]


def searched(
    problem: Problem, table: Table, units: FloatArray, hook: Hook | None = None, looks: Looks | None = None
) -> Result:
    """What a search finds that reads the table cell by cell, as if each had to be evaluated, up to a gap that it meets."""
    running, stopped = running_on(problem), None
    used = np.zeros(units.shape, np.bool_)
    try:
        read_off(running, units, hook, used)
    except Stop as stop:
        stopped = str(stop) or "stopped"
    if running.request is not None and stopped is None:
        stopped = "more cells needed"
    arms, places = np.nonzero(used)
    listed = Listed(table.items, int(running.pulls_per_arm.max()), arms, places, table.values[used])
    found = result_of(
        running, problem, history=() if looks is None else tuple(looks.points), stopped=stopped,
        evaluations=int(used.sum()),
    )  # fmt: skip
    wanted = [(problem.labels[a], table.items[i]) for a, i in missing_cells(running, units, MOST_WANTED)]
    return replace(found, listed=listed, wanted_cells=tuple(wanted))


def population(problem: Problem, table: Table, units: FloatArray, means: FloatArray) -> Result | None:
    """What the table says of what its items are a sample of; None where that is not to be asked. `means` are of all scores."""
    if problem.target == "population" or len(problem.labels) < 2:
        return None
    asked = {name: getattr(problem, name) for name in ("top", "above", "control", "margin", "error", "cheapest")}
    settings = {"items": 1, **{name: value for name, value in asked.items() if value is not None}}
    other = msgspec.structs.replace(
        problem, target="population", algorithm=default_algorithm(settings), budget=None,
        options={name: value for name, value in problem.options.items() if name in ("group", "weights")},
    )  # fmt: skip
    try:
        return replace(searched(other, table, units), means=means, wanted_cells=())
    except UsageError:  # items, or clusters, of different weight
        return None


def further(found: Result) -> Result:
    """The result of a search, with what holds for further items where it has evaluated every cell of its list."""
    listed, problem = found.listed, found.problem
    if listed is None or listed.beside is not None or not found.certified or found.resampled:
        return found
    arms, items = len(problem.labels), tuple(listed.items)
    if (found.pulls_per_arm < len(items)).any() or len(listed.values) < arms * len(items):
        return found
    table = Table(problem.labels, items, listed.grid(arms))
    other = population(problem, table, problem.scale.to_unit(table.values), found.means)
    return found if other is None else replace(found, listed=replace(listed, beside=agreeing(found, other)))
