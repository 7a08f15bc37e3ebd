"""wager-control does what its transcription says: every request and every verdict, computed again in plain Python."""

from math import log

import numpy as np
import pytest

from algorithms.test_wager_above import mixed
from one_pair import exceeds
from surest.algorithms import start
from surest.arms.finite import FiniteArms, bernoulli, finite_arms
from surest.core.question import Question
from surest.errors import UsageError
from surest.evidence.pulls.bars import differences
from surest.evidence.pulls.digest import Digests
from surest.kernels.bets import terms
from surest.kernels.differences import compare
from surest.search.simulate import simulate

USUAL = (0.98, 0.9, 0.05)
FOUR = bernoulli([0.4, 0.95, 0.05, 0.9])
MIXED = finite_arms([([0.0, 0.25, 1.0], [0.2, 0.5, 0.3]), ([0.1, 0.9], [0.2, 0.8]), ([0.2], [1.0])])


def infimum(first: list[float], second: list[float], gap: float) -> float:
    """The smallest of A(x + gap) + B(x), on a grid that is refined twice: never below the true one."""
    low, high = max(0.0, -gap), min(1.0, 1.0 - gap)
    for _ in range(3):
        xs = np.linspace(low, high, 22)[1:-1]
        values = [mixed(first, x + gap, True, USUAL) + mixed(second, x, False, USUAL) for x in xs]
        best, step = xs[int(np.argmin(values))], xs[1] - xs[0]
        low, high = max(low, best - step), min(high, best + step)
    return min(values)


def rewards_of(transcript: list, n: int) -> list[list[float]]:
    rewards: list[list[float]] = [[] for _ in range(n)]
    for request, reply in transcript:
        for place, arm in enumerate(request.arms.tolist()):
            part = slice(reply.start[place], reply.start[place + 1])
            rewards[arm] += np.repeat(reply.values[part], reply.counts[part]).tolist()
    return rewards


def transcription(transcript: list, n: int, delta: float, margin: float) -> list[int]:
    """The rule again, for control 0; checks each request, and returns the verdicts."""
    verdicts, goal = [0] * n, log((n - 1) / delta)
    for k, (request, _) in enumerate(transcript):
        counts = [len(r) for r in rewards_of(transcript[:k], n)]
        left = [i for i in range(1, n) if verdicts[i] == 0]
        each = 2 if k == 0 else max(1, int(0.01 * counts[left[0]]))
        control = 2 if k == 0 else max(0, sum(counts[i] + each for i in left) - counts[0])
        wanted = {0: control} | dict.fromkeys(left, each)
        assert dict(zip(request.arms.tolist(), request.times.tolist(), strict=True)) == {
            i: times for i, times in wanted.items() if times
        }
        rewards = rewards_of(transcript[: k + 1], n)
        for i in left:
            better = infimum(rewards[i], rewards[0], 0.0)
            worse = infimum(rewards[0], rewards[i], -margin)
            assert min(abs(better - goal), abs(worse - goal)) > 1e-4  # else this would not tell
            verdicts[i] = 0 if max(better, worse) < goal else 1 if better >= worse else -1
    return verdicts


@pytest.mark.parametrize("arms", [FOUR, MIXED], ids=["bernoulli", "mixed"])
def test_it_does_what_its_transcription_says(arms: FiniteArms) -> None:
    question = Question("control", control=0, margin=0.1)
    done = simulate(start("wager-control", len(arms), 0.2, question=question), arms.simulate(1), record=True)
    assert done.value is not None
    assert done.value.certified
    assert list(done.value.verdicts) == transcription(done.transcript, len(arms), 0.2, 0.1)
    assert done.value.arms == tuple(np.flatnonzero(np.array(done.value.verdicts) == 1))


def digest(rewards: list[float], counts: list[float]) -> Digests:
    digests = Digests(1)
    digests.add(np.zeros(len(rewards), int), rewards, counts)
    return digests


