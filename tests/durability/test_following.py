"""A log that an earlier version of Wager wrote is followed: its requests are not those that Wager would make now.

`fixtures/wager-1.json` was written by the first release: 100 rewards of three arms, and a ticket that is out. From ticket 16 on
that release pulled other arms than later ones do. `wager-2.json`, 60 rewards, is of the first version with paired bets, which
pulled all arms equally often.
"""

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from surest.algorithms import REGISTRY
from surest.errors import UsageError
from surest.study.study import Study, open_study
from surest.study.transfer import import_study

DOCUMENT = (Path(__file__).parent / "fixtures" / "wager-1.json").read_bytes()
LOW = {"a": 0.5, "b": 0.48, "c": 0.4}


def reward(ticket: int, label: str) -> float:
    """As when the log was written."""
    return round(LOW[label] + 0.1 * random.Random(ticket).random(), 2)


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return stored(tmp_path, DOCUMENT)


def stored(folder: Path, document: bytes) -> str:
    """The storage into which a study was imported."""
    storage = f"sqlite:///{folder}/old.db"
    import_study(storage, document)
    return storage


def go_on(study: Study, most: int) -> int:
    """Evaluate up to so many tickets."""
    tickets = study.ask(most)
    study.tell_all(tickets, [reward(ticket.id, ticket.label) for ticket in tickets])
    return len(tickets)


def test_the_log_departs_from_what_wager_asks_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, "wager", replace(REGISTRY["wager"], any_sampling=False))
    with pytest.raises(UsageError, match="does not replay: ticket 0"):
        import_study(f"sqlite:///{tmp_path}/old.db", DOCUMENT)


def test_every_recorded_reward_counts(storage: str) -> None:
    tickets = json.loads(DOCUMENT)["tickets"]
    told = [(arm, value) for arm, value, *_ in tickets if value is not None]
    progress = open_study(storage, "old").status()
    assert (progress.told, len(tickets)) == (100, 101)
    assert progress.result.pulls_per_arm.tolist() == [sum(arm == i for arm, _ in told) for i in range(3)]
    assert np.allclose(progress.result.means, [np.mean([v for arm, v in told if arm == i]) for i in range(3)])


@pytest.mark.parametrize("version", [1, 2])
def test_two_workers_go_on_with_it_and_a_third_sees_what_they_see(tmp_path: Path, version: int) -> None:
    storage = stored(tmp_path, (Path(__file__).parent / "fixtures" / f"wager-{version}.json").read_bytes())
    workers = [open_study(storage, "old") for _ in range(2)]
    turn = 0
    while not workers[0].finished:
        assert go_on(workers[turn % 2], 7) or not turn or workers[turn % 2].finished
        turn += 1
        assert turn < 1000
    third = open_study(storage, "old")
    results = [study.result() for study in (*workers, third)] + [third.session().result()]
    assert {(r.best, r.certified, r.pulls, r.achieved_delta) for r in results} == {
        ("a", True, results[0].pulls, results[0].achieved_delta)
    }
    assert len(third.result(history=True).history) > 1


def test_a_request_that_leaves_arms_out_is_refused(tmp_path: Path) -> None:
    document = json.loads(DOCUMENT)
    document["requests"], document["tickets"] = document["requests"][:1], document["tickets"][:4]
    document["requests"][0] |= {"total": 4, "runs": "[[0,1,2]]"}
    with pytest.raises(UsageError, match="each to be pulled at once"):
        import_study(f"sqlite:///{tmp_path}/old.db", json.dumps(document))
