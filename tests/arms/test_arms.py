"""Simulated arms: the law of every statistic against enumeration, at any number of pulls, from one seed."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from surest.arms.finite import EXACT, Draws, bernoulli, finite_arms
from surest.core.protocol import Pull, Statistic
from surest.errors import SourceError

RUNS = 5000
"""Statistics drawn to compare with a law."""
LAWS = {
    "coin": ([0.0, 1.0], [0.3, 0.7]),
    "three": ([0.0, 0.25, 1.0], [0.5, 0.2, 0.3]),
    "even": ([0.0, 0.5, 1.0], [0.25, 0.5, 0.25]),  # two pairs of atoms at the same distance
    "sure": ([0.4], [1.0]),
    "five": ([0.1, 0.2, 0.4, 0.7, 0.8], [0.1, 0.3, 0.2, 0.15, 0.25]),
}


def drawn(name: str, times: int, statistic: Statistic, seed: int) -> list:
    """Replies to many equal requests, one after the other."""
    simulation = finite_arms([LAWS["sure"], LAWS[name]]).simulate(seed)
    return [simulation.answer(Pull([1], times, statistic)) for _ in range(RUNS)]


def enumerated(law: tuple[list[float], list[float]], times: int, statistic) -> Counter:
    """The exact law of a statistic of `times` rewards, by going through all sequences of rewards."""
    exact: Counter = Counter()
    for sequence in itertools.product(zip(*law, strict=True), repeat=times):
        rewards = np.array([value for value, _ in sequence])
        exact[statistic(rewards)] += float(np.prod([mass for _, mass in sequence]))
    return exact


def check_law(observed: list, exact: Counter) -> None:
    """Chi-square at 1e-4, with a fixed seed; classes expected fewer than 5 times are put together."""
    seen = Counter(observed)
    assert set(seen) <= set(exact)
    total = len(observed)
    pairs = sorted(((exact[key] * total, seen[key]) for key in exact), reverse=True)
    large = [pair for pair in pairs if pair[0] >= 5]
    rest = [pair for pair in pairs if pair[0] < 5]
    if rest:
        large.append((sum(e for e, _ in rest) + 1e-9, sum(s for _, s in rest)))
    expected, counts = map(np.array, zip(*large, strict=True))
    if len(large) > 1:
        chi = ((counts - expected) ** 2 / expected).sum()
        assert stats.chi2.sf(chi, len(large) - 1) > 1e-4


def key(x: float) -> float:
    return round(float(x), 9)


def half_squares(rewards: np.ndarray) -> float:
    early, late = np.split(rewards, 2)
    return key(((early - late) ** 2).mean() / 2)


def multiset(reply) -> tuple[float, ...]:
    assert (np.diff(reply.values) > 0).all()
    assert (reply.counts > 0).all()
    assert reply.start.tolist() == [0, len(reply.values)]
    return tuple(np.repeat(reply.values, reply.counts))


OF = {
    Statistic.MEAN: (1, lambda reply: key(reply[0]), lambda rewards: key(rewards.mean())),
    Statistic.PAIRS: (2, lambda reply: key(reply[0]), half_squares),
    Statistic.ATOMS: (3, multiset, lambda rewards: tuple(np.sort(rewards))),
    Statistic.REWARDS: (4, tuple, tuple),
}
"""A seed, what is seen of a reply, and the same of the rewards themselves."""
TIMES = {Statistic.MEAN: (1, 2, 4), Statistic.PAIRS: (2, 4), Statistic.ATOMS: (1, 3, 5), Statistic.REWARDS: (3,)}
"""Of "five" there are more atoms than draws, and as many."""


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(("statistic", "times"), [(kind, times) for kind in TIMES for times in TIMES[kind]])
def test_every_statistic_has_its_exact_law(name: str, statistic: Statistic, times: int) -> None:
    seed, seen, of_rewards = OF[statistic]
    check_law([seen(reply) for reply in drawn(name, times, statistic, seed)], enumerated(LAWS[name], times, of_rewards))


@pytest.mark.parametrize("statistic", [Statistic.MEAN, Statistic.PAIRS, Statistic.REWARDS])
def test_requests_of_one_arm_are_independent(statistic: Statistic) -> None:
    simulation = finite_arms([LAWS["coin"]]).simulate(5)
    replies = [key(simulation.answer(Pull([0], 2, statistic))[-1]) for _ in range(6000)]
    single = Counter(replies)
    joint = Counter(itertools.pairwise(replies))
    exact = Counter({(a, b): single[a] * single[b] / len(replies) ** 2 for a in single for b in single})
    check_law(list(itertools.islice(itertools.pairwise(replies), 0, None, 2)), exact)
    assert len(joint) == len(single) ** 2


def test_streams_of_arms_and_seeds_do_not_repeat() -> None:
    streams = [tuple(Draws(seed, 50).uniforms(arm, 4)) for seed in range(20) for arm in range(50)]
    assert len(set(streams)) == 1000
    requests = Draws(0, 1)
    assert (
        len({requests.of(0).random() for _ in range(1000)} | {requests.uniforms(0, 1)[0] for _ in range(1000)}) == 2000
    )


@pytest.mark.parametrize("times", [2**31, 2**53 - 1, 2**53, 2**53 + 1, 2**55 + 3, 2**62])
@pytest.mark.parametrize("name", ["coin", "three"])
def test_counts_stay_whole_however_many(name: str, times: int) -> None:
    arms = finite_arms([LAWS[name]])
    reply = arms.simulate(6).answer(Pull([0], times, Statistic.ATOMS))
    assert sum(reply.counts.tolist()) == times
    for value, count in zip(reply.values.tolist(), reply.counts.tolist(), strict=True):
        p = dict(zip(*LAWS[name], strict=True))[value]
        assert abs(count - p * times) < 6 * (times * p * (1 - p)) ** 0.5
    mean = arms.simulate(7).answer(Pull([0], times, Statistic.MEAN))[0]
    assert abs(mean - arms.means[0]) < 6 * (arms.variances[0] / times) ** 0.5
    even = times - times % 2
    pairs = arms.simulate(8).answer(Pull([0], even, Statistic.PAIRS))[0]
    assert abs(pairs - arms.variances[0]) < 6 * (2 / even) ** 0.5  # its expectation is the variance


@pytest.mark.parametrize("times", [EXACT, 8 * EXACT])
def test_large_counts_are_odd_as_often_as_even(times: int) -> None:
    """Past 2^53 a careless binomial lives on the grid of doubles, where all numbers are even."""
    simulation = bernoulli([0.3]).simulate(9)
    odd = sum(int(simulation.answer(Pull([0], times, Statistic.ATOMS)).counts[1]) % 2 for _ in range(200))
    assert 65 < odd < 135  # 5 standard deviations


def test_single_rewards_do_not_depend_on_how_pulls_are_divided() -> None:
    arms = finite_arms([LAWS["five"], LAWS["three"]])
    whole = arms.simulate(3).answer(Pull([0], 23, Statistic.REWARDS))
    split = arms.simulate(3)
    parts = [split.answer(Pull([0], times, Statistic.REWARDS)) for times in (1, 2, 3, 4, 5, 8)]
    assert np.concatenate(parts).tolist() == whole.tolist()


@given(st.permutations(range(5)), st.sampled_from(list(Statistic)), st.lists(st.integers(1, 9), min_size=5, max_size=5))
@settings(max_examples=60, deadline=None)
def test_the_order_of_arms_makes_no_difference(order: list[int], statistic: Statistic, half: list[int]) -> None:
    arms = finite_arms(list(LAWS.values()))
    times = 2 * np.array(half)
    in_order = arms.simulate(11).answer(Pull(np.arange(5), times, statistic))
    alone = arms.simulate(11)
    for arm in order:
        reply = alone.answer(Pull([arm], times[arm], statistic))
        if statistic is Statistic.ATOMS:
            part = slice(in_order.start[arm], in_order.start[arm + 1])
            assert reply.values.tolist() == in_order.values[part].tolist()
            assert reply.counts.tolist() == in_order.counts[part].tolist()
        elif statistic is Statistic.REWARDS:
            end = int(np.cumsum(times)[arm])
            assert reply.tolist() == in_order[end - times[arm] : end].tolist()
        else:
            assert reply.tolist() == in_order[[arm]].tolist()


@given(st.lists(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1e300)), max_size=5), max_size=5))
@settings(max_examples=150, deadline=None)
def test_any_weights_make_a_law_or_are_refused(laws: list[list[tuple[float, float]]]) -> None:
    try:
        arms = finite_arms([([v for v, _ in law], [w for _, w in law]) for law in laws])
    except SourceError:
        return
    assert len(arms) == len(laws)
    for k in range(len(arms)):
        values, probabilities = arms.law(k)
        assert (np.diff(values) > 0).all()
        assert (probabilities > 0).all()
        assert probabilities.sum() == pytest.approx(1)
