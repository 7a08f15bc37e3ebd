"""``surest study create``."""

import json
from typing import Any

import click

from surest.cli.settings import FRESH, option, problem_options, settings_given
from surest.cli.study import common, say
from surest.core.problem import default_algorithm
from surest.errors import UsageError
from surest.search.loading import permitted
from surest.study.outcome import additions_of
from surest.study.study import Study, open_study
from surest.text import counted


@click.command()
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
            permitted(other.settings.problem.algorithm, None)  # what is copied was not named
        labels, same = like_study(other)
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


def like_study(study: Study) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The arms with which a study began, and its settings and items as keywords of `open_study`.

    The algorithm is left out where it is the usual one: another question, or a list, needs another.
    """
    settings = study.settings.plain()
    settings |= settings.pop("options")
    items = [(item.key, None if item.payload is None else json.loads(item.payload)) for item in study.items]
    settings["items"] = items or None
    if settings["algorithm"] == default_algorithm(settings):
        del settings["algorithm"]
    return additions_of(study)[0].labels, settings
