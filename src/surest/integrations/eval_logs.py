"""Logs of evaluations of language models as a table of items: which of several runs was the best, paired by sample.

import surest
from surest.integrations import eval_logs

print(surest.evaluate(eval_logs.table(["logs"])))
"""

import warnings
from collections.abc import Iterable, Mapping
from math import fsum, isfinite, nan
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from surest.arms.tables import Table
from surest.errors import SourceError
from surest.integrations.log_readers import Run, Skipped, read


class Logs(NamedTuple):
    """Several runs side by side."""

    table: Table
    scorer: str
    notes: tuple[str, ...]
    """What could not be paired, and what was made of it."""


def table(paths: Iterable[str | PathLike[str]], scorer: str | None = None, *, common: bool = True) -> Table:
    """A table of items from logs of evaluations, for `surest.evaluate` and `surest.gate`.

    Parameters
    ----------
    paths : iterable of paths
        Logs of inspect_ai (.eval or .json), samples of lm-evaluation-harness (samples_….jsonl, by ``--log_samples``), outputs of
        promptfoo (.json or .jsonl), or folders of them. Their content tells what they are. Newer .eval logs need
        ``pip install 'surest[inspect]'``.
    scorer : str, optional
        The scorer or metric that counts, where a sample has several.
    common : bool
        The list of items is what all runs have. Otherwise it is what any run has, with gaps: a sample that failed is a gap.

    Returns
    -------
    Table
        A row for each model (or model and prompt, where prompts differ), a column for each sample. A sample that was run in
        several epochs counts with their mean.

    Warns
    -----
    UserWarning
        For everything that could not be paired, and what was made of it.

    Examples
    --------
    >>> import json, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for model, right in {"small": (0, 1), "large": (1, 1)}.items():
    ...     (folder / model).mkdir()
    ...     lines = [json.dumps({"doc_id": i, "doc": {}, "acc": float(x)}) for i, x in enumerate(right)]
    ...     _ = (folder / model / "samples_arc.jsonl").write_text("\\n".join(lines))
    >>> found = table([folder])
    >>> found.labels, found.values
    (('large', 'small'), array([[1., 1.],
           [0., 1.]]))
    """
    found = logs(paths, scorer, common=common)
    for note in found.notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return found.table


def logs(paths: Iterable[str | PathLike[str]], scorer: str | None = None, *, common: bool = True) -> Logs:
    """What `table` makes, with its notes as data instead of warnings."""
    runs, skipped = _runs([Path(path) for path in paths])
    if not runs:
        raise SourceError(
            f"no samples of an evaluation in what was given; {'; '.join(skipped) or 'give at least one file'}"
        )
    chosen = _scorer(runs, scorer)
    arms, more = _arms(runs)
    notes = [*skipped, *(note for run in runs for note in run.notes), *more]
    rows: dict[str, dict[str, float]] = {}
    contents: dict[str, tuple[str, Path]] = {}
    tasks = len({run.task for run in runs}) > 1
    for run, arm in zip(runs, arms, strict=True):
        _check_contents(run, contents, tasks)
        scored, repeated = _means(run, chosen)
        if repeated:
            notes.append(f"{run.path} has samples that were run several times: the mean over their epochs counts")
        rows.setdefault(arm, {}).update({_key(run, item, tasks): value for item, value in scored.items()})
    items, unpaired = _items(rows, common)
    values = np.array([[row.get(item, nan) for item in items] for row in rows.values()])
    return Logs(Table(tuple(rows), items, values), chosen, (*notes, *unpaired))


def _runs(paths: list[Path]) -> tuple[list[Run], list[str]]:
    """The runs in files and folders. A folder may hold other files, which are said; a file that is named must be a log."""
    runs: list[Run] = []
    notes: list[str] = []
    totals: list[tuple[Path, str]] = []
    for path in paths:
        inside = sorted(place for place in path.rglob("*") if place.is_file()) if path.is_dir() else [path]
        for place in inside:
            try:
                runs += read(place)
            except Skipped as skipped:
                totals.append((place.parent, str(skipped)))
            except SourceError as error:
                if not path.is_dir():
                    raise
                notes.append(str(error))
    beside = {run.path.parent for run in runs}  # totals beside their samples are nothing to speak of
    return runs, [*notes, *(said for folder, said in totals if folder not in beside)]


