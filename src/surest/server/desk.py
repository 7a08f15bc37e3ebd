"""Where the workers of one study come to: whatever they say at the same moment is one transaction, and who asks may wait."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from surest.errors import UsageError
from surest.server.waiting import within
from surest.study.batch import Ask, Call, Handed, Outcome, Tell, carry_out
from surest.study.leases import give_back
from surest.study.telling import Failure

if TYPE_CHECKING:
    from surest.server.studies import Studies

LOOK_SECONDS = 1.0
"""How often those who wait are tried again: other processes may have told something, and leases run out."""
MOST = 500
"""Calls in one transaction."""


@dataclass
class Pending:
    """A call whose answer is awaited."""

    call: Call
    answer: "asyncio.Future[Outcome]"
    deadline: float = 0.0

    def waits(self, outcome: Outcome, now: float) -> bool:
        """Whether it goes on waiting: it asked for tickets, there are none now, and there is time left."""
        nothing = isinstance(outcome, Handed) and not outcome.tickets and not outcome.finished
        return nothing and self.deadline > now


class Desk:
    """One study's desk in this process."""

    def __init__(self, studies: "Studies", name: str) -> None:
        self.studies, self.name = studies, name
        self._inbox: list[Pending] = []
        self._waiting: list[Pending] = []
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """How many wait for a ticket."""
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        """Whether nobody is here."""
        return not self._inbox and not self._waiting and (self._task is None or self._task.done())

    async def ask(self, k: int, worker: str, wait: float = 0.0, held: Sequence[int] | None = None) -> Handed:
        """Up to k tickets; where there are none now, wait so many seconds for one."""
        known = None if held is None else frozenset(held)
        outcome = await self._submit(Ask(k, worker, known), time.monotonic() + wait)
        assert isinstance(outcome, Handed)
        self.studies.handed += len(outcome.tickets)
        return outcome

    async def tell(self, tickets: Sequence[int], rewards: Sequence[float], worker: str | None = None) -> None:
        """Say what evaluations gave, and who says so, if that is known. It is on disk when this returns."""
        fresh = await self._submit(Tell(tickets, rewards, worker))
        assert isinstance(fresh, int)
        self.studies.told += fresh

    async def fail(self, failure: Failure) -> None:
        """Say that an evaluation gave no reward."""
        await self._submit(failure)

    def wake(self) -> None:
        """Try those who wait again: something happened."""
        self._wake.set()

    async def _submit(self, call: Call, deadline: float = 0.0) -> Outcome:
        pending = Pending(call, asyncio.get_running_loop().create_future(), deadline)
        self._inbox.append(pending)
        self._wake.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._serve())
        return await pending.answer

    async def _serve(self) -> None:
        """Carry out what has come, all at once, as long as there is anybody."""
        while self._inbox or self._waiting:
            if not self._inbox:
                soonest = min(pending.deadline for pending in self._waiting) - time.monotonic()
                await within(self._wake, max(0.0, min(LOOK_SECONDS, soonest)))
            self._wake.clear()
            batch, self._inbox = self._inbox[:MOST], self._inbox[MOST:]
            batch, self._waiting = [*self._waiting, *batch], []
            batch = [pending for pending in batch if not pending.answer.done()]  # who has left needs no ticket
            if batch:
                await self._answer(batch)

    async def _answer(self, batch: list[Pending]) -> None:
        outcomes = await self._carried_out([pending.call for pending in batch])
        now = time.monotonic()
        for pending, outcome in zip(batch, outcomes, strict=True):
            if pending.answer.done():
                await self._take_back(pending.call, outcome)
            elif isinstance(outcome, Exception):
                pending.answer.set_exception(outcome)
            elif pending.waits(outcome, now) and not self.studies.closing.is_set():
                self._waiting.append(pending)
            else:
                pending.answer.set_result(outcome)
        if any(not isinstance(pending.call, Ask) for pending in batch) or len(self._waiting) < len(batch):
            self.studies.stirred(self.name).set()

    async def _carried_out(self, calls: list[Call]) -> Sequence[Outcome | Exception]:
        try:
            return await self.studies.with_study(self.name, carry_out, calls)
        except Exception as error:
            asks = [isinstance(call, Ask) for call in calls]
            if isinstance(error, UsageError) or not any(asks) or all(asks):
                return [error] * len(calls)
            # An algorithm that fails, or a log that cannot be replayed, must not keep rewards from being written.
            said = iter(await self._carried_out([call for call in calls if not isinstance(call, Ask)]))
            return [error if is_ask else next(said) for is_ask in asks]

    async def _take_back(self, call: Call, outcome: Any) -> None:
        """Let tickets be handed out again whose worker has left while it was served."""
        if isinstance(call, Ask) and isinstance(outcome, Handed) and outcome.tickets:
            numbers = [ticket.id for ticket in outcome.tickets]
            await self.studies.with_study(self.name, give_back, numbers, call.worker)
