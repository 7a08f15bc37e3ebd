"""Is a challenger better than a champion whose scores are known on some items of a list? Bets on their differences.

Items come in a random order, whether the champion's score on them is known or not. Before each, differences are predicted on all
items to come; the bet is on what remains of the next one beside its prediction. docs/champion.md has the theorem and its proof.
"""

from hashlib import sha256

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.evidence.lists.gate import EVERY, FITS, UNKNOWN, mirrored, new_state
from surest.kernels import lists
from surest.kernels.constants import PLAIN, RIDGE


def fresh_order(items: int, seed: str, number: int) -> IntArray:
    """The order of a challenge: uniform, its own, and the same whatever scores are known.

    >>> fresh_order(5, "0", 1), fresh_order(5, "0", 2)
    (array([0, 2, 1, 3, 4]), array([1, 2, 0, 4, 3]))
    """
    drawn = sha256(f"{seed} {number}".encode(errors="replace")).digest()
    return np.random.default_rng(int.from_bytes(drawn[:16], "big")).permutation(items)


class Contest:
    """A challenger against a champion, item by item.

    `known` has the champion's scores that were known beforehand, NaN for the others, in the order in which items come. "Not
    better" is refuted at `level`, "better by more than `worth`" at δ.

    >>> contest = Contest(np.array([1.0, np.nan] * 50), worth=0.1, level=0.01, delta=0.05)
    >>> verdicts = [contest.add(-1.0 if k % 2 else 0.0) for k in range(20)]
    >>> verdicts.index("rejected"), verdicts[-1], contest.counted
    (9, 'rejected', 10)
    """

    def __init__(self, known: FloatArray, worth: float, level: float, delta: float) -> None:
        n = len(known)
        there = ~np.isnan(known)
        self._most, self._least = np.where(there, known, 1.0), np.where(there, known, 0.0)
        self._features = np.column_stack([np.ones(n), np.where(there, 2 * known - 1, 0.0)])
        self._sums, self._products = RIDGE * np.eye(2), np.zeros(2)
        self._predicts, self._every = bool(there.any()), max(EVERY, n // FITS)
        self._path, self._told = np.empty(n), np.empty((n, 4))
        self._sides = (0.0, 1 / level, False, new_state()), (-worth, 1 / delta, worth > 0, new_state())
        self.counted, self.verdict = 0, ""

    @property
    def path(self) -> FloatArray:
        """The differences on the items counted."""
        return self._path[: self.counted]

    def add(self, difference: float) -> str:
        """Count the next item: "promoted", "rejected" or, not decided yet, "". What is decided stays so."""
        if self.verdict:
            return self.verdict
        t, n = self.counted, len(self._path)
        if self._predicts and t % self._every == 0:
            self._predict(t, min(t + self._every, n))
        self._path[t] = difference
        self.counted = t + 1
        self._products += self._features[t] * difference
        self._sums += np.outer(self._features[t], self._features[t])
        told, share = (self._told[: t + 1], PLAIN) if self._predicts else (UNKNOWN, 1.0)
        sides = (self.path, told), (-self.path, mirrored(told))
        for (path, said), (mean, threshold, lean, state), verdict in zip(
            sides, self._sides, ("promoted", "rejected"), strict=True
        ):
            if lists.bet_above(path, said, t, float(n), mean, threshold, lean, share, state)[0] >= 0:
                self.verdict = verdict
                break
        if not self.verdict and self.counted == n:
            self.verdict = "rejected"  # all is known, and it is not better
        return self.verdict

    def _predict(self, start: int, end: int) -> None:
        """Predict differences from `start` on by ridge regression on those before it, and write down those until `end`.

        A row: the prediction, the sum of those for it and all later items, and by how much a difference or its negative can
        at most fall short of its prediction, on any of these items.
        """
        told = self._features[start:] @ np.linalg.solve(self._sums, self._products)
        told = np.clip(told, -self._most[start:], 1 - self._least[start:])
        ahead = [
            told,
            np.cumsum(told[::-1])[::-1],
            np.maximum.accumulate((told + self._most[start:])[::-1])[::-1],
            np.maximum.accumulate((1 - self._least[start:] - told)[::-1])[::-1],
        ]
        self._told[start:end] = np.column_stack(ahead)[: end - start]
