"""``surest report``: a page for people on a study or a result."""

import sys
from pathlib import Path

import click
from click.core import ParameterSource

from surest.cli.settings import option
from surest.cli.streams import say
from surest.cli.study import algorithm_option, storage_option
from surest.errors import SourceError, UsageError
from surest.report.page import Report
from surest.report.report import read_report, report_of_study, write_report
from surest.result.gate import Gate
from surest.result.words import verdict
from surest.study.study import open_study


@click.command()
@click.argument("subject", metavar="STUDY|RESULT")
@option("--output FILE", "Where to write it: .html, .md or .json.", writes="report", required=True)
@algorithm_option
@storage_option
@click.pass_context
def report(context: click.Context, subject: str, output: str, algorithm: str | None, storage: str) -> int:
    """Write a report on a stored study, or on a result that surest identify, evaluate or gate printed with --json.

    RESULT is a file, or - for standard input. Anything else is the name of a study; with --storage, it always is.
    """
    named = context.get_parameter_source("storage") is ParameterSource.COMMANDLINE
    is_file = not named and (subject == "-" or Path(subject).is_file())
    found = _from_file(subject) if is_file else _from_study(subject, storage, algorithm, named)
    write_report(found, output)
    say(f"{found if isinstance(found, Gate) else verdict(found.result)}\nWritten to {output}.")
    return 0


def _from_file(subject: str) -> Report | Gate:
    try:
        document = sys.stdin.buffer.read() if subject == "-" else Path(subject).read_bytes()
    except OSError as error:
        raise SourceError(f"{subject} cannot be read: {error.strerror or error}") from None
    return read_report(document, subject)


def _from_study(subject: str, storage: str, algorithm: str | None, named: bool) -> Report:
    try:
        return report_of_study(open_study(storage, subject, algorithm=algorithm))
    except UsageError as error:
        if named:
            raise
        raise UsageError(f"{subject} is neither a file nor a study: {error}") from None