def test_the_infimum_is_bounded_from_below_and_closely() -> None:
    rng, inner = np.random.default_rng(2), []
    for _ in range(40):
        first, second = (rng.choice([0.0, 0.3, 1.0], int(rng.integers(1, 25))).tolist() for _ in range(2))
        gap = float(rng.choice([-0.7, -0.1, 0.0, 0.2, 0.9]))
        rows, counts, sums = [], [], []
        for rewards in (first, second):
            digests = digest(rewards, [1.0] * len(rewards))
            rows.append((digests.values[0], digests.weights[0], int(digests.size[0])))
            counts.append(len(rewards))
            sums.append(sum(rewards))
        bets = [terms(counts[0], sums[0] / counts[0]), terms(counts[1], 1 - sums[1] / counts[1])]
        bound, _, x = exceeds(rows[0], bets[0], rows[1], bets[1], gap, 0.3, np.inf)
        assert 0 <= x <= 1
        true = infimum(first, second, gap)
        assert bound <= true + 1e-9
        assert bound > true - 0.3  # where it is at an end it is not attained, and the grid does not come close
        inner.append(bound > true - 0.01)
        reached, _, _ = exceeds(rows[0], bets[0], rows[1], bets[1], gap, 0.3, bound - 0.1)
        assert bound - 0.1 <= reached <= bound + 1e-6
        assert exceeds(rows[0], bets[0], rows[1], bets[1], gap, 0.3, true + 0.5)[0] < true + 0.5
    assert sum(inner) >= 25


def test_differences_are_where_the_evidence_passes_the_level() -> None:
    rng = np.random.default_rng(6)
    digests = Digests(4)
    for arm, mean in enumerate((0.5, 0.9, 0.45, 0.0)):
        digests.add(np.full(60, arm), (rng.random(60) < mean).astype(float))
    level = 4.0
    low, high = differences(digests, 0, level)
    rows = digests.rows()
    assert (low[0], high[0]) == (0, 0)
    arms = np.arange(1, 4)
    for k, arm in enumerate(arms):
        for beyond, least in ((-1e-9, True), (2e-3, False)):
            starts = np.full((2, 4), 0.5)
            inner = low[arm] + beyond, high[arm] - beyond
            better, worse = compare(rows, digests.counts, digests.sums, arms, 0, *inner, starts, np.inf)
            assert ([better[k] >= level - 1e-5, worse[k] >= level - 1e-5] == [least] * 2) or (low[arm] == -1)
    assert (low < digests.means - digests.means[0] + 1e-12).all()
    assert (digests.means - digests.means[0] < high + 1e-12).all()
    nothing = differences(Digests(2), 1, level)
    assert (nothing[0].tolist(), nothing[1].tolist()) == ([-1, 0], [1, 0])


def test_its_state_on_the_way_and_a_look_changes_nothing() -> None:
    question, seen = Question("control", control=2, margin=0.05), []

    def look(running: object) -> None:
        seen.append(running.request.status())  # type: ignore[attr-defined]

    looked = simulate(start("wager-control", 4, 0.1, question=question), FOUR.simulate(4), on_request=look)
    done = simulate(start("wager-control", 4, 0.1, question=question), FOUR.simulate(4))
    assert looked.value is not None
    assert done.value is not None
    assert (looked.pulls, looked.value.verdicts, done.value.verdicts) == (done.pulls, (1, 1, 0, 1), (1, 1, 0, 1))
    assert seen[0].verdicts == (0, 0, 0, 0)
    for status in seen[1:]:
        low, high = status.differences
        assert status.threshold == pytest.approx(log(30))
        assert (low[2], high[2]) == (0, 0)
        assert (low <= high).all()
        assert (status.evidence < status.threshold) == (0 in np.delete(status.verdicts, 2))
    end = done.value.status
    assert end is not None
    assert end.differences is not None
    apart = FOUR.means - FOUR.means[2]
    assert ((end.differences[0] <= apart) & (apart <= end.differences[1])).all()


def test_it_refuses_epsilon_and_heeds_a_batch() -> None:
    question = Question("control", control=0, margin=0.1)
    with pytest.raises(UsageError, match="takes no epsilon"):
        start("wager-control", 4, 0.1, epsilon=0.1, question=question)
    done = simulate(start("wager-control", 4, 0.1, question=question, batch=40), FOUR.simulate(2), record=True)
    assert all(request.total >= 40 for request, _ in (done.transcript or [])[1:])


def test_its_cost_is_what_it_was() -> None:
    """A band in both directions: a wrong threshold shows here long before it shows as a wrong verdict."""
    arms, question = bernoulli([0.5, 0.3, 0.5, 0.7, 0.8]), Question("control", control=0, margin=0.1)
    pulls = [simulate(start("wager-control", 5, 0.1, question=question), arms.simulate(s)).pulls for s in range(10)]
    assert np.mean(pulls) == pytest.approx(1337, rel=0.03)
