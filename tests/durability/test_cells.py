"""A study on a list of items: cells are handed out once, ahead of what is needed, and the told ones are the truth."""

import random
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from asking import answered, course
from surest.errors import StorageError
from surest.search.session import Session, Ticket
from surest.study.log import StoredTicket
from surest.study.study import Study, delete_study, open_study
from waiting import together

ARMS, ITEMS = ["a", "b", "c"], 60


def reward(ticket: Ticket) -> float:
    """The last arm is far behind, and leaves early."""
    assert ticket.item is not None
    return random.Random(100 * ticket.arm + ticket.item).random() ** (1 + 20 * (ticket.arm == 2))


def made(storage: str) -> Study:
    return open_study(storage, "list", ARMS, 0.1, items=ITEMS, seed=1)


def told_of(study: Study) -> list[StoredTicket]:
    with study.store.reading() as log:
        return [ticket for ticket in log.read_tickets(study.id) if ticket.reward is not None]


def check_workers(storage: str) -> None:
    study = made(storage)

    def work(number: int) -> None:
        mine, chance = open_study(storage, "list"), random.Random(number)
        while not mine.finished:
            tickets = mine.ask(chance.randrange(1, 6))
            chance.shuffle(tickets)
            for ticket in tickets:
                mine.tell(ticket.id, reward(ticket))

    together(*(partial(work, number) for number in range(3)))
    alone = answered(Session(ARMS, 0.1, items=ITEMS, seed=1, record=True), reward)
    cells = [(ticket.arm, ticket.item) for ticket in told_of(study)]
    assert len(set(cells)) == len(cells) >= alone.running.pulls, "some are evaluated ahead for arms that leave"
    assert course(study.session(record=True)) == course(alone), "whatever the order, the course is the sequential one"
    assert len({len(arms) for arms, _, _ in course(alone)}) > 1, "an arm leaves"


def test_workers_evaluate_ahead_and_come_to_the_sequential_course(storage: str) -> None:
    check_workers(storage)


def test_in_memory_too() -> None:
    check_workers("memory:cells")


def test_a_cell_whose_worker_is_gone_is_handed_out_again_if_it_is_still_wanted(storage: str) -> None:
    study = made(storage)
    lost = study.ask(len(ARMS) * ITEMS, "gone")
    assert len(lost) == len(ARMS) * ITEMS
    with study.store.writing() as log:
        log.lease_tickets(study.id, [ticket.id for ticket in lost], 1.0)
    again = study.ask(4, "here")
    assert again == lost[:4]
    assert study.ask(2, "here") == lost[4:6]
    assert study.health() == {arm: {"expired": 2, "retried": 2} for arm in ARMS}
    known = {ticket.item for ticket in lost[: len(ARMS) * ITEMS // 2]}
    study.tell_all(some := [cell for cell in lost if cell.item in known], [float(cell.arm < 2) for cell in some])
    wanted = study.ask(1000, "here")
    assert {cell.item for cell in wanted} == set(range(ITEMS)) - known
    assert {cell.label for cell in wanted} == {"a", "b"}, "an arm that has left is not evaluated any more"


def test_what_a_request_lacks_is_what_its_cells_lack(storage: str) -> None:
    """Counted anew from the log, as cells are told by one process and looked at by another."""
    here = made(storage)
    there = open_study(storage, "list")
    for ticket in here.ask(9, "w"):
        here.tell(ticket.id, float(ticket.arm == 1))
        told = {(cell.arm, cell.item) for cell in told_of(here)}
        request: Any = here.running.request
        lacks = sum((arm, item) not in told for arm in request.arms.tolist() for item in request.items.tolist())
        assert (there.status().request_left, there.status().told) == (lacks, len(told))
    delete_study(storage, "list")


def test_evidence_over_time_of_a_decided_study(storage: str) -> None:
    study = answered(
        open_study(storage, "decided", ARMS, 0.1, items=200, seed=1), lambda ticket: float(ticket.arm == 1), 7
    )
    found = study.result(history=True)
    assert found.certified
    pulls, evidence = [point.pulls for point in found.history], [point.evidence for point in found.history]
    assert (pulls, pulls[0], pulls[-1]) == (sorted(set(pulls)), 0, found.pulls)
    assert len(pulls) > 4
    assert evidence == sorted(evidence), "b is always ahead"
    assert evidence[-1] >= found.history[-1].threshold


def test_what_is_damaged_or_cannot_be_is_refused(storage: str) -> None:
    study = made(storage)
    with study.store.writing() as log:
        log.add_tickets(study.id, [StoredTicket(0, 0, ITEMS + 7)])
        (held,) = log.read_tickets(study.id, among=[0], hold=True)
        log.write_rewards(study.id, [replace(held, reward=0.5)])
    with pytest.raises(StorageError, match="names an item"):
        open_study(storage, "list").status()
