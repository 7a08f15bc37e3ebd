"""The tutorials: what a page says is printed is what its code and its commands print; --snapshot-update writes that anew."""

import re
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("agg")
import matplotlib.pyplot as plt

from transcripts import ROOT, RUN, TUTORIALS, printed_by


def tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


def without_seconds(text: str) -> str:
    return re.sub(r"\b\d+(\.\d+)? s\b", "… s", tidy(text))


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_what_is_printed_stands_on_the_page(
    page: Path, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    promised = [block for _, _, block in RUN.findall(text)]
    assert len(promised) == len(re.findall(r"^```(?:python|sh)$", text, re.MULTILINE)) >= 3
    printed = map(tidy, printed_by(page, tmp_path))
    now = [
        old if without_seconds(new) == without_seconds(old) else new for old, new in zip(promised, printed, strict=True)
    ]
    if request.config.option.update_snapshots:
        parts = iter(now)
        text = RUN.sub(lambda block: f"```{block[1]}\n{block[2]}```\n\n```text\n{next(parts)}```", text)
        page.write_text(text, encoding="utf-8")
    else:
        assert now == promised
    plt.close("all")


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_there_is_something_to_look_at(page: Path) -> None:
    """Each has a picture, made by `make pictures`, with words for those who cannot see it."""
    pictures = re.findall(r"!\[([^\]]{20,})\]\(([^)]+\.(?:png|svg))\)", page.read_text(encoding="utf-8"))
    assert pictures
    for _, path in pictures:
        assert 1_000 < (page.parent / path).stat().st_size <= 150_000


MOVING = [ROOT / "docs" / "img" / name for name in ("terminal.svg", "tutorial-shell.svg")]
"""Pictures of terminals."""


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
