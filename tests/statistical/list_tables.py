"""What statistical tests share: counts that are allowed, pinned numbers, tables, and how a run on one of them ends."""

import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from asking import driven
from surest.core.protocol import Answer

Table = np.ndarray
MANY = [pytest.mark.slow, pytest.mark.timeout(7200)]
"""Marks of a test with thousands of runs."""
PINNED = tomllib.loads(Path(__file__).with_name("pinned.toml").read_text(encoding="utf-8"))
"""Numbers that were measured once."""


def most_allowed(runs: int, rate: float) -> int:
    """A count that a binomial of this rate exceeds with probability under 1e-4."""
    return int(binom.ppf(1 - 1e-4, runs, rate))


def rare(wrong: int, runs: int, rate: float, pinned: int | None = None) -> None:
    """So many runs are wrong, as pinned for them; and no more than a rate allows."""
    print(f"wrong: {wrong} of {runs}, rate {rate}")
    assert pinned in (wrong, None)
    assert wrong <= most_allowed(runs, rate)


def few_or_many(few: tuple[float, int, int], seed: int) -> pytest.MarkDecorator:
    """δ, a number of runs and a seed: few runs in every test, 4,000 at two levels of δ with `make evidence`."""
    many = (pytest.param(delta, 4000, seed, marks=MANY) for delta in (0.1, 0.3))
    return pytest.mark.parametrize(("delta", "runs", "seed"), [few, *many])


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

    def answer(request: Any) -> Table:
        look(request)
        return table[np.ix_(request.arms, request.items)]

    return driven(procedure, answer)
