"""What is said of files, tables and sources that cannot be read: which one, where in it, and what is allowed."""

import gzip
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from syrupy.assertion import SnapshotAssertion

from calling import refused
from surest.arms.files import read_items
from surest.arms.finite import finite_arms
from surest.arms.instances import parse_source
from surest.arms.kinds import read_source
from surest.arms.recorded import read_csv
from surest.arms.tables import read_table, table_of
from surest.arms.totals import named_pair
from surest.core.scale import Scale

PACKED = gzip.compress(b"arm,value\na,1\nb,0.5\na,0\na,1\na,1\n", mtime=0)
REWARDS: list[str | bytes] = [
    *("arm,value\na,1\nb,nan\n", "arm,value\na,1\n\nb,1.5\n", "arm,value\na,-0.1\n", "arm,value\na,inf\n"),
    *("arm,value\na,high\n", "arm,value\na\n", "arm,value\na,1,2\n", "arm,value\n ,1\n", 'arm,value\n"a,1\n'),
    *("arm,value,count\na,1,1.5\n", "arm,value,count\na,1,-1\n", "arm,value,count\na,1,nan\n"),
    *("arm,value,count\na,1,9007199254740992\n", "arm,value,count\na,1,0\n", "arm,reward\na,1\n"),
    *("arm,value,counts\na,1,3\n", "arm,value,value\na,1,1\n", "arm,value,date,date\na,1,1,1\n"),
    *("arm,value\na,1\nb\nc,x\n", "arm,value\na,x\nb\n", 'arm,value\n"a\nb\r\nc",1\na,x\n', 'arm,value\na,x\n"b,1\n'),
    *("a,1\nb,0\n", "", "arm,value\n", b"arm,value\n\xff,1\n"),
    *(PACKED[:-9], PACKED[:12], PACKED[:-5] + b"wrong", b"\x1f\x8b"),
]
HEAD = "arm,item,value\n"
TABLES = [
    *(
        HEAD + "a,x,1\nb,x,0\na,x,0.5\n",
        HEAD + "a,x,1\n\na,x,1\n",
        HEAD + 'a,"x\ny",1\na,"x\ny",1\n',
        HEAD + "a,x,nan\n",
    ),
    *(HEAD + "a,y,\na,x,-inf\n", HEAD + "a,x,good\n", HEAD + " ,x,1\n", HEAD + "a,,1\n", "arm,value\na,1\n", HEAD, ""),
]
TOTALS = [
    *(
        f"arm,successes,trials\n{row}"
        for row in ("a,5,4\n", "a,1,4\nb,1.5,4\n", "a,-1,4\n", "a,1,nan\n", " ,1,2\n", "")
    ),
    *("arm;successes;trials\na;1;2\n", "arm,successes,trials,clicks,impressions\na,1,2,1,2\n"),
]
ITEMS = [
    *(("q.txt", "one\ntwo\none\n", None), ("q.txt", "\n", None), ("q.txt", "one\n", "id")),
    *(("q.jsonl", '{"id": 1}\n{"id"\n', None), ("q.jsonl", '{"id": [1]}\n', None), ("q.jsonl", '{"id": 1}\n', "name")),
    *(("q.jsonl", "3\n", "name"), ("q.csv", "a,b\n1,2\n", None), ("q.csv", "a,b\n1,2\n", "c")),
    *(("q.csv", "id,b\n,2\n", None), ("q.csv", "id,b\n1,2\n1,3\n", None)),
]
NAMES = [
    *({"arm": "model"}, {"arm": "model", "value": "points"}, {"arm": "model", "value": "model"}),
    *({"arms": "model"}, {"arm": ""}),
]
LONG = {"arm": ["a", "a", "b", "b"], "item": ["y", "x", "x", "z"], "value": [1.0, 0.5, 0.25, 0.0]}
FRAME = pd.DataFrame(LONG)
NA = pd.array(["a", pd.NA, "b", "b"], dtype="string")
OBJECTS: list[Any] = [
    *(pd.DataFrame({**LONG, **wrong}) for wrong in ({"item": ["x"] * 4}, {"arm": ["a", None, "b", "b"]}, {"arm": NA})),
    *(pd.DataFrame({**LONG, "value": values}) for values in (["1", "2", "3", "4"], [1, np.inf, 2, 3])),
    *(pd.DataFrame([[1, 2]], columns=["a", "a"]), pd.DataFrame({"a": [1, 2]}, index=["x", "x"])),
    *(pd.DataFrame({"a": ["good"]}), pd.DataFrame(), {}, {"a": {"x": "1"}}, {"a": [1, 2], "b": [1]}),
    *({"a": [1, 2], "b": {"x": 1}}, {"a": 0.5}, [1, 2], [[1, 2], [3]], np.zeros((2, 2, 2)), np.array([[1, np.inf]]), 5),
]
SOURCES = [
    *("example1:0", "example1:-3", "example1:2.5", "example1:", "example1:٣", "example1:999999999999", "bernoulli:"),
    *("bernoulli:0.5,,0.4", "bernoulli:0.5,x", "bernoulli:0.5,1.1", "bernoulli:nan", "bernoulli:0.5,0.3xx2"),
    *("bernoulli:0.5,0.3x0", "bernoulli:0.5,0.3x2.5", "bernoulli:0.5,0.3x٣", "lower-bound:0.05"),
    *("lower-bound:0.05/0.01,0.01,0.01", "lower-bound:0.2/0.01", "lower-bound:0/0.01", "lower-bound:0.05/0.1"),
    *("lower-bound:0.05/-0.01", "lower-bound:0.05/nan", "bernouli:0.5", "exampel1:5", "weather:5", "", "a\0b"),
]
LAWS: list[tuple[list[float], list[float]]] = [
    *(([0.5, 1.5], [1, 1]), ([float("nan")], [1]), ([0.5], [1, 2]), ([], [])),
    *(([0.5], [0]), ([0.5], [-1]), ([0.5], [float("inf")])),
]


