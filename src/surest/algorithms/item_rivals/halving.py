"""Sequential Halving (Karnin, Koren, Somekh 2013) on shared items: a fixed budget, and no promise of a δ."""

from math import ceil, log2

import numpy as np

from surest.core.protocol import Answer, Cells, IntArray, Procedure


def halving_on_items(
    arms: IntArray,
    delta: float,
    *,
    items: int,
    rng: np.random.Generator,
    budget: int | None = None,
    fraction: float = 0.25,
) -> Procedure[Answer]:
    """In each of log₂ n rounds spend the same number of cells on the arms in play, then keep the better half.

    Without a budget, a `fraction` of the table is spent. Arms in play have all seen the same items.
    """
    order = rng.permutation(items)
    rounds = max(ceil(log2(len(arms))), 1)
    spend = int(fraction * items * len(arms)) if budget is None else budget
    play, sums, t = np.arange(len(arms)), np.zeros(len(arms)), 0
    for _ in range(rounds):
        end = min(t + max(spend // (rounds * len(play)), 1), items)
        if end > t:
            reply = yield Cells(arms[play], order[t:end], order[end:])
            sums[play] += np.asarray(reply).sum(axis=1)
            t = end
        play = play[np.argsort(-sums[play], kind="stable")[: ceil(len(play) / 2)]]
    return Answer(int(arms[play[0]]), certified=False, reason="budget spent")
