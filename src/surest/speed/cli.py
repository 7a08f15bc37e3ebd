"""``surest fastest``: which command is the fastest, by measuring."""

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from surest.cli import SIGNALLED
from surest.cli.settings import fraction
from surest.cli.streams import plain, print_json, say
from surest.errors import Stop, UsageError
from surest.speed.result import Timings, markdown


@click.command()
@click.argument("commands", nargs=-1, required=True, metavar="COMMAND COMMAND...")
@click.option(
    "--delta", type=float, default=0.05, show_default=True, metavar="P", help="Allowed probability of a wrong verdict."
)
@click.option(
    "--tolerance",
    type=fraction,
    default="2%",
    show_default=True,
    metavar="T",
    help="Commands that differ by no more than this count as equal: 2% or 0.02.",
)
@click.option(
    "-w",
    "--warmup",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Untimed runs of each command before it begins.",
)
@click.option(
    "-m",
    "--min-runs",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    metavar="N",
    help="Minimum runs of a command, including 5 that do not count.",
)
@click.option(
    "-M",
    "--max-runs",
    type=click.IntRange(1),
    metavar="N",
    help="At most this many runs of a command.  [default: no limit]",
)
@click.option("-r", "--runs", type=click.IntRange(1), metavar="N", help="Exactly this many runs of each command.")
@click.option("-s", "--setup", multiple=True, metavar="CMD", help="Run once for each command, before the first run.")
@click.option(
    "-p",
    "--prepare",
    multiple=True,
    metavar="CMD",
    help="Run before each run. Give it once for all commands or once for each.",
)
@click.option("-c", "--cleanup", multiple=True, metavar="CMD", help="Run once for each command, after the last run.")
@click.option(
    "-S",
    "--shell",
    metavar="SHELL",
    help="What runs the commands: a shell, 'default' (sh) or 'none'. Its start is subtracted.  [default: none, or sh if a "
    "command needs it]",
)
@click.option(
    "--by",
    type=click.Choice(["wall", "cpu"]),
    default="wall",
    help="The time that decides: on the clock, or user and system.",
)
@click.option("-N", "no_shell", is_flag=True, help="The same as --shell none.")
@click.option("-i", "--ignore-failure", is_flag=True, help="Count runs with a nonzero exit status.")
@click.option(
    "-n", "--command-name", "names", multiple=True, metavar="NAME", help="A name for a command; repeat for each."
)
@click.option("--seed", type=click.IntRange(0), metavar="S", help="The seed of the order within blocks.")
@click.option("--export-json", metavar="FILE", help="Write all times as hyperfine does.")
@click.option("--export-markdown", metavar="FILE", help="Write the table as hyperfine does.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
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

    checked_exports(given)
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


def checked_exports(given: Mapping[str, Any]) -> None:
    """Refuse files that cannot be written before anything is measured."""
    for name in ("export_json", "export_markdown"):
        path = given[name]
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise UsageError(f"{path} cannot be written: there is no folder {Path(path).absolute().parent}")


def export(found: Timings, given: Mapping[str, Any]) -> None:
    """Write the files that were asked for, in the form that hyperfine gives them."""
    data = plain({"results": [command.to_dict() for command in found.commands]})
    texts = {"export_json": json.dumps(data, indent=2) + "\n", "export_markdown": markdown(found)}
    for name, text in texts.items():
        if given[name] is not None:
            try:
                Path(given[name]).write_text(text, encoding="utf-8")
            except OSError as error:
                raise UsageError(f"{given[name]} cannot be written: {error.strerror or error}") from None


def judge(given: Mapping[str, Any]) -> int:
    """``surest gate --speed OLD NEW``: found by name, so that other gates do not load this house."""
    from surest.speed.gate import speed_gate

    if len(given["files"]) != 2:
        raise click.UsageError("give two commands: surest gate --speed './old' './new' --margin 5%")
    settings = {name: given[name] for name in ("delta", "by", "max_runs") if given[name] is not None}
    seed = None if given["seed"] is None else zlib.crc32(given["seed"].encode())
    old, new = given["files"]
    found = speed_gate(old, new, given["margin"] or 0.05, seed=seed, **settings)
    if given["as_json"]:
        print_json(found.to_dict())
    else:
        say(str(found))
    if given["markdown"] is not None:
        Path(given["markdown"]).write_text(f"{found}\n", encoding="utf-8")
    return {"pass": 0, "fail": 4, "undecided": 3}[found.verdict]
