"""Replications of algorithms on instances, over processes or a cluster.

What a replication gives depends on the seed, the instance, the algorithm, δ and the number of the run, never on which
worker made it, or when, or how many there are.
"""

import json
import math
import os
import pickle
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from importlib import import_module
from multiprocessing import get_context
from typing import Any

import numpy as np

from surest.algorithms import Algorithm, Entry, Task, start
from surest.arms.finite import FiniteArms
from surest.core.procedure import Running
from surest.core.protocol import Answer, IntArray, Procedure, checked_delta
from surest.errors import PullLimitError, SurestError, UsageError
from surest.lab.bench.suites import Instance
from surest.lab.stepwise import Finished, simulate_blocks
from surest.lab.theory import hardness
from surest.search.loading import entry_of
from surest.search.simulate import simulate

PATIENCE = 10_000_000
"""Pulls after which an algorithm that decides pull by pull is stopped without a budget: some ten seconds."""
SPENDING = 4.0
"""Lower bounds' worth of pulls that a fixed-budget algorithm gets unless a budget is given: about what Wager takes."""
SLICE = 1.0  # seconds after which a worker reports what it has and asks for more
ALLOCATIONS = 64  # arms up to which a replication keeps the pulls of each


@dataclass(frozen=True, eq=False)
class Case:
    """An algorithm on an instance at a δ: a row of the table."""

    instance: Instance
    algorithm: str
    delta: float
    epsilon: float = 0.0
    budget: int | None = None
    function: Callable[..., Any] | None = None
    """The algorithm itself, where it is a user's own function; its name is then only a label."""

    @property
    def entry(self) -> Entry:
        """What is known of the algorithm."""
        if self.function is not None:
            return Entry.of_function(self.function, self.algorithm)
        return entry_of(self.algorithm)

    @property
    def key(self) -> tuple[str, str, str, float, float, int | None]:
        """What tells it from others, whatever the order in which they were asked for."""
        return *self.instance.key, self.algorithm, self.delta, self.epsilon, self.budget


@dataclass(frozen=True)
class Replication:
    """How one run of a case ended."""

    run: int
    arm: int
    right: bool
    decided: bool
    pulls: int
    rounds: int
    seconds: float  # of the processor: what else the machine does makes no difference
    per_arm: tuple[int, ...] | None = None


def cases(
    instances: Sequence[Instance], algorithms: Sequence[Algorithm], deltas: Sequence[float], *, epsilon: float = 0.0,
    budget: float | None = None, left_out: Callable[[str], None] | None = None,
) -> list[Case]:  # fmt: skip
    """Every combination that makes sense; one that does not is refused, or told to `left_out` where that is given.

    An algorithm is a name, ``file.py:function``, or a generator function.
    """
    if budget is not None and not (1 <= budget < math.inf and budget == int(budget)):
        raise UsageError(f"the budget is {budget:g}; it must be a whole number of pulls ≥ 1, such as 1e6")
    whole = None if budget is None else int(budget)
    found, said = [], set()
    for instance in instances:
        for algorithm in algorithms:
            for delta in deltas:
                try:
                    found.append(_case(instance, algorithm, checked_delta(delta), epsilon, whole))
                except UsageError as error:
                    if left_out is None:
                        raise
                    if str(error) not in said:
                        left_out(f"left out: {error}")
                    said.add(str(error))
    return found


def _case(instance: Instance, algorithm: Algorithm, delta: float, epsilon: float, budget: int | None) -> Case:
    entry, arms = entry_of(algorithm), instance.arms
    if entry.works_on == "items":
        raise UsageError(f"{entry.name} compares arms on a list of items; these instances have none")
    if len(arms) < 2:
        raise UsageError(f"instance {instance.name} has a single arm: there is nothing to compare")
    own_epsilon = 0.0 if entry.goal in ("best arm", "fixed budget") else epsilon  # the best arm is ε-optimal too
    endless = budget is None and own_epsilon == 0 and entry.goal != "fixed budget"
    if endless and math.isinf(instance.characteristic.time):
        raise UsageError(
            f"{instance.name} has two best arms, which no number of pulls tells apart: give --budget or --epsilon"
        )
    if budget is None and entry.goal == "fixed budget":
        budget = _spending(instance, delta)
    if budget is None and entry.stepwise is not None:
        budget = PATIENCE
    function = None if isinstance(algorithm, str | Entry) else algorithm
    case = Case(instance, entry.name, delta, own_epsilon, budget, function)
    next(_procedure(case, 0), None)  # refuses what the algorithm cannot do
    return case


def _spending(instance: Instance, delta: float) -> int:
    """A budget for an algorithm that needs one: what identification takes, and enough for a few pulls of each arm."""
    bound, n = instance.characteristic.lower_bound(delta), len(instance.arms)
    if not math.isfinite(bound):
        raise UsageError(f"{instance.name}: no lower bound to take a budget from; give --budget")
    return max(math.ceil(SPENDING * bound), 4 * n * math.ceil(math.log2(n)))


