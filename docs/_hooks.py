"""What the documentation site needs besides the pages in docs/: files of the repository's root, examples, lists of pages.

Links are written so that they work in the repository. The site has another layout: `relinked` translates them.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from surest.cli import cli

ROOT = Path(__file__).parents[1]
MOVED = {
    "README.md": "index.md",
    "docs/README.md": "pages.md",
    "docs/algorithms": "algorithms/index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    **{f"examples/{path.name}": f"examples/{path.stem}.md" for path in sorted((ROOT / "examples").glob("*.py"))},
    **{
        f"src/{path.name}": path.name for path in sorted((ROOT / "src").glob("surest_verify*.py"))
    },  # to be fetched as they are
}
"""Where files of the repository are in the site. What is in docs/ keeps its path, except for these."""


COMMANDS = """# Every command and option

This page is made from the program itself: it is what `surest COMMAND --help` prints. [The command line](cli.md) is the
contract for scripts.
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
        elif source.endswith(".py"):
            pages[target] = f"# {source}\n\n```python\n{(ROOT / source).read_text(encoding='utf-8')}```\n"
        elif source.endswith(".md"):
            pages[target] = relinked((ROOT / source).read_text(encoding="utf-8"), source)
    pages["algorithms/index.md"] = "# Algorithms\n\n" + "\n".join(map(_summary, _algorithms())) + "\n"
    pages["commands.md"] = f"{COMMANDS}\n" + "\n".join(_help(click.Context(cli, info_name="surest", terminal_width=80)))
    return pages


def _help(context: click.Context) -> Iterator[str]:
    """What ``--help`` prints of a command, and of all commands below it."""
    depth = len(context.command_path.split())
    yield f"{'#' * (depth + 1)} {context.command_path}\n\n```text\n{context.command.get_help(context)}\n```\n"
    group = context.command
    for name in group.list_commands(context) if isinstance(group, click.Group) else ():
        command = group.get_command(context, name)
        if command is not None:
            yield from _help(click.Context(command, context, name))


def _algorithms() -> list[Path]:
    return sorted((ROOT / "docs" / "algorithms").glob("*.md"))


def _summary(page: Path) -> str:
    title, _, text = page.read_text(encoding="utf-8").partition("\n")
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    return f"- [{title.removeprefix('# ')}]({page.name}): {relinked(paragraph, f'docs/algorithms/{page.name}')}"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of whole folders into the navigation."""
    names = {*generated(), *(f"algorithms/{page.name}" for page in _algorithms())}
    for section in config.nav or []:
        for pages in section.values():
            for entry in pages:
                for title, path in list(entry.items()) if isinstance(entry, dict) else []:
                    if path.endswith("/*"):
                        inside = {name for name in names if name.startswith(path[:-1])}
                        entry[title] = sorted(inside, key=lambda name: (not name.endswith("index.md"), name))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/; docs/README.md is one of them, since index.md takes its place."""
    readme = files.get_file_from_path("README.md")
    if readme is not None:
        files.remove(readme)
    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Translate the links of a page of docs/."""
    written_here = page.file.abs_src_path is not None and Path(page.file.abs_src_path).is_relative_to(ROOT / "docs")
    return relinked(markdown, f"docs/{page.file.src_uri}") if written_here else markdown
