"""A study on a list of items: cells are handed out once, ahead of what is needed, and the told ones are the truth."""

import random
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from surest.errors import StorageError
from surest.study.following import Follower
from surest.study.log import Item, Log, Store, StoredTicket, store_of
from surest.study.memory import MemoryStore
from surest.study.study import Study, delete_study, open_study
from waiting import together

ARMS, ITEMS = 3, 12


class Race:
    """A session on items, as `Session(items=…)` is one: two items at a time for all arms; the worst arm leaves halfway."""

    def __init__(self) -> None:
        self.told: dict[tuple[int, int], float] = {}
        self.asked: list[tuple[list[int], list[int]]] = []
        self.running = SimpleNamespace(request=None, pulls=0)
        self.arms, self.at = list(range(ARMS)), 0
        self._move_on()

    @property
    def finished(self) -> bool:
        return self.running.request is None

    def _move_on(self) -> None:
        while True:
            if self.at >= ITEMS:
                self.running.request = None
                return
            items = [self.at, self.at + 1]
            self.running.request = SimpleNamespace(arms=np.array(self.arms), items=np.array(items))
            if any((arm, item) not in self.told for arm in self.arms for item in items):
                return
            self.asked.append((list(self.arms), items))
            self.at += 2
            if self.at == ITEMS // 2:
                sums = [sum(self.told[arm, item] for item in range(self.at)) for arm in self.arms]
                del self.arms[int(np.argmin(sums))]

    def tell_cell(self, arm: int, item: int, reward: float) -> None:
        self.told[arm, item] = reward
        self._move_on()

    answerable = False  # it has moved on by itself

    def adopt(self, arms: Any, rewards: Any, items: Any, costs: Any = None) -> list[int]:
        for arm, reward, item in zip(arms.tolist(), rewards.tolist(), items.tolist(), strict=True):
            if not np.isnan(reward):
                self.tell_cell(arm, item, reward)
        return [-1] * len(arms)

    def wanted(self, k: int, taken: Any = ()) -> list[tuple[int, int]]:
        cells = ((arm, item) for item in range(self.at, ITEMS) for arm in self.arms)
        return [cell for cell in cells if cell not in self.told and cell not in taken][:k]


def settings(items: int = ITEMS) -> Any:
    return SimpleNamespace(session=lambda labels, **_: Race(), problem=SimpleNamespace(items=items, budget_cost=None))


@pytest.fixture
def place(storage: str) -> Store:
    store = store_of(storage)
    store.prepare(create=True)
    return store


def made(store: Store) -> int:
    with store.writing() as log:
        study = log.add_study("list", "{}", ["a", "b", "c"], [Item(f"q{i}") for i in range(ITEMS)])
    assert study is not None
    return study


def reward(arm: int, item: int) -> float:
    return random.Random(100 * arm + item).random() * (arm + 1) / ARMS


def take(store: Store, follower: Follower, study: int, k: int, until: float = 1e12) -> list[StoredTicket]:
    with store.writing() as log:
        facts = log.study_facts(study, lock=True)
        assert facts is not None
        return follower.hand_out(log, "w", k, facts.now, until)


def tell(log: Log, study: int, places: list[StoredTicket]) -> None:
    held = log.read_tickets(study, among=[place.number for place in places], hold=True)
    log.write_rewards(study, [replace(ticket, reward=reward(ticket.arm, ticket.item or 0)) for ticket in held])


def check_workers(store: Store, workers: int) -> None:
    study = made(store)

    def work(number: int) -> None:
        follower, chance = Follower(store, study, settings(), ITEMS), random.Random(number)
        while True:
            places = take(store, follower, study, chance.randrange(1, 6))
            chance.shuffle(places)
            with store.writing() as log:
                tell(log, study, places)
            with store.reading() as log:
                if follower.catch_up(log).finished:
                    return

    together(*(partial(work, number) for number in range(workers)))
    alone = Race()
    while not alone.finished:
        alone.tell_cell(*(cell := alone.wanted(1)[0]), reward(*cell))
    with store.reading() as log:
        told = log.read_tickets(study)
        replayed: Any = Follower(store, study, settings(), ITEMS).replayed(log, record=False, on_request=None)
    cells = [(ticket.arm, ticket.item) for ticket in told if ticket.reward is not None]
    assert len(set(cells)) == len(cells) == len(told)
    assert len(cells) >= len(alone.told), "some were evaluated ahead for arms that left"
    assert replayed.asked == alone.asked, "whatever the order in which cells came, the course is the sequential one"


