"""wager-above, wager-control and wager-top: what they pull, decide and show. The first two against slow transcriptions.

`wager_questions.txt` has which arms are named, and what is refused.
"""

from itertools import combinations
from math import inf, isfinite, log, log2
from pathlib import Path

import numpy as np
import pytest

from one_pair import digest_of, exceeds
from pages import same_as_kept
from surest.algorithms import start
from surest.algorithms.questions.wager_top import SetLedger, largest
from surest.arms.finite import FiniteArms, bernoulli, finite_arms
from surest.core.procedure import Running
from surest.core.protocol import Status, atoms_of
from surest.core.question import Question
from surest.evidence.pulls.bars import allowed, share_needs, share_verdicts
from surest.evidence.pulls.betting import confidence_sequence
from surest.evidence.pulls.digest import Digests
from surest.kernels.constants import REJECTED
from surest.kernels.differences import compare, differences
from surest.kernels.sampling import pair_separations, plan_pairs, separation
from surest.search.simulate import simulate

MIXED = finite_arms([([0.0, 0.25, 1.0], [0.2, 0.5, 0.3]), ([0.1, 0.9], [0.3, 0.7]), ([0.4], [1.0])])
FOUR = bernoulli([0.3, 0.9, 0.75, 0.1])
CLEAR = bernoulli([0.1, 0.9, 0.2, 0.8, 0.15])
BAR, CONTROL = Question("above", bar=0.5), Question("control", control=0, margin=0.1)
Rewards = list[list[float]]


def top(m: int) -> Question:
    return Question("top", top=m)


def run(question: Question, arms: FiniteArms, delta: float = 0.1, seed: int = 0, **more: object) -> Running:
    """A search, with the seed for its arms and itself; what `simulate` takes goes there."""
    given = {name: more.pop(name) for name in ("budget", "record", "on_request") if name in more}
    procedure = start(f"wager-{question.kind}", len(arms), delta, seed=seed, question=question, **more)
    return simulate(procedure, arms.simulate(seed), **given)


def statuses(question: Question, arms: FiniteArms, seed: int) -> tuple[list[Status], Running]:
    """What is shown at every request, and the search: it goes as it does when nobody looks."""
    shown: list[Status] = []
    looked = run(question, arms, seed=seed, record=True, on_request=lambda now: shown.append(now.request.status()))
    alone = run(question, arms, seed=seed, record=True)
    asked = [[(r.arms.tolist(), r.times.tolist()) for r, _ in done.transcript] for done in (looked, alone)]
    assert asked[0] == asked[1]
    assert (looked.value.arms, looked.value.verdicts) == (alone.value.arms, alone.value.verdicts)
    return shown, alone


def add(rewards: Rewards, request: object, reply: object) -> None:
    """Count a reply, reward by reward."""
    for place, arm in enumerate(request.arms.tolist()):
        part = slice(reply.start[place], reply.start[place + 1])
        rewards[arm] += np.repeat(reply.values[part], reply.counts[part]).tolist()


def told_of(ledger: SetLedger, ones: list[int], times: int) -> None:
    """So many ones of so many rewards, an arm."""
    values = np.array([0.0, 1.0])
    ledger.count(np.arange(len(ones)), atoms_of([(values, np.array([times - k, k])) for k in ones]))


def test_which_arms_are_named(request: pytest.FixtureRequest) -> None:
    same_as_kept(Path(__file__).with_name("wager_questions.txt"), request, names=globals())


@pytest.mark.parametrize(
    ("question", "arms", "mean"),
    [
        (BAR, bernoulli([0.2, 0.3, 0.35, 0.65, 0.7, 0.8]), 419),
        (Question("above", bar=0.5, error="fdr"), bernoulli([0.2, 0.3, 0.35, 0.65, 0.7, 0.8]), 290),
        (CONTROL, bernoulli([0.5, 0.3, 0.5, 0.7, 0.8]), 1337),
    ],
)
def test_its_cost_is_what_it_was_and_a_batch_the_least_number_of_pulls(
    question: Question, arms: FiniteArms, mean: float
) -> None:
    """A band in both directions: a wrong threshold shows here long before it shows as a wrong verdict."""
    assert np.mean([run(question, arms, seed=seed).pulls for seed in range(10)]) == pytest.approx(mean, rel=0.03)
    done = run(question, arms, seed=2, batch=40, record=True)
    assert all(request.total >= 40 for request, _ in done.transcript[1:])


# --- above a bar ----------------------------------------------------------------------------------------------------------


