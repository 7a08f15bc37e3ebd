"""What commands read from their command line, and how they write numbers back."""

import math
from typing import Any

import click


def parse_bounds(text: str | None) -> tuple[float, float]:
    """The range of the rewards.

    >>> parse_bounds("-1,5")
    (-1.0, 5.0)
    """
    if text is None:
        return 0.0, 1.0
    try:
        low, high = map(float, text.split(","))
        if low < high and math.isfinite(high - low):
            return low, high
    except ValueError:
        pass
    raise click.BadParameter(
        f"{text!r}: give the lowest and the highest possible reward, the lower first, with a comma between them, as in 1,5",
        param_hint="--bounds",
    )


def check_bounds(context: click.Context, option: click.Parameter, text: str | None) -> str | None:
    """Refuse ``--bounds 0 5`` while the option is read: else the 5 alone is found to be too much."""
    parse_bounds(text)
    return text


def whole_budget(budget: float | None) -> int | None:
    """A budget as a whole number of pulls."""
    if budget is None:
        return None
    if not 0 <= budget < math.inf or budget != int(budget):
        raise click.BadParameter(
            f"{budget} is not a number of evaluations; give one such as 100000 or 1e6", param_hint="--budget"
        )
    return int(budget)


def plain(value: Any) -> Any:
    """NaN and infinity as null, which JSON knows."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
