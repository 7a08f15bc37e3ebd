"""The front doors for fresh rewards: `identify`, and `aidentify` for async functions."""

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from surest.algorithms import NO_PULLS, running_on
from surest.algorithms.tally import ENTRY as TALLY
from surest.arms.files import Columns
from surest.arms.kinds import Functions, Simulated, async_arms, kind_of_arms
from surest.arms.order import check_order, shuffled
from surest.arms.recorded import ABOUT_ITEMS, Records
from surest.arms.totals import Totals
from surest.core.duels import DUELS
from surest.core.keywords import check_keywords, shown_like
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
from surest.search.simulate import Calls, answer_from
from surest.search.watching import Hook, first_interrupt

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
        Callables return one reward per call: a number or a bool. Arrays are recorded rewards: each counts once, in its order; if
        they do not suffice, the answer so far is not certified. The keys of a mapping are labels. A file or data frame has the
        columns arm and value, one row per reward, or a row of totals for each arm: arm, successes and trials (also clicks and
        impressions, conversions and visitors; or ``{"a": {"successes": 3, "trials": 50}, …}``); a data frame may have a column
        for each arm, where NaN is allowed at the end of a shorter one. A bandit is anything that answers requests.
    delta : float
        The allowed probability of a wrong answer.
    epsilon : float
        How far from the best an answer may be, in the rewards' own units. 0 asks for the best itself.
    budget, budget_cost : optional
        Maximum number and cost of evaluations. If they do not suffice, the answer so far is returned, not certified.
    cost, cost_unit : optional
        What an evaluation costs, a number or ``{arm: number}``, and its unit, such as ``"$"``. A function may return
        ``surest.Scored(reward, cost)``, or such a pair.
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
        Other names of the columns of a file or a data frame: ``{"arm": "variant", "value": "clicked"}``.
    vectorised : bool
        Callables take a count and return that many rewards.
    seeded : bool
        Callables take a whole number, another one for each reward, made from `seed`. With random numbers from it alone, a run
        on any number of workers is repeatable.
    resample : bool
        Simulate: draw from recorded rewards with replacement, as if they were the law. The verdict is about them alone.
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
        Called with the state of the run before each request, and between slow calls. `surest.errors.Stop` ends the search with
        the answer so far.
    storage, name : str, optional
        Keep the rewards of callables in a study, such as ``sqlite:///studies.db`` and ``"buttons"``: the same call goes on where
        it was.
    progress : bool or callable, optional
        Show the search while it runs, where standard error is a terminal, and in a notebook; or a function like `on_request`.
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
    if settings.keys() & {"items", "algorithm"}:
        _refuse_items(settings, "identify", "use surest.evaluate")
    scale = checked_scale(settings.get("bounds", (0.0, 1.0)), settings.get("minimise", False))
    wants = "a count" if vectorised else "a seed" if seeded else ""
    source = kind_of_arms(arms, scale, resample=resample, wants=wants, columns=columns)
    if tallied and not isinstance(source, Totals):
        raise UsageError(NO_PULLS)
    tickets = executor is not None or storage is not None or name is not None
    _check_how(source, tickets, vectorised, seeded, finished, shuffle, retries, on_failure)
    asked: dict[str, Any] = {"delta": delta, **settings}
    kept: dict[str, Any] = {"history": history, "record": record}
    if isinstance(source, Totals):
        return Run(*judge_totals(source, seed=seed or 0, **asked)).found()
    shown: dict[str, Any] = {"on_request": on_request, "progress": progress}
    if isinstance(source, Records):
        if shuffle is None or shuffle is False:
            check_order(source.labels, source.rewards)
        else:
            source = replace(source, rewards=shuffled(source.rewards, 0 if shuffle is True else int(shuffle)))
        found = _of_records(source, {**asked, "seed": seed or 0, **kept}, shown, finished or shuffle is not None)
        if source.column is None:
            return found
        said, more = ABOUT_ITEMS.format(source.column), {**(columns or {}), "item": source.column}
        return replace(found, warnings=(*found.warnings, f"T{said[1:]}: surest.evaluate(…, columns={more!r})"))
    # A budget of cost counts evaluation by evaluation.
    if isinstance(source, Simulated) or not (tickets or settings.get("budget_cost") is not None):
        if seed is None:  # for a file, a seed drawn at each look would be a lottery
            seed = 0 if isinstance(arms, str | Path) else secrets.randbits(32)
        return _at_once(source, {**asked, "seed": seed}, {**kept, **shown}, vectorised=vectorised, seeded=seeded)
    in_flight = 1 if executor is None else in_flight
    with Run.begun(
        source.labels, in_flight=in_flight, seed=seed, storage=storage, name=name, retries=retries,
        on_failure=on_failure, ticks=executor is None, **shown, **kept, **asked,
    ) as run:  # fmt: skip
        drive(run.desk, work_of(source.functions, run.problem.seed, seeded=seeded), executor, in_flight)
    return run.found()


