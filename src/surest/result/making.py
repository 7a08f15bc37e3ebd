"""A result from a procedure that has ended or is still running."""

import math
from collections.abc import Sequence

import numpy as np

from surest.core.duels import DUELS
from surest.core.problem import Problem
from surest.core.procedure import Running
from surest.core.protocol import Answer, Point, Status
from surest.core.scale import Scale
from surest.result.data import Estimate, EvaluationEvent, Result
from surest.result.duels import on_players
from surest.text import count, rounded

NARROW = 1 / 20  # a warning is due if rewards fill less than this part of the stated range …
ENOUGH = 20  # … after at least this many


def result_of(
    running: Running[Answer], problem: Problem, *, history: tuple[Point, ...] = (), stopped: str | None = None,
    health: dict[str, dict[str, int]] | None = None, evaluations: int | None = None,
    events: Sequence[EvaluationEvent] = (),
) -> Result:  # fmt: skip
    """The result of a procedure: its verdict or, before its end, the answer so far (`stopped` says why).

    Procedures work on [0, 1], where large is good; a result is in the units of the user.
    """
    answer, scale, estimated = running.settled, problem.scale, None
    state = running.status or Status(leader=_leader(running))
    duels, status = state.duels, scale.status(state)
    problem = on_players(problem) if problem.algorithm == DUELS else problem
    if answer is not None:
        indices = answer.arms
    elif running.status is None or problem.question.best:
        indices = (state.leader,)
    else:
        indices = state.chosen
    if answer is not None and answer.estimate is not None:
        mean, *ends = map(scale.from_unit, answer.estimate[:3])
        estimated = Estimate(mean, min(ends), max(ends), answer.estimate[3])
    last = status if answer is None else answer
    certified = answer is not None and answer.certified
    if history and status.evidence is not None and status.threshold is not None:
        before = (point for point in history if point.pulls < running.pulls)
        history = (*before, Point(running.pulls, status.evidence, status.threshold))
    unfinished = "budget spent" if running.spent else stopped or "still running"
    means = scale.from_unit(running.means) if status.means is None else status.means
    costs, whole = running.costs, None
    if problem.items and costs is not None:  # of arms that are not known beforehand
        whole = costs.of_all(problem.items, (running.pulls_per_arm > 0) | np.isnan(means))
    least, most = sorted(map(scale.from_unit, (running.least, running.most)))
    wide = bounds_too_wide(scale, least, most, running.pulls)
    same = ("apart", "achieved_delta", "epsilon_certified", "forecast", "intervals")
    return Result(
        **{name: getattr(status, name) for name in same},
        problem=problem,
        indices=indices,
        certified=certified,
        reason=unfinished if answer is None else answer.reason,
        standing=running.standing,
        pulls=running.pulls,
        rounds=running.rounds,
        seconds=math.nan,
        pulls_per_arm=running.pulls_per_arm.copy() if duels is None else duels.games.sum(axis=1),
        means=means,
        contender_indices=indices if last.contenders is None and certified else last.contenders,
        verdicts=last.verdicts,
        nominees=tuple(problem.labels[i] for i in status.nominees),
        known_differences=status.differences,
        lead_bounds=status.lead,
        duels=duels,
        transcript=running.transcript,
        additions=tuple(running.additions),
        events=tuple(events),
        history=history,
        warnings=() if wide is None else (wide,),
        health=health,
        evaluations=running.pulls if evaluations is None else evaluations,
        estimated=estimated,
        cost_by_arm=costs.by_arm.copy() if costs else None,
        cost_of_all=whole,
    )


def bounds_too_wide(scale: Scale, least: float, most: float, pulls: int) -> str | None:
    """A warning that rewards fill a small part of the stated range, with what that costs and what to do.

    None if the rewards from `least` to `most` fill it well, or if it is too early to tell: `pulls` are few, or all rewards are
    the same, as with rare events.
    """
    filled = (most - least) / scale.width
    if pulls < ENOUGH or not 0 < filled < NARROW:
        return None
    times = count(rounded(1 / filled))
    return (
        f"Rewards so far lie in [{least:.3g}, {most:.3g}], which is {100 * filled:.2g} % of the bounds [{scale.low:g}, "
        f"{scale.high:g}]. Such wide bounds cost evaluations: here up to about {times} times as many. If every reward "
        "obeys narrower bounds, state them in a new search. Where rare rewards lie outside, clip them (--clip, or min(max("
        "reward, low), high) in a function): the means of clipped rewards are then compared."
    )


def _leader(running: Running[Answer]) -> int:
    """The leader of a procedure that reports none: the largest mean among the arms that it last asked for."""
    last = running.unanswered or running.request
    candidates = last.arms if last is not None else np.arange(len(running.means))
    means = np.nan_to_num(running.means[candidates], nan=-1.0)
    return int(candidates[means.argmax()])
