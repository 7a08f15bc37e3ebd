"""Kernels on one nominee and one challenger, or on one arm, whose rewards are given as (values, weights, number of atoms)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import mpmath
import numpy as np

from surest.core.protocol import atoms_of
from surest.evidence.pulls.digest import Digests
from surest.kernels import bets, certificates, differences
from surest.kernels.bets import Rows
from surest.kernels.constants import ALPHA, DECAY, DOWN, IDLE, JOINT, RHO, UP, WAIT

Digest = tuple[np.ndarray, np.ndarray, int]


def tell(ledger: Any, arms: Sequence[int], rewards: Sequence[Any]) -> None:
    """Tell a ledger some rewards of each of some arms."""
    parts = [np.unique(np.asarray(some, float), return_counts=True) for some in rewards]
    ledger.count(np.array(arms), atoms_of(parts))


def digest_of(rewards: Sequence[float]) -> Digest:
    """Rewards as they are, each value once."""
    values, counts = np.unique(np.asarray(rewards, float), return_counts=True)
    return values, counts, len(values)


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


def above(digests: Digests, x: float) -> np.ndarray:
    """A(x) of each arm."""
    return _mixtures(digests, x, True)


def below(digests: Digests, x: float) -> np.ndarray:
    """B(x) of each arm."""
    return _mixtures(digests, x, False)


def _mixtures(digests: Digests, x: float, is_above: bool) -> np.ndarray:
    rows, counts, sums = digests.told()
    many, levels = bets.wide_bets(counts, sums, is_above), np.broadcast_to(x, len(counts)).tolist()
    return np.array(
        [bets.mixture(rows, i, k, at, is_above)[0] for i, (k, at) in enumerate(zip(many, levels, strict=True))]
    )


def exceeds(first: Digest, second: Digest, *rest: float) -> tuple[float, float, float]:
    counts, sums = np.array([[often.sum(), values @ often] for values, often, _ in (first, second)], float).T.copy()
    return differences.exceeds(rows_of(first, second), counts, sums, 0, 1, *rest)


def exact_value(x: mpmath.mpf, pair: Pair, epsilon: float | mpmath.mpf = 0) -> mpmath.mpf:
    """The function whose infimum is the certificate, term by term as the text has it, in as many digits as `x`."""

    def log_wealth(digest: Digest, bet: float, is_above: bool) -> mpmath.mpf:
        level, total = (x, mpmath.mpf(0)) if is_above else (1 - x - epsilon, mpmath.mpf(0))
        for value, weight in zip(digest[0][: digest[2]], digest[1][: digest[2]], strict=True):
            reward = mpmath.mpf(float(value)) if is_above else 1 - mpmath.mpf(float(value))
            total += int(weight) * mpmath.log(1 - mpmath.mpf(bet) + mpmath.mpf(bet) * reward / level)
        return total

    full = before = mpmath.mpf(WAIT)
    bet = ALPHA
    for k in range(pair.bets):
        share = mpmath.mpf(1 - WAIT) * mpmath.mpf(1 - DECAY) * mpmath.mpf(DECAY) ** k / pair.among
        early = log_wealth(pair.before, bet, False)
        full += share * mpmath.exp(early + log_wealth(pair.since, bet, False))
        before += share * mpmath.exp(early)
        bet /= RHO
    scale, up, down = RHO**-DOWN, [], []
    for _ in range(DOWN + UP + 1):
        up.append(mpmath.exp(log_wealth(pair.nominee, min(pair.guess_nominee * scale, ALPHA), True)))
        down.append(mpmath.exp(log_wealth(pair.since, min(pair.guess * scale, ALPHA), False)))
        scale *= RHO
    joint = IDLE + sum(mpmath.mpf(float(JOINT[k, m])) * u * d for k, u in enumerate(up) for m, d in enumerate(down))
    return mpmath.log(pair.base * full + pair.share * before * joint)
