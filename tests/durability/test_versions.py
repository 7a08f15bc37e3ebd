"""Databases that earlier versions wrote are opened, brought up to date and worked on."""

import json
import shutil
from pathlib import Path

import pytest

from surest.study.settings import checked_settings
from surest.study.study import list_studies, open_study

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_database_of_an_earlier_version(tmp_path: Path, version: str) -> None:
    shutil.copy(FIXTURES / f"v{version}.sqlite", tmp_path / "old.db")
    storage = f"sqlite:///{tmp_path}/old.db"
    expected = json.loads((FIXTURES / f"v{version}.json").read_text(encoding="utf-8"))
    assert [study.name for study in list_studies(storage)] == sorted(expected)
    for name, document in expected.items():
        found = open_study(storage, name).export()
        later = checked_settings({}).plain()  # which has its default
        document["settings"] = {**later, **document["settings"]}
        document["settings"]["bounds"] = [*document["settings"]["bounds"]]
        found["tickets"] = [ticket[:5] for ticket in found["tickets"]] if version == "1" else found["tickets"]
        document["format"] = found["format"]
        assert {key: found[key] for key in document} == document
    study = open_study(storage, "under way")
    assert (study.status().told, study.health()) == (151, {"α": {"failed": 2, "imputed": 1}})
    waiting = study.ask(3)
    assert [ticket.id for ticket in waiting] == [150, 152, 153]  # failed, and two whose workers never came back
    study.tell_all(waiting, [1.0, 1.0, 1.0])
    study.session()  # replays
    assert open_study(storage, "ended").result().best == "only"
