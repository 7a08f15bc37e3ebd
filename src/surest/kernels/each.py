"""C's functions on each number of an array: NumPy's vector versions have other bits on some processors."""

import numpy as np

from surest.core.protocol import FloatArray
from surest.kernels import libm


def exp(x: FloatArray) -> FloatArray:
    """e to the power of each number.

    >>> exp(np.array([[0.0, -np.inf]]))
    array([[1., 0.]])
    """
    found = np.ascontiguousarray(x, dtype=np.float64).copy()
    fill_exp(found.reshape(-1))
    return found


def log(x: FloatArray) -> FloatArray:
    """The natural logarithm of each number."""
    found = np.ascontiguousarray(x, dtype=np.float64).copy()
    fill_log(found.reshape(-1))
    return found


def log1p(x: FloatArray) -> FloatArray:
    """log(1 + x) of each number."""
    found = np.ascontiguousarray(x, dtype=np.float64).copy()
    fill_log1p(found.reshape(-1))
    return found


def fill_exp(x: FloatArray) -> None:
    """The same, in place of the numbers."""
    for k in range(len(x)):
        x[k] = libm.exp(x[k])


def fill_log(x: FloatArray) -> None:
    """The same, in place of the numbers."""
    for k in range(len(x)):
        x[k] = libm.log(x[k])


def fill_log1p(x: FloatArray) -> None:
    """The same, in place of the numbers."""
    for k in range(len(x)):
        x[k] = libm.log1p(x[k])
