"""Totals: of each arm how many trials there were, and how many of them succeeded. The order of the trials is not known.

Columns `arm`, `successes` and `trials`, or clicks of impressions, or conversions of visitors; other names are told by
`columns`. An arm has one row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surest.arms.files import Columns, Rows
from surest.core.protocol import Atoms, IntArray, atoms_of
from surest.core.scale import Scale
from surest.errors import SourceError
from surest.text import some

NEEDED = ("arm", "successes", "trials")
PAIRS = (("successes", "trials"), ("clicks", "impressions"), ("conversions", "visitors"))
"""What people call successes and trials. Where a table has exactly one of these pairs, naming it is optional."""


@dataclass(frozen=True, eq=False)
class Totals:
    """How many trials of each arm succeeded, of how many."""

    labels: tuple[Any, ...]
    successes: IntArray
    trials: IntArray

    def atoms(self, arms: IntArray, scale: Scale) -> Atoms:
        """All trials of some arms, as a procedure sees them: how many rewards of each are 0, and how many 1."""
        counts = np.column_stack([self.trials - self.successes, self.successes])[:, :: -1 if scale.minimise else 1]
        return atoms_of([(np.flatnonzero(row).astype(float), row[row > 0]) for row in counts[arms]])

    def since(self, before: "Totals", source: str) -> "Totals":
        """The same with the arms in the order of earlier totals. Refuse what cannot have grown out of them: trials do not come
        undone."""
        if set(self.labels) != set(before.labels):
            raise SourceError(
                f"{source}: the arms were {some(before.labels, 8)}, and are {some(self.labels, 8)} now; start a new search, "
                "with a row for each arm from the beginning, 0 trials where there are none yet"
            )
        order = [self.labels.index(label) for label in before.labels]
        now = Totals(before.labels, self.successes[order], self.trials[order])
        fewer = (now.successes < before.successes) | (now.trials - now.successes < before.trials - before.successes)
        if fewer.any():
            k = int(fewer.argmax())
            raise SourceError(
                f"{source}: arm {now.labels[k]!r} had {before.successes[k]:,} successes of {before.trials[k]:,} trials, and "
                f"has {now.successes[k]:,} of {now.trials[k]:,} now; totals can only grow. Start a new search"
            )
        return now


def named_pair(names: Sequence[str], columns: Columns | None, source: str) -> dict[str, str] | None:
    """Which columns of a table hold totals, by our names for them; None if it is a table of something else."""
    told = {name: (columns or {})[name] for name in NEEDED[1:] if name in (columns or {})}
    if len(told) == 2:
        return told
    value = (columns or {}).get("value", "value").strip().lower()
    found = [pair for pair in PAIRS if set(pair) <= set(names)]
    if told:
        found = [pair for pair in found if all(pair[NEEDED.index(name) - 1] == told[name] for name in told)]
        if len(found) != 1:
            other = next(name for name in NEEDED[1:] if name not in told)
            raise SourceError(f"{source}: which column holds the {other}? Name it with --{other}-column ({_COLUMNS})")
    if not found or (value in names and not told):
        return None
    if len(found) > 1:
        shown = " or ".join(f"{won} of {trials}" for won, trials in found)
        raise SourceError(
            f"{source} has {shown}; name the columns that count with --successes-column and --trials-column ({_COLUMNS})"
        )
    return dict(zip(NEEDED[1:], found[0], strict=True))


_COLUMNS = "columns={'successes': …, 'trials': …} in Python"


def totals_in(file: Rows, columns: Columns | None, *, add: bool = False) -> Totals | None:
    """Totals from an open file or a data frame, one row per arm; None if it holds something else.

    What is not a total is refused, naming its line. With `add`, rows of an arm are added up.
    """
    pair = named_pair(file.names, columns, str(file.path))
    if pair is None:
        return None
    mapping = {name: theirs for name, theirs in (columns or {}).items() if name != "value"} | pair
    found, places = dict[Any, tuple[int, int]](), dict[Any, int]()
    for batch in file.batches(NEEDED, (), mapping):
        won, trials = (batch.counts(name) for name in NEEDED[1:])
        batch.check(won <= trials, "successes", "is more than the trials")
        both = won.astype(np.int64).tolist(), trials.astype(np.int64).tolist()
        for row, (label, successes, of) in enumerate(zip(batch.labels("arm"), *both, strict=True)):
            line = places.setdefault(label, batch.lines[row])
            if line != batch.lines[row] and not add:
                raise SourceError(
                    f"{batch.where(row)}: arm {label!r} has a row already, in {batch.unit} {line}. If rows are of different "
                    "trials, such as days, add them up (--sum-rows on the command line); if they are running totals, keep the "
                    "last one"
                )
            before = found.get(label, (0, 0))
            found[label] = before[0] + successes, before[1] + of
    if not found:
        raise SourceError(f"{file.path} holds no totals; it needs a header and a row for each arm ({','.join(NEEDED)})")
    return totals_of(found)


def totals_of(pairs: Mapping[Any, Sequence[int]]) -> Totals:
    """Totals from the successes and trials of each arm."""
    successes, trials = np.array([tuple(pair) for pair in pairs.values()], np.int64).reshape(-1, 2).T
    wrong = (successes < 0) | (successes > trials)
    if wrong.any():
        k = int(wrong.argmax())
        raise SourceError(
            f"arm {list(pairs)[k]!r}: {successes[k]:,} successes of {trials[k]:,} trials; give whole numbers ≥ 0, and not more "
            "successes than trials"
        )
    return Totals(tuple(pairs), successes, trials)
