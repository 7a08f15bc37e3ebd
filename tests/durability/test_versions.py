"""Databases that earlier versions wrote are opened, brought up to date and worked on."""

import gzip
import json
import shutil
import zlib
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


MEANS = {"wager": (0.2, 0.25, 0.3, 0.3, 0.35, 0.4, 0.5, 0.9), "race": (0.3, 0.9, 0.5, 0.4)}


@pytest.mark.parametrize(
    ("name", "told", "waiting", "pulls", "level", "highs"),
    [
        ("wager", 60, 60, [7, 6, 6, 6, 13, 6, 12, 19], 0.0998740935884969, [0.5110760071919023, 0.5642921741637739]),
        ("race", 70, 70, [11, 43, 43, 6], 0.08288025493939694, [0.6024645934502282, 0.9166666666666666]),
    ],
    ids=["wager", "race"],
)
def test_a_study_of_b9e40dd_goes_on_as_there(
    tmp_path: Path, name: str, told: int, waiting: int, pulls: list[int], level: float, highs: list[float]
) -> None:
    """Begun with kernels that were compiled at run time, and left with a ticket out; that version ended it with these numbers."""
    (tmp_path / "old.db").write_bytes(gzip.decompress((FIXTURES / "b9e40dd.sqlite.gz").read_bytes()))
    study = open_study(f"sqlite:///{tmp_path}/old.db", name)
    assert study.status().told == told
    tickets = study.ask()
    assert [ticket.id for ticket in tickets] == [waiting]
    while tickets:
        for ticket in tickets:
            key = (name, ticket.id) if ticket.item is None else (name, ticket.arm, ticket.item)
            study.tell(ticket.id, float(zlib.crc32(repr(key).encode()) / 2**32 < MEANS[name][ticket.arm]))
        tickets = study.ask()
    result = study.result()
    assert result.certified
    assert (result.pulls_per_arm.tolist(), result.achieved_delta) == (pulls, level)
    assert result.intervals is not None
    assert result.intervals[1][:2].tolist() == highs
