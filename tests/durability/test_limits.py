"""PostgreSQL: what a stopped worker, a user without rights and crossing writers do to the others."""

import contextlib
from functools import partial
from pathlib import Path

import pytest
import support

from surest.errors import StorageError
from surest.study import sql as drivers
from surest.study.study import Study, open_study
from waiting import together, until


@pytest.fixture
def url(server: support.Server, tmp_path: Path) -> str:
    return server.database(f"{tmp_path.parent.name}-{tmp_path.name}")


def make(url: str) -> Study:
    return open_study(url, "s", 600, 0.1, algorithm="naive-best-arm", seed=1)


def asked(study: Study) -> bool:
    """Whether tickets could be had."""
    try:
        return bool(study.ask())
    except StorageError:
        return False


def test_a_worker_stopped_inside_a_transaction_blocks_nobody_for_ever(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "IDLE_SECONDS", 4.0)
    monkeypatch.setattr(drivers, "LOCK_SECONDS", 0.2)
    study, other = make(url), make(url)
    study.ask()

    def stop() -> None:
        with study.store.writing() as log:
            log.study_facts(study.id, lock=True)
            assert other.status().told == 0, "a reader waits for nobody: it would give up soon"
            with pytest.raises(StorageError, match="others have held what this call needs"):
                other.ask()
            until(lambda: asked(other), "the server ends the stopped worker's transaction")

    with pytest.raises(StorageError, match=r"gave up on it|was lost"):
        stop()
    assert study.ask(), "and it goes on itself"


def test_a_user_who_may_only_read_sees_the_status(url: str) -> None:
    import psycopg

    study = make(url)
    study.tell(study.ask()[0].id, 0.5)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS onlooker")
        connection.execute("CREATE ROLE onlooker LOGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO onlooker")
    onlooker = open_study(url.replace("surest@", "onlooker@"), "s")
    assert (onlooker.status().told, onlooker.result().pulls, len(onlooker.export()["tickets"])) == (1, 0, 1)
    with pytest.raises(StorageError, match="this user may not do that"):
        onlooker.ask()
    onlooker.close()


def test_rewards_told_in_opposite_orders_do_not_wait_for_each_other(url: str) -> None:
    study = make(url)
    tickets = study.ask(1200)
    assert len(tickets) == 1200

    def tell(order: int) -> None:
        with contextlib.closing(open_study(url, "s")) as mine:
            for _ in range(3):
                mine.tell_all(tickets[::order], [0.5] * len(tickets))

    together(*(partial(tell, order) for order in (1, -1, 1, -1)))
