"""CSV files, tables and named sources: read exactly, or refused with a message that says what and where."""

import csv
import gzip
import re
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import surest
from calling import in_process
from surest.arms.files import ROWS, Rows
from surest.arms.finite import FiniteArms
from surest.arms.instances import KINDS, parse_source
from surest.arms.kinds import read_source
from surest.arms.recorded import Records, laws_in, read_csv
from surest.arms.tables import read_table
from surest.core.scale import Scale
from surest.errors import SourceError, SurestError

UNIMPORTANT = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
PLAIN = "arm,value\na,1\nb,0.5\na,0\na,1\na,1\n"
COUNTED = "instance,arm,value,count\nx,a,1,3\nx,a,0,1\nx,b,0.5,7\ny,b,0.25,1\ny,c,1,2\nx,a,0.5,0\n"


def read_records(path: Path, growing: bool = True) -> Records:
    return read_source(path, Scale(-1, 1e9), growing=growing)


def write(folder: Path, content: str | bytes, name: str = "rewards.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@given(st.text() | st.tuples(st.sampled_from([*KINDS, "x"]), st.text("0123456789.,/-enaif")).map(":".join))
@example("lower-bound:/")
@settings(max_examples=300, deadline=None)
def test_any_source_is_read_or_refused(source: str) -> None:
    assume(not re.fullmatch(r"example1:\d{6,}", source))  # read, but slowly
    with suppress(SurestError):
        assert len(parse_source(source)) >= 1


cells = st.sampled_from(
    ["a", "b", "0", "1", "0.5", "1e-3", "nan", "inf", "-1", "2", "", '"', '"a"', "é", "\0", "9" * 20]
)
tables = st.builds(
    lambda header, rows: "\n".join([header, *(",".join(row) for row in rows)]),
    st.sampled_from(
        ["arm,value", "arm,value,count", "instance,arm,value,count", "value,arm", "arm", "count,arm,value"]
    ),
    st.lists(st.lists(cells, min_size=1, max_size=5), max_size=6),
)


@given(st.binary(max_size=200) | tables.map(str.encode) | tables.map(str.encode).map(gzip.compress), st.integers(0, 30))
@settings(max_examples=400, suppress_health_check=UNIMPORTANT)
def test_any_file_is_read_or_refused(tmp_path: Path, content: bytes, cut: int) -> None:
    path = write(tmp_path, content[: len(content) - cut] if cut < 10 else content)
    instances = {}
    with suppress(SurestError), Rows(path) as file:
        instances = laws_in(file)
        assert instances
    for arms in instances.values():
        assert len(arms) >= 1
        assert ((arms.values >= 0) & (arms.values <= 1)).all()
        assert ((arms.means >= 0) & (arms.means <= 1)).all()


def bomb(path: Path, content: bytes, times: int) -> Path:
    """A gzipped file of `content` many times over: small on disk."""
    with gzip.open(path, "wb") as file:
        file.write(b"arm,value\n")
        for _ in range(times):
            file.write(content)
    return path


def peak_of(read: Callable[[], object]) -> int:
    """The most bytes that Python and NumPy held at a time."""
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_line_has_a_limit_and_a_small_file_cannot_fill_the_memory(tmp_path: Path) -> None:
    path = bomb(tmp_path / "long.csv.gz", b"0" * 2**20, 64)

    def read() -> None:
        with pytest.raises(SourceError, match="line 2: more than 1,048,576 bytes, the maximum length of a line"):
            read_records(path)

    assert path.stat().st_size < 2**17
    assert peak_of(read) < 2**23


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    few, many = (bomb(tmp_path / f"{times}.csv.gz", b"a,0.5\nb,1\n" * 10_000, times) for times in (2, 6))
    laws: list[FiniteArms] = []
    assert peak_of(lambda: laws.append(read_csv(many))) < 1.2 * peak_of(lambda: read_csv(few))  # a law of two values
    assert laws[0].means.tolist() == [0.5, 1.0]
    rewards = read_records(many).by_label
    assert [len(rewards["a"]), len(rewards["b"]), set(rewards["a"])] == [60_000, 60_000, {0.5}]


def test_a_quoted_field_may_go_on_in_the_next_block(tmp_path: Path) -> None:
    rows = [
        f'"arm {i % 7}, ""the\n{i % 3}th""",0.{i % 90:02d}' if i % 5 == 0 else f"plain,{i % 2}" for i in range(60_000)
    ]
    path = write(tmp_path, "arm,value\n" + "\n".join(rows) + "\n")
    assert len(rows) > 2 * ROWS
    read = read_records(path).by_label
    expected: dict[str, list[float]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            expected.setdefault(row["arm"], []).append(float(row["value"]))
    assert {arm: list(numbers) for arm, numbers in read.items()} == expected
    path = write(tmp_path, path.read_text() + "plain,x\n")
    with pytest.raises(SourceError, match=f"line {72_002}: value 'x' is not a number"):
        read_records(path)


def test_a_table_of_many_batches(tmp_path: Path) -> None:
    values = np.random.default_rng(1).integers(0, 1000, (20, 3 * ROWS // 20)) / 1000
    cells = [f"arm {i},item {j},{values[i, j]}\n" for i, j in np.ndindex(*values.shape)]
    path = write(tmp_path, "arm,item,value\n" + "".join(cells))
    table = read_table(path)
    assert table.labels == tuple(f"arm {i}" for i in range(20))
    assert table.items == tuple(f"item {j}" for j in range(values.shape[1]))
    np.testing.assert_array_equal(table.values, values)
    path.write_text(path.read_text() + cells[5])
    with pytest.raises(SourceError, match=f"line {len(cells) + 2}: .* but line 7 gave"):
        read_table(path)


@given(st.lists(st.from_regex(r"[0-9]{0,9}(\.[0-9]{0,9})?|-1|1e-3| 2|0x1", fullmatch=True), min_size=1, max_size=8))
@settings(max_examples=150, suppress_health_check=UNIMPORTANT)
def test_numbers_are_those_of_float(tmp_path: Path, texts: list[str]) -> None:
    path = write(tmp_path, "value,arm\n" + "".join(f"{text},a\n" for text in texts))
    try:
        expected = [float(text) for text in texts]
    except ValueError:
        with pytest.raises(SourceError, match="is not a number"):
            read_records(path)
    else:
        assert list(read_records(path).by_label["a"]) == expected


def test_arms_are_told_apart_by_their_whole_names(tmp_path: Path) -> None:
    """Names of up to eight letters are read as numbers: those that come later, are longer or hold odd letters count too."""
    names = ["a", "b", "0a", "00a", "aaaaaaaa", " a", "é", "aaaaaaaab", "a\x00", "\x00a"]
    rows = [names[(k * k + k // 7) % min(len(names), 1 + k // 4000)] for k in range(60_000)]
    path = write(tmp_path, "arm,value\n" + "".join(f"{name},{k % 10 / 10}\n" for k, name in enumerate(rows)))
    expected: dict[str, list[float]] = {}
    for k, name in enumerate(rows):
        expected.setdefault(name.strip(), []).append(k % 10 / 10)
    found = read_records(path).by_label
    assert [(name, list(numbers)) for name, numbers in found.items()] == list(expected.items())


OPENED: list[str] = []
"""What this process opens while a test of it runs; empty while none does."""
LISTENS: list[bool] = []
"""Audit hooks stay for ever, so one is added once."""


@pytest.fixture
def opened() -> list[str]:
    if not LISTENS:
        sys.addaudithook(lambda event, facts: OPENED.append(str(facts[0])) if event == "open" and OPENED else None)
        LISTENS.append(True)
    OPENED[:] = ["nothing yet"]
    return OPENED


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("content", "read"),
    [
        (PLAIN, surest.identify),
        (PLAIN, lambda path: surest.identify(path, resample=True, budget=10)),
        ("arm,clicks,impressions\na,3,50\nb,30,60\n", surest.identify),
        ("arm,item,value\na,p,1\nb,p,0\na,q,1\nb,q,0.5\n", surest.evaluate),
        ("item,a,b\np,1,0\nq,1,0.5\n", surest.evaluate),
        ("arm,value,question\na,1,p\nb,0.5,p\n", ("identify",)),
        (COUNTED, ("identify", "--instance", "x", "--budget", "10")),
        ("arm,clicks,impressions\na,3,50\nb,30,60\n", ("identify",)),
        ("arm,item,value\na,p,1\nb,p,0\na,q,1\nb,q,0.5\n", ("evaluate",)),
    ],
)
def test_a_file_is_opened_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], opened: list[str], content: str, read: object, packed: bool
) -> None:
    path = write(tmp_path, gzip.compress(content.encode()) if packed else content, f"rows.csv{'.gz' * packed}")
    opened[1:] = []
    if isinstance(read, tuple):
        assert in_process(capsys)(read[0], str(path), *read[1:], "--quiet")[0] in (0, 3)
    else:
        read(str(path))
    seen = opened.count(str(path))
    opened.clear()
    assert seen == 1
