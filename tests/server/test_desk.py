"""Many calls in one transaction: what is refused, fails or is given up touches nobody else."""

import asyncio
from collections.abc import Iterator

import pytest

import surest
from surest.errors import StorageError
from surest.server.limits import Limits
from surest.server.studies import Studies
from surest.study.memory import MemoryStore
from surest.study.sql import SqlStore
from surest.study.telling import Ask, Tell

pytestmark = pytest.mark.anyio


def opened(**settings: object) -> tuple[SqlStore, surest.Study]:
    store = MemoryStore()
    given = {"algorithm": "naive-best-arm", "seed": 1, **settings}
    return store, surest.open_study(store, "s", ["a", "b"], 0.1, **given)


@pytest.fixture
def served() -> Iterator[tuple[Studies, surest.Study]]:
    """A study as a service has it, and as anybody else has it."""
    store, study = opened(lease_seconds=3600)
    studies = Studies(store, Limits())
    yield studies, study
    studies.close()


async def test_rewards_are_written_though_the_algorithm_fails(
    served: tuple[Studies, surest.Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    studies, study = served
    study.ask(2, "ann")
    here, desk = await studies.of("s").opened(), studies.of("s").desk
    await desk.submit(Tell([0], [0.5]))

    def broken(*_: object) -> None:
        raise StorageError("the log does not replay")

    here.finished  # noqa: B018  (it has a follower now)
    monkeypatch.setattr(here._follower, "hand_out", broken)
    told, asked = await asyncio.gather(
        desk.submit(Tell([1], [0.5])), desk.submit(Ask(1, "bob")), return_exceptions=True
    )
    assert told == 1
    assert isinstance(asked, StorageError)
    assert study.status().told == 2


async def test_who_leaves_while_being_served_gives_its_tickets_back(served: tuple[Studies, surest.Study]) -> None:
    studies, study = served
    await studies.of("s").opened()
    asked = studies.of("s").desk.submit(Ask(3, "gone"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # it is being carried out
    asked.cancel()
    handed = await studies.of("s").desk.submit(Ask(3, "bob"))
    while [ticket.id for ticket in handed.tickets] != [0, 1, 2]:
        assert not {0, 1, 2} & {ticket.id for ticket in handed.tickets}
        handed = await studies.of("s").desk.submit(Ask(3, "bob"))
    assert {ticket[3] for ticket in study.export()["tickets"][:3]} == {"bob"}


async def test_those_who_wait_are_let_go_when_the_service_ends(served: tuple[Studies, surest.Study]) -> None:
    studies, study = served
    study.pause()
    asked = studies.of("s").desk.submit(Ask(1, "ann"), wait=600)
    while not studies.of("s").desk.waiting:
        await asyncio.sleep(0.01)
    studies.close()
    handed = await asyncio.wait_for(asked, 30)
    assert (handed.tickets, handed.paused) == ([], True)


async def test_names_that_there_are_not_take_no_memory(served: tuple[Studies, surest.Study]) -> None:
    studies, _ = served
    for number in range(3 * studies.limits.studies):
        with pytest.raises(surest.SurestError):
            await studies.of(f"none {number}").desk.submit(Ask(1, "ann"))
    assert len(studies.served) <= 1
