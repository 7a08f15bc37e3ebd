"""Text for people: numbers as they are read, and labels of users made harmless where they are shown."""

import html
import json
import math
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

UNSEEN = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufffe\uffff"
"""Characters that change the direction of text, and two that XML does not allow."""
HARMFUL = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories: control characters, surrogates, line and paragraph separators."""
MARK = "\ufffd"
GUESS = 3  # a guess may well be off by this factor


def visible(label: object, keep: str = "") -> str:
    """A label or any text, with a mark in place of each character that is invisible, or acts on a terminal.

    Characters in `keep`, a line break for example, stay as they are.

    >>> visible("a\\x1b[31m\\nb\\u202ec")
    'a\ufffd[31m\ufffdb\ufffdc'
    """
    text = str(label)
    if text.isascii() and text.isprintable():
        return text
    harmful = {c for c in text if unicodedata.category(c) in HARMFUL or c in UNSEEN} - set(keep)
    return "".join(MARK if c in harmful else c for c in text)


def short(value: object, most: int = 60) -> str:
    """A value for a message, truncated.

    >>> short("a" * 9, 8), short(10**5000)
    ("'aaaa…", 'an integer of 16610 bits')
    """
    try:
        text = repr(value)
    except ValueError:  # an integer with more digits than Python writes
        return f"an integer of {value.bit_length()} bits" if isinstance(value, int) else "?"
    return text if len(text) <= most else text[: most - 3] + "…"


def is_one_line(text: str) -> bool:
    """Whether text is a single line and a single table cell: no tab, no NUL, no line separator of any kind.

    >>> is_one_line("model [large]"), is_one_line("a\\tb"), is_one_line("a\\u2028b"), is_one_line("")
    (True, False, False, True)
    """
    return text.isprintable() or (text.splitlines() in ([text], []) and "\t" not in text and "\0" not in text)


def in_json(text: str) -> str:
    """The same JSON with control characters and invisible ones escaped.

    >>> print(in_json('["\u202e\x9b 5 \u00e9 \U000e0041"]'))
    ["\\u202e\\u009b 5 é \\udb40\\udc41"]
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] if c != "\x7f" else "\\u007f" for c in text
    )


def plain_data(value: Any) -> Any:
    """Data as JSON can have it: None for NaN and infinity, which it does not know, and lists for arrays.

    >>> plain_data({"a": (1.5, math.inf)})
    {'a': [1.5, None]}
    """
    if isinstance(value, dict):
        return {name: plain_data(part) for name, part in value.items()}
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list | tuple):
        return [*map(plain_data, value)]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def in_markdown(text: str) -> str:
    r"""Text with Markdown's special characters escaped.

    >>> print(in_markdown("a|b *c* <d>"))
    a\|b \*c\* &lt;d&gt;
    """
    return re.sub(r"([\\`*_\[\]|~$#])", r"\\\1", html.escape(visible(text), quote=False))


def shortened(label: str, most: int) -> str:
    """A label of at most `most` characters, cut in the middle: long labels often differ at the end.

    >>> shortened("configuration number 17", 15)
    'configu…mber 17'
    """
    if len(label) <= most:
        return label
    return f"{label[: most - most // 2 - 1]}…{label[-(most // 2) :]}"


def some(names: Iterable[object], most: int = 5) -> str:
    """The first few of many names.

    >>> some("abcd", 3)
    'a, b, c, …'
    """
    texts = [*map(str, names)]
    return ", ".join([*texts[:most], *["…"] * (len(texts) > most)])


def shell_line(words: Iterable[str]) -> str:
    """A command line to paste into bash or zsh; invisible characters are escaped.

    >>> print(shell_line(["surest", "it's", "a\\nb"]))
    surest 'it'"'"'s' $'a\\u000ab'
    """
    return " ".join(shlex.quote(word) if visible(word) == word else _dollar_quoted(word) for word in words)


def _dollar_quoted(word: str) -> str:
    def written(c: str) -> str:
        return f"\\{c}" if c in "\\'" else c if visible(c) == c else f"\\u{ord(c):04x}"

    return f"$'{''.join(map(written, word))}'"


def count(number: float) -> str:
    """A number of pulls as a person reads it.

    >>> count(1234567), count(5.9e13)
    ('1,234,567', '5.90e+13')
    """
    return f"{number:,.0f}" if number < 1e9 else f"{number:.2e}"


def capital(text: str) -> str:
    """Text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def percent(part: float) -> str:
    """A confidence as a person reads it.

    >>> percent(0.95), percent(0.999), percent(1 - 1e-9)
    ('95 %', '99.9 %', '99.9999999 %')
    """
    return f"{100 * part:.12g} %"


def decimals(low: float, high: float, apart: float = math.inf) -> int:
    """Decimal places that show a ten thousandth of a range, and a difference of `apart`.

    >>> decimals(0, 1), decimals(0, 100), decimals(-1e6, 1e6), decimals(0, 1, 2.4e-5), decimals(0, 1, 0.3)
    (4, 2, 0, 6, 4)
    """
    closer = 0 if apart == math.inf else 1 - math.floor(math.log10(apart))
    return min(max(4 - math.floor(math.log10(high - low)), closer, 0), 12)


def at_most(value: float) -> str:
    """An upper bound with two digits, rounded up so that it does not claim too much.

    >>> at_most(0.0121), at_most(0.012), at_most(1.0), at_most(678_571)
    ('0.013', '0.012', '1', '680,000')
    """
    text = f"{value:.2g}"
    if float(text) < value:
        text = f"{value + 0.5 * 10.0 ** (math.floor(math.log10(value)) - 1):.2g}"
    return count(float(text)) if 100 <= float(text) < 1e9 else text


def rounded(number: float) -> float:
    """A number rounded to two digits.

    >>> rounded(12345.6), rounded(7.0)
    (12000.0, 7.0)
    """
    return float(f"{number:.2g}")


def guessed(number: float, words: Callable[[float], str] | None = None) -> str:
    """A guess at what is still needed, as a range: docs/wager.md has how often it held.

    >>> guessed(240), guessed(0.4), guessed(5e9)
    ('80 to 720', '0 to 1', '1.70e+09 to 1.50e+10')
    """
    low, high = ((words or count)(rounded(number * factor)) for factor in (1 / GUESS, GUESS))
    return low if low == high else f"{low} to {high}"


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the singular or the plural.

    >>> counted(1, "reward"), counted(20, "more reward")
    ('1 reward', '20 more rewards')
    """
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def be(number: int) -> str:
    """The verb for so many things: "is" or "are"."""
    return "is" if number == 1 else "are"


def ordinal(number: int) -> str:
    """An ordinal.

    >>> ordinal(1), ordinal(2), ordinal(13), ordinal(23)
    ('1st', '2nd', '13th', '23rd')
    """
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def number(value: float) -> str:
    """A number as a person reads it: whole above a hundred.

    >>> number(1234.5), number(3.14159), number(7e12)
    ('1,234', '3.14', '7.00e+12')
    """
    return count(value) if value >= 100 else f"{value:.3g}"


def seconds_words(seconds: float) -> str:
    """A time for people.

    >>> seconds_words(0.02), seconds_words(0.4), seconds_words(42), seconds_words(5400), seconds_words(500_000)
    ('0.02 s', '0.4 s', '42 s', '1.5 h', '5.8 days')
    """
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.{0 if seconds >= 10 else 1 if seconds >= 0.1 else 2}f} s"
