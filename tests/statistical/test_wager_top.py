"""wager-top is wrong with probability at most δ: its process has mean at most 1, its answers are counted, mistakes are seen."""

import math
from itertools import product

import numpy as np
import pytest

from one_pair import Pair, log_value, tell
from statistical.list_tables import MANY, most_allowed
from surest.algorithms import start
from surest.algorithms.questions.wager_top import SetLedger
from surest.algorithms.wager.ledger import W, slot_share, unused_share
from surest.arms.finite import FiniteArms, bernoulli, finite_arms
from surest.core.question import Question
from surest.kernels.constants import ALPHA, DECAY, DOWN, IDLE, JOINT, RHO, UP, WAIT
from surest.search.simulate import simulate


def pair(ledger: SetLedger, i: int, j: int) -> Pair:
    """What a ledger says of arm i, of the nominated set, against arm j."""
    row = ledger.nominated.tolist().index(i)
    evidence = ledger._of_row(ledger._evidence(), row)
    rows = [
        (d.values[k], d.weights[k], int(d.size[k]))
        for d, k in ((evidence.before, j), (evidence.since, j), (evidence.since, evidence.nominee))
    ]
    numbers = evidence.base[j], evidence.share, evidence.guesses_nominee[j], evidence.guesses[j]
    return Pair(*rows, int(evidence.bets[j]), *(float(x) for x in numbers), evidence.among)


# --- the theorem: M itself ----------------------------------------------------------------------------------------------

TRUE = (2, 3)
"""The two best of four arms, each of mean 1/2; the others have mean 1/2 too, or less."""
LEVEL = 0.5


def below(rewards: list[float], alpha: float) -> float:
    return math.prod(1 - alpha + alpha * (1 - r) / (1 - LEVEL) for r in rewards)


def above(rewards: list[float], alpha: float) -> float:
    return math.prod(1 - alpha + alpha * r / LEVEL for r in rewards)


def of(history: list[tuple[int, float]], arm: int) -> list[float]:
    return [r for i, r in history if i == arm]


def slow_z(history: list[tuple[int, float]]) -> float:
    """Z = v + (1 − v)/m·Σ over the m best of their mixtures; 60 of the bets, more than the code counts here."""
    weights = [(1 - DECAY) * DECAY**k for k in range(60)]
    mixtures = [sum(q * below(of(history, j), ALPHA * RHO**-k) for k, q in enumerate(weights)) for j in TRUE]
    return WAIT + (1 - WAIT) / 2 * sum(mixtures)


def slow_slot(before: list, since: list, i: int, j: int, guess_nominee: float, guess: float) -> float:
    """Z at the nomination, times what the bets on arm i and against arm j made of the rewards since."""
    scales = [RHO**s for s in range(-DOWN, UP + 1)]
    return slow_z(before) * (
        IDLE
        + sum(
            JOINT[p, q]
            * above(of(since, i), min(ALPHA, guess_nominee * s))
            * below(of(since, j), min(ALPHA, guess * t))
            for p, s in enumerate(scales)
            for q, t in enumerate(scales)
        )
    )


def path(outcomes: tuple[int, ...]) -> tuple[float, float, float]:
    """M at the end of a search, what the code says of it, and the chance of the path.

    Adaptive pulls: always the arm with the smaller mean of the nominated pair. The set nominated at 4 pulls takes in the
    better of the two wrong arms, for the worse of the two right ones.
    """
    history = [(i, float(r)) for i, r in zip(range(4), outcomes, strict=False)]
    ledger = SetLedger(4, 2, 0.1)
    tell(ledger, [0, 1, 2, 3], [np.array([r]) for _, r in history])
    i, j = (1, 3) if ledger.book.empirical[1] > ledger.book.empirical[0] else (0, 2)
    chance = math.prod(MEANS[arm] if r else 1 - MEANS[arm] for arm, r in history)
    ledger.nominate(np.array(sorted({*TRUE, i} - {j})))
    before = list(history)
    for r in outcomes[4:]:
        arm = i if ledger.book.empirical[i] <= ledger.book.empirical[j] else j
        tell(ledger, [arm], [np.array([r])])
        history.append((arm, float(r)))
        chance *= MEANS[arm] if r else 1 - MEANS[arm]
    bets = pair(ledger, i, j)
    slot = slow_slot(before, history[4:], i, j, bets.guess_nominee, bets.guess)
    unused = (1 - W) + W * unused_share(1)
    m = unused * slow_z(history) + W * slot_share(1) * slot
    return m, math.exp(log_value(LEVEL, 0.0, bets)[0]), chance


