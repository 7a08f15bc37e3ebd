"""`check_store`: what a store of studies must do."""

import threading
from collections.abc import Callable
from contextlib import suppress
from math import inf

from msgspec.structs import replace

from surest.errors import SurestError
from surest.study.log import Arm, Event, Facts, Item, Log, Recorded, Store, StoredTicket, free_places
from surest.study.outcome import times_told

Make = Callable[[], Store]
Check = Callable[[Make, int], None]
REQUEST = Recorded(0, 4, "mean", "[[0,1,2]]")
WAIT = 20.0  # seconds after which a thread that should have gone on is taken for stuck


def check_store(store_factory: Callable[[], Store]) -> list[str]:
    """Try a store against all that a study needs of one.

    Parameters
    ----------
    store_factory : callable
        Makes a new object for the same empty place each time it is called: what one writes, the next must read. It is called
        several times, and studies of several names are made and deleted there.

    Returns
    -------
    list of str
        The names of the checks, all of which passed. The first that does not raises an AssertionError that says what is wrong.

    Examples
    --------
    >>> from surest.study.memory import MemoryStore
    >>> store = MemoryStore()
    >>> len(check_store(lambda: store)) == len(CHECKS)
    True
    """
    store = store_factory()
    store.prepare(create=True)
    for check in CHECKS:
        try:
            with store.writing() as log:
                study = _added(log, check.__name__, "{}", ["a", "b"])
            check(store_factory, study)
            with store.writing() as log:
                log.delete_study(check.__name__)
        except SurestError as error:
            raise AssertionError(f"{check.__name__}: {type(error).__name__}: {error}") from error
    store.close()
    return [check.__name__ for check in CHECKS]


def study_is_kept_by_name(make: Make, _: int) -> None:
    """Studies are found by name, each once, and gone with all that is theirs when they are deleted."""
    with make().writing() as log:
        number = _added(log, "kept", '{"seed": 1}', ["a", "β"])
        assert log.add_study("kept", "{}", ["x"]) is None, "add_study must refuse a name that is there"
    with make().reading() as log:
        found = log.find_study("kept")
        assert found is not None, "a study was written and is not found"
        assert (found.id, found.name, found.settings) == (number, "kept", '{"seed": 1}'), f"find_study gave {found}"
        assert log.find_study("another") is None, "find_study must give None for a name that is not there"
        assert log.read_arms(number) == [Arm("a", 0), Arm("β", 0)], f"read_arms gave {log.read_arms(number)}"
        assert "kept" in log.study_names(), "study_names leaves a study out"
    with make().writing() as log:
        assert _facts(log, number)[1:] == (False, 2, 0, 0, 0), f"study_facts of a new study are {_facts(log, number)}"
        log.set_paused(number, True)
    with make().reading() as log:
        assert _facts(log, number).paused, "set_paused must be kept"
    with make().writing() as log:
        assert log.delete_study("kept"), "delete_study must say True when it deleted"
        assert not log.delete_study("kept"), "delete_study must say False when there is nothing to delete"
        assert log.study_facts(number, lock=True) is None, "study_facts must give None of a study that is gone"
        again = _added(log, "kept", "{}", ["c"])
        assert again != number, "the number of a deleted study must not be used again: workers may still hold it"
        assert log.read_arms(again) == [Arm("c", 0)], "a new study has the arms of a deleted one"
        assert _facts(log, again).tickets == 0, "a new study has the tickets of a deleted one"
        log.delete_study("kept")


def what_fails_changes_nothing(make: Make, study: int) -> None:
    """A transaction that ends with an error leaves no trace."""
    with suppress(KeyError), make().writing() as log:
        log.add_arms(study, ["c"], 2, 4)
        log.write_request(study, REQUEST)
        log.add_tickets(study, [StoredTicket(0, 0, lease=10.0)])
        _added(log, "half", "{}", ["a"])
        raise KeyError("stop")
    with make().reading() as log:
        left = (*_facts(log, study)[2:4], log.read_requests(study), log.find_study("half"))
        assert left == (2, 0, [], None), f"a failed transaction left something behind: {left}"


