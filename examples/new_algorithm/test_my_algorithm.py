"""my-algorithm does what its transcription says, and passes what every algorithm must."""

from math import log, sqrt

import numpy as np

from surest.algorithms import start
from surest.arms.finite import bernoulli
from surest.search.simulate import simulate
from surest.testing import check_algorithm

ARMS = bernoulli([0.3, 0.8, 0.6, 0.2])


def transcription(transcript: list, n: int, delta: float) -> int:
    """The algorithm again, slowly and in plain Python, checking each request; its answer."""
    left, sums, times = list(range(n)), [0.0] * n, 0
    for r, (request, means) in enumerate(transcript, 1):
        assert request.arms.tolist() == left
        assert request.times.tolist() == [20 * r] * len(left)
        for arm, mean in zip(left, means, strict=True):
            sums[arm] += 20 * r * mean
        times += 20 * r
        radius = sqrt(log(4 * n * r * r / delta) / (2 * times))
        largest = max(sums[arm] for arm in left) / times
        left = [arm for arm in left if sums[arm] / times >= largest - 2 * radius]
    assert len(left) == 1
    return left[0]


def test_it_does_what_its_transcription_says() -> None:
    """Request by request."""
    for seed in range(5):
        done = simulate(start("my-algorithm", 4, 0.1, seed=seed), ARMS.simulate(seed), record=True)
        assert done.value is not None
        assert done.value.arm == transcription(done.transcript, 4, 0.1)


def test_it_passes_what_every_algorithm_must() -> None:
    """Contract, repeatability, wrong answers."""
    check_algorithm("my-algorithm")


def test_its_cost_is_what_it_was() -> None:
    """A band in both directions: a wrong threshold shows here long before it shows as a wrong answer."""
    pulls = [simulate(start("my-algorithm", 4, 0.1, seed=seed), ARMS.simulate(seed)).pulls for seed in range(50)]
    assert 0.9 * MEAN_PULLS < np.mean(pulls) < 1.1 * MEAN_PULLS


MEAN_PULLS = 1179
