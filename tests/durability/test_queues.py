"""Studies for several workers: idle ones evaluate ahead, and the course is that of the same rewards one after the other."""

import contextlib
import json
import random
import time
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest
import support
from support import reward_at

from surest.errors import StorageError, TicketError, UsageError
from surest.search.call import seed_of, ticket_seed
from surest.search.tickets import SPARE, Ticket
from surest.study.following import Follower
from surest.study.memory import MemoryStore
from surest.study.study import Study, open_study
from surest.study.transfer import import_study
from waiting import together

ARMS, WORKERS = 3, 4
ASKED: dict[str, Any] = {"algorithm": support.QUEUES_ENTRY.name, "workers": WORKERS, "seed": 3}


def expected() -> list[tuple[str, list[float]]]:
    return support.one_after_another(ARMS, ASKED, reward_at)


def told_of(study: Study) -> tuple[int, list[tuple[str, list[float]]]]:
    """How many rewards were told, and what counted."""
    return study.status().told, support.transcript(study.session(record=True))


def work(study: Study, chance: random.Random) -> None:
    """Tell rewards in any order; let some evaluations fail, and some never come back."""
    held: list[Ticket] = []
    while not study.finished:
        held += study.ask(chance.randrange(1, 6))
        chance.shuffle(held)
        for _ in range(chance.randrange(len(held) + 1)):
            ticket, fate = held.pop(), chance.random()
            with contextlib.suppress(TicketError):
                if fate < 0.1:
                    study.fail(ticket.id, "no luck")
                elif fate < 0.9:
                    study.tell(ticket.id, reward_at(ticket.draw or 0))


def test_the_course_is_that_of_one_worker_whatever_comes_when(storage: str) -> None:
    study = open_study(storage, "s", ARMS, lease_seconds=0.3, **ASKED)
    together(*(partial(work, open_study(storage, "s"), random.Random(number)) for number in range(3)))
    told, course = told_of(study)
    assert course == expected()
    assert study.result().evaluations == told >= study.result().pulls
    assert study.health()
    again = open_study(storage, import_study(storage, json.dumps(study.export()), "again"))
    assert (told_of(again), again.ask(5)) == (told_of(study), [])


def test_workers_that_are_killed_change_nothing(storage: str) -> None:
    killed = int(support.finish(support.python("queues", storage, 8)))
    study = open_study(storage, "s")
    assert (killed, study.finished, told_of(study)[1]) == (8, True, expected())


@pytest.mark.parametrize("tickets", [1, 7, 100, 200])
def test_a_log_in_the_order_of_requests_goes_on(tickets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    store, place = MemoryStore(), Counter[int]()
    with monkeypatch.context() as earlier:  # a version without queues
        earlier.setattr(Follower, "draws", lambda self, log, tickets: [None] * len(tickets))
        study = open_study(store, "s", ARMS, lease_seconds=0.01, **ASKED)
        for _ in range(tickets):
            (ticket,) = study.ask(1)
            study.tell(ticket.id, reward_at(ARMS * place[ticket.arm] + ticket.arm))
            place[ticket.arm] += 1
        before = told_of(study)
    study = open_study(store, "s")
    assert told_of(study) == before
    work(study, random.Random(1))
    assert told_of(study)[1] == expected()


def test_idle_workers_go_ahead_of_a_slow_one_but_not_for_ever(tmp_path: Any) -> None:
    study = open_study(f"sqlite:///{tmp_path}/s.db", "s", ARMS, **ASKED)
    (slow,) = study.ask(1)
    told = 0
    while tickets := study.ask(2):
        study.tell_all(tickets, [reward_at(ticket.draw or 0) for ticket in tickets])
        told += len(tickets)
    assert (told + 1, study.running.pulls, study.status().request_left) == (SPARE * WORKERS, 0, 1)
    study.tell(slow.id, reward_at(slow.draw or 0))
    assert study.running.pulls > 0
    assert support.transcript(study.session(record=True)) == expected()[: study.running.rounds]


def test_seeds_follow_the_arm_and_its_place(tmp_path: Any) -> None:
    study = open_study(f"sqlite:///{tmp_path}/s.db", "s", ARMS, lease_seconds=0.001, **ASKED)
    first = study.ask(4)
    time.sleep(0.01)  # until the leases have run out
    again = study.ask(4)
    assert [ticket.draw for ticket in again] == [ticket.draw for ticket in first]
    place = Counter[int]()
    for ticket in first:
        assert ticket.draw == ARMS * place[ticket.arm] + ticket.arm
        place[ticket.arm] += 1
    seeds = {seed_of(2**32 - 1, Ticket(0, 0, "", draw=draw)) for draw in range(1000)}
    numbered = [{ticket_seed(seed, number) for number in range(50_000)} for seed in (2**32 - 1, 2**32 - 2)]
    assert (len(seeds), len(numbered[0])) == (1000, 50_000)
    assert all(0 <= seed < 2**31 for seed in seeds | numbered[0])
    assert seeds.isdisjoint(numbered[0])
    assert numbered[0] != numbered[1]
    with pytest.raises(UsageError, match="run without seeds"):
        seed_of(3, Ticket(0, 0, "", draw=2**31 - 5))


@pytest.mark.parametrize(
    ("asked", "queues"),
    [
        ({"workers": 4}, True),
        ({"workers": 1}, False),
        ({}, False),
        ({"batch": 8}, False),
        ({"workers": 4, "budget": 100}, False),
        ({"workers": 4, "reserve": 0.1}, False),
    ],
)
def test_where_arms_have_queues_none_are_added(asked: dict[str, Any], queues: bool) -> None:
    study = open_study(MemoryStore(), "s", ARMS, **asked)
    assert study.session().has_queues is queues
    if queues:
        with pytest.raises(UsageError, match="reserve"):
            study.add_arms(["new"])
    assert len(study.labels) == ARMS
    assert (study.ask(1)[0].draw is not None) is queues


def test_a_lost_ticket_is_noticed(tmp_path: Any) -> None:
    study = open_study(f"sqlite:///{tmp_path}/s.db", "s", ARMS, **ASKED)
    tickets = study.ask(4)
    study.tell_all(tickets, [0.5] * 4)
    support.change(tmp_path / "s.db", "DELETE FROM surest_tickets WHERE id = 2")
    with pytest.raises(StorageError, match="damaged"):
        open_study(f"sqlite:///{tmp_path}/s.db", "s").result()


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
