"""The README's example runs, the commands it names exist, its links lead somewhere."""

import re

import numpy as np
import pytest

import surest
from surest.arms.instances import KINDS
from surest.cli import COMMANDS
from surest.lab.bench.suites import instances_of
from surest.lab.theory import UPPER_BOUNDS
from transcripts import ROOT, blocks

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_contributing_example_is_an_algorithm() -> None:
    (example,) = blocks(ROOT / "CONTRIBUTING.md", "python")
    names: dict[str, object] = {"surest": surest}
    exec(compile(example, "CONTRIBUTING.md", "exec"), names)
    procedure = names["larger_mean"](np.array([3, 5]), 0.05, times=10)
    assert next(procedure).total == 20
    with pytest.raises(StopIteration) as ended:
        procedure.send(np.array([0.2, 0.7]))
    assert ended.value.value == 5


BENCHED = [
    instance.name for suite in ("paper", "literature", "low-variance", "near-ties") for instance in instances_of(suite)
]


def test_every_command_and_source_that_a_page_names_exists() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert set(re.findall(r"`surest ([a-z]+)\b", text)) <= set(COMMANDS), page
        known = set(KINDS) | ({name.partition(":")[0] for name in BENCHED} if page.name == "benchmarks.md" else set())
        assert set(re.findall(r"`([a-z0-9-]+):[A-Z0-9]", text)) <= known, page


def test_the_theory_page_names_every_expression() -> None:
    text = (ROOT / "docs/data/theory-bounds.csv").read_text(encoding="utf-8")
    assert set(re.findall(r"^`([a-z-]+)`,", text, re.MULTILINE)) == set(UPPER_BOUNDS)
