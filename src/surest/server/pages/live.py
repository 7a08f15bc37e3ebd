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
from surest.server.pages.render import part, path_of
from surest.text import guessed, seconds_words, visible

K = TypeVar("K")
V = TypeVar("V")
KEPT = 32  # studies whose parts are kept
KEPT_LINES = 2000  # studies of which a line in the list of all is kept
MOST_OUT = 10  # tickets that are out which a page shows


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


def shown(seen: view.Seen, path: str, may_work: bool) -> Shown:
    """All parts of a page that may change."""
    state, result = view.state_words(seen.progress, seen.paused), seen.result
    name, says = visible(seen.study.name), f"{state}. {_in_short(seen)}"
    parts = {
        "part-verdict": _verdict(seen, state),
        "part-facts": _facts(seen),
        "part-pictures": _pictures(seen),
        "part-arms": _arms(seen),
        "part-cells": part("part-cells.html", table=view.cell_table(result), path=path, paged=False),
        "part-work": _work(seen, path, may_work),
    }
    return Shown(seen, parts, says, f"{name}: {state} – surest")


def _in_short(seen: view.Seen) -> str:
    """The verdict, or what of it changes seldom."""
    result = seen.result
    if seen.progress.finished:
        return verdict(result)
    if not has_begun(result):
        return "Nothing has been counted yet."
    if result.problem.question.each_arm:
        return f"Arms with a verdict: {' of '.join(map(str, view.arms_with_verdict(result)))}."
    return f"{view.leaders(result, None)} {'leads' if len(result.chosen) == 1 else 'lead'}."


def _verdict(seen: view.Seen, state: str) -> Markup:
    result = seen.result
    told = replace(seen.report, result=replace(result, forecast=None))  # which stands among the facts
    return part(
        "part-verdict.html",
        result=result,
        progress=seen.progress,
        state=state if result.certified else f"Not decided: {state[:1].lower()}{state[1:]}",
        says=verdict(result).replace(f"Not decided ({result.reason}). ", ""),
        summary=summary(told),
        paused=seen.paused,
    )


def _facts(seen: view.Seen) -> Markup:
    level, share = view.level_of(seen.result)
    said = {"level": level, "share": share, "speed": _speed(seen), "forecast": _forecast(seen)}
    return part("part-facts.html", progress=seen.progress, **said)


def _speed(seen: view.Seen) -> str:
    """Rewards a second, unless none came lately."""
    speed = 0.0 if seen.idle else seen.progress.per_second or 0.0
    return f"{speed:,.0f}" if speed >= 100 else f"{speed:.3g}" if speed else ""


def _forecast(seen: view.Seen) -> str:
    """What is still needed, as far as it can be told."""
    progress = seen.progress
    if progress.result.forecast is None:
        return "not known yet"
    left = None if seen.idle else progress.seconds_left
    about = "" if left is None else f", {guessed(left, seconds_words)}"
    return f"{guessed(progress.result.forecast)}{about}"


def _pictures(seen: view.Seen) -> Markup:
    result = seen.result
    return part("part-pictures.html", pictures=pictures_of(result, live=True) if has_begun(result) else None)


def _arms(seen: view.Seen) -> Markup:
    head, lines, rest = view.arm_lines(seen.report)
    leads = leads_of(seen.result)
    return part(
        "part-arms.html", head=head, lines=lines, rest=rest, heading=None if leads is None else leads.heading,
    )  # fmt: skip


def _work(seen: view.Seen, path: str, may_work: bool) -> Markup:
    study, labels = seen.study, seen.study.labels
    out: list[dict[str, Any]] = [
        {
            "number": ticket.number,
            "arm": labels[ticket.arm],
            "item": None if ticket.item is None else study.items[ticket.item].key,
            "worker": ticket.worker,
            "held": ticket.lease > seen.now,
            "state": "with its worker" if ticket.lease > seen.now else "to be handed out again",
        }
        for ticket in ([] if seen.progress.finished and not study.items else seen.out[:MOST_OUT])
    ]
    return part(
        "part-work.html", workers=seen.workers, out=out, more_out=len(seen.out) - len(out) if out else 0,
        health=health(seen.report), recent=seen.recent, study=study, may_work=may_work, path=path,
    )  # fmt: skip


@needs("look")
async def live(request: Request) -> Response:
    """The parts of a study's page, sent as server-sent events whenever they change."""

    async def told(moment: Moment) -> str:
        shown: Shown = await request.app.state.live.show(request, request.path_params["name"], moment)
        return shown.event()

    return await streamed(request, told, "event: beat\ndata:\n\n")
