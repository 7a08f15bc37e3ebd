"""A result or a study in a notebook: verdict, table and a small picture, a piece of HTML for light and dark pages alike."""

import html
from importlib.util import find_spec

import numpy as np

from surest.report import plots
from surest.result.data import Result
from surest.result.differences import leads_of, overlap_note
from surest.result.gate import Gate, beside, claim, facts
from surest.result.table import SHOWN
from surest.result.words import after_verdict, next_words, verdict
from surest.study.study import Study
from surest.text import counted, visible

COLOURS = "--leader:#d9660a;--other:#3b8fd1;--quiet:#808080"
"""Told apart on white and on black; all else takes the page's own colours."""
TABLE = "border-collapse:collapse;color:inherit"
CELL = "padding:.15em .6em;border-bottom:1px solid rgba(128,128,128,.35)"


def to_fragment(result: Result) -> str:
    """The result as HTML to stand among other things: no script, nothing fetched, whatever a user named is escaped."""
    said = [*after_verdict(result), *filter(None, [next_words(result)])]
    lines = [*verdict(result).splitlines(), *said, *(f"Warning: {warning}" for warning in result.warnings)]
    words = "".join(f"<p style='margin:.2em 0'>{_b(text) if k == 0 else _e(text)}</p>" for k, text in enumerate(lines))
    drawn = ""
    if find_spec("matplotlib") is not None and not np.isnan(result.means).all():
        leads = leads_of(result) if result.certified else None
        heading, *notes = ["Means and intervals by arm"] if leads is None else leads[:2]
        note = " ".join(filter(None, [*notes, overlap_note(result)]))
        picture = plots.inline_svg("intervals" if leads is None else "leads", result, heading)
        drawn = f'<div style="flex:0 1 26em;min-width:16em">{_e(heading)}{picture}<small>{_e(note)}</small></div>'
    return (
        f'<div style="{COLOURS};color:inherit;max-width:60em">{words}'
        f'<div style="display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start">{_table(result)}{drawn}</div></div>'
    )


def gate_fragment(gate: Gate) -> str:
    """A gate: its line, and what it rests on."""
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in facts(gate))
    notes = "".join(f"<p style='margin:.2em 0'>{_e(note)}</p>" for note in (*beside(gate), *gate.notes))
    words = f"<p style='margin:.2em 0'>{_b(gate.verdict.upper())}: {_e(claim(gate))}.</p>"
    return f'<div style="color:inherit;max-width:60em">{words}<table style="{TABLE}"><tbody>{rows}</tbody></table>{notes}</div>'


def study_fragment(study: Study) -> str:
    """A study as it stands: its name, how far it is, and its result."""
    progress = study.status()
    waiting = f", {progress.waiting:,} to be handed out again" if progress.waiting else ""
    rewards, tickets = counted(progress.told, "reward"), counted(progress.out, "ticket")
    state = "is finished" if progress.finished else "is running"
    spare = f" ({progress.not_needed:,} of them not needed)" if progress.not_needed else ""
    line = f"Study {study.name} ({study.store.shown}) {state}: {rewards} told{spare}, {tickets} with workers{waiting}."
    return f"<div><p style='margin:.2em 0;opacity:.75'>{_e(line)}</p>{to_fragment(progress.result)}</div>"


def _table(result: Result) -> str:
    arms = result.arms
    head, rows = arms.cells(SHOWN)
    top = "".join(f'<th style="{CELL};text-align:left">{_e(cell)}</th>' for cell in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    more = len(arms) - len(rows)
    rest = f'<tr><td style="{CELL}" colspan="{len(head)}">… {more:,} more</td></tr>' if more else ""
    return f'<table style="{TABLE}"><thead><tr>{top}</tr></thead><tbody>{body}{rest}</tbody></table>'


def _cell(text: str) -> str:
    return f'<td style="{CELL}">{_e(text)}</td>'


def _e(text: str) -> str:
    return html.escape(visible(text))


def _b(text: str) -> str:
    return f"<b>{_e(text)}</b>"
