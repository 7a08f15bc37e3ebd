"""What the rows of a benchmark say, in words. Every number is taken from the rows."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median

from surest.algorithms import DEFAULT
from surest.algorithms.entry import YOURS
from surest.lab.bench.tables import QUOTED, Row, number, too_often_wrong

UNPROVEN = ("heuristic", "reconstruction", YOURS)
Place = tuple[str, float]
"""An instance and a δ."""


def places(rows: Iterable[Row]) -> dict[Place, list[Row]]:
    """The rows that can be compared with each other: the best arm was sought, and found or not, at a fixed confidence."""
    found: dict[Place, list[Row]] = defaultdict(list)
    for row in rows:
        if row.goal != "fixed budget" and row.epsilon == 0 and not row.control:
            found[row.instance, row.delta].append(row)
    return found


def leader(rows: Iterable[Row], standings: Sequence[str]) -> Row | None:
    """The rival with the fewest mean pulls among those of the given standings; rows with undecided runs come last."""
    rivals = [row for row in rows if row.standing in standings and row.algorithm != DEFAULT]
    return min(rivals, key=lambda row: (row.undecided > 0, row.mean), default=None)


def own(rows: Iterable[Row]) -> Row | None:
    """Wager's row."""
    return next((row for row in rows if row.algorithm == DEFAULT), None)


def summary_rows(rows: Sequence[Row]) -> list[list[str]]:
    """An instance a line: Wager, the best proven rival, the best other rival; mean pulls over the lower bound."""
    lines = []
    for (instance, delta), here in places(rows).items():
        wager, proven, other = own(here), leader(here, ["proven"]), leader(here, UNPROVEN)
        lines.append(
            [
                f"`{instance}`",
                number(here[0].n),
                f"{delta:g}",
                number(here[0].lower_bound),
                _cell(wager),
                _cell(proven, True),
                _cell(other, True),
            ]
        )
    return lines


SUMMARY = ("instance", "n", "δ", "lower bound", "wager", "best proven rival", "best without a proof")


def _cell(row: Row | None, named: bool = False) -> str:
    if row is None:
        return "–"
    ratio = ("≥ " if row.undecided else "") + number(row.ratio)
    wrong = f", {row.wrong} of {row.runs} wrong" if row.wrong else ""
    return f"{ratio} ({row.algorithm}{wrong})" if named else ratio + wrong


def reading(rows: Sequence[Row]) -> str:
    """The honest reading, as Markdown.

    >>> print(reading([]).splitlines()[0])
    ### The hardest comparison: rules without a proof
    """
    parts = {
        "The hardest comparison: rules without a proof": _against_heuristic(rows),
        "Wager against proven rivals": _against_proven(rows),
        "What a heuristic threshold buys, and costs": _bought(rows),
        "Distance from the lower bound": _distance(rows),
        "Every wrong answer": _wrong(rows),
        "Not decided": _undecided(rows),
    }
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in parts.items())


def _against_proven(rows: Sequence[Row]) -> str:
    factors, lost, cut = [], [], 0
    for (instance, delta), here in places(rows).items():
        wager, rival = own(here), leader(here, ["proven"])
        if wager is None or rival is None or min(wager.runs, rival.runs) < QUOTED:
            continue
        factors.append((rival.mean / wager.mean, instance, delta, rival.algorithm))
        cut += rival.undecided > 0
        if not wager.mean < rival.mean or wager.undecided:
            lost.append(f"- `{instance}`, δ = {delta:g}: {_pulls(wager)}, {_pulls(rival)}{_doubt(wager, rival)}.")
    if not factors:
        return "Nothing to compare."
    low, high = min(factors), max(factors)
    text = (
        f"Wager needs fewer mean pulls than every proven rival in {len(factors) - len(lost)} of {len(factors)} comparisons "
        f"(an instance at a δ). The best proven rival needs {_times(median(f[0] for f in factors))} Wager's pulls in the "
        f"median; the least is {_times(low[0])} (`{low[1]}`, δ = {low[2]:g}, {low[3]}), the most {_times(high[0])} "
        f"(`{high[1]}`, δ = {high[2]:g}, {high[3]})."
    )
    if cut:
        text += f" In {cut} of them every proven rival had runs that hit the budget, so its true factor is larger."
    firsts: dict[str, int] = defaultdict(int)
    for _, _, _, name in factors:
        firsts[name] += 1
    ranked = sorted(firsts.items(), key=lambda item: -item[1])
    text += (
        " The best proven rival was "
        + ", ".join(f"{name} ({count} {'time' if count == 1 else 'times'})" for name, count in ranked)
        + "."
    )
    return text + ("\n\nWhere it does not need fewer:\n\n" + "\n".join(lost) if lost else "")


