"""``surest identify``: the main job. It says where the arms come from, and hands over."""

from typing import Any

import click

from surest.cli.output import asked
from surest.cli.settings import FRESH, OF_COMMANDS, column_options, option, problem_options, refuse, search_options
from surest.cli.sources import is_python, load

OF_TOTALS = ("sum_rows", "successes_column", "trials_column")
OF_FILES = ("arm_column", "value_column", *OF_TOTALS, "follow", "finished", "shuffle")  # options that need a file


@click.command()
@click.argument("source", required=False)
@problem_options(*FRESH)
@option(
    "--command commands NAME=COMMAND...",
    "An arm: a command whose last line of output is its reward; {seed} is replaced by a number. Repeat for each arm.",
)
@option("--instance NAME", "The instance to use, if a CSV file holds several.")
@option("--resample", "Simulate: draw from the recorded rewards of SOURCE with replacement.")
@option(
    "--shuffle [SEED]",
    "Shuffle each arm's recorded rewards first: for an independent sample whose order was lost.",
    is_flag=False,
    flag_value=0,
)
@option("--vectorised", "Python arms take a count and return that many rewards.")
@option("--suggest K", "If recorded rewards do not decide, list at most K arms to evaluate next.  [default: 5]")
@option("--arm labels NAME...", "An arm of the file, even one without rewards yet. Repeat for each arm.")
@column_options("arm", "value")
@option("--successes-column NAME", "In a table of totals: the column of successes.")
@option("--trials-column NAME", "In a table of totals: the column of trials.")
@option("--sum-rows", "In a table of totals: add up the rows of an arm, such as days.")
@option("--follow", "Wait for new rows of SOURCE until they decide.")
@option("--finished", "SOURCE gets no more rows: continue when an arm runs out of them.")
@search_options
def identify(**given: Any) -> int:
    """Find the best arm of SOURCE.

    SOURCE is a CSV file of recorded rewards (arm,value) or a folder of them, each row counted once, in order; a CSV file of
    totals (arm,successes,trials, or clicks of impressions, or conversions of visitors), a row for each arm; simulated arms:
    example1:N, bernoulli:0.5,0.45,..., lower-bound:GAPS/VARIANCES, or a CSV file with a count column; or Python
    callables: module:attribute or file.py:attribute names a mapping or sequence of them, or a function that returns
    one. Without a SOURCE, each --command is an arm.

    Exit status: 0 decided, 3 not decided, 2 invalid input.
    """
    from surest.arms.instances import is_path
    from surest.arms.recorded import Records
    from surest.arms.totals import Totals
    from surest.cli import following, sources

    source = given["source"]
    if not given["commands"] and source is None:
        raise click.UsageError("give a SOURCE, or an arm with each --command NAME=COMMAND")
    settings, scale = asked(given)
    if given["commands"]:
        refuse("--command", "source", "suggest", "labels", "vectorised", "resample", "instance", *OF_FILES)
        from surest.cli import searches
        from surest.search.commands import parse_commands

        return searches.run_commands(given, settings, scale, parse_commands(given["commands"]))
    refuse("a SOURCE", *OF_COMMANDS, only="--command")
    if is_python(source):
        refuse("Python arms", "suggest", "labels", "resample", "clip", "instance", *OF_FILES)
        arms = load(source)
        if given["study"] is not None:
            refuse("--study", "vectorised")
            from surest.cli import searches

            return searches.run_python(given, settings, scale, arms)
        return sources.identify_python(given, settings, scale, arms)
    if source.endswith(".py"):
        raise click.UsageError(f"{source} is Python; say what in it holds the arms, as in {source}:arms")
    refuse("files and simulated arms", "study", "vectorised")
    if not is_path(source):
        refuse("simulated arms", "resample", *OF_FILES)
    found = following.read(given, scale)
    if isinstance(found, Totals):
        refuse("totals", "suggest", "labels", "resample", "clip", "instance", "shuffle", "finished")
        return sources.identify_totals(given, settings, scale, found)
    refuse("rewards", *OF_TOTALS, only="a table of totals")
    if isinstance(found, Records):
        if given["shuffle"] is not None:
            refuse("--shuffle, which needs all rows to be there", "follow", "suggest")
        if given["finished"]:
            refuse("--finished", "follow", "suggest")
        return sources.identify_recorded(given, settings, scale, found)
    refuse("simulated arms", "suggest", "labels", "clip", "follow", "finished", "shuffle")
    return sources.identify_simulated(given, settings, scale, found)
