"""The command ``surest``. Each command is a thin function over a library call, loaded when it is used."""

import importlib
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from types import FrameType
from typing import Any

import click

from surest import __version__
from surest.cli.streams import say, silence, standard_output
from surest.errors import SurestError, UsageError

SIGNALLED = 128  # the exit status of what a signal ended is this plus the signal's number
STOPPED_BY = "surest.stopped_by"
"""In the context of a command: the signal that ended its search, if one did."""


def stopped_by() -> int | None:
    """The signal that ended the search of this command, if one did."""
    number: int | None = click.get_current_context().meta.get(STOPPED_BY)
    return number


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends what runs as Ctrl-C does."""


@contextmanager
def heeding_sigterm() -> Iterator[None]:
    """Let SIGTERM end what runs as Ctrl-C does: what tidies up after an exception then does so."""

    def end(number: int, frame: FrameType | None) -> None:
        if os.getpid() == own:  # a forked child has inherited this
            raise Terminated
        os._exit(SIGNALLED + number)

    own = os.getpid()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Commands(click.Group):
    """A group of commands; the `lazy` ones, each with its module, are imported when they are called.

    An unknown command is refused with the nearest name, or with all that there are.
    """

    def __init__(self, *arguments: Any, lazy: Mapping[str, str] | None = None, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.lazy = lazy or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands by name, or in the order in which a newcomer needs them."""
        return list(self.lazy) or super().list_commands(ctx)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """A command."""
        if name not in self.lazy:
            return super().get_command(ctx, name)
        command: click.Command = getattr(importlib.import_module(self.lazy[name]), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-"):
            near = get_close_matches(args[0], known, 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise click.UsageError(f"there is no command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)


COMMANDS = {
    "identify": "Find the best arm of a source.",
    "evaluate": "Find the best arm on a list of items: a table of scores, or commands.",
    "duel": "Find who beats all others head to head, from judgements of pairs or recorded duels.",
    "fastest": "Find the fastest of several commands, by measuring.",
    "gate": "Decide whether a candidate is worse than a baseline, for a build.",
    "plan": "Simulate how many evaluations a search will need, before the first one.",
    "bounds": "Show how hard a source is, before anything is pulled.",
    "study": "Keep a search in a database, shared by any number of workers.",
    "serve": "Serve studies over HTTP: pages, and JSON for workers in any language.",
    "report": "Write a page on a study or a result: HTML, Markdown or JSON.",
    "algorithms": "List the algorithms.",
    "bench": "Compare algorithms on suites of instances.",
    "doctor": "Show what is installed, compiled and writable.",
}
"""Name and line of help; the command itself is the function of that name in the module of that name, or in a house."""
HOUSES = {"fastest": "speed.cli", "serve": "server.cli", "bounds": "lab.cli.bounds", "bench": "lab.cli.bench"}
"""Commands that live in a house of their own, which nothing else imports."""

EXTRAS = {
    **{"matplotlib": "plot", "pandas": "pandas", "polars": "polars", "psycopg": "postgresql", "distributed": "dask"},
    **{"zipfile_zstd": "inspect", "optuna": "optuna", "sklearn": "sklearn", "joblib": "sklearn", "loky": "loky"},
}
"""The extra that brings each optional package."""


class Unread(Exception):
    """Whoever read standard output has seen enough, as ``head`` has."""


class Main(Commands):
    """All commands; none of them is imported to list them: `surest --help` is quick."""

    def invoke(self, ctx: click.Context) -> object:
        """Run a command. Click would exit with status 1 when nobody reads its output any more."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise Unread from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Main,
    lazy={name: f"surest.{HOUSES.get(name, f'cli.{name}')}" for name in COMMANDS},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="surest")
def cli() -> None:
    """Find the best of n noisy options with few evaluations and a guarantee on the answer.

    Exit status: 0 decided, 3 budget spent without a decision, 2 invalid input, 1 a database
    that cannot be used, or a fault of surest.
    Add --debug to any command to see a traceback.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    given = sys.argv[1:] if arguments is None else arguments
    end = given.index("--") if "--" in given else len(given)
    ours, theirs = given[:end], given[end:]  # what follows "--" may be somebody else's command
    debug = "--debug" in ours
    try:
        with heeding_sigterm(), standard_output():
            words = [*(word for word in ours if word != "--debug"), *theirs]
            status = cli.main(words, prog_name="surest", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except click.exceptions.Abort as error:
        ended = isinstance(error.__cause__, Terminated)
        _fail("terminated" if ended else "interrupted", 143 if ended else 130, debug)
    except KeyboardInterrupt:
        _fail("interrupted", 130, debug)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        say(shown.getvalue().rstrip("\n"), err=True)  # control characters in it as a mark
        sys.exit(2)
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package not in EXTRAS:
            _fail(f"a fault of surest: {error} (add --debug for a traceback)", 1, debug)
        _fail(f"this needs {package}, which is not installed: pip install 'surest[{EXTRAS[package]}]'", 2, debug)
    except SurestError as error:
        _fail(str(error), 2 if isinstance(error, UsageError) else 1, debug)
    except (Unread, BrokenPipeError):
        silence()
        sys.exit(0)
    except Exception as error:
        _fail(f"a fault of surest: {type(error).__name__}: {error} (add --debug for a traceback)", 1, debug)


def _fail(message: str, status: int, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    say(f"surest: {message}", err=True)
    sys.exit(status)
