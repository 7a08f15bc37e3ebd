"""``surest plan``: how many evaluations a search will need."""

import sys
from typing import Any

import click

from surest.cli.settings import (
    FRESH,
    column_options,
    columns_given,
    json_option,
    option,
    problem_options,
    settings_given,
)
from surest.cli.streams import print_json, say
from surest.search.plan import plan as planned
from surest.study.study import open_study
from surest.writing import written


@click.command()
@click.argument("source", required=False)
@option("--arms N", "Guess: number of arms.")
@option("--baseline P", "Guess: rate of all arms but the best.")
@option("--lift D...", "Guess: lead of the best arm. Repeat for several.")
@option("--items N", "Guess: number of items of a list.")
@option("--score P", "Guess: share of the items that the best arm solves.")
@option("--gap D...", "Guess: how much less the others solve. Repeat for several.")
@option("--agreement", "Guess: share of the items on which two arms agree.", type=float, default=0.8, show_default=True)
@option("--power", "Power of the fixed-sample test.", type=float, default=0.8, show_default=True)
@option("--rate N/SPAN", "Evaluations per time, such as 1200/day.")
@option("--each SECONDS", "Seconds per evaluation.")
@option("--workers", "Workers that evaluate at a time.", type=int, default=1, show_default=True)
@option("--runs", "Searches to simulate.", type=int, default=200, show_default=True)
@option("--seconds", "Time limit; at least 20 runs are made.", type=float, default=15.0, show_default=True)
@option("--storage URL", "Storage of SOURCE, if it is a study.")
@option("--plot FILE", "Draw evaluations against the gap, into a .png, .svg or .pdf file.", writes="picture")
@json_option
@column_options("arm", "item", "value")
@problem_options(*FRESH)
def plan(source: str | None, **params: Any) -> None:
    """Predict how many evaluations a search will need, from guesses or from an earlier table, study or source.

    SOURCE is a CSV file of scores (arm,item,value) or rewards (arm,value), a log, bernoulli:0.11,0.1,..., or, with --storage,
    a study. It is a simulation by the search's own algorithm.
    """
    settings = settings_given(params)
    storage, path, as_json = params.pop("storage"), params.pop("plot"), params.pop("as_json")
    columns = columns_given(params) or None
    guesses = {name: value for name, value in params.items() if not name.endswith("_column") and value != ()}
    what: Any = source if storage is None else open_study(storage, str(source))
    if not sys.stderr.isatty():
        found = planned(what, columns=columns, **guesses, **settings)
    else:
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("simulating")
            show = lambda done, of: bar.update(task, completed=done, total=of)  # noqa: E731
            found = planned(what, columns=columns, progress=show, **guesses, **settings)
    if path is not None:
        with written(path):
            found.plot().get_figure(root=True).savefig(path)  # type: ignore[union-attr]
    print_json(found.to_dict()) if as_json else say(str(found))
