"""All algorithms by name. Each one's facts are in an `Entry` beside its function; this module says where that is."""

import inspect
from collections import UserDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Any, cast

import numpy as np

from surest.algorithms.entry import Entry as Entry
from surest.algorithms.entry import Option, Script, check_options
from surest.algorithms.entry import Task as Task
from surest.algorithms.honest import honest
from surest.core.problem import Problem
from surest.core.procedure import Running
from surest.core.protocol import Answer, Procedure, checked_delta
from surest.core.question import BEST, Question
from surest.errors import UsageError

MODULES = {
    "wager": "algorithms.wager.entry",
    "race": "algorithms.race",
    "wager-top": "algorithms.questions.wager_top",
    "wager-above": "algorithms.questions.wager_each",
    "wager-control": "algorithms.questions.wager_each",
    "race-top": "algorithms.race",
    "race-above": "algorithms.race",
    "race-control": "algorithms.race",
    "gate": "algorithms.race",
    "race-cheapest": "algorithms.questions.cheapest",
    "wager-cheapest": "algorithms.questions.cheapest",
    **{
        name: f"lab.{home}"
        for home, names in (
            (
                "paper.identification",
                "vd-best-arm-id vd-best-arm-id-star naive-best-arm best-arm-est naive-best-arm-est",
            ),
            ("rivals.racing", "successive-elimination"),
            ("rivals.elimination", "median-elimination exponential-gap-elimination distribution-based-elimination"),
            ("rivals.gap_entropy", "gap-entropy-elimination"),
            ("rivals.optimism", "lil-ucb lil-ucb-lucb-stop lil-ucb-heuristic lucb kl-lucb kl-lucb-heuristic"),
            ("rivals.racing", "kl-racing kl-racing-heuristic chernoff-racing"),
            ("rivals.optimism", "ugape ugape-v lil-kl-ucb"),
            ("rivals.tracking", "track-and-stop track-and-stop-heuristic"),
            ("rivals.k_inf_track_and_stop", "k-inf-track-and-stop"),
            ("rivals.tracking", "top-two top-two-ids top-two-heuristic top-two-ids-heuristic"),
            ("rivals.racing", "peak betting-racing"),
            ("rivals.tracking", "eb-tc-epsilon"),
            ("rivals.budgets", "successive-rejects sequential-halving ucb-e ucb-e-adaptive"),
            ("rivals.optimism", "ugape-b ugape-b-adaptive"),
            ("rivals.controls", "uniform-bonferroni peeking-z-test"),
            (
                "rivals.on_items",
                "everything averaged-opponents covariance-adaptive paired-t-race wilcoxon-pruner halving-on-items",
            ),
        )
        for name in names.split()
    },
}
"""By name, in the order in which they are listed: the module of `surest` whose ``ENTRIES`` has the algorithm. It is
imported when the algorithm is first looked up."""
DOORS = {"duels": "algorithms.duels"}
"""The same of those that have a door of their own, and are no choice for others: they are not listed."""
DEFAULT = "wager"
Algorithm = str | Callable[..., Any] | Entry  # a name, a generator function of one's own, or an entry


class Registry(UserDict[str, Entry]):
    """The entries by name. Names are known at once; a module is imported when one of its entries is asked for."""

    data: dict[str, Any]  # the entry of a name, or the module that has it

    def __getitem__(self, name: str) -> Entry:
        home = self.data[name] if name in self.data else DOORS[name]
        if isinstance(home, Entry):
            return home
        found = [entry for entry in import_module(f"surest.{home}").ENTRIES if entry.name == name]
        if not found:
            raise LookupError(f"surest.{home} has no entry named {name!r} in ENTRIES; MODULES says that it has")
        return cast(Entry, found[0])


REGISTRY = Registry()
REGISTRY.data = dict(MODULES)


def all_entries() -> tuple[Entry, ...]:
    """Every entry, in the order of the table; imports every algorithm."""
    return tuple(REGISTRY.values())


NO_PULLS = "tally judges totals, successes of trials, and chooses no pulls; name another algorithm"


def lookup(algorithm: Algorithm) -> Entry:
    """The entry of a name, or of a generator function of one's own; an entry is its own."""
    if isinstance(algorithm, Entry):
        return algorithm
    if not isinstance(algorithm, str):
        return Entry.of_function(algorithm)
    with suppress(KeyError):
        return REGISTRY[algorithm]
    if ".py:" in algorithm:
        raise UsageError(
            f"{algorithm!r} names a function in a file, not an algorithm; "
            "give load_algorithm of surest.search.loading that text, or pass the function itself"
        )
    if algorithm == "tally":
        raise UsageError(NO_PULLS)
    near = get_close_matches(algorithm, REGISTRY, 3, 0.5)
    near = near or [known for known in REGISTRY if algorithm and algorithm in known][:3]
    hint = f"did you mean {' or '.join(near)}?" if near else "'surest algorithms' lists them"
    raise UsageError(f"there is no algorithm {algorithm!r}; {hint}")


def options_of(algorithm: Algorithm) -> Mapping[str, Option]:
    """The options that an algorithm is known to have; most have none."""
    return lookup(algorithm).options or {}


