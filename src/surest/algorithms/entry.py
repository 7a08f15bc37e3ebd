"""What the registry says of an algorithm, and what a user asks of one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from surest.algorithms.options import Option
from surest.algorithms.stepwise import Stepwise
from surest.core.protocol import Answer, IntArray, Procedure


@dataclass(frozen=True)
class Problem:
    """What a user wants: which arms, how sure, how close, at what cost."""

    arms: IntArray
    delta: float
    epsilon: float
    budget: int | None
    rng: np.random.Generator
    arrivals: list[int] = field(default_factory=list)
    """How many arms each later addition brought, in order. A session appends to it while a growing algorithm runs; the
    algorithm looks before each request, and numbers the new arms on from those it knows."""


Goal = Literal["best arm", "ε-optimal arm", "either", "fixed budget"]
Standing = Literal["proven", "heuristic", "reconstruction"]


@dataclass(frozen=True)
class Entry:
    """One algorithm: how to start it, who published it, and what is known of it."""

    start: Callable[..., Procedure[Answer]]
    """Takes a `Problem` and the algorithm's own options."""
    goal: Goal
    standing: Standing
    reference: str
    summary: str
    stepwise: Callable[..., Stepwise] | None = None
    """For an algorithm that decides pull by pull: its compiled rule, from the same arguments; see `drivers.blocks`."""
    growing: bool = False
    """Whether its guarantee still holds when arms are added while it runs: it then heeds `Problem.arrivals`."""
    reserve: str | None = None
    """The option that must keep a part of δ beforehand for arms that are added, where there is one."""
    options: Mapping[str, Option] | None = None
    """Its own options by name. None stands for an algorithm that checks them itself: one that a user has added, say."""
