"""A study behind a service: used like any other, from any machine, with nothing but the service's URL.

What workers do goes to the service. What needs the log, as reports and replays do, is done here on a copy of it.
"""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import msgspec

from surest.core.costs import parted
from surest.core.problem import plain
from surest.core.protocol import Answer
from surest.errors import StorageError, UnknownStudyError, UsageError
from surest.search.tickets import Ticket
from surest.study.connection import Connection, T, study_path
from surest.study.log import Count, Item, Log, plain_text
from surest.study.settings import Settings, check_opened, checked_labels, checked_settings, storable
from surest.study.study import Health, Study
from surest.study.telling import Ask, Call, Failure, Handed, Outcome, Tell
from surest.study.workers import own_name

if TYPE_CHECKING:
    from surest.core.procedure import Running
    from surest.result.data import Result
    from surest.study.outcome import Progress

IDLE_SECONDS = 1.0
"""For which a worker that has nothing else to do leaves the service waiting, instead of asking again and again."""
FRESH_SECONDS = 2.0  # for which a look at the algorithm may be used again: it takes a copy of the log
Labels = Annotated[list[str], msgspec.Meta(min_length=1)]


class Facts(msgspec.Struct):
    """What a service says of a study."""

    arms: Labels
    settings: dict[str, Any]
    items: Count
    finished: bool
    paused: bool


class Row(msgspec.Struct):
    """A ticket."""

    ticket: Count
    index: Count
    arm: str
    item_index: Count | None = None
    draw: Count | None = None


class Asked(msgspec.Struct):
    """What a service answers to who asks for tickets."""

    tickets: list[Row]
    finished: bool


class Listed(msgspec.Struct):
    """An item."""

    key: str
    payload: Any = None


class Standing(msgspec.Struct):
    """How a study stands, beside its result."""

    finished: bool
    told: Count
    out: Count
    waiting: Count
    request_left: Count
    per_second: float | None
    in_play: Count | None
    health: dict[str, dict[str, Count]]


class RemoteStore:
    """What is kept behind a service: it can be read, as a copy of one study; what is written goes another way."""

    one_machine = False

    def __init__(self, connection: Connection, name: str, named: str | None = None) -> None:
        self.connection, self.name, self.shown, self._named = connection, name, connection.shown, named

    def prepare(self, *, create: bool) -> None:
        """The service sees to that."""

    @contextmanager
    def reading(self) -> Iterator[Log]:
        """A copy of the study as it is now. Its number is always 1."""
        from surest.study.sql import MEMORY, SqlStore
        from surest.study.transfer import import_study

        copy = SqlStore(MEMORY)
        document = self.connection.get(study_path(self.name, "export"))
        import_study(copy, json.dumps(document), self.name, algorithm=self._named)
        with copy.reading() as log:
            yield log

    @contextmanager
    def writing(self) -> Iterator[Log]:
        """Not by way of the log."""
        raise StorageError(f"{self.shown} is a service; its log cannot be written from here")
        yield

    def check(self, log: Log) -> None:
        """A copy was checked when it was read."""

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


