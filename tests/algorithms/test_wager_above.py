"""wager-above does what its transcription says: every request and every verdict, computed again in plain Python."""

from itertools import combinations
from math import inf, isfinite, log, log2

import numpy as np
import pytest

from surest.algorithms import start
from surest.arms.finite import FiniteArms, bernoulli, finite_arms
from surest.core.question import Question
from surest.errors import UsageError
from surest.evidence.pulls.bars import allowed, share_needs, share_verdicts
from surest.evidence.pulls.betting import confidence_sequence
from surest.evidence.pulls.digest import Digests
from surest.search.simulate import simulate

FOUR = bernoulli([0.3, 0.9, 0.75, 0.1])
MIXED = finite_arms([([0.0, 0.25, 1.0], [0.2, 0.5, 0.3]), ([0.1, 0.9], [0.3, 0.7]), ([0.4], [1.0])])
LAWS = {"bernoulli": FOUR, "mixed": MIXED}


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


def transcription(transcript: list, n: int, delta: float, bar: float, epsilon: float) -> list[int]:
    """The rule with a limit on any wrong verdict, again; checks each request, and returns the verdicts."""
    rewards: list[list[float]] = [[] for _ in range(n)]
    verdicts = [0] * n
    for k, (request, reply) in enumerate(transcript):
        if k == 0:
            assert (request.arms.tolist(), request.times.tolist()) == (list(range(n)), [2] * n)
        else:
            evidence = [max(at_bar(r, bar - epsilon, bar + epsilon)) for r in rewards]
            left = [
                guess(r, bar - epsilon, bar + epsilon, bar, log(n / delta) - e) if verdict == 0 else inf
                for r, e, verdict in zip(rewards, evidence, verdicts, strict=True)
            ]
            arm = int(request.arms[0])
            assert left[arm] == pytest.approx(min(left), rel=1e-6)
            assert request.times.tolist() == [max(1, int(0.01 * len(rewards[arm])))]
        for place, arm in enumerate(request.arms.tolist()):
            part = slice(reply.start[place], reply.start[place + 1])
            rewards[arm] += np.repeat(reply.values[part], reply.counts[part]).tolist()
            up, down = at_bar(rewards[arm], bar - epsilon, bar + epsilon)
            if verdicts[arm] == 0 and max(up, down) >= log(n / delta):
                verdicts[arm] = 1 if up >= down else -1
    return verdicts


@pytest.mark.parametrize(("law", "epsilon"), [("bernoulli", 0.0), ("bernoulli", 0.05), ("mixed", 0.02)])
def test_it_does_what_its_transcription_says(law: str, epsilon: float) -> None:
    arms, question = LAWS[law], Question("above", bar=0.5)
    done = simulate(
        start("wager-above", len(arms), 0.2, epsilon=epsilon, question=question), arms.simulate(3), record=True
    )
    assert done.value is not None
    assert done.value.certified
    assert list(done.value.verdicts) == transcription(done.transcript, len(arms), 0.2, 0.5, epsilon)
    assert done.value.arms == tuple(np.flatnonzero(np.array(done.value.verdicts) == 1))


