"""The characteristic time T*: what the best possible sampling plan needs, in pulls per nat (Garivier and Kaufmann 2016).

1/T* = max over shares w of min over challengers j of inf over x of  w_1·K⁻(ν_1, x) + w_j·K⁺(ν_j, x),

where K⁻ and K⁺ are K_inf below and above x: the least a nature confined to [0, 1] must change to make j as good as 1.
Every δ-correct algorithm for rewards in [0, 1] expects to make at least T*·kl(δ, 1−δ) pulls.
"""

import math
from dataclasses import dataclass

import numpy as np

from surest.arms.finite import FiniteArms
from surest.core.protocol import FloatArray
from surest.lab.divergence import STEPS, k_inf_above, k_inf_below
from surest.lab.numerics import root
from surest.result.data import Result
from surest.text import number

ROUNDING = 1e-14  # means closer than this are equal: what separates them is the rounding of a sum


@dataclass(frozen=True)
class Characteristic:
    """T* and the shares of pulls that reach it."""

    time: float  # infinite where two arms are best; 0 for a single arm
    weights: FloatArray  # NaN where no sampling plan helps

    def lower_bound(self, delta: float) -> float:
        """The least expected pulls of any δ-correct algorithm: T*·kl(δ, 1−δ).

        From δ = 1/2 on it is 0: with two arms a coin does as well.
        """
        return self.time * (1 - 2 * delta) * float(np.log((1 - delta) / delta)) if delta < 0.5 else 0.0


def characteristic(arms: FiniteArms, costs: FloatArray | None = None) -> Characteristic:
    """T* and the optimal shares of pulls; with the cost of a pull of each arm, T* in cost: Σ w·c in the place of Σ w."""
    n = len(arms)
    if n == 1:
        return Characteristic(0.0, np.ones(1))
    best = int(arms.means.argmax())
    if (arms.means[best] - np.delete(arms.means, best)).min() < ROUNDING:
        return Characteristic(np.inf, np.full(n, np.nan))
    each = np.ones(n) if costs is None else costs
    race = _Race(arms, best, np.delete(each, best) / each[best])
    ratios = np.insert(race.ratios(_balance(race)), best, 1.0)  # w_j / w_1
    return Characteristic(float(ratios @ each / race.y), ratios / ratios.sum())


def _balance(race: "_Race") -> float:
    """The common value y of the challengers' infima (in units of w_1) at the optimum.

    There Σ_j c_j/c_1·K⁻(ν_1, x_j)/K⁺(ν_j, x_j) = 1, and the sum rises with y. In 1/y its inverse root is nearly a straight line.
    """
    most = float(k_inf_below(*race.champion, race.low.max()[None]).value[0])  # the closest challenger reaches no more

    def excess(z: float) -> float:
        return -1.0 if z * most <= 1 or z == 0 else race.balance(1 / z) ** -0.5 - 1

    least = 1 / most
    high = max(2 * least, 1.0)
    while not excess(high) > 0.5:  # well past the root: where gaps are tiny, rounding blurs it
        high *= 4
    return 1 / root(excess, least, high, relative=1e-12)


class _Race:
    """The best arm against every challenger: for a value y, the level x_j at which challenger j's infimum is y.

    Keeps the last levels and slopes, from which the next search starts.
    """

    def __init__(self, arms: FiniteArms, best: int, dearer: FloatArray) -> None:
        self.dearer = dearer  # what a pull of each challenger costs, in pulls of the best
        values, probabilities = padded(arms)
        self.champion = values[best : best + 1], probabilities[best : best + 1]
        self.challengers = np.delete(values, best, 0), np.delete(probabilities, best, 0)
        self.low = np.delete(arms.means, best)
        self.high = np.full(len(self.low), arms.means[best])
        self.x = (self.low + self.high) / 2
        self.slopes: tuple[FloatArray | None, FloatArray | None] = (None, None)
        self.y = np.nan
        at_top = k_inf_above(*self.challengers, self.high)
        # A constant best arm has a slope of 1/x just below its mean μ: up to this y the infimum is at x = μ.
        sure = arms.variances[best] == 0 and self.high[0] < 1
        self.flat = at_top.value / at_top.slope / self.high if sure else np.zeros(len(self.low))
        self.top_value = at_top.value

    def balance(self, y: float) -> float:
        """Σ_j c_j/c_1·K⁻(ν_1, x_j)/K⁺(ν_j, x_j)."""
        first, second, _, _ = self._meet(y)
        return max(float((self.dearer * np.where(y > self.flat, first / second, 0.0)).sum()), 1e-300)

    def ratios(self, y: float) -> FloatArray:
        """w_j/w_1 for every challenger."""
        _, _, slope_1, slope_j = self._meet(y)
        return np.where(y > self.flat, slope_1 / slope_j, y / self.top_value)

    def _meet(self, y: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Solve K⁻ + (w_j/w_1)·K⁺ = y for x_j, where w_j/w_1 is the ratio of slopes, by Newton's method in a bracket."""
        low, high, x, self.y = self.low, self.high, self.x, y
        for _ in range(STEPS):
            one = k_inf_below(*self.champion, x, self.slopes[0])
            other = k_inf_above(*self.challengers, x, self.slopes[1])
            self.x, self.slopes = x, (one.slope, other.slope)
            with np.errstate(all="ignore"):
                ratio = one.slope / other.slope
                reached = np.where(other.slope > 0, one.value + ratio * other.value, np.inf)
                fall = other.value * (one.curvature + ratio * other.curvature) / other.slope
                moved = x + (reached - y) / fall
            low, high = np.where(reached > y, x, low), np.where(reached > y, high, x)
            moved = np.where((moved >= low) & (moved <= high), moved, (low + high) / 2)
            settled = np.abs(moved - x) <= np.maximum(1e-9 * np.minimum(self.high - x, x - self.low), 3e-16)
            if (settled | (y <= self.flat)).all():
                break
            x = moved
        return one.value, other.value, one.slope, other.slope


LARGEST = 4_000_000  # arms times atoms up to which T* is computed: some ten seconds


def size(arms: FiniteArms) -> int:
    """Arms times atoms: what the work and the memory of `characteristic` grow with (two million take some eight seconds)."""
    return len(arms) * int(np.diff(arms.start).max(initial=0))


def padded(arms: FiniteArms) -> tuple[FloatArray, FloatArray]:
    """The laws as two matrices, one row per arm; short rows repeat their first value with probability 0."""
    sizes = np.diff(arms.start)
    there = np.arange(sizes.max()) < sizes[:, None]
    values = np.repeat(arms.values[arms.start[:-1], None], sizes.max(), axis=1)
    probabilities = np.zeros(there.shape)
    values[there], probabilities[there] = arms.values, arms.probabilities
    return values, probabilities


QUICK = 400_000  # arms times atoms up to which a run is compared with the lower bound: a second or two


def comparison(result: Result, arms: FiniteArms) -> list[str]:
    """The pulls beside what nobody can do without to find the best arm: T*·kl(δ, 1−δ), see ``surest bounds``."""
    if not result.problem.question.best or len(arms) < 2 or result.epsilon > 0 or size(arms) > QUICK:
        return []
    bound = characteristic(arms).lower_bound(result.delta)
    if not math.isfinite(bound):
        return ["Two arms of this source are equally good: no number of pulls can tell them apart."]
    if bound == 0:
        return []
    must = (
        f"Any method that is wrong with probability at most {result.delta:g}, whatever the arms, must expect to make "
        f"at least {number(bound)} pulls here"
    )
    return [f"{must}; this run made {result.pulls / bound:.3g} times that." if result.certified else f"{must}."]
