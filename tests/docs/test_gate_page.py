"""The page on gates: its Python runs, its commands too, and its workflow heeds the status."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
EVALUATE = """#!{python} -S
import sys
for line in sys.stdin:
    item = line.strip()
    print(f"{{item}},{{0 if item.endswith('7') else 1}}")
"""


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A script of the page, with the program `surest` of this Python."""
    command = folder / "surest"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m surest "$@"\n')
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "COMMIT": "4f2a9c", "GITHUB_SHA": "4f2a9c"}
    environment |= {"GITHUB_STEP_SUMMARY": str(folder / "step.md")}
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=200
    )


def write(path: Path, values: dict[str, int]) -> None:
    path.write_text("item,value\n" + "".join(f"{item},{value}\n" for item, value in values.items()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "baseline.csv", {f"q{i}": 1 for i in range(200)})
    write(tmp_path / "candidate.csv", {f"q{i}": int(i % 10 != 7) for i in range(200)})
    rows = [f"{arm},q{i},{value}\n" for i in range(40) for arm, value in (("v1", 0.5), ("v2", 0.5))]
    (tmp_path / "scores.csv").write_text("arm,item,value\n" + "".join(rows))
    return tmp_path


def test_the_commands_run(folder: Path) -> None:
    first, loop = blocks("sh")
    done = run(first, folder)
    assert [line[:4] for line in done.stdout.splitlines() if line[:4].isupper()] == ["FAIL", "PASS", "FAIL"], (
        done.stderr
    )
    assert (folder / "summary.md").read_text().startswith("**FAIL**")
    (folder / "evaluate").write_text(EVALUATE.format(python=sys.executable))
    (folder / "evaluate").chmod(0o755)
    done = run(loop, folder)
    assert done.returncode == 4, done.stderr
    one, two = done.stdout.splitlines()
    assert one == two
    assert re.match(r"FAIL: .* after (50|100|150) of 200 items", one)


def test_the_step_of_a_build(folder: Path) -> None:
    (script,) = re.findall(r"run: \|\n((?:    .*\n)+)", blocks("yaml")[0])
    done = run(script, folder)
    assert done.returncode == 4
    assert (folder / "step.md").read_text().startswith("**FAIL**")
    write(folder / "candidate.csv", {})
    done = run(script, folder)
    assert (done.returncode, "::warning::" in done.stdout) == (0, True)


def test_the_line_shown_is_what_the_example_prints(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "gate_in_a_test.py"), run_name="__main__")
    assert blocks("text")[0].strip() == capsys.readouterr().out.splitlines()[0].removeprefix("rewritten: ")
