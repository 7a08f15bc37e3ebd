"""What is known of an algorithm, in one record beside its function; what one is started with, its options and its answer."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import wraps
from importlib import import_module
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from surest.core.keywords import number
from surest.core.problem import SETTINGS, meant_name
from surest.core.protocol import Answer, IntArray, Procedure
from surest.core.question import BEST, KINDS, TRAITS, Kind, Question
from surest.errors import ContractError, UsageError

if TYPE_CHECKING:
    from surest.lab.stepwise import Stepwise

MOST = 10**7  # the largest whole number that makes sense: pulls, which a request keeps in memory


class Option(NamedTuple):
    """One option of an algorithm."""

    kind: Literal["number", "whole number", "Constants", "value"]
    """A ``value`` may be anything: the algorithm itself checks it."""
    meaning: str


def check_options(algorithm: str, known: Mapping[str, Option], given: Mapping[str, Any]) -> None:
    """Refuse options that an algorithm does not have, and values of another kind than it takes.

    What is not an option may be a setting, misspelt or called as other libraries call it.
    """
    has = ", ".join(f"{name} ({option.kind})" for name, option in known.items())
    for name, value in given.items():
        if name not in known:
            raise UsageError(_unknown(algorithm, name, known, has))
        if not FITS[known[name].kind](value):
            raise UsageError(
                f"option {name} of {algorithm} is {value!r:.60}; give a {known[name].kind}: {known[name].meaning}"
            )


def _unknown(algorithm: str, name: str, known: Mapping[str, Option], has: str) -> str:
    """What to say of a name that is not an option."""
    own, meant = f"{algorithm} has no option {name!r}; it has {has or 'none'}", meant_name(name, [*SETTINGS, *known])
    if meant is None:
        return own
    if meant in known:
        return f"{own}. Did you mean {meant}?"
    return f"there is no setting {name!r}; did you mean {meant}? ({own})"


FITS: dict[str, Callable[[Any], bool]] = {
    "number": number("", lambda x: True, optional=False).fits,
    "whole number": number("", lambda x: 1 <= x <= MOST, whole=True, optional=False).fits,
    "Constants": lambda value: isinstance(value, import_module("surest.lab.paper.constants").Constants),
    "value": lambda value: True,
}


def as_answer(value: Any, name: str, n: int, none: bool = False) -> Answer:
    """An algorithm's answer: an arm's number, a sequence of them, or an `Answer`; checked against the n arms there are.

    `none` says whether no arm at all is an answer, as it is where each arm gets a verdict of its own.
    """
    several = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)
    arms = list(value.arms) if isinstance(value, Answer) else list(value) if several else [value]
    if not (arms or none) or not all(isinstance(a, Integral) and not isinstance(a, bool | np.bool_) for a in arms):
        raise ContractError(f"{name} returned {value!r:.60}; return an arm's number, a sequence of them, or an Answer")
    for arm in arms:
        if not 0 <= arm < n:
            raise ContractError(f"{name} answered arm {arm}; there are arms 0 to {n - 1}")
    if len(set(arms)) < len(arms):
        raise ContractError(f"{name} answered arms {', '.join(map(str, arms))}; it may name each arm once")
    return value if isinstance(value, Answer) else Answer([int(arm) for arm in arms])


def certified(procedure: Procedure[int], reason: str = "certified") -> Procedure[Answer]:
    """The arm that a procedure returns, as an answer for which its guarantee holds."""
    return Answer((yield from procedure), reason=reason)


Script = Sequence[tuple[IntArray, IntArray, str]]
"""Requests that were made in the past: of each the arms, how often each of them was pulled, and the statistic asked for."""


@dataclass(frozen=True)
class Task:
    """What an algorithm is started with. Rewards and ε are on [0, 1]."""

    arms: IntArray
    delta: float
    epsilon: float
    budget: int | None
    rng: np.random.Generator
    arrivals: list[Any] = field(default_factory=list)
    """How many arms each later addition brought, in order. A session appends to it while a growing algorithm runs; the
    algorithm looks before each request, and numbers the new arms on from those it knows. On a list of items an addition is
    a pair: how many arms, and how many items, in the algorithm's order, had a cell evaluated or handed out before."""
    items: int | None = None
    """How many items there are on the list that all arms are evaluated on; None where every pull is a fresh one."""
    target: str = "items"
    """Whose mean counts, where there are items: that of the listed ones, or of what they were drawn from."""
    spread: float = 1.0  # the most by which two arms can differ on an item, where there are items
    script: Script = ()  # what the first requests are to be, where the algorithm may be told: see `Entry.any_sampling`
    question: Question = BEST  # what is asked, where the algorithm answers other questions than "which is the best?"


