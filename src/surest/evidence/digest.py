"""An arm's rewards in constant memory, such that every wealth computed from them is at most the true one.

A product over rewards depends on their multiset only. A digest keeps at most `ATOMS` values with weights. When there would
be more, an atom v between its neighbours l < v < u is taken away and its weight given to them, (u − v)/(u − l) of it to l
and the rest to u: the mean stays, and since log(1 − α + α·v/x) is concave in v, every wealth becomes smaller or stays
(Jensen). So compression costs a little power and never validity, whatever atom is chosen. Arms with few distinct rewards are
kept exactly.
"""

import numpy as np
import numpy.typing as npt

from surest.compiled import compiled
from surest.core.protocol import Atoms, FloatArray, IntArray

ATOMS = 32
"""Atoms kept an arm: the variance grows by less than 1 %."""


class Digests:
    """Digests of n arms: arm i holds ``values[i, :size[i]]`` (rising) with ``weights[i, :size[i]]``.

    >>> digests = Digests(2)
    >>> digests.add([0, 0, 1], [1.0, 0.0, 0.25])
    >>> digests.counts, digests.means
    (array([2., 1.]), array([0.5 , 0.25]))
    """

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

    def add(self, arms: npt.ArrayLike, rewards: npt.ArrayLike, times: npt.ArrayLike = 1.0) -> None:
        """Add rewards, each so many times."""
        arm = np.atleast_1d(np.asarray(arms, np.int64))
        reward = np.broadcast_to(np.asarray(rewards, float), arm.shape)
        often = np.broadcast_to(np.asarray(times, float), arm.shape)
        _add_all(self.values, self.weights, self.size, arm, reward, often)
        np.add.at(self.counts, arm, often)
        np.add.at(self.sums, arm, reward * often)

    def add_atoms(self, arms: IntArray, atoms: Atoms) -> None:
        """Add the rewards of a reply to a request for `arms`."""
        self.add(np.repeat(arms, np.diff(atoms.start)), atoms.values, atoms.counts.astype(float))

    def grow(self, more: int) -> None:
        """Make room for more arms."""
        for name in ("values", "weights", "size", "counts", "sums"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)]))

    def copy(self) -> "Digests":
        """The same digests, apart."""
        twin = Digests(len(self.size), self.values.shape[1] - 1)
        for name in ("values", "weights", "size", "counts", "sums"):
            getattr(twin, name)[:] = getattr(self, name)
        return twin

    def take(self, other: "Digests") -> None:
        """Merge the rewards of another set of digests into this one, and empty the other."""
        _merge(self.values, self.weights, self.size, other.values, other.weights, other.size)
        self.counts += other.counts
        self.sums += other.sums
        other.size[:] = 0
        other.counts[:] = 0
        other.sums[:] = 0


@compiled
def _add_all(
    values: FloatArray, weights: FloatArray, size: IntArray, arms: IntArray, rewards: FloatArray, times: FloatArray
) -> None:
    for k in range(len(arms)):
        i = arms[k]
        size[i] = insert(values[i], weights[i], size[i], rewards[k], times[k])


@compiled
def _merge(
    values: FloatArray,
    weights: FloatArray,
    size: IntArray,
    more_values: FloatArray,
    more_weights: FloatArray,
    more_size: IntArray,
) -> None:
    for i in range(len(size)):
        for p in range(more_size[i]):
            size[i] = insert(values[i], weights[i], size[i], more_values[i, p], more_weights[i, p])


@compiled
def insert(values: FloatArray, weights: FloatArray, size: int, value: float, weight: float) -> int:
    """Put an atom in its place, then take one away if there is no room for it. Returns the new size."""
    place = size
    while place > 0 and values[place - 1] >= value:
        place -= 1
    if place < size and values[place] == value:
        weights[place] += weight
        return size
    for p in range(size, place, -1):
        values[p], weights[p] = values[p - 1], weights[p - 1]
    values[place], weights[place] = value, weight
    size += 1
    if size < len(values):
        return size
    return _remove_cheapest(values, weights, size)


@compiled
def _remove_cheapest(values: FloatArray, weights: FloatArray, size: int) -> int:
    """Take away the inner atom that loses least, weight·(v − l)·(u − v), sharing its weight among its neighbours."""
    cheapest, least = 1, np.inf
    for p in range(1, size - 1):
        loss = weights[p] * (values[p] - values[p - 1]) * (values[p + 1] - values[p])
        if loss < least:
            cheapest, least = p, loss
    low, value, high = values[cheapest - 1], values[cheapest], values[cheapest + 1]
    upper = weights[cheapest] * ((value - low) / (high - low))
    weights[cheapest + 1] += upper
    weights[cheapest - 1] += weights[cheapest] - upper
    for p in range(cheapest, size - 1):
        values[p], weights[p] = values[p + 1], weights[p + 1]
    return size - 1
