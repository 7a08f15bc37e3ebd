"""Many workers on a list of items: the course is that of one worker, and little is evaluated in vain."""

import random

import numpy as np
import pytest

from asking import transcript
from simulated_workers import Workers
from surest.core.protocol import FloatArray
from surest.search.desk import Desk
from surest.search.session import Session, Ticket


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
