"""Short decimal numbers, many at a time: eight digits are read as one 64-bit word.

A number such as 0.125 is the whole number 125 over a power of ten. With at most 15 digits both are exact, and one division
rounds correctly: the result is what ``float`` gives, several times as fast.
"""

import numpy as np
import numpy.typing as npt

from surest.core.protocol import FloatArray, IntArray

Letters = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
POINT = ord(".")
WORD = 8
"""Digits of a word."""
MOST_DIGITS = 15
"""Whole numbers of so many digits are exact as floats."""
LAST = np.array([2**64 - 2 ** (8 * (WORD - count)) for count in range(WORD + 1)], np.uint64)
"""Masks of the last 0, 1, …, 8 letters of a word."""
POWERS = np.array([float(10**k) for k in range(WORD + 1)])
ZEROS, HIGH, SIX = (np.uint64(byte * 0x0101010101010101) for byte in (0x30, 0xF0, 0x06))


def short_decimals(letters: Letters, first: IntArray, end: IntArray) -> FloatArray | None:
    """The numbers at ``letters[first:end]``, field by field; None unless all are digits with at most one point among them.

    >>> text = np.frombuffer(b"1,0.25,30", np.uint8)
    >>> short_decimals(text, np.array([0, 2, 7]), np.array([1, 6, 9]))
    array([ 1.  ,  0.25, 30.  ])
    """
    points = np.flatnonzero(letters == POINT)
    field = np.searchsorted(first, points, "right") - 1
    inside = (field >= 0) & (points < end[field])
    field, points = field[inside], points[inside]
    if (np.diff(field) == 0).any():
        return None
    point = end.copy()
    point[field] = points
    whole, part = point - first, np.maximum(end - point - 1, 0)
    if max(whole.max(), part.max()) > WORD or (whole + part).max() > MOST_DIGITS or (whole + part).min() < 1:
        return None
    words = _words(letters)
    front, good = _digits(words[point], whole)
    back, also = _digits(words[end], part)
    if not (good and also):
        return None
    power = POWERS[part]
    number: FloatArray = (front * power + back) / power
    return number


def short_texts(letters: Letters, first: IntArray, end: IntArray) -> Words | None:
    """A number for each text at ``letters[first:end]``, equal where the texts are; None unless all have at most 8 letters.

    >>> text = np.frombuffer(b"ab,c,ab", np.uint8)
    >>> one, two, three = short_texts(text, np.array([0, 3, 5]), np.array([2, 4, 7])).tolist()
    >>> one == three, one == two
    (True, False)
    """
    count = end - first
    if count.max() > WORD or not letters.all():  # a NUL would look like no letter
        return None
    found: Words = _words(letters)[end] & LAST[count]
    return found


def _words(letters: Letters) -> Words:
    """The eight letters before each place, as one number; zeros stand before the first."""
    padded = np.concatenate([np.full(WORD, ord("0"), np.uint8), letters])
    return np.ndarray((len(letters) + 1,), "<u8", padded, strides=(1,))


def _digits(words: Words, count: IntArray) -> tuple[FloatArray, bool]:
    """The numbers that the last `count` letters of each word write, and whether all these are digits."""
    kept = LAST[count]
    words = (words & kept) | (ZEROS & np.invert(kept))
    digits = bool((((words & HIGH) == ZEROS) & (((words + SIX) & HIGH) == ZEROS)).all())
    words = words - ZEROS
    words = (words * np.uint64(10) + (words >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    words = (words * np.uint64(100) + (words >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    words = (words * np.uint64(10000) + (words >> np.uint64(32))) & np.uint64(0xFFFFFFFF)
    return words.astype(float), digits
