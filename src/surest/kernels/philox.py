"""NumPy's Philox generator and its binomial, for many arms at once: the bits of a `Generator` an arm, without its overhead."""

import numpy as np

from surest.core.protocol import FloatArray, IntArray, Words
from surest.kernels import libm
from surest.kernels.constants import ADD_0, ADD_1, LOW, MULTIPLY_0, MULTIPLY_2, TWO_TO_MINUS_53, WORD


def high(a: int, b: int) -> int:
    """The upper half of a product of two words."""
    a_low, a_high, b_low, b_high = a & LOW, a >> 32, b & LOW, b >> 32
    middle = a_high * b_low + ((a_low * b_low) >> 32)
    other = a_low * b_high + (middle & LOW)
    return a_high * b_high + (middle >> 32) + (other >> 32)


def fill(block: Words, key_0: int, key_1: int, first: int, last: int) -> None:
    """The four words of the block with counter (first, 0, 0, last): Philox 4x64 with ten rounds."""
    c0, c1, c2, c3 = first, 0, 0, last
    for _ in range(10):
        high_0, low_0 = high(MULTIPLY_0, c0), (MULTIPLY_0 * c0) & WORD
        high_2, low_2 = high(MULTIPLY_2, c2), (MULTIPLY_2 * c2) & WORD
        c0, c1, c2, c3 = high_2 ^ c1 ^ key_0, low_2, high_0 ^ c3 ^ key_1, low_0
        key_0, key_1 = (key_0 + ADD_0) & WORD, (key_1 + ADD_1) & WORD
    block[0], block[1], block[2], block[3] = c0, c1, c2, c3


def uniform(block: Words, draw: int, key_0: int, key_1: int, last: int) -> float:
    """Number `draw` of a request, as `Generator.random` has it. They are asked for in order."""
    if draw % 4 == 0:
        fill(block, key_0, key_1, draw // 4 + 1, last)
    word = int(block[draw % 4])
    return float(word >> 11) * TWO_TO_MINUS_53


def binomial(block: Words, times: int, p: float, key_0: int, key_1: int, last: int) -> int:
    """As `Generator.binomial` has it, where it inverts: p ≤ ½ and times·p at most 30."""
    q = 1.0 - p
    first = libm.exp(times * libm.log(q))
    mean = times * p
    most = min(float(times), mean + 10.0 * libm.sqrt(mean * q + 1.0))
    found, part, draw = 0, first, 1
    u = uniform(block, 0, key_0, key_1, last)
    while u > part:
        found += 1
        if found > most:
            found, part = 0, first
            u = uniform(block, draw, key_0, key_1, last)
            draw += 1
        else:
            u -= part
            part = ((times - found + 1) * p * part) / (found * q)
    return found


def draw_atoms(
    keys: Words, requests: Words, times: IntArray, start: IntArray, sizes: IntArray, probabilities: FloatArray,
    offset: IntArray, places: IntArray, counts: IntArray,
) -> None:  # fmt: skip
    """Draw for requests of arms: which atoms come (`places` among all atoms), and how often.

    `keys` are the seed and then an arm a request, `requests` how many requests the arm had before. An arm's atoms begin at
    `start`, and there are `sizes` of them; `probabilities` are those of all arms' atoms. What is drawn for request k is
    written from ``offset[k]`` on; `counts` begin with zeros, and stay zero where nothing is drawn.
    """
    block, seed = np.zeros(4, np.uint64), int(keys[0])
    for k in range(len(times)):
        first, size, at, key, last = start[k], sizes[k], offset[k], int(keys[k + 1]), int(requests[k])
        if size == 1:
            places[at], counts[at] = first, times[k]
        elif times[k] < size:
            used = 0
            for draw in range(times[k]):
                u = uniform(block, draw, seed, key, last)
                place, below = first, probabilities[first]
                while place < first + size - 1 and u >= below:
                    place += 1
                    below += probabilities[place]
                used = count_in(places, counts, at, used, place)
        else:
            p = probabilities[first + 1]
            if p <= 0.5:
                ones = binomial(block, times[k], p, seed, key, last)
            else:
                ones = times[k] - binomial(block, times[k], 1.0 - p, seed, key, last)
            places[at], places[at + 1] = first, first + 1
            counts[at], counts[at + 1] = times[k] - ones, ones


def count_in(places: IntArray, counts: IntArray, at: int, used: int, place: int) -> int:
    """Count one more draw of an atom, keeping the atoms in order. Returns how many there are."""
    p = at + used
    while p > at and places[p - 1] >= place:
        p -= 1
    if p < at + used and places[p] == place:
        counts[p] += 1
        return used
    for r in range(at + used, p, -1):
        places[r], counts[r] = places[r - 1], counts[r - 1]
    places[p], counts[p] = place, 1
    return used + 1
