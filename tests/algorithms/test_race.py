"""Races on lists, for the best arm, the m best, above a bar, against a control: what they ask for, say and answer."""

from typing import Any

import numpy as np
import pytest

from evidence.test_over_all_orders import counted
from statistical.list_tables import ended, played
from surest.algorithms import start
from surest.algorithms.race import race
from surest.core.protocol import Answer
from surest.core.question import BEST, Question
from surest.errors import UsageError
from surest.evidence.lists.bars import EachArm, by_share
from surest.evidence.lists.scores import Pairs
from surest.evidence.lists.top import Top
from surest.lab.bench.items import as_markdown, bench_items, run_on_table

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


def test_what_is_named_is_right() -> None:
    table = noisy(6, 400, 1)
    assert follow(table)[0].arm == 0
    assert follow(table, TOP)[0].arms == (0, 1)
    assert follow(table, ABOVE)[0].verdicts == tuple(np.where(table.mean(axis=1) >= 0.55, 1, -1))
    control = follow(table, CONTROL)[0]
    assert (control.verdicts, control.arms) == ((1, 1, 0, -1, -1, -1), (0, 1))


def test_what_cannot_change_is_exact() -> None:
    best, requests = follow(np.array([[1.0] * 7, [0.0] * 7]), BEST, 1e-6)
    assert (best.reason, best.status.achieved_delta) == ("exact: no other arm can catch up", 0)
    assert len(requests) == 4  # 4 behind with 3 to come
    table = np.array([[1.0] * 9, [0.8] * 9, [0.0] * 9])
    top, requests = follow(table, TOP, 1e-6)
    assert (top.arms, top.reason, top.status.achieved_delta) == ((0, 1), "exact: no other arm can catch up", 0)
    assert len(requests) == 6  # the third is 4.8 behind the second with 3 to come
    above, requests = follow(table, Question("above", bar=0.5), 1e-6)
    assert (above.verdicts, above.reason) == ((1, 1, -1), "exact: nothing can change it")
    assert [len(arms) for arms, *_ in requests] == [3] * 5 + [1]  # 4.5 of 9, or less than that out of reach
    control, _ = follow(table, Question("control", control=1), 1e-6)
    assert (control.verdicts, control.reason) == ((1, 0, -1), "exact: nothing can change it")


def test_sums_that_are_equal_but_for_rounding_are_a_tie() -> None:
    """.8 + .9 + .1 + .2 is not 2 in floating point."""
    table = np.array([[0.8, 0.9, 0.1, 0.2], [0.5] * 4, [1.0] * 4, [0.1, 0.2, 0.3, 0.4]])
    for seed in range(12):
        best, _ = follow(table[[0, 1, 3]], BEST, 1e-9, seed=seed)
        assert (best.arm, best.reason, best.status.contenders) == (0, "exact: tied", (0, 1))
        assert (best.status.achieved_delta, best.status.epsilon_certified) == pytest.approx((0, 0), abs=1e-9)
        top, _ = follow(table, TOP, 1e-9, seed=seed)
        assert (top.arms, top.reason, top.contenders) == ((2, 0), "exact: tied", (0, 1, 2))
        assert top.status.achieved_delta == 0
        assert follow(table, Question("above", bar=0.5), 1e-9, seed=seed)[0].verdicts == (1, 1, 1, -1)
        assert follow(table, Question("control", control=1), 1e-9, seed=seed)[0].verdicts == (-1, 0, 1, -1)


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


def test_one_arm_needs_no_evaluation() -> None:
    answer, requests = follow(np.ones((1, 9)))
    assert (answer.arm, answer.reason, requests) == (0, "the only arm", [])


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


def test_new_arms_wait_for_the_first_item_without_a_cell() -> None:
    """Seven items had cells when the arm was added: it takes part after them, however clear the race is before."""
    table, requests = np.array([[1.0] * 200, [0.0] * 200, [1.0] * 200]), []
    procedure = race(np.arange(1), 0.05, items=200, rng=np.random.default_rng(1), arrivals=[(1, 7)], reserve=0.5)
    ended(procedure, table, lambda request: requests.append((request.arms.tolist(), len(request.items))))
    assert requests[:8] == [([0], 1)] * 7 + [([1], 7)]


