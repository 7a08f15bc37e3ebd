"""The settings of a problem as options of a command: made from the fields of `surest.core.problem.Problem`."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import click
from click.core import ParameterSource

from surest.core.costs import parse_costs
from surest.core.problem import DEFAULTS, ITEMS_ONLY, PLAIN_KINDS, SETTINGS, TARGETS
from surest.core.question import ERRORS
from surest.errors import UsageError
from surest.text import shell_line
from surest.writing import check_place

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]
Given = Mapping[str, Any]  # the parameters of a command, by name
VALUES: dict[str, Any] = {
    **dict.fromkeys(("K", "N"), click.IntRange(1)),
    **dict.fromkeys(("SEED", "[SEED]"), int),
    **dict.fromkeys(("D", "P", "S", "T", "X", "SECONDS"), float),
}
"""What click reads where a value is written so; others are text."""


def option(written: str, what: str, *, writes: str = "", **how: Any) -> Decorator:
    """An option of a command: its names and its value, as help shows them, and what it says.

    ``--suggest K`` takes a value of the kind in `VALUES`, ``--arm labels NAME...`` may be repeated, ``--quiet`` is a flag. A file
    that the command `writes` (a file, a report or a picture) is refused where it cannot be: before any work is done.
    """

    def check(context: click.Context, option: click.Parameter, path: Any) -> Any:
        if path is not None and writes == "picture":
            import_module("surest.report.plots").checked_path(path)
        elif path is not None:
            check_place(path, writes)
        return path

    *names, value = written.split()
    how = {"callback": check, **how} if writes else how
    if value.startswith("-") or value.islower():
        names.append(value)
        how = how if {"type", "default"} & how.keys() else {"is_flag": True, **how}
    else:
        metavar = value.removesuffix("...")
        how = {"metavar": metavar, "type": VALUES.get(metavar), "multiple": metavar != value, **how}
    return click.option(*names, help=what, **how)


def parse_bounds(text: str) -> tuple[float, float]:
    """The range of the rewards."""
    with suppress(ValueError):
        low, high = map(float, text.split(","))
        if low < high and math.isfinite(high - low):
            return low, high
    raise click.BadParameter(
        f"{text!r}: give the lowest and the highest possible reward, the lower first, with a comma between them, as in 1,5",
        param_hint="--bounds",
    )


def check_bounds(context: click.Context, option: click.Parameter, text: str | None) -> str | None:
    """Refuse ``--bounds 0 5`` while the option is read: else the 5 alone is found to be too much."""
    if text is not None:
        parse_bounds(text)
    return text


json_option = option("--json as_json", "Print one JSON object.")
option_option = option(
    "--option options NAME=VALUE...",
    "An option of the algorithm's own, such as reserve=0.1; 'surest algorithms' lists them. Repeat for each.",
)
decision_option = option(
    "--decision FILE", "Write the verdict and its evidence, for surest-verify: .jsonl or .jsonl.gz.", writes="file"
)
STORED = "Storage of the study.  [default: sqlite:///surest.db]"
storage_option = option("--storage URL", STORED, envvar="SUREST_STORAGE")


def column_options(*names: str) -> Decorator:
    """What a table calls its columns: ``--arm-column`` and its like."""
    what = {"arm": "names the arm", "item": "names the item", "value": "holds the value"}
    return several(*(
        option(f"--{name}-column NAME", f"The column of a table that {what[name]}.  [default: {name}]") for name in names
    ))  # fmt: skip


def several(*options: Decorator) -> Decorator:
    """Several options as one decorator."""

    def decorated(command: Function) -> Function:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


OF_COMMANDS = ("workers", "timeout", "retries", "on_failure")
"""Options for arms that are commands, which nothing else heeds."""
search_options = several(
    option("--clip", "Count a number outside the bounds as the nearer bound."),
    option("--workers K", "Maximum number of commands at a time.  [default: 1]"),
    option("--timeout S", "Seconds after which a command is stopped and counts as failed."),
    option("--retries K", "Retries of a failed command.  [default: 3]", type=click.IntRange(0)),
    option("--on-failure X", "The number recorded after the last retry."),
    option("--study NAME", "Keep the rewards in a study; continue it if it exists."),
    storage_option,
    option("--plot picture FILE", "Draw the result: .png, .svg or .pdf.", writes="picture"),
    option("--report page FILE", "Write a report on the result: .html, .md or .json.", writes="report"),
    decision_option,
    json_option,
    option("--quiet", "Show no progress."),
)
"""How a search is run, kept and shown."""


def refuse(what: str, *names: str, only: str = "") -> None:
    """Refuse options of this command that were given and conflict with `what`, or need what they are for `only`."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        if name in names and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            is_option = isinstance(parameter, click.Option)
            shown = parameter.opts[0] if is_option else parameter.make_metavar(context).strip("[]")
            raise click.UsageError(f"{shown} needs {only}" if only else f"{shown} conflicts with {what}")


