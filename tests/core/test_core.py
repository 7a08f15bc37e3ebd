"""The vocabulary, simulated arms, the driver and the session."""

import re
from pathlib import Path

import numpy as np
import pytest

from asking import replay
from surest.algorithms import start
from surest.arms.finite import bernoulli
from surest.core.procedure import Running
from surest.core.protocol import Answer, Procedure, Pull, Statistic, Status
from surest.errors import TranscriptError
from surest.search.simulate import simulate

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


def test_a_transcript_replays_and_a_changed_one_is_refused() -> None:
    arms = bernoulli([0.6, 0.3, 0.2])
    done = simulate(start("naive-best-arm", 3, 0.1), arms.simulate(3), record=True)
    assert replay(start("naive-best-arm", 3, 0.1), done.transcript).arm == done.value.arm == 0
    waiting = replay(start("naive-best-arm", 3, 0.1), done.transcript[:2])
    assert waiting.same_as(done.transcript[2][0])
    with pytest.raises(TranscriptError):
        replay(start("naive-best-arm", 3, 0.01), done.transcript)


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
