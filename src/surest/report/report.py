"""A report on a result or a stored study: where its facts come from, and the file it is written to."""

import json
import math
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from surest.core.protocol import Point
from surest.core.session import checked_bounds
from surest.errors import UsageError
from surest.report.page import Report, to_html, to_markdown
from surest.report.table import shell_line
from surest.result.data import Result
from surest.study.additions import additions_of
from surest.study.health import last_failures_of
from surest.study.study import Study

SUFFIXES = ("html", "md", "json")
MOST_ARMS_NAMED = 1000
"""Arms up to which a study's page has the command that would make it again."""

Whole = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Level = Annotated[float, msgspec.Meta(gt=0, lt=1)]
Threshold = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
Evidence = Annotated[float, msgspec.Meta(le=1e18)]


class Document(msgspec.Struct):
    """A result as ``surest identify --json`` prints it, or a report written as JSON."""

    index: Whole
    arm: str
    certified: bool
    reason: str
    delta: Level
    epsilon: Annotated[float, msgspec.Meta(ge=0)]
    algorithm: str
    standing: str
    pulls: Whole
    pulls_per_arm: Annotated[list[Whole], msgspec.Meta(min_length=1)]
    rounds: Whole
    labels: list[str]
    means: list[float | None]
    seconds: float | None = None
    seed: int | None = None
    achieved_delta: Annotated[float, msgspec.Meta(ge=0)] | None = None
    epsilon_certified: Annotated[float, msgspec.Meta(ge=0)] | None = None
    nominees: list[str] = []
    low: list[float | None] | None = None
    high: list[float | None] | None = None
    bounds: tuple[float, float] = (0.0, 1.0)
    forecast: float | None = None
    history: list[tuple[Whole, Evidence | None, Threshold]] = []
    health: dict[str, dict[str, int]] | None = None
    command: str | None = None
    study: str | None = None
    settings: dict[str, Any] = {}
    commands: dict[str, str] = {}
    minimise: bool = False
    last_failures: dict[str, str] = {}


def read_report(document: bytes | str, source: str = "this") -> Report:
    """A report from JSON: what ``surest identify --json`` prints, or a report that was written as JSON.

    Parameters
    ----------
    document : bytes or str
        The JSON text.
    source : str
        What messages call it.

    Examples
    --------
    >>> import json, surest
    >>> result = surest.identify({"a": [0, 0, 1, 0], "b": [1, 1, 0, 1]}, seed=1)
    >>> read_report(json.dumps(result.to_json())).result.best
    'b'
    """
    try:
        data = msgspec.json.decode(document, type=Document)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise UsageError(
            f"{source} is no result ({error}); give a file with what 'surest identify --json' prints"
        ) from None
    columns: list[list[Any]] = [data.labels, data.means, *(c for c in (data.low, data.high) if c is not None)]
    if any(len(column) != len(data.pulls_per_arm) for column in columns) or (data.low is None) != (data.high is None):
        raise UsageError(f"{source} is no result: its lists of labels, pulls, means and bounds differ in length")
    if data.index >= len(data.labels) or data.labels[data.index] != data.arm:
        raise UsageError(f"{source} is no result: arm {data.arm!r} is not number {data.index} of its labels")
    low, high = checked_bounds(data.bounds)
    slack = 1e-6 * (high - low)
    if any(v is not None and not low - slack <= v <= high + slack for column in columns[1:] for v in column):
        raise UsageError(f"{source} is no result: it has means or intervals outside of its bounds [{low:g}, {high:g}]")
    commands = data.commands or ({} if data.command is None else {"Run it again": data.command})
    return Report(_result(data), data.study, data.settings, commands, data.last_failures)


def _result(data: Document) -> Result:
    plain = {name: getattr(data, name) for name in _SAME}
    known = data.low is not None and data.high is not None
    return Result(
        **plain,
        best=data.arm,
        seconds=math.nan if data.seconds is None else data.seconds,
        labels=tuple(data.labels),
        pulls_per_arm=np.array(data.pulls_per_arm, np.int64),
        means=_numbers(data.means),
        nominees=tuple(data.nominees),
        intervals=(_numbers(data.low or []), _numbers(data.high or [])) if known else None,
        bounds=checked_bounds(data.bounds),
        history=tuple(Point(at, -math.inf if e is None else e, needed) for at, e, needed in data.history),
    )


