"""``surest duel``: who beats all others head to head, by a command that judges two, or from recorded duels."""

import shlex
from typing import Any

import click

from surest.cli.output import asked, show_result, shows_history
from surest.cli.settings import OF_COMMANDS, Given, option, problem_options, refuse, search_options
from surest.core.duels import DUELS, pair_labels
from surest.core.scale import Scale

SETTINGS = ("delta", "epsilon", "top", "budget", "seed", "note")


@click.command()
@click.argument("source", required=False, metavar="[DUELS]")
@problem_options(*SETTINGS, own=False)
@option("--strict", "Also show that an arm beats all others.")
@option("--rank", "Tell every pair apart: a full ranking.")
@option("--arm labels LABEL...", "An arm. Repeat for each arm.")
@option(
    "--judge COMMAND",
    "Compares two arms: {first}, {second}, {item} and {seed} are replaced, and the last line of its output is the winner's "
    "label, tie, or the first's score from 0 to 1.",
)
@option("--items FILE", "Items to judge on, one drawn for each duel: lines of text, .jsonl or .csv.")
@option("--column columns OURS=THEIRS...", "The file's name of a column, as in first=model_a.")
@option("--shuffle SEED", "Shuffle recorded duels whose order was lost.")
@search_options
def duel(**given: Any) -> int:
    """Find who beats all others head to head.

    DUELS is a CSV file (columns first, second, and score or winner), a PGN file of games, or an output of promptfoo
    with select-best: each is used once, in order.
    Without it, the --judge compares two --arm at a time.

    Exit status: 0 decided, 3 not decided, 2 invalid input.
    """
    settings, scale = asked(given, algorithm=DUELS)
    settings |= {name: True for name in ("strict", "rank") if given.pop(name)}
    if given["source"] is not None:
        refuse("a file of duels", "judge", "labels", "items", *OF_COMMANDS, "clip", "study", "storage")
        return _recorded(given, settings)
    if given["judge"] is None or len(given["labels"]) < 2:
        raise click.UsageError("give a file of DUELS, or --judge COMMAND and at least two --arm LABEL")
    refuse("--judge", "columns", "shuffle", only="a file of duels")
    return _judged(given, settings, scale)


def _recorded(given: Given, settings: Given) -> int:
    from surest.search.duel import duel as search

    columns = {ours: theirs for ours, _, theirs in (text.partition("=") for text in given["columns"])}
    how = {"columns": columns, "shuffle": given["shuffle"], "record": given["decision"] is not None, **settings}
    return show_result(search(given["source"], history=shows_history(given), progress=False, **how), given)


def _judged(given: Given, settings: Given, scale: Scale) -> int:
    from surest.cli.searches import run_commands
    from surest.search.commands import Command, checked_command

    try:
        words = tuple(shlex.split(given["judge"]))
    except ValueError as error:
        raise click.UsageError(f"--judge {given['judge']!r}: {error}") from None
    if not any("{first}" in word for word in words) or not any("{second}" in word for word in words):
        raise click.UsageError("--judge must contain {first} and {second}, or all duels would be the same")
    checked_command(Command("judge", words))
    pairs = [Command(pair, words) for pair in pair_labels(given["labels"])]
    return run_commands(given, {**settings, "algorithm": DUELS}, scale, pairs, players=given["labels"])
