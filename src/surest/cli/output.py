"""How commands print what they found: words and tables for people, one JSON object for programs."""

from collections.abc import Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from surest.cli import SIGNALLED, stopped_by
from surest.cli.settings import Given, refuse, settings_given, write_decision
from surest.cli.streams import print_json, say
from surest.core.problem import DEFAULTS, default_algorithm
from surest.core.scale import Scale, checked_scale
from surest.result.data import Result
from surest.result.duels import wins_note
from surest.result.questions import chosen_names
from surest.result.table import aligned
from surest.result.words import after_verdict, cost, health_line, verdict
from surest.text import count, shell_line, visible


def shows_history(given: Given) -> bool:
    """Whether evidence over time is to be kept: for what is drawn, and for programs."""
    return bool(given["as_json"] or given["picture"] or given["page"])


def asked(given: dict[str, Any], **more: Any) -> tuple[dict[str, Any], Scale]:
    """Take the settings out of a command's parameters, and the range of the rewards; `more` says what is asked besides.

    A decision that nobody can check is refused before any work is done.
    """
    if given["study"] is None:
        refuse("this", "storage", only="--study NAME")
    settings = settings_given(given)
    if given["decision"] is not None:
        from surest.decision.write import check_algorithm

        check_algorithm({**more, **settings}.get("algorithm") or default_algorithm({**more, **settings}))
    bounds, minimise = settings.get("bounds", DEFAULTS["bounds"]), settings.get("minimise", False)
    return settings, checked_scale(bounds, minimise, given["clip"])


def show_result(
    result: Result, given: Given, facts: Mapping[str, Any] = {}, lines: Sequence[str] = (), *,
    suggestions: Sequence[Mapping[str, Any]] = (),
) -> int:  # fmt: skip
    """The verdict, what it cost and the leading arms; with ``--json`` all of it as data, `facts` included.

    Returns the exit status: 0 decided, 130 or 143 stopped by a signal, as shells have it, 3 not decided otherwise.
    """
    ended_by = stopped_by()
    undecided = 3 if ended_by is None or result.reason != "interrupted" else SIGNALLED + ended_by
    status = 0 if result.certified else undecided
    if given["picture"] is not None:
        from surest.report import plots

        plots.save(given["picture"], result, verdict(result))
    again = command_again(click.get_current_context(), result.seed)
    if given["page"] is not None:
        from surest.report.page import Report
        from surest.report.report import write_report

        write_report(Report(result, commands={"Run it again": again}), given["page"])
    decision = write_decision(result, given["decision"])
    if given["as_json"]:
        facts = facts if decision is None else {**facts, "decision": decision}
        print_json({**result.to_dict(), **facts, "command": again})
        return status
    say_found(result, but=cost(result) if "rows" in facts else "")
    for line in lines:
        say(line, wrap=True)
    if suggestions:
        rows = [[visible(suggestion["arm"]), count(suggestion["times"])] for suggestion in suggestions]
        more = [f"… {len(result.wanted) - len(rows):,} more"] if len(result.wanted) > len(rows) else []
        say_table("\n".join([*aligned([["run next", "times"], *rows], right={"times"}), *more]))
    say("")
    say_table(str(result.arms))
    if result.duels is not None and result.pulls:
        from surest.cli.console import Output
        from surest.report.live import wins_table

        say("")
        Output().print(wins_table(result))
        say(wins_note(result), wrap=True, dim=True)
    if result.health is not None:
        say(f"\n{health_line(result.health)}", wrap=True)
    say(f"\nalgorithm {result.algorithm} ({result.standing}), seed {result.seed}", wrap=True, dim=True)
    if given["page"] is not None:
        say(f"\nOpen {given['page']} to look at it.")
    if decision is not None:
        say(f"\nCheck this yourself: {decision['check']}")
    return status


def say_verdict(result: Result) -> None:
    """The verdict, with the arms in bold and a missing guarantee in yellow."""
    say(verdict(result), wrap=True, bold=chosen_names(result), fg=None if result.certified else "yellow")


def say_found(result: Result, but: str = "") -> None:
    """The verdict, and what follows it."""
    say_verdict(result)
    for line in after_verdict(result):
        if line != but:
            say(line, wrap=True)
    warn(result)


def say_table(text: str) -> None:
    """A table, its head in bold."""
    say(text, bold=text.partition("\n")[0])


LEFT_OUT = ("as_json", "quiet", "picture", "page", "decision", "study", "storage", "follow")
"""Options that say how a result is shown, and where a search is kept."""


def command_again(context: click.Context, seed: int | None, **more: str) -> str:
    """What was given on the command line, with the seed that was used, and more options.

    >>> @click.command("identify")
    ... @click.argument("source")
    ... @click.option("--arm", multiple=True)
    ... @click.option("-r", "--runs")
    ... @click.option("--csv", "form", flag_value="csv")
    ... def identify(**given):
    ...     print(command_again(click.get_current_context(), 7))
    >>> identify.main(["my file.csv", "--arm", "a", "--arm", "b", "-r", "8", "--csv"], standalone_mode=False)
    surest identify 'my file.csv' --arm=a --arm=b --runs=8 --csv --seed=7
    """
    words = ["surest", str(context.command.name)]
    for parameter in context.command.params:
        name, value = str(parameter.name), context.params.get(str(parameter.name))
        if name in LEFT_OUT or context.get_parameter_source(name) in (None, ParameterSource.DEFAULT):
            continue
        values = value if isinstance(value, tuple) else (value,)
        if isinstance(parameter, click.Argument):
            words += map(str, values)
        elif isinstance(parameter, click.Option) and parameter.is_flag:
            # Several flags may set one value.
            chosen = bool(value) if parameter.is_bool_flag else value == parameter.flag_value
            words += [parameter.opts[0]] * chosen
        elif name != "seed":
            # Not -r=8: that is the value '=8'.
            option = next((o for o in parameter.opts if o.startswith("--")), parameter.opts[0])
            words += [f"{option}={one}" for one in values]
    if seed is not None:
        words.append(f"--seed={seed}")
    words += [f"--{name}={value}" for name, value in more.items()]
    return shell_line(words)


def warn(found: Any) -> None:
    """What to tell the user beyond the verdict."""
    for warning in found.warnings:
        say(f"Warning: {warning}", wrap=True, fg="yellow")