def slowly_allowed(wealth: list[float], declared: set[int], delta: float) -> bool:
    """Whether every set of arms has a mean wealth of at least its share of those declared, over δ."""
    every = range(len(wealth))
    return all(
        sum(wealth[i] for i in s) / len(s) >= len(declared & set(s)) / (delta * len(declared)) - 1e-9
        for size in range(1, len(wealth) + 1)
        for s in combinations(every, size)
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
    rng = np.random.default_rng(3)
    found = set()
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


def test_a_share_of_wrong_verdicts_takes_fewer_pulls() -> None:
    """All arms get a verdict; a look on the way changes nothing."""
    arms, pulls = bernoulli([0.2, 0.25, 0.3, 0.3, 0.7, 0.75, 0.8, 0.8]), {}
    for error in ("fwer", "fdr"):
        question = Question("above", bar=0.5, error=error)

        def look(running: object) -> None:
            status = running.request.status()  # type: ignore[attr-defined]
            assert len(status.verdicts) == 8
            assert status.chosen == tuple(i for i, verdict in enumerate(status.verdicts) if verdict == 1)

        done = simulate(start("wager-above", 8, 0.1, question=question), arms.simulate(5), on_request=look)
        again = simulate(start("wager-above", 8, 0.1, question=question), arms.simulate(5))
        assert done.value is not None
        assert again.value is not None
        assert (done.pulls, done.value.verdicts) == (again.pulls, again.value.verdicts)
        assert done.value.verdicts == (-1,) * 4 + (1,) * 4
        pulls[error] = done.pulls
    assert pulls["fdr"] < 0.85 * pulls["fwer"]


def test_its_state_on_the_way() -> None:
    question = Question("above", bar=0.5)
    running = simulate(start("wager-above", 4, 0.1, question=question), FOUR.simulate(1), budget=20, record=True)
    status = running.status
    assert status is not None
    assert status.leader == int(running.means.argmax())
    assert status.threshold == pytest.approx(log(4 / 0.1))
    assert status.evidence is not None
    assert status.evidence < status.threshold
    assert 0 in (status.verdicts or ())
    assert status.forecast is not None
    assert isfinite(status.forecast)
    digests = Digests(4)
    for request, reply in running.transcript or []:
        digests.add_atoms(request.arms, reply)
    assert np.array_equal(np.array(status.intervals), np.array(confidence_sequence(digests, 0.1)))
    first = next(start("wager-above", 2, 0.1, question=question)).status()
    assert first.verdicts == (0, 0)


@pytest.mark.parametrize("arms", [bernoulli([0.0, 1.0]), bernoulli([0.5]), finite_arms([([0.4], [1.0])])])
def test_constant_arms_single_arms_and_zones(arms: FiniteArms) -> None:
    """With a zone every arm ends, even one on the bar."""
    question = Question("above", bar=0.5)
    done = simulate(start("wager-above", len(arms), 0.1, epsilon=0.1, question=question), arms.simulate(0))
    assert done.value is not None
    for verdict, mean in zip(done.value.verdicts, arms.means, strict=True):
        assert mean >= 0.4 if verdict == 1 else mean < 0.6


@pytest.mark.parametrize("epsilon", [0.2, 0.5])
def test_a_zone_beyond_the_bounds_is_refused(epsilon: float) -> None:
    with pytest.raises(UsageError, match="must lie inside the bounds"):
        next(start("wager-above", 2, 0.1, epsilon=epsilon, question=Question("above", bar=0.15)))


def test_a_batch_is_the_least_number_of_pulls() -> None:
    done = simulate(
        start("wager-above", 4, 0.1, question=Question("above", bar=0.5), batch=16), FOUR.simulate(2), record=True
    )
    assert all(request.total >= 16 for request, _ in (done.transcript or [])[1:])


def test_largest_wealth_does_not_overflow() -> None:
    evidence = np.array([1e5, 2000.0, -3.0])
    assert share_verdicts(evidence, -evidence, evidence > 0, 0.05).tolist() == [1, 1, -1]


@pytest.mark.parametrize(("error", "mean"), [("fwer", 419), ("fdr", 290)])
def test_its_cost_is_what_it_was(error: str, mean: float) -> None:
    """A band in both directions: a wrong threshold shows here long before it shows as a wrong verdict."""
    arms, question = bernoulli([0.2, 0.3, 0.35, 0.65, 0.7, 0.8]), Question("above", bar=0.5, error=error)
    pulls = [simulate(start("wager-above", 6, 0.1, question=question), arms.simulate(s)).pulls for s in range(10)]
    assert np.mean(pulls) == pytest.approx(mean, rel=0.03)
