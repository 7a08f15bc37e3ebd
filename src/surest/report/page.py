"""The words of a report, and its page as HTML or Markdown; no file is read or written here.

A page is self-contained: there is no script, nothing is fetched, and labels are escaped.
"""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from surest import __version__
from surest.core.costs import money
from surest.core.problem import DEFAULTS
from surest.report import pictures
from surest.report.pictures import evaluated, evidence_text, share_of, share_text
from surest.result.data import Result
from surest.result.duels import wins_note, wins_of
from surest.result.gate import Gate, beside, claim
from surest.result.gate import facts as gate_facts
from surest.result.leads import leads_of, overlap_note
from surest.result.questions import leading, question
from surest.result.words import after_verdict, verdict
from surest.text import capital, count, counted, guessed, ordinal, seconds_words

LONG = 280  # characters of a command that fit on three lines; a longer one is folded
HEALTH = {
    "failed": "failed", "timed out": "timed out", "expired": "lost with a worker that did not return",
    "interrupted": "interrupted", "retried": "tried again", "imputed": "counted as the reward set for failures",
}  # fmt: skip
HANDLING = {"lease_seconds": "seconds until an evaluation is given to another worker"}
MOST = 100  # arms in the table of a page; JSON has all of them
POINTS = 12  # rows in Markdown's table of evidence over time

ASKED = (
    "top", "above", "control", "margin", "cheapest", "slack", "cost", "error", "target", "repeats", "spread", "minimise",
)  # fmt: skip
"""Settings that are part of the question."""


