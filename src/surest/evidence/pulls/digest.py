"""An arm's rewards in constant memory, such that every wealth computed from them is at most the true one.

A product over rewards depends on their multiset only. A digest keeps at most `ATOMS` values with weights. When there would
be more, an atom v between its neighbours l < v < u is taken away and its weight given to them, (u − v)/(u − l) of it to l
and the rest to u: the mean stays, and since log(1 − α + α·v/x) is concave in v, every wealth becomes smaller or stays
(Jensen). So compression costs a little power and never validity, whatever atom is chosen. Arms with few distinct rewards are
kept exactly.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from surest.core.protocol import Atoms, FloatArray, IntArray
from surest.kernels import digests
from surest.kernels.bets import Rows

ATOMS = 32  # atoms kept per arm: the variance grows by less than 1 %


class Digests:
    """Digests of n arms: arm i holds ``values[i, :size[i]]`` (rising) with ``weights[i, :size[i]]``."""

    def __init__(self, n: int, atoms: int = ATOMS) -> None:
        if atoms < 2:
            raise ValueError(f"a digest needs at least its smallest and its largest atom; got room for {atoms}")
        self.values = np.zeros((n, atoms + 1))  # one place more, for an atom on its way in or out
        self.weights = np.zeros((n, atoms + 1))
        self.size = np.zeros(n, np.int64)
        self.counts = np.zeros(n)
        self.sums = np.zeros(n)

    @property
    def means(self) -> FloatArray:
        """Every arm's mean reward, exact; NaN without rewards."""
        with np.errstate(invalid="ignore"):
            return self.sums / self.counts

    def rows(self) -> Rows:
        """The rewards as kernels take them."""
        return Rows(self.values, self.weights, self.size)

    def told(self) -> tuple[Rows, FloatArray, FloatArray]:
        """The same, how many rewards each arm has, and their sums."""
        return self.rows(), self.counts, self.sums

    def add(self, arms: npt.ArrayLike, rewards: npt.ArrayLike, times: npt.ArrayLike = 1.0) -> None:
        """Add rewards, each so many times."""
        arm = np.atleast_1d(np.asarray(arms, np.int64))
        reward = np.broadcast_to(np.asarray(rewards, float), arm.shape)
        often = np.broadcast_to(np.asarray(times, float), arm.shape)
        digests.add_all(self.values, self.weights, self.size, self.counts, self.sums, arm, reward, often)

    def add_atoms(self, arms: IntArray, atoms: Atoms) -> None:
        """Add the rewards of a reply to a request for `arms`."""
        arm = np.repeat(arms, atoms.start[1:] - atoms.start[:-1])
        kept = self.values, self.weights, self.size, self.counts, self.sums
        digests.add_all(*kept, arm, atoms.values, atoms.counts.astype(float))

    def grow(self, more: int) -> None:
        """Make room for more arms."""
        for name, array in vars(self).items():
            setattr(self, name, np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)]))

    def of(self, arms: Sequence[int] | IntArray) -> "Digests":
        """Copies of the digests of some arms."""
        some = Digests(0)
        for name, array in vars(self).items():
            setattr(some, name, array[np.asarray(arms)])
        return some

    def copy(self) -> "Digests":
        """Copies of all of them."""
        return self.of(np.arange(len(self.size)))

    def take(self, other: "Digests") -> None:
        """Merge the rewards of another set of digests into this one, and empty the other."""
        digests.merge(self.values, self.weights, self.size, other.values, other.weights, other.size)
        self.counts += other.counts
        self.sums += other.sums
        other.size[:] = 0
        other.counts[:] = 0
        other.sums[:] = 0
