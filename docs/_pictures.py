"""The pictures of the README, the tutorials and the service, from real runs: `make pictures`.

Terminals become moving SVGs; pages of `surest report` and the output of notebooks are photographed by Chromium without a
window, whose program may be named in the variable CHROMIUM. The words and numbers are the same in each run; times differ.
"""

import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from html import escape
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

import surest
from browsing import Browser, driven
from transcripts import RUN, TUTORIALS, environment, in_shell, printed_by
from visiting import serving

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


RACE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 {height}" width="600"
  font-family="Inter, system-ui, sans-serif">
<title>{title}</title>
<style>
  text {{ fill: #24292f; font-size: 11px }}
  .quiet {{ fill: #656d76 }}
  .track {{ fill: #eaeef2 }}
  .bar {{ fill: #7aa6c8; transform-box: fill-box; transform-origin: left; animation: grow linear backwards }}
  .best {{ fill: #c24e00 }}
  .bold {{ font-weight: 600 }}
  .said {{ animation: appear 0.6s {end:.2f}s backwards }}
  .said text {{ font-size: 13px }}
  .said .large {{ font-size: 16px; font-weight: 650 }}
  @keyframes grow {{ from {{ transform: scaleX(0); fill: #0072b2 }} 99% {{ fill: #0072b2 }} }}
  @keyframes appear {{ from {{ opacity: 0 }} }}
  @media (prefers-color-scheme: dark) {{
    text {{ fill: #e6edf3 }}
    .quiet {{ fill: #9198a1 }}
    .track {{ fill: #262c36 }}
    .bar {{ fill: #4d7391 }}
    .best {{ fill: #f0883e }}
  }}
  @media (prefers-reduced-motion: reduce) {{ * {{ animation: none !important }} }}
</style>
{rows}
<g class="said"><text class="large best" x="4" y="{verdict}">{best} is the best of {arms} models.</text>
<text x="4" y="{below}">Wrong with probability at most 0.05, after {done:,} of {cells:,}</text>
<text x="4" y="{last}">evaluations ({share:.1f} %). Grey is what nobody had to evaluate.</text></g>
</svg>
"""
TABLE = ROOT.parent / "shared" / "data" / "items" / "lcb_execution_cot.csv.gz"
"""Scores of 31 models on 479 problems of LiveCodeBench, beside the repository."""


def front(folder: Path) -> None:
    """A race of 31 models, of which all but two drop out early: each bar is the share of the problems it was asked."""
    result = surest.evaluate(TABLE, simulate=True, seed=2, progress=False)
    most, seconds, left, wide = result.cells // len(result.labels), 6.0, 144, 332
    asked, top = result.pulls_per_arm, 4.0
    rows: list[str] = []
    for arm in sorted(range(len(asked)), key=lambda arm: (-asked[arm], -result.means[arm])):
        best, share, named = arm == result.index, asked[arm] / most, len(rows) < 2
        high = 12 if named else 3.5
        place = f'x="{left}" y="{top}" height="{high}" rx="{high / 6:.1f}"'
        style = f'class="bar{" best" if best else ""}" style="animation-duration:{seconds * share:.2f}s"'
        label = str(result.labels[arm]) if named else f"{len(asked) - 2} other models" if len(rows) == 16 else ""
        kind, base = "best bold" if best else "quiet", top + (10 if named else 6)
        written = f'<text x="{left - 8}" y="{base}" text-anchor="end" class="{kind}">'
        rows.append(
            (f"{written}{escape(label)}</text>" if label else "")
            + f'<rect {place} class="track" width="{wide}"/><rect {place} {style} width="{wide * share:.1f}"/>'
        )
        top = round(top + 1.3 * high, 1)
    end = seconds * max(asked) / most
    said = (
        f"{result.best} is the best of {len(rows)} models with {result.evaluations:,} of {result.cells:,} evaluations"
    )
    picture = RACE.format(
        height=top + 74, title=escape(said), rows="\n".join(rows), end=end, verdict=top + 26, below=top + 47, last=top + 65,
        best=escape(str(result.best)), arms=len(rows), done=result.evaluations, cells=result.cells,
        share=100 * result.evaluations / result.cells,
    )  # fmt: skip
    (IMG / "race.svg").write_text(picture, encoding="utf-8")


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
    photograph(page, IMG / "tutorial-notebook.png", 1000, 470)


def language_models(folder: Path, names: dict[str, Any]) -> None:
    """The page on the kept search."""
    in_shell("surest report arithmetic --storage sqlite:///prompts.db --output page.html", folder)
    photograph(folder / "page.html", IMG / "tutorial-language-models.png", 640, 525)


def judges(folder: Path, names: dict[str, Any]) -> None:
    """The report on the duels, and the table of wins of the engines."""
    names["result"].report(folder / "page.html")
    photograph(folder / "page.html", IMG / "tutorial-judges.png", 420, 640)
    _save(surest.duel(folder / "games.pgn", rank=True).plot().figure, "tutorial-games.png")


def ab_test(folder: Path, names: dict[str, Any]) -> None:
    """Intervals by version."""
    axes = names["result"].plot("intervals")
    _save(axes.figure, "tutorial-ab-test.png")


def champion(folder: Path, names: dict[str, Any]) -> None:
    """Evaluations by challenge."""
    found = [one for *_, one in names["found"]]
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    colours = ["tab:green" if one.promoted else "tab:grey" for one in found]
    axes.bar(range(1, 1 + len(found)), [one.evaluations for one in found], color=colours)
    axes.set(xlabel="challenge", ylabel="evaluations", title="Green: promoted. All others: rejected")
    _save(figure, "tutorial-champion.png")


def pay(folder: Path, names: dict[str, Any]) -> None:
    """Means against prices."""
    _save(names["result"].plot("costs").figure, "tutorial-pay.png")


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


def service(folder: Path) -> None:
    """Pages of studies that are running, decided and paused."""
    storage = f"sqlite:///{folder}/studies.db"
    pages = {"as it was": 0.3, "large button": 0.65, "two buttons": 0.45, "short text": 0.25, "with picture": 0.45}
    solvers = {"preset A": 0.2, "preset B": 0.1, "preset C": 0.3, "preset D": 0.85}
    train = {"question": "A train leaves at 12:15 and needs 37 minutes. When does it arrive?", "answer": "12:52"}
    questions = [(f"q{k}", train) for k in range(300)]
    _told(
        surest.open_study(
            storage, "landing page", list(pages), seed=1, reserve=0.1, note="Which page is clicked most?"
        ),
        pages,
        680,
    )
    prompts = {"short": 0.5, "step by step": 0.8, "with examples": 0.7}
    note = "Right answers on 300 questions"
    _told(surest.open_study(storage, "prompts", list(prompts), items=questions, seed=1, note=note), prompts, 24)
    note = "Solved within a minute?"
    _told(surest.open_study(storage, "solver settings", list(solvers), seed=2, note=note), solvers, 10_000)
    models = {"small": 0.5, "medium": 0.8, "large": 0.85}
    _told(surest.open_study(storage, "models above 0.8", list(models), above=0.8, seed=1), models, 300)
    paused = surest.open_study(storage, "two ways home", ["left", "right"], seed=1)
    _told(paused, {"left": 0.5, "right": 0.5}, 60)
    paused.pause()
    with serving(storage) as site, driven() as driver:
        desk = Browser(driver)
        desk.open(f"{site}/")
        desk.shoot(IMG / "service-studies.png", 640)
        desk.open(f"{site}/studies/landing%20page")
        desk.shoot(IMG / "service-study.png", 1250)
        desk.open(f"{site}/studies/prompts")
        desk.press("Evaluate by hand")
        desk.press("Show me the first")
        desk.shoot(IMG / "service-evaluate.png", 780)
        phone = Browser(driver, "phone", "dark")
        phone.open(f"{site}/studies/solver%20settings")
        phone.shoot(IMG / "service-phone.png", 1150)
    for name in ("studies", "study", "evaluate", "phone"):
        _smaller(IMG / f"service-{name}.png", IMG / f"service-{name}.png")


def _told(study: surest.Study, means: dict[str, float], rewards: int) -> None:
    """Let three workers tell this many rewards of 0 and 1; what they hold stays with them."""
    rng = random.Random(4)
    for told in range(rewards):
        for ticket in study.ask(worker=f"worker {told % 3 + 1}"):
            study.tell(ticket.id, rng.random() < means[ticket.label])
        if study.finished:
            return
    for number in range(3):
        study.ask(worker=f"worker {number + 1}")


PAGES: dict[str, Callable[[Path], None]] = {"front": front, "readme": readme, "service": service}
PICTURES: dict[str, Callable[[Path, dict[str, Any]], None]] = {
    "judges": judges,
    "notebook": notebook,
    "shell": shell,
    "language-models": language_models,
    "ab-test": ab_test,
    "champion": champion,
    "pay": pay,
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
    for name in wanted or [*PAGES, *PICTURES]:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            if name in PAGES:
                PAGES[name](Path(folder))
                continue
            names: dict[str, Any] = {}
            (page,) = (page for page in TUTORIALS if page.stem == name)
            list(printed_by(page, Path(folder), names))
            plt.close("all")
            PICTURES[name](Path(folder), names)


if __name__ == "__main__":
    main(sys.argv[1:])