def started(
    function: Callable[..., Any], answering: Callable[[Any], Any] = lambda procedure: procedure
) -> Callable[..., Any]:
    """A function as `Entry.start` is to be: of a task it gets what its parameters name, and its other parameters are options.

    `answering`, such as `certified`, makes a procedure that returns an `Answer` of what the function returns.
    """
    takes = [part.name for part in fields(Task) if part.name in inspect.signature(function).parameters]

    @wraps(function)
    def start(task: Task, **options: Any) -> Any:
        return answering(function(**{name: getattr(task, name) for name in takes}, **options))

    return start


def arms_in(arrivals: Sequence[int | tuple[int, int]]) -> int:
    """How many arms additions brought in all."""
    return sum(added[0] if isinstance(added, tuple) else added for added in arrivals)


Goal = Literal["best arm", "ε-optimal arm", "either", "fixed budget"]
Standing = Literal["proven", "heuristic", "reconstruction", "yours, unproven"]
YOURS: Standing = "yours, unproven"
Evaluations = Literal["fresh pulls", "items", "either"]


@dataclass(frozen=True)
class Entry:
    """One algorithm: how to start it, who published it, and all else that is known of it."""

    name: str
    start: Callable[..., Procedure[Answer]]  # takes a `Task` and the algorithm's own options
    goal: Goal
    standing: Standing
    reference: str  # who published it, or where its proof is
    summary: str  # one sentence
    _: KW_ONLY
    options: Mapping[str, Option] | None = field(default_factory=dict)
    """Its own options by name. None stands for an algorithm that checks them itself."""
    stepwise: "Callable[..., Stepwise] | None" = None
    """For an algorithm that decides pull by pull: its rule, from the same arguments; see `lab.stepwise`."""
    works_on: Evaluations = "fresh pulls"
    """Whether it asks for fresh pulls of arms (`Pull`), for cells of a list of items (`Cells`), or for either."""
    answers: tuple[Kind, ...] = ("best",)  # the questions that it answers
    growing: bool = False
    """Whether its guarantee still holds when arms are added while it runs: it then heeds `Task.arrivals`."""
    reserve: str | None = None
    """The option that must keep a part of δ beforehand for arms that are added, where there is one."""
    spread: bool = False  # whether it heeds `Task.spread`
    any_sampling: bool = False
    """Whether its guarantee holds whatever is pulled when, as long as that is decided before the rewards are seen: it then
    heeds `Task.script`, and a study goes on that another version of it began."""
    told_h1: bool = False
    """Whether it must be told H1 = Σ 1/gap² (option ``h1``). A benchmark tells it the truth, which nobody knows."""
    costly: int = 1  # where a benchmark runs others so many times it runs this one once, as a run takes seconds
    control: bool = False  # whether it is there to show what people do, not as a method to choose
    heuristic_of: str | None = None
    """The algorithm of the same sampling rule with a proven threshold, for one whose threshold is not."""

    @property
    def traits(self) -> tuple[str, ...]:
        """What sets it apart, in words."""
        said = {
            "works on a list of items": self.works_on == "items",
            "works on fresh pulls and on a list of items": self.works_on == "either",
            **{TRAITS[kind]: kind in self.answers for kind in TRAITS},
            "takes arms that are added while it runs": self.growing,
            "must be told H1": self.told_h1,
            "costly": self.costly > 1,
            "a control": self.control,
            f"{self.heuristic_of} with a threshold that is not proven": self.heuristic_of is not None,
        }
        return tuple(words for words, true in said.items() if true)

    @classmethod
    def of_function(cls, function: Callable[..., Any], name: str | None = None) -> "Entry":
        """An entry for a user's own algorithm: a generator function ``(arms, delta, *, …)``.

        It takes the arms (an array of their numbers) and δ. Of what `GIVEN` has, it gets what it names; its other parameters
        are its options. One that takes the question is trusted to answer any. It yields requests, and returns an arm,
        a sequence of arms, or an `Answer`. `name` is what to call it, default the function's name.
        """
        called = name or str(getattr(function, "__name__", type(function).__name__))
        takes = _parameters(function, called)
        own = {key: p for key, p in list(takes.items())[2:] if key not in GIVEN}
        open_ended = any(p.kind is p.VAR_KEYWORD for p in own.values())
        goal: Goal = "either" if "epsilon" in takes else "best arm"
        goal = "fixed budget" if _needs("budget", takes) else goal
        works_on: Evaluations = "either" if "items" in takes else "fresh pulls"

        def begin(task: Task, **options: Any) -> Procedure[Answer]:
            passed = {key: getattr(task, key) for key in GIVEN if key in takes}
            procedure = function(task.arms, task.delta, **passed, **options)
            return _answering(procedure, called, task, fixed=goal == "fixed budget")

        return cls(
            name=called,
            start=begin,
            goal=goal,
            standing=YOURS,
            reference="your own function",
            summary=summary_of(function) or "An algorithm of your own.",
            options=None if open_ended else {key: Option("value", "of your own function") for key in own},
            works_on="items" if _needs("items", takes) else works_on,
            answers=KINDS if "question" in takes else ("best",),
            growing="arrivals" in takes,
        )


