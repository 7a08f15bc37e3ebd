"""Instances with a name: the paper's, and the way a user writes one on a command line."""

import re
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import numpy.typing as npt

from surest.arms.finite import FiniteArms, bernoulli, finite_arms
from surest.arms.recorded import read_csv
from surest.core.protocol import FloatArray
from surest.errors import SourceError

FORMS = "example1:N, bernoulli:0.5,0.45,… (0.3x99 stands for 99 times 0.3), lower-bound:GAPS/VARIANCES, or a CSV file (arm,value)"

MOST_ARMS = 10_000_000  # maximum number of arms that fit into memory
WHOLE = "0*[1-9][0-9]{0,8}"


def example1(n: int) -> FiniteArms:
    """Example 1 of the paper: n Bernoulli arms of mean 1 − i/n, i = 1 … n. The last one always pays 0."""
    return bernoulli(1 - np.arange(1, n + 1) / n, _labels(n))


def lower_bound_instance(gaps: npt.ArrayLike, variances: npt.ArrayLike) -> FiniteArms:
    """The instance I of the lower bound's proof: arm i is 0.5 − Δ_i ± σ_i, each with probability a half (Δ_1 = 0).

    `gaps` are Δ_2 … Δ_n and `variances` σ_1² … σ_n² (one number serves all arms); all below 0.1.
    """
    delta = np.atleast_1d(np.asarray(gaps, float))
    squares = np.atleast_1d(np.asarray(variances, float))
    if squares.size not in (1, len(delta) + 1):
        raise SourceError(
            f"{len(delta)} gaps need {len(delta) + 1} variances (one for the best arm), got {squares.size}"
        )
    if not ((delta > 0) & (delta < 0.1)).all() or not ((squares >= 0) & (squares < 0.1)).all():
        raise SourceError(f"gaps {delta.tolist()} must lie in (0, 0.1) and variances {squares.tolist()} in [0, 0.1)")
    sigma = np.broadcast_to(np.sqrt(squares), (len(delta) + 1,))
    centres = 0.5 - np.append(0.0, delta)
    laws = [([m - s, m + s], [0.5, 0.5]) for m, s in zip(centres, sigma, strict=True)]
    return finite_arms(laws, _labels(len(laws)))


def parse_source(source: str, instance: str | None = None) -> FiniteArms:
    """The arms that a source names: see `FORMS`."""
    kind, colon, rest = source.partition(":")
    if colon and kind in KINDS:
        if instance is not None:
            raise SourceError(f"--instance {instance!r} applies to a CSV file; {source!r} is a single instance")
        return KINDS[kind](rest, source)
    if is_path(source):
        return read_csv(source, instance)
    if colon and "/" not in kind and "." not in kind:
        near = get_close_matches(kind, KINDS, 1)
        hint = f" (did you mean {near[0]}:…?)" if near else ""
        raise SourceError(f"{source!r} is not a source{hint}; allowed: {FORMS}")
    if "." in source.rpartition("/")[2].strip("."):
        raise SourceError(f"there is no file {source!r}; allowed: {FORMS}")
    raise SourceError(f"{source!r} is neither a file nor a source; allowed: {FORMS}")


def is_path(source: str) -> bool:
    """Whether there is such a file or folder."""
    try:
        return Path(source).exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _example1(rest: str, source: str) -> FiniteArms:
    if not re.fullmatch(WHOLE, rest) or int(rest) > MOST_ARMS:
        wanted = f"a whole number, 1 to {MOST_ARMS:,}, as in example1:100"
        raise SourceError(f"{source!r}: the number of arms must be {wanted}")
    return example1(int(rest))


def _bernoulli(rest: str, source: str) -> FiniteArms:
    means = _numbers(rest, source)
    return bernoulli(means, _labels(len(means)))


def _lower_bound(rest: str, source: str) -> FiniteArms:
    gaps, slash, variances = rest.partition("/")
    if not slash:
        raise SourceError(f"{source!r}: write gaps, a slash, variances, as in lower-bound:0.05,0.08/0.04,0.04,0.01")
    return lower_bound_instance(_numbers(gaps, source), _numbers(variances, source))


def _numbers(text: str, source: str) -> FloatArray:
    """A list of numbers, any of them with how often it comes: 0.5,0.3x99."""
    parts = [re.fullmatch(f"([^x]*)(?:x({WHOLE}))?", part) for part in text.split(",")]
    try:
        numbers, often = zip(*((float(part[1]), int(part[2] or 1)) for part in parts), strict=True)  # type: ignore[index]
    except (TypeError, ValueError):
        how = "a list of numbers such as 0.5,0.45 or 0.5,0.3x99 (99 times 0.3)"
        raise SourceError(f"{source!r}: {text!r} is not {how}") from None
    if sum(often) > MOST_ARMS:
        raise SourceError(f"{source!r} has {sum(often):,} numbers; at most {MOST_ARMS:,} arms fit into memory")
    return np.repeat(numbers, often)


def _labels(n: int) -> list[str]:
    return [str(i) for i in range(1, n + 1)]


KINDS = {"example1": _example1, "bernoulli": _bernoulli, "lower-bound": _lower_bound}
