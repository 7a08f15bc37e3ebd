"""A study at a glance, and its verdict, on a terminal."""

import math
from collections.abc import Mapping

from surest.cli.output import say_found, say_table, say_verdict, warn
from surest.cli.streams import say
from surest.report.terminal import progress_words
from surest.result.data import Result
from surest.result.questions import chosen_names, leading
from surest.result.words import health_line, spent_words, verdict
from surest.study.outcome import Progress
from surest.text import at_most, counted, guessed, number, ordinal, seconds_words


def show_verdict(found: Result, decision: Mapping[str, str] | None = None) -> None:
    """The verdict, what happened to evaluations, and how to check the decision that was written."""
    say_found(found)
    say(health_line(found.health or {}), wrap=True)
    if decision is not None:
        say(f"Check this yourself: {decision['check']}")


def show(progress: Progress, paused: bool = False) -> None:
    """A study at a glance."""
    found = progress.result
    if progress.finished:
        say_verdict(found)
    else:
        say(f"{'Paused' if paused else 'Running'}. {_so_far(found)}", wrap=True, bold=chosen_names(found))
    if paused and not progress.finished:
        say("No tickets are handed out until 'surest study resume'.", wrap=True)
    say(f"{progress_words(progress)}{spent_words(found).replace(',', ';', 1)}.", wrap=True)
    say(_how_sure(progress), wrap=True)
    say(_how_long(progress), wrap=True)
    warn(found)
    say("")
    say_table(str(found.arms))
    say(f"\n{health_line(progress.health)}", wrap=True)
    about = f"algorithm {found.algorithm} ({found.standing}), δ = {found.delta:g}, seed {found.seed}"
    say(about, wrap=True, dim=True)


def _so_far(found: Result) -> str:
    if found.pulls == 0:
        return "No arm leads yet: the algorithm's first request is not answered."
    return leading(found) if found.verdicts is None else verdict(found).partition("). ")[2]


def _how_sure(progress: Progress) -> str:
    found = progress.result
    if found.certified:
        return f"Certified at δ = {found.delta:g}."
    asked = found.problem.question
    if asked.each_arm:
        return f"Arms with a verdict: {sum(map(bool, found.verdicts or ())):,} of {asked.judged(len(found.labels)):,}."
    among = "be the best" if asked.top == 1 else f"be among the {asked.top} best"
    best = "the best" if asked.top == 1 else f"the {ordinal(asked.top)} best"
    arms, left = len(found.labels), progress.in_play or 0
    who = f"{'both' if arms == 2 else f'all {arms:,}'} arms" if left == arms else f"{left:,} of {arms:,} arms"
    in_play = f"; {who} may still {among}" if left else ""
    if found.achieved_delta is None:
        return f"{found.algorithm} does not say how sure this is before its end{in_play}."
    low, high = found.bounds
    if found.epsilon_certified is None:
        within = ""
    elif found.epsilon_certified < 0.99 * (high - low):
        within = f"; within {at_most(found.epsilon_certified)} of {best} at δ = {found.delta:g}"
    else:
        within = "; nothing is certified yet"
    return f"Error level so far {at_most(found.achieved_delta)}, {found.delta:g} wanted{within}{in_play}."


def _how_long(progress: Progress) -> str:
    if progress.finished:
        return "Nothing is left to evaluate."
    speed = f" ({number(progress.per_second)} rewards per second so far)" if progress.per_second else ""
    if progress.result.forecast is None:
        asked = f"{counted(progress.request_left, 'more reward')} {'is' if progress.request_left == 1 else 'are'} asked for now"
        return f"{asked}{speed}; how many a decision needs is not known yet."
    left = progress.seconds_left
    about = f": {guessed(left, seconds_words)}" if left is not None and math.isfinite(left) else ""
    return f"Perhaps {guessed(progress.result.forecast)} more rewards are needed{speed}{about}."
