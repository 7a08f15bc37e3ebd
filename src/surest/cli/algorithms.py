"""``surest algorithms``: what there is."""

import json

import click
from rich.console import Console
from rich.table import Table

from surest.algorithms import REGISTRY


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def algorithms(as_json: bool) -> None:
    """List the algorithms: what each one looks for, and whether a theorem covers it."""
    rows = [
        {"name": name, "goal": e.goal, "standing": e.standing, "reference": e.reference, "summary": e.summary}
        for name, e in REGISTRY.items()
    ]
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in rows[0]:
        table.add_column(column, no_wrap=column in ("name", "standing"))
    for row in rows:
        table.add_row(*row.values())
    Console().print(table)
