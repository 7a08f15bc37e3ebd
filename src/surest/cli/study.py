"""``surest study``: a search kept in a database, so that a shell script or any other language can be the worker."""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from surest.cli.console import Output
from surest.cli.settings import problem_options, settings_given
from surest.cli.values import DEFAULT_STORAGE, plain
from surest.errors import SourceError
from surest.report.terminal import emphasised
from surest.study.health import Progress, health_line
from surest.study.study import Study, delete_study, list_studies, open_study
from surest.study.transfer import import_study
from surest.text import count

Command = Callable[..., Any]


storage_option = click.option(
    "--storage",
    metavar="URL",
    envvar="SUREST_STORAGE",
    default=DEFAULT_STORAGE,
    show_default=True,
    show_envvar=True,
    help="sqlite:///FILE or postgresql://USER@HOST/NAME.",
)


def common(command: Command) -> Command:
    """The options that every command has."""
    return storage_option(click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command))


def say(as_json: bool, data: Any, text: str) -> None:
    """Print one or the other."""
    click.echo(json.dumps(plain(data), ensure_ascii=False) if as_json else text)


@click.group()
def study() -> None:
    """Keep a search in a database: it survives, and any number of workers share it.

    A worker asks for a ticket, evaluates the arm it names, and tells the reward under the ticket's number:

    \b
      surest study create mine --arm fast --arm safe --delta 0.05
      surest study ask mine          prints: 0 fast
      surest study tell mine 0 0.71
      surest study status mine
    """


@study.command()
@click.argument("name")
@click.option("--arm", "labels", multiple=True, metavar="LABEL", help="An arm; give one --arm for each.")
@click.option("--arms", type=click.IntRange(1, 10**6), metavar="N", help="So many arms, called 0, 1, …")
@problem_options
@click.option(
    "--lease-seconds", type=float, metavar="T", help="A ticket not told by then is handed out again. [default: 600]"
)
@click.option(
    "--on-failure", type=float, metavar="R", help="Count a failed evaluation as this reward instead of retrying it."
)
@click.option("--retries", type=int, metavar="K", help="… after so many retries. [default: 0]")
@common
def create(name: str, labels: tuple[str, ...], arms: int | None, storage: str, as_json: bool, **given: Any) -> int:
    """Make a study."""
    if bool(labels) == (arms is not None):
        raise click.UsageError("say which arms there are: one --arm LABEL for each, or --arms N")
    settings = settings_given(given)
    made = open_study(storage, name, list(labels) or arms, load_if_exists=False, **given, **settings)
    say(as_json, {"name": made.name, "arms": list(made.labels)}, f"study {made.name}: {len(made.labels)} arms")
    return 0


@study.command(name="list")
@common
def list_(storage: str, as_json: bool) -> int:
    """List the studies of a database."""
    rows = [
        {
            "name": s.name,
            "algorithm": s.settings.problem.algorithm,
            "arms": len(s.labels),
            "delta": s.settings.problem.delta,
        }
        for s in list_studies(storage)
    ]
    lines = [f"{r['name']}\t{r['arms']} arms\tδ = {r['delta']}\t{r['algorithm']}" for r in rows]
    say(as_json, rows, "\n".join(lines) or "no studies")
    return 0


@study.command(name="add-arms")
@click.argument("name")
@click.argument("labels", nargs=-1, required=True, metavar="LABEL...")
@common
def add_arms(name: str, labels: tuple[str, ...], storage: str, as_json: bool) -> int:
    """Add arms while a study runs.

    Its algorithm must allow it: wager does, in a study made with --option reserve=0.1.
    """
    opened = open_study(storage, name)
    opened.add_arms(labels)
    say(as_json, {"name": name, "arms": list(opened.labels)}, f"study {name}: {len(opened.labels)} arms")
    return 0


@study.command()
@click.argument("name")
@click.option(
    "-k", "--count", "k", default=1, type=click.IntRange(1, 10**6), show_default=True, help="The most tickets to take."
)
@click.option("--worker", metavar="WHO", help="A name for the log. [default: host:process]")
@common
def ask(name: str, k: int, worker: str | None, storage: str, as_json: bool) -> int:
    """Take tickets: prints a line for each, its number and the arm to evaluate.

    Exit status: 0 some tickets; 4 none now, since rewards of others are awaited: try again later; 3 none any more.
    """
    opened = open_study(storage, name)
    tickets = opened.ask(k, worker)
    data = [{"ticket": ticket.id, "index": ticket.arm, "arm": ticket.label} for ticket in tickets]
    say(as_json, data, "\n".join(f"{ticket.id} {ticket.label}" for ticket in tickets))
    return 0 if tickets else 3 if opened.finished else 4


@study.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("ticket", type=int)
@click.argument("reward")
@common
def tell(name: str, ticket: int, reward: str, storage: str, as_json: bool) -> int:
    """Tell the REWARD of a TICKET. It is on disk when this returns."""
    open_study(storage, name).tell(ticket, _number(reward))
    say(as_json, {"ticket": ticket, "reward": _number(reward)}, f"ticket {ticket}: {reward}")
    return 0


