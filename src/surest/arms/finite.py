"""Arms whose rewards take finitely many values: any number of pulls is answered exactly, at once.

What a request needs of T rewards is a statistic whose law is known: counts of the values are multinomial, and counts of
the squared differences of pairs are multinomial over their distinct values. So 10^13 pulls cost what one does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from surest.core.protocol import Atoms, BoolArray, FloatArray, IntArray, Pull, Reply, Statistic, atoms_of
from surest.errors import SourceError
from surest.kernels import COMPILED
from surest.kernels.philox import draw_atoms

EXACT = 2**53  # NumPy's binomial stays on whole numbers up to here; larger counts are drawn in parts
CACHED_ATOMS = 64  # pair classes of arms with more atoms are found anew each time: 200 atoms have 20,000
MANY_ARMS, MANY_ASKED = 500, 3
"""Minimum arms, and minimum arms of a request, for one call of a compiled kernel to answer it."""
FEW = 16  # maximum draws that are sorted into an arm's values there, one by one
INVERSION = 30.0  # up to this mean NumPy draws binomial numbers by inversion


@dataclass(frozen=True, eq=False)
class FiniteArms:
    """The laws of n arms: arm i takes ``values[start[i]:start[i + 1]]`` with the probabilities beside them."""

    labels: tuple[str, ...]
    start: IntArray
    values: FloatArray
    probabilities: FloatArray

    def __len__(self) -> int:
        return len(self.labels)

    def law(self, arm: int) -> tuple[FloatArray, FloatArray]:
        """An arm's values and their probabilities."""
        part = slice(self.start[arm], self.start[arm + 1])
        return self.values[part], self.probabilities[part]

    @cached_property
    def means(self) -> FloatArray:
        """Every arm's mean."""
        return _row_sums(self.probabilities * self.values, self.start)

    @cached_property
    def variances(self) -> FloatArray:
        """Every arm's variance."""
        centred = self.values - np.repeat(self.means, np.diff(self.start))
        return _row_sums(self.probabilities * centred**2, self.start)

    def reordered(self, order: IntArray) -> "FiniteArms":
        """The same arms in another order: arm k is what arm ``order[k]`` was."""
        sizes = np.diff(self.start)[order]
        start = np.append(0, np.cumsum(sizes))
        atoms = np.repeat(self.start[order] - start[:-1], sizes) + np.arange(start[-1])
        labels = tuple(self.labels[arm] for arm in order)
        return FiniteArms(labels, start, self.values[atoms], self.probabilities[atoms])

    def mirrored(self) -> "FiniteArms":
        """The same arms with 1 − reward for each reward: what was worst is best."""
        last_first = FiniteArms(
            self.labels[::-1], self.start[-1] - self.start[::-1], 1 - self.values[::-1], self.probabilities[::-1]
        )
        return last_first.reordered(np.arange(len(self))[::-1])

    def simulate(self, seed: int) -> "FiniteSimulation":
        """A bandit that draws from these laws."""
        return FiniteSimulation(self, seed)


def finite_arms(laws: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]], labels: Sequence[str] | None = None) -> FiniteArms:
    """Arms from (values, weights) pairs; weights need not sum to one."""
    names = _named(labels, len(laws))
    values, probabilities, start = [], [], [0]
    for arm, (support, weights) in zip(names, laws, strict=True):
        v, w = np.atleast_1d(np.asarray(support, float)), np.atleast_1d(np.asarray(weights, float))
        if v.shape != w.shape or v.ndim != 1 or not v.size:
            raise SourceError(f"arm {arm!r}: {v.size} values but {w.size} weights; each value needs one weight")
        if not ((v >= 0) & (v <= 1)).all():
            raise SourceError(f"arm {arm!r}: a value outside [0, 1] ({v.tolist()}); rescale the rewards first")
        if not ((w >= 0).all() and 0 < w.sum() < np.inf):
            raise SourceError(
                f"arm {arm!r}: weights {w.tolist()} are not a distribution; they must be ≥ 0 with a positive sum"
            )
        atoms, where = np.unique(v + 0.0, return_inverse=True)
        mass = np.bincount(where, w) / w.sum()
        values.append(atoms[mass > 0])
        probabilities.append(mass[mass > 0])
        start.append(start[-1] + len(values[-1]))
    empty = np.empty(0)
    joined = np.concatenate([empty, *values]), np.concatenate([empty, *probabilities])
    return FiniteArms(names, np.array(start, np.int64), *joined)


