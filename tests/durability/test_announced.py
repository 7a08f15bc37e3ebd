"""Studies whose algorithm plans ahead for many workers: other versions wrote the log."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from surest.algorithms import REGISTRY
from surest.algorithms.questions import wager_top
from surest.algorithms.wager import sampling, wager
from surest.errors import TranscriptError
from surest.search.session import Ticket
from surest.study import following
from surest.study.study import Study, open_study
from surest.study.transfer import import_study

MEANS = (0.3, 0.5, 0.8)


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


def said(study: Study) -> str:
    return json.dumps({**study.status().to_dict(), "per_second": 0, "seconds_left": 0})


def outcome(study: Study) -> tuple[object, ...]:
    result = study.result()
    return result.chosen, result.certified, result.pulls_per_arm.tolist(), result.achieved_delta


def ended_with_tickets_out(storage: str, **asked: object) -> Study:
    study = open_study(storage, "s", 3, 0.05, workers=8, seed=5, **asked)
    while not study.finished:
        held = study.ask(1) if study.status().told > 8 else []
        go_on(study, 100)
        tell(study, held)
    return study


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
        ended = ended_with_tickets_out(storage, **asked)
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
    assert (study.finished, study.result().certified, study.session().finished, study.ask(100)) == (
        True,
        True,
        True,
        [],
    )
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


def left_of(study: Study) -> int:
    """What the current request lacks, counted ticket by ticket."""
    request, tickets = study.running.request, study.export()["tickets"]
    if request is None:
        return 0
    left = request.total
    for arm, times in zip(request.arms.tolist(), request.times.tolist(), strict=True):
        begin = int(study.running.pulls_per_arm[arm])
        queue = [reward for which, reward, *_ in tickets if which == arm]
        left -= sum(reward is not None for reward in queue[begin : begin + times])
    return left


def test_what_a_request_lacks_is_counted_arm_by_arm(storage: str) -> None:
    study = open_study(storage, "s", 3, 0.05, workers=8, seed=5)
    while not study.finished:
        held = study.ask(1)
        go_on(study, 6)
        held += study.ask(1)
        assert said(study) == said(open_study(storage, "s"))
        assert study.status().request_left == left_of(open_study(storage, "s"))
        tell(study, held)
    assert study.status().told > study.result().pulls


def test_an_ask_that_must_wait_needs_no_replay(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(open_study(storage, "s", 3, 0.05, seed=5).ask(100)) == 6

    def refuse(*_: object) -> None:
        raise AssertionError("the log was replayed")

    monkeypatch.setattr(following.Follower, "catch_up", refuse)
    assert open_study(storage, "s").ask(1) == []
