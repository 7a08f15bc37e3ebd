"""K_inf Track-and-Stop beside a slow transcription, and what it must not do."""

from math import ceil, log, sqrt

import numpy as np
import pytest

from agreement.rivals_transcription import transport
from surest.algorithms import start
from surest.arms.finite import FiniteArms, bernoulli, finite_arms
from surest.lab.rivals.k_inf_track_and_stop import batch, transport_costs
from surest.search.simulate import simulate

SKEWED = finite_arms([([0.5], [1]), ([0.4, 1.0], [0.8, 0.2])])
MIXED = finite_arms([([0.2, 0.5, 0.9], [1, 2, 1]), ([0.0, 0.6], [1, 3]), ([0.1, 0.3, 1.0], [3, 2, 1])])


def transcription(seen: list[list[float]], costs: list[float], delta: float) -> int | None:
    """The arm at which it stops, if it does."""
    n, best = len(seen), int(np.argmax([np.mean(rewards) for rewards in seen]))
    for j in set(range(n)) - {best}:
        if costs[j] <= log((n - 1) / delta) + 2 + log(len(seen[best]) + 1) + log(len(seen[j]) + 1):
            return None
    return best


@pytest.mark.parametrize("arms", [bernoulli([0.8, 0.5, 0.3]), SKEWED, MIXED], ids=["bernoulli", "skewed", "mixed"])
def test_it_stops_where_its_transcription_does(arms: FiniteArms) -> None:
    """At each request the costs are those of a slow search, too."""
    done = simulate(start("k-inf-track-and-stop", len(arms), 0.3, seed=3), arms.simulate(3), record=True)
    seen: list[list[float]] = [[] for _ in range(len(arms))]
    for place, (request, reply) in enumerate(done.transcript or []):
        for k, arm in enumerate(request.arms):
            part = slice(reply.start[k], reply.start[k + 1])
            seen[arm] += np.repeat(reply.values[part], reply.counts[part]).tolist()
        laws = finite_arms([(rewards, np.ones(len(rewards))) for rewards in seen])
        best, counts = int(laws.means.argmax()), np.array([len(rewards) for rewards in seen])
        slow = [transport(seen[best], rewards)[0] if j != best else 0.0 for j, rewards in enumerate(seen)]
        assert transport_costs(laws, counts, best) == pytest.approx(slow, rel=1e-6, abs=1e-6)
        stops, last = transcription(seen, slow, 0.3), place + 1 == len(done.transcript or [])
        assert (stops is not None) == last
        assert not last or stops == done.value.arm


def test_a_batch_feeds_the_starving_first_and_then_follows_the_weights() -> None:
    rng = np.random.default_rng(0)
    counts = np.array([900, 90, 10])
    times = batch(counts, np.array([0.5, 0.5, 0.0]), rng)
    lacking = ceil(sqrt(1000 + 100) - 10)
    assert times.sum() == 100
    assert times[2] == lacking
    times = batch(np.array([10, 10, 10]), np.full(3, np.nan), rng)  # no weights where means tie
    assert times.sum() >= 3
