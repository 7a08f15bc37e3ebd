"""Claims on a list, above a bar and below it, as docs/questions.md has them: no arrays, no shared code, and slow.

Wealths against arms and against sets of arms are those of the verifier: tests/decision/test_evidence.py.
"""

import math

import numpy as np
import pytest

from surest.evidence.lists.bars import Bars

FIXED, CAP, MEMORY, PRIOR = 0.02, 0.9, 10, 1.5


def mixed(split: list[float]) -> float:
    return (1 - FIXED) * split[0] + FIXED / 8 * math.fsum(split[1:])


def claims(path: list[float], total: int, low: float, high: float, least: float, most: float) -> tuple[float, float]:
    """The evidence that the mean on the list is at least `low`, and that it is less than `high`; infinite if certain."""
    found = []
    for claim, bar in enumerate((low, high)):
        sign = 1 - 2 * claim
        floor, ceiling = (least, most) if claim == 0 else (-most, -least)
        split, seen = [1.0] * 9, []
        for t, value in enumerate(path):
            x, at = sign * value, sign * bar
            m_t = (total * at - math.fsum(seen)) / (total - t)
            room = m_t - floor
            if room > 1e-9 and m_t < ceiling:
                gain = math.fsum(v - at for v in seen) / (t + MEMORY) + at - m_t
                second = (math.fsum((v - at) ** 2 for v in seen) + PRIOR) / (t + MEMORY) + gain**2
                split[0] *= 1 + min(max(gain, 0) / second, CAP / room) * (x - m_t)
                for k in range(8):
                    split[1 + k] *= 1 + CAP * 2.0**-k / room * (x - m_t)
            seen.append(x)
        missing, left = total * bar - math.fsum(path), total - len(path)
        certain = missing <= least * left + 1e-9 * total if claim == 0 else missing > most * left + 1e-9 * total
        found.append(math.inf if certain else mixed(split))
    return found[0], found[1]


@pytest.mark.parametrize("seed", range(9))
def test_wealths_of_claims_agree_with_the_transcription(seed: int) -> None:
    rng = np.random.default_rng(seed)
    total, least = int(rng.integers(3, 50)), [0.0, -1.0][seed % 2]
    values = rng.uniform(least, 1, (4, total)) if seed % 3 else rng.integers(int(least), 2, (4, total)).astype(float)
    low, high = np.sort(rng.uniform(least + 0.1, 0.9, 2)).tolist()
    bars = Bars(4, np.ones(total), (low, high), (least, 1.0))
    for t in range(total):
        bars.count(np.arange(4), values[:, t])
        if t % 5 == 0 or t == total - 1:
            slow = [claims(row[: t + 1].tolist(), total, low, high, least, 1.0) for row in values]
            np.testing.assert_allclose(bars.evidence().T, slow, rtol=1e-7, atol=1e-12)