class RemoteStudy(Study):
    """A study behind a service. The one subclass there is: whatever takes a study takes this one."""

    def __init__(self, connection: Connection, name: str, named: str | None = None) -> None:
        storable(name, "a study's name")
        facts = connection.read(connection.get(study_path(name)), Facts)
        self.name, self.id, self._connection = name, 1, connection
        self.store = RemoteStore(connection, name, named)
        self.labels = tuple(facts.arms)
        self.items = tuple(self._read_items()) if facts.items else ()
        self._ended, self._empty_at = False, -1.0
        self._seen: tuple[float, Running[Answer]] | None = None
        self._begin(checked_settings(facts.settings, named))

    def _begin(self, settings: Settings) -> None:
        super()._begin(settings)
        self._ask_lock = threading.Lock()

    def _read_items(self) -> Iterator[Item]:
        for item in self._connection.field(self._get("items", dict), "items", list[Listed]):
            yield Item(item.key, None if item.payload is None else json.dumps(item.payload))

    def _get(self, what: str, form: type[T]) -> T:
        return self._connection.read(self._connection.get(study_path(self.name, what)), form)

    def _post(self, what: str, data: Any = None, **how: Any) -> Any:
        return self._connection.post(study_path(self.name, what), data, **how)

    @property
    def finished(self) -> bool:
        if not self._ended and time.monotonic() - self._empty_at > IDLE_SECONDS / 4:
            self._ended = self._get("", Facts).finished
        return self._ended

    @property
    def running(self) -> "Running[Answer]":
        """The procedure as the log has moved it, a moment ago."""
        if self._seen is None or time.monotonic() - self._seen[0] > FRESH_SECONDS:
            self._seen = time.monotonic(), super().running
        return self._seen[1]

    def _carry_out(self, calls: Sequence[Call]) -> list[Outcome]:
        """One after another: of those that are refused, why."""
        outcomes = list[Outcome]()
        for call in calls:
            try:
                outcomes.append(self._ask(call) if isinstance(call, Ask) else self._say(call))
            except UsageError as refused:
                outcomes.append(refused)
        return outcomes

    def _ask(self, call: Ask) -> Handed:
        """Tickets. If an answer gets lost on the way, its tickets come with the next one."""
        self._begin_in_child()
        with self._ask_lock:  # two lost answers at a time could not be told apart
            holders = dict(self._holders)
            data = {"k": min(call.k, 10_000), "worker": call.worker, "wait": 0.0 if holders else IDLE_SECONDS}
            held = sorted(number for number, holder in holders.items() if holder == call.worker)
            said = self._post("ask", data, wait=data["wait"], later={**data, "held": held})
            answer = self._connection.read(said, Asked)
            rows = answer.tickets
            self._holders |= {row.ticket: call.worker for row in rows}
        self._ended, self._empty_at = answer.finished, -1.0 if rows else time.monotonic()
        if any(row.index >= len(self.labels) for row in rows):
            self.labels = tuple(self._get("", Facts).arms)
        for row in rows:
            of_no_item = (row.item_index is None) if self.items else (row.item_index is not None)
            if of_no_item or row.index >= len(self.labels) or (row.item_index or 0) >= max(1, len(self.items)):
                raise self._connection.strange(f"ticket {row.ticket} names an unknown arm or item")
        tickets = [Ticket(row.ticket, row.index, row.arm, row.item_index, row.draw) for row in rows]
        return Handed(tickets, answer.finished, False)

    def _say(self, call: Tell | Failure) -> Outcome:
        """Tell rewards, or that there is none."""
        if isinstance(call, Failure):
            reason = plain_text(str(call.reason))[:10_000]
            said = {"ticket": call.ticket, "reason": reason, "kind": call.kind, "worker": call.worker}
            of = f"ticket {call.ticket}"
            stated = {} if call.reward is None else {"reward": self.scale.number(call.reward, of)}
            self._post("fail", said | stated)
        elif call.tickets:
            told = [parted(reward, f"ticket {n}") for n, reward in zip(call.tickets, call.rewards, strict=True)]
            values = [self.scale.number(each.value, f"ticket {n}") for n, each in zip(call.tickets, told, strict=True)]
            costs = [each.cost for each in told]
            known = {} if all(cost is None for cost in costs) else {"costs": costs}  # a service of old knows none
            self._post("tell", {"worker": call.worker, "tickets": list(call.tickets), "rewards": values, **known})
        return None

    def renew(self, numbers: Sequence[int], worker: str | None = None) -> list[int]:
        held = self._of_mine("renew", numbers, worker)
        self._let_go(set(numbers).difference(held))
        return held

    def give_back(self, numbers: Sequence[int], worker: str | None = None) -> list[int]:
        held = self._of_mine("return", numbers, worker)
        self._let_go(numbers)
        return held

    def _of_mine(self, what: str, numbers: Sequence[int], worker: str | None) -> list[int]:
        """The tickets of a worker, or of this process, with which something was done."""
        if not numbers:
            return []
        answer = self._post(what, {"tickets": list(numbers), "worker": worker or own_name()})
        return self._connection.field(answer, "tickets", list[Count])

    def add_arms(self, labels: Sequence[str]) -> None:
        """Add arms while the study runs. An answer that gets lost is an error: look whether they are there."""
        answer = self._post("arms", {"labels": list(checked_labels(labels))}, again=False)
        self.labels = tuple(self._connection.field(answer, "arms", list[str]))

    @property
    def paused(self) -> bool:
        return self._get("", Facts).paused

    def pause(self, paused: bool = True) -> None:
        self._post("pause" if paused else "resume")

    def status(self) -> "Progress":
        from surest.study.outcome import Progress

        raw = self._get("status", dict)
        standing = msgspec.structs.asdict(self._connection.read(raw, Standing))
        return Progress(name=self.name, result=self._result(raw), **standing)

    def health(self) -> Health:
        return self._get("status", Standing).health

    def result(self, *, history: bool = False, record: bool = False) -> "Result":
        """The verdict; before the end, the answer so far, not certified.

        On a list of items, or with `record`, it is made here, from a copy of the log.
        """
        if self.items or record:
            return super().result(history=history, record=record)
        return self._result(self._get(f"result{'?history=1' if history else ''}", dict))

    def _result(self, raw: Any) -> "Result":
        from surest.result.json import from_json

        return from_json(raw, f"what {self.store.shown} sent")


