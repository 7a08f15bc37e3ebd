"""Whether recorded rewards can be in random order, and how to put them in one.

Rows that are sorted, by value or by anything that goes with it, prove nothing: a search that takes them from the top sees one
kind of rewards only. In a random order all arrangements of an arm's rewards are equally likely, so two counts have known laws:
in how many runs the larger ones come, and how many of them stand in the first half. docs/arms.md says what is assumed.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from surest.core.protocol import BoolArray, FloatArray
from surest.errors import SourceError
from surest.text import counted, visible

ALARM = 1e-6
"""How probable it is at most that rows in random order are refused, all arms and both tests together."""


def shuffled(rewards: Sequence[FloatArray], seed: int) -> list[FloatArray]:
    """Each arm's rewards in a random order of their own.

    >>> [part.tolist() for part in shuffled([np.arange(5.0), np.arange(5.0)], 1)]
    [[4.0, 0.0, 1.0, 2.0, 3.0], [1.0, 4.0, 0.0, 3.0, 2.0]]
    """
    return [np.random.default_rng([seed % 2**64, arm]).permutation(part) for arm, part in enumerate(rewards)]


def check_order(labels: Sequence[Any], rewards: Sequence[FloatArray]) -> None:
    """Refuse rewards that cannot be in random order."""
    level = math.log(ALARM / (3 * max(len(rewards), 1)))  # runs, and a trend either way
    for label, values in zip(labels, rewards, strict=True):
        found = _disorder(values, level)
        if found:
            raise SourceError(
                f"the rewards of arm {visible(str(label))!r} cannot be in random order: {found} (the probability of a false "
                f"alarm is at most {ALARM:g}). What comes first would decide, so there is no verdict. If a column says when each "
                "row was recorded, sort the rows by it. If the rows are an independent sample, and only their order was lost, "
                "shuffle them with a seed that you choose beforehand: --shuffle SEED, in Python shuffle=SEED"
            )


def _disorder(values: FloatArray, level: float) -> str:
    """What is wrong with the order, in words; empty where nothing is."""
    large = _larger(values)
    size, ones = len(large), int(large.sum())
    if -math.log(2) * size > level or not 0 < ones < size:  # too few rows to tell
        return ""
    runs = int(large[0]) + int((large[1:] & ~large[:-1]).sum())
    if _few_runs(runs, ones, size - ones) < level:
        usual = ones * (size - ones + 1) / size
        return (
            f"its {ones:,} larger values of {size:,} come in {counted(runs, 'run')}, where about {usual:,.0f} are usual"
        )
    half, early = size // 2, int(large[: size // 2].sum())
    if min(_many(early, ones, half, size), _many(ones - early, ones, size - half, size)) < level:
        return f"of its {ones:,} larger values {early:,} are among the first {half:,} of {size:,} rows"
    return ""


def _larger(values: FloatArray) -> BoolArray:
    """Which values are above the median; where it is the largest, which are not below it."""
    middle = np.median(values) if len(values) else 0.0
    above: BoolArray = values > middle
    return above if above.any() else values >= middle


def _few_runs(runs: int, ones: int, zeros: int) -> float:
    """The logarithm of a bound on the probability that ones come in so few runs or fewer, among zeros, in random order.

    So many runs have the probability C(ones − 1, runs − 1)·C(zeros + 1, runs)/C(ones + zeros, ones). Below the mode each number
    less makes it smaller by at least the same factor, so a geometric series bounds the sum.
    """
    ratio = (runs - 1) * runs / ((ones - runs + 1) * (zeros - runs + 2)) if runs <= zeros + 1 else 1.0
    logs = _choose(ones - 1, runs - 1) + _choose(zeros + 1, runs) - _choose(ones + zeros, ones)
    return 0.0 if ratio >= 1 else logs - math.log1p(-ratio)


def _many(found: int, ones: int, draws: int, size: int) -> float:
    """The logarithm of a bound on the probability of so many ones or more among so many draws without replacement."""
    others = size - ones - draws + found
    ratio = (ones - found) * (draws - found) / ((found + 1) * (others + 1))
    logs = _choose(ones, found) + _choose(size - ones, draws - found) - _choose(size, draws)
    return 0.0 if ratio >= 1 else logs - math.log1p(-ratio)


def _choose(n: int, k: int) -> float:
    """The logarithm of a binomial coefficient."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
