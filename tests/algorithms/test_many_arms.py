"""Very many arms: what is done for all arms in the same state at once is what would be done for each."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import surest.algorithms.wager.ledger as module
from surest.algorithms import start
from surest.algorithms.wager.ledger import Ledger
from surest.algorithms.wager.sampling import plan_many
from surest.arms import finite
from surest.arms.finite import FiniteArms, bernoulli, finite_arms
from surest.arms.instances import example1, parse_source
from surest.core.procedure import Running
from surest.core.protocol import Atoms, FloatArray, IntArray, Pull, Statistic, atoms_of
from surest.evidence.pulls.certificates import raise_alike
from surest.kernels.certificates import raise_certificates, raise_weakest
from surest.kernels.sampling import plan, separations, update_optimistic
from surest.search.watching import Looks

REWARDS = np.array([0.0, 1.0])


def mixed(n: int) -> FiniteArms:
    """Laws of one value, of two and of many."""
    rng = np.random.default_rng(0)
    sizes = rng.choice([1, 2, 2, 2, 3, 7, 40], n)
    return finite_arms([(rng.random(size), rng.random(size) + 1e-3) for size in sizes])


@pytest.mark.parametrize("arms", [mixed(600), bernoulli(np.linspace(0, 1, 2_000))], ids=["mixed", "bernoulli"])
@pytest.mark.parametrize("seed", [1, 2**63 + 5])
def test_many_arms_are_drawn_as_each_would_be(arms: FiniteArms, seed: int) -> None:
    rng = np.random.default_rng(seed)
    together, apart = arms.simulate(seed), arms.simulate(seed)
    for _ in range(8):
        asked = np.flatnonzero(rng.random(len(arms)) < 0.6)
        times = rng.choice([1, 2, 3, 5, 30, 100, 10_000], len(asked))
        found = together.answer(Pull(asked, times, Statistic.ATOMS))
        each = zip(asked.tolist(), times.tolist(), strict=True)
        expected = atoms_of([apart._atoms(arm, often) for arm, often in each])
        assert found.start.tolist() == expected.start.tolist()
        assert found.values.tobytes() == expected.values.tobytes()
        assert found.counts.tolist() == expected.counts.tolist()


def test_without_a_compiler_the_draws_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    request = Pull(np.arange(600), 3, Statistic.ATOMS)
    usual = mixed(600).simulate(4).answer(request)
    monkeypatch.setattr(finite, "COMPILED", False)
    plain = mixed(600).simulate(4).answer(request)
    assert usual.values.tobytes() == plain.values.tobytes()


def crowded(seed: int, n: int = 1_500, lead: tuple[int, int] = (26, 8)) -> Ledger:
    """A ledger of many arms in few states, whose leader, with so many ones of 40 and then of 12, was nominated a while ago."""
    rng = np.random.default_rng(seed)
    ledger = Ledger(n, 0.05)
    for round_ in range(2):
        ones = rng.binomial(12 if round_ else 40, 0.3, n)
        ones[7] = lead[round_]
        zeros = (12 if round_ else 40) - ones
        ledger.count(np.arange(n), _atoms(zeros, ones))
        if not round_:
            ledger.nominate(7)
    return ledger


def _atoms(zeros: IntArray, ones: IntArray) -> Atoms:
    often = np.column_stack([zeros, ones])
    there = often > 0
    start = np.append(0, np.cumsum(there.sum(1)))
    return Atoms(start, np.broadcast_to(REWARDS, often.shape)[there], often[there])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spared", [0, 3])
def test_a_plan_for_many_is_the_plan_but_for_which_of_equal_arms(seed: int, spared: int) -> None:
    """How often arms of each state are pulled, and the leader, is the same: only ties are broken otherwise."""
    ledger, rng = crowded(seed, lead=(33, 11)), np.random.default_rng(seed)
    rejected = np.zeros(len(ledger.counts), bool)
    rejected[ledger.empirical < 0.15] = True
    coins, none = rng.random(2_000), np.zeros(len(rejected), np.int64)
    one = plan(7, ledger._seen(), ledger.counts.copy(), rejected, 0.0, coins, spared, np.empty(0))
    many = plan_many(ledger.states[0], none, 7, ledger._seen(), ledger.counts.copy(), rejected, 0.0, coins, spared)
    assert one.sum() == many.sum() == 2_000
    assert one[7] == many[7] > 0

    def states(times: IntArray) -> list[tuple[float, ...]]:
        return sorted(zip(*(c.tolist() for c in (ledger.counts, ledger.means, rejected, times)), strict=True))

    assert states(one) == states(many)


def test_what_is_computed_by_kind_has_the_bits_of_each_arm() -> None:
    ledger = crowded(1)
    seen = ledger.counts, ledger.means, ledger.spreads
    assert ledger._separations(7).tobytes() == separations(7, *seen, 0.0).tobytes()
    optimistic = np.ones(len(ledger.counts))
    update_optimistic(optimistic, np.arange(len(optimistic)), *seen)
    assert ledger.optimistic.tobytes() == optimistic.tobytes()


@pytest.mark.parametrize("seed", range(4))
def test_one_search_for_all_arms_alike_and_one_for_the_weakest_find_what_all_searches_do(seed: int) -> None:
    ledger = crowded(seed)
    todo = np.flatnonzero(np.arange(len(ledger.counts)) != 7)

    def raised(by: Callable[..., Any], order: IntArray, goal: float, *more: Any) -> tuple[FloatArray, Any]:
        evidence = ledger.evidence() if more else ledger.evidence().kernel()
        certified = ledger.certified.copy()
        return certified, by(certified, ledger.minimisers.copy(), order, goal, 0.0, evidence, *more)

    (each, _), (exact, _) = (raised(raise_certificates, todo, goal) for goal in (ledger.goal, math.inf))
    (alike, searches), (together, _) = (
        raised(raise_alike, todo, goal, ledger.settled) for goal in (ledger.goal, math.inf)
    )
    assert (each >= ledger.goal).tolist() == (alike >= ledger.goal).tolist()
    assert 0 < (each >= ledger.goal).sum() < len(todo)
    assert searches < len(todo) / 5
    assert exact[todo] == pytest.approx(together[todo], abs=1e-5)
    some, _ = raised(raise_weakest, todo[np.argsort(ledger._separations(7)[todo])], ledger.goal)
    assert some[todo].min() == pytest.approx(exact[todo].min(), abs=1e-5)
    assert (some <= exact + 1e-5).all()
    assert (some >= ledger.goal).tolist() == (exact >= ledger.goal).tolist()


def test_arms_alike_keep_what_was_certified_of_each() -> None:
    ledger = crowded(1)
    todo = np.arange(8, len(ledger.counts))
    before = np.where(np.arange(len(ledger.counts)) % 2, 2.5, -np.inf)
    certified = before.copy()
    raise_alike(certified, ledger.minimisers, todo, ledger.goal, 0.0, ledger.evidence(), ledger.settled)
    fresh = np.full(len(before), -np.inf)
    raise_alike(fresh, ledger.minimisers, todo, ledger.goal, 0.0, ledger.evidence(), ledger.settled)
    assert (certified >= before).all()
    assert certified[:8].tolist() == before[:8].tolist()
    assert ((certified >= ledger.goal) == (fresh >= ledger.goal)).all()


def test_a_look_at_many_arms_searches_once_a_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work, not time: a look computes as many certificates as there are states, and changes nothing."""
    ledger, searched = crowded(1, 20_000), []

    def counted(certified: FloatArray, starts: FloatArray, todo: IntArray, *rest: object) -> None:
        searched.append(len(todo))
        raise_weakest(certified, starts, todo, *rest)  # type: ignore[arg-type]

    def counted_epsilon(least: float, doubtful: IntArray, *_: object) -> float:
        searched.append(len(doubtful))
        return least

    monkeypatch.setattr(module, "raise_weakest", counted)
    monkeypatch.setattr(module, "smallest_epsilon", counted_epsilon)
    kept = ledger.certified.copy(), ledger.minimisers.copy()
    status = ledger.status()
    assert len(searched) == 2
    assert max(searched) < 400
    assert status.evidence > -math.inf
    assert all((a == b).all() for a, b in zip(kept, (ledger.certified, ledger.minimisers), strict=True))


