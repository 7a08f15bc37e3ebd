"""How a report reads: its words, and the page they stand on. No file is read or written here.

A page stands alone: no script, nothing fetched, pictures inside. Whatever a user named is escaped.
"""

import html
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surest import __version__
from surest.core.problem import DEFAULTS, Problem
from surest.report import plots as plot
from surest.result.data import Result
from surest.result.differences import leads_of, overlap_note
from surest.result.questions import leading, names
from surest.result.table import ArmTable
from surest.result.words import KNOWN, after_verdict, verdict
from surest.study.health import health_line
from surest.text import count, guessed, ordinal, visible
from surest.text import in_markdown as _m

MOST = 100
"""Arms in the table of a page. JSON has all of them."""
POINTS = 12
"""Moments in Markdown's table of evidence over time."""

CSS = """
:root { --paper: #ffffff; --ink: #1c1c1c; --quiet: #5f5f5f; --line: #d8d8d8; --panel: #f5f5f3;
  --leader: #b84c00; --other: #0072b2; --sure: #1b6e3c; --open: #8a5a00; color-scheme: light dark; }
@media screen and (prefers-color-scheme: dark) { :root { --paper: #16181b; --ink: #e8e6e3; --quiet: #a3a3a3;
  --line: #3a3d42; --panel: #212429; --leader: #f0a050; --other: #62b5e8; --sure: #6fd096; --open: #e8b64c; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 62rem; margin: 0 auto; padding: 1rem; }
header { border-left: .4rem solid var(--open); background: var(--panel); padding: .8rem 1rem; }
header.sure { border-color: var(--sure); }
header p { margin: .3rem 0 0; }
.state { margin: 0; font-weight: 600; color: var(--open); }
.sure .state { color: var(--sure); }
h1 { font-size: 1.4rem; line-height: 1.3; margin: .2rem 0 .5rem; }
h2 { font-size: 1.05rem; margin: 1.6rem 0 .5rem; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); column-gap: 2rem; }
.pictures > *, td, th, dd { min-width: 0; }
figure { margin: 0; max-width: 34rem; }
svg { display: block; width: 100%; height: auto; font-family: system-ui, sans-serif; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
figcaption, footer, dt { color: var(--quiet); font-size: .9rem; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .5rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; font-weight: 400; }
thead th { font-weight: 600; }
td, thead th { overflow-wrap: normal; white-space: nowrap; }
th:first-child { text-align: left; padding-left: 0; }
.leader > * { font-weight: 700; }
.leader th { color: var(--leader); }
dl { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: .3rem 1rem; margin: 0; }
dd, section > p { margin: 0; }
section > p + p { margin-top: .4rem; }
pre { background: var(--panel); padding: .7rem; margin: .3rem 0 1rem; white-space: pre-wrap; font-size: .9rem; }
footer { margin-top: 2rem; border-top: 1px solid var(--line); padding-top: .5rem; }
@media (max-width: 30rem) { table { font-size: .8rem; } th, td { padding: .3rem .25rem; }
  td, thead th { white-space: normal; } tr > :last-child { display: none; } h1 { font-size: 1.2rem; } }
@media print { main { max-width: none; padding: 0; } header, pre { border: 1px solid var(--line); background: none; }
  header { border-left-width: .4rem; } figure, tr { break-inside: avoid; }
  svg { max-height: 15cm; }
  thead { display: table-header-group; } h2 { break-after: avoid; } .pictures { grid-template-columns: 1fr 1fr; } }
"""
"""One style for light and dark, a phone, a desk and paper, which is always light."""
ASKED = ("top", "above", "control", "margin", "error", "target", "repeats", "minimise")
"""Settings without which a call would ask something else."""


