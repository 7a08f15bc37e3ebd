"""Where a certificate was enough, said so that it can be checked at three levels: a convex function lies above its secants."""

import math
from collections import Counter
from typing import NamedTuple

import numpy as np

from surest.evidence.certificate import Digest, Pair, certificate, log_value
from surest_verify import convex_bound

LOST = 1e-7
"""Nats that a certificate may lose by being bounded from three levels."""
STEPS = 30
"""Newton's steps to the minimiser, at most."""
NARROWEST = 1e-8
"""Levels are so far from the ends, and from each other, or further."""


class Witness(NamedTuple):
    """Three levels, and the lower bound that the values there give."""

    levels: list[float]
    nats: float


def digest_of(rewards: Counter[float]) -> Digest:
    """All rewards, nothing compressed."""
    values = np.array(sorted(rewards))
    return values, np.array([float(rewards[value]) for value in values.tolist()]), len(values)


def witness_of(pair: Pair, start: float, epsilon: float) -> Witness:
    """The levels from which a certificate can be read, and what it is there.

    >>> few, many = digest_of(Counter({0.0: 9, 1.0: 1})), digest_of(Counter({0.0: 1, 1.0: 9}))
    >>> found = witness_of(Pair(few, few, many, 20, 0.2, 0.8, 0.5, 0.5), 0.5, 0.0)
    >>> round(found.nats, 4), round(found.levels[1], 2)
    (6.2934, 0.41)
    """
    end = 1.0 - epsilon
    _, x = certificate(start, math.inf, epsilon, pair)
    x, step = _minimiser(min(max(x, 4 * NARROWEST), end - 4 * NARROWEST), epsilon, pair)
    found = _bounded(x, step, epsilon, pair)
    for step in (1e-3, 1e-4, 1e-5, 1e-6):
        if log_value(x, epsilon, pair)[0] - found.nats <= 5 * LOST:
            break
        found = max(found, _bounded(x, step, epsilon, pair), key=lambda witness: witness.nats)
    return found


def _minimiser(x: float, epsilon: float, pair: Pair) -> tuple[float, float]:
    """Where the function is least, from a place nearby, and how far to both sides it rises by `LOST`: Newton's steps."""
    end = 1.0 - epsilon
    for _ in range(STEPS):
        near = 1e-4 * min(x, end - x)
        left, right = (log_value(level, epsilon, pair)[1] for level in (x - near, x + near))
        bend, slope = max((right - left) / (2 * near), 1e-3), 0.5 * (left + right)
        if slope * slope <= 0.01 * LOST * bend:
            break
        x = min(max(x - slope / bend, 0.1 * x), x + 0.9 * (end - x))
    return min(max(x, 4 * NARROWEST), end - 4 * NARROWEST), math.sqrt(LOST / bend)


def _bounded(x: float, step: float, epsilon: float, pair: Pair) -> Witness:
    end = 1.0 - epsilon
    step = max(min(step, (x - NARROWEST) / 2, (end - x - NARROWEST) / 2), NARROWEST)
    levels = [x - step, x, x + step]
    points = []
    for level in levels:
        value, _, doubt, _ = log_value(level, epsilon, pair)
        points.append((level, value - doubt, value + doubt))
    return Witness(levels, convex_bound(points, end))
