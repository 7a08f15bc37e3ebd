"""All of a study as plain data, and back into another store: from a laptop to a server, say."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from surest.core.session import Session, has_queues
from surest.errors import SurestError, UsageError
from surest.result.data import Result
from surest.study.checks import checked_items, checked_labels, storable
from surest.study.health import as_logged
from surest.study.log import NO_FAILURES, Event, History, Item, Log, Recorded, Store
from surest.study.records import arms_of
from surest.study.replay import Departure, answer_all, departure, later_arms, replay, requests_ahead, script_of
from surest.study.settings import checked_settings
from surest.study.stores import is_service, store_of

if TYPE_CHECKING:
    from surest.study.study import Study

FORMAT = "surest-study-2"
FORMATS = ("surest-study-1", FORMAT)
"""The formats that are read. The first had no items, and did not count failures."""
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
    failures: ArmNumber | None = None
    """None in the first format."""
    item: ArmNumber | None = None


class ItemRecord(msgspec.Struct, forbid_unknown_fields=True):
    """An item."""

    key: Text
    payload: Said | None = None
    """JSON."""


class EventRecord(msgspec.Struct, forbid_unknown_fields=True):
    """What happened to a ticket."""

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
    items: list[ItemRecord] = []
    result: dict[str, Any] | None = None
    """For the reader; an import computes it anew."""


def export_study(study: "Study") -> dict[str, Any]:
    """All of a study as plain data."""
    with study.at_one_moment() as (log, look):
        document = _all_but_tickets(study, log, look.result)
        document["tickets"] = [list(ticket) for portion in log.read_history(study.id) for ticket in portion]
    return document


def export_text(study: "Study") -> Iterator[bytes]:
    """All of a study as JSON, piece by piece: however long it is, little of it is in memory."""
    with study.at_one_moment() as (log, look):
        document = msgspec.json.encode(_all_but_tickets(study, log, look.result))
        before, after = document.split(b'"tickets":[]', 1)
        yield before + b'"tickets":['
        comma = b""
        for portion in log.read_history(study.id):
            if portion:
                yield comma + msgspec.json.encode(portion)[1:-1]
                comma = b","
        yield b"]" + after + b"\n"


def _all_but_tickets(study: "Study", log: Log, found: Result) -> dict[str, Any]:
    result = as_logged(found, log, study.id, study.labels)
    return {
        "format": FORMAT,
        "tickets": [],  # first: what users wrote comes after it
        "name": study.name,
        "settings": msgspec.json.decode(study.settings.text()),
        "arms": [{"label": arm.label, "added_at": arm.added_at} for arm in log.read_arms(study.id)],
        "items": [item._asdict() for item in log.read_items(study.id)],
        "requests": [msgspec.to_builtins(request) for request in log.read_requests(study.id)],
        "events": [event._asdict() for event in log.read_events(study.id)],
        "result": msgspec.json.decode(msgspec.json.encode(result.to_json())),  # which has no NaN
    }


def import_study(storage: str | Store, document: bytes | str, name: str | None = None) -> str:
    """Put an exported study into a store, after replaying it; its name there. Tickets that are out are handed out again.

    Parameters
    ----------
    storage : str or Store
        As for `open_study`.
    document : bytes or str
        JSON, as ``surest study export`` writes it.
    name : str, optional
        Another name than it had.
    """
    study = _decoded(document)
    called = study.name if name is None else name
    storable(called, "a study's name")
    if is_service(storage):
        from surest.study.remote import import_remote

        return import_remote(str(storage), document, called)
    settings = checked_settings(study.settings)
    _check_texts(study)
    _check_counts(study)
    _check_course(study)
    store = store_of(storage)
    store.prepare(create=True)
    with store.writing() as log:
        first = [arm.label for arm in study.arms if arm.added_at == 0]
        items = [Item(item.key, item.payload) for item in study.items]
        key = log.add_study(called, settings.text(), first, items)
        if key is None:
            raise UsageError(f"there is already a study {called!r} in {store.shown}; import it under another name")
        for place, arm in enumerate(study.arms[len(first) :], len(first)):
            log.add_arms(key, [arm.label], place, arm.added_at)
        for request in study.requests:
            log.write_request(key, _recorded(request))
        log.write_history(key, _tickets(study), [Event(**msgspec.to_builtins(event)) for event in study.events])
    return called


def _decoded(document: bytes | str) -> Export:
    try:
        study = msgspec.json.decode(document, type=Export)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UsageError(f"this is not an exported study: {error}") from None
    if study.format not in FORMATS:
        raise UsageError(f"this export has format {study.format!r}; this surest reads {' and '.join(FORMATS)}")
    return study


def _recorded(request: RequestRecord) -> Recorded:
    return Recorded(request.first, request.total, request.statistic, request.runs)


def _tickets(study: Export) -> list[History]:
    failed = _failed(study)
    return [
        History(
            t.arm, None if t.reward is None else t.reward + 0.0, t.attempts, t.worker, t.told, failed[number], t.item
        )
        for number, t in enumerate(study.tickets)
    ]  # fmt: skip


def _failed(study: Export) -> Counter[int]:
    return Counter(event.ticket for event in study.events if event.kind not in NO_FAILURES)


def _check_texts(study: Export) -> None:
    """Refuse labels, keys and payloads that no study takes when it is made: workers are sent them as they are."""
    checked_labels([arm.label for arm in study.arms])
    checked_items([item.key for item in study.items] or None)
    for item in study.items:
        try:
            msgspec.json.decode(item.payload or "null")
        except (msgspec.MsgspecError, RecursionError) as error:
            raise UsageError(f"what this export says of item {item.key!r:.60} is not JSON: {error}") from None


def _check_counts(study: Export) -> None:
    """Refuse what no study could count: the log has an event for each time a ticket was handed out again, or failed."""
    settings = checked_settings(study.settings)
    low, high = settings.problem.bounds
    if any(not low <= t.reward <= high for t in study.tickets if t.reward is not None):
        raise UsageError(f"this export has rewards outside of [{low:g}, {high:g}]")
    if any(event.ticket >= len(study.tickets) or event.arm >= len(study.arms) for event in study.events):
        raise UsageError("this export has events of tickets or arms that it does not have")
    times = [t.told for t in study.tickets if t.told is not None] + [event.at for event in study.events]
    if not np.isfinite(times).all() or any((t.told is None) != (t.reward is None) for t in study.tickets):
        raise UsageError("this export has rewards without a time, or times without a reward")
    again, failed = Counter(event.ticket for event in study.events if event.kind == "retried"), _failed(study)
    for number, ticket in enumerate(study.tickets):
        if ticket.attempts != 1 + again[number]:
            raise UsageError(
                f"ticket {number} of this export has {ticket.attempts} attempts, but was handed out again {again[number]} times"
            )
        if ticket.failures not in (None, failed[number]):
            raise UsageError(
                f"ticket {number} of this export has {ticket.failures} failures, but {failed[number]} events"
            )


def _check_course(study: Export) -> None:
    """Refuse an export that is not a possible course of its study."""
    added = [arm.added_at for arm in study.arms]
    if added != sorted(added):
        raise UsageError("this export has arms before others that were added earlier")
    ends = {0, *(request.first + request.total for request in study.requests)}
    if not study.items and not ends.issuperset(added):
        raise UsageError("this export has arms that were added in the middle of a request")
    settings, first = checked_settings(study.settings), [arm.label for arm in study.arms if arm.added_at == 0]
    try:
        if study.items:
            _check_cells(study, settings.session(first))
            return
        try:
            _check_requests(study, settings.session(first))
        except Departure:
            script = script_of([_recorded(request) for request in study.requests], added)
            _check_requests(study, settings.session(first, script=script))
    except SurestError as error:
        raise UsageError(f"this export does not replay: {error}") from None


def _check_cells(study: Export, session: Any) -> None:
    """Each ticket is a cell of its own, and the algorithm takes what was told."""
    cells = [(ticket.arm, ticket.item) for ticket in study.tickets]
    if study.requests or len(set(cells)) < len(cells):
        raise UsageError("a study on a list of items has no requests, and each of its cells at most one ticket")
    for at, labels in later_arms((arm.label, arm.added_at) for arm in study.arms).items():
        session.grow(labels, at)
    for ticket in study.tickets:
        if ticket.item is None or ticket.item >= len(study.items) or ticket.arm >= len(study.arms):
            raise UsageError("a ticket names an arm or an item that there is not")
        if ticket.reward is not None:
            session.tell_cell(ticket.arm, ticket.item, ticket.reward)


def _check_requests(study: Export, session: Session) -> None:
    """The algorithm asks for exactly what the export says, given its rewards."""
    if any(ticket.item is not None for ticket in study.tickets):
        raise UsageError("a ticket names an item, but the study has none")
    arms = np.array([ticket.arm for ticket in study.tickets], np.int64)
    rewards = np.array([np.nan if t.reward is None else t.reward for t in study.tickets])
    if has_queues(session.problem):
        if len(arms) and arms.max() >= len(study.arms):
            raise UsageError("a ticket names an arm that there is not")
        session.adopt(arms, rewards)
        answer_all(session, [_recorded(request) for request in study.requests])
        _check_open_requests(study, session, session.running.pulls)
        return
    reached = int(np.append(np.flatnonzero(np.isnan(rewards)), len(rewards))[0])
    complete = [request for request in study.requests if request.first + request.total <= reached]
    additions = later_arms((arm.label, arm.added_at) for arm in study.arms)
    end = replay(session, 0, [_recorded(request) for request in complete], arms, rewards, additions)
    _check_open_part(study, session, end)


def _check_open_part(study: Export, session: Session, end: int) -> None:
    """Check what follows the requests that were answered: what the algorithm asks for or has announced, and its tickets."""
    left = _check_open_requests(study, session, end)
    arms = [ticket.arm for ticket in study.tickets[end:]]
    expected = [arm for one in left for arm in np.repeat(*arms_of(one.runs)).tolist()]
    if arms != expected[: len(arms)]:
        raise departure(session, f"its tickets from {end} on are not what the algorithm asks for", end)


def _check_open_requests(study: Export, session: Session, end: int) -> list[Recorded]:
    """The requests that follow those which were answered: what the algorithm asks for or has announced."""
    left = [_recorded(request) for request in study.requests if request.first >= end]
    follows = [one.first for one in left] == [end, *(one.end for one in left)][: len(left)]
    asked = left if session.scripted and follows else requests_ahead(session, end)[: len(left)]
    if left != asked:
        raise departure(session, f"its requests from {end} on are not what the algorithm asks for", end)
    return left
