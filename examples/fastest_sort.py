"""The fastest of several ways to sort, by real timings.

    python examples/fastest_sort.py

A time has no upper bound: now and then the system does something else and a sort takes a hundred times as long. The guarantee
needs bounded rewards, so times are clipped: one above LIMIT counts as LIMIT. What is found is the way with the smallest mean of
min(time, LIMIT). Choose a limit that is rarely reached by good arms: one that is far too large costs evaluations, one that is
too small makes slow arms look alike.

Timings are made one after the other: two at a time would disturb each other. The same file is also an arm for the command line,
where ``--clip`` does what is done by hand here:

    surest identify --minimise --bounds 0,0.002 --clip \\
        --command 'built-in=python examples/fastest_sort.py built-in {seed}' \\
        --command 'merge=python examples/fastest_sort.py merge {seed}'
"""

import heapq
import random
import sys
from collections.abc import Callable
from time import perf_counter

LIMIT = 0.002
"""Seconds."""
LENGTH = 500


def heap(numbers: list[float]) -> list[float]:
    """Sort by a heap, whose operations are written in C."""
    heapq.heapify(numbers)
    return [heapq.heappop(numbers) for _ in range(len(numbers))]


def merge(numbers: list[float]) -> list[float]:
    """Sort halves and merge them."""
    if len(numbers) < 2:
        return numbers
    middle = len(numbers) // 2
    return list(heapq.merge(merge(numbers[:middle]), merge(numbers[middle:])))


def quick(numbers: list[float]) -> list[float]:
    """Sort what is below and above a pivot."""
    if len(numbers) < 2:
        return numbers
    pivot, *rest = numbers
    return [*quick([x for x in rest if x < pivot]), pivot, *quick([x for x in rest if x >= pivot])]


WAYS: dict[str, Callable[[list[float]], list[float]]] = {
    "built-in": sorted,
    "heap": heap,
    "merge": merge,
    "quick": quick,
}


def seconds(way: Callable[[list[float]], list[float]], seed: int) -> float:
    """How long it takes to sort one random list."""
    rng = random.Random(seed)
    numbers = [rng.random() for _ in range(LENGTH)]
    began = perf_counter()
    way(numbers)
    return perf_counter() - began


def main() -> None:
    """Choose, and say so."""
    import surest

    def timed(way: Callable[[list[float]], list[float]]) -> Callable[[int], float]:
        return lambda seed: min(seconds(way, seed), LIMIT)

    ways = {name: timed(way) for name, way in WAYS.items()}
    result = surest.identify(ways, delta=0.01, bounds=(0, LIMIT), minimise=True, seeded=True, budget=100_000)
    print(f"{result.best} is the fastest: certified {result.certified}, after {result.pulls} timings")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(seconds(WAYS[sys.argv[1]], int(sys.argv[2])))
    else:
        main()
