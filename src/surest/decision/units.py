"""Rewards as their owner wrote them, from what a procedure saw."""

from surest.core.protocol import FloatArray
from surest.core.scale import Scale


def in_own_units(scale: Scale, values: FloatArray) -> list[float]:
    """Rewards in the user's units: the shortest numbers that a procedure sees as these values.

    >>> import numpy as np
    >>> scale = Scale(0, 60, minimise=True)
    >>> in_own_units(scale, np.array([scale.to_unit(17.3), 0.75]))
    [17.3, 15.0]
    """
    if (scale.worst, scale.best) == (0.0, 1.0):
        found: list[float] = values.tolist()
        return found
    return [_written(scale, value) for value in values.tolist()]


def _written(scale: Scale, value: float) -> float:
    exact = min(max(scale.from_unit(value), scale.low), scale.high)
    for digits in (6, 12, 15, 16):
        short = float(f"{exact:.{digits}g}")
        if scale.low <= short <= scale.high and scale.to_unit(short) == value:
            return short
    return exact
