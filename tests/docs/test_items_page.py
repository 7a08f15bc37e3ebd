"""The page on lists of items: its Python runs, and its commands too."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import surest

PAGE = (Path(__file__).parents[2] / "docs" / "items.md").read_text(encoding="utf-8")
ASK = """#!{python} -S
import sys
text = sys.argv[2] if len(sys.argv) > 2 else sys.stdin.read()
print(0.9 if sys.argv[1] == "--kind" else 0.1 * ("question" in text))
"""


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = blocks("python")
    exec(compile(block, "docs/items.md", "exec"), {})
    best, certified, evaluations, _ = capsys.readouterr().out.split(maxsplit=3)
    assert (best, certified) == ("kind", "True")
    assert int(evaluations) < 800


def test_the_commands_run(tmp_path: Path) -> None:
    (block,) = blocks("sh")
    script = tmp_path / "ask"
    script.write_text(ASK.format(python=sys.executable))
    script.chmod(0o755)
    (tmp_path / "questions.txt").write_text("".join(f"question {i}\n" for i in range(30)))
    rows = [f"{arm},q{i},{value}\n" for i in range(40) for arm, value in (("terse", 0.1), ("kind", 0.9))]
    table = tmp_path / "scores.csv"
    environment = {**os.environ, "PYTHONPATH": str(Path(surest.__file__).parents[1])}
    found = []
    for command in re.findall(r"^surest .*?(?<!\\)$", block, re.DOTALL | re.MULTILINE):
        gaps = "--suggest" in command
        table.write_text("arm,item,value\n" + "".join(row.rsplit(",", 1)[0] + ",\n" if gaps else row for row in rows))
        line = command.replace("surest", f"{sys.executable} -m surest", 1)
        done = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        found.append((done.returncode, done.stdout.split("\n")[0][:33]))
    assert found == [
        (0, "Arm kind has the best mean on the"),
        (3, "arm,item"),
        (0, "Arm kind has the best mean on the"),
    ]


def test_the_figures_of_the_examples_are_those_that_the_examples_print() -> None:
    """What the examples print is pinned in test_examples.py."""
    for figure in ("83 of 1,600 answers", "376 of 3,000 runs"):
        assert figure in re.sub(r"\s+", " ", PAGE)