def written(read: Callable[..., Any], content: str | bytes, name: str = "it.csv", *more: Any) -> Callable[[], Any]:
    """Read a file of this content."""

    def call() -> Any:
        Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
        return read(Path(name), *more)

    return call


MISTAKES: dict[str, list[Callable[[], Any]]] = {
    "rewards": [
        *(written(read_csv, content) for content in REWARDS),
        lambda: read_csv("none.csv"),
        lambda: read_csv("."),
    ],
    "tables": [written(read_table, content) for content in TABLES],
    "totals": [written(partial(read_source, scale=Scale()), content) for content in TOTALS],
    "items": [written(read_items, content, name, key) for name, content, key in ITEMS],
    "objects": [
        *(lambda data=data: table_of(data) for data in OBJECTS),
        lambda: table_of(FRAME, {"arms": "arm"}),
        lambda: table_of(FRAME, {"arm": "model"}),
        lambda: table_of([[1]], {"arm": "model"}),
    ],
    "sources": [*(lambda source=source: parse_source(source) for source in SOURCES), lambda: parse_source("a" * 5000)],
    "laws": [lambda law=law: finite_arms([([0.2], [1]), law], ["fine", "bad"]) for law in LAWS],
    "instances": [
        *(written(read_csv, "instance,arm,value\nx,a,1\ny,b,0.5\n", "it.csv", name) for name in (None, "z")),
        *(written(read_csv, "arm,value\na,1\n", "it.csv", "x"), lambda: parse_source("example1:3", "x")),
    ],
    "columns": [
        *(written(partial(read_csv, columns=names), "Date,Model,Score\nmonday,a,1\n") for names in NAMES),
        lambda: named_pair(["arm", "won"], {"successes": "won"}, "this"),
    ],
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_what_cannot_be_is_named_with_its_place(
    kind: str, snapshot: SnapshotAssertion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert refused(*MISTAKES[kind]) == snapshot
