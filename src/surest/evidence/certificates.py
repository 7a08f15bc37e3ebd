"""Certificates of a nominee against many arms, and the smallest accuracy at which all of them suffice."""

from typing import NamedTuple

import numpy as np

from surest.compiled import compiled
from surest.core.protocol import FloatArray, IntArray
from surest.evidence.alike import kinds_of
from surest.evidence.certificate import Digests, Pair, certificate, log_value

FEW_ATOMS = 4
"""Arms with more distinct rewards are hardly ever in the same state."""


class Evidence(NamedTuple):
    """What the certificates of a nominee against all others rest on: a `Pair` an arm."""

    nominee: int
    prices: FloatArray
    """Evidence needed against each arm beyond the goal."""
    before: Digests
    since: Digests
    bets: IntArray
    base: FloatArray
    share: float
    guesses_nominee: FloatArray
    guesses: FloatArray
    among: float = 1.0


@compiled
def _against(
    j: int, start: float, goal: float, epsilon: float, evidence: Evidence, is_quick: bool
) -> tuple[float, float]:
    """The certificate of the nominee against arm j, less the arm's price. Quick: −∞ if a look at `start` shows that it fails."""
    pair, price = pair_of(j, evidence), evidence.prices[j]
    if is_quick and log_value(start, epsilon, pair)[0] < goal + price:
        return -np.inf, start  # a good start next time too
    bound, minimiser = certificate(start, goal + price, epsilon, pair)
    return bound - price, minimiser


@compiled
def pair_of(j: int, evidence: Evidence) -> Pair:
    """What the certificate of the nominee against arm j rests on."""
    before, since, nominee = evidence.before, evidence.since, evidence.nominee
    return Pair(
        (before[0][j], before[1][j], before[2][j]),
        (since[0][j], since[1][j], since[2][j]),
        (since[0][nominee], since[1][nominee], since[2][nominee]),
        evidence.bets[j],
        evidence.base[j],
        evidence.share,
        evidence.guesses_nominee[j],
        evidence.guesses[j],
        evidence.among,
    )


@compiled
def most_reached(arms: IntArray, starts: FloatArray, level: float, epsilon: float, evidence: Evidence) -> float:
    """What the smallest certificate against these arms can be at most, by one look each; −∞ as soon as one is below `level`."""
    most = np.inf
    for j in arms:
        most = min(most, log_value(starts[j], epsilon, pair_of(j, evidence))[0] - evidence.prices[j])
        if most < level:
            return -np.inf
    return most


@compiled
def raise_certificates(
    certified: FloatArray, minimisers: FloatArray, todo: IntArray, goal: float, epsilon: float, evidence: Evidence
) -> None:
    """Compute the certificates of the nominee against the arms `todo`, and keep the largest seen so far in `certified`.

    There is none of the nominee against itself: the theorem does not speak of one.
    """
    for j in todo:
        if j == evidence.nominee:
            continue
        bound, minimisers[j] = _against(j, minimisers[j], goal, epsilon, evidence, False)
        if bound > certified[j]:
            certified[j] = bound


def raise_alike(
    certified: FloatArray, minimisers: FloatArray, todo: IntArray, goal: float, epsilon: float, evidence: Evidence
) -> int:
    """The same among very many arms: one search serves all arms in the same state. Returns how many searches there were.

    What was certified before is an arm's own: arms in the same state now may have come to it on different ways.
    """
    if not len(todo):
        return 0
    kinds, firsts = pair_kinds(todo, evidence)
    one = todo[firsts]
    bounds, starts = _bounds_against(one, minimisers[one], goal, epsilon, evidence)
    certified[todo] = np.maximum(certified[todo], bounds[kinds])
    minimisers[todo] = starts[kinds]
    return len(firsts)


def pair_kinds(arms: IntArray, evidence: Evidence) -> tuple[IntArray, IntArray]:
    """Which arms have equal certificates: the kind of each, and where the first of each kind is in `arms`."""
    sizes = [digests[2][arms] for digests in (evidence.before, evidence.since)]
    most = max(int(size.max(initial=0)) for size in sizes)
    if most > FEW_ATOMS:
        return np.arange(len(arms)), np.arange(len(arms))
    atoms = [
        np.where(p < size, column[arms, p], 0.0)
        for size, digests in zip(sizes, (evidence.before, evidence.since), strict=True)
        for column in digests[:2]
        for p in range(most)
    ]
    others = (evidence.prices, evidence.bets, evidence.base, evidence.guesses_nominee, evidence.guesses)
    return kinds_of(*sizes, *atoms, *(column[arms] for column in others))


@compiled
def _bounds_against(
    arms: IntArray, starts: FloatArray, goal: float, epsilon: float, evidence: Evidence
) -> tuple[FloatArray, FloatArray]:
    """Certificates of the nominee against arms, and starts for the next search."""
    bounds, minimisers = np.empty(len(arms)), np.empty(len(arms))
    for k in range(len(arms)):
        bounds[k], minimisers[k] = _against(arms[k], starts[k], goal, epsilon, evidence, goal < np.inf)
    return bounds, minimisers


@compiled
def raise_weakest(
    certified: FloatArray, minimisers: FloatArray, todo: IntArray, goal: float, epsilon: float, evidence: Evidence
) -> None:
    """As `raise_certificates`, only as far as it takes to know which certificates reach the goal, and the smallest one.

    It is quickest if the smallest come first.
    """
    least = np.inf
    for j in todo:
        bound, minimisers[j] = _against(j, minimisers[j], goal, epsilon, evidence, False)
        if bound < goal and least < np.inf:
            bound, minimisers[j] = _against(j, minimisers[j], least, epsilon, evidence, False)
        if bound < min(goal, least):
            bound, minimisers[j] = _against(j, minimisers[j], np.inf, epsilon, evidence, False)
        certified[j] = max(certified[j], bound)
        least = min(least, certified[j])


@compiled
def smallest_epsilon(
    least: float, doubtful: IntArray, goal: float, minimisers: FloatArray, evidence: Evidence
) -> float:
    """The smallest ε ≥ `least`, to 1e-4 and not below it, at which the nominee is certified against all of `doubtful`."""
    smallest = least
    for j in doubtful:
        low, high = smallest, smallest  # most arms hold at the ε that the first ones needed
        while high < 1.0 and not _against(j, minimisers[j], goal, high, evidence, False)[0] >= goal:
            low, high = high, min(1.0, 2.0 * high + 1e-3)
        while high - low > 1e-4:
            middle = 0.5 * (low + high)
            if _against(j, minimisers[j], goal, middle, evidence, False)[0] >= goal:
                high = middle
            else:
                low = middle
        smallest = high
    return smallest