def _against_heuristic(rows: Sequence[Row]) -> str:
    """An instance a line: Wager beside the rule without a proof that needs the fewest pulls, with its wrong answers."""
    lines, ahead, total, left_out = [], 0, 0, 0
    for (instance, delta), here in places(rows).items():
        wager = own(here)
        others = [row for row in here if row.standing in UNPROVEN and not row.undecided]
        if wager is None or not others:
            continue
        quoted = [row for row in others if row.runs >= QUOTED]
        if not quoted or wager.runs < QUOTED:
            left_out += 1
            continue
        best = min(quoted, key=lambda row: row.mean)
        factor, total = wager.mean / best.mean, total + 1
        ahead += factor > 1
        names = f"`{instance}` | {delta:g} | {_mean(wager)} | {best.algorithm} | {_mean(best)}"
        lines.append((factor, f"| {names} | {number(factor)}{_doubt(wager, best)} | {best.wrong} of {best.runs} |"))
    if not total:
        return "Nothing to compare."
    table = "\n".join(line for _, line in sorted(lines, key=lambda item: -item[0]))
    few = f" In {left_out} more, rows have fewer than {QUOTED} runs." if left_out else ""
    return (
        f"In {ahead} of {total} comparisons (an instance at a δ) some rule without a proof needs fewer mean pulls than Wager. "
        f"It promises nothing; the last column counts its wrong answers.{few} {WHY}\n\n{CHOSEN}\n\n"
        "| instance | δ | wager | best rule without a proof | its pulls | factor | wrong |\n|---|---|---|---|---|---|---|\n"
        + table
    )


CHOSEN = (
    "Wager's constants were chosen on some of these instances, on other seeds ([how](wager.md)): the two of Garivier and "
    "Kaufmann, Example 1, `skewed`, `narrow`, `convA100_top20`, `convA4000_top100`, `books_top20` and `lcb_repair`. Figures on "
    "these may flatter it a little."
)


WHY = (
    "Why it can: it stops once its evidence passes ln((1 + ln t)/δ) or the like, at 1,000 pulls 2 nats above the ln(1/δ) that no "
    "rule can do without, and with rewards of 0 and 1 it knows the laws' form. Wager's bets must cover laws that it does not "
    "know, every arm that may come second and every moment at which one may stop. The smaller δ, the less that weighs."
)


def _bought(rows: Sequence[Row]) -> str:
    """Pairs of one sampling rule with a proven and with a heuristic threshold."""
    lines = []
    for name, base in sorted({(row.algorithm, row.heuristic_of) for row in rows if row.heuristic_of is not None}):
        both = {(r.instance, r.delta, r.algorithm): r for r in rows if r.algorithm in (name, base)}
        pairs = [(r, both[i, d, base]) for (i, d, a), r in both.items() if a == name and (i, d, base) in both]
        if not pairs:
            continue
        saved = median(proven.mean / short.mean for short, proven in pairs)
        wrong, runs = sum(s.wrong for s, _ in pairs), sum(s.runs for s, _ in pairs)
        failed = [s for s, _ in pairs if too_often_wrong(s)]
        held = f"more often than δ allows on {_named(failed)}" if failed else "never more often than δ allows"
        lines.append(
            f"- {name}: the proven threshold takes {_times(saved)} its pulls in the median of {len(pairs)} comparisons; "
            f"{wrong} of {runs:,} runs were wrong, {held}."
        )
    return "\n".join(lines) if lines else "No rule was run with both kinds of threshold."


def _distance(rows: Sequence[Row]) -> str:
    lines = []
    for delta in sorted({row.delta for row in rows}, reverse=True):
        ratios = [
            (row.ratio, row.instance)
            for row in rows
            if row.algorithm == DEFAULT and row.delta == delta and row.epsilon == 0 and not math.isnan(row.ratio)
        ]
        if ratios:
            low, high = min(ratios), max(ratios)
            lines.append(
                f"- δ = {delta:g}: Wager takes {number(median(r for r, _ in ratios))} times the lower bound in the median of "
                f"{len(ratios)} instances, from {number(low[0])} (`{low[1]}`) to {number(high[0])} (`{high[1]}`)."
            )
    return "\n".join(lines) if lines else "Wager was not run, or no lower bound is known."


