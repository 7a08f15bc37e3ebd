"""Kernels on one nominee and one challenger, or on one arm, whose rewards are given as (values, weights, number of atoms)."""

from typing import NamedTuple

import numpy as np

from surest.kernels import bets, certificates, differences
from surest.kernels.bets import Rows

Digest = tuple[np.ndarray, np.ndarray, int]


class Pair(NamedTuple):
    """What the certificate of a nominee against one challenger rests on: see `evidence.certificates.Evidence`."""

    before: Digest
    since: Digest
    nominee: Digest
    bets: int
    base: float
    share: float
    guess_nominee: float
    guess: float
    among: float = 1.0

    def evidence(self) -> certificates.Evidence:
        """Arm 0 is the challenger, arm 1 the nominee."""
        numbers = [np.array([number]) for number in (self.base, self.guess_nominee, self.guess)]
        own = rows_of(self.before), rows_of(self.since, self.nominee), np.array([self.bets]), numbers[0], self.share
        return certificates.Evidence(1, np.zeros(1), *own, *numbers[1:], self.among)


def rows_of(*digests: Digest) -> Rows:
    """The rewards of some arms."""
    values, weights = np.zeros((2, len(digests), max(1, *(size for _, _, size in digests))))
    for i, (own, often, size) in enumerate(digests):
        values[i, :size], weights[i, :size] = own[:size], often[:size]
    return Rows(values, weights, np.array([size for _, _, size in digests]))


def log_value(x: float, epsilon: float, pair: Pair) -> tuple[float, float, float, float]:
    return certificates.log_value(x, epsilon, pair.evidence(), 0)


def certificate(start: float, goal: float, epsilon: float, pair: Pair) -> tuple[float, float]:
    return certificates.certificate(start, goal, epsilon, pair.evidence(), 0)


def growth(values: np.ndarray, weights: np.ndarray, size: int, *rest: object) -> tuple[float, float, float]:
    return bets.growth(rows_of((values, weights, int(size))), 0, *rest)


def mixture(values: np.ndarray, weights: np.ndarray, size: int, *rest: object) -> tuple[float, float]:
    return bets.mixture(rows_of((values, weights, int(size))), 0, *rest)


def exceeds(first: Digest, up: int, second: Digest, down: int, *rest: float) -> tuple[float, float, float]:
    return differences.exceeds(rows_of(first, second), 0, up, 1, down, *rest)
