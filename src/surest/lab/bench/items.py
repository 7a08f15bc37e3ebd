"""Races on complete tables of arms × items: what share of the cells each method evaluates, and how often it is wrong."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from surest.algorithms import Algorithm, Task, all_entries, lookup
from surest.algorithms.wager.wager import wager
from surest.arms.finite import recorded
from surest.arms.tables import read_table
from surest.core.protocol import Answer, FloatArray
from surest.errors import UsageError
from surest.search.simulate import simulate

MARGINALS = "wager-on-marginals"
"""Wager, which takes each cell for a fresh draw of its arm, and knows neither pairs nor the end of the list."""
MOST_TABLES = 20  # Wager on marginals is stopped after so many times the number of cells
FRACTION = 4  # a method that spends a fixed budget gets one in so many of a table's cells


@dataclass(frozen=True)
class Run:
    """How one run on a table ended."""

    answer: Answer
    cells: int
    regret: float  # see `regret_of`
    seconds: float


@dataclass(frozen=True)
class ItemRow:
    """One method on one table, over several random orders."""

    table: str
    algorithm: str
    standing: str
    arms: int
    items: int
    gap: float
    delta: float
    epsilon: float
    orders: int
    share: float  # the mean share of the cells that were evaluated
    error: float  # the standard error of that share
    wrong: int  # in how many orders an arm was named that is worse than the best by more than ε
    regret: float  # the mean regret of the arm named
    seconds: float  # a run, without the evaluations


def run_on_table(
    values: FloatArray, delta: float, seed: int | Sequence[int], *, algorithm: Algorithm = "race",
    epsilon: float = 0.0, budget: int | None = None, target: str = "items", **options: object,
) -> Run:  # fmt: skip
    """Run a method on a table of all cells, arms in rows. `options` are the method's own: group, weights, …."""
    n, items = values.shape
    begin = perf_counter()
    entry, rng = lookup(algorithm), np.random.default_rng(seed)
    if entry.goal == "fixed budget" and budget is None:
        budget = values.size // FRACTION
    procedure = entry.start(Task(np.arange(n), delta, epsilon, budget, rng, items=items, target=target), **options)
    cells, reply = 0, None
    while True:
        try:
            request: Any = procedure.send(reply)
        except StopIteration as end:
            return Run(end.value, cells, regret_of(end.value, values), perf_counter() - begin)
        cells += request.total
        reply = values[np.ix_(request.arms, request.items)]


def regret_of(answer: Answer, values: FloatArray) -> float:
    """How much worse the arm named is than the best, in mean over the table."""
    means = values.mean(axis=1)
    regret = float(means.max() - means[answer.arm])
    return 0.0 if regret < 1e-12 else regret


def wager_on_marginals(values: FloatArray, delta: float, seed: Sequence[int], epsilon: float = 0.0) -> Run:
    """Run Wager on items drawn with replacement, each arm by itself; an evaluation is a pull."""
    n, begin = len(values), perf_counter()
    procedure = wager(np.arange(n), delta, epsilon=epsilon, rng=np.random.default_rng(seed))
    pulls = int(np.random.default_rng([*seed, 1]).integers(2**31))
    done = simulate(procedure, recorded(list(values)).simulate(seed=pulls), budget=MOST_TABLES * values.size)
    answer = done.value or Answer(int(np.nan_to_num(done.means).argmax()), certified=False, reason="budget spent")
    return Run(answer, done.pulls, regret_of(answer, values), perf_counter() - begin)


def complete(path: Path) -> FloatArray:
    """The table of a file, which must not have gaps."""
    values = read_table(path).values
    if not ((values >= 0) & (values <= 1)).all():  # nor is NaN
        arms, items = values.shape
        raise UsageError(f"{path} must have a value in [0, 1] for each of its {arms} × {items} cells")
    return values


def read_tables(folder: Path) -> dict[str, FloatArray]:
    """All tables of a folder by name."""
    paths = sorted([*folder.glob("*.csv.gz"), *folder.glob("*.csv")])
    tables = {path.name.split(".csv")[0]: path for path in paths if path.name != "matrices.csv"}
    if not tables:
        raise UsageError(
            f"{folder} has no tables; give a folder of .csv or .csv.gz files with columns arm, item, value"
        )
    return {name: complete(path) for name, path in tables.items()}


def methods() -> dict[str, str]:
    """The methods for the best arm on a list of items, with their standings."""
    listed = {e.name: str(e.standing) for e in all_entries() if e.works_on == "items" and "best" in e.answers}
    return {**listed, MARGINALS: "proven"}


def bench_items(
    folder: Path | str, orders: int = 100, *, delta: float = 0.05, epsilon: float = 0.0, seed: int = 0,
    algorithms: Iterable[str] = ("race",), only: Iterable[str] | None = None,
) -> Iterator[ItemRow]:  # fmt: skip
    """Run methods on every table of a folder, each in `orders` random orders; the r-th order of a table is the same for all."""
    standings = methods()
    for name, table in read_tables(Path(folder)).items():
        if only is not None and name not in only:
            continue
        for algorithm in algorithms:
            if algorithm not in standings:
                raise UsageError(
                    f"there is no method {algorithm!r} for lists of items; there are {', '.join(standings)}"
                )
            yield row_of(name, table, algorithm, orders, delta, epsilon, seed)


def row_of(
    name: str, table: FloatArray, algorithm: str, orders: int, delta: float, epsilon: float, seed: int
) -> ItemRow:
    """One method on one table."""
    method = wager_on_marginals if algorithm == MARGINALS else partial(run_on_table, algorithm=algorithm)
    runs = [method(table, delta, [seed, order], epsilon=epsilon) for order in range(orders)]
    shares = np.array([run.cells for run in runs]) / table.size
    best, second = np.sort(table.mean(axis=1))[::-1][:2]
    return ItemRow(
        name,
        algorithm,
        methods()[algorithm],
        len(table),
        table.shape[1],
        float(best - second),
        delta,
        epsilon,
        orders,
        float(shares.mean()),
        float(shares.std() / max(orders, 1) ** 0.5),
        sum(run.regret > epsilon + 1e-12 for run in runs),
        float(np.mean([run.regret for run in runs])),
        float(np.mean([run.seconds for run in runs])),
    )


def as_markdown(rows: Iterable[ItemRow]) -> str:
    """A table of rows."""
    lines = [
        "| table | arms × items | gap | method | standing | share of cells | wrong | mean regret | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.table} | {row.arms} × {row.items} | {row.gap:.4f} | {row.algorithm} | {row.standing} | {row.share:.4f} "
        f"± {row.error:.4f} | {row.wrong} of {row.orders} | {row.regret:.4f} | {row.seconds:.3f} |"
        for row in rows
    ]
    return "\n".join(lines)
