"""Pictures: what they show, how many arms, and what is refused. How they look, a person has to see."""

import sys
import warnings
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("agg")
import matplotlib.pyplot as plt

import surest
from surest.arms.finite import bernoulli
from surest.cli import main
from surest.core.protocol import Point
from surest.errors import UsageError
from surest.report import plots as plot
from surest.result.data import Result
from surest.result.table import ArmRow, ArmTable


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def result() -> Result:
    return surest.identify(bernoulli([0.5, 0.8, 0.2], ["a", "cost $x_$", "c"]), seed=1, history=True)


def many(n: int) -> ArmTable:
    return ArmTable(
        tuple(ArmRow(f"arm number {i}", 5, i / n, i / n - 0.1, i / n + 0.1) for i in range(n)), chosen=(n - 1,)
    )


def test_intervals_mark_the_leader(result: Result) -> None:
    ax = result.plot()
    labels = ax.get_yticklabels()
    assert labels[0].get_text() == r"cost \$x_\$"
    assert [label.get_color() == plot.LEADER for label in labels] == [True, False, False]
    points = [line for line in ax.lines if line.get_marker() in ("D", "o")]
    assert [point.get_marker() for point in points] == ["D", "o", "o"]
    assert points[0].get_xdata()[0] == result.means[1]
    assert "95 % interval" in ax.get_xlabel()
    drawn = ax.collections[0].get_segments()[0]
    assert drawn[:, 0].tolist() == [result.arms[1].low, result.arms[1].high]


def test_axes_go_in_and_come_out(result: Result) -> None:
    _, ax = plt.subplots()
    assert result.plot("pulls", ax) is ax
    assert [bar.get_width() for bar in ax.patches] == [result.arms[i].pulls for i in result.arms.leading(3)]


def test_evidence_ends_at_the_decision(result: Result) -> None:
    ax = result.plot("evidence")
    line, threshold = ax.lines
    assert threshold.get_ydata()[0] == result.history[-1].threshold
    assert line.get_xdata()[-1] == result.pulls
    assert line.get_ydata()[-1] >= result.history[-1].threshold
    assert min(line.get_ydata()) >= 0


def test_history_is_kept_only_when_asked() -> None:
    result = surest.identify(bernoulli([0.5, 0.8]), seed=1)
    assert result.history == ()
    with pytest.raises(UsageError, match="history=True"):
        result.plot("evidence")
    with pytest.raises(UsageError, match="'pie'; allowed: intervals, pulls, evidence"):
        result.plot("pie")


def test_history_changes_nothing() -> None:
    one, other = (
        surest.identify(bernoulli([0.5, 0.6, 0.4]), seed=7, history=keep, record=True) for keep in (False, True)
    )
    assert one.pulls_per_arm.tolist() == other.pulls_per_arm.tolist()
    assert one.achieved_delta == other.achieved_delta
    assert all(a.same_as(b) for (a, _), (b, _) in zip(one.transcript, other.transcript, strict=True))
    assert len(other.history) > 2  # how often it looks depends on how long that takes
    assert [point.pulls for point in other.history] == sorted({point.pulls for point in other.history})


@pytest.mark.parametrize("n", [1, 4, 20, 100, 1000])
def test_the_picture_fits_any_number_of_arms(n: int) -> None:
    page = plot.figure(many(n), [Point(0, -1.0, 3.0), Point(10, 4.0, 3.0)], "verdict")
    page.canvas.draw()
    left = page.axes[0]
    boxes = [label.get_window_extent() for label in left.get_yticklabels()]
    assert len(boxes) == min(n, plot.MOST)
    assert all(not a.overlaps(b) for a, b in pairwise(boxes))
    assert all(page.bbox.containsx(box.x0) and page.bbox.containsy(box.y0) for box in boxes)
    assert (f"{n - plot.MOST:,} more" in left.get_title(loc="left")) == (n > plot.MOST)


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_file_by_its_suffix(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"picture.{suffix}"
    plot.save(path, many(4))
    assert path.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")


def test_words_of_users_are_text() -> None:
    arms = ArmTable((ArmRow("a\x1b[31m$x$\n<b>", 1, 0.5, 0.4, 0.6), ArmRow("b", 1, 0.2, 0.1, 0.3)), chosen=(0,))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        picture = plot.figure(arms, title="Arm a\x1b[31m$x$\u202e")
    assert picture.axes[0].get_yticklabels()[0].get_text() == "a\ufffd[31m\\$x\\$\ufffd<b>"
    assert picture.get_suptitle() == "Arm a\ufffd[31m\\$x\\$\ufffd"


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["identify", "bernoulli:0.8,0.2", "--seed", "1", "--quiet", *arguments])
    return int(ended.value.code or 0)


def test_the_command_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--plot", str(tmp_path / "x.svg")) == 0
    assert (tmp_path / "x.svg").read_text().rstrip().endswith("</svg>")
    for bad, words in [("x.gif", ".png, .svg or .pdf"), ("x", ".png"), (str(tmp_path / "no" / "x.png"), "no folder")]:
        capsys.readouterr()
        assert run("--plot", bad) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert words in err


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert run("--plot", "x.png") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "pip install 'surest[plot]'" in err


def test_evaluations_on_a_list_are_called_so_on_an_axis() -> None:
    listed = surest.evaluate({"a": [1.0] * 40, "b": [0.0] * 40}, seed=1)
    assert listed.plot("pulls").get_xlabel() == f"evaluations (of {listed.evaluations})"
    told = surest.identify(bernoulli([0.9, 0.1]), seed=1)
    assert told.plot("pulls").get_xlabel() == f"pulls (of {told.pulls})"
