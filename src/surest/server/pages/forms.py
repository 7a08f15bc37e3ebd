"""Forms: what people send, as settings, labels and items."""

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from starlette.datastructures import UploadFile

from surest.arms.files import read_items
from surest.core.costs import parse_costs
from surest.core.problem import ALGORITHMS, DEFAULTS, SETTINGS, TARGETS, Problem
from surest.core.question import ERRORS
from surest.errors import SurestError, UsageError
from surest.search.tickets import RETRIES
from surest.study.settings import LEASE_SECONDS

QUESTIONS = (
    ("best", "Which arm is the best?"),
    ("top", "Which are the m best arms?"),
    ("above", "Which arms lie above a bar?"),
    ("control", "Which arms are better than a control?"),
    ("cheapest", "Which is the cheapest arm that is good enough?"),
)
"""The questions that can be asked, by kind."""
GOES_WITH = {"top": ("top",), "above": ("above",), "control": ("control", "margin"), "cheapest": ("cheapest", "slack")}
"""Settings that belong to a question."""
FIRST = ("note", "delta", "bounds", "minimise", *(name for names in GOES_WITH.values() for name in names))
"""Settings that the form shows at once."""
LABELS = {
    "delta": "Error probability δ",
    "epsilon": "Accuracy ε",
    "top": "How many",
    "above": "The bar",
    "cheapest": "How far from the best",
    "bounds": "Range",
}
CHOICES = {"error": ERRORS, "target": TARGETS}
HANDLING = {
    "lease_seconds": (f"How long a worker may take before its ticket is handed out again ({LEASE_SECONDS:g}).", float),
    "on_failure": (
        "The reward recorded after the last retry. Without it, failures are retried.",
        float,
    ),
    "retries": (f"How often a failed evaluation is retried before that ({RETRIES}).", int),
    "reserve": ("The part of δ kept for arms that are added later, such as 0.1. Without it, none can be added.", float),
}
"""Settings of a study that a problem does not have: what becomes of evaluations that fail, and of arms that come later."""
FURTHER = tuple(name for name in (*SETTINGS, *HANDLING) if name not in FIRST)


class Field(NamedTuple):
    """A field of a form."""

    label: str
    hint: str
    default: str
    choices: tuple[str, ...] = ()  # what may be given, where that is one of a few


def fields() -> dict[str, Field]:
    """A field for each setting, made from the settings of a problem: one that is added there is here too."""
    found = {}
    for name, meta in SETTINGS.items():
        default = DEFAULTS[name]
        shown = ", ".join(f"{end:g}" for end in default) if name == "bounds" else default
        chosen = "" if name in ("seed", "algorithm", *GOES_WITH) or shown in (None, "", False) else str(shown)
        found[name] = Field(
            LABELS.get(name, name.replace("_", " ").capitalize()), str(meta.description), chosen, CHOICES.get(name, ())
        )
    usual = ", ".join(sorted({name for pair in ALGORITHMS.values() for name in pair}))
    found["algorithm"] = Field("Algorithm", f"Leave it empty for the usual one ({usual}, by question).", "")
    for name, (hint, _) in HANDLING.items():
        found[name] = Field(name.replace("_", " ").capitalize(), hint, "")
    return found


def text_of(form: Mapping[str, Any], name: str) -> str:
    """A field as stripped text; empty if it is missing."""
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""


def lines_of(form: Mapping[str, Any], name: str) -> list[str]:
    """The lines of a field that are not blank."""
    return [line.strip() for line in text_of(form, name).splitlines() if line.strip()]


def number_of(text: str, what: str) -> float:
    """A number.

    >>> number_of("0,5", "the reward")
    Traceback (most recent call last):
        ...
    surest.errors.UsageError: the reward is '0,5'; give a number, such as 0.5
    """
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{what} is {text[:60]!r}; give a number, such as 0.5") from None


