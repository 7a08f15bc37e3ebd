"""Every block of code in the first steps runs, and the page on the command line is true."""

import json
import re
import shlex
import sys
from pathlib import Path

import click
import matplotlib as mpl
import pytest

mpl.use("agg")
import matplotlib.pyplot as plt

import surest
from surest.cli import cli, main

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def test_the_first_steps_run_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    code = blocks("quickstart.md", "python")
    assert len(code) == 9
    for number, block in enumerate(code):
        exec(compile(block, f"quickstart.md, block {number}", "exec"), names)
        if number == 0:
            printed = [line.split("…")[0].split() for line in capsys.readouterr().out.splitlines()]
            (promised,) = blocks("quickstart.md", "text")
            for line, words in zip(promised.splitlines(), printed, strict=True):
                assert line.split("…")[0].split() == words[: len(line.split("…")[0].split())]
    plt.close("all")


def test_the_options_are_those_of_the_command() -> None:
    command = cli.get_command(click.Context(cli), "identify")
    assert command is not None
    options = {name for parameter in command.params for name in parameter.opts if name.startswith("--")}
    rows = re.findall(r"^\| `(--[a-z-]+)", (DOCS / "cli.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows) == options | {"--debug"}


def test_the_keys_are_those_of_the_object() -> None:
    table = (DOCS / "cli.md").read_text(encoding="utf-8").split("one object:")[1].split("Infinite")[0]
    keys = {key for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for key in re.findall(r"`(\w+)`", cell)}
    assert keys == surest.identify([lambda: 1]).to_json().keys()


def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (source,) = blocks("cli.md", "python")
    (tmp_path / "prompts.py").write_text(source)
    commands = blocks("cli.md", "sh")[0]
    statuses, outputs = [], []
    for line in commands.splitlines():
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(line)[1:])
        statuses.append(ended.value.code)
        outputs.append(capsys.readouterr().out)
    assert statuses == [0, 0, 3, 0]
    assert outputs[0].startswith("Arm step by step is the best")
    assert json.loads(outputs[1])["arm"] == "1"
    assert (tmp_path / "picture.png").stat().st_size > 10_000
