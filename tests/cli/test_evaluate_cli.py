"""``surest evaluate``, as a user calls it."""

import json
import shlex
import sys
from functools import partial
from pathlib import Path

import pytest

from calling import Run
from surest.cli import main, progress


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "evaluate --quiet")


SCORER = """
import sys
text = sys.argv[2] if len(sys.argv) > 2 else sys.stdin.read()
print(sys.argv[1] if "question" in text else "nothing")
"""


def test_commands_get_the_item_in_its_place_or_on_standard_input(run: Run, tmp_path: Path) -> None:
    (tmp_path / "items.txt").write_text("\n".join(f"question {i}" for i in range(30)))
    python = f"{shlex.quote(sys.executable)} -S -c {shlex.quote(SCORER)}"
    given = ["--items=items.txt", f"--command=good={python} 0.9 {{item}}", f"--command=bad={python} 0.1"]
    status, out, err = run(*given, "--workers=2", "--seed=1", "--json")
    found = json.loads(out)
    assert (status, found["arm"], found["certified"]) == (0, "good", True), err
    assert found["evaluations"] <= found["cells"] == 60
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items.txt"], "what was kept is gone at the end"


def test_evaluations_on_a_list_are_not_called_pulls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "EVERY_LINE", 0.0)
    Path("items.txt").write_text("1\n2\n3\n")
    with pytest.raises(SystemExit):
        main(["evaluate", "--items", "items.txt", "--command", "a=echo 1", "--command", "b=echo 0"])
    said = capsys.readouterr()
    assert said.err.startswith("evaluations 0, time ")
    assert "pull" not in said.err + said.out
