"""All of a study as plain data, and back into another store: from a laptop to a server, say."""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import IO, Annotated, Any

import msgspec
import numpy as np

from surest.core.duels import DUELS
from surest.errors import StorageError, SurestError, UsageError
from surest.result.data import Result
from surest.search.session import Session
from surest.study.following import requests_ahead
from surest.study.log import (
    NO_FAILURES,
    Arm,
    ArmNumber,
    Count,
    Event,
    Item,
    Log,
    Recorded,
    Store,
    StoredTicket,
    Text,
    arms_from,
    arms_of,
    triples_of,
)
from surest.study.settings import (
    Settings,
    checked_items,
    checked_labels,
    checked_settings,
    is_service,
    storable,
    store_of,
)
from surest.study.sql import MEMORY, SqlStore
from surest.study.study import Study, health_of

FORMAT = "surest-study-2"
FORMATS = ("surest-study-1", FORMAT)  # The formats that are read. The first had no items, and did not count failures.
IN_MEMORY = 4 << 20  # bytes from which on an export goes through a file
PORTION = 1000  # tickets read at a time
MOST_AHEAD = 10**7  # arms in requests of which no ticket was handed out


class TicketRecord(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A ticket; its number is its place in the list."""

    arm: ArmNumber
    reward: float | None
    attempts: ArmNumber
    worker: Text
    told: float | None
    failures: ArmNumber | None = None  # none in the first format
    item: ArmNumber | None = None
    cost: Annotated[float, msgspec.Meta(ge=0)] | None = None


_IN_ORDER = attrgetter(*TicketRecord.__struct_fields__)


class Export(msgspec.Struct, forbid_unknown_fields=True):
    """A study."""

    format: str
    name: Text
    settings: dict[str, Any]
    arms: list[Arm]
    requests: list[Recorded]
    tickets: list[TicketRecord]
    events: list[Event]
    items: list[Item] = []
    result: dict[str, Any] | None = None
    """For the reader; an import computes it anew, and checks that its rewards are those of it."""


def export_text(study: Study) -> Iterator[bytes]:
    """All of a study as JSON, piece by piece: however long it is, little of it is in memory.

    What is damaged or missing is a `StorageError`, perhaps after the last piece but one: keep nothing before the end.
    """
    with study.at_one_moment(check=True) as (log, follower, facts):
        health = health_of(log, study.id, study.labels)
        parts = _all_but_tickets(study, log, replace(follower.look(log).result, health=health))
        before, after = msgspec.json.encode(parts).split(b'"tickets":[]', 1)
        yield before + b'"tickets":['
        comma, seen = b"", list[tuple[Any, ...]]()
        for first in range(0, facts.tickets, PORTION):
            found = log.read_tickets(study.id, first, first + PORTION)
            portion = [_IN_ORDER(ticket)[: None if ticket.cost is not None else -1] for ticket in found]
            yield comma + msgspec.json.encode(portion)[1:-1]
            comma = b","
            seen += portion
        try:
            whole = msgspec.convert({**parts, "tickets": seen}, Export)
            fault = next(chain(_faults(whole, study.settings), _faults_of_result(whole)), None)
        except msgspec.ValidationError as error:
            fault = f"cannot be read: {error}"
        if fault is None and len(seen) != facts.tickets:
            fault = f"handed out {facts.tickets:,} tickets and has {len(seen):,}"
        if fault is not None:
            raise StorageError(f"study {study.name!r} is damaged: it {fault}. Restore a backup")
        yield b"]" + after + b"\n"


def spooled(study: Study) -> IO[bytes]:
    """All of a study as JSON, in a file that is gone when it is closed: complete, or an error."""
    file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115  (whoever reads it closes it)
    try:
        file.writelines(export_text(study))
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def put_in_place(source: IO[bytes], target: Path, mode: int | None = None) -> None:
    """Put what is read in place of a file at one moment, so that no failure leaves half of it; into a pipe, write.

    Without a `mode` the file keeps its own, or gets the usual one.
    """
    if target.exists() and not target.is_file():
        with target.open("wb") as file:
            shutil.copyfileobj(source, file)
        return
    target = target.resolve()  # a link stays one
    handle, aside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    try:
        with open(handle, "wb") as file:
            shutil.copyfileobj(source, file)
            file.flush()
            os.fsync(handle)
        os.umask(mask := os.umask(0))
        usual = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~mask
        os.chmod(aside, usual if mode is None else mode)
        os.replace(aside, target)
    except BaseException:
        os.unlink(aside)
        raise


def _all_but_tickets(study: Study, log: Log, result: Result) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "tickets": [],  # first: what users wrote comes after it
        "name": study.name,
        "settings": study.settings.plain(),
        "arms": msgspec.to_builtins(log.read_arms(study.id)),
        "items": msgspec.to_builtins(log.read_items(study.id)),
        "requests": msgspec.to_builtins(log.read_requests(study.id)),
        "events": msgspec.to_builtins(log.read_events(study.id)),
        "result": msgspec.json.decode(msgspec.json.encode(result.to_dict())),  # which has no NaN
    }


def import_study(
    storage: str | Store, document: bytes | str, name: str | None = None, *, algorithm: str | None = None
) -> str:
    """Put an exported study into a store, after replaying it; its name there. Tickets that are out are handed out again.

    Parameters
    ----------
    storage : str or Store
        As for `open_study`.
    document : bytes or str
        JSON, as ``surest study export`` writes it.
    name : str, optional
        Another name than it had.
    algorithm : str, optional
        The study's algorithm, if it is in a file (``file.py:function``): the file runs only if it is named here.
    """
    study = _decoded(document)
    called = study.name if name is None else name
    storable(called, "a study's name")
    if is_service(storage):
        from surest.study.remote import import_remote

        return import_remote(str(storage), document, called)
    settings = checked_settings(study.settings, algorithm)
    _check_texts(study)
    for fault in _faults(study, settings):
        raise UsageError(f"this export {fault}")
    _check_replay(study, settings, algorithm)
    store = store_of(storage)
    store.prepare(create=True)
    with store.writing() as log:
        if not _written(log, called, study, settings):
            raise UsageError(f"there is already a study {called!r} in {store.shown}; import it under another name")
    return called


def _written(log: Log, name: str, study: Export, settings: Settings) -> bool:
    """Write all of a study, unless there is one of that name."""
    first = [arm.label for arm in study.arms if arm.added_at == 0]
    key = log.add_study(name, settings.text(), first, study.items)
    if key is None:
        return False
    for place, arm in enumerate(study.arms[len(first) :], len(first)):
        log.add_arms(key, [arm.label], place, arm.added_at)
    for request in study.requests:
        log.write_request(key, request)
    log.add_tickets(key, _tickets(study))
    log.write_events(key, study.events)
    return True


def _decoded(document: bytes | str) -> Export:
    try:
        study = msgspec.json.decode(document, type=Export)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UsageError(f"this is not an exported study: {error}") from None
    if study.format not in FORMATS:
        raise UsageError(f"this export has format {study.format!r}; this surest reads {' and '.join(FORMATS)}")
    return study


def _tickets(study: Export) -> list[StoredTicket]:
    """As the log has them: leases have run out, and failures are counted with their events."""
    rewards = [None if t.reward is None else t.reward + 0.0 for t in study.tickets]
    return [
        StoredTicket(number, t.arm, t.item, reward, 0.0, t.attempts, 0, t.worker, t.told, t.cost)
        for number, (t, reward) in enumerate(zip(study.tickets, rewards, strict=True))
    ]


def _check_texts(study: Export) -> None:
    """Refuse labels, keys and payloads that no study takes when it is made: workers are sent them as they are."""
    checked_labels([arm.label for arm in study.arms])
    checked_items([item.key for item in study.items] or None)
    for item in study.items:
        try:
            msgspec.json.decode(item.payload or "null")
        except (msgspec.MsgspecError, RecursionError) as error:
            raise UsageError(f"what this export says of item {item.key!r:.60} is not JSON: {error}") from None


def _faults(study: Export, settings: Settings) -> Iterator[str]:
    """What no study could say, in words that follow "this export"; sizes first, before anything is made of them."""
    listed, stated, low, high = len(study.items), settings.problem.items or 0, *settings.problem.bounds
    if listed != stated:
        yield f"states {stated:,} items and lists {listed:,}"
    yield from _faults_of_requests(study)
    if any(event.ticket >= len(study.tickets) or event.arm >= len(study.arms) for event in study.events):
        yield "has events of tickets or arms that it does not have"
    again = Counter(event.ticket for event in study.events if event.kind == "retried")
    failed = Counter(event.ticket for event in study.events if event.kind not in NO_FAILURES)
    for number, t in enumerate(study.tickets):
        if t.reward is not None and not low <= t.reward <= high:
            yield f"has a reward of {t.reward} for ticket {number}, outside of [{low:g}, {high:g}]"
        if (t.told is None) != (t.reward is None) or (t.cost is not None and t.reward is None):
            yield f"has a time or a cost without a reward, or a reward without a time, for ticket {number}"
        if t.attempts != 1 + again[number]:
            yield f"has {t.attempts} attempts at ticket {number}, which was handed out again {again[number]} times"
        if t.failures not in (None, failed[number]):
            yield f"has {t.failures} failures of ticket {number}, but {failed[number]} events"
    numbers = [x for t in study.tickets for x in (t.told, t.cost) if x is not None]
    if not np.isfinite([*numbers, *(event.at for event in study.events)]).all():
        yield "has times or costs that are not finite"


def _faults_of_requests(study: Export) -> Iterator[str]:
    end = ahead = 0
    for request in study.requests:
        try:
            triples = triples_of(request.runs, len(study.arms))
        except StorageError as error:
            yield f"has a request that cannot be read: {error}"
            return
        pulls = sum((last - first + 1) * times for first, last, times in triples)
        if request.first != end or request.total != pulls:
            yield f"has a request at ticket {request.first} that does not follow the one before it, or miscounts"
        end += pulls
        ahead += sum(last - first + 1 for first, last, _ in triples) if request.first > len(study.tickets) else 0
    if ahead > MOST_AHEAD:
        yield "has more requests ahead of its tickets than any study"


def _check_replay(study: Export, settings: Settings, algorithm: str | None) -> None:
    """Refuse what is not a possible course of its study, by a replay in a store of its own, or does not come to its result."""
    added, ends = [arm.added_at for arm in study.arms], {0, *(request.end for request in study.requests)}
    if added != sorted(added):
        raise UsageError("this export has arms before others that were added earlier")
    if not study.items and not ends.issuperset(added):
        raise UsageError("this export has arms that were added in the middle of a request")
    if any((ticket.item is None) == bool(study.items) for ticket in study.tickets) or (study.items and study.requests):
        raise UsageError("only of a study on a list of items do tickets name items, and it has no requests")
    trial = SqlStore(MEMORY)
    try:
        with trial.writing() as log:
            _written(log, study.name, study, settings)
        session = Study(trial, study.name, algorithm).session()
        _check_under_way(study, session)
    except SurestError as error:
        raise UsageError(f"this export does not replay: {error}") from None
    for fault in _faults_of_result(study):
        raise UsageError(f"this export {fault}")
    stated = _stated(study)
    if not stated.certified or stated.chosen is None:
        return
    found = session.result()
    if not found.certified or sorted(map(str, found.chosen)) != sorted(stated.chosen):
        raise UsageError(f"this export does not replay: its result says {stated.chosen!r:.80}, and its rewards do not")


def _check_under_way(study: Export, session: Session) -> None:
    """What was not answered yet is what the algorithm asks for, given its rewards."""
    end = session.running.pulls
    left = [] if study.items else [request for request in study.requests if request.first >= end]
    if session.has_queues and len({arm.added_at for arm in study.arms}) > 1:
        raise UsageError("an arm was added where none can be")
    if not session.scripted and left != requests_ahead(session)[: len(left)]:
        raise UsageError(f"its requests from {end} on are not what the algorithm asks for")
    if not study.items and not session.has_queues:
        arms, expected = [ticket.arm for ticket in study.tickets[end:]], list[int]()
        for one in left:
            which = arms_of(one.runs, len(study.arms))
            expected += arms_from(*which, 0, len(arms) - len(expected)).tolist()
        if arms != expected:
            raise UsageError(f"its tickets from {end} on are not what the algorithm asks for")


class Stated(msgspec.Struct):
    """What an export says of its result, as far as its rewards say it too, whatever the version. Others may have said less."""

    evaluations: Count | None = None
    pulls_per_arm: list[Count] | None = None
    means: list[float | None] = []
    certified: bool = False
    chosen: list[str] | None = None


def _stated(study: Export) -> Stated:
    return Stated() if study.result is None else msgspec.convert(study.result, Stated)


def _faults_of_result(study: Export) -> Iterator[str]:
    """What its rewards do not say."""
    try:
        stated = _stated(study)
    except msgspec.ValidationError as error:
        yield f"has a result that cannot be read: {error}"
        return
    told = [ticket for ticket in study.tickets if ticket.reward is not None]
    if stated.evaluations not in (None, len(told)):
        yield f"has {len(told):,} rewards, and its result {stated.evaluations:,}"
    if stated.pulls_per_arm is None or study.items or study.settings.get("algorithm") == DUELS:
        return  # of duels, the arms of a result are players, and those of tickets pairs: the replay compares
    arms, rewards = np.array([t.arm for t in told], np.int64), np.array([t.reward for t in told], np.float64)
    low, high = study.settings.get("bounds") or (0.0, 1.0)
    for arm, (pulls, mean) in enumerate(zip(stated.pulls_per_arm, stated.means, strict=False)):
        own = rewards[arms == arm][:pulls]
        if len(own) < pulls or (pulls and mean is not None and abs(own.mean() - mean) > 1e-6 * (high - low)):
            yield f"has other rewards of arm {arm} than its result"
