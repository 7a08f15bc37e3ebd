"""The front door: `identify`."""

import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from surest import compiled
from surest.algorithms import lookup, start_on
from surest.algorithms.tally import ENTRY as TALLY
from surest.arms.files import Columns
from surest.arms.kinds import Functions, Records, Simulated, kind_of_arms
from surest.arms.totals import Totals
from surest.core.problem import SETTINGS, Problem, default_algorithm, problem_of, takes_settings
from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.core.scale import checked_scale
from surest.core.session import Session
from surest.drivers.call import call, work_of
from surest.drivers.executor import IN_FLIGHT, Inline, Workers, evaluate, keep_busy
from surest.drivers.interrupts import Pressed
from surest.drivers.looks import history as history_hook
from surest.drivers.recorded import feed, with_batch
from surest.drivers.simulate import simulate
from surest.drivers.watching import watching
from surest.errors import Interrupted, Stop, UsageError
from surest.loading import entry_of, resolved
from surest.result.data import Result
from surest.result.making import result_of

Progress = Callable[[Running[Answer]], None]


@takes_settings
def identify(
    arms: Any,
    delta: float = 0.05,
    *,
    seed: int | None = None,
    columns: Columns | None = None,
    vectorised: bool = False,
    seeded: bool = False,
    resample: bool = False,
    executor: Workers | None = None,
    in_flight: int = IN_FLIGHT,
    retries: int | None = None,
    on_failure: float | None = None,
    on_request: Progress | None = None,
    storage: Any = None,
    name: str | None = None,
    progress: Progress | bool | None = None,
    history: bool = False,
    record: bool = False,
    **settings: Any,
) -> Result:
    """Find the best of several noisy options, wrong with probability at most `delta`.

    Parameters
    ----------
    arms : mapping or sequence of callables or of arrays, CSV file, data frame, or a bandit
        Callables return one reward a call: a number or a truth value. Arrays are recorded rewards: each counts once, in its
        order, and where they do not suffice the answer so far is returned, not certified. A mapping's keys are the arms'
        labels. A file or a data frame has the columns arm and value, a row a reward, or a row of totals for each arm: arm,
        successes and trials (also clicks and impressions, conversions and visitors; or ``{"a": {"successes": 3, "trials": 50},
        …}``); a data frame may have a column for each arm, where NaN is allowed at the end of a shorter one and nowhere else. A
        bandit is anything that answers requests, simulated arms among them.
    delta : float
        The allowed probability of a wrong answer.
    epsilon : float
        How far from the best an answer may be, in the rewards' own units. 0 asks for the best itself.
    budget : int, optional
        The most evaluations to make. When they do not suffice, the answer so far is returned, not certified.
    algorithm : str or generator function
        A name from ``surest algorithms``, or an algorithm of your own.
    bounds : (float, float)
        The lowest and the highest possible reward. Results are in the same units. (A bandit's rewards lie in [0, 1];
        for one, `bounds` says what 0 and 1 stand for.)
    minimise : bool
        Rewards are costs, times or losses: the arm of the smallest mean is the best.
    seed : int, optional
        Makes simulated draws, and random choices of the algorithm, repeatable. One is chosen, and reported, if not given; for a
        file and for recorded rewards it is 0, so that more of them continue the same run.
    columns : mapping, optional
        Other names of the columns of a file or a data frame: ``{"arm": "variant", "value": "clicked"}``; all others are ignored.
    vectorised : bool
        Callables take a count and return so many rewards.
    seeded : bool
        Callables take a whole number, another one for each reward, made from `seed`. With random numbers from it alone, a run
        on any number of workers is repeatable.
    resample : bool
        Simulate: draw from recorded rewards with replacement, as if they were the law. The verdict is then about the
        recorded rewards, not about what they were drawn from.
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
    storage, name : str, optional
        Keep the rewards of callables in a study, such as ``sqlite:///studies.db`` and ``"buttons"``: the same call goes on where
        it was.
    progress : bool or callable, optional
        Show the search while it runs, where standard error is a terminal, and in a notebook. False shows nothing; a function is
        called instead, as `on_request` is.
    history : bool
        Keep evidence over time in ``result.history``, for ``result.plot("evidence")``. Costs up to a tenth of the time.
    record : bool
        Keep what was asked and answered in ``result.transcript``.
    **settings
        The algorithm's own options.

    Returns
    -------
    Result
        With `.best`, `.certified`, `.contenders`, `.pulls` and more.

    Raises
    ------
    Interrupted
        On Ctrl-C, once the evaluations that run have ended: its `result` is the answer so far. A second Ctrl-C does not wait.

    Examples
    --------
    >>> import random
    >>> rng = random.Random(0)
    >>> result = identify({"old": lambda: rng.random() < 0.3, "new": lambda: rng.random() < 0.6}, delta=0.05)
    >>> result.best, result.certified
    ('new', True)
    """
    _refuse_items(settings)
    scale = checked_scale(settings.get("bounds", (0.0, 1.0)), settings.get("minimise", False))
    wants = "a count" if vectorised else "a seed" if seeded else ""
    source = kind_of_arms(arms, scale, resample=resample, wants=wants, columns=columns)
    kept = storage is not None or name is not None
    _check_how(source, executor if not kept else executor or Inline(), vectorised, seeded, retries, on_failure)
    if kept:
        asked = {"delta": delta, **({} if seed is None else {"seed": seed}), **settings}
        how = {"executor": executor, "in_flight": in_flight, "retries": retries, "seeded": seeded, "record": record}
        return _in_study(storage, name, source, asked, on_failure, how, progress, on_request)
    if isinstance(source, Totals):
        return _of_totals(source, delta, {**settings, "seed": seed or 0})
    again = isinstance(arms, str | Path) or isinstance(source, Records)  # a seed drawn at each look would be a lottery
    chosen = seed if seed is not None else 0 if again else secrets.randbits(32)
    problem = problem_of(source.labels, delta=delta, seed=chosen, **resolved(settings))
    looks = history_hook() if history else None
    began, compiling = time.perf_counter(), compiled.seconds_spent()
    stopped, session, wanted = None, None, {}
    inline = executor is None and isinstance(source, Functions)
    with watching(problem.labels, problem.scale, progress, looks, on_request, ticks=inline) as watched:
        try:
            if isinstance(source, Simulated):
                running = simulate(
                    start_on(problem),
                    source.bandit(problem.seed),
                    budget=problem.budget,
                    on_request=watched,
                    record=record,
                    name=lookup(problem.algorithm).name,
                )
            else:
                session = Session.of(_with_batch(problem, source, executor, in_flight), record=record)
                running = session.running
                if isinstance(source, Records):
                    wanted = feed(session, source.rewards).missing
                elif executor is None:
                    call(session, source.functions, vectorised=vectorised, seeded=seeded, on_request=watched)
                else:
                    work = work_of(source.functions, problem.seed, seeded=seeded)
                    evaluate(
                        session, work, executor,
                        in_flight=in_flight, retries=retries, on_failure=on_failure, on_request=watched,
                    )  # fmt: skip
        except (Stop, Pressed) as end:
            if watched.running is None:
                raise
            running, stopped = watched.running, watched.ended_by(end)
    found = result_of(
        running,
        problem,
        standing=lookup(problem.algorithm).standing,
        seconds=time.perf_counter() - began - (compiled.seconds_spent() - compiling),
        history=tuple(looks.points) if looks is not None else (),
        stopped="more rewards needed" if wanted else stopped,
        evaluations=None if session is None else session.evaluations,
        health=session.health if session is not None and isinstance(source, Functions) else None,
        events=() if session is None else session.events,
    )
    found = replace(
        found,
        wanted={source.labels[arm]: times for arm, times in wanted.items()},
        resampled=isinstance(source, Simulated) and source.resampled,
    )
    if watched.interrupted and not found.certified:
        raise Interrupted(found)
    return found


