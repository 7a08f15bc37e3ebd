"""The README's example runs, the commands it names exist, its links lead somewhere."""

import re
import shlex
from pathlib import Path

import click
import pytest

from surest.arms.instances import KINDS
from surest.bench.suites import instances_of
from surest.cli import COMMANDS, cli

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    examples = blocks(ROOT / "README.md", "python")
    assert len(examples) == 2
    for example, best in zip(examples, ("step by step", "large button"), strict=True):
        assert len(example.strip().splitlines()) <= 12
        names: dict[str, object] = {}
        exec(compile(example, "README.md", "exec"), names)
        assert capsys.readouterr().out.startswith(f"{best} True ")
        assert names["result"].pulls > 0


def test_the_contributing_example_is_an_algorithm() -> None:
    import numpy as np

    import surest

    (example,) = blocks(ROOT / "CONTRIBUTING.md", "python")
    names: dict[str, object] = {"surest": surest}
    exec(compile(example, "CONTRIBUTING.md", "exec"), names)
    procedure = names["larger_mean"](np.array([3, 5]), 0.05, times=10)
    assert next(procedure).total == 20
    with pytest.raises(StopIteration) as ended:
        procedure.send(np.array([0.2, 0.7]))
    assert ended.value.value == 5


def commands(page: Path) -> list[list[str]]:
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.strip()]


def test_the_commands_exist_with_their_options() -> None:
    found = commands(ROOT / "README.md")
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert ["make", "run"] in found
    assert ["make", "test"] in found
    for words in found:
        if words[0] == "make":
            assert words[1] in targets
            continue
        assert words[0] == "surest"
        command = cli.get_command(click.Context(cli), words[1])
        assert command is not None
        options = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options
    assert {words[1] for words in found if words[0] == "surest"} >= {"identify", "bounds", "algorithms"}


BENCHED = [
    instance.name for suite in ("paper", "literature", "low-variance", "near-ties") for instance in instances_of(suite)
]


def test_every_command_and_source_that_a_page_names_exists() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert set(re.findall(r"`surest ([a-z]+)\b", text)) <= set(COMMANDS), page
        known = set(KINDS) | ({name.partition(":")[0] for name in BENCHED} if page.name == "benchmarks.md" else set())
        assert set(re.findall(r"`([a-z0-9-]+):[A-Z0-9]", text)) <= known, page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_theory_page_names_every_expression() -> None:
    from surest.theory.upper_bounds import UPPER_BOUNDS

    text = (ROOT / "docs/theory.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)) == set(UPPER_BOUNDS)