def requests_are_kept_in_order(make: Make, study: int) -> None:
    """Requests, arms that come later, and which tickets are free."""
    with make().writing() as log:
        assert log.read_requests(study, None) == [], "a new study has no request"
        log.write_request(study, REQUEST)
        assert free_places(log, study, 0, 3) == [StoredTicket(0, 0), StoredTicket(1, 0), StoredTicket(2, 1)]
        second = Recorded(4, 6, "mean", "[[0,2,2]]")
        log.add_arms(study, ["c"], 2, 4)
        log.write_request(study, second)
    with make().reading() as log:
        assert log.read_requests(study, None) == [second], "None must give the request with the largest first ticket"
        assert log.read_requests(study) == [REQUEST, second], "read_requests must give all, in order"
        assert log.read_requests(study, 1) == [second], "read_requests must leave out those before `first`"
        assert log.read_arms(study)[2] == Arm("c", 4), "an arm's added_at is not kept"


def leases_run_out(make: Make, study: int) -> None:
    """Open tickets are handed out again once their lease has run out; attempts and failures are counted apart."""
    with make().writing() as log:
        now = _facts(log, study).now
        log.add_tickets(study, [StoredTicket(i, 0, lease=now + 100, worker="one") for i in range(4)])
        assert log.read_tickets(study, open_by=now, hold=True) == [], "what is leased has not expired"
        first = log.read_tickets(study, open_by=now + 200, most=2, hold=True)
        assert [t.number for t in first] == [0, 1], "the first ones come first"
        log.lease_tickets(study, [2], 0.0)
        assert _facts(log, study)[3:] == (4, 4, 1), (
            f"with one of four leases over, study_facts are {_facts(log, study)}"
        )
        log.write_events(study, [Event(2, 0, "failed", "", "one", now), Event(2, 0, "retried", "", "two", now)])
        log.lease_tickets(study, [2], now + 50, "two")
        (ticket,) = log.read_tickets(study, among=[2, 2, 99], hold=True)
        assert (ticket.worker, ticket.attempts, ticket.failures) == ("two", 2, 1), f"leased again, it is {ticket}"
        assert abs(ticket.lease - now - 50) < 1e-3, "the lease is not what was asked for"
        log.write_rewards(study, [replace(ticket, reward=0.25, worker="late")])
        assert log.read_tickets(study, 2, 3)[0].worker == "late", "write_rewards does not keep who told a ticket late"
        log.lease_tickets(study, [2], 0.0, "three")
        assert log.read_tickets(study, among=[2])[0].attempts == 2, "a told ticket was handed out"
        assert [t.number for t in log.read_tickets(study, open_by=inf)] == [0, 1, 3], "a told ticket is not open"
        assert [t.number for t in log.read_tickets(study, among=[1, 2], open_by=now + 999)] == [1]


def rewards_are_kept_to_the_bit(make: Make, study: int) -> None:
    """Rewards come back as they were."""
    values = [0.1, 5e-324, 1.0, 0.0, 1 / 3, 0.7]
    with make().writing() as log:
        log.add_tickets(study, [StoredTicket(i, i % 2, lease=inf) for i in range(6)])
        there = log.read_tickets(study, among=[5, 3, 1, 0, 2], hold=True)
        log.write_rewards(study, [replace(t, reward=values[t.number]) for t in there])
    with make().reading() as log:
        found = [(t.arm, t.reward) for t in log.read_tickets(study, 1, 5)]
        assert found == [(1, values[1]), (0, values[2]), (1, values[3]), (0, None)], f"read_tickets gave {found}"
        assert len(log.read_tickets(study, 4, 99)) == 2, "read_tickets must stop at the last ticket"
        assert len(times_told(log, study, _facts(log, study), 9)) == 5, "write_rewards must write when rewards came"


