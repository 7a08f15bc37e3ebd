"""Searches whose evaluations are costly, commands and Python arms, are kept in a study while they run."""

import functools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import click

from surest.arms.items import read_items
from surest.arms.kinds import Functions, kind_of_arms
from surest.cli.kept_search import kept
from surest.cli.output import show_result
from surest.cli.progress import Watch, status_of
from surest.cli.streams import say
from surest.compiled import seconds_spent
from surest.core.scale import Scale
from surest.drivers.call import work_of
from surest.drivers.commands import Command, Runner, parse_commands
from surest.drivers.executor import Inline
from surest.errors import Stop
from surest.evaluation import item_keys
from surest.study.work import work_on


@dataclass(frozen=True)
class Search:
    """Arms that are evaluated, and by whom."""

    arms: Mapping[str, Callable[..., Any]]
    pool: Executor
    workers: int
    seeded: bool = False
    items: Sequence[str] = ()
    """What the arms are evaluated on, where there is a list of items."""
    end: Callable[[], None] = lambda: None
    """Ends what is under way, before the pool is waited for."""
    said: Mapping[str, str] = field(default_factory=dict)
    """What a failed evaluation said last, by arm."""


def identify_commands(given: Mapping[str, Any], settings: Mapping[str, Any], scale: Scale) -> int:
    """Run commands, several at a time."""
    commands = parse_commands(given["commands"])
    runner = Runner(scale, given["timeout"])
    workers = given["workers"] or 1
    arms = {command.label: _arm(runner, command) for command in commands}
    with ThreadPoolExecutor(workers) as pool:
        how = Search(arms, pool, workers, seeded=True, end=runner.stop, said=runner.said)
        return _searched(given, settings, scale, how)


def evaluate_commands(given: Mapping[str, Any], settings: Mapping[str, Any], scale: Scale) -> int:
    """Run commands on the items of a file, several at a time."""
    commands = parse_commands(given["commands"])
    runner = Runner(scale, given["timeout"])
    workers = given["workers"] or 1
    items = [
        item.value if isinstance(item.value, str) else json.dumps(item.value) for item in read_items(given["items"])
    ]
    arms = {command.label: runner.arm(command) for command in commands}
    with ThreadPoolExecutor(workers) as pool:
        how = Search(arms, pool, workers, seeded=True, items=items, end=runner.stop, said=runner.said)
        return _searched(given, settings, scale, how)


def identify_python(given: Mapping[str, Any], settings: Mapping[str, Any], scale: Scale, arms: Any) -> int:
    """Python arms whose rewards are kept in a study: called one after the other, in this thread, where Ctrl-C finds them."""
    source = kind_of_arms(arms, scale)
    if not isinstance(source, Functions):
        raise click.UsageError("--study goes with --command and Python callables; other rewards come again with --seed")
    functions = {str(label): arm for label, arm in zip(source.labels, source.functions, strict=True)}
    return _searched(given, settings, scale, Search(functions, Inline(), 1))


def _arm(runner: Runner, command: Command) -> Callable[[int], float]:
    return functools.partial(runner.run, command)


def _searched(given: Mapping[str, Any], settings: Mapping[str, Any], scale: Scale, how: Search) -> int:
    settings = {"bounds": (scale.low, scale.high), "minimise": scale.minimise, **settings}
    if given["on_failure"] is not None:
        reward = scale.number(given["on_failure"], "--on-failure")
        settings |= {"on_failure": reward, "retries": given["retries"] or 0}
    if how.items:
        settings["items"] = item_keys(how.items)
    labels = tuple(how.arms)
    stopped, began, compiling = None, time.perf_counter(), seconds_spent()
    with kept(given, labels, how.workers, settings) as study:
        with Watch(labels, scale, quiet=given["quiet"], kept=True, items=bool(how.items)) as watch:
            guarded = [watch.counted(arm) if how.seeded else watch.arm(label, arm) for label, arm in how.arms.items()]
            work = work_of(guarded, study.settings.problem.seed, seeded=how.seeded, items=how.items or None)
            try:
                work_on(study, work, how.pool, in_flight=how.workers, retries=given["retries"], on_request=watch)
            except Stop as stop:
                stopped = str(stop)
            finally:
                how.end()
                how.pool.shutdown()
        wanted = {"history": given["as_json"] or given["picture"] is not None, "record": given["decision"] is not None}
        result = study.result(**wanted)
        seconds = time.perf_counter() - began - (seconds_spent() - compiling)
        result = replace(result, seconds=seconds, reason=stopped or result.reason)
        failures = {label: how.said[label] for label in labels if label in how.said}
        show_result(result, given, {"last_failures": failures})
    for label, said in failures.items():
        say(f"surest: a run of arm {label!r} failed: {said}", err=True)
    return status_of(result, watch)
