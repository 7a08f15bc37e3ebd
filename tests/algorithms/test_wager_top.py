"""wager-top: what it nominates, keeps and shows, and where it pulls."""

import math

import numpy as np
import pytest

from surest.algorithms import start
from surest.algorithms.questions.wager_top import SetLedger, largest
from surest.arms.finite import bernoulli, finite_arms
from surest.core.protocol import Status, atoms_of
from surest.core.question import Question
from surest.errors import UsageError
from surest.kernels.constants import REJECTED
from surest.kernels.sampling import pair_separations, plan_pairs, separation
from surest.search.simulate import replay, simulate

CLEAR = [0.1, 0.9, 0.2, 0.8, 0.15]


def top(m: int) -> Question:
    return Question("top", top=m)


def tell(ledger: SetLedger, ones: list[int], times: int) -> None:
    """So many ones of so many rewards, an arm."""
    values = np.array([0.0, 1.0])
    ledger.count(np.arange(len(ones)), atoms_of([(values, np.array([times - k, k])) for k in ones]))


@pytest.mark.parametrize(("m", "answer"), [(1, {1}), (2, {1, 3}), (4, {1, 2, 3, 4})])
def test_it_names_the_m_best_arms_the_best_mean_first(m: int, answer: set[int]) -> None:
    done = simulate(start("wager-top", 5, 0.05, seed=2, question=top(m)), bernoulli(CLEAR).simulate(2))
    assert done.value is not None
    assert set(done.value.arms) == answer
    assert list(done.value.arms) == sorted(done.value.arms, key=lambda arm: -done.means[arm])
    assert (done.value.certified, done.value.reason) == (True, "certified")
    status = done.value.status
    assert (status.chosen, status.leader) == (done.value.arms, done.value.arms[0])
    assert set(status.contenders) == answer
    assert status.in_play == m
    assert status.evidence >= status.threshold == pytest.approx(math.log(20))
    assert status.achieved_delta == pytest.approx(math.exp(-status.evidence))
    assert status.epsilon_certified == 0


def test_what_it_shows_on_the_way() -> None:
    shown: list[tuple[int, Status]] = []
    arms = bernoulli([0.3, 0.35, 0.6, 0.9])
    done = simulate(
        start("wager-top", 4, 0.05, seed=4, question=top(2)),
        arms.simulate(4),
        on_request=lambda running: shown.append((running.pulls, running.request.status())),
    )
    first, last = shown[0][1], shown[-1][1]
    assert (first.achieved_delta, first.epsilon_certified, first.contenders) == (1.0, 1.0, (0, 1, 2, 3))
    assert first.forecast is None
    assert 0 < last.forecast < 0.2 * done.pulls
    assert 0.05 < last.achieved_delta < 0.5
    assert 0 < last.epsilon_certified < 0.2
    assert {len(status.chosen) for _, status in shown} == {2}
    assert all(set(status.chosen) <= set(status.contenders) for _, status in shown)
    low, high = last.intervals
    assert ((low < arms.means) & (arms.means < high)).all()


def test_to_look_changes_nothing() -> None:
    runs = [
        simulate(
            start("wager-top", 5, 0.1, seed=3, question=top(2)),
            bernoulli(CLEAR).simulate(3),
            on_request=look,
            record=True,
        )
        for look in (None, lambda running: running.request.status())
    ]
    assert [r.arms.tolist() for r, _ in runs[0].transcript] == [r.arms.tolist() for r, _ in runs[1].transcript]
    assert runs[0].value.status.evidence == runs[1].value.status.evidence


def test_ties_inside_and_outside_of_the_set_do_not_matter_and_ties_across_its_boundary_never_end() -> None:
    ends = simulate(start("wager-top", 4, 0.1, question=top(2)), bernoulli([0.9, 0.9, 0.1, 0.1]).simulate(1))
    assert set(ends.value.arms) == {0, 1}
    constant = finite_arms([([0.9], [1]), ([0.5], [1]), ([0.5], [1]), ([0.1], [1])])
    never = simulate(start("wager-top", 4, 0.1, question=top(2)), constant.simulate(1), budget=20_000)
    assert never.spent
    assert simulate(start("wager-top", 4, 0.1, epsilon=0.1, question=top(2)), constant.simulate(1)).pulls < 5_000


