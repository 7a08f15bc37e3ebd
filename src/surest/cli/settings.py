"""The settings of a problem as options of a command: made from the fields of `surest.core.problem.Problem`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from surest.cli.options import option_option, parse_options
from surest.cli.values import check_bounds, parse_bounds, whole_budget
from surest.core.problem import ALGORITHMS, DEFAULTS, ITEMS_ONLY, SETTINGS, TARGETS
from surest.core.question import ERRORS

Command = Callable[..., Any]
PARSERS: dict[str, Callable[[Any], Any]] = {"bounds": parse_bounds, "budget": whole_budget}
"""How a text or number on the command line becomes a setting, where click does not know."""
TYPES: dict[str, Any] = {
    "budget": float,
    "bounds": str,
    "target": click.Choice(TARGETS),
    "error": click.Choice(ERRORS),
    "top": int,
    "above": float,
    "control": str,
}
"""What click reads, where the default does not tell."""


def problem_options(command: Command) -> Command:
    """Give a command an option for each setting of a problem, and ``--option`` for the algorithm's own."""
    return _with_options(command, [name for name in SETTINGS if name not in ITEMS_ONLY])


def item_problem_options(command: Command) -> Command:
    """The same for a command that works on a list of items."""
    return _with_options(command, [name for name in SETTINGS if name != "repeats"], ALGORITHMS["best"][True])


def _with_options(command: Command, names: Sequence[str], algorithm: str = DEFAULTS["algorithm"]) -> Command:
    command = option_option(command)
    for name in reversed(names):
        meta = SETTINGS[name]
        default = algorithm if name == "algorithm" else DEFAULTS[name]
        flag = isinstance(default, bool)
        shown = "0,1" if name == "bounds" else default if name != "seed" and not flag and default != "" else None
        command = click.option(
            f"--{name}",
            metavar=None if flag else (meta.extra or {})["metavar"],
            help=f"{meta.description}{f'  [default: {shown}]' if shown is not None else ''}",
            callback=check_bounds if name == "bounds" else None,
            **({"is_flag": True} if flag else {"type": TYPES.get(name, type(default))}),
        )(command)
    return command


def settings_given(params: dict[str, Any]) -> dict[str, Any]:
    """Take the settings out of a command's parameters: those that were given, the algorithm's options among them."""
    given = {name: params.pop(name, None) for name in SETTINGS}
    options = parse_options(params.pop("options"))
    found = {
        name: PARSERS.get(name, _same)(value)
        for name, value in given.items()
        if value is not None and value is not False
    }
    clash = next((name for name in options if name in SETTINGS), None)
    if clash is not None:
        raise click.UsageError(f"--option {clash}=… is a setting of its own; write --{clash}")
    return {**found, **options}


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with an algorithm's options apart, as a study takes them."""
    own = {name: value for name, value in settings.items() if name in SETTINGS}
    return {**own, "options": {name: value for name, value in settings.items() if name not in SETTINGS}}


def _same(value: Any) -> Any:
    return value
