"""Wager as a user meets it: how it ends, what it says on the way, arms that come later."""

import numpy as np
import pytest

from surest import Session, identify
from surest.algorithms import start
from surest.algorithms.wager.sampling import _key, divergence, plan, separation
from surest.algorithms.wager.wager import Ledger, slot_share, unused_share
from surest.arms.finite import bernoulli, finite_arms
from surest.arms.instances import example1
from surest.core.protocol import atoms_of
from surest.drivers.simulate import replay, simulate
from surest.errors import UsageError


def tell(ledger: Ledger, arms: list[int], rewards: list[list[float]]) -> None:
    parts = [np.unique(np.asarray(r, float), return_counts=True) for r in rewards]
    ledger.count(np.array(arms), atoms_of(parts))


def test_priors_of_nominations_sum_to_one() -> None:
    for used in (1, 2, 7):
        assert sum(slot_share(k) for k in range(1, used + 1)) + unused_share(used) == pytest.approx(1)


def test_it_says_why_it_stopped() -> None:
    exact = identify(bernoulli([0.9, 0.2]), 0.1, seed=1)
    assert (exact.reason, exact.certified, exact.epsilon_certified) == ("certified", True, 0.0)
    assert exact.achieved_delta <= 0.1
    close = identify(bernoulli([0.5, 0.5, 0.5]), 0.1, epsilon=0.1, seed=1)
    assert (close.reason, close.certified) == ("certified ε-optimal", True)
    spent = identify(bernoulli([0.5, 0.5]), 0.1, budget=15_000, seed=1)
    assert (spent.reason, spent.certified) == ("budget spent", False)
    assert spent.pulls <= 15_000
    assert 0.0 < spent.epsilon_certified < 0.2
    assert 0.1 < spent.achieved_delta <= 1


@pytest.mark.parametrize(
    "arms",
    [
        bernoulli([1.0, 0.0]),
        bernoulli([0.0, 0.02]),
        finite_arms([([0.5], [1]), ([0.6], [1])]),
        finite_arms([([1.0], [1]), ([0.99], [1]), ([0.0], [1])]),
        finite_arms([([0.3], [1]), ([0.0, 1.0], [1, 1])]),
    ],
)
def test_arms_stuck_at_a_value_are_told_apart(arms: object) -> None:
    result = identify(arms, 0.05, seed=3)
    assert result.certified
    assert result.index == arms.means.argmax()


@pytest.mark.parametrize("mean", [0.0, 0.5, 1.0])
def test_equal_arms_end_with_epsilon_or_at_the_budget(mean: float) -> None:
    arms = finite_arms([([mean], [1]), ([mean], [1])])
    assert identify(arms, 0.1, epsilon=0.05, seed=1).certified
    spent = identify(arms, 0.1, budget=15_000, seed=1)
    assert not spent.certified
    assert spent.epsilon_certified < 0.05


def test_a_gap_of_a_thousandth_ends() -> None:
    result = identify(finite_arms([([0.4, 0.6], [1, 1]), ([0.399, 0.599], [1, 1])]), 0.1, seed=2)
    assert result.certified
    assert result.index == 0


def test_achieved_delta_reaches_delta_only_when_it_stops() -> None:
    levels = []
    identify(bernoulli([0.6, 0.4]), 0.05, seed=4, on_request=lambda r: levels.append(r.request.status().achieved_delta))
    assert min(levels) > 0.05
    assert levels[0] == 1.0


def test_a_transcript_replays() -> None:
    done = simulate(start("wager", 10, 0.1, seed=5), example1(10).simulate(5), record=True)
    assert replay(start("wager", 10, 0.1, seed=5), done.transcript).arm == done.value.arm


def test_batches_are_as_large_as_asked() -> None:
    sizes = []
    identify(bernoulli([0.6, 0.4, 0.3]), 0.1, seed=1, batch=32, on_request=lambda r: sizes.append(r.request.total))
    assert min(sizes[1:]) >= 32