def open_remote(
    url: str, name: str, labels: tuple[str, ...] | None, listed: tuple[Item, ...], given: dict[str, Any],
    load_if_exists: bool,
) -> RemoteStudy:  # fmt: skip
    """A study behind a service; made there if there is none of that name, and its arms are known."""
    connection = Connection(url)
    try:
        found = RemoteStudy(connection, name, given.get("algorithm"))
    except UnknownStudyError as unknown:
        if labels is None:
            raise UnknownStudyError(f"{unknown}; give its arms to make it") from None
        return _made(connection, name, labels, listed, given)
    check_opened(found, given, labels, listed, load_if_exists)
    return found


def _made(
    connection: Connection, name: str, labels: tuple[str, ...], listed: tuple[Item, ...], given: dict[str, Any]
) -> RemoteStudy:
    items = [{"key": i.key, **({} if i.payload is None else {"payload": json.loads(i.payload)})} for i in listed]
    settings = {key: value for key, value in given.items() if key != "items"}
    checked_settings(settings)  # what JSON cannot say is refused here
    data = {"name": name, "arms": list(labels), "settings": settings, **({"items": items} if items else {})}
    try:
        connection.post("/api/studies", msgspec.json.encode(data, enc_hook=plain))
    except UsageError:  # somebody else may have made it meanwhile, or our own first try did
        with suppress(UnknownStudyError):
            found = RemoteStudy(connection, name)
            check_opened(found, given, labels, listed)
            return found
        raise
    return RemoteStudy(connection, name)


def list_remote(url: str) -> "list[Study]":
    """All studies of a service, by name."""
    connection = Connection(url)
    names = connection.field(connection.get("/api/studies"), "studies", list[str])
    return [RemoteStudy(connection, name) for name in names]


def delete_remote(url: str, name: str) -> None:
    """Delete a study behind a service."""
    Connection(url).call("DELETE", study_path(name), again=False)


def import_remote(url: str, document: bytes | str, name: str) -> str:
    """Put an exported study into the store of a service; its name there."""
    body = document.encode() if isinstance(document, str) else document
    connection = Connection(url)
    answer = connection.call("POST", f"/api/import?name={quote(name, safe='')}", body, again=False)
    return connection.field(answer, "name", str)
