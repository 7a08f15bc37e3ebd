"""Race as a procedure: what it asks for, how it ends, what it says on the way."""

from typing import Any

import numpy as np
import pytest

from surest.algorithms.race import race
from surest.core.protocol import Answer
from surest.errors import UsageError
from surest.evidence.lists.race import Standings
from surest.evidence.lists.verdict import GRID, Verdict
from surest.lab.bench.items import as_markdown, bench_items, run_on_table


def follow(table: np.ndarray, **options: Any) -> tuple[Answer, list[Any]]:
    """Run on a table; also give back the requests. Statuses are taken at each."""
    options = {"rng": np.random.default_rng(1), "delta": 0.05} | options
    delta = options.pop("delta")
    arms = options.pop("arms", len(table))
    procedure = race(np.arange(arms), delta, items=table.shape[1], **options)
    requests, reply = [], None
    while True:
        try:
            request = procedure.send(reply)
        except StopIteration as end:
            return end.value, requests
        requests.append((request.arms.tolist(), request.items.tolist(), request.ahead.tolist(), request.status()))
        reply = table[np.ix_(request.arms, request.items)]


def noisy(n: int, items: int, seed: int = 0, step: float = 0.1) -> np.ndarray:
    """0/1 rows whose means fall by a step from arm to arm."""
    rng = np.random.default_rng(seed)
    return (rng.random((n, items)) < 0.8 - step * np.arange(n)[:, None]).astype(float)


def test_the_order_is_drawn_beforehand_and_does_not_depend_on_scores() -> None:
    first, second = (follow(table)[1] for table in (noisy(3, 40), 1 - noisy(3, 40)))
    shorter = min(len(first), len(second))
    assert [r[1] for r in first[:shorter]] == [r[1] for r in second[:shorter]]
    order = first[0][1] + first[0][2]
    assert sorted(order) == list(range(40))
    for t, (_, item, ahead, _) in enumerate(first):
        assert item == [order[t]]
        assert ahead == order[t + 1 :]


def test_arms_that_are_out_are_not_evaluated_again_and_no_cell_is_evaluated_twice() -> None:
    answer, requests = follow(noisy(6, 200), delta=0.2)
    cells = [(arm, item) for arms, items, _, _ in requests for arm in arms for item in items]
    assert len(cells) == len(set(cells)) < 6 * 200
    sizes = [len(arms) for arms, _, _, _ in requests]
    assert sizes == sorted(sizes, reverse=True)
    assert answer.arm == 0
    assert answer.certified
    assert answer.reason == "certified"


def test_an_arm_that_cannot_catch_up_is_out_for_certain() -> None:
    table = np.array([[1.0] * 7, [0.0] * 7])
    answer, requests = follow(table, delta=1e-6)
    assert len(requests) == 4  # 4 behind with 3 to come
    assert answer.reason == "exact: no other arm can catch up"
    assert answer.status is not None
    assert answer.status.achieved_delta == 0


def test_sums_that_are_equal_but_for_rounding_are_a_tie() -> None:
    """.8 + .9 + .1 + .2 is not 2 in floating point."""
    table = np.array([[0.8, 0.9, 0.1, 0.2], [0.5, 0.5, 0.5, 0.5], [0.1, 0.2, 0.3, 0.4]])
    for seed in range(24):
        answer, _ = follow(table, delta=1e-9, rng=np.random.default_rng(seed))
        assert answer.reason == "exact: tied"
        assert answer.arm == 0
        assert answer.status is not None
        assert answer.status.contenders == (0, 1)
        assert answer.status.achieved_delta == 0
        assert answer.status.epsilon_certified == pytest.approx(0, abs=1e-9)


def test_a_budget_in_cells_ends_with_the_contenders() -> None:
    table = noisy(5, 300, step=0.05)
    answer, requests = follow(table, budget=103)
    assert sum(len(arms) for arms, _, _, _ in requests) <= 103
    assert not answer.certified
    assert answer.reason == "budget spent"
    assert answer.status is not None
    assert answer.status.contenders is not None
    assert 0 in answer.status.contenders
    assert follow(table, budget=0)[1] == []


def test_one_arm_needs_no_evaluation() -> None:
    answer, requests = follow(np.ones((1, 9)))
    assert (answer.arm, answer.reason, requests) == (0, "the only arm", [])


def test_a_status_can_be_taken_at_every_moment_and_is_in_order() -> None:
    table = noisy(4, 150)
    answer, requests = follow(table)
    means, statuses = table.mean(axis=1), [r[3] for r in requests] + [answer.status]
    assert statuses[0].achieved_delta == 1
    assert statuses[0].epsilon_certified == 1
    assert statuses[-1].achieved_delta <= 0.05
    assert statuses[-1].epsilon_certified == 0
    assert statuses[-1].forecast == 0
    for status in statuses:
        low, high = status.intervals
        assert (low <= means + 1e-9).all()
        assert (means <= high + 1e-9).all()
        low, high = status.differences
        assert (low <= means - means[status.leader] + 1e-9).all()
        assert (means - means[status.leader] <= high + 1e-9).all()
        assert low[status.leader] == high[status.leader] == 0
        assert status.in_play == len(status.contenders)
        assert means.max() - means[status.leader] <= status.epsilon_certified + 1e-9


