"""A study of a million rewards is opened in seconds."""

import time
from pathlib import Path

import numpy as np
import pytest

from asking import feed
from surest.algorithms import DEFAULT
from surest.search.session import Session
from surest.study.following import requests_ahead
from surest.study.log import StoredTicket
from surest.study.study import Study, open_study


def grow_to(study: Study, rewards: int, means: list[float]) -> int:
    """Write a log of at least so many rewards, as asking and telling would, but in bulk; how many it has."""
    session: Session = study.settings.session(list(study.labels))
    rng = np.random.default_rng(1)
    position, tickets = 0, []
    with study.store.writing() as log:
        while position < rewards and (request := session.running.request) is not None:
            log.write_request(study.id, requests_ahead(session)[0])
            arms = np.repeat(request.arms, request.times)
            told = (rng.random(len(arms)) < np.array(means)[arms]).astype(float)
            rows = enumerate(zip(arms.tolist(), told.tolist(), strict=True), position)
            tickets += [StoredTicket(i, arm, None, reward, worker="w", told=2.0) for i, (arm, reward) in rows]
            feed(session, told)
            position += len(arms)
        log.add_tickets(study.id, tickets)
    return position


@pytest.mark.parametrize(("rewards", "seconds"), [(50_000, 15.0), pytest.param(10**6, 60.0, marks=pytest.mark.slow)])
def test_a_long_study_is_opened_in_seconds(tmp_path: Path, rewards: int, seconds: float) -> None:
    """In seconds of CPU: what else the machine does must not matter."""
    storage = f"sqlite:///{tmp_path}/study.db"
    means = [0.5, 0.4985, 0.498, 0.4]
    told = grow_to(open_study(storage, "s", 4, 0.05, algorithm=DEFAULT, seed=1), rewards, means)
    assert told >= rewards
    began = time.process_time()
    status = open_study(storage, "s").status()
    took = time.process_time() - began
    assert status.told == told
    print(f"{told} rewards in {status.result.rounds} rounds, replayed in {took:.2f} s")
    assert [ticket.id for ticket in open_study(storage, "s").ask()] in ([], [told])
    assert took < seconds
