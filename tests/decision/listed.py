"""Decisions on lists of items for tests: made-up tables, files with lines changed, and what the verifier says of them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import surest
import surest_verify
from surest.decision.chain import Chain
from surest.decision.lists import decision_on_items

Line = dict[str, Any]


def lines_of(chain: Chain) -> list[Line]:
    """The lines without their hashes and without the end."""
    lines = [json.loads(line) for line in chain.lines[:-1]]
    return [{key: value for key, value in line.items() if key != "prev"} for line in lines]


def chained(lines: Iterable[Mapping[str, Any]]) -> Chain:
    """Lines with hashes that fit, as somebody would make them who changed something."""
    chain = Chain()
    for line in lines:
        chain.add(line["kind"], **{key: value for key, value in line.items() if key != "kind"})
    chain.end()
    return chain


def refusal(lines: Iterable[Mapping[str, Any]], path: Path) -> str:
    """Why the verifier refuses a file with these lines; nothing if it is valid."""
    chained(lines).write(path)
    try:
        surest_verify.verify(str(path))
    except surest_verify.Invalid as error:
        return str(error)
    return ""


def table_of(kind: int, n: int, total: int, rng: np.random.Generator) -> np.ndarray:
    """Scores of arms on items: numbers, zeros and ones, tenths, or the same for all arms."""
    level = rng.random((n, 1))
    if kind == 0:
        return np.clip(0.7 * rng.random((n, total)) + 0.3 * level, 0, 1)
    if kind == 1:
        return (rng.random((n, total)) < level).astype(float)
    if kind == 2:
        return rng.integers(0, 11, (n, total)) / 10
    return np.tile(rng.integers(0, 3, (1, total)) / 2, (n, 1))


def search(seed: int) -> surest.Result:
    """A search with everything about it drawn at random: the table, the question, its settings."""
    rng = np.random.default_rng([77, seed])
    n, total = int(rng.integers(2, 8)), int(rng.integers(2, 150))
    table = table_of(seed % 4, n, total, rng)
    settings: dict[str, Any] = {
        "seed": int(rng.integers(2**53)),
        "delta": float(rng.choice([0.05, 0.2, 0.01])),
        "epsilon": float(rng.choice([0, 0, 0.05, 0.2])),
        "target": str(rng.choice(["items", "items", "population"])),
    }
    if n > 2 and rng.random() < 0.4:
        settings["top"] = int(rng.integers(1, n))
    if rng.random() < 0.3:
        settings["budget"] = int(rng.integers(n, n * total + 1))
    if rng.random() < 0.3:
        table = 6 * table - 2
        settings |= {"bounds": (-2.0, 4.0), "minimise": bool(rng.random() < 0.5), "epsilon": 6 * settings["epsilon"]}
    return surest.evaluate(table, **settings, simulate=seed % 5 > 0)


def best_of_four(delta: float = 0.05, **settings: Any) -> list[Line]:
    """The decision on four arms of which the first is the best, by bets."""
    rng = np.random.default_rng(3)
    table = (rng.random((4, 300)) < np.array([[0.8], [0.5], [0.45], [0.2]])).astype(float)
    return lines_of(decision_on_items(surest.evaluate(table, delta=delta, simulate=True, **{"seed": 1, **settings})))
