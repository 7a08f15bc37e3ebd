"""Plain Python and machine code give the same bits: what one recorded, the other replays."""

import copy
from typing import Any

import numpy as np
import pytest

import surest.compiled
from surest.algorithms import REGISTRY, Task
from surest.algorithms.questions import pairs
from surest.algorithms.stepwise import ASKED, absorb
from surest.algorithms.wager import crowd, sampling, transport
from surest.algorithms.wager.ledger import Ledger
from surest.arms import philox
from surest.compiled import Kernel, run_plainly
from surest.core.question import BEST, Question
from surest.evidence import alike, apart, betting, certificate, certificates, digest
from surest.evidence.betting import wide_bets
from surest.evidence.item_gate import bet_above

RUNS = 8


def bits(value: Any) -> Any:
    """A value without what may differ: the kinds of integers and NaNs."""
    if isinstance(value, np.ndarray):
        return value.shape, np.where(value != value, np.nan, value).tobytes()
    if isinstance(value, tuple):
        return tuple(bits(part) for part in value)
    return "nan" if value != value else (value.hex() if isinstance(value, float) else value)


def both(kernel: Any, *args: Any) -> Any:
    """Run a kernel both ways, see that all agrees, and leave its arguments changed."""
    assert isinstance(kernel, Kernel)
    other = copy.deepcopy(args)
    left, surest.compiled._state.plain_steps_left = surest.compiled._state.plain_steps_left, np.inf
    plain = run_plainly(kernel, args)
    surest.compiled._state.plain_steps_left = left
    machine = kernel.dispatcher()(*other)
    assert bits(plain) == bits(machine)
    assert type(plain) is type(machine)
    assert bits(args) == bits(other)
    return plain


def ledger(seed: int) -> tuple[Ledger, np.random.Generator]:
    """What Wager knows after a few hundred random rewards, with a nominee."""
    rng = np.random.default_rng(seed)
    n, epsilon = int(rng.integers(2, 6)), float(rng.choice([0.0, 0.1]))
    book = Ledger(n, 0.05, epsilon)
    means, kind = rng.random(n), rng.integers(3)
    for _ in range(2):
        for arm in range(n):
            uniform = rng.random(int(rng.integers(40, 120)))
            rewards = [uniform < means[arm], uniform * means[arm], np.full(len(uniform), rng.integers(2))][kind]
            (book.since if book.nominees else book.before).add(np.full(len(rewards), arm), rewards)
            book.squares[arm] += (rewards.astype(float) ** 2).sum()
        book._describe()
        book.nominate(book.leader)
    for arm in range(n):
        book.since.add(np.full(7, arm), rng.random(7) < means[arm])
    book._describe()
    return book, rng


@pytest.mark.parametrize("seed", range(RUNS))
def test_wager_decides_alike(seed: int) -> None:
    book, rng = ledger(seed)
    n, a = len(book.counts), book.leader
    seen = book.counts, book.means, book.spreads
    both(sampling.update_optimistic, book.optimistic, np.arange(n), *seen)
    both(sampling.separations, a, *seen, book.epsilon)
    both(sampling.plan, a, book._seen(), rng.random(n) < 0.3, book.epsilon, rng.random(30), 1)
    kinds, firsts = np.arange(n), np.arange(n)
    narrow = sampling.narrow_pairs(a, book._seen())
    rule = crowd.Rule(a, book._seen(), book.counts.copy(), rng.random(n) < 0.3, narrow, book.epsilon)
    both(crowd._plan, kinds, rule, crowd._grouped(firsts, rule, n + 31), rng.random(30), 2)
    for j in (j for j in range(n) if j != a):
        digests = book._seen().before, book._seen().since
        both(transport.transport, a, j, book.counts, book.empirical, 1.0, 1.5, *digests, book.epsilon)
    for mean, spread, x in rng.random((20, 3)):
        both(sampling.divergence, mean, 1 / spread, x)


