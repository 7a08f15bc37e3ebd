"""``--option NAME=VALUE``, an algorithm's own options on the command line, and the names of a file's columns."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from surest.algorithms.options import check_options
from surest.errors import UsageError
from surest.search.loading import entry_of

option_option = click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the algorithm's own, such as reserve=0.1; 'surest algorithms' lists them. Repeat for each.",
)


def columns_given(params: Mapping[str, Any]) -> dict[str, str]:
    """Take a file's own names of its columns out of a command's parameters: ``--arm-column`` and its like.

    >>> columns_given({"arm_column": "variant", "value_column": None, "source": "log.csv"})
    {'arm': 'variant'}
    """
    named = {name.removesuffix("_column"): value for name, value in params.items() if name.endswith("_column")}
    return {name: value for name, value in named.items() if value is not None}


def options_given(algorithm: str, texts: Sequence[str]) -> dict[str, Any]:
    """Options of an algorithm, refused where it has no such option."""
    options = parse_options(texts)
    known = entry_of(algorithm).options
    if known is not None:
        check_options(algorithm, known, options)
    return options


def parse_options(texts: Sequence[str]) -> dict[str, Any]:
    """Options from a command line: values that are JSON are read as such, others are text.

    >>> parse_options(["reserve=0.1", "batch=16", "mode=quick"])
    {'reserve': 0.1, 'batch': 16, 'mode': 'quick'}
    """
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
