"""The page on the fastest command: its Python runs, its options are those of the command, its figures those that are pinned."""

import re
import shlex
from pathlib import Path

import pytest

from statistical.test_fastest import IN_MANY_RUNS
from surest.cli.fastest import fastest

PAGE = (Path(__file__).parents[2] / "docs" / "fastest.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = blocks("python")
    exec(compile(block, "docs/fastest.md", "exec"), {})
    assert capsys.readouterr().out == "short True\n"


def test_the_options_are_those_of_the_command() -> None:
    known = {name for parameter in fastest.params for name in parameter.opts if name.startswith("-")}
    table = PAGE.split("## Options")[1].split("\n- ")[0]
    shown = {
        name
        for row in re.findall(r"^\| (`-.*?) \|", table, re.MULTILINE)
        for name in re.findall(r"`(-{1,2}[\w-]+)", row)
    }
    assert shown == known
    for line in blocks("sh")[0].splitlines():
        words = shlex.split(line)
        assert words[:2] == ["surest", "fastest"]
        assert {word for word in words if word.startswith("-")} <= known


def test_the_figures_are_those_that_are_pinned() -> None:
    part = PAGE.split("## What was measured")[1].split("**Beside")[0]
    rows = re.findall(r"^\| [a-z0-9 ,]+ \| (\d+).*? \| (\d+).*? \|$", part, re.MULTILINE)
    assert [tuple(map(int, row)) for row in rows] == list(IN_MANY_RUNS.values())