@pytest.mark.parametrize(("n", "most"), [(12, 1_000), (1_100, 100_000)], ids=["few", "crowd"])
def test_history_looks_seldom_and_at_nothing_but_evidence(n: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals, the smallest ε and the like take most of the time of a status, and a history does not keep them."""
    drawn = example1(n).simulate(1)
    running, looks, rounds = Running(start("wager", n, 1e-12, seed=1), n), Looks(), 0
    with monkeypatch.context() as patch:
        for name in ("confidence_sequence", "smallest_epsilon", "shortfalls"):
            patch.setattr(module, name, lambda *_, name=name: pytest.fail(f"a history does not need {name}"))
        while running.pulls < most:
            looks(running)
            running.send(drawn.answer(running.request))
            rounds += 1
    assert 4 <= len(looks.points) <= rounds / 8
    assert looks.points[-1].evidence > -math.inf
    status = running.request.status()
    assert running.request.evidence() == (status.evidence, status.threshold)


def test_history_takes_less_than_a_tenth_of_a_long_run() -> None:
    """A clock of our own: a round takes 10 ms, a look 50 ms."""
    now, looks = [0.0], Looks()
    looks.clock = lambda: now[0]
    looks.began = looks.last = 0.0
    looks.show = lambda *_: now.__setitem__(0, now[0] + 0.05)

    class Growing:
        pulls, request, status = 100, None, None

    for _ in range(2_000):
        now[0] += 0.01
        Growing.pulls = int(1.3 * Growing.pulls) if Growing.pulls < 10**60 else Growing.pulls
        looks(Growing)  # type: ignore[arg-type]
    rounds = 2_000 * 0.01
    assert 0 < now[0] - rounds < 0.1 * rounds


@pytest.mark.slow
def test_a_million_arms() -> None:
    """Measured: 114 million pulls in 89 s of one core, 1.8 GB (docs/wager.md)."""
    n = 1_000_000
    source = parse_source(f"bernoulli:0.5,0.3x{n - 1}").simulate(1)
    running = Running(start("wager", n, 0.05, seed=1), n, budget=2 * 10**8)
    while running.request is not None:
        running.send(source.answer(running.request))
    assert not running.spent
    assert running.value.arms == (0,)
    assert running.pulls < 1.5 * 10**8
