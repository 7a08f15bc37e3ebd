"""Pages of the site with every row of the benchmarks, from the files that `make benchmarks` writes to docs/data/benchmarks."""

import csv
import io
import math
from dataclasses import fields
from pathlib import Path
from typing import Any

from _reading import SUMMARY, reading, summary_rows

from surest.algorithms import lookup
from surest.lab.bench.suites import SUITES
from surest.lab.bench.tables import Row, as_markdown, notes

DATA = Path(__file__).parent / "data" / "benchmarks"
SHOWN = ("algorithm", "standing", "runs", "wrong", "undecided", "mean", "median", "q95", "max", "ratio", "microseconds")


def suites() -> dict[str, list[Row]]:
    """The rows of every suite, in the order of the suites."""
    rows = {path.stem: from_csv(path.read_text(encoding="utf-8")) for path in DATA.glob("*.csv")}
    return {suite: rows[suite] for suite in SUITES if suite in rows}


def unique(rows: dict[str, list[Row]]) -> list[Row]:
    """All rows, once each: some instances are in two suites."""
    return list({(r.instance, r.algorithm, r.delta): r for own in rows.values() for r in own}.values())


def pages() -> dict[str, str]:
    """The pages by their path in the site: what all rows say, and a page for each suite."""
    rows = suites()
    every = unique(rows)
    listed = [f"- [{suite}]({suite}.md): {_about(suite)}" for suite in rows]
    said = reading(every).replace("](wager.md)", "](../wager.md)").replace("\n### ", "\n## ").removeprefix("#")
    said = said.replace("<details>", '<details markdown="1">')
    pages = {"index.md": "\n\n".join(["# All benchmark rows", INTRODUCTION, "\n".join(listed), said])}
    for suite, own in rows.items():
        head = ["| " + " | ".join(line) + " |" for line in [list(SUMMARY), ["---"] * len(SUMMARY)]]
        lines = ["| " + " | ".join(line) + " |" for line in summary_rows(own)]
        places = dict.fromkeys((row.instance, row.delta) for row in own)
        parts = [f"# Benchmarks: {suite}", f"{_about(suite)} Mean pulls over the lower bound:", "\n".join(head + lines)]
        pages[f"{suite}.md"] = "\n\n".join([*parts, *(_details(own, *place) for place in places), *notes(own)])
    return {f"benchmarks/{name}": f"{text}\n" for name, text in pages.items()}


INTRODUCTION = """These pages are made from the rows; [Benchmarks](../benchmarks.md) says what was compared, how to read
the rows, and what follows from them. Each suite has a page with every row:"""


def _about(suite: str) -> str:
    return f"{SUITES[suite].summary[0].upper()}{SUITES[suite].summary[1:]}."


def _details(rows: list[Row], instance: str, delta: float) -> str:
    here = sorted((row for row in rows if (row.instance, row.delta) == (instance, delta)), key=lambda row: row.mean)
    head = f"## {instance}, δ = {delta:g}\n\n{here[0].n} arms, lower bound {here[0].lower_bound:,.0f}."
    return f"{head}\n\n{as_markdown(here, SHOWN)}"


def from_csv(text: str) -> list[Row]:
    """The rows that `as_csv` wrote."""
    kinds = {field.name: str(field.type) for field in fields(Row)}
    rows = []
    for read in csv.DictReader(io.StringIO(text)):
        entry = lookup(read["algorithm"])
        values = {key: _value(kinds[key], value) for key, value in read.items()}
        rows.append(Row(**values, control=entry.control, heuristic_of=entry.heuristic_of))
    return rows


def _value(kind: str, text: str) -> Any:
    if "int" in kind:
        return int(text) if text else None
    return (float(text) if text else math.nan) if "float" in kind else text
