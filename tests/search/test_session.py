"""Ask and tell: any order of work gives the transcript of one worker; what is refused changes nothing."""

import decimal
import fractions
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from asking import transcript
from surest.errors import RewardError, TicketError
from surest.search.session import Session, Ticket

LABELS = ["a", "b", "c"]
BOUNDS = (-1.0, 3.0)
BAD = [float("nan"), float("inf"), -float("inf"), -1.01, 3.5, 10**400, "0.5", None, 1j, [1.0], np.float64("nan"), b"1"]
BAD += [np.array([0.5, 0.5]), np.datetime64("2020-01-01"), decimal.Decimal("NaN")]


ASKED: dict[str, dict[str, Any]] = {
    "wager": {"budget": 3000},
    "naive": {"algorithm": "naive-best-arm", "budget": 3000},
    "workers": {"workers": 6},
    "items": {"items": 40},
}


def reward_of(ticket: Ticket) -> float:
    """What every worker finds for a ticket: some rewards in [−1, 3], the same whoever pulls when."""
    place = ticket.id if ticket.draw is None else ticket.draw
    place = place if ticket.item is None else 7 * ticket.item + ticket.arm
    return ((place * 2654435761) % 2**32 % 9) / 2 - 1


def fresh(kind: str) -> Session:
    return Session(LABELS, 0.1, bounds=BOUNDS, seed=3, record=True, **ASKED[kind])


def sequential(kind: str, rounds: int) -> Session:
    session = fresh(kind)
    while not session.finished and session.running.rounds < rounds:
        (ticket,) = session.ask()
        session.tell(ticket.id, reward_of(ticket))
    assert session.evaluations == session.running.pulls or not session.finished, (
        "who works alone evaluates nothing ahead"
    )
    return session


def state(session: Session) -> tuple[object, ...]:
    """All that a session holds."""
    running = session.running
    return running.rounds, running.pulls, session.finished, repr(vars(session.tickets)), running.means.tobytes()


class Workers(RuleBasedStateMachine):
    """Workers that ask, tell, fail, repeat themselves and make mistakes, in any order."""

    @initialize(kind=st.sampled_from(sorted(ASKED)))
    def begin(self, kind: str) -> None:
        self.kind = kind
        self.session = fresh(kind)
        self.out: dict[int, Ticket] = {}
        self.told: dict[int, float] = {}
        self.failed: set[int] = set()

    @rule(k=st.integers(1, 40))
    def ask(self, k: int) -> None:
        tickets = self.session.ask(k)
        assert len(tickets) <= k
        assert not {ticket.id for ticket in tickets} & (set(self.out) - self.failed | set(self.told))
        assert all(ticket.label == LABELS[ticket.arm] for ticket in tickets)
        self.failed -= {ticket.id for ticket in tickets}
        self.out.update({ticket.id: ticket for ticket in tickets})

    def _gone(self, ticket: int) -> None:
        self.told[ticket] = reward_of(self.out.pop(ticket))
        self.failed.discard(ticket)

    @precondition(lambda self: self.out)
    @rule(data=st.data(), kind=st.sampled_from([float, np.float64, np.float32, fractions.Fraction]))
    def tell(self, data: st.DataObject, kind: type) -> None:
        ticket = data.draw(st.sampled_from(sorted(self.out)))
        self.session.tell(ticket, kind(reward_of(self.out[ticket])))
        self._gone(ticket)

    @precondition(lambda self: self.out)
    @rule(data=st.data(), as_array=st.booleans())
    def tell_several(self, data: st.DataObject, as_array: bool) -> None:
        order = data.draw(st.permutations(sorted(self.out)))
        chosen = [self.out[ticket] for ticket in order[: data.draw(st.integers(1, len(order)))]]
        rewards = [reward_of(ticket) for ticket in chosen]
        self.session.tell_all(chosen, np.array(rewards) if as_array else rewards)
        for ticket in chosen:
            self._gone(ticket.id)

    @precondition(lambda self: self.out)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        ticket = data.draw(st.sampled_from(sorted(self.out)))
        self.session.fail(ticket, "lost")
        self.failed.add(ticket)

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        ticket = data.draw(st.sampled_from(sorted(self.told)))
        before = state(self.session)
        self.session.tell(ticket, self.told[ticket])
        with pytest.raises(TicketError, match="already told"):
            self.session.tell(ticket, -1 if self.told[ticket] > 0 else 3)
        with pytest.raises(TicketError, match="already told"):
            self.session.fail(ticket)
        assert state(self.session) == before

    @precondition(lambda self: self.out)
    @rule(data=st.data(), bad=st.sampled_from(BAD))
    def mistake(self, data: st.DataObject, bad: object) -> None:
        ticket = data.draw(st.sampled_from(sorted(self.out)))
        before = state(self.session)
        with pytest.raises(RewardError):
            self.session.tell(ticket, bad)
        both = [*self.out.values()]
        rewards = [reward_of(t) for t in both[:-1]] + [bad]
        with pytest.raises(RewardError):
            self.session.tell_all(both, rewards)
        assert state(self.session) == before

    @rule(wrong=st.sampled_from([-1, 10**9, 0.0, "0", None, True, np.int64(10**9)]))
    def no_ticket(self, wrong: object) -> None:
        before = state(self.session)
        with pytest.raises(TicketError, match="ask"):
            self.session.tell(wrong, 0.5)
        with pytest.raises(TicketError, match="ask"):
            self.session.fail(wrong)
        assert state(self.session) == before

    @invariant()
    def counted(self) -> None:
        if hasattr(self, "session"):
            assert self.session.pending == len(self.out) - len(self.failed)
            assert self.session.running.pulls <= len(self.told)

    def teardown(self) -> None:
        if hasattr(self, "session"):
            alone = sequential(self.kind, self.session.running.rounds)
            assert transcript(alone.running) == transcript(self.session.running)
            assert alone.result().means.tolist() == pytest.approx(self.session.result().means.tolist(), nan_ok=True)


TestWorkers = Workers.TestCase
TestWorkers.settings = settings(max_examples=100, stateful_step_count=40, deadline=None, derandomize=True)
