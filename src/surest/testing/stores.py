"""What anybody's own store of studies must pass: `check_store`."""

import threading
from collections.abc import Callable

import numpy as np

from surest.errors import SurestError
from surest.study.log import (
    Arm,
    Event,
    History,
    Item,
    Lease,
    Log,
    Place,
    Recorded,
    Store,
    complete_requests,
    free_places,
)

Check = Callable[[Callable[[], Store]], None]
REQUEST = Recorded(0, 4, "mean", "[[0,1,2]]")
WAIT = 20.0
"""Seconds after which a thread that should have gone on is taken for stuck."""


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
    store_factory().prepare(create=True)
    for check in CHECKS:
        try:
            check(store_factory)
        except SurestError as error:
            raise AssertionError(f"{check.__name__}: {type(error).__name__}: {error}") from error
    return [check.__name__ for check in CHECKS]


def study_is_kept_by_name(make: Callable[[], Store]) -> None:
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
        assert log.has_study(number), "has_study must be true of a study that is there"
    with make().writing() as log:
        assert not log.is_paused(number), "a new study is not paused"
        log.set_paused(number, True)
    with make().reading() as log:
        assert log.is_paused(number), "set_paused must be kept"
    with make().writing() as log:
        assert log.delete_study("kept"), "delete_study must say True when it deleted"
        assert not log.delete_study("kept"), "delete_study must say False when there is nothing to delete"
        assert not log.lock_study(number), "lock_study must say False of a study that is gone"
        again = _added(log, "kept", "{}", ["c"])
        assert again != number, "the number of a deleted study must not be used again: workers may still hold it"
        assert log.read_arms(again) == [Arm("c", 0)], "a new study has the arms of a deleted one"
        assert log.next_ticket(again) == 0, "a new study has the tickets of a deleted one"
        log.delete_study("kept")


def what_fails_changes_nothing(make: Callable[[], Store]) -> None:
    """A transaction that ends with an error leaves no trace."""
    store = make()
    with store.writing() as log:
        study = _added(log, "whole", "{}", ["a"])
    try:
        with store.writing() as log:
            log.add_arms(study, ["b"], 1, 4)
            log.write_request(study, REQUEST)
            log.lease_fresh(Lease(study, "w", 1.0), [Place(0, 0)], 10.0)
            _added(log, "half", "{}", ["a"])
            raise KeyError("stop")
    except KeyError:
        pass
    with make().reading() as log:
        left = (log.count_arms(study), log.last_request(study), log.next_ticket(study), log.find_study("half"))
        assert left == (1, None, 0, None), f"a failed transaction left something behind: {left}"
    _gone(store, "whole")


def requests_are_kept_in_order(make: Callable[[], Store]) -> None:
    """Requests, arms that come later, and which tickets are free."""
    store = make()
    with store.writing() as log:
        study = _added(log, "asked", "{}", ["a", "b"])
        assert log.last_request(study) is None, "a new study has no request"
        log.write_request(study, REQUEST)
        assert free_places(log, study, 3) == [Place(0, 0), Place(1, 0), Place(2, 1)]
        log.lease_fresh(Lease(study, "w", 0.0), [Place(0, 0), Place(1, 0), Place(2, 1), Place(3, 1)], log.time() + 100)
        assert complete_requests(log, study, 0) == [], "a request with open tickets is not complete"
        log.read_tickets(study, range(4))
        log.write_rewards(study, dict.fromkeys(range(4), 0.5))
        assert complete_requests(log, study, 0) == [REQUEST], "a request whose rewards are all told is complete"
        second = Recorded(4, 6, "mean", "[[0,2,2]]")
        log.add_arms(study, ["c"], 2, 4)
        log.write_request(study, second)
    with make().reading() as log:
        assert log.last_request(study) == second, "last_request must give the one with the largest first ticket"
        assert log.read_requests(study) == [REQUEST, second], "read_requests must give all, in order"
        assert log.read_requests(study, 1) == [second], "read_requests must leave out those before `first`"
        assert log.read_arms(study)[2] == Arm("c", 4), "an arm's added_at is not kept"
    _gone(store, "asked")


