"""All of a study as plain data, and back into another database: from a laptop to a server, say."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
import sqlalchemy as sa

from surest.core.protocol import Pull
from surest.core.session import Session
from surest.errors import SurestError, UsageError
from surest.study import log
from surest.study.replay import Recorded, later_arms, next_request, replay
from surest.study.schema import events, requests, reward_seals, tickets
from surest.study.settings import checked_settings
from surest.study.store import Store

if TYPE_CHECKING:
    from surest.study.study import Study

FORMAT = "surest-study-1"
Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
ArmNumber = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern="^[^\\x00]*$")]
Said = Annotated[str, msgspec.Meta(pattern="^[^\\x00]*$")]


class ArmRecord(msgspec.Struct, forbid_unknown_fields=True):
    """An arm."""

    label: Text
    added_at: Count


class RequestRecord(msgspec.Struct, forbid_unknown_fields=True):
    """A request."""

    first: Count
    total: Count
    statistic: str
    runs: str


class TicketRecord(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A ticket; its number is its place in the list."""

    arm: ArmNumber
    reward: float | None
    attempts: ArmNumber
    worker: Text
    told: float | None


class EventRecord(msgspec.Struct, forbid_unknown_fields=True):
    """What befell a ticket."""

    ticket: Count
    arm: ArmNumber
    kind: Said
    reason: Said
    worker: Said
    at: float


class Export(msgspec.Struct, forbid_unknown_fields=True):
    """A study."""

    format: str
    name: Text
    settings: dict[str, Any]
    arms: list[ArmRecord]
    requests: list[RequestRecord]
    tickets: list[TicketRecord]
    events: list[EventRecord]
    result: dict[str, Any] | None = None
    """For the reader; an import computes it anew."""


def export_study(study: "Study") -> dict[str, Any]:
    """All of a study as plain data."""
    result = study.result().to_json()
    with study.store.reading() as connection:
        of_tickets = sa.select(tickets).where(tickets.c.study == study.id).order_by(tickets.c.id)
        of_events = sa.select(events).where(events.c.study == study.id).order_by(events.c.id)
        of_requests = sa.select(requests).where(requests.c.study == study.id).order_by(requests.c.first)
        document = Export(
            FORMAT,
            study.name,
            study.settings.plain(),
            [ArmRecord(arm.label, arm.added_at) for arm in log.read_arms(connection, study.id)],
            [RequestRecord(r.first, r.total, r.statistic, r.runs) for r in connection.execute(of_requests)],
            [TicketRecord(t.arm, t.reward, t.attempts, t.worker, t.told) for t in connection.execute(of_tickets)],
            [
                EventRecord(e.ticket, e.arm, e.kind, e.reason, e.worker, e.at)
                for e in connection.execute(of_events)
            ],
            result,
        )  # fmt: skip
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document))  # which has no NaN
    return plain


def import_study(storage: str, document: bytes | str, name: str | None = None) -> str:
    """Put an exported study into a database, after replaying it; its name there. Tickets that are out are handed out again.

    Parameters
    ----------
    storage : str
        As for `open_study`.
    document : bytes or str
        JSON, as ``surest study export`` writes it.
    name : str, optional
        Another name than it had.
    """
    from surest.study.study import storable

    study = _decoded(document)
    called = study.name if name is None else name
    storable(called, "a study's name")
    settings = checked_settings(study.settings)
    _replayed(study)
    store = Store(storage)
    store.prepare(create=True)
    with store.writing() as connection:
        first = [arm.label for arm in study.arms if arm.added_at == 0]
        if not log.add_study(connection, called, settings.text(), first, store.now()):
            raise UsageError(f"there is already a study {called!r} in {store.shown}; import it under another name")
        key = log.find_study(connection, called).id
        for place, arm in enumerate(study.arms[len(first) :], len(first)):
            log.add_arms(connection, key, [arm.label], place, arm.added_at)
        for request in study.requests:
            log.write_request(connection, key, _recorded(request))
        for table, rows in ((tickets, _ticket_rows(key, study.tickets)), (events, _event_rows(key, study.events))):
            if rows:
                connection.execute(sa.insert(table), rows)
    return called


