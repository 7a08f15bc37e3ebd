"""What the documentation site needs besides the pages in docs/: files of the repository's root, examples, lists of pages.

Links are written so that they work in the repository. The site has another layout: `relinked` translates them.
"""

import csv
import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from surest.algorithms import all_entries
from surest.cli import cli
from surest.server.api import ENDPOINTS
from surest.server.endpoints import Endpoint
from surest.server.openapi import plain_path

sys.path.insert(0, str(Path(__file__).parent))
import _benchmarks

ROOT = Path(__file__).parents[1]
MOVED = {
    "README.md": "index.md",
    "docs/algorithms": "algorithms/index.md",
    "docs/data/benchmarks": "benchmarks/index.md",
    "src/surest/cli": "commands.md",
    "src/surest/server": "http.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    **{f"examples/{path.name}": f"examples/{path.stem}.md" for path in sorted((ROOT / "examples").glob("*.*"))},
    **{
        f"examples/cluster/{path.name}": f"examples/{path.stem}.md"
        for path in sorted((ROOT / "examples/cluster").iterdir())
    },
    "src/surest_verify.py": "surest_verify.py",  # to be fetched as it is
}
"""Where files of the repository are in the site. What is in docs/ keeps its path, except for these."""


BOOST = {"faq.md": 10.0, "money.md": 3.0, "questions.md": 2.0, "quickstart.md": 2.0, "install.md": 2.0}
"""Pages that the site's search shows first."""
SINK = (
    "algorithms/",
    "benchmarks",
    "changelog.md",
    "contributing.md",
    "examples/",
    "reliability.md",
    "security.md",
    "tutorials/",
)
"""Pages that it shows after the others: they are long, or not what a newcomer asks for."""

COMMANDS = """# Every command and option

This page is made from the program itself: it is what `surest COMMAND --help` prints. [The command line](cli.md) is the
contract for scripts.
"""

ALGORITHMS = """# Algorithms

This page is made from the registry; `surest algorithms` prints the same. A *proven* algorithm is wrong with probability
at most δ, for all rewards in [0, 1]: it names the best arm, one within ε of it (goal "ε-optimal arm"), or either as
asked ("either"). One with a *fixed budget* answers when the budget is spent and certifies nothing. A *heuristic* has no
proof. In a *reconstruction* some constant is uncertain. [The paper](../paper.md) and [Rivals](../rivals.md) have
constants and proofs, [Benchmarks](../benchmarks.md) the measurements.

The default is [Wager](../wager.md), or one of its relatives for [other questions](../questions.md) and
[lists of items](../items.md). Most others are here to be compared with: no proven one needs fewer pulls in the
benchmarks. The fixed-budget ones are for a number of pulls that is given: sequential-halving with many arms,
successive-rejects otherwise."""


HTTP = """# Every request of the service

This page is made from the program itself; the OpenAPI document is at `/openapi.json`. A name in an address is
percent-encoded, slashes too. [A service](service.md) explains roles, errors and what workers send.

| request | role | does | body |
|---|---|---|---|
"""


def place(path: str) -> str:
    """Where a file of the repository is in the site.

    >>> place("docs/items.md"), place("CHANGELOG.md")
    ('items.md', 'changelog.md')
    """
    return MOVED.get(path) or path.removeprefix("docs/")


def relinked(text: str, source: str) -> str:
    """The text of a page with its links as the site needs them; the source is the page's path in the repository.

    >>> relinked("[a](../examples/medoid.py), [b](https://example.org)", "docs/arms.md")
    '[a](examples/medoid.md), [b](https://example.org)'
    """
    folder = posixpath.dirname(place(source))

    def link(found: re.Match[str]) -> str:
        target, anchor = found[1], found[2] or ""
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        return f"]({posixpath.relpath(place(path), folder or '.')}{anchor})"

    return re.sub(r"\]\(([^)#\s]+)(#[^)\s]*)?\)", link, text)