_SAME = (
    *("index", "certified", "reason", "delta", "epsilon", "algorithm", "standing", "pulls", "rounds", "seed"),
    *("achieved_delta", "epsilon_certified", "forecast", "health", "minimise"),
)
"""What a result calls as its JSON does, and keeps in the same form."""


def _numbers(values: list[float | None]) -> Any:
    return np.array([math.nan if value is None else value for value in values], float)


def report_of_study(study: Study) -> Report:
    """A report on a stored study as it stands: its log is replayed, and checked on the way."""
    settings = msgspec.to_builtins(study.settings)
    beyond = {name: settings[name] for name in ("budget", "lease_seconds", "on_failure", "retries", "options")}
    where = ["--storage", study.store.shown]
    commands = {
        "Replay the log to the same verdict": shell_line(["surest", "study", "result", *where, "--", study.name])
    }
    result = study.result(history=True)
    if len(result.labels) <= MOST_ARMS_NAMED:
        commands |= _anew(study, where)
    with study.store.reading() as connection:
        said = last_failures_of(connection, study.id, result.labels)
    return Report(result, study.name, beyond, commands, said)


def _anew(study: Study, where: list[str]) -> dict[str, str]:
    """The commands that make a study of the same arms and settings, and add later arms when they came."""
    settings, name = study.settings, f"{study.name}-again"
    first, *later = additions_of(study)
    numbered = first.labels == tuple(str(i) for i in range(len(first.labels)))
    arms = [f"--arms={len(first.labels)}"] if numbered else [f"--arm={label}" for label in first.labels]
    given = {
        "delta": settings.delta, "epsilon": settings.epsilon or None, "budget": settings.budget,
        "algorithm": settings.algorithm, "bounds": f"{settings.bounds[0]!r},{settings.bounds[1]!r}", "seed": settings.seed,
        "lease-seconds": settings.lease_seconds, "on-failure": settings.on_failure, "retries": settings.retries or None,
    }  # fmt: skip
    options = [f"--{key}={value}" for key, value in given.items() if value is not None]
    options += ["--minimise"] * settings.minimise
    options += [f"--option={key}={json.dumps(value)}" for key, value in settings.options.items()]
    made = ["surest", "study", "create", *where, *arms, *options, "--", name]
    commands = {"Start the same study anew": shell_line(made)}
    for added in later:
        line = ["surest", "study", "add-arms", *where, "--", name, *added.labels]
        when = f"Then add arms, when {added.after} rewards are told and before {added.before} are"
        commands[when] = shell_line(line)
    return commands


def write_report(report: Report, path: str | Path) -> None:
    """Write a report to a file whose suffix says the form: .html, .md or .json."""
    forms = {"html": to_html, "md": to_markdown, "json": to_json}
    text = forms[checked_form(path)](report)
    try:
        # What is no text, such as half of a surrogate pair in a label, must not keep the rest from being written.
        Path(path).write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"the report cannot be written to {path}: {error.strerror or error}") from None


def checked_form(path: str | Path) -> str:
    """The form that a file's name asks for; refused before any work if it cannot be written."""
    form = Path(path).suffix.lower().removeprefix(".")
    if form not in SUFFIXES:
        raise UsageError(f"{path}: a report's name ends in {', '.join('.' + s for s in SUFFIXES)}")
    if not Path(path).resolve().parent.is_dir():
        raise UsageError(f"{path}: there is no folder {Path(path).parent} to write the report to")
    return form


def to_json(report: Report) -> str:
    """The report as JSON, on one line; `read_report` reads it."""
    try:
        return msgspec.json.encode(report.to_json()).decode() + "\n"  # which has no NaN
    except UnicodeEncodeError as error:
        raise UsageError(f"a label or a command is no text: {error}") from None
