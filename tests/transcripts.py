"""Pages with code or commands and, below each block, what it prints: run by tests, and by the script that makes pictures."""

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import surest

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
RUN = re.compile(r"^```(python|sh)\n(.*?)^```\n\n```text\n(.*?)^```", re.DOTALL | re.MULTILINE)
"""Code or commands, and below them what they print."""


def printed_by(page: Path, folder: Path, names: dict[str, object] | None = None) -> Iterator[str]:
    """What each block of a page prints; later blocks know the names, or the files, of earlier ones.

    Python runs in the working folder of this process, commands in `folder`; what Python defines goes to `names`.
    """
    names = {} if names is None else names
    names["__name__"] = "__main__"
    for language, code, _ in RUN.findall(page.read_text(encoding="utf-8")):
        yield in_python(code, names) if language == "python" else in_shell(code, folder)


def in_python(code: str, names: dict[str, object]) -> str:
    """Run code as a script would, and return what it prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "a tutorial", "exec"), names)
    return printed.getvalue()


def in_shell(code: str, folder: Path) -> str:
    """Run commands in a folder, and return what they print on standard output."""
    done = subprocess.run(
        ["bash", "-c", code], cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of a page in some language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def environment(folder: Path) -> dict[str, str]:
    """Variables under which `surest` and `python` are those that run this."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    for name, arguments in (("surest", " -m surest"), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable}{arguments} "$@"\n')
        (programs / name).chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(surest.__file__).parents[1]),
        "COLUMNS": "88",
    }
