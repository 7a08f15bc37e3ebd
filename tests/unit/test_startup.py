"""What need not be compiled does not load the compiler."""

import subprocess
import sys
from pathlib import Path

import surest

LOADED = "\nimport sys; assert 'numba' not in sys.modules, 'the compiler was loaded"

MODULES = [
    "surest",
    "surest.compiled",
    "surest.evidence.betting",
    "surest.evidence.certificate",
    "surest.algorithms.wager.sampling",
    "surest.algorithms",
    "surest.core.session",
    "surest.drivers.blocks",
    "surest.api",
    "surest.study.study",
    "surest.cli.study",
    "surest.cli.identify",
]

STUDY = """
from surest.cli import main
for words in commands:
    try:
        main(words)
    except SystemExit as end:
        assert not end.code, words
"""

SESSION = """
from surest import Session
session = Session(["a", "b", "c"], seed=1)
for k in range(60):
    for ticket in session.ask():
        session.tell(ticket.id, float(ticket.label == "a" or k % 3 == 0))
session.status()
"""


def run(code: str) -> None:
    source = Path(surest.__file__).parents[1]
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(source)!r})\n{code}{LOADED}'"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_imports_do_not_load_the_compiler() -> None:
    run("\n".join(f"import {module}{LOADED} by {module}'" for module in MODULES))


def test_a_small_session_does_not_load_the_compiler() -> None:
    run(SESSION)


def test_questions_to_a_small_study_do_not_load_the_compiler(tmp_path: Path) -> None:
    store = ["--storage", f"sqlite:///{tmp_path / 'studies.db'}"]
    commands = [["create", "solvers", "--arm", "fast", "--arm", "safe"]]
    for ticket in range(4):
        commands += [["ask", "solvers"], ["tell", "solvers", str(ticket), "1"]]
    run(f"commands = {[['study', *words, *store] for words in [*commands, ['status', 'solvers']]]}{STUDY}")