@pytest.mark.parametrize("seed", range(RUNS))
def test_wager_top_decides_alike(seed: int) -> None:
    book, rng = ledger(seed)
    n = len(book.counts)
    inside = np.sort(rng.choice(n, n // 2, replace=False))
    both(pairs.pair_separations, inside, book.counts, book.means, book.spreads, book.epsilon)
    rows = np.full(n, -1)
    rows[inside] = np.arange(len(inside))
    seen = pairs.Seen(book.counts, book.means, book.spreads, rows, rng.random((len(inside), n)) < 0.3)
    both(pairs.plan_pairs, inside, np.delete(np.arange(n), inside), seen, book.epsilon, rng.random(30))


@pytest.mark.parametrize("seed", range(RUNS))
def test_certificates_are_alike(seed: int) -> None:
    book, rng = ledger(seed)
    evidence, n = book._evidence(), len(book.counts)
    todo = np.flatnonzero(np.arange(n) != evidence.nominee)
    for x in rng.random(5):
        pair = certificate.Pair(
            *(
                (part[0][j], part[1][j], int(part[2][j]))
                for part, j in (
                    (evidence.before, todo[0]),
                    (evidence.since, todo[0]),
                    (evidence.since, evidence.nominee),
                )
            ),
            int(evidence.bets[todo[0]]),
            *(float(v) for v in (evidence.base[todo[0]], evidence.share)),
            float(evidence.guesses_nominee[todo[0]]),
            float(evidence.guesses[todo[0]]),
            float(rng.integers(1, 4)),
        )
        both(certificate.log_value, x * (1 - book.epsilon), book.epsilon, pair)
        both(certificate.certificate, x, np.inf, book.epsilon, pair)
    for goal in (book.goal, np.inf):
        both(certificates.raise_certificates, book.certified, book.minimisers, todo, goal, book.epsilon, evidence)
        both(certificates._bounds_against, todo, book.minimisers[todo], goal, book.epsilon, evidence)
    both(certificates.raise_weakest, book.certified, book.minimisers, todo, book.goal, book.epsilon, evidence)
    both(certificates.smallest_epsilon, book.epsilon, todo[:2], book.goal, book.minimisers, evidence)
    bets = [wide_bets(book.before.counts, book.before.sums, is_above) for is_above in (True, False)]
    both(apart._shortfall, 0, np.arange(n), evidence.before, *bets, book.goal)


@pytest.mark.parametrize("seed", range(RUNS))
def test_digests_and_mixtures_are_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [digest.Digests(3, 8) for _ in range(2)]
    arms, rewards, times = rng.integers(0, 3, 60), rng.random(60).round(seed % 5), rng.integers(1, 9, 60).astype(float)
    for part in parts:
        both(digest._add_all, part.values, part.weights, part.size, arms, rewards, times)
        np.add.at(part.counts, arms, times)
        np.add.at(part.sums, arms, rewards * times)
    first, second = parts
    both(digest._merge, first.values, first.weights, first.size, second.values, second.weights, second.size)
    for is_above in (True, False):
        bets = both(wide_bets, first.counts, first.sums, is_above)
        both(betting._mixtures, first.values, first.weights, first.size, bets, rng.random(3), is_above)
        both(betting.mixture, first.values[0], first.weights[0], int(first.size[0]), 20, float(rng.random()), is_above)
    rows = [(part.values, part.weights, part.size) for part in parts]
    both(betting._bounds, np.arange(3), *rows, first.counts + second.counts, first.sums + second.sums, 3.7)


@pytest.mark.parametrize("seed", range(RUNS))
def test_bets_on_a_difference_are_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    path = rng.choice([-1.0, 0.0, 1.0], 60) if seed % 2 else rng.uniform(-1, 1, 60)
    for total in (60.0, 200.0, np.inf):
        for mean, lean in ((-0.3, True), (-1e-200, True), (0.0, False), (0.2, False)):
            both(bet_above, path, total, mean, 20.0, lean)


def test_both_speak_alike_of_what_is_an_error_in_python() -> None:
    both(sampling.divergence, 0.5, 1.0, 0.0)
    both(sampling.divergence, 0.5, 1.0, 1.0)
    both(sampling.separations, 0, np.zeros(2), np.array([0.5, 0.2]), np.ones(2), 0.0)
    both(betting.mixture, np.array([0.0, 1.0]), np.array([3.0, 2.0]), 2, 9, 1.0, False)
    both(betting.mixture, np.array([0.0, 1.0]), np.array([3.0, 2.0]), 2, 9, 0.0, True)


@pytest.mark.parametrize("name", [name for name, entry in REGISTRY.items() if entry.stepwise is not None])
def test_rules_that_decide_pull_by_pull_are_alike(name: str) -> None:
    rng = np.random.default_rng(1)
    options = {"h1": 100.0} if name in {"ucb-e", "ugape-b"} else {}
    asked = (BEST, BEST, Question("top", top=2)) if "top" in REGISTRY[name].answers else (BEST, BEST)
    for kind, question in enumerate(asked):
        problem = Task(np.arange(4), 0.1, 0.0, 400, np.random.default_rng(2), question=question)
        decide, state, *_ = REGISTRY[name].stepwise(problem, **options)
        for _ in range(120):
            asked = both(decide, state)
            if asked == 0:
                break
            state.marks[ASKED] = asked
            uniform = rng.random(asked)
            state.fresh[:asked] = (uniform < 0.2 + 0.2 * state.pick[:asked]) if kind else uniform
            both(absorb, state)


@pytest.mark.parametrize("seed", range(RUNS))
def test_draws_and_kinds_are_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    both(alike._numbered, rng.integers(-3, 3, (2, 40)))
    start, sizes, times = np.array([0, 1, 3, 6]), np.array([1, 2, 3, 2]), np.array([5, int(rng.integers(1, 40)), 2, 9])
    probabilities = np.append(1.0, np.array([0.3, 0.7, 0.2, 0.5, 0.3, 0.9, 0.1]))
    keys, requests = rng.integers(0, 2**63, 5).astype(np.uint64), rng.integers(0, 9, 4).astype(np.uint64)
    offset, drawn = np.array([0, 1, 3, 5]), (np.zeros(7, np.int64), np.zeros(7, np.int64))
    both(philox.draw_atoms, keys, requests, times, (start, sizes, probabilities), offset, *drawn)
