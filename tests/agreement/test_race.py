"""The compiled race and its slow transcription agree, wealth by wealth."""

import numpy as np
import pytest

from agreement.race_transcription import wealths
from statistical.list_tables import played
from surest.evidence.lists.race import Standings


@pytest.mark.parametrize("seed", range(12))
def test_wealths_agree_with_the_transcription(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, total = int(rng.integers(2, 9)), int(rng.integers(3, 60))
    table = rng.random((n, total)) if seed % 3 else (rng.random((n, total)) < rng.random((n, 1))).astype(float)
    order = rng.permutation(total)
    delta = [1e-6, 0.05, 0.4][seed % 3]
    standings = played(Standings(n, np.ones(total), delta), table, order)
    play, slow = wealths(table.tolist(), order.tolist(), delta)
    assert standings.play.tolist() == play
    np.testing.assert_allclose(standings.current(), slow, rtol=1e-7, atol=1e-12)
