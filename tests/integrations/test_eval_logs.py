"""Logs of evaluations become tables of items. Those of inspect_ai and promptfoo are real; those of lm-evaluation-harness follow
what its `save_results_samples` writes."""

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calling import Run, ran
from pages import same_as_kept
from surest.arms.tables import Table
from surest.integrations.eval_logs import logs

HERE = Path(__file__).parent
ECHO = HERE / "promptfoo_echo.json"


def evaluations(folder: Path) -> None:
    done = ran(HERE / "inspect_logs.py", folder / "logs")
    assert done.status == 0, done.err
    (folder / "logs" / "early").rename(folder / "early")
    (folder / "early.json").write_text(done.out)


@pytest.fixture
def inspect_folder(made_once: Any) -> Path:
    """Real logs in a folder `logs`, and what else came of them beside it."""
    return made_once("inspect", evaluations)


def lm_eval(folder: str, model: str, scores: dict[int, dict[str, Any]], task: str = "arc", **more: Any) -> Path:
    """A file of samples, and the totals beside it."""
    place = Path(folder) / model.replace("/", "__")
    place.mkdir(parents=True, exist_ok=True)
    time = "2026-01-16T15-23-47.285735"
    (place / f"results_{time}.json").write_text(json.dumps({"results": {}, "configs": {}, "model_name": model}))
    lines = []
    for doc, metrics in scores.items():
        line = {"doc_id": doc, "doc": {"question": f"{doc}?"}, "target": "1", "arguments": {}, "resps": [["1"]]}
        line |= {"filtered_resps": ["1"], "filter": "none", "metrics": list(metrics), "doc_hash": f"hash of {doc}"}
        lines.append(json.dumps({**line, **more, **metrics}))
    path = place / f"samples_{task}_{time}.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def inspect_log(name: str, right: int, **about: Any) -> Path:
    """A log of ten samples, with the parameters of its run."""
    config = {"eval": {"task": "sums", "model": "m", **about}, "status": "success", "plan": {"config": {"top_p": None}}}
    samples = [
        {"id": i, "input": f"{i}?", "target": "!", "scores": {"match": {"value": "CI"[i >= right]}}} for i in range(10)
    ]
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr("header.json", json.dumps(config))
        archive.writestr("summaries.json", json.dumps(samples))
    return Path(name)


def being_written() -> Path:
    with zipfile.ZipFile("x.eval", "w") as archive:
        about = {"task": "sums", "model": "m", "task_args": {"shots": 2}}
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": about}))
        scores = {"match": {"value": "P"}, "judge": {"value": {"kind": 1, "true": False}}}
        sample = {"id": 1, "epoch": 1, "input": "?", "target": "!", "scores": scores}
        archive.writestr("_journal/summaries/1.json", json.dumps([sample]))
    return Path("x.eval")


def by_parameters() -> list[Path]:
    """Two runs of lm-evaluation-harness on one model."""
    paths = [lm_eval(f"{t}", "m", {i: {"acc": float(i < t)} for i in range(4)}) for t in (1, 3)]
    for path, t in zip(paths, (1, 3), strict=True):
        totals = next(path.parent.glob("results_*"))
        config = {"model_args": f"pretrained=m{t},dtype=float{t}", "gen_kwargs": {"do_sample": True}}
        totals.write_text(json.dumps({**json.loads(totals.read_text()), "config": config, "n-shot": {"arc": 5}}))
    return paths


def of_temperatures() -> Path:
    row = {"prompt": {"raw": "p"}, "testIdx": 0, "vars": {}, "success": True}
    rows = [
        {**row, "provider": {"id": "x", "config": {"temperature": t}}, "score": t, "promptIdx": k}
        for k, t in enumerate((0, 1))
    ]
    Path("out.jsonl").write_text("\n".join(json.dumps(r) for r in rows))
    return Path("out.jsonl")


def filters() -> Path:
    path = lm_eval(".", "m", {0: {"exact_match": 0.0}}, filter="strict-match")
    more = lm_eval("more", "m", {0: {"exact_match": 1.0, "f1": ["a", "b"]}}, filter="flexible-extract")
    path.write_text(path.read_text() + more.read_text())
    return path


def tasks() -> Path:
    for model in ("a", "b"):
        for task in ("arc", "hella_swag"):
            lm_eval("tasks", model, {0: {"acc": float(model == "a")}}, task)
    return Path("tasks")


def of_one_prompt(**first: Any) -> Path:
    data = json.loads(ECHO.read_text())
    data["results"]["results"] = [result for result in data["results"]["results"] if result["promptIdx"] in (0, 2)]
    data["results"]["results"][0].update(first)
    Path("one.json").write_text(json.dumps(data))
    return Path("one.json")


