"""Studies for several workers, who may evaluate ahead of what is asked. `test_courses.py` has what they come to."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
import support
from support import check_course, reward_of

from asking import answered, transcript
from surest.search.tickets import Ticket
from surest.study.following import Follower
from surest.study.memory import MemoryStore
from surest.study.study import open_study

ARMS = 3
ASKED = support.ASKED["queues"]


@pytest.mark.parametrize("tickets", [1, 7, 100, 200])
def test_a_log_in_the_order_of_requests_goes_on(tickets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    store, place = MemoryStore(), Counter[int]()
    with monkeypatch.context() as earlier:  # a version without queues
        earlier.setattr(Follower, "draws", lambda self, log, tickets: [None] * len(tickets))
        study = open_study(store, "s", ARMS, lease_seconds=0.01, **ASKED)
        for _ in range(tickets):
            (ticket,) = study.ask(1)
            study.tell(ticket.id, reward_of(ticket._replace(draw=ARMS * place[ticket.arm] + ticket.arm)))
            place[ticket.arm] += 1
        before = transcript(study.session(record=True).running)
    study = open_study(store, "s")
    assert transcript(study.session(record=True).running) == before
    answered(study, reward_of, 5)
    check_course(study)


@pytest.mark.parametrize("asked", [ASKED, {"algorithm": support.TELLTALE, "seed": 3}])
def test_who_uses_the_session_of_a_study_changes_nothing_of_the_study(tmp_path: Any, asked: dict[str, Any]) -> None:
    study = open_study(f"sqlite:///{tmp_path}/s.db", "s", ARMS, **asked)
    tickets = study.ask(4)
    own = study.session()
    tried = [Ticket(0, 0, "0")] if own.has_queues else own.ask(2)
    own.tell_all(tried, [0.9] * len(tried))
    study.tell_all(tickets, [0.1] * 4)
    while found := study.ask(4):
        study.tell_all(found, [0.1] * len(found))
    assert study.finished
    assert set(np.concatenate([reply for _, reply in study.session(record=True).running.transcript or []])) == {0.1}
