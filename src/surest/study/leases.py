"""What workers do with leases: lengthen their own, give them back, and take those of workers that are no more."""

from collections.abc import Sequence
from math import inf

from surest.study.checks import check_there
from surest.study.log import Event, Log, StoredTicket
from surest.study.study import Study
from surest.study.workers import gone, own_name


def renew(study: Study, numbers: Sequence[int], worker: str | None = None) -> list[int]:
    """Lengthen the leases of tickets that this process is still busy with: however long it takes, none is handed out again.

    Returns those that it holds. The others were told, given back, or handed to somebody else.
    """
    if not numbers:
        return []
    with study.store.writing() as log:
        now, held = _held(study, log, numbers, worker)
        ours = [ticket.number for ticket in held]
        log.lease_tickets(study.id, ours, now + study.lease_seconds)
    return ours


def give_back(study: Study, numbers: Sequence[int], worker: str | None = None) -> list[int]:
    """Let tickets that this process no longer evaluates be handed out again at once. Returns those that it held."""
    if not numbers:
        return []
    with study.store.writing() as log:
        at, ours = _held(study, log, numbers, worker)
        stopped = "interrupted", "its worker was stopped"
        log.write_events(study.id, [Event(t.number, t.arm, *stopped, t.worker, at) for t in ours])
        given = [ticket.number for ticket in ours]
        log.lease_tickets(study.id, given, 0.0)
    return given


def _held(study: Study, log: Log, numbers: Sequence[int], worker: str | None) -> tuple[float, list[StoredTicket]]:
    """The time, and those of the tickets that a worker, or this process, has: nobody else got them, and they are not told."""
    who = own_name() if worker is None else worker
    now = check_there(study, log).now
    found = log.read_tickets(study.id, among=numbers, open_by=inf, hold=True)
    return now, [ticket for ticket in found if ticket.worker == who and ticket.lease != 0]


def take_over(study: Study) -> None:
    """Let the leases of processes of this machine that are no more run out now. A SQLite file is used on one machine only."""
    if not study.store.one_machine:
        return
    with study.store.writing() as log:
        at = check_there(study, log).now
        held = [ticket for ticket in log.read_tickets(study.id, open_by=inf) if ticket.lease > at]
        ended = {worker for worker in {ticket.worker for ticket in held} if gone(worker)}
        log.lease_tickets(study.id, [ticket.number for ticket in held if ticket.worker in ended], at)