def generated() -> dict[str, str]:
    """The pages and files that are not in docs/, by their path in the site."""
    pages = {}
    for source, target in MOVED.items():
        if target.endswith(".py"):
            pages[target] = (ROOT / source).read_text(encoding="utf-8")
        elif source.startswith("examples/"):
            language = Path(source).suffix[1:]
            pages[target] = f"# {source}\n\n```{language}\n{(ROOT / source).read_text(encoding='utf-8')}```\n"
        elif source.endswith(".md"):
            pages[target] = relinked((ROOT / source).read_text(encoding="utf-8"), source)
    pages |= _benchmarks.pages()
    pages["algorithms/index.md"] = _algorithms()
    pages["commands.md"] = f"{COMMANDS}\n" + "\n".join(_help(click.Context(cli, info_name="surest", terminal_width=80)))
    pages["http.md"] = HTTP + "".join(map(_request, ENDPOINTS))
    return pages


def _request(endpoint: Endpoint) -> str:
    address = plain_path(endpoint.path) + "".join(f"?{name}=" for name, _ in endpoint.query)
    forms = get_args(endpoint.body) or (endpoint.body,)
    fields = dict.fromkeys(field for form in forms for field in getattr(form, "__struct_fields__", ()))
    cells = (f"`{endpoint.method} {address}`", endpoint.role or "everybody", endpoint.summary, ", ".join(fields))
    return "| " + " | ".join(cells) + " |\n"


def _help(context: click.Context) -> Iterator[str]:
    """What ``--help`` prints of a command, and of all commands below it."""
    depth = len(context.command_path.split())
    yield f"{'#' * (depth + 1)} {context.command_path}\n\n```text\n{context.command.get_help(context)}\n```\n"
    group = context.command
    for name in group.list_commands(context) if isinstance(group, click.Group) else ():
        command = group.get_command(context, name)
        if command is not None:
            yield from _help(click.Context(command, context, name))


def _algorithms() -> str:
    """The page of all algorithms, made from their entries, with links to those that have a page of their own."""
    parts = [ALGORITHMS]
    for entry in all_entries():
        said = [f"## {entry.name}", entry.summary]
        facts = {"Goal": entry.goal, "Standing": entry.standing, "Reference": _reference(entry.reference)}
        facts |= {"Also": "; ".join(entry.traits)} if entry.traits else {}
        facts |= {f"Option `{name}`": option.meaning for name, option in (entry.options or {}).items()}
        said.append("\n".join(f"- **{fact}**: {words}" for fact, words in facts.items()))
        if (ROOT / "docs" / "algorithms" / f"{entry.name}.md").exists():
            said.append(f"[More on {entry.name}]({entry.name}.md): what is proved, recalled, assumed and measured.")
        parts += said
    return "\n\n".join(parts) + "\n"


def _reference(text: str) -> str:
    if not text.startswith("docs/"):
        return text
    return f"[its proof](../{text.removeprefix('docs/')})"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of whole folders into the navigation."""
    names = {*generated(), *(f"algorithms/{page.name}" for page in (ROOT / "docs" / "algorithms").glob("*.md"))}
    for section in config.nav or []:
        for pages in section.values():
            for entry in pages:
                for title, path in list(entry.items()) if isinstance(entry, dict) else []:
                    if path.endswith("/*"):
                        inside = {name for name in names if name.startswith(path[:-1])}
                        entry[title] = sorted(inside, key=lambda name: (not name.endswith("index.md"), name))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    return files


def tabled(text: str, folder: Path) -> str:
    """The text with the rows of a file in place of each line ``[Table: caption](file.csv)``."""

    def table(found: re.Match[str]) -> str:
        with (folder / found[2]).open(encoding="utf-8", newline="") as file:
            head, *rows = [[_short(cell) for cell in row] for row in csv.reader(file)]
        lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
        return f"*{found[1]}* ([CSV]({found[2]}))\n\n" + "\n".join(lines)

    return re.sub(r"^\[Table: ([^]]+)\]\(([^)]+\.csv)\)$", table, text, flags=re.MULTILINE)


def _short(cell: str) -> str:
    """A long number with four digits; a bar in a cell does not end it."""
    return f"{float(cell):.4g}" if re.fullmatch(r"\d+\.\d{5,}|\d{8,}(\.\d+)?", cell) else cell.replace("|", "\\|")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in the tables and translate the links of a page of docs/; rank it for the search."""
    name = page.file.src_uri
    page.meta.setdefault("search", {"boost": BOOST.get(name, 0.5 if name.startswith(SINK) else 1.0)})
    source = Path(page.file.abs_src_path) if page.file.abs_src_path is not None else None
    if source is None or not source.is_relative_to(ROOT / "docs"):
        return markdown
    return relinked(tabled(markdown, source.parent), f"docs/{page.file.src_uri}")