@dataclass(frozen=True)
class Report:
    """What a page tells."""

    result: Result
    study: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    """A study's settings beyond those that a result has."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """What to run, by what it is good for."""
    last_failures: Mapping[str, str] = field(default_factory=dict)
    """What a failed evaluation said last, by arm."""

    @property
    def arms(self) -> ArmTable:
        """The arms, best first where they are cut."""
        return self.result.arms

    def to_json(self) -> dict[str, Any]:
        """As plain data, which `read_report` reads."""
        return {
            **self.result.to_json(),
            "study": self.study,
            "settings": dict(self.settings),
            "commands": dict(self.commands),
            "last_failures": dict(self.last_failures),
        }


# What is said, whatever the form.


def title(report: Report) -> str:
    """The name of a page."""
    if report.study is not None:
        return f"Study {report.study}"
    return short_answer(report.result)


def short_answer(result: Result) -> str:
    """The question and its answer so far, in a line."""
    asked = question(result.problem)
    if result.certified:
        return f"{asked}: {', '.join(map(str, result.chosen)) or 'none'}"
    if result.pulls == 0 or result.problem.question.kind not in ("best", "top"):
        return f"{asked}: not decided"
    leads = leading(result).removesuffix(".").partition(", although ")[0]
    return f"Not decided: {leads[:1].lower()}{leads[1:]}"


def opening(result: Result) -> list[str]:
    """The heading, and what follows it: a verdict that is one sentence is the heading itself."""
    if result.certified and not result.resampled and result.problem.question.kind in ("best", "top"):
        return [verdict(result)]
    if result.resampled:  # the first line says so
        return verdict(result).splitlines()
    return [short_answer(result), verdict(result)]


def question(problem: Problem) -> str:
    """What is asked, in a few words."""
    asked = {"best": "Best arm", "top": f"The {problem.top} best", "above": f"Above {problem.above}"}
    asked["control"] = f"Better than {problem.control}"
    return asked[problem.question.kind]


def state(result: Result) -> str:
    """Whether it is decided, or else why not."""
    return "Decided" if result.certified else result.reason[:1].upper() + result.reason[1:]


def summary(report: Report) -> list[str]:
    """What follows the verdict, and what may still be needed."""
    result = report.result
    lines = after_verdict(result)
    if not result.certified and result.forecast is not None:
        lines.append(f"Perhaps {guessed(result.forecast)} more {evaluated(result)} are needed for a decision.")
    return [*lines, *(f"Warning: {warning}" for warning in result.warnings)]


def health(report: Report) -> list[str]:
    """The health line, and what failed evaluations said last."""
    known = report.result.health
    line = health_line(known) if known is not None else "no evaluation was made here that could fail"
    return [
        line.removeprefix("health: "),
        *(f"{arm} failed last with: {' '.join(said.split())}" for arm, said in report.last_failures.items()),
    ]


def settings_rows(report: Report) -> list[tuple[str, str]]:
    """What was asked for, as names and values."""
    result = report.result
    rows = [
        ("algorithm", f"{result.algorithm} ({result.standing})"),
        (_delta_words(result), f"{result.delta!r}"),
        *([] if result.problem.control is not None else [(_epsilon_words(result), _number(result.epsilon))]),
        ("costs" if result.minimise else "rewards", f"from {_number(result.bounds[0])} to {_number(result.bounds[1])}"),
        ("seed", "none" if result.seed is None else str(result.seed)),
        ("arms", f"{len(result.labels):,}"),
    ]
    named = ("algorithm", "delta", "epsilon", "bounds", "minimise", "seed")
    said = {name: getattr(result.problem, name) for name in DEFAULTS if name not in named}
    unusual = {name: value for name, value in said.items() if value != DEFAULTS[name]}
    beyond = {**unusual, **{name: value for name, value in report.settings.items() if value not in (None, {})}}
    shown = {name.replace("_", " "): v if isinstance(v, str) else json.dumps(v) for name, v in beyond.items()}
    return [*rows, *shown.items()]


def _number(value: float) -> str:
    return repr(value).removesuffix(".0")


def _delta_words(result: Result) -> str:
    if result.problem.error == "fdr":
        return "δ, allowed share of wrong ones among the arms declared above, in expectation"
    return "δ, allowed probability of a wrong answer"


def _epsilon_words(result: Result) -> str:
    if result.problem.above is not None:
        return "ε, how far from the bar either verdict is right"
    best = "the best" if result.problem.question.top == 1 else f"the {ordinal(result.problem.question.top)} best"
    return f"ε, how far {'above' if result.minimise else 'below'} {best} an answer may be"


def reproduction(report: Report) -> list[tuple[str, str]]:
    """Commands by what they are good for; the call in Python where no command made the result."""
    if report.commands:
        return list(report.commands.items())
    result = report.result
    asked = {name: getattr(result.problem, name) for name in ASKED}
    more = [f"{name}={value!r}, " for name, value in asked.items() if value != DEFAULTS[name]]
    call = (
        f"surest.{'identify(arms' if result.listed is None else 'evaluate(arms, items'}, {result.delta!r}, "
        f"epsilon={result.epsilon!r}, algorithm={result.algorithm!r}, bounds={result.bounds!r}, {''.join(more)}"
        f"seed={result.seed!r})"
    )
    return [
        ("No command made this result. In Python, with the same arms, and budget and options if there were any", call)
    ]


def evidence_text(report: Report) -> str:
    """Evidence over time in a sentence."""
    if not report.result.history:
        return "Not kept, or the algorithm does not tell it."
    last = report.result.history[-1]
    reached = max(last.evidence, 0.0)
    if math.isinf(reached):
        return f"After {count(last.pulls)} {evaluated(report.result)} it is certain."
    return (
        f"After {count(last.pulls)} {evaluated(report.result)}: {reached:.4g} nats where it is weakest; a decision needs "
        f"{last.threshold:.4g}."
    )


def evaluated(result: Result) -> str:
    """What evaluations are called: of a list they are not pulls."""
    return "pulls" if result.listed is None else "evaluations"


def arm_cells(report: Report) -> tuple[list[str], list[tuple[int, list[str]]], int]:
    """The table of the leading arms: its head, rows with the arm's position, and how many arms are left out."""
    arms = report.arms
    head, rows = arms.cells(MOST, longest=None)
    return head, list(zip(arms.leading(MOST), rows, strict=True)), len(arms) - len(rows)


