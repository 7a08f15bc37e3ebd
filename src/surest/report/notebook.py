"""HTML for notebooks: verdict, table and a small picture, for light and dark pages.

There is no script, nothing is fetched, and labels are escaped.
"""

from surest.report.pictures import pictures_of, rendered
from surest.report.terminal import progress_words
from surest.result.data import Result
from surest.result.gate import Gate, beside, claim, facts
from surest.result.table import SHOWN
from surest.result.words import after_verdict, next_words, verdict
from surest.search.plan import LEVELS, Plan, shown
from surest.study.study import Study


def to_fragment(result: Result, above: str = "") -> str:
    """A result; the line `above` precedes its verdict."""
    *lines, bold = verdict(result).splitlines()  # a simulation says so in a line before
    lines += [*after_verdict(result), *filter(None, [next_words(result)])]
    lines += [f"Warning: {warning}" for warning in result.warnings]
    head, rows = result.arms.cells(SHOWN)
    drawn = pictures_of(result)  # before the first pull only the allocation, which is empty
    return rendered(
        "notebook.html", above=above, bold=bold, lines=["", *lines], head=head, rows=rows,
        more=len(result.labels) - len(rows), picture=drawn[0] if len(drawn) > 1 else None, notes=[],
    )  # fmt: skip


def gate_fragment(gate: Gate) -> str:
    """A gate: its verdict and its facts."""
    said = {"above": "", "bold": gate.verdict.upper(), "lines": [f": {claim(gate)}."], "head": [], "more": 0}
    return rendered("notebook.html", rows=facts(gate), picture=None, notes=[*beside(gate), *gate.notes], **said)


def plan_fragment(plan: Plan) -> str:
    """A plan: its assumptions, and quantiles of the evaluations needed."""
    head = ["gap", *(f"{level:.0%} end within" for level in LEVELS), f"fixed sample, power {plan.power:.0%}"]
    rows = [[f"{row.gap:g}", *map(shown, (*row.quantiles(), row.fixed))] for row in plan.rows]
    said = {"above": "", "bold": "", "lines": [plan.about], "more": 0, "picture": None, "notes": []}
    return rendered("notebook.html", head=head, rows=rows, **said)


def study_fragment(study: Study) -> str:
    """A study: its name, its progress, and its result so far."""
    progress = study.status()
    state = "is finished" if progress.finished else "is running"
    return to_fragment(
        progress.result, f"Study {study.name} ({study.store.shown}) {state}: {progress_words(progress)}."
    )
