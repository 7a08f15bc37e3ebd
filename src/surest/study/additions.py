"""When the arms of a study came."""

from typing import NamedTuple

from surest.study.checks import check_there
from surest.study.study import Study


class Addition(NamedTuple):
    """Arms that came together, while a request was under way: after so many rewards, and before so many."""

    labels: tuple[str, ...]
    after: int
    before: int


def additions_of(study: Study) -> list[Addition]:
    """The arms of the beginning, and those of each addition, in order."""
    with study.store.reading() as log:
        check_there(study, log)
        arms = log.read_arms(study.id)
        firsts = [request.first for request in log.read_requests(study.id)]
    moments = sorted({arm.added_at for arm in arms})
    after = {at: max((first for first in firsts if first < at), default=0) for at in moments}
    return [Addition(tuple(arm.label for arm in arms if arm.added_at == at), after[at], at) for at in moments]