def _decoded(document: bytes | str) -> Export:
    try:
        study = msgspec.json.decode(document, type=Export)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UsageError(f"this is no exported study: {error}") from None
    if study.format != FORMAT:
        raise UsageError(f"this export has format {study.format!r}; this surest reads {FORMAT!r}")
    return study


def _recorded(request: RequestRecord) -> Recorded:
    return Recorded(request.first, request.total, request.statistic, request.runs)


def _replayed(study: Export) -> None:
    """Refuse an export that is no possible course of its study."""
    settings = checked_settings(study.settings)
    low, high = settings.problem.bounds
    told = [ticket.reward is not None for ticket in study.tickets]
    if any(not low <= t.reward <= high for t in study.tickets if t.reward is not None):
        raise UsageError(f"this export has rewards outside of [{low:g}, {high:g}]")
    if any(event.ticket >= len(study.tickets) or event.arm >= len(study.arms) for event in study.events):
        raise UsageError("this export has events of tickets or arms that it does not have")
    times = [t.told for t in study.tickets if t.told is not None] + [event.at for event in study.events]
    if not np.isfinite(times).all() or any((t.told is None) != (t.reward is None) for t in study.tickets):
        raise UsageError("this export has rewards without a time, or times without a reward")
    initial = [arm.added_at == 0 for arm in study.arms]
    if sorted(initial, reverse=True) != initial:
        raise UsageError("this export has arms of the beginning after arms that were added")
    session = settings.session([arm.label for arm in study.arms if arm.added_at == 0])
    complete = [r for r in study.requests if r.first + r.total <= len(told) and all(told[r.first : r.first + r.total])]
    arms = np.array([ticket.arm for ticket in study.tickets], np.int64)
    rewards = np.array([np.nan if t.reward is None else t.reward for t in study.tickets])
    try:
        end = replay(
            session,
            0,
            [_recorded(request) for request in complete],
            arms,
            rewards,
            later_arms((arm.label, arm.added_at) for arm in study.arms),
        )
        _open_part(study, session, end, len(complete))
    except SurestError as error:
        raise UsageError(f"this export does not replay: {error}") from None


def _open_part(study: Export, session: Session, end: int, complete: int) -> None:
    """Check what follows the last complete request: at most one request under way, and its tickets."""
    request = session.running.request
    left = study.requests[complete:]
    arms = [ticket.arm for ticket in study.tickets[end:]]
    expected = (
        np.repeat(request.arms, request.times)[: len(arms)].tolist() if isinstance(request, Pull) and left else []
    )
    replay_of = [] if request is None or not left else [next_request(session, end)]
    if [_recorded(r) for r in left] != replay_of or arms != expected:
        raise UsageError(f"its requests or tickets from {end} on are not what the algorithm asks for")


def _ticket_rows(study: int, records: Sequence[TicketRecord]) -> list[dict[str, Any]]:
    rewards = [0.0 if t.reward is None else t.reward + 0.0 for t in records]
    arms = [t.arm for t in records]
    seals = reward_seals(np.arange(len(records)), np.array(arms, np.int64), np.array(rewards)).tolist()
    return [
        {
            "study": study,
            "id": number,
            "arm": ticket.arm,
            "reward": None if ticket.reward is None else reward,
            "lease": 0.0,
            "attempts": ticket.attempts,
            "worker": ticket.worker,
            "told": ticket.told,
            "seal": None if ticket.reward is None else check,
        }
        for number, (ticket, reward, check) in enumerate(zip(records, rewards, seals, strict=True))
    ]


def _event_rows(study: int, records: Sequence[EventRecord]) -> list[dict[str, Any]]:
    return [{"study": study, **msgspec.to_builtins(record)} for record in records]