# HTML


def to_html(report: Report) -> str:
    """The page: one file that needs no other."""
    result = report.result
    pictures = [] if np.isnan(result.means).all() else [("Intervals by arm", "intervals", interval_note(report))]
    leads = leads_of(result)
    if leads is not None:  # of what is decided it comes first: the verdict rests on it
        pictures.insert(0 if result.certified else 1, (leads.heading, "leads", leads.note))
    if result.history:
        pictures.append(("Evidence over time", "evidence", evidence_text(report)))
    pictures.append(("Allocation", "pulls", allocation_note(report)))
    heading, *first = opening(result)
    parts = [
        f'<header class="{"sure" if result.certified else "open"}"><p class="state">{_e(state(result))}</p>',
        f"<h1>{_e(heading)}</h1>",
        *(f"<p>{_e(line)}</p>" for line in [*first, *summary(report)]),
        "</header>",
        '<div class="pictures">',
        *(_picture(heading, kind, note, result) for heading, kind, note in pictures),
        "<div>",
        _section("Health", "".join(f"<p>{_e(line)}</p>" for line in health(report))),
        _section("Settings", _html_settings(report)),
        "</div></div>",
        _section("Arms", _html_table(report)),
        _section("Do it again", "".join(f"<p>{_e(why)}:</p><pre>{_raw(c)}</pre>" for why, c in reproduction(report))),
        f"<footer>surest {_e(__version__)}</footer>",
    ]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{_e(title(report))}</title><style>{CSS}</style>"
    )
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body><main>\n{body}\n</main></body>\n</html>\n'


def _e(text: str) -> str:
    return html.escape(visible(text))


def _raw(text: str) -> str:
    """A command as it is, to be copied: only escaped."""
    return html.escape(text)


def _section(heading: str, inside: str) -> str:
    return f"<section><h2>{heading}</h2>{inside}</section>"


def _picture(heading: str, kind: Any, note: str, result: Result) -> str:
    drawn = plot.inline_svg(kind, result, f"{heading}. {note}")
    return f"<section><h2>{_e(heading)}</h2><figure>{drawn}<figcaption>{_e(note)}</figcaption></figure></section>"


