"""The tables of a study's log, and how requests and rows are written in them.

The log is the truth: `requests` says what the algorithm asked for, `tickets` what was handed out and what came of it. A ticket
whose reward is null is open: leased until `lease`, and free to be handed out again after that. Whoever changes a table here adds
a migration; a test compares both.
"""

import json
import zlib

import numpy as np
import sqlalchemy as sa

from surest.core.protocol import FloatArray, IntArray, Pull

VERSION = "0001"
"""The migration that this code reads and writes."""
VERSION_TABLE = "surest_version"

metadata = sa.MetaData()
_Number = sa.BigInteger()
_Real: sa.Double[float] = sa.Double()

studies = sa.Table(
    "surest_studies",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("settings", sa.Text, nullable=False),  # JSON: see `study.Settings`
    sa.Column("created", _Real, nullable=False),  # seconds since 1970, as all times here
    sa.Column("seal", _Number, nullable=False),
    sqlite_autoincrement=True,  # a deleted study's number is not used again
)
arms = sa.Table(
    "surest_arms",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("arm", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("added_at", _Number, nullable=False),  # known to the algorithm from this ticket on
    sa.Column("seal", _Number, nullable=False),
    sqlite_with_rowid=False,
)
requests = sa.Table(
    "surest_requests",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("first", _Number, primary_key=True, autoincrement=False),  # its first ticket
    sa.Column("total", _Number, nullable=False),
    sa.Column("statistic", sa.Text, nullable=False),
    sa.Column("runs", sa.Text, nullable=False),  # see `runs_of`
    sa.Column("seal", _Number, nullable=False),
    sqlite_with_rowid=False,
)
tickets = sa.Table(
    "surest_tickets",
    metadata,
    sa.Column("study", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("id", _Number, primary_key=True, autoincrement=False),
    sa.Column("arm", sa.Integer, nullable=False),
    sa.Column("reward", _Real),  # as the user told it; null while the ticket is open
    sa.Column("lease", _Real, nullable=False),  # 0 once it has failed
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("worker", sa.Text, nullable=False),
    sa.Column("told", _Real),
    sa.Column("seal", _Number),
    sqlite_with_rowid=False,
)
open_tickets = sa.Index(
    "surest_open_tickets",
    tickets.c.study,
    tickets.c.id,
    sqlite_where=tickets.c.reward.is_(None),
    postgresql_where=tickets.c.reward.is_(None),
)
events = sa.Table(
    "surest_events",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("study", sa.Integer, nullable=False, index=True),
    sa.Column("ticket", _Number, nullable=False),
    sa.Column("arm", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),  # failed, timed out, expired, interrupted, retried, imputed
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("worker", sa.Text, nullable=False),
    sa.Column("at", _Real, nullable=False),
)


def runs_of(request: Pull) -> str:
    """What a request pulls, as text: runs of neighbouring arms with the same number of pulls.

    >>> from surest.core.protocol import Statistic
    >>> runs_of(Pull([0, 1, 2, 7], [5, 5, 5, 1], Statistic.MEAN))
    '[[0,2,5],[7,7,1]]'
    """
    breaks = np.flatnonzero((np.diff(request.arms) != 1) | (np.diff(request.times) != 0))
    starts, ends = np.append(0, breaks + 1), np.append(breaks, len(request.arms) - 1)
    columns = np.stack([request.arms[starts], request.arms[ends], request.times[starts]], axis=1)
    return json.dumps(columns.tolist(), separators=(",", ":"))


def arms_of(runs: str) -> tuple[IntArray, IntArray]:
    """The arms and times that `runs_of` wrote.

    >>> arms_of('[[0,2,5],[7,7,1]]')
    (array([0, 1, 2, 7]), array([5, 5, 5, 1]))
    """
    triples = np.array(json.loads(runs), dtype=np.int64).reshape(-1, 3)
    lengths = triples[:, 1] - triples[:, 0] + 1
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(triples[:, 0], lengths) + within, np.repeat(triples[:, 2], lengths)


def seal(*values: str | int | float) -> int:
    """A checksum of a row, so that damage which the database does not notice is noticed."""
    return zlib.crc32(json.dumps(values).encode())


def reward_seals(ids: IntArray, which: IntArray, rewards: FloatArray) -> IntArray:
    """The checksums of told tickets, all at once: opening a study of a million rewards checks a million of them.

    >>> reward_seals(np.array([7]), np.array([1]), np.array([0.5]))
    array([-4379060614683937279])
    """
    bits = np.asarray(rewards, np.float64).view(np.uint64)
    mixed = np.zeros(len(bits), np.uint64)
    for part in (np.asarray(ids).astype(np.uint64), np.asarray(which).astype(np.uint64), bits):
        mixed = _scrambled(mixed ^ part)
    return mixed.view(np.int64)


def _scrambled(words: np.typing.NDArray[np.uint64]) -> np.typing.NDArray[np.uint64]:
    """The finaliser of SplitMix64: each bit of the input moves every bit of the output."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
