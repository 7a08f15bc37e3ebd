"""Pages of calls in Python, and below each of them what is said: doctests that --snapshot-update writes anew."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest


def same_as_page(page: Path, said: Callable[[str], str], request: pytest.FixtureRequest) -> None:
    """Make the calls of a page, some of which have a name, once more: it has all that is said of them."""
    calls = re.findall("^((?:--- .+\n)?>>> (.+)\n)", page.read_text(encoding="utf-8"), re.MULTILINE)
    shown = "\n".join(f"{head}{said(call)}" for head, call in calls)
    if request.config.option.update_snapshots:
        page.write_text(shown, encoding="utf-8")
    assert shown == page.read_text(encoding="utf-8") != ""
