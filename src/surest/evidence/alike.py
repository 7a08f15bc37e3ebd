"""Arms in the same state: what is computed for one of them holds for all. Among very many arms, most are alike."""

import numpy as np
import numpy.typing as npt

from surest.compiled import compiled
from surest.core.protocol import IntArray

CROWD = 1_000
"""From so many arms on, those in the same state are treated together."""
MIX = 0x2545F4914F6CDD1D


def kinds_of(*columns: npt.NDArray[np.generic]) -> tuple[IntArray, IntArray]:
    """The kind of each arm, numbered as they first come, and the first arm of each kind: arms are alike if all columns are.

    >>> kinds, firsts = kinds_of(np.array([0.5, 0.25, 0.5, 0.5]), np.array([7, 7, 7, 8]))
    >>> kinds, firsts
    (array([0, 1, 0, 2]), array([0, 1, 3]))
    """
    words = np.empty((len(columns), len(columns[0])), np.int64)
    for place, column in enumerate(columns):
        words[place] = column.view(np.int64) if column.dtype.kind == "f" else column
    kinds, firsts = _numbered(words)
    return kinds, firsts


@compiled
def _numbered(words: IntArray) -> tuple[IntArray, IntArray]:
    """Number columns by what they hold, with a hash table of twice as many places as there are columns."""
    width, n = words.shape
    size = 2
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1)
    kinds, firsts, found = np.empty(n, np.int64), np.empty(n, np.int64), 0
    for i in range(n):
        mixed = words[0, i] * MIX
        for p in range(1, width):
            mixed = ((mixed ^ (mixed >> 29)) + words[p, i]) * MIX
        place = (mixed ^ (mixed >> 32)) & (size - 1)
        while table[place] >= 0 and not _same_column(words, firsts[table[place]], i):
            place = (place + 1) & (size - 1)
        if table[place] < 0:
            table[place], firsts[found] = found, i
            found += 1
        kinds[i] = table[place]
    return kinds, firsts[:found].copy()


@compiled
def _same_column(words: IntArray, i: int, j: int) -> bool:
    for p in range(len(words)):  # noqa: SIM110
        if words[p, i] != words[p, j]:
            return False
    return True