def _in_study(
    storage: Any, name: str | None, source: Any, asked: dict[str, Any], on_failure: float | None, how: dict[str, Any],
    progress: Progress | bool | None, on_request: Progress | None,
) -> Result:  # fmt: skip
    """A search whose rewards are kept in a study, made if it is not there."""
    from surest.study.outcome import events_of
    from surest.study.study import open_study
    from surest.study.work import work_on

    if storage is None or name is None:
        raise UsageError("storage and name go together: storage='sqlite:///studies.db', name='buttons'")
    executor, seeded, began, stopped = how.pop("executor"), how.pop("seeded"), time.perf_counter(), None
    record = how.pop("record")
    how["in_flight"] = how["in_flight"] if executor is not None else 1
    busy = keep_busy(asked.get("algorithm") or default_algorithm(asked), how["in_flight"], asked)
    texts = [str(label) for label in source.labels]
    study = open_study(storage, name, texts, on_failure=on_failure, **busy)
    work = work_of(source.functions, study.settings.problem.seed, seeded=seeded)
    scale, inline = study.settings.problem.scale, executor is None
    with watching(source.labels, scale, progress, on_request, ticks=inline) as watched:
        try:
            work_on(study, work, Inline() if executor is None else executor, on_request=watched, **how)
        except (Stop, Pressed) as end:
            stopped = watched.ended_by(end)
    found = study.session(record=record).result(stopped=stopped)
    found = replace(found, events=events_of(study) if record else ())
    # Rewards that wait for others count as evaluations, too.
    found = replace(found, seconds=time.perf_counter() - began, evaluations=study.status().told)
    found = replace(found, problem=problem_of(source.labels, **study.settings.problem.settings()))
    if watched.interrupted and not found.certified:
        raise Interrupted(found, kept=True)
    return found


