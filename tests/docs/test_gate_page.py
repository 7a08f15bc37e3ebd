"""The page on gates: its Python runs, its commands too, and its workflow heeds the status."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from transcripts import ROOT, blocks, environment

PAGE = ROOT / "docs" / "gate.md"
EVALUATE = """#!{python} -S
import sys
for line in sys.stdin:
    item = line.strip()
    print(f"{{item}},{{0 if item.endswith('7') else 1}}")
"""


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A script of the page, with the program `surest` of this Python."""
    variables = {"COMMIT": "4f2a9c", "GITHUB_SHA": "4f2a9c", "GITHUB_STEP_SUMMARY": str(folder / "step.md")}
    variables |= environment(folder)
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=variables, capture_output=True, text=True, timeout=200
    )


def write(path: Path, values: dict[str, int]) -> None:
    path.write_text("item,value\n" + "".join(f"{item},{value}\n" for item, value in values.items()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "baseline.csv", {f"q{i}": 1 for i in range(200)})
    write(tmp_path / "candidate.csv", {f"q{i}": int(i % 10 != 7) for i in range(200)})
    write(tmp_path / "older.csv", {f"q{i}": int(i % 10 != 3) for i in range(200)})
    rows = [f"{arm},q{i},{value}\n" for i in range(40) for arm, value in (("v1", 0.5), ("v2", 0.5))]
    (tmp_path / "scores.csv").write_text("arm,item,value\n" + "".join(rows))
    return tmp_path


def test_the_steps_of_a_build(folder: Path) -> None:
    steps = yaml.safe_load((ROOT / "examples" / "gate_workflow.yml").read_text())["jobs"]["gate"]["steps"]
    evaluate, judge = (step["run"] for step in steps if "name" in step)
    (folder / "evaluate").write_text(EVALUATE.format(python=sys.executable))
    (folder / "evaluate").chmod(0o755)
    assert run(evaluate, folder).returncode == 0
    done = run(judge, folder)
    assert done.returncode == 4, done.stderr
    assert (folder / "step.md").read_text().startswith("**FAIL**")
    assert (folder / "flips.csv").read_text().startswith("item,baseline,candidate\n")
    write(folder / "candidate.csv", {})
    (folder / "flips.csv").unlink()
    done = run(judge, folder)
    assert (done.returncode, "::warning::" in done.stdout) == (0, True)


def test_the_fixture_for_pytest(folder: Path) -> None:
    (folder / "conftest.py").write_text('pytest_plugins = ["surest.integrations.pytest"]\n')
    (folder / "test_it.py").write_text(
        "def test_worse(surest_gate):\n    surest_gate('baseline.csv', 'candidate.csv', margin=0.03)\n"
        "def test_same(surest_gate):\n    assert surest_gate('baseline.csv', lambda item: 1.0, margin=0.03).passed\n"
        "def test_open(surest_gate):\n    surest_gate('baseline.csv', {}, margin=0.03)\n"
    )
    done = run(f"{sys.executable} -m pytest -q -p no:cacheprovider --surest-ledger team.db test_it.py", folder)
    assert "1 failed, 1 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    assert "FAIL: candidate.csv is worse" in done.stdout
    shown = run("surest gate --ledger team.db --show", folder).stdout
    assert re.search(r"(?s)1 .* FAIL .*2 .* PASS .*3 .* UNDECIDED .*3 gates, 1 passed\.", shown)


def test_the_line_shown_is_what_the_example_prints(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "gate_in_a_test.py"), run_name="__main__")
    assert blocks(PAGE, "text")[0].strip() == capsys.readouterr().out.splitlines()[0].removeprefix("rewritten: ")