def partly() -> list[Path]:
    """The second run lacks two samples."""
    return [
        lm_eval(".", arm, {i: {"acc": right} for i in range(n)}) for arm, right, n in (("a", 1.0, 5), ("b", 0.0, 3))
    ]


def not_a_log(text: str) -> Path:
    Path("x.json").write_text(text)
    return Path("x.json")


def shown(read: Any) -> str:
    """What was read, as a page shows it."""
    if not (isinstance(read, tuple) and isinstance(read[0], Table)):
        return repr(read)
    found, scorer = read
    rows = "\n".join(f"{arm}: {row.tolist()}" for arm, row in zip(found.labels, found.values, strict=True))
    return f"{found.items}\n{rows}\nscorer {scorer}, {found.notes}"


def test_what_is_read_and_refused(run: Run, request: pytest.FixtureRequest) -> None:
    same_as_kept(HERE / "eval_logs.txt", request, run, globals(), show=shown)


def test_logs_of_inspect(inspect_folder: Path, run: Run) -> None:
    files = [str(path) for path in sorted((inspect_folder / "logs").iterdir())]
    several = run("evaluate", *files)
    assert (len(files), several.status) == (3, 2)
    assert "the scorers match, includes; choose one: --scorer match" in several.err
    said = run("evaluate", *files, "--scorer", "includes", "--json")
    assert (said.status, said.json["arm"], said.json["certified"]) == (0, "mockllm/good", True)
    assert "the mean over their epochs counts" in said.err
    found, _ = logs([inspect_folder / "logs"], "match")
    wrong = {arm: set(np.flatnonzero(row == 0)) for arm, row in zip(found.labels, found.values, strict=True)}
    assert found.items == tuple(f"q{i}" for i in range(20)), "paired by sample"
    assert wrong == {"mockllm/good": {3}, "mockllm/poor": {*range(5, 18)}, "mockllm/fair": {3, 4, 5, 6, 7}}


def test_an_evaluation_ends_when_a_model_is_certified_to_be_worse(inspect_folder: Path) -> None:
    found = json.loads((inspect_folder / "early.json").read_text())
    shuffled = found["shuffled"]
    assert (shuffled["status"], shuffled["verdict"], shuffled["noted"]) == ("success", "fail", "fail")
    assert shuffled["done"] + shuffled["skipped"] == 80
    assert shuffled["done"] < 40
    assert found["plain"]["status"] == "error"
    assert "the dataset is not shuffled" in found["plain"]["error"]
    first, second = found["example"].splitlines()
    assert first == "mockllm/large is the best on these 60 sums: exact True"
    assert int(re.findall(r"^(\d+) of 180 answers would have told", second)[0]) < 130


def test_older_models_make_a_verdict_come_sooner_and_know_nothing_of_this_one(inspect_folder: Path) -> None:
    plain, older, otherwise, logged = json.loads((inspect_folder / "early.json").read_text())["history"]
    assert [plain["verdict"], older["verdict"]] == ["pass", "pass"]
    assert older["counted"] < 0.8 * plain["counted"]
    assert {len(row) for row in plain["features"]} == {0}
    assert {len(row) for row in older["features"]} == {4}
    assert older["features"] == otherwise["features"], "they do not depend on what the model answers"
    patterns = {*map(tuple, logged["features"])}
    assert (len(patterns), logged["counted"]) == (5, 20), "as the logs of three models tell the questions apart"
    assert "with predictions by scores known beforehand and earlier items" in " ".join(older["said"])


def selecting(path: Path, arms: int, tests: int, chances: list[float], nobody: int = 0) -> Path:
    """An output of promptfoo with select-best, with and without other assertions; in the last tests the judge chose nobody."""
    rng, results = np.random.default_rng(1), []
    for test in range(tests):
        best = int(rng.choice(arms, p=chances)) if test < tests - nobody else -1
        for arm in range(arms):
            said = {
                "pass": arm == best,
                "score": int(arm == best),
                "assertion": {"type": "select-best", "value": "short"},
            }
            other = {"pass": True, "score": 1, "assertion": {"type": "contains", "value": "a"}}
            graded = said if test % 2 else {"pass": True, "score": 0.5, "componentResults": [other, said]}
            results.append({
                "promptIdx": arm, "testIdx": test, "provider": {"id": f"model {arm}"}, "prompt": {"raw": "p", "label": "p"},
                "score": graded["score"], "success": graded["pass"], "gradingResult": graded, "vars": {"q": test},
            })  # fmt: skip
    path.write_text(json.dumps({"results": {"results": results}}))
    return path
