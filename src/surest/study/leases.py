"""What workers do with leases: lengthen their own, give them back, and take those of workers that are no more."""

from collections.abc import Sequence
from contextlib import suppress

from surest.errors import SurestError
from surest.study.checks import check_there
from surest.study.log import Lease, Log, StoredTicket
from surest.study.study import Study
from surest.study.workers import gone, own_name


def renew(study: Study, numbers: Sequence[int], worker: str | None = None) -> list[int]:
    """Lengthen the leases of tickets that this process is still busy with: however long it takes, none is handed out again.

    Returns those that it holds. The others were told, given back, or handed to somebody else.
    """
    if not numbers:
        return []
    with study.store.writing() as log:
        ours = [ticket.number for ticket in _held(study, log, numbers, worker)]
        log.set_leases(study.id, ours, log.time() + study.lease_seconds)
    return ours


def give_back(study: Study, numbers: Sequence[int], worker: str | None = None) -> list[int]:
    """Let tickets that this process no longer evaluates be handed out again at once. Returns those that it held."""
    if not numbers:
        return []
    with study.store.writing() as log:
        at, ours = log.time(), _held(study, log, numbers, worker)
        for ticket in ours:
            lease = Lease(study.id, ticket.worker, at)
            log.write_event(lease, ticket.number, ticket.arm, "interrupted", "its worker was stopped")
        given = [ticket.number for ticket in ours]
        log.set_leases(study.id, given, 0.0)
    return given


def _held(study: Study, log: Log, numbers: Sequence[int], worker: str | None) -> list[StoredTicket]:
    """Those of the tickets that a worker, or this process, has: nobody else got them since, and they are not told."""
    who = own_name() if worker is None else worker
    found = log.read_tickets(study.id, numbers)
    if len(found) < len(set(numbers)):
        check_there(study, log)
    return [ticket for ticket in found.values() if ticket.worker == who and ticket.reward is None and ticket.lease != 0]


def take_over(study: Study) -> None:
    """Let the leases of processes of this machine that are no more run out now. A SQLite file is used on one machine only."""
    if not study.store.one_machine:
        return
    with study.store.writing() as log:
        at = log.time()
        held = [ticket for ticket in log.open_tickets(study.id) if ticket.lease > at]
        ended = {worker for worker in {ticket.worker for ticket in held} if gone(worker)}
        log.set_leases(study.id, [ticket.number for ticket in held if ticket.worker in ended], at)


def spare_a_replay(study: Study) -> None:
    """Keep a snapshot for whoever looks next, where this process has replayed the log already."""
    if study._follower is not None and study._follower.in_step:
        with suppress(SurestError), study.at_one_moment():
            pass