@dataclass(frozen=True)
class Report:
    """The contents of a page."""

    result: Result
    study: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)  # settings of a study beyond those of its result
    commands: Mapping[str, str] = field(default_factory=dict)  # commands by their purpose
    last_failures: Mapping[str, str] = field(default_factory=dict)
    """The last error message of failed evaluations, by arm."""
    began: float | None = None  # the time of a study's first reward, in seconds since 1970 …
    made: float | None = None  # … and of its last; without a study, the time at which the report was written

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data, for `read_report`."""
        beside = {name: value for name, value in vars(self).items() if name != "result"}
        return self.result.to_dict() | {k: dict(v) if isinstance(v, Mapping) else v for k, v in beside.items()}


# What is said, whatever the form.


def short_answer(result: Result) -> str:
    """The question and its answer so far, in one line."""
    asked = question(result.problem)
    if result.certified:
        return f"{asked}: {', '.join(map(str, result.chosen)) or 'none'}"
    if result.pulls == 0 or not result.problem.question.ranks:
        return f"{asked}: not decided"
    leads = leading(result).removesuffix(".").partition(", although ")[0]
    return f"Not decided: {leads[:1].lower()}{leads[1:]}"


def opening(result: Result) -> list[str]:
    """The heading and the lines after it; a verdict of one sentence is the heading itself."""
    if result.certified and not result.resampled and not result.problem.question.each_arm:
        return [verdict(result)]
    if result.resampled:
        simulated, said = verdict(result).split("\n", 1)
        return [said, simulated]
    said = verdict(result).removeprefix(f"Not decided ({result.reason}). ")  # the reason is shown above the heading
    heading = short_answer(result)
    if heading.startswith("Not decided: "):
        said = said.removeprefix(leading(result)).lstrip()
    return [heading, *filter(None, [said])]


def state(result: Result) -> str:
    """Whether it is decided, or why not."""
    said = "Decided" if result.certified else capital(result.reason)
    return f"{said}, in a simulation" if result.resampled else said


def facts(report: Report) -> list[tuple[str, str]]:
    """The question, date, duration and cost, as names and values."""
    result, unit = report.result, report.result.problem.cost_unit
    on = "" if result.listed is None else f" on {counted(len(result.listed.items), 'item')}"
    asked = f"{question(result.problem)}, of {counted(len(result.labels), 'arm')}{on}"
    lasted = result.seconds if report.began is None or report.made is None else report.made - report.began
    spent = f"{count(result.evaluations or result.pulls)} {evaluated(result)}"
    searched = result.listed is not None and not result.listed.known and result.listed.missing is None
    whole = f"{count(result.cells)} evaluations" if searched else ""
    if searched:
        spent += f" ({result.evaluations / max(result.cells, 1):.1%})"
    if result.cost is not None:
        spent += f", {'' if unit else 'cost '}{money(result.cost, unit)}"
    if searched and result.cost_of_all is not None:
        whole += f", {'' if unit else 'cost '}about {money(result.cost_of_all, unit)}"
    of_table = result.listed is not None and not searched
    rows = [
        ("study", report.study or ""),
        ("question", asked),
        ("purpose", result.problem.note),
        ("date", "" if report.made is None else time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(report.made))),
        ("duration", "" if math.isnan(lasted) else seconds_words(lasted)),
        ("scores", f"{count(result.pulls)} of {count(result.cells)}" if of_table else ""),
        ("spent", "" if of_table and result.cost is None else spent),
        ("without stopping early", whole),
    ]
    return [(name, value) for name, value in rows if value]


def summary(report: Report) -> list[str]:
    """The sentences after the verdict, with a forecast and warnings."""
    result = report.result
    lines = [line for line in after_verdict(result) if not line.startswith("It took ")]  # the facts have it
    if not result.certified and result.forecast is not None:
        lines.append(f"Perhaps {guessed(result.forecast)} more {evaluated(result)} are needed for a decision.")
    return [*lines, *(f"Warning: {warning}" for warning in result.warnings)]


def health(report: Report) -> list[str]:
    """Failures of evaluations, and their last error messages."""
    known = report.result.health
    if known is None:
        lines = ["No evaluation was made here, so none could fail."]
    else:
        counts = {arm: [f"{n:,} {HEALTH.get(kind, kind)}" for kind, n in of.items()] for arm, of in known.items()}
        lines = [f"{arm}: {', '.join(said)}." for arm, said in counts.items()] or ["Every evaluation went well."]
    return lines + [f"{arm} failed last with: {' '.join(said.split())}" for arm, said in report.last_failures.items()]


def settings_rows(report: Report) -> list[tuple[str, str]]:
    """The settings, as names and values."""
    result, share = report.result, "share of wrong ones among the arms declared above, in expectation"
    allowed = share if result.problem.error == "fdr" else "probability of a wrong answer"
    below, top, bar = "above" if result.minimise else "below", result.problem.question.top, result.problem.above
    best = f"{below} {'the best' if top == 1 else f'the {ordinal(top)} best'} an answer may be"
    low, high, epsilon = (repr(value).removesuffix(".0") for value in (*result.bounds, result.epsilon))
    rows = [
        ("algorithm", f"{result.algorithm} ({result.standing})"),
        (f"δ, allowed {allowed}", f"{result.delta!r}"),
        ("ε, how far " + (best if bar is None else "from the bar either verdict is right"), epsilon),
        ("costs" if result.minimise else "rewards", f"from {low} to {high}"),
        ("seed", str(result.seed)),
        ("arms", f"{len(result.labels):,}"),
    ]
    if result.problem.control is not None:  # its margin stands in place of ε
        del rows[2]
    named = ("algorithm", "delta", "epsilon", "bounds", "minimise", "seed", "note")
    said = {name: getattr(result.problem, name) for name in DEFAULTS if name not in named}
    unusual = {name: value for name, value in said.items() if value != DEFAULTS[name]}
    beyond = {**unusual, **{name: value for name, value in report.settings.items() if value not in (None, {})}}
    return [*rows, *((HANDLING.get(name, name.replace("_", " ")), _setting(value)) for name, value in beyond.items())]


def _setting(value: Any) -> str:
    """A setting as text; one per arm as a list."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_setting(of)}" for name, of in value.items())
    if isinstance(value, list) and len(value) > POINTS:  # of each item
        return f"{counted(len(value), 'value')}, such as {_setting(value[0])}"
    return value if isinstance(value, str) else json.dumps(value)


