"""A study on a list of items: what is handed out again, evidence over time, and what cannot be."""

import pytest
from msgspec.structs import replace

from asking import answered
from surest.errors import StorageError
from surest.study.log import StoredTicket
from surest.study.study import Study, open_study

ARMS, ITEMS = ["a", "b", "c"], 60


def made(storage: str) -> Study:
    return open_study(storage, "list", ARMS, 0.1, items=ITEMS, seed=1)


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
