"""What can be said of each arm on a list of items while they are compared with a bar, or with a control."""

from math import inf, log

import numpy as np

from surest.core.protocol import FloatArray, IntArray, Status
from surest.core.question import Error
from surest.evidence.item_bars import CLAIMS, Bars, by_any_error, by_share
from surest.evidence.item_scores import Scores


class Declarations:
    """Which of its two claims is made of each arm; an arm of which one is made is not evaluated further."""

    def __init__(self, claims: Bars, delta: float, error: Error = "fwer") -> None:
        self.claims, self.delta, self.error = claims, delta, error
        self.made = np.full(len(claims.sums), -1)
        """The claim made of each arm: 0, 1, or −1 as long as it is open."""
        self.exact = True
        """Whether every claim that was made was certain."""

    @property
    def open(self) -> IntArray:
        """The arms of which nothing is claimed."""
        return np.flatnonzero(self.made < 0)

    def count(self, values: FloatArray) -> None:
        """Take in the next unit, a value for each open arm, and make the claims that can be made."""
        arms = self.open
        self.claims.count(arms, values)
        evidence, side = self.claims.evidence(), np.where(self.made < 0, self.claims.nearer(), self.made)
        evidence[1 - side, np.arange(len(side))] = 0.0  # an arm speaks for one claim: to count less is safe
        ready = (by_any_error if self.error == "fwer" else by_share)(evidence, self.delta)
        for claim in range(CLAIMS):
            fresh = arms[ready[claim, arms]]
            self.made[fresh] = claim
            self.exact &= bool(self.claims.certain[fresh, claim].all())

    def progress(self) -> tuple[float | None, float | None, float | None]:
        """The level at which all claims are made or nearest, the weakest evidence in nats, and what a claim needs.

        With a bound on the share of wrong claims, what one needs depends on the others; then nothing is told.
        """
        n = len(self.made)
        if self.error == "fdr":
            return None, None, None
        least = float(self.claims.evidence().max(axis=0)[self.made < 0].min(initial=inf))
        least = least if self.exact else min(least, n / self.delta)
        return min(1.0, n / least) if least > 0 else 1.0, log(least) if least > 0 else -inf, log(n / self.delta)


class Above:
    """Of each arm whether its mean is at least θ − ε ("above", 1), or less than θ + ε ("below", −1).

    >>> above = Above(2, np.ones(90), 0.5, 0.05)
    >>> while len(above.play):
    ...     above.count(np.array([0.9, 0.2])[above.play])
    >>> above.status().verdicts
    (1, -1)
    """

    def __init__(
        self,
        n: int,
        weights: FloatArray,
        bar: float,
        delta: float,
        epsilon: float = 0.0,
        error: Error = "fwer",
        population: bool = False,
    ) -> None:
        self.n, self.delta = n, delta
        self.scores = Scores(n, weights, population)
        self.declared = Declarations(
            Bars(n, weights, (bar - epsilon, bar + epsilon), population=population), delta, error
        )

    @property
    def t(self) -> int:
        """How many units were counted."""
        return self.scores.t

    @property
    def play(self) -> IntArray:
        """The arms to evaluate on the next unit: those that are open."""
        return self.declared.open

    def count(self, values: FloatArray) -> None:
        """Take in the next unit: a value for every arm of `play`, in that order."""
        self.scores.count(self.play, values)
        self.declared.count(values)

    def status(self) -> Status:
        """All that can be said at this moment."""
        verdicts = np.array([1, -1, 0])[self.declared.made]
        achieved, evidence, threshold = self.declared.progress()
        return Status(
            leader=int(np.argmax(self.scores.means)),
            chosen=tuple(np.flatnonzero(verdicts == 1).tolist()),
            verdicts=tuple(verdicts.tolist()),
            in_play=len(self.play),
            achieved_delta=achieved,
            evidence=evidence,
            threshold=threshold,
            intervals=self.scores.intervals(self.delta / self.n),
        )


class Against:
    """Of each arm whether its mean is more than the control's ("better", 1), or at most the control's and the margin (−1).

    >>> against = Against(3, np.ones(90), control=1, margin=0.1, delta=0.05)
    >>> while len(against.play):
    ...     against.count(np.array([0.9, 0.5, 0.2])[against.play])
    >>> against.status().verdicts
    (1, 0, -1)
    """

    def __init__(
        self, n: int, weights: FloatArray, control: int, margin: float, delta: float, population: bool = False
    ) -> None:
        self.n, self.delta, self.control = n, delta, control
        self.others = np.delete(np.arange(n), control)
        self.scores = Scores(n, weights, population)
        # The values are the control's score less the arm's: at least −margin is "not better", less than 0 is "better".
        self.declared = Declarations(Bars(n - 1, weights, (-margin, 0.0), (-1.0, 1.0), population), delta)

    @property
    def t(self) -> int:
        """How many units were counted."""
        return self.scores.t

    @property
    def play(self) -> IntArray:
        """The arms to evaluate on the next unit: those that are open, and the control for as long as any is."""
        open_arms = self.others[self.declared.open]
        return np.sort(np.append(open_arms, self.control)) if len(open_arms) else open_arms

    def count(self, values: FloatArray) -> None:
        """Take in the next unit: a value for every arm of `play`, in that order."""
        play = self.play
        self.scores.count(play, values)
        is_control = play == self.control
        self.declared.count(values[is_control] - values[~is_control])

    def status(self) -> Status:
        """All that can be said at this moment. Differences are from the control."""
        verdicts = np.zeros(self.n, np.int64)
        verdicts[self.others] = np.array([-1, 1, 0])[self.declared.made]
        achieved, evidence, threshold = self.declared.progress()
        return Status(
            leader=int(np.argmax(self.scores.means)),
            chosen=tuple(np.flatnonzero(verdicts == 1).tolist()),
            verdicts=tuple(verdicts.tolist()),
            in_play=len(self.declared.open),
            achieved_delta=achieved,
            evidence=evidence,
            threshold=threshold,
            intervals=self.scores.intervals(self.delta / self.n),
            differences=self.scores.differences(self.control, self.delta / (self.n - 1)),
        )
