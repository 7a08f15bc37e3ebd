"""Early stopping for inspect_ai: end an evaluation once it is certified whether a model is worse than a baseline."""

from collections.abc import Mapping
from math import fsum
from os import PathLike
from typing import Any

from surest.errors import MissingPackageError, UsageError
from surest.integrations.eval_logs import graded, logs
from surest.result.gate import Gate
from surest.search.gate import gate

try:
    from inspect_ai.util import EarlyStop
except ImportError:
    raise MissingPackageError("surest.integrations.inspect_ai needs inspect_ai: pip install inspect-ai") from None

LOOKS = 50  # minimum number of looks for a verdict on the way through the samples


class BaselineStopping:
    """Skip the samples that are left once it is certified that a model is worse than a baseline, or that it is not.

    It is `surest.gate` inside an evaluation: a verdict is wrong with probability at most `delta`. Samples count in the order of
    the dataset, whichever are done first, so the dataset must be shuffled (``dataset.shuffle(seed)``), and it is refused
    otherwise.

    Parameters
    ----------
    baseline : path or mapping
        The log of the baseline on the same samples, or ``{sample id: score}``.
    margin : float
        How much worse the model may be.
    delta : float
        The allowed probability of a wrong verdict.
    scorer : str, optional
        The scorer that counts, where a sample has several.
    bounds : (float, float)
        The lowest and the highest possible score.
    history : list of paths or mappings, optional
        Logs of older models on the same samples, or their scores: what they predict makes a verdict come sooner.

    Attributes
    ----------
    result : Gate or None
        The verdict so far.

    Examples
    --------
    >>> stopping = BaselineStopping({"q1": 1.0, "q2": 0.5}, margin=0.05)
    >>> from inspect_ai import Task
    >>> task = Task(early_stopping=stopping)
    """

    def __init__(
        self, baseline: str | PathLike[str] | Mapping[Any, float], margin: float = 0.0, delta: float = 0.05, *,
        scorer: str | None = None, bounds: tuple[float, float] = (0.0, 1.0), history: list[Any] | None = None,
    ) -> None:  # fmt: skip
        if isinstance(baseline, Mapping):
            self._baseline = {str(item): float(value) for item, value in baseline.items()}
        else:
            found, scorer = logs([baseline], scorer)
            if len(found.labels) > 1:
                raise UsageError(f"{baseline} holds {len(found.labels)} runs; give the log of one run")
            self._baseline = {str(item): value for item, value in found.rows[0].items()}
        self._settings: dict[str, Any] = {"margin": margin, "delta": delta, "bounds": bounds}
        self._scorer = scorer
        self._older = [
            row
            for source in history or []
            for row in ([source] if isinstance(source, Mapping) else logs([source], scorer, common=False)[0].rows)
        ]
        gate({"": bounds[0]}, {}, **self._settings)  # refuses what they cannot be
        self.result: Gate | None = None

    async def start_task(self, task: Any, samples: list[Any], epochs: int) -> str:
        """Take in the list of samples and its order."""
        if not task.dataset.shuffled:
            raise UsageError(
                "the dataset is not shuffled, and a verdict requires a random order: dataset.shuffle(seed)"
            )
        self._items = [str(sample.id) for sample in samples]
        missing = [item for item in self._items if item not in self._baseline]
        if missing:
            raise UsageError(f"the baseline has no score for {len(missing)} samples, such as {missing[0]!r}")
        self._epochs, self.result = epochs, None
        self._values: dict[str, list[float]] = {}
        return "surest"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Skip a sample if it is decided."""
        if self.result is None or self.result.verdict == "undecided":
            return None
        return EarlyStop(id=id, epoch=epoch, reason=str(self.result))

    async def complete_sample(self, id: str | int, epoch: int, scores: Mapping[str, Any]) -> None:
        """Count a sample. Looking now and then saves time, and costs few samples."""
        found = graded({name: {"value": score.score.value} for name, score in scores.items()})
        if self._scorer is None and len(found) > 1:
            raise UsageError(f"samples have the scorers {', '.join(found)}; choose one: scorer=…")
        name = self._scorer or next(iter(found), "")
        if name in found:
            self._values.setdefault(str(id), []).append(found[name])
        if len(self._values) % max(len(self._items) // LOOKS, 1) == 0:
            self._judge()

    async def complete_task(self) -> dict[str, Any]:
        """The verdict, for the log."""
        self._judge()
        assert self.result is not None
        return self.result.to_dict()

    def _judge(self) -> None:
        if self.result is not None and self.result.verdict != "undecided":
            return
        done = {item: fsum(found) / len(found) for item, found in self._values.items() if len(found) == self._epochs}
        listed = {item: self._baseline[item] for item in self._items}
        older = {str(k): {str(item): x for item, x in row.items()} for k, row in enumerate(self._older)} or None
        self.result = gate(listed, done, items=self._items, shuffled=True, history=older, **self._settings)