def test_a_well_known_leader_adds_nothing_to_what_a_little_known_arm_says() -> None:
    apart, part = separation(180_000, 0.99, 1.0, 8, 0.85, 1.0, 0.0)
    assert apart == pytest.approx(8 * divergence(0.85, 1.0, 0.99), rel=0.01)
    assert part < 0.01
    for epsilon in (0.0, 0.1):
        assert separation(100, 0.5, 1.0, 100, 0.7, 1.0, epsilon)[0] == 0.0
        assert separation(100, 0.7, 1.0, 100, 0.5, 1.0, epsilon)[0] > 3.0


def test_the_lazy_heap_chooses_as_a_search_of_all_arms_does() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        n = int(rng.integers(2, 30))
        counts, means = rng.integers(2, 200, n).astype(float), rng.uniform(0.05, 0.95, n)
        spreads, rejected = rng.uniform(1, 5, n), rng.random(n) < 0.3
        leader, coins = int(means.argmax()), rng.random(60)
        moved, expected = counts.copy(), np.zeros(n, int)
        for coin in coins:
            keys = [(_key(j, leader, moved, means, spreads, rejected, 0.0), j) for j in range(n) if j != leader]
            (_, part), j = min(keys)
            pulled = leader if coin < part else j
            expected[pulled] += 1
            moved[pulled] += 1
        assert plan(leader, counts, means, spreads, rejected, 0.0, coins).tolist() == expected.tolist()


def test_arms_that_come_later_are_taken_in_at_their_own_price() -> None:
    rng = np.random.default_rng(1)
    means = {"a": 0.5, "b": 0.4, "c": 0.7, "d": 0.2}
    session = Session(["a", "b"], 0.1, reserve=0.1)
    told = 0
    while not session.finished:
        for ticket in session.ask(20):
            session.tell(ticket.id, float(rng.random() < means[ticket.label]))
            told += 1
        if told > 100 and len(session.labels) == 2:
            session.grow(["c", "d"])
    assert session.result().best == "c"
    assert session.result().certified
    with pytest.raises(UsageError, match="reserve"):
        Session(2, 0.1).grow(["late"])


def test_parts_of_delta_for_additions_sum_to_delta() -> None:
    ledger = Ledger(2, 0.1, reserve=0.2)
    for _ in range(50):
        ledger.grow(1)
    parts = np.exp(-(ledger.goal + ledger.prices[1:]))
    assert parts.sum() == pytest.approx(0.1 * (0.8 + 0.2 * (1 - 1 / 51)))


def test_a_hundred_thousand_arms_are_no_trouble() -> None:
    means = np.full(100_000, 0.2)
    means[777] = 0.95
    result = identify(bernoulli(means), 0.1, seed=1, budget=10**7)
    assert result.certified
    assert result.index == 777


def test_the_nominee_has_no_certificate_against_itself() -> None:
    for epsilon in (0.0, 0.1):
        ledger = Ledger(2, 0.1, epsilon)
        tell(ledger, [0, 1], [[0.0] * 10 + [1.0] * 40, [0.0] * 30 + [1.0] * 20])
        ledger.nominate(0)
        for _ in range(40):
            tell(ledger, [0, 1], [[0.0] * 2 + [1.0] * 8, [0.0] * 6 + [1.0] * 4])
            ledger.nominate_if_due()
            ledger.refute()
        assert ledger.nominees == [0]
        assert ledger.certified[0] == -np.inf
        assert ledger.certified[1] >= ledger.goal


def test_with_epsilon_certificates_lapse_when_arms_arrive() -> None:
    ledger = Ledger(2, 0.1, epsilon=0.15, reserve=0.1)
    tell(ledger, [0, 1], [[0.0, 1.0] * 20, [0.0, 1.0] * 20])
    ledger.nominate(0)
    tell(ledger, [0, 1], [[0.0, 1.0] * 200, [0.0, 1.0] * 200])
    ledger.nominate_if_due()
    ledger.refute()
    assert ledger.certified[1] > 0
    ledger.grow(1)
    assert (ledger.certified == -np.inf).all()
    assert ledger.status().achieved_delta == 1.0


def test_batches_of_ten_million_end() -> None:
    result = identify(bernoulli([0.5, 0.45]), 0.05, seed=0, batch=10_000_000, budget=100_000_000)
    assert result.certified
    assert result.index == 0
