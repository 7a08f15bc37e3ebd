"""``surest bench``: the whole field side by side."""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from surest.algorithms import REGISTRY
from surest.cli.console import Output
from surest.cli.output import command_again
from surest.cli.settings import whole_budget
from surest.cli.streams import print_json, say
from surest.errors import UsageError
from surest.lab.bench import items as listed_tables
from surest.lab.bench.items import bench_items, methods
from surest.lab.bench.record import benchmark, name_of
from surest.lab.bench.run import Case, cases, processors, usual_runs
from surest.lab.bench.suites import SUITES, instances_of
from surest.lab.bench.tables import COLUMNS, TEXT, Row, as_csv, as_markdown, cells, notes, rows_of

EVERY_LINE = 10.0  # seconds between two lines of progress where there is no terminal
PICTURES = ("auto", "pulls", "profile", "times", "allocation")


def workers_given(ctx: click.Context, option: click.Parameter, given: str | None) -> int | str:
    """A number of processes, or an address."""
    if given is None:
        return processors()
    return int(given) if given.lstrip("-").isdigit() else given


def listed(given: Sequence[str]) -> list[str]:
    """Names given one by one or with commas between them."""
    return [name.strip() for text in given for name in text.split(",") if name.strip()]


class Bench(click.Command):
    """``bench``, and ``bench items``, which is a command of its own."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the command line."""
        if args[:1] == ["items"]:
            return items.make_context(f"{info_name} items", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(cls=Bench)
@click.argument("sources", nargs=-1, required=True, metavar="SUITE_OR_SOURCE...")
@click.option(
    "--algorithms",
    multiple=True,
    metavar="NAMES",
    help="Names, or FILE.py:FUNCTION for your own, comma-separated; default: all.",
)
@click.option("--delta", "deltas", multiple=True, metavar="D", help="Error levels, comma-separated; default 0.05.")
@click.option("--runs", type=int, metavar="R", help="Replications per row; default: the suite's.")
@click.option("--seed", default=0, show_default=True, metavar="S", help="The same seed gives the same rows.")
@click.option(
    "--budget",
    type=float,
    metavar="N",
    help="Stop a run after N pulls (1e6 is understood); also what fixed-budget algorithms spend.",
)
@click.option(
    "--epsilon",
    default=0.0,
    show_default=True,
    help="How far below the best an answer may be, for algorithms that take it.",
)
@click.option(
    "--workers", callback=workers_given, metavar="W", help="Processes, or a Dask scheduler (tcp://HOST:PORT)."
)
@click.option("--data", type=click.Path(), metavar="DIR", help="The folder of the suite 'real'.")
@click.option("--only", multiple=True, metavar="GLOB", help="Only instances whose name matches, e.g. '*_top20'.")
@click.option("--json", "form", flag_value="json", help="Print a JSON list of rows.")
@click.option("--csv", "form", flag_value="csv", help="Print rows as CSV.")
@click.option("--markdown", "form", flag_value="markdown", help="Print a Markdown table.")
@click.option("--plot", type=click.Path(), metavar="FILE", help="Write a picture (.png, .svg or .pdf).")
@click.option("--picture", type=click.Choice(PICTURES), default="auto", show_default=True, help="Which one.")
@click.option(
    "--output", type=click.Path(), metavar="FILE", help="Keep every finished replication in FILE (JSON lines)."
)
@click.option("--resume", is_flag=True, help="Go on with the same benchmark where it was interrupted.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def bench(
    sources: tuple[str, ...],
    algorithms: tuple[str, ...],
    deltas: tuple[str, ...],
    runs: int | None,
    seed: int,
    budget: float | None,
    epsilon: float,
    workers: int | str,
    data: str | None,
    only: tuple[str, ...],
    form: str | None,
    plot: str | None,
    picture: str,
    output: str | None,
    resume: bool,
    quiet: bool,
) -> None:
    """Compare algorithms on the instances of suites, or on sources as 'surest identify' takes them.

    Suites: quick, paper, literature, low-variance, near-ties, real (with --data). A CSV file may hold several instances.
    Without --budget, algorithms that decide pull by pull are stopped after 10^7 pulls, and fixed-budget ones spend four
    times the lower bound.

    'surest bench items --data DIR' compares methods for lists of items, on tables of scores; it has options of its own.
    """
    if runs is not None and runs < 1:
        raise UsageError(f"--runs {runs}: give at least 1")
    if plot is not None:
        from surest.report.plots import checked_path

        checked_path(plot)
    tell = (lambda message: None) if quiet else (lambda message: say(f"surest: {message}", err=True))
    found = {i.key: (i, source) for source in sources for i in instances_of(source, data=data, only=only, skipped=tell)}
    names, levels = listed(algorithms), [level(text) for text in listed(deltas)] or [0.05]
    everything = cases(
        [instance for instance, _ in found.values()],
        list(dict.fromkeys(names)) or [name for name, entry in REGISTRY.items() if entry.works_on != "items"],
        list(dict.fromkeys(levels)),
        epsilon=epsilon,
        budget=whole_budget(budget),
        left_out=None if names else tell,
    )
    if not everything:
        raise UsageError("nothing to compare: every algorithm was left out")

    def count(case: Case) -> int:
        source = found[case.instance.key][1]
        return usual_runs(case, SUITES[source].runs if source in SUITES else 100) if runs is None else runs

    kept = Path(output) if output is not None else Path(name_of(everything, seed))
    with Bar(sum(map(count, everything)), quiet=quiet) as bar:
        done = benchmark(everything, count, seed=seed, workers=workers, output=kept, resume=resume, notice=bar)
    if output is None:
        kept.unlink()
    rows = rows_of(done)
    show(rows, form)
    if plot is not None:
        from surest.lab.bench.pictures import draw

        draw(done, rows, picture, plot)


def level(text: str) -> float:
    """A δ."""
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--delta {text}: not a number; give error levels such as 0.1,0.01") from None


def show(rows: Sequence[Row], form: str | None) -> None:
    """Print rows in the form asked for."""
    if form == "json":
        print_json([row.columns() for row in rows])
    elif form == "csv":
        click.echo(as_csv(rows), nl=False)
    elif form == "markdown":
        say(as_markdown(rows))
        for note in notes(rows):
            say(f"\n{note}")
    else:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for key, title in COLUMNS.items():
            table.add_column(title, justify="left" if key in TEXT else "right", no_wrap=True)
        for row in rows:
            table.add_row(*cells(row))
        wide = Output(highlight=False)
        if not wide.is_terminal:
            wide = Output(highlight=False, width=250)
        wide.print(table)
        for note in notes(rows):
            wide.print(f"\n{note}", style="dim")


class Bar:
    """Progress on standard error: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self.total, self.done, self.quiet, self.last = total, 0, quiet, time.monotonic()
        self.context = click.get_current_context()
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self.live = Progress(*columns, console=Output(stderr=True), transient=True)
        self.task = self.live.add_task("replications", total=total)
        self.shown = sys.stderr.isatty() and not quiet

    def __enter__(self) -> "Bar":
        if self.shown:
            self.live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self.shown:
            self.live.stop()
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            line = command_again(self.context, self.context.params["seed"])
            resumed = line if self.context.params["resume"] else f"{line} --resume"
            say(f"surest: {self.done:,} of {self.total:,} replications are kept. To go on:\n  {resumed}", err=True)

    def __call__(self, case: Case, fresh: int) -> None:
        """So many more are finished."""
        self.done += fresh
        if self.shown:
            self.live.update(self.task, advance=fresh, description=f"{case.algorithm} on {case.instance.name}"[:60])
        elif not self.quiet and time.monotonic() - self.last > EVERY_LINE:
            self.last = time.monotonic()
            say(f"{self.done:,} of {self.total:,} replications, {case.algorithm} on {case.instance.name}", err=True)


@click.command("items")
@click.option("--data", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Tables: arm,item,value.")
@click.option(
    "--orders", default=100, show_default=True, type=click.IntRange(1), metavar="R", help="Random orders per table."
)
@click.option("--delta", default=0.05, show_default=True, metavar="D", help="The error level.")
@click.option("--epsilon", default=0.0, show_default=True, metavar="E", help="How far below the best an answer may be.")
@click.option("--seed", default=0, show_default=True, metavar="S", help="The same seed gives the same rows.")
@click.option("--algorithms", default="race", show_default=True, metavar="NAMES", help="Comma-separated, or 'all'.")
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
    click.echo(listed_tables.as_markdown([]))
    for row in rows:
        click.echo(listed_tables.as_markdown([row]).splitlines()[-1])
