"""Searches whose evaluations are costly, commands and Python arms, are kept in a study while they run."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import click
import msgspec

from surest.arms.items import read_items
from surest.arms.kinds import Functions, kind_of_arms
from surest.cli.kept_search import kept
from surest.cli.output import show_result
from surest.cli.progress import Watch, status_of
from surest.cli.streams import say
from surest.core.scale import Scale
from surest.search.call import work_of
from surest.search.commands import Runner, parse_commands
from surest.search.executor import Inline, drive
from surest.search.failures import failing
from surest.search.run import Run, item_keys

Arms = Mapping[str, Callable[..., Any]]


def run_commands(given: Mapping[str, Any], settings: Mapping[str, Any], scale: Scale) -> int:
    """Run commands, several at a time; on the items of a file, where one is given."""
    commands = parse_commands(given["commands"])
    runner = Runner(scale, given["timeout"])
    workers = given["workers"] or 1
    items = None
    if given.get("items") is not None:
        values = [item.value for item in read_items(given["items"])]
        items = [value if isinstance(value, str) else json.dumps(value) for value in values]
    arms = {command.label: runner.arm(command) for command in commands}
    with ThreadPoolExecutor(workers) as pool:
        return _searched(given, settings, scale, arms, pool, workers, items, runner)


def run_python(given: Mapping[str, Any], settings: Mapping[str, Any], scale: Scale, arms: Any) -> int:
    """Python arms whose rewards are kept in a study: called one after the other, in this thread, where Ctrl-C finds them."""
    source = kind_of_arms(arms, scale)
    if not isinstance(source, Functions):
        raise click.UsageError("--study goes with --command and Python callables; other rewards come again with --seed")
    functions = {str(label): arm for label, arm in zip(source.labels, source.functions, strict=True)}
    return _searched(given, settings, scale, functions, Inline())


def _searched(
    given: Mapping[str, Any], settings: Mapping[str, Any], scale: Scale, arms: Arms, pool: Executor, workers: int = 1,
    items: Sequence[str] | None = None, runner: Runner | None = None,
) -> int:  # fmt: skip
    settings = {"bounds": (scale.low, scale.high), "minimise": scale.minimise, **settings}
    if given["on_failure"] is not None:
        reward = scale.number(given["on_failure"], "--on-failure")
        settings |= failing(reward, given["retries"])
    if items is not None:
        settings["items"] = item_keys(items)
    labels = tuple(arms)
    history, record = given["as_json"] or given["picture"] is not None, given["decision"] is not None
    watch = Watch(labels, scale, quiet=given["quiet"], kept=True, items=items is not None)
    guarded = [watch.arm(label, arm) if runner is None else watch.counted(arm) for label, arm in arms.items()]
    with kept(given, labels, workers, settings) as study:
        problem = msgspec.structs.replace(study.settings.problem, labels=labels)
        work = work_of(guarded, problem.seed, seeded=runner is not None, items=items)
        with Run(study, problem, watch, history=history, record=record, retries=given["retries"]) as run:
            try:
                drive(run.desk, work, pool, workers)
            finally:
                if runner is not None:
                    runner.stop()  # before the pool is waited for
                pool.shutdown()
        result = run.found()
        said = {} if runner is None else {label: runner.said[label] for label in labels if label in runner.said}
        show_result(result, given, {"last_failures": said})
    for label, last in said.items():
        say(f"surest: a run of arm {label!r} failed: {last}", err=True)
    return status_of(result, watch.stopped_by)