def usual_runs(case: Case, runs: int) -> int:
    """How often to run a case where others run so often."""
    return max(1, runs // case.entry.costly)


def seed_of(seed: int, case: Case, run: int) -> int:
    """The seed of a replication, the same everywhere and always."""
    name, fingerprint, algorithm, delta, *_ = case.key
    text = json.dumps([seed, name, fingerprint, algorithm, delta, run])
    return int.from_bytes(blake2b(text.encode(), digest_size=6).digest())


def order_of(seed: int, n: int) -> IntArray:
    """The order in which a replication meets its arms."""
    return np.random.default_rng([seed, n, 1]).permutation(n)


def replicate(case: Case, seed: int, run: int) -> Replication:
    """Run a case once, with its arms in a random order: where an instance lists its best arm says nothing."""
    entry, own = case.entry, seed_of(seed, case, run)
    order = order_of(own, len(case.instance.arms))
    arms = case.instance.arms.reordered(order)
    began = time.thread_time()
    done = _outcome(case, arms, own)
    seconds = time.thread_time() - began
    answer = done.value
    arm = int(order[answer.arm]) if answer is not None else -1
    per_arm = np.empty_like(done.pulls_per_arm)
    per_arm[order] = done.pulls_per_arm
    return Replication(
        run=run,
        arm=arm,
        right=arm >= 0 and case.instance.is_right(arm, case.epsilon),
        decided=answer is not None and (answer.certified or entry.goal == "fixed budget"),
        pulls=done.pulls,
        rounds=done.rounds,
        seconds=seconds,
        per_arm=tuple(per_arm.tolist()) if len(case.instance.arms) <= ALLOCATIONS else None,
    )


def _outcome(case: Case, arms: FiniteArms, seed: int) -> Finished | Running[Answer]:
    bandit = arms.simulate(seed)
    if case.entry.stepwise is not None:  # a kernel, which does the same as its generator
        stepwise = case.entry.stepwise(_task(case, seed), **_options(case))
        return simulate_blocks(stepwise, bandit, budget=case.budget)
    last: dict[str, Running[Answer]] = {}
    try:
        hook = partial(last.__setitem__, "seen")
        return simulate(_procedure(case, seed), bandit, budget=case.budget, on_request=hook)
    except PullLimitError:  # it asks for more pulls than can be counted: not decided
        return last["seen"]


def _task(case: Case, seed: int) -> Task:
    n = len(case.instance.arms)  # the generator as `start` makes it
    return Task(np.arange(n), case.delta, case.epsilon, case.budget, np.random.default_rng([seed, n]))


def _procedure(case: Case, seed: int) -> Procedure[Answer]:
    settings: dict[str, Any] = {"epsilon": case.epsilon, "budget": case.budget, "seed": seed, **_options(case)}
    return start(case.entry, len(case.instance.arms), case.delta, **settings)


def _options(case: Case) -> dict[str, Any]:
    arms = case.instance.arms
    return {"h1": hardness(arms.means, arms.variances).h} if case.entry.told_h1 else {}


def work(case: Case, seed: int, runs: Sequence[int]) -> list[Replication]:
    """The first few of these runs: as many as fit into a slice of time, at least one."""
    done, began = [], time.perf_counter()
    for run in runs:
        done.append(replicate(case, seed, run))
        if time.perf_counter() - began > SLICE:
            break
    return done


def replications(
    wanted: Sequence[tuple[Case, Sequence[int]]], *, seed: int = 0, workers: int | str = 1
) -> Iterator[tuple[Case, list[Replication]]]:
    """Run cases, each with these run numbers; what is finished comes in no particular order.

    `workers` is a number of processes, or the address of a Dask scheduler (``tcp://…``).
    """
    with _executor(workers) as (executor, width):
        if executor is None:
            for case, runs in wanted:
                left = list(runs)
                while left:
                    done = work(case, seed, left)
                    yield case, done
                    left = left[len(done) :]
            return
        _check_portable([case for case, _ in wanted])
        shared = ((case, runs[k::width]) for case, runs in wanted for k in range(width))  # each part as even as can be
        queue = deque((case, part) for case, part in shared if len(part))
        busy: dict[Future[list[Replication]], tuple[Case, Sequence[int]]] = {}
        while queue or busy:
            while queue and len(busy) < 2 * width:
                case, part = queue.popleft()
                busy[executor.submit(work, case, seed, part)] = case, part
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                case, part = busy.pop(future)
                try:
                    done = future.result()
                except BrokenExecutor:
                    raise SurestError(
                        f"a worker died on {case.algorithm}, {case.instance.name}; --resume goes on"
                    ) from None
                if len(done) < len(part):
                    queue.appendleft((case, part[len(done) :]))
                yield case, done


def _check_portable(cases: Sequence[Case]) -> None:
    """Raise if another process cannot import a function."""
    for function in {case.function for case in cases if case.function is not None}:
        try:
            pickle.dumps(function)
        except Exception as error:
            raise UsageError(
                f"{getattr(function, '__name__', function)} cannot be sent to other processes ({error}); "
                "define it at the top of a module, name it as file.py:function, or use 1 worker"
            ) from None


@contextmanager
def _executor(workers: int | str) -> Iterator[tuple[Executor | None, int]]:
    """What runs the work (None: this process), and how many at a time."""
    if isinstance(workers, str):
        with _dask(workers) as found:
            yield found
        return
    if workers < 1:
        raise UsageError(f"{workers} workers; give at least 1, or a Dask scheduler's address (tcp://…)")
    if workers == 1:
        yield None, 1
        return
    # Workers leave Ctrl-C to this process, which stops handing out work.
    pool = ProcessPoolExecutor(workers, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))
    try:
        yield pool, workers
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _dask(address: str) -> Iterator[tuple[Executor, int]]:
    if not address.startswith(("tcp://", "tls://")):
        raise UsageError(
            f"--workers {address}: give a number of processes, or a Dask scheduler's address (tcp://host:port)"
        )
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise UsageError("a Dask scheduler needs the package 'distributed': pip install 'surest[dask]'") from None
    try:
        client = distributed.Client(address, timeout="10s")
    except OSError as error:
        raise UsageError(f"no Dask scheduler answers at {address}: {error}") from None
    with client:
        yield client.get_executor(pure=False), max(1, sum(client.nthreads().values()))


def processors() -> int:
    """How many processes can run at a time here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
