"""What workers say of their tickets, written within a transaction: the same rules for one call and for many at once.

What is refused is refused before anything is written, so that others of the same transaction are not touched by it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from surest.core.protocol import FloatArray
from surest.errors import TicketError
from surest.study.checks import check_holder, check_there, checked_number, never, storable
from surest.study.log import NO_FAILURES, Event, Log, StoredTicket

if TYPE_CHECKING:
    from surest.study.study import Study


class Failure(NamedTuple):
    """An evaluation that gave no reward: of which ticket, why, as what it counts, what health calls it, and who says so."""

    ticket: Any
    reason: str
    reward: Any
    kind: str
    worker: str


def check_worker(name: str | None) -> None:
    """Refuse the name of a worker that `ask` would refuse: no export that has it could be imported."""
    if name is not None:
        storable(name, "a worker's name")


def write_told(
    study: "Study", log: Log, numbers: Sequence[Any], rewards: Sequence[Any] | FloatArray, worker: str | None = None
) -> list[int]:
    """Write rewards; the tickets that were not told before."""
    check_worker(worker)
    there = held(log, study.id, [checked_number(number) for number in numbers])
    fresh = fresh_rewards(study, there, numbers, rewards)
    told = [told_by(there[number], value, worker or study.holder_of(number)) for number, value in fresh.items()]
    log.write_rewards(study.id, told)
    return list(fresh)


def held(log: Log, study: int, numbers: Sequence[int]) -> dict[int, StoredTicket]:
    """Tickets by number, held until the transaction ends."""
    return {ticket.number: ticket for ticket in log.read_tickets(study, among=numbers, hold=True)}


def told_by(ticket: StoredTicket, reward: float, worker: str | None) -> StoredTicket:
    """A ticket with its reward. If it was handed to somebody else meanwhile, the log names who told it.

    A ticket that was handed out once stays with whoever took it: another process may well tell it.
    """
    late = worker is not None and ticket.attempts > 1
    return replace(ticket, reward=reward, worker=worker if late else ticket.worker)


def fresh_rewards(
    study: "Study",
    told: Mapping[int, StoredTicket],
    numbers: Sequence[Any],
    rewards: Sequence[Any] | FloatArray,
) -> dict[int, float]:
    """The rewards of tickets that were not told before. Another reward than the first is refused."""
    fresh: dict[int, float] = {}
    for number, reward in zip(map(int, numbers), rewards, strict=True):
        if number not in told:
            raise never(number)
        value = _checked(study, told[number], reward)
        earlier = fresh.get(number, told[number].reward)
        if earlier is not None and value != earlier:
            raise TicketError(
                f"ticket {number} was already told {earlier} (by worker {told[number].worker!r}); it cannot "
                f"become {value}. The first reward counts"
            )
        if earlier is None:
            fresh[number] = value
    return fresh


def _checked(study: "Study", ticket: StoredTicket, reward: Any) -> float:
    """A reward as a number within the bounds."""
    label = study.labels[ticket.arm] if ticket.arm < len(study.labels) else ticket.arm
    return study.settings.problem.scale.number(reward, f"ticket {ticket.number} (arm {label!r})")


def write_failure(study: "Study", log: Log, failure: Failure) -> None:
    """Let a ticket be handed out again, or count as a stated reward."""
    number, handling = checked_number(failure.ticket), study.settings.handling
    found = held(log, study.id, [number]).get(number)
    if found is None:
        raise never(failure.ticket)
    storable(failure.kind, "the kind of a failure")
    stated = None if failure.reward is None else _checked(study, found, failure.reward)
    check_holder(found, failure.worker, failure.reason)
    failures, events, at = found.failures, list[Event](), check_there(study, log).now
    if found.lease != 0:  # else it was said before
        events.append(Event(number, found.arm, failure.kind, str(failure.reason), found.worker, at))
        failures += failure.kind not in NO_FAILURES
    if stated is None and failures > handling.retries:
        stated = handling.on_failure
    if stated is None:
        log.lease_tickets(study.id, [number], 0.0)
    else:
        events.append(Event(number, found.arm, "imputed", f"counted as {stated}", found.worker, at))
        log.write_rewards(study.id, [replace(found, reward=stated)])
    log.write_events(study.id, events)
