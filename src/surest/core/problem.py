"""Everything that a user asks of a search, said once: `Problem`.

The command line parses into it, a study stores it, a result carries it, a report prints it. A new setting is a field here with
its description, the place that heeds it, and a line of documentation: options of the command line, keywords of Python
functions, what a study stores and what a report prints follow from the field.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from inspect import Parameter, signature
from numbers import Integral, Real
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import msgspec
import numpy as np

from surest.core.costs import Spent, checked_prices, prices_of
from surest.core.duels import DUELS, with_pairs
from surest.core.protocol import FloatArray, checked_delta
from surest.core.question import ERRORS, Question
from surest.core.scale import Scale, checked_scale
from surest.errors import RewardError, UsageError
from surest.text import is_one_line, some

DEFAULT_ALGORITHM = "wager"
ALGORITHMS = {
    "best": (DEFAULT_ALGORITHM, "race"),
    "top": ("wager-top", "race-top"),
    "above": ("wager-above", "race-above"),
    "control": ("wager-control", "race-control"),
    "cheapest": ("wager-cheapest", "race-cheapest"),
}
"""What is used for each question where nothing else is said: for fresh pulls, and on a list of items."""
TARGETS = ("items", "population")
SPREAD_TOLERANCE = 1e-9
"""By how much of the spread two scores may differ beyond it: 0.4 − 0.3 is more than 0.1 in doubles."""
F = TypeVar("F", bound=Callable[..., Any])


def _said(text: str, metavar: str = "", **more: Any) -> msgspec.Meta:
    """What a setting means, how its value is written on a command line, and more of it.

    ``only="items"`` says where alone it is heeded, ``least=0`` and ``above=0`` what a number may be, and ``small=True`` that it
    must be smaller than the range of the rewards.
    """
    return msgspec.Meta(description=text, extra={"metavar": metavar, **more})


class Problem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=False):
    """What a user asks: which arms, which question, how sure, how close, at what cost, in which units, by which algorithm.

    >>> problem = problem_of(["a", "b"], delta=0.1, bounds=(0, 60), minimise=True, batch=8)
    >>> problem.scale.worst, problem.options
    (60.0, {'batch': 8})
    """

    labels: tuple[Any, ...] = ()
    delta: Annotated[float, _said("The allowed probability of a wrong answer.", "P")] = 0.05
    epsilon: Annotated[
        float, _said("How far from the best an answer may be; 0 asks for the best itself.", "E", least=0)
    ] = 0.0
    top: Annotated[int | None, _said("Ask for the M best arms, as a set.", "M", least=1)] = None
    above: Annotated[float | None, _said("Ask of each arm whether its mean lies above X.", "X")] = None
    control: Annotated[Any, _said("Ask of each arm whether it beats this one.", "ARM")] = None
    margin: Annotated[float, _said(
        "With a control: a lead that does not matter. 'Not better' says that the lead is no larger.", "D", least=0, small=True,
    )] = 0.0  # fmt: skip
    cheapest: Annotated[
        float | None, _said("Ask for the cheapest arm within E of the best; needs cost.", "E", least=0, small=True)
    ] = None
    slack: Annotated[float, _said(
        "With cheapest: an arm up to S further from the best may count as either, which saves evaluations.",
        "S", least=0, small=True,
    )] = 0.0  # fmt: skip
    error: Annotated[str, _said(
        "With a bar: what delta limits, the chance of any wrong verdict (fwer) or the expected share of wrong ones among "
        "the arms declared above (fdr).", "KIND",
    )] = "fwer"  # fmt: skip
    budget: Annotated[int | None, _said("Maximum number of evaluations, such as 1e6.", "N", least=0)] = None
    cost: Annotated[
        dict[str, float] | float | None,
        _said("What an evaluation costs: a number, or ARM=NUMBER for each arm.", "ARM=COST..."),
    ] = None
    budget_cost: Annotated[float | None, _said("Maximum cost, in the unit of the costs.", "C", least=0)] = None
    cost_unit: Annotated[str, _said("What costs are counted in: $, tokens, s.", "UNIT")] = ""
    estimate: Annotated[
        int | None, _said("Estimate the winner's mean on K further evaluations, after the verdict.", "K", least=1)
    ] = None
    algorithm: Annotated[Any, _said("A name from 'surest algorithms', or file.py:function.", "NAME")] = (
        DEFAULT_ALGORITHM
    )
    bounds: Annotated[tuple[float, float], _said("The lowest and the highest possible reward.", "LO,HI")] = (0.0, 1.0)
    minimise: Annotated[bool, _said("Small numbers are good: times, costs, losses.")] = False
    seed: Annotated[int, _said("Seed of random choices: makes a run repeatable.", "S")] = 0
    target: Annotated[str, _said(
        "On a list of items: 'items', the list itself, or 'population', what it is a sample of.", "WHAT", only="items",
    )] = "items"  # fmt: skip
    repeats: Annotated[
        int, _said("On a list of items: evaluations per cell, whose mean counts.", "R", least=1, only="items")
    ] = 1
    spread: Annotated[float | None, _said(
        "On a list of items: maximum difference of two arms on any item, including unseen ones.", "D", above=0, only="items",
    )] = None  # fmt: skip
    note: Annotated[str, _said("What this search is for: kept with it, and printed in reports.", "TEXT")] = ""
    options: dict[str, Any] = {}  # the algorithm's own; msgspec copies it
    items: int | None = None
    """How many items the arms are compared on; None where every evaluation is a fresh draw."""

    @property
    def scale(self) -> Scale:
        """The user's units."""
        return Scale(*self.bounds, self.minimise)

    @property
    def prices(self) -> FloatArray | None:
        """What an evaluation of each arm costs, as far as that is known beforehand."""
        return prices_of(self.cost, self.labels)

    @property
    def unit_spread(self) -> float:
        """The most by which two arms can differ on an item, on [0, 1]."""
        return 1.0 if self.spread is None else min(self.spread / self.scale.width, 1.0)

    def spending(self, *, told: bool) -> Spent:
        """What keeps the books of costs, where any are stated or told; not `told` where a run itself adds what it counts."""
        prices = None if self.cost is None else self.prices
        return Spent(len(self.labels), prices, budget=self.budget_cost, unit=self.cost_unit, told=told)

    @property
    def question(self) -> Question:
        """What is asked, on [0, 1]."""
        if self.top is not None:
            return Question("top", top=self.top)
        if self.above is not None:
            error = next(e for e in ERRORS if e == self.error)
            return Question("above", bar=self.scale.to_unit(self.above), error=error)
        if self.control is not None:
            texts = [str(label) for label in self.labels]
            if str(self.control) not in texts:
                arms = some(f"{text!r:.60}" for text in texts)
                raise UsageError(f"control is {self.control!r:.60}; give the label of one of the arms: {arms}")
            place = texts.index(str(self.control))
            return Question("control", control=place, margin=self.margin / self.scale.width)
        known = None if self.cost is None or not self.labels else self.prices
        prices = () if known is None else tuple(known.tolist())
        if self.cheapest is not None:
            width = self.scale.width
            return Question("cheapest", within=self.cheapest / width, slack=self.slack / width, prices=prices)
        return Question(prices=prices if isinstance(self.cost, dict) else ())


