"""The front doors for fresh rewards: `identify`, and `aidentify` for async functions."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from surest.algorithms import NO_PULLS, lookup, start_on
from surest.algorithms.tally import ENTRY as TALLY
from surest.arms.files import Columns
from surest.arms.kinds import Functions, Records, Simulated, async_arms, kind_of_arms
from surest.arms.order import check_order, shuffled
from surest.arms.recorded import ABOUT_ITEMS
from surest.arms.totals import Totals
from surest.core.duels import DUELS
from surest.core.keywords import check_keywords
from surest.core.problem import SETTINGS, Problem, problem_of, takes_settings
from surest.core.procedure import Running
from surest.core.protocol import Answer
from surest.core.scale import checked_scale
from surest.errors import UsageError
from surest.result.data import Result
from surest.search.call import work_of
from surest.search.executor import IN_FLIGHT, Workers, drive
from surest.search.loading import entry_of, resolved
from surest.search.recorded import NO_MORE, feed, heeding_all, rows_of, went_on, with_batch, without_rows
from surest.search.run import Run
from surest.search.simulate import Calls, answer_from, simulate
from surest.search.watching import Hook, watching

Arm = Callable[..., Awaitable[Any]]
Source = Functions | Records | Simulated | Totals


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
    shuffle: int | bool | None = None,
    finished: bool = False,
    executor: Workers | None = None,
    in_flight: int = IN_FLIGHT,
    retries: int | None = None,
    on_failure: float | None = None,
    on_request: Hook | None = None,
    storage: Any = None,
    name: str | None = None,
    progress: Hook | bool | None = None,
    history: bool = False,
    record: bool = False,
    **settings: Any,
) -> Result:
    """Find the best of several noisy options, wrong with probability at most `delta`.

    Parameters
    ----------
    arms : mapping or sequence of callables or of arrays, CSV file, data frame, or a bandit
        Callables return one reward per call: a number or a bool. Arrays are recorded rewards: each counts once, in its
        order, and if they do not suffice the answer so far is returned, not certified. A mapping's keys are the arms'
        labels. A file or a data frame has the columns arm and value, one row per reward, or a row of totals for each arm: arm,
        successes and trials (also clicks and impressions, conversions and visitors; or ``{"a": {"successes": 3, "trials": 50},
        …}``); a data frame may have a column for each arm, where NaN is allowed at the end of a shorter one and nowhere else. A
        bandit is anything that answers requests, simulated arms among them.
    delta : float
        The allowed probability of a wrong answer.
    epsilon : float
        How far from the best an answer may be, in the rewards' own units. 0 asks for the best itself.
    budget : int, optional
        Maximum number of evaluations. If they do not suffice, the answer so far is returned, not certified.
    cost : float or mapping, optional
        What an evaluation costs: a number, or ``{arm: number}``. A function that returns ``surest.Scored(reward, cost)``, or such
        a pair, says what it cost.
    budget_cost : float, optional
        Maximum cost. What is found by then holds.
    cost_unit : str
        What costs are counted in, such as ``"$"`` or ``"tokens"``.
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
        Callables take a count and return that many rewards.
    seeded : bool
        Callables take a whole number, another one for each reward, made from `seed`. With random numbers from it alone, a run
        on any number of workers is repeatable.
    resample : bool
        Simulate: draw from recorded rewards with replacement, as if they were the law. The verdict is then about the
        recorded rewards, not about what they were drawn from.
    shuffle : int or bool, optional
        Put each arm's recorded rewards in a random order first, drawn from this seed (True is 0): for an independent sample whose
        order was lost. Choose it beforehand, and do it once, when all rewards are there. Without it, rewards that cannot be in
        random order are refused.
    finished : bool
        No more rewards will be recorded, and this is the only look at them: where an arm has none left, go on with those of the
        others that can still decide. So it is with `shuffle`.
    executor : concurrent.futures.Executor, or a function that returns one
        Where to call the callables: threads, processes, loky's, Dask's. A function is called again when an executor breaks.
    in_flight : int
        Maximum number of evaluations under way at a time on the executor.
    retries : int, optional
        How often an evaluation that raises, or returns None or NaN, is retried on the executor, default 3.
    on_failure : float, optional
        The reward recorded after the last retry. Without it, the run ends with an error.
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
    check_keywords(locals())
    tallied = settings.get("algorithm") == TALLY.name and bool(settings.pop("algorithm"))
    _refuse_items(settings, "identify", "use surest.evaluate")
    scale = checked_scale(settings.get("bounds", (0.0, 1.0)), settings.get("minimise", False))
    wants = "a count" if vectorised else "a seed" if seeded else ""
    source = kind_of_arms(arms, scale, resample=resample, wants=wants, columns=columns)
    if tallied and not isinstance(source, Totals):
        raise UsageError(NO_PULLS)
    kept, in_flight = storage is not None or name is not None, 1 if executor is None else in_flight
    _check_how(source, executor is not None or kept, vectorised, seeded, finished, retries, on_failure)
    if isinstance(source, Records) or shuffle is not None:
        source = _in_order(source, shuffle)
    asked = {"delta": delta, **settings}
    # For what is recorded, a seed drawn at each look would be a lottery.
    fresh = 0 if isinstance(arms, str | Path) or isinstance(source, Records) else secrets.randbits(32)
    ticks = executor is None and isinstance(source, Functions)
    watch = watching(source.labels, scale, progress, on_request, ticks=ticks)
    if isinstance(source, Totals):
        running, problem = judge_totals(source, seed=seed or 0, **asked)
        return Run(running, problem, watch).found()
    # A budget of cost counts evaluation by evaluation.
    inline = executor is None and not kept and settings.get("budget_cost") is None
    if isinstance(source, Simulated) or (isinstance(source, Functions) and inline):
        if "algorithm" in asked:
            asked = resolved(asked)
        problem = problem_of(source.labels, seed=fresh if seed is None else seed, **asked)
        called = lookup(problem.algorithm).name
        costs = problem.spending(told=isinstance(source, Functions))
        book = Running(
            start_on(problem), len(source.labels), budget=problem.budget, record=record, name=called, costs=costs
        )
        calls = None
        if isinstance(source, Functions):
            how: dict[str, Any] = {"vectorised": vectorised, "seeded": seeded, "name": called, "spent": costs}
            calls = Calls(problem, source.functions, look=partial(watch, book), **how)
        bandit: Any = source.bandit(problem.seed) if isinstance(source, Simulated) else calls
        with Run(book, problem, watch, history=history, calls=calls) as run:
            answer_from(bandit, book, watch)
        return replace(run.found(), resampled=isinstance(source, Simulated) and source.resampled)
    whole: dict[str, Any] = {}
    if isinstance(source, Records):
        asked = with_batch(asked)
        whole = rows_of(asked, source.rewards) if finished or shuffle is not None else {}
        asked |= whole
    with Run.begun(
        source.labels, asked, watch, in_flight=in_flight, seed=seed, fresh=fresh, storage=storage,
        name=name, retries=retries, on_failure=on_failure, history=history, record=record,
    ) as run:  # fmt: skip
        if isinstance(source, Records):
            wanted = feed(run.session, source.rewards).missing
            run.stopped = "more rewards needed" if wanted else None
        else:
            work = work_of(source.functions, run.problem.seed, seeded=seeded)
            drive(run.desk, work, executor, in_flight)
    if isinstance(source, Functions):
        return run.found()
    found = run.found()
    if whole:
        found, ended = without_rows(found), found.certified or found.reason == NO_MORE
        if ended and (found.pulls_per_arm == whole["rows"]).any():  # it may have gone on
            first = identify(source, delta, seed=seed, progress=False, history=history, record=record, **settings)
            if first.certified or (not found.certified and first.contenders == found.contenders):
                return first
            found = went_on(found, first)
            wanted = {} if found.certified else {source.labels.index(arm): k for arm, k in first.wanted.items()}
    found = heeding_all(replace(found, health=None), source.rewards)
    if source.column is not None:
        said, more = ABOUT_ITEMS.format(source.column), {**(columns or {}), "item": source.column}
        found = replace(found, warnings=(*found.warnings, f"T{said[1:]}: surest.evaluate(…, columns={more!r})"))
    return replace(found, wanted={source.labels[arm]: times for arm, times in wanted.items()})


