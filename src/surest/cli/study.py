"""``surest study``: a search kept in a database, so that a shell script or any other language can be the worker."""

import io
import json
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, BinaryIO

import click

from surest.cli import Commands, streams
from surest.cli.settings import (
    FRESH,
    Decorator,
    Function,
    decision_option,
    option,
    problem_options,
    settings_given,
    several,
    write_decision,
)
from surest.core.problem import default_algorithm
from surest.errors import SurestError, UsageError
from surest.study.settings import STORAGE
from surest.study.study import Study, delete_study, list_studies, open_study
from surest.study.workers import shell_name
from surest.text import counted, in_json
from surest.writing import written

# What only some commands need is imported there: ask and tell are called once for each evaluation.

Said = tuple[Any, ...]  # data for ``--json``, what is printed otherwise, and the exit status, if that is not 0


def stored_in(kinds: str) -> Decorator:
    """Where studies are kept, if not in the usual file."""
    return option("--storage URL", kinds, envvar="SUREST_STORAGE", default=STORAGE, show_default=True, show_envvar=True)


storage_option = stored_in("sqlite:///FILE, postgresql://USER@HOST/NAME, or http://HOST:PORT of a service.")


def common(command: Function) -> Function:
    """The options that every command has."""
    return storage_option(option("--json as_json", "Print JSON.")(command))


algorithm_option = option(
    "--algorithm FILE.py:NAME",
    "The study's algorithm, if it is in a file: the file runs only in commands that name it.",
)


def say(as_json: bool, data: Any, text: str | Callable[[], object]) -> None:
    """Print one or the other; nothing where there is no text. What takes more than a text prints itself."""
    if as_json:
        streams.print_json(data)
    elif callable(text):
        text()
    elif text:
        streams.say(text)


def visible(text: str) -> str:
    """Text of others on one line of a terminal, control characters written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


@click.group(cls=Commands)
def study() -> None:
    """Keep a search in a database: it survives, and any number of workers share it.

    A worker asks for a ticket, evaluates the arm it names, and tells the reward under the ticket's number:

    \b
      surest study create mine --arm fast --arm safe --delta 0.05
      surest study ask mine          prints: 0 fast
      surest study tell mine 0 0.71
      surest study status mine
    """


def on_study(verb: str, *options: Decorator, runs: bool = True, **how: Any) -> Decorator:
    """A command on the study that its first argument names. It `runs` the study's algorithm, which may be in a file.

    The function is given the open study and the options. It returns data for ``--json``, what is printed otherwise and, if that
    is not 0, the exit status.
    """

    def decorated(function: Function) -> Function:
        @wraps(function)
        def command(name: str, storage: str, as_json: bool, algorithm: str | None = None, **given: Any) -> int:
            data, text, *status = function(open_study(storage, name, algorithm=algorithm), **given)
            say(as_json, data, text)
            return status[0] if status else 0

        with_options = several(click.argument("name"), *options, *[algorithm_option] * runs, common)
        study.command(verb, **how)(with_options(command))
        return function

    return decorated


@study.command()
@click.argument("name")
@option("--arm labels LABEL...", "An arm. Repeat for each.")
@option("--arms N", "The number of arms, called 0, 1, …", type=click.IntRange(1, 10**6))
@option("--item items KEY...", "An item of the list that all arms are compared on, if there is one.")
@option("--like STUDY", "Copy arms, items and settings from this study, except those given here.")
@problem_options(*FRESH)
@option("--lease-seconds T", "Seconds until a ticket without a reward is handed out again.  [default: 600]")
@option("--on-failure R", "The reward recorded after the last retry of a failed evaluation.", type=float)
@option("--retries K", "Retries before that reward counts.  [default: 3]", type=int)
@common
def create(
    name: str, labels: tuple[str, ...], arms: int | None, items: tuple[str, ...], like: str | None, storage: str,
    as_json: bool, **given: Any,
) -> None:  # fmt: skip
    """Make a study."""
    if bool(labels) + (arms is not None) + (like is not None) != 1:
        raise click.UsageError("name the arms: one --arm LABEL for each, --arms N, or --like STUDY")
    settings = settings_given(given) | {key: value for key, value in given.items() if value is not None}
    if items:
        settings["items"] = list(items)
    if like is not None:
        other = open_study(storage, like)
        if "algorithm" not in settings:
            from surest.search.loading import permitted

            permitted(other.settings.problem.algorithm, None)  # what is copied was not named
        labels, same = _like(other)
        settings = same | settings
    try:
        made = open_study(storage, name, list(labels) or arms, load_if_exists=False, **settings)
    except UsageError as error:
        there, found, _ = str(error).partition("; open it with load_if_exists")
        if not found:
            raise
        how = f"give this one another name, or delete that one: surest study delete {name}"
        raise UsageError(f"{there}; {how}") from None
    said = f"study {made.name}: {counted(len(made.labels), 'arm')}"
    say(as_json, {"name": made.name, "arms": list(made.labels)}, said)


def _like(study: Study) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The arms with which a study began, and its settings and items as keywords of `open_study`."""
    from surest.study.outcome import additions_of

    settings = study.settings.plain()
    settings |= settings.pop("options")
    items = [(item.key, None if item.payload is None else json.loads(item.payload)) for item in study.items]
    settings["items"] = items or None
    if settings["algorithm"] == default_algorithm(settings):
        del settings["algorithm"]  # another question, or a list, needs another
    return additions_of(study)[0].labels, settings