def reproduction(report: Report) -> list[tuple[str, str]]:
    """Commands by their purpose; the call in Python if no command made the result."""
    if report.commands:
        return list(report.commands.items())
    result, problem = report.result, report.result.problem
    said = {name: getattr(problem, name) for name in ASKED if getattr(problem, name) != DEFAULTS[name]}
    level: dict[str, Any] = {"delta": result.delta, "epsilon": result.epsilon}
    if result.duels is not None:
        call = "duel(arms, judge, "
        said |= {name: value for name, value in problem.options.items() if name in ("strict", "rank")}
    else:
        level |= {"algorithm": result.algorithm, "bounds": result.bounds}
        call = "identify(arms, " if result.listed is None else "evaluate(arms, items, "
    settings = ", ".join(f"{name}={value!r}" for name, value in {**level, **said, "seed": result.seed}.items())
    why = "No command made this result. In Python, with the same arms, and the same budget and options, if any"
    return [(why, f"surest.{call}{settings})")]


def arm_cells(report: Report) -> tuple[list[str], list[tuple[int, list[str]]], int]:
    """The table of the leading arms: its headings, rows with the arm's position, and the number of arms left out."""
    arms = report.result.arms
    head, rows = arms.cells(MOST, longest=None)
    return head, list(zip(arms.leading(MOST), rows, strict=True)), len(arms.rows) - len(rows)


def to_html(report: Report) -> str:
    """The page as a single HTML file."""
    return pictures.rendered("report.html", pictures=pictures.pictures_of(report.result), **_contents(report))


def gate_to_html(gate: Gate) -> str:
    """The page of a gate, whose verdict stands in numbers."""
    rows = [(False, [*row]) for row in gate_facts(gate)]
    said = {
        "title": claim(gate),
        "heading": f"{claim(gate)}.",
        "lines": [*beside(gate), *gate.notes],
        "facts": [],
    }
    none: dict[str, Any] = dict.fromkeys(("pictures", "health", "settings", "again"), ())
    numbers = {"head": ["number", "what it is", "value"], "rows": rows, "rest": 0, "table_of": "Numbers"}
    decided = {"state": gate.verdict.upper(), "certified": gate.verdict != "undecided"}
    return pictures.rendered("report.html", **none, **said, **numbers, **decided, long=LONG, version=__version__)


def to_markdown(report: Report) -> str:
    """The page as Markdown: the same words and tables, without pictures."""
    result, history = report.result, report.result.history
    leads, number = leads_of(result) if result.certified else None, result.arms.interval
    step = max(math.ceil(len(history) / POINTS), 1)
    wins = [] if result.duels is None else zip(*wins_of(result), strict=True)
    page = pictures.rendered(
        "report.md",
        **_contents(report),
        leads=leads,
        lead_rows=[(result.labels[i], number(low, high)) for i, low, high in leads.rows[:MOST]] if leads else [],
        wins=[[f"{i} {label}", *(one.text for one in row)] for i, (label, row) in enumerate(wins, 1)],
        wins_note=wins_note(result) if result.duels is not None else "",
        overlap=overlap_note(result),
        evaluated=evaluated(result),
        evidence=evidence_text(result),
        history=[(count(p.pulls), share_text(share_of(p))) for p in (*history[:-1:step], *history[-1:])],
    )
    return f"{page}\n"


def _contents(report: Report) -> dict[str, Any]:
    """What the page shows in either form."""
    result = report.result
    heading, *first = opening(result)
    head, rows, rest = arm_cells(report)
    return {
        "title": short_answer(result) if report.study is None else f"Study {report.study}",
        "state": state(result),
        "certified": result.certified,
        "heading": heading,
        "lines": [*first, *summary(report)],
        "facts": facts(report),
        "health": health(report),
        "settings": settings_rows(report),
        "table_of": "Arms",
        "head": head,
        "rows": [(place in result.indices, cells) for place, cells in rows],
        "rest": rest,
        "again": reproduction(report),
        "long": LONG,
        "version": __version__,
    }
