"""Two things people really do, to compare with: a fixed-size test, and a z-test looked at after every pull."""

from math import ceil

import numpy as np

from surest.algorithms.entry import Entry, Option, started
from surest.core.protocol import Answer, Atoms, IntArray, Procedure, Pull, Statistic, Status
from surest.errors import UsageError
from surest.kernels.lab.constants import PEEKING_Z_TEST
from surest.lab.numerics import normal_quantile
from surest.lab.rivals.shared import leading
from surest.lab.stepwise import Stepwise, fresh_state, pullwise


def uniform_bonferroni(arms: IntArray, delta: float, *, gap: float = 0.05, power: float = 0.8) -> Procedure[Answer]:
    """As many pulls of each arm as find a difference of `gap` with probability `power`; then one z-test per rival.

    The leader is certified if it beats every other arm at level δ/(n − 1). Otherwise nothing is decided.
    """
    if not (0 < gap <= 1 and 0 < power < 1):
        raise UsageError(f"gap {gap} must lie in (0, 1] and power {power} in (0, 1)")
    critical = normal_quantile(1 - delta / (len(arms) - 1))
    # The largest variance of a reward in [0, 1] is 1/4; a difference of two means has twice that.
    times = ceil(0.5 * ((critical + normal_quantile(power)) / gap) ** 2)
    atoms: Atoms = yield Pull(arms, max(times, 2), Statistic.ATOMS, leading(int(arms[0])))
    sums = np.add.reduceat(atoms.values * atoms.counts, atoms.start[:-1])
    squares = np.add.reduceat(atoms.values**2 * atoms.counts, atoms.start[:-1])
    counts = np.add.reduceat(atoms.counts, atoms.start[:-1])
    means = sums / counts
    variances = np.maximum(squares - sums * means, 0) / (counts - 1)
    best = int(means.argmax())
    error = np.sqrt((variances[best] + variances) / counts)
    beaten = means[best] - means > critical * error
    beaten[best] = True
    status = Status(leader=int(arms[best]))
    if beaten.all():
        return Answer(status.leader, status=status)
    return Answer(status.leader, certified=False, reason="the fixed sample did not decide", status=status)


def peeking_z_test(arms: IntArray, delta: float, *, rng: np.random.Generator, first: int = 10) -> Stepwise:
    """Pull all arms in turn, test after each round as if it were the only test, stop when it is significant. Invalid."""
    critical = normal_quantile(1 - delta / (len(arms) - 1))
    return Stepwise(PEEKING_Z_TEST, fresh_state(len(arms), (critical, max(first, 2)), rng=rng))


ENTRIES = (
    Entry("uniform-bonferroni", started(uniform_bonferroni),
        "best arm", "heuristic", "a control: the classical fixed-size experiment",
        "A sample size from a power calculation, then one z-test per rival; often undecided.",
        options={
            "gap": Option("number", "the difference that the experiment is to detect; default 0.05"),
            "power": Option("number", "the probability of detecting it; default 0.8"),
        }, control=True),
    pullwise("peeking-z-test", peeking_z_test, "best arm", "heuristic", "a control: what not to do",
        "INVALID: a z-test after every round, stopped when significant; errs far more often than δ.",
        options={"first": Option("whole number", "pulls of every arm before the first look; default 10")}, control=True),
)  # fmt: skip
