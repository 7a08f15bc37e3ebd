"""A stated spread: two arms differ by at most d on every item. Bets may be larger then, and a score that breaks it is refused."""

from pathlib import Path

import numpy as np
import pytest

import surest
from asking import answered
from surest.errors import RewardError, UsageError
from surest.study.log import StoredTicket
from surest.study.study import open_study


def test_a_refusal_does_not_protect() -> None:
    """As docs/items.md says: with 22 of 220 items that break the spread, many orders are decided, wrongly, before one is met."""
    table = np.full((2, 220), 0.5)
    table[0, :198], table[:, 198:] = 0.6, [[0.0], [1.0]]
    wrong = refused = 0
    for seed in range(100):
        session = surest.Session(["a", "b"], items=220, spread=0.1, seed=seed)
        try:
            answered(session, lambda ticket: table[ticket.arm, ticket.item])
            wrong += session.result().best == "a"
        except RewardError:
            refused += 1
    assert (wrong, refused) == (43, 57)


def test_bets_are_those_on_differences_over_the_spread() -> None:
    table = np.random.default_rng(3).random((4, 60))
    requests = {}
    for spread, scores in ((None, table), (0.1, 0.3 + table / 10)):
        session = surest.Session(4, items=60, spread=spread, seed=5, epsilon=0.0)
        answered(session, lambda ticket, scores=scores: scores[ticket.arm, ticket.item])
        requests[spread] = session.evaluations, session.result().best
    assert requests[None] == requests[0.1]


def test_what_is_said_is_in_the_units_of_the_scores() -> None:
    table = 60 * (0.4 + np.random.default_rng(1).random((3, 80)) / 10 + np.array([[0.06], [0.0], [0.0]]))
    session = surest.Session(["a", "b", "c"], items=80, spread=10, bounds=(0, 60), epsilon=0.2, seed=2)
    seen: dict[int, list[float]] = {0: [], 1: [], 2: []}
    while tickets := session.ask():
        value = float(table[tickets[0].arm, tickets[0].item])
        seen[tickets[0].arm].append(value)
        session.tell(tickets[0].id, value)
        status = session.status()
        assert 0 <= status.epsilon_certified <= 10
        assert status.apart is None or 0 <= status.apart <= 10
        low, high = status.differences
        assert ((low >= -10 - 1e-9) & (high <= 10 + 1e-9) & (low <= high)).all()
        low, high = status.intervals
        assert ((low <= table.mean(axis=1) + 1e-9) & (table.mean(axis=1) <= high + 1e-9)).all()
    result = session.result()
    assert (result.best, result.certified) == ("a", True)
    assert result.evaluations < 240 / 2
    assert result.means == pytest.approx([np.mean(seen[arm]) for arm in range(3)])
    assert "assuming that two arms never differ by more than 10" in str(result)


def test_a_score_that_breaks_it_is_refused_and_nothing_is_lost() -> None:
    session = surest.Session(["a", "b"], items=50, spread=0.1, seed=1)
    first, second = session.ask(2)
    session.tell(first.id, 0.5)
    message = rf"arms 'a' and 'b' scored 0.5 and 0.3 on item {first.item}, further apart than spread=0.1\. .* wider one"
    with pytest.raises(RewardError, match=message):
        session.tell(second.id, 0.3)
    with pytest.raises(RewardError, match=message):
        session.tell_cell(1, first.item, 0.3)
    session.tell(second.id, 0.4)  # as far as it may be: 0.5 − 0.4 is less than 0.1 by rounding, 0.4 − 0.3 more
    pair = session.ask(2)
    with pytest.raises(RewardError):
        session.tell_all(pair, [0.7, 0.9])
    session.tell_all(pair, [0.4, 0.3])
    assert session.evaluations == 4


def test_a_study_refuses_it_too(tmp_path: Path) -> None:
    study = open_study(f"sqlite:///{tmp_path}/s.db", "s", ["a", "b"], items=[*"vwxyz"], spread=0.1, seed=1)
    first, second = study.ask(2)
    study.tell(first.id, 0.5)
    with pytest.raises(RewardError, match=r"further apart than spread=0.1"):
        study.tell(second.id, 0.7)
    again = open_study(f"sqlite:///{tmp_path}/s.db", "s")
    again.tell(second.id, 0.6)
    assert again.result().evaluations == 2
    assert again.settings.problem.spread == 0.1


def test_scores_of_a_log_that_break_it_certify_nothing() -> None:
    """Two processes may tell at the same moment, and a failure may count as a stated reward: what holds is said all the same."""
    session = surest.Session(["a", "b", "c"], items=50, spread=0.1, seed=1)
    order = session.running.request.items
    session.adopt([StoredTicket(arm, arm, order[0], reward) for arm, reward in enumerate((0.1, 0.9, 0.1))], 3)
    session.answer()
    result = session.result()
    assert (result.certified, result.reason) == (False, "scores further apart than the spread")
    assert len(result.contenders) == 3


def test_doors_that_do_not_heed_it_refuse_it(tmp_path: Path) -> None:
    table = {"a": [0.6] * 20, "b": [0.5] * 20, "c": [0.55] * 20}
    for asked in ({"top": 2}, {"above": 0.5}, {"control": "a"}):
        with pytest.raises(UsageError, match="does not support spread"):
            surest.evaluate(table, spread=0.2, **asked)
    with pytest.raises(RewardError, match=r"arms 'a' and 'b' scored 0.6 and 0.5 on item 0"):
        surest.evaluate(table, spread=0.05)
    with pytest.raises(UsageError, match=r"spread is 0.1: every arm is within epsilon=0.1"):
        surest.evaluate(table, spread=0.1, epsilon=0.1)
    assert surest.evaluate(table, spread=0.1).needed < surest.evaluate(table).needed
