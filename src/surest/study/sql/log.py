"""The log of studies in a SQL database: one statement or two for everything that a `Log` must do."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from surest.errors import StorageError
from surest.study.log import NOBODY, Arm, Item, Lease, Place, Recorded, StoredStudy, StoredTicket
from surest.study.records import reward_seals, seal
from surest.study.sql.bulk import SqlBulk
from surest.study.sql.drivers import Driver

PORTION = 500
"""Ticket numbers in one statement."""
TICKET = "id, arm, item, reward, lease, attempts, failures, worker"


class SqlLog(SqlBulk):
    """One transaction."""

    def __init__(self, cursor: Any, driver: Driver) -> None:
        super().__init__(cursor, driver)
        self._held: dict[tuple[int, int], StoredTicket] = {}  # what `read_tickets` has read

    def version(self, table: str) -> str | None:
        """Which migration the tables are of; None if there are none."""
        if not self.driver.has_version(self.cursor, table):
            return None
        found: str | None = self.value(f"SELECT version_num FROM {table}")
        return found

    def time(self) -> float:
        """The time by the one clock that all workers share: the server's, or this machine's."""
        return float(self.value(f"SELECT {self.driver.now}"))

    def study_names(self) -> list[str]:
        """All studies, sorted."""
        return sorted(row[0] for row in self.execute("SELECT name FROM surest_studies"))

    def find_study(self, name: str) -> StoredStudy | None:
        """A study by its name."""
        row = self.row("SELECT id, name, settings, seal FROM surest_studies WHERE name = ?", name)
        if row is None:
            return None
        if row[3] != seal(row[1], row[2]):
            raise StorageError(f"the database is damaged: the settings of study {name!r} are not what was written")
        return StoredStudy(*row[:3])

    def add_study(self, name: str, settings: str, labels: Sequence[str], items: Sequence[Item] = ()) -> int | None:
        """Write a new study; None if there is one of that name."""
        insert = (
            f"INSERT INTO surest_studies (name, settings, created, seal) VALUES (?, ?, {self.driver.now}, ?) "
            "ON CONFLICT (name) DO NOTHING"
        )
        if self.execute(insert, name, settings, seal(name, settings)).rowcount != 1:
            return None
        study = int(self.value("SELECT id FROM surest_studies WHERE name = ?", name))
        self.add_arms(study, labels, 0, 0)
        rows = [(study, number, *item, seal(number, *item)) for number, item in enumerate(items)]
        self.many("INSERT INTO surest_items (study, item, key, payload, seal) VALUES (?, ?, ?, ?, ?)", rows)
        return study

    def delete_study(self, name: str) -> bool:
        """Take a study and all that belongs to it away."""
        study = self.value(f"SELECT id FROM surest_studies WHERE name = ?{self.driver.for_update}", name)
        if study is None:
            return False
        for table in ("arms", "items", "requests", "packs", "snapshots", "tickets", "events"):
            self.execute(f"DELETE FROM surest_{table} WHERE study = ?", study)
        return bool(self.execute("DELETE FROM surest_studies WHERE id = ?", study).rowcount)

    def lock_study(self, study: int) -> bool:
        """Keep others from handing out its tickets (SQLite has locked the whole file already); False if it is gone."""
        return self.value(f"SELECT id FROM surest_studies WHERE id = ?{self.driver.for_update}", study) is not None

    def has_study(self, study: int) -> bool:
        """Whether it is still there."""
        return self.value("SELECT id FROM surest_studies WHERE id = ?", study) is not None

    def is_paused(self, study: int) -> bool:
        """Whether no tickets are handed out."""
        return bool(self.value("SELECT paused FROM surest_studies WHERE id = ?", study))

    def set_paused(self, study: int, paused: bool) -> None:
        """Stop handing out tickets, or go on."""
        self.execute("UPDATE surest_studies SET paused = ? WHERE id = ?", int(paused), study)

    def add_arms(self, study: int, labels: Sequence[str], first: int, added_at: int) -> None:
        """Write arms, numbered from `first` on."""
        rows = [(study, arm, label, added_at, seal(arm, label, added_at)) for arm, label in enumerate(labels, first)]
        self.many("INSERT INTO surest_arms (study, arm, label, added_at, seal) VALUES (?, ?, ?, ?, ?)", rows)

    def read_arms(self, study: int) -> list[Arm]:
        """All arms, in order."""
        rows = self.execute("SELECT arm, label, added_at, seal FROM surest_arms WHERE study = ? ORDER BY arm", study)
        found = []
        for place, (arm, label, added_at, check) in enumerate(rows):
            if arm != place or check != seal(arm, label, added_at):
                raise StorageError(f"the study's log is damaged: arm {place} is not what was written")
            found.append(Arm(label, added_at))
        return found

    def count_arms(self, study: int) -> int:
        """How many arms there are."""
        return int(self.value("SELECT count(*) FROM surest_arms WHERE study = ?", study))

    def read_items(self, study: int) -> list[Item]:
        """All items, in order."""
        rows = self.execute("SELECT item, key, payload, seal FROM surest_items WHERE study = ? ORDER BY item", study)
        found = []
        for place, (item, key, payload, check) in enumerate(rows):
            if item != place or check != seal(item, key, payload):
                raise StorageError(f"the study's log is damaged: item {place} is not what was written")
            found.append(Item(key, payload))
        return found

    def write_request(self, study: int, request: Recorded) -> None:
        """Write down what the algorithm asks."""
        row = (request.first, request.total, request.statistic, request.runs)
        insert = "INSERT INTO surest_requests (study, first, total, statistic, runs, seal) VALUES (?, ?, ?, ?, ?, ?)"
        self.execute(insert, study, *row, seal(*row))

    def last_request(self, study: int) -> Recorded | None:
        """The request that is being handed out."""
        query = "SELECT first, total, statistic, runs, seal FROM surest_requests WHERE study = ?"
        row = self.row(f"{query} ORDER BY first DESC LIMIT 1", study)
        return None if row is None else _recorded(row)

    def read_requests(self, study: int, first: int = 0) -> list[Recorded]:
        """The requests from a ticket on, in order."""
        query = "SELECT first, total, statistic, runs, seal FROM surest_requests WHERE study = ? AND first >= ?"
        return [_recorded(row) for row in self.execute(f"{query} ORDER BY first", study, first)]

    def next_ticket(self, study: int) -> int:
        """The first number that was never handed out."""
        last = self.value("SELECT max(id) FROM surest_tickets WHERE study = ?", study)
        return 0 if last is None else int(last) + 1

    def count_open(self, study: int, before: float | None = None) -> int:
        """How many tickets have no reward; with `before`, of those whose lease ran out by then."""
        query = f"SELECT count(*) FROM surest_tickets{self.driver.by_open} WHERE study = ? AND reward IS NULL AND lease <= ?"
        return int(self.value(query, study, math.inf if before is None else before))

    def open_tickets(self, study: int) -> list[StoredTicket]:
        """The tickets without a reward, in order."""
        query = (
            f"SELECT {TICKET} FROM surest_tickets{self.driver.by_open} WHERE study = ? AND reward IS NULL ORDER BY id"
        )
        return [StoredTicket(*row) for row in self.execute(query, study)]

    def read_tickets(self, study: int, numbers: Sequence[int]) -> dict[int, StoredTicket]:
        """Those tickets that there are, held until the transaction ends: in order, so that no two wait for each other."""
        ordered = sorted(set(numbers))
        found: dict[int, StoredTicket] = {}
        for start in range(0, len(ordered), PORTION):
            portion = ordered[start : start + PORTION]
            query = f"SELECT {TICKET} FROM surest_tickets WHERE study = ? AND id IN ({_marks(portion)}) ORDER BY id"
            rows = self.execute(query + self.driver.for_update, study, *portion)
            found |= {row[0]: StoredTicket(*row) for row in rows}
        self._held |= {(study, number): ticket for number, ticket in found.items()}
        return found

    def lease_fresh(self, lease: Lease, places: Sequence[Place], until: float) -> None:
        """Hand out new tickets."""
        insert = (
            "INSERT INTO surest_tickets (study, id, arm, item, lease, attempts, failures, worker) "
            "VALUES (?, ?, ?, ?, ?, 1, 0, ?)"
        )
        self.many(insert, [(lease.study, p.number, p.arm, p.item, until, lease.worker) for p in places])

    def expired(self, lease: Lease, most: int) -> list[StoredTicket]:
        """Open tickets whose lease has run out, in order, held until the transaction ends."""
        hold = self.driver.for_update + self.driver.skip_locked
        query = f"SELECT {TICKET} FROM surest_tickets{self.driver.by_open} WHERE study = ? AND reward IS NULL AND lease <= ?"
        rows = self.execute(f"{query} ORDER BY id LIMIT ?{hold}", lease.study, lease.at, most)
        return [StoredTicket(*row) for row in rows]

    def lease_again(self, lease: Lease, numbers: Sequence[int], until: float) -> None:
        """Hand out open tickets once more."""
        update = "UPDATE surest_tickets SET lease = ?, attempts = attempts + 1, worker = ? WHERE study = ? AND id = ?"
        self.many(
            f"{update} AND reward IS NULL", [(until, lease.worker, lease.study, number) for number in sorted(numbers)]
        )

    def set_leases(self, study: int, numbers: Sequence[int], until: float) -> None:
        """Let the leases of open tickets end at another time."""
        update = "UPDATE surest_tickets SET lease = ? WHERE study = ? AND id = ? AND reward IS NULL"
        self.many(update, [(until, study, number) for number in sorted(numbers)])

    def count_failure(self, study: int, number: int) -> None:
        """A ticket's evaluation failed once more."""
        self.execute("UPDATE surest_tickets SET failures = failures + 1 WHERE study = ? AND id = ?", study, number)

    def write_rewards(self, study: int, fresh: Mapping[int, float], late: Mapping[int, str] = NOBODY) -> None:
        """Write rewards, each with its seal, and who told those that another worker has."""
        if not fresh:
            return
        told = [self._held[study, number] for number in sorted(fresh)]
        numbers, values = np.array(sorted(fresh)), np.array([fresh[ticket.number] for ticket in told])
        items = None if told[0].item is None else np.array([ticket.item for ticket in told])
        seals = reward_seals(numbers, np.array([ticket.arm for ticket in told]), values, items).tolist()
        update = f"UPDATE surest_tickets SET reward = ?, seal = ?, told = {self.driver.now} WHERE study = ? AND id = ?"
        rows = zip(values.tolist(), seals, numbers.tolist(), strict=True)
        self.many(update, [(value, check, study, number) for value, check, number in rows])
        renamed = "UPDATE surest_tickets SET worker = ? WHERE study = ? AND id = ?"
        self.many(renamed, [(worker, study, number) for number, worker in sorted(late.items())])

    def read_snapshot(self, study: int, key: str) -> str | None:
        """The snapshot that was kept last, if it was kept under this key."""
        row = self.row("SELECT data, seal FROM surest_snapshots WHERE study = ? AND key = ?", study, key)
        if row is None:
            return None
        if row[1] != seal(key, row[0]):
            raise StorageError("the study's log is damaged: its snapshot is not what was written. Restore a backup")
        return str(row[0])

    def write_snapshot(self, study: int, key: str, data: str) -> None:
        """Keep a snapshot in place of the last one."""
        insert = (
            "INSERT INTO surest_snapshots (study, key, data, seal) VALUES (?, ?, ?, ?) ON CONFLICT (study) "
            "DO UPDATE SET key = excluded.key, data = excluded.data, seal = excluded.seal"
        )
        self.execute(insert, study, key, data, seal(key, data))

    def told_times(self, study: int, most: int) -> list[float]:
        """When the rewards of the last tickets came."""
        query = "SELECT told FROM surest_tickets WHERE study = ? AND told IS NOT NULL ORDER BY id DESC LIMIT ?"
        return [row[0] for row in self.execute(query, study, most)]

    def write_event(self, lease: Lease, number: int, arm: int, kind: str, reason: str) -> None:
        """Write down what happened to a ticket."""
        said = reason.replace("\x00", "�").encode(errors="replace").decode()  # no database takes these
        insert = "INSERT INTO surest_events (study, ticket, arm, kind, reason, worker, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        self.execute(insert, lease.study, number, arm, kind, said, lease.worker, lease.at)


def _recorded(row: Sequence[Any]) -> Recorded:
    if row[4] != seal(*row[:4]):
        raise StorageError(f"the study's log is damaged: the request at ticket {row[0]} is not what was written")
    return Recorded(*row[:4])


def _marks(values: Iterable[object]) -> str:
    return ",".join("?" for _ in values)
