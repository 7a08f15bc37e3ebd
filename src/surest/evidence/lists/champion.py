"""Is a challenger better than a champion whose scores are known on some items of a list? Bets on their differences.

Items come in a random order, whether the champion's score on them is known or not. Before each, differences are predicted on all
items to come; the bet is on what remains of the next one beside its prediction. docs/champion.md has the theorem and its proof.
"""

from hashlib import sha256
from math import inf

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.evidence.lists.gate import UNKNOWN, Predictions, mirrored, new_state
from surest.kernels import lists
from surest.kernels.constants import PLAIN


def order_key(seed: str, number: int) -> str:
    """What draws the order of a challenge, and tells nothing of the seed, nor of later orders."""
    return sha256(f"{seed} {number}".encode(errors="replace")).hexdigest()[:32]


def fresh_order(items: int, seed: str, number: int) -> IntArray:
    """The order of a challenge: uniform, its own, and the same whatever scores are known."""
    return np.random.default_rng(int(order_key(seed, number), 16)).permutation(items)


class Contest:
    """A challenger against a champion, item by item.

    `known` has the champion's scores that were known beforehand, NaN for the others, in the order in which items come. "Not
    better" is refuted at `level`, "better by more than `worth`" at δ.
    """

    def __init__(self, known: FloatArray, worth: float, level: float, delta: float) -> None:
        n = len(known)
        self._path, self._known = np.empty(n), None if np.isnan(known).all() else Predictions(known)
        self._sides = (0.0, 1 / level, new_state()), (-worth, 1 / delta, new_state())
        self.counted, self.verdict = 0, ""
        self.wealth = inf  # what the bets that decided it came to; infinite where it is certain without them

    @property
    def path(self) -> FloatArray:
        """The differences on the items counted."""
        return self._path[: self.counted]

    def add(self, difference: float) -> str:
        """Count the next item: "promoted", "rejected" or, not decided yet, "". What is decided stays so."""
        if self.verdict:
            return self.verdict
        t, n = self.counted, len(self._path)
        self._path[t] = difference
        self.counted = t + 1
        told, share = (UNKNOWN, 1.0) if self._known is None else (self._known.extend(self.path), PLAIN)
        sides = (self.path, told), (-self.path, mirrored(told))
        for (path, said), (mean, threshold, state), verdict in zip(
            sides, self._sides, ("promoted", "rejected"), strict=True
        ):
            after, wealth = lists.bet_above(path, said, t, float(n), mean, threshold, share, state)
            if after >= 0:
                self.verdict, self.wealth = verdict, wealth
                break
        if not self.verdict and self.counted == n:
            self.verdict = "rejected"  # all is known, and it is not better
        return self.verdict
