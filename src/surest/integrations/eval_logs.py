"""Logs of evaluations of language models as a table of items: which of several runs was the best, paired by sample.

import surest
from surest.integrations import eval_logs

print(surest.evaluate(eval_logs.table(["logs"])))
"""

import json
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import combinations
from math import fsum, inf, nan
from os import PathLike
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from surest.arms.tables import Table
from surest.errors import SourceError, UsageError
from surest.text import counted

SELECT_BEST = "select-best"
"""promptfoo's assertion that one output of a test is the best: 1 for that one, 0 for the others."""
GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""What inspect_ai's letters count: correct, partially correct, incorrect, no answer."""
LONGEST = 80  # maximum length of an item's name
NOT_METRICS = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"} | {
    f"{what}_hash" for what in ("doc", "prompt", "target")
}
"""Fields of a sample of lm-evaluation-harness that are not scores."""
UNKNOWN = (
    "{} is not a recognised evaluation log; supported are .eval and .json logs of inspect_ai, samples_….jsonl files of "
    "lm-evaluation-harness (--log_samples), and .json and .jsonl outputs of promptfoo"
)


class Sample(NamedTuple):
    """What one run says of one sample."""

    item: str
    scores: dict[str, float]  # by scorer; empty if the sample failed
    content: str | None = None
    """What must be the same in every run for the samples to be the same, if that can be told."""
    costs: Mapping[str, float] = MappingProxyType({})  # what it cost, by unit: $, tokens, s


class LoggedRun(NamedTuple):
    """One arm on one task, from one file."""

    path: Path
    task: str
    names: dict[str, str]  # what may tell an arm from others: the model, the solver, the prompt
    samples: list[Sample]
    default: str | None = None  # the scorer that counts if none is asked for
    notes: tuple[str, ...] = ()


class Skipped(SourceError):
    """A file that belongs to a log but holds no samples."""


def read(path: Path) -> list[LoggedRun]:
    """The runs in a file, whichever tool wrote it: its content tells, not its name."""
    try:
        with path.open("rb") as file:
            if file.peek(2).startswith(b"PK"):
                return [_inspect(path, *_zipped(path, file))]
            lines = ((number, line) for number, line in enumerate(file, 1) if line.strip())
            _, first = next(lines, (1, b""))
            if not first.lstrip().startswith(b"{"):
                raise SourceError(UNKNOWN.format(path))
            one = _json(first)  # None where a document has many lines
            if isinstance(one, dict) and "doc_id" in one and one.keys() & {"doc", "resps"}:
                return [_lm_eval(path, [one, *(_line(path, *numbered) for numbered in lines)])]
            if isinstance(one, dict) and {"promptIdx", "score"} <= one.keys():
                return _promptfoo(path, [one, *(_line(path, *numbered) for numbered in lines)])
            return _document(path, json.loads(first + file.read()))
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, UsageError):
            raise
        what = error.strerror or error if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        raise SourceError(f"{path} cannot be read as an evaluation log: {what}") from None


def _json(text: bytes) -> Any:
    """What a text holds, None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _line(path: Path, number: int, line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise SourceError(f"{path}, line {number}: not JSON ({error})") from None


def _document(path: Path, data: Mapping[str, Any]) -> list[LoggedRun]:
    """The runs of a file that is one JSON object."""
    results = data.get("results")
    if isinstance(data.get("eval"), dict) and "status" in data:
        return [_inspect(path, data, data.get("samples") or [])]
    if isinstance(results, dict) and isinstance(results.get("results"), list):
        return _promptfoo(path, results["results"])
    if isinstance(results, dict) and "configs" in data:
        raise Skipped(
            f"{path} holds the totals of lm-evaluation-harness, not its samples: write them with --log_samples"
        )
    raise SourceError(UNKNOWN.format(path))


def short(text: str) -> str:
    """A name that fits in a line and is still unique.

    >>> short("2 + 2?"), len(short("why? " * 100))
    ('2 + 2?', 80)
    """
    line = " ".join(text.split())
    if len(line) <= LONGEST:
        return line
    return f"{line[: LONGEST - 10]}…#{sha256(text.encode(errors='replace')).hexdigest()[:8]}"


# inspect_ai


def _zipped(path: Path, file: BinaryIO) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header of an .eval file and the summaries of its samples, without their transcripts."""
    if not hasattr(zipfile, "ZIP_ZSTANDARD"):
        try:
            import zipfile_zstd  # noqa: F401  # teaches zipfile the compression of newer logs
        except ImportError:
            if any(part.compress_type == 93 for part in zipfile.ZipFile(file).infolist()):
                raise UsageError(
                    f"{path} is compressed with Zstandard, which this Python cannot read; pip install 'surest[inspect]'"
                ) from None
    with zipfile.ZipFile(file) as archive:
        names = set(archive.namelist())
        if "header.json" in names:
            return json.loads(archive.read("header.json")), json.loads(archive.read("summaries.json"))
        if "_journal/start.json" not in names:
            raise SourceError(UNKNOWN.format(path))
        parts = sorted(name for name in names if name.startswith("_journal/summaries/"))
        samples = [sample for part in parts for sample in json.loads(archive.read(part))]
        return {"status": "started", **json.loads(archive.read("_journal/start.json"))}, samples


