"""``surest identify`` for arms that are shell commands, and for files that another program writes."""

import functools
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import click
from click.core import ParameterSource
from rich.table import Table
from rich.text import Text

from surest.algorithms import options_of
from surest.api import named
from surest.arms.recorded import InOrder, read_in_order
from surest.cli.console import Output
from surest.cli.given import parse_arms, parse_bounds, plain, whole_budget
from surest.cli.options import options_given
from surest.cli.progress import Watch, count, status_of
from surest.cli.reproduce import command_again
from surest.core.session import Session
from surest.drivers.call import work_of
from surest.drivers.commands import Command, Runner, Scale, parse_commands
from surest.drivers.once import Fed, feed
from surest.errors import RewardError, SourceError, Stop
from surest.report import plots as plot
from surest.result.data import Result, cost, emphasised, verdict

BATCH = 10
"""Evaluations that --suggest asks for at a time, at least. Fixed: a run must not depend on how it is shown."""

OPTIONS = [
    click.option(
        "--command",
        "commands",
        multiple=True,
        metavar="NAME=COMMAND",
        help="An arm: a command whose last line of output is its reward; {seed} is replaced by a number. Repeat for each arm.",
    ),
    click.option("--workers", type=click.IntRange(1), metavar="K", help="Commands run at a time.  [default: 1]"),
    click.option("--minimise", is_flag=True, help="Small numbers are good: times, costs, losses."),
    click.option("--clip", is_flag=True, help="Count a number beyond the bounds as the nearer bound."),
    click.option("--timeout", type=float, metavar="S", help="Seconds after which a command is ended: it has failed."),
    click.option("--retries", type=click.IntRange(0), metavar="K", help="Retries of a failed command.  [default: 3]"),
    click.option(
        "--on-failure", type=float, metavar="X", help="Count a command that keeps failing as having printed X."
    ),
    click.option(
        "--suggest",
        type=click.IntRange(1),
        metavar="K",
        help="Count each row of SOURCE once, in order; say what to run next (at most K arms) if that does not decide.",
    ),
    click.option(
        "--study",
        metavar="NAME",
        help="Keep rewards of commands or Python arms in a study; go on with it if it is there.",
    ),
    click.option(
        "--storage", metavar="URL", envvar="SUREST_STORAGE", help="Where it is.  [default: sqlite:///surest.db]"
    ),
    click.option("--arm", "labels", multiple=True, metavar="NAME", help="With --suggest: an arm, recorded yet or not."),
]
COMMAND_ONLY = ("workers", "timeout", "retries", "on_failure")


