"""What evaluations cost: a reward with its cost, prices known beforehand, and what was spent on each arm."""

import math
import sys
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.errors import RewardError, UsageError

MANY = 10**9  # more evaluations than are ever asked for at once


class Scored(NamedTuple):
    """A reward, and what its evaluation cost: what a function may return instead of a number. A plain pair will do too.

    >>> import surest
    >>> result = surest.identify({"a": lambda: surest.Scored(1, cost=0.02), "b": lambda: (0, 0.01)}, seed=1)
    >>> (result.cost_by_arm / result.pulls_per_arm).round(2)
    array([0.02, 0.01])
    """

    value: Any
    cost: float | None = None
    """None where it is not known; the arm's price then counts, if it has one."""


def parted(reward: Any, of: str = "an evaluation") -> Scored:
    """A reward and its cost; a cost that is not a finite number ≥ 0 is refused."""
    if not isinstance(reward, tuple) or len(reward) != 2:
        return Scored(reward)
    value, cost = reward
    if cost is None:
        return Scored(value)
    number = _number(cost)
    if number is None:
        raise RewardError(f"the cost of {of} is {cost!r:.60}; give a finite number ≥ 0")
    return Scored(value, number)


def _number(cost: Any) -> float | None:
    """A cost as a number; None where it cannot be one."""
    cost = cost.item() if isinstance(cost, np.generic) else cost
    is_number = isinstance(cost, Real) and not isinstance(cost, bool)
    return float(cost) if is_number and 0 <= cost <= sys.float_info.max else None


def checked_prices(cost: Any, labels: tuple[Any, ...] = ()) -> dict[str, float] | float:
    """What a user says evaluations cost: a number for all arms, or one for each."""
    if not isinstance(cost, Mapping):
        return _price(cost, "cost")
    found = {str(arm): _price(price, f"cost of {str(arm)!r:.60}") for arm, price in cost.items()}
    prices_of(found, labels)
    return found


def _price(value: Any, name: str) -> float:
    number = _number(value)
    if number is None:
        raise UsageError(f"{name} is {value!r:.60}; give a finite number ≥ 0, for all arms or as {{arm: number}}")
    return number


def parse_costs(texts: Sequence[str]) -> dict[str, float] | float:
    """What an evaluation costs, as people write it: ARM=NUMBER for each arm, or one number for all."""
    found: dict[str, float] = {}
    for text in texts:
        arm, _, number = text.rpartition("=")
        try:
            found[arm] = float(number)
        except ValueError:
            raise UsageError(
                f"cost is {text!r:.60}; write ARM=NUMBER, as in large=0.03, or a number for all arms"
            ) from None
    if len(found) < len(texts) or ("" in found and len(found) > 1):
        raise UsageError("cost: give one number for all arms, or exactly one for each arm")
    return found.get("", found)


def prices_of(cost: dict[str, float] | float | None, labels: tuple[Any, ...]) -> FloatArray | None:
    """What an evaluation of each arm costs; None where nothing was said of that."""
    if cost is None or not isinstance(cost, dict):
        return None if cost is None else np.full(len(labels), cost)
    lacking = next((str(label) for label in labels if str(label) not in cost), None)
    if lacking is not None:
        raise UsageError(f"cost has no entry for arm {lacking!r:.60}; give what an evaluation of each arm costs")
    return np.array([cost[str(label)] for label in labels], float)


