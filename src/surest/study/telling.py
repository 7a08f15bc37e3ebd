"""What workers say of their tickets, written within a transaction: the same rules for one call and for many at once.

What is refused is refused before anything is written, so that others of the same transaction are not touched by it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from surest.core.protocol import FloatArray
from surest.errors import TicketError
from surest.study.checks import check_holder, checked_number, never, storable
from surest.study.log import NO_FAILURES, Lease, Log, StoredTicket
from surest.study.workers import own_name

if TYPE_CHECKING:
    from surest.study.study import Study


class Failure(NamedTuple):
    """An evaluation that gave no reward: of which ticket, why, as what it counts, what health calls it, and who says so."""

    ticket: Any
    reason: str
    reward: Any
    kind: str
    worker: str


def write_told(
    study: "Study", log: Log, numbers: Sequence[Any], rewards: Sequence[Any] | FloatArray, worker: str | None = None
) -> list[int]:
    """Write rewards; the tickets that were not told before."""
    if worker is not None:
        storable(worker, "a worker's name")
    told = log.read_tickets(study.id, [checked_number(number) for number in numbers])
    fresh = fresh_rewards(study, told, numbers, rewards)
    who = {number: worker or study._holders.get(number, own_name()) for number in fresh}
    log.write_rewards(study.id, fresh, late(told, who))
    return list(fresh)


def late(told: Mapping[int, StoredTicket], tellers: Mapping[int, str]) -> dict[int, str]:
    """Who tells rewards of tickets that were handed to somebody else meanwhile: the log names who told them.

    A ticket that was handed out once stays with whoever took it: another process may well tell it.
    """
    return {
        number: who
        for number, who in tellers.items()
        if number in told and told[number].attempts > 1 and told[number].worker != who
    }


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
    label = study._arms[ticket.arm].label if ticket.arm < len(study._arms) else ticket.arm
    return study.settings.problem.scale.number(reward, f"ticket {ticket.number} (arm {label!r})")


def write_failure(study: "Study", log: Log, failure: Failure) -> None:
    """Let a ticket be handed out again, or count as a stated reward."""
    number, handling = checked_number(failure.ticket), study.settings.handling
    found = log.read_tickets(study.id, [number]).get(number)
    if found is None:
        raise never(failure.ticket)
    stated = None if failure.reward is None else _checked(study, found, failure.reward)
    check_holder(found, failure.worker, failure.reason)
    lease, failures = Lease(study.id, found.worker, log.time()), found.failures
    if found.lease != 0:  # else it was said before
        log.write_event(lease, number, found.arm, failure.kind, str(failure.reason))
        if failure.kind not in NO_FAILURES:
            log.count_failure(study.id, number)
            failures += 1
    if stated is None and failures > handling.retries:
        stated = handling.on_failure
    if stated is None:
        log.set_leases(study.id, [number], 0.0)
    else:
        log.write_event(lease, number, found.arm, "imputed", f"counted as {stated}")
        log.write_rewards(study.id, {number: stated})
