"""``surest algorithms``: what there is."""

from dataclasses import replace

import click

from surest.algorithms import all_entries
from surest.algorithms.tally import ENTRY as TALLY
from surest.cli.settings import option
from surest.cli.streams import print_json, say
from surest.core.question import TRAITS


@click.command()
@option("--json as_json", "Print a JSON list.")
def algorithms(as_json: bool) -> None:
    """List the algorithms: what each one looks for, and whether a theorem covers it."""
    entries = (*all_entries(), replace(TALLY, options=None))  # which has no options: it is given totals
    rows = [
        {"name": e.name, "goal": e.goal, "standing": e.standing, "reference": e.reference, "summary": e.summary}
        | {"options": {option: meaning for option, (_, meaning) in (e.options or {}).items()}, "traits": e.traits}
        for e in entries
    ]
    if as_json:
        print_json(rows)
        return
    for row, entry in zip(rows, entries, strict=True):
        goal = "best or ε-optimal arm" if row["goal"] == "either" else row["goal"]
        goal = goal if "best" in entry.answers else TRAITS[entry.answers[0]].partition(" ")[2]  # without its verb
        say(f"{entry.name}  {goal}, {entry.standing}", bold=entry.name)
        say(f"{entry.summary} ({entry.reference})", wrap=True, indent="    ")
    say("\n--option NAME=VALUE:", bold="--option NAME=VALUE:")
    for entry in entries:
        for name, (kind, meaning) in (entry.options or {}).items():
            if kind != "Constants":  # which a command line cannot write
                say(f"{entry.name}: {name}, {meaning}", wrap=True)
