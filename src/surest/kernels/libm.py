"""Functions of C's <math.h>, for kernels that run as plain Python: they answer where those of `math` raise, as C does.

`libm.pxd` gives compiled kernels the functions of C itself.
"""

import math
from math import inf as inf  # part of what kernels know, as INFINITY is in C


def log(x: float) -> float:
    """The natural logarithm; −∞ at 0, and not a number below."""
    return math.log(x) if x > 0 else _at_end(x == 0)


def log1p(x: float) -> float:
    """log(1 + x); −∞ at −1, and not a number below."""
    return math.log1p(x) if x > -1 else _at_end(x == -1)


def log2(x: float) -> float:
    """The logarithm to base 2; −∞ at 0, and not a number below."""
    return math.log2(x) if x > 0 else _at_end(x == 0)


def exp(x: float) -> float:
    """e to the power of x; ∞ where that is too large for a number."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def sqrt(x: float) -> float:
    """The square root; not a number below 0."""
    return math.sqrt(x) if x >= 0 else math.nan


def _at_end(is_end: bool) -> float:
    return -math.inf if is_end else math.nan
