"""``surest gate``: is the candidate worse than the baseline? An exit status for a build, a line for its log."""

import time
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from surest.cli.settings import (
    Given,
    column_options,
    columns_given,
    decision_option,
    fraction,
    json_option,
    option,
    problem_options,
    refuse,
    settings_given,
    storage_option,
    write_decision,
)
from surest.cli.streams import print_json, say
from surest.errors import UsageError
from surest.result.gate import Gate
from surest.search.gate import gate as judged
from surest.text import counted
from surest.writing import as_csv, written

STATUS = {"pass": 0, "fail": 4, "undecided": 3}
HEEDED_BY_SPEED = {"files", "margin", "delta", "seed", "markdown", "speed", "by", "max_runs", "as_json"}
ARMS = "give two files, BASELINE and CANDIDATE; or a TABLE (or --study NAME) with --baseline ARM and --candidate ARM"


@click.command()
@click.argument("files", nargs=-1, metavar="BASELINE CANDIDATE | TABLE")
@option("--margin D", "How much worse is allowed: 0.03 or 3%.  [default: 0]", type=fraction)
@problem_options("delta", "target", "bounds", "minimise", own=False)
@option("--equivalent D", "Ask whether both are equal within ±D, instead of a margin.", type=fraction)
@option(
    "--history FILE...",
    "Scores of older versions on the same items, to predict from: a TABLE, or a file for each. May be repeated.",
)
@option(
    "--predict/--no-predict",
    "Predict scores from BASELINE; disable if it is evaluated along with CANDIDATE.  [default: predict]",
    default=True,
)
@option("--baseline ARM", "The arm of the TABLE or study to compare with.")
@option("--candidate ARM", "The arm of the TABLE or study to judge.")
@option("--study NAME", "Judge two arms of a study on a list of items.")
@storage_option
@option("--items FILE|N", "The list of all items, or how many there are.  [default: those of BASELINE]")
@option("--seed TEXT", "Seed of the order of the items: a number, a commit.  [default: 0]")
@option("--shuffled", "The list is in a random order already, drawn before anything was evaluated.")
@option("--common", "Compare on the items that both have; they are the list.")
@option("--strict", "Refuse items that only one side has.")
@option("--suggest K", "While it is not decided, print the next K cells to evaluate, as CSV; with --json, as a key.")
@column_options("arm", "item", "value")
@option("--scorer NAME", "The scorer that counts, if logs have several.")
@option("--ledger FILE|URL", "Remember all gates: of those that pass, a share of at most --delta is wrong.")
@option("--show", "List the gates of the --ledger, and judge nothing.")
@option("--flips FILE", "Write the items that went from right to wrong or back, as CSV.", writes="file")
@option("--markdown FILE", "Write a summary for a pull request or a build's page.", writes="file")
@option("--speed", "BASELINE and CANDIDATE are commands: is the new one slower?  [margin: 5%]")
@option("--by", "With --speed: the time that decides.", type=click.Choice(["wall", "cpu"]), default="wall")
@option("--max-runs N", "With --speed: at most N runs.  [default: 315]")
@decision_option
@json_option
def gate(**given: Any) -> int:
    """Decide whether a candidate is worse than a baseline by more than a margin.

    BASELINE and CANDIDATE are files with a value for each item: .csv (columns item,value) or .jsonl; or logs of inspect_ai,
    lm-evaluation-harness or promptfoo. Or name two arms of a TABLE (columns arm,item,value) or of a study. It may be run again
    and again while CANDIDATE grows; items count in a random order, which --suggest prints.

    Exit status: 0 certified not worse by more than the margin (the same, with --equivalent), 4 certified worse (different), 3
    not decided, 2 invalid input.
    """
    if given["show"]:
        refuse("--show", *given.keys() - {"show", "ledger", "as_json"})
        return _show(given)
    if given["speed"]:
        refuse("--speed", *given.keys() - HEEDED_BY_SPEED)
        status: int = import_module("surest.speed.cli").judge(given)
        return status
    refuse("scores", "by", "max_runs", only="--speed")
    if given["study"] is None:
        refuse("this", "storage", only="--study NAME")
    settings = _settings(given)
    if given["flips"] is not None and given["ledger"] is not None:  # before the ledger, which forgets nothing, is told
        flips_csv(judged(*_sides(given), **{**settings, "ledger": None}))
    found = judged(*_sides(given), **settings)
    decision = write_decision(found, given["decision"])
    for path, text in ((given["markdown"], Gate.to_markdown), (given["flips"], flips_csv)):
        if path is not None:
            with written(path) as place:
                place.write_text(text(found), encoding="utf-8", errors="replace")
    cells = found.wanted[: given["suggest"]]
    if given["as_json"]:
        more = {} if given["suggest"] is None else {"next": [list(cell) for cell in cells]}
        print_json({**found.to_dict(), **more, **({} if decision is None else {"decision": decision})})
    elif given["suggest"] is not None and found.verdict == "undecided":
        say(as_csv([("arm", "item"), *cells]).rstrip("\n"))
    else:
        say(str(found))
        if decision is not None:
            say(f"Check this yourself: {decision['check']}")
    for note in () if given["as_json"] else found.notes:
        say(f"surest: {note}", err=True)
    return STATUS[found.verdict]


