"""Every store passes the same checks, and a store that breaks a promise does not."""

from collections.abc import Sequence

import pytest

from surest.study.log import Lease, Place, Store
from surest.study.memory import MemoryLog, MemoryStore
from surest.study.sql.store import SqlStore
from surest.study.study import open_study
from surest.testing.stores import CHECKS, check_store


def test_sql_stores_do_what_a_store_must(storage: str) -> None:
    assert len(check_store(lambda: SqlStore(storage))) == len(CHECKS)


def test_the_store_in_memory_does_too() -> None:
    store = MemoryStore()
    assert len(check_store(lambda: store)) == len(CHECKS)


def broken_cells(self: MemoryLog, lease: Lease, places: Sequence[Place], until: float) -> None:
    self._changed(lease.study).cells.clear()
    whole_lease_fresh(self, lease, places, until)


whole_lease_fresh = MemoryLog.lease_fresh


@pytest.mark.parametrize(
    ("name", "broken", "said"),
    [
        ("lease_fresh", broken_cells, "second ticket of the same cell"),
        ("delete_study", lambda self, name: False, "must say True"),
        ("count_failure", lambda self, study, number: None, "leased again"),
        ("_changed", lambda self, study: self._store._studies[study], "left something behind"),
        ("expired", lambda self, lease, most: self.open_tickets(lease.study)[:most], "has not expired"),
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
