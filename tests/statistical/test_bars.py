"""Verdicts at a bar and against a control are wrong as rarely as they say: counted on hard instances; mistakes are caught."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

import surest.algorithms.questions.bar_book as bar_book
import surest.algorithms.questions.wager_control as wager_control
from surest.algorithms import start
from surest.arms.finite import FiniteArms, bernoulli, finite_arms
from surest.core.question import Question
from surest.drivers.simulate import simulate
from surest.evidence.bars import share_verdicts

BAR, SHARE = Question("above", bar=0.5), Question("above", bar=0.5, error="fdr")
MARGIN = Question("control", control=0, margin=0.1)
SKEWED = ([0.4, 1.0], [5 / 6, 1 / 6])
"""A mean of 0.5, and rewards that are nearly always below it."""
Wrong = Callable[[np.ndarray], float]
"""Of verdicts: whether one is wrong, or the share of wrong ones."""


def any_are(verdict: int) -> Wrong:
    return lambda verdicts: float((verdicts == verdict).any())


HARD: dict[str, tuple[FiniteArms, Question, Wrong]] = {
    # An arm on the bar is not below it, one a little below is not above it.
    "on the bar": (bernoulli([0.5] * 3), BAR, any_are(-1)),
    "on the bar, skewed": (finite_arms([SKEWED] * 3), BAR, any_are(-1)),
    "below the bar": (bernoulli([0.499] * 3), BAR, any_are(1)),
    # All arms are below, so the share of wrong ones among those above is 1 as soon as there is one.
    "share, all below": (bernoulli([0.499] * 6), SHARE, any_are(1)),
    "share of all, on the bar": (
        bernoulli([0.5, 0.5, 0.9, 0.9]),
        SHARE,
        lambda verdicts: (verdicts[:2] == -1).sum() / max(np.abs(verdicts).sum(), 1),
    ),
    "equal to the control": (bernoulli([0.5] * 4), MARGIN, any_are(1)),
    "at the margin": (bernoulli([0.5, 0.6, 0.6, 0.6]), MARGIN, any_are(-1)),
    "equal, no margin": (bernoulli([0.5] * 4), Question("control", control=0), any_are(1)),
}
PULLS, BATCH = 600, 4


def last_verdicts(arms: FiniteArms, question: Question, delta: float, seed: int) -> np.ndarray:
    """The verdicts when a search ends, or has spent 600 pulls: that, too, is a moment at which they must hold."""
    name = "wager-above" if question.kind == "above" else "wager-control"
    procedure = start(name, len(arms), delta, question=question, seed=seed, batch=BATCH)
    done = simulate(procedure, arms.simulate(seed), budget=PULLS)
    said = done.status if done.value is None else done.value
    assert said is not None
    assert said.verdicts is not None
    return np.array(said.verdicts)


def wrong(name: str, delta: float, seeds: range) -> float:
    """How many runs have a wrong verdict, or the sum of the shares of wrong ones."""
    arms, question, is_wrong = HARD[name]
    return float(sum(is_wrong(last_verdicts(arms, question, delta, seed)) for seed in seeds))


def most_allowed(runs: int, rate: float) -> int:
    """A count that a binomial of this rate exceeds with probability under 1e-4; a sum of shares varies less."""
    return int(binom.ppf(1 - 1e-4, runs, rate))
