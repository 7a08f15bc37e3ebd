"""The registry: lazy, complete, and open to anybody's own algorithm."""

import importlib
import inspect
from pathlib import Path
from typing import get_args

import pytest

import surest.algorithms
from calling import ran
from surest.algorithms import DOORS, MODULES, REGISTRY, Entry, all_entries, lookup
from surest.algorithms.entry import YOURS, Goal, Standing
from surest.algorithms.wager.wager import wager
from surest.lab.paper.elimination import naive_best_arm
from surest.lab.rivals.controls import peeking_z_test, uniform_bonferroni

ROOT = Path(__file__).parents[2]
FOLDER = Path(surest.algorithms.__file__).parents[1]


def loaded_by(code: str) -> set[str]:
    return set(ran("-c", f"{code}\nimport sys; print(*sys.modules)").out.split())


def test_looking_up_a_name_imports_that_algorithm_only() -> None:
    loaded = loaded_by("import surest.algorithms as a; list(a.REGISTRY); a.lookup('naive-best-arm'); a.lookup('wager')")
    assert "surest.lab.paper.identification" in loaded
    assert not loaded & {"scipy", "surest.lab.rivals.optimism", "surest.algorithms.wager.ledger"}


def test_every_entry_is_in_the_table() -> None:
    assert [entry.name for entry in all_entries()] == list(MODULES)
    for path in sorted(FOLDER.rglob("*.py")):
        module = ".".join(path.relative_to(FOLDER).with_suffix("").parts)
        if "\nENTRIES = (" in path.read_text(encoding="utf-8"):
            for entry in importlib.import_module(f"surest.{module}").ENTRIES:
                assert (MODULES | DOORS).get(entry.name) == module, (
                    f'{module} has an entry {entry.name!r}: add the line "{entry.name}": "{module}" to MODULES in '
                    "src/surest/algorithms/__init__.py"
                )


@pytest.mark.parametrize("name", MODULES | DOORS)
def test_an_algorithm_lacks_no_fact(name: str) -> None:
    entry, missing = lookup(name), []
    for field, allowed in (("goal", get_args(Goal)), ("standing", [s for s in get_args(Standing) if s != YOURS])):
        if getattr(entry, field) not in allowed:
            missing.append(f"its entry's {field} is {getattr(entry, field)!r}; allowed: {', '.join(allowed)}")
    if not entry.reference:
        missing.append("its entry has no reference")
    if not entry.summary.endswith("."):
        missing.append("its entry has no summary that is a sentence")
    missing += [f"its option {key} has no meaning" for key, one in (entry.options or {}).items() if not one.meaning]
    missing += lacking_proof(entry) + lacking_tests(name)
    assert not missing, f"{name}: " + "; ".join(missing)


PROOFS = ("rivals.md", "data/rivals-constants.csv", "data/rivals-fixed-budget.csv", "paper.md")


def lacking_proof(entry: Entry) -> list[str]:
    """A proof, or what is known of one, is on a page: the one that the entry refers to, its own, Rivals or The paper."""
    docs = ROOT / "docs"
    if entry.standing == "heuristic" or (docs / "algorithms" / f"{entry.name}.md").exists():
        return []
    if entry.reference.startswith("docs/"):
        return [] if (ROOT / entry.reference).exists() else [f"there is no page {entry.reference}"]
    if any(f"`{entry.name}`" in (docs / page).read_text(encoding="utf-8") for page in PROOFS):
        return []
    return [f"no page proves it: name it in docs/rivals.md or write docs/algorithms/{entry.name}.md"]


def lacking_tests(name: str) -> list[str]:
    files = [path for kind in ("**/*.py", "**/*.toml", "algorithms/**/*.txt") for path in (ROOT / "tests").glob(kind)]
    files.remove(Path(__file__))
    if not any(f'"{name}"' in path.read_text(encoding="utf-8") for path in files):
        return [f"no test names it: write tests/algorithms/test_{MODULES[name].rpartition('.')[2]}.py"]
    return []


def test_heuristic_twins_exist_and_traits_are_told() -> None:
    twins = {entry.name: entry.heuristic_of for entry in all_entries() if entry.heuristic_of is not None}
    assert twins == {name: name.removesuffix("-heuristic") for name in REGISTRY if name.endswith("-heuristic")}
    assert all(lookup(proven).standing == "proven" for proven in twins.values())
    assert {entry.name for entry in all_entries() if entry.told_h1} == {"ucb-e", "ugape-b"}
    controls = {entry.name for entry in all_entries() if entry.control}
    assert controls == {"uniform-bonferroni", "peeking-z-test", "everything"}


# --- options: tests/cli/transcripts has those of commands ---------------------------------------------------------------


def test_entries_name_parameters_that_exist() -> None:
    given_by_us = {"arms", "delta", "epsilon", "rng", "arrivals", "script", "costs"}
    for function in (wager, naive_best_arm, uniform_bonferroni, peeking_z_test):
        name = function.__name__.replace("_", "-")
        assert REGISTRY[name].options.keys() == inspect.signature(function).parameters.keys() - given_by_us
