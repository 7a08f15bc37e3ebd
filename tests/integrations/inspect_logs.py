"""Make real logs of inspect_ai, with models that answer from a list: ``python inspect_logs.py FOLDER``."""

import sys
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes, match
from inspect_ai.solver import generate

SAMPLES = [Sample(input=f"{i} + {i} = ?", target=str(2 * i), id=f"q{i}") for i in range(20)]
RUNS: dict[str, tuple[set[int], int, Any]] = {
    "good": ({3}, 1, "eval"),
    "poor": (set(range(5, 18)), 2, "eval"),
    "fair": ({3, 4, 5, 6, 7}, 1, "json"),
}
"""The questions that a model gets wrong, its epochs, and the format of its log."""


def main(folder: str) -> None:
    """One log a model."""
    for name, (wrong, epochs, form) in RUNS.items():

        def answer(messages: Any, *rest: Any, name: str = name, wrong: set[int] = wrong) -> ModelOutput:
            number = int(messages[-1].text.split()[0])
            said = "I do not know" if number in wrong else f"It is {2 * number}"
            output = ModelOutput.from_content(f"mockllm/{name}", said)
            output.usage = ModelUsage()  # it would count tokens with a table from the internet
            return output

        task = Task(dataset=SAMPLES, solver=generate(), scorer=[match(), includes()], name="sums")
        model = get_model(f"mockllm/{name}", custom_outputs=answer)
        (log,) = eval(task, model=model, log_dir=folder, log_format=form, display="none", epochs=epochs)
        assert log.status == "success", log.error


if __name__ == "__main__":
    main(sys.argv[1])
