"""What came of a study: its result, with evidence over time or a record of all that was counted, where that is asked for."""

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from surest.result.data import Event, Result
from surest.search.cells import further
from surest.search.looks import history as history_hook
from surest.study.health import as_logged
from surest.study.log import Log

if TYPE_CHECKING:
    from surest.study.study import Study


def outcome_of(study: "Study", history: bool, record: bool) -> Result:
    """The result of a study as it stands. `history` and `record` need a replay of its log."""
    looks = history_hook()
    with study.reading(check=False) as (log, follower):
        if history or record:
            session = follower.replayed(log, record=record, on_request=looks if history else None)
        else:
            session = follower.catch_up(log)
        found = session.result(tuple(looks.points), items=[item.key for item in study.items] or None)
        found = as_logged(found, log, study.id, study.labels)
        found = replace(found, events=_events(study, log) if record else ())
    return further(found)


def events_of(study: "Study") -> tuple[Event, ...]:
    """What was retried, imputed or failed, one by one, and of which reward of its arm; on a list of items, with the item."""
    with study.store.reading() as log:
        return _events(study, log)


def _events(study: "Study", log: Log) -> tuple[Event, ...]:
    events = list(log.read_events(study.id))
    tickets = log.read_tickets(study.id) if events else []
    places, of_arm = list[int](), Counter[int]()
    for ticket in tickets:
        places.append(of_arm[ticket.arm])
        of_arm[ticket.arm] += 1
    return tuple((event.kind, places[event.ticket], event.arm, tickets[event.ticket].item) for event in events)