def other_arms(identify: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of this module, and let this module do the work where they are used."""

    @functools.wraps(identify)
    def command(**given: Any) -> int:
        mine = {
            name: given.pop(name) for name in ("commands", "minimise", "clip", "suggest", "labels", "study", "storage")
        }
        mine |= {name: given.pop(name) for name in COMMAND_ONLY}
        _check(mine, given)
        if mine["commands"]:
            return _identify_commands(mine, given)
        if mine["suggest"] is not None:
            return _identify_recorded(mine, given)
        if mine["study"] is not None:
            return _identify_python(mine, given)
        return identify(**given, minimise=mine["minimise"])

    for option in reversed(OPTIONS):
        command = option(command)
    return command


def _check(mine: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse what would be ignored."""
    commands, suggest, source = mine["commands"], mine["suggest"], given["source"]
    if not commands and source is None:
        raise click.UsageError("give a SOURCE, or an arm with each --command NAME=COMMAND")
    if commands and (source is not None or suggest is not None):
        raise click.UsageError("--command goes without a SOURCE and without --suggest")
    if not commands and any(mine[name] is not None for name in COMMAND_ONLY):
        raise click.UsageError("--workers, --timeout, --retries and --on-failure go with --command")
    if suggest is None and mine["labels"]:
        raise click.UsageError("--arm goes with --suggest")
    if not commands and suggest is None and mine["clip"]:
        raise click.UsageError("--clip goes with --command or --suggest")
    if (commands or suggest is not None) and given["vectorised"]:
        raise click.UsageError("--vectorised does not go with --command or --suggest")
    if given["picture"] is not None:
        plot.checked_path(given["picture"])
    by_hand = click.get_current_context().get_parameter_source("storage") is ParameterSource.COMMANDLINE
    if mine["study"] is not None and (suggest is not None or given["vectorised"]):
        raise click.UsageError("--study does not go with --suggest or --vectorised")
    if mine["study"] is None and by_hand:
        raise click.UsageError("--storage goes with --study NAME")


def _identify_commands(mine: Mapping[str, Any], given: Mapping[str, Any]) -> int:
    commands = parse_commands(mine["commands"])
    scale = _scale(mine, given)
    runner = Runner(scale, mine["timeout"])
    workers = mine["workers"] or 1
    arms = {command.label: _arm(runner, command) for command in commands}
    with ThreadPoolExecutor(workers) as pool:
        how = Search(arms, pool, workers, seeded=True, end=runner.stop, said=runner.said)
        return _kept_search(mine, given, scale, how)


def _identify_python(mine: Mapping[str, Any], given: Mapping[str, Any]) -> int:
    """Python arms whose rewards are kept in a study: called one after the other, in this thread, where Ctrl-C finds them."""
    limits = parse_bounds(given["bounds"])
    labels, arms = named(parse_arms(given["source"], given["instance"], limits), limits)
    if not isinstance(arms, list):
        raise click.UsageError("--study goes with --command and Python callables; other rewards come again with --seed")
    return _kept_search(mine, given, Scale(*limits), Search(dict(zip(labels, arms, strict=True)), Here(), 1))


@dataclass(frozen=True)
class Search:
    """Arms that are evaluated, and by whom."""

    arms: Mapping[str, Callable[..., Any]]
    pool: Executor
    workers: int
    seeded: bool = False
    end: Callable[[], None] = lambda: None
    """Ends what is under way, before the pool is waited for."""
    said: Mapping[str, str] = field(default_factory=dict)
    """What a failed evaluation said last, by arm."""


class Here(Executor):
    """Calls functions where it is asked to, at once."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        """What the function gives, or raises."""
        future: Future[Any] = Future()
        try:
            future.set_result(function(*arguments, **more))
        except Exception as error:
            future.set_exception(error)
        return future


def _kept_search(mine: Mapping[str, Any], given: Mapping[str, Any], scale: Scale, how: Search) -> int:
    from surest.cli.keeping import kept  # a database takes a while to load
    from surest.study.work import work_on

    settings = _settings(given) | {"bounds": scale.bounds, "minimise": mine["minimise"]}
    if mine["on_failure"] is not None:
        settings |= {"on_failure": scale.reward(mine["on_failure"]), "retries": mine["retries"] or 0}
    labels = tuple(how.arms)
    stopped, began = None, time.perf_counter()
    with kept(mine, labels, how.workers, settings) as study:
        with Watch(labels, quiet=given["quiet"]) as watch:
            arms = list(how.arms.values()) if how.seeded else [watch.arm(*pair) for pair in how.arms.items()]
            work = work_of(arms, study.settings.seed, seeded=how.seeded)
            try:
                work_on(study, work, how.pool, in_flight=how.workers, retries=mine["retries"], on_request=watch)
            except Stop as stop:
                stopped = str(stop)
            finally:
                how.end()
                how.pool.shutdown()
        result = study.result(history=given["as_json"] or given["picture"] is not None)
        result = replace(result, seconds=time.perf_counter() - began, reason=stopped or result.reason)
        failures = {label: how.said[label] for label in labels if label in how.said}
        _tell(result, given, {"last_failures": failures})
    for label, said in failures.items():
        click.echo(f"surest: a run of arm {label!r} failed: {said}", err=True)
    return status_of(result, watch)


def _arm(runner: Runner, command: Command) -> Callable[[int], float]:
    return functools.partial(runner.run, command)


def _identify_recorded(mine: Mapping[str, Any], given: Mapping[str, Any]) -> int:
    scale = _scale(mine, given)
    recorded = read_in_order(given["source"], given["instance"])
    labels = _labels(recorded, mine["labels"], given["source"])
    settings = _settings(given)
    settings["seed"] = settings["seed"] or 0  # the next call must continue the same run
    options = settings.pop("options")
    if "batch" in options_of(settings["algorithm"]):
        options = {"batch": BATCH, **options}
    session = Session(labels, bounds=scale.bounds, minimise=mine["minimise"], **settings, **options)
    fed = feed(session, [_rewards(recorded, label, scale) for label in labels])
    next_ = [{"arm": labels[i], "times": times} for i, times in fed.missing.items()][: mine["suggest"]]
    rows = sum(map(len, recorded.numbers.values()))
    facts = {"rows": rows, "unused": rows - sum(fed.used), "suggestions": next_}
    result = replace(session.result(), health=None)  # nothing was evaluated here
    if fed.missing:
        result = replace(result, reason="more rewards needed")
    _tell(result, given, facts, fed)
    for file in recorded.unfinished:
        click.echo(f"surest: the last line of {file} has no end yet; it was left for later", err=True)
    return 0 if result.certified else 3


def _labels(recorded: InOrder, named: tuple[str, ...], source: str) -> tuple[str, ...]:
    """The arms: those named, or all that the record speaks of."""
    if not named and not recorded.numbers:
        raise SourceError(f"{source} holds no whole row yet; name the arms with --arm")
    strange = [label for label in recorded.numbers if label not in named]
    if named and strange:
        raise SourceError(f"{source} has rewards of {strange[0]!r}, which no --arm names")
    return named or tuple(recorded.numbers)


def _rewards(recorded: InOrder, label: str, scale: Scale) -> list[float]:
    try:
        return [scale.reward(number) for number in recorded.numbers.get(label, ())]
    except RewardError as error:
        raise RewardError(f"arm {label!r}: {error}") from None


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    names = ("delta", "epsilon", "seed", "algorithm")
    options = options_given(given["algorithm"], given["options"])
    return {name: given[name] for name in names} | {"budget": whole_budget(given["budget"]), "options": options}


def _scale(mine: Mapping[str, Any], given: Mapping[str, Any]) -> Scale:
    return Scale(*parse_bounds(given["bounds"]), clip=mine["clip"])


def _tell(result: Result, given: Mapping[str, Any], facts: Mapping[str, Any], fed: Fed | None = None) -> None:
    from surest.study.health import health_line

    if given["picture"] is not None:
        plot.save(given["picture"], result.arms, result.history, verdict(result))
    if given["as_json"]:
        data = {**result.to_json(), **facts}
        data["command"] = command_again(click.get_current_context(), result.seed)
        click.echo(json.dumps(plain(data), ensure_ascii=False))
        return
    console = Output(highlight=False)
    console.print(emphasised(result))
    if fed is None:
        console.print(cost(result))
    else:
        console.print(f"{count(facts['rows'])} rows, {count(facts['unused'])} of them not asked for so far.")
    if fed is not None and fed.missing:
        console.print(_next(facts["suggestions"], len(fed.missing)))
    console.print()
    console.print(result.arms)
    if result.health is not None:
        console.print(Text(f"\n{health_line(result.health)}"))
    console.print(Text(f"\nalgorithm {result.algorithm} ({result.standing}), seed {result.seed}", style="dim"))


def _next(suggestions: list[dict[str, Any]], arms: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("run next")
    table.add_column("times", justify="right")
    for suggestion in suggestions:
        table.add_row(suggestion["arm"], count(suggestion["times"]))
    if arms > len(suggestions):
        table.add_row(Text(f"… {arms - len(suggestions):,} more", style="dim"))
    return table