def test_without_a_reserve_new_arms_are_out_for_certain_only() -> None:
    table, shown = np.array([[1.0] * 40, [0.0] * 40, [0.0] * 40]), []
    procedure = race(np.arange(2), 0.05, items=40, rng=np.random.default_rng(1), arrivals=[1])
    answer = ended(procedure, table, lambda request: shown.append(request.status()))
    assert shown[-1].contenders == (0, 2)
    assert (answer.arm, answer.reason) == (0, "certified")  # arm 1 was out by its wealth


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


def test_beyond_so_many_sets_pairs_of_arms_decide() -> None:
    """C(40, 5) is 658,008."""
    table, named = noisy(8, 400, 7), []
    for most_sets in (200_000, 0):
        top = played(Top(8, 3, np.ones(400), 0.05, most_sets=most_sets), table, range(400))
        named.append((top.named.tolist(), type(top.evidence).__name__))
    assert named == [([0, 1, 2], "Sets"), ([0, 1, 2], "Duels")]
    many = np.tile(np.linspace(1, 0, 40)[:, None], (1, 60))
    assert follow(many, Question("top", top=5))[0].arms == (0, 1, 2, 3, 4)


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


@pytest.mark.parametrize(
    ("question", "options", "words"),
    [
        (BEST, {"group": [1, 2]}, "2 entries for 8 items"),
        (BEST, {"weights": [0] * 8}, "above 0"),
        (BEST, {"target": "population", "weights": list(range(1, 9))}, "equal weight"),
        (CONTROL, {"epsilon": 0.1}, "epsilon does not apply to a control; use margin"),
        (ABOVE, {"weights": [0] * 8}, "above 0"),
        (Question("top", top=4), {}, "it must be less than 4"),
    ],
)
def test_mistakes_are_refused(question: Question, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        follow(np.ones((4, 8)), question, **options)


def test_what_an_algorithm_does_not_answer_is_refused_and_who_does_is_named() -> None:
    with pytest.raises(UsageError, match="up to 3000"):
        next(start("race-top", 3001, 0.05, items=10, question=TOP))
    with pytest.raises(
        UsageError, match="race does not answer which are the 2 best arms; for this question use race-top"
    ):
        start("race", 4, 0.05, items=10, question=TOP)
    with pytest.raises(UsageError, match=r"race-above does not answer which arms beat a control; .* use race-control"):
        start("race-above", 4, 0.05, items=10, question=CONTROL)


def test_a_bench_reads_tables_and_gives_rows(tmp_path: Any) -> None:
    table = noisy(3, 50, step=0.3)
    lines = [f"a{j},q{i},{table[j, i]}" for j in range(3) for i in range(50)]
    (tmp_path / "small.csv").write_text("arm,item,value\n" + "\n".join(lines))
    rows = list(bench_items(tmp_path, 3, algorithms=["race", "everything", "paired-t-race", "halving-on-items"]))
    assert [row.share == 1 for row in rows] == [False, True, False, False]
    assert all(row.wrong == 0 and row.arms == 3 and row.items == 50 for row in rows)
    assert as_markdown(rows).count("\n") == 5
    with pytest.raises(UsageError, match=r"no method 'races'.* there are race, everything, averaged-opponents, cov"):
        list(bench_items(tmp_path, 3, algorithms=["races"]))
    (tmp_path / "small.csv").write_text("arm,item,value\n" + "\n".join(lines[1:]))
    with pytest.raises(UsageError, match="each of its 3 × 50 cells"):
        list(bench_items(tmp_path, 3))


@pytest.mark.parametrize("name", ["averaged-opponents", "covariance-adaptive", "wilcoxon-pruner"])
def test_rivals_find_a_clear_best_arm(name: str) -> None:
    table = np.array([[1.0] * 300, [0.0, 1.0, 0.0] * 100, [0.0] * 300])
    run = run_on_table(table, 0.05, 3, algorithm=name)
    assert run.regret == 0
    assert run.cells < table.size
    with pytest.raises(UsageError, match="no claim about a population"):
        run_on_table(table, 0.05, 3, algorithm=name, target="population")
