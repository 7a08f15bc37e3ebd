"""What users give to a study, checked: where it is, its settings as they are stored, names, labels, items, ticket numbers.

Settings hold the problem, and what becomes of evaluations that fail. They never change.
"""

import json
from collections.abc import Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from surest.core.problem import DEFAULTS, Problem, checked, labels_of, plain
from surest.errors import TicketError, UsageError
from surest.masking import masked
from surest.search.tickets import RETRIES
from surest.study.log import MOST_ARMS, Item, Log, Store, StoredTicket
from surest.text import short, shortened

if TYPE_CHECKING:
    from surest.algorithms.entry import Script
    from surest.search.session import Session
    from surest.study.study import Study

LEASE_SECONDS = 600.0


class Handling(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of tickets that do not come back."""

    lease_seconds: float = LEASE_SECONDS  # how long a worker may take before its ticket is handed out again
    on_failure: float | None = None  # the reward recorded after the last retry, if any
    retries: int = RETRIES  # how often it is retried before that


KNOWN = {*DEFAULTS, *Handling.__struct_fields__, "items"}
"""What `open_study` takes by name; other settings are the algorithm's own options."""


class Settings(msgspec.Struct, frozen=True):
    """Everything that, with the arms and the rewards, decides a study's course."""

    problem: Problem  # without labels: a study's arms are in its log
    handling: Handling
    named: str | None = None
    """The algorithm in a file that whoever opened the study named in that call; never stored. It runs only then."""

    def session(self, labels: list[str], *, record: bool = False, script: "Script" = ()) -> "Session":
        """A fresh session, before the first reward; its first requests are those of `script`, if there is one."""
        from surest.search.session import Session  # most of what is asked of a study needs none

        algorithm = self.problem.algorithm
        if ".py:" in str(algorithm):
            from surest.search.loading import permitted

            algorithm = permitted(algorithm, self.named)
        problem = msgspec.structs.replace(self.problem, labels=tuple(labels), algorithm=algorithm)
        return Session(problem, record=record, script=script)

    def text(self) -> str:
        """As stored: JSON, all settings side by side."""
        both: dict[str, Any] = msgspec.to_builtins(self.problem) | msgspec.to_builtins(self.handling)
        del both["labels"]
        return msgspec.json.encode(both).decode()

    def plain(self) -> dict[str, Any]:
        """The same as plain data."""
        found: dict[str, Any] = msgspec.json.decode(self.text())
        return found


def checked_settings(given: dict[str, Any], named: str | None = None) -> Settings:
    """Settings from what a user gave or a log holds, checked as far as that is possible without the arms.

    `named` is the algorithm that the user named in this call, if any.
    """
    options = given.get("options") or {}
    if not isinstance(options, dict):
        raise UsageError(f"options are {options!r:.60}; give names and values")
    for name, value in options.items():
        if isinstance(value, float) and not isfinite(value):  # JSON would make it null
            raise UsageError(
                f"option {name} of {given.get('algorithm', DEFAULTS['algorithm'])} is {value}; give a finite number"
            )
    checked(Problem(**{name: value for name, value in given.items() if name in DEFAULTS and value is not None}))
    try:
        # By way of JSON, so that what is used now is what will be read later, to the last digit.
        stored = msgspec.json.decode(msgspec.json.encode(given, enc_hook=_storable))
        handling = {name: stored.pop(name) for name in Handling.__struct_fields__ if name in stored}
        problem = checked(msgspec.convert(stored, Problem))
        settings = Settings(problem, msgspec.convert(handling, Handling), named if ".py:" in str(named) else None)
    except (msgspec.MsgspecError, TypeError, OverflowError, RecursionError, UnicodeEncodeError) as error:
        raise UsageError(_refusal(given, str(error))) from None
    how = settings.handling
    if not 0 < how.lease_seconds < inf:
        raise UsageError(f"lease_seconds is {how.lease_seconds}; a worker needs a positive number of seconds")
    if how.retries < 0:
        raise UsageError(f"retries is {how.retries}; it must be 0 or more")
    if how.on_failure is not None:
        problem.scale.number(how.on_failure, "on_failure")
    return settings


def _refusal(given: dict[str, Any], error: str) -> str:
    """Which setting is wrong, and how: the values of the others are of no use in a message."""
    said, _, at = error.partition(" - at `$.")
    name = at.partition("`")[0].partition(".")[0].partition("[")[0]
    if name not in given:
        return f"these settings cannot be stored: {error[:200]}"
    return f"setting {name} is {given[name]!r:.60}: {said[:1].lower()}{said[1:200]}"


def _storable(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    if callable(value):
        raise UsageError(
            f"{value!r:.60} cannot be stored: a study must find its algorithm again in another process. Put the function into "
            "a file, and give algorithm='file.py:function'"
        )
    if plain(value) is not value:
        return plain(value)
    raise TypeError(f"{value!r} cannot be stored")


def checked_labels(arms: int | Sequence[str]) -> tuple[str, ...]:
    """Labels from a number of arms or their labels."""
    if isinstance(arms, int | np.integer) and not isinstance(arms, bool) and 1 <= arms <= MOST_ARMS:
        return tuple(str(i) for i in range(int(arms)))
    if isinstance(arms, str) or not isinstance(arms, Sequence | np.ndarray) or len(arms) == 0:
        raise UsageError(f"arms are {short(arms)}; give their number, at least 1, or a list of their labels")
    for label in arms:
        storable(str(label), "an arm's label")
    return labels_of([str(label) for label in arms])


def checked_items(items: int | Sequence[Any] | None) -> tuple[Item, ...]:
    """Items from their number, their keys, or pairs of a key and what evaluations need to know (anything that JSON can say)."""
    if items is None:
        return ()
    if isinstance(items, int | np.integer) and not isinstance(items, bool) and 1 <= items <= MOST_ARMS:
        return tuple(Item(str(i)) for i in range(int(items)))
    if isinstance(items, str) or not isinstance(items, Sequence | np.ndarray) or len(items) == 0:
        raise UsageError(f"items are {short(items)}; give their number, at least 1, or a list of their keys")
    found = list[Item]()
    for given in items:
        try:
            key, payload = given if isinstance(given, tuple) else (given, None)
            found.append(Item(str(key), None if payload is None else json.dumps(payload, allow_nan=False)))
        except (TypeError, ValueError) as error:
            raise UsageError(f"item {short(given)}: {error}; give a key, or a key and what JSON can say") from None
        storable(found[-1].key, "an item's key")
    if len({item.key for item in found}) < len(found):
        raise UsageError("two items have the same key; keys must differ")
    return tuple(found)


STORAGE = "sqlite:///surest.db"  # where studies are, if nothing else is said
SERVICES = ("http://", "https://")
_in_memory: dict[str, Store] = {}


def is_service(storage: object) -> bool:
    """Whether a storage is the URL of a service."""
    return isinstance(storage, str) and storage.lower().startswith(SERVICES)


def store_of(storage: str | Store) -> Store:
    """The store that a URL names, or the object that was given.

    ``memory:`` is a store of this process, gone with it; ``memory:name`` is another one.

    >>> store_of("sqlite:///studies.db").shown, store_of("memory:") is store_of("memory:")
    ('sqlite:///studies.db', True)
    """
    if isinstance(storage, str):
        from surest.study.sql import MEMORY, SqlStore  # a service needs none

        if storage.startswith(MEMORY) and storage not in _in_memory:
            _in_memory[storage] = SqlStore(storage)
        return _in_memory.get(storage) or SqlStore(storage)
    if all(hasattr(storage, name) for name in ("prepare", "reading", "writing", "check", "close")):
        return storage
    raise UsageError(
        f"storage is {masked(repr(storage)[:100])}; give a URL (sqlite:///file.db, postgresql://user@host/name, memory:) or a "
        "store, as surest.study.log.Store describes it"
    )


def storable(text: str, what: str) -> None:
    """Refuse text that a database cannot keep, a person cannot see, or a line of output cannot hold."""
    lone = isinstance(text, str) and not text.isascii() and any("\ud800" <= mark <= "\udfff" for mark in text[:500])
    if not isinstance(text, str) or not text.strip() or len(text) > 500 or lone:
        raise UsageError(f"{what} is {short(text)}; it must be text of 1 to 500 characters")
    if any(mark in text for mark in "\x00\n\r"):
        raise UsageError(f"{what} is {short(text)}; it must be one line of text, without NUL")


def checked_number(ticket: Any) -> int:
    """A ticket's number."""
    if isinstance(ticket, int | np.integer) and 0 <= int(ticket) < 2**63:
        return int(ticket)
    raise never(ticket)


def never(ticket: Any) -> TicketError:
    """What to say of a ticket that nobody knows."""
    return TicketError(f"ticket {short(ticket)} was never handed out; tell the ids that ask() gave")


def check_holder(ticket: StoredTicket, who: str, reason: str) -> None:
    """Refuse a failure of a ticket that was told, or that another worker has now."""
    if ticket.reward is not None:
        raise TicketError(f"ticket {ticket.number} was already told {ticket.reward}; it cannot fail now ({reason})")
    if who != ticket.worker:
        raise TicketError(
            f"ticket {ticket.number} is with worker {ticket.worker!r} now, not with {who!r}: only who holds a ticket can fail "
            "it. Nothing was changed. If that is you, say so: worker=, or --worker"
        )


def some(names: Sequence[str]) -> str:
    """The first few of many names. In a damaged database one may not even be a text."""
    return ", ".join(map(str, names[:5])) + (f", … ({len(names)} in all)" if len(names) > 5 else "")


def unknown_study(store: Store, name: str, log: Log) -> str:
    """What to say of an unknown study."""
    there = log.study_names()
    return f"there is no study {name!r} in {store.shown} ({f'there are {some(there)}' if there else 'it holds none'})"


def _unlike(one: Any, other: Any) -> str:
    """A setting, of several options those that another one does not have."""
    if isinstance(one, dict) and isinstance(other, dict):
        one = {name: value for name, value in one.items() if name not in other or other[name] != value}
    return shortened(repr(one), 80)


def check_opened(
    study: "Study", given: dict[str, Any], labels: tuple[str, ...] | None, listed: tuple[Item, ...],
    load_if_exists: bool = True,
) -> None:  # fmt: skip
    """Refuse to open a study that was to be made, and what is said otherwise than when it was."""
    if not load_if_exists:
        raise UsageError(
            f"there is already a study {study.name!r} in {study.store.shown}; open it with load_if_exists=True"
        )
    kept = study.settings.plain()
    asked = checked_settings({**kept, **given}).plain()
    apart = [(key, kept[key], asked[key]) for key in given if asked[key] != kept[key]]
    differ = ", ".join(f"{key} {_unlike(old, new)}, not {_unlike(new, old)}" for key, old, new in apart)
    if labels is not None and labels != study.labels[: len(labels)]:
        differ += f"{', ' if differ else ''}arms {some(study.labels)}, not {some(labels)}"
    if listed and listed != study.items:
        there, others = [item.key for item in study.items], [item.key for item in listed]
        differ += f"{', ' if differ else ''}items {some(there) or 'none'}, not {some(others)}"
    if differ:
        raise UsageError(
            f"study {study.name!r} was made with {differ}; leave these out, or give the study another name"
        )
