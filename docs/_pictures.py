"""The pictures of the README and the tutorials, from real runs: `make pictures`.

Terminals become moving SVGs; pages of `surest report` and the output of notebooks are photographed by Chromium without a
window, whose program may be named in the variable CHROMIUM. The words and numbers are the same in each run; times differ.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
from _terminal import frames_of, moving_picture, recorded
from PIL import Image
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from transcripts import RUN, TUTORIALS, environment, in_shell, printed_by

ROOT = Path(__file__).parents[1]
IMG = ROOT / "docs" / "img"

ASK = """#!/bin/sh
# A stand-in for a language model and a judge: ask PROMPT SEED prints 1 if a random question was answered right, else 0
sleep 0.03
case $1 in plain) skill=40;; terse) skill=50;; steps) skill=85;; examples) skill=70;; esac
echo $(( $(printf '%s' "$1$2" | cksum | cut -d ' ' -f 1) % 100 < skill ))
"""
SEARCH = r"""surest identify --study prompts --workers 4 --seed 1 \
    --command 'plain=./ask plain {seed}' --command 'terse=./ask terse {seed}' \
    --command 'steps=./ask steps {seed}' \
    --command 'examples=./ask examples {seed}'"""
NOTEBOOK = """<style>{style}
body {{ margin: 16px; font: 15px/1.45 system-ui, "DejaVu Sans", sans-serif; }}
.cell {{ display: flex; gap: 14px; margin-bottom: 14px; }}
.cell > :first-child {{ flex: 0 0 46px; text-align: right; font-family: monospace; color: #307fc1; padding-top: 9px; }}
.cell > :last-child {{ flex: 1; }}
pre {{ margin: 0; }}
.code {{ background: #f5f5f5; border: 1px solid #ddd; padding: 8px 12px; }}
</style>
<div class="cell"><div>[2]:</div><div class="code">{code}</div></div>
<div class="cell"><div>[2]:</div><div>{output}</div></div>"""


def readme(folder: Path) -> None:
    """A search on the terminal, and the page on its result."""
    (folder / "ask").write_text(ASK)
    (folder / "ask").chmod(0o755)
    frames = frames_of(recorded(SEARCH, folder, environment(folder)), most=10)
    title = "surest identify: four prompts are tried until one is certified to be the best"
    (IMG / "terminal.svg").write_text(moving_picture(SEARCH, frames, title))
    in_shell("surest report prompts --output report.html", folder)
    photograph(folder / "report.html", IMG / "report.png", 1000, 550)


def notebook(folder: Path, names: dict[str, Any]) -> None:
    """What a notebook shows of a result."""
    code = RUN.findall(_page("notebook"))[1][1].replace("print(result)", "result")
    formatter = HtmlFormatter(style="default")
    page = folder / "notebook.html"
    output = names["result"]._repr_html_()
    page.write_text(
        NOTEBOOK.format(style=formatter.get_style_defs(), code=highlight(code, PythonLexer(), formatter), output=output)
    )
    photograph(page, IMG / "tutorial-notebook.png", 1000, 315)


def language_models(folder: Path, names: dict[str, Any]) -> None:
    """The page on the kept search."""
    in_shell("surest report arithmetic --storage sqlite:///prompts.db --output page.html", folder)
    photograph(folder / "page.html", IMG / "tutorial-language-models.png", 640, 525)


def ab_test(folder: Path, names: dict[str, Any]) -> None:
    """Intervals by version."""
    axes = names["result"].plot()
    _save(axes.figure, "tutorial-ab-test.png")


def shell(folder: Path, names: dict[str, Any]) -> None:
    """The live view of a search among commands."""
    command = RUN.findall(_page("shell"))[1][1].split("\necho")[0].replace("--quiet ", "")
    frames = frames_of(recorded(command, folder, environment(folder)), most=8)
    title = "surest identify: three commands are run until one is certified to be the best"
    (IMG / "tutorial-shell.svg").write_text(moving_picture(command, frames, title))


def simulation(folder: Path, names: dict[str, Any]) -> None:
    """Pulls of each algorithm."""
    command = RUN.findall(_page("simulation"))[2][1].split("--markdown")[0] + "--quiet --plot bench.png"
    in_shell(command, folder)
    _smaller(folder / "bench.png", IMG / "tutorial-simulation.png")


PICTURES: dict[str, Callable[[Path, dict[str, Any]], None]] = {
    "notebook": notebook,
    "shell": shell,
    "language-models": language_models,
    "ab-test": ab_test,
    "simulation": simulation,
}


def _page(name: str) -> str:
    return (ROOT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")


def _save(figure: Any, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        figure.savefig(f"{folder}/picture.png", dpi=130)
        _smaller(Path(folder, "picture.png"), IMG / name)
    plt.close("all")


def photograph(page: Path, picture: Path, width: int, height: int) -> None:
    """What a browser shows of the top of a page, for a light screen."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise SystemExit("Chromium is needed: install it, or name its program in the variable CHROMIUM")
    taken = page.with_suffix(".png")
    window = [f"--window-size={width},{height}", "--force-device-scale-factor=1.3", "--hide-scrollbars"]
    command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", *window, f"--screenshot={taken}"]
    subprocess.run([*command, page.as_uri()], check=True, capture_output=True, timeout=120)
    _smaller(taken, picture)


def _smaller(taken: Path, picture: Path) -> None:
    """The same picture in 128 colours, which is a third of the size."""
    Image.open(taken).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(picture, optimize=True)


def main(wanted: list[str]) -> None:
    """Make all pictures, or those of the pages that are named."""
    for name in wanted or ["readme", *PICTURES]:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            if name == "readme":
                readme(Path(folder))
                continue
            names: dict[str, Any] = {}
            (page,) = (page for page in TUTORIALS if page.stem == name)
            list(printed_by(page, Path(folder), names))
            plt.close("all")
            PICTURES[name](Path(folder), names)


if __name__ == "__main__":
    main(sys.argv[1:])