def _scorer(runs: list[Run], asked: str | None) -> str:
    """The scorer that counts: what was asked for, or the only one that there is."""
    known = [list(dict.fromkeys(name for sample in run.samples for name in sample.scores)) for run in runs]
    empty = next((run for run, names in zip(runs, known, strict=True) if not names), None)
    if empty is not None:
        raise SourceError(f"{empty.path} has no sample with a score that is a number; leave it out")
    shared = [name for name in known[0] if all(name in names for names in known)]
    defaults = {run.default for run in runs}
    if asked is None and len(defaults) == 1 and defaults != {None}:
        (asked,) = defaults
    if asked is None and len(shared) == 1:
        return shared[0]
    if asked in shared:
        return str(asked)
    if asked is None and shared:
        raise SourceError(
            f"these logs have the scorers {', '.join(shared)}; choose one: --scorer {shared[0]} (scorer=…)"
        )
    lacking = next(place for place, names in enumerate(known) if asked is None or asked not in names)
    other = f"{runs[0].path} has {', '.join(known[0])}; " if lacking else ""
    wanted = "no scorer in common with the others" if asked is None else f"no scorer {asked!r}"
    raise SourceError(f"{runs[lacking].path} has {wanted}; {other}it has {', '.join(known[lacking])}")


def _arms(runs: list[Run]) -> tuple[list[str], list[str]]:
    """A label for each run: what differs between the runs of a task; and a note where only the file tells them apart."""
    kinds = list(dict.fromkeys(kind for run in runs for kind in run.names))
    differing = []
    for kind in kinds:
        values: dict[str, set[str | None]] = {}
        for run in runs:
            values.setdefault(run.task, set()).add(run.names.get(kind))
        if any(len(found) > 1 for found in values.values()):
            differing.append(kind)
    used = differing or kinds[:1]
    labels = [
        " | ".join(run.names[kind] for kind in used if run.names.get(kind)) or run.names.get(kinds[0]) or run.path.stem
        for run in runs
    ]
    places: dict[tuple[str, str], int] = {}
    for label, run in zip(labels, runs, strict=True):
        places[label, run.task] = places.get((label, run.task), 0) + 1
    twice = {label for (label, _), times in places.items() if times > 1}
    notes = [f"{label!r} has several logs of the same task: each file is an arm of its own" for label in sorted(twice)]
    told = [f"{label} ({run.path.stem})" if label in twice else label for label, run in zip(labels, runs, strict=True)]
    if len(set(told)) < len({(label, run.path) for label, run in zip(labels, runs, strict=True) if label in twice}):
        told = [f"{label} ({run.path})" if label in twice else label for label, run in zip(labels, runs, strict=True)]
    return told, notes


def _key(run: Run, item: str, tasks: bool) -> str:
    return f"{run.task}/{item}" if tasks else item


def _check_contents(run: Run, contents: dict[str, tuple[str, Path]], tasks: bool) -> None:
    """Refuse samples of the same name that are not the same."""
    for sample in run.samples:
        if sample.content is not None:
            first, path = contents.setdefault(_key(run, sample.item, tasks), (sample.content, run.path))
            if first != sample.content:
                raise SourceError(
                    f"sample {sample.item!r} of {run.path} is not the sample of that name in {path}: the question or its answer "
                    "differs, so they cannot be paired; give logs of the same data"
                )


def _means(run: Run, scorer: str) -> tuple[dict[str, float], bool]:
    """The value of each sample, the mean over its epochs; and whether there were several."""
    found: dict[str, list[float]] = {}
    for sample in run.samples:
        found.setdefault(sample.item, []).append(sample.scores.get(scorer, nan))
    means = {item: fsum(values) / len(values) for item, values in found.items()}
    return means, any(len(values) > 1 for values in found.values())


def _items(rows: Mapping[str, Mapping[str, float]], common: bool) -> tuple[tuple[str, ...], list[str]]:
    """The list of items, and what is said of those that some arm has no value for."""
    every = tuple(dict.fromkeys(item for row in rows.values() for item in row))
    without = {}
    for item in every:
        lacking = [arm for arm, row in rows.items() if not isfinite(row.get(item, nan))]
        if lacking:
            without[item] = lacking[0]
    if not without:
        return every, []
    shared = tuple(item for item in every if item not in without)
    item, arm = next(iter(without.items()))
    said = f"{len(without)} of {len(every)} samples have no score in some run, such as {item!r} of {arm!r}"
    if not common:
        return every, [f"{said}: they are gaps"]
    if not shared:
        raise SourceError(f"no sample has a score in every run: {said}; give runs on the same data")
    return shared, [f"{said}: they are left out, and the verdict is about the other {len(shared)}"]
