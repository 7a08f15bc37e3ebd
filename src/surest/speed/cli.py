"""``surest fastest``: which command is the fastest, by measuring."""

import json
import zlib
from typing import Any

import click

from surest.cli import SIGNALLED
from surest.cli.gate import STATUS
from surest.cli.settings import Given, fraction, json_option, option
from surest.cli.streams import print_json, say
from surest.errors import Stop
from surest.speed.result import Timings, markdown
from surest.text import plain_data
from surest.writing import written

BY = ("wall", "cpu")


@click.command()
@click.argument("commands", nargs=-1, required=True, metavar="COMMAND COMMAND...")
@option("--delta P", "Allowed probability of a wrong verdict.", default=0.05, show_default=True)
@option(
    "--tolerance T",
    "Commands that differ by no more than this count as equal: 2% or 0.02.",
    type=fraction,
    default="2%",
    show_default=True,
)
@option("-w --warmup N", "Untimed runs of each command before it begins.", type=click.IntRange(0), default=0)
@option("-m --min-runs N", "Minimum runs of a command, including 5 that do not count.", default=10, show_default=True)
@option("-M --max-runs N", "At most this many runs of a command.  [default: no limit]")
@option("-r --runs N", "Exactly this many runs of each command.")
@option("-s --setup CMD...", "Run once for each command, before the first run.")
@option("-p --prepare CMD...", "Run before each run. Give it once for all commands or once for each.")
@option("-c --cleanup CMD...", "Run once for each command, after the last run.")
@option(
    "-S --shell SHELL",
    "What runs the commands: a shell, 'default' (sh) or 'none'. Its start is subtracted.  [default: none, or sh if a command "
    "needs it]",
)
@option("--by", "The time that decides: on the clock, or user and system.", type=click.Choice(BY), default="wall")
@option("-N no_shell", "The same as --shell none.")
@option("-i --ignore-failure", "Count runs with a nonzero exit status.")
@option("-n --command-name names NAME...", "A name for a command; repeat for each.")
@option("--seed S", "The seed of the order within blocks.", type=click.IntRange(0))
@option("--export-json FILE", "Write all times as hyperfine does.", writes="file")
@option("--export-markdown FILE", "Write the table as hyperfine does.", writes="file")
@json_option
@option("--quiet", "Show no progress.")
def fastest(**given: Any) -> int:
    """Measure COMMANDs and find the fastest.

    They run in turn, in blocks of shuffled order, and are compared within blocks, so that a machine that slows down does not
    decide. It stops when it knows: wrong with probability at most --delta. The options are those of hyperfine.

    Exit status: 0 decided, or equal within the tolerance; 3 not decided by --max-runs; 2 invalid input, or a
    command that failed.
    """
    from surest.speed.run import fastest as find_fastest
    from surest.speed.run import labelled
    from surest.speed.view import FastestView, show

    commands = labelled(given["commands"], given["names"])
    if given["no_shell"]:
        if given["shell"] not in (None, "none"):
            raise click.UsageError(f"-N is --shell none; it conflicts with --shell {given['shell']}")
        given["shell"] = "none"
    settings: dict[str, Any] = {name: list(given[name]) or None for name in ("setup", "prepare", "cleanup")}
    for name in ("delta", "warmup", "min_runs", "max_runs", "shell", "ignore_failure", "by", "seed"):
        settings[name] = given[name]
    if given["runs"] is not None:
        if given["max_runs"] is not None:
            raise click.UsageError("give --runs or --max-runs, not both")
        settings["min_runs"] = settings["max_runs"] = given["runs"]
    view = FastestView(list(commands), quiet=given["quiet"])
    with view.watching():
        try:
            found = find_fastest(commands, tolerance=given["tolerance"], on_block=view, **settings)
        except Stop:
            raise view.interrupt() from None
    export(found, given)
    show(found, given)
    if found.certified:
        return 0
    return 3 if view.stopped_by is None else SIGNALLED + view.stopped_by


def export(found: Timings, given: Given) -> None:
    """Write the files that were asked for, in the form that hyperfine gives them."""
    data = plain_data({"results": [command.to_dict() for command in found.commands]})
    texts = {"export_json": json.dumps(data, indent=2) + "\n", "export_markdown": markdown(found)}
    for name, text in texts.items():
        if given[name] is not None:
            with written(given[name]) as path:
                path.write_text(text, encoding="utf-8")


def judge(given: Given) -> int:
    """``surest gate --speed OLD NEW``: found by name, so that other gates do not load this house."""
    from surest.speed.gate import speed_gate

    if len(given["files"]) != 2:
        raise click.UsageError("give two commands: surest gate --speed './old' './new' --margin 5%")
    settings = {name: given[name] for name in ("margin", "delta", "by", "max_runs") if given[name] is not None}
    seed = None if given["seed"] is None else zlib.crc32(given["seed"].encode())
    old, new = given["files"]
    found = speed_gate(old, new, seed=seed, **settings)
    if given["as_json"]:
        print_json(found.to_dict())
    else:
        say(str(found))
    if given["markdown"] is not None:
        with written(given["markdown"]) as path:
            path.write_text(f"{found}\n", encoding="utf-8")
    return STATUS[found.verdict]
