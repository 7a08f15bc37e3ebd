"""Make real logs of inspect_ai, with models that answer from a list: ``python inspect_logs.py FOLDER``.

It prints, as JSON, what came of an evaluation that stops early, and what the example prints.
"""

import asyncio
import contextlib
import doctest
import io
import json
import random
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes, match
from inspect_ai.solver import generate

import surest_verify
from surest.integrations import inspect_ai
from surest.result.gate import Gate

EXAMPLE = Path(__file__).parents[2] / "examples" / "best_of_eval_logs.py"
SAMPLES = [Sample(input=f"{i} + {i} = ?", target=str(2 * i), id=f"q{i}") for i in range(20)]
RUNS: dict[str, tuple[set[int], int, Any]] = {
    "good": ({3}, 1, "eval"),
    "poor": (set(range(5, 18)), 2, "eval"),
    "fair": ({3, 4, 5, 6, 7}, 1, "json"),
}
"""The questions that a model gets wrong, its epochs, and the format of its log."""


def model(name: str, wrong: set[int]) -> Any:
    """A model that does not know some sums."""

    def answer(messages: Any, *rest: Any) -> ModelOutput:
        number = int(messages[-1].text.split()[0])
        said = "I do not know" if number in wrong else f"It is {2 * number}"
        output = ModelOutput.from_content(f"mockllm/{name}", said)
        output.usage = ModelUsage()  # it would count tokens with a table from the internet
        return output

    return get_model(f"mockllm/{name}", custom_outputs=answer)


def main(folder: Path) -> None:
    """One log a model; and the examples in the module's own documentation."""
    assert doctest.testmod(inspect_ai) == (0, 3)
    for name, (wrong, epochs, form) in RUNS.items():
        task = Task(dataset=SAMPLES, solver=generate(), scorer=[match(), includes()], name="sums")
        (log,) = eval(
            task, model=model(name, wrong), log_dir=str(folder), log_format=form, display="none", epochs=epochs
        )
        assert log.status == "success", log.error
    found, sys.argv = stopped_early(folder / "early"), ["best_of_eval_logs.py"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    found["history"] = with_history(folder)
    print(json.dumps({**found, "example": printed.getvalue()}))


def stopped_early(folder: Path) -> dict[str, Any]:
    """A model that knows a third of 80 sums, against a baseline that knows all but one; then without a shuffle."""
    samples = [Sample(input=f"{i} + {i} = ?", target=str(2 * i), id=i) for i in range(80)]
    baseline = {i: float(i != 7) for i in range(80)}
    found: dict[str, Any] = {}
    for kind in ("shuffled", "plain"):
        dataset, stopping = MemoryDataset(list(samples)), inspect_ai.BaselineStopping(baseline)
        if kind == "shuffled":
            dataset.shuffle(1)
        task = Task(dataset=dataset, solver=generate(), scorer=match(), early_stopping=stopping)
        weak = model("weak", {i for i in range(80) if i % 3})
        (log,) = eval(task, model=weak, log_dir=str(folder), display="none", max_samples=1)
        found[kind] = {"status": log.status, "error": log.error.message if log.error else ""}
        if stopping.result is not None and log.results is not None and log.results.early_stopping is not None:
            done = len(log.samples or [])
            skipped = len(log.results.early_stopping.early_stops)
            noted = log.results.early_stopping.metadata["verdict"]
            found[kind] |= {"verdict": stopping.result.verdict, "done": done, "skipped": skipped, "noted": noted}
    return found


def with_history(folder: Path) -> list[dict[str, Any]]:
    """Of the same evaluation without older models, with four, and with those of a model that answers otherwise: what is found."""
    draw = random.Random(3)
    ease = [draw.random() * 2.6 - 0.8 for _ in range(400)]
    baseline, one, other, *rows = ({i: float(draw.random() < p) for i, p in enumerate(ease)} for _ in range(7))
    logged = [str(path) for path in sorted(folder.iterdir()) if path.is_file()]
    by_logs = inspect_ai.BaselineStopping({f"q{i}": 1.0 for i in range(20)}, scorer="match", history=[*logged, rows[0]])
    found = []
    for stopping, scores in (
        (inspect_ai.BaselineStopping(baseline, 0.04), one),
        (inspect_ai.BaselineStopping(baseline, 0.04, history=rows), one),
        (inspect_ai.BaselineStopping(baseline, 0.04, history=rows), other),
        (by_logs, {f"q{i}": 1.0 for i in range(20)}),
    ):
        result = asyncio.run(evaluated(stopping, scores))
        result.write_decision(folder.parent / "stopped.jsonl")
        checked = surest_verify.verify(str(folder.parent / "stopped.jsonl"))  # predicts anew, by earlier scores alone
        found.append(
            {"verdict": result.verdict, "counted": result.items_counted, "features": result.features, "said": checked}
        )
    return found


async def evaluated(stopping: inspect_ai.BaselineStopping, scores: dict[Any, float]) -> Gate:
    """What is found by the time that it ends, if a model has these scores."""
    samples = [SimpleNamespace(id=sample) for sample in scores]
    await stopping.start_task(SimpleNamespace(dataset=SimpleNamespace(shuffled=True)), samples, 1)
    for sample, score in scores.items():
        if await stopping.schedule_sample(sample, 1) is None:
            await stopping.complete_sample(sample, 1, {"match": SimpleNamespace(score=SimpleNamespace(value=score))})
    await stopping.complete_task()
    assert stopping.result is not None
    return stopping.result


if __name__ == "__main__":
    main(Path(sys.argv[1]))
