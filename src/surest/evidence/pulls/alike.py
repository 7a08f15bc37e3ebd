"""Arms in the same state: what is computed for one of them holds for all. Among very many arms, most are alike."""

import numpy as np
import numpy.typing as npt

from surest.core.protocol import IntArray
from surest.kernels.crowds import numbered

CROWD = 1_000  # minimum number of arms for which those in the same state are treated together


def kinds_of(*columns: npt.NDArray[np.generic]) -> tuple[IntArray, IntArray]:
    """The kind of each arm, numbered as they first come, and the first arm of each kind: arms are alike if all columns are."""
    words = np.empty((len(columns), len(columns[0])), np.uint64)
    for place, column in enumerate(columns):
        words[place] = column.view(np.uint64) if column.dtype.kind == "f" else column.astype(np.uint64)
    return numbered(words)
