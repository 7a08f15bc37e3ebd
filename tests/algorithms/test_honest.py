"""The winner's honest mean: unbiased on all orders of small tables, covered by its interval, kept through budgets and studies."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import surest
from surest.algorithms.honest import honest
from surest.core.protocol import Cells
from surest.errors import UsageError
from surest.evidence.honest import mean_interval

ROWS = np.array([[1, 0, 1, 0, 1, 0], [0, 1, 1, 0, 1, 1]], float)


def estimates(k: int, rule: str = "next") -> list[tuple[float, float]]:
    """Over all orders of six items: the true mean of the winner, named after three items, and its estimate."""
    found = []
    for order in permutations(range(6)):

        def first_three(order: tuple[int, ...] = order) -> object:
            reply = yield Cells([0, 1], order[:3], order[3:])
            return surest.Answer(int(reply.sum(axis=1).argmax()))

        procedure, reply = honest(first_three(), k, 0.1, 6), None  # type: ignore[arg-type]
        try:
            while True:
                request = procedure.send(reply)
                items = request.items
                if rule == "best first" and len(request.arms) == 1:  # a seeded mistake: what is solved comes first
                    items = np.array(sorted(order[3:], key=lambda i: -ROWS[request.arms[0], i]))[:k]
                reply = ROWS[np.ix_(request.arms, items)]
        except StopIteration as end:
            found.append((ROWS[end.value.arm].mean(), end.value.estimate[0]))
    return found


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_estimate_is_unbiased_over_all_orders(k: int) -> None:
    truth, said = np.array(estimates(k)).T
    assert said.mean() == pytest.approx(truth.mean(), abs=1e-12)
    if k == 3:
        assert said == pytest.approx(truth)


def test_a_mistake_in_the_order_would_be_seen() -> None:
    truth, said = np.array(estimates(2, "best first")).T
    assert said.mean() - truth.mean() > 0.05


@pytest.mark.parametrize(("delta", "whole"), [(0.2, None), (0.2, 60)])
def test_intervals_cover(delta: float, whole: int | None) -> None:
    rng, missed = np.random.default_rng(5), 0
    for _ in range(100):
        if whole is None:
            truth, sample = 0.3, (rng.random(40) < 0.3).astype(float)
        else:
            values = rng.permutation(np.repeat([0.0, 1.0], [40, 20]))
            truth, sample = 1 / 3, values[:40]
        low, high = mean_interval(sample, delta, whole)
        missed += not low <= truth <= high
    assert missed <= 20 + 12  # 20 % of 100, and three standard deviations
    assert high - low < 0.5
    assert mean_interval(np.zeros(50), 0.05)[0] == 0
    assert 0 < mean_interval(np.zeros(50), 0.05)[1] < 0.15


def test_at_every_door(tmp_path: Path) -> None:
    def score(arm: str, item: int) -> float:
        return float((item * 7919) % 10 < (8 if arm == "a" else 3))

    def evaluated(estimate: int = 50, **more: object) -> surest.Result:
        return surest.evaluate(["a", "b"], range(300), score=score, estimate=estimate, seed=3, **more)

    found = evaluated()
    assert (found.certified, found.estimated.evaluations) == (True, 50)
    assert found.estimated.low <= 0.8 <= found.estimated.high
    assert "further items that did not choose it" in str(found)
    assert evaluated(storage=f"sqlite:///{tmp_path}/s.db", name="s").estimated == found.estimated
    exact = evaluated(300)
    assert exact.estimated[:3] == pytest.approx((0.8, 0.8, 0.8))
    assert "exactly" in str(exact)
    minimised = evaluated(minimise=True)
    assert minimised.best == "b"
    assert minimised.estimated.low <= 0.3 <= minimised.estimated.high
    pulled = surest.identify(surest.bernoulli([0.9, 0.2]), estimate=100, seed=1)
    assert pulled.estimated.low < 0.9 < pulled.estimated.high
    short = surest.identify(surest.bernoulli([0.9, 0.2]), estimate=1000, budget=500, seed=1)
    assert (short.certified, short.estimated) == (True, None)
    session = surest.Session(["a", "b"], estimate=20)
    while not session.result().certified:
        for ticket in session.ask(5):
            session.tell(ticket.id, ticket.arm == 0)
    assert not session.finished
    assert session.result().estimated is None
    while tickets := session.ask(5):
        for ticket in tickets:
            session.tell(ticket.id, 1)
    assert session.result().estimated == pytest.approx((1.0, session.result().estimated.low, 1.0, 20))
    assert surest.evaluate({"a": [1.0] * 9, "b": [0.0] * 9}, estimate=5).estimated is None  # all is known
    for settings in ({"top": 1}, {"above": 0.5}, {"weights": [1.0] * 300}):
        with pytest.raises(UsageError, match="estimate goes with"):
            evaluated(**settings)
