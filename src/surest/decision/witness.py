"""Where a certificate was enough, said so that it can be checked at three levels: a convex function lies above its secants."""

import math
from collections import Counter
from typing import NamedTuple

import numpy as np

from surest.kernels.bets import Rows
from surest.kernels.certificates import Evidence, certificate, log_value
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


def rows_of(*arms: Counter[float]) -> Rows:
    """All rewards of some arms, nothing compressed."""
    size = np.array([len(rewards) for rewards in arms])
    values, weights = np.zeros((2, len(arms), max(int(size.max()), 1)))
    for i, rewards in enumerate(arms):
        values[i, : size[i]] = sorted(rewards)
        weights[i, : size[i]] = [rewards[value] for value in sorted(rewards)]
    return Rows(values, weights, size)


def witness_of(evidence: Evidence, start: float, epsilon: float) -> Witness:
    """The levels from which the certificate against arm 0 can be read, and what it is there.

    >>> few, many = Counter({0.0: 9, 1.0: 1}), Counter({0.0: 1, 1.0: 9})
    >>> pair, halves = (rows_of(few), rows_of(few, many)), np.full(1, 0.5)
    >>> evidence = Evidence(1, np.zeros(1), *pair, np.array([20]), np.array([0.2]), 0.8, halves, halves)
    >>> found = witness_of(evidence, 0.5, 0.0)
    >>> round(found.nats, 4), round(found.levels[1], 2)
    (6.2934, 0.41)
    """
    end = 1.0 - epsilon
    _, x = certificate(start, math.inf, epsilon, evidence, 0)
    x, step = _minimiser(min(max(x, 4 * NARROWEST), end - 4 * NARROWEST), epsilon, evidence)
    found = _bounded(x, step, epsilon, evidence)
    for step in (1e-3, 1e-4, 1e-5, 1e-6):
        if log_value(x, epsilon, evidence, 0)[0] - found.nats <= 5 * LOST:
            break
        found = max(found, _bounded(x, step, epsilon, evidence), key=lambda witness: witness.nats)
    return found


def _minimiser(x: float, epsilon: float, evidence: Evidence) -> tuple[float, float]:
    """Where the function is least, from a place nearby, and how far to both sides it rises by `LOST`: Newton's steps."""
    end = 1.0 - epsilon
    for _ in range(STEPS):
        near = 1e-4 * min(x, end - x)
        left, right = (log_value(level, epsilon, evidence, 0)[1] for level in (x - near, x + near))
        bend, slope = max((right - left) / (2 * near), 1e-3), 0.5 * (left + right)
        if slope * slope <= 0.01 * LOST * bend:
            break
        x = min(max(x - slope / bend, 0.1 * x), x + 0.9 * (end - x))
    return min(max(x, 4 * NARROWEST), end - 4 * NARROWEST), math.sqrt(LOST / bend)


def _bounded(x: float, step: float, epsilon: float, evidence: Evidence) -> Witness:
    end = 1.0 - epsilon
    step = max(min(step, (x - NARROWEST) / 2, (end - x - NARROWEST) / 2), NARROWEST)
    levels = [x - step, x, x + step]
    points = []
    for level in levels:
        value, _, doubt, _ = log_value(level, epsilon, evidence, 0)
        points.append((level, value - doubt, value + doubt))
    return Witness(levels, convex_bound(points, end))
