"""Standard output: any text in any encoding, and what cannot be written is said in one line. Loads quickly, without rich."""

import codecs
import errno
import io
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from surest.errors import SurestError
from surest.text import in_json, plain_data, visible

LOOKALIKES = {
    **{"δ": "delta", "ε": "epsilon", "σ": "sigma", "Δ": "Delta", "≤": "<=", "≥": ">=", "≈": "~", "∞": "inf"},
    **{"–": "-", "−": "-", "…": "...", "→": "->", "×": "x", "·": "*", "²": "^2", "ᵢ": "_i", "\ufffd": "?"},
}
"""What to print for our own signs where the encoding of standard output lacks them."""
ESCAPED = "surest.escaped"
WRITE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


class OutputError(SurestError):
    """Standard output that cannot be written."""


def shown(text: str, encoding: str = "utf-8") -> str:
    """Text that a terminal shows and does not obey, in letters that its encoding has where we know a replacement."""
    text = visible(text, keep="\n\t")
    if text.isascii() or _can_encode(text, encoding):
        return text
    return "".join(c if _can_encode(c, encoding) else LOOKALIKES.get(c, c) for c in text)


def say(text: str, err: bool = False, *, wrap: bool = False, indent: str = "", bold: str = "", **style: Any) -> None:
    """Print lines for people, on standard error with ``err``: control characters in them are shown as a mark.

    With `wrap` long lines are broken between words. On a terminal the text has a style, such as ``fg="yellow"``, up to a part of
    it that is `bold`, where there is one.
    """
    stream = sys.stderr if err else sys.stdout
    text = shown(text, getattr(stream, "encoding", None) or "utf-8")
    if wrap:
        how: dict[str, Any] = {"initial_indent": indent, "subsequent_indent": indent, "break_on_hyphens": False}
        width = shutil.get_terminal_size().columns
        text = "\n".join("\n".join(textwrap.wrap(line, width, **how)) for line in text.split("\n"))
    before, part, after = text.partition(bold) if bold else (text, "", "")
    parts = [click.style(before, **style) if style else before, click.style(part, bold=True) if part else "", after]
    click.echo("".join(parts), err=err, color=False if "NO_COLOR" in os.environ else None)


def print_json(data: Any) -> None:
    """One JSON object on a line of standard output: what the encoding lacks or nobody sees is escaped as JSON does."""
    data = plain_data(data)
    text = in_json(json.dumps(data, ensure_ascii=False, allow_nan=False))
    if not _can_encode(text, sys.stdout.encoding or "utf-8"):
        text = json.dumps(data, allow_nan=False)
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@contextmanager
def standard_output() -> Iterator[None]:
    """Run a command inside: letters that the encoding lacks do not end it, and a full disk is an `OutputError`.

    Letters that cannot be encoded are written as JSON escapes them, so that JSON stays JSON. A closed standard output is refused
    before any work: the next file to be opened, a database say, would take its place.
    """
    if sys.stdout is None:
        raise OutputError("standard output is closed; send it to a file, or to /dev/null")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (for the rest of the process, in place of a closed one)
    codecs.register_error(ESCAPED, _escaped)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # a stream that a test puts in its place may have none
        if reconfigure is not None:
            reconfigure(errors=ESCAPED)
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        _flush()
        unbuffered = isinstance(getattr(sys.stdout, "buffer", None), io.RawIOBase)
        if unbuffered and error.filename is None and error.errno in WRITE_ERRORS:
            raise _failure(error) from None
        raise
    _flush()


def _flush() -> None:
    """Write what is still to be written; what failed before fails here again, which tells it from other errors."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise _failure(error) from None


def _failure(error: OSError | ValueError) -> OutputError:
    silence()
    return OutputError(f"standard output cannot be written: {getattr(error, 'strerror', None) or error}")


def silence() -> None:
    """Send what is still to be flushed nowhere: Python would complain about it at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # a stream without a file
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (as above)


def _can_encode(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """An error handler of `codecs`: what cannot be encoded, as JSON writes it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end
