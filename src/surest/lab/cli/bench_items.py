"""``surest bench items``: methods for the best arm on a list of items, on complete tables."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from surest.lab.bench.items import as_markdown, bench_items, methods


@click.command("items")
@click.option("--data", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Tables: arm,item,value.")
@click.option(
    "--orders", default=100, show_default=True, type=click.IntRange(1), metavar="R", help="Random orders a table."
)
@click.option("--delta", default=0.05, show_default=True, metavar="D", help="The error level.")
@click.option("--epsilon", default=0.0, show_default=True, metavar="E", help="How far below the best an answer may be.")
@click.option("--seed", default=0, show_default=True, metavar="S", help="The same seed gives the same rows.")
@click.option("--algorithms", default="race", show_default=True, metavar="NAMES", help="With commas between, or 'all'.")
@click.option("--only", multiple=True, metavar="TABLE", help="Only this table; may be given more than once.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of rows.")
def items(
    data: Path,
    orders: int,
    delta: float,
    epsilon: float,
    seed: int,
    algorithms: str,
    only: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show what share of the cells of complete tables each method evaluates, and how often it is wrong."""
    names = list(methods()) if algorithms == "all" else [name.strip() for name in algorithms.split(",")]
    rows = bench_items(data, orders, delta=delta, epsilon=epsilon, seed=seed, algorithms=names, only=only or None)
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=1))
        return
    click.echo(as_markdown([]))
    for row in rows:
        click.echo(as_markdown([row]).splitlines()[-1])
