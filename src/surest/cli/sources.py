"""``surest identify`` on a SOURCE: recorded rewards as evidence, simulated arms, Python functions."""

import importlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import numpy as np

from surest.arms.finite import FiniteArms
from surest.arms.instances import KINDS, is_path
from surest.arms.kinds import Functions, kind_of_arms
from surest.arms.recorded import ABOUT_ITEMS, Records
from surest.arms.totals import Totals
from surest.cli import stopped_by
from surest.cli.following import followed_rewards, followed_totals, naming
from surest.cli.output import command_again, show_result, shows_history
from surest.cli.progress import Screen
from surest.cli.settings import Given
from surest.cli.streams import say
from surest.core.scale import Scale
from surest.errors import SourceError
from surest.result.data import Result
from surest.result.words import ASSUMED
from surest.search.identify import identify as find_best
from surest.search.loading import module_of_file, told
from surest.text import count, shell_line, visible

NAMES = re.compile(r"(?P<home>.+\.py|[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<attribute>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")
FORMS = "module:attribute or file.py:attribute, a mapping or sequence of callables, or a function that returns one"


def is_python(source: str) -> bool:
    """Whether a source names Python arms."""
    found = NAMES.fullmatch(source)
    return found is not None and found["home"] not in KINDS


def load(source: str) -> Any:
    """The arms that a source names."""
    found = NAMES.fullmatch(source)
    assert found is not None
    home, more = found["home"], f"; allowed: {FORMS}"
    thing: Any = module_of_file(home, repr(source), more) if home.endswith(".py") else _module(home, source)
    for name in found["attribute"].split("."):
        if not hasattr(thing, name):
            near = get_close_matches(name, [n for n in dir(thing) if not n.startswith("_")], 1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise SourceError(f"{source!r}: {home} has no {name!r}{hint}")
        thing = getattr(thing, name)
    if callable(thing) and not isinstance(thing, Mapping | Sequence | np.ndarray):
        try:
            thing = thing()
        except Exception as error:
            raise SourceError(f"{source!r}: the function raised {told(error)}{more}") from error
    return thing


def _module(name: str, source: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))  # as with python -m
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise SourceError(f"{source!r}: importing {name} raised {told(error)}") from error
        near = get_close_matches(name, KINDS, 1)
        hint = f" (did you mean {near[0]}:…?)" if near else ""
        raise SourceError(f"{source!r}: there is no module {name}{hint}; allowed: {FORMS}") from None
    except Exception as error:
        raise SourceError(f"{source!r}: importing {name} raised {told(error)}") from error


SUGGESTED = 5  # arms to evaluate next that are listed, where nothing else is said


def identify_totals(given: Given, settings: Given, scale: Scale, totals: Totals) -> int:
    """Judge the totals of a table, or, with --follow, until they decide."""
    if given["follow"]:
        totals = followed_totals(given, settings, scale, totals)
    return show_result(_ended(find_best(totals, **settings)), given, {"about": ASSUMED})


def identify_recorded(given: Given, settings: Given, scale: Scale, records: Records) -> int:
    """Count recorded rewards, each once, and say what to evaluate next where they do not decide."""
    if given["follow"]:
        records = followed_rewards(given, settings, scale, records)
    records = naming(records, given["labels"], given["source"])
    # The next call, on a longer file, must continue the same run: so the seed is 0 by default.
    how = {"record": given["decision"] is not None, "shuffle": given["shuffle"], "finished": given["finished"]}
    result = _ended(find_best(replace(records, column=None), **{"seed": 0, **settings}, **how))
    used, rows = result.evaluations, sum(map(len, records.rewards))
    next_ = [{"arm": label, "times": times} for label, times in result.wanted.items()][: given["suggest"] or SUGGESTED]
    unused, why = rows - used, "needed" if result.certified else "used"
    facts = {"rows": rows, "unused": unused, "suggestions": next_}
    spare = f"; {count(unused)} of them {'was' if unused == 1 else 'were'} not {why}" if unused > 0 else ""
    lines = [f"{count(rows)} {'row' if rows == 1 else 'rows'}{spare}."]
    status = show_result(result, given, facts, lines, suggestions=next_)
    for file in records.unfinished:
        say(f"surest: the last line of {file} has no end yet; it was left for later", err=True)
    column = records.column
    if column is not None:
        named = {"--arm-column": given["arm_column"], "--item-column": column, "--value-column": given["value_column"]}
        options = [word for option, name in named.items() if name not in (None, "item") for word in (option, name)]
        command = shell_line(["surest", "evaluate", given["source"], *options])
        say(f"surest: {ABOUT_ITEMS.format(visible(column))}: {command}", err=True)
    return status


def identify_simulated(given: Given, settings: Given, scale: Scale, arms: FiniteArms) -> int:
    """Draw from laws."""
    screen = Screen(arms.labels, scale, quiet=given["quiet"])
    result = _searched(given, settings, screen, arms)
    if is_path(given["source"]):
        result = replace(result, resampled=True)
    comparison = importlib.import_module("surest.lab.characteristic").comparison  # nobody else needs it
    return _shown(result, given, lines=comparison(result, arms.mirrored() if scale.minimise else arms))


def identify_python(given: Given, settings: Given, scale: Scale, arms: Any) -> int:
    """Call Python functions, one after the other, where Ctrl-C may interrupt them, or take whatever else Python code gives."""
    source = kind_of_arms(arms, scale, wants="a count" if given["vectorised"] else "")
    screen = Screen(source.labels, scale, quiet=given["quiet"])
    if isinstance(source, Functions):
        arms = {label: screen.arm(label, arm) for label, arm in zip(source.labels, source.functions, strict=True)}
    result = _searched(given, settings, screen, arms)
    return _shown(result, given, "rewards are not kept without --study NAME. ")


def _ended(result: Result) -> Result:
    """A result, with the reason that a signal gave it."""
    return result if stopped_by() is None or result.certified else replace(result, reason="interrupted")


def _searched(given: Given, settings: Given, screen: Screen, arms: Any) -> Result:
    how: dict[str, Any] = {"vectorised": given["vectorised"], "record": given["decision"] is not None}
    with screen:
        return find_best(arms, **settings, **how, on_request=screen, progress=False, history=shows_history(given))


def _shown(result: Result, given: Given, kept: str = "", lines: Sequence[str] = ()) -> int:
    """Show what was found and, where a signal ended it, the command that does it again."""
    status = show_result(result, given, {}, lines)
    if stopped_by() is not None:
        say(f"surest: {kept}To do it again:\n  {command_again(click.get_current_context(), result.seed)}", err=True)
    return status
