"""Verdicts at a bar and against a control are wrong as rarely as they say: counted on hard instances; mistakes are caught."""

import math

import numpy as np
import pytest

from statistical.list_tables import MANY, few_or_many, most_allowed, rare
from surest.algorithms.questions.wager_each import BarBook as Book
from surest.algorithms.questions.wager_each import ControlBook
from surest.core.protocol import Atoms
from surest.core.question import Question
from surest.evidence.pulls import bars
from surest.evidence.pulls.bars import share_verdicts
from surest.evidence.pulls.digest import Digests
from surest.kernels.differences import weigh

BAR, SHARE = Question("above", bar=0.5), Question("above", bar=0.5, error="fdr")
MARGIN = Question("control", control=0, margin=0.1)
Law = tuple[list[float], list[float]]
"""Values and their probabilities."""
FAIR: Law = ([0.0, 1.0], [0.5, 0.5])
SKEWED: Law = ([0.4, 1.0], [5 / 6, 1 / 6])
"""A mean of 0.5, and rewards that are nearly always below it."""
LESS: Law = ([0.0, 1.0], [0.501, 0.499])
LOOK, LOOKS = 4, 75
"""Arms are pulled four times, looked at, and so on; 300 pulls an arm in all."""


def draw(law: Law, arms: int, rng: np.random.Generator) -> Atoms:
    """A few rewards of each of so many arms."""
    counts = rng.multinomial(LOOK, law[1], arms)
    start_at = np.arange(arms + 1) * len(law[0])
    return Atoms(start_at, np.tile(law[0], arms), counts.ravel())


def searches(law: Law, n: int, delta: float, runs: int, seed: int) -> np.ndarray:
    """Verdicts of many searches, a row each, of n arms that are pulled in turn: one book keeps all of them.

    An arm's verdict rests on its own rewards alone, and log(runs·n/(runs·δ)) is what n arms need.
    """
    book, rng = Book(runs * n, runs * delta, BAR, 0.0), np.random.default_rng(seed)
    for _ in range(LOOKS):
        left = np.flatnonzero(book.open)
        book.count(left, draw(law, len(left), rng))
    return book.settled.reshape(runs, n)


ON_THE_BAR = {"fair": (FAIR, -1), "skewed": (SKEWED, -1), "a little below": (LESS, 1)}
"""Laws with a mean on the bar or below it, and the verdict that is wrong."""
WRONG = {("fair", 0.1): 11, ("fair", 0.3): 33, ("skewed", 0.3): 37, ("a little below", 0.3): 56}


@pytest.mark.parametrize("runs", [400, pytest.param(4000, marks=MANY)])
@pytest.mark.parametrize("delta", [0.1, 0.3])
@pytest.mark.parametrize("name", ON_THE_BAR)
def test_verdicts_at_a_bar_are_wrong_with_probability_at_most_delta(name: str, delta: float, runs: int) -> None:
    law, verdict = ON_THE_BAR[name]
    wrong = int((searches(law, 3, delta, runs, 1 + (runs > 400)) == verdict).any(axis=1).sum())
    rare(wrong, runs, delta, WRONG.get((name, delta)) if runs == 400 else None)


def test_a_threshold_that_forgets_how_many_arms_there_are_is_noticed() -> None:
    """1/δ instead of n/δ, ten arms on the bar."""
    wrong = int((searches(FAIR, 10, 10 * 0.1, 200, 3) == -1).any(axis=1).sum())
    assert wrong > most_allowed(200, 0.1)


def shares(law: Law, n: int, delta: float, runs: int, seed: int) -> float:
    """The mean share of wrong ones among those declared above, where all arms lie below: 1 as soon as there is one.

    A search stops when an arm is declared above, which is the worst moment.
    """
    digests, rng, wrong = Digests(runs * n), np.random.default_rng(seed), np.zeros(runs, np.bool_)
    arms = np.arange(runs * n)
    for _ in range(LOOKS):
        digests.add_atoms(arms, draw(law, len(arms), rng))
        above, below = (part.reshape(runs, n) for part in weigh(*digests.told(), arms, 0.5, 0.5))
        up = digests.means.reshape(runs, n) >= 0.5
        for run in np.flatnonzero(~wrong & (above.max(axis=1) >= -math.log(delta))):
            wrong[run] = bool((share_verdicts(above[run], below[run], up[run], delta) == 1).any())
    return float(wrong.mean())


