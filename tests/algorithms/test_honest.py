"""The winner's honest mean: unbiased on all orders of small tables, covered by its interval, kept through budgets and studies."""

import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import surest
from surest.algorithms.honest import honest
from surest.core.protocol import Cells
from surest.errors import UsageError
from surest.evidence.honest import mean_interval


@pytest.fixture
def no_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take nearly all the time of an estimate."""
    monkeypatch.setattr(sys.modules["surest.algorithms.honest"], "mean_interval", lambda *_: (0.0, 1.0))


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


@pytest.mark.usefixtures("no_intervals")
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_estimate_is_unbiased_over_all_orders(k: int) -> None:
    truth, said = np.array(estimates(k)).T
    assert said.mean() == pytest.approx(truth.mean(), abs=1e-12)
    if k == 3:
        assert said == pytest.approx(truth)


@pytest.mark.usefixtures("no_intervals")
def test_a_mistake_in_the_order_would_be_seen() -> None:
    truth, said = np.array(estimates(2, "best first")).T
    assert said.mean() - truth.mean() > 0.05


def weighted_estimates(group: list[int], weights: list[float], k: int, plain: bool = False) -> tuple[float, float]:
    """The expectations of the winner's true mean and of its estimate, over all orders of clusters with their probabilities."""
    each, sizes = np.array(weights), np.bincount(group, weights=weights)
    truth = said = 0.0
    for order in permutations(range(len(sizes))):
        left = np.append(sizes[list(order)], 0.0)[::-1].cumsum()[::-1][:-1]
        chance = float(np.prod(sizes[list(order)] / left))  # drawn in proportion to weight, one after another
        in_order = [item for unit in order for item in range(len(group)) if group[item] == unit]
        first = sum(group[item] in order[:2] for item in in_order)

        def two_clusters(in_order: list[int] = in_order, first: int = first) -> object:
            reply = yield Cells([0, 1], in_order[:first], in_order[first:])
            return surest.Answer(int((reply @ each[in_order[:first]]).argmax()))

        procedure, reply = honest(two_clusters(), k, 0.1, len(group), False, group, weights), None  # type: ignore[arg-type]
        try:
            while True:
                request = procedure.send(reply)
                reply = ROWS[np.ix_(request.arms, request.items)]
        except StopIteration as end:
            answer = end.value
        row = ROWS[answer.arm, : len(group)]
        found = answer.estimate[0]
        if plain:  # a seeded mistake: the plain mean of what came, as if items counted alike
            new = in_order[first : first + k]
            found = (row[in_order[:first]].sum() + (len(row) - first) * row[new].mean()) / len(row)
        assert plain or answer.estimate[1] <= found + 1e-9
        truth, said = truth + chance * float(row @ each / each.sum()), said + chance * found
    return truth, said


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(
    ("group", "weights"),
    [
        ([0, 1, 2, 3, 4], [1.0, 2.0, 5.0, 0.5, 1.0]),
        ([0, 0, 1, 2, 3, 4], [1.0] * 6),
        ([0, 1, 1, 2, 3, 4], [1.0, 2, 3, 1, 4, 1]),
    ],
)
def test_with_weights_and_clusters_the_estimate_is_unbiased(group: list[int], weights: list[float], k: int) -> None:
    truth, said = weighted_estimates(group, weights, k)
    assert said == pytest.approx(truth, abs=1e-6)
    if k < 3 and len(group) == 5:
        truth, said = weighted_estimates(group, weights, k, plain=True)
        assert abs(said - truth) > 0.01


def test_an_interval_never_claims_more_than_is_known() -> None:
    """Near the end of a list, and for nearly constant rewards, values between those of the grid must not get lost."""
    rng = np.random.default_rng(2)
    values = rng.random(5000)
    low, high = mean_interval(values[:-2], 0.05, np.ones(4998), 5000)
    assert low <= values.mean() <= high <= low + 3 / 5000
    sample = 0.33327 + 1e-5 * rng.random(6_000)
    low, high = mean_interval(sample, 0.05)
    assert low <= 0.333275 <= high < low + 0.01


def test_weighted_intervals_cover() -> None:
    rng, missed = np.random.default_rng(6), 0
    weights = rng.exponential(size=40)
    values = (weights > 1).astype(float)  # heavy ones come early, and are good
    for _ in range(100):
        order = np.argsort(rng.exponential(size=40) / weights)[:20]
        low, high = mean_interval(values[order], 0.2, weights[order], float(weights.sum()))
        missed += not low <= values @ weights / weights.sum() <= high
    assert missed <= 20 + 12
    assert high - low < 0.6


@pytest.mark.parametrize(("delta", "whole"), [(0.2, None), (0.2, 60)])
def test_intervals_cover(delta: float, whole: int | None) -> None:
    rng, missed = np.random.default_rng(5), 0
    for _ in range(60):
        if whole is None:
            truth, sample = 0.3, (rng.random(40) < 0.3).astype(float)
        else:
            values = rng.permutation(np.repeat([0.0, 1.0], [40, 20]))
            truth, sample = 1 / 3, values[:40]
        low, high = mean_interval(sample, delta, None if whole is None else np.ones(40), whole or 0)
        missed += not low <= truth <= high
    assert missed <= 12 + 9  # 20 % of 60, and three standard deviations
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
    weighted = evaluated(20, group=[i // 5 for i in range(300)], weights=[1.0, 2.0] * 150)
    assert weighted.estimated.evaluations == 100  # 20 clusters
    assert weighted.estimated.low <= 0.8 <= weighted.estimated.high
    for settings in ({"top": 1}, {"above": 0.5}):
        with pytest.raises(UsageError, match="estimate requires"):
            evaluated(**settings)
