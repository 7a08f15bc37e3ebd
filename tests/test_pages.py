"""Pages of each folder: what commands and calls in Python show, below each of them."""

from pathlib import Path

import pytest

from calling import Run
from pages import same_as_kept, write_files

PAGES = sorted(Path(__file__).parent.glob("*/pages/*.txt"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parts[-3]}/{page.stem}")
def test_what_a_page_shows(
    page: Path, run: Run, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")  # how long figures are that are not shown must not break lines
    write_files(page)
    same_as_kept(page, request, run)
