"""Everything that is read from and written to a study's log, each as one function on a connection."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import Connection

from surest.core.protocol import FloatArray, IntArray
from surest.errors import StorageError, TicketError
from surest.study.replay import Recorded
from surest.study.schema import arms, arms_of, events, requests, reward_seals, seal, studies, tickets

PORTION = 500
"""Ticket numbers in one statement."""
MANY = 20_000
"""Rewards read at a time."""
Now = sa.ColumnElement[float]


@dataclass(frozen=True, slots=True)
class Arm:
    """An arm, and from which ticket on the algorithm knows it."""

    label: str
    added_at: int


@dataclass(frozen=True, slots=True)
class Lease:
    """Who takes tickets, and when."""

    study: int
    worker: str
    at: float


def find_study(connection: Connection, name: str) -> Any:
    """The row of a study; None if there is none."""
    row = connection.execute(sa.select(studies).where(studies.c.name == name)).one_or_none()
    if row is not None and row.seal != seal(row.name, row.settings):
        raise StorageError(f"the database is damaged: the settings of study {name!r} are not what was written")
    return row


def study_names(connection: Connection) -> list[str]:
    """All studies."""
    return list(connection.execute(sa.select(studies.c.name).order_by(studies.c.name)).scalars())


def add_study(connection: Connection, name: str, settings: str, labels: Sequence[str], now: Now) -> bool:
    """Write a new study; False if another process was faster."""
    try:
        with connection.begin_nested():
            row = {"name": name, "settings": settings, "created": now, "seal": seal(name, settings)}
            key = connection.execute(sa.insert(studies).values(**row).returning(studies.c.id)).scalar_one()
    except exc.IntegrityError:
        return False
    add_arms(connection, key, labels, 0, 0)
    return True


def add_arms(connection: Connection, study: int, labels: Sequence[str], first: int, added_at: int) -> None:
    """Write arms, numbered from `first` on."""
    rows = [
        {"study": study, "arm": arm, "label": label, "added_at": added_at, "seal": seal(arm, label, added_at)}
        for arm, label in enumerate(labels, first)
    ]
    connection.execute(sa.insert(arms), rows)


def read_arms(connection: Connection, study: int) -> list[Arm]:
    """All arms, in order."""
    rows = connection.execute(sa.select(arms).where(arms.c.study == study).order_by(arms.c.arm)).all()
    for place, row in enumerate(rows):
        if row.arm != place or row.seal != seal(row.arm, row.label, row.added_at):
            raise StorageError(f"the study's log is damaged: arm {place} is not what was written")
    return [Arm(row.label, row.added_at) for row in rows]


def lock_study(connection: Connection, study: int, *, shared: bool = False) -> bool:
    """Keep other processes from handing out tickets (SQLite has locked the whole file already); False if it is gone."""
    query = sa.select(studies.c.id).where(studies.c.id == study).with_for_update(read=shared)
    return connection.execute(query).scalar() is not None


def delete_study(connection: Connection, name: str) -> bool:
    """Take a study and all that belongs to it away."""
    key = connection.execute(sa.select(studies.c.id).where(studies.c.name == name).with_for_update()).scalar()
    for table in (arms, requests, tickets, events):
        connection.execute(sa.delete(table).where(table.c.study == key))
    return bool(connection.execute(sa.delete(studies).where(studies.c.id == key)).rowcount)


def write_request(connection: Connection, study: int, request: Recorded) -> None:
    """Write down what the algorithm asks."""
    row: dict[str, Any] = {
        "first": request.first,
        "total": request.total,
        "statistic": request.statistic,
        "runs": request.runs,
    }
    connection.execute(sa.insert(requests).values(study=study, **row, seal=seal(*row.values())))


def last_request(connection: Connection, study: int) -> Recorded | None:
    """What is being handed out."""
    query = sa.select(requests).where(requests.c.study == study).order_by(requests.c.first.desc()).limit(1)
    row = connection.execute(query).one_or_none()
    return None if row is None else _recorded(row)


def request_before(connection: Connection, study: int, end: int) -> int:
    """The first ticket of the request that ends before a ticket."""
    query = sa.select(sa.func.max(requests.c.first)).where(requests.c.study == study, requests.c.first < end)
    return connection.execute(query).scalar() or 0


def _recorded(row: Any) -> Recorded:
    if row.seal != seal(row.first, row.total, row.statistic, row.runs):
        raise StorageError(f"the study's log is damaged: the request at ticket {row.first} is not what was written")
    return Recorded(row.first, row.total, row.statistic, row.runs)


def next_ticket(connection: Connection, study: int) -> int:
    """The first number that was never handed out."""
    last = connection.execute(sa.select(sa.func.max(tickets.c.id)).where(tickets.c.study == study)).scalar()
    return 0 if last is None else int(last) + 1


def count_open(connection: Connection, study: int, before: float | None = None) -> int:
    """How many tickets have no reward yet; with `before`, of those whose lease ran out by then."""
    query = sa.select(sa.func.count()).select_from(tickets).where(tickets.c.study == study, tickets.c.reward.is_(None))
    if before is not None:
        query = query.where(tickets.c.lease <= before)
    return connection.execute(query).scalar_one()


def free_places(connection: Connection, study: int, most: int) -> list[tuple[int, int]] | None:
    """Numbers and arms of the next tickets of the last request; None if all of it is handed out."""
    request, number = last_request(connection, study), next_ticket(connection, study)
    if request is None or number >= request.first + request.total:
        return None
    which, times = arms_of(request.runs)
    places = np.arange(number - request.first, min(number - request.first + most, request.total))
    chosen = which[np.searchsorted(np.cumsum(times), places, side="right")]
    return list(zip((places + request.first).tolist(), chosen.tolist(), strict=True))


def lease_fresh(
    connection: Connection, lease: Lease, places: Sequence[tuple[int, int]], until: float
) -> list[tuple[int, int]]:
    """Hand out new tickets."""
    rows = [
        {"study": lease.study, "id": number, "arm": arm, "lease": until, "attempts": 1, "worker": lease.worker}
        for number, arm in places
    ]
    connection.execute(sa.insert(tickets), rows)
    return list(places)


def lease_again(connection: Connection, lease: Lease, most: int, until: float) -> list[tuple[int, int]]:
    """Hand out tickets that failed or whose worker did not come back in time."""
    query = (
        sa.select(tickets.c.id, tickets.c.arm, tickets.c.lease, tickets.c.worker)
        .where(tickets.c.study == lease.study, tickets.c.reward.is_(None), tickets.c.lease <= lease.at)
        .order_by(tickets.c.id)
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    rows = connection.execute(query).all()
    for row in rows:
        if row.lease != 0:
            gone = Lease(lease.study, row.worker, lease.at)
            write_event(connection, gone, row.id, row.arm, "expired", "its worker did not come back in time")
        write_event(connection, lease, row.id, row.arm, "retried", "")
        connection.execute(
            sa.update(tickets)
            .where(tickets.c.study == lease.study, tickets.c.id == row.id)
            .values(lease=until, attempts=tickets.c.attempts + 1, worker=lease.worker)
        )
    return [(row.id, row.arm) for row in rows]


def give_back(connection: Connection, study: int, number: int) -> None:
    """Let a ticket be handed out again."""
    connection.execute(sa.update(tickets).where(tickets.c.study == study, tickets.c.id == number).values(lease=0.0))


def write_event(connection: Connection, lease: Lease, number: int, arm: int, kind: str, reason: str) -> None:
    """Write down what befell a ticket."""
    row = {"study": lease.study, "worker": lease.worker, "at": lease.at}
    said = reason.replace("\x00", "�").encode(errors="replace").decode()  # no database takes these
    connection.execute(sa.insert(events).values(**row, ticket=number, arm=arm, kind=kind, reason=said))


def read_tickets(connection: Connection, study: int, numbers: Sequence[int]) -> dict[int, Any]:
    """Tickets by number, held until the transaction ends."""
    found: dict[int, Any] = {}
    for start in range(0, len(numbers), PORTION):
        portion = sorted(set(numbers[start : start + PORTION]))
        query = sa.select(tickets).where(tickets.c.study == study, tickets.c.id.in_(portion)).order_by(tickets.c.id)
        found |= {row.id: row for row in connection.execute(query.with_for_update())}
    for number in numbers:
        if number not in found:
            raise TicketError(f"ticket {number} was never handed out; tell the ids that ask() gave")
    return found


def write_rewards(connection: Connection, study: int, fresh: Mapping[int, tuple[int, float]], now: Now) -> None:
    """Write rewards, each with its seal: ticket -> (arm, reward)."""
    if not fresh:
        return
    numbers, values = np.array(list(fresh)), np.array([value for _, value in fresh.values()])
    seals = reward_seals(numbers, np.array([arm for arm, _ in fresh.values()]), values).tolist()
    rows = [
        {"key": number, "value": value, "check": check}
        for number, value, check in zip(numbers.tolist(), values.tolist(), seals, strict=True)
    ]
    connection.execute(
        sa.update(tickets)
        .where(tickets.c.study == study, tickets.c.id == sa.bindparam("key"))
        .values(reward=sa.bindparam("value"), seal=sa.bindparam("check"), told=now),
        rows,
    )


def complete_requests(connection: Connection, study: int, position: int) -> list[Recorded]:
    """The requests from a ticket on, of which every reward has been told."""
    query = (
        sa.select(requests).where(requests.c.study == study, requests.c.first >= position).order_by(requests.c.first)
    )
    found = [_recorded(row) for row in connection.execute(query)]
    if found and (
        next_ticket(connection, study) < found[-1].first + found[-1].total or count_open(connection, study) > 0
    ):
        found.pop()  # only the last can be under way
    return found


def check_rewards(connection: Connection, study: int) -> None:
    """Check the rewards of the last request, which may be under way and is then not read otherwise."""
    last = last_request(connection, study)
    if last is not None:
        _read(connection, study, tickets.c.id >= last.first, tickets.c.reward.is_not(None))


def read_rewards(connection: Connection, study: int, first: int, end: int) -> tuple[IntArray, FloatArray]:
    """The arms and rewards of tickets first … end − 1, none missing and every seal whole."""
    ids, chosen, values = _read(connection, study, tickets.c.id >= first, tickets.c.id < end)
    if not np.array_equal(ids, np.arange(first, end)):
        raise StorageError(
            f"the study's log is damaged: some of the tickets {first} to {end - 1} are gone. Restore a backup"
        )
    return chosen, values


def _read(connection: Connection, study: int, *where: Any) -> tuple[IntArray, IntArray, FloatArray]:
    """Numbers, arms and rewards of told tickets, every seal checked."""
    columns = (tickets.c.id, tickets.c.arm, tickets.c.reward, tickets.c.seal)
    rows = connection.execute(sa.select(*columns).where(tickets.c.study == study, *where).order_by(tickets.c.id))
    parts = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    while portion := rows.cursor.fetchmany(MANY):  # plain tuples, in half the time
        try:
            numbers, which, rewards, seals = zip(*portion, strict=True)
            ids, chosen, values = np.array(numbers, np.int64), np.array(which, np.int64), np.array(rewards, np.float64)
            whole = np.array_equal(np.array(seals, np.int64), reward_seals(ids, chosen, values))
        except (TypeError, ValueError, OverflowError):
            whole = False
        if not whole:
            raise StorageError(
                f"the study's log is damaged: a reward of tickets {portion[0][0]} to {portion[-1][0]} is not what was written. "
                "Restore a backup"
            )
        parts.append((ids, chosen, values))
    rows.close()
    all_ids, all_chosen, all_values = (np.concatenate(column) for column in zip(*parts, strict=True))
    return all_ids, all_chosen, all_values


def parsed(text: str, what: str) -> Any:
    """JSON from the log."""
    try:
        return json.loads(text)
    except ValueError:
        raise StorageError(f"the database is damaged: {what} cannot be read") from None
