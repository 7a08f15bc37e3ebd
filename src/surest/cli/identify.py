"""``surest identify``: the main job."""

import json
import math
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from surest.algorithms import DEFAULT
from surest.api import identify as find_best
from surest.bandits.finite import FiniteArms
from surest.bandits.instances import parse_source
from surest.cli.progress import Watch, count
from surest.result import Result
from surest.theory.characteristic import characteristic, size

SHOWN = 6
"""Arms in the table of the leading ones."""
QUICK = 400_000
"""Arms times atoms up to which a run is compared with the lower bound: a second or two."""


@click.command()
@click.argument("source")
@click.option("--algorithm", default=DEFAULT, show_default=True, metavar="NAME", help="See 'surest algorithms'.")
@click.option("--delta", default=0.05, show_default=True, help="The allowed probability of a wrong answer.")
@click.option("--epsilon", default=0.0, show_default=True, help="How far below the best an answer may be.")
@click.option("--budget", type=float, metavar="N", help="The most pulls to make (1e6 is understood).")
@click.option("--seed", type=int, metavar="S", help="Makes the run repeatable.")
@click.option("--instance", metavar="NAME", help="Which instance of a CSV file that holds several.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def identify(
    source: str,
    algorithm: str,
    delta: float,
    epsilon: float,
    budget: float | None,
    seed: int | None,
    instance: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Find the best arm of SOURCE.

    SOURCE is example1:N, bernoulli:0.5,0.45,…, lower-bound:GAPS/VARIANCES, or a CSV file of recorded rewards (arm,value).
    """
    arms = parse_source(source, instance)
    with Watch(arms.labels, quiet=quiet) as watch:
        result = find_best(
            arms,
            delta,
            epsilon=epsilon,
            budget=whole_budget(budget),
            seed=seed,
            algorithm=algorithm,
            on_request=watch,
        )
    if as_json:
        click.echo(json.dumps(plain(result.to_json()), ensure_ascii=False))
    else:
        tell(result, arms)
    return 0 if result.certified else 3


def whole_budget(budget: float | None) -> int | None:
    """A budget as a whole number of pulls."""
    if budget is None:
        return None
    if not 0 <= budget < math.inf:
        raise click.BadParameter(
            f"{budget} is no number of pulls; give one such as 100000 or 1e6", param_hint="--budget"
        )
    return int(budget)


def plain(value: Any) -> Any:
    """NaN and infinity as null, which JSON knows."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def tell(result: Result, arms: FiniteArms) -> None:
    """The verdict, for a person."""
    console = Console(highlight=False)
    console.print(verdict(result))
    console.print(f"It took {count(result.pulls)} pulls in {result.rounds:,} rounds, {result.seconds:.2f} s.")
    for line in comparison(result, arms):
        console.print(line)
    console.print()
    console.print(leading_arms(result))
    console.print(Text(f"\nalgorithm {result.algorithm} ({result.standing}), seed {result.seed}", style="dim"))


def verdict(result: Result) -> Text:
    """Which arm, and with what guarantee."""
    name = Text(f"Arm {result.best}", style="bold")
    if result.reason == "the only arm":
        return name + Text(" is the only arm: nothing had to be pulled.")
    if not result.certified:
        return Text(f"Not decided ({result.reason}). ", style="yellow") + name + Text(" leads so far.")
    what = "is the best" if result.epsilon == 0 else f"is within {result.epsilon:g} of the best"
    if result.standing == "proven":
        return name + Text(f" {what}: wrong with probability at most {result.delta:g}.")
    return name + Text(f" {what}, by a {result.standing} rule without a proof (asked for error {result.delta:g}).")


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


def leading_arms(result: Result) -> Table:
    """A small table, the chosen arm first."""
    by_mean = np.argsort(-np.nan_to_num(result.means, nan=-1), kind="stable").tolist()
    order = [result.index, *(i for i in by_mean if i != result.index)][:SHOWN]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("arm")
    for column in ["mean", "pulls", "share"]:
        table.add_column(column, justify="right")
    for i in order:
        share = result.pulls_per_arm[i] / max(result.pulls, 1)
        mean = "–" if np.isnan(result.means[i]) else f"{result.means[i]:.4f}"
        table.add_row(result.labels[i], mean, count(result.pulls_per_arm[i]), f"{share:.1%}")
    if len(result.labels) > SHOWN:
        table.add_row(Text(f"… {len(result.labels) - SHOWN:,} more", style="dim"))
    return table
