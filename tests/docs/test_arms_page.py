"""The page on arms: its Python runs, and its commands have options that exist."""

import re
import shlex
from pathlib import Path

import pytest

from surest.cli.identify import identify
from surest.drivers.commands import OPERATORS

PAGE = (Path(__file__).parents[2] / "docs" / "arms.md").read_text(encoding="utf-8")


def test_the_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        exec(compile(block, "docs/arms.md", "exec"), names)
    first, second, third = capsys.readouterr().out.splitlines()
    assert (first, second.split()[0], third) == ("new True", "better", "kind")


def test_the_commands_have_options_that_exist() -> None:
    known = {name for parameter in identify.params for name in parameter.opts}
    lines = [
        line
        for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
    ]
    assert len(lines) == 4
    for line in lines:
        words = shlex.split(line)
        assert words[:2] == ["surest", "identify"]
        assert [word for word in words if word.startswith("--") and word not in known] == []
        assert not OPERATORS & set(words)
    in_prose = set(re.findall(r"`(--[a-z-]+)", PAGE))
    assert in_prose <= known
