"""Run a procedure on a bandit that answers at once: simulated arms, or functions that are called in this thread."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surest.core.costs import parted
from surest.core.problem import Problem
from surest.core.procedure import Running, check_size, statistic_of
from surest.core.protocol import Bandit, FloatArray, Procedure, Pull, R, Reply
from surest.errors import RewardError
from surest.search.call import ticket_seed
from surest.search.watching import between_steps

PORTION = 10_000
"""Maximum number of rewards taken at a time."""
BRIEF = 0.05
"""Minimum number of seconds between two looks while a request is answered."""
Hook = Callable[[Running[R]], None]
"""Called before each request is put to the bandit."""


def simulate(
    procedure: Procedure[R], bandit: Bandit, *, budget: int | None = None, on_request: Hook[R] | None = None,
    record: bool = False, name: str = "(unnamed)",
) -> Running[R]:  # fmt: skip
    """Drive a procedure to its end, or to the first request that the budget does not allow.

    >>> from surest.algorithms import start
    >>> from surest.arms.finite import bernoulli
    >>> simulate(start("wager", 2, 0.1), bernoulli([0.9, 0.2]).simulate(seed=1)).value.arms
    (0,)
    """
    running = Running(procedure, len(bandit.labels), budget=budget, record=record, name=name)
    answer_from(bandit, running, on_request)
    return running


def answer_from(bandit: Bandit, running: Running[R], on_request: Hook[R] | None = None) -> None:
    """Let a bandit answer the requests of a run until it has none."""
    while running.request is not None:
        if on_request is not None:
            on_request(running)
        running.send(bandit.answer(running.request), type(bandit).__name__)


@dataclass
class Calls:
    """Functions that answer requests, one call after the other, in this thread.

    A function is called without arguments for each reward; `seeded`, with a seed; or, `vectorised`, with a count for so many
    of them. `look` is called with the run between calls where they are slow.
    """

    problem: Problem
    functions: Sequence[Callable[..., Any]]
    running: Running[Any]
    look: Hook[Any] | None = None
    vectorised: bool = False
    seeded: bool = False
    made: int = 0
    """Rewards so far, of requests that are answered or not."""

    def answer(self, request: Pull) -> Reply:
        """The rewards that a request asks for."""
        check_size(request, self.running.name)
        rewards, first = np.empty(request.total), self.made
        looked = time.perf_counter()
        for arm, times in zip(request.arms.tolist(), request.times.tolist(), strict=True):
            end = self.made + times
            while self.made < end:
                if self.look is not None and time.perf_counter() - looked > BRIEF:
                    self.look(self.running)
                    looked = time.perf_counter()
                given = self._called(arm, min(end - self.made, PORTION))
                rewards[self.made - first : self.made - first + len(given)] = given
                self.made += len(given)
        return statistic_of(request, rewards)

    def _called(self, arm: int, most: int) -> list[float] | FloatArray:
        """What a call gives, on [0, 1]: one reward, or `most` of them."""
        label, scale = self.problem.labels[arm], self.problem.scale
        arguments = (most,) if self.vectorised else (ticket_seed(self.problem.seed, self.made),) if self.seeded else ()
        try:
            given = self.functions[arm](*arguments)
        except KeyboardInterrupt as interrupt:
            raise between_steps(interrupt) from None
        except Exception as error:
            asked = f" when asked for {most} rewards" if self.vectorised else f", evaluation {self.made}"
            error.add_note(f"raised by arm {label!r}{asked}")
            raise
        rewards = np.asarray(given) if self.vectorised else [given]
        if self.vectorised and np.shape(rewards) != (most,):
            raise RewardError(
                f"arm {label!r} was asked for {most} rewards and returned "
                f"{given!r:.80} of shape {np.shape(given)}; a vectorised arm must return that many numbers"
            )
        if not self.vectorised and isinstance(given, tuple):
            each = parted(given, f"arm {label!r}")
            rewards = [each.value]
            if self.running.costs is None:
                self.running.costs = self.problem.spending(told=True)
            self.running.costs.add([arm], [np.nan if each.cost is None else each.cost])
        elif self.running.costs is not None and self.problem.cost is not None:
            self.running.costs.add([arm], [np.nan], len(rewards))
        if isinstance(rewards, np.ndarray) and rewards.dtype.kind in "fiub":
            numbers = rewards.astype(float)
            if ((scale.low <= numbers) & (numbers <= scale.high)).all():
                return scale.to_unit(numbers)
        return [
            scale.to_unit(
                float(reward)
                if isinstance(reward, float | int) and scale.low <= reward <= scale.high  # a message costs time
                else scale.number(reward, f"ticket {self.made + place} (arm {label!r})")
            )
            for place, reward in enumerate(rewards)
        ]
