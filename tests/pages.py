"""Pages: commands and Python, and below each what it shows. --snapshot-update writes that anew.

`$ surest …` is a command, `$ cat …` shows a file, `>>> …` is Python as in a doctest. After a line `--- …` nothing is known but
what the test gives.
"""

import contextlib
import io
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

import pytest

from calling import Run, steady
from surest.errors import SurestError

ASKED = re.compile(r"^(\n?)(?:(--- .+\n)|\$ (?:surest ?)?(.*)\n|(>>> .*\n(?:\.\.\.(?: .*)?\n)*))", re.MULTILINE)


def same_as_kept(
    page: Path,
    request: pytest.FixtureRequest,
    run: Run | None = None,
    names: dict[str, Any] | None = None,
    *,
    show: Callable[[Any], str] = repr,
    mistaken: bool = False,
    instead: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Carry out a page once more: it has all that is shown, with other words instead of some.

    Where it is `mistaken`, each line is a mistake of its user.
    """
    shown, known = "", dict(names or {})
    for blank, heading, line, code in ASKED.findall(page.read_text(encoding="utf-8")):
        shown = f"{shown.rstrip()}\n{blank}".lstrip()
        if heading:
            shown, known = shown + heading, dict(names or {})
        elif code:
            shown += code + said(code, known, show, mistaken)
        else:
            assert run is not None
            shown += transcript(run, line, mistaken=mistaken)
    shown = f"{shown.rstrip()}\n"
    for words, others in instead.items():
        shown = shown.replace(words, others)
    if request.config.option.update_snapshots:
        page.write_text(shown, encoding="utf-8")
    assert shown == page.read_text(encoding="utf-8")


def write_files(page: Path) -> None:
    """Write what stands beside a page: after each line `--- NAME`, what that file has."""
    beside = page.with_suffix(".files")
    parts = re.split(r"^--- (.+)\n", beside.read_text(), flags=re.MULTILINE)[1:] if beside.exists() else []
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        Path(name).write_text(text)


def transcript(run: Run, *lines: str, mistaken: bool = False) -> str:
    """What a terminal shows of some commands, with every status that is not 0. None has a traceback."""
    shown = []
    for line in lines:
        if line.startswith("cat "):
            shown += [f"$ {line}\n", Path(line.removeprefix("cat ")).read_text(encoding="utf-8")]
            continue
        status, out, err = run(line)
        assert "Traceback" not in err, err
        assert not mistaken or (status, out, bool(err)) == (2, "", True), (line, status, out, err)
        told = "" if mistaken or not status else f"status {status}\n"
        shown += [f"$ surest {line}".rstrip() + "\n", out, err, told]
    return steady("".join(shown))


def said(code: str, names: dict[str, Any], show: Callable[[Any], str], mistaken: bool) -> str:
    """What a statement prints, the value of an expression, or the error."""
    statement, told = re.sub(r"^(>>>|\.\.\.) ?", "", code, flags=re.MULTILINE), io.StringIO()
    with contextlib.redirect_stdout(told), patch.object(sys, "displayhook", lambda it: it is None or print(show(it))):
        try:
            exec(compile(statement, "a page", "single"), names)
        except Exception as error:
            if type(error) in (AssertionError, NameError):  # of the page itself
                raise
            print(f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ()), sep="\n")
            ours = isinstance(error, SurestError)
        else:
            ours = False
    assert not mistaken or (ours, told.getvalue().count("\n")) == (True, 1), f"no mistake told in a line: {statement}"
    return steady(told.getvalue())
