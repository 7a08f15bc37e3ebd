"""The documentation site: it builds without a warning, fetches nothing, and shows all names and commands."""

import importlib
import os
import re
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import click
import pytest

import surest
from browsing import Browser, needs_browser
from calling import ran
from surest.algorithms import REGISTRY
from surest.cli import COMMANDS
from surest.cli.study import study
from surest.server.api import ENDPOINTS
from surest.server.openapi import plain_path

ROOT = Path(__file__).parents[2]


def build(folder: Path) -> None:
    """Strict: a link or an anchor that leads nowhere, or a page that is not in the navigation, ends the build."""
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    said = ran("-m", "mkdocs", "build", "--strict", "--site-dir", folder, cwd=ROOT, env=environment)
    assert said.status == 0, "\n".join(line for line in said.err.splitlines() if "INFO" not in line)


@pytest.fixture
def site(made_once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    return made_once("site", build)


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def test_every_page_is_there(site: Path) -> None:
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs).with_suffix(".html")) for page in docs.rglob("*.md")}
    pages |= {"index.html", "contributing.html", "changelog.html", "security.html"}
    pages |= {f"examples/{path.stem}.html" for path in (ROOT / "examples").glob("*.py")}
    pages |= {f"benchmarks/{path.stem}.html" for path in (docs / "data/benchmarks").glob("*.csv")}
    assert [page for page in sorted(pages) if not (site / page).is_file()] == []
    assert {path.name for path in site.rglob("*.py")} == {"surest_verify.py"}


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*\ssrc=[\"']?([^\"'\s>]+)", text(page))
        loaded += re.findall(r"<link[^>]*\shref=[\"']?([^\"'\s>]+)", text(page))
        assert len(loaded) >= 2
        assert [address for address in loaded if re.match(r"(https?:)?//", address)] == [], page
    assert not [sheet for sheet in site.rglob("*.css") if re.search(r"url\([\"']?(https?:)?//", text(sheet))]


SUBCOMMANDS = [f"study-{name}" for name in study.list_commands(click.Context(study))]
DESCRIBED = {
    "api": [
        *(f'id="surest.{name}"' for name in surest.__all__ if name != "__version__"),
        str(surest.identify.__doc__).split("`")[0].strip(),
    ],
    "commands": ["--suggest K", *(f'id="surest-{name}"' for name in (*COMMANDS, *SUBCOMMANDS))],
    "http": ["held", *(f"<code>{endpoint.method} {plain_path(endpoint.path)}" for endpoint in ENDPOINTS)],
    "algorithms/index": [f'id="{name}"' for name in REGISTRY],
}
"""What a page must have: each public name, command, request of the service and algorithm."""


def test_all_that_there_is_is_described(site: Path) -> None:
    for page, names in DESCRIBED.items():
        shown = text(site / f"{page}.html")
        assert len(names) > 15
        assert [one for one in names if one not in shown] == []


def test_the_page_on_benchmarks_quotes_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")
    made = " ".join(importlib.import_module("_benchmarks").pages()["benchmarks/index.md"].split())
    findings = text(ROOT / "docs/benchmarks.md").partition("## Findings")[2].partition("## How to read")[0]
    quoted = [" ".join(line.split()) for line in re.findall(r"^(?:- |\| `).*(?:\n  .*)*", findings, re.MULTILINE)]
    assert len(quoted) > 12
    assert [line for line in quoted if line.removeprefix("- ") not in made] == []
    assert "peeking-z-test on `bernoulli:0.5,0.49` (35 of 100 at δ = 0.1)" in made


class Quiet(SimpleHTTPRequestHandler):
    """Files over HTTP, without a line for each."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


TYPE = """const box = document.querySelector('.md-search__input');
box.focus(); box.value = arguments[0]; box.dispatchEvent(new Event('keyup'))"""
FIRST = "return [...(document.querySelector('.md-search-result__item')?.querySelectorAll('a') ?? [])].map(a => a.href)"
FOUND = {
    "price": "faq.html#what-is-the-price",
    "how many": "faq.html#how-many-evaluations",
    "resume after crash": "faq.html#how-do-i-resume",
    "which test": "faq.html#which-test",
    "optuna": "integrations.html",
    "slurm": "cluster.html",
    "install": "install.html",
    "report": "reports.html",
}


@needs_browser
def test_a_search_finds_the_right_page_first(site: Path, chromium: Any) -> None:
    """In a browser on the site's front page, served as a web server would."""
    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        opened = Browser(chromium)
        opened.open(f"http://127.0.0.1:{server.server_port}/index.html")
        links = lambda: [re.sub(r"\?[^#]*", "", link) for link in opened.script(FIRST)]  # noqa: E731
        for words, page in FOUND.items():
            opened.script(TYPE, words)
            opened.wait(lambda page=page: any(f"/{page}" in link for link in links()), f"{page} comes first")
        server.shutdown()
