"""What came of a study: its result, with evidence over time or a record of all that was counted, where that is asked for."""

from dataclasses import replace
from typing import TYPE_CHECKING

from surest.drivers.looks import history as history_hook
from surest.result.data import Event, Result

if TYPE_CHECKING:
    from surest.study.study import Study


def outcome_of(study: "Study", history: bool, record: bool) -> Result:
    """The result of a study as it stands. `history` and `record` need a replay of its log."""
    looks = history_hook()
    again = history or record
    session = study.session(record=record, on_request=looks if history else None) if again else study._current()
    found = session.result(tuple(looks.points), items=[item.key for item in study.items] or None)
    return replace(found, health=study.health(), events=_events(study) if record else ())


def _events(study: "Study") -> tuple[Event, ...]:
    with study.store.reading() as log:
        return tuple((event.kind, event.ticket, event.arm, None) for event in log.read_events(study.id))
