"""Tables of arms × items, and lists of items: from whatever holds them, or refused with a message that says what and where."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from surest.arms.files import ROWS, Item, read_items
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
    assert table_of({7: {(1, 2): True}}).labels == (7,)  # labels and items keep their types
    assert table_of({7: {(1, 2): True}}).complete


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arm,item,value\na,x,1\nb,x,0\na,x,0.5\n", r"line 4: arm 'a' on item 'x' is given as 0.5, but line 2 gave 1 already"),
        ("arm,item,value\na,x,1\n\na,x,1\n", r"line 4: arm 'a' on item 'x' is given as 1, but line 2 gave 1 already"),
        ('arm,item,value\na,"x\ny",1\na,"x\ny",1\n', r"line 5: .* but line 3 gave"),
        ("arm,item,value\na,x,nan\n", "line 2: value 'nan' is not a finite number; leave it empty"),
        ("arm,item,value\na,y,\na,x,-inf\n", "line 3: value '-inf' is not a finite number"),
        ("arm,item,value\na,x,good\n", "line 2: value 'good' is not a number"),
        ("arm,item,value\n ,x,1\n", "line 2: the arm has no name"),
        ("arm,item,value\na,,1\n", "line 2: the item has no name"),
        ("arm,value\na,1\n", "line 1: columns arm, value; 'item' is missing"),
        ("arm,item,value\n", "holds no values"),
        ("", "is empty; it needs a header such as arm,item,value"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(SourceError, match=message) as caught:
        read_table(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pd.DataFrame({**LONG, "item": ["x"] * 4}), r"DataFrame, row 1: arm 'a' on item 'x' is given as 0.5, but row 0 gave 1"),
        (pd.DataFrame({**LONG, "arm": ["a", None, "b", "b"]}), "row 1 of the DataFrame: 'arm' is missing"),
        (pd.DataFrame({**LONG, "value": ["1", "2", "3", "4"]}), "column 'value': '1' at position 0 is not a number"),
        (pd.DataFrame({**LONG, "value": [1, np.inf, 2, 3]}), "column 'value': inf at position 1 is not a finite number"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns 'a'"),
        (pd.DataFrame({"a": [1, 2]}, index=["x", "x"]), "item 'x' is there twice"),
        (pd.DataFrame({"a": ["good"]}), "column 'a': 'good' at position 0 is not a number. Each column was taken for an arm"),
        (pd.DataFrame(), "0 arms and 0 items"),
        ({}, "0 arms and 0 items"),
        ({"a": {"x": "1"}}, "arm 'a': '1' at position 0 is not a number"),
        ({"a": [1, 2], "b": [1]}, "arm 'b' has 1 values where the first arm has 2"),
        ({"a": [1, 2], "b": {"x": 1}}, "arm 'b': give a mapping"),
        ({"a": 0.5}, "arm 'a': give a mapping"),
        ([1, 2], "1 dimensions is not a table"),
        ([[1, 2], [3]], "different lengths"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (np.array([[1, np.inf]]), "row 0: inf at position 1"),
        (5, "int with 0 dimensions is not a table"),
    ],
)  # fmt: skip
def test_a_bad_object_is_refused(data: Any, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        table_of(data)


def test_wrong_columns_are_named() -> None:
    frame = pd.DataFrame(LONG)
    with pytest.raises(SourceError, match="'arms' is not one of arm, item, value"):
        table_of(frame, {"arms": "arm"})
    with pytest.raises(SourceError, match="no column 'model'; it has 'arm', 'item', 'value'"):
        table_of(frame, {"arm": "model"})
    with pytest.raises(SourceError, match="goes with a file or a DataFrame"):
        table_of([[1]], {"arm": "model"})


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


@pytest.mark.parametrize(
    ("name", "text", "items"),
    [
        ("q.txt", "one\n\n  two \r\nthree", [Item("one", "one"), Item("  two ", "  two "), Item("three", "three")]),
        ("q.jsonl", '{"id": 7, "t": "a"}\n{"t": 1}\n"plain"\n[1, 2]\n',
         [Item("7", {"id": 7, "t": "a"}), Item('{"t": 1}', {"t": 1}), Item("plain", "plain"), Item("[1, 2]", [1, 2])]),
        ("q.csv", "question\none\ntwo\n", [Item("one", "one"), Item("two", "two")]),
        ("q.csv", "text,ID\nhello,1\n", [Item("1", {"text": "hello", "id": "1"})]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("packed", [lambda text: text, gzip.compress], ids=["plain", "gzip"])
def test_items(tmp_path: Path, name: str, text: str, items: list[Item], packed: Callable[[bytes], bytes]) -> None:
    path = tmp_path / (name + (".gz" if packed is gzip.compress else ""))
    path.write_bytes(packed(text.encode()))
    assert read_items(path) == items


@pytest.mark.parametrize(
    ("name", "text", "key", "message"),
    [
        ("q.txt", "one\ntwo\none\n", None, "line 3: item 'one' is in line 1 already"),
        ("q.txt", "\n", None, "holds no items"),
        ("q.txt", "one\n", "id", "key='id' goes with .csv and .jsonl"),
        ("q.jsonl", '{"id": 1}\n{"id"\n', None, "line 2: not JSON"),
        ("q.jsonl", '{"id": [1]}\n', None, "line 1: the field 'id' must hold a text or a number"),
        ("q.jsonl", '{"id": 1}\n', "name", "line 1: the field 'name' must"),
        ("q.jsonl", "3\n", "name", "line 1: 3 has no field 'name'"),
        ("q.csv", "a,b\n1,2\n", None, "columns a, b; none is called item or key or id"),
        ("q.csv", "a,b\n1,2\n", "c", "none is called c"),
        ("q.csv", "id,b\n,2\n", None, "line 2: the item has no name in column 'id'"),
        ("q.csv", "id,b\n1,2\n1,3\n", None, "line 3: item '1' is in line 2 already"),
    ],
)
def test_items_that_are_refused(tmp_path: Path, name: str, text: str, key: str | None, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SourceError, match=message):
        read_items(tmp_path / name, key)
