"""``surest evaluate``: the best arm on a list of items, from a table of scores or by running commands."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from surest.cli.output import asked
from surest.cli.settings import (
    OF_COMMANDS,
    Given,
    column_options,
    columns_given,
    option,
    problem_options,
    refuse,
    search_options,
)
from surest.cli.streams import say
from surest.core.problem import ALGORITHMS, SETTINGS
from surest.core.scale import Scale
from surest.writing import as_csv

if TYPE_CHECKING:
    from surest.arms.tables import Table

COLUMNS = ("arm", "item", "value")
OF_TABLES = ("simulate", "suggest", "scorer", *(f"{name}_column" for name in COLUMNS))


@click.command()
@click.argument("files", nargs=-1, metavar="[TABLE | LOG...]")
@problem_options(*(name for name in SETTINGS if name != "repeats"), algorithm=ALGORITHMS["best"][True])
@option("--suggest K", "Print the next K cells to evaluate, as CSV, and nothing else; with --json, as a key.")
@column_options(*COLUMNS)
@option("--simulate", "Search the TABLE or LOGs as if each score had to be evaluated.")
@option("--scorer NAME", "The scorer that counts, if the LOGs have several.")
@option("--items FILE", "The items to run commands on: lines of text, .jsonl or .csv.")
@option(
    "--command commands NAME=COMMAND...",
    "An arm: a command whose last line of output is its score; {item} is replaced by the item, or else the item comes on "
    "standard input. Repeat for each arm.",
)
@search_options
def evaluate(**given: Any) -> int:
    """Find the arm with the best mean on a list of items.

    TABLE is a CSV file with a row for each score (columns arm,item,value), or with a row for each item and a column for each arm.
    A complete table gives the exact answer, and how many evaluations a search would have needed; a table with gaps gives the
    answer so far, and what to evaluate next. LOGs are files that inspect_ai, lm-evaluation-harness (--log_samples) or promptfoo
    wrote, or folders of them: models are compared on the samples that all runs have. Without files, each --command is an arm,
    run on the --items.

    Exit status: 0 decided, 3 not decided, 2 invalid input.
    """
    from surest.cli import searches
    from surest.search.commands import parse_commands

    settings, scale = asked(given, items=1)
    if not given["files"]:
        if given["items"] is None or not given["commands"]:
            raise click.UsageError("give a TABLE, or --items FILE and an arm with each --command NAME=COMMAND")
        refuse("commands", *OF_TABLES, only="a TABLE or LOGs")
        return searches.run_commands(given, settings, scale, parse_commands(given["commands"]))
    refuse("TABLE", "items", "commands", *OF_COMMANDS, "study", "storage")
    return _table(given, settings, scale)


def _table(given: Given, settings: Given, scale: Scale) -> int:
    import numpy as np

    from surest.cli.output import show_result
    from surest.search.evaluate import evaluate as find_best

    table = _read(given)
    for note in table.notes:
        say(f"surest: {note}", err=True)
    table = replace(table, notes=())
    if given["clip"]:
        table = replace(table, values=np.clip(table.values, scale.low, scale.high))
    result = find_best(table, simulate=given["simulate"], **settings)
    if given["suggest"] is not None:
        if result.certified and not given["as_json"]:
            say("surest: decided; no further cell is needed. Without --suggest the verdict is shown.", err=True)
        cells = [] if result.certified else result.wanted_cells[: given["suggest"]]
        if given["as_json"]:
            suggestions = [{"arm": str(arm), "item": str(item)} for arm, item in cells]
            return show_result(result, given, {"suggestions": suggestions})
        say(as_csv([COLUMNS[:2], *cells]).rstrip("\n"))
        return 0 if result.certified else 3
    lines = [f"Next: {arm} on {item}; --suggest K lists more." for arm, item in result.wanted_cells[:1]]
    return show_result(result, given, lines=lines)


def _read(given: Given) -> "Table":
    from surest.arms.tables import table_of

    files = given["files"]
    if len(files) > 1 and all(name.lower().endswith(".csv") for name in files):
        raise click.UsageError("give one TABLE (arm,item,value); 'surest gate' compares files of scores (item,value)")
    return table_of(list(files), columns_given(given) or None, scorer=given["scorer"])
