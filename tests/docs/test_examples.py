"""Each example runs as a reader would run it, and what it prints is right."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from calling import Run, steady
from transcripts import blocks

EXAMPLES = Path(__file__).parents[2] / "examples"
APART = ["medoid", "best_prompt", "prompt_on_questions", "best_of_eval_logs", "shared_study", "fastest_sort"]
"""They have tests of their own: what they print depends on timing, or they change how their process logs and waits."""


def printed(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "argv", [str(EXAMPLES / name)])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "name", sorted(f"{name}.py" for name in {path.stem for path in EXAMPLES.glob("*.py")} - {*APART})
)
def test_an_example_prints_what_it_did(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("GITHUB_SHA", "4f2a9c")  # of gate_in_a_test.py, whose order of items depends on the commit
    assert steady(printed(name, capsys, monkeypatch)) == snapshot


def test_best_prompt(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "is the best prompt: certified True" in printed("best_prompt.py", capsys, monkeypatch)


def test_fastest_sort(run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "built-in is the fastest: certified True" in printed("fastest_sort.py", capsys, monkeypatch)
    script = EXAMPLES / "fastest_sort.py"
    arms = [f"--command={way}={sys.executable} -S {script} {way} {{seed}}" for way in ("built-in", "merge")]
    found = run("identify --minimise --bounds=0,0.002 --clip --json --quiet", *arms)
    assert (found.status, found.json["arm"], found.json["certified"]) == (0, "built-in", True)
    assert 0 < found.json["means"][0] < found.json["means"][1] <= 0.002 * (1 + 1e-9)


def test_medoid_is_on_its_page(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    out = printed("medoid.py", capsys, monkeypatch)
    assert steady(out) == snapshot
    part = re.search(r"([\d,]+) similarities of 1,613,706, ([\d.]+)%", out)
    assert part is not None
    page = " ".join((EXAMPLES.parent / "docs" / "arms.md").read_text(encoding="utf-8").split())
    assert f"{part[1]} of 1,613,706 distances ({part[2]} %" in page


def test_shared_study(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of runs is pinned: it must not depend on which worker is faster."""
    out = printed("shared_study.py", capsys, monkeypatch)
    assert "annealing is the best solver: certified True, after 58 runs" in out
    runs = [int(number) for number in re.findall(r"worker \d: (\d+) runs", out)]
    assert (len(runs), sum(runs)) == (2, 58)


def test_prompt_on_questions_goes_on_after_a_kill(tmp_path: Path) -> None:
    """The number of judged answers is pinned, and a kill costs at most the one that was under way."""
    command = [sys.executable, str(EXAMPLES / "prompt_on_questions.py"), f"sqlite:///{tmp_path}/prompts.db"]
    first = subprocess.Popen([*command, "0.05"], stderr=subprocess.PIPE, text=True)
    assert first.stderr is not None
    before = [first.stderr.readline() for _ in range(8)]
    first.kill()
    before += first.stderr.readlines()
    first.wait()
    first.stderr.close()
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    said = ["steps is the best prompt: certified True", "83 of 1600 answers were judged"]
    assert done.stdout.splitlines() == said
    judged = [line.strip() for line in (*before, *done.stderr.splitlines()) if line.startswith("judged")]
    assert (len(judged) <= 84, len(set(judged))) == (True, 83)


def test_gate_in_a_test(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tests = runpy.run_path(str(EXAMPLES / "gate_in_a_test.py"))
    for name in ("test_the_rewritten_classifier_is_not_worse", "test_a_broken_one_would_be_caught"):
        tests[name]()
    first = printed("gate_in_a_test.py", capsys, monkeypatch).splitlines()[0].removeprefix("rewritten: ")
    assert blocks(EXAMPLES.parent / "docs" / "gate.md", "text")[0].strip() == first
