"""Many calls in one transaction: what is refused, fails or is given up touches nobody else."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

import surest
from surest.errors import RewardError, StorageError, TicketError
from surest.server.limits import Limits
from surest.server.studies import Studies
from surest.study.memory import MemoryStore
from surest.study.sql import SqlStore
from surest.study.telling import Ask, Failure, Handed, Tell, carry_out


def opened(**settings: object) -> tuple[SqlStore, surest.Study]:
    store = MemoryStore()
    given = {"algorithm": "naive-best-arm", "seed": 1, **settings}
    return store, surest.open_study(store, "s", ["a", "b"], 0.1, **given)


def test_what_is_refused_leaves_the_others_alone() -> None:
    _store, study = opened()
    study.ask(4, "ann")
    calls = [Tell([0], [0.5]), Tell([0], [0.6]), Tell([0], [0.5]), Tell([1, 99], [0.5, 0.5]), Tell([1], [7])]
    calls += [Failure(2, "no", None, "failed", "bob"), Failure(3, "no", None, "failed", "ann")]
    calls += [Tell([2], [1.0]), Ask(1, "bob")]
    outcomes = carry_out(study, calls)
    kinds = [type(outcome) for outcome in outcomes]
    none = type(None)
    assert kinds == [int, TicketError, int, TicketError, RewardError, TicketError, none, int, Handed]
    assert (outcomes[0], outcomes[2], outcomes[7]) == (1, 0, 1), "how many rewards were new"
    handed = outcomes[-1]
    assert isinstance(handed, Handed)
    assert [ticket.id for ticket in handed.tickets] == [3], "what failed in the same transaction is handed out again"
    assert [ticket[1] for ticket in study.export()["tickets"]] == [0.5, None, 1.0, None]
    assert study.health() == {"a": {"failed": 1, "retried": 1}}


def run(store: SqlStore, work: Callable[[Studies], Awaitable[None]]) -> None:
    async def main() -> None:
        studies = Studies(store, Limits())
        await work(studies)
        studies.close()

    asyncio.run(main())


def test_rewards_are_written_though_the_algorithm_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    store, study = opened()
    study.ask(2, "ann")

    async def work(studies: Studies) -> None:
        served, desk = await studies.of("s").opened(), studies.of("s").desk
        await desk.submit(Tell([0], [0.5]))

        def broken(*_: object) -> None:
            raise StorageError("the log does not replay")

        served.finished  # noqa: B018  (it has a follower now)
        monkeypatch.setattr(served._follower, "hand_out", broken)
        told, asked = await asyncio.gather(desk.submit(Tell([1], [0.5])), desk.ask(1, "bob"), return_exceptions=True)
        assert told == 1
        assert isinstance(asked, StorageError)

    run(store, work)
    assert study.status().told == 2


def test_who_leaves_while_being_served_gives_its_tickets_back() -> None:
    store, study = opened(lease_seconds=3600)

    async def work(studies: Studies) -> None:
        await studies.of("s").opened()
        asked = asyncio.ensure_future(studies.of("s").desk.ask(3, "gone"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # it is being carried out
        asked.cancel()
        handed = await studies.of("s").desk.ask(3, "bob")
        while [ticket.id for ticket in handed.tickets] != [0, 1, 2]:
            assert not {0, 1, 2} & {ticket.id for ticket in handed.tickets}
            handed = await studies.of("s").desk.ask(3, "bob")

    run(store, work)
    assert {ticket[3] for ticket in study.export()["tickets"][:3]} == {"bob"}


def test_those_who_wait_are_let_go_when_the_service_ends() -> None:
    store, study = opened()
    study.pause()

    async def work(studies: Studies) -> None:
        asked = asyncio.ensure_future(studies.of("s").desk.ask(1, "ann", wait=600))
        while not studies.of("s").desk.waiting:
            await asyncio.sleep(0.01)
        studies.close()
        handed = await asyncio.wait_for(asked, 30)
        assert (handed.tickets, handed.paused) == ([], True)

    run(store, work)


def test_names_that_there_are_not_take_no_memory() -> None:
    store, _ = opened()

    async def work(studies: Studies) -> None:
        for number in range(3 * studies.limits.studies):
            with pytest.raises(surest.SurestError):
                await studies.of(f"none {number}").desk.ask(1, "ann")
        assert len(studies.served) <= 1

    run(store, work)