def leases_run_out(make: Callable[[], Store]) -> None:
    """Open tickets are handed out again once their lease has run out; attempts and failures are counted apart."""
    store = make()
    with store.writing() as log:
        study, now = _added(log, "leased", "{}", ["a"]), log.time()
        log.lease_fresh(Lease(study, "one", now), [Place(i, 0) for i in range(4)], now + 100)
        assert log.next_ticket(study) == 4, "next_ticket must be one more than the largest number"
        assert log.expired(Lease(study, "two", now), 10) == [], "what is leased has not expired"
        assert [t.number for t in log.expired(Lease(study, "two", now + 200), 2)] == [0, 1], "the first ones come first"
        log.set_leases(study, [2], 0.0)
        assert (log.count_open(study), log.count_open(study, now)) == (4, 1), "count_open does not heed the lease"
        log.count_failure(study, 2)
        log.lease_again(Lease(study, "two", now), [2], now + 50)
        found = log.read_tickets(study, [2, 2, 99])
        assert list(found) == [2], "read_tickets must give the tickets that there are, each once"
        ticket = found[2]
        assert (ticket.worker, ticket.attempts, ticket.failures) == ("two", 2, 1), f"leased again, it is {ticket}"
        assert abs(ticket.lease - now - 50) < 1e-3, "the lease is not what was asked for"
        log.write_rewards(study, {2: 0.25}, {2: "late"})
        assert log.read_tickets(study, [2])[2].worker == "late", "write_rewards does not keep who told a ticket late"
        log.set_leases(study, [2], 0.0)
        assert [t.number for t in log.open_tickets(study)] == [0, 1, 3], "a told ticket is not open"
        assert [t.number for t in log.expired(Lease(study, "two", now + 999), 9)] == [0, 1, 3]
    _gone(store, "leased")


def rewards_are_kept_to_the_bit(make: Callable[[], Store]) -> None:
    """Rewards come back as they were, by ticket, in portions and packed."""
    store = make()
    values = [0.1, 5e-324, 1.0, 0.0, 1 / 3, 0.7]
    with store.writing() as log:
        study = _added(log, "told", "{}", ["a", "b"])
        places = [Place(i, i % 2) for i in range(6)]
        log.lease_fresh(Lease(study, "w", 0.0), places, log.time() + 9)
        log.read_tickets(study, [0, 1, 2, 3, 5])
        log.write_rewards(study, {i: values[i] for i in (5, 3, 1, 0, 2)})
    with make().reading() as log:
        arms, rewards = log.read_rewards(study, 1, 4)
        assert (arms.tolist(), rewards.tolist()) == ([1, 0, 1], values[1:4]), "read_rewards gives other rewards"
        told = log.read_told(study)
        assert told.numbers.tolist() == [0, 1, 2, 3, 5], "read_told must give the told tickets in order"
        assert log.read_told(study, 3, [1]).numbers.tolist() == [1, 3, 5], "read_told does not heed `first` and `among`"
        assert len(log.told_times(study, 3)) == 3, "told_times must give the times of the last tickets"
    try:
        with make().reading() as log:
            log.read_rewards(study, 2, 6)
    except SurestError:
        pass
    else:
        raise AssertionError("read_rewards must refuse tickets that have no reward")
    with store.writing() as log:
        log.write_pack(study, 0, np.array(values[:3]))
        log.write_pack(study, 3, np.array(values[3:4]))
        packed = log.read_packs(study, 0).tolist()
        assert packed in ([], values[:4]), f"read_packs gave {packed}: all that was packed in order, or nothing"
        assert log.packed_to(study) == len(packed), "packed_to must be where the packs end"
        log.write_snapshot(study, "first", "1")
        log.write_snapshot(study, "second", "2")
        assert log.read_snapshot(study, "first") is None, "only the last snapshot is kept"
        assert log.read_snapshot(study, "second") in (None, "2"), (
            "a snapshot is what was written under its key, or nothing"
        )
    _gone(store, "told")