class Spent:
    """What was spent on each arm. An evaluation whose cost was not measured costs the arm's price.

    `budget` is the most to spend, and makes an evaluation of which nothing is known cost 1. `told` says that each evaluation
    is added by whoever takes its reward; without it, a run adds what it counts.
    """

    def __init__(
        self, arms: int, prices: FloatArray | None = None, *, budget: float | None = None, unit: str = "",
        told: bool = True,
    ) -> None:  # fmt: skip
        self.budget, self.unit, self.told = budget, unit, told
        self._sums, self._measured, self._others = np.zeros(arms), np.zeros(arms), np.zeros(arms)
        self.prices = np.full(arms, np.nan) if prices is None else prices

    def __bool__(self) -> bool:
        """Whether anything is known of costs."""
        counted = self._measured if self.budget is None else self._measured + self._others
        return bool(counted.any()) or not np.isnan(self.prices).all()

    def add(self, arms: Any, costs: Any, times: Any = 1) -> None:
        """Take in evaluations: arms, and the cost of each, NaN where it was not measured."""
        arms, costs = np.asarray(arms, np.int64), np.asarray(costs, float)
        if arms.max(initial=-1) >= len(self._sums):  # rewards of arms that were added may come before word of the arms
            self._widen(int(arms.max()) + 1 - len(self._sums))
        times, known = np.broadcast_to(times, costs.shape), ~np.isnan(costs)
        np.add.at(self._sums, arms[known], costs[known] * times[known])
        np.add.at(self._measured, arms[known], times[known])
        np.add.at(self._others, arms[~known], times[~known])

    def _widen(self, more: int) -> None:
        parts = (np.append(part, np.zeros(max(more, 0))) for part in (self._sums, self._measured, self._others))
        self._sums, self._measured, self._others = parts

    def grow(self, prices: FloatArray | None, arms: int) -> None:
        """Make room for `arms` arms in all."""
        self._widen(arms - len(self._sums))
        self.prices = np.full(arms, np.nan) if prices is None else prices

    @property
    def by_arm(self) -> FloatArray:
        """What was spent on each arm; of what is not known, nothing."""
        return self._sums[: len(self.prices)] + self._others[: len(self.prices)] * np.nan_to_num(self._stated)

    @property
    def times(self) -> FloatArray:
        """How many evaluations of each arm have a known cost."""
        return self._measured[: len(self.prices)] + self._others[: len(self.prices)] * ~np.isnan(self._stated)

    @property
    def _stated(self) -> FloatArray:
        """The price of each arm: 1 under a budget, where nothing was said."""
        return self.prices if self.budget is None else np.nan_to_num(self.prices, nan=1.0)

    @property
    def total(self) -> float:
        """What was spent in all."""
        return float(self.by_arm.sum())

    def beyond(self, arms: IntArray, times: Any) -> bool:
        """Whether `times` more evaluations of arms would exceed the budget."""
        if self.budget is None:
            return False
        return self.total + float((np.nan_to_num(self.each[arms], nan=1.0) * times).sum()) > self.budget * (1 + 1e-12)

    @property
    def each(self) -> FloatArray:
        """What an evaluation of each arm costs: its mean so far, before that its price; NaN where neither is known."""
        with np.errstate(invalid="ignore"):
            return np.where(self.times > 0, self.by_arm / self.times, self.prices)

    def of_all(self, items: int, arms: BoolArray) -> float | None:
        """What all cells of these arms on a list would cost; None if that is not known."""
        whole = items * float(self.each[arms].sum())
        return None if math.isnan(whole) else whole

    def affordable(self, arms: IntArray, out: int) -> int:
        """How many more evaluations of any of these arms the budget allows while `out` are under way."""
        if self.budget is None:
            return MANY
        each = self.each[arms]
        known = self.each if np.isnan(each).any() else each  # an arm that is not known yet may be as dear as any other
        dearest = float(np.nanmax(np.append(known, 0.0)))
        left = self.budget * (1 + 1e-12) - self.total - out * dearest
        return 0 if left < dearest else MANY if dearest == 0 else int(min(left / dearest, MANY))


def money(value: float, unit: str = "") -> str:
    """A cost for people, with its unit.

    >>> money(1.918, "$"), money(0.00341, "€"), money(12_345_678, "tokens"), money(3)
    ('$1.92', '€0.0034', '12,345,678 tokens', '3')
    """
    sign = len(unit) == 1 and not unit.isalnum()
    places = 2 if sign else 0 if value == int(value) or value >= 1000 else 1
    if 0 < value < 10.0**-places * 10 and (sign or value != int(value)):
        places = max(places, 1 - math.floor(math.log10(value)))
    number = f"{value:,.{places}f}"
    return f"{unit}{number}" if sign else f"{number} {unit}".rstrip()
