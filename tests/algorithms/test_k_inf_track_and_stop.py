"""K_inf Track-and-Stop beside a slow transcription, and what it must not do."""

from math import ceil, log, sqrt

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from surest.algorithms import start
from surest.arms.finite import FiniteArms, bernoulli, finite_arms
from surest.lab.rivals.k_inf_track_and_stop import batch, transport_costs
from surest.search.simulate import simulate

SKEWED = finite_arms([([0.5], [1]), ([0.4, 1.0], [0.8, 0.2])])
MIXED = finite_arms([([0.2, 0.5, 0.9], [1, 2, 1]), ([0.0, 0.6], [1, 3]), ([0.1, 0.3, 1.0], [3, 2, 1])])


def k_inf(law: tuple[np.ndarray, np.ndarray], x: float) -> float:
    """The least KL to a law on [0, 1] of mean at least x, by its dual, on a grid that is then refined."""
    values, masses = law
    if masses @ values >= x:
        return 0.0

    def loss(bet: float) -> float:
        with np.errstate(all="ignore"):
            return -float((masses * np.log(np.maximum(1 - bet * (values - x), 1e-300))).sum())

    found = minimize_scalar(loss, bounds=(0, 1 / (1 - x)), method="bounded", options={"xatol": 1e-12})
    return max(-float(found.fun), -loss(1 / (1 - x)), 0.0)


def mirrored(law: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return 1 - law[0], law[1]


def cost(laws: FiniteArms, counts: np.ndarray, best: int, j: int) -> float:
    def at(x: float) -> float:
        return counts[best] * k_inf(mirrored(laws.law(best)), 1 - x) + counts[j] * k_inf(laws.law(j), x)

    low, high = laws.means[j], laws.means[best]
    found = minimize_scalar(at, bounds=(low, high), method="bounded", options={"xatol": 1e-12})
    return min(float(found.fun), at(low), at(high))


def transcription(laws: FiniteArms, counts: np.ndarray, delta: float) -> int | None:
    """The arm at which it stops, if it does."""
    n, best = len(laws), int(laws.means.argmax())
    for j in set(range(n)) - {best}:
        needed = log((n - 1) / delta) + 2 + log(counts[best] + 1) + log(counts[j] + 1)
        if cost(laws, counts, best, j) <= needed:
            return None
    return best


@pytest.mark.parametrize("laws", [bernoulli([0.7, 0.4, 0.55]), SKEWED, MIXED], ids=["bernoulli", "skewed", "mixed"])
def test_transport_costs_are_those_of_a_slow_search(laws: FiniteArms) -> None:
    counts = np.array([40, 25, 60])[: len(laws)]
    best = int(laws.means.argmax())
    slow = [0.0 if j == best else cost(laws, counts, best, j) for j in range(len(laws))]
    assert transport_costs(laws, counts, best) == pytest.approx(slow, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("arms", [bernoulli([0.8, 0.5, 0.3]), SKEWED, MIXED], ids=["bernoulli", "skewed", "mixed"])
def test_it_stops_where_its_transcription_does(arms: FiniteArms) -> None:
    done = simulate(start("k-inf-track-and-stop", len(arms), 0.3, seed=3), arms.simulate(3), record=True)
    seen: list[list[float]] = [[] for _ in range(len(arms))]
    for place, (request, reply) in enumerate(done.transcript or []):
        for k, arm in enumerate(request.arms):
            part = slice(reply.start[k], reply.start[k + 1])
            seen[arm] += np.repeat(reply.values[part], reply.counts[part]).tolist()
        laws = finite_arms([(rewards, np.ones(len(rewards))) for rewards in seen])
        stops = transcription(laws, np.array([len(rewards) for rewards in seen]), 0.3)
        last = place + 1 == len(done.transcript or [])
        assert (stops is not None) == last
        if last:
            assert stops == done.value.arm


def test_a_batch_feeds_the_starving_first_and_then_follows_the_weights() -> None:
    rng = np.random.default_rng(0)
    counts = np.array([900, 90, 10])
    times = batch(counts, np.array([0.5, 0.5, 0.0]), rng)
    lacking = ceil(sqrt(1000 + 100) - 10)
    assert times.sum() == 100
    assert times[2] == lacking
    times = batch(np.array([10, 10, 10]), np.full(3, np.nan), rng)  # no weights where means tie
    assert times.sum() >= 3
