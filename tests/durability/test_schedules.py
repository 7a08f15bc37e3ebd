"""Random schedules with a clock of their own: whatever workers do, and whenever, changes nothing of what counts."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from support import ASKED, key_of, reward_of, undisturbed

from asking import transcript
from surest.errors import TicketError
from surest.search.tickets import Ticket
from surest.study import sql
from surest.study.memory import MemoryStore
from surest.study.study import Study, open_study
from surest.study.telling import Ask, Tell, carry_out
from surest.study.transfer import import_study

ARMS, LEASE = 3, 10.0
NAMES = ("ann", "bob", "cid")


class Schedule:
    """Workers who do anything that is allowed, and what must hold whatever they do."""

    def __init__(self, kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.chance, self.now, asked = random.Random(seed), 0.0, {**ASKED[kind], "seed": seed}
        monkeypatch.setattr(sql, "time", SimpleNamespace(time=lambda: self.now))
        if kind == "queues":
            asked["workers"] = self.chance.choice([2, 4, 30])
        self.store, self.happened = MemoryStore(), Counter[str]()
        self.studies = [open_study(self.store, "s", ARMS, lease_seconds=LEASE, **asked)]
        self.keys: dict[int, int] = {}  # of each ticket, what its reward follows from
        self.told: dict[int, float] = {}
        self.leases: dict[int, tuple[str, float]] = {}  # of tickets without a reward: who has it, until when
        self.hands: list[tuple[str, Ticket]] = []  # what workers believe to have
        self.courses: list[list[tuple[object, ...]]] = []  # what counted, when it was looked at

    def take(self, who: str, tickets: Sequence[Ticket]) -> None:
        for ticket in tickets:
            assert ticket.id not in self.told
            assert self.leases.get(ticket.id, ("", 0.0))[1] <= self.now, "handed out twice while a lease holds"
            if ticket.draw is not None:
                place = sum(key % ARMS == ticket.arm for key in self.keys.values())
                assert self.keys.setdefault(ticket.id, ARMS * place + ticket.arm) == ticket.draw
            assert self.keys.setdefault(ticket.id, key_of(ticket)) == key_of(ticket)
            assert len({*self.keys.values()}) == len(self.keys), "each evaluation has one ticket"
            self.leases[ticket.id] = who, self.now + LEASE
            self.hands.append((who, ticket))

    def count(self, number: int, reward: float) -> None:
        self.told[number] = reward
        self.leases.pop(number, None)

    def step(self) -> None:
        study, who = self.chance.choice(self.studies), self.chance.choice(NAMES)
        on_ticket = bool(self.hands) and self.chance.random() < 0.6
        with_one = [*6 * ["tell"], "batch", "fail", "impute", "give back"]
        act = self.chance.choice(with_one if on_ticket else [*6 * ["ask"], "wait", "open", "move"])
        self.happened[act] += 1
        if on_ticket:
            self.say(study, act, *self.hands.pop(self.chance.randrange(len(self.hands))))
        elif act == "ask":
            self.take(who, study.ask(self.chance.randrange(1, 6), who))
        elif act == "wait":
            self.now += self.chance.choice([1.0, 4.0, 11.0])
        elif act == "open":
            self.studies = [*self.studies[-2:], open_study(self.store, "s")]
        else:  # to another store, where all leases have run out
            before = study.status()
            self.store = MemoryStore()
            import_study(self.store, json.dumps(study.export()))
            self.studies = [open_study(self.store, "s")]
            assert self.studies[0].status().request_left == before.request_left
            self.leases = {number: (name, 0.0) for number, (name, _) in self.leases.items()}

    def say(self, study: Study, act: str, who: str, ticket: Ticket) -> None:
        """Tell a reward, whosever the ticket is by now; or fail it, which only its last holder can do."""
        reward, known = reward_of(ticket), self.told.get(ticket.id)
        if known is not None and (act in ("fail", "impute") or known != reward):
            with pytest.raises(TicketError, match="already told"):
                study.tell(ticket.id, reward) if act not in ("fail", "impute") else study.fail(ticket.id, worker=who)
        elif act == "give back":
            study.give_back([ticket.id], who)
            if self.leases.get(ticket.id, ("",))[0] == who:
                self.leases[ticket.id] = who, 0.0
        elif act in ("tell", "batch"):
            if act == "tell":
                study.tell(ticket.id, reward)
            else:
                self.count(ticket.id, reward)
                _, handed = carry_out(study, [Tell([ticket.id], [reward]), Ask(2, who)])
                self.take(who, handed.tickets)  # type: ignore[union-attr]
            self.count(ticket.id, reward)
        elif self.leases[ticket.id][0] != who:
            with pytest.raises(TicketError, match="only who holds"):
                study.fail(ticket.id, worker=who)
        else:
            study.fail(ticket.id, reward=0.25 if act == "impute" else None, worker=who)
            self.leases[ticket.id] = who, 0.0
            if act == "impute":
                self.count(ticket.id, 0.25)

    def check(self) -> None:
        study = open_study(self.store, "s")
        progress = study.status()
        assert progress.told == progress.result.evaluations == study.session().evaluations == len(self.told)
        for found in (other.status() for other in self.studies):  # which have followed the log
            assert (found.told, found.request_left) == (progress.told, progress.request_left)
            assert found.result.pulls == progress.result.pulls
        over = progress.finished and not study.items  # of fresh pulls nobody needs the rest
        running = 0 if over else sum(until > self.now for _, until in self.leases.values())
        assert (progress.out, over or progress.waiting == len(self.leases) - running) == (running, True)
        assert not over or progress.result.pulls + progress.not_needed == progress.told
        rewards = enumerate(reward for _, reward, *_ in study.export()["tickets"])
        assert {number: reward for number, reward in rewards if reward is not None} == self.told
        assert progress.request_left == self.left(study)
        self.courses.append(transcript(study.session(record=True).running))

    def left(self, study: Study) -> int:
        """How many rewards the current request lacks, counted one by one."""
        request: Any = study.running.request
        if request is None:
            return 0
        known = {self.keys[number] for number in self.told}
        if study.items:
            wanted = {100 * arm + item for arm in request.arms.tolist() for item in request.items.tolist()}
        elif study.session().has_queues:
            begun = zip(request.arms, study.running.pulls_per_arm[request.arms], request.times, strict=True)
            wanted = {ARMS * place + arm for arm, first, times in begun for place in range(first, first + times)}
        else:
            wanted = {*range(study.running.pulls, study.running.pulls + request.total)}
        return len(wanted - known)


@pytest.mark.parametrize(
    ("kind", "seed"),
    [*(("queues", seed) for seed in range(4)), *((kind, seed) for kind in ("pulls", "items") for seed in (1, 2))],
)
def test_any_schedule_counts_the_same(kind: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Schedule(kind, seed, monkeypatch)
    while not schedule.studies[-1].finished:
        for _ in range(20):
            schedule.step()
        schedule.check()
    for _ in range(20):  # what is out may still be told, and nothing more is handed out
        schedule.step()
    schedule.check()
    study = open_study(schedule.store, "s")
    whole = undisturbed(study)
    assert schedule.courses[-1] == whole
    assert all(course == whole[: len(course)] for course in schedule.courses), "every state of the log replays"
    schedule.now += LEASE
    assert study.ask(5) == []
    assert min(schedule.happened[act] for act in ("fail", "impute", "give back", "batch", "move")) > 0