SETTINGS: dict[str, msgspec.Meta] = {
    name: get_args(hint)[1]
    for name, hint in get_type_hints(Problem, include_extras=True).items()
    if hasattr(hint, "__metadata__")
}
"""The settings that a user gives by name, each with its description, in order."""
DEFAULTS: dict[str, Any] = {
    field.name: field.default for field in msgspec.structs.fields(Problem) if field.name in SETTINGS
}
PLAIN_KINDS: dict[str, type] = {
    name: kind
    for name, hint in get_type_hints(Problem).items()
    for kind in (float, int, str)
    if name in SETTINGS and name != "delta" and hint in (kind, kind | None)
}
"""Settings that are a number or a text, and which."""
ITEMS_ONLY = tuple(name for name, meta in SETTINGS.items() if (meta.extra or {}).get("only") == "items")
OTHER_NAMES = {
    "minimize": "minimise", "eps": "epsilon", "alpha": "delta", "confidence": "delta", "random_state": "seed",
    "n_jobs": "executor and in_flight of identify", "workers": "executor and in_flight of identify", "max_pulls": "budget",
    "range": "bounds", "method": "algorithm", "callback": "on_request of identify", "n_trials": "budget",
    "k": "top", "baseline": "control", "threshold": "above",
    "vectorized": "vectorised", "verbose": "on_request of identify",
    "clip": "min(max(reward, low), high) in the arm's own function",
}  # fmt: skip
"""What other libraries call these things."""


