"""What a user gets: the verdict, what it rests on, and what it cost."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surest.algorithms import Entry
from surest.protocol import Answer, FloatArray, IntArray, Status
from surest.running import Exchange, Running


@dataclass(frozen=True)
class Result:
    """The outcome of an identification."""

    best: str
    """The label of the chosen arm …"""
    index: int
    """… and its position, from 0."""
    certified: bool
    """Whether the guarantee holds for it. False when the budget was spent first."""
    reason: str
    """Why it stopped."""
    delta: float
    epsilon: float
    """The requested accuracy: 0 asks for the best arm itself."""
    algorithm: str
    standing: str
    pulls: int
    rounds: int
    seconds: float
    seed: int | None
    labels: tuple[str, ...] = field(repr=False)
    pulls_per_arm: IntArray = field(repr=False)
    means: FloatArray = field(repr=False)
    """Each arm's mean reward; NaN where none is known."""
    achieved_delta: float | None = None
    """The error level at which the chosen arm is certified: an anytime p-value, where the algorithm gives one."""
    epsilon_certified: float | None = None
    """The smallest ε for which the chosen arm is certified at δ."""
    nominees: tuple[str, ...] = ()
    forecast: float | None = None
    intervals: tuple[FloatArray, FloatArray] | None = field(default=None, repr=False)
    transcript: list[Exchange] | None = field(default=None, repr=False)
    health: dict[str, dict[str, int]] | None = field(default=None, repr=False)
    """A stored study's failed, retried and expired evaluations by arm, where there were any."""

    def to_json(self) -> dict[str, Any]:
        """The result as plain data, as ``surest identify --json`` prints it."""
        return {
            "index": self.index,
            "arm": self.best,
            "certified": self.certified,
            "reason": self.reason,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "algorithm": self.algorithm,
            "standing": self.standing,
            "pulls": self.pulls,
            "pulls_per_arm": self.pulls_per_arm.tolist(),
            "rounds": self.rounds,
            "seconds": self.seconds,
            "seed": self.seed,
            "achieved_delta": self.achieved_delta,
            "epsilon_certified": self.epsilon_certified,
            "nominees": list(self.nominees),
            **({"health": self.health} if self.health is not None else {}),
        }


def result_of(
    running: Running[Answer],
    labels: tuple[str, ...],
    *,
    algorithm: str,
    entry: Entry,
    delta: float,
    epsilon: float,
    seed: int | None,
    seconds: float = float("nan"),
) -> Result:
    """The result of a procedure: its verdict, or, before its end, the answer so far."""
    answer = running.value
    status = status_of(running)
    index = answer.arm if answer is not None else status.leader if status is not None else _leader(running)
    return Result(
        best=labels[index],
        index=index,
        certified=answer is not None and answer.certified,
        reason=answer.reason if answer is not None else "budget spent" if running.spent else "still running",
        delta=delta,
        epsilon=epsilon,
        algorithm=algorithm,
        standing=entry.standing,
        pulls=running.pulls,
        rounds=running.rounds,
        seconds=seconds,
        seed=seed,
        labels=labels,
        pulls_per_arm=running.pulls_per_arm,
        means=running.means,
        achieved_delta=status.achieved_delta if status is not None else None,
        epsilon_certified=status.epsilon_certified if status is not None else None,
        nominees=tuple(labels[i] for i in status.nominees) if status is not None else (),
        forecast=status.forecast if status is not None else None,
        intervals=status.intervals if status is not None else None,
        transcript=running.transcript,
    )


def status_of(running: Running[Answer]) -> Status | None:
    """The procedure's own word on its state, where it gives one."""
    if running.value is not None:
        return running.value.status
    if running.request is not None and running.request.status is not None:
        return running.request.status()
    return running.status


def _leader(running: Running[Answer]) -> int:
    """The best guess of a procedure that says nothing itself: the largest mean among the arms it was last after."""
    last = running.unanswered or running.request
    candidates = last.arms if last is not None else np.arange(len(running.means))
    means = np.nan_to_num(running.means[candidates], nan=-1.0)
    return int(candidates[means.argmax()])
