"""Reports: what stands on the page, in which order, whatever the arms are called; and what is refused.

How a page looks, a person has to see; that it fits a phone, follows the colour scheme and prints, a browser tells.
"""

import html
import io
import json
import re
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from syrupy.assertion import SnapshotAssertion

import surest
from asking import answered
from browsing import Browser, needs_browser
from calling import Run, refused, steady
from surest.arms.finite import bernoulli
from surest.report.page import LONG, Report, facts, to_html, to_markdown
from surest.report.pictures import LONGEST
from surest.report.report import read_report, report_of_study, to_json, write_report
from surest.result.data import Result
from surest.result.words import verdict
from surest.study.study import Study
from surest.text import shortened
from surest_verify import verify
from transcripts import in_shell

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a|b *c* `d` [e](f) $x_1$",
    "\u202eabc\x1b[31mnew\x07",
    '日本語 #d55e00 id="x" &amp;',
    "x" * 300,
    "\ud800",
]
HEADINGS = ["Lead of new over each other arm", "Intervals by arm", "Evidence over time", "Allocation"]
HEADINGS += ["Health", "Settings", "Arms", "Do it again"]


@pytest.fixture(scope="module")
def result() -> Result:
    return surest.identify(bernoulli([0.8, 0.3, 0.2], ["new", "old", "none"]), 0.05, seed=1, history=True)


@pytest.fixture(scope="module")
def hostile() -> Result:
    return surest.identify(bernoulli([0.9, *[0.1] * (len(HOSTILE) - 1)], HOSTILE), 0.05, seed=1, history=True)


class Page:
    """A page that is on its own: well-formed as XML is, nothing is fetched or run, no name is given twice."""

    def __init__(self, text: str) -> None:
        self.tree = ElementTree.fromstring(text[text.index("<html") :])
        tags, attributes = {one.tag for one in self.tree.iter()}, [one.attrib for one in self.tree.iter()]
        assert tags.isdisjoint({"script", "link", "img", "iframe", "object", "base", "form", "a"})
        assert not [name for of in attributes for name in of if name.startswith("on") or name in ("src", "href")]
        names = [of["id"] for of in attributes if "id" in of]
        assert len(set(names)) == len(names)
        (style,) = self.texts("style")
        assert "@import" not in style
        assert "url(" not in text
        assert "default-src 'none'" in text

    def texts(self, tag: str) -> list[str]:
        return ["".join(one.itertext()) for one in self.tree.iter(tag)]


def test_the_verdict_comes_first_and_the_rest_in_order(result: Result) -> None:
    page = to_html(Report(result))
    found = Page(page)
    assert (found.texts("h1"), found.texts("h2")) == ([verdict(result)], HEADINGS)
    assert page.index("<h1>") < page.index("<h2>")
    assert page.count("<svg") == 4
    assert 'name="viewport" content="width=device-width' in page
    assert "".join(found.texts("figcaption")).count(f"of {result.pulls} pulls") == 1


def test_pictures_take_the_colours_of_the_page(result: Result) -> None:
    pictures = "".join(re.findall(r"<svg.*?</svg>", to_html(Report(result)), re.DOTALL))
    assert not re.findall(r"#[0-9a-f]{6}", pictures)
    assert {"currentColor", "var(--leader)", "var(--other)"} <= set(re.findall(r"currentColor|var\(--\w+\)", pictures))
    assert len(re.findall(r"aria-label=\"(?:Lead|Intervals|Evidence|Allocation)", pictures)) == 4


def test_labels_are_text_whatever_they_say(hostile: Result) -> None:
    report = Report(hostile, study=HOSTILE[0], commands={HOSTILE[1]: HOSTILE[0]}, last_failures={"a": HOSTILE[1]})
    page = to_html(report)
    found = Page(page)
    assert HOSTILE[0] in "".join(found.texts("h1"))
    assert found.texts("pre") == [HOSTILE[0]]
    assert {HOSTILE[4], HOSTILE[5]} <= set(found.texts("bdi"))
    assert shortened(HOSTILE[4], LONGEST) in found.texts("text")  # in the pictures: neither a colour nor an id
    assert not set(page) & set("\u202e\x1b\x00\ud800")


