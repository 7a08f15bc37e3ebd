"""A stated spread: two arms differ by at most d on every item. Bets may be larger then, and a score that breaks it is refused."""

import numpy as np
import pytest

import surest
from asking import answered
from surest.errors import RewardError


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
