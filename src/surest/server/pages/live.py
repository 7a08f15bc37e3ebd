"""The page of a study while it changes: its parts are made once for all who watch, and sent to them as they change."""

import asyncio
import json
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from surest.report.page import health, summary
from surest.report.pictures import has_begun, pictures_of
from surest.result.differences import leads_of
from surest.result.words import verdict
from surest.server.auth import needs
from surest.server.events import Moment, moment_of, streamed
from surest.server.pages import view
from surest.server.pages.render import TEMPLATES, path_of
from surest.text import guessed, seconds_words, visible

K = TypeVar("K")
V = TypeVar("V")
KEPT = 32  # studies whose parts are kept
KEPT_LINES = 2000  # studies of which a line in the list of all is kept


@dataclass(frozen=True)
class Shown:
    """The parts of a page, by id, and what is said of the study in a sentence."""

    seen: view.Seen
    parts: dict[str, Markup]
    says: str  # short, and changed only when something happened: a screen reader speaks it
    title: str

    def event(self) -> str:
        """As a server-sent event."""
        data = {"parts": self.parts, "says": self.says, "title": self.title, "told": self.seen.progress.told}
        return f"event: parts\ndata: {json.dumps(data)}\n\n"


class Live:
    """Pages of studies, each made once for everybody who looks at it at the same moment."""

    def __init__(self) -> None:
        self.curves = view.Curves()
        self._kept: OrderedDict[tuple[str, bool], tuple[Moment, asyncio.Future[Shown]]] = OrderedDict()
        self._lines: OrderedDict[str, tuple[Moment, view.StudyLine]] = OrderedDict()

    async def show(self, request: Request, name: str, moment: Moment | None = None) -> Shown:
        """The parts of a study's page now, or, if they were made for the same moment, those."""
        studies = request.app.state.studies
        now = await studies.with_study(name, moment_of) if moment is None else moment
        may_work, path = request.state.who.may("work"), path_of(request, name)
        there = self._kept.get((path, may_work))
        if there is not None and there[0] == now and not _failed(there[1]):
            return await asyncio.shield(there[1])
        making = asyncio.ensure_future(
            studies.with_study(name, lambda study: shown(view.look(study, self.curves), path, may_work))
        )
        _keep(self._kept, (path, may_work), (now, making), KEPT)
        return await asyncio.shield(making)

    async def line(self, request: Request, name: str) -> view.StudyLine:
        """A study in the list of all, made anew when something happened to it."""
        studies = request.app.state.studies
        now = await studies.with_study(name, moment_of)
        there = self._lines.get(name)
        line = there[1] if there is not None and there[0] == now else await studies.with_study(name, view.line_of)
        _keep(self._lines, name, (now, line), KEPT_LINES)
        return line


def _keep(kept: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    """Keep a value, and of all values those that were used last."""
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > most:
        kept.popitem(last=False)


def _failed(making: "asyncio.Future[Shown]") -> bool:
    return making.done() and (making.cancelled() or making.exception() is not None)


PARTS = ("verdict", "facts", "pictures", "arms", "cells", "work")  # as the template has them


def shown(seen: view.Seen, path: str, may_work: bool) -> Shown:
    """All parts of a page that may change."""
    state, result, progress = view.state_words(seen.progress, seen.paused), seen.report.result, seen.progress
    told = replace(seen.report, result=replace(result, forecast=None))  # which stands among the facts
    speed, left = (0.0, None) if seen.idle else (progress.per_second or 0.0, progress.seconds_left)
    about = "" if left is None else f", {guessed(left, seconds_words)}"
    level, share = view.level_of(result)
    head, lines, rest = view.arm_lines(seen.report)
    values = {
        "seen": seen,
        "study": seen.study,
        "result": result,
        "progress": progress,
        "path": path,
        "may_work": may_work,
        "state": state if result.certified else f"Not decided: {state[:1].lower()}{state[1:]}",
        "says": verdict(result).replace(f"Not decided ({result.reason}). ", ""),
        "summary": summary(told),
        "level": level,
        "share": share,
        "speed": f"{speed:,.0f}" if speed >= 100 else f"{speed:.3g}" if speed else "",
        "forecast": "not known yet" if result.forecast is None else f"{guessed(result.forecast)}{about}",
        "drawn": pictures_of(result, live=True) if has_begun(result) else None,
        "head": head,
        "lines": lines,
        "rest": rest,
        "has_leads": leads_of(result) is not None,
        "table": view.cell_table(result),
        "paged": False,
        "health": health(seen.report),
    }
    template: Any = TEMPLATES.get_template("parts.html").make_module(values)
    parts = {f"part-{name}": getattr(template, name)() for name in PARTS}
    return Shown(seen, parts, f"{state}. {_in_short(seen)}", f"{visible(seen.study.name)}: {state} – surest")


def _in_short(seen: view.Seen) -> str:
    """The verdict, or what of it changes seldom."""
    result = seen.report.result
    if seen.progress.finished:
        return verdict(result)
    if not has_begun(result):
        return "Nothing has been counted yet."
    if result.problem.question.each_arm:
        return f"Arms with a verdict: {' of '.join(map(str, view.arms_with_verdict(result)))}."
    return f"{view.leaders(result, None)} {'leads' if len(result.chosen) == 1 else 'lead'}."


@needs("look")
async def live(request: Request) -> Response:
    """The parts of a study's page, sent as server-sent events whenever they change."""

    async def told(moment: Moment) -> str:
        shown: Shown = await request.app.state.live.show(request, request.path_params["name"], moment)
        return shown.event()

    return await streamed(request, told, "event: beat\ndata:\n\n")
