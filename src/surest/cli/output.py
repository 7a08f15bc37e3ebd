"""How commands print what they found: words and tables for people, one JSON object for programs."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from surest.cli import streams
from surest.cli.decision import write_decision
from surest.cli.reproduce import command_again
from surest.cli.values import plain
from surest.result.data import Result
from surest.result.words import after_verdict, cost, health_line, verdict


def print_json(data: Any) -> None:
    """One JSON document on one line."""
    streams.print_json(plain(data))


def show_result(
    result: Result,
    given: Mapping[str, Any],
    facts: Mapping[str, Any] = {},
    lines: Sequence[str] | None = None,
    *,
    suggestions: Sequence[Mapping[str, Any]] = (),
) -> None:
    """The verdict, what it cost and the leading arms; with ``--json`` all of it as data, `facts` included."""
    if given["picture"] is not None:
        from surest.report import plots

        plots.save(given["picture"], result, verdict(result))
    decision = write_decision(result, given["decision"])
    if given["as_json"]:
        facts = facts if decision is None else {**facts, "decision": decision}
        print_json({**result.to_json(), **facts, "command": command_again(click.get_current_context(), result.seed)})
        return
    from rich.text import Text

    from surest.cli.console import Output
    from surest.report.terminal import arm_table, emphasised, next_table

    console = Output(highlight=False)
    console.print(emphasised(result))
    for line in after_verdict(result):
        if "rows" not in facts or line != cost(result):
            console.print(Text(line))
    for warning in result.warnings:
        console.print(Text(f"Warning: {warning}", style="yellow"))
    for line in lines or ():
        console.print(Text(line))
    if suggestions:
        console.print(next_table(suggestions, len(result.wanted)))
    console.print()
    console.print(arm_table(result.arms))
    if result.health is not None:
        console.print(Text(f"\n{health_line(result.health)}"))
    console.print(Text(f"\nalgorithm {result.algorithm} ({result.standing}), seed {result.seed}", style="dim"))
    if decision is not None:
        console.print(Text(f"\nCheck this yourself: {decision['check']}"), soft_wrap=True)
