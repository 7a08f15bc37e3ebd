"""The benchmark's instances are those that are named."""

import gzip
import sys
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from calling import refused
from surest.lab.bench.suites import SUITES, instances_of

SIMULATED = [name for name in SUITES if name != "real"]


@pytest.mark.parametrize("suite", SIMULATED)
def test_every_instance_has_a_name_of_its_own_and_one_best_arm(suite):
    found = instances_of(suite)
    assert len({instance.name for instance in found}) == len(found) >= 4
    for instance in found:
        top = np.sort(instance.arms.means)[::-1]
        assert top[0] > top[1] + 1e-4
        assert np.isfinite(instance.characteristic.time)


def test_instances_have_the_laws_that_are_named():
    (skewed,) = instances_of("skewed")  # the one on which plug-in variances fail
    assert [part.tolist() for arm in (0, 1) for part in skewed.arms.law(arm)] == [[0.5], [1.0], [0.4, 1.0], [0.8, 0.2]]
    means = [instance.arms.means for instance in instances_of("literature", only=["batched:*"])]
    assert [(mean[0], len(mean)) for mean in means] == [(0.5, 10)] * 3
    assert all(((mean[1:] >= 0.2) & (mean[1:] <= 0.4)).all() for mean in means)
    assert means[0][1:3].round(6).tolist() == [0.302364, 0.390093], "drawn once and for all"
    power, above, narrow = (instances_of(name)[0].arms for name in ("power-law:10", "one-above:10", "narrow:3"))
    assert power.means == pytest.approx([1 - (i / 10) ** 0.6 for i in range(1, 11)])
    assert (above.means.tolist(), above.labels) == ([0.5] + [0.3] * 9, tuple(map(str, range(1, 11))))
    assert [narrow.means, narrow.variances] == [pytest.approx([0.5, 0.4, 0.3]), pytest.approx([0.01] * 3)]
    (ratings,) = instances_of("ratings:10")
    assert ratings.arms.means == pytest.approx(0.75 - 0.02 * np.arange(10))
    assert (ratings.arms.variances < 0.08).all()
    assert all(np.median(instance.arms.variances) < 0.06 for instance in instances_of("low-variance"))


def test_a_file_may_hold_several_instances_and_a_folder_several_files(tmp_path):
    (tmp_path / "one.csv").write_text("instance,arm,value,count\nx,a,1,3\nx,b,0,1\ny,a,0.5,1\ny,b,0.25,2\n")
    with gzip.open(tmp_path / "two.csv.gz", "wt") as file:
        file.write("arm,value\na,1\nb,0\n")
    (tmp_path / "statistics.csv").write_text("instance,gap\nx,0.1\n")
    (tmp_path / "README.md").write_text("no rewards")
    said = []
    found = instances_of("real", data=tmp_path, skipped=said.append)
    assert [instance.name for instance in found] == ["one/x", "one/y", "two"]
    assert len(said) == 1
    assert "statistics.csv" in said[0]
    assert [i.name for i in instances_of(str(tmp_path / "one.csv"))] == ["one/x", "one/y"]
    assert [i.name for i in instances_of("real", data=tmp_path, only=["*/y", "two"])] == ["one/y", "two"]


def test_the_fingerprint_tells_laws_apart(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("arm,value\na,1\nb,0\n")
    before = instances_of(str(path))[0]
    path.write_text("arm,value\na,1\na,0\nb,0\n")
    after = instances_of(str(path))[0]
    assert (before.name == after.name, before.fingerprint == after.fingerprint) == (True, False)


def test_mistakes(tmp_path: Path, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert snapshot == refused(
        *(partial(instances_of, source) for source in ("fast", "quick1", "example2:3", "no/such/file.csv", "real")),
        lambda: instances_of("real", data=Path("nowhere")),
        lambda: instances_of("real", data=Path()),
        lambda: instances_of("quick", only=["nothing*"]),
    )


@pytest.mark.parametrize(
    "script", sorted(Path(__file__).parents[2].glob("benchmarks/*.py")), ids=lambda path: path.stem
)
def test_a_benchmark_script_can_be_imported(script: Path) -> None:
    """They run by hand, so a name that has gone would be noticed late."""
    spec = spec_from_file_location(f"benchmark_{script.stem}", script)
    module = sys.modules[spec.name] = module_from_spec(spec)  # dataclasses look for their module there
    spec.loader.exec_module(module)