def _wrong(rows: Sequence[Row]) -> str:
    erring = [row for row in rows if row.wrong]
    total = sum(row.runs for row in rows)
    proven = [row for row in rows if row.standing == "proven" and row.goal != "fixed budget"]
    beyond = [row for row in rows if too_often_wrong(row) and row.goal != "fixed budget"]
    text = (
        f"{sum(row.wrong for row in rows):,} of {total:,} runs gave a wrong answer; proven fixed-confidence algorithms "
        f"{sum(row.wrong for row in proven):,} of {sum(row.runs for row in proven):,}. "
    )
    proven_beyond = [row for row in beyond if row.standing == "proven"]
    text += (
        f"**A proven algorithm erred more often than δ allows: {_named(proven_beyond)}.** "
        if proven_beyond
        else "No proven one erred more often than δ allows (binomial test at 0.001, a row at a time). "
    )
    others = [row for row in beyond if row.standing != "proven"]
    if others:
        text += f"These did: {_named(others)}. "
    promised = [row for row in erring if row.goal != "fixed budget" and not row.control]
    controls = [row for row in erring if row.control]
    budgeted = [row for row in erring if row.goal == "fixed budget"]
    return "\n\n".join(
        [text.rstrip()]
        + [_errors(promised)] * bool(promised)
        + [_folded("controls", controls)] * bool(controls)
        + [_folded("fixed-budget algorithms, which promise no δ", budgeted)] * bool(budgeted)
    )


def _folded(whose: str, rows: Sequence[Row]) -> str:
    wrong, runs = sum(row.wrong for row in rows), sum(row.runs for row in rows)
    head = f"Those of {whose}: {wrong:,} of {runs:,} runs in {len(rows)} rows"
    return f"<details><summary>{head}</summary>\n\n{_errors(rows)}\n\n</details>"


def _errors(rows: Sequence[Row]) -> str:
    return "\n".join(
        f"- {row.algorithm} ({row.standing}), `{row.instance}`, δ = {row.delta:g}: {row.wrong} of {row.runs}; "
        f"it named {row.wrong_answers}."
        for row in sorted(rows, key=lambda row: (row.standing, row.algorithm))
    )


def _undecided(rows: Sequence[Row]) -> str:
    open_ = [row for row in rows if row.undecided]
    if not open_:
        return "Every run ended with an answer."
    counted: dict[str, list[Row]] = defaultdict(list)
    for row in open_:
        counted[row.algorithm].append(row)
    return (
        "Runs that hit the budget, or ended without a decision, are counted with the pulls they had made; the true means "
        "are larger.\n\n"
        + "\n".join(
            f"- {name}: {sum(r.undecided for r in own_rows)} of {sum(r.runs for r in own_rows)} runs on "
            + ", ".join(f"`{r.instance}`" for r in own_rows)
            + "."
            for name, own_rows in counted.items()
        )
    )


def _pulls(row: Row) -> str:
    wrong = f", {row.wrong} of {row.runs} wrong" if row.wrong else ""
    cut = f", {row.undecided} of {row.runs} undecided" if row.undecided else ""
    spread = "" if math.isnan(row.sem) else f" ± {number(row.sem)}"
    return f"{row.algorithm} {'≥ ' if row.undecided else ''}{number(row.mean)}{spread}{wrong}{cut}"


def _doubt(first: Row, second: Row) -> str:
    """Whether the difference of two means may be chance."""
    error = math.hypot(first.sem, second.sem)
    return ", within two standard errors" if abs(first.mean - second.mean) < 2 * error else ""


def _mean(row: Row) -> str:
    return f"{number(row.mean)} ± {number(row.sem)}"


def _times(factor: float) -> str:
    return f"{number(factor)} times"


def _named(rows: Sequence[Row]) -> str:
    return ", ".join(f"{r.algorithm} on `{r.instance}` ({r.wrong} of {r.runs} at δ = {r.delta:g})" for r in rows)