def test_workers_evaluate_ahead_and_come_to_the_sequential_course(place: Store) -> None:
    check_workers(place, 3)


def test_in_memory_too() -> None:
    check_workers(MemoryStore(), 3)


def test_a_cell_whose_worker_is_gone_is_handed_out_again_if_it_is_still_wanted(place: Store) -> None:
    study = made(place)
    follower = Follower(place, study, settings(), ITEMS)
    lost = take(place, follower, study, ARMS * ITEMS, until=1.0)
    assert len(lost) == ARMS * ITEMS
    again = take(place, follower, study, 4)
    assert [(cell.arm, cell.item) for cell in again] == [(0, 0), (1, 0), (2, 0), (0, 1)]
    assert [cell.number for cell in again] == [0, 1, 2, 3]
    assert [(cell.arm, cell.item) for cell in take(place, follower, study, 2)] == [(1, 1), (2, 1)]
    with place.writing() as log:
        counted = sorted(one[:3] for one in log.count_events(study))
        assert counted == [(arm, kind, 2) for arm in range(ARMS) for kind in ("expired", "retried")]
        tell(log, study, [cell for cell in lost if cell.item < ITEMS // 2])  # type: ignore[operator]
    wanted = take(place, follower, study, 100)
    assert {cell.item for cell in wanted} == set(range(ITEMS // 2, ITEMS))
    assert len({cell.arm for cell in wanted}) == ARMS - 1, "an arm that has left is not evaluated any more"


def test_what_a_request_lacks_is_what_its_cells_lack(storage: str) -> None:
    """Counted anew from the log, as cells are told by one process and looked at by another."""
    here = open_study(storage, "lacking", ["a", "b", "c"], 0.1, items=12, seed=1)
    there = open_study(storage, "lacking")
    for ticket in here.ask(9, "w"):
        here.tell(ticket.id, float(ticket.arm == 1))
        told = {(cell.arm, cell.item) for cell in _told(here)}
        request: Any = here.running.request
        lacks = sum((arm, item) not in told for arm in request.arms.tolist() for item in request.items.tolist())
        assert (there.status().request_left, there.status().told) == (lacks, len(told))
    delete_study(storage, "lacking")


def test_evidence_over_time_of_a_decided_study(storage: str) -> None:
    study = open_study(storage, "decided", ["a", "b", "c"], 0.1, items=200, seed=1)
    while tickets := study.ask(7):
        study.tell_all(tickets, [float(ticket.arm == 1) for ticket in tickets])
    found = study.result(history=True)
    assert found.certified
    pulls, evidence = [point.pulls for point in found.history], [point.evidence for point in found.history]
    assert (pulls, pulls[0], pulls[-1]) == (sorted(set(pulls)), 0, found.pulls)
    assert len(pulls) > 4
    assert evidence == sorted(evidence), "b is always ahead"
    assert evidence[-1] >= found.history[-1].threshold
    delete_study(storage, "decided")


def _told(study: Study) -> list[StoredTicket]:
    with study.store.reading() as log:
        return [ticket for ticket in log.read_tickets(study.id) if ticket.reward is not None]


def test_what_is_damaged_or_cannot_be_is_refused(place: Store) -> None:
    study = made(place)
    follower = Follower(place, study, settings(2), 2)
    with place.writing() as log:
        log.add_tickets(study, [StoredTicket(0, 0, 7)])
        tell(log, study, [StoredTicket(0, 0, 7)])
    with place.reading() as log, pytest.raises(StorageError, match="names an item"):
        follower.catch_up(log)
