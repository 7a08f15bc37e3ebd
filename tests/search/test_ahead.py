"""Many workers: evaluated beforehand or not, the transcript is that of one of them; they are kept busy, and waste little."""

import random
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from asking import answered, transcript
from simulated_workers import Workers
from surest import open_study
from surest.core.protocol import FloatArray
from surest.errors import TicketError
from surest.search.call import seed_of
from surest.search.desk import Desk
from surest.search.executor import keep_busy
from surest.search.session import Session, Ticket
from surest.search.tickets import SPARE
from surest.study.study import Study

MEANS = (0.4, 0.5, 0.6, 0.8)


def reward(ticket: Ticket, seed: int = 3) -> float:
    return float(np.random.default_rng(seed_of(seed, ticket)).random() < MEANS[ticket.arm])


class Drawn:
    """Each arm's rewards, in the order in which its evaluations begin; good ones take long."""

    def __init__(self, seed: int) -> None:
        self.rngs = [np.random.default_rng([seed, arm]) for arm in range(len(MEANS))]
        self.times = np.random.default_rng([seed, 9])

    def __call__(self, ticket: Ticket) -> float:
        return float(self.rngs[ticket.arm].random() < MEANS[ticket.arm])

    def timed(self, ticket: Ticket) -> tuple[float, float]:
        value = self(ticket)
        return self.times.lognormal(0, 1) * (1 + 9 * value), value


def alone(delta: float, workers: int, rewards: Callable[[Ticket], float]) -> Session:
    """The same search by one worker, who asks for one ticket after the other."""
    session = answered(Session(4, delta, workers=workers, seed=3, record=True), rewards)
    assert session.evaluations == session.running.pulls, "who works alone never evaluates ahead"
    return session


def test_idle_workers_evaluate_what_nobody_has_asked_for_and_the_transcript_is_the_same() -> None:
    """Good rewards take ten times as long, and times have heavy tails: nobody waits, and nothing is selected."""
    session, draws = Session(4, 0.05, workers=16, seed=3, record=True), Drawn(3)
    beyond = []  # evaluations under way, or waiting, that no request or announcement speaks of

    def timed(ticket: Ticket) -> tuple[float, float]:
        running = session.running
        known = sum(q.total for q in (running.request, *running.announced)) if running.request else 0
        beyond.append(session.evaluations + session.pending - running.pulls - known)
        return draws.timed(ticket)

    workers = Workers(16, timed)
    workers.work(Desk(session))
    assert workers.utilisation(0.0) == pytest.approx(1)
    assert max(beyond) > 16  # else this has tested nothing
    assert session.evaluations > session.running.pulls
    assert transcript(session.running) == transcript(alone(0.05, 16, Drawn(3)).running)


@pytest.mark.parametrize("door", [Session, partial(open_study, "memory:spare", "s")])
def test_idle_workers_go_ahead_so_far_and_no_further(door: Callable[..., Session | Study]) -> None:
    asked, told = door(2, 0.05, workers=4, seed=3), list[int]()
    slowest, *others = asked.ask(4)
    while others:  # one evaluation never comes back
        for ticket in others:
            asked.tell(ticket.id, 1.0)
            told.append(ticket.id)
        others = asked.ask(4)
        assert len(others) <= 3
    assert (asked.running.pulls, len(told)) == (0, 4 * SPARE - 1)
    asked.fail(slowest.id)
    assert asked.ask(4) == [slowest]  # it is handed out again, with its own number
    with pytest.raises(TicketError, match="was never handed out"):
        asked.tell(max(told) + 2 * 4 * SPARE, 1.0)
    with pytest.raises(TicketError, match=r"was already told 1\.0"):
        asked.tell(told[0], 0.0)
    asked.tell(slowest.id, 1.0)
    assert asked.running.pulls > 50  # what had waited counts at once


def test_a_budget_is_not_exceeded_by_what_is_evaluated_beforehand() -> None:
    session = Session(4, 0.001, workers=8, seed=3, budget=100)
    workers = Workers(8, lambda t: (1.0, reward(t, 3)))
    workers.work(Desk(session))
    assert 90 <= session.evaluations == len(workers.busy) <= 100


def test_workers_are_busy_and_few_pulls_are_added() -> None:
    """On a simulated clock: 8 workers, evaluations of 50 to 150 ms, 20 searches."""
    busy, pulls, one = [], [], []
    for seed in range(20):
        rng, rewards = np.random.default_rng(seed), Drawn(seed)
        session = Session(4, 0.05, seed=seed, **keep_busy("wager", 8, {}))
        workers = Workers(8, lambda t, rng=rng, rewards=rewards: (rng.uniform(0.05, 0.15), rewards(t)))
        workers.work(Desk(session))
        busy.append(workers.utilisation(0.3))
        pulls.append(session.running.pulls)
        one.append(answered(Session(4, 0.05, seed=seed), Drawn(seed)).running.pulls)
    assert np.mean(busy) > 0.93
    assert np.mean(pulls) < 1.15 * np.mean(one)  # the noise of 20 searches is large


# On a list of items


def table_of(arms: int, items: int, seed: int) -> FloatArray:
    """Items of various difficulty; arms from 0.2 to 0.75 in mean, the first one clear of the rest."""
    rng = np.random.default_rng(seed)
    skill = np.append(0.75, np.linspace(0.62, 0.2, arms - 1))
    ease = rng.normal(0, 0.25, items)
    return (rng.random((arms, items)) < np.clip(skill[:, None] + ease, 0, 1)).astype(float)


def raced(table: FloatArray, workers: int, seed: int) -> tuple[Session, int]:
    """A session on simulated workers, and how many evaluations they began. A good score takes longer than a bad one."""
    session, chance = Session(len(table), 0.05, items=table.shape[1], seed=seed, record=True), random.Random(seed)

    def draw(ticket: Ticket) -> tuple[float, float]:
        assert ticket.item is not None
        score = float(table[ticket.arm, ticket.item])
        return (0.1 + 0.9 * score) * (0.5 + chance.random()), score

    crew = Workers(workers, draw)
    crew.work(Desk(session))
    return session, len(crew.busy)


def test_the_course_does_not_depend_on_timing() -> None:
    table = table_of(6, 150, 1)
    alone, begun = raced(table, 1, 3)
    assert begun == alone.running.pulls, "who works alone evaluates nothing ahead"
    for workers in (8, 64):
        many, begun = raced(table, workers, 3)
        assert transcript(many.running) == transcript(alone.running)
        assert begun <= table.size


@pytest.mark.parametrize("seed", [1, 2])
def test_eight_workers_waste_little(seed: int) -> None:
    """17 arms of which most leave early: evaluations that did not count, those begun and not finished included."""
    session, begun = raced(table_of(17, 700, seed), 8, seed)
    assert session.result().certified
    assert 1 - session.running.pulls / begun < 0.05
