"""A status is made once, and questions and kinds of arms are told apart where CONTRIBUTING.md says."""

import re
from pathlib import Path

import numpy as np
import pytest

from surest.core.procedure import Running
from surest.core.protocol import Answer, Procedure, Pull, Statistic, Status

SOURCE = Path(__file__).parents[2] / "src/surest"
PLACES = {
    r'\bkind (==|!=|in|not in) \(?"(best|top|above|control|cheapest)"': (
        "core/question.py algorithms/race.py result/questions.py result/known.py"
    ),
    r"isinstance\([^)]*\b(Functions|Records|Simulated|Totals)\b": (
        "arms/kinds.py search/identify.py search/plan.py cli/identify.py cli/searches.py cli/sources.py"
    ),
}
"""What tells questions and kinds of arms apart, and where that is: as CONTRIBUTING.md says."""


def test_a_status_is_made_once_for_each_request() -> None:
    made: list[int] = []

    def procedure() -> Procedure[Answer]:
        for k in range(3):
            yield Pull([0, 1], 1, Statistic.REWARDS, status=lambda k=k: made.append(k) or Status(leader=k))
        return Answer(0)

    running = Running(procedure(), n=2, budget=4)
    assert running.status is running.status is not None
    assert made == [0]
    running.grow(1)  # an algorithm may say of arms that wait
    assert running.status == Status(leader=0)
    assert made == [0, 0]
    running.send(np.zeros(2))
    assert [running.status, running.status] == [Status(leader=1)] * 2
    running.send(np.zeros(2))
    assert running.spent
    assert [running.status, running.status] == [Status(leader=2)] * 2, "asked for when the budget was spent"
    assert made == [0, 0, 1, 2]


@pytest.mark.parametrize("telling", PLACES)
def test_questions_and_kinds_of_arms_are_told_apart_where_contributing_says(telling: str) -> None:
    told = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    texts = {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    found = {name for name, text in texts.items() if re.search(telling, text)}
    assert found == set(PLACES[telling].split())
    assert all(name in told for name in found)