def cells_are_unique(make: Make, study: int) -> None:
    """Of a study with items, no two tickets have the same arm and item."""
    items = [Item("q1"), Item("q2", '{"x": 1}')]
    with make().writing() as log:
        study = _added(log, "cells", "{}", ["a", "b"], items)
        log.add_tickets(study, [StoredTicket(0, 0, 0, lease=inf), StoredTicket(1, 0, 1, lease=inf)])
        log.write_rewards(study, [replace(log.read_tickets(study, among=[1], hold=True)[0], reward=0.5)])
    with make().reading() as log:
        assert log.read_items(study) == items, f"read_items gave {log.read_items(study)}"
        cells = [(t.arm, t.item, t.reward) for t in log.read_tickets(study)]
        assert cells == [(0, 0, None), (0, 1, 0.5)], f"of the tickets of two cells came back {cells}"
    with suppress(SurestError), make().writing() as log:
        log.add_tickets(study, [StoredTicket(2, 1, 0), StoredTicket(3, 0, 1)])
        raise AssertionError("a second ticket of the same cell must be refused")
    with make().writing() as log:
        assert _facts(log, study).tickets == 2, "a refused ticket left another one behind"
        log.delete_study("cells")


def events_are_counted(make: Make, study: int) -> None:
    """What happened to tickets is counted by arm and kind, and the last reasons are kept."""
    with make().writing() as log:
        happened = (
            (1, "failed", "first"),
            (0, "retried", "no failure"),
            (1, "timed out", "x\0\udcff"),
            (1, "failed", ""),
        )
        log.write_events(study, [Event(0, *one, "w", 3.0) for one in happened])
        found, events = log.count_events(study), log.read_events(study)
        counted = [(1, "failed", 2), (0, "retried", 1), (1, "timed out", 1)]
        assert [one[:3] for one in found] == counted, f"count_events gave {found}"
        assert found[0].reason == "first", "the last reason that said something counts"
        assert found[2].reason.startswith("x"), "a reason that no database takes must be kept as far as it can"
        some = [log.read_events(study, first, end) for first, end in ((1, None), (0, 1), (1, 1))]
        assert some == [events[1:], events[:1], []], "read_events gives other events where only some are asked for"
        assert events[0] == Event(0, 1, "failed", "first", "w", 3.0), "read_events gives other events"


def history_goes_out_and_in(make: Make, study: int) -> None:
    """What an export reads, an import can write."""
    tickets = [StoredTicket(0, 0, None, 0.5, 0.0, 2, 0, "w", 7.0), StoredTicket(1, 1, worker="v")]
    with make().writing() as log:
        log.add_tickets(study, tickets)
        log.write_events(study, [Event(0, 0, "failed", "no", "w", 1.0)])
    with make().reading() as log:
        found = log.read_tickets(study)
        assert found == [replace(tickets[0], failures=1), tickets[1]], f"read_tickets gave {found}"
        assert _facts(log, study).expired == 1, "an imported ticket without a reward can be handed out at once"


def writers_take_turns(make: Make, study: int) -> None:
    """Two writers that lock the same study, in threads with a store each: each ticket number is handed out once."""
    failed: list[BaseException] = []

    def take() -> None:
        try:
            mine = make()
            for _ in range(10):
                with mine.writing() as log:
                    log.add_tickets(study, [StoredTicket(_facts(log, study, lock=True).tickets, 0)])
            mine.close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=take, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
        assert not thread.is_alive(), f"writers wait for each other for more than {WAIT:g} seconds"
    assert not failed, f"writers that lock the same study get in each other's way: {failed[0]!r}"
    with make().reading() as log:
        assert _facts(log, study).tickets == 30, "tickets were lost among several writers"


CHECKS: tuple[Check, ...] = (
    study_is_kept_by_name,
    what_fails_changes_nothing,
    requests_are_kept_in_order,
    leases_run_out,
    rewards_are_kept_to_the_bit,
    cells_are_unique,
    events_are_counted,
    history_goes_out_and_in,
    writers_take_turns,
)


def _added(log: Log, name: str, settings: str, labels: list[str], items: list[Item] | None = None) -> int:
    number = log.add_study(name, settings, labels, items or [])
    assert number is not None, "add_study gave None for a new name"
    return number


def _facts(log: Log, study: int, *, lock: bool = False) -> Facts:
    facts = log.study_facts(study, lock=lock)
    assert facts is not None, "study_facts gave None of a study that is there"
    return facts
