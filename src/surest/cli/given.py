"""What several commands read from their command line, and how they write numbers back."""

import math
from typing import Any

import click

from surest.arms.instances import parse_source
from surest.cli.python_arms import is_python, load


def parse_arms(source: str, instance: str | None, bounds: tuple[float, float]) -> Any:
    """What a source names: simulated arms on [0, 1], or what Python code gives."""
    if not is_python(source):
        return parse_source(source, instance, bounds)
    if instance is not None:
        raise click.BadParameter(f"{instance!r} goes with a CSV file; {source!r} is Python", param_hint="--instance")
    return load(source)


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
        f"{text!r}: give the lowest and the highest possible reward, the lower first, as in 1,5", param_hint="--bounds"
    )


def whole_budget(budget: float | None) -> int | None:
    """A budget as a whole number of pulls."""
    if budget is None:
        return None
    if not 0 <= budget < math.inf:
        raise click.BadParameter(
            f"{budget} is no number of pulls; give one such as 100000 or 1e6", param_hint="--budget"
        )
    return int(budget)


def plain(value: Any) -> Any:
    """NaN and infinity as null, which JSON knows."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
