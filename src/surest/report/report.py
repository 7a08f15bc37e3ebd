"""Reports on results and stored studies: read from JSON, made of a study, written to a file."""

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from surest.core.problem import DEFAULTS
from surest.decision.write import decision_of, is_checkable
from surest.errors import UsageError
from surest.report.page import Report, gate_to_html, to_html, to_markdown
from surest.result.data import Result
from surest.result.gate import Gate, gate_in
from surest.result.json import ALWAYS, from_json
from surest.study.outcome import additions_of, last_failures_of, times_told
from surest.study.study import Study
from surest.text import counted, plain_data, shell_line
from surest.writing import check_place, written

DECISION = "decision.jsonl.gz"
MOST_ARMS_NAMED = 1000  # arms up to which the page of a study has the command that creates it again
MOST_RECORDED = 20_000
"""Rewards up to which a report states the hash of the decision, which takes as long as the report."""


class Beside(msgspec.Struct):
    """The fields of a report as JSON besides those of its result."""

    command: str | None = None
    study: str | None = None
    settings: dict[str, Any] = {}
    commands: dict[str, str] = {}
    last_failures: dict[str, str] = {}
    began: float | None = None
    made: float | None = None
    decision: dict[str, str] = {}


def read_report(document: bytes | str, source: str = "this") -> Report | Gate:
    """A report from the output of ``surest identify --json`` or a report as JSON, called `source` in messages; or the gate that
    ``surest gate --json`` printed.
    """
    try:
        raw = msgspec.json.decode(document)
        if isinstance(raw, dict) and "verdict" in raw:
            return gate_in(raw)
        beside = msgspec.convert(raw, Beside)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{source} is not a result ({error}); give a file with what 'surest identify --json' prints"
        ) from None
    commands = beside.commands or ({} if beside.command is None else {"Run it again": beside.command})
    if "check" in beside.decision:
        commands |= {
            f"Check this yourself: {beside.decision.get('file')} has all the evidence": beside.decision["check"]
        }
    result = from_json(raw, source)
    return Report(result, beside.study, beside.settings, commands, beside.last_failures, beside.began, beside.made)


def report_of_study(study: Study, storage: str | None = None) -> Report:
    """A report on a stored study, whose log is replayed and checked; `storage` as in `report_on`."""
    with study.store.reading() as log:
        record = _is_short(study) and study.facts(log).tickets <= MOST_RECORDED
    return report_on(study, study.result(history=True, record=record), storage, check=True)


def report_on(study: Study, result: Result, storage: str | None = None, check: bool = False) -> Report:
    """A report on a stored study whose result is known; `storage` is for its commands, if not where it is stored.

    With `check` it has the commands by which others can check a recorded result, which takes a replay.
    """
    handling = msgspec.to_builtins(study.settings.handling)
    beyond = {"budget": study.settings.problem.budget, **handling, **study.settings.problem.options}
    where = ["--storage", study.store.shown if storage is None else storage]
    commands = {
        "Replay the log to the same verdict": shell_line(["surest", "study", "result", *where, "--", study.name])
    }
    commands |= _again(study, where)
    if check and _is_short(study):
        commands |= _check_yourself(result, study, where)
    with study.store.reading() as connection:
        said = last_failures_of(connection, study.id, result.labels)
        began = min((t.told for t in connection.read_tickets(study.id, 0, 20) if t.told is not None), default=None)
        made = max(times_told(connection, study.id, study.facts(connection), 20), default=None)
    return Report(result, study.name, beyond, commands, said, began, made)


def _is_short(study: Study) -> bool:
    return len(study.labels) + len(study.items) <= MOST_ARMS_NAMED


def _check_yourself(result: Result, study: Study, where: list[str]) -> dict[str, str]:
    """The two commands by which others can check the verdict, if its algorithm has a verifier and all was recorded.

    They lack the hash if the study is long and has no list of items.
    """
    if not is_checkable(result.problem):
        return {}
    try:
        is_long = result.transcript is None and result.listed is None
        known_by = [] if is_long else ["--hash", decision_of(result).known_by]
    except UsageError:
        return {}
    written = ["surest", "study", "result", *where, f"--decision={DECISION}", "--", study.name]
    return {
        "Check this yourself: write the verdict with all its evidence": shell_line(written),
        "and let a program that shares no code with the search check it": shell_line(
            ["surest-verify", DECISION, *known_by]
        ),
    }


def _again(study: Study, where: list[str]) -> dict[str, str]:
    """The commands that create a study with the same arms and settings, and add the same arms later."""
    name, (first, *later) = f"{study.name}-again", additions_of(study)
    if _is_short(study) and all(item.payload is None for item in study.items):
        made = _spelled_out(study, where, first.labels)
    else:  # items with contents may be long
        made = ["surest", "study", "create", *where, f"--like={study.name}"]
    commands = {"Start the same study again": shell_line([*made, "--", name])}
    for added in later:
        line = ["surest", "study", "add-arms", *where, "--", name, *added.labels]
        when = f"Then add arms, when {added.after} rewards are told and before {added.before} are"
        if study.items:
            when = f"Then add arms, when {counted(added.before, 'item')} in all {'has' if added.before == 1 else 'have'} a cell"
        commands[when] = shell_line(line)
    return commands


def _spelled_out(study: Study, where: list[str], labels: tuple[str, ...]) -> list[str]:
    """The command that creates a study with all arms, items and settings, without its name."""
    settings = study.settings
    numbered = labels == tuple(str(i) for i in range(len(labels)))
    arms = [f"--arms={len(labels)}"] if numbered else [f"--arm={label}" for label in labels]
    asked = settings.plain()
    said = {name: asked[name] for name in DEFAULTS if name in ALWAYS or asked[name] != DEFAULTS[name]}
    options = [*command_words(said), *command_words(msgspec.to_builtins(settings.handling))]
    options += [f"--option={key}={json.dumps(value)}" for key, value in settings.problem.options.items()]
    items = [f"--item={item.key}" for item in study.items]
    return ["surest", "study", "create", *where, *arms, *items, *options]


def command_words(settings: Mapping[str, Any]) -> list[str]:
    """Settings as options of a command; those that are not set are left out."""
    words = []
    for name, value in settings.items():
        option = f"--{name.replace('_', '-')}"
        if value is None or value is False:
            continue
        if isinstance(value, dict):  # of each arm
            words += [f"{option}={arm}={number!r}" for arm, number in value.items()]
            continue
        shown = ",".join(map(repr, value)) if isinstance(value, tuple | list) else str(value)
        words.append(option if value is True else f"{option}={shown}")
    return words


def write_report(report: Report | Gate, path: str | Path) -> None:
    """Write a report as .html, .md or .json, by the suffix of the file."""
    check_place(path, "report")
    forms: dict[str, Any] = {".html": to_html, ".md": to_markdown, ".json": to_json}
    if isinstance(report, Gate):
        forms |= {".html": gate_to_html, ".md": Gate.to_markdown}
    elif report.made is None:
        report = replace(report, made=time.time())
    text = forms[Path(path).suffix.lower()](report)
    with written(path) as place:  # a lone surrogate in a label must not keep the rest from being written
        place.write_text(text, encoding="utf-8", errors="replace")


def to_json(report: Report | Gate) -> str:
    """The report as one line of JSON, for `read_report`."""
    try:
        return msgspec.json.encode(plain_data(report.to_dict())).decode() + "\n"
    except UnicodeEncodeError as error:
        raise UsageError(f"a label or a command is not text: {error}") from None
