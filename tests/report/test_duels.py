"""The table of wins, wherever it is shown."""

import random
from pathlib import Path

import pytest

import surest
from surest.errors import UsageError
from surest.report.pictures import pictures_of
from surest.result.duels import wins_note

LABELS = ["good", "<b>&bad", "worse"]


@pytest.fixture(scope="module")
def result() -> surest.Result:
    rng = random.Random(1)
    return surest.duel(
        LABELS, lambda a, b: rng.random() < (0.9 if LABELS.index(a) < LABELS.index(b) else 0.1), seed=1, rank=True
    )


def test_the_heat_map_is_in_the_order_found(result: surest.Result) -> None:
    drawn = pictures_of(result)[0].drawn
    assert (drawn.labels, drawn.chosen) == (LABELS, {LABELS[0]})
    assert all(told for i, row in enumerate(drawn.cells) for j, (_, told) in enumerate(row) if i != j)
    assert drawn.cells[0][1].share > 0.5 > drawn.cells[1][0].share
    assert pictures_of(result)[0].heading == "Who beats whom"
    assert "3 of 3 pairs are told apart" in wins_note(result)


def test_pages_and_notebooks_show_it_with_labels_escaped(result: surest.Result, tmp_path: Path) -> None:
    for name in ("r.html", "r.md"):
        result.report(tmp_path / name)
        page = (tmp_path / name).read_text()
        assert "Who beats whom" in page
        assert "Ranking by duels, of 3 arms" in page
        assert "surest.duel(arms, judge, delta=0.05, epsilon=0.0, rank=True, seed=1)" in page
    assert "<b>&bad" not in (tmp_path / "r.html").read_text()
    assert "&lt;b&gt;" in (tmp_path / "r.html").read_text()
    assert "<svg" in result._repr_html_()


def test_matplotlib_draws_it(result: surest.Result) -> None:
    ax = result.plot()
    assert [text.get_text().split()[0] for text in ax.get_yticklabels()] == ["good", "<b>&bad", "worse"]
    with pytest.raises(UsageError, match="not a search by duels"):
        surest.identify({"a": [1.0] * 40, "b": [0.0] * 40}).plot("duels")