def settings_of(form: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a form: those that were filled in, and, of those of a question, those of the chosen one.

    >>> settings_of({"delta": "0.1", "bounds": "0, 5", "question": "top", "top": "3", "above": "9", "minimise": "yes"})
    {'delta': 0.1, 'top': 3, 'bounds': (0.0, 5.0), 'minimise': True}
    """
    asked = text_of(form, "question") or "best"
    if asked not in dict(QUESTIONS):
        raise UsageError(f"the question is {asked[:60]!r}; there are {', '.join(dict(QUESTIONS))}")
    left_out = {name for kind, names in GOES_WITH.items() if kind != asked for name in names}
    given = {name: text_of(form, name) for name in (*SETTINGS, *HANDLING) if name not in left_out}
    if asked != "best" and not given[asked]:
        raise UsageError(f"the question {dict(QUESTIONS)[asked]!r} needs {fields()[asked].label.lower()!r}")
    return {name: _value(name, text) for name, text in given.items() if text}


def _value(name: str, text: str) -> Any:
    """What somebody wrote into a field, as the setting has it."""
    if name == "bounds":
        ends = [number_of(part.strip(), "an end of the range") for part in text.split(",")]
        if len(ends) != 2:
            raise UsageError(f"the range is {text[:60]!r}; give the lowest and the highest possible reward, as in 0, 5")
        return tuple(ends)
    if name == "cost":
        return parse_costs(text.replace(",", " ").split())
    kind = HANDLING[name][1] if name in HANDLING else get_type_hints(Problem)[name]
    if kind is bool:
        return True
    if kind in (int, int | None):
        value = number_of(text, name)
        if value != value // 1:  # NaN differs too
            raise UsageError(f"{name} is {text[:60]!r}; give a whole number")
        return int(text) if text.lstrip("+-").isdigit() else int(value)
    return number_of(text, name) if kind in (float, float | None) else text


async def items_of(form: Mapping[str, Any]) -> list[Any] | None:
    """The items of a form, from its field or from a file: keys, or keys with what evaluations need to know."""
    listed, upload = lines_of(form, "items"), form.get("items_file")
    if not isinstance(upload, UploadFile) or not upload.filename:  # browsers send a nameless file where none was chosen
        return list(listed) or None
    if listed:
        raise UsageError("items are given as lines and as a file; give only one of them")
    return await asyncio.to_thread(items_in, await upload.read(), upload.filename)


def items_in(data: bytes, name: str) -> list[Any]:
    """The items of a file that was sent.

    >>> items_in(b'{"id": "q1", "text": "2 + 2?"}', "questions.jsonl")
    [('q1', {'id': 'q1', 'text': '2 + 2?'})]
    >>> items_in(b"one\\ntwo", "list.txt")
    ['one', 'two']
    """
    suffix = next((end for end in (".csv", ".jsonl", ".ndjson") if name.lower().endswith(end)), ".txt")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"items{suffix}"
        path.write_bytes(data)
        try:
            found = read_items(path)
        except SurestError as error:
            raise UsageError(str(error).replace(str(path), f"the file {name[:60]!r}")) from None
    return [item.key if item.value == item.key else (item.key, item.value) for item in found]


def safe_next(given: str, root: str) -> str:
    """Where to go after logging in: a page of ours, whatever the form says.

    >>> safe_next("/studies/a?page=2", ""), safe_next("//evil.example/x", ""), safe_next("https://evil.example", "")
    ('/studies/a?page=2', '/', '/')
    >>> safe_next("//[", ""), safe_next("/login?next=/", "")
    ('/', '/')
    """
    ours = given.startswith("/") and not given.startswith(("//", "/\\"))  # so it has neither a scheme nor a host
    plain = all(" " < mark <= "~" and mark != "\\" for mark in given)
    to_login = given.partition("?")[0] == f"{root}/login"  # who has logged in would be asked to do so again
    return given if ours and plain and not to_login else f"{root}/"
