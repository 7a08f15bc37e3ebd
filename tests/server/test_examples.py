"""The workers of examples/workers solve a study, each in its language."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from serving_support import Service

WORKERS = Path(__file__).parents[2] / "examples" / "workers"
EVALUATE = """#!/bin/sh
# Each fifth evaluation fails.
n=$(($(cat "$0.count" 2> /dev/null || echo 0) + 1)); echo $n > "$0.count"
[ $((n % 5)) = 0 ] && exit 3
[ "$1" = good ] && echo 0.9 || echo 0.2
"""


def commands(folder: Path) -> dict[str, list[str]]:
    (folder / "evaluate").write_text(EVALUATE)
    (folder / "evaluate").chmod(0o755)
    return {
        "worker.sh": ["bash", str(WORKERS / "worker.sh"), "URL", "STUDY", str(folder / "evaluate")],
        "worker.mjs": ["node", str(WORKERS / "worker.mjs"), "URL", "STUDY"],
        "worker.py": [sys.executable, str(WORKERS / "worker.py"), "URL", "STUDY"],
    }


def test_all_of_them_are_here(tmp_path: Path) -> None:
    assert {path.name for path in WORKERS.iterdir()} == set(commands(tmp_path))


@pytest.mark.parametrize("name", ["worker.sh", "worker.mjs", "worker.py"])
@pytest.mark.parametrize("items", [None, ["first", "second thing", "third"]])
def test_a_worker(guarded: tuple[Service, dict[str, str]], tmp_path: Path, name: str, items: list[str] | None) -> None:
    service, tokens = guarded
    command = commands(tmp_path)[name]
    for needed in (command[0], *(["curl"] if name == "worker.sh" else [])):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")
    study = f"{name.replace('.', '-')}-{len(items or [])}"
    settings = {"delta": 0.2, "seed": 1, **({} if items else {"batch": 4})}
    body = {"name": study, "arms": ["bad", "good"], "settings": settings, **({"items": items} if items else {})}
    assert service.post("/api/studies", body, token=tokens["administer"]).status == 201
    words = [service.url if word == "URL" else study if word == "STUDY" else word for word in command]
    done, wrong = (
        subprocess.run(
            words, env={**os.environ, "SUREST_TOKEN": tokens[role]}, capture_output=True, text=True, timeout=60
        )
        for role in ("work", "look")
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    result = service.get(f"/api/studies/{study}/result", token=tokens["look"]).json
    assert (result["arm"], result["certified"]) == ("good", True)
    assert wrong.returncode != 0
    assert "may work" in wrong.stderr + wrong.stdout
