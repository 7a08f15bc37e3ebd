"""The best of several models from the logs of their evaluations, paired by sample.

    python examples/best_of_eval_logs.py [FOLDER]

inspect_ai writes a log for each run. Here its mock model plays three models on 60 sums, so nothing is sent anywhere. With your
own logs the second half is all there is to do; on the command line it is `surest evaluate FOLDER --scorer match`.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes, match
from inspect_ai.solver import generate

import surest
from surest.integrations import eval_logs

EVERY = {"large": 50, "medium": 6, "small": 3}
"""A model gets every n-th sum wrong, with n as given here."""
SUMS = [Sample(input=f"{i} + {i} = ?", target=str(2 * i), id=f"sum {i}") for i in range(60)]


def write_logs(folder: Path) -> None:
    """Run the evaluation once for each model."""
    for name, every in EVERY.items():

        def answer(messages: Any, *rest: Any, every: int = every) -> ModelOutput:
            number = int(messages[-1].text.split()[0])
            output = ModelOutput.from_content("mockllm", "no idea" if number % every == 1 else f"It is {2 * number}")
            output.usage = ModelUsage()  # otherwise the mock counts tokens with a table that it downloads
            return output

        task = Task(name="sums", dataset=SUMS, solver=generate(), scorer=[match(), includes()])
        eval(task, model=get_model(f"mockllm/{name}", custom_outputs=answer), log_dir=str(folder), display="none")


def main() -> None:
    """Write logs, and say which model is the best."""
    with tempfile.TemporaryDirectory() as own:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else own)
        write_logs(folder)
        result = surest.evaluate(eval_logs.table([folder], scorer="match"))
    print(f"{result.best} is the best on these {len(SUMS)} sums: exact {result.exact}")
    print(f"{result.needed} of {result.cells} answers would have told")


if __name__ == "__main__":
    main()