def mixed(rewards: list[float], x: float, is_above: bool, prior: tuple[float, float, float]) -> float:
    """A(x) or B(x) as their definition says, from the rewards one by one; `prior` as `mixture_of` takes it."""
    largest, decay, idle = prior
    some = np.array(rewards)
    count, away = max(len(some), 2), some.mean() if is_above else 1 - some.mean()
    k = np.arange(9 + int(log2(count) - log2(min(away + 1 / count, 1))))
    alpha = (largest * 2 ** (-k / 2))[:, None]
    wealth = (1 - alpha + alpha * (some / x if is_above else (1 - some) / (1 - x))).prod(axis=1)
    return log(idle + (1 - idle) * (1 - decay) * (decay**k * wealth).sum())


def at_bar(rewards: list[float], low: float, high: float) -> tuple[float, float]:
    return mixed(rewards, low, True, (0.8, 0.88, 0.01)), mixed(rewards, high, False, (0.8, 0.88, 0.01))


def guess(rewards: list[float], low: float, high: float, bar: float, lacking: float) -> float:
    """The pulls that an arm still needs, roughly."""
    n = len(rewards)
    mean = (sum(rewards) + 0.5) / (n + 1)
    variance = (sum(r * r for r in rewards) + 0.5) / (n + 1) - mean**2
    gap = mean - low if sum(rewards) / n >= bar else high - mean
    square = max(max(gap, 0) ** 2, variance / n)
    return max(lacking, 0) * 2 * (variance + square) / square


@pytest.mark.parametrize(("arms", "epsilon"), [(FOUR, 0.0), (FOUR, 0.05), (MIXED, 0.02)])
def test_wager_above_does_what_its_transcription_says(arms: FiniteArms, epsilon: float) -> None:
    """The rule with a limit on any wrong verdict: every request, and every verdict."""
    n, goal, zone = len(arms), log(len(arms) / 0.2), (0.5 - epsilon, 0.5 + epsilon)
    done = run(BAR, arms, 0.2, 3, epsilon=epsilon, record=True)
    rewards, verdicts = [[] for _ in range(n)], [0] * n
    for k, (request, reply) in enumerate(done.transcript):
        if k == 0:
            assert (request.arms.tolist(), request.times.tolist()) == (list(range(n)), [2] * n)
        else:
            left = [
                inf if verdict else guess(own, *zone, 0.5, goal - max(at_bar(own, *zone)))
                for own, verdict in zip(rewards, verdicts, strict=True)
            ]
            arm = int(request.arms[0])
            assert left[arm] == pytest.approx(min(left), rel=1e-6)
            assert request.times.tolist() == [max(1, int(0.01 * len(rewards[arm])))]
        add(rewards, request, reply)
        for arm in request.arms.tolist():
            up, down = at_bar(rewards[arm], *zone)
            if verdicts[arm] == 0 and max(up, down) >= goal:
                verdicts[arm] = 1 if up >= down else -1
    assert (done.value.certified, list(done.value.verdicts)) == (True, verdicts)
    assert done.value.arms == tuple(np.flatnonzero(np.array(verdicts) == 1))


def slowly_allowed(wealth: list[float], declared: set[int], delta: float) -> bool:
    """Whether every set of arms has a mean wealth of at least its share of those declared, over δ."""
    return all(
        sum(wealth[i] for i in s) / len(s) >= len(declared & set(s)) / (delta * len(declared)) - 1e-9
        for size in range(1, len(wealth) + 1)
        for s in combinations(range(len(wealth)), size)
    )


def slow_share_verdicts(above: list[float], below: list[float], up: list[bool], delta: float) -> int:
    """The most verdicts that keep both limits, by trying all sets."""
    n, most = len(above), 0
    for size in range(1, n + 1):
        for chosen in combinations(range(n), size):
            declared = {i for i in chosen if up[i]}
            if all((above[i] if up[i] else below[i]) >= n / (delta * size) for i in chosen) and (
                not declared or slowly_allowed(above, declared, delta)
            ):
                most = size
    return most


def test_declared_arms_are_the_most_that_keep_both_limits() -> None:
    """Against all sets of arms, on random wealth."""
    rng, found = np.random.default_rng(3), set()
    for _ in range(60):
        n, delta = int(rng.integers(2, 6)), float(rng.choice([0.1, 0.3]))
        above = np.exp(rng.normal(2.5, 1.5, n))
        below = np.exp(rng.normal(2.5, 1.5, n))
        up = rng.random(n) < 0.6
        above[~up], below[up] = rng.random(n)[~up], rng.random(n)[up]
        verdicts = share_verdicts(np.log(above), np.log(below), up, delta)
        inside = verdicts == 1
        assert (verdicts[up] >= 0).all()
        assert (verdicts[~up] <= 0).all()
        if inside.any():
            assert slowly_allowed(above.tolist(), set(np.flatnonzero(inside).tolist()), delta)
            assert allowed(above, inside, delta)
        assert np.abs(verdicts).sum() == slow_share_verdicts(above.tolist(), below.tolist(), up.tolist(), delta)
        found.add(int(np.abs(verdicts).sum()))
    assert len(found) >= 4
    huge = np.array([1e5, 2000.0, -3.0])
    assert share_verdicts(huge, -huge, huge > 0, 0.05).tolist() == [1, 1, -1], "nothing overflows"


