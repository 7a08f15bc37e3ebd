"""Every store passes the same checks, and a store that breaks a promise does not."""

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import pytest

from surest.search.loading import module_of_file
from surest.study.log import Event, StoredTicket
from surest.study.memory import MemoryStore as InMemory
from surest.study.sql import SqlStore
from surest.testing.stores import CHECKS, check_store

EXAMPLE = Path(__file__).parents[2] / "examples" / "memory_store.py"
example: Any = module_of_file(str(EXAMPLE), "an example")
MemoryLog, MemoryStore = example.MemoryLog, example.MemoryStore


def test_sql_stores_do_what_a_store_must(storage: str) -> None:
    assert len(check_store(lambda: SqlStore(storage))) == len(CHECKS)


@pytest.mark.parametrize("make", [InMemory, MemoryStore])
def test_stores_in_memory_do_too(make: Any) -> None:
    store = make()
    assert len(check_store(lambda: store)) == len(CHECKS)


def broken_cells(self: Any, study: int, tickets: Sequence[StoredTicket]) -> None:
    self._changed(study).cells.clear()
    whole_add(self, study, tickets)


def uncounted(self: Any, study: int, events: Sequence[Event]) -> None:
    self._changed(study).events.extend(events)


def unexpired(self: Any, study: int, *some: int, open_by: float | None = None, **given: Any) -> list[StoredTicket]:
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