@shown_like(identify, "columns", "vectorised", "resample", "shuffle", "finished", "executor")
async def aidentify(
    arms: Mapping[Any, Arm] | Sequence[Arm],
    delta: float = 0.05,
    *,
    seeded: bool = False,
    in_flight: int = IN_FLIGHT,
    on_request: Hook | None = None,
    progress: Hook | bool | None = None,
    **how: Any,
) -> Result:
    """`identify` for async functions: up to `in_flight` of them are awaited at a time.

    Parameters
    ----------
    arms : mapping or sequence of async functions
        Each returns one reward when awaited. A mapping's keys are the arms' labels.
    delta, seeded, in_flight, on_request, progress, **how
        As for `identify`, and so seed, retries, on_failure, storage, name, history, record and the settings.

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
    check_keywords({**locals(), **how})
    _refuse_items(how, "aidentify", "await surest.aevaluate")
    source = async_arms(arms, seeded=seeded)
    how |= {"in_flight": in_flight, "on_request": on_request, "progress": progress, "delta": delta}
    with Run.begun(source.labels, **how) as run:
        await run.await_all(work_of(source.functions, run.problem.seed, seeded=seeded), in_flight)
    return run.found()


def _at_once(
    source: Functions | Simulated, asked: Mapping[str, Any], how: Mapping[str, Any], *, vectorised: bool, seeded: bool
) -> Result:  # fmt: skip
    """What functions called in this thread, or simulated arms, answer: requests as they are, without a ticket for each reward."""
    problem = problem_of(source.labels, **(resolved(asked) if "algorithm" in asked else asked))
    book = running_on(problem, told=isinstance(source, Functions), record=how["record"])
    with Run(book, problem, ticks=isinstance(source, Functions), **how) as run:
        bandit: Any
        if isinstance(source, Simulated):
            bandit = source.bandit(problem.seed)
        else:
            bandit = run.calls = Calls(problem, source.functions, book, run, vectorised=vectorised, seeded=seeded)
        answer_from(bandit, book, run)
    return replace(run.found(), resampled=isinstance(source, Simulated) and source.resampled)


def judge_totals(totals: Totals, **settings: Any) -> tuple[Running[Answer], Problem]:
    """What totals say, as a run that has ended, and what was asked. Nothing is pulled."""
    given = [name for name in settings if name not in SETTINGS or name in ("algorithm", "budget")]
    if given:
        raise UsageError(f"{given[0]} chooses pulls, and totals are judged as they are; leave it out")
    if tuple(settings.get("bounds", (0.0, 1.0))) != (0.0, 1.0):
        raise UsageError("totals count successes, 1 each, and failures, 0 each; leave out bounds")
    problem = problem_of(totals.labels, algorithm=TALLY, trials=totals.trials.tolist(), **settings)
    running = running_on(msgspec.structs.replace(problem, cost=None, budget_cost=None))  # nothing is spent
    if running.request is not None:  # the one for all trials
        running.send(totals.atoms(running.request.arms, problem.scale))
    return running, problem


def _of_records(source: Records, asked: Mapping[str, Any], shown: Mapping[str, Any], whole: bool = False) -> Result:
    """What recorded rewards say; if these are the `whole` record, beyond the first arm that has none left."""
    asked = with_batch(asked)
    rows: dict[str, Any] = rows_of(asked, source.rewards) if whole else {}
    with Run.begun(source.labels, **asked, **rows, **shown) as run, first_interrupt(run.interrupt):
        wanted = feed(run.session, source.rewards).missing
        run.stopped = "more rewards needed" if wanted else None
    found = run.found()
    if rows:
        found, ended = without_rows(found), found.certified or found.reason == NO_MORE
        if ended and (found.pulls_per_arm == rows["rows"]).any():  # it may have gone on
            first = _of_records(source, asked, {})
            if first.certified or (not found.certified and first.contenders == found.contenders):
                return first
            found = went_on(found, first)
            wanted = {} if found.certified else {source.labels.index(arm): k for arm, k in first.wanted.items()}
    found = heeding_all(replace(found, health=None), source.rewards)
    return replace(found, wanted={source.labels[arm]: times for arm, times in wanted.items()})


def _refuse_items(settings: Mapping[str, Any], door: str, other: str) -> None:
    """Refuse what belongs to lists of items: its rules prove nothing about fresh draws."""
    algorithm = settings.get("algorithm")
    if algorithm == DUELS:
        raise UsageError("duels are asked for by surest.duel(arms, judge)")
    if "items" in settings or (algorithm is not None and entry_of(algorithm).works_on == "items"):
        raise UsageError(
            f"{door} draws fresh rewards, and rules for a list of items prove nothing about those; to compare arms on a list "
            f"of items {other}(arms, items)"
        )


def _check_how(
    source: Source, tickets: bool, vectorised: bool, seeded: bool, finished: bool, shuffle: object, *failing: object
) -> None:
    """Refuse keywords that the arms, or other keywords, would leave without effect."""
    called, recorded = isinstance(source, Functions), isinstance(source, Records)
    if not tickets and any(option is not None for option in failing):
        raise UsageError("retries and on_failure require an executor; give one, such as ThreadPoolExecutor(1)")
    if tickets and not called:
        raise UsageError("recorded rewards and simulated arms need no executor, storage or name; leave them out")
    if tickets and vectorised:
        raise UsageError(
            "an executor calls functions that return one reward per call; leave out vectorised=True and return one, or leave "
            "out the executor"
        )
    if vectorised and seeded:
        raise UsageError("vectorised callables take a count, seeded ones a seed; choose one")
    if (vectorised or seeded) and not called:
        raise UsageError("vectorised and seeded require functions; leave them out")
    for name, given in (("finished", finished), ("shuffle", shuffle is not None)):
        if given and not recorded:
            raise UsageError(f"{name} requires recorded rewards; leave it out")
