"""The page on questions: its example runs, and its options exist."""

import contextlib
import io
import re
from pathlib import Path

from surest.core.problem import SETTINGS
from surest.core.question import KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "questions.md").read_text(encoding="utf-8")


def test_the_example_says_what_the_page_says() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "questions.md", "exec"), {})
    first, second, *verdict = printed.getvalue().splitlines()
    assert first == "('a', 'b')"
    assert second == "{'a': 1, 'b': 1, 'c': -1, 'd': -1, 'e': -1}"
    assert verdict[0].startswith("Arms a and b are better than c.")


def test_every_question_has_its_option_on_the_page() -> None:
    for kind in KINDS:
        assert kind == "best" or (kind in SETTINGS and f"`--{kind} " in PAGE)
