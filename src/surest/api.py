"""The front door: `identify`."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from surest.algorithms import DEFAULT, lookup, start
from surest.bandits.finite import recorded
from surest.drivers.call import call
from surest.drivers.simulate import simulate
from surest.errors import UsageError
from surest.protocol import Answer
from surest.result import Result, result_of
from surest.running import Running
from surest.session import Session, checked_bounds

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
    vectorised: bool = False,
    on_request: Progress | None = None,
    record: bool = False,
    **options: Any,
) -> Result:
    """Find the best of several noisy options, wrong with probability at most `delta`.

    Parameters
    ----------
    arms : mapping or sequence of callables, of arrays, or simulated arms
        Callables return one reward a call. Arrays are recorded rewards, drawn from with replacement. A mapping's keys
        are the arms' labels.
    delta : float
        The allowed probability of a wrong answer.
    epsilon : float
        How far below the best an answer may be, in the rewards' own units. 0 asks for the best itself.
    budget : int, optional
        The most evaluations to make. When they do not suffice, the answer so far is returned, not certified.
    seed : int, optional
        Makes simulated draws, and random choices of the algorithm, repeatable. One is chosen, and reported, if not given.
    algorithm : str
        A name from ``surest algorithms``.
    bounds : (float, float)
        The range of the rewards.
    vectorised : bool
        Callables take a count and return so many rewards.
    on_request : callable, optional
        Called before each request with the state of the run.
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
    labels, source = _named(arms, bounds)
    began = time.perf_counter()
    settings: dict[str, Any] = {"epsilon": epsilon, "budget": budget, "seed": seed, **options}
    if callable(getattr(source, "answer", None)) or callable(getattr(source, "simulate", None)):
        bandit = source.simulate(seed) if hasattr(source, "simulate") else source
        procedure = start(algorithm, len(labels), delta, **settings)
        running = simulate(procedure, bandit, budget=budget, on_request=on_request, record=record)
    else:
        session = Session(labels, delta, algorithm=algorithm, bounds=bounds, record=record, **settings)
        call(session, source, vectorised=vectorised, on_request=on_request)
        running = session.running
    seconds = time.perf_counter() - began
    return result_of(
        running, labels, algorithm=algorithm, entry=entry, delta=delta, epsilon=epsilon, seed=seed, seconds=seconds
    )


def _named(arms: Any, bounds: tuple[float, float]) -> tuple[tuple[str, ...], Any]:
    """Labels, and either something that answers requests or a list of functions."""
    low, high = checked_bounds(bounds)
    if callable(getattr(arms, "simulate", None)) or callable(getattr(arms, "answer", None)):
        return tuple(arms.labels), arms
    if isinstance(arms, Mapping):
        labels, given = tuple(str(key) for key in arms), list(arms.values())
    elif isinstance(arms, Sequence | np.ndarray) and not isinstance(arms, str):
        labels, given = tuple(str(i) for i in range(len(arms))), list(arms)
    else:
        raise UsageError(f"arms are {type(arms).__name__}; give callables, arrays of rewards, or simulated arms")
    if all(callable(arm) for arm in given):
        return labels, given
    if any(callable(arm) for arm in given):
        raise UsageError("some arms are callables and some are not; give one kind")
    if len(set(labels)) < len(labels):
        raise UsageError(f"labels {', '.join(labels)}: two arms have the same; labels must differ")
    try:
        rewards = [(np.asarray(arm, float) - low) / (high - low) for arm in given]
    except (TypeError, ValueError) as error:
        raise UsageError(f"recorded rewards must be numbers: {error}") from None
    return labels, recorded(dict(zip(labels, rewards, strict=True)))
