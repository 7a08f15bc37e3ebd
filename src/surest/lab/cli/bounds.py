"""``surest bounds``: how hard a source is, before anything is pulled."""

from math import exp
from typing import Any

import click
import numpy as np
from rich.table import Table
from rich.text import Text

from surest.arms.finite import FiniteArms
from surest.arms.instances import parse_source
from surest.cli.console import Output
from surest.cli.streams import print_json
from surest.core.costs import checked_prices, parse_costs, prices_of
from surest.core.problem import labels_of
from surest.core.protocol import checked_delta
from surest.errors import UsageError
from surest.lab.characteristic import LARGEST, Characteristic, characteristic, size
from surest.lab.theory import UPPER_BOUNDS, Hardness, gap_entropy, hardness, paper_lower_bound, upper_bounds
from surest.result.table import SHOWN
from surest.text import number


@click.command()
@click.argument("source")
@click.option("--delta", default=0.05, show_default=True, help="The allowed probability of a wrong answer.")
@click.option("--instance", metavar="NAME", help="Which instance of a CSV file that holds several.")
@click.option(
    "--cost", multiple=True, metavar="ARM=COST", help="What a pull costs: a number, or ARM=NUMBER for each arm."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def bounds(source: str, delta: float, instance: str | None, cost: tuple[str, ...], as_json: bool) -> None:
    """Show how hard SOURCE is: what any method must spend on it, and what published methods promise.

    SOURCE is example1:N, bernoulli:0.5,0.45,..., lower-bound:GAPS/VARIANCES, or a CSV file of recorded rewards (arm,value).
    """
    checked_delta(delta)
    arms = parse_source(source, instance)
    labels_of(arms.labels)  # refuses what would not be one line
    hard = hardness(arms.means, arms.variances)
    ideal = characteristic(arms) if size(arms) <= LARGEST else None
    priced = _priced(arms, cost) if cost and ideal is not None and np.isfinite(ideal.time) else None
    if as_json:
        more = {} if priced is None else {"cost_t_star": priced.time, "cost_lower_bound": priced.lower_bound(delta)}
        shares = {} if priced is None else {"cost_weights": priced.weights.tolist()}
        print_json({**facts(arms, hard, ideal, delta), **more, **shares})
        return
    tell(arms, hard, ideal, delta)
    if priced is not None:
        shared = ", ".join(
            f"{label} {share:.1%}" for label, share in zip(arms.labels[:SHOWN], priced.weights, strict=False)
        )
        Output(highlight=False).print(
            f"With these costs T* is {number(priced.time)} in cost per nat: at least {number(priced.lower_bound(delta))} in all, "
            f"with pulls shared as {shared}."
        )


def _priced(arms: FiniteArms, cost: tuple[str, ...]) -> Characteristic:
    """T* in cost."""
    prices = prices_of(checked_prices(parse_costs(cost)), arms.labels)
    assert prices is not None
    if not (prices > 0).all():
        raise UsageError("cost is 0 for an arm; T* in cost needs costs above 0")
    return characteristic(arms, prices)


def facts(arms: FiniteArms, hard: Hardness, ideal: Characteristic | None, delta: float) -> dict[str, Any]:
    """Everything as plain data; what is infinite, or was not computed, becomes null."""
    return {
        "n": len(arms),
        "index": hard.best,
        "arm": arms.labels[hard.best],
        "delta": delta,
        "means": hard.means.tolist(),
        "gaps": hard.gaps.tolist(),
        "variances": hard.variances.tolist(),
        "H": hard.h,
        "H_var": hard.h_var,
        "gap_entropy": gap_entropy(hard),
        "upper_bounds": upper_bounds(hard, delta),
        "paper_lower_bound": paper_lower_bound(hard, delta),
        "t_star": None if ideal is None else ideal.time,
        "lower_bound": None if ideal is None else ideal.lower_bound(delta),
        "weights": None if ideal is None else ideal.weights.tolist(),
    }


def tell(arms: FiniteArms, hard: Hardness, ideal: Characteristic | None, delta: float) -> None:
    """The same, for a person."""
    console = Output(highlight=False)
    name = Text(f"Arm {arms.labels[hard.best]}", style="bold")
    if len(arms) == 1:
        console.print(name + Text(" is the only arm: nothing has to be pulled."))
        return
    console.print(
        name + Text(f" is the best of {len(arms):,}, with mean {hard.means[hard.best]:.4g}. ") + rival(arms, hard)
    )
    console.print()
    console.print(arms_table(arms, hard, ideal))
    if not hard.gaps.min() > 0:
        return
    console.print()
    for line in must_spend(hard, ideal, delta):
        console.print(line)
    console.print()
    console.print("What published methods promise, up to a constant factor that each leaves open:")
    console.print(promises(hard, delta))
    console.print(
        Text(
            "Δᵢ is how far arm i is below the best, σᵢ² its variance, Dᵢ a Chernoff information; lnln 1/Δ stands for"
            " ln(e + ln 1/Δ). Compare how these grow from source to source, not their values.",
            style="dim",
        )
    )


def rival(arms: FiniteArms, hard: Hardness) -> Text:
    """The closest other arm."""
    second = int(np.argsort(-hard.means, kind="stable")[1])
    gap = hard.gaps[hard.best]
    if gap > 0:
        return Text(f"The closest other arm, {arms.labels[second]}, is {gap:.4g} below it.")
    return Text(f"Arm {arms.labels[second]} is equally good: no number of pulls can tell them apart.", style="yellow")


def arms_table(arms: FiniteArms, hard: Hardness, ideal: Characteristic | None) -> Table:
    """The leading arms."""
    order = np.argsort(-hard.means, kind="stable")[:SHOWN].tolist()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("arm")
    for column in ["mean", "gap Δ", "variance σ²", "ideal share of pulls"]:
        table.add_column(column, justify="right")
    for i in order:
        share = "–" if ideal is None or np.isnan(ideal.weights[i]) else f"{ideal.weights[i]:.1%}"
        gap = "best" if i == hard.best else f"{hard.gaps[i]:.4g}"
        table.add_row(arms.labels[i], f"{hard.means[i]:.4f}", gap, f"{hard.variances[i]:.4f}", share)
    if len(arms) > SHOWN:
        table.add_row(Text(f"… {len(arms) - SHOWN:,} more", style="dim"))
    return table


def must_spend(hard: Hardness, ideal: Characteristic | None, delta: float) -> list[str]:
    """What nobody can do without, in words."""
    lines = [
        f"H = Σ 1/Δ² = {number(hard.h)} measures the difficulty by the gaps alone; H_var = Σ (σ²/Δ² + 1/Δ) = "
        f"{number(hard.h_var)} takes into account that arms with little noise are easier. The gap entropy Ent(I) = "
        f"{gap_entropy(hard):.3g} nats tells on how many scales the gaps lie: about {exp(gap_entropy(hard)):.2g}."
    ]
    if ideal is None:
        lines.append("The characteristic time T* was not computed: the source is too large for it.")
    else:
        lines.append(
            f"T* = {number(ideal.time)} is the number of pulls that each nat of evidence costs when they are shared among the "
            f"arms in the ideal way. So any method that is wrong with probability at most {delta:g}, whatever the arms, must "
            f"expect to make at least T*·kl(δ, 1−δ) = {number(ideal.lower_bound(delta))} pulls here."
        )
    note = "" if delta < 0.1 else " (it is proved for δ < 0.1)"
    lines.append(
        f"The paper's own lower bound for gaps and variances like these is H_var·ln(1/δ)/80 = "
        f"{number(paper_lower_bound(hard, delta))}{note}."
    )
    return lines


def promises(hard: Hardness, delta: float) -> Table:
    """The upper bounds."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ["method", "expression"]:
        table.add_column(column)
    table.add_column("value", justify="right", no_wrap=True)
    for key, value in upper_bounds(hard, delta).items():
        table.add_row(UPPER_BOUNDS[key].method, UPPER_BOUNDS[key].formula, number(value))
    return table
