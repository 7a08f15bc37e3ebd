"""The steps of docs/adding-an-algorithm.md, followed literally in a copy: they pass, and what is left out is named."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from calling import Said, ran

ROOT = Path(__file__).parents[2]
STEPS = (ROOT / "docs" / "adding-an-algorithm.md").read_text(encoding="utf-8")
COPY, TRY = re.findall(r"```sh\n(.*?)```", STEPS, re.DOTALL)
(LINE,) = re.findall(r"```python\n(.*?)```", STEPS, re.DOTALL)
IN_COPY = """src docs examples tests/algorithms tests/agreement tests/evidence tests/statistical
tests/asking.py tests/calling.py tests/pages.py tests/waiting.py tests/one_pair.py"""
LEFT = shutil.ignore_patterns("__pycache__", "*.png", "*.svg", Path(__file__).name)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the project in which the steps have been followed."""
    for name in [*IN_COPY.split(), "pyproject.toml"]:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=LEFT)
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    subprocess.run(COPY, shell=True, check=True, cwd=tmp_path)
    return tmp_path


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    file.write_text(text.replace(old, new), encoding="utf-8")


def add_the_line(copy: Path) -> None:
    edit(copy / "src/surest/algorithms/__init__.py", "MODULES = {\n", "MODULES = {\n" + LINE)


def run(copy: Path, line: str) -> Said:
    """A line of the steps, with this Python and the copy's sources."""
    python, *words = shlex.split(line)
    assert python == "python"
    return ran(*words, "-q", "-p", "no:xdist", cwd=copy, env={"PYTHONPATH": f"{copy}/src", "PATH": "/usr/bin"})


def test_the_steps_pass(copy: Path) -> None:
    add_the_line(copy)
    status, out, _ = run(copy, TRY)
    assert status == 0, out
    assert re.search(r"\b[4-9] passed", out), out  # its facts, and what is in its own test
    found = ran("-m", "ruff", "check", "src/surest/lab/rivals", "tests/algorithms", cwd=copy)
    assert found.status == 0, found.out


LEFT_OUT = {  # what is forgotten, and the words that say so
    "field": ["missing 1 required positional argument: 'standing'"],
    "facts": [
        "my-algorithm: its entry has no summary that is a sentence",
        "no page proves it: name it in docs/rivals.md or write docs/algorithms/my-algorithm.md",
        "no test names it: write tests/algorithms/test_my_algorithm.py",
    ],
    "line": [
        'lab.rivals.my_algorithm has an entry \'my-algorithm\': add the line "my-algorithm": "lab.rivals.my_algorithm"'
    ],
}


@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_is_left_out_is_named(copy: Path, what: str) -> None:
    file = copy / "src/surest/lab/rivals/my_algorithm.py"
    text = file.read_text(encoding="utf-8")
    if what != "line":
        add_the_line(copy)
    if what == "field":
        file.write_text(re.sub(r"        standing=.*\n", "", text), encoding="utf-8")
    elif what == "facts":
        file.write_text(re.sub(r"summary=.*\n", 'summary="",\n', text), encoding="utf-8")
        edit(file, 'standing="heuristic"', 'standing="proven"')
        (copy / "tests/algorithms/test_my_algorithm.py").unlink()
    status, out, _ = run(copy, 'python -m pytest tests/algorithms/test_registry.py -k "my-algorithm or in_the_table"')
    assert status != 0
    for words in LEFT_OUT[what]:
        assert words in out, out
