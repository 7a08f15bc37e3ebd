"""What the methods share: they take the items of a list in one random order, and keep the scores that they have seen."""

from collections.abc import Callable

import numpy as np

from surest.core.protocol import Answer, Cells, FloatArray, IntArray, Procedure

Survivors = Callable[[FloatArray, IntArray], IntArray]
"""From the scores so far (a row an item, a column an arm) and the arms in play: those that stay in play."""


def elimination(
    arms: IntArray, items: int, rng: np.random.Generator, survivors: Survivors, reason: str = "certified"
) -> Procedure[Answer]:
    """Evaluate all arms in play on item after item, dropping arms by a rule, until one is left or all items are seen."""
    order = rng.permutation(items)
    scores = np.full((items, len(arms)), np.nan)
    play = np.arange(len(arms))
    for t in range(items):
        reply = yield Cells(arms[play], order[t : t + 1], order[t + 1 :])
        scores[t, play] = reply[:, 0]
        play = survivors(scores[: t + 1], play)
        if len(play) == 1:
            return Answer(int(arms[play[0]]), reason=reason)
    return Answer(int(arms[play[scores[:, play].sum(axis=0).argmax()]]), reason="all items seen")
