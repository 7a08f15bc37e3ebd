"""Check a decision file of surest without surest: ``python surest_verify.py FILE [--hash HASH]``.

A decision file says who was found to be best and has all that this rests on: every counted reward in order, and every bet in a
line before the rewards that it was placed on. This program reads it, computes the evidence anew from the theorems of
docs/wager.md, docs/questions/top.md, docs/items.md and docs/gate.md, and says VALID (status 0) or NOT VALID (status 1) with
the line. It needs Python 3.11 and nothing else. docs/verify.md says what the lines are and what VALID means.

Rounding: u is 2^-52. Wealth is a sum of products of factors 1 − α + α·q with 0 ≤ α ≤ 1 and q ≥ 0. Nothing is subtracted, so
a factor has a relative error of at most 10u, and what a value may have been rounded up by is bounded and taken off (`slack`).
"""

import gzip
import hashlib
import json
import math
import sys
from collections.abc import Iterator
from typing import Any

VERSION = 1
U = 2.0**-52
Line = dict[str, Any]


class Invalid(Exception):
    """What is wrong with a file, and, if known, in which line."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


def require(holds: bool, text: str) -> None:
    """Refuse the file unless something holds."""
    if not holds:
        raise Invalid(text)


# Reading: strict JSON, and the chain.


def fields(line: Line, names: str, optional: str = "") -> None:
    """Refuse a line, or a part of one, that has other fields than these."""
    missing, more = set(names.split()) - set(line), set(line) - set(f"{names} {optional}".split())
    require(not missing and not more, f"fields are missing or not known: {', '.join(sorted(missing | more))}")


def number(value: Any, low: float, high: float, what: str) -> float:
    """A number within bounds, as a float."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    require(is_number and low <= value <= high, f"{what} is {value!r:.40}, not a number from {low:g} to {high:g}")
    return float(value)


def whole(value: Any, low: int, high: int, what: str) -> int:
    """A whole number within bounds."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    require(is_whole and low <= value <= high, f"{what} is {value!r:.40}, not a whole number from {low} to {high}")
    return int(value)


def listed(value: Any, what: str, length: int | None = None) -> list[Any]:
    """A list, of a given length if there is one."""
    fits = isinstance(value, list) and length in (None, len(value))
    require(fits, f"{what} is not a list{'' if length is None else f' of length {length}'}")
    return list(value)


def _object(pairs: list[tuple[str, Any]]) -> Line:
    require(len({key for key, _ in pairs}) == len(pairs), "a key comes twice")
    return dict(pairs)


def _float(text: str) -> float:
    require(math.isfinite(float(text)), f"{text[:40]} is not a finite number")
    return float(text)


def _int(text: str) -> int:
    require(len(text) < 17 and abs(int(text)) <= 2**53, f"{text[:40]} is too large a number")
    return int(text)


def _constant(text: str) -> float:
    raise Invalid(f"{text} is not a number")


def parse(raw: bytes) -> Line:
    """A line as a JSON object; what Python's reader would let pass is refused."""
    try:
        line = json.loads(
            raw.decode(), object_pairs_hook=_object, parse_float=_float, parse_int=_int, parse_constant=_constant
        )
    except (ValueError, RecursionError) as error:
        raise Invalid(f"not JSON: {error}"[:120]) from None
    require(isinstance(line, dict), "not a JSON object")
    return dict(line)


def chained(path: str) -> Iterator[tuple[int, Line]]:
    """The lines of a file with their numbers, from 1. Each must carry the hash of the one before; the last is the end."""
    ended, before, at = False, "", 0
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        for at, raw in enumerate(file, 1):
            try:
                require(not ended, "the file goes on after its end")
                require(raw.endswith(b"\n"), "the line is cut")
                line = parse(raw[:-1])
                ended = "end" in line
                link = line.pop("end" if ended else "prev", None) if at > 1 else ""
                require(link == before, "the hash of the line before is another")
                before = hashlib.sha256(raw[:-1]).hexdigest()
            except Invalid as error:
                raise Invalid(str(error), at) from None
            if ended:
                fields(line, "")
                line = {"kind": "end", "hash": link}
            yield at, line
    if not ended:
        raise Invalid("the file is cut: it has no last line", at + 1)


# Fresh rewards: wager and wager-top.


class Pulls:
    """Searches on fresh rewards for the best arm or the m best."""

    def __init__(self, header: Line) -> None:
        self.header = header

    def take(self, at: int, line: Line) -> None:
        """Take in a line between the first and the conclusion."""
        raise Invalid(f"the kind {line.get('kind')!r:.40} is not known here")

    def conclude(self, at: int, line: Line) -> list[str]:
        """Check what the file concludes; what was checked, in words."""
        raise NotImplementedError


# Lists of items: race and race-top.

# The gate.

CHECKERS: dict[str, Any] = {"wager": Pulls, "wager-top": Pulls}
"""What checks the decision of each algorithm: it is made from the first line, takes in lines, and concludes."""


def verify(path: str, expected: str | None = None) -> list[str]:
    """What was checked of a file, in words; raises `Invalid` with the first thing that is wrong."""
    checker: Any = None
    said: list[str] = []
    concluded = False
    at = 0
    for at, line in chained(path):
        try:
            kind = line.pop("kind", None)
            if at == 1:
                require(kind == "surest decision", "this is not a decision file of surest")
                require(line.pop("version", None) == VERSION, f"this program reads version {VERSION}")
                algorithm = line.get("algorithm")
                require(isinstance(algorithm, str) and algorithm in CHECKERS, f"no theorem for {algorithm!r:.40}")
                checker = CHECKERS[algorithm](line)
            elif kind == "end":
                require(concluded, "there is no conclusion before the end")
                require(expected in (None, line["hash"]), f"the hash is {line['hash']}, not {expected}")
                said.append(f"{at} lines, each with the hash of the one before; the hash of all is {line['hash']}")
            else:
                require(not concluded, "the file goes on after its conclusion")
                concluded = kind == "conclusion"
                if concluded:
                    said = checker.conclude(at, line)
                else:
                    checker.take(at, {"kind": kind, **line})
        except Invalid as error:
            raise Invalid(str(error), error.line or at) from None
    return said


def main(arguments: list[str] | None = None) -> int:
    """Check a file, print what was checked and the verdict, and return the status."""
    given = sys.argv[1:] if arguments is None else arguments
    if not (len(given) == 1 or (len(given) == 3 and given[1] == "--hash")) or given[0].startswith("-"):
        print("usage: surest-verify FILE [--hash HASH]", file=sys.stderr)
        return 2
    try:
        said = verify(given[0], given[2].lower() if len(given) == 3 else None)
    except OSError as error:  # a truncated .gz file among them
        print(f"NOT VALID: cannot be read: {error}")
        return 1
    except EOFError:
        print("NOT VALID: the compressed file is cut")
        return 1
    except Invalid as error:
        print(f"NOT VALID: line {error.line}: {error}")
        return 1
    print(*said, "VALID", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