def problem_of(arms: int | Sequence[Any], /, **given: Any) -> Problem:
    """A checked problem from labels (or a number of arms) and settings; other names are the algorithm's own options."""
    if given.get("algorithm") == DUELS:
        arms, given = with_pairs(arms, given)
    own = {name: value for name, value in given.items() if name in SETTINGS and (value is not None or name == "bounds")}
    more = {name: value for name, value in given.items() if name not in SETTINGS and name not in ("options", "items")}
    items = given.get("items")
    if items is not None and (isinstance(items, bool) or not isinstance(items, Integral) or items < 1):
        raise UsageError(f"items is {items!r:.60}; give their number (surest.evaluate takes a list)")
    refuse_unheeded(own, items)
    own.setdefault("algorithm", default_algorithm(given))
    options = {**(given.get("options") or {}), **more}
    return checked(Problem(labels=labels_of(arms), **own, options=options, items=None if items is None else int(items)))


def check_spread(problem: Problem, values: Mapping[Any, float], item: str) -> None:
    """Refuse scores on one item, on [0, 1] and by arm, that are further apart than the spread; rounding is allowed for."""
    if problem.spread is None or len(values) < 2:
        return
    high, low = max(values, key=values.__getitem__), min(values, key=values.__getitem__)
    if values[high] - values[low] > problem.unit_spread * (1 + SPREAD_TOLERANCE):
        names = " and ".join(f"{problem.labels[arm]!r:.60}" for arm in (high, low))
        scores = " and ".join(f"{problem.scale.from_unit(values[arm]):.6g}" for arm in (high, low))
        raise RewardError(
            f"arms {names} scored {scores} on {item}, further apart than spread={problem.spread:g}. "
            "The spread does not hold for these arms, so no conclusion from it does: start a new search with a wider one, "
            "or without"
        )


def refuse_unheeded(given: Mapping[str, Any], items: object) -> None:
    """Refuse settings of lists of items where there is none: they would be ignored."""
    for name in ITEMS_ONLY:
        if items is None and given.get(name, DEFAULTS[name]) != DEFAULTS[name]:
            raise UsageError(f"{name} requires a list of items; leave it out, or use surest.evaluate(arms, items)")


def checked(problem: Problem) -> Problem:
    """The same problem, validated, with numbers as Python's."""
    scale = checked_scale(problem.bounds, problem.minimise)
    found = {name: _checked_setting(name, getattr(problem, name), scale) for name in PLAIN_KINDS}
    if problem.cost is not None:
        found["cost"] = checked_prices(problem.cost, problem.labels)
    problem = msgspec.structs.replace(
        problem,
        **found,
        delta=float(checked_delta(plain(problem.delta))),
        control=None if problem.control is None else str(plain(problem.control)),
        bounds=(scale.low, scale.high),
        minimise=scale.minimise,
        options={name: plain(value) for name, value in problem.options.items()},
    )
    wrong = next(_wrong(problem), None)
    if wrong is not None:
        raise UsageError(wrong)
    return problem


def _checked_setting(name: str, given: Any, scale: Scale) -> Any:
    """A number or a text that is within the limits of its field; None where it is optional, and not given."""
    kind, limits, value = PLAIN_KINDS[name], SETTINGS[name].extra or {}, plain(given)
    if (value is None and DEFAULTS[name] is None) or (kind is str and isinstance(value, str)):
        return value
    wanted = {str: "text", int: "a whole number", float: "a number"}[kind]
    wanted += f" ≥ {limits['least']}" if "least" in limits else f" > {limits['above']}" if "above" in limits else ""
    wanted += ", smaller than the range of the rewards" if "small" in limits else ""
    if kind is str or isinstance(value, bool) or not isinstance(value, Real):
        raise UsageError(f"{name} is {value!r:.60} ({type(given).__name__}); give {wanted}")
    try:
        number = float(value)
    except OverflowError:
        raise UsageError(f"{name} is too large; give {wanted}") from None
    fits = limits.get("least", -math.inf) <= number < (scale.width if "small" in limits else math.inf)
    if not fits or number <= limits.get("above", -math.inf) or (kind is int and number != int(number)):
        raise UsageError(f"{name} is {value!r:.60}; give {wanted}")
    return kind(value)


