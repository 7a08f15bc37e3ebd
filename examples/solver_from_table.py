"""The fastest solver, from a recorded table: what would have been spent?

    python examples/solver_from_table.py

The table has the seconds that each of six solvers took on each of 500 instances, with a limit of 60. It is made up here; with a
file of your own, give its name instead: `surest.evaluate("runs.csv", minimise=True, bounds=(0, 60))`.
"""

import random

import surest

LIMIT = 60.0
SOLVERS = {"cutting": 9.0, "greedy": 20.0, "local": 12.0, "random": 40.0, "simplex": 16.0, "tabu": 14.0}
"""Typical seconds."""


def table() -> dict[str, dict[str, float]]:
    """Seconds by solver and instance. A hard instance is hard for all, which is why comparing on the same ones pays."""
    chance, recorded = random.Random(7), {solver: dict[str, float]() for solver in SOLVERS}
    for instance in range(500):
        hardness = chance.lognormvariate(0, 0.8)
        for solver, typical in SOLVERS.items():
            recorded[solver][f"instance {instance}"] = min(LIMIT, typical * hardness * chance.lognormvariate(0, 0.2))
    return recorded


def main() -> None:
    """Say what the table says, and what a search would have spent to find it."""
    recorded = table()
    result = surest.evaluate(recorded, delta=0.01, minimise=True, bounds=(0, LIMIT), seed=1)
    print(f"{result.best} is the fastest on these instances: exact {result.exact}")
    assert result.needed is not None
    print(f"{result.needed} of {result.cells} runs would have told ({result.needed / result.cells:.1%})")
    print(f"on further instances like these: {result.population.best}, certified {result.population.certified}")


if __name__ == "__main__":
    main()
