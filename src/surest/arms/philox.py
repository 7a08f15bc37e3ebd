"""NumPy's Philox generator and its binomial, for many arms at once: the same bits as a `Generator` an arm, without its overhead.

`easy` says which requests of arms these kernels answer: those of few draws, which is what many arms are asked for. The
others take NumPy's own functions.
"""

import math

import numpy as np
import numpy.typing as npt

from surest.compiled import compiled
from surest.core.protocol import BoolArray, FloatArray, IntArray

Words = npt.NDArray[np.uint64]

FEW = 16
"""So many draws are sorted into an arm's values here, one by one."""
INVERSION = 30.0
"""Up to this mean NumPy draws binomial numbers by inversion."""

ZERO, ONE, HALF_WORD, ELEVEN = np.uint64(0), np.uint64(1), np.uint64(32), np.uint64(11)
LOW = np.uint64(0xFFFFFFFF)
MULTIPLY_0, MULTIPLY_2 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
ADD_0, ADD_1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
UNIT = 2.0**-53


def easy(times: IntArray, sizes: IntArray, probabilities: FloatArray) -> BoolArray:
    """Whether `draw_atoms` answers for arms: from their pulls, numbers of atoms, and the probability of the second atom."""
    rare = np.minimum(probabilities, 1 - probabilities)
    answered: BoolArray = (
        (sizes == 1)
        | ((times < sizes) & (times <= FEW))
        | ((sizes == 2) & (times >= sizes) & (times * rare <= INVERSION))
    )
    return answered


@compiled
def _high(a: np.uint64, b: np.uint64) -> np.uint64:
    """The upper half of a product of two words."""
    a_low, a_high, b_low, b_high = a & LOW, a >> HALF_WORD, b & LOW, b >> HALF_WORD
    middle = a_high * b_low + ((a_low * b_low) >> HALF_WORD)
    other = a_low * b_high + (middle & LOW)
    return a_high * b_high + (middle >> HALF_WORD) + (other >> HALF_WORD)


@compiled
def fill(block: Words, key_0: np.uint64, key_1: np.uint64, low: np.uint64, high: np.uint64) -> None:
    """The four words of the block with counter (low, 0, 0, high): Philox 4x64 with ten rounds."""
    c0, c1, c2, c3 = low, ZERO, ZERO, high
    for _ in range(10):
        high_0, low_0 = _high(MULTIPLY_0, c0), MULTIPLY_0 * c0
        high_2, low_2 = _high(MULTIPLY_2, c2), MULTIPLY_2 * c2
        c0, c1, c2, c3 = high_2 ^ c1 ^ key_0, low_2, high_0 ^ c3 ^ key_1, low_0
        key_0, key_1 = key_0 + ADD_0, key_1 + ADD_1
    block[0], block[1], block[2], block[3] = c0, c1, c2, c3


@compiled
def _uniform(block: Words, draw: int, key_0: np.uint64, key_1: np.uint64, high: np.uint64) -> float:
    """Number `draw` of a request, as `Generator.random` has it. They are asked for in order."""
    if draw % 4 == 0:
        fill(block, key_0, key_1, np.uint64(draw // 4 + 1), high)
    return float(block[draw % 4] >> ELEVEN) * UNIT


@compiled
def _binomial(block: Words, times: int, p: float, key_0: np.uint64, key_1: np.uint64, high: np.uint64) -> int:
    """As `Generator.binomial` has it, where it inverts: p ≤ ½ and times·p ≤ `INVERSION`."""
    q = 1.0 - p
    first = math.exp(times * math.log(q))
    mean = times * p
    most = min(float(times), mean + 10.0 * math.sqrt(mean * q + 1.0))
    found, part, draw = 0, first, 1
    u = _uniform(block, 0, key_0, key_1, high)
    while u > part:
        found += 1
        if found > most:
            found, part = 0, first
            u = _uniform(block, draw, key_0, key_1, high)
            draw += 1
        else:
            u -= part
            part = ((times - found + 1) * p * part) / (found * q)
    return found


@compiled
def draw_atoms(
    keys: Words,
    requests: Words,
    times: IntArray,
    laws: tuple[IntArray, IntArray, FloatArray],
    offset: IntArray,
    places: IntArray,
    counts: IntArray,
) -> None:
    """Draw for requests of arms: which atoms come (`places` among all atoms), and how often.

    `keys` are the seed and then an arm a request, `requests` how many requests the arm had before. `laws` has where the arm's
    atoms begin, how many there are, and the probabilities of all arms' atoms. What is drawn for request k is written from
    ``offset[k]`` on; `counts` begin with zeros, and stay zero where nothing is drawn.
    """
    start, sizes, probabilities = laws
    block = np.zeros(4, np.uint64)
    for k in range(len(times)):
        first, size, at = start[k], sizes[k], offset[k]
        if size == 1:
            places[at], counts[at] = first, times[k]
        elif times[k] < size:
            used = 0
            for draw in range(times[k]):
                u = _uniform(block, draw, keys[0], keys[k + 1], requests[k])
                place, below = first, probabilities[first]
                while place < first + size - 1 and u >= below:
                    place += 1
                    below += probabilities[place]
                used = _count_in(places[at : at + used + 1], counts[at : at + used + 1], used, place)
        else:
            p = probabilities[first + 1]
            if p <= 0.5:
                ones = _binomial(block, times[k], p, keys[0], keys[k + 1], requests[k])
            else:
                ones = times[k] - _binomial(block, times[k], 1.0 - p, keys[0], keys[k + 1], requests[k])
            places[at], places[at + 1] = first, first + 1
            counts[at], counts[at + 1] = times[k] - ones, ones


@compiled
def _count_in(places: IntArray, counts: IntArray, used: int, place: int) -> int:
    """Count one more draw of an atom, keeping the atoms in order. Returns how many there are."""
    p = used
    while p > 0 and places[p - 1] >= place:
        p -= 1
    if p < used and places[p] == place:
        counts[p] += 1
        return used
    for r in range(used, p, -1):
        places[r], counts[r] = places[r - 1], counts[r - 1]
    places[p], counts[p] = place, 1
    return used + 1
