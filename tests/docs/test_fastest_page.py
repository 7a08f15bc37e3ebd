"""The page on the fastest command: its Python runs, the options it names are the command's, its figures those that are pinned."""

import csv
import re
import shlex

from statistical.test_fastest import IN_MANY_RUNS
from surest.speed.cli import fastest
from transcripts import ROOT, blocks

DOCS = ROOT / "docs"
PAGE = (DOCS / "fastest.md").read_text(encoding="utf-8")


def test_the_options_are_those_of_the_command() -> None:
    known = {name for parameter in fastest.params for name in parameter.opts if name.startswith("-")}
    part = PAGE.split("## Options")[1].split("- Missing:")[0]
    named = set(re.findall(r"`(--[a-z][a-z-]+)`", part))
    assert len(named) >= 9
    assert named <= known
    for line in blocks(DOCS / "fastest.md", "sh")[0].splitlines():
        words = shlex.split(line)
        assert words[:2] == ["surest", "fastest"]
        assert {word for word in words if word.startswith("-")} <= known


def test_the_figures_are_those_that_are_pinned() -> None:
    _, *rows = csv.reader((DOCS / "data" / "fastest-errors.csv").read_text(encoding="utf-8").splitlines())
    assert [tuple(int(cell.split()[0]) for cell in row[1:]) for row in rows] == list(IN_MANY_RUNS.values())
