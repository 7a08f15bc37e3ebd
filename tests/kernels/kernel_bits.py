"""Prints digests of what kernels answer on random input, a line each, and a search. `test_kernels` compares ways to run it."""

import hashlib
import json
from typing import Any

import numpy as np

import surest
from surest.algorithms import REGISTRY, Task
from surest.algorithms.wager import sampling as planning
from surest.algorithms.wager.ledger import Ledger
from surest.arms.instances import example1
from surest.core.question import BEST, Question
from surest.evidence.pulls.alike import kinds_of
from surest.evidence.pulls.digest import Digests
from surest.kernels import (
    bets,
    certificates,
    constants,
    crowds,
    differences,
    digests,
    each,
    lists,
    pairs,
    philox,
    sampling,
)
from surest.kernels.constants import STEPS
from surest.kernels.lab import divergence, rivals, rules
from surest.kernels.lab.constants import ASKED


def bits(value: Any) -> Any:
    """A value without what may differ: the kinds of numbers, and of NaNs."""
    if isinstance(value, np.ndarray):
        return value.shape, np.where(value != value, np.nan, value).tobytes()
    if isinstance(value, tuple):
        return tuple(bits(part) for part in value)
    if value is None or isinstance(value, bool | np.bool_):
        return value and bool(value)
    if not isinstance(value, int | float | np.number):
        return "…"
    return "nan" if value != value else float(value).hex()


def tell(kernel: Any, *args: Any) -> Any:
    """Call a kernel, and print its name and a digest of its answer and of all arrays that it may have changed."""
    answer = kernel(*args)
    said = hashlib.sha256(repr((bits(answer), [bits(arg) for arg in args])).encode()).hexdigest()
    print(kernel.__module__, kernel.__name__, said[:16])
    return answer


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
            book.squares[arm] += (rewards.astype(float) * rewards).sum()
        book._describe()
        book.nominate(book.leader)
    for arm in range(n):
        book.since.add(np.full(7, arm), rng.random(7) < means[arm])
    book._describe()
    return book, rng


