"""``surest bounds``: how hard a source is, before anything is pulled."""

from math import exp
from typing import Any

import click
import numpy as np
from rich.table import Table

from surest.arms.finite import FiniteArms
from surest.arms.instances import parse_source
from surest.cli.console import Output
from surest.cli.output import say_table
from surest.cli.settings import json_option, option
from surest.cli.streams import print_json, say
from surest.core.costs import checked_prices, parse_costs, prices_of
from surest.core.problem import labels_of
from surest.core.protocol import checked_delta
from surest.errors import UsageError
from surest.lab.characteristic import LARGEST, Characteristic, characteristic, size
from surest.lab.theory import UPPER_BOUNDS, Hardness, gap_entropy, hardness, paper_lower_bound, upper_bounds
from surest.result.table import SHOWN, aligned
from surest.text import number, visible


@click.command()
@click.argument("source")
@option("--delta", "The allowed probability of a wrong answer.", default=0.05, show_default=True)
@option("--instance NAME", "Which instance of a CSV file that holds several.")
@option("--cost ARM=COST...", "What a pull costs: a number, or ARM=NUMBER for each arm.")
@json_option
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
        in_cost = () if priced is None else (priced.time, priced.lower_bound(delta), priced.weights)
        known = zip(("cost_t_star", "cost_lower_bound", "cost_weights"), in_cost, strict=False)
        print_json(facts(arms, hard, ideal, delta) | dict(known))
        return
    tell(arms, hard, ideal, delta)
    if priced is not None:
        shares = zip(arms.labels[:SHOWN], priced.weights, strict=False)
        say(
            f"With these costs T* is {number(priced.time)} in cost per nat: at least {number(priced.lower_bound(delta))} in all, "
            f"with pulls shared as {', '.join(f'{label} {share:.1%}' for label, share in shares)}.",
            wrap=True,
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
        **{"n": len(arms), "index": hard.best, "arm": arms.labels[hard.best], "delta": delta},
        **{"means": hard.means, "gaps": hard.gaps, "variances": hard.variances, "H": hard.h, "H_var": hard.h_var},
        "gap_entropy": gap_entropy(hard),
        "upper_bounds": upper_bounds(hard, delta),
        "paper_lower_bound": paper_lower_bound(hard, delta),
        "t_star": None if ideal is None else ideal.time,
        "lower_bound": None if ideal is None else ideal.lower_bound(delta),
        "weights": None if ideal is None else ideal.weights,
    }


def tell(arms: FiniteArms, hard: Hardness, ideal: Characteristic | None, delta: float) -> None:
    """The same, for a person."""
    name, order = f"Arm {arms.labels[hard.best]}", np.argsort(-hard.means, kind="stable").tolist()
    if len(arms) == 1:
        say(f"{name} is the only arm: nothing has to be pulled.", bold=name)
        return
    gap, other = hard.gaps[hard.best], arms.labels[order[1]]
    rival = f"Arm {other} is equally good: no number of pulls can tell them apart."
    if gap > 0:
        rival = f"The closest other arm, {other}, is {gap:.4g} below it."
    say(f"{name} is the best of {len(arms):,}, with mean {hard.means[hard.best]:.4g}. {rival}", wrap=True, bold=name)
    rows = [["arm", "mean", "gap Δ", "variance σ²", "ideal share of pulls"]]
    for i in order[:SHOWN]:
        share = "–" if ideal is None or np.isnan(ideal.weights[i]) else f"{ideal.weights[i]:.1%}"
        far = "best" if i == hard.best else f"{hard.gaps[i]:.4g}"
        rows.append([visible(arms.labels[i]), f"{hard.means[i]:.4f}", far, f"{hard.variances[i]:.4f}", share])
    more = [f"… {len(arms) - SHOWN:,} more"] if len(arms) > SHOWN else []
    say("")
    say_table("\n".join([*aligned(rows, right={*rows[0]} - {"arm"}), *more]))
    if not gap > 0:
        return
    say("\n" + "\n".join(must_spend(hard, ideal, delta)), wrap=True)
    say("\nWhat published methods promise, up to a constant factor that each leaves open:")
    Output().print(promises(hard, delta))
    say(
        "Δᵢ is how far arm i is below the best, σᵢ² its variance, Dᵢ a Chernoff information; lnln 1/Δ stands for "
        "ln(e + ln 1/Δ). Compare how these grow from source to source, not their values.",
        wrap=True,
        dim=True,
    )


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