def _named(labels: Sequence[str] | None, n: int) -> tuple[str, ...]:
    names = tuple(map(str, range(n))) if labels is None else tuple(labels)
    if len(names) != n:
        raise SourceError(f"{n} arms but {len(names)} labels; give one label for each arm")
    return names


def bernoulli(means: npt.ArrayLike, labels: Sequence[str] | None = None) -> FiniteArms:
    """Arms that pay 1 with the given probabilities, otherwise 0.

    >>> bernoulli([0.5, 0.45]).variances
    array([0.25  , 0.2475])
    """
    p = np.atleast_1d(np.asarray(means, float))
    if not ((p >= 0) & (p <= 1)).all():
        raise SourceError(f"Bernoulli means {p.tolist()} must lie in [0, 1]")
    names = _named(labels, len(p))
    mass = np.column_stack([1 - p, p])
    there = mass > 0  # a sure reward is one atom
    start = np.append(0, np.cumsum(there.sum(1))).astype(np.int64)
    return FiniteArms(names, start, np.broadcast_to([0.0, 1.0], mass.shape)[there], mass[there])


def recorded(rewards: Mapping[str, npt.ArrayLike] | Sequence[npt.ArrayLike]) -> FiniteArms:
    """Arms that draw, with replacement, from recorded rewards."""
    named = rewards if isinstance(rewards, Mapping) else {str(i): r for i, r in enumerate(rewards)}
    return finite_arms([(values, np.ones(np.shape(values))) for values in named.values()], list(named))


