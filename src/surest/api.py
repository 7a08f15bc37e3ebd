"""The front door: `identify`."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surest.algorithms import DEFAULT, lookup, start
from surest.arms.finite import FiniteArms, recorded
from surest.core.procedure import Running
from surest.core.protocol import Answer, FloatArray
from surest.core.session import Session, checked_bounds, distinct
from surest.drivers.call import call, work_of
from surest.drivers.executor import IN_FLIGHT, Workers, evaluate, keep_busy
from surest.drivers.looks import history as history_hook
from surest.drivers.simulate import simulate
from surest.errors import RewardError, Stop, UsageError
from surest.result.data import Result, result_of

Progress = Callable[[Running[Answer]], None]


def identify(
    arms: Any,
    delta: float = 0.05,
    *,
    epsilon: float = 0.0,
    budget: int | None = None,
    seed: int | None = None,
    algorithm: str = DEFAULT,
    bounds: tuple[float, float] = (0.0, 1.0),
    minimise: bool = False,
    vectorised: bool = False,
    seeded: bool = False,
    executor: Workers | None = None,
    in_flight: int = IN_FLIGHT,
    retries: int | None = None,
    on_failure: float | None = None,
    on_request: Progress | None = None,
    history: bool = False,
    record: bool = False,
    **options: Any,
) -> Result:
    """Find the best of several noisy options, wrong with probability at most `delta`.

    Parameters
    ----------
    arms : mapping or sequence of callables or of arrays, or a bandit
        Callables return one reward a call: a number or a truth value. Arrays are recorded rewards, drawn from with
        replacement. A mapping's keys are the arms' labels. A bandit is anything that answers requests, simulated arms
        among them.
    delta : float
        The allowed probability of a wrong answer.
    epsilon : float
        How far from the best an answer may be, in the rewards' own units. 0 asks for the best itself.
    budget : int, optional
        The most evaluations to make. When they do not suffice, the answer so far is returned, not certified.
    seed : int, optional
        Makes simulated draws, and random choices of the algorithm, repeatable. One is chosen, and reported, if not given.
    algorithm : str
        A name from ``surest algorithms``.
    bounds : (float, float)
        The lowest and the highest possible reward. Results are in the same units. (A bandit's rewards lie in [0, 1];
        for one, `bounds` says what 0 and 1 stand for.)
    minimise : bool
        Rewards are costs, times or losses: the arm of the smallest mean is the best.
    vectorised : bool
        Callables take a count and return so many rewards.
    seeded : bool
        Callables take a whole number, another one for each reward, made from `seed`. With random numbers from it alone, a run
        on any number of workers is repeatable.
    executor : concurrent.futures.Executor, or a function that returns one
        Where to call the callables: threads, processes, loky's, Dask's. A function is called again when an executor breaks.
    in_flight : int
        The most evaluations under way at a time on the executor.
    retries : int, optional
        How often a failed evaluation is retried on the executor: 3 times, or not at all if `on_failure` is given.
    on_failure : float, optional
        The reward as which an evaluation counts that failed more often. Without it, the run then ends with an error.
    on_request : callable, optional
        Called before each request with the state of the run, and between calls where they are slow. It may raise
        `surest.errors.Stop` to end the search with the answer so far, not certified.
    history : bool
        Keep evidence over time in ``result.history``, for ``result.plot("evidence")``. Costs up to a tenth of the time.
    record : bool
        Keep what was asked and answered in ``result.transcript``.
    **options
        The algorithm's own options.

    Returns
    -------
    Result
        With `.best`, `.certified`, `.pulls` and more.

    Examples
    --------
    >>> import random
    >>> rng = random.Random(0)
    >>> result = identify({"old": lambda: rng.random() < 0.3, "new": lambda: rng.random() < 0.6}, delta=0.05)
    >>> result.best, result.certified
    ('new', True)
    """
    entry = lookup(algorithm)
    seed = secrets.randbits(32) if seed is None else seed
    low, high = checked_bounds(bounds)
    labels, source = named(arms, (low, high), minimise)
    _check_executor(executor, source, vectorised, retries, on_failure)
    looks = history_hook() if history else None
    watched = _Watched([hook for hook in (looks, on_request) if hook is not None])
    stopped, session = None, None
    began = time.perf_counter()
    try:
        if hasattr(source, "answer"):
            bandit = source
        elif hasattr(source, "simulate"):
            bandit = source.simulate(seed)
        else:
            bandit = None
        settings: dict[str, Any] = {"budget": budget, "seed": seed, **options}
        if bandit is not None:
            procedure = start(algorithm, len(labels), delta, epsilon=epsilon / (high - low), **settings)
            running = simulate(procedure, bandit, budget=budget, on_request=watched, record=record)
        else:
            settings |= {"epsilon": epsilon, "bounds": (low, high), "minimise": minimise, "record": record}
            if executor is not None:
                settings = keep_busy(algorithm, in_flight, settings)
            session = Session(labels, delta, algorithm=algorithm, **settings)
            hook = watched if watched.hooks else None
            if executor is None:
                call(session, source, vectorised=vectorised, seeded=seeded, on_request=hook)
            else:
                how: dict[str, Any] = {"in_flight": in_flight, "retries": retries, "on_failure": on_failure}
                evaluate(session, work_of(source, seed, seeded=seeded), executor, on_request=hook, **how)
            running = session.running
    except Stop as stop:
        if watched.running is None:
            raise
        running, stopped = watched.running, str(stop) or "stopped"
    found = result_of(
        running,
        labels,
        algorithm=algorithm,
        entry=entry,
        delta=delta,
        epsilon=epsilon,
        seed=seed,
        seconds=time.perf_counter() - began,
        bounds=(low, high),
        minimise=minimise,
        history=tuple(looks.points) if looks is not None else (),
        stopped=stopped,
    )
    return found if session is None else replace(found, health=session.health)


class _Watched:
    """Several hooks as one, which remembers the run that it saw."""

    def __init__(self, hooks: list[Progress]) -> None:
        self.hooks = hooks
        self.running: Running[Answer] | None = None

    def __call__(self, running: Running[Answer]) -> None:
        self.running = running
        for hook in self.hooks:
            hook(running)


def _check_executor(executor: Workers | None, source: Any, vectorised: bool, *how: object) -> None:
    """Refuse what would be ignored."""
    if executor is None and any(option is not None for option in how):
        raise UsageError("retries and on_failure go with an executor; give one, such as ThreadPoolExecutor(1)")
    if executor is not None and not isinstance(source, list):
        raise UsageError("recorded rewards and simulated arms need no executor; leave it out")
    if executor is not None and vectorised:
        raise UsageError(
            "an executor calls functions that return one reward a call; leave out vectorised=True and return one, or leave "
            "out the executor"
        )


def named(arms: Any, bounds: tuple[float, float] = (0.0, 1.0), minimise: bool = False) -> tuple[tuple[str, ...], Any]:
    """Labels, and either something that answers requests, whose large rewards are good, or a list of functions."""
    labels, source = _named(arms, bounds)
    if not minimise or isinstance(source, list):
        return labels, source
    if not isinstance(source, FiniteArms):
        raise UsageError(
            f"minimise goes with callables, recorded rewards and arms of finite support, not with {arms!r:.60}"
        )
    return labels, source.mirrored()


def _named(arms: Any, bounds: tuple[float, float]) -> tuple[tuple[str, ...], Any]:
    if callable(getattr(arms, "simulate", None)) or callable(getattr(arms, "answer", None)):
        return tuple(arms.labels), arms
    if isinstance(arms, Mapping):
        labels, given = distinct(list(arms)), list(arms.values())
    elif isinstance(arms, Sequence | np.ndarray) and not isinstance(arms, str | bytes):
        labels, given = tuple(str(i) for i in range(len(arms))), list(arms)
    else:
        raise UsageError(
            f"arms are {arms!r:.60} ({type(arms).__name__}); give a mapping or a sequence of callables, or of arrays of "
            "rewards, or simulated arms"
        )
    if not given:
        raise UsageError("there are no arms; give at least one")
    kinds = {label: callable(arm) for label, arm in zip(labels, given, strict=True)}
    if all(kinds.values()):
        return labels, given
    if any(kinds.values()):
        one, other = (next(label for label, kind in kinds.items() if kind is wanted) for wanted in (True, False))
        raise UsageError(f"arm {one!r} is a callable and arm {other!r} is not; give one kind")
    low, high = bounds
    rewards = [_array(label, arm, low, high) for label, arm in zip(labels, given, strict=True)]
    return labels, recorded(dict(zip(labels, rewards, strict=True)))


def _array(label: str, rewards: Any, low: float, high: float) -> FloatArray:
    """One arm's recorded rewards, on [0, 1]."""
    try:
        if np.asarray(rewards).dtype.kind not in "fiub":
            raise TypeError
        array = np.asarray(rewards, float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or not array.size:
        raise UsageError(
            f"arm {label!r} is {rewards!r:.60} ({type(rewards).__name__}); "
            "give a callable that returns a reward, or an array of at least one recorded reward"
        )
    outside = ~((low <= array) & (array <= high))
    if outside.any():
        raise RewardError(
            f"arm {label!r}: recorded reward {array[outside][0]!r} is not a number in [{low:g}, {high:g}]; "
            "give the rewards' range as bounds"
        )
    return (array - low) / (high - low)
