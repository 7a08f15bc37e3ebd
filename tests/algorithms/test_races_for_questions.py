"""Races for the m best, above a bar, against a control: what they ask for, how they end, what they say on the way."""

from typing import Any

import numpy as np
import pytest

from evidence.test_race_exact import counted
from surest.algorithms import start
from surest.core.protocol import Answer
from surest.core.question import Question
from surest.errors import UsageError
from surest.evidence.lists.bars import EachArm, by_share
from surest.evidence.lists.scores import Pairs
from surest.evidence.lists.top import Top

NAMES = {"top": "race-top", "above": "race-above", "control": "race-control"}


def follow(
    table: np.ndarray, question: Question, delta: float = 0.05, statuses: bool = False, **options: Any
) -> tuple[Answer, list[Any]]:
    """Run on a table; also give back the requests: arms, items, what is ahead, and the status if it is wanted."""
    n, items = table.shape
    procedure = start(NAMES[question.kind], n, delta, items=items, question=question, **options)
    requests, reply = [], None
    while True:
        try:
            request = procedure.send(reply)
        except StopIteration as end:
            return end.value, requests
        status = request.status() if statuses else None
        requests.append((request.arms.tolist(), request.items.tolist(), request.ahead.tolist(), status))
        reply = table[np.ix_(request.arms, request.items)]


def noisy(n: int, items: int, seed: int = 0, step: float = 0.1) -> np.ndarray:
    """0/1 rows whose means fall by a step from arm to arm."""
    rng = np.random.default_rng(seed)
    return (rng.random((n, items)) < 0.8 - step * np.arange(n)[:, None]).astype(float)


TOP, ABOVE, CONTROL = Question("top", top=2), Question("above", bar=0.55), Question("control", control=2)
ALL = pytest.mark.parametrize("question", [TOP, ABOVE, CONTROL], ids=["race-top", "race-above", "race-control"])


@ALL
def test_arms_go_through_the_items_in_one_order_and_leave_it_when_they_are_decided(question: Question) -> None:
    answer, requests = follow(noisy(6, 300), question)
    cells = [(arm, item) for arms, items, _, _ in requests for arm in arms for item in items]
    assert len(cells) == len(set(cells)) < 6 * 300
    sizes = [len(arms) for arms, _, _, _ in requests]
    assert sizes == sorted(sizes, reverse=True)
    order = requests[0][1] + requests[0][2]
    assert sorted(order) == list(range(300))
    assert [items for _, items, _, _ in requests] == [[item] for item in order[: len(requests)]]
    assert (answer.certified, answer.reason) == (True, "certified")


@ALL
def test_statuses_are_true_at_every_moment(question: Question) -> None:
    table = noisy(6, 150, 3)
    answer, requests = follow(table, question, statuses=True)
    means = table.mean(axis=1)
    for status in [r[3] for r in requests] + [answer.status]:
        low, high = status.intervals
        assert (low <= means + 1e-9).all()
        assert (means <= high + 1e-9).all()
        if question.kind == "top":
            assert len(status.chosen) == 2
            assert {0, 1} <= set(status.contenders)
        if question.kind == "control":
            low, high = status.differences
            assert (low <= means - means[2] + 1e-9).all()
            assert (means - means[2] <= high + 1e-9).all()
            assert status.verdicts[2] == 0
        if question.each_arm:
            assert status.chosen == tuple(i for i, v in enumerate(status.verdicts) if v == 1)
        assert 0 < status.achieved_delta <= 1
        assert status.threshold is not None
    assert answer.status.achieved_delta <= 0.05 + 1e-12


def test_what_is_named_is_right() -> None:
    table = noisy(6, 400, 1)
    means = table.mean(axis=1)
    assert follow(table, TOP)[0].arms == (0, 1)
    assert follow(table, ABOVE)[0].verdicts == tuple(np.where(means >= 0.55, 1, -1))
    assert follow(table, CONTROL)[0].verdicts == (1, 1, 0, -1, -1, -1)
    assert follow(table, CONTROL)[0].arms == (0, 1)


