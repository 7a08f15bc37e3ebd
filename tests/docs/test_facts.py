"""What pages say of options, keys and figures is so."""

import re
from importlib import import_module

import click

import surest
from surest.cli import cli
from surest.core.problem import SETTINGS
from surest.core.question import KINDS
from transcripts import ROOT


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def test_the_options_are_those_of_the_command() -> None:
    command = cli.get_command(click.Context(cli), "identify")
    assert command is not None
    options = {name for parameter in command.params for name in parameter.opts if name.startswith("--")}
    told = set(re.findall(r"`(--[a-z-]+)", page("cli").split("## Options")[1].split("## What is printed")[0]))
    assert {"--shuffle", "--bounds"} <= told <= options | {"--debug", "--help"}
    assert set(re.findall(r"`(--[a-z-]+)", page("arms"))) <= options


def test_the_keys_are_those_of_the_object() -> None:
    table = page("cli").split("one object:")[1].split("Infinite")[0]
    keys = {key for cell in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for key in re.findall(r"`(\w+)`", cell)}
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


def test_every_question_has_its_option_on_the_page() -> None:
    for kind in KINDS:
        assert kind == "best" or (kind in SETTINGS and f"`--{kind} " in page("questions"))


def test_the_figures_of_the_examples_are_those_that_the_examples_print() -> None:
    """What the examples print is pinned in test_examples.py."""
    for figure in ("83 of 1,600 answers", "376 of 3,000 runs"):
        assert figure in re.sub(r"\s+", " ", page("items"))
