"""A procedure seen as ask and tell: it hands out tickets, takes rewards and keeps them in order. No input or output here.

Rewards count in the order in which they were asked for, whatever the order in which they are told.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf, isnan, nan
from secrets import randbits
from typing import Any, SupportsFloat

import msgspec
import numpy as np

from surest.algorithms import lookup, running_on
from surest.algorithms.entry import Script
from surest.core.costs import MANY, parted
from surest.core.keywords import check_keywords
from surest.core.problem import Problem, check_spread, labels_of, problem_of, takes_settings
from surest.core.procedure import check_size
from surest.core.protocol import Cells, FloatArray, Point, Pull, Status
from surest.errors import RewardError, TicketError, UsageError
from surest.result.data import EvaluationEvent, Listed, Result
from surest.result.making import result_of
from surest.search.loading import resolved
from surest.search.tickets import RETRIES, ArmTickets, Cell, CellTickets, PullTickets, Tickets
from surest.search.tickets import Ticket as Ticket


def may_grow(problem: Problem) -> bool:
    """Whether arms may be added while a search runs: its algorithm can, and a part of δ was kept for them if it needs one."""
    entry = lookup(problem.algorithm)
    return entry.growing and (entry.reserve is None or bool(problem.options.get(entry.reserve)))


class Session:
    """Ask what to evaluate and tell the rewards, in any order and from any number of workers.

    Parameters
    ----------
    arms : int, sequence of labels or Problem
        How many arms there are, or their labels; or a problem, which has all settings.
    delta : float
        The allowed probability of a wrong answer.
    record : bool
        Keep what was asked and answered in ``session.running.transcript``.
    on_failure, retries : optional
        The reward that an evaluation counts as once it has failed more than `retries` times, default 3. Without it, an
        evaluation is retried until it succeeds.
    items : int, optional
        The length of the list of items that all arms are compared on. Tickets then name an item too, and the seed, which draws
        their order, is fresh by default.
    **settings
        The other settings of `surest.Problem` (epsilon, budget, algorithm, bounds, minimise, seed), and the algorithm's own
        options.

    Examples
    --------
    >>> session = Session(["a", "b"], delta=0.1, algorithm="naive-best-arm")
    >>> ticket, = session.ask()
    >>> ticket
    Ticket(id=0, arm=0, label='a')
    >>> session.tell(ticket.id, 0.75)
    >>> session.tell(ticket.id, 7)
    Traceback (most recent call last):
        ...
    surest.errors.RewardError: reward 7 for ticket 0 (arm 'a') is not a number in [0, 1]; state the range of the rewards ...
    """

    lasting, lease_seconds = False, inf  # what a study has otherwise: see `search.desk.Book`

    @takes_settings
    def __init__(
        self, arms: int | Sequence[Any] | Problem, delta: float = 0.05, *, record: bool = False,
        on_failure: float | None = None, retries: int | None = None, **settings: Any,
    ) -> None:  # fmt: skip
        check_keywords({"record": record, "on_failure": on_failure, "retries": retries})
        script: Script = settings.pop("script", ())  # of a study's log: what the first requests were
        if isinstance(arms, Problem):
            problem = arms
            if settings:
                raise UsageError(f"a problem has its settings; leave out {', '.join(settings)}")
        else:
            # The guarantee on a list rests on an order that nobody knows beforehand.
            if settings.get("items") is not None and settings.get("seed") is None:
                settings["seed"] = randbits(32)
            problem = problem_of(arms, delta=delta, **resolved(settings))
        low, high = problem.bounds
        if on_failure is not None and not low <= on_failure <= high:
            raise UsageError(f"on_failure is {on_failure}, which is outside the bounds [{low:g}, {high:g}]")
        self.problem, self.scale = problem, problem.scale
        self.scripted = len(script) > 0
        """Whether it was told what its first requests are to be."""
        self._arrivals: list[Any] = []
        self.running = running_on(problem, told=True, record=record, arrivals=self._arrivals, script=script)
        self.item_names: Sequence[Any] | None = None
        """What messages call the items; default their positions."""
        self.health: dict[str, dict[str, int]] = {}
        """How many evaluations failed, timed out, were retried or counted as a stated reward (imputed), by arm."""
        self.events: list[EvaluationEvent] = []
        """The same, one by one."""
        self.on_failure = on_failure
        self._retries, self._failed = RETRIES if retries is None else retries, Counter[int]()
        self.has_queues = "workers" in problem.options and has_queues(problem)
        """Whether each arm has a queue of rewards, so that idle workers may go ahead of what is asked."""
        self.tickets: Tickets
        """The books of its tickets."""
        self.cells: CellTickets
        """The same, where there is a list of items."""
        if problem.items is not None:
            unlimited = problem.budget is None and problem.budget_cost is None
            self.tickets = self.cells = CellTickets(may_go_ahead=unlimited)
        elif self.has_queues:
            self.tickets = ArmTickets(len(problem.labels), problem.options["workers"])
        else:
            self.tickets = PullTickets()
        self._open()

    @property
    def labels(self) -> tuple[Any, ...]:
        """The arms' labels, in order."""
        return self.problem.labels

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to ask: decided, or budget spent."""
        return self.running.request is None or (self.problem.budget_cost is not None and self.affordable(0) == 0)

    def affordable(self, out: int) -> int:
        """How many more evaluations the budget of cost allows, where so many are out."""
        request = self.running.request
        if request is None:
            return MANY
        arms = np.unique(np.concatenate([each.arms for each in (request, *self.running.announced)]))
        return MANY if self.running.costs is None else self.running.costs.affordable(arms, out)

    @property
    def pending(self) -> int:
        """How many tickets are handed out and not yet told."""
        return self.tickets.pending

    @property
    def evaluations(self) -> int:
        """How many rewards were taken, counted yet or not; on a list, cells that were known without a ticket too."""
        return self.tickets.told if self.problem.items is None else len(self.cells.values)

    def ask(self, k: int = 1) -> list[Ticket]:
        """Up to k tickets. Fewer, or none, when the algorithm first needs the rewards of those already out."""
        if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
            raise UsageError(f"asked for {k!r} tickets; ask for a whole number, at least one")
        k = int(k) if self.problem.budget_cost is None else min(int(k), self.affordable(self.pending))
        if self.running.request is None or k < 1:
            return []
        again, fresh = self.tickets.ask(k)
        for number in again:
            self.note(number, "retried")
        numbers, labels = [*again, *fresh], self.labels
        return [
            Ticket(number, arm, labels[arm], item)
            for number, (arm, item) in zip(numbers, self.tickets.cells(numbers), strict=True)
        ]

    def tell(self, ticket: int, reward: SupportsFloat | tuple[Any, float | None]) -> None:
        """Say what an evaluation gave (as a pair, also what it cost). What cannot be counted is refused, and changes nothing."""
        self._tell([(ticket, reward)])

    def tell_all(self, tickets: Sequence[Ticket], rewards: Sequence[SupportsFloat] | FloatArray) -> None:
        """Tell the rewards of several tickets, in the tickets' order: all of them, or none."""
        if len(tickets) != len(rewards):
            raise RewardError(f"{len(tickets)} tickets but {len(rewards)} rewards; give one for each")
        self._tell(zip((ticket.id for ticket in tickets), rewards, strict=True))

    def exchange(self, told: Mapping[int, Any], k: int) -> list[Ticket]:
        """Tell rewards, and ask for up to k tickets."""
        self._tell(told.items())
        return self.ask(k) if k else []

    def _tell(self, told: Iterable[tuple[int, Any]]) -> None:
        fresh: dict[int, tuple[float, float | None]] = {}
        for ticket, reward in told:
            given, cost = parted(reward, f"ticket {ticket}") if isinstance(reward, tuple) else (reward, None)
            value = self._value(ticket, given)
            earlier = self.tickets.reward(int(ticket))
            if isnan(earlier) and fresh.setdefault(int(ticket), (value, cost))[0] != value:
                raise TicketError(f"ticket {ticket} has conflicting rewards")
            if not isnan(earlier) and value != earlier:
                was, now = self.scale.from_unit(earlier), self.scale.from_unit(value)
                raise TicketError(f"ticket {ticket} was already told {was}; it cannot become {now}")
        if self.problem.spread is not None:
            cells = self.cells.cells(list(fresh))
            self.check_spread(dict(zip(cells, (value for value, _ in fresh.values()), strict=True)))
        for number, (value, cost) in fresh.items():
            if cost is not None or self.running.costs is not None:
                ((arm, _),) = self.tickets.cells([number])
                self._spend([arm], [cost])
            self.tickets.put(number, value)
        self._move_on()

    def tell_cell(self, arm: int, item: int, reward: SupportsFloat | tuple[Any, float | None]) -> None:
        """Say what is known of a cell of a list of items, whoever evaluated it. No ticket is needed."""
        cells = self.cells
        known = cells.values.get((arm, item))
        reward, cost = parted(reward) if isinstance(reward, tuple) else (reward, None)
        value = self.scale.to_unit(self.scale.number(reward, f"arm {self.labels[arm]!r}{self.on_item(item)}"))
        if known is not None and known != value:
            raise TicketError(f"arm {self.labels[arm]!r}{self.on_item(item)} was already told another reward")
        if known is None:
            self.check_spread({(arm, item): value})
            if cost is not None or self.running.costs is not None:
                self._spend([arm], [cost])
            cells.know((arm, item), value)
            self._move_on()

    def _spend(self, arms: Any, costs: Any) -> None:
        """Count what evaluations of arms cost, where any cost is stated or told."""
        if self.running.costs is None:
            self.running.costs = self.problem.spending(told=True)
        self.running.costs.add(arms, costs)

    def check_spread(self, told: Mapping[Cell, float]) -> None:
        """Refuse rewards of cells, on [0, 1], that are further than the spread from another on the same item, known or told."""
        if self.problem.spread is None:
            return
        known = self.cells.values
        for item in {item for _, item in told}:
            both = ((arm, told.get((arm, item), known.get((arm, item)))) for arm in range(len(self.labels)))
            values = {arm: value for arm, value in both if value is not None}
            check_spread(self.problem, values, self.on_item(item).removeprefix(" on "))

    def wanted(self, k: int, taken: Collection[Cell] = ()) -> list[Cell]:
        """The first k cells (arm, item) that are needed now, or will be next, apart from those `taken` by others."""
        return self.cells.wanted(k, taken, len(taken))

    def adopt(self, tickets: Sequence[Any], arms_there: int, known: list[int] | None = None) -> list[int]:
        """Take in tickets of a log, in its order: each has an arm, an item, a reward and a cost, as far as these are known.

        Returns their numbers here; those that are `known` by now were out, and have their rewards. No request is answered by
        that: `answer` does it. Some of the arms that are there may be unknown here as yet.
        """
        arms = np.array([ticket.arm for ticket in tickets], np.int64)
        items = np.array([-1 if ticket.item is None else ticket.item for ticket in tickets], np.int64)
        if not ((arms >= 0) & (arms < arms_there)).all():
            raise TicketError("a ticket names an arm that the study does not have")
        if self.problem.items is not None and not ((items >= 0) & (items < self.problem.items)).all():
            raise TicketError("a ticket names an item that the study does not have")
        rewards = np.array([nan if ticket.reward is None else ticket.reward for ticket in tickets])
        costs = np.array([nan if ticket.cost is None else ticket.cost for ticket in tickets])
        told = ~np.isnan(rewards)
        values = np.full(len(rewards), nan)
        values[told] = self.scale.to_unit(self.scale.numbers(rewards[told], "a ticket"))
        if not np.isnan(costs).all() or self.running.costs is not None:
            self._spend(arms[told], costs[told])
        if known is not None and self.problem.items is None:
            for number, value in zip(known, values.tolist(), strict=True):
                self.tickets.put(number, value)
            return known
        numbers: list[int] = self.tickets.adopt(arms, values, items).tolist()
        return numbers

    def answer(self) -> None:
        """Answer the current request, whose rewards are all there, and go on to the next one."""
        self.running.send(self.tickets.reply())
        self._open()

    def items_met(self, out: Collection[Cell] = ()) -> int:
        """On a list of items: how many of them, in the algorithm's order, have a cell that is told, asked for or `out`."""
        return self.cells.met(self.problem.items or 0, out)

    def grow(self, labels: Sequence[Any], after: int | None = None) -> None:
        """Add arms while the session runs: the algorithm learns of them with the reply to its current request.

        On a list of items they take part `after` so many items, those that have a cell by now (`items_met`) by default, and
        catch up on these. Refused by algorithms whose guarantee would not hold.
        """
        entry = lookup(self.problem.algorithm)
        if not entry.growing:
            raise UsageError(f"{entry.name} cannot take in new arms while it runs; start again with all arms")
        if entry.reserve is not None and not self.problem.options.get(entry.reserve):
            raise UsageError(
                f"no part of delta was reserved for arms added later; start with {entry.reserve}=0.1 "
                f"(--option {entry.reserve}=0.1) to allow them"
            )
        if self.finished:
            raise UsageError("the search has ended; start a new one with all arms")
        grown = msgspec.structs.replace(self.problem, labels=labels_of((*self.labels, *labels)))
        _ = grown.prices  # refused where a new arm has none
        self.problem = grown
        self.running.grow(len(labels))
        if self.running.costs is not None:
            self.running.costs.grow(grown.prices, len(grown.labels))
        if self.problem.items is None:
            self._arrivals.append(len(labels))
        else:
            self._arrivals.append((len(labels), self.items_met() if after is None else after))

    def fail(self, ticket: int, reason: str = "", *, kind: str = "failed") -> None:
        """Say that an evaluation gave no reward: its ticket is handed out again, or counts as `on_failure`. Never dropped."""
        self._check_ticket(ticket)
        if not isnan(self.tickets.reward(int(ticket))):
            why = f" ({reason})" if reason else ""
            raise TicketError(f"ticket {ticket} was already told a reward; it cannot fail now{why}")
        number = int(ticket)
        if number not in self.tickets.again:
            self.tickets.again[number] = None
            self.note(number, kind)
            self._failed[number] += 1
        if self.on_failure is not None and self._failed[number] > self._retries:
            self.note(number, "imputed")
            self.tell(number, self.on_failure)

    def renew(self, numbers: Sequence[int]) -> list[int]:
        """Tickets that are still being evaluated: nobody else is handed them."""
        return list(numbers)

    def give_back(self, numbers: Sequence[int]) -> list[int]:
        """Let tickets that are not evaluated any more be handed out again; those that had no reward."""
        again = self.tickets.again
        back = [number for number in numbers if isnan(self.tickets.reward(number)) and number not in again]
        for number in back:
            again[number] = None
            self.note(number, "interrupted")
        return back

    def note(self, ticket: int, kind: str) -> None:
        """Count what happened to a ticket of the current request, for the health line."""
        ((arm, item),) = self.tickets.cells([ticket])
        place = self.tickets.place(ticket, self.running.pulls_per_arm)
        self.events.append((kind, place, arm, item))
        of_arm = self.health.setdefault(str(self.labels[arm]), {})
        of_arm[kind] = of_arm.get(kind, 0) + 1

    def status(self) -> Status:
        """What the algorithm can say of its state now."""
        status = self.running.status
        return Status(leader=self.result().index) if status is None else self.scale.status(status)

    def result(
        self, history: tuple[Point, ...] = (), *, items: Sequence[Any] | None = None, stopped: str | None = None
    ) -> Result:
        """The verdict; before the end, the answer so far, not certified.

        `history` is evidence over time, if it was kept. `items` says what the items of a list are called; `stopped` says why
        the search ends before its end.
        """
        health = {label: dict(of_arm) for label, of_arm in self.health.items()}
        found = result_of(
            self.running, self.problem, history=history, health=health, evaluations=self.evaluations,
            stopped=stopped or ("budget spent" if self.finished else None), events=self.events,
        )  # fmt: skip
        if self.problem.items is None:
            return found
        names, known = range(self.problem.items) if items is None else items, self.cells.values
        places = np.array(list(known), np.int64).reshape(-1, 2)
        values = self.scale.from_unit(np.fromiter(known.values(), float, len(known)))
        used = int(self.running.pulls_per_arm.max())
        return replace(found, listed=Listed(tuple(names), used, places[:, 0], places[:, 1], values))

    def _move_on(self) -> None:
        """Answer the procedure's requests as long as all their rewards are there."""
        while not self.tickets.missing:
            self.answer()

    def _open(self) -> None:
        request = self.running.request
        if request is not None and isinstance(request, Cells) != isinstance(self.tickets, CellTickets):
            what = "items" if isinstance(request, Pull) else "fresh pulls"
            raise UsageError(f"{self.running.name} does not work on {what}; 'surest algorithms' says which do")
        if isinstance(request, Pull):
            check_size(request, self.running.name)
        self.tickets.open(request, self.running.announced)

    def _check_ticket(self, ticket: int) -> None:
        number = isinstance(ticket, int | np.integer) and not isinstance(ticket, bool)
        if not number or not self.tickets.is_out(int(ticket)):
            wrong = f"ticket {ticket} was never handed out" if number else f"ticket {ticket!r} is not a ticket's id"
            raise TicketError(f"{wrong}; tell the ids that ask() gave")

    def _value(self, ticket: int, reward: object) -> float:
        self._check_ticket(ticket)
        low, high = self.scale.low, self.scale.high
        if isinstance(reward, float | int) and low <= reward <= high:  # the message below costs time
            return self.scale.to_unit(float(reward))
        of = f"ticket {ticket}"
        if self.tickets.is_current(int(ticket)):
            ((arm, item),) = self.tickets.cells([int(ticket)])
            of = f"ticket {ticket} (arm {self.labels[arm]!r}{self.on_item(item)})"
        return self.scale.to_unit(self.scale.number(reward, of))

    def on_item(self, item: int | None) -> str:
        """What a message says of an item: its text where it is known, else its position."""
        if item is None:
            return ""
        return f" on item {item}" if self.item_names is None else f" on item {self.item_names[item]!r:.80}"


def has_queues(problem: Problem) -> bool:
    """Whether each arm has a queue of rewards, so that idle workers may go ahead: for several workers and fresh pulls.

    Not under a budget, where nothing is evaluated that may not count, nor where arms may be added.
    """
    workers = problem.options.get("workers")
    several = isinstance(workers, int) and workers > 1
    unlimited = problem.budget is None and problem.budget_cost is None
    return several and problem.items is None and unlimited and not may_grow(problem)
