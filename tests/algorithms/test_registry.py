"""The registry: lazy, complete, and open to anybody's own algorithm."""

import importlib
import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import surest.algorithms
from calling import Run, ran, refused
from surest import Session, identify
from surest.algorithms import DOORS, MODULES, REGISTRY, Entry, all_entries, lookup, start
from surest.algorithms.entry import YOURS, Goal, Standing, as_answer
from surest.algorithms.wager.wager import wager
from surest.arms.finite import bernoulli
from surest.core.protocol import Answer, Pull, Statistic
from surest.errors import UsageError
from surest.lab.bench.record import benchmark
from surest.lab.bench.run import cases
from surest.lab.bench.suites import Instance
from surest.lab.bench.tables import rows_of
from surest.lab.paper.constants import Constants
from surest.lab.paper.elimination import naive_best_arm
from surest.lab.rivals.controls import peeking_z_test, uniform_bonferroni
from surest.search.loading import entry_of, load_algorithm
from surest.search.simulate import simulate

ROOT = Path(__file__).parents[2]
FOLDER = Path(surest.algorithms.__file__).parents[1]
EASY = bernoulli([0.2, 0.8, 0.3])


def larger_mean(arms, delta, *, rng, times=200):
    """The arm of the largest mean."""
    means = yield Pull(arms, times, Statistic.MEAN)
    return int(arms[means.argmax()])


def spends(arms, delta, *, budget):
    means = yield Pull(arms, budget // len(arms), Statistic.MEAN)
    return Answer(int(arms[means.argmax()]), certified=False)


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
    found = [path for kind in ("py", "toml", "txt") for path in (ROOT / "tests").rglob(f"*.{kind}")]
    files = [path for path in found if path.suffix != ".txt" or path.parent.name == "pages"]
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


def test_a_function_is_an_algorithm() -> None:
    entry = lookup(larger_mean)
    assert (entry.name, entry.standing, entry.goal) == ("larger_mean", "yours, unproven", "best arm")
    assert entry.summary == "The arm of the largest mean."
    done = simulate(start(larger_mean, 3, 0.1, times=50), EASY.simulate(0))
    assert (done.value.arm, done.pulls) == (1, 150)
    assert lookup(spends).goal == "fixed budget"
    assert lookup(lambda arms, delta, *, epsilon, **rest: (yield)).options is None


def test_what_it_works_on_is_what_it_gets() -> None:
    def listed(arms, delta, *, items):
        yield Pull(arms, items, Statistic.MEAN)
        return 0

    assert lookup(listed).works_on == "items"
    assert next(start(listed, 2, 0.1, items=7)).times.tolist() == [7, 7]
    with pytest.raises(UsageError, match="listed compares arms on a list of items"):
        start(listed, 2, 0.1)
    with pytest.raises(UsageError, match="these instances have none"):
        cases([Instance("easy", EASY)], [listed], [0.1])
    assert lookup(lambda arms, delta, *, items=None: (yield)).works_on == "either"


@pytest.mark.parametrize("value", [1, np.int64(1), [1], (1,), np.array([1]), Answer(1)])
def test_answers_in_many_forms(value) -> None:
    assert as_answer(value, "mine", 3).arm == 1


def test_what_is_no_algorithm_and_no_answer_is_refused_in_words(snapshot: SnapshotAssertion) -> None:
    answers = [None, True, 1.0, "1", [], 3, -1, [0, 0], Answer(5)]
    assert snapshot == refused(
        *(partial(as_answer, value, "mine", 3) for value in answers),
        lambda: lookup(7),
        lambda: lookup(lambda: (yield)),
        lambda: next(start(Entry.of_function(lambda arms, delta: 0, "eager"), 2, 0.1)),
        lambda: start(larger_mean, 3, 0.1, rounds=5),
        lambda: start(larger_mean, 3, 0.1, epsilon=0.1),
        lambda: start(larger_mean, 2, 0.1, items=7),
        lambda: lookup("mine.py:race"),
    )


FILE = """
from beside import TIMES
from surest.core.protocol import Pull, Statistic
def race(arms, delta):
    means = yield Pull(arms, TIMES, Statistic.MEAN)
    return arms[means.argmax()]
"""


def test_an_algorithm_in_a_file_and_a_benchmark_of_functions_and_files(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("TIMES = 40\n")
    (tmp_path / "mine.py").write_text(FILE)
    name = f"{tmp_path}/mine.py:race"
    assert (entry_of(name).name, entry_of(name).standing) == (name, "yours, unproven")
    assert simulate(start(load_algorithm(name), 3, 0.1), EASY.simulate(0)).pulls == 120
    instance = Instance("easy", EASY)
    found = rows_of(benchmark(cases([instance], ["naive-best-arm", larger_mean, name, spends], [0.1]), 3))
    assert [row.algorithm for row in found] == ["naive-best-arm", "larger_mean", name, "spends"]
    assert [row.standing for row in found][1:] == ["yours, unproven"] * 3
    assert [row.mean for row in found][1:3] == [600, 120]
    by_file = cases([instance], [name], [0.1])
    assert [r.pulls for r in next(iter(benchmark(by_file, 2, workers=2).values()))] == [120, 120]
    local = cases([instance], [lambda arms, delta: larger_mean(arms, delta, rng=None)], [0.1])
    with pytest.raises(UsageError, match="cannot be sent to other processes"):
        benchmark(local, 2, workers=2)


# --- options: tests/cli/transcripts has those of commands ---------------------------------------------------------------


def test_entries_name_parameters_that_exist() -> None:
    given_by_us = {"arms", "delta", "epsilon", "rng", "arrivals", "script", "costs"}
    for function in (wager, naive_best_arm, uniform_bonferroni, peeking_z_test):
        name = function.__name__.replace("_", "-")
        assert REGISTRY[name].options.keys() == inspect.signature(function).parameters.keys() - given_by_us


def test_options_of_records(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("arm,value\na,0\nb,1\n")
    suggested = run("identify rows.csv --suggest=2 --json").json["suggestions"]
    assert suggested == [{"arm": "a", "times": 1}, {"arm": "b", "times": 1}]
    status, _, err = run("identify rows.csv --suggest=2 --option=size=3")
    assert (status, "no option 'size'" in err) == (2, True)


@pytest.mark.parametrize("made", [lambda **o: identify([int, int], **o), lambda **o: Session(2, **o)])
def test_python_refuses_what_an_algorithm_does_not_have(made: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="wager has no option 'dleta'"):
        made(dleta=0.1)
    with pytest.raises(UsageError, match="kl-lucb has no option 'heuristic'"):
        made(algorithm="kl-lucb", heuristic=True)


def test_constants_are_for_python() -> None:
    lean = next(start("naive-best-arm", 3, 0.1, constants=Constants(var_test_c=8)))
    assert lean.total < next(start("naive-best-arm", 3, 0.1)).total
