"""Let recorded rewards answer a session's tickets: each reward counts once, each arm's in the order of the record."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from surest.algorithms import options_of
from surest.algorithms.wager.entry import NO_MORE as NO_MORE
from surest.core.problem import default_algorithm
from surest.core.protocol import FloatArray
from surest.evidence.pulls.apart import lead_of
from surest.evidence.pulls.digest import Digests
from surest.result.data import LEFT_OVER, Result
from surest.search.loading import entry_of
from surest.search.session import Session
from surest.search.simulate import PORTION
from surest.text import some

RECORDED_BATCH = 10
"""The minimum batch on recorded rewards. Fixed: a longer record must continue the same run, however it is looked at."""


class Feeding:
    """A session that is answered from a record, which may grow from one time to the next."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.used = [0] * len(session.running.pulls_per_arm)
        """Rewards of each arm that were counted."""
        self._waiting: dict[int, list[int]] = {}  # tickets that the record had no reward for, by arm

    def more(self, recorded: Sequence[Any]) -> None:
        """Answer tickets as far as the record goes. What counted before must stand at its beginning as it did."""
        waiting, self._waiting = self._waiting, {}
        for arm, numbers in waiting.items():
            for number in numbers:
                self._answer(number, arm, recorded[arm])
        while tickets := self.session.ask(PORTION):
            for ticket in tickets:
                self._answer(ticket.id, ticket.arm, recorded[ticket.arm])

    @property
    def missing(self) -> dict[int, int]:
        """Arms to evaluate next, and how often, in the order in which the algorithm asks; empty if it asks no more."""
        return {arm: len(numbers) for arm, numbers in self._waiting.items()}

    def _answer(self, ticket: int, arm: int, rewards: Any) -> None:
        if self.used[arm] < len(rewards):
            self.session.tell(ticket, rewards[self.used[arm]])
            self.used[arm] += 1
        else:
            self._waiting.setdefault(arm, []).append(ticket)


def feed(session: Session, recorded: Sequence[Any]) -> Feeding:
    """Answer tickets as far as the record goes. What an arm has beyond what was asked of it is there for later requests.

    The algorithm's run is a function of the arms' sequences of rewards. A longer record of the same arms therefore continues
    the same run, and looking at it now and then changes nothing.
    """
    feeding = Feeding(session)
    feeding.more(recorded)
    return feeding


def with_batch(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the batches of recorded rewards, where the algorithm has such an option and nothing else is said."""
    algorithm = settings.get("algorithm") or default_algorithm(settings)
    least = {"batch": RECORDED_BATCH} if "batch" in options_of(entry_of(algorithm)) else {}
    return {**least, **settings}


def rows_of(settings: Mapping[str, Any], rewards: Sequence[Any]) -> dict[str, list[int]]:
    """How many rewards each arm has, for an algorithm that goes on where one of them has none left; else nothing.

    >>> rows_of({}, [[0.5, 1.0], [0.5]]), rows_of({"top": 1}, [[0.5, 1.0], [0.5]])
    ({'rows': [2, 1]}, {})
    """
    algorithm = settings.get("algorithm") or default_algorithm(settings)
    heeded = "rows" in options_of(entry_of(algorithm)) and min(map(len, rewards), default=0) > 0
    return {"rows": [len(values) for values in rewards]} if heeded else {}


def without_rows(found: Result) -> Result:
    """The same result, without the option that `rows_of` made."""
    options = {name: value for name, value in found.problem.options.items() if name != "rows"}
    return replace(found, problem=msgspec.structs.replace(found.problem, options=options))


def went_on(found: Result, first: Result) -> Result:
    """A result of finished records that goes beyond the `first`, which ended where an arm had no more: it says so."""
    shown = some((f"{label!r:.60}" for label in first.wanted), 3)
    said = f"{shown} had no rows left, and the search went on with others: with more rows it is another search"
    return replace(found, reason=found.reason if found.certified else first.reason, warnings=(*found.warnings, said))


def heeding_all(found: Result, rewards: Sequence[FloatArray]) -> Result:
    """A result that is not certified against rows that were left over: neither by their evidence nor by the means of all rows.

    To certify less never makes errors more frequent. The means that are told are then those of all rows.
    """
    used = found.pulls_per_arm.tolist()
    if not found.certified or len(rewards) < 2 or sum(used) == sum(map(len, rewards)):
        return found
    scale = found.problem.scale
    units = [scale.to_unit(np.asarray(values, float)) for values in rewards]
    if not any(_contradicted(found, units, [values[k:] for values, k in zip(units, used, strict=True)])):
        return found
    return replace(
        found, certified=False, reason=LEFT_OVER, means=scale.from_unit(np.array([values.mean() for values in units])),
        verdicts=None if found.verdicts is None else (0,) * len(found.verdicts), contender_indices=None, apart=None,
        achieved_delta=None, epsilon_certified=None, intervals=None, known_differences=None, lead_bounds=None,
    )  # fmt: skip


def _contradicted(found: Result, units: list[FloatArray], left: list[FloatArray]) -> Iterator[bool]:
    """Of each comparison that the verdict makes, whether all rows, or those left over, speak against it."""
    asked, means = found.problem.question, np.array([values.mean() for values in units])
    slack = found.epsilon / found.problem.scale.width
    signs = dict(enumerate(found.verdicts or ()))
    if asked.each_arm and asked.reference is None:
        yield from (sign * (means[arm] - asked.bar) < -slack for arm, sign in signs.items())
        return
    if asked.each_arm:
        ahead = [(arm, asked.control, 0.0) for arm, sign in signs.items() if sign > 0]
        ahead += [(asked.control, arm, asked.margin) for arm, sign in signs.items() if sign < 0]
    else:  # the weakest arm chosen, and the strongest that was not
        others = np.delete(np.arange(len(means)), found.indices)
        if not len(others):
            return
        ahead = [(min(found.indices, key=means.__getitem__), int(others[means[others].argmax()]), slack)]
    digests = Digests(len(left))
    for arm, values in enumerate(left):
        digests.add(np.full(len(values), arm), values)
    for better, worse, allowed in ahead:
        yield bool(means[worse] - means[better] > allowed + 1e-12)
        yield lead_of(digests, worse, better, found.delta)().low > allowed
