"""``surest plan``: how many evaluations a search will need."""

import sys
from typing import Any

import click

from surest.cli.console import Output
from surest.cli.settings import columns_given, problem_options, settings_given
from surest.cli.streams import print_json
from surest.search.plan import plan as planned
from surest.study.study import open_study


@click.command()
@click.argument("source", required=False)
@click.option("--arms", type=int, metavar="N", help="A guess: how many arms there are.")
@click.option("--baseline", type=float, metavar="P", help="Their rate, but for the best one …")
@click.option("--lift", type=float, multiple=True, metavar="D", help="… which is so much above. Repeat for several.")
@click.option("--items", type=int, metavar="N", help="A guess at a list: how many items it has.")
@click.option("--score", type=float, metavar="P", help="The share of the items that the best arm solves …")
@click.option(
    "--gap", type=float, multiple=True, metavar="D", help="… and how much less the others do. Repeat for several."
)
@click.option("--agreement", type=float, default=0.8, show_default=True, help="The share on which both agree.")
@click.option("--power", type=float, default=0.8, show_default=True, help="That of the fixed-sample test.")
@click.option("--rate", metavar="N/SPAN", help="Evaluations by time, such as 1200/day.")
@click.option("--each", type=float, metavar="SECONDS", help="How long an evaluation takes …")
@click.option("--workers", type=int, default=1, show_default=True, help="… on so many workers.")
@click.option("--runs", type=int, default=200, show_default=True, help="How many searches to simulate.")
@click.option(
    "--seconds", type=float, default=15.0, show_default=True, help="How long, at most; 20 runs are always made."
)
@click.option("--storage", metavar="URL", help="Where SOURCE is a study.")
@click.option("--plot", metavar="FILE", help="Draw evaluations against the gap, into a .png, .svg or .pdf file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--arm-column", metavar="NAME")
@click.option("--item-column", metavar="NAME")
@click.option("--value-column", metavar="NAME")
@problem_options
def plan(source: str | None, **params: Any) -> None:
    """Tell how many evaluations a search will need, from guesses or from an earlier table, study or source.

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
        from surest.report.plots import checked_path

        checked_path(path)
        found.plot().get_figure(root=True).savefig(path)  # type: ignore[union-attr]
    print_json(found.to_dict()) if as_json else Output(highlight=False).print(str(found), soft_wrap=True)
