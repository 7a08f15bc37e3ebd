"""A user's units and [0, 1]: the one place where rewards are checked and come in, and where numbers go out to people."""

import math
from dataclasses import dataclass, field, replace
from decimal import Decimal
from inspect import isawaitable
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from surest.core.protocol import FloatArray, Status
from surest.errors import RewardError, UsageError
from surest.text import short

Number = TypeVar("Number", float, FloatArray)


@dataclass(frozen=True, slots=True)
class Scale:
    """The range of the rewards, and which end is good. A procedure sees the worst reward as 0 and the best as 1."""

    low: float = 0.0
    high: float = 1.0
    minimise: bool = False
    clip: bool = False
    """Whether a reward beyond the range counts as the nearer bound. The best arm is then the best by clipped rewards."""
    worst: float = field(init=False, repr=False, compare=False)  # the reward that a procedure sees as 0 …
    best: float = field(init=False, repr=False, compare=False)  # … and as 1
    width: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ends = (self.high, self.low) if self.minimise else (self.low, self.high)
        for name, value in zip(("worst", "best", "width"), (*ends, self.high - self.low), strict=True):
            object.__setattr__(self, name, value)

    def to_unit(self, reward: Number) -> Number:
        """A checked reward, or an array of them, on [0, 1], where 1 is the best."""
        return (reward - self.worst) / (self.best - self.worst) + 0.0  # -0.0 becomes 0.0

    def from_unit(self, value: Number) -> Number:
        """A number, or an array, on [0, 1] in the user's units."""
        return self.worst + value * (self.best - self.worst)

    def number(self, reward: object, of: str) -> float:
        """A reward as a number within the range; what cannot be counted is refused with a message about `of`."""
        if type(reward) is float and self.low <= reward <= self.high:
            return reward + 0.0
        value = plain_number(reward)
        if value is not None and self.clip:
            value = min(max(value, self.low), self.high)
        # The bounds must hold exactly: 10**400 and Decimal("1.0000000000000000001") are compared as they are.
        if value is None or not self.low <= value <= self.high:
            raise RewardError(
                f"reward {short(reward)} for {of} is not a number in [{self.low:g}, {self.high:g}]; "
                f"{self._advice(reward, value)}"
            )
        return float(value) + 0.0

    def numbers(self, rewards: FloatArray, of: str) -> FloatArray:
        """An array of rewards, all within the range."""
        if self.clip:
            rewards = np.clip(rewards, self.low, self.high)
        inside = (self.low <= rewards) & (rewards <= self.high)
        if not inside.all():
            self.number(float(rewards[~inside][0]), of)
        return rewards

    def status(self, status: Status) -> Status:
        """A status on [0, 1] in the user's units."""
        epsilon, intervals = status.epsilon_certified, status.intervals
        if intervals is not None:
            low, high = (self.from_unit(end) for end in intervals)
            intervals = (high, low) if self.minimise else (low, high)
        differences = status.differences
        if differences is not None:
            sign = -1.0 if self.minimise else 1.0
            low, high = (sign * self.width * end + 0.0 for end in differences)  # -0.0 becomes 0.0
            differences = (high, low) if self.minimise else (low, high)
        return replace(
            status,
            epsilon_certified=None if epsilon is None else epsilon * self.width,
            means=None if status.means is None else self.from_unit(status.means),
            apart=None if status.apart is None else status.apart * self.width,
            intervals=intervals,
            differences=differences,
        )

    def _advice(self, reward: object, value: object) -> str:
        if isawaitable(reward):
            getattr(reward, "close", bool)()  # else Python says later, and elsewhere, that it was never awaited
            return "the arm is an async function: use aidentify (aevaluate for a list of items)"
        if isinstance(reward, np.ndarray | list | tuple):
            return "return one number per call, or, with vectorised=True, as many as the function is asked for"
        if no_score(reward) is not None:
            return NO_SCORE
        if value is None:
            return "return an int, a float or a bool"
        if (self.low, self.high) == (0.0, 1.0):
            return "state the range of the rewards with bounds=(low, high), on the command line --bounds LOW,HIGH"
        return (
            f"to keep what was measured, count it as the nearer bound: min(max(reward, {self.low:g}), {self.high:g}). Wider "
            "bounds need a new search"
        )


NO_SCORE = (
    "None and NaN are not scores: raise an exception, or say which reward a failed evaluation counts as (on_failure)"
)


def no_score(reward: object) -> ValueError | None:
    """What is wrong where an evaluation returned None or NaN: it has failed, as one that raises has."""
    reward = reward[0] if isinstance(reward, tuple) and len(reward) == 2 else reward  # with its cost
    value = plain_number(reward)
    missing = reward is None or (isinstance(value, float) and math.isnan(value))
    return ValueError(f"the score is {value}; {NO_SCORE}") if missing else None


def plain_number(reward: object) -> Any:
    """A reward as an int, a float or another exact real number; None for what is not a number."""
    if isinstance(reward, np.generic) or (isinstance(reward, np.ndarray) and reward.ndim == 0):
        reward = reward.item()  # NumPy would round the bounds to the reward's own precision
    if isinstance(reward, Decimal) and reward.is_nan():
        return math.nan
    return reward if isinstance(reward, int | float | Real | Decimal) else None


def checked_scale(bounds: object, minimise: bool = False, clip: bool = False) -> Scale:
    """A scale from bounds that a user gave, validated."""
    try:
        low, high = map(float, bounds)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        low = high = 0.0
    if not isinstance(minimise, bool | np.bool_):
        raise UsageError(f"minimise is {minimise!r:.60}; give True or False")
    if not (math.isfinite(high - low) and low < high):
        raise UsageError(f"bounds {bounds}: give the lowest and the highest possible reward, the lower first")
    return Scale(low, high, bool(minimise), bool(clip))
