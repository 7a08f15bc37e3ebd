"""`check_algorithm` runs an algorithm on simulated arms and says what is wrong."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from surest.algorithms import Algorithm, Entry, start
from surest.arms.finite import FiniteArms, bernoulli, finite_arms
from surest.core.procedure import Running
from surest.core.protocol import Answer, Pull, Status
from surest.errors import ContractError, PullLimitError, UsageError
from surest.numerics import at_least
from surest.search.loading import entry_of

EASY = {
    "two arms that are easy to tell apart": bernoulli([0.1, 0.9]),
    "three arms with rewards between 0 and 1": finite_arms(
        [([0.0, 0.5, 0.9], [5, 4, 1]), ([0.1, 0.2, 0.3], [1, 1, 1]), ([0.7, 0.8, 1.0], [2, 3, 2])]
    ),
    "five constant arms": finite_arms([([x], [1]) for x in (0.0, 0.3, 1.0, 0.5, 0.3)]),
}
"""An algorithm is expected to end on these."""
HARD = {
    "two arms that are nearly tied": bernoulli([0.5, 0.501]),
    "a constant against a law whose first rewards are mostly below it": finite_arms(
        [([0.5], [1]), ([0.4, 1.0], [0.8, 0.2])]
    ),
    "a small constant against rare ones": finite_arms([([0.02], [1]), ([0.0, 1.0], [0.95, 0.05])]),
}
"""An algorithm that stops too soon, or that trusts an empirical variance, errs on these. It need not end."""
ENOUGH, PATIENCE = 50_000, 200
"""Requests after which a run is given up: where it is expected to end, and in each of the many runs that are counted."""
PULLS = 10**15  # pulls after which a run is given up; simulated arms answer many at once
DOUBT = 0.001
"""There are too many wrong answers if a δ-correct algorithm makes as many with a probability below this."""


class AlgorithmError(AssertionError):
    """Raised for an algorithm that does not pass; the message lists all problems."""


@dataclass
class AlgorithmReport:
    """What was checked, and what was found wrong."""

    algorithm: str
    checked: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    certified: int | None = None
    """How many answers were certified, and so could be wrong; None where they are not counted."""

    @property
    def ok(self) -> bool:
        """Whether nothing was found wrong."""
        return not self.problems

    def __str__(self) -> str:
        verdict = "passes" if self.ok else f"does not pass ({len(self.problems)} found wrong)"
        if self.ok and self.certified == 0:
            verdict = "keeps the contract; it certified no answer, so nothing is known of its errors"
        wrong, fine = ([f"- wrong: {one}" for one in self.problems], [f"- fine: {one}" for one in self.checked])
        return "\n".join([f"{self.algorithm} {verdict}", *wrong, *fine])


def check_algorithm(
    algorithm: Algorithm,
    *,
    delta: float = 0.1,
    epsilon: float | None = None,
    runs: int = 60,
    seed: int = 0,
    **options: Any,
) -> AlgorithmReport:
    """Run an algorithm on simulated arms and check what surest's own must pass.

    Its requests and its answer are allowed; two runs with the same seed are the same; it neither uses nor disturbs the global
    generators of `random` and `numpy.random`; and it is wrong no more often than δ allows on a few instances, some of which
    are hard. Passing proves nothing about the error probability; failing does show a mistake.

    Parameters
    ----------
    algorithm : generator function or str
        ``(arms, delta, *, rng, …)``, as `identify` takes it; or a name, or ``file.py:function``.
    delta : float
        The error probability to hold it to.
    epsilon : float, optional
        How far from the best its answers may be; default 0, or 0.1 for an algorithm that needs ε > 0.
    runs : int
        How many runs to count on each instance.
    seed : int
        Makes the check repeatable.
    **options
        The algorithm's own.

    Returns
    -------
    AlgorithmReport
        What was checked; print it.

    Raises
    ------
    AlgorithmError
        An `AssertionError` whose message lists all that is wrong.

    Examples
    --------
    >>> from surest.core.protocol import Pull, Statistic
    >>> def hasty(arms, delta):
    ...     means = yield Pull(arms, 1, Statistic.MEAN)
    ...     return arms[means.argmax()]
    >>> check_algorithm(hasty)
    Traceback (most recent call last):
        ...
    surest.testing.algorithms.AlgorithmError: hasty does not pass (3 found wrong)
    ...
    """
    entry = entry_of(algorithm)
    if entry.works_on == "items":
        raise UsageError(
            f"{entry.name} works on a list of items; check_algorithm tries algorithms that draw fresh rewards. Try it with "
            "surest.evaluate(table, algorithm=…) on tables whose best arm you know"
        )
    if epsilon is None:
        epsilon = 0.1 if entry.goal == "ε-optimal arm" else 0.0
    trial = _Trial(entry, delta, epsilon, seed, options)
    report = AlgorithmReport(entry.name)
    with _globals_seeded(seed):
        _ends(trial, report)
        if report.ok:  # what breaks the contract, or does not end, need not be counted
            _repeats(trial, report)
            _counts(trial, runs, report)
    if not report.ok:
        raise AlgorithmError(str(report))
    return report


class _Run(NamedTuple):
    """How one run went."""

    requests: list[str]  # in words, where they are kept
    end: tuple[tuple[int, ...], bool, str] | None = None
    """Arms, certified, reason; none where it was given up, or broke off."""
    fault: str | None = None


@dataclass(frozen=True)
class _Trial:
    """An algorithm and how to start it."""

    entry: Entry
    delta: float
    epsilon: float
    seed: int
    options: dict[str, Any]

    def run(self, arms: FiniteArms, run: int, patience: int, *, look: bool = True) -> _Run:
        """One run; whatever it raises becomes words. `look` keeps its requests and asks for its state at each."""
        requests: list[str] = []
        try:
            return _Run(requests, self._end(arms, 1000 * self.seed + run, patience, requests if look else None))
        except PullLimitError:
            return _Run(requests)  # it asks for more pulls than can be counted: it does not end
        except UsageError as error:  # a breach of the contract, above all
            return _Run(requests, fault=str(error))
        except Exception as error:
            return _Run(requests, fault=f"it raised {type(error).__name__}: {error}")

    def _end(
        self, arms: FiniteArms, seed: int, patience: int, requests: list[str] | None
    ) -> tuple[tuple[int, ...], bool, str] | None:
        n, name = len(arms), self.entry.name
        budget = 200 * n if self.entry.goal == "fixed budget" else None
        options = {**({"h1": 50.0} if self.entry.told_h1 else {}), **self.options}
        procedure = start(self.entry, n, self.delta, epsilon=self.epsilon, budget=budget, seed=seed, **options)
        bandit = arms.simulate(seed)
        running = Running(procedure, n, budget=budget or PULLS, name=name)
        while isinstance(running.request, Pull) and running.rounds < patience:
            if requests is not None:
                requests.append(repr(running.request))
                said: Any = running.request.status
                said = said() if callable(said) else said
                if said is not None and (not isinstance(said, Status) or not 0 <= said.leader < n):
                    wanted = "status is a function that returns a Status whose leader is an arm"
                    raise ContractError(f"{name} says of its state {said!r:.60}; {wanted}")
            running.send(bandit.answer(running.request))
        answer = running.value
        if running.spent and budget is not None:
            raise ContractError(f"{name} asked for more than its budget of {budget} pulls")
        if isinstance(answer, Answer):
            return answer.arms, answer.certified, answer.reason
        if running.request is None and not running.spent:
            raise ContractError(f"{name} returned {answer!r:.60}; return an Answer")
        return None


def _ends(trial: _Trial, report: AlgorithmReport) -> None:
    """Requests and answers are allowed, and easy instances come to an end."""
    for name, arms in EASY.items():
        done = trial.run(arms, 0, ENOUGH)
        if done.fault is not None:
            if not any(done.fault in problem for problem in report.problems):
                report.problems.append(f"{done.fault} [{name}]")
        elif done.end is None:
            report.problems.append(
                f"it did not end within {ENOUGH:,} requests or {PULLS:.0e} pulls on {name}; nothing is certified by then"
            )
        elif trial.entry.goal == "fixed budget" and done.end[1]:
            report.problems.append("it spends a fixed budget and calls its answer certified; return certified=False")
            return
    if report.ok:
        report.checked.append("requests and answers keep the contract, and easy instances come to an end")


def _repeats(trial: _Trial, report: AlgorithmReport) -> None:
    """The same seed gives the same run, whatever the global generators do, and they are left alone."""
    runs, uses = [], []
    for seed in (1, 1, 2):
        with _globals_seeded(seed) as used:
            runs.append(trial.run(EASY["three arms with rewards between 0 and 1"], 1, ENOUGH))
        uses.append(used)
    first, again, other = runs
    if uses[0]:
        report.problems.append(f"it uses the global generator of {' and '.join(uses[0])}; draw from `rng` instead")
    if first != again:
        report.problems.append(
            f"two runs with the same seed differ: {_difference(first, again)}; take all randomness from `rng`, "
            "and keep nothing from one run to the next"
        )
    elif first != other and not uses[0]:
        report.problems.append(f"it depends on a global random generator: {_difference(first, other)}; draw from `rng`")
    if report.ok:
        report.checked.append("the same seed gives the same run, and no global randomness is used")


def _difference(first: _Run, second: _Run) -> str:
    for k, (one, other) in enumerate(zip(first.requests, second.requests, strict=False), 1):
        if one != other:
            return f"request {k} is {one[:70]} and then {other[:70]}"
    if len(first.requests) != len(second.requests):
        return f"one makes {len(first.requests)} requests, the other {len(second.requests)}"
    return f"they end with {first.end or first.fault} and {second.end or second.fault}"


@contextmanager
def _globals_seeded(seed: int) -> Iterator[list[str]]:
    """Set the global generators, put them back after, and name those that were used."""

    def states() -> dict[str, str]:
        return {"random": repr(random.getstate()), "numpy.random": repr(np.random.get_state(legacy=False))}  # noqa: NPY002

    kept, kept_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    before, used = states(), list[str]()
    try:
        yield used
    finally:
        used += [name for name, state in states().items() if state != before[name]]
        random.setstate(kept)
        np.random.set_state(kept_numpy)  # noqa: NPY002


def _counts(trial: _Trial, runs: int, report: AlgorithmReport) -> None:
    """Certified answers are wrong no more often than δ allows."""
    if trial.entry.goal == "fixed budget":
        report.checked.append("wrong answers are not counted: a fixed budget certifies nothing")
        return
    told, report.certified = [], 0
    for name, arms in {**HARD, **EASY}.items():
        wrong, decided = 0, 0
        for run in range(runs):
            order = np.random.default_rng([trial.seed, run]).permutation(len(arms))
            done = trial.run(arms.reordered(order), run, PATIENCE, look=False)
            if done.fault is not None:
                report.problems.append(f"{done.fault} [{name}]")
                return
            if done.end is not None and done.end[1]:
                means = arms.means[order[list(done.end[0])]]
                decided += 1
                wrong += bool((means < arms.means.max() - trial.epsilon).any())
        report.certified += decided
        if wrong and at_least(wrong, runs, trial.delta) < DOUBT:
            report.problems.append(
                f"it is wrong in {wrong} of {runs} runs on {name}; at δ = {trial.delta:g} about "
                f"{trial.delta * runs:.0f} are allowed; the probability of so many is below {DOUBT:g}"
            )
        else:
            told.append(f"{wrong} of {decided} answers wrong on {name}" if decided else f"none certified on {name}")
    if report.certified:
        report.checked.append(f"of {runs} runs each: " + "; ".join(told))