@takes_settings
async def aidentify(
    arms: Mapping[Any, Arm] | Sequence[Arm],
    delta: float = 0.05,
    *,
    seed: int | None = None,
    seeded: bool = False,
    in_flight: int = IN_FLIGHT,
    retries: int | None = None,
    on_failure: float | None = None,
    on_request: Hook | None = None,
    storage: Any = None,
    name: str | None = None,
    progress: Hook | bool | None = None,
    history: bool = False,
    record: bool = False,
    **settings: Any,
) -> Result:
    """`identify` for async functions: up to `in_flight` of them are awaited at a time.

    Parameters
    ----------
    arms : mapping or sequence of async functions
        Each returns one reward when awaited. A mapping's keys are the arms' labels.
    delta, seed, seeded, in_flight, retries, on_failure, on_request, storage, name, progress, history, record, **settings
        As for `identify`.

    Examples
    --------
    >>> import asyncio, random
    >>> rng = random.Random(0)
    >>> async def judged(quality):
    ...     await asyncio.sleep(0)
    ...     return rng.random() < quality
    >>> result = asyncio.run(aidentify({"terse": lambda: judged(0.4), "kind": lambda: judged(0.8)}, in_flight=4))
    >>> result.best, result.certified
    ('kind', True)
    """
    check_keywords(locals())
    _refuse_items(settings, "aidentify", "await surest.aevaluate")
    scale = checked_scale(settings.get("bounds", (0.0, 1.0)), settings.get("minimise", False))
    source = async_arms(arms, seeded=seeded)
    watch = watching(source.labels, scale, progress, on_request)
    with Run.begun(
        source.labels, {"delta": delta, **settings}, watch, in_flight=in_flight, seed=seed, storage=storage, name=name,
        retries=retries, on_failure=on_failure, history=history, record=record,
    ) as run:  # fmt: skip
        await run.await_all(work_of(source.functions, run.problem.seed, seeded=seeded), in_flight)
    return run.found()


