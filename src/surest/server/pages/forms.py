"""Forms: what people send, as settings, labels and items."""

import asyncio
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.datastructures import UploadFile

from surest.arms.files import read_items
from surest.core.costs import parse_costs
from surest.core.problem import ALGORITHMS, DEFAULTS, PLAIN_KINDS, SETTINGS, TARGETS
from surest.core.question import ERRORS
from surest.errors import SurestError, UsageError
from surest.search.tickets import RETRIES
from surest.study.settings import LEASE_SECONDS

QUESTIONS = {
    "best": ("Which arm is the best?",),
    "top": ("Which are the m best arms?", "top"),
    "above": ("Which arms lie above a bar?", "above"),
    "control": ("Which arms are better than a control?", "control", "margin"),
    "cheapest": ("Which is the cheapest arm that is good enough?", "cheapest", "slack"),
}
"""The questions that can be asked, by kind: in words, and the settings that belong to each, of which the first is needed."""
ASKED = [name for _, *names in QUESTIONS.values() for name in names]
FIRST = ("note", "delta", "bounds", "minimise", *ASKED)
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
    "lease_seconds": f"How long a worker may take before its ticket is handed out again ({LEASE_SECONDS:g}).",
    "on_failure": "The reward recorded after the last retry. Without it, failures are retried.",
    "retries": f"How often a failed evaluation is retried before that ({RETRIES}).",
    "reserve": "The part of δ kept for arms that are added later, such as 0.1. Without it, none can be added.",
}
"""Settings of a study that a problem does not have: what becomes of evaluations that fail, and of arms that come later."""
KINDS = PLAIN_KINDS | {"delta": float, "minimise": bool} | dict.fromkeys(HANDLING, float) | {"retries": int}
"""Settings that are a number, or which a box ticks."""
FURTHER = tuple(name for name in (*SETTINGS, *HANDLING) if name not in FIRST)


def fields() -> dict[str, dict[str, Any]]:
    """A field for each setting, made from the settings of a problem: one that is added there is here too."""
    usual = ", ".join(sorted({name for pair in ALGORITHMS.values() for name in pair}))
    hints = {name: str(meta.description) for name, meta in SETTINGS.items()} | HANDLING
    hints["algorithm"] = f"Leave it empty for the usual one ({usual}, by question)."
    usually = {name: default for name, default in DEFAULTS.items() if default and name != "algorithm"}
    usually["bounds"] = ", ".join(f"{end:g}" for end in DEFAULTS["bounds"])
    return {
        name: {
            "label": LABELS.get(name, name.replace("_", " ").capitalize()),
            "hint": hint,
            "default": str(usually.get(name, "")),
            "choices": CHOICES.get(name, ()),  # what may be given, where that is one of a few
        }
        for name, hint in hints.items()
    }


def text_of(form: Mapping[str, Any], name: str) -> str:
    """A field as stripped text; empty if it is missing."""
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""


def lines_of(form: Mapping[str, Any], name: str) -> list[str]:
    """The lines of a field that are not blank."""
    return [line.strip() for line in text_of(form, name).splitlines() if line.strip()]


def number_of(text: str, what: str) -> float:
    """A number."""
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
    if asked not in QUESTIONS:
        raise UsageError(f"the question is {asked[:60]!r}; there are {', '.join(QUESTIONS)}")
    words, *own = QUESTIONS[asked]
    given = {name: text_of(form, name) for name in (*SETTINGS, *HANDLING) if name in own or name not in ASKED}
    if own and not given[own[0]]:
        raise UsageError(f"the question {words!r} needs {fields()[own[0]]['label'].lower()!r}")
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
    kind = KINDS.get(name, str)
    if kind not in (int, float):
        return kind(text)
    value = number_of(text, name)
    if kind is int and value != value // 1:  # NaN differs too
        raise UsageError(f"{name} is {text[:60]!r}; give a whole number")
    return int(text) if kind is int and text.lstrip("+-").isdigit() else kind(value)


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
    is_ours = re.fullmatch(r"/(?!/)[!-\[\]-~]*", given)  # so it has neither a scheme nor a host, nor a backslash
    to_login = given.partition("?")[0] == f"{root}/login"  # who has logged in would be asked to do so again
    return given if is_ours and not to_login else f"{root}/"