def _sides(given: Given) -> tuple[str, str]:
    arms, files = (given["baseline"], given["candidate"]), given["files"]
    named = [arm for arm in arms if arm is not None]
    if len(files) == 2 and not named and given["study"] is None:
        return files[0], files[1]
    if len(named) != 2 or len(files) != (given["study"] is None):
        raise click.UsageError(ARMS)
    return named[0], named[1]


def _settings(given: Given) -> dict[str, Any]:
    names = "equivalent predict ledger shuffled common strict scorer"
    settings = {**settings_given(dict(given)), **{name: given[name] for name in names.split()}}
    settings["history"] = list(given["history"]) or None
    if given["items"] is not None:
        settings["items"] = int(given["items"]) if given["items"].isdecimal() else given["items"]
    if given["study"] is not None:
        from surest.study.settings import STORAGE
        from surest.study.study import open_study

        settings["table"] = open_study(given["storage"] or STORAGE, given["study"])
    elif len(given["files"]) == 1:
        settings["table"] = given["files"][0]
    return {**settings, "columns": columns_given(given) or None}


def flips_csv(found: Gate) -> str:
    """The items that went from right to wrong, or back."""
    if found.flips is None and found.items_counted:
        raise UsageError("flips require scores that are right or wrong: the lowest or the highest possible value")
    changed = {item for side in found.flips or () for item in side}
    return as_csv([("item", "baseline", "candidate"), *(row for row in found.scores if row[0] in changed)])


def _show(given: Given) -> int:
    if given["ledger"] is None:
        raise click.UsageError("--show needs --ledger")
    from surest.study.ledger import Ledger

    file = given["ledger"].removeprefix("sqlite:///")
    if "://" not in file and not Path(file).exists():
        raise UsageError(f"there is no ledger {file}; the first gate with --ledger makes one")
    rows = Ledger(given["ledger"]).rows()
    if given["as_json"]:
        print_json([row._asdict() for row in rows])
        return 0
    for row in rows:
        at = time.strftime("%Y-%m-%d %H:%M", time.gmtime(row.began))
        what = f"{row.candidate} against {row.baseline}, {counted(row.counted, 'item')}, level {row.level:.3g}"
        say(f"{row.number}  {at}  {row.verdict.upper()}  {what}" + (f", seed {row.seed}" if row.seed else ""))
    passes = sum(row.verdict == "pass" for row in rows)
    share = f" Of gates that pass, an expected share of at most {rows[0].delta:g} is wrong." if rows else ""
    say(f"{counted(len(rows), 'gate')}, {passes} passed.{share}")
    return 0