def interval_note(report: Report) -> str:
    """What the intervals of a picture mean."""
    if report.result.intervals is None:
        return f"Means only: {report.result.algorithm} tells no intervals."
    if report.result.reason.startswith(KNOWN):
        return f"Exact means on all items. {_diamonds(report)}"
    hold = "Each interval holds at any time, for its arm, not for all arms at once."
    if report.result.listed is not None:
        hold = "All intervals hold at once, at any time."
    return " ".join(filter(None, [hold, _diamonds(report), overlap_note(report.result)]))


def _diamonds(report: Report) -> str:
    return "The diamond leads." if report.result.problem.question.kind == "best" else "Diamonds: the chosen arms."


def allocation_note(report: Report) -> str:
    """Where the evaluations went."""
    result = report.result
    what = evaluated(result)
    chosen = list(result.indices)
    if not chosen:
        return f"{count(result.pulls)} {what} in all."
    return f"{count(int(result.pulls_per_arm[chosen].sum()))} of {count(result.pulls)} {what} went to {names(result.chosen)}."


def _html_table(report: Report) -> str:
    head, rows, rest = arm_cells(report)
    top = "".join(f'<th scope="col">{_e(cell)}</th>' for cell in head)
    lines = []
    for place, (label, *numbers) in rows:
        mark = ' class="leader"' if place in report.result.indices else ""
        name = f'<th scope="row"><bdi>{_e(label)}</bdi></th>'
        lines.append(f"<tr{mark}>{name}{''.join(f'<td>{_e(cell)}</td>' for cell in numbers)}</tr>")
    more = f"<p>… {rest:,} more arms; the report as .json has all of them.</p>" if rest else ""
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"


def _html_settings(report: Report) -> str:
    return f"<dl>{''.join(f'<dt>{_e(key)}</dt><dd>{_e(value)}</dd>' for key, value in settings_rows(report))}</dl>"


# Markdown


def to_markdown(report: Report) -> str:
    """The page as Markdown: the same words and tables, without pictures."""
    head, rows, rest = arm_cells(report)
    heading, *first = opening(report.result)
    parts = [
        f"# {_m(heading)}",
        *map(_m, [*first, *summary(report)]),
        *_md_leads(report),
        "## Intervals by arm, and allocation",
        *filter(None, [_m(overlap_note(report.result))]),
        _md_table(head, (cells for _, cells in rows)) + (f"\n\n… {rest:,} more arms" if rest else ""),
        *(_md_evidence(report) if report.result.history else []),
        "## Health",
        *map(_m, health(report)),
        "## Settings",
        _md_table(("setting", "value"), settings_rows(report)),
        "## Do it again",
        *(f"{_m(why)}:\n\n{_fenced(command)}" for why, command in reproduction(report)),
        f"surest {__version__}",
    ]
    return "\n\n".join(parts) + "\n"


def _md_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    names = list(head)
    lines = [names, ["---", *("---:" for _ in names[1:])], *([_m(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _md_leads(report: Report) -> list[str]:
    leads, arms = leads_of(report.result) if report.result.certified else None, report.arms
    if leads is None:
        return []
    rows = (
        (str(arms.rows[i].label), f"{arms.number(low)} – {arms.number(high)}") for i, low, high in leads.rows[:MOST]
    )
    return [f"## {_m(leads.heading)}", _m(leads.note), _md_table(("arm", "lead"), rows)]


def _md_evidence(report: Report) -> list[str]:
    history = report.result.history
    step = max(math.ceil(len(history) / POINTS), 1)
    some = [*history[:-1:step], history[-1]]
    rows = ((count(p.pulls), f"{max(p.evidence, 0.0):.3g}", f"{p.threshold:.3g}") for p in some)
    table = _md_table((evaluated(report.result), "evidence (nats)", "needed"), rows)
    return ["## Evidence over time", _m(evidence_text(report)), table]


def _fenced(text: str) -> str:
    """A block of code that nothing in it can end."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}sh\n{text}\n{fence}"