def test_what_cannot_change_is_exact() -> None:
    table = np.array([[1.0] * 9, [0.8] * 9, [0.0] * 9])
    top, requests = follow(table, TOP, 1e-6)
    assert (top.arms, top.reason) == ((0, 1), "exact: no other arm can catch up")
    assert top.status.achieved_delta == 0
    assert len(requests) == 6  # the third is 4.8 behind the second with 3 to come
    above, requests = follow(table, Question("above", bar=0.5), 1e-6)
    assert (above.verdicts, above.reason) == ((1, 1, -1), "exact: nothing can change it")
    assert [len(arms) for arms, _, _, _ in requests] == [3] * 5 + [1]  # 4.5 of 9, or less than that out of reach
    control, _ = follow(table, Question("control", control=1), 1e-6)
    assert (control.verdicts, control.reason) == ((1, 0, -1), "exact: nothing can change it")


def test_sums_that_are_equal_but_for_rounding_are_a_tie() -> None:
    """.8 + .9 + .1 + .2 is not 2 in floating point."""
    table = np.array([[0.8, 0.9, 0.1, 0.2], [0.5] * 4, [1.0] * 4, [0.1, 0.2, 0.3, 0.4]])
    for seed in range(12):
        top, _ = follow(table, TOP, 1e-9, seed=seed)
        assert (top.arms, top.reason, top.contenders) == ((2, 0), "exact: tied", (0, 1, 2))
        assert top.status.achieved_delta == 0
        assert follow(table, Question("above", bar=0.5), 1e-9, seed=seed)[0].verdicts == (1, 1, 1, -1)
        assert follow(table, Question("control", control=1), 1e-9, seed=seed)[0].verdicts == (-1, 0, 1, -1)


@ALL
def test_a_budget_in_cells_ends_with_what_is_known(question: Question) -> None:
    table = noisy(6, 300, step=0.05)
    answer, requests = follow(table, question, budget=203)
    assert sum(len(arms) for arms, _, _, _ in requests) <= 203
    assert (answer.certified, answer.reason) == (False, "budget spent")
    if question.each_arm:
        assert 0 in np.delete(answer.verdicts, 2)
    assert follow(table, question, budget=0)[1] == []


@ALL
def test_the_population_is_never_known_exactly(question: Question) -> None:
    table = noisy(4, 60, step=0.01)
    answer, requests = follow(table, question, target="population")
    assert len(requests) == 60
    assert (answer.certified, answer.reason) == (False, "all items seen")
    clear = np.array([[1.0] * 60, [1.0] * 60, [0.5, 0.4] * 30, [0.0] * 60])
    answer, _ = follow(clear, question, target="population")
    assert (answer.arms, answer.certified, answer.reason) == ((0, 1), True, "certified")


@ALL
def test_clusters_and_weights_count(question: Question) -> None:
    table = np.array([[1.0] * 4 + [0.0] * 8, [1.0] * 4 + [0.0] * 8, [0.6] * 12, [0.0] * 12])
    even, _ = follow(table, question, 1e-9, group=[0, 0, 0, 0, *range(1, 9)])
    heavy, _ = follow(table, question, 1e-9, weights=[10.0] * 4 + [1.0] * 8)
    assert even.reason.startswith("exact")
    assert heavy.arms == (0, 1) if question.kind != "above" else (0, 1, 2)
    assert even.arms != heavy.arms


def test_within_epsilon_close_arms_are_decided_early() -> None:
    table = noisy(6, 1000, 4, step=0.004)
    for question, words in ((TOP, "certified ε-optimal"), (Question("above", bar=0.79), "certified")):
        strict, loose = (follow(table, question, epsilon=e) for e in (0.0, 0.15))
        assert loose[0].reason == words
        assert sum(len(r[0]) for r in loose[1]) < 0.6 * sum(len(r[0]) for r in strict[1])
    assert table.mean(axis=1)[list(follow(table, TOP, epsilon=0.15)[0].arms)].min() >= table.mean(axis=1).max() - 0.15
    margin = follow(table, Question("control", control=0, margin=0.15))
    assert sum(len(r[0]) for r in margin[1]) < 0.6 * table.size


