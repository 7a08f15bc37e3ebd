"""``surest study create``."""

from typing import Any

import click

from surest.cli.settings import problem_options, settings_given
from surest.cli.study import common, counted_arms, say
from surest.errors import UsageError
from surest.study.study import open_study


@click.command()
@click.argument("name")
@click.option("--arm", "labels", multiple=True, metavar="LABEL", help="An arm; give one --arm for each.")
@click.option("--arms", type=click.IntRange(1, 10**6), metavar="N", help="So many arms, called 0, 1, …")
@click.option(
    "--item",
    "items",
    multiple=True,
    metavar="KEY",
    help="An item of the list that all arms are compared on, if there is one.",
)
@problem_options
@click.option(
    "--lease-seconds", type=float, metavar="T", help="A ticket not told by then is handed out again. [default: 600]"
)
@click.option(
    "--on-failure", type=float, metavar="R", help="Count a failed evaluation as this reward instead of retrying it."
)
@click.option("--retries", type=int, metavar="K", help="… after so many retries. [default: 0]")
@common
def create(
    name: str,
    labels: tuple[str, ...],
    arms: int | None,
    items: tuple[str, ...],
    storage: str,
    as_json: bool,
    **given: Any,
) -> int:
    """Make a study."""
    if bool(labels) == (arms is not None):
        raise click.UsageError("say which arms there are: one --arm LABEL for each, or --arms N")
    settings = settings_given(given)
    if items:
        settings["items"] = list(items)
    try:
        made = open_study(storage, name, list(labels) or arms, load_if_exists=False, **given, **settings)
    except UsageError as error:
        there, found, _ = str(error).partition("; open it with load_if_exists")
        if not found:
            raise
        raise UsageError(
            f"{there}; give this one another name, or delete that one: surest study delete {name}"
        ) from None
    say(as_json, {"name": made.name, "arms": list(made.labels)}, f"study {made.name}: {counted_arms(made)}")
    return 0