def wager(seed: int) -> None:
    """Where it pulls next, its certificates, and how far arms are apart."""
    book, rng = ledger(seed)
    n, a, seen = len(book.counts), book.leader, (book.counts, book.means, book.spreads)
    tell(sampling.update_optimistic, book.optimistic, np.arange(n), *seen)
    tell(sampling.separations, a, *seen, book.epsilon)
    tell(planning.plan, a, book._seen(), rng.random(n) < 0.3, book.epsilon, rng.random(30), 2)
    given = a, book._seen(), rng.random(n) < 0.3, book.epsilon, rng.random(30), 2
    tell(planning.plan_many, kinds_of(*seen)[0], *given)
    for j in (j for j in range(n) if j != a):
        tell(sampling.transport, a, j, book._seen().kernel(), 1.0, 1.5, book.epsilon)
    for mean, spread, x in rng.random((20, 3)):
        tell(sampling.divergence, mean, 1 / spread, x)
    inside = np.sort(rng.choice(n, n // 2, replace=False))
    tell(sampling.pair_separations, inside, *seen, book.epsilon)
    rejected = rng.random((len(inside), n)) < 0.3
    outside = np.delete(np.arange(n), inside)
    tell(sampling.plan_pairs, inside, outside, *(x.copy() for x in seen), rejected, book.epsilon, rng.random(30))
    sums, times = book.empirical * book.counts, rng.integers(1, 5, n)
    bets_placed = tell(pairs.place, np.arange(n), times, book.counts, sums, book.squares, rng.random(n) < 0.8)
    tell(pairs.settle, np.zeros(n), np.arange(n), times, *bets_placed, rng.random(int(times.sum())))
    tell(pairs.leader_ratio, a, int(a == 0), n - 1, book.counts, sums, book.squares)
    evidence = book._evidence().kernel()
    todo = np.flatnonzero(np.arange(n) != book.nominees[-1])
    for x in rng.random(5):
        tell(certificates.log_value, x * (1 - book.epsilon), book.epsilon, evidence, todo[0])
        tell(certificates.certificate, x, np.inf, book.epsilon, evidence, todo[0])
    for goal in (book.goal, np.inf):
        tell(certificates.raise_certificates, book.certified, book.minimisers, todo, goal, book.epsilon, evidence)
        tell(certificates.bounds_against, todo, book.minimisers[todo], goal, book.epsilon, evidence)
    tell(certificates.raise_weakest, book.certified, book.minimisers, todo, book.goal, book.epsilon, evidence)
    tell(certificates.smallest_epsilon, book.epsilon, todo[:2], book.goal, book.minimisers, evidence)
    told = book.before.rows(), book.before.counts, book.before.sums
    up, down = (tell(bets.wide_bets, *told[1:], is_above) for is_above in (True, False))
    tell(differences.shortfall, told[0], 0, np.arange(n), up, down, book.goal)
    tell(differences.weigh, *told, np.arange(n), 0.4, 0.6)
    for goal in (3.0, np.inf):
        tell(differences.compare, *told, np.arange(1, n), 0, rng.random() - 0.5, 0.1, rng.random((2, n)), goal)
    tell(differences.differences, *told, 0, 4.0)
    tell(differences.least_lead, told[0], 0, 12, 1, 12, float(book.before.means[0] - book.before.means[1]), 0.3, 4.0)


def mixtures(seed: int) -> None:
    """Digests, and what bets on them have won."""
    rng = np.random.default_rng(seed)
    first, second = Digests(3, 8), Digests(3, 8)
    arms, rewards, times = rng.integers(0, 3, 60), rng.random(60).round(seed % 5), rng.integers(1, 9, 60).astype(float)
    for part in (first, second):
        kept = part.values, part.weights, part.size, part.counts, part.sums
        tell(digests.add_all, *kept, arms, rewards, times)
    tell(crowds.put_atoms, np.empty((6, 4)), first.rows(), np.array([2, 0, 1, 0]))
    tell(digests.merge, first.values, first.weights, first.size, second.values, second.weights, second.size)
    for is_above in (True, False):
        many = tell(bets.wide_bets, first.counts, first.sums, is_above)
        tell(bets.mixtures, first.rows(), many, rng.random(3), is_above)
    counts, sums = first.counts + second.counts, first.sums + second.sums
    tell(bets.bounds, np.arange(3), first.rows(), second.rows(), counts, sums, 3.7)
    for p, level in rng.random((10, 2)):
        tell(divergence.kl_upper, p, level)
        tell(divergence.k_inf, np.sort(rng.random(5)), rng.random(5), 5, p)


def on_lists(seed: int) -> None:
    """Bets on lists of items."""
    rng = np.random.default_rng(seed)
    path = rng.choice([-1.0, 0.0, 1.0], 60) if seed % 2 else rng.uniform(-1, 1, 60)
    for total in (60.0, 200.0, np.inf):
        for mean, lean in ((-0.3, True), (-1e-200, True), (0.0, False), (0.2, False)):
            told = np.empty((0, 4))
            if total < np.inf:
                told, baseline, size = np.zeros((60, 4)), rng.random(int(total)), 3
                features, room = rng.random((int(total), size)), np.eye(size, size + 1)
                for start in range(0, 60, 8):
                    given = max(start - 8, 0), start, min(start + 8, 60)
                    tell(
                        lists.predict,
                        path,
                        *given,
                        baseline,
                        baseline * rng.integers(0, 2),
                        features,
                        room,
                        np.empty((size, size + 1)),
                        told,
                    )
            tell(lists.bet_above, path, told, 0, total, mean, 20.0, lean, 0.3, np.empty(6 + 2 * STEPS))
        tell(lists.interval, np.abs(path), np.ones(60), total, 0.1, np.empty(60))
    n, t = 4, int(rng.integers(1, 30))
    scores = rng.random((t, n)).round(seed % 3)
    sums, squares, wealth = scores.sum(axis=0), (scores * scores).sum(axis=0), rng.random((n, 2, 1 + STEPS)) + 0.5
    for population in (False, True):
        given = np.arange(n), rng.random(n), t, float(t), 40.0, population
        tell(
            lists.bet_on_bars, *given, np.array([0.45, 0.55]), np.array([0.0, 1.0]), sums, sums.copy(), squares, wealth
        )
        for gap in (0.0, 0.1, 0.9):
            rest = np.full(n, t), scores, np.ones(40), 40.0, population, np.empty(STEPS)
            tell(lists.all_within, gap, np.arange(3), np.arange(n), np.full(n, 2.0), *rest)
        apart = [np.zeros(n) for _ in range(3)]
        given = np.arange(n), scores, np.ones(40), 40.0, population, np.zeros(n, np.int64), 0, 0.0
        for epsilon, bets_made in ((0.1, 1 + STEPS), (1.0, 1)):  # at 1 there is no room on a population
            tell(lists.bet_on_pairs, 1, epsilon, *given, *apart, np.ones((n, bets_made)))
    sets, alive, rank = np.array([[0, 1], [0, 2], [1, 3], [2, 3]]), np.array([0, 1, 3]), rng.permutation(4)
    weakest, strongest = np.zeros(3, np.int64), np.zeros(3, np.int64)
    tell(lists.boundary, sets, alive, rank, weakest, strongest, np.zeros(5, np.int64))
    against = rng.random((4, 9))
    tell(lists.pay, alive, strongest, weakest, rng.random((4, 4, 9)), against)
    for needed in (0.0, 0.5, 2.0):
        room = np.zeros((2, 4), np.int64)
        tell(lists.all_doubted, sets, alive, against[:, 0].copy(), np.array([0, 1]), np.full((4, 4), needed), room)


def draws(seed: int) -> None:
    """Random numbers, and which columns are alike."""
    rng = np.random.default_rng(seed)
    tell(crowds.numbered, rng.integers(-3, 3, (2, 40)).astype(np.uint64))
    start, sizes, times = np.array([0, 1, 3, 6]), np.array([1, 2, 3, 2]), np.array([5, int(rng.integers(1, 40)), 2, 9])
    probabilities = np.array([1.0, 0.3, 0.7, 0.2, 0.5, 0.3, 0.9, 0.1])
    keys, requests = rng.integers(0, 2**63, 5).astype(np.uint64), rng.integers(0, 9, 4).astype(np.uint64)
    offset, drawn = np.array([0, 1, 3, 5]), (np.zeros(7, np.int64), np.zeros(7, np.int64))
    tell(philox.draw_atoms, keys, requests, times, start, sizes, probabilities, offset, *drawn)


def rule(name: str) -> None:
    """A rule that decides pull by pull."""
    rng, options = np.random.default_rng(1), {"h1": 100.0} if name in {"ucb-e", "ugape-b"} else {}
    questions = (BEST, BEST, Question("top", top=2)) if "top" in REGISTRY[name].answers else (BEST, BEST)
    for kind, question in enumerate(questions):
        task = Task(np.arange(4), 0.1, 0.0, 400, np.random.default_rng(2), question=question)
        stepwise = REGISTRY[name].stepwise(task, **options)
        state, views = stepwise.state, stepwise.state.views()
        for _ in range(120):
            asked = rivals.decide(stepwise.rule, views)
            if asked == 0:
                break
            state.marks[ASKED] = asked
            uniform = rng.random(asked)
            state.fresh[:asked] = (uniform < 0.2 + 0.2 * state.pick[:asked]) if kind else uniform
            rules.absorb(views)
        print(name, hashlib.sha256(repr([bits(part) for part in state]).encode()).hexdigest()[:16])


def main() -> None:
    for seed in range(8):
        for part in (wager, mixtures, on_lists, draws):
            part(seed)
    for name, entry in REGISTRY.items():
        if entry.stepwise is not None:
            rule(name)
    for function in (each.exp, each.log, each.log1p):
        tell(function, np.random.default_rng(3).random((40, 30)) * 5)
    print(constants.JOINT.tobytes().hex())
    search = surest.identify(example1(12), seed=1).to_dict()
    print(json.dumps({**search, "seconds": None}))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        duels = surest.duel([*"abcd"], judge=lambda a, b, rng=rng: float(rng.random() < 0.5 + (a < b) / 5), seed=seed)
        print(json.dumps({**duels.to_dict(), "seconds": None}))


if __name__ == "__main__":
    main()
