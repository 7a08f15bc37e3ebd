"""Text for people: numbers as they are read, and words of users that cannot do harm where they are shown."""

import html
import json
import math
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable

UNSEEN = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufffe\uffff"
"""Marks that change the direction of text, and two that XML does not allow."""
HARMFUL = ("Cc", "Cs", "Zl", "Zp")
"""Unicode's categories of control characters, halves of surrogate pairs, and separators of lines and paragraphs."""
MARK = "\ufffd"
GUESS = 3
"""How many times more or less than a guess it may well be."""


def visible(text: str, keep: str = "") -> str:
    """Text with a mark in place of what cannot be shown, or what would act on the terminal or turn the text around it.

    Characters to `keep` stay as they are, a line break for example.

    >>> visible("a\\x1b[31m\\nb\\u202ec")
    'a\ufffd[31m\ufffdb\ufffdc'
    """
    if text.isascii() and text.isprintable():
        return text
    harmful = {c for c in text if unicodedata.category(c) in HARMFUL or c in UNSEEN} - set(keep)
    return "".join(MARK if c in harmful else c for c in text)


def is_one_line(text: str) -> bool:
    """Whether text is one line, and one cell of a table: no tab, no NUL, nothing that anybody takes for the end of a line.

    >>> is_one_line("model [large]"), is_one_line("a\\tb"), is_one_line("a\\u2028b"), is_one_line("")
    (True, False, False, True)
    """
    return text.isprintable() or (text.splitlines() in ([text], []) and "\t" not in text and "\0" not in text)


def in_json(text: str) -> str:
    """JSON in which whatever a terminal would obey, or nobody sees, is escaped: the same data.

    >>> print(in_json('["\u202e\x9b 5 \u00e9 \U000e0041"]'))
    ["\\u202e\\u009b 5 é \\udb40\\udc41"]
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] if c != "\x7f" else "\\u007f" for c in text
    )


def in_markdown(text: str) -> str:
    r"""Text whose marks mean nothing in Markdown.

    >>> print(in_markdown("a|b *c* <d>"))
    a\|b \*c\* &lt;d&gt;
    """
    return re.sub(r"([\\`*_\[\]|~$#])", r"\\\1", html.escape(visible(text), quote=False))


def shortened(label: str, most: int) -> str:
    """A label that fits, cut in the middle: long labels often differ at the end.

    >>> shortened("configuration number 17", 15)
    'configu…mber 17'
    """
    if len(label) <= most:
        return label
    return f"{label[: most - most // 2 - 1]}…{label[-(most // 2) :]}"


def shell_line(words: Iterable[str]) -> str:
    """A command to copy into a shell, on one line: what cannot be seen is written as bash and zsh write it.

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
    """The beginning of a sentence."""
    return text[:1].upper() + text[1:]


def percent(part: float) -> str:
    """A confidence as a person reads it.

    >>> percent(0.95), percent(0.999), percent(1 - 1e-9)
    ('95 %', '99.9 %', '99.9999999 %')
    """
    return f"{100 * part:.12g} %"


def decimals(low: float, high: float, apart: float = math.inf) -> int:
    """How many places after the point tell ten thousandths of a range apart, and two numbers that are `apart`.

    >>> decimals(0, 1), decimals(0, 100), decimals(-1e6, 1e6), decimals(0, 1, 2.4e-5), decimals(0, 1, 0.3)
    (4, 2, 0, 6, 4)
    """
    closer = 0 if apart == math.inf else 1 - math.floor(math.log10(apart))
    return min(max(4 - math.floor(math.log10(high - low)), closer, 0), 12)


def at_most(value: float) -> str:
    """A bound in two figures, rounded up: rounded down it would claim too much.

    >>> at_most(0.0121), at_most(0.012), at_most(1.0), at_most(678_571)
    ('0.013', '0.012', '1', '680,000')
    """
    text = f"{value:.2g}"
    if float(text) < value:
        text = f"{value + 0.5 * 10.0 ** (math.floor(math.log10(value)) - 1):.2g}"
    return count(float(text)) if 100 <= float(text) < 1e9 else text


def rounded(number: float) -> float:
    """A guess in two figures.

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
    """So many of something.

    >>> counted(1, "reward"), counted(20, "more reward")
    ('1 reward', '20 more rewards')
    """
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


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