def test_with_epsilon_a_set_within_it_is_enough() -> None:
    done = simulate(
        start("wager-top", 3, 0.1, epsilon=0.2, seed=5, question=top(2)), bernoulli([0.8, 0.5, 0.49]).simulate(5)
    )
    assert 0 in done.value.arms
    assert done.value.reason == "certified ε-optimal"
    assert done.value.status.epsilon_certified == 0.2


def test_an_epsilon_of_nearly_everything_ends_too() -> None:
    sure = bernoulli([0.0, 1.0, 1.0, 0.0])
    assert simulate(start("wager-top", 4, 0.1, epsilon=0.99, question=top(2)), sure.simulate(0)).pulls < 200


def test_certificates_are_kept_for_their_set_alone() -> None:
    ledger = SetLedger(4, 2, 0.1)
    tell(ledger, [9, 8, 2, 1], 10)
    ledger.nominate(np.array([0, 1]))
    ledger.certified[:, 2:] = 5.0
    assert ledger.decided
    ledger.nominate(np.array([0, 2]))
    assert (ledger.certified[:, [1, 3]] == -math.inf).all()
    ledger.leading = np.array([0, 2])
    assert not ledger.decided
    ledger.nominate(np.array([0, 1]))
    assert (ledger.certified[:, 2:] == 5.0).all()  # nominated anew, it has what it had


def test_a_set_is_nominated_when_it_is_clear_and_its_bets_are_on_what_comes() -> None:
    ledger = SetLedger(4, 2, 0.1)
    tell(ledger, [5, 5, 4, 4], 9)
    ledger.nominate_if_due()
    assert ledger.nominations == 0
    tell(ledger, [30, 28, 5, 4], 31)
    ledger.nominate_if_due()
    assert ledger.nominated.tolist() == [0, 1]
    assert ledger.book.since.counts.sum() == 0
    ledger.refute()
    assert not ledger.decided
    tell(ledger, [30, 28, 5, 4], 31)
    ledger.nominate_if_due()
    ledger.refute()
    assert (ledger.nominations, ledger.decided) == (1, True)


def slow_plan(
    inside: list[int], seen: tuple[np.ndarray, ...], rejected: np.ndarray, epsilon: float, coins: np.ndarray
) -> list[int]:
    """Every key anew for every pull."""
    counts, means, spreads = seen
    moved, times = counts.copy(), [0] * len(counts)
    outside = [j for j in range(len(moved)) if j not in inside]
    for coin in coins:
        best = None
        for i in inside:
            for j in outside:
                apart, part = separation(moved[i], means[i], spreads[i], moved[j], means[j], spreads[j], epsilon)
                key = apart + 0.5 * math.log(moved[i] * moved[j])
                key += REJECTED if rejected[inside.index(i), j] else 0.0
                if best is None or key < best[0]:
                    best = key, part, i, j
        pulled = best[2] if coin < best[1] else best[3]
        times[pulled] += 1
        moved[pulled] += 1
    return times


@pytest.mark.parametrize("seed", range(6))
def test_a_batch_is_what_a_search_of_all_pairs_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m, epsilon = 7, 3, float(rng.choice([0.0, 0.1]))
    seen = rng.integers(2, 40, n).astype(float), rng.random(n), 1 + rng.random(n)
    rejected, inside = rng.random((m, n)) < 0.4, largest(seen[1], m)
    outside, coins = np.delete(np.arange(n), inside), rng.random(40)
    expected = slow_plan(inside.tolist(), seen, rejected, epsilon, coins)
    apart = pair_separations(inside, *seen, epsilon)
    assert plan_pairs(inside, outside, *seen, rejected, epsilon, coins).tolist() == expected
    assert np.isinf(apart[:, inside]).all()
    assert (apart[:, outside] < math.inf).all()


def test_many_workers_get_plans_ahead_and_a_script_is_heeded() -> None:
    arms = bernoulli(CLEAR)
    done = simulate(start("wager-top", 5, 0.1, seed=1, question=top(2), workers=8), arms.simulate(1), record=True)
    assert set(done.value.arms) == {1, 3}
    assert any(len(request.ahead) > 1 for request, _ in done.transcript)
    recorded = [(request.arms, request.times, "atoms") for request, _ in done.transcript]
    again = start("wager-top", 5, 0.1, seed=99, question=top(2), script=recorded)
    assert set(replay(again, done.transcript).arms) == {1, 3}
    with pytest.raises(UsageError, match="workers of wager-top is 0"):
        next(start("wager-top", 5, 0.1, question=top(2), workers=0))