def test_markdown_escapes(hostile: Result) -> None:
    text = to_markdown(Report(hostile, commands={"Run": "x ```` y"}))
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table if "–" in line and "%" in line}) == 1
    assert "<script>" not in text
    assert r"a\|b \*c\* \`d\` \[e\](f) \$x\_1\$" in text
    assert "`````sh\nx ```` y\n`````" in text


def test_a_result_of_the_command_line(run: Run) -> None:
    status, out, _ = run("identify", "bernoulli:0.8,0.3", "--delta", "0.1", "--json", "--quiet")
    assert status == 0
    Path("r.json").write_text(out)
    for name in ("r.html", "r.md", "again.json"):
        status, said, _ = run("report", "r.json", "--output", name)
        assert (status, said.splitlines()[-1]) == (0, f"Written to {name}.")
    command = json.loads(out)["command"]
    assert html.escape(command) in Path("r.html").read_text()
    assert command in Path("r.md").read_text()
    repeated = json.loads(run(*shlex.split(command)[1:], "--json", "--quiet")[1])
    assert (repeated["pulls_per_arm"], repeated["command"]) == (json.loads(out)["pulls_per_arm"], command)
    run("report", "again.json", "--output", "again.html")
    assert Path("again.html").read_text() == Path("r.html").read_text()


def test_a_result_from_standard_input_and_without_matplotlib(
    run: Run, result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for form, shown, times in (("md", "In Python, with the same arms", 1), ("html", "<svg", 4)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(result.to_dict()).encode())))
        assert run(f"report - --output r.{form}").status == 0
        assert Path(f"r.{form}").read_text().count(shown) == times


