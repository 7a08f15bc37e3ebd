"""``surest algorithms``: what there is."""

import json

import click
from rich.table import Table
from rich.text import Text

from surest.algorithms import REGISTRY, options_of
from surest.cli.console import Output


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def algorithms(as_json: bool) -> None:
    """List the algorithms: what each one looks for, and whether a theorem covers it."""
    rows = [
        {"name": name, "goal": e.goal, "standing": e.standing, "reference": e.reference, "summary": e.summary}
        | {"options": {option: meaning for option, (_, meaning) in options_of(name).items()}}
        for name, e in REGISTRY.items()
    ]
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    columns = ("name", "goal", "standing", "reference", "summary")
    for column in columns:
        table.add_column(column, no_wrap=column in ("name", "standing"))
    for row in rows:
        table.add_row(*(str(row[column]) for column in columns))
    console = Output()
    console.print(table)
    console.print("\n--option NAME=VALUE:", style="bold", highlight=False)
    for name in REGISTRY:
        for option, (kind, meaning) in options_of(name).items():
            if kind != "Constants":  # which a command line cannot write
                console.print(Text(f"{name}: {option}, {meaning}"))
