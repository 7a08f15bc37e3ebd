"""Races on lists, for the best arm, the m best, above a bar, against a control: what they ask for, say and answer.

`races.txt` has what is named, exact, tied and refused.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidence.test_over_all_orders import counted
from pages import same_as_kept
from statistical.list_tables import ended, played
from surest.algorithms import start
from surest.core.protocol import Answer
from surest.core.question import BEST, Question
from surest.evidence.lists.bars import EachArm, by_share
from surest.evidence.lists.scores import Pairs
from surest.evidence.lists.top import Top

TOP, ABOVE, CONTROL = Question("top", top=2), Question("above", bar=0.55), Question("control", control=2)
NAMES = {"best": "race", "top": "race-top", "above": "race-above", "control": "race-control"}
ALL = pytest.mark.parametrize("question", [BEST, TOP, ABOVE, CONTROL], ids=[*NAMES.values()])


def follow(
    table: np.ndarray, question: Question = BEST, delta: float = 0.05, **options: Any
) -> tuple[Answer, list[Any]]:
    """Run on a table; also give back the requests: arms, items, what is ahead."""
    requests: list[Any] = []
    procedure = start(NAMES[question.kind], len(table), delta, items=table.shape[1], question=question, **options)
    answer = ended(
        procedure, table, lambda r: requests.append((r.arms.tolist(), r.items.tolist(), r.ahead.tolist(), r.status))
    )
    return answer, requests


def cells(requests: list[Any]) -> int:
    return sum(len(arms) for arms, *_ in requests)


def noisy(n: int, items: int, seed: int = 0, step: float = 0.1) -> np.ndarray:
    """0/1 rows whose means fall by a step from arm to arm."""
    rng = np.random.default_rng(seed)
    return (rng.random((n, items)) < 0.8 - step * np.arange(n)[:, None]).astype(float)


@pytest.mark.usefixtures("run")
def test_what_is_named_exact_tied_and_refused(request: pytest.FixtureRequest) -> None:
    same_as_kept(Path(__file__).with_name("races.txt"), request, names=globals())


@ALL
def test_arms_go_through_the_items_in_one_order_and_leave_it_when_they_are_decided(question: Question) -> None:
    """The order is drawn beforehand: other scores do not change it."""
    answer, requests = follow(noisy(6, 300), question)
    every = [(arm, item) for arms, items, *_ in requests for arm in arms for item in items]
    assert len(every) == len(set(every)) < 6 * 300
    sizes = [len(arms) for arms, *_ in requests]
    assert sizes == sorted(sizes, reverse=True)
    order = requests[0][1] + requests[0][2]
    assert sorted(order) == list(range(300))
    for some in (requests, follow(1 - noisy(6, 300), question)[1]):
        assert [items + ahead for _, items, ahead, _ in some] == [order[t:] for t in range(len(some))]
        assert {len(items) for _, items, *_ in some} == {1}
    assert (answer.certified, answer.reason) == (True, "certified")


@ALL
def test_statuses_are_true_at_every_moment_and_change_nothing(question: Question) -> None:
    table, shown = noisy(6, 150, 3), []
    procedure = start(NAMES[question.kind], 6, 0.05, items=150, question=question)

    def look(request: Any) -> None:
        shown.append(request.status())
        if request.evidence is not None:
            assert request.evidence() == (shown[-1].evidence, shown[-1].threshold)

    answer, means = ended(procedure, table, look), table.mean(axis=1)
    alone, requests = follow(table, question)
    assert (alone.arms, alone.verdicts, len(requests)) == (answer.arms, answer.verdicts, len(shown))
    for status in [*shown, answer.status]:
        low, high = status.intervals
        assert ((low <= means + 1e-9) & (means <= high + 1e-9)).all()
        if question.kind in ("best", "control"):
            base = status.leader if question.kind == "best" else 2
            low, high = status.differences
            assert ((low <= means - means[base] + 1e-9) & (means - means[base] <= high + 1e-9)).all()
            assert low[base] == high[base] == 0
        if question.kind == "best":
            assert status.in_play == len(status.contenders)
            assert means.max() - means[status.leader] <= status.epsilon_certified + 1e-9
        if question.kind == "top":
            assert len(status.chosen) == 2
            assert {0, 1} <= set(status.contenders)
        if question.kind == "control":
            assert status.verdicts[2] == 0
        if question.each_arm:
            assert status.chosen == tuple(i for i, v in enumerate(status.verdicts) if v == 1)
        assert 0 < status.achieved_delta <= 1
        assert status.threshold is not None
    assert answer.status.achieved_delta <= 0.05 + 1e-12
    if question.kind == "best":
        assert (shown[0].achieved_delta, shown[0].epsilon_certified) == (1, 1)
        assert (answer.status.epsilon_certified, answer.status.forecast) == (0, 0)


@ALL
def test_a_budget_in_cells_ends_with_what_is_known(question: Question) -> None:
    table = noisy(6, 300, step=0.05)
    answer, requests = follow(table, question, budget=203)
    assert cells(requests) <= 203
    assert (answer.certified, answer.reason) == (False, "budget spent")
    if question.each_arm:
        assert 0 in np.delete(answer.verdicts, 2)
    elif question.kind == "best":
        assert 0 in answer.status.contenders
    assert follow(table, question, budget=0)[1] == []


@ALL
def test_the_population_is_never_known_exactly(question: Question) -> None:
    answer, requests = follow(noisy(4, 60, step=0.01), question, target="population")
    assert len(requests) == 60
    assert (answer.certified, answer.reason) == (False, "all items seen")
    clear = np.array([[1.0] * 60, [1.0 - (question is BEST)] * 60, [0.5, 0.4] * 30, [0.0] * 60])
    answer, _ = follow(clear, question, target="population")
    named = (0,) if question is BEST else (0, 1)
    assert (answer.arms, answer.certified, answer.reason) == (named, True, "certified")


@ALL
def test_clusters_and_weights_count(question: Question) -> None:
    table = np.array([[1.0] * 4 + [0.0] * 8, [1.0] * 4 + [0.0] * 8, [0.6] * 12, [0.0] * 12])
    group = [0, 0, 0, 0, *range(1, 9)]
    even, requests = follow(table, question, 1e-9, group=group)
    assert {len(items) for _, items, *_ in requests} <= {1, 4}, "clusters are evaluated whole"
    heavy, _ = follow(table, question, 1e-9, weights=[10.0] * 4 + [1.0] * 8)
    both, _ = follow(table, question, 1e-9, group=group, weights=[10.0] * 4 + [1.0] * 8)
    assert even.reason.startswith("exact")
    assert heavy.arms == both.arms == {"above": (0, 1, 2), "best": (0,)}.get(question.kind, (0, 1))
    assert even.arms != heavy.arms


def test_within_epsilon_close_arms_are_decided_early() -> None:
    table = noisy(6, 1000, 4, step=0.004)
    means = table.mean(axis=1)
    for question, words in ((BEST, "ε-optimal"), (TOP, "ε-optimal"), (Question("above", bar=0.79), "")):
        strict, loose = (follow(table, question, epsilon=e) for e in (0.0, 0.15))
        assert loose[0].reason == f"certified {words}".strip()
        assert cells(loose[1]) < 0.7 * cells(strict[1])
        assert question.each_arm or means[list(loose[0].arms)].min() >= means.max() - 0.15
    assert cells(follow(table, Question("control", control=0, margin=0.15))[1]) < 0.6 * table.size


def test_a_margin_makes_every_arm_end_one_way_or_the_other() -> None:
    """Better by half of the margin: both verdicts are true, and either may come."""
    rng = np.random.default_rng(5)
    table = np.array([rng.permutation(np.repeat([0.0, 1.0], [500 - ones, ones])) for ones in (250, 265)])
    question = Question("control", control=0, margin=0.06)
    assert {follow(table, question, 0.3, seed=s)[0].verdicts[1] for s in range(10)} == {-1, 1}


def test_with_fdr_arms_are_declared_together() -> None:
    """What each of k arms needs is n/(k·δ): less than the n/δ that one alone needs."""
    table = noisy(12, 400, 6, step=0.05)
    fwer, fdr = (follow(table, Question("above", bar=0.5, error=error), epsilon=0.05) for error in ("fwer", "fdr"))
    assert cells(fdr[1]) < cells(fwer[1])
    assert (fdr[0].certified, fdr[0].status.achieved_delta) == (True, None)
    evidence = np.array([[30.0, 25.0, 21.0, 3.0], [0.0, 0.0, 0.0, 81.0]])
    assert by_share(evidence, 0.05).tolist() == [[False] * 4, [False] * 3 + [True]]
    assert by_share(evidence, 0.2).tolist() == [[True] * 3 + [False], [False] * 3 + [True]]


def test_wealth_of_a_verdict_is_compared_with_the_number_of_arms_over_delta() -> None:
    """Not visible in error rates, so the number itself."""
    above = EachArm(5, np.ones(1000), Question("above", bar=0.5), 0.05)
    while len(above.play) == 5:
        before = above.claims.evidence()[0, 0]
        above.count(np.array([0.7, 0.5, 0.5, 0.5, 0.5]))
    assert before < 100 <= above.claims.evidence()[0, 0]
    top = Top(4, 2, np.ones(1000), 0.05, most_sets=0)
    assert (top.evidence.wealth[0, 1], top.evidence.level) == (1 / 4, 20)
    assert Top(4, 2, np.ones(10), 0.05, 0.1).evidence.level == pytest.approx(20 / 0.7)


def test_both_parts_of_the_evidence_of_a_pair_are_of_one_moment() -> None:
    """With eight items the sum of both wealths has been at most 3.310 < 1/δ; the most of each apart would have sufficed."""
    table = np.array([[1, 0, 0.5, 0, 1, 0, 1, 0.5], [0, 0.5, 0.5, 0, 0, 0.5, 0, 1]])
    wealths = [
        [Pairs(0, gap, 2).extend(np.arange(2), counted(table.T[:t], 12))[1] for gap in (0, 0.1)] for t in range(1, 9)
    ]
    sums, apart = np.array(wealths) @ [0.7, 0.3], np.max(wealths, axis=0) @ [0.7, 0.3]
    for delta, close in ((0.3, False), (1 / sums.max() + 1e-9, True)):
        assert played(Top(2, 1, np.ones(12), delta, 0.1, most_sets=0), table, range(8)).close is close
    assert sums.max() < 1 / 0.3 < apart