def start(
    algorithm: Algorithm, n: int, delta: float, *, epsilon: float = 0.0, budget: int | None = None, seed: int = 0,
    arrivals: list[Any] | None = None, items: int | None = None, target: str = "items", spread: float = 1.0,
    script: Script = (), question: Question = BEST, **options: Any,
) -> Procedure[Answer]:  # fmt: skip
    """Start an algorithm on n arms, after checking that what is asked of it makes sense.

    `seed` makes its own randomness repeatable, `options` are its own, and all else is as in `Task`, rewards on [0, 1].
    """
    entry = lookup(algorithm)
    if options and entry.options is not None:
        check_options(entry.name, entry.options, options)
    checked_delta(delta)
    _check(entry, n, epsilon, budget)
    _check_question(entry, question, n, items, epsilon)
    if spread < 1 and not entry.spread:
        raise UsageError(f"{entry.name} does not support spread; leave it out, or ask race for the best arm")
    if n == 1 and question.best and entry.name != "tally":  # totals are there, and have a mean
        return _only_arm()
    rng = np.random.default_rng([seed % 2**64, n])
    arriving = [] if arrivals is None else arrivals
    task = Task(np.arange(n), delta, epsilon, budget, rng, arriving, items, target, spread, script, question)
    return entry.start(task, **options)


def running_on(
    problem: Problem, *, told: bool = False, record: bool = False, arrivals: list[Any] | None = None, script: Script = (),
    budget: int | None = None,
) -> Running[Answer]:  # fmt: skip
    """The algorithm that a problem names, on its way, on [0, 1].

    `told` says that whoever takes rewards says what they cost; else the run adds the prices of what it counts. A `budget` ends
    the run of an algorithm that knows of none.
    """
    entry = lookup(problem.algorithm)
    own = inspect.signature(start).parameters.keys() & problem.options.keys()
    if own:
        raise UsageError(f"{', '.join(sorted(own))} cannot be an option of an algorithm; leave it out")
    procedure = start(
        entry, len(problem.labels), problem.delta, epsilon=problem.epsilon / problem.scale.width,
        budget=problem.budget, seed=problem.seed, arrivals=arrivals, items=problem.items, target=problem.target,
        spread=1.0 if problem.spread is None else problem.unit_spread, script=script, question=problem.question,
        **problem.options,
    )  # fmt: skip
    if problem.estimate is not None:
        parts = [problem.options.get(name) for name in ("group", "weights")]
        whole = problem.target == "population"
        procedure = honest(procedure, problem.estimate, problem.delta, problem.items, whole, *parts)
    priced = problem.cost is not None or problem.budget_cost is not None
    return Running(
        procedure, len(problem.labels), budget=problem.budget if budget is None else budget, record=record, name=entry.name,
        items=problem.items, costs=problem.spending(told=told) if priced else None, standing=entry.standing,
    )  # fmt: skip


def _check(entry: Entry, n: int, epsilon: float, budget: int | None) -> None:
    """Refuse what no algorithm can do, and what this one cannot."""
    if n < 1:
        raise UsageError("there are no arms; give at least one")
    if not 0 <= epsilon < np.inf:
        raise UsageError(f"epsilon is {epsilon}; it must be a number ≥ 0 (0 asks for the best arm itself)")
    if epsilon >= 1:
        raise UsageError(
            f"epsilon is {epsilon:g} times the range of the rewards, and any arm is that close to the best; give a smaller one, "
            "in the units of the rewards"
        )
    if budget is not None and budget < 0:
        raise UsageError(f"the budget is {budget}; it must be a number of pulls ≥ 0")
    if epsilon > 0 and entry.goal == "best arm":
        others = ", ".join(e.name for e in all_entries() if e.goal in ("ε-optimal arm", "either"))
        raise UsageError(
            f"{entry.name} looks for the best arm and takes no epsilon ({epsilon} given); for ε > 0 use {others}"
        )
    if epsilon == 0 and entry.goal == "ε-optimal arm":
        raise UsageError(f"{entry.name} looks for an ε-optimal arm: give epsilon > 0 (0 given)")
    if entry.goal == "fixed budget" and budget is None:
        raise UsageError(f"{entry.name} spends a fixed budget: give one")


def _check_question(entry: Entry, question: Question, n: int, items: int | None, epsilon: float) -> None:
    """Refuse a question that makes no sense with n arms, and an algorithm that does not answer it, or not on such arms."""
    if items is None and entry.works_on == "items":
        raise UsageError(f"{entry.name} compares arms on a list of items, not on fresh draws: use surest.evaluate")
    if items is not None and entry.works_on == "fresh pulls":
        lists = ", ".join(e.name for e in all_entries() if e.works_on != "fresh pulls")
        raise UsageError(f"{entry.name} works on fresh pulls, not on a list of {items} items; for items use {lists}")
    if not question.best and question.top >= n and question.ranks:
        if n == 1:
            raise UsageError(f"top is {question.top}, and there is only one arm; give at least two to choose from")
        raise UsageError(f"top is {question.top}; with {n} arms it must be less than {n}")
    if question.reference is not None and n < 2:
        raise UsageError("the control is the only arm; give at least one other to compare with it")
    if question.reference is not None and epsilon > 0:
        raise UsageError("epsilon does not apply to a control; use margin")
    if question.kind in entry.answers:
        return
    other = "fresh pulls" if items is not None else "items"
    able = [e.name for e in all_entries() if question.kind in e.answers and e.works_on != other]
    raise UsageError(
        f"{entry.name} does not answer {question}; for this question use {' or '.join(able) or 'another one'}"
    )


def _only_arm() -> Procedure[Answer]:
    return Answer(0, reason="the only arm")
    yield  # a generator that asks for nothing