MEANS = [0.5, 0.4, 0.5, 0.5]


def test_the_process_of_the_proof_has_mean_at_most_one_and_is_above_what_the_code_says() -> None:
    """All 2^8 paths, with their chances: no simulation."""
    paths = [path(outcomes) for outcomes in product((0, 1), repeat=8)]
    assert sum(chance for _, _, chance in paths) == pytest.approx(1)
    assert all(code <= m * (1 + 1e-9) for m, code, _ in paths)
    mean = sum(m * chance for m, _, chance in paths)
    assert 0.97 < mean <= 1 + 1e-9


# --- mistakes -----------------------------------------------------------------------------------------------------------

RATE = 0.3


def unluckiest(seed: int, among: float) -> bool:
    """Whether the evidence against the unluckiest of 100 equal best arms, after 60 pulls each, reaches 1/δ."""
    ones = int(np.random.default_rng(seed).binomial(60, 0.5, 100).min())
    before, nothing = (np.array([0.0, 1.0]), np.array([60.0 - ones, ones]), 2), (np.zeros(1), np.zeros(1), 0)
    bets = Pair(before, nothing, nothing, 15, 1 - W * slot_share(1), W * slot_share(1), 0.1, 0.1, among)
    return log_value(LEVEL, 0.0, bets)[0] >= math.log(1 / RATE)


def test_what_losers_showed_before_the_nomination_costs_log_m_and_a_mutant_without_it_is_caught() -> None:
    reached, mutant = (sum(unluckiest(seed, among) for seed in range(200)) for among in (100.0, 1.0))
    assert reached == 2 <= most_allowed(200, RATE) < mutant


# --- answers, counted ---------------------------------------------------------------------------------------------------

HARD: dict[str, tuple[FiniteArms, int, float, int]] = {
    "a tie at the boundary": (bernoulli([0.3, 0.5, 0.5, 0.7]), 2, 0.0, 0),
    "all equal": (bernoulli([0.5] * 7), 3, 0.0, 0),
    "skewed": (finite_arms([([0, 1], [4, 1]), ([0.5], [1]), ([0.4, 1], [5, 1]), ([0, 1], [1, 9])]), 2, 0.0, 3),
    "a gap of ε": (bernoulli([0.5, 0.5, 0.5, 0.55, 0.6]), 2, 0.05, 0),
}
"""Arms, m, ε, and how often of ten another set is named than the last m arms, which are as good as any.

By the theorem this has probability at most δ.
"""


@pytest.mark.parametrize(
    ("delta", "runs", "budget"), [(0.3, 10, 1_000), *(pytest.param(d, 500, 6_000, marks=MANY) for d in (0.1, 0.3))]
)
@pytest.mark.parametrize("name", HARD)
def test_another_set_is_named_with_probability_at_most_delta(name: str, delta: float, runs: int, budget: int) -> None:
    arms, m, epsilon, pinned = HARD[name]
    n, wrong = len(arms), 0
    for seed in range(runs):
        procedure = start("wager-top", n, delta, epsilon=epsilon, seed=seed, question=Question("top", top=m))
        done = simulate(procedure, arms.simulate(seed), budget=budget)
        wrong += done.value is not None and set(done.value.arms) != set(range(n - m, n))
    assert wrong == pinned or runs > 10
    assert wrong <= most_allowed(runs, delta)
