"""How requests and rows are written down, whatever the store: runs of arms as text, and checksums."""

import json
import zlib
from typing import Annotated, Any

import msgspec
import numpy as np

from surest.core.protocol import FloatArray, IntArray, Pull
from surest.errors import StorageError

FEW = 32
"""Arms up to which plain Python is quicker than arrays."""
MOST_ARMS = 10**7
_ARM = Annotated[int, msgspec.Meta(ge=0, lt=MOST_ARMS)]
_TIMES = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]


def runs_of(request: Pull) -> str:
    """What a request pulls, as text: runs of neighbouring arms with the same number of pulls.

    >>> from surest.core.protocol import Statistic
    >>> runs_of(Pull([0, 1, 2, 7], [5, 5, 5, 1], Statistic.MEAN))
    '[[0,2,5],[7,7,1]]'
    """
    if len(request.arms) <= FEW:
        return _few_runs(request.arms.tolist(), request.times.tolist())
    breaks = np.flatnonzero((np.diff(request.arms) != 1) | (np.diff(request.times) != 0))
    starts, ends = np.append(0, breaks + 1), np.append(breaks, len(request.arms) - 1)
    columns = np.stack([request.arms[starts], request.arms[ends], request.times[starts]], axis=1)
    return json.dumps(columns.tolist(), separators=(",", ":"))


def _few_runs(arms: list[int], times: list[int]) -> str:
    """The same for few arms, in a tenth of the time: a replay does it for each request."""
    runs: list[list[int]] = []
    for arm, number in zip(arms, times, strict=True):
        if runs and runs[-1][1] == arm - 1 and runs[-1][2] == number:
            runs[-1][1] = arm
        else:
            runs.append([arm, arm, number])
    return json.dumps(runs, separators=(",", ":"))


def triples_of(runs: str, arms: int = MOST_ARMS) -> list[tuple[int, int, int]]:
    """The runs that `runs_of` wrote: first arm, last arm, pulls of each; refused where no request on so many `arms` has them.

    >>> triples_of('[[0,2,5],[7,7,1]]')
    [(0, 2, 5), (7, 7, 1)]
    """
    try:
        found = msgspec.json.decode(runs, type=list[tuple[_ARM, _ARM, _TIMES]])
    except (msgspec.MsgspecError, RecursionError):
        found = []
    named = sum(last - first + 1 for first, last, _ in found)
    wrong = any(last < first or last >= arms for first, last, _ in found) or not 1 <= named <= arms
    if wrong or sum((last - first + 1) * times for first, last, times in found) >= 2**63:
        raise StorageError(f"the study's log is damaged: {runs!r:.60} are no runs of {arms:,} arms")
    return found


def arms_of(runs: str, arms: int = MOST_ARMS) -> tuple[IntArray, IntArray]:
    """The arms and times that `runs_of` wrote.

    >>> arms_of('[[0,2,5],[7,7,1]]')
    (array([0, 1, 2, 7]), array([5, 5, 5, 1]))
    """
    triples = np.array(triples_of(runs, arms), dtype=np.int64)
    lengths = triples[:, 1] - triples[:, 0] + 1
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(triples[:, 0], lengths) + within, np.repeat(triples[:, 2], lengths)


def arms_from(which: IntArray, times: IntArray, first: int, end: int) -> IntArray:
    """The arms of the tickets first … end − 1 of a request, which may have far more.

    >>> arms_from(*arms_of("[[0,2,5]]"), 4, 7)
    array([0, 1, 1])
    """
    ends = np.cumsum(times)
    places = np.arange(first, min(end, int(ends[-1])))
    return which[np.searchsorted(ends, places, side="right")]


def seal(*values: str | int | float | None) -> int:
    """A checksum of a row, so that damage which the database does not notice is noticed."""
    return zlib.crc32(json.dumps(values).encode())


def reward_seals(
    ids: IntArray,
    which: IntArray,
    rewards: FloatArray,
    items: IntArray | None = None,
    costs: FloatArray | None = None,
) -> IntArray:
    """The checksums of told tickets, all at once: opening a study of a million rewards checks a million of them.

    `items` are those of a study on a list of items, `costs` what evaluations cost, NaN where that was not measured.

    >>> reward_seals(np.array([7]), np.array([1]), np.array([0.5]))
    array([-4379060614683937279])
    """
    bits = np.asarray(rewards, np.float64).view(np.uint64)
    mixed = np.zeros(len(bits), np.uint64)
    parts = [np.asarray(ids).astype(np.uint64), np.asarray(which).astype(np.uint64), bits]
    if items is not None:
        parts.append(np.asarray(items).astype(np.uint64))
    for part in parts:
        mixed = _scrambled(mixed ^ part)
    if costs is not None:
        mixed = np.where(np.isnan(costs), mixed, _scrambled(mixed ^ np.asarray(costs, np.float64).view(np.uint64)))
    return mixed.view(np.int64)


def _scrambled(words: np.typing.NDArray[np.uint64]) -> np.typing.NDArray[np.uint64]:
    """The finaliser of SplitMix64: each bit of the input moves every bit of the output."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def storable_reason(reason: str) -> str:
    """What was said of an event, as every database takes it: without NUL and lone surrogates."""
    return reason.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def parsed(text: str, what: str) -> Any:
    """JSON from the log."""
    try:
        return json.loads(text)
    except ValueError:
        raise StorageError(f"the database is damaged: {what} cannot be read") from None
