"""Let a table of arms × items answer a procedure, as far as it is filled."""

import numpy as np

from surest.core.procedure import Running
from surest.core.protocol import Answer, BoolArray, Cells, FloatArray
from surest.core.tickets import Cell
from surest.drivers.desk import Hook


def read_off(running: Running[Answer], table: FloatArray, on_request: Hook | None = None) -> BoolArray:
    """Answer requests for cells from a table on [0, 1] until one of them lacks a cell; which cells were used.

    >>> from surest.core.problem import problem_of
    >>> from surest.algorithms import start_on
    >>> problem = problem_of(2, items=3, seed=1)
    >>> running = Running(start_on(problem), 2, items=3)
    >>> read_off(running, np.array([[1.0, 1, 1], [0, 0, 0]]))
    array([[ True,  True, False],
           [ True,  True, False]])
    >>> running.value.arm
    0
    """
    used = np.zeros(table.shape, np.bool_)
    while isinstance(running.request, Cells):
        if on_request is not None:
            on_request(running)
        block = np.ix_(running.request.arms, running.request.items)
        cells = np.ascontiguousarray(table[block])
        if np.isnan(cells).any():
            break
        used[block] = True
        running.send(cells, "the table")
    return used


def missing_cells(running: Running[Answer], table: FloatArray, most: int) -> list[Cell]:
    """The first cells that a table lacks, in the order in which they will be needed, so many at most."""
    request, found = running.request, list[Cell]()
    if not isinstance(request, Cells):
        return found
    for item in [*request.items.tolist(), *request.ahead.tolist()]:
        for arm in request.arms.tolist():
            if np.isnan(table[arm, item]):
                found.append((arm, item))
                if len(found) == most:
                    return found
    return found