def test_a_status_changes_nothing() -> None:
    table = noisy(4, 150, step=0.03)
    looked, requests = follow(table, epsilon=0.05)
    run = run_on_table(table, 0.05, 1, epsilon=0.05)
    assert run.cells == sum(len(arms) for arms, _, _, _ in requests)
    assert run.answer.arm == looked.arm


def test_the_smallest_epsilon_is_certified_for_all_larger_ones() -> None:
    rng = np.random.default_rng(3)
    standings = Standings(3, np.ones(400), 0.05, share=0.5)
    verdict = Verdict(standings, 0.05, 0.0, np.full(3, 1 / 3))
    for _ in range(120):
        standings.count((rng.random(len(standings.play)) < 0.5).astype(float))
    smallest = verdict.smallest_epsilon(standings.leader)
    assert 0 < smallest < 1
    assert smallest in GRID


def test_with_epsilon_close_arms_are_decided_early() -> None:
    table = noisy(5, 1000, step=0.002)
    strict, loose = (run_on_table(table, 0.05, 2, epsilon=e) for e in (0.0, 0.1))
    assert loose.cells < 0.7 * strict.cells
    assert loose.answer.reason == "certified ε-optimal"
    assert loose.regret <= 0.1


def test_new_arms_wait_for_the_first_item_without_a_cell() -> None:
    """Seven items had cells when the arm was added: it takes part after them, however clear the race is before."""
    table = np.array([[1.0] * 200, [0.0] * 200, [1.0] * 200])
    arrivals: list[Any] = [(1, 7)]
    procedure = race(np.arange(1), 0.05, items=200, rng=np.random.default_rng(1), arrivals=arrivals, reserve=0.5)
    request, requests = next(procedure), []
    for _ in range(8):
        requests.append((request.arms.tolist(), len(request.items)))
        request = procedure.send(table[np.ix_(request.arms, request.items)])
    assert requests == [([0], 1)] * 7 + [([1], 7)]


def test_without_a_reserve_new_arms_are_out_for_certain_only() -> None:
    table = np.array([[1.0] * 40, [0.0] * 40, [0.0] * 40])
    procedure = race(np.arange(2), 0.05, items=40, rng=np.random.default_rng(1), arrivals=[1])
    request = next(procedure)
    while True:
        try:
            request = procedure.send(table[np.ix_(request.arms, request.items)])
        except StopIteration as end:
            answer = end.value
            break
        status = request.status()
    assert status.contenders == (0, 2)
    assert answer.arm == 0
    assert answer.reason == "certified"  # arm 1 was out by its wealth


def test_clusters_are_evaluated_whole_and_weights_count() -> None:
    group = [0, 0, 0, 1, 1, 2, 2, 2, 2, 3]
    table = np.zeros((2, 10))
    table[0, :3], table[1, 3:] = 1, 0.4
    answer, requests = follow(table, group=group, delta=1e-9)
    assert all(len({group[i] for i in items}) == 1 for _, items, _, _ in requests)
    assert {len(items) for _, items, _, _ in requests} <= {1, 2, 3, 4}
    assert answer.arm == 0
    weighted, _ = follow(table, weights=[1, 1, 1, *[5.0] * 7], delta=1e-9)
    assert weighted.arm == 1
    both, _ = follow(table, group=group, weights=[1, 1, 1, *[5.0] * 7], delta=1e-9)
    assert both.arm == 1


def test_the_population_is_never_known_exactly() -> None:
    table = noisy(2, 60, step=0.02)
    answer, requests = follow(table, target="population")
    assert len(requests) == 60
    assert not answer.certified
    assert answer.reason == "all items seen"
    clear = follow(np.array([[1.0] * 60, [0.0] * 60]), target="population")[0]
    assert (clear.arm, clear.certified, clear.reason) == (0, True, "certified")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "list"}, "items, population"),
        ({"group": [1, 2]}, "2 entries for 8 items"),
        ({"weights": [0] * 8}, "above 0"),
        ({"target": "population", "weights": list(range(1, 9))}, "equal weight"),
    ],
)
def test_mistakes_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        follow(np.ones((2, 8)), **options)


def test_a_bench_reads_tables_and_gives_rows(tmp_path: Any) -> None:
    table = noisy(3, 50, step=0.3)
    lines = [f"a{j},q{i},{table[j, i]}" for j in range(3) for i in range(50)]
    (tmp_path / "small.csv").write_text("arm,item,value\n" + "\n".join(lines))
    rows = list(bench_items(tmp_path, 3, algorithms=["race", "everything", "paired-t-race", "halving-on-items"]))
    assert [row.share == 1 for row in rows] == [False, True, False, False]
    assert all(row.wrong == 0 and row.arms == 3 and row.items == 50 for row in rows)
    assert as_markdown(rows).count("\n") == 5
    with pytest.raises(UsageError, match="no method"):
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
