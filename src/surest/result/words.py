"""The words of a result, for Python, the command line and pages alike."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from surest.core.costs import money
from surest.result.duels import after_duels, duels_verdict
from surest.result.leads import lead_words
from surest.result.questions import NAMED, TOTALS, chosen_names, decided, names, undecided, where
from surest.text import be, count, counted, percent, visible

if TYPE_CHECKING:
    from surest.result.data import Listed, Result

SIMULATED = "Simulation: rewards were drawn, with replacement, from recorded ones."
"""The first line of a verdict about recorded rewards, not about the process they came from …"""
REPLAYED = "Simulation: a search read the scores of a table one by one, as if each had to be evaluated."
"""… and of one that leaves scores of the table unused."""

KNOWN = "exact: all scores known"  # the reason of a result from a complete table begins with this
RACES = ("race", "race-top", "race-above", "race-control")
ASSUMED = (
    "This holds if every trial of an arm had the same chance of success, whatever came before it, and if whether a trial "
    "is counted yet does not depend on its outcome. Then you may look at the totals at any time, as often as you like."
)
"""What a verdict on totals assumes."""


def verdict(result: "Result") -> str:
    """The answer and its guarantee; a simulation says so in a line before."""
    first = SIMULATED if result.listed is None else REPLAYED
    return f"{first}\n{_verdict(result)}" if result.resampled else _verdict(result)


def has_begun(result: "Result") -> bool:
    """Whether anything has been counted; until then the leader means nothing."""
    return result.pulls > 0 or result.certified


def after_verdict(result: "Result") -> list[str]:
    """The sentences after a verdict: the lead, the estimate, what else a table says, and the cost."""
    if result.duels is not None:
        return after_duels(result)
    listed, found, said = result.listed, result.estimated, [lead_words(result)] if result.pulls else []
    if found is not None:
        of, what = (
            f"The mean of {visible(result.chosen[0])}{where(result)} is",
            "evaluations" if listed is None else "items",
        )
        mean, low, high = map(result.arms.number, found[:3])
        about = f"about {mean} ({low} to {high}, {percent(1 - result.delta)})"
        on = f"estimated on {found.evaluations:,} further {what} that did not choose it"
        said.append(f"{of} {mean}, exactly." if found.low == found.high else f"{of} {about}, {on}.")
    if listed is not None:
        other = listed.beside
        said += _gaps(result, listed)
        said += [] if other is None else [decided(other) if other.certified else undecided(other, leader=False)]
    return [*filter(None, [*said, cost(result)]), *([ASSUMED] if result.algorithm == TOTALS else [])]


def _gaps(result: "Result", listed: "Listed") -> list[str]:
    """What a table with gaps says in addition to its verdict."""
    said, asked = list[str](), result.problem.question
    if listed.out and not result.certified and asked.ranks:
        who = names([result.labels[arm] for arm in listed.out])
        right = "the best" if asked.best else f"among the {asked.top} best"
        said.append(f"Whatever the missing scores are, {who} cannot be {right}.")
    if listed.complete is not None and listed.complete.listed is not None:
        whole = len(listed.complete.listed.items)
        have = f"{whole:,} of the {len(listed.items):,} items {'has' if whole == 1 else 'have'} every score"
        said.append(f"{have}. {_verdict(listed.complete)}")
    return said


def _verdict(result: "Result") -> str:
    if result.duels is not None:
        return duels_verdict(result)
    best, listed = result.problem.question.best, result.listed
    if best and result.reason == "the only arm":
        left = "nothing had to be pulled" if result.pulls == 0 else "there is nothing to compare"
        return f"{chosen_names(result)} is the only arm: {left}."
    if result.certified:
        return decided(result)
    used = result.pulls if listed is None else listed.items_used
    if used == 0 and (result.pulls == 0 or listed is None or listed.missing is None):
        left = f"No {'pull' if listed is None else 'item'} has been counted yet."
    else:
        left = undecided(result, leader=best or used > 0)
    return f"Not decided ({result.reason}). {left}"


def health_line(health: Mapping[str, Mapping[str, int]]) -> str:
    """One line for every report."""
    if not health:
        return "health: no evaluation failed or expired"
    return "health: " + "; ".join(
        f"{arm}: {', '.join(f'{n} {kind}' for kind, n in of.items())}" for arm, of in health.items()
    )


def cost(result: "Result") -> str:
    """What the answer cost."""
    seconds = "" if math.isnan(result.seconds) else f", {result.seconds:.2f} s"
    if result.listed is not None:
        share = result.evaluations / max(result.cells, 1)
        used, items = result.listed.items_used, len(result.listed.items)
        each = f", each the mean of {result.problem.repeats}" if result.problem.repeats > 1 else ""
        if result.problem.spread is not None:
            each += f", assuming that two arms never differ by more than {result.problem.spread:g}"
        if result.listed.known:
            return _needed(result, result.listed.needed, result.listed.misled)
        if result.listed.missing is not None:
            return _missing(result, result.listed.missing, f"{used:,} of {items:,} items")
        return (
            f"It took {count(result.evaluations)} of {count(result.cells)} evaluations ({share:.1%}){each}"
            f"{spent_words(result)}, on {used:,} of {items:,} items{seconds}."
        )
    if result.algorithm == TOTALS:
        return f"Totals of {counted(result.pulls, 'trial')}, as they are."
    took = f"{counted(result.pulls, 'pull')} in {counted(result.rounds, 'round')}"
    return f"It took {took}{'' if result.cost_by_arm is None else spent_words(result)}{seconds}."


def _missing(result: "Result", missing: int, counted: str) -> str:
    """How many scores of a table are missing, and what that means for evidence, which needs whole items."""
    said = f"{count(missing)} of {count(result.cells)} scores {be(missing)} missing"
    how = f"item by item, in a random order, up to the first missing score: {counted}"
    if not result.exact:
        return f"{said}. Evidence is counted {how}."
    further = f" Evidence about further items is counted {how}." if result.population is not None else ""
    return f"{said}; the others decide.{further}"


def spent_words(result: "Result") -> str:
    """What was spent, as a clause, and on a list what all cells would cost; empty if costs are not known."""
    listed, unit = result.listed, result.problem.cost_unit
    spent = result.cost if listed is None or not listed.known else listed.needed_cost
    if spent is None:
        return ""
    whole = "" if result.cost_of_all is None else f" of about {money(result.cost_of_all, unit)}"
    return f", {'' if unit else 'at a cost of '}{money(spent, unit)}{whole}"


def _needed(result: "Result", needed: int | None, misled: bool) -> str:
    """What a search would have needed to find what a complete table says."""
    who = "surest" if result.algorithm in RACES else visible(result.algorithm)
    of = f"of these {count(result.cells)} evaluations"
    if needed is None:
        if result.problem.budget is None:
            return f"All {count(result.cells)} scores are known."
        return f"{who} would not have decided with its budget of {count(result.problem.budget)} {of}."
    share = f"{needed / max(result.cells, 1):.1%}"
    if misled:
        often = f", which happens with probability at most {result.delta:g}" if who == "surest" else ""
        return f"{who} would have ended after {count(needed)} {of} ({share}) with a wrong answer{often}."
    return f"{who} would have needed {count(needed)} {of} ({share}){spent_words(result)}."


def next_words(result: "Result") -> str:
    """What to evaluate next, if what was recorded does not decide; empty if that is not known."""
    if result.certified or not (result.wanted or result.wanted_cells):
        return ""
    if result.wanted_cells:
        arm, item = (visible(name) for name in result.wanted_cells[0])
        return f"Evaluate next: {arm} on {item} (`wanted_cells` lists what follows)."
    often = [(visible(arm), times) for arm, times in list(result.wanted.items())[:NAMED]]
    named = [f"{arm} once" if times == 1 else f"{arm} {count(times)} times" for arm, times in often]
    more = f" and {len(result.wanted) - NAMED:,} more arms" if len(result.wanted) > NAMED else ""
    return f"Evaluate next: {', '.join(named)}{more} (as data: `wanted`)."
