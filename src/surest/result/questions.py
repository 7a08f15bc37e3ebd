"""The words for each question: what is asked, what is decided, and what is known before."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from surest.core.duels import DUELS
from surest.core.problem import Problem
from surest.text import at_most, be, capital, ordinal, percent, visible

if TYPE_CHECKING:
    from surest.result.data import Result

TOTALS = "tally"  # the algorithm for totals, which makes no pulls
NAMED = 5  # a sentence names up to this many arms, and counts more
WORDS = {"above": {1: "above", -1: "below", 0: "open"}, "control": {1: "better", -1: "not better", 0: "open"}}
"""What a verdict is called, by question."""


def verdict_words(problem: Problem, verdicts: Sequence[int]) -> tuple[str, ...]:
    """Each arm's verdict in a word."""
    asked = problem.question
    words = [WORDS[asked.kind][verdict] for verdict in verdicts]
    if asked.reference is not None:
        words[asked.reference] = "control"
    return tuple(words)


def question(problem: Problem) -> str:
    """What is asked, in a few words."""
    asked = {"best": "Best arm", "top": f"The {problem.top} best", "above": f"Above {problem.above}"}
    asked |= {
        "control": f"Better than {problem.control}",
        "cheapest": f"The cheapest within {problem.cheapest} of the best",
    }
    if problem.algorithm == DUELS:
        who = "one beats" if problem.question.top == 1 else f"{problem.top} beat"
        return "Ranking by duels" if problem.options.get("rank") else f"Which {who} all others"
    return asked[problem.question.kind]


def names(labels: Sequence[Any]) -> str:
    """Arms in a sentence: their names, or how many they are."""
    if len(labels) > NAMED:
        return f"{len(labels):,} arms"
    return f"{'arms' if len(labels) > 1 else 'arm'} {listed_words(labels)}"


def every(number: int) -> str:
    """All arms at the start of a sentence."""
    return "Both arms" if number == 2 else f"All {number:,} arms"


def listed_words(labels: Sequence[Any], last: str = "and") -> str:
    """An enumeration of labels."""
    texts = [visible(label) for label in labels]
    return f" {last} ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def chosen_names(result: "Result") -> str:
    """The chosen arms at the start of a sentence, where a terminal emphasises them."""
    return capital(names(result.chosen))


def leading(result: "Result") -> str:
    """Which arm leads while nothing is decided; none of those with the same mean.

    The answer so far rests on more than means: if another arm has a better one, the sentence says so.
    """
    name, several, lead = chosen_names(result), len(result.chosen) > 1, result.lead
    if result.achieved_delta == 0 or lead is None or not lead.difference <= 0:
        return f"{name} {'lead' if several else 'leads'} so far."
    if lead.difference == 0 and not several:
        return "No arm leads so far."
    mean = "the same" if lead.difference == 0 else "a lower" if result.minimise else "a higher"
    last = f" {'as' if lead.difference == 0 else 'than'} {visible(lead.arm)}" if several else ""
    return f"{name} {be(len(result.chosen))} the answer so far, although {visible(lead.over)} has {mean} mean{last}."


def undecided(result: "Result", leader: bool = True) -> str:
    """What is certified while nothing is decided, after the answer so far, if that means anything."""
    asked, left = result.problem.question, result.contenders or ()
    if asked.each_arm:
        return _each_arm(result)
    if asked.kind == "cheapest":
        few = f" {capital(names(left))} may be within {result.problem.cheapest:g} of the best{where(result)}."
        return f"{chosen_names(result)} would be named so far.{few if left else ''}" if leader else ""
    said, level = [leading(result)], "1" if result.achieved_delta is None else at_most(result.achieved_delta)
    if asked.kind == "top" and level != "1":
        near = f"within {result.epsilon:g} of the best" if result.epsilon > 0 else "the best"
        what = "This set" if len(result.chosen) > 1 else f"Calling it {near}"
        said.append(f"{what} has error level {level} so far; {result.delta:g} was asked for.")
    return " ".join([*(said if leader else []), *(_best_left(result) if asked.best else _top_left(result))])


