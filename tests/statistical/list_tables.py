"""Hard tables for the questions on lists, and how a run on one of them ends."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from surest.core.protocol import Answer

Table = np.ndarray
MANY = [pytest.mark.slow, pytest.mark.timeout(7200)]
"""Marks of a test with thousands of runs."""


def most_allowed(runs: int, rate: float) -> int:
    """A count that a binomial of this rate exceeds with probability under 1e-4."""
    return int(binom.ppf(1 - 1e-4, runs, rate))


def rows(ones: list[int], items: int, seed: int = 0) -> Table:
    """A row for each number of ones, at independent places."""
    rng = np.random.default_rng([7, seed])
    table = np.zeros((len(ones), items))
    for j, count in enumerate(ones):
        table[j, rng.permutation(items)[:count]] = 1
    return table


def played(evidence: Any, table: Table, order: Iterable[int]) -> Any:
    """Evidence that has gone through the items until no two arms are left."""
    for item in order:
        if len(evidence.play) < 2:
            break
        evidence.count(table[evidence.play, item])
    return evidence


def answer_to(algorithm: Callable[..., Any], table: Table, delta: float, seed: Any, **options: Any) -> Answer:
    """How an algorithm ends on a table."""
    n, items = table.shape
    return ended(algorithm(np.arange(n), delta, items=items, rng=np.random.default_rng(seed), **options), table)


def ended(procedure: Any, table: Table, look: Callable[[Any], object] = lambda request: None) -> Answer:
    """How a procedure ends whose scores are in a table; each request is shown before it is answered."""
    reply = None
    try:
        while True:
            request = procedure.send(reply)
            look(request)
            reply = table[np.ix_(request.arms, request.items)]
    except StopIteration as end:
        return end.value


TOP: dict[str, tuple[Callable[[], Table], int]] = {
    "ties": (lambda: rows([30] * 6, 60), 2),
    "one item apart": (lambda: rows([31] * 3 + [30] * 5, 60), 3),
    "one clear, one item apart": (lambda: rows([48, 31, 30, 30], 60), 2),
    "a lottery": (lambda: np.array([[0.9] * 60, [0.4] * 49 + [1.0] * 11, *[[0.5] * 60] * 3]), 2),
}
"""Tables of which the first m rows are a right set, with their m."""
ABOVE: dict[str, tuple[Callable[[], Table], float, float, int]] = {
    "on the bar": (lambda: rows([30] * 8, 60), 0.5, 0.0, -1),
    "one item below": (lambda: rows([29] * 8, 60), 0.5, 0.0, 1),
    "at the end of the zone": (lambda: rows([36] * 8, 60), 0.5, 0.1, -1),
    "rare": (lambda: rows([3] * 8, 60), 0.05, 0.0, -1),
}
"""Tables with a bar, an ε, and the verdict that would be wrong for every arm."""
CONTROL: dict[str, tuple[Callable[[], Table], float, int]] = {
    "equal to the control": (lambda: rows([30] * 8, 60), 0.0, 1),
    "equal, with a margin": (lambda: rows([30] * 8, 60), 0.1, 1),
    "better by the margin and an item": (lambda: rows([25] + [32] * 7, 60), 0.1, -1),
}
"""Tables of which row 0 is the control, with a margin, and the verdict that would be wrong for every other arm."""
