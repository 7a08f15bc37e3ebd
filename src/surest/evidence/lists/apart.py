"""How far apart the arms that may still be the best can be, on a list of items.

For a best arm j, (1 − v)·W_j + v/(n − 1)·Σ Q_ij(g_i) over all other arms i is fair or losing, where W_j is the wealth against
j, and Q_ij(g) bets that j is not better than i by more than g, taken at the true difference g_i. If it stays below 1/δ, an arm
i is not worse than the best by more than g as soon as (1 − v)·W_j + v/(n − 1)·Q_ij(g) reaches 1/δ for every arm j but i. Q_ij
grows with g, since its stakes do not depend on g. docs/questions.md has the proof.
"""

import numpy as np

from surest.evidence.lists.race import Standings
from surest.kernels.constants import STEPS
from surest.kernels.lists import all_within

PAIRS_SHARE = 0.2
"""v: the part of the wealth that bets on how far apart arms are."""
MOST_ARMS = 40
"""With more arms than this, the distance is read off the intervals of all means."""
BISECTIONS = 10


def pairs_apart(standings: Standings, delta: float) -> float:
    """The smallest gap, of a grid, such that all arms in play are within it of the best arm.

    >>> standings = Standings(2, np.ones(100), 0.05)
    >>> for k in range(60):
    ...     standings.count(np.array([k % 2, 1.0 - k % 2]))
    >>> 0.1 < pairs_apart(standings, 0.05) < 0.5
    True
    """
    st, sc, n = standings, standings.scores, len(standings.born)
    missing = (1 / delta - (1 - PAIRS_SHARE) * st.current()) * (n - 1) / PAIRS_SHARE
    rivals = np.flatnonzero((missing > 0) & ~st.certain)
    low, high, room = 0.0, 1.0, np.empty(STEPS)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        given = sc.seen, sc.values[: sc.t], sc.weights, sc.total, sc.population, room
        if all_within(middle, st.play, rivals, missing, *given):
            high = middle
        else:
            low = middle
    return high