def _of_totals(totals: Totals, delta: float, settings: dict[str, Any]) -> Result:
    began = time.perf_counter()
    running, problem = judge_totals(totals, delta=delta, **settings)
    return result_of(running, problem, standing=TALLY.standing, seconds=time.perf_counter() - began)


def judge_totals(totals: Totals, **settings: Any) -> tuple[Running[Answer], Problem]:
    """What totals say, as a run that has ended, and what was asked. Nothing is pulled."""
    given = [name for name in settings if name not in SETTINGS or name in ("algorithm", "budget")]
    if given:
        raise UsageError(f"{given[0]} chooses pulls, and totals are judged as they are; leave it out")
    if tuple(settings.get("bounds", (0.0, 1.0))) != (0.0, 1.0):
        raise UsageError("totals count successes, 1 each, and failures, 0 each; leave out bounds")
    problem = problem_of(totals.labels, algorithm=TALLY, trials=totals.trials.tolist(), **settings)
    return simulate(start_on(problem), totals.bandit(problem.scale), name=TALLY.name), problem


def _refuse_items(settings: dict[str, Any]) -> None:
    """Refuse what belongs to lists of items: its rules prove nothing about fresh draws."""
    algorithm = settings.get("algorithm")
    on_items = algorithm is not None and lookup(entry_of(algorithm)).works_on == "items"
    if "items" in settings or on_items:
        raise UsageError(
            "identify draws fresh rewards, and rules for a list of items prove nothing about those; to compare arms on a list of "
            "items use surest.evaluate(arms, items)"
        )


def _with_batch(problem: Problem, source: Functions | Records, executor: object, in_flight: int) -> Problem:
    """The problem with batches that suit who evaluates, where the algorithm has such an option and nothing else is said."""
    if isinstance(source, Records):
        return with_batch(problem)
    least = {} if executor is None else keep_busy(problem.algorithm, in_flight, problem.options)
    return msgspec.structs.replace(problem, options={**least, **problem.options})


def _check_how(
    source: Functions | Records | Simulated | Totals,
    executor: Workers | None,
    vectorised: bool,
    seeded: bool,
    *how: object,
) -> None:
    """Refuse what would be ignored."""
    if executor is None and any(option is not None for option in how):
        raise UsageError("retries and on_failure go with an executor; give one, such as ThreadPoolExecutor(1)")
    if executor is not None and not isinstance(source, Functions):
        raise UsageError("recorded rewards and simulated arms need no executor, storage or name; leave them out")
    if executor is not None and vectorised:
        raise UsageError(
            "an executor calls functions that return one reward a call; leave out vectorised=True and return one, or leave "
            "out the executor"
        )
    if vectorised and seeded:
        raise UsageError("vectorised callables take a count, seeded ones a seed; choose one")
