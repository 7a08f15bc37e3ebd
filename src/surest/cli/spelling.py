"""A command that there is not: which one was meant."""

from collections.abc import Collection
from difflib import get_close_matches

import click


def check_command(name: str, known: Collection[str], ctx: click.Context) -> None:
    """Refuse a name that is not a command's, with the nearest one, or all that there are."""
    if name in known or name.startswith("-"):
        return
    near = get_close_matches(name, known, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    raise click.UsageError(f"there is no command {name!r}; {hint}", ctx)
