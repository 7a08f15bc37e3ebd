"""Work on a study: the loop of `drivers` on a log that outlives the process.

Any number of processes may do so at a time. Whoever stops in good order gives its tickets back.
"""

import time
from collections.abc import Callable, Collection
from math import inf
from typing import Any

from surest.core.costs import Scored, parted
from surest.errors import EvaluationError, RewardError, TicketError
from surest.search import asynchronous
from surest.search.call import Work
from surest.search.desk import Failures, Hook, kind_of
from surest.search.executor import LOOK, Workers, drive
from surest.search.session import Ticket
from surest.study.study import Study
from surest.study.telling import take_over

RENEWALS = 4  # how often leases are lengthened in the time of one
MOST_AHEAD = 7  # tickets in stock for each that is asked for at a time, at most


def work_on(
    study: Study, work: Work, executor: Workers | None, *, in_flight: int, retries: int | None = None,
    on_request: Hook | None = None, on_wait: Callable[[], object] | None = None,
) -> None:  # fmt: skip
    """Keep up to `in_flight` evaluations of a study under way until it is finished. The executor stays open.

    A failed evaluation is retried as the study's settings say. Where they name no reward for a failure, it is retried so
    often (`retries`, default 3), and then the work ends with an error. Whatever ends the work before its time, what runs is
    finished and told first; only a second interrupt abandons it. `on_wait` is called while nothing can be done until others
    have told their rewards.

    >>> import tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from surest import open_study
    >>> with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
    ...     study = open_study(f"sqlite:///{folder}/studies.db", "demo", ["a", "b"], 0.1, seed=1, batch=8)
    ...     work_on(study, lambda ticket: (float, ticket.label == "b"), pool, in_flight=2)
    ...     study.result().best
    'b'
    """
    drive(StudyDesk(study, retries, on_request, on_wait), work, executor, in_flight)


async def awork_on(
    study: Study, work: Work, *, in_flight: int, retries: int | None = None, on_request: Hook | None = None
) -> None:
    """`work_on` for async functions. The database is used in the event loop: milliseconds at a time.

    >>> import asyncio, tempfile
    >>> from surest import open_study
    >>> async def judged(label):
    ...     return label == "b"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = open_study(f"sqlite:///{folder}/studies.db", "demo", ["a", "b"], 0.1, seed=1, batch=8)
    ...     asyncio.run(awork_on(study, lambda ticket: (judged, ticket.label), in_flight=8))
    ...     study.result().best
    'b'
    """
    await asynchronous.drive(StudyDesk(study, retries, on_request), work, in_flight)


class StudyDesk:
    """A study whose tickets this process evaluates, among others: what the loop needs of it.

    Rewards are written with the next ask, in one transaction. Where that takes longer than to evaluate what it gave, the next one
    takes more tickets than are needed at once: a stock, so that quick evaluations do not wait for the disk each time.
    """

    lasting = True

    def __init__(
        self, study: Study, retries: int | None = None, on_request: Hook | None = None,
        on_wait: Callable[[], object] | None = None,
    ) -> None:  # fmt: skip
        self.study, self._on_request, self._on_wait = study, on_request, on_wait
        self.failures = Failures(study.settings.problem.bounds, retries, study.settings.handling.on_failure)
        self._told: dict[int, Scored] = {}  # not written yet
        self._stock: list[Ticket] = []  # leased, and not asked for yet
        self._more, self._exchanged = 0, time.monotonic()
        self._looked = self._renewed = -inf
        take_over(study)

    @property
    def finished(self) -> bool:
        self.flush()
        return self.study.finished

    def ask(self, k: int) -> list[Ticket]:
        """Up to k tickets, leased to this process."""
        if len(self._stock) < k:
            began = time.monotonic()
            self._stock += self._exchange(k - len(self._stock) + self._more)
            taken, evaluated = time.monotonic() - began, began - self._exchanged
            self._exchanged = time.monotonic()
            self._more = min(self._more + k, MOST_AHEAD * k) if k > 1 and evaluated < taken else 0
        handed, self._stock = self._stock[:k], self._stock[k:]
        return handed

    def flush(self) -> None:
        if self._told:
            self._exchange(0)

    def _exchange(self, k: int) -> list[Ticket]:
        handed = self.study.exchange(self._told, k)
        self._told = {}  # what was not written stays, for another try at the end
        return handed

    def tell(self, ticket: Ticket, reward: Any) -> None:
        """Say what an evaluation gave. If the lease ran out, and another worker was faster, its reward counts."""
        try:
            of = f"ticket {ticket.id} (arm {ticket.label!r})"
            given, cost = parted(reward, of)
            self._told[ticket.id] = Scored(self.study.settings.problem.scale.number(given, of), cost)
        except RewardError as error:
            raise RewardError(
                f"{error}. A study's bounds are fixed when it is made. To go on with all that was told, let the arm return the "
                "nearer bound instead (--clip, for commands); wider bounds need a new study"
            ) from None

    def fail(self, ticket: Ticket, error: BaseException) -> None:
        """Retry it or raise. Where the study states a reward for failures, the log counts them, those of others too."""
        try:
            self.study.fail(ticket.id, str(error), kind=kind_of(error))
        except TicketError:  # another worker was faster: its reward counts
            return
        if self.study.settings.handling.on_failure is None:
            try:
                item = self.study.item_of(ticket)
                self.failures.count(ticket, error, "" if item is None else f" on item {item.key!r:.80}")
            except EvaluationError as ended:
                raise EvaluationError(
                    f"{ended}. What was told is kept: fix the arm and call again. on_failure is fixed when a study is made"
                ) from error

    def look(self) -> None:
        """Let the hook look at the run now and then: its state comes from the database."""
        if self._on_request is not None and time.monotonic() - self._looked >= LOOK:
            self._on_request(self.study.running)
            self._looked = time.monotonic()

    def keep(self, tickets: Collection[Ticket]) -> None:
        if time.monotonic() - self._renewed >= self.study.lease_seconds / RENEWALS:
            self.study.renew([ticket.id for ticket in (*tickets, *self._stock)])
            self._renewed = time.monotonic()

    def give_back(self, tickets: Collection[Ticket]) -> None:
        self.flush()
        self.study.give_back([ticket.id for ticket in (*tickets, *self._stock)])

    def wait_for_others(self) -> None:
        """The rewards that others owe are needed first."""
        self.flush()
        if self._on_wait is not None:
            self._on_wait()