def _wrong(problem: Problem) -> Iterator[str]:
    """What makes no sense together, whatever the arms are, and what to do about it."""
    asked = [name for name in ("top", "above", "control", "cheapest") if getattr(problem, name) is not None]
    scale, unit = problem.scale, problem.cost_unit
    if len(asked) > 1:
        yield f"{' and '.join(asked)} are mutually exclusive; ask one question at a time"
    if problem.above is not None and not scale.low < problem.above < scale.high:
        bounds = f"between {scale.low:g} and {scale.high:g}"
        yield f"above is {problem.above:g}; the bar must lie inside the bounds, {bounds}"
    if problem.above is not None and problem.minimise:
        yield "minimise does not apply to above; leave it out"
    if problem.margin and problem.control is None:
        yield "margin requires a control: name the arm that others are compared with"
    if problem.slack and problem.cheapest is None:
        yield "slack requires cheapest; leave it out"
    if problem.cheapest is not None and (problem.epsilon or problem.options.keys() & {"group", "weights"}):
        yield (
            "cheapest conflicts with epsilon, group and weights: it sets the distance from the best itself, on equally weighted "
            "items"
        )
    if problem.cheapest is not None and problem.labels and problem.cost is None:
        yield "cheapest needs what an evaluation of each arm costs: cost={arm: number}, --cost ARM=NUMBER"
    if problem.error not in ERRORS or (problem.error != "fwer" and problem.above is None):
        yield f"error is {problem.error!r:.60}; give fwer or, with above, fdr"
    if problem.target not in TARGETS:
        yield f"target is {problem.target!r:.60}; give one of {', '.join(TARGETS)}"
    if problem.spread is not None and problem.spread <= problem.epsilon:
        within = f"every arm is within epsilon={problem.epsilon:g} of the best"
        yield f"spread is {problem.spread}: {within}; give a smaller epsilon"
    if len(unit) > 20 or not unit.isprintable():
        yield f"cost_unit is {unit!r:.60}; give a word, such as $ or tokens"
    if problem.estimate is not None and asked not in ([], ["cheapest"]):
        yield "estimate requires the question for one best arm; leave out top, above and control"


def default_algorithm(settings: Mapping[str, Any]) -> str:
    """The algorithm that is used for a question where none is named."""
    kind = next((kind for kind in ALGORITHMS if settings.get(kind) is not None), "best")
    return ALGORITHMS[kind][settings.get("items") is not None]


def labels_of(arms: int | Sequence[Any]) -> tuple[Any, ...]:
    """Labels from a number of arms or a sequence of distinct labels."""
    if isinstance(arms, Integral) and not isinstance(arms, bool):
        labels: tuple[Any, ...] = tuple(str(i) for i in range(int(arms)))
    elif isinstance(arms, str | bytes) or not isinstance(arms, Sequence | np.ndarray):
        raise UsageError(f"arms are {arms!r:.60}; give their number, at least 1, or a list of their labels")
    else:
        labels = tuple(plain(label) for label in arms)
    if not labels:
        raise UsageError("there are no arms; give at least one")
    texts = [str(label) for label in labels]
    if len(set(texts)) < len(texts):
        twice = next(text for text in texts if texts.count(text) > 1)
        raise UsageError(f"two arms are called {twice!r}; labels must differ")
    for text in texts:
        if not (text.isprintable() or is_one_line(text)):
            raise UsageError(
                f"the label {text!r:.60} has a line break, a tab or a NUL in it; labels are one line of text"
            )
    return labels


def meant_name(name: str, known: Sequence[str]) -> str | None:
    """The name that somebody may have meant: what another library calls it, or one that looks alike."""
    near = [OTHER_NAMES[name]] if name in OTHER_NAMES else get_close_matches(name, known, 1, 0.6)
    return near[0] if near else None


def takes_settings(function: F, algorithm: str = DEFAULT_ALGORITHM) -> F:
    """Show the settings in the signature of a function that takes them as ``**settings``: help and completion see them."""
    shown, hints = signature(function), get_type_hints(Problem)
    more = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[name])
        for name, default in {**DEFAULTS, "algorithm": algorithm}.items()
        if name not in shown.parameters
    ]
    parameters = sorted([*shown.parameters.values(), *more], key=lambda parameter: parameter.kind)
    function.__signature__ = shown.replace(parameters=parameters)  # type: ignore[attr-defined]
    return function


def takes_items_settings(function: F) -> F:
    """`takes_settings` for what works on a list of items, whose usual algorithm is another."""
    return takes_settings(function, ALGORITHMS["best"][True])


def plain(value: Any) -> Any:
    """NumPy's numbers as Python's; anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value
