"""Evidence for a verdict on each arm: above a bar or below it, better than a control or not. Valid at every moment.

**A bar.** exp A_i(x) is fair or losing while arm i's mean is at most x, exp B_i(x) while it is at least x (`pulls.betting`).
The first, at the bar less ε, speaks for "above", the second, at the bar and ε, for "below".

**A control.** exp(A_i(x + g) + B_0(x)) at x = μ_0 is fair or losing while μ_i ≤ μ_0 + g. Nobody knows μ_0, so the smallest value
over all x counts: it speaks for μ_i > μ_0 + g. With the parts of both arms exchanged it speaks against.

An arm has one wrong verdict at most: which one, its mean decides. So both directions together cost what one does.

**The share of wrong verdicts.** Let E_i be the wealth of arm i for "above" at one moment, and R the arms declared above. If
for every set S of arms, which may be those that lie below,

    mean of E_i over S ≥ |R ∩ S| / (δ·|R|),

then the expected share of wrong ones in R is at most δ: for the true S the mean of E_i has expectation at most 1. It must be
the wealth at that moment: the largest wealth so far is not fair. docs/questions.md has the proofs.
"""

import numpy as np

from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.evidence.pulls.digest import Digests
from surest.kernels import each

LARGEST = 600.0  # Wealth is counted up to exp of this, so that sums of it stay finite. To count less is safe.


def estimates(digests: Digests) -> tuple[FloatArray, FloatArray]:
    """Every arm's mean and variance, with a pseudo-reward that is half 0, half 1. They guide sampling and prove nothing."""
    inside = np.arange(digests.values.shape[1]) < digests.size[:, None]
    squares = np.where(inside, digests.weights * digests.values**2, 0.0).sum(axis=1)
    means = (digests.sums + 0.5) / (digests.counts + 1)
    return means, (squares + 0.5) / (digests.counts + 1) - means**2


# --- the share of wrong verdicts ----------------------------------------------------------------------------------------
def share_needs(evidence: FloatArray, up: BoolArray, delta: float) -> FloatArray:
    """The evidence for "above" that each arm above the bar needs so that all of these can be declared; infinite for the others.

    With k such arms, the one of the r-th smallest wealth needs (n − k + 2r − 1)/(δ·k), and 1/δ at least: the sums of the r
    smallest are then what `allowed` asks for. What is left of the others' wealth counts for the first.
    """
    needs, n, k = np.full(len(evidence), np.inf), len(evidence), int(up.sum())
    if k > 0:
        ranked = np.flatnonzero(up)[np.argsort(evidence[up], kind="stable")]
        wealth = (n - k + 2.0 * np.arange(1, k + 1) - 1) / (delta * k)
        wealth[0] -= np.minimum(wealth_of(evidence[~up]), 1 / (delta * k)).sum()
        needs[ranked] = each.log(np.maximum(wealth, 1 / delta))
    return needs


def share_verdicts(above: FloatArray, below: FloatArray, up: BoolArray, delta: float) -> IntArray:
    """One verdict per arm, such that the share of wrong ones is at most δ in expectation: among all, and among those above.

    `above` and `below` are each arm's evidence, at this moment, in nats; `up` says which of the two counts. Declared are
    the most arms D such that each has a wealth of n/(δ·|D|), and such that those above are `allowed`.
    """
    evidence, n = np.where(up, above, below), len(above)
    wealth, inside = wealth_of(above), np.ones(n, np.bool_)
    while inside.any():
        ranked = -np.sort(-evidence[inside])
        enough = np.flatnonzero(ranked >= each.log(n / (delta * np.arange(1, len(ranked) + 1))))
        if not len(enough):
            return np.zeros(n, np.int64)
        kept = inside & (evidence >= ranked[enough[-1]])
        kept &= ~up | _most_allowed(wealth, kept & up, delta)
        if (kept == inside).all():
            break
        inside = kept
    return np.where(inside, np.where(up, 1, -1), 0)


def wealth_of(evidence: FloatArray) -> FloatArray:
    """Wealth from evidence in nats, capped."""
    return each.exp(np.minimum(evidence, LARGEST))


def _most_allowed(wealth: FloatArray, of: BoolArray, delta: float) -> BoolArray:
    """The most of these arms that may be declared: those of largest wealth."""
    ranked = np.flatnonzero(of)
    ranked = ranked[np.argsort(-wealth[ranked], kind="stable")]
    for k in range(len(ranked), 0, -1):
        inside = np.zeros(len(wealth), np.bool_)
        inside[ranked[:k]] = True
        if allowed(wealth, inside, delta):
            return inside
    return np.zeros(len(wealth), np.bool_)


def allowed(wealth: FloatArray, inside: BoolArray, delta: float) -> bool:
    """Whether these arms may be declared: whether for every set S the mean wealth in it is at least |R ∩ S|/(δ·|R|).

    Of all S with r arms inside, the worst has the r of least wealth, and of those outside all whose wealth is less than
    what is needed.
    """
    least, others = np.sort(wealth[inside]), np.sort(wealth[~inside])
    r = np.arange(1, len(least) + 1)
    need = r / (delta * max(len(least), 1))
    more = np.searchsorted(others, need)
    total = np.cumsum(least) + np.append(0.0, np.cumsum(others))[more]
    return bool((total >= (r + more) * need).all())
