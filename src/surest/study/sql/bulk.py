"""What is read and written of a study's log in bulk: as columns, without an object for each row."""

import zlib
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.errors import StorageError
from surest.study.log import NO_FAILURES, Event, History, Told
from surest.study.records import reward_seals
from surest.study.sql.drivers import Driver

MANY = 1000
"""Rows read at a time."""
FEW = 500
"""Ticket numbers in one statement."""


class SqlBulk:
    """Statements on a cursor in a transaction."""

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

    def read_rewards(self, study: int, first: int, end: int) -> tuple[IntArray, FloatArray]:
        """The arms and rewards of tickets first … end − 1, none missing and every seal whole."""
        query = "SELECT id, arm, reward, seal FROM surest_tickets WHERE study = ? AND id >= ? AND id < ? ORDER BY id"
        rows = self.execute(query, study, first, end)
        numbers, arms, rewards = np.empty(end - first, np.int64), np.empty(end - first, np.int64), np.empty(end - first)
        at = 0
        while portion := rows.fetchmany(MANY):
            here = slice(at, at + len(portion))
            if here.stop > len(numbers):
                break
            told = _checked(*zip(*portion, strict=True))
            numbers[here], arms[here], rewards[here] = told.numbers, told.arms, told.rewards
            at += len(portion)
        if at != end - first or not np.array_equal(numbers, np.arange(first, end)):
            raise StorageError(
                f"the study's log is damaged: some of the tickets {first} to {end - 1} are gone. Restore a backup"
            )
        return arms, rewards

    def read_told(self, study: int, first: int = 0, among: Sequence[int] = ()) -> Told:
        """The told tickets from `first` on, and those `among` earlier ones; every seal whole."""
        query = "SELECT id, arm, reward, seal, item FROM surest_tickets WHERE study = ? AND reward IS NOT NULL"
        earlier = [number for number in among if number < first]
        rows: list[tuple[Any, ...]] = []
        for start in range(0, len(earlier), FEW):
            few = earlier[start : start + FEW]
            rows += self.execute(f"{query} AND id IN ({','.join('?' * len(few))}) ORDER BY id", study, *few).fetchall()
        rows += self.execute(f"{query} AND id >= ? ORDER BY id", study, first).fetchall()
        if not rows:
            return Told(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        return _checked(*zip(*rows, strict=True))

    def read_packs(self, study: int, first: int) -> FloatArray:
        """The packed rewards from ticket `first` on, without a gap, as far as they go."""
        query = "SELECT first, rewards, seal FROM surest_packs WHERE study = ? AND first >= ? ORDER BY first"
        found, at = [np.empty(0)], first
        for start, data, check in self.execute(query, study, first):
            if not isinstance(data, bytes | memoryview) or pack_seal(start, data) != check or len(data) % 8:
                raise StorageError(
                    f"the study's log is damaged: the packed rewards from ticket {start} on are not what was written"
                )
            if start != at:
                break
            found.append(np.frombuffer(data, "<f8"))
            at += len(found[-1])
        return np.concatenate(found)

    def write_pack(self, study: int, first: int, rewards: FloatArray) -> None:
        """Keep the rewards of consecutive told tickets once more, in a form that is quickly read."""
        data = np.asarray(rewards, "<f8").tobytes()
        insert = "INSERT INTO surest_packs (study, first, rewards, seal) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        self.execute(insert, study, first, data, pack_seal(first, data))

    def packed_to(self, study: int) -> int:
        """The first ticket after the last pack."""
        query = "SELECT first + length(rewards) / 8 FROM surest_packs WHERE study = ? ORDER BY first DESC LIMIT 1"
        return int(self.value(query, study) or 0)

    def count_events(self, study: int) -> list[tuple[int, str, int]]:
        """Arm, kind, and how often; sorted."""
        query = "SELECT arm, kind, count(*) FROM surest_events WHERE study = ? GROUP BY arm, kind"
        return sorted((row[0], row[1], row[2]) for row in self.execute(query, study))

    def last_reasons(self, study: int) -> dict[int, str]:
        """What the last failure of each arm said, where it said something."""
        query = "SELECT arm, reason FROM surest_events WHERE study = ? AND kind NOT IN (?, ?, ?, ?) AND reason <> '' ORDER BY id"
        return dict(self.execute(query, study, *NO_FAILURES).fetchall())

    def read_history(self, study: int, first: int = 0) -> Iterator[Sequence[History]]:
        """The tickets from a number on, in order, a portion at a time, every reward checked."""
        columns = "id, arm, reward, seal, attempts, worker, told, failures, item"
        query = f"SELECT {columns} FROM surest_tickets WHERE study = ? AND id >= ? ORDER BY id"
        rows, at = self.cursor.connection.cursor(), first  # one of its own: others may be used meanwhile
        rows.execute(self.driver.statement(query), (study, first))
        while portion := rows.fetchmany(MANY):
            numbers, arms, rewards, seals, *more, items = zip(*portion, strict=True)
            if numbers[0] != at or numbers[-1] != at + len(portion) - 1:  # they are whole, and rise
                raise StorageError(f"the study's log is damaged: some of the tickets from {at} on are gone")
            told: tuple[tuple[Any, ...], ...] = (numbers, arms, rewards, seals, items)
            if None in rewards:
                told = tuple(zip(*(row for row in zip(*told, strict=True) if row[2] is not None), strict=True))
            if told:
                _checked(*told)
            yield list(zip(arms, rewards, *more, items, strict=True))  # type: ignore[arg-type]
            at += len(portion)
        rows.close()

    def read_events(self, study: int) -> list[Event]:
        """All events in order."""
        query = "SELECT ticket, arm, kind, reason, worker, at FROM surest_events WHERE study = ? ORDER BY id"
        return [Event(*row) for row in self.execute(query, study)]

    def write_history(self, study: int, tickets: Sequence[History], events: Sequence[Event]) -> None:
        """Put the tickets and events of an export into a new study."""
        insert = (
            "INSERT INTO surest_tickets (study, id, arm, reward, lease, attempts, worker, told, seal, failures, item) "
            "VALUES (?, ?, ?, ?, 0.0, ?, ?, ?, ?, ?, ?)"
        )
        if tickets:
            arms, rewards, attempts, workers, told, failures, items = zip(*tickets, strict=True)
            seals = [
                None if reward is None else check
                for reward, check in zip(rewards, _seals(range(len(tickets)), arms, rewards, items), strict=True)
            ]
            columns = (range(len(tickets)), arms, rewards, attempts, workers, told, seals, failures, items)
            self.many(insert, list(zip(repeat(study), *columns)))
        insert = "INSERT INTO surest_events (study, ticket, arm, kind, reason, worker, at) VALUES (?, ?, ?, ?, ?, ?, ?)"
        self.many(insert, [(study, *event) for event in events])


def pack_seal(first: int, data: bytes | memoryview) -> int:
    """The checksum of a pack."""
    return zlib.crc32(data, first & 0xFFFFFFFF)


def _seals(numbers: Any, arms: Any, rewards: Any, items: Any) -> list[int]:
    """Seals of tickets; those without a reward have some number."""
    values = np.array([0.0 if reward is None else reward for reward in rewards])
    with_items = None if items[0] is None else np.array([-1 if item is None else item for item in items])
    return reward_seals(np.array(numbers), np.array(arms, np.int64), values, with_items).tolist()  # type: ignore[no-any-return]


def _checked(
    numbers: Sequence[Any], arms: Sequence[Any], rewards: Sequence[Any], seals: Sequence[Any], items: Sequence[Any] = ()
) -> Told:
    """Told tickets as arrays, every seal checked. A study has items for all of its tickets or for none."""
    with_items = bool(items) and items[0] is not None
    try:
        ids, chosen, values = np.array(numbers, np.int64), np.array(arms, np.int64), np.array(rewards, np.float64)
        places = np.array(items, np.int64) if with_items else np.full(len(ids), -1)
        seal = reward_seals(ids, chosen, values, places if with_items else None)
        whole = np.array_equal(np.array(seals, np.int64), seal)
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise StorageError(
            f"the study's log is damaged: a reward of tickets {numbers[0]} to {numbers[-1]} is not what was written. "
            "Restore a backup"
        )
    return Told(ids, chosen, places, values)
