"""Which command is the fastest: what to run next, and when enough is known. The theorem and its proof: docs/fastest.md.

A generator like every algorithm here, but its replies are seconds, which have no bounds. So it is not in the registry: it has a
driver of its own, `surest.speed.run`.
"""

from collections.abc import Generator
from itertools import count
from typing import NamedTuple

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.speed.evidence import EARLY, PILOT, Comparisons, fewest_blocks, hopeless
from surest.speed.result import TimesAnswer

FIRST_STRETCH = 0.9
"""The part of δ for the first stretch of blocks. Those that follow where the machine changes share the rest."""


class Block(NamedTuple):
    """A request: run these commands once each, in this order. The reply is their times in seconds, in the same order."""

    arms: IntArray
    pairs: Comparisons | None  # what is known so far; None in the pilot


def fastest(
    n: int, delta: float, *, tolerance: float, rng: np.random.Generator, slack: float = 0.0, min_runs: int = 0,
    max_runs: int | None = None,
) -> Generator[Block, FloatArray, TimesAnswer]:  # fmt: skip
    """The fastest of n commands, or one that is equal to it within the tolerance, wrong with probability at most δ.

    Where the machine changes (times leave the ranges, or every command is slower than another for a time), a new pilot is made,
    and a new stretch of blocks begins. Commands that differ by no more than `slack` seconds are equal too. `min_runs` and
    `max_runs` count the runs of one command, those that do not count in the verdict included.
    """
    made = 0
    for stretch in count(1):
        share = FIRST_STRETCH if stretch == 1 else (1 - FIRST_STRETCH) / (stretch * (stretch - 1))
        wider = (1 + stretch) / 2  # a machine that keeps changing leaves wider ranges less often
        pilot = np.full((PILOT, n), np.nan)
        for k, row in enumerate(pilot):
            playing = np.arange(n) if k < EARLY else np.flatnonzero(~hopeless(pilot[:EARLY]))
            order = rng.permutation(playing)
            row[order] = yield Block(order, None)
        pairs, made = Comparisons(pilot, delta, tolerance, slack, share, wider), made + PILOT
        fewest = max(fewest_blocks(n, pairs.level) - PILOT, min_runs - made)
        answer = yield from _stretch(pairs, rng, fewest, None if max_runs is None else max_runs - made)
        made += len(pairs.blocks)
        if answer is not None:
            return answer
        if max_runs is not None and made + PILOT >= max_runs:
            break
    return undecided(pairs, "max runs reached")


def _stretch(
    pairs: Comparisons, rng: np.random.Generator, fewest: int, most: int | None
) -> Generator[Block, FloatArray, TimesAnswer | None]:
    """Run blocks until a command can be named, there are as many as may be (an answer), or the machine has changed (None)."""
    while True:
        candidates = unbeaten(pairs)
        named = candidates[pairs.settled[candidates].all(axis=1)]
        if len(named) and (pairs.runs[~pairs.hopeless] >= fewest).all():
            return TimesAnswer(leader(pairs, named), True, "certified", pairs)
        if most is not None and len(pairs.blocks) >= most:
            return undecided(pairs, "max runs reached")
        if len(candidates) == 0 or pairs.has_changed():
            return None
        order = rng.permutation(in_play(pairs, candidates, fewest))
        times = np.full(pairs.n, np.nan)
        times[order] = yield Block(order, pairs)
        pairs.count(times)


def unbeaten(pairs: Comparisons) -> IntArray:
    """The commands that no other is known to be faster than: one of them will be named."""
    return np.flatnonzero(~pairs.faster.any(axis=0))


def undecided(pairs: Comparisons, reason: str) -> TimesAnswer:
    """The answer so far."""
    candidates = unbeaten(pairs)
    return TimesAnswer(leader(pairs, candidates if len(candidates) else np.arange(pairs.n)), False, reason, pairs)


def in_play(pairs: Comparisons, candidates: IntArray, fewest: int) -> IntArray:
    """The commands to run in the next block: those that may be named, and those that one of them is not yet compared with."""
    playing = ~pairs.settled[candidates].all(axis=0) | ((pairs.runs < fewest) & ~pairs.hopeless)
    playing[candidates] = True
    playing |= pairs.hopeless & playing[pairs.hopeless].any()  # they are one opponent: all of them run, or none
    return np.flatnonzero(playing)


def leader(pairs: Comparisons, among: IntArray) -> int:
    """The command to name of several: that with the smallest mean of clipped times, or in the pilot while nothing counts."""
    times = pairs.times if len(pairs.blocks) else pairs.pilot[:EARLY]
    times = times[:, among]
    times = times[~np.isnan(times).any(axis=1)]
    low, high = pairs.low[np.ix_(among, among)].min(), pairs.high[np.ix_(among, among)].max()
    return int(among[np.clip(times, low, high).mean(axis=0).argmin()])
