"""What to say of other questions than "which is the best?": the m best, above a bar, better than a control."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from surest.core.duels import DUELS
from surest.core.problem import Problem
from surest.text import at_most, capital, ordinal, percent, visible

if TYPE_CHECKING:
    from surest.result.data import Result

NAMED = 5
"""Arms that a sentence names."""
WORDS = {"above": {1: "above", -1: "below", 0: "open"}, "control": {1: "better", -1: "not better", 0: "open"}}
"""What a verdict is called, by question."""


def verdict_words(problem: Problem, verdicts: Sequence[int]) -> tuple[str, ...]:
    """Each arm's verdict in a word.

    >>> from surest.core.problem import problem_of
    >>> verdict_words(problem_of(["old", "a", "b"], control="old"), (0, 1, -1))
    ('control', 'better', 'not better')
    """
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


def names(labels: Sequence[Any], noun: str = "arm") -> str:
    """Arms in a sentence: their names, or how many they are.

    >>> names(["a"]), names(["a", "b", "c"]), names(range(9))
    ('arm a', 'arms a, b and c', '9 arms')
    """
    texts = [visible(str(label)) for label in labels]
    if len(texts) > NAMED:
        return f"{len(texts):,} {noun}s"
    return f"{noun}{'s' if len(texts) > 1 else ''} {listed_words(texts)}"


def listed_words(texts: Sequence[str], last: str = "and") -> str:
    """Words in a row.

    >>> listed_words(["a"]), listed_words(["a", "b", "c"]), listed_words(["a", "b"], "or")
    ('a', 'a, b and c', 'a or b')
    """
    return f" {last} ".join(filter(None, [", ".join(texts[:-1]), *texts[-1:]]))


def chosen_names(result: "Result") -> str:
    """The chosen arms at the start of a sentence.

    They are what a terminal emphasises."""
    return capital(names(result.chosen))


def leading(result: "Result") -> str:
    """Who leads while nothing is decided: of arms with the same mean none does.

    The answer so far rests on more than means. Where another arm has a higher mean, the sentence says so.
    """
    name, several, lead = chosen_names(result), len(result.chosen) > 1, result.lead
    if result.achieved_delta == 0 or lead is None or not lead.difference <= 0:
        return f"{name} {'lead' if several else 'leads'} so far."
    if lead.difference == 0 and not several:
        return "No arm leads so far."
    mean = "the same" if lead.difference == 0 else "a lower" if result.minimise else "a higher"
    last = f" {'as' if lead.difference == 0 else 'than'} {visible(str(lead.arm))}" if several else ""
    return f"{name} {_are(len(result.chosen))} the answer so far, although {visible(str(lead.over))} has {mean} mean{last}."


def question_verdict(result: "Result", whole: bool = True) -> str:
    """The answer to another question than for the best arm; not `whole`: only what is certified."""
    kind = result.problem.question.kind
    if result.certified and kind in ("top", "cheapest"):
        return decided(result)
    if kind in ("top", "cheapest"):
        so_far = _top_so_far if kind == "top" else _cheapest_so_far
        said = " ".join([*(so_far(result) if whole else []), *_top_contenders(result)])
    else:
        said = _each_arm(result)
    return said if result.certified or not whole else f"Not decided ({result.reason}). {said}"


def _top_so_far(result: "Result") -> list[str]:
    level = None if result.achieved_delta is None else at_most(result.achieved_delta)
    if level in (None, "1"):
        return [leading(result)]
    near = f"within {result.epsilon:g} of the best" if result.epsilon > 0 else "the best"
    what = "This set" if len(result.chosen) > 1 else f"Calling it {near}"
    return [leading(result), f"{what} has error level {level} so far; {result.delta:g} was asked for."]


def _cheapest_so_far(result: "Result") -> list[str]:
    near, left = f"within {result.problem.cheapest:g} of the best{where(result)}", result.contenders or ()
    few = [f"{capital(names(left))} may be {near}."] if left else []
    return [f"{chosen_names(result)} would be named so far.", *few]


def decided(result: "Result") -> str:
    """The answer to a question that names arms: which, what they are, and how sure that is."""
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
    """Which arms are as good as the last one named, where a list has been seen to its end."""
    others = [label for label in result.contenders or () if label not in result.chosen]
    if not result.reason.endswith("tied") or not others:
        return ""
    last = "it" if len(result.chosen) == 1 else "the last of them"
    return f" {capital(names(others))} {_are(len(others))} as good as {last}, up to rounding."


def _top_contenders(result: "Result") -> list[str]:
    """Among which arms the m best are. On a list this holds for all of them together, else for each of them by itself.

    With fresh pulls and ε > 0 an arm that is left out may be one of the m best, if it is replaced by one that is close to it."""
    if result.problem.question.kind != "top":
        return []
    m, left, sure = result.problem.question.top, result.contenders, percent(1 - result.delta)
    further = where(result) if result.problem.target == "population" else ""
    if left is None or result.standing != "proven" or not m < len(left):
        return []
    if len(left) == len(result.labels):
        which = f"among the {m} best" if m > 1 else "the best"
        return [f"{'Both' if len(left) == 2 else f'All {len(left):,}'} arms may still be {which}{further}."]
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
    told = [
        _told(result, word, by_word[word]) for word in ("above", "below", "better", "not better") if word in by_word
    ]
    said = [f"{capital(text)}." for text in told]
    if told:
        said.append(_all_right(result, "This" if len(told) == 1 else "All of this"))
    if by_word.get("open"):
        on = where(result) if result.problem.target == "population" else ""
        said.append(f"{capital(names(by_word['open']))} {_are(len(by_word['open']))} open{on}.")
    return " ".join(said)


def _told(result: "Result", word: str, labels: Sequence[Any]) -> str:
    """One clause: which arms have this verdict, and what it says of them."""
    problem, one, on = result.problem, len(labels) == 1, where(result)
    if problem.above is not None:
        slack = 0.0 if result.achieved_delta == 0 else {"above": -1, "below": 1}[word] * problem.epsilon
        by = f", up to {problem.epsilon:g}" if slack else ""
        side = "at or above" if word == "above" else word  # a mean on the bar counts as above it
        return f"{names(labels)} {'lies' if one else 'lie'} {side} {problem.above:g}{on}{by}"
    control = visible(str(problem.control))
    if word == "better":
        return f"{names(labels)} {_are(len(labels))} better than {control}{on}"
    by = f" by more than {problem.margin:g}" if problem.margin and not result.reason.startswith("exact: all") else ""
    return f"{names(labels)} {_are(len(labels))} not better than {control}{by}{on}"


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
    """What means are about: the items of a list, what they are a sample of, or, for fresh pulls, nothing to be said."""
    if result.listed is None:
        return ""
    if result.problem.target == "population":
        return " on further items like these"
    count = len(result.listed.items)
    return f" on these {count:,} items" if count > 1 else " on this item"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