def _inspect(path: Path, header: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]) -> LoggedRun:
    about = header["eval"]
    names = {"model": str(about["model"])} | ({"solver": str(about["solver"])} if about.get("solver") else {})
    for name in ("task_args", "solver_args", "model_args", "model_generate_config"):
        names |= _settings(name, about.get(name))
    names |= _settings("model_generate_config", (header.get("plan") or {}).get("config"))
    found = []
    for sample in samples:
        target, asked = sample.get("target"), sample.get("input")
        content = json.dumps([asked, target]) if isinstance(asked, str) else None  # messages have ids of their own
        used = [use for use in (sample.get("model_usage") or {}).values() if isinstance(use, dict)]
        costs = _costs({
            "$": [use.get("total_cost") for use in used], "tokens": [use.get("total_tokens") for use in used],
            "s": [sample.get("total_time")],
        })  # fmt: skip
        found.append(Sample(str(sample["id"]), graded(sample.get("scores") or {}), content, costs))
    status = header.get("status")
    notes = () if status == "success" else (f"{path} is the log of a run with status {status!r}",)
    return LoggedRun(path, str(about.get("task", "")), names, found, None, notes)


def _settings(kind: str, given: Any) -> dict[str, str]:
    """Parameters by which runs may differ, each by itself: what is told of an arm is what differs."""
    if isinstance(given, str):  # of lm-evaluation-harness: a=1,b=2
        given = dict(part.split("=", 1) for part in given.split(",") if "=" in part)
    if not isinstance(given, dict):
        return {}
    return {f"{kind} {key}": short(f"{key}={value}") for key, value in given.items() if value is not None}


