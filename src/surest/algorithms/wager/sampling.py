"""Where Wager pulls next. This decides how many pulls it takes, never whether its answer is right.

`kernels.sampling` has the rule; among very many arms, `kernels.crowds` has it with arms in the same state taken together.
"""

from collections.abc import Callable

import numpy as np

from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.evidence.pulls.alike import kinds_of
from surest.kernels import crowds, sampling


def plan_many(
    states: IntArray, pending: IntArray, leader: int, seen: sampling.Seen, moved: FloatArray, rejected: BoolArray,
    epsilon: float, coins: FloatArray, spared: int,
) -> IntArray:  # fmt: skip
    """How often to pull each arm: as `kernels.sampling.plan` says, but for which of several arms alike is pulled.

    Arms are alike in the same of these states, and with as many pulls that are `pending`.
    """
    narrow = sampling.narrow_pairs(leader, seen)
    alike = np.where(narrow, -1 - np.arange(len(narrow)), 2 * states + rejected)  # narrow: told apart by all rewards
    alike[leader] = -1 - leader
    kinds, firsts = kinds_of(alike, pending) if pending.any() else kinds_of(alike)
    rule = crowds.Rule(leader, seen, moved, rejected, narrow, epsilon)
    return crowds.plan(kinds, firsts, rule, coins, spared)


GROWTH = 0.02
"""A batch, as a part of what was pulled so far."""
NEAREST = 0.4
"""Where few nats are missing, batches shrink with their square: what a batch adds varies with its root. Not below this many."""
WINDOW, WINDOW_GROWTH, WIDEST = 2, 1 / 8, 32
"""Pulls planned and not yet counted: 2 for each worker and an eighth of what was pulled so far, at most 32 for each worker …"""
PORTION = 4
"""… in batches of a fourth of the workers, or of the window: what is known is counted soon."""


def window(workers: int, pulls: int) -> int:
    """How many pulls are planned and not yet counted, after so many counted ones. One worker needs no plans.

    >>> window(1, 10_000), window(8, 0), window(8, 400), window(8, 10_000)
    (0, 16, 66, 256)
    """
    return min(WIDEST * workers, WINDOW * workers + int(WINDOW_GROWTH * pulls)) if workers > 1 else 0


def batch_size(least: int, workers: int, pulls: int, growth: float = GROWTH) -> int:
    """How many pulls the next batch has: it grows with the search; for many workers it is a small part of the window.

    >>> batch_size(1, 1, 20), batch_size(1, 1, 1_000), batch_size(1, 32, 20), batch_size(1, 32, 100_000)
    (1, 20, 8, 256)
    """
    least, size = max(least, workers // PORTION), int(growth * pulls)
    return max(least, size if workers == 1 else min(size, window(workers, pulls) // PORTION))


def plan_ahead(
    planned: list[IntArray], counts: FloatArray, least: int, workers: int,
    next_batch: Callable[[int, IntArray], IntArray], missing: float = np.inf,
) -> None:  # fmt: skip
    """Add batches to the plan until the window is full; at least one, where none is left.

    `next_batch` makes a batch of a given size, after the pulls that are planned already. `missing` are the
    nats of evidence up to the end: where it is near, a look too late wastes pulls.
    """
    pulls = int(counts.sum())
    growth = GROWTH * min(1.0, max(missing, NEAREST) ** 2)
    size, most = batch_size(least, workers, pulls, growth), window(workers, pulls)
    pending = sum(planned, np.zeros(len(counts), np.int64))
    while not planned or pending.sum() + max(size, int(planned[-1].sum())) <= most:
        planned.append(next_batch(size, pending))
        pending += planned[-1]