def columns_given(params: Mapping[str, Any]) -> dict[str, str]:
    """Take a file's own names of its columns out of a command's parameters: ``--arm-column`` and its like."""
    named = {name.removesuffix("_column"): value for name, value in params.items() if name.endswith("_column")}
    return {name: value for name, value in named.items() if value is not None}


def write_decision(result: Any, path: str | None) -> dict[str, str] | None:
    """Write the decision that was asked for: where it is, the hash by which it is known, and the command that checks it."""
    if path is None:
        return None
    known_by = result.write_decision(path)
    return {"file": path, "hash": known_by, "check": shell_line(["surest-verify", path, "--hash", known_by])}


def parse_options(texts: Sequence[str]) -> dict[str, Any]:
    """Options from a command line: values that are JSON are read as such, others are text."""
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--option {text!r}: write NAME=VALUE, as in reserve=0.1")
        if name in options:
            raise UsageError(f"--option {name} is given twice")
        try:
            options[name] = json.loads(value)
        except (ValueError, RecursionError):
            options[name] = value
    return options


PARSERS: dict[str, Callable[[Any], Any]] = {
    "bounds": parse_bounds,
    "budget": lambda given: int(given) if given.is_integer() else given,  # 1e6 is a whole number, too
    "cost": parse_costs,
}
"""How a text or number on the command line becomes a setting, where click does not know."""
TYPES: dict[str, Any] = {
    **PLAIN_KINDS,
    "delta": float,
    "budget": float,
    "target": click.Choice(TARGETS),
    "error": click.Choice(ERRORS),
}
"""What click reads; a text for other settings."""


def problem_options(*names: str, algorithm: str = DEFAULTS["algorithm"], own: bool = True) -> Decorator:
    """An option for each of these settings of a problem and, unless told otherwise, ``--option`` for the algorithm's own."""

    def setting(name: str) -> Decorator:
        meta, default = SETTINGS[name], algorithm if name == "algorithm" else DEFAULTS[name]
        shown = "0,1" if name == "bounds" else None if name == "seed" or default is False else default
        value = (meta.extra or {})["metavar"]
        how = {"type": TYPES.get(name, str), "callback": check_bounds if name == "bounds" else None} if value else {}
        help_ = f"{meta.description}{'' if shown in (None, '') else f'  [default: {shown}]'}"
        return option(f"--{name.replace('_', '-')} {value}", help_, **how)

    return several(*map(setting, names), *[option_option] * own)


FRESH = tuple(name for name in SETTINGS if name not in ITEMS_ONLY)
"""Settings of searches that are not on a list of items."""


def settings_given(params: dict[str, Any]) -> dict[str, Any]:
    """Take the settings out of a command's parameters: those that were given, the algorithm's options among them."""
    given = {name: params.pop(name, None) for name in SETTINGS}
    options = parse_options(params.pop("options", ()))
    clash = next((name for name in options if name in SETTINGS), None)
    if clash is not None:
        raise click.UsageError(f"--option {clash}=… is a setting of its own; write --{clash.replace('_', '-')}")
    found = {name: value for name, value in given.items() if value is not None and value is not False and value != ()}
    return {**{name: PARSERS[name](value) if name in PARSERS else value for name, value in found.items()}, **options}


def fraction(text: str) -> float:
    """A fraction, or a percentage."""
    number, percent, rest = text.partition("%")
    with suppress(ValueError):
        if not rest.strip():
            return float(number) / (100 if percent else 1)
    raise click.BadParameter(f"{text!r} is not a fraction; write 2% or 0.02")