def test_a_study(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = "sqlite:///s.db"
    study = surest.open_study(
        storage, "my study", ["fast", "it's  safe"], 0.1, seed=3, budget=500, retries=1, on_failure=0, reserve=0.2
    )
    for _ in range(3):
        study.fail(study.ask()[0].id, "no memory")
        for ticket in study.ask(2):
            study.tell(ticket.id, 1.0 - ticket.arm)
    assert run("report", "my study", "--storage", storage, "--output", "s.html")[0] == 0
    page = Path("s.html").read_text()
    found = Page(page)
    assert "<dt>budget</dt><dd>500</dd>" in page
    assert "Still running" in page
    assert "failed last with: no memory" in page
    replayed, made, written, checked = found.texts("pre")
    status, out, _ = run(*shlex.split(replayed)[1:])
    assert status == 3
    assert out.startswith("Not decided (still running).")
    assert run(*shlex.split(written)[1:])[0] == 3
    _, file, _, known_by = shlex.split(checked)
    assert "fast" in verify(file, known_by)[-2]
    with monkeypatch.context() as long:
        long.setattr("surest.report.report.MOST_RECORDED", 1)
        long.setattr("surest.report.report.decision_of", None)  # takes too long
        commands = report_of_study(study).commands
        assert "surest-verify decision.jsonl.gz" in commands.values()
    in_shell(made, Path())  # as a person would who copies it from the page
    other = surest.open_study(storage, "my study-again")
    assert (other.settings, other.labels) == (study.settings, study.labels)


def test_a_study_to_which_arms_were_added_is_made_again_step_by_step(run: Run) -> None:
    def answer(study: Study, until: int) -> None:
        while not study.finished and study.status().told < until:
            tickets = study.ask(min(50, until - study.status().told))
            study.tell_all(tickets, [[0.4, 0.3, 0.9, 0.1][ticket.arm] for ticket in tickets])

    storage = "sqlite:///s.db"
    study = surest.open_study(storage, "s", 2, 0.1, seed=3, reserve=0.1, batch=10)
    answer(study, 20)
    study.add_arms(["the best", "$(worst)"])
    answer(study, 10**6)
    assert study.result().best == "the best"
    assert run("report", "s", "--storage", storage, "--output", "s.json")[0] == 0
    commands = json.loads(Path("s.json").read_text())["commands"]
    _, made, added, *check = commands.values()
    assert [line.split()[0] for line in check] == ["surest", "surest-verify"]
    (when,) = [int(word) for word in list(commands)[2].split() if word.isdigit()][:1]
    assert when <= 20
    in_shell(made, Path())
    again = surest.open_study(storage, "s-again")
    answer(again, when)
    in_shell(added, Path())
    answer(again, 10**6)
    assert again.export()["tickets"][-1][:2] == study.export()["tickets"][-1][:2]
    assert again.result().to_dict() == study.result().to_dict()


def values(section: str) -> list[list[str]]:
    """Keys, and what may stand there: see values.txt."""
    text = Path(__file__).with_name("values.txt").read_text(encoding="utf-8").partition(f"[{section}]\n")[2]
    return [line.split(" ", 1) for line in text.partition("\n\n")[0].splitlines()]


NO_RESULTS = [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"index": 0}', b"[" * 100_000, b'{"arm": NaN}']


def test_what_is_no_result_is_refused(run: Run, result: Result, snapshot: SnapshotAssertion) -> None:
    wrong = [json.dumps({**result.to_dict(), key: json.loads(value)}).encode() for key, value in values("refused")]
    assert refused(*(partial(read_report, text, "it") for text in (*wrong, *NO_RESULTS))) == snapshot
    Path("r.json").write_bytes(wrong[0])
    status, out, err = run("report", "r.json", "--output", "r.md")
    assert (status, out, "r.json is not a result" in err, "Traceback" in err) == (2, "", True, False)


@pytest.mark.parametrize(("key", "value"), values("odd"))
def test_odd_numbers_make_a_page(result: Result, key: str, value: str) -> None:
    report = read_report(json.dumps({**result.to_dict(), "certified": False, key: json.loads(value)}))
    Page(to_html(report))
    to_markdown(report)
    assert read_report(to_json(report)).result.best == "new"


LEFT = "return Math.min(...[...document.querySelectorAll('svg text')].map(one => one.getBoundingClientRect().left))"
STYLE = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"


@needs_browser
def test_in_a_browser(hostile: Result, tmp_path: Path, chromium: Any) -> None:
    """On a phone and on a desk nothing is wider than the screen; colours follow the scheme; it prints."""
    write_report(Report(hostile, study="s"), tmp_path / "r.html")
    for size, scheme, colours in (
        ("phone", "dark", ["rgb(22, 24, 27)", "rgb(232, 230, 227)"]),
        ("small phone", "light", ["rgb(255, 255, 255)", "rgb(28, 28, 28)"]),
        ("desk", "light", ["rgb(255, 255, 255)", "rgb(28, 28, 28)"]),
    ):
        seen = Browser(chromium, size, scheme)
        seen.open(f"file://{tmp_path}/r.html")
        assert (seen.is_too_wide, seen.script(STYLE), seen.complaints()) == (False, colours, [])
        assert seen.script("return document.querySelectorAll('svg').length") == 4
        assert seen.script(LEFT) >= 0, "no label is cut"
    assert seen.command("Page.printToPDF", {})["data"].startswith("JVBERi")  # %PDF


def test_a_page_for_people(snapshot: SnapshotAssertion) -> None:
    how = {"cost": {"good": 0.02, "bad": 0.01}, "cost_unit": "$", "note": "Which one?"}
    study = surest.open_study("memory:", "mine", ["good", "bad"], items=[f"question {k}" for k in range(500)], **how)
    study.fail(study.ask()[0].id, "no memory")
    answered(study, lambda ticket: float(ticket.label == "good"))
    report = report_of_study(study)
    said, page = facts(report), to_html(report)
    assert steady("\n".join(map(": ".join, said))) == snapshot
    assert facts(read_report(to_json(report))) == said
    assert "1 failed" in page
    bare = re.sub("<details>.*?</details>", "", page, flags=re.DOTALL)
    assert not re.search("nats|lease", bare)
    assert all(len(command) <= LONG for command in Page(bare).texts("pre"))
    assert any(command.count("--item=") == 500 for command in Page(page).texts("pre"))


# --- notebooks ------------------------------------------------------------------------------------------------------------


def test_a_result_in_a_notebook(hostile: Result) -> None:
    shown = hostile._repr_html_()
    assert "wrong with probability at most 0.05" in shown
    assert ("<script" in shown, "&lt;script&gt;" in shown, "<svg" in shown) == (False, True, True)
    assert not re.search(r"https?://", shown)
