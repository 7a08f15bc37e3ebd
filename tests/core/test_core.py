"""The vocabulary, simulated arms, the driver and the session."""

import numpy as np
import pytest

from surest.algorithms import start
from surest.arms.finite import bernoulli, finite_arms
from surest.core.procedure import Running
from surest.core.protocol import Answer, Procedure, Pull, Statistic, Status
from surest.errors import TicketError, TranscriptError
from surest.search.session import Session
from surest.search.simulate import replay, simulate


@pytest.mark.parametrize("statistic", list(Statistic))
def test_an_arm_gives_the_same_whatever_others_were_asked(statistic: Statistic) -> None:
    arms = finite_arms([([0, 0.5, 1], [1, 2, 3]), ([0, 1], [1, 1]), ([0.25], [1])])
    together, alone = arms.simulate(5), arms.simulate(5)
    both = together.answer(Pull([2, 0, 1], 40, statistic))
    together.answer(Pull([2, 1], 7 * 2, statistic))
    alone_first, alone_second = (alone.answer(Pull([0], times, statistic)) for times in (40, 60))
    later = together.answer(Pull([0], 60, statistic))
    if statistic is Statistic.ATOMS:
        assert later.counts.tolist() == alone_second.counts.tolist()
        assert both.counts[both.start[1] : both.start[2]].tolist() == alone_first.counts.tolist()
    else:
        assert later.tolist() == alone_second.tolist()


def test_a_transcript_replays_and_a_changed_one_is_refused() -> None:
    arms = bernoulli([0.6, 0.3, 0.2])
    done = simulate(start("naive-best-arm", 3, 0.1), arms.simulate(3), record=True)
    assert replay(start("naive-best-arm", 3, 0.1), done.transcript).arm == done.value.arm == 0
    waiting = replay(start("naive-best-arm", 3, 0.1), done.transcript[:2])
    assert waiting.same_as(done.transcript[2][0])
    with pytest.raises(TranscriptError):
        replay(start("naive-best-arm", 3, 0.01), done.transcript)


def test_rewards_count_in_the_order_in_which_they_were_asked_for() -> None:
    rng = np.random.default_rng(1)
    rewards = rng.integers(0, 2, 100_000)
    orders = []
    for shuffle in (False, True):
        session = Session(2, 0.2, algorithm="naive-best-arm", record=True)
        while not session.finished and session.running.rounds < 12:
            tickets = session.ask(64)
            if shuffle:
                rng.shuffle(tickets)
            for ticket in tickets:
                session.tell(ticket.id, float(rewards[ticket.id % 1000]) if ticket.arm else 1.0)
        orders.append([reply.tolist() for _, reply in session.running.transcript])
    assert orders[0] == orders[1]


def test_a_failed_ticket_is_handed_out_again() -> None:
    session = Session(2, 0.2, algorithm="naive-best-arm")
    first, second = session.ask(2)
    session.fail(first.id, "out of memory")
    assert session.pending == 1
    assert [ticket.id for ticket in session.ask(2)] == [first.id, second.id + 1]
    session.tell(first.id, 1)
    session.tell(first.id, 1.0)
    with pytest.raises(TicketError, match="already told"):
        session.tell(first.id, 0.5)
    with pytest.raises(TicketError, match="never handed out"):
        session.tell(10**6, 0.5)


def test_a_status_is_made_once_for_each_request() -> None:
    made: list[int] = []

    def procedure() -> Procedure[Answer]:
        for k in range(3):
            yield Pull([0, 1], 1, Statistic.REWARDS, status=lambda k=k: made.append(k) or Status(leader=k))
        return Answer(0)

    running = Running(procedure(), n=2, budget=4)
    assert running.status is running.status is not None
    assert made == [0]
    running.grow(1)  # an algorithm may say of arms that wait
    assert running.status == Status(leader=0)
    assert made == [0, 0]
    running.send(np.zeros(2))
    assert [running.status, running.status] == [Status(leader=1)] * 2
    running.send(np.zeros(2))
    assert running.spent
    assert [running.status, running.status] == [Status(leader=2)] * 2, "asked for when the budget was spent"
    assert made == [0, 0, 1, 2]