def graded(scores: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """The scores of inspect_ai that are numbers, or letters for them."""
    found: dict[str, float] = {}
    for scorer, score in scores.items():
        value = score.get("value")
        parts = {f"{scorer}/{key}": part for key, part in value.items()} if isinstance(value, dict) else {scorer: value}
        for name, part in parts.items():
            number = GRADES.get(part) if isinstance(part, str) else _number(part)
            if number is not None:
                found[name] = number
    return found


def _costs(parts: Mapping[str, Sequence[Any]]) -> dict[str, float]:
    """What a sample cost, by unit: the sums of parts that are all numbers ≥ 0."""
    known = {unit: [_number(part) for part in listed] for unit, listed in parts.items() if listed}
    return {
        unit: sum(part for part in listed if part is not None)
        for unit, listed in known.items()
        if all(part is not None and 0 <= part < inf for part in listed)
    }


def _number(value: Any) -> float | None:
    """A number, NaN among them; None for what is not one."""
    return float(value) if isinstance(value, int | float) else None


# lm-evaluation-harness


def _lm_eval(path: Path, lines: Iterable[Mapping[str, Any]]) -> LoggedRun:
    found: dict[str, Sample] = {}
    for line in lines:
        kind = line.get("filter", "none")
        suffix = "" if kind == "none" else f",{kind}"
        metrics = line.get("metrics") or [name for name in line if name not in NOT_METRICS]
        scores = {f"{name}{suffix}": _number(line.get(name)) for name in metrics}
        item = str(line["doc_id"])
        sample = found.setdefault(item, Sample(item, {}, line.get("doc_hash")))
        sample.scores.update({name: score for name, score in scores.items() if score is not None})
    name = path.stem.removeprefix("samples_")  # samples_TASK_TIME.jsonl
    task, cut, time = name.rpartition("_")
    task, time = (task, time) if cut and time[:1].isdigit() else (name, "")
    # The totals beside the samples name the model; otherwise the folder does, which the tool names after it.
    beside = path.with_name(f"results_{time}.json")
    totals = _json(beside.read_bytes()) if beside.is_file() else None
    totals = totals if isinstance(totals, dict) else {}
    config, shots = totals.get("config") or {}, totals.get("n-shot") or {}
    names = {"model": str(totals.get("model_name") or path.resolve().parent.name)}
    more = _settings("model_args", config.get("model_args")) | _settings("gen_kwargs", config.get("gen_kwargs"))
    names |= {kind: text for kind, text in more.items() if not kind.endswith((" pretrained", " model"))}
    names |= _settings("config", {"num_fewshot": shots.get(task) if isinstance(shots, dict) else None})
    return LoggedRun(path, task, names, list(found.values()))


# promptfoo


def _promptfoo(path: Path, results: Iterable[Mapping[str, Any]]) -> list[LoggedRun]:
    runs: dict[int, tuple[dict[str, str], dict[int, Sample]]] = {}
    for result in sorted(results, key=lambda result: result.get("promptIdx", 0)):  # they come as they were done
        provider, prompt = result.get("provider") or {}, result.get("prompt") or {}
        model = provider if isinstance(provider, str) else provider.get("label") or provider.get("id") or ""
        asked = prompt.get("label") or prompt.get("raw") or f"prompt {result.get('promptIdx')}"
        failed = bool(result.get("error")) and result.get("failureReason") == 2
        values = {"score": result.get("score"), "success": result.get("success"), **(result.get("namedScores") or {})}
        scores = {} if failed else {name: _number(value) for name, value in (values | _selection(result)).items()}
        given = json.dumps(result.get("vars") or {}, sort_keys=True, ensure_ascii=False)
        usage, late = result.get("tokenUsage"), result.get("latencyMs")
        costs = _costs({
            "$": [result.get("cost")], "tokens": [usage.get("total") if isinstance(usage, dict) else None],
            "s": [late / 1000 if isinstance(late, int | float) else None],
        })  # fmt: skip
        sample = Sample(given, {name: nan if value is None else value for name, value in scores.items()}, costs=costs)
        names = {"model": str(model), "prompt": short(asked)}
        names |= _settings("config", provider.get("config") if isinstance(provider, dict) else None)
        _, tests = runs.setdefault(int(result.get("promptIdx", 0)), (names, {}))
        tests[int(result.get("testIdx", len(tests)))] = sample
    alike = len({tuple(names.items()) for names, _ in runs.values()}) < len(runs)
    return [
        LoggedRun(path, "", names | ({"column": f"column {at + 1}"} if alike else {}), _told_apart(tests), "score")
        for at, (names, tests) in runs.items()
    ]


def _selection(result: Mapping[str, Any]) -> dict[str, Any]:
    """What select-best said of an output, if the test has that."""
    graded = result.get("gradingResult") or {}
    for part in (graded, *(graded.get("componentResults") or ())):
        if part and (part.get("assertion") or {}).get("type") == SELECT_BEST:
            return {SELECT_BEST: part.get("score")}
    return {}


def selected(path: str | PathLike[str]) -> tuple[list[tuple[str, str, str, float]], list[str], tuple[str, ...]]:
    """Duels from promptfoo's select-best: where they stand, who met whom, the first's score; their tests; and notes.

    A test is one duel, so that no two share an item. Of more than two outputs a pair is drawn for each test beforehand; it is a
    tie where a third one was selected.
    """
    runs = read(Path(path))
    arms, _ = _arms(runs)
    said: dict[str, dict[str, float]] = {}
    for arm, run in zip(arms, runs, strict=True):
        for sample in run.samples:
            if SELECT_BEST in sample.scores:
                said.setdefault(sample.item, {})[arm] = sample.scores[SELECT_BEST]
    if not said:
        raise SourceError(
            f"{path} has no output of promptfoo with a {SELECT_BEST} assertion, so no duels; see surest evaluate"
        )
    draw, pairs, duels, items = Random(0), list(combinations(arms, 2)), list[tuple[str, str, str, float]](), list[str]()
    for item, scores in said.items():
        first, second = draw.choice(pairs)
        if first in scores and second in scores and sorted(scores.values())[-2:] == [0, 1]:
            duels.append((f"{path}, test {item}", first, second, (1 + scores[first] - scores[second]) / 2))
            items.append(item)
    notes = [
        "promptfoo's judge saw all outputs in one order: if it favours a place, that counts for an arm; repeat it with "
        "the providers or prompts the other way round"
    ]
    if len(duels) < len(said):
        left_out = counted(len(said) - len(duels), "test")
        notes.append(f"{left_out} left out: not both outputs of the pair were judged, or none was selected")
    if len(arms) > 2:
        notes.append(
            "each test is a duel of one pair, drawn at random, and a tie where another output was selected; who is selected "
            f"most often of all {len(arms)}, surest evaluate --scorer {SELECT_BEST} says with fewer tests"
        )
    return duels, items, tuple(notes)


def _told_apart(tests: Mapping[int, Sample]) -> list[Sample]:
    """Tests in their order. Of tests on the same variables, the second of one arm belongs to the second of another."""
    seen: dict[str, int] = {}
    found = []
    for _, sample in sorted(tests.items()):
        seen[sample.item] = seen.get(sample.item, 0) + 1
        times = f" ({seen[sample.item]})" if seen[sample.item] > 1 else ""
        found.append(sample._replace(item=f"{short(sample.item)}{times}"))
    return found


def table(paths: Iterable[str | PathLike[str]], scorer: str | None = None, *, common: bool = True) -> Table:
    """A table of items from logs of evaluations, for `surest.evaluate` and `surest.gate`.

    Parameters
    ----------
    paths : iterable of paths
        Logs of inspect_ai (.eval or .json), samples of lm-evaluation-harness (samples_….jsonl, by ``--log_samples``), outputs of
        promptfoo (.json or .jsonl), or folders of them. Recognised by their content. Newer .eval logs need
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
    found, _ = logs(paths, scorer, common=common)
    for note in found.notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return replace(found, notes=())


def logs(paths: Iterable[str | PathLike[str]], scorer: str | None = None, *, common: bool = True) -> tuple[Table, str]:
    """What `table` makes, with its notes as data instead of warnings, and the scorer that counts."""
    runs, skipped = _runs([Path(path) for path in paths])
    if not runs:
        raise SourceError(f"no evaluation samples found; {'; '.join(skipped) or 'give at least one file'}")
    chosen = _scorer(runs, scorer)
    arms, more = _arms(runs)
    notes = [*skipped, *(note for run in runs for note in run.notes), *more]
    rows: dict[str, dict[str, float]] = {}
    contents: dict[str, tuple[str, Path]] = {}
    if len({run.task for run in runs}) > 1:
        runs = [run._replace(samples=[s._replace(item=f"{run.task}/{s.item}") for s in run.samples]) for run in runs]
    for run, arm in zip(runs, arms, strict=True):
        _check_contents(run, contents)
        found: dict[str, list[float]] = {}
        for sample in run.samples:
            found.setdefault(sample.item, []).append(sample.scores.get(chosen, nan))
        if any(len(values) > 1 for values in found.values()):
            notes.append(f"{run.path} has samples that were run several times: the mean over their epochs counts")
        rows.setdefault(arm, {}).update({item: fsum(values) / len(values) for item, values in found.items()})
    items = tuple(dict.fromkeys(item for row in rows.values() for item in row))
    scores = np.array([[row.get(item, nan) for item in items] for row in rows.values()])
    return _priced(_paired(Table(tuple(rows), items, scores, tuple(notes)), common), runs, arms), chosen


def _paired(table: Table, common: bool) -> Table:
    """The table without items that some arm has no score for, or with them as gaps, and what is said of that."""
    lacking = ~np.isfinite(table.values)
    gaps = [bool(column.any()) for column in lacking.T]
    if not any(gaps):
        return table
    item = gaps.index(True)
    such = f"such as {table.items[item]!r} of {table.labels[int(lacking[:, item].argmax())]!r}"
    said = f"{sum(gaps)} of {len(gaps)} samples have no score in some run, {such}"
    if not common:
        return replace(table, notes=(*table.notes, f"{said}: they are gaps"))
    shared = [place for place, gap in enumerate(gaps) if not gap]
    if not shared:
        raise SourceError(f"no sample has a score in every run: {said}; give runs on the same data")
    notes = *table.notes, f"{said}: they are left out, and the verdict is about the other {len(shared)}"
    return replace(table, items=tuple(table.items[k] for k in shared), values=table.values[:, shared], notes=notes)


def _priced(table: Table, runs: list[LoggedRun], arms: Sequence[str]) -> Table:
    """The table with what a sample of each arm costs on average, in the first unit that is known, and not 0, of all arms."""
    for unit in ("$", "tokens", "s"):
        costs: dict[Any, list[float]] = {label: [] for label in table.labels}
        for run, arm in zip(runs, arms, strict=True):
            costs[arm] += [sample.costs[unit] for sample in run.samples if unit in sample.costs]
        means = tuple(sum(each) / max(len(each), 1) for each in costs.values())
        if all(means):
            return replace(table, costs=means, cost_unit=unit)
    return table


def _runs(paths: list[Path]) -> tuple[list[LoggedRun], list[str]]:
    """The runs in files and folders. A folder may hold other files, which are said; a file that is named must be a log."""
    runs: list[LoggedRun] = []
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
    beside = {run.path.parent for run in runs}  # totals beside their samples need no note
    return runs, [*notes, *(said for folder, said in totals if folder not in beside)]


def _scorer(runs: list[LoggedRun], asked: str | None) -> str:
    """The scorer that counts: what was asked for, or the only one that there is."""
    known = [list(dict.fromkeys(name for sample in run.samples for name in sample.scores)) for run in runs]
    empty = next((run for run, names in zip(runs, known, strict=True) if not names), None)
    if empty is not None:
        raise SourceError(f"{empty.path} has no sample with a score that is a number; leave it out")
    shared = [name for name in known[0] if all(name in names for names in known)]
    if asked is None and len(defaults := {run.default for run in runs}) == 1:
        (asked,) = defaults
    if asked is None and len(shared) == 1:
        (asked,) = shared
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


def _arms(runs: list[LoggedRun]) -> tuple[list[str], list[str]]:
    """A label for each run: what differs between the runs of a task; and a note where only the file tells them apart."""
    kinds = list(dict.fromkeys(kind for run in runs for kind in run.names))
    tasks = {run.task: [other for other in runs if other.task == run.task] for run in runs}
    differing = [k for k in kinds if any(len({run.names.get(k) for run in of}) > 1 for of in tasks.values())]
    labels = [
        " | ".join(run.names[kind] for kind in differing or kinds[:1] if run.names.get(kind))
        or run.names.get(kinds[0])
        or run.path.stem
        for run in runs
    ]
    times = Counter((label, run.task) for label, run in zip(labels, runs, strict=True))
    twice = {label for (label, _), count in times.items() if count > 1}
    notes = [f"{label!r} has several logs of the same task: each file is an arm of its own" for label in sorted(twice)]
    files = {(label, run.path) for label, run in zip(labels, runs, strict=True) if label in twice}
    stems = {(label, path.stem) for label, path in files}
    called = [run.path.stem if len(stems) == len(files) else str(run.path) for run in runs]
    told = [f"{label} ({name})" if label in twice else label for label, name in zip(labels, called, strict=True)]
    return told, notes


def _check_contents(run: LoggedRun, contents: dict[str, tuple[str, Path]]) -> None:
    """Refuse samples of the same name that are not the same."""
    for sample in run.samples:
        if sample.content is not None:
            first, path = contents.setdefault(sample.item, (sample.content, run.path))
            if first != sample.content:
                raise SourceError(
                    f"sample {sample.item!r} of {run.path} is not the sample of that name in {path}: the question or its answer "
                    "differs, so they cannot be paired; give logs of the same data"
                )
