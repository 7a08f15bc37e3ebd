"""How far apart the arms that may still be the best can be, on a list of items.

For a best arm j, (1 − v)·W_j + v/(n − 1)·Σ Q_ij(g_i) over all other arms i is fair or losing, where W_j is the wealth against
j, and Q_ij(g) bets that j is not better than i by more than g, taken at the true difference g_i. If it stays below 1/δ, an arm
i is not worse than the best by more than g as soon as (1 − v)·W_j + v/(n − 1)·Q_ij(g) reaches 1/δ for every arm j but i. Q_ij
grows with g, since its stakes do not depend on g. docs/questions.md has the proof.
"""

import numpy as np

from surest.compiled import compiled
from surest.core.protocol import FloatArray, IntArray
from surest.evidence.item_bets import CAP, STEPS, TOLERANCE, bounded
from surest.evidence.items import Standings

PAIRS_SHARE = 0.2
"""v: the part of the wealth that bets on how far apart arms are."""
MOST_ARMS = 40
"""With more arms than this, the distance is read off the intervals of all means."""
BISECTIONS = 10


@compiled
def pair_wealth(
    i: int,
    j: int,
    gap: float,
    scores: FloatArray,
    units: int,
    weights: FloatArray,
    total: float,
    population: bool,
    wealth: FloatArray,
) -> float:
    """Q_ij at one gap after so many units: evidence that j is not better than i by more than that; infinite if it is certain."""
    for k in range(len(wealth)):
        wealth[k] = 1.0 / len(wealth)
    lead, used = 0.0, 0.0
    for s in range(units):
        left = total - used
        apart = scores[s, i] - scores[s, j]
        room = 1.0 if population else (left - lead) / left  # at gap 0
        behind = gap if population else (lead + total * gap) / left  # −m
        if room <= TOLERANCE or behind >= 1:
            return np.inf
        stake = CAP / room
        for k in range(len(wealth)):
            wealth[k] = bounded(wealth[k] * (1 + stake * (apart + behind)))
            stake /= 2
        lead += weights[s] * apart
        used += weights[s]
    if not population and total - used - lead - total * gap <= TOLERANCE * total:
        return np.inf
    mixed = 0.0
    for k in range(len(wealth)):
        mixed += wealth[k]
    return mixed


@compiled
def all_within(
    gap: float,
    contenders: IntArray,
    rivals: IntArray,
    missing: FloatArray,
    seen: IntArray,
    scores: FloatArray,
    weights: FloatArray,
    total: float,
    population: bool,
) -> bool:
    """Whether no contender is worse by more than the gap than any rival: `missing` is what each rival's pairs must have."""
    wealth = np.empty(STEPS)
    for j in rivals:
        for i in contenders:
            if i != j and not (
                pair_wealth(i, j, gap, scores, seen[j], weights, total, population, wealth) >= missing[j]
            ):
                return False
    return True


def pairs_apart(standings: Standings, delta: float) -> float:
    """The smallest gap, of a grid, such that all arms in play are within it of the best arm.

    >>> standings = Standings(2, np.ones(100), 0.05)
    >>> for k in range(60):
    ...     standings.count(np.array([k % 2, 1.0 - k % 2]))
    >>> 0.1 < pairs_apart(standings, 0.05) < 0.5
    True
    """
    st, n = standings, len(standings.sums)
    missing = (1 / delta - (1 - PAIRS_SHARE) * st.current()) * (n - 1) / PAIRS_SHARE
    rivals = np.flatnonzero((missing > 0) & ~st.certain)
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        given = st.seen, st.scores[: st.t], st.weights, st.total, st.population
        if all_within(middle, st.play, rivals, missing, *given):
            high = middle
        else:
            low = middle
    return high