@study.command(name="list")
@common
def list_(storage: str, as_json: bool) -> None:
    """List the studies of a database: how each stands, and which arm leads."""
    rows = [_standing(one) for one in list_studies(storage)]
    said = ([r["name"], r["state"], r["leader"] or "–", counted(r["arms"], "arm"), f"δ = {r['delta']}"] for r in rows)
    lines = ["\t".join(visible(str(cell)) for cell in line) for line in said]
    say(as_json, rows, "\n".join(lines) or "no studies")


def _standing(one: Study) -> dict[str, Any]:
    """A line of the list. A study that cannot be read does not hide the others."""
    leader, problem = None, one.settings.problem
    try:
        now = one.status()
        begun = now.result.pulls > 0 or now.result.certified
        leader = ", ".join(map(str, now.result.chosen)) if begun else None
        ended = "decided" if now.result.certified else now.result.reason
        state = ended if now.finished else "paused" if one.paused else "running"
    except SurestError as error:
        state = f"cannot be read: {error}"
    said = {"name": one.name, "state": state, "leader": leader}
    return {**said, "algorithm": problem.algorithm, "arms": len(one.labels), "delta": problem.delta}


@on_study("add-arms", click.argument("labels", nargs=-1, required=True, metavar="LABEL..."))
def add_arms(opened: Study, labels: tuple[str, ...]) -> Said:
    """Add arms while a study runs.

    Its algorithm must allow it: wager does, in a study made with --option reserve=0.1.
    """
    opened.add_arms(labels)
    data = {"name": opened.name, "arms": list(opened.labels)}
    return data, f"study {opened.name}: {counted(len(opened.labels), 'arm')}"


@on_study("pause", runs=False)
def pause(opened: Study) -> Said:
    """Hand out no more tickets until 'surest study resume'. Rewards of tickets that are out still count."""
    opened.pause()
    return {"name": opened.name, "paused": True}, f"study {opened.name} is paused"


@on_study("resume", runs=False)
def resume(opened: Study) -> Said:
    """Hand out tickets again."""
    opened.resume()
    return {"name": opened.name, "paused": False}, f"study {opened.name} goes on"


def worker(what: str) -> Decorator:
    """The option that names a worker."""
    return option("--worker WHO", what, default=shell_name)


@on_study(
    "ask",
    option("-k --count k", "At most this many tickets.", default=1, type=click.IntRange(1, 10**6), show_default=True),
    worker("A name for the log. [default: the host and the program that runs this]"),
)
def ask(opened: Study, k: int, worker: str) -> Said:
    """Take tickets: prints a line for each, its number, the arm to evaluate, and the item if the study has a list.

    Exit status: 0 some tickets; 4 none now, rewards of others are awaited: try again later; 3 no more: the study is finished.
    """
    tickets = opened.ask(k, worker)
    data = [{"ticket": ticket.id, "index": ticket.arm, "arm": ticket.label} for ticket in tickets]
    for row, ticket in zip(data, tickets, strict=True):
        if (item := opened.item_of(ticket)) is not None:
            row["item"] = item.key
    lines = [" ".join(visible(str(value)) for key, value in row.items() if key != "index") for row in data]
    return data, "\n".join(lines), 0 if tickets else 3 if opened.finished else 4


NEGATIVE = {"context_settings": {"ignore_unknown_options": True}}  # lets a number be negative


