"""What is printed: users' words are text and nothing else, in any encoding, on any disk."""

import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.table import Table
from rich.text import Text

import surest
from surest.cli.console import Output

LABELS = ["model[large]", "[/x]", "[bold red]b", ":smile:"]
LABELS += ["a\x1b]0;title\x07", "a\x1b[2Jb", "x\r7 fake", "\x9b31m", "\u2028x"]
HARM = set("\x1b\x07\r\x9b\u2028")
DATA: dict[str, Any] = {"label": "δ é 😀 \ud800", "value": 1.5}
PROGRAM = r"""
import json, sys, click
from surest.cli.console import Output
from surest.cli.streams import print_json, say, standard_output
from surest.errors import SurestError
data = {"label": "\u03b4 \u00e9 \U0001f600 \ud800", "value": 1.5}
prints = {
    "json": lambda: print_json(data),
    "click": lambda: click.echo(json.dumps(data, ensure_ascii=False)),
    "say": lambda: say("\u03b4 \u2264 0.05 \x1b[2J\nnext"),
    "table": lambda: Output().print("\u03b4 \u2264 0.05 \u2013 arm \u00e9 \U0001f600"),
    "print": lambda: print("waiting in the buffer"),
    "other": lambda: open("another file"),
}
try:
    with standard_output():
        for what in sys.argv[1:]:
            prints[what]()
except SurestError as error:
    print(f"surest: {error}", file=sys.stderr)
    sys.exit(1)
"""


def run(*what: str, env: dict[str, str], **more: object) -> subprocess.CompletedProcess[bytes]:
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.run([sys.executable, "-c", PROGRAM, *what], env=os.environ | env, **given)


def arms_called(label: str) -> Any:
    found = surest.identify({"a": {"successes": 1, "trials": 2}})
    return replace(found, problem=msgspec.structs.replace(found.problem, labels=(label,))).arms


@pytest.mark.parametrize("label", LABELS)
def test_labels_are_text(label: str) -> None:
    out = Output(file=io.StringIO(), width=80, color_system="truecolor", force_terminal=True)
    table = Table()
    table.add_column(label)
    table.add_row(label)
    for thing in (label, Text(label), table, arms_called(label)):
        out.print(thing)
    text = out.file.getvalue()  # type: ignore[attr-defined]
    ours = {f"\x1b[{code}m" for code in ("0", "1")}  # the bold header of a table
    for code in ours:
        text = text.replace(code, "")
    assert not set(text) & HARM
    if label.isprintable():
        assert text.count(label) == 5
    assert label.isprintable() or "\ufffd" in text
    assert not set(repr(arms_called(label))) & HARM


C = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
SHOWN = {
    "utf-8": ["δ ≤ 0.05 \ufffd[2J", "next", "δ ≤ 0.05 – arm é 😀"],
    "latin-1": ["delta <= 0.05 ?[2J", "next", "delta <= 0.05 - arm é \\ud83d\\ude00"],
    "ascii": ["delta <= 0.05 ?[2J", "next", "delta <= 0.05 - arm \\u00e9 \\ud83d\\ude00"],
}
"""Of `say` and of a table."""


@pytest.mark.parametrize(("encoding", "env"), [*((name, {"PYTHONIOENCODING": name}) for name in SHOWN), ("ascii", C)])
def test_any_encoding(encoding: str, env: dict[str, str]) -> None:
    done = run("json", "click", "say", "table", env=env)
    assert (done.returncode, done.stderr) == (0, b"")
    ours, clicked, *words = done.stdout.splitlines()
    assert json.loads(ours.decode(encoding)) == DATA
    mistrusted = encoding == "ascii"  # click then writes UTF-8
    label = DATA["label"].replace("\ud800", "?") if mistrusted else DATA["label"]
    assert json.loads(clicked.decode("utf-8" if mistrusted else encoding)) == {**DATA, "label": label}
    assert [line.decode(encoding).rstrip() for line in words] == SHOWN[encoding]


@pytest.mark.parametrize("what", ["json", "click", "say", "table", "print"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_said_in_a_line(what: str, unbuffered: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = run(what, env={"PYTHONUNBUFFERED": unbuffered}, stdout=full)
    said = b"surest: standard output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, said)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (">/dev/full", "cannot be written: No space left on device"),
        (">&-", "is closed; send it to a file, or to /dev/null"),
    ],
)
def test_an_output_that_cannot_be_written_is_told_by_the_command(where: str, said: str) -> None:
    words = [sys.executable, "-m", "surest", "identify", "bernoulli:0.9,0.1", "--seed=1", "--quiet", "--json"]
    done = subprocess.run(["sh", "-c", f'"$@" {where}', "sh", *words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, f"surest: standard output {said}\n")


def test_other_errors_are_not_taken_for_it() -> None:
    done = run("other", env={})
    assert b"FileNotFoundError" in done.stderr
    assert b"standard output" not in done.stderr