@study.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("ticket", type=int)
@click.argument("reason", default="")
@click.option("--reward", metavar="R", help="Count the evaluation as this reward instead of retrying it.")
@common
def fail(name: str, ticket: int, reason: str, reward: str | None, storage: str, as_json: bool) -> int:
    """Say that the evaluation of a TICKET gave no reward, and why."""
    opened = open_study(storage, name)
    opened.fail(ticket, reason, None if reward is None else _number(reward))
    say(as_json, {"ticket": ticket, "health": opened.health()}, health_line(opened.health()))
    return 0


@study.command()
@click.argument("name")
@common
def status(name: str, storage: str, as_json: bool) -> int:
    """Show who leads, how sure that is, and how much longer it may take."""
    opened = open_study(storage, name)
    progress = opened.status()
    if as_json:
        say(True, progress.to_json(), "")
    else:
        _show(opened, progress)
    return 0


@study.command()
@click.argument("name")
@common
def result(name: str, storage: str, as_json: bool) -> int:
    """Print the verdict. Exit status 0 if it is certified, 3 if not (yet)."""
    found = open_study(storage, name).result()
    if as_json:
        say(True, found.to_json(), "")
    else:
        console = Output(highlight=False)
        console.print(emphasised(found))
        console.print(Text(health_line(found.health or {})))
    return 0 if found.certified else 3


@study.command()
@click.argument("name")
@click.option("--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write to a file instead.")
@common
def export(name: str, output: str | None, storage: str, as_json: bool) -> int:
    """Write all of a study as JSON: settings, arms, requests, tickets with their rewards, what failed, the result."""
    text = json.dumps(open_study(storage, name).export(), ensure_ascii=False)
    if output is None:
        click.echo(text)
        return 0
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.FileError(output, error.strerror or str(error)) from None
    return 0


@study.command(name="import")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--name", metavar="NAME", help="Another name than it had.")
@common
def import_(file: str, name: str | None, storage: str, as_json: bool) -> int:
    """Put an exported study into a database, after replaying it: from a laptop to a server, say."""
    try:
        document = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except (OSError, ValueError) as error:
        raise SourceError(f"{file} cannot be read: {error}") from None
    imported = import_study(storage, document, name)
    say(as_json, {"name": imported}, f"study {imported}")
    return 0


@study.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common
def delete(name: str, yes: bool, storage: str, as_json: bool) -> int:
    """Delete a study and all that was told to it."""
    if not yes and not as_json:
        click.confirm(f"Delete study {name} and all its rewards?", abort=True)
    delete_study(storage, name)
    say(as_json, {"deleted": name}, f"study {name} deleted")
    return 0


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number", param_hint="REWARD") from None


def _show(opened: Study, progress: Progress) -> None:
    """A study at a glance."""
    found, console = progress.result, Output(highlight=False)
    console.print(_headline(progress))
    waiting = f", {progress.waiting:,} to be handed out again" if progress.waiting else ""
    console.print(
        Text(f"{_counted(progress.told, 'reward')} told, {_counted(progress.out, 'ticket')} with workers{waiting}.")
    )
    console.print(Text(_how_sure(progress)))
    console.print(Text(_how_long(opened, progress)))
    console.print()
    console.print(found.arms)
    console.print(Text(f"\n{health_line(progress.health)}"))
    console.print(
        Text(f"algorithm {found.algorithm} ({found.standing}), δ = {found.delta:g}, seed {found.seed}", style="dim")
    )


def _headline(progress: Progress) -> Text:
    if progress.finished:
        return emphasised(progress.result)
    if progress.result.pulls == 0:
        return Text("Running. No arm leads yet: the algorithm's first request is not answered.")
    return Text("Running. ") + Text(f"Arm {progress.result.best}", style="bold") + Text(" leads.")


def _how_sure(progress: Progress) -> str:
    found = progress.result
    if found.certified:
        return f"Certified at δ = {found.delta:g}."
    in_play = f"; {progress.in_play:,} of {len(found.labels):,} arms may still be the best" if progress.in_play else ""
    if found.achieved_delta is None:
        return f"{found.algorithm} does not say how sure this is before its end{in_play}."
    low, high = found.bounds
    if found.epsilon_certified is None:
        within = ""
    elif found.epsilon_certified < 0.99 * (high - low):
        within = f"; within {found.epsilon_certified:.3g} of the best at δ = {found.delta:g}"
    else:
        within = "; nothing is certified yet"
    return f"Error level so far {found.achieved_delta:.3g}, {found.delta:g} wanted{within}{in_play}."


def _how_long(opened: Study, progress: Progress) -> str:
    if progress.finished:
        return "Nothing is left to evaluate."
    speed = f" at {progress.per_second:.3g} rewards a second" if progress.per_second else ""
    if progress.result.forecast is None:
        asked = f"{_counted(progress.request_left, 'more reward')} {'is' if progress.request_left == 1 else 'are'} asked for now"
        return f"{asked}{speed}; how many a decision needs cannot be told yet."
    left = progress.seconds_left
    about = f": {_duration(left)}" if left is not None and math.isfinite(left) else ""
    return f"About {count(progress.result.forecast)} more rewards may be needed{speed}{about}."


def _counted(number: int, noun: str) -> str:
    """So many of something.

    >>> _counted(1, "reward"), _counted(20, "more reward")
    ('1 reward', '20 more rewards')
    """
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def _duration(seconds: float) -> str:
    """A time for people.

    >>> _duration(42), _duration(5400), _duration(500_000)
    ('42 s', '1.5 h', '5.8 days')
    """
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