def _best_left(result: "Result") -> list[str]:
    """Which arms may still be best, and how far from best the leader can be."""
    if result.listed is not None and result.achieved_delta == 0:
        return ["No other arm can overtake it on this list any more; whether one ties with it is open."]
    left, far = _contenders(result), _how_far(result)
    if left and far.startswith(("neither", "none")):  # none of them, neither: of those just named
        return [f"{left}, and {far}."]
    return [f"{capital(said)}." for said in (left, far) if said]


def _contenders(result: "Result") -> str:
    """Which arms may still be best, as a clause; empty if that is not known."""
    further = where(result) if result.problem.target == "population" else ""
    left = () if result.standing != "proven" else result.contenders or ()
    best = "the best" if result.epsilon == 0 else f"within {result.epsilon:g} of the best"
    if len(left) < 2:
        return ""
    if len(left) == len(result.labels):
        return f"{every(len(left))} may still be {best}{further}"
    few, number = listed_words(left, "or"), f"{len(left):,}"
    if result.epsilon == 0:
        who = f"The best arm{further} is {few if len(left) <= NAMED else f'one of {number}'}"
    else:
        who = f"{f'Arm {few}' if len(left) <= NAMED else f'One of {number} arms'} is {best}{further}"
    return f"{who} ({percent(1 - result.delta)})"


def _how_far(result: "Result") -> str:
    """How far from the best the leader and all contenders can be, as a clause.

    Each bound holds with probability 1 − δ by itself, so to report only the smaller one would be wrong more often. The bound
    of all contenders is reported if it is useful, and that of the leader is added if it says more.
    """
    useful = 0.5 * result.problem.scale.width  # a larger bound says nothing
    below, sure = "above" if result.minimise else "below", percent(1 - result.delta)
    own = math.inf if result.epsilon_certified is None else result.epsilon_certified
    apart = math.inf if result.apart is None or result.standing != "proven" else result.apart
    leader = f"arm {visible(result.best)} is at most {at_most(own)} {below} the best"
    none = "neither" if len(result.contenders or ()) == 2 else "none of them"
    if not apart < useful:
        return f"{leader} ({sure})" if own < useful else ""
    if at_most(own) != at_most(apart) and own < apart:
        return f"{leader}, and {none} is more than {at_most(apart)} {below} it ({sure} each)"
    return f"{none} is more than {at_most(apart)} {below} the best ({sure})"


def decided(result: "Result") -> str:
    """The answer: which arms, what they are, and how sure that is."""
    if result.problem.question.each_arm:
        return _each_arm(result)
    problem, m, name, on = result.problem, len(result.chosen), chosen_names(result), where(result)
    kind, exactly = problem.question.kind, result.epsilon == 0 or result.achieved_delta == 0
    near, tied = f"within {problem.cheapest or 0.0:g} of the best", result.contenders or ()
    if kind == "best" and on and result.reason.endswith("tied") and len(tied) > 1:
        return (
            f"{capital(names(tied))} have the same mean{on}, up to rounding, and it is the best: {sure_words(result)}."
        )
    if kind == "best" and on:
        what = f"has the best mean{on}" if exactly else f"is within {result.epsilon:g} of the best mean{on}"
    elif kind == "best" or (kind == "top" and m == 1 and exactly):
        what = f"is the best{on}" if exactly else f"is within {result.epsilon:g} of the best{on}"
    elif kind == "top":
        what = f"are the {m} best{on}"
        if not exactly:
            each = "each have" if m > 1 else "has"
            what = f"{each} a mean within {result.epsilon:g} of the {ordinal(m)} best, or better{on}"
    elif problem.slack and not result.exact:
        what = f"is within {(problem.cheapest or 0.0) + problem.slack:g} of the best{on}, and no arm {near} is cheaper"
    else:
        what = f"is the cheapest {near}{on}"
    return f"{name} {what}{': ' if result.standing == 'proven' else ', '}{sure_words(result)}.{_tied(result)}"


def _tied(result: "Result") -> str:
    """The arms that are as good as the last one named, once a list has been evaluated to its end."""
    others = [label for label in result.contenders or () if label not in result.chosen]
    if not result.reason.endswith("tied") or not others:
        return ""
    last = "it" if len(result.chosen) == 1 else "the last of them"
    return f" {capital(names(others))} {be(len(others))} as good as {last}, up to rounding."


