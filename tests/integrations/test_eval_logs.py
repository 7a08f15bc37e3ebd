"""Logs of evaluations become tables of items. Those of inspect_ai and promptfoo are real; those of lm-evaluation-harness follow
what its `save_results_samples` writes."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import surest
from surest.arms.games import games_of
from surest.cli import main
from surest.errors import SourceError, UsageError
from surest.integrations.eval_logs import logs, table

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def inspect_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    command = [sys.executable, str(HERE / "inspect_logs.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    (folder / "early").rename(folder.with_name("early"))
    folder.with_name("early.json").write_text(done.stdout)
    return folder


def lm_eval(folder: Path, model: str, scores: dict[int, dict[str, Any]], task: str = "arc", **more: Any) -> Path:
    """A file of samples, and the totals beside it."""
    place = folder / model.replace("/", "__")
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


def run(words: list[str]) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(words)
    return int(exit_.value.code or 0)


def test_logs_of_inspect_from_the_command_line(inspect_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(path) for path in sorted(inspect_folder.iterdir())]
    assert (len(files), run(["evaluate", *files])) == (3, 2)
    assert "the scorers match, includes; choose one: --scorer match" in capsys.readouterr().err
    assert run(["evaluate", *files, "--scorer", "includes", "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (found["arm"], found["certified"]) == ("mockllm/good", True)
    assert "the mean over their epochs counts" in err


def test_a_folder_of_inspect_logs_is_paired_by_sample(inspect_folder: Path) -> None:
    found = logs([inspect_folder], "match")
    rows = dict(zip(found.table.labels, found.table.values, strict=True))
    assert found.table.items == tuple(f"q{i}" for i in range(20))
    wrong = {arm: {i for i in range(20) if row[i] == 0} for arm, row in rows.items()}
    assert wrong == {"mockllm/good": {3}, "mockllm/poor": set(range(5, 18)), "mockllm/fair": {3, 4, 5, 6, 7}}
    assert set(np.unique(found.table.values)) == {0.0, 1.0}


def test_an_evaluation_ends_when_a_model_is_certified_to_be_worse(inspect_folder: Path) -> None:
    found = json.loads(inspect_folder.with_name("early.json").read_text())
    shuffled = found["shuffled"]
    assert (shuffled["status"], shuffled["verdict"], shuffled["noted"]) == ("success", "fail", "fail")
    assert shuffled["done"] + shuffled["skipped"] == 80
    assert shuffled["done"] < 40
    assert found["plain"]["status"] == "error"
    assert "the dataset is not shuffled" in found["plain"]["error"]


def test_an_inspect_log_that_is_being_written(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.eval", "w") as archive:
        about = {"task": "sums", "model": "m", "task_args": {"shots": 2}}
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": about}))
        scores = {"match": {"value": "P"}, "judge": {"value": {"kind": 1, "true": False}}}
        sample = {"id": 1, "epoch": 1, "input": "?", "target": "!", "scores": scores}
        archive.writestr("_journal/summaries/1.json", json.dumps([sample]))
    found = logs([tmp_path / "x.eval"], "judge/kind")
    assert (found.table.labels, found.table.values.tolist()) == (("m",), [[1.0]])
    assert "status 'started'" in found.notes[0]
    assert table_values([tmp_path / "x.eval"], "match") == [[0.5]]


def inspect_log(path: Path, right: int, **about: Any) -> Path:
    """A log of ten samples, with the parameters of its run."""
    config = {"eval": {"task": "sums", "model": "m", **about}, "status": "success", "plan": {"config": {"top_p": None}}}
    samples = [
        {"id": i, "input": f"{i}?", "target": "!", "scores": {"match": {"value": "CI"[i >= right]}}} for i in range(10)
    ]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(config))
        archive.writestr("summaries.json", json.dumps(samples))
    return path


def test_logs_that_differ_in_a_parameter_are_named_by_it_and_gated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = {"model_args": {"device": "cpu"}, "task_args": {"shots": 2}}
    old = inspect_log(tmp_path / "a.eval", 9, model_generate_config={"temperature": 0.2, "seed": 1}, **same)
    new = inspect_log(tmp_path / "b.eval", 4, model_generate_config={"temperature": 0.9, "seed": 1}, **same)
    assert logs([old, new]).table.labels == ("temperature=0.2", "temperature=0.9")
    assert (surest.evaluate(tmp_path).best, run(["gate", str(old), str(new)])) == ("temperature=0.2", 4)
    assert capsys.readouterr().out.startswith("FAIL: temperature=0.9 is worse than temperature=0.2 on the 10 items")
    assert run(["gate", str(tmp_path), "--baseline", "temperature=0.9", "--candidate", "temperature=0.2"]) == 0
    assert surest.gate({str(i): 0.5 for i in range(10)}, old).passed
    bare = inspect_log(tmp_path / "c.eval", 4)
    assert logs([bare, old]).table.labels[0] == "m"


def test_lm_eval_and_promptfoo_are_named_by_parameters(tmp_path: Path) -> None:
    paths = [lm_eval(tmp_path / f"{t}", "m", {i: {"acc": float(i < t)} for i in range(4)}) for t in (1, 3)]
    for path, t in zip(paths, (1, 3), strict=True):
        totals = next(path.parent.glob("results_*"))
        config = {"model_args": f"pretrained=m{t},dtype=float{t}", "gen_kwargs": {"do_sample": True}}
        totals.write_text(json.dumps({**json.loads(totals.read_text()), "config": config, "n-shot": {"arc": 5}}))
    assert logs(paths).table.labels == ("dtype=float1", "dtype=float3")
    row = {"prompt": {"raw": "p"}, "testIdx": 0, "vars": {}, "success": True}
    rows = [
        {**row, "provider": {"id": "x", "config": {"temperature": t}}, "score": t, "promptIdx": k}
        for k, t in enumerate((0, 1))
    ]
    (tmp_path / "out.jsonl").write_text("\n".join(json.dumps(r) for r in rows))
    found = logs([tmp_path / "out.jsonl"]).table
    assert dict(zip(found.labels, found.values.tolist(), strict=True)) == {
        "temperature=0": [0.0],
        "temperature=1": [1.0],
    }


def table_values(paths: list[Path], scorer: str | None = None) -> Any:
    return logs(paths, scorer).table.values.tolist()


def test_samples_of_lm_eval(tmp_path: Path) -> None:
    """Totals beside the samples name the model, and are passed over when they are among the files."""
    lm_eval(tmp_path, "org/small", {i: {"acc": float(i % 2)} for i in range(40)})
    lm_eval(tmp_path, "org/large", {i: {"acc": float(i % 8 > 0)} for i in range(40)})
    found = logs(sorted(tmp_path.glob("*/*")))
    assert (found.table.labels, found.table.items) == (("org/large", "org/small"), tuple(map(str, range(40))))
    assert (found.notes, logs([tmp_path]).notes) == ((), ())
    assert surest.evaluate(found.table, seed=1).best == "org/large"


def test_filters_and_metrics_of_lm_eval_are_scorers(tmp_path: Path) -> None:
    path = lm_eval(tmp_path, "m", {0: {"exact_match": 0.0}}, filter="strict-match")
    more = lm_eval(tmp_path / "more", "m", {0: {"exact_match": 1.0, "f1": ["a", "b"]}}, filter="flexible-extract")
    path.write_text(path.read_text() + more.read_text())
    assert table_values([path], "exact_match,flexible-extract") == [[1.0]]
    with pytest.raises(SourceError, match="scorers exact_match,strict-match, exact_match,flexible-extract; choose one"):
        logs([path])
    with pytest.raises(SourceError, match="no scorer 'acc'; it has exact_match,strict-match"):
        logs([path], "acc")


def test_a_metric_that_is_no_number_of_a_sample(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no sample with a score that is a number"):
        logs([lm_eval(tmp_path, "m", {0: {"f1": ["a", ["b"]]}})])


def test_tasks_are_told_apart(tmp_path: Path) -> None:
    for model in ("a", "b"):
        for task in ("arc", "hella_swag"):
            lm_eval(tmp_path, model, {0: {"acc": float(model == "a")}}, task)
    found = logs([tmp_path])
    assert (found.table.labels, found.table.items) == (("a", "b"), ("arc/0", "hella_swag/0"))


def test_samples_that_only_some_runs_have_are_said(tmp_path: Path) -> None:
    paths = [
        lm_eval(tmp_path, "a", {i: {"acc": 1.0} for i in range(5)}),
        lm_eval(tmp_path, "b", {i: {"acc": 0.0} for i in range(3)}),
    ]
    said = "2 of 5 samples have no score in some run, such as '3' of 'b'"
    with pytest.warns(UserWarning, match=f"{said}: they are left out, and the verdict is about the other 3"):
        assert table(paths).values.shape == (2, 3)
    with pytest.warns(UserWarning, match=f"{said}: they are gaps"):
        assert np.isnan(table(paths, common=False).values).sum() == 2
    alone = lm_eval(tmp_path, "c", {9: {"acc": 0.0}})
    with pytest.raises(SourceError, match="no sample has a score in every run"):
        logs([*paths, alone])


def test_samples_of_the_same_name_that_differ_are_refused(tmp_path: Path) -> None:
    paths = [
        lm_eval(tmp_path, "a", {0: {"acc": 1.0}}),
        lm_eval(tmp_path, "b", {0: {"acc": 1.0}}, doc_hash="another"),
    ]
    with pytest.raises(SourceError, match=r"sample '0' of .*b.* is not the sample of that name in .*a"):
        logs(paths)


def test_two_runs_of_one_model_are_two_arms(tmp_path: Path) -> None:
    paths = [lm_eval(tmp_path / day, "m", {0: {"acc": 1.0}}) for day in ("monday", "tuesday")]
    found = logs(paths)
    assert found.table.labels == tuple(f"m ({path})" for path in paths)
    assert found.notes == ("'m' has several logs of the same task: each file is an arm of its own",)


@pytest.mark.parametrize(
    "text", ["", "arm,item,value\na,q,1\n", "[1, 2]", '{"a": 1}', "{", '{"results": {"results": [1]}}']
)
def test_what_is_not_a_log_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"is not a log of an evaluation|cannot be read as a log of an evaluation"):
        table([path])
    assert run(["evaluate", str(path), str(path)]) == 2
    assert "log of an evaluation" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["promptfoo_echo.json", "promptfoo_echo.jsonl"])
def test_outputs_of_promptfoo(name: str) -> None:
    """promptfoo 0.121.20 wrote these files with its echo provider: two prompts, plain and in capitals, on two tests."""
    found = logs([HERE / name])
    rows = {arm: row.tolist() for arm, row in zip(found.table.labels, found.table.values, strict=True)}
    assert rows == {
        "echo | Say {{word}}": [1.0, 0.0],
        "echo | Do not say {{word}}; say no": [0.5, 0.0],
        "loud echo | Say {{word}}": [0.0, 1.0],
        "loud echo | Do not say {{word}}; say no": [0.0, 1.0],
    }
    assert found.table.items == ('{"word": "yes please"}', '{"word": "no"}')
    assert (found.scorer, found.notes) == ("score", ())
    success = logs([HERE / name], "success").table
    assert dict(zip(success.labels, success.values.sum(axis=1), strict=True))["echo | Do not say {{word}}; say no"] == 0


def test_a_metric_that_only_some_tests_of_promptfoo_have() -> None:
    """The other tests are left out, and it is said."""
    found = logs([HERE / "promptfoo_echo.json"], "agrees")
    assert found.table.items == ('{"word": "yes please"}',)
    assert "1 of 2 samples have no score in some run" in found.notes[0]


def test_promptfoo_on_one_prompt_names_providers(tmp_path: Path) -> None:
    data = json.loads((HERE / "promptfoo_echo.json").read_text())
    results = data["results"]["results"]
    data["results"]["results"] = [result for result in results if result["promptIdx"] in (0, 2)]
    (tmp_path / "one.json").write_text(json.dumps(data))
    assert logs([tmp_path / "one.json"]).table.labels == ("echo", "loud echo")
    data["results"]["results"][0].update(error="no answer", failureReason=2, score=0)
    (tmp_path / "one.json").write_text(json.dumps(data))
    assert len(logs([tmp_path / "one.json"]).table.items) == 1


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


def test_select_best_of_promptfoo_is_a_duel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = selecting(tmp_path / "two.json", 2, 120, [0.2, 0.8], nobody=3)
    assert run(["duel", str(path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["chosen"] == ["model 1"]
    assert any("3 tests" in warning for warning in said["warnings"])
    assert any("other way round" in warning for warning in said["warnings"])
    path = selecting(tmp_path / "three.json", 3, 900, [0.1, 0.6, 0.3])
    found = surest.duel(path)
    assert (found.best, found.certified) == ("model 1", True)
    pairs = [len(scores) for scores in games_of(path).scores if len(scores)]
    assert len(pairs) == 3
    assert min(pairs) > 250  # they are drawn, whatever was selected
    assert sum(pairs) == 900
    by_scores = surest.evaluate(table([path], "select-best"))
    assert (by_scores.best, by_scores.means) == ("model 1", pytest.approx([0.1, 0.6, 0.3], abs=0.05))
    real = games_of(
        HERE / "promptfoo_select.json"
    )  # written by promptfoo 0.121.20: the judge's third answer was nonsense
    assert (real.players, real.total, len(real.notes)) == (("echo", "loud echo"), 2, 2)
    assert [scores.tolist() for scores in real.scores] == [[0.0, 0.0], []]
    with pytest.raises(UsageError, match="no duels"):
        surest.duel(HERE / "promptfoo_echo.json")


def test_the_gate_reads_what_evaluate_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [tmp_path / "old", tmp_path / "new"]
    for folder, right in zip(folders, (40, 25), strict=True):
        lm_eval(folder, folder.name, {i: {"acc": float(i < right)} for i in range(60)})
    assert run(["gate", *map(str, folders), "--margin=.1"]) == 4
    assert "15 items right → wrong, 0 wrong → right." in capsys.readouterr().out
    runs = logs([HERE / "promptfoo_echo.json"]).table.labels
    assert surest.gate(runs[0], runs[1], 0.5, table=HERE / "promptfoo_echo.json").exact
    wide = pd.DataFrame({"question": ["a", "b", "c"], "v1": [1, 1, 0], "v2": [1, 0, 0]})
    wide.to_csv(tmp_path / "wide.csv", index=False)
    for source in (wide, str(tmp_path / "wide.csv")):
        assert surest.gate("v1", "v2", 0.1, table=source).flips == (("b",), ())
    assert run(["gate", str(tmp_path / "wide.csv"), "--baseline=v1", "--candidate=v2", "--margin=.1"]) == 4
    found = surest.gate({f"{i}": 1.0 for i in range(60)}, folders[1], 0.1, history=folders[0])
    assert (found.failed, found.share) == (True, 0.3)
