"""What users give to studies, checked: names, labels, items, ticket numbers; and values cut short for messages."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from surest.core.problem import labels_of
from surest.errors import TicketError, UnknownStudyError, UsageError
from surest.study.log import Facts, Item, Log, Store, StoredTicket
from surest.study.records import MOST_ARMS
from surest.study.settings import differences
from surest.study.workers import own_name

if TYPE_CHECKING:
    from surest.study.study import Study


def checked_labels(arms: int | Sequence[str]) -> tuple[str, ...]:
    """Labels from a number of arms or their labels.

    >>> checked_labels(3), checked_labels(["a", "b"])
    (('0', '1', '2'), ('a', 'b'))
    """
    if isinstance(arms, int | np.integer) and not isinstance(arms, bool) and 1 <= arms <= MOST_ARMS:
        return tuple(str(i) for i in range(int(arms)))
    if isinstance(arms, str) or not isinstance(arms, Sequence | np.ndarray) or len(arms) == 0:
        raise UsageError(f"arms are {short(arms)}; give their number, from 1 on, or a list of their labels")
    for label in arms:
        storable(str(label), "an arm's label")
    return labels_of([str(label) for label in arms])


def checked_items(items: int | Sequence[Any] | None) -> tuple[Item, ...]:
    """Items from their number, their keys, or pairs of a key and what evaluations need to know (anything that JSON can say).

    >>> checked_items(["q1", ("q2", {"answer": 4})])
    (Item(key='q1', payload=None), Item(key='q2', payload='{"answer": 4}'))
    """
    if items is None:
        return ()
    if isinstance(items, int | np.integer) and not isinstance(items, bool) and 1 <= items <= MOST_ARMS:
        return tuple(Item(str(i)) for i in range(int(items)))
    if isinstance(items, str) or not isinstance(items, Sequence | np.ndarray) or len(items) == 0:
        raise UsageError(f"items are {short(items)}; give their number, from 1 on, or a list of their keys")
    found = tuple(_item(item) for item in items)
    for item in found:
        storable(item.key, "an item's key")
    if len({item.key for item in found}) < len(found):
        raise UsageError("two items have the same key; keys must differ")
    return found


def _item(given: Any) -> Item:
    if not isinstance(given, tuple):
        return Item(str(given))
    try:
        key, payload = given
        return Item(str(key), None if payload is None else json.dumps(payload, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise UsageError(f"item {short(given)}: {error}; give a key, or a key and what JSON can say") from None


def storable(text: str, what: str) -> None:
    """Refuse text that a database cannot keep, a person cannot see, or a line of output cannot hold."""
    if not isinstance(text, str) or not text.strip() or len(text) > 500 or not _encodes(text):
        raise UsageError(f"{what} is {short(text)}; it must be text of 1 to 500 characters")
    if any(mark in text for mark in "\x00\n\r"):
        raise UsageError(f"{what} is {short(text)}; it must be one line of text, without NUL")


def _encodes(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def checked_number(ticket: Any) -> int:
    """A ticket's number."""
    if isinstance(ticket, int | np.integer) and 0 <= int(ticket) < 2**63:
        return int(ticket)
    raise never(ticket)


def checked_ask(k: Any, worker: str | None) -> tuple[int, str]:
    """How many tickets are asked for, and who asks: this process, unless told."""
    if not isinstance(k, int | np.integer) or k < 1:
        raise UsageError(f"asked for {k!r} tickets; ask for at least one")
    who = own_name() if worker is None else worker
    storable(who, "a worker's name")
    return int(k), who


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


def short(value: object) -> str:
    """A value for a message; a huge one cut."""
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python writes
        return f"an integer of {value.bit_length()} bits" if isinstance(value, int) else "?"
    return text if len(text) <= 60 else text[:57] + "…"


def keys_of(items: Sequence[Item]) -> str:
    """The first few of many items."""
    return some([item.key for item in items]) or "none"


def unknown_study(store: Store, name: str, log: Log | None = None) -> str:
    """What to say of a study that there is not."""
    if log is None:
        with store.reading() as log:
            return unknown_study(store, name, log)
    there = log.study_names()
    return f"there is no study {name!r} in {store.shown} ({f'there are {some(there)}' if there else 'it holds none'})"


def check_there(study: "Study", log: Log, *, lock: bool = False) -> Facts:
    """The study now. One that was deleted meanwhile is refused, even if there is another one of its name by now."""
    facts = log.study_facts(study.id, lock=lock)
    if facts is None:
        raise UnknownStudyError(unknown_study(study.store, study.name, log) + " any more")
    return facts


def check_agrees(
    study: "Study", given: dict[str, Any], labels: tuple[str, ...] | None, listed: tuple[Item, ...]
) -> None:
    """Refuse what is said otherwise than when the study was made."""
    differ = differences(given, study.settings)
    if labels is not None and labels != study.labels[: len(labels)]:
        differ += f"{', ' if differ else ''}arms {some(study.labels)}, not {some(labels)}"
    if listed and listed != study.items:
        differ += f"{', ' if differ else ''}items {keys_of(study.items)}, not {keys_of(listed)}"
    if differ:
        raise UsageError(
            f"study {study.name!r} was made with {differ}; leave these out, or give the study another name"
        )
