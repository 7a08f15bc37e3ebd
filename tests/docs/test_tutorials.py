"""The tutorials: what a page says is printed is what its code and its commands print.

Where output has changed, and is right, `python tests/docs/test_tutorials.py` writes it into the pages.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("agg")
import matplotlib.pyplot as plt

import surest

PAGES = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*.md"))


RUN = re.compile(r"^```(python|sh)\n(.*?)^```\n\n```text\n(.*?)^```", re.DOTALL | re.MULTILINE)
"""Code or commands, and below them what they print."""


def printed_by(page: Path, folder: Path) -> Iterator[str]:
    """What each block of a page prints; later blocks know the names, or the files, of earlier ones."""
    names: dict[str, object] = {"__name__": "__main__"}
    for language, code, _ in RUN.findall(page.read_text(encoding="utf-8")):
        yield in_python(code, names) if language == "python" else in_shell(code, folder)


def tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


def without_seconds(text: str) -> str:
    return re.sub(r"\b\d+(\.\d+)? s\b", "… s", tidy(text))


def in_python(code: str, names: dict[str, object]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "a tutorial", "exec"), names)
    plt.close("all")
    return printed.getvalue()


def in_shell(code: str, folder: Path) -> str:
    """Run a script where `surest` and `python` are those that run this test."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    for name, arguments in (("surest", " -m surest"), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable}{arguments} "$@"\n')
        (programs / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(surest.__file__).parents[1]),
        "COLUMNS": "100",
    }
    done = subprocess.run(
        ["bash", "-c", code], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_is_one_for_each_kind_of_user() -> None:
    assert [page.stem for page in PAGES] == ["ab-test", "language-models", "notebook", "shell", "simulation"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_printed_stands_on_the_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    promised = [block for _, _, block in RUN.findall(text)]
    assert len(promised) == len(re.findall(r"^```(?:python|sh)$", text, re.MULTILINE)) >= 3
    for block, printed in zip(promised, printed_by(page, tmp_path), strict=True):
        assert without_seconds(printed) == without_seconds(block)


def write(page: Path) -> None:
    """Put what is printed now into the page."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        now = printed_by(page, Path(folder))
        text = RUN.sub(
            lambda block: f"```{block[1]}\n{block[2]}```\n\n```text\n{tidy(next(now))}```",
            page.read_text(encoding="utf-8"),
        )
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for page in PAGES:
        write(page)