def cells_are_unique(make: Callable[[], Store]) -> None:
    """Of a study with items, no two tickets have the same arm and item."""
    store = make()
    items = [Item("q1"), Item("q2", '{"x": 1}')]
    with store.writing() as log:
        study = log.add_study("cells", "{}", ["a", "b"], items)
        assert study is not None, "add_study gave None for a new name"
        log.lease_fresh(Lease(study, "w", 0.0), [Place(0, 0, 0), Place(1, 0, 1)], log.time() + 9)
        log.read_tickets(study, [1])
        log.write_rewards(study, {1: 0.5})
    with make().reading() as log:
        assert log.read_items(study) == items, f"read_items gave {log.read_items(study)}"
        told = log.read_told(study)
        assert (told.arms.tolist(), told.items.tolist(), told.rewards.tolist()) == ([0], [1], [0.5])
        assert log.open_tickets(study)[0].item == 0, "an open ticket has lost its item"
    try:
        with make().writing() as log:
            log.lease_fresh(Lease(study, "w", 0.0), [Place(2, 1, 0), Place(3, 0, 1)], log.time() + 9)
    except SurestError:
        pass
    else:
        raise AssertionError("a second ticket of the same cell must be refused")
    with make().reading() as log:
        assert log.next_ticket(study) == 2, "a refused lease left a ticket behind"
    _gone(store, "cells")


def events_are_counted(make: Callable[[], Store]) -> None:
    """What happened to tickets is counted by arm and kind, and the last reasons are kept."""
    store = make()
    with store.writing() as log:
        study = _added(log, "events", "{}", ["a", "b"])
        lease = Lease(study, "w", 3.0)
        happened = [
            (1, "failed", "first"),
            (0, "retried", "no failure"),
            (1, "timed out", "x\0\udcff"),
            (1, "failed", ""),
        ]
        for arm, kind, reason in happened:
            log.write_event(lease, 0, arm, kind, reason)
        assert log.count_events(study) == [(0, "retried", 1), (1, "failed", 2), (1, "timed out", 1)]
        reasons = log.last_reasons(study)
        assert list(reasons) == [1], "only failures have reasons"
        assert reasons[1].startswith("x"), "the last reason that said something counts"
        assert log.read_events(study)[0] == Event(0, 1, "failed", "first", "w", 3.0), "read_events gives other events"
    _gone(store, "events")


def history_goes_out_and_in(make: Callable[[], Store]) -> None:
    """What an export reads, an import can write."""
    store = make()
    tickets = [History(0, 0.5, 2, "w", 7.0, 1, None), History(1, None, 1, "v", None, 0, None)]
    with store.writing() as log:
        study = _added(log, "moved", "{}", ["a", "b"])
        log.write_history(study, tickets, [Event(0, 0, "failed", "no", "w", 1.0)])
    with make().reading() as log:
        found = [tuple(ticket) for portion in log.read_history(study) for ticket in portion]
        assert found == [tuple(ticket) for ticket in tickets], f"read_history gave {found}"
        later = [tuple(ticket) for portion in log.read_history(study, 1) for ticket in portion]
        assert later == found[1:], f"read_history from ticket 1 on gave {later}"
        assert log.count_events(study) == [(0, "failed", 1)]
        assert log.count_open(study, log.time()) == 1, "an imported ticket without a reward can be handed out at once"
    _gone(store, "moved")


def writers_take_turns(make: Callable[[], Store]) -> None:
    """Two writers that lock the same study, in threads with a store each: each ticket number is handed out once."""
    store = make()
    with store.writing() as log:
        study = _added(log, "shared", "{}", ["a"])
    failed: list[BaseException] = []

    def take() -> None:
        try:
            mine = make()
            for _ in range(10):
                with mine.writing() as log:
                    assert log.lock_study(study), "lock_study must say True of a study that is there"
                    log.lease_fresh(Lease(study, "w", 0.0), [Place(log.next_ticket(study), 0)], 1.0)
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
        assert log.next_ticket(study) == 30, "tickets were lost among several writers"
    _gone(store, "shared")


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


def _added(log: Log, name: str, settings: str, labels: list[str]) -> int:
    number = log.add_study(name, settings, labels)
    assert number is not None, "add_study gave None for a new name"
    return number


def _gone(store: Store, name: str) -> None:
    with store.writing() as log:
        log.delete_study(name)
    store.close()
