"""The evidence on lists and its slow transcriptions agree, wealth by wealth."""

import numpy as np
import pytest

from agreement.list_questions_transcription import best_sets, claims
from agreement.race_transcription import wealths
from statistical.list_tables import played
from surest.evidence.lists.bars import Bars
from surest.evidence.lists.race import Standings
from surest.evidence.lists.top import Top
from surest.kernels.constants import WEIGHTS


def drawn(rng: np.random.Generator, kind: int, n: int, total: int) -> tuple[np.ndarray, np.ndarray, float]:
    """A table, an order of its items, and δ."""
    table = rng.random((n, total)) if kind else (rng.random((n, total)) < rng.random((n, 1))).astype(float)
    return table, rng.permutation(total), [1e-6, 0.05, 0.4][kind]


@pytest.mark.parametrize("seed", range(12))
def test_wealths_against_arms_agree_with_the_transcription(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, total = int(rng.integers(2, 9)), int(rng.integers(3, 60))
    table, order, delta = drawn(rng, seed % 3, n, total)
    standings = played(Standings(n, np.ones(total), delta), table, order)
    play, slow = wealths(table.tolist(), order.tolist(), delta)
    assert standings.play.tolist() == play
    np.testing.assert_allclose(standings.current(), slow, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("seed", range(9))
def test_wealths_against_sets_agree_with_the_transcription(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, total = int(rng.integers(3, 7)), int(rng.integers(4, 40))
    m = int(rng.integers(1, n))
    table, order, delta = drawn(rng, seed % 3, n, total)
    top = played(Top(n, m, np.ones(total), delta), table, order)
    alive, slow, cells = best_sets(table.tolist(), order.tolist(), m, delta)
    sets = top.evidence
    assert [tuple(chosen) for chosen in sets.sets[sets.alive].tolist()] == alive
    assert top.scores.seen.sum() == cells
    np.testing.assert_allclose(sets.wealth @ WEIGHTS, list(slow.values()), rtol=1e-7, atol=1e-12)


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
