"""What came of a study: its result, with evidence over time or a record of all that was counted, where that is asked for."""

from dataclasses import replace
from typing import TYPE_CHECKING

from surest.drivers.looks import history as history_hook
from surest.result.data import Event, Result
from surest.study.log import History

if TYPE_CHECKING:
    from surest.study.study import Study


def outcome_of(study: "Study", history: bool, record: bool) -> Result:
    """The result of a study as it stands. `history` and `record` need a replay of its log."""
    looks = history_hook()
    again = history or record
    session = study.session(record=record, on_request=looks if history else None) if again else study._current()
    found = session.result(tuple(looks.points), items=[item.key for item in study.items] or None)
    return replace(found, health=study.health(), events=events_of(study) if record else ())


def events_of(study: "Study") -> tuple[Event, ...]:
    """What was retried, imputed or failed, one by one; on a list of items, with the item."""
    with study.store.reading() as log:
        events = list(log.read_events(study.id))
        listed = bool(events and study.items)
        items = [History(*row).item for part in log.read_history(study.id) for row in part] if listed else []
    return tuple((event.kind, event.ticket, event.arm, items[event.ticket] if listed else None) for event in events)
