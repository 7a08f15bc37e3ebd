"""The benchmark's instances are those that are named."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

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


@pytest.mark.parametrize(
    "script", sorted(Path(__file__).parents[2].glob("benchmarks/*.py")), ids=lambda path: path.stem
)
def test_a_benchmark_script_can_be_imported(script: Path) -> None:
    """They run by hand, so a name that has gone would be noticed late."""
    spec = spec_from_file_location(f"benchmark_{script.stem}", script)
    module = sys.modules[spec.name] = module_from_spec(spec)  # dataclasses look for their module there
    spec.loader.exec_module(module)
