"""docs/paper.md and its table name files and tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper.md").read_text() + (ROOT / "docs" / "data" / "paper-evidence.csv").read_text()


def test_every_test_it_names_exists() -> None:
    sources = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*paper*.py"))
    defined = set(re.findall(r"def ((?:test|check)_\w+)", sources))
    named = re.findall(r"`((?:test|check)_\w+)(…?)", PAGE)
    assert len(named) > 20
    for name, shortened in named:
        if not name.startswith("test_paper"):  # these are files
            assert name in defined or (shortened and any(test.startswith(name) for test in defined)), name


def test_every_file_it_names_exists() -> None:
    places = [
        ROOT / "src/surest",
        ROOT / "src/surest/algorithms/paper",
        ROOT / "tests/agreement",
        ROOT / "tests/statistical",
    ]
    for name in re.findall(r"`([\w/]+\.py)`", PAGE):
        assert any((place / name).exists() for place in [ROOT, *places]), name
    for name in re.findall(r"\]\((img/[\w.-]+)\)", PAGE):
        assert (ROOT / "docs" / name).exists(), name
