"""``surest identify``: the main job."""

import json
import math

import click
from rich.text import Text

from surest.algorithms import DEFAULT
from surest.api import identify as find_best
from surest.api import named
from surest.arms.finite import FiniteArms
from surest.cli.commands import other_arms
from surest.cli.console import Output
from surest.cli.given import parse_arms, parse_bounds, plain, whole_budget
from surest.cli.options import option_option, options_given
from surest.cli.progress import Watch, count, status_of
from surest.cli.reproduce import command_again
from surest.report import plots as plot
from surest.result.data import Result, cost, emphasised, verdict
from surest.theory.characteristic import characteristic, size

QUICK = 400_000
"""Arms times atoms up to which a run is compared with the lower bound: a second or two."""


@click.command()
@click.argument("source", required=False)
@click.option("--algorithm", default=DEFAULT, show_default=True, metavar="NAME", help="See 'surest algorithms'.")
@option_option
@click.option("--delta", default=0.05, show_default=True, help="The allowed probability of a wrong answer.")
@click.option("--epsilon", default=0.0, show_default=True, help="How far from the best an answer may be.")
@click.option("--budget", type=float, metavar="N", help="The most pulls to make (1e6 is understood).")
@click.option("--seed", type=int, metavar="S", help="Makes the run repeatable.")
@click.option("--instance", metavar="NAME", help="Which instance of a CSV file that holds several.")
@click.option("--bounds", metavar="LO,HI", help="The lowest and the highest possible reward.  [default: 0,1]")
@click.option("--vectorised", is_flag=True, help="Python arms take a count and return so many rewards.")
@click.option("--plot", "picture", metavar="FILE", help="Draw the result: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@other_arms
def identify(
    source: str,
    algorithm: str,
    options: tuple[str, ...],
    delta: float,
    epsilon: float,
    budget: float | None,
    seed: int | None,
    instance: str | None,
    bounds: str | None,
    vectorised: bool,
    picture: str | None,
    as_json: bool,
    quiet: bool,
    minimise: bool,
) -> int:
    """Find the best arm of SOURCE.

    SOURCE is example1:N, bernoulli:0.5,0.45,…, lower-bound:GAPS/VARIANCES, a CSV file of recorded rewards (arm,value), or
    Python callables: module:attribute or file.py:attribute names a mapping or sequence of them, or a function that returns
    one. Without a SOURCE, each --command is an arm. With --suggest, a CSV file or a folder of them is counted row by row.
    """
    if picture is not None:
        plot.checked_path(picture)
    limits = parse_bounds(bounds)
    labels, arms = named(parse_arms(source, instance, limits), limits)
    with Watch(labels, quiet=quiet) as watch:
        if isinstance(arms, list):
            arms = {label: watch.arm(label, arm) for label, arm in zip(labels, arms, strict=True)}
        result = find_best(
            arms,
            delta,
            epsilon=epsilon,
            budget=whole_budget(budget),
            seed=seed,
            algorithm=algorithm,
            bounds=limits,
            minimise=minimise,
            vectorised=vectorised,
            on_request=watch,
            history=as_json or picture is not None,
            **options_given(algorithm, options),
        )
    command = command_again(click.get_current_context(), result.seed)
    if as_json:
        data = {**result.to_json(), "command": command}
        click.echo(json.dumps(plain(data), ensure_ascii=False))
    else:
        finite = arms if isinstance(arms, FiniteArms) else None
        tell(result, finite.mirrored() if finite is not None and minimise else finite)
    if picture is not None:
        plot.save(picture, result.arms, result.history, verdict(result))
    if watch.stopped_by is not None:
        kept = "rewards are not kept without --study NAME. " if isinstance(arms, dict) else ""
        click.echo(f"surest: {kept}To do it again:\n  {command}", err=True)
    return status_of(result, watch)


def tell(result: Result, arms: FiniteArms | None) -> None:
    """The verdict, for a person."""
    console = Output(highlight=False)
    console.print(emphasised(result))
    console.print(cost(result))
    for line in comparison(result, arms) if arms is not None else []:
        console.print(line)
    console.print()
    console.print(result.arms)
    console.print(Text(f"\nalgorithm {result.algorithm} ({result.standing}), seed {result.seed}", style="dim"))


def comparison(result: Result, arms: FiniteArms) -> list[str]:
    """The pulls beside what nobody can do without: T*·kl(δ, 1−δ), see ``surest bounds``."""
    if len(arms) < 2 or result.epsilon > 0 or size(arms) > QUICK:
        return []
    bound = characteristic(arms).lower_bound(result.delta)
    if not math.isfinite(bound):
        return ["Two arms of this source are equally good: no number of pulls can tell them apart."]
    if bound == 0:
        return []
    must = (
        f"Any method that is wrong with probability at most {result.delta:g}, whatever the arms, must expect to make "
        f"{count(math.ceil(bound))} pulls here"
    )
    return [f"{must}; this run made {result.pulls / bound:.3g} times that." if result.certified else f"{must}."]
