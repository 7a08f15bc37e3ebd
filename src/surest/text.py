"""Text for people: numbers as they are read, and words of users that cannot do harm where they are shown."""

import html
import math
import re
import shlex
import unicodedata
from collections.abc import Iterable

UNSEEN = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufffe\uffff"
"""Marks that change the direction of text, and two that XML does not allow."""
HARMFUL = ("Cc", "Cs", "Zl", "Zp")
"""Unicode's categories of control characters, halves of surrogate pairs, and separators of lines and paragraphs."""
MARK = "\ufffd"


def visible(text: str, keep: str = "") -> str:
    """Text with a mark in place of what cannot be shown, or what would act on the terminal or turn the text around it.

    Parameters
    ----------
    text : str
        Any text: a label, the name of a study, what a failed command said.
    keep : str
        Characters to leave as they are, a line break for example.

    Examples
    --------
    >>> visible("a\\x1b[31m\\nb\\u202ec")
    'a\ufffd[31m\ufffdb\ufffdc'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep or not _is_harmful(c) else MARK for c in text)


def _is_harmful(character: str) -> bool:
    return unicodedata.category(character) in HARMFUL or character in UNSEEN


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


def percent(part: float) -> str:
    """A confidence as a person reads it.

    >>> percent(0.95), percent(0.999), percent(1 - 1e-9)
    ('95 %', '99.9 %', '99.9999999 %')
    """
    return f"{100 * part:.12g} %"


def decimals(low: float, high: float) -> int:
    """How many places after the point tell ten thousandths of a range apart.

    >>> decimals(0, 1), decimals(0, 100), decimals(-1e6, 1e6)
    (4, 2, 0)
    """
    return min(max(4 - math.floor(math.log10(high - low)), 0), 12)


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