def summary_of(function: Callable[..., Any]) -> str:
    """The first line of a function's docstring."""
    return (inspect.getdoc(function) or "").partition("\n")[0]


GIVEN = ("epsilon", "budget", "rng", "items", "target", "arrivals", "question")
"""What of a task a user's own algorithm gets if it names it; the arms and δ it always gets, by position."""


def _parameters(function: Callable[..., Any], name: str) -> dict[str, inspect.Parameter]:
    """The validated parameters of somebody's algorithm: it can be called with arms and δ."""
    if not callable(function):
        raise UsageError(
            f"algorithm is {function!r:.60}; give a name ('surest algorithms' lists them) or a generator function"
        )
    try:
        signature = inspect.signature(function)
        signature.bind_partial(None, None)
    except (TypeError, ValueError):
        raise ContractError(
            f"{name} cannot be called as {name}(arms, delta); begin its parameters with arms and delta"
        ) from None
    return dict(signature.parameters)


def _needs(name: str, takes: Mapping[str, inspect.Parameter]) -> bool:
    """Whether a function cannot do without a parameter."""
    return name in takes and takes[name].default is inspect.Parameter.empty


def _answering(procedure: Any, name: str, task: Task, fixed: bool) -> Procedure[Answer]:
    """A procedure whose value is an `Answer`, whatever form its author gave it. A fixed budget certifies nothing."""
    if not hasattr(procedure, "send"):
        raise ContractError(
            f"{name} returned {procedure!r:.60} at once; it must be a generator function: "
            "rewards = yield Pull(arms, times, statistic)"
        )
    value = yield from procedure
    answer = as_answer(value, name, len(task.arms) + arms_in(task.arrivals), task.question.each_arm)
    return Answer(answer.arms, False, "fixed budget", answer.status) if fixed and value is not answer else answer