def test_what_arms_are_pulled_to_suffices() -> None:
    """Where those below have 1/δ, and those above what `share_needs` says, all are declared; less than the least will not do."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        n, delta = int(rng.integers(1, 12)), 0.1
        up = rng.random(n) < rng.random()
        above, below = np.where(up, rng.normal(3, 2, n), -2.0), np.where(up, -2.0, -log(delta) + 1e-12)
        while len(short := np.flatnonzero(up & (above < share_needs(above, up, delta)))):
            above[short[0]] = share_needs(above, up, delta)[short[0]] + 1e-9
        assert (share_verdicts(above, below, up, delta) == np.where(up, 1, -1)).all()
        if up.any():
            above[np.flatnonzero(up)[0]] = share_needs(above, up, delta).min() - 1e-6
            assert 0 in share_verdicts(above, below, up, delta)


def test_the_state_of_wager_above_on_the_way() -> None:
    running = run(BAR, FOUR, seed=1, budget=20, record=True)
    status = running.status
    assert status.leader == int(running.means.argmax())
    assert status.evidence < status.threshold == pytest.approx(log(4 / 0.1))
    assert 0 in status.verdicts
    assert isfinite(status.forecast)
    digests = Digests(4)
    for request, reply in running.transcript:
        digests.add_atoms(request.arms, reply)
    assert np.array_equal(np.array(status.intervals), np.array(confidence_sequence(digests, 0.1)))
    assert next(start("wager-above", 2, 0.1, question=BAR)).status().verdicts == (0, 0)


# --- against a control ----------------------------------------------------------------------------------------------------


def infimum(first: list[float], second: list[float], gap: float) -> float:
    """The smallest of A(x + gap) + B(x), on a grid that is refined twice: never below the true one."""
    low, high, usual = max(0.0, -gap), min(1.0, 1.0 - gap), (0.98, 0.9, 0.05)
    for _ in range(3):
        xs = np.linspace(low, high, 22)[1:-1]
        values = [mixed(first, x + gap, True, usual) + mixed(second, x, False, usual) for x in xs]
        best, step = xs[int(np.argmin(values))], xs[1] - xs[0]
        low, high = max(low, best - step), min(high, best + step)
    return min(values)


UNLIKE = bernoulli([0.4, 0.95, 0.05, 0.9])


@pytest.mark.parametrize(
    "arms", [UNLIKE, finite_arms([([0.0, 0.25, 1.0], [0.2, 0.5, 0.3]), ([0.1, 0.9], [0.2, 0.8]), ([0.2], [1.0])])]
)
def test_wager_control_does_what_its_transcription_says(arms: FiniteArms) -> None:
    """Control 0: every request, and every verdict."""
    n, goal = len(arms), log((len(arms) - 1) / 0.2)
    done = run(CONTROL, arms, 0.2, 1, record=True)
    rewards, verdicts = [[] for _ in range(n)], [0] * n
    for k, (request, reply) in enumerate(done.transcript):
        counts, left = [len(own) for own in rewards], [i for i in range(1, n) if verdicts[i] == 0]
        each = 2 if k == 0 else max(1, int(0.01 * counts[left[0]]))
        control = 2 if k == 0 else max(0, sum(counts[i] + each for i in left) - counts[0])
        wanted = {i: times for i, times in ({0: control} | dict.fromkeys(left, each)).items() if times}
        assert dict(zip(request.arms.tolist(), request.times.tolist(), strict=True)) == wanted
        add(rewards, request, reply)
        for i in left:
            better, worse = infimum(rewards[i], rewards[0], 0.0), infimum(rewards[0], rewards[i], -0.1)
            assert min(abs(better - goal), abs(worse - goal)) > 1e-4  # else this would not tell
            verdicts[i] = 0 if max(better, worse) < goal else 1 if better >= worse else -1
    assert (done.value.certified, list(done.value.verdicts)) == (True, verdicts)
    assert done.value.arms == tuple(np.flatnonzero(np.array(verdicts) == 1))


def test_the_infimum_is_bounded_from_below_and_closely() -> None:
    rng, inner = np.random.default_rng(2), []
    for _ in range(40):
        first, second = (rng.choice([0.0, 0.3, 1.0], int(rng.integers(1, 25))).tolist() for _ in range(2))
        gap = float(rng.choice([-0.7, -0.1, 0.0, 0.2, 0.9]))
        rest = digest_of(first), digest_of(second), gap, 0.3
        bound, _, x = exceeds(*rest, np.inf)
        assert 0 <= x <= 1
        true = infimum(first, second, gap)
        assert true - 0.3 < bound <= true + 1e-9  # at an end it is not attained, and the grid does not come close
        inner.append(bound > true - 0.01)
        assert bound - 0.1 <= exceeds(*rest, bound - 0.1)[0] <= bound + 1e-6
        assert exceeds(*rest, true + 0.5)[0] < true + 0.5
    assert sum(inner) >= 25


def test_differences_are_where_the_evidence_passes_the_level() -> None:
    rng, digests, level = np.random.default_rng(6), Digests(4), 4.0
    for arm, mean in enumerate((0.5, 0.9, 0.45, 0.0)):
        digests.add(np.full(60, arm), (rng.random(60) < mean).astype(float))
    low, high = differences(*digests.told(), 0, level)
    assert (low[0], high[0]) == (0, 0)
    arms, told = np.arange(1, 4), digests.told()
    for k, arm in enumerate(arms):
        for beyond, least in ((-1e-9, True), (2e-3, False)):
            inner = low[arm] + beyond, high[arm] - beyond
            better, worse = compare(*told, arms, 0, *inner, np.full((2, 4), 0.5), np.inf)
            assert ([better[k] >= level - 1e-5, worse[k] >= level - 1e-5] == [least] * 2) or (low[arm] == -1)
    apart = digests.means - digests.means[0]
    assert ((low < apart + 1e-12) & (apart < high + 1e-12)).all()
    nothing = differences(*Digests(2).told(), 1, level)
    assert (nothing[0].tolist(), nothing[1].tolist()) == ([-1, 0], [1, 0])


def test_the_state_of_wager_control_on_the_way() -> None:
    shown, done = statuses(Question("control", control=2, margin=0.05), UNLIKE, 4)
    assert done.value.verdicts == (1, 1, 0, 1)
    assert shown[0].verdicts == (0, 0, 0, 0)
    for status in shown[1:]:
        low, high = status.differences
        assert status.threshold == pytest.approx(log(30))
        assert (low[2], high[2]) == (0, 0)
        assert (low <= high).all()
        assert (status.evidence < status.threshold) == (0 in np.delete(status.verdicts, 2))
    (low, high), apart = done.value.status.differences, UNLIKE.means - UNLIKE.means[2]
    assert ((low <= apart) & (apart <= high)).all()


# --- the m best -----------------------------------------------------------------------------------------------------------


def test_the_state_of_wager_top_on_the_way() -> None:
    arms = bernoulli([0.3, 0.35, 0.6, 0.9])
    shown, done = statuses(top(2), arms, 4)
    first, last = shown[0], shown[-1]
    assert (first.achieved_delta, first.epsilon_certified, first.contenders) == (1.0, 1.0, (0, 1, 2, 3))
    assert first.forecast is None
    assert 0 < last.forecast < 0.2 * done.pulls
    assert 0.1 < last.achieved_delta < 0.5
    assert 0 < last.epsilon_certified < 0.2
    assert {len(status.chosen) for status in shown} == {2}
    assert all(set(status.chosen) <= set(status.contenders) for status in shown)
    low, high = last.intervals
    assert ((low < arms.means) & (arms.means < high)).all()


def slow_plan(
    inside: list[int], seen: tuple[np.ndarray, ...], rejected: np.ndarray, epsilon: float, coins: np.ndarray
) -> list[int]:
    """Every key anew for every pull."""
    counts, means, spreads = seen
    moved, times = counts.copy(), [0] * len(counts)
    for coin in coins:
        keys = []
        for row, i in enumerate(inside):
            for j in set(range(len(moved))) - set(inside):
                apart, part = separation(moved[i], means[i], spreads[i], moved[j], means[j], spreads[j], epsilon)
                key = apart + 0.5 * log(moved[i] * moved[j]) + (REJECTED if rejected[row, j] else 0.0)
                keys.append((key, part, i, j))
        _, part, i, j = min(keys)
        pulled = i if coin < part else j
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
    assert (apart[:, outside] < inf).all()
