"""Every store passes the same checks, and a store that breaks a promise does not."""

from collections.abc import Sequence
from math import inf
from typing import Any

import pytest

from surest.study.log import Event, Store, StoredTicket
from surest.study.memory import MemoryLog, MemoryStore
from surest.study.sql import SqlStore
from surest.study.study import open_study
from surest.testing.stores import CHECKS, check_store


def test_sql_stores_do_what_a_store_must(storage: str) -> None:
    assert len(check_store(lambda: SqlStore(storage))) == len(CHECKS)


def test_the_store_in_memory_does_too() -> None:
    store = MemoryStore()
    assert len(check_store(lambda: store)) == len(CHECKS)


def broken_cells(self: MemoryLog, study: int, tickets: Sequence[StoredTicket]) -> None:
    self._changed(study).cells.clear()
    whole_add(self, study, tickets)


def uncounted(self: MemoryLog, study: int, events: Sequence[Event]) -> None:
    self._changed(study).events.extend(events)


def unexpired(
    self: MemoryLog, study: int, *some: int, open_by: float | None = None, **given: Any
) -> list[StoredTicket]:
    return whole_read(self, study, *some, open_by=None if open_by is None else inf, **given)


whole_add, whole_read = MemoryLog.add_tickets, MemoryLog.read_tickets


@pytest.mark.parametrize(
    ("name", "broken", "said"),
    [
        ("add_tickets", broken_cells, "second ticket of the same cell"),
        ("delete_study", lambda self, name: False, "must say True"),
        ("write_events", uncounted, "leased again"),
        ("_changed", lambda self, study: self._store._studies[study], "left something behind"),
        ("read_tickets", unexpired, "has not expired"),
    ],
)
def test_a_store_that_breaks_a_promise_is_found_out(
    name: str, broken: object, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MemoryLog, name, broken)
    store = MemoryStore()
    with pytest.raises(AssertionError, match=said):
        check_store(lambda: store)


@pytest.mark.parametrize("storage", ["memory:", MemoryStore()])
def test_a_study_in_memory_runs_to_its_end(storage: str | Store) -> None:
    study = open_study(storage, "in memory", ["a", "b"], 0.1, seed=1, batch=20)
    while not study.finished:
        for ticket in open_study(storage, "in memory").ask(7):
            study.tell(ticket.id, float(ticket.label == "b"))
    assert study.result().best == "b"
    assert study.export()["tickets"]