@few_or_many((0.3, 300, 4), 5)
def test_the_share_of_wrong_ones_among_those_above_is_at_most_delta(delta: float, runs: int, seed: int) -> None:
    rare(round(runs * shares(LESS, 6, delta, runs, seed)), runs, delta, 17 if runs == 300 else None)


def bold_play(odds: float, n: int, runs: int, delta: float) -> int:
    """How often an arm is declared above where all lie below, and each arm's wealth is `odds` or nothing: a fair bet.

    The arms that lost it have shown that they lie below.
    """
    rng, wrong = np.random.default_rng(7), 0
    for _ in range(runs):
        won = rng.random(n) < 1 / odds
        above, below = np.where(won, math.log(odds), -100.0), np.where(won, -100.0, 100.0)
        wrong += bool((share_verdicts(above, below, won, delta) == 1).any())
    return wrong


def test_shares_with_the_boldest_bets_come_near_to_delta() -> None:
    wrong = bold_play(10 / 0.3 + 1e-9, 10, 500, 0.3)
    assert wrong == 130
    assert 0.2 * 500 < wrong <= most_allowed(500, 0.3)


def test_a_share_among_all_verdicts_alone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its sums of wealth the rule keeps the share among all verdicts, and not that among those declared above."""
    assert bold_play(1 / 0.3 + 1e-9, 10, 100, 0.3) == 0
    monkeypatch.setattr(bars, "_most_allowed", lambda wealth, of, delta: of)
    assert bold_play(1 / 0.3 + 1e-9, 10, 100, 0.3) > most_allowed(100, 0.3)


def test_the_largest_wealth_so_far_does_not_count_for_a_share() -> None:
    """A verdict falls with the wealth it rests on. With a limit on any wrong verdict it stays."""
    rewards = [Atoms(np.array([0, 1]), np.array([value]), np.array([times])) for value, times in ((1.0, 12), (0.0, 60))]
    said = {}
    for question in (BAR, SHARE):
        book = Book(1, 0.1, question, 0.0)
        said[question.error] = []
        for reply in rewards:
            book.count(np.array([0]), reply)
            said[question.error].append(int(book.verdicts[0]))
    assert said == {"fwer": [1, 1], "fdr": [1, -1]}


AGAINST = {
    "equal to the control": ([0.5] * 4, MARGIN, 1, 2),
    "at the margin": ([0.5, 0.6, 0.6, 0.6], MARGIN, -1, 2),
    "one arm, no margin": ([0.5] * 2, Question("control", control=0), 1, 3),
}
"""Means, the question, the verdict that is wrong of every arm but the control, and how often it comes in 200 searches."""


def wrong_against(name: str, delta: float, runs: int, first: int = 0) -> int:
    """In how many searches of about 600 pulls there is a wrong verdict."""
    means, question, verdict, _ = AGAINST[name]
    wrong = 0
    for seed in range(first, first + runs):
        book, rng = ControlBook(len(means), delta, question), np.random.default_rng([seed, 9])
        times = np.full(len(means), 2)
        while book.digests.counts.sum() < 600 and verdict not in book.verdicts:
            pulled = np.flatnonzero(times)
            ones = rng.binomial(times[pulled], np.array(means)[pulled])
            counts = np.column_stack([times[pulled] - ones, ones]).ravel()
            book.count(pulled, Atoms(2 * np.arange(len(pulled) + 1), np.tile([0.0, 1.0], len(pulled)), counts))
            if not book.open.any():
                break
            times = book.next_batch(24)
        wrong += verdict in book.verdicts
    return wrong


@few_or_many((0.3, 200, 0), 1000)
@pytest.mark.parametrize("name", AGAINST)
def test_verdicts_against_a_control_are_wrong_with_probability_at_most_delta(
    name: str, delta: float, runs: int, seed: int
) -> None:
    """Far less often, as the least of many levels counts; a control taken for known is noticed below."""
    rare(wrong_against(name, delta, runs, seed), runs, delta, AGAINST[name][-1] if runs == 200 else None)


def test_a_control_whose_mean_is_taken_for_known_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The evidence at the control's mean so far, instead of the least one at any level."""

    def at_the_mean(self: ControlBook, arms: np.ndarray, starts: np.ndarray, goal: float) -> tuple:
        level = float(np.clip(self.digests.means[self.control], 0.01, 0.89))
        return weigh(*self.digests.told(), arms, level, level + self.gaps[1])

    monkeypatch.setattr(ControlBook, "_compared", at_the_mean)
    assert wrong_against("one arm, no margin", 0.1, 100) > most_allowed(100, 0.1)
