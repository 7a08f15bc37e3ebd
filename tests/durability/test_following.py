"""Logs that other versions of Wager wrote are followed: their requests are not those that Wager would make now.

`fixtures/wager-1.json` was written by the first release: 100 rewards of three arms, and a ticket that is out. From ticket 16 on
that release pulled other arms than later ones do. `wager-2.json`, 60 rewards, is of the first version with paired bets, which
pulled all arms equally often.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from surest.algorithms import REGISTRY
from surest.algorithms.questions import wager_top
from surest.algorithms.wager import sampling, wager
from surest.errors import TranscriptError, UsageError
from surest.search.session import Ticket
from surest.study import following
from surest.study.log import Recorded, StoredTicket
from surest.study.study import Study, open_study
from surest.study.transfer import import_study

MEANS = (0.3, 0.5, 0.8)
LOGS = [(Path(__file__).parent / "fixtures" / f"wager-{version}.json").read_bytes() for version in (1, 2)]


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/s.db"


def tell(study: Study, tickets: list[Ticket]) -> None:
    study.tell_all(tickets, [float(np.random.default_rng(t.id).random() < MEANS[t.arm]) for t in tickets])


def go_on(study: Study, most: int, keep: int = 0) -> None:
    """Evaluate up to so many tickets, and keep the last of them out."""
    tickets = study.ask(most)
    tell(study, tickets[: len(tickets) - keep])


def finish(*studies: Study, most: int = 7) -> None:
    for turn in range(2000):
        if studies[0].finished:
            return
        go_on(studies[turn % len(studies)], most)
    raise AssertionError("it does not end")


def outcome(study: Study) -> tuple[object, ...]:
    result = study.result()
    return result.chosen, result.certified, result.pulls_per_arm.tolist(), result.achieved_delta


def other_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (wager, wager_top):
        monkeypatch.setattr(module, "FIRST", 3)
    monkeypatch.setattr(sampling, "PORTION", 8)


def later_end(monkeypatch: pytest.MonkeyPatch) -> None:
    decided = wager.Ledger.decided.fget
    assert decided is not None
    later = property(lambda ledger: decided(ledger) and ledger.counts.sum() >= 300)
    monkeypatch.setattr(wager.Ledger, "decided", later)


@pytest.mark.parametrize("asked", [{}, {"algorithm": "wager-top", "top": 2}])
def test_a_study_that_another_version_ended_stays_ended(
    storage: str, asked: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as other:
        other_requests(other)
        ended = open_study(storage, "s", 3, 0.05, workers=8, seed=5, **asked)
        while not ended.finished:
            held = ended.ask(1) if ended.status().told > 8 else []
            go_on(ended, 100)
            tell(ended, held)
        expected, told = outcome(ended), ended.status().told
        assert told > ended.result().pulls  # some were evaluated beforehand, and not needed
    study = open_study(storage, "s")
    assert study.session().scripted
    assert (study.finished, study.ask(100), outcome(study)) == (True, [], expected)
    assert (study.status().out, study.status().told) == (0, told)
    again = open_study(storage, import_study(storage, json.dumps(study.export()), "again"))
    assert outcome(again) == expected


def test_workers_go_on_with_what_another_version_announced(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        other_requests(other)
        study = open_study(storage, "s", 3, 0.05, workers=8, seed=5, lease_seconds=0.01)
        go_on(study, 100)
        go_on(study, 100, keep=5)
        requests = study.export()["requests"]
        assert len(requests) > 3
    copy = open_study(storage, import_study(storage, json.dumps(open_study(storage, "s").export()), "copy"))
    assert copy.export()["requests"] == requests
    workers = [open_study(storage, "s") for _ in range(2)]
    finish(*workers)
    third = open_study(storage, "s")
    assert outcome(workers[0]) == outcome(workers[1]) == outcome(third)
    assert third.session().finished
    finish(copy)
    assert copy.result().best == third.result().best


@pytest.mark.parametrize("workers", [1, 8])
def test_a_log_goes_on_where_this_version_ends(storage: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        later_end(other)
        finish(open_study(storage, "s", 3, 0.05, workers=workers, seed=6), most=5)
    document = open_study(storage, "s").export()
    if workers > 1:  # there are free places that nobody needs
        assert document["requests"][-1]["first"] + document["requests"][-1]["total"] > len(document["tickets"])
    study = open_study(storage, "s")
    pulls, told = study.result().pulls, study.status().told
    assert [study.finished, study.result().certified, study.session().finished] == [True] * 3
    assert study.ask(100) == []
    assert told >= 300
    assert pulls == told if workers == 1 else pulls < 300  # one at a time, all were asked for; else some were announced
    again = open_study(storage, import_study(storage, json.dumps(study.export()), "again"))
    assert outcome(again) == outcome(study)


def test_a_log_that_goes_on_is_refused_where_requests_matter(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        later_end(other)
        finish(open_study(storage, "s", 3, 0.05, seed=5))
    monkeypatch.setitem(REGISTRY, "wager", replace(REGISTRY["wager"], any_sampling=False))
    with pytest.raises(TranscriptError, match="the log says"):
        open_study(storage, "s").result()


def test_an_ask_that_must_wait_needs_no_replay(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(open_study(storage, "s", 3, 0.05, seed=5).ask(100)) == 6

    def refuse(*_: object) -> None:
        raise AssertionError("the log was replayed")

    monkeypatch.setattr(following.Follower, "catch_up", refuse)
    assert open_study(storage, "s").ask(1) == []


def test_the_log_departs_from_what_wager_asks_now(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, "wager", replace(REGISTRY["wager"], any_sampling=False))
    with pytest.raises(UsageError, match="does not replay: ticket 0"):
        import_study(storage, LOGS[0])


@pytest.mark.parametrize("log", LOGS)
def test_two_workers_go_on_with_it_and_a_third_sees_what_they_see(storage: str, log: bytes) -> None:
    import_study(storage, log)
    workers = [open_study(storage, "old") for _ in range(2)]
    tickets = json.loads(log)["tickets"]
    told = [[value for arm, value, *_ in tickets if arm == i and value is not None] for i in range(3)]
    progress = workers[0].status()
    assert progress.told == sum(map(len, told)) in (len(tickets), len(tickets) - 1)
    assert progress.result.pulls_per_arm.tolist() == [*map(len, told)], "every recorded reward counts"
    assert progress.result.means == pytest.approx([*map(np.mean, told)])
    finish(*workers)
    third = open_study(storage, "old")
    assert outcome(workers[0]) == outcome(workers[1]) == outcome(third) == outcome(third.session())
    assert third.result().certified
    assert len(third.result(history=True).history) > 1


def test_a_request_that_leaves_arms_out_is_refused(storage: str) -> None:
    document = json.loads(LOGS[0])
    document["requests"], document["tickets"] = document["requests"][:1], document["tickets"][:4]
    document["requests"][0] |= {"total": 4, "runs": "[[0,1,2]]"}
    with pytest.raises(UsageError, match="each to be pulled at once"):
        import_study(storage, json.dumps(document))


def test_a_worker_of_the_earlier_version_may_go_on_meanwhile(storage: str) -> None:
    whole = json.loads(LOGS[0])
    begun = {**whole, "tickets": whole["tickets"][:40], "result": None}
    begun["requests"] = [request for request in whole["requests"] if request["first"] < 40]
    begun["tickets"] = whole["tickets"][: sum(request["total"] for request in begun["requests"])]
    import_study(storage, json.dumps(begun))
    study = open_study(storage, "old")
    assert study.status().told == len(begun["tickets"])
    later = whole["requests"][len(begun["requests"]) : -1]
    with study.store.writing() as log:  # what the other one writes
        for request in later:
            log.write_request(study.id, Recorded(**request))
        end = later[-1]["first"] + later[-1]["total"]
        new = list(enumerate(whole["tickets"][:end]))[len(begun["tickets"]) :]
        log.add_tickets(study.id, [StoredTicket(n, arm, None, value, told=0.0) for n, (arm, value, *_) in new])
    assert study.status().result.pulls == end == open_study(storage, "old").status().result.pulls
