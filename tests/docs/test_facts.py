"""What pages say of options, keys and figures is so."""

import csv
import re
import shlex
import tomllib
from importlib import import_module

import click
import numpy as np
import pytest

import surest
from statistical.test_fastest import IN_MANY_RUNS
from surest.arms.instances import KINDS as SOURCES
from surest.cli import COMMANDS, cli
from surest.core.problem import SETTINGS
from surest.core.question import KINDS
from surest.lab.bench.suites import instances_of
from surest.lab.theory import UPPER_BOUNDS
from surest.server import app, server
from surest.server.limits import Limits
from surest.server.tokens import ROLES
from surest.speed.cli import fastest
from transcripts import ROOT, blocks

PAPER = (ROOT / "docs" / "paper.md").read_text() + (ROOT / "docs" / "data" / "paper-evidence.csv").read_text()


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def table(name: str) -> list[list[str]]:
    """The rows of a table of a page, without its head."""
    return list(csv.reader((ROOT / "docs" / "data" / f"{name}.csv").read_text(encoding="utf-8").splitlines()))[1:]


def test_the_options_are_those_of_the_command() -> None:
    command = cli.get_command(click.Context(cli), "identify")
    assert command is not None
    options = {name for parameter in command.params for name in parameter.opts if name.startswith("--")}
    told = set(re.findall(r"`(--[a-z-]+)", page("cli").split("## Options")[1].split("## What is printed")[0]))
    assert {"--shuffle", "--bounds"} <= told <= options | {"--debug", "--help"}
    assert set(re.findall(r"`(--[a-z-]+)", page("arms"))) <= options


def test_the_keys_are_those_of_the_object() -> None:
    keys = {key for cell, _ in table("cli-json") for key in re.findall(r"`(\w+)`", cell)}
    assert keys == {*surest.identify([lambda: 1], cost=1).to_dict(), "estimated"}


def test_the_public_surface_is_one_page() -> None:
    """Every public name, and all that pages and examples import, is listed; what is listed is there and documented."""
    listed = re.findall(r"^::: surest\.(\S+)$", page("api"), re.MULTILINE)
    own = [name for name in listed if "." not in name]
    assert sorted(own) == sorted(name for name in surest.__all__ if not name.startswith("__"))
    for name in listed:
        module, _, leaf = f"surest.{name}".rpartition(".")
        assert getattr(import_module(module), leaf).__doc__, name
    texts = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md", *ROOT.glob("examples/*.py")]
    for text in texts:
        for module, names in re.findall(r"from surest([.\w]*) import ([\w, ]+)", text.read_text(encoding="utf-8")):
            for name in names.replace(" ", "").split(","):
                full = f"{module}.{name}".removeprefix(".")
                assert any(known == full or known.startswith(f"{full}.") for known in listed), (text, full)


def test_the_layers_are_those_that_imports_are_held_to() -> None:
    """In the same order; a row may stand for several layers of its folder."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    row_of = {name: k for k, (cell, _) in enumerate(table("layers")) for name in re.findall(r"`([\w.]+)`", cell)}
    names = [name for layer in contract["layers"] for name in re.findall(r"[\w.]+", layer)]
    found = [row_of[name if name in row_of else name.split(".")[0]] for name in names]
    assert found == sorted(found)
    assert set(found) == set(row_of.values())


def test_every_extra_is_listed() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {row[0].strip("`") for row in table("install-extras")} == set(extras)


def test_every_question_has_its_option_on_the_page() -> None:
    for kind in KINDS:
        assert kind == "best" or (kind in SETTINGS and f"`--{kind} " in page("questions"))


def test_the_figures_of_the_examples_are_those_that_the_examples_print() -> None:
    """What the examples print is pinned in test_examples.py."""
    for figure in ("83 of 1,600 answers", "376 of 3,000 runs"):
        assert figure in re.sub(r"\s+", " ", page("items"))


def test_the_options_of_fastest_are_those_of_the_command() -> None:
    known = {name for parameter in fastest.params for name in parameter.opts if name.startswith("-")}
    part = page("fastest").split("## Options")[1].split("- Missing:")[0]
    named = set(re.findall(r"`(--[a-z][a-z-]+)`", part))
    assert len(named) >= 9
    assert named <= known
    for line in blocks(ROOT / "docs" / "fastest.md", "sh")[0].splitlines():
        words = shlex.split(line)
        assert words[:2] == ["surest", "fastest"]
        assert {word for word in words if word.startswith("-")} <= known


def test_the_figures_of_fastest_are_those_that_are_pinned() -> None:
    counts = [tuple(int(cell.split()[0]) for cell in row[1:]) for row in table("fastest-errors")]
    assert counts == list(IN_MANY_RUNS.values())


def test_every_test_that_the_page_on_the_paper_names_exists() -> None:
    sources = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*paper*.py"))
    defined = set(re.findall(r"def ((?:test|check)_\w+)", sources))
    named = re.findall(r"`((?:test|check)_\w+)(…?)", PAPER)
    assert len(named) > 20
    for name, shortened in named:
        if not name.startswith("test_paper"):  # these are files
            assert name in defined or (shortened and any(test.startswith(name) for test in defined)), name


def test_every_file_that_the_page_on_the_paper_names_exists() -> None:
    places = [ROOT / name for name in ("src/surest", "src/surest/lab/paper", "tests/agreement", "tests/statistical")]
    for name in re.findall(r"`([\w/]+\.py)`", PAPER):
        assert any((place / name).exists() for place in [ROOT, *places]), name
    for name in re.findall(r"\]\((img/[\w.-]+)\)", PAPER):
        assert (ROOT / "docs" / name).exists(), name


def test_limits_and_roles_of_the_service_are_those_of_the_code() -> None:
    limits, listed = Limits(), table("service-limits")
    figures = {
        "a request's body": f"{limits.body >> 20} MiB; {limits.upload >> 20} MiB",
        "headers; an address": f"{app.LARGEST_HEADERS:,} bytes; {app.LONGEST_PATH:,} characters",
        "time for the head": f"{limits.header_seconds:g} s; {limits.body_seconds:g} s",
        "requests a second": f"{limits.rate:,.0f}",
        "requests a second without a token": f"{limits.stranger_rate:g}, ",
        "connections": f"{limits.connections:,}, ",
        "a connection without a request": f"{server.KEEP_ALIVE_SECONDS} s; {server.STRANGERS_SECONDS} s",
        "browsers that watch": f"{limits.listeners}; {limits.listeners_each} ",
        "`ask` that waits": f"{limits.wait:g} s",
    }
    for what, figure in figures.items():
        assert any(row.startswith(what) and most.startswith(figure) for row, most in listed), what
    assert (50 * limits.wrong_tokens, [role for role in ROLES if f"| `{role}` |" not in page("service")]) == (10, [])


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
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"`surest ([a-z]+)\b", text)) <= set(COMMANDS), path
        benched = {name.partition(":")[0] for name in BENCHED} if path.name in ("benchmarks.md", "wager.md") else set()
        assert set(re.findall(r"`([a-z0-9-]+):[A-Z0-9]", text)) <= set(SOURCES) | benched, path


def test_the_theory_page_names_every_expression() -> None:
    assert {row[0].strip("`") for row in table("theory-bounds")} == set(UPPER_BOUNDS)
