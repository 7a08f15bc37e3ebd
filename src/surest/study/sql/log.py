"""The log of studies in a SQL database: one statement or two for everything that a `Log` must do."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import astuple, replace

from surest.errors import StorageError
from surest.study.log import NO_FAILURES, Arm, Counted, Event, Facts, Item, Recorded, StoredStudy, StoredTicket
from surest.study.records import reward_seals, seal, storable_reason
from surest.study.sql.drivers import Driver
from surest.study.sql.schema import VERSION_TABLE

PORTION = 500
"""Ticket numbers in one statement."""
ALL = 2**62
"""More than there can be."""
TICKET = "id, arm, item, reward, lease, attempts, failures, worker, told, cost"


class SqlLog:
    """One transaction: statements on a cursor."""

    def __init__(self, cursor: Any, driver: Driver) -> None:
        self.cursor, self.driver = cursor, driver

    def execute(self, text: str, *values: object) -> Any:
        """A statement; the cursor, from which its rows are read before the next one."""
        self.cursor.execute(self.driver.statement(text), values)
        return self.cursor

    def many(self, text: str, rows: Sequence[tuple[object, ...]]) -> None:
        """A statement for each of several rows."""
        if rows:
            self.cursor.executemany(self.driver.statement(text), rows)

    def row(self, text: str, *values: object) -> Any:
        """The first row; None if there is none."""
        return self.execute(text, *values).fetchone()

    def value(self, text: str, *values: object) -> Any:
        """The first value of the first row; None if there is none."""
        row = self.row(text, *values)
        return None if row is None else row[0]

    def version(self) -> str | None:
        """Which version the tables are of; None if there are none."""
        if not self.driver.has_table(self.cursor, VERSION_TABLE):
            return None
        found: str | None = self.value(f"SELECT version_num FROM {VERSION_TABLE}")
        return found

    def study_names(self) -> list[str]:
        return sorted(row[0] for row in self.execute("SELECT name FROM surest_studies"))

    def find_study(self, name: str) -> StoredStudy | None:
        row = self.row("SELECT id, name, settings, seal FROM surest_studies WHERE name = ?", name)
        if row is None:
            return None
        if row[3] != seal(row[1], row[2]):
            raise StorageError(f"the database is damaged: the settings of study {name!r} are not what was written")
        return StoredStudy(*row[:3])

    def add_study(self, name: str, settings: str, labels: Sequence[str], items: Sequence[Item] = ()) -> int | None:
        insert = (
            f"INSERT INTO surest_studies (name, settings, created, seal) VALUES (?, ?, {self.driver.now}, ?) "
            "ON CONFLICT (name) DO NOTHING"
        )
        if self.execute(insert, name, settings, seal(name, settings)).rowcount != 1:
            return None
        study = int(self.value("SELECT id FROM surest_studies WHERE name = ?", name))
        self.add_arms(study, labels, 0, 0)
        rows = [(study, n, i.key, i.payload, seal(n, i.key, i.payload)) for n, i in enumerate(items)]
        self.many("INSERT INTO surest_items (study, item, key, payload, seal) VALUES (?, ?, ?, ?, ?)", rows)
        return study

    def delete_study(self, name: str) -> bool:
        study = self.value(f"SELECT id FROM surest_studies WHERE name = ?{self.driver.for_update}", name)
        if study is None:
            return False
        for table in ("arms", "items", "requests", "packs", "snapshots", "tickets", "events"):
            self.execute(f"DELETE FROM surest_{table} WHERE study = ?", study)
        return bool(self.execute("DELETE FROM surest_studies WHERE id = ?", study).rowcount)

    def study_facts(self, study: int, *, lock: bool = False) -> Facts | None:
        """The study now, in one statement. A lock comes first (SQLite has locked the whole file already)."""
        if lock and not self.driver.is_sqlite:
            self.value(f"SELECT id FROM surest_studies WHERE id = ?{self.driver.for_update}", study)
        opened = f"FROM surest_tickets{self.driver.by_open} WHERE study = s.id AND reward IS NULL"
        query = (
            f"SELECT {self.driver.now}, s.paused, (SELECT max(arm) FROM surest_arms WHERE study = s.id), "
            "(SELECT max(id) FROM surest_tickets WHERE study = s.id), "
            f"(SELECT count(*) {opened}), (SELECT count(*) {opened} AND lease <= {self.driver.now}) "
            "FROM surest_studies s WHERE s.id = ?"
        )
        row = self.row(query, study)
        if row is None:
            return None
        now, paused, arm, ticket, waits, expired = row
        return Facts(float(now), bool(paused), _after(arm), _after(ticket), int(waits), int(expired))

    def set_paused(self, study: int, paused: bool) -> None:
        self.execute("UPDATE surest_studies SET paused = ? WHERE id = ?", int(paused), study)

    def add_arms(self, study: int, labels: Sequence[str], first: int, added_at: int) -> None:
        rows = [(study, arm, label, added_at, seal(arm, label, added_at)) for arm, label in enumerate(labels, first)]
        self.many("INSERT INTO surest_arms (study, arm, label, added_at, seal) VALUES (?, ?, ?, ?, ?)", rows)

    def read_arms(self, study: int) -> list[Arm]:
        rows = self.execute("SELECT arm, label, added_at, seal FROM surest_arms WHERE study = ? ORDER BY arm", study)
        found = []
        for place, (arm, label, added_at, check) in enumerate(rows):
            if arm != place or check != seal(arm, label, added_at):
                raise StorageError(f"the study's log is damaged: arm {place} is not what was written")
            found.append(Arm(label, added_at))
        return found

    def read_items(self, study: int) -> list[Item]:
        rows = self.execute("SELECT item, key, payload, seal FROM surest_items WHERE study = ? ORDER BY item", study)
        found = []
        for place, (item, key, payload, check) in enumerate(rows):
            if item != place or check != seal(item, key, payload):
                raise StorageError(f"the study's log is damaged: item {place} is not what was written")
            found.append(Item(key, payload))
        return found

    def write_request(self, study: int, request: Recorded) -> None:
        row = (request.first, request.total, request.statistic, request.runs)
        insert = "INSERT INTO surest_requests (study, first, total, statistic, runs, seal) VALUES (?, ?, ?, ?, ?, ?)"
        self.execute(insert, study, *row, seal(*row))

    def read_requests(self, study: int, first: int | None = 0) -> list[Recorded]:
        query = "SELECT first, total, statistic, runs, seal FROM surest_requests WHERE study = ?"
        if first is None:
            return [_recorded(row) for row in self.execute(f"{query} ORDER BY first DESC LIMIT 1", study)]
        return [_recorded(row) for row in self.execute(f"{query} AND first >= ? ORDER BY first", study, first)]

    def read_tickets(
        self,
        study: int,
        first: int = 0,
        end: int | None = None,
        *,
        among: Sequence[int] | None = None,
        open_by: float | None = None,
        most: int | None = None,
        hold: bool = False,
    ) -> list[StoredTicket]:
        """Tickets in order, so that no two who hold some wait for each other; every seal is checked."""
        last = ALL if end is None else end
        by, only, values = "", "", list[float]([study, first, last])
        if open_by is not None:
            by, only = self.driver.by_open, " AND reward IS NULL AND lease <= ?"
            values.append(open_by)
        query = f"SELECT {TICKET}, seal FROM surest_tickets{by} WHERE study = ? AND id >= ? AND id < ?{only}"
        tail = " ORDER BY id" + ("" if most is None else f" LIMIT {most:d}")
        if hold:
            tail += self.driver.for_update + (self.driver.skip_locked if open_by is not None else "")
        if among is None:
            rows = self.execute(query + tail, *values).fetchall()
            expected = range(first, first + len(rows))
            if open_by is None and any(row[0] != number for row, number in zip(rows, expected, strict=True)):
                raise StorageError(
                    f"the study's log is damaged: some of the tickets from {first} on are gone. Restore a backup"
                )
        else:
            numbers, rows = sorted({*among}), []
            for start in range(0, len(numbers), PORTION):
                few = numbers[start : start + PORTION]
                chosen = f"{query} AND id IN ({','.join('?' * len(few))})"
                rows += self.execute(chosen + tail, *values, *few).fetchall()
        _check_seals([row for row in rows if row[3] is not None])
        return [StoredTicket(*row[:-1]) for row in rows]

    def add_tickets(self, study: int, tickets: Sequence[StoredTicket]) -> None:
        insert = f"INSERT INTO surest_tickets (study, {TICKET}, seal) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        rows = zip(tickets, _seals(tickets), strict=True)
        self.many(
            insert,
            [
                (
                    study,
                    t.number,
                    t.arm,
                    t.item,
                    t.reward,
                    t.lease,
                    t.attempts,
                    t.failures,
                    t.worker,
                    t.told,
                    t.cost,
                    check,
                )
                for t, check in rows
            ],
        )

    def lease_tickets(self, study: int, numbers: Sequence[int], until: float, worker: str | None = None) -> None:
        taken = "" if worker is None else ", attempts = attempts + 1, worker = ?"
        update = f"UPDATE surest_tickets SET lease = ?{taken} WHERE study = ? AND id = ? AND reward IS NULL"
        who = () if worker is None else (worker,)
        self.many(update, [(until, *who, study, number) for number in sorted(numbers)])

    def write_rewards(self, study: int, told: Sequence[StoredTicket]) -> None:
        """Write rewards, each with its seal, and who told them."""
        now = self.driver.now
        what = f"reward = ?, cost = ?, seal = ?, worker = ?, told = {now}"
        update = f"UPDATE surest_tickets SET {what} WHERE study = ? AND id = ?"
        ordered = sorted(told, key=lambda ticket: ticket.number)
        rows = zip(ordered, _seals(ordered), strict=True)
        self.many(update, [(t.reward, t.cost, check, t.worker, study, t.number) for t, check in rows])

    def write_events(self, study: int, events: Sequence[Event]) -> None:
        insert = "INSERT INTO surest_events (study, ticket, arm, kind, reason, worker, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        self.many(insert, [(study, *astuple(replace(event, reason=storable_reason(event.reason)))) for event in events])
        failed = [(study, event.ticket) for event in events if event.kind not in NO_FAILURES]
        self.many("UPDATE surest_tickets SET failures = failures + 1 WHERE study = ? AND id = ?", failed)

    def read_events(self, study: int, first: int = 0, end: int | None = None) -> list[Event]:
        columns = "ticket, arm, kind, reason, worker, at"
        query = f"SELECT {columns} FROM surest_events WHERE study = ? ORDER BY id LIMIT ? OFFSET ?"
        return [Event(*row) for row in self.execute(query, study, (ALL if end is None else end) - first, first)]

    def count_events(self, study: int) -> list[Counted]:
        query = (
            "SELECT c.arm, c.kind, c.times, e.reason FROM (SELECT arm, kind, count(*) AS times, "
            "max(CASE WHEN reason <> '' THEN id END) AS last FROM surest_events WHERE study = ? GROUP BY arm, kind) c "
            "LEFT JOIN surest_events e ON e.id = c.last ORDER BY c.last"
        )
        return [Counted(arm, kind, times, reason or "") for arm, kind, times, reason in self.execute(query, study)]


def _after(last: Any) -> int:
    return 0 if last is None else int(last) + 1


def _recorded(row: Sequence[Any]) -> Recorded:
    if row[4] != seal(*row[:4]):
        raise StorageError(f"the study's log is damaged: the request at ticket {row[0]} is not what was written")
    return Recorded(*row[:4])


def _seals(tickets: Sequence[StoredTicket]) -> list[int | None]:
    """Seals of tickets; None without a reward. A study has items for all of its tickets or for none."""
    told = [ticket for ticket in tickets if ticket.reward is not None]
    if not told:
        return [None] * len(tickets)
    items = None if told[0].item is None else np.array([ticket.item for ticket in told])
    found = iter(
        reward_seals(
            np.array([ticket.number for ticket in told]),
            np.array([ticket.arm for ticket in told], np.int64),
            np.array([ticket.reward for ticket in told], np.float64),
            items,
            np.array([np.nan if ticket.cost is None else ticket.cost for ticket in told]),
        ).tolist()
    )
    return [None if ticket.reward is None else next(found) for ticket in tickets]


def _check_seals(rows: Sequence[Sequence[Any]]) -> None:
    """Check told tickets, all at once."""
    if not rows:
        return
    numbers, arms, items, rewards, *_, costs, seals = zip(*rows, strict=True)
    try:
        places = None if items[0] is None else np.array(items, np.int64)
        known = np.array([np.nan if cost is None else cost for cost in costs], float)
        found = reward_seals(
            np.array(numbers, np.int64), np.array(arms, np.int64), np.array(rewards, float), places, known
        )
        whole = np.array_equal(np.array(seals, np.int64), found)
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise StorageError(
            f"the study's log is damaged: a reward of tickets {numbers[0]} to {numbers[-1]} is not what was written. "
            "Restore a backup"
        )
