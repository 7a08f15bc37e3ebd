"""Tables of arms × items, and lists of items: from whatever holds them, or refused with a message that says what and where."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from surest.arms.files import ROWS
from surest.arms.tables import Table, read_table, table_of
from surest.errors import SourceError

LONG = {"arm": ["a", "a", "b", "b"], "item": ["y", "x", "x", "z"], "value": [1.0, 0.5, 0.25, 0.0]}
VALUES = [[1, 0.5, np.nan], [np.nan, 0.25, 0]]


def same(table: Table, labels: tuple[object, ...], items: tuple[object, ...], values: Any) -> bool:
    np.testing.assert_array_equal(table.values, np.array(values, float))
    return (table.labels, table.items) == (labels, items) and table.values.dtype == float


def test_forms_that_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pd.DataFrame(LONG).to_csv(path, index=False)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    wide = {"a": [1.0, 0.5, None], "b": [None, 0.25, 0.0]}
    renamed = pd.DataFrame(LONG).rename(columns={"arm": "model", "item": "question", "value": "score"})
    names = {"arm": "model", "item": "question", "value": "score"}
    renamed.assign(day="monday").to_csv(tmp_path / "other.csv")
    for table in (
        table_of(path),
        table_of(str(tmp_path / "t.csv.gz")),
        table_of(tmp_path / "other.csv", names),
        table_of(pd.DataFrame(LONG)),
        table_of(pl.DataFrame(LONG)),
        table_of(renamed, names),
        table_of(pd.DataFrame(wide, index=["y", "x", "z"])),
        table_of(pd.DataFrame(wide, index=["y", "x", "z"], dtype="Float64")),
        table_of(pd.DataFrame({"q": ["y", "x", "z"], **wide}), {"item": "q"}),
        table_of(pl.DataFrame({"q": ["y", "x", "z"], **wide}), {"item": "q"}),
        table_of({"a": {"y": 1, "x": 0.5}, "b": {"x": 0.25, "z": 0}}),
    ):
        assert same(table, ("a", "b"), ("y", "x", "z"), VALUES)
        assert not table.complete
    for table in (table_of(VALUES), table_of(np.array(VALUES)), table_of([[1, 0.5, None], [None, 0.25, False]])):
        assert same(table, (0, 1), (0, 1, 2), VALUES)
    assert same(table_of({"a": [1, 0], "b": np.array([0, 1])}), ("a", "b"), (0, 1), [[1, 0], [0, 1]])
    turned = table_of({"a": {"y": 1, "x": 0.5}, "b": {"x": 0.25, "y": 0}})
    assert same(turned, ("a", "b"), ("y", "x"), [[1, 0.5], [0, 0.25]])
    assert table_of({7: {(1, 2): True}}).labels == (7,)  # labels and items keep their types
    assert table_of({7: {(1, 2): True}}).complete


def test_a_table_of_many_batches(tmp_path: Path) -> None:
    path, rng = tmp_path / "t.csv", np.random.default_rng(1)
    values = rng.integers(0, 1000, (20, 3 * ROWS // 20)) / 1000
    cells = [f"arm {i},item {j},{values[i, j]}\n" for i, j in np.ndindex(*values.shape)]
    path.write_text("arm,item,value\n" + "".join(cells))
    assert same(
        read_table(path),
        tuple(f"arm {i}" for i in range(20)),
        tuple(f"item {j}" for j in range(values.shape[1])),
        values,
    )
    path.write_text(path.read_text() + cells[5])
    with pytest.raises(SourceError, match=f"line {len(cells) + 2}: .* but line 7 gave"):
        read_table(path)
