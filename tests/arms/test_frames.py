"""Data frames of pandas and polars, in and out, in long and in wide form; and packages that are not there."""

import builtins
import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import surest
from pages import same_as_kept
from surest.cli import main
from surest.errors import MissingPackageError, UsageError

RNG = np.random.default_rng(0)
A, B = ((RNG.random(400) < mean).astype(float) for mean in (0.7, 0.4))
GAP = np.where(np.arange(400) == 3, np.nan, A)
WIDE = {"a": A, "b": B}
LONG = {"arm": ["a"] * 400 + ["b"] * 400, "value": [*A, *B], "item": [*range(400)] * 2, "day": ["monday"] * 800}


def test_a_package_that_is_missing_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = ("pandas", "polars", "matplotlib", "optuna", "sklearn", "joblib", "inspect_ai", "gepa")
    real = builtins.__import__

    def without(name: str, *arguments: Any, **named: Any) -> Any:
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *arguments, **named)

    result = surest.identify({"a": A, "b": B}, seed=1)
    monkeypatch.setattr(builtins, "__import__", without)
    for call, extra in ((result.to_pandas, "pandas"), (result.to_polars, "polars"), (result.plot, "plot")):
        with pytest.raises(MissingPackageError, match=rf"pip install 'surest\[{extra}\]'"):
            call()
    extras = (("gepa", "surest[gepa]"), ("optuna", "surest[optuna]"), ("sklearn", "surest[sklearn]"))
    for module, how in (*extras, ("inspect_ai", "inspect-ai")):
        monkeypatch.delitem(sys.modules, f"surest.integrations.{module}", raising=False)
        with pytest.raises(ImportError) as refused:
            importlib.import_module(f"surest.integrations.{module}")
        assert isinstance(refused.value, UsageError)
        assert how in str(refused.value)

    def needs_loky(*_: Any) -> None:
        raise ModuleNotFoundError("No module named 'loky'", name="loky")

    monkeypatch.setattr("surest.report.plots.checked_path", needs_loky)
    with pytest.raises(SystemExit) as ended:
        main(["identify", "bernoulli:0.9,0.1", "--plot=x.png"])
    assert ended.value.code == 2
    assert "pip install 'surest[loky]'" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_frames_that_cannot_be_arms(kind: Any, request: pytest.FixtureRequest) -> None:
    same_as_kept(Path(__file__).with_name("frames.txt"), request, names={**globals(), "kind": kind}, mistaken=True)