def _in_order(source: Source, shuffle: int | bool | None) -> Source:
    """Recorded rewards in a random order, as far as that can be seen; anything else as it is."""
    if isinstance(source, Records) and shuffle is not None and shuffle is not False:
        return replace(source, rewards=shuffled(source.rewards, int(shuffle) if shuffle is not True else 0))
    if isinstance(source, Records):
        check_order(source.labels, source.rewards)
    elif shuffle is not None:
        raise UsageError("shuffle requires recorded rewards; leave it out")
    return source


def judge_totals(totals: Totals, **settings: Any) -> tuple[Running[Answer], Problem]:
    """What totals say, as a run that has ended, and what was asked. Nothing is pulled."""
    given = [name for name in settings if name not in SETTINGS or name in ("algorithm", "budget")]
    if given:
        raise UsageError(f"{given[0]} chooses pulls, and totals are judged as they are; leave it out")
    if tuple(settings.get("bounds", (0.0, 1.0))) != (0.0, 1.0):
        raise UsageError("totals count successes, 1 each, and failures, 0 each; leave out bounds")
    problem = problem_of(totals.labels, algorithm=TALLY, trials=totals.trials.tolist(), **settings)
    return simulate(start_on(problem), totals.bandit(problem.scale), name=TALLY.name), problem


def _refuse_items(settings: dict[str, Any], door: str, other: str) -> None:
    """Refuse what belongs to lists of items: its rules prove nothing about fresh draws."""
    algorithm = settings.get("algorithm")
    if algorithm == DUELS:
        raise UsageError("duels are asked for by surest.duel(arms, judge)")
    if "items" in settings or (algorithm is not None and entry_of(algorithm).works_on == "items"):
        raise UsageError(
            f"{door} draws fresh rewards, and rules for a list of items prove nothing about those; to compare arms on a list "
            f"of items {other}(arms, items)"
        )


def _check_how(source: Source, tickets: bool, vectorised: bool, seeded: bool, finished: bool, *how: object) -> None:
    if not tickets and any(option is not None for option in how):
        raise UsageError("retries and on_failure require an executor; give one, such as ThreadPoolExecutor(1)")
    if tickets and not isinstance(source, Functions):
        raise UsageError("recorded rewards and simulated arms need no executor, storage or name; leave them out")
    if tickets and vectorised:
        raise UsageError(
            "an executor calls functions that return one reward per call; leave out vectorised=True and return one, or leave "
            "out the executor"
        )
    if vectorised and seeded:
        raise UsageError("vectorised callables take a count, seeded ones a seed; choose one")
    if (vectorised or seeded) and not isinstance(source, Functions):
        raise UsageError("vectorised and seeded require functions; leave them out")
    if finished and not isinstance(source, Records):
        raise UsageError("finished requires recorded rewards; leave it out")
