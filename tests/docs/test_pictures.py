"""The pictures of terminals that stand on the pages."""

import re
from pathlib import Path

import pytest

IMG = Path(__file__).parents[2] / "docs" / "img"
MOVING = [IMG / "terminal.svg", IMG / "tutorial-shell.svg"]


@pytest.mark.parametrize("picture", MOVING, ids=lambda picture: picture.stem)
def test_one_frame_can_be_seen_at_every_moment(picture: Path) -> None:
    rules = re.findall(r"@keyframes \w+ \{(.*)\}$", picture.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rules) >= 3
    shown = []
    for rule in rules:
        steps = [(float(at), seen == "1") for at, seen in re.findall(r"([\d.]+)% \{ opacity: ([01]) \}", rule)]
        ends = [at for at, _ in steps[1:]] + [100.0]
        shown += [(begin, end) for (begin, seen), end in zip(steps, ends, strict=True) if seen]
    assert ([begin for begin, _ in shown], shown[-1][1]) == ([0.0, *(end for _, end in shown[:-1])], 100.0)


@pytest.mark.parametrize("picture", MOVING, ids=lambda picture: picture.stem)
def test_where_nothing_moves_the_verdict_is_shown(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    still = re.findall(r'class="frame"[^>]*opacity: ([01])"', text)
    assert still == ["0"] * (len(still) - 1) + ["1"]
    last = text.rsplit('class="frame"', 1)[1].replace("&#160;", " ")
    assert "is the best: wrong with probability at most 0.05." in last
    assert re.findall(r"https?://[^\"\s]+", text) == ["http://www.w3.org/2000/svg"]
