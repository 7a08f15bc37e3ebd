"""The contract between an algorithm and the world, checked at every exchange: what may be asked, and what is a reply."""

from typing import Any

import numpy as np

from surest.core.protocol import Atoms, Cells, FloatArray, IntArray, Pull, Reply, Request, Statistic
from surest.errors import ContractError


def check_request(request: Any, n: int, name: str, items: int | None = None, before: Request | None = None) -> Request:
    """A request as it is, refused where an algorithm on n arms (and so many items) may not make it.

    `before` is the request that was checked last: what both look ahead at is not gone through again.

    >>> check_request(Pull([0, 0], 3, Statistic.MEAN), 2, "mine")
    Traceback (most recent call last):
        ...
    surest.errors.ContractError: algorithm mine asked for Pull(arms=[0, 0], times=[3, 3], mean), which names arm 0 twice; \
a request names each arm once, with the number of its pulls
    """
    if not isinstance(request, Pull | Cells):
        raise _broken(name, request, "is not a request", "a procedure yields Pull or Cells (see surest.core.protocol)")
    wrong = _wrong_positions(request.arms, n, "arm") or (
        _wrong_pull(request) if isinstance(request, Pull) else _wrong_cells(request, items, before)
    )
    if wrong is not None:
        raise _broken(name, request, *wrong)
    if isinstance(request, Pull):
        for later in request.ahead:
            check_request(later, n, name, items)
    return request


def check_announced(before: Request, request: Request, name: str) -> None:
    """Refuse a request that breaks what the one before announced: what is announced may have been evaluated already."""
    announced = before.ahead if isinstance(before, Pull) else ()
    follows = [request, *(request.ahead if isinstance(request, Pull) else ())]
    for place, expected in enumerate(announced):
        if place == len(follows) or not expected.same_as(follows[place]):
            did = "is not" if place == 0 else "no longer announces"
            raise _broken(
                name, request, f"{did} {_short(expected)}", "the request before had announced that in `ahead`"
            )


def check_reply(request: Request, reply: Any, bandit: str) -> Reply:
    """A reply as it is, refused where it does not answer the request or has rewards outside of [0, 1]."""
    wanted: object
    if isinstance(request, Pull) and request.statistic is Statistic.ATOMS:
        if not isinstance(reply, Atoms) or len(reply.start) != len(request.arms) + 1:
            raise ContractError(
                f"{bandit} answered {_short(request)} with {_short(reply)}; the statistic 'atoms' is answered with Atoms of "
                f"{len(request.arms)} arms"
            )
        return _within(request, reply, reply.values, bandit)
    wanted = (len(request.arms), len(request.items)) if isinstance(request, Cells) else _length(request)
    if not isinstance(reply, np.ndarray) or reply.dtype != np.float64 or reply.shape != wanted:
        raise ContractError(
            f"{bandit} answered {_short(request)} with {_short(reply)}; it needs an array of float64 of shape {wanted}"
        )
    return _within(request, reply, reply, bandit)


def _within(request: Request, reply: Reply, values: FloatArray, bandit: str) -> Reply:
    if not (values.size == 1 and 0.0 <= values.item() <= 1.0) and not (values.min() >= 0.0 and values.max() <= 1.0):
        raise ContractError(
            f"{bandit} answered {_short(request)} with numbers outside of [0, 1], where rewards must lie"
        )
    return reply


def _length(request: Pull) -> tuple[int]:
    return (request.total,) if request.statistic is Statistic.REWARDS else (len(request.arms),)


def _wrong_positions(places: IntArray, n: int, what: str) -> tuple[str, str] | None:
    if places.ndim != 1 or not len(places):
        return f"names no {what}", f"a request names at least one {what}, in an array of one dimension"
    if len(places) == 1:
        first = last = int(places[0])
        rising = True
    else:
        first, last = int(places.min()), int(places.max())
        rising = bool((places[1:] > places[:-1]).all())
    if first < 0 or last >= n:
        return f"names {what} {first if first < 0 else last}", f"there are {n} {what}s, numbered 0 to {n - 1}"
    if not rising and len(np.unique(places)) < len(places):
        twice = int(places[np.flatnonzero(np.bincount(places)[places] > 1)[0]])
        how = "with the number of its pulls" if what == "arm" else "in the order in which they count"
        return f"names {what} {twice} twice", f"a request names each {what} once, {how}"
    return None


def _wrong_pull(request: Pull) -> tuple[str, str] | None:
    if not isinstance(request.statistic, Statistic):
        kinds = ", ".join(Statistic.__members__)
        return f"wants the statistic {request.statistic!r}", f"a statistic is one of Statistic.{kinds}"
    if not (request.times >= 1).all():
        return "pulls an arm less than once", "a request pulls each of its arms at least once"
    if request.statistic is Statistic.PAIRS and (request.times % 2).any():
        return (
            "wants pairs of an odd number of pulls",
            "the statistic 'pairs' needs an even number of pulls of each arm",
        )
    return None


def _wrong_cells(request: Cells, items: int | None, before: Request | None) -> tuple[str, str] | None:
    if items is None:
        return (
            "wants cells",
            "there is no list of items here: every evaluation is a fresh pull (surest.evaluate has one)",
        )
    ahead, seen = request.ahead, before.ahead.base if isinstance(before, Cells) else None
    part = (
        seen is not None and ahead.base is seen
    )  # of one list, which would be gone through once for each of its items
    if len(ahead) and not part and not (ahead.min() >= 0 and ahead.max() < items):
        return "looks ahead at items that do not exist", f"there are {items} items, numbered 0 to {items - 1}"
    return _wrong_positions(request.items, items, "item")


def _broken(name: str, request: object, did: str, allowed: str) -> ContractError:
    return ContractError(f"algorithm {name} asked for {_short(request)}, which {did}; {allowed}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:97] + "…"
