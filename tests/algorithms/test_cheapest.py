"""race-cheapest and wager-cheapest: the proof's wealth on all orders, errors at the edge, and every door."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import surest
from calling import in_process
from statistical.list_tables import played
from surest.errors import UsageError
from surest.evidence.cheapest import PARTS, Cheapest


def wealth(evidence: Cheapest, means: np.ndarray, prices: np.ndarray) -> list[float]:
    """M of the proof, and the wealths that it is made of, from what the evidence holds."""
    good = np.flatnonzero(means >= means.max() - evidence.epsilon - 1e-12)
    right, best = good[np.argsort(prices[good], kind="stable")[0]], int(means.argmax())
    far = np.flatnonzero(means < means.max() - evidence.epsilon - evidence.slack - 1e-12)
    f, w, e = PARTS
    bets = evidence.near[far, best].mean(axis=1).tolist()
    parts = [float(evidence.within[right].mean()), float(evidence.best[best].mean()), *bets]
    return [f * parts[0] + w * parts[1] + e / len(means) * sum(bets), *parts]


def mean_wealth(table: np.ndarray, prices: np.ndarray, delta: float, epsilon: float, slack: float) -> float:
    """The largest mean, over all orders, of M and of each wealth in it."""
    found = []
    for order in permutations(range(table.shape[1])):
        evidence = played(Cheapest(prices, table.shape[1], delta, epsilon, slack), table, order)
        found.append(wealth(evidence, table.mean(axis=1), prices))
    return float(np.mean(found, axis=0).max())


def tables() -> list[tuple[np.ndarray, np.ndarray, float, float]]:
    rng, made = np.random.default_rng(8), []
    for _ in range(24):
        scores, prices = rng.choice([0, 0.5, 1], (3, 4)), rng.permutation([3.0, 1, 2])
        made.append((scores, prices, rng.choice([0.0, 0.1, 0.2, 0.3]), rng.choice([0, 0.1])))
    return made


@pytest.mark.parametrize("delta", [1e-9, 0.4])
def test_the_mean_over_all_orders_is_at_most_one(delta: float) -> None:
    means = [mean_wealth(table, prices, delta, epsilon, slack) for table, prices, epsilon, slack in tables()]
    assert max(means) <= 1 + 1e-9
    assert min(means) > 0.2


@pytest.mark.parametrize("mistake", ["the sum twice", "half of epsilon"])
def test_a_mistake_would_be_seen(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = Cheapest._limits

    def wrong(self: Cheapest, o: np.ndarray, j: np.ndarray, c: float) -> np.ndarray:
        if mistake == "the sum twice":
            return (self.total * c - 2 * (self.sums[o] - self.sums[j])) / (self.total - self.t)
        return right(self, o, j, c / 2 if c > 0 else 2 * c)

    monkeypatch.setattr(Cheapest, "_limits", wrong)
    means = [mean_wealth(table, prices, 1e-9, epsilon, slack) for table, prices, epsilon, slack in tables()]
    assert max(means) > 1.02


def test_errors_at_the_edge_are_rare() -> None:
    """The right answer is at the very edge of ε, and a cheaper arm lies just beyond it."""
    n, delta = 100, 0.3
    rows = [np.arange(n) < 70, np.arange(n) < 60, np.arange(n) % 100 < 59, np.arange(n) < 30]
    table, prices = np.array(rows, float), np.array([9.0, 5.0, 3.0, 1.0])
    wrong = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        shuffled = np.array([rng.permutation(row) for row in table])
        wrong += played(Cheapest(prices, n, delta, 0.1, 0.0), shuffled, rng.permutation(n)).named != 1
    assert wrong <= 18 + 11  # δ of 60, and three standard deviations


def test_at_every_door(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(3)
    table = {arm: (rng.random(300) < p).astype(float) for arm, p in {"large": 0.8, "mid": 0.78, "tiny": 0.3}.items()}
    cost = {"large": 9.0, "mid": 3.0, "tiny": 1.0}
    asked = {"cheapest": 0.15, "cost": cost, "seed": 2}
    found = surest.evaluate(list(table), range(300), score=lambda arm, item: table[arm][item], **asked)
    assert (found.chosen, found.certified, found.algorithm) == (("mid",), True, "race-cheapest")
    assert "Arm mid is the cheapest within 0.15 of the best on these 300 items" in str(found)
    known = surest.evaluate(table, **asked)
    assert (known.exact, known.chosen, known.needed is None) == (True, ("mid",), False)
    kept = surest.evaluate(
        list(table), range(300), score=lambda a, i: table[a][i], storage=f"sqlite:///{tmp_path}/s.db", name="s", **asked
    )
    assert kept.chosen == ("mid",)
    kept.report(tmp_path / "r.html")
    assert kept.plot("costs").get_ylabel() == "mean so far"
    pulled = surest.identify(surest.bernoulli([0.9, 0.85, 0.2], labels=list(table)), slack=0.1, **asked)
    assert (pulled.chosen, pulled.algorithm) == (("mid",), "wager-cheapest")
    assert "is within 0.25 of the best, and no arm within 0.15 of the best is cheaper" in str(pulled)
    short = surest.identify(surest.bernoulli([0.9, 0.85, 0.2], labels=list(table)), budget=9, **asked)
    assert "would be named so far" in str(short)
    data = found.to_dict()
    assert (data["question"], data["chosen"], data["cheapest"]) == ("cheapest", ["mid"], 0.15)
    rows = "".join(f"{arm},{item},{value}\n" for arm, row in table.items() for item, value in enumerate(row))
    (tmp_path / "t.csv").write_text("arm,item,value\n" + rows)
    words = ["--cheapest", "0.15", *(f"--cost={arm}={price}" for arm, price in cost.items())]
    status, out, _ = in_process(capsys)("evaluate", str(tmp_path / "t.csv"), *words)
    assert status == 0
    assert "mid is the cheapest" in " ".join(out.split())
    planned = surest.plan({arm: dict(enumerate(row)) for arm, row in table.items()}, runs=20, **asked)
    assert planned.rows[0].evaluations.max() <= 900
    for wrong in ({"cheapest": 0.1}, {**asked, "epsilon": 0.1}, {**asked, "top": 1}, {"slack": 0.1, "cost": cost}):
        with pytest.raises(UsageError):
            surest.evaluate(table, **wrong)