def _top_left(result: "Result") -> list[str]:
    """The arms that the m best are among: on a list all of them together, on fresh pulls each of them by itself.

    On fresh pulls with ε > 0 nothing is said: one of the m best may be left out for an arm that is close to it."""
    m, left, sure = result.problem.question.top, result.contenders, percent(1 - result.delta)
    further = where(result) if result.problem.target == "population" else ""
    if left is None or result.standing != "proven" or not m < len(left):
        return []
    if len(left) == len(result.labels):
        which = f"among the {m} best" if m > 1 else "the best"
        return [f"{every(len(left))} may still be {which}{further}."]
    if result.listed is None and result.epsilon > 0:
        return []
    if result.listed is None and m > 1:
        return [f"Each of the {m} best is among {names(left)}, {sure} for each."]
    best = f"{m} best{further} are" if m > 1 else f"best{further} is"
    return [f"The {best} among {names(left)}: all others are out, {sure}."]


def _each_arm(result: "Result") -> str:
    by_word: dict[str, list[Any]] = {}
    for label, word in zip(result.labels, verdict_words(result.problem, result.verdicts or ()), strict=False):
        by_word.setdefault(word, []).append(label)
    found = [word for word in ("above", "below", "better", "not better") if word in by_word]
    said = [f"{capital(_clause(result, word, by_word[word]))}." for word in found]
    if found:
        said.append(_all_right(result, "This" if len(found) == 1 else "All of this"))
    if by_word.get("open"):
        on = where(result) if result.problem.target == "population" else ""
        said.append(f"{capital(names(by_word['open']))} {be(len(by_word['open']))} open{on}.")
    return " ".join(said)


def _clause(result: "Result", word: str, labels: Sequence[Any]) -> str:
    """The arms with one verdict, and what it says of them."""
    problem, one, on = result.problem, len(labels) == 1, where(result)
    if problem.above is not None:
        slack = 0.0 if result.achieved_delta == 0 else {"above": -1, "below": 1}[word] * problem.epsilon
        by = f", up to {problem.epsilon:g}" if slack else ""
        side = "at or above" if word == "above" else word  # a mean on the bar counts as above it
        return f"{names(labels)} {'lies' if one else 'lie'} {side} {problem.above:g}{on}{by}"
    control = visible(problem.control)
    if word == "better":
        return f"{names(labels)} {be(len(labels))} better than {control}{on}"
    by = f" by more than {problem.margin:g}" if problem.margin and not result.reason.startswith("exact: all") else ""
    return f"{names(labels)} {be(len(labels))} not better than {control}{by}{on}"


def _all_right(result: "Result", this: str) -> str:
    if result.exact:
        return "This is exact."
    if result.standing != "proven":
        return f"So says {result.algorithm}, of which surest knows no proof."
    if result.problem.error == "fdr":
        which = "declared above" if 1 in (result.verdicts or ()) else "declared"
        return f"Of the arms {which}, at most {percent(result.delta)} are wrong in expectation."
    return f"{this} is right with probability at least {percent(1 - result.delta)}."


def sure_words(result: "Result") -> str:
    """How sure a verdict is."""
    if result.exact and "all scores known" in result.reason:
        return "this is exact, all scores are known"
    if result.exact and "missing" in result.reason:
        return "this is exact, whatever the missing scores are"
    if result.exact:
        return "this is exact, no other arm " + ("is better" if result.reason.endswith("tied") else "can catch up")
    if result.standing.startswith("yours"):
        return f"says {result.algorithm}, of which surest knows no proof (asked for error {result.delta:g})"
    if result.standing != "proven":
        return f"by a {result.standing} rule without a proof (asked for error {result.delta:g})"
    return f"wrong with probability at most {result.delta:g}"


def where(result: "Result") -> str:
    """What means are over: the items of a list, or further items like them; empty on fresh pulls."""
    if result.listed is None:
        return ""
    if result.problem.target == "population":
        return " on further items like these"
    count = len(result.listed.items)
    return f" on these {count:,} items" if count > 1 else " on this item"