def test_a_margin_makes_every_arm_end_one_way_or_the_other() -> None:
    """Better by half of the margin: both verdicts are true, and either may come."""
    rng = np.random.default_rng(5)
    old = rng.permutation(np.repeat([0.0, 1.0], [250, 250]))
    new = rng.permutation(np.repeat([0.0, 1.0], [235, 265]))
    found = {
        follow(np.array([old, new]), Question("control", control=0, margin=0.06), 0.3, seed=s)[0].verdicts[1]
        for s in range(10)
    }
    assert found == {-1, 1}


def test_with_fdr_arms_are_declared_together() -> None:
    """What each of k arms needs is n/(k·δ): less than the n/δ that one alone needs."""
    table = noisy(12, 400, 6, step=0.05)
    fwer, fdr = (follow(table, Question("above", bar=0.5, error=error), epsilon=0.05) for error in ("fwer", "fdr"))
    assert sum(len(r[0]) for r in fdr[1]) < sum(len(r[0]) for r in fwer[1])
    assert fdr[0].certified
    assert fdr[0].status.achieved_delta is None
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
    assert top.evidence.wealth[0, 1] == 1 / 4
    assert top.evidence.level == 20
    assert Top(4, 2, np.ones(10), 0.05, 0.1).evidence.level == pytest.approx(20 / 0.7)


def test_beyond_so_many_sets_pairs_of_arms_decide() -> None:
    table = noisy(8, 400, 7)
    named = []
    for most_sets in (200_000, 0):
        top = Top(8, 3, np.ones(400), 0.05, most_sets=most_sets)
        for item in range(400):
            if len(top.play) == 0:
                break
            top.count(table[top.play, item])
        named.append((top.named.tolist(), type(top.evidence).__name__))
    assert named == [([0, 1, 2], "Sets"), ([0, 1, 2], "Duels")]


def test_both_parts_of_the_evidence_of_a_pair_are_of_one_moment() -> None:
    """With eight items the sum of both wealths has been at most 3.310 < 1/δ; the most of each apart would have sufficed."""
    table, ones = np.array([[1, 0, 0.5, 0, 1, 0, 1, 0.5], [0, 0.5, 0.5, 0, 0, 0.5, 0, 1]]), np.ones(12)
    wealths = [
        [Pairs(0, gap, 2).extend(np.arange(2), counted(table.T[:t], 12))[1] for gap in (0, 0.1)] for t in range(1, 9)
    ]
    sums, apart = np.array(wealths) @ [0.7, 0.3], np.max(wealths, axis=0) @ [0.7, 0.3]
    for delta, close in ((0.3, False), (1 / sums.max() + 1e-9, True)):
        top = Top(2, 1, ones, delta, 0.1, most_sets=0)
        for scores in table.T:
            if len(top.play):
                top.count(scores[top.play])
        assert top.close is close
    assert sums.max() < 1 / 0.3 < apart


def test_many_arms_are_compared_in_pairs() -> None:
    """C(40, 5) is 658,008."""
    table = np.tile(np.linspace(1, 0, 40)[:, None], (1, 60))
    answer, _ = follow(table, Question("top", top=5))
    assert answer.arms == (0, 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("question", "options", "words"),
    [
        (CONTROL, {"epsilon": 0.1}, "margin says how close"),
        (TOP, {"target": "list"}, "items, population"),
        (ABOVE, {"weights": [0] * 8}, "above 0"),
        (Question("top", top=4), {}, "it must be less than 4"),
    ],
)
def test_mistakes_are_refused(question: Question, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        follow(np.ones((4, 8)), question, **options)


def test_too_many_arms_are_refused() -> None:
    with pytest.raises(UsageError, match="up to 3000"):
        next(start("race-top", 3001, 0.05, items=10, question=TOP))


def test_other_questions_are_refused_and_who_answers_them_is_named() -> None:
    with pytest.raises(
        UsageError, match="race does not answer which are the 2 best arms; for this question use race-top"
    ):
        start("race", 4, 0.05, items=10, question=TOP)
    with pytest.raises(UsageError, match=r"race-above does not answer which arms beat a control; .* use race-control"):
        start("race-above", 4, 0.05, items=10, question=CONTROL)