class FiniteSimulation:
    """Draws from finite laws. What an arm gives depends on the seed and on its own earlier requests alone."""

    def __init__(self, arms: FiniteArms, seed: int) -> None:
        self.arms = arms
        self.labels = arms.labels
        self._draws = Draws(seed, len(arms))
        self._pairs: dict[int, tuple[FloatArray, FloatArray]] = {}

    def answer(self, request: Pull) -> Reply:
        """Reply to a request with a draw from the exact law of its statistic."""
        large = len(self.arms) >= MANY_ARMS and len(request.arms) >= MANY_ASKED and COMPILED
        if request.statistic is Statistic.ATOMS and large:
            return self._all_atoms(request.arms, request.times)
        wanted = zip(request.arms.tolist(), request.times.tolist(), strict=True)
        match request.statistic:
            case Statistic.MEAN:
                return np.array([_mean_of(self._draws.of(arm), times, *self.arms.law(arm)) for arm, times in wanted])
            case Statistic.PAIRS:
                return np.array(
                    [_mean_of(self._draws.of(arm), times // 2, *self._pair_law(arm)) for arm, times in wanted]
                )
            case Statistic.ATOMS:
                return atoms_of([self._atoms(arm, times) for arm, times in wanted])
            case Statistic.REWARDS:
                return np.concatenate([self._rewards(arm, times) for arm, times in wanted])

    def _all_atoms(self, arms: IntArray, times: IntArray) -> Atoms:
        """The same as `_atoms` of each arm, to the bit, without a step of Python per arm."""
        first, probabilities = self.arms.start[arms], self.arms.probabilities
        sizes = self.arms.start[arms + 1] - first
        offset = np.append(0, np.cumsum(np.minimum(times, sizes)))
        places, counts = np.zeros(offset[-1], np.int64), np.zeros(offset[-1], np.int64)
        quick = easy(times, sizes, probabilities[np.minimum(first + 1, len(probabilities) - 1)])
        keys, requests = self._draws.keys_of(arms[quick])
        laws = first[quick], sizes[quick], probabilities
        draw_atoms(keys, requests, times[quick], *laws, offset[:-1][quick], places, counts)
        values = self.arms.values[places]
        for k in (~quick).nonzero()[0].tolist():
            drawn, often = self._atoms(int(arms[k]), int(times[k]))
            values[offset[k] : offset[k] + len(drawn)], counts[offset[k] : offset[k] + len(drawn)] = drawn, often
        there = counts > 0
        ends = np.append(0, there.cumsum())
        return Atoms(ends[offset], values[there], counts[there])

    def _atoms(self, arm: int, times: int) -> tuple[FloatArray, IntArray]:
        values, probabilities = self.arms.law(arm)
        if times < len(values):  # fewer draws than values: draw them one by one
            which, counts = np.unique(_inverse(self._draws.of(arm).random(times), probabilities), return_counts=True)
            return values[which], counts
        counts = _counts(self._draws.of(arm), times, probabilities)
        return values[counts > 0], counts[counts > 0]

    def _rewards(self, arm: int, times: int) -> FloatArray:
        values, probabilities = self.arms.law(arm)
        return values[_inverse(self._draws.uniforms(arm, times), probabilities)]

    def _pair_law(self, arm: int) -> tuple[FloatArray, FloatArray]:
        """The distinct values of (x − y)²/2 for two rewards x, y, and their probabilities."""
        if arm in self._pairs:
            return self._pairs[arm]
        values, probabilities = self.arms.law(arm)
        i, j = np.triu_indices(len(values), 1)
        classes, where = np.unique(np.append(0.0, (values[i] - values[j]) ** 2 / 2), return_inverse=True)
        mass = np.append(probabilities @ probabilities, 2 * probabilities[i] * probabilities[j])
        law: tuple[FloatArray, FloatArray] = classes, np.bincount(where, mass).astype(float)
        if len(values) <= CACHED_ATOMS:
            self._pairs[arm] = law
        return law


class Draws:
    """One generator per arm and request, all from one seed, in constant memory (NumPy's Philox, keyed by seed and arm).

    Request number c of arm i starts at counter (0, 0, 0, c) of the stream with key (seed, i), so what other arms were
    asked, and when, makes no difference. Single rewards have a stream of their own, on which they do not depend on how
    pulls are divided into requests either.
    """

    SINGLE = 2**63

    def __init__(self, seed: int, n: int) -> None:
        self._seed = np.uint64(seed % 2**64)
        self._bits = np.random.Philox(key=np.array([self._seed, 0], np.uint64))
        self._generator = np.random.Generator(self._bits)
        self._state = self._bits.state
        self._requests = np.zeros(n, np.uint64)
        self._singles = [0] * n

    def of(self, arm: int) -> np.random.Generator:
        """The generator for an arm's next request. Use it before asking for another."""
        self._jump(arm, 0, self._requests.item(arm))
        self._requests[arm] += 1
        return self._generator

    def keys_of(self, arms: IntArray) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """The keys for the next requests of many arms, seed first, and the number of each arm's request."""
        requests = self._requests[arms]
        self._requests[arms] += np.uint64(1)
        return np.append(self._seed, arms.astype(np.uint64)), requests

    def uniforms(self, arm: int, count: int) -> FloatArray:
        """The next numbers of the arm's stream of single rewards."""
        first = self._singles[arm]
        self._singles[arm] += count
        self._jump(arm, first // 4, self.SINGLE)  # a Philox block holds four numbers
        return self._generator.random(first % 4 + count)[first % 4 :]

    def _jump(self, arm: int, low: int, high: int) -> None:
        state = self._state
        state["state"]["key"][1] = arm
        state["state"]["counter"][0] = low
        state["state"]["counter"][3] = high
        state["buffer_pos"], state["has_uint32"] = 4, 0
        self._bits.state = state


def easy(times: IntArray, sizes: IntArray, probabilities: FloatArray) -> BoolArray:
    """Whether `draw_atoms` answers for arms: from their pulls, numbers of atoms, and the probability of the second atom."""
    rare = np.minimum(probabilities, 1 - probabilities)
    answered: BoolArray = (
        (sizes == 1)
        | ((times < sizes) & (times <= FEW))
        | ((sizes == 2) & (times >= sizes) & (times * rare <= INVERSION))
    )
    return answered


def _mean_of(rng: np.random.Generator, times: int, values: FloatArray, probabilities: FloatArray) -> float:
    if len(values) == 2 and times <= EXACT:  # most arms, and much faster than with an array of two counts
        ones = rng.binomial(times, probabilities[1])
        return float(values[0] * (times - ones) + values[1] * ones) / times
    return float(_counts(rng, times, probabilities) @ values) / times


def _counts(rng: np.random.Generator, times: int, probabilities: FloatArray) -> IntArray:
    total = np.zeros(len(probabilities), np.int64)
    while times:
        part = min(times, EXACT)
        if len(probabilities) == 2:
            ones = rng.binomial(part, probabilities[1])
            total += (part - ones, ones)
        else:
            total += rng.multinomial(part, probabilities)
        times -= part
    return total


def _inverse(uniforms: FloatArray, probabilities: FloatArray) -> npt.NDArray[np.intp]:
    """Which atom each uniform number falls on."""
    if len(probabilities) == 2:  # the same, in a third of the time
        return np.asarray(uniforms >= probabilities[0], np.intp)
    return np.searchsorted(np.cumsum(probabilities)[:-1], uniforms, side="right")


def _row_sums(flat: FloatArray, start: IntArray) -> FloatArray:
    return np.add.reduceat(flat, start[:-1]) if len(flat) else np.empty(0)