@on_study(
    "tell",
    click.argument("ticket", type=int),
    click.argument("reward", type=float),
    worker("The worker, if ask was given a name.  [default: as for ask]"),
    runs=False,
    **NEGATIVE,
)
def tell(opened: Study, ticket: int, reward: float, worker: str) -> Said:
    """Tell the REWARD of a TICKET. It is on disk when this returns."""
    opened.tell(ticket, reward, worker=worker)
    return {"ticket": ticket, "reward": reward}, f"ticket {ticket}: {reward}".removesuffix(".0")


@on_study(
    "fail",
    click.argument("ticket", type=int),
    click.argument("reason", default=""),
    option("--reward R", "Count the evaluation as this reward instead of retrying it.", type=float),
    worker("The worker that had the ticket, if ask was given a name.  [default: as for ask]"),
    runs=False,
    **NEGATIVE,
)
def fail(opened: Study, ticket: int, reason: str, reward: float | None, worker: str) -> Said:
    """Report that the evaluation of a TICKET failed, and why. Only the worker that holds it can."""
    from surest.result.words import health_line

    opened.fail(ticket, reason, reward, worker=worker)
    return {"ticket": ticket, "health": opened.health()}, health_line(opened.health())


@on_study(
    "work",
    click.argument("words", nargs=-1, required=True, metavar="-- COMMAND..."),
    option("--workers K", "Maximum number of commands at a time.", default=1, type=click.IntRange(1, 1000)),
    option("--timeout T", "Seconds after which a command is stopped and counts as failed."),
    option("--retries K", "Give up after this many failures of one evaluation.", type=click.IntRange(0)),
    option("--clip", "Count a number outside the bounds as the nearer bound."),
)
def work(opened: Study, words: tuple[str, ...], **how: Any) -> Said:
    """Evaluate tickets by a COMMAND until the study is finished. Any number of these may run at a time.

    The last line that the command prints is the reward. {arm}, {item} and {seed} in it are replaced:

    \b
      surest study work mine --workers 4 -- ./evaluate {arm}
    """
    from surest.cli.searches import run_worker

    run_worker(opened, words, **how)
    found: Said = result(opened)
    return found


@on_study("status")
def status(opened: Study) -> Said:
    """Show who leads, how sure that is, and how much longer it may take."""
    from surest.cli.glance import show

    progress, paused = opened.status(), opened.paused
    return {**progress.to_dict(), "paused": paused}, lambda: show(progress, paused)


@on_study("result", decision_option)
def result(opened: Study, decision: str | None = None) -> Said:
    """Print the verdict. Exit status 0 if it is certified, 3 if not (yet)."""
    from surest.cli.glance import show_verdict

    found = opened.result(record=decision is not None)
    told = write_decision(found, decision)
    data = found.to_dict() | ({} if told is None else {"decision": told})
    return data, lambda: show_verdict(found, told), 0 if found.certified else 3


@study.command()
@click.argument("name")
@option("--output FILE", "Write to a file instead.", type=click.Path(dir_okay=False), writes="file")
@algorithm_option
@common
def export(name: str, output: str | None, algorithm: str | None, storage: str, as_json: bool) -> None:
    """Write all of a study as JSON: settings, arms, requests, tickets with their rewards, what failed, the result."""
    from surest.study.transfer import put_in_place, spooled

    with spooled(open_study(storage, name, algorithm=algorithm)) as whole:
        if output is None:
            reader = io.TextIOWrapper(whole, "utf-8")
            while piece := reader.read(1 << 20):
                click.echo(in_json(piece).encode(), nl=False)
            return
        with written(output) as place:
            put_in_place(whole, place)


@study.command(name="import")
@click.argument("file", type=click.File("rb"))
@option("--name NAME", "A new name for it.")
@algorithm_option
@common
def import_(file: BinaryIO, name: str | None, algorithm: str | None, storage: str, as_json: bool) -> None:
    """Import an exported study into a database, after replaying it: from a laptop to a server, say."""
    from surest.study.transfer import import_study

    imported = import_study(storage, file.read(), name, algorithm=algorithm)
    say(as_json, {"name": imported}, f"study {imported}")


@study.command()
@click.argument("name")
@option("--yes", "Do not ask for confirmation.")
@common
def delete(name: str, yes: bool, storage: str, as_json: bool) -> None:
    """Delete a study and all its rewards."""
    if not yes and not as_json:
        try:
            click.confirm(f"Delete study {name} and all its rewards?", abort=True)
        except click.Abort:
            if sys.stdin is not None and sys.stdin.isatty():
                raise
            raise click.UsageError(f"study {name} was not deleted: cannot ask for confirmation; use --yes") from None
    delete_study(storage, name)
    say(as_json, {"deleted": name}, f"study {name} deleted")
