"""A stand-in for `surest.core.protocol.Cells`, with the same interface, where the protocol does not have it yet."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from surest.core.protocol import IntArray, Status


class Cells:
    """A request for a block of cells: evaluate each of `arms` on each of `items` of a list, none twice."""

    __slots__ = ("ahead", "arms", "items", "status")

    def __init__(
        self,
        arms: npt.ArrayLike,
        items: npt.ArrayLike,
        ahead: npt.ArrayLike = (),
        status: Callable[[], Status] | None = None,
    ) -> None:
        self.arms: IntArray = np.atleast_1d(np.asarray(arms, dtype=np.int64))
        self.items: IntArray = np.atleast_1d(np.asarray(items, dtype=np.int64))
        self.ahead: IntArray = np.asarray(ahead, dtype=np.int64)
        self.status = status

    @property
    def total(self) -> int:
        """All cells of the request."""
        return len(self.arms) * len(self.items)
