"""``surest bench``: the whole field side by side."""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from surest.algorithms import REGISTRY
from surest.cli.console import Output
from surest.cli.output import command_again, say_table
from surest.cli.settings import option
from surest.cli.streams import print_json, say
from surest.errors import UsageError
from surest.lab.bench import items as listed_tables
from surest.lab.bench.items import bench_items, methods
from surest.lab.bench.record import benchmark, name_of
from surest.lab.bench.run import Case, cases, processors, usual_runs
from surest.lab.bench.suites import SUITES, instances_of
from surest.lab.bench.tables import COLUMNS, TEXT, Row, as_csv, as_markdown, cells, notes, rows_of
from surest.result.table import aligned

EVERY_LINE = 10.0  # seconds between two lines of progress where there is no terminal
NUMBERS = {title for key, title in COLUMNS.items() if key not in TEXT}
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
@option("--algorithms NAMES...", "Names, or FILE.py:FUNCTION for your own, comma-separated; default: all.")
@option("--delta deltas D...", "Error levels, comma-separated; default 0.05.", type=str)
@option("--runs R", "Replications per row; default: the suite's.", type=int)
@option("--seed S", "The same seed gives the same rows.", type=int, default=0, show_default=True)
@option("--budget N", "Stop a run after N pulls, such as 1e6; also what fixed-budget algorithms spend.", type=float)
@option(
    "--epsilon", "How far below the best an answer may be, for algorithms that take it.", default=0.0, show_default=True
)
@option("--workers W", "Processes, or a Dask scheduler (tcp://HOST:PORT).", callback=workers_given)
@option("--data DIR", "The folder of the suite 'real'.")
@option("--only GLOB...", "Only instances whose name matches, e.g. '*_top20'.")
@option("--json form", "Print a JSON list of rows.", flag_value="json")
@option("--csv form", "Print rows as CSV.", flag_value="csv")
@option("--markdown form", "Print a Markdown table.", flag_value="markdown")
@option("--plot FILE", "Write a picture (.png, .svg or .pdf).", writes="picture")
@option("--picture", "Which one.", type=click.Choice(PICTURES), default="auto", show_default=True)
@option("--output FILE", "Keep every finished replication in FILE (JSON lines).")
@option("--resume", "Go on with the same benchmark where it was interrupted.")
@option("--quiet", "Show no progress.")
def bench(sources: tuple[str, ...], **given: Any) -> None:
    """Compare algorithms on the instances of suites, or on sources as 'surest identify' takes them.

    Suites: quick, paper, literature, low-variance, near-ties, real (with --data). A CSV file may hold several instances.
    Without --budget, algorithms that decide pull by pull are stopped after 10^7 pulls, and fixed-budget ones spend four
    times the lower bound.

    'surest bench items --data DIR' compares methods for lists of items, on tables of scores; it has options of its own.
    """
    runs, seed, plot, quiet = given["runs"], given["seed"], given["plot"], given["quiet"]
    if runs is not None and runs < 1:
        raise UsageError(f"--runs {runs}: give at least 1")
    tell = (lambda message: None) if quiet else (lambda message: say(f"surest: {message}", err=True))
    of = {"data": given["data"], "only": given["only"], "skipped": tell}
    found = {i.key: (i, source) for source in sources for i in instances_of(source, **of)}
    names, levels = listed(given["algorithms"]), [level(text) for text in listed(given["deltas"])] or [0.05]
    everything = cases(
        [instance for instance, _ in found.values()],
        list(dict.fromkeys(names)) or [name for name, entry in REGISTRY.items() if entry.works_on != "items"],
        list(dict.fromkeys(levels)),
        epsilon=given["epsilon"],
        budget=given["budget"],
        left_out=None if names else tell,
    )
    if not everything:
        raise UsageError("nothing to compare: every algorithm was left out")

    def count(case: Case) -> int:
        source = found[case.instance.key][1]
        return usual_runs(case, SUITES[source].runs if source in SUITES else 100) if runs is None else runs

    kept = Path(given["output"] or name_of(everything, seed))
    how = {"seed": seed, "workers": given["workers"], "output": kept, "resume": given["resume"]}
    with progress(sum(map(count, everything)), quiet) as notice:
        done = benchmark(everything, count, notice=notice, **how)
    if given["output"] is None:
        kept.unlink()
    rows = rows_of(done)
    show(rows, given["form"])
    if plot is not None:
        from surest.lab.bench.pictures import draw

        draw(done, rows, given["picture"], plot)


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
        say_table("\n".join(aligned([[*COLUMNS.values()], *map(cells, rows)], right=NUMBERS)))
        for note in notes(rows):
            say(f"\n{note}", wrap=True, dim=True)


@contextmanager
def progress(total: int, quiet: bool) -> Iterator[Callable[[Case, int], None]]:
    """Progress on standard error: a bar on a terminal, a line now and then elsewhere. It is told of each case that goes on."""
    context, done, last = click.get_current_context(), 0, time.monotonic()
    shown = sys.stderr.isatty() and not quiet
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Output(stderr=True), transient=True, disable=not shown) as live:
        task = live.add_task("replications", total=total)

        def notice(case: Case, fresh: int) -> None:
            nonlocal done, last
            done += fresh
            on = f"{case.algorithm} on {case.instance.name}"
            live.update(task, advance=fresh, description=on[:60])
            if not (quiet or shown) and time.monotonic() - last > EVERY_LINE:
                last = time.monotonic()
                say(f"{done:,} of {total:,} replications, {on}", err=True)

        try:
            yield notice
        except KeyboardInterrupt:
            live.stop()
            line = command_again(context, context.params["seed"]) + " --resume" * (not context.params["resume"])
            say(f"surest: {done:,} of {total:,} replications are kept. To go on:\n  {line}", err=True)
            raise


@click.command("items")
@option("--data DIR", "Tables: arm,item,value.", required=True, type=click.Path(path_type=Path))
@option("--orders R", "Random orders per table.", type=click.IntRange(1), default=100, show_default=True)
@option("--delta D", "The error level.", default=0.05, show_default=True)
@option("--epsilon E", "How far below the best an answer may be.", type=float, default=0.0, show_default=True)
@option("--seed S", "The same seed gives the same rows.", type=int, default=0, show_default=True)
@option("--algorithms NAMES", "Comma-separated, or 'all'.", default="race", show_default=True)
@option("--only TABLE...", "Only this table; may be given more than once.")
@option("--json as_json", "Print a JSON list of rows.")
def items(data: Path, orders: int, algorithms: str, only: tuple[str, ...], as_json: bool, **how: Any) -> None:
    """Show what share of the cells of complete tables each method evaluates, and how often it is wrong."""
    names = list(methods()) if algorithms == "all" else listed([algorithms])
    rows = bench_items(data, orders, algorithms=names, only=only or None, **how)
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=1))
        return
    click.echo(listed_tables.as_markdown([]))
    for row in rows:
        click.echo(listed_tables.as_markdown([row]).splitlines()[-1])
