"""Every rival does what its slow transcription says, in machine code and in plain Python; and seeded mistakes are seen."""

from functools import cache
from pathlib import Path

import pytest

from agreement.interpreted_rivals import PUBLISHED, RIVALS, interpreted_rivals
from agreement.rivals_agreement import RULES, WALKS, check, check_settings, check_ties, problems, run_once
from surest.algorithms.entry import Entry
from surest.core.procedure import Running

CONTROLS = {"uniform-bonferroni", "peeking-z-test"}
"""No author published these; tests/algorithms has the sample size of one, tests/statistical how often the other errs."""


def test_every_published_rival_has_a_transcription() -> None:
    """In this folder, or in a test file of its own."""
    for name in RIVALS.keys() - CONTROLS - RULES.keys() - WALKS.keys():
        own = Path(__file__).parents[1] / "algorithms" / f"test_{PUBLISHED[name].rpartition('.')[2]}.py"
        assert own.exists(), f"{name} has no transcription: write one in tests/algorithms/{own.name}"
        assert "def transcription(" in own.read_text(encoding="utf-8"), f"{own.name} has no function transcription"
    assert RULES.keys() | WALKS.keys() <= RIVALS.keys()


SLOW = ("track-and-stop", "top-two", "top-two-ids", "ucb-e-adaptive", "betting-racing", "peak")
CHEAP_FIRST = [*WALKS, *sorted(RULES, key=lambda name: name in SLOW)]
"""So that a disagreement shows in seconds, with -x at the latest after the cheap ones."""


@pytest.mark.parametrize("name", CHEAP_FIRST)
def test_a_rival_does_what_its_transcription_says(name: str) -> None:
    check(name, RIVALS[name])


def requests(done: Running) -> list[tuple[list[int], list[int]]]:
    return [(request.arms.tolist(), request.times.tolist()) for request, _ in done.transcript]


@cache
def plain_rivals() -> dict[str, Entry]:
    return interpreted_rivals()


@pytest.mark.parametrize("name", [name for name in CHEAP_FIRST if name in RULES])
def test_machine_code_does_what_its_source_says(name: str) -> None:
    assert plain_rivals()[name] is not RIVALS[name]
    for seed, (arms, kwargs) in enumerate(problems(name)):
        fast, slow = (run_once(entries[name], arms, 0.3, seed, **kwargs) for entries in (RIVALS, plain_rivals()))
        assert requests(fast) == requests(slow), name
        assert fast.value == slow.value


MISTAKES = [  # module, its text, the mistake, the rival whose transcription disagrees, or the check that fails
    # Exploration rates and thresholds.
    ("published.exploration", "log(K1 * n / delta)", "log(K1 / delta)", "kl-lucb"),  # no union over arms
    ("published.exploration", "log(K1 * n / delta)", "log(K1 * n)", "kl-lucb"),
    ("published.exploration", "ALPHA, K1 = 1.1, 405.5", "ALPHA, K1 = 1.1, 405.0", check_settings),
    ("published.exploration", "ALPHA, K1 = 1.1, 405.5", "ALPHA, K1 = 1.0, 405.5", "kl-racing"),
    ("published.exploration", "log(1 / delta), POWER", "log(2 / delta), POWER", "kl-lucb-heuristic"),
    ("evidence.intervals", "return z + log(z)", "return z", "kl-lucb"),
    ("evidence.intervals", "log_inverse + log(1 + log(total))", "log_inverse + log(1 + total)", "kl-racing-heuristic"),
    ("evidence.intervals", "alpha * log(total)", "alpha * log(total) / log(2)", "kl-lucb"),
    ("published.lucb", "log(1.25 * len(arms) / delta)", "log(1.25 / delta)", "lucb"),
    ("published.lucb", "log(1.25 * len(arms) / delta)", "log(len(arms) / delta)", "lucb"),
    ("published.lucb", "4 * log(total)", "3 * log(total)", "lucb"),
    ("published.lucb", "4 * log(total)", "4 * log(state.counts[0])", "lucb"),
    ("evidence.intervals", "sqrt(log_inverse / (2 * count))", "sqrt(log_inverse / count)", "ugape"),
    ("evidence.intervals", "VARIANCE = 0.25", "VARIANCE = 1.0", "lil-ucb"),
    ("evidence.intervals", "log((1 + epsilon) * count)", "log(count)", "lil-ucb-lucb-stop"),
    ("evidence.intervals", "(1 + sqrt(epsilon)) * sqrt(", "sqrt(", "lil-ucb"),
    ("evidence.intervals", "(2 + epsilon) / epsilon *", "(1 + epsilon) / epsilon *", "lil-ucb"),
    ("published.lil_ucb", "(4 * c), delta / (3 * c * n)", "(4 * c), delta / (3 * c)", check_settings),
    ("published.lil_ucb", "UNION_LEVEL: delta / (c * n)", "UNION_LEVEL: delta / c", "lil-ucb-lucb-stop"),
    ("published.lil_ucb", "((2 + beta) / beta) ** 2", "(2 + beta) / beta", "lil-ucb"),
    ("published.lil_ucb", "LEVEL: delta / 5", "LEVEL: delta", "lil-ucb-heuristic"),
    ("published.lil_ucb", "STOP: 1 + 10 / n", "STOP: 1 + 1 / n", "lil-ucb-heuristic"),
    ("published.lil_ucb", "mean + (1 + beta) * iterated_log", "mean + iterated_log", "lil-ucb"),
    ("published.lil_ucb", "most >= 1 + stop *", "most >= stop *", "lil-ucb-heuristic"),
    ("published.lil_kl_ucb", "log(2 * (n - 1) / delta)", "log(2 / delta)", "lil-kl-ucb"),
    ("published.lil_kl_ucb", "LOG_UPPER: log(2 / delta)", "LOG_UPPER: log(1 / delta)", "lil-kl-ucb"),
    ("published.lil_kl_ucb", "RATIO, POWER = 1.2, 1.25", "RATIO, POWER = 1.1, 1.25", "lil-kl-ucb"),
    ("evidence.intervals", "log(1 + log(count) / log(ratio))", "log(1 + log(count))", "lil-kl-ucb"),
    ("published.successive_elimination", "log(c * len(arms) / delta)", "log(c / delta)", "successive-elimination"),
    ("published.successive_elimination", "c: float = 5.0", "c: float = 4.0", "successive-elimination"),
    ("published.successive_elimination", "2 * log(t)) / t", "log(t)) / t", "successive-elimination"),
    ("published.successive_elimination", "< 2 * radius", "< radius", "successive-elimination"),
    ("published.ugape", "log(4 * len(arms) / delta)", "log(4 / delta)", "ugape"),
    ("published.ugape", "3 * log(state.marks[TOTAL])", "2 * log(state.marks[TOTAL])", "ugape-v"),
    ("published.ugape", "max(spread, 0.0) / (count - 1)", "0.0", "ugape-v"),  # no variance
    ("published.ugape", "max(spread, 0.0) / (count - 1)", "max(spread, 0.0) / count", "ugape-v"),
    ("evidence.intervals", "7 * log_inverse / (3 * (count - 1))", "0.0", "ugape-v"),
    ("evidence.intervals", "sqrt(2 * variance * log_inverse", "sqrt(variance * log_inverse", "ugape-v"),
    ("published.ugape", "(budget - n) / 16", "(budget - n) / 4", "ugape-b"),
    ("published.track_and_stop", "log(2 * (len(arms) - 1) / delta)", "log(2 / delta)", "track-and-stop"),
    ("published.track_and_stop", "log(2 * (len(arms) - 1) / delta)", "log((len(arms) - 1) / delta)", "track-and-stop"),
    ("published.track_and_stop", "else log(total)", "else log(1 + log(total))", "track-and-stop"),
    ("published.top_two", "log((len(arms) - 1) / delta) + 2", "log((len(arms) - 1) / delta)", "top-two"),
    ("published.top_two", "log((len(arms) - 1) / delta)", "log(1 / delta)", "top-two"),
    ("published.top_two", "2 * log(1 + total / 2)", "log(1 + total / 2)", "top-two"),
    ("published.top_two", "log(1 + log(total)) if", "log(1 + total) if", "top-two-heuristic"),
    ("published.top_two", "log(1 / delta) if heuristic", "log(1 / delta) + 2 if heuristic", "top-two-heuristic"),
    ("published.top_two", "information_directed=True, heuristic=True", "heuristic=True", "top-two-ids-heuristic"),
    ("published.betting_racing", "log(len(arms) / delta)", "log(1 / delta)", "betting-racing"),
    ("published.capital", "variance * t * log(1 + t)", "variance * t", "betting-racing"),
    ("published.capital", "(0.25 + state.memory[SPREAD, arm]) / t", "0.25", "betting-racing"),
    ("published.capital", "TRUNCATION = 0.5", "TRUNCATION = 0.9", "betting-racing"),
    ("published.capital", "log(1 - down", "log(1 - up", "betting-racing"),
    ("published.peak", "NEEDED: len(arms) / delta", "NEEDED: 1 / delta", "peak"),
    ("published.peak", "min(0.5 * (exp", "min(1.0 * (exp", "peak"),
    ("published.peak", "least = min(least, memory[CELLS + g, arm])", "least = memory[CELLS + g, arm]", "peak"),
    ("published.peak", "capital < weakest", "capital > -weakest", "peak"),
    ("published.eb_tc_epsilon", "log((len(arms) - 1) / delta)", "log(1 / delta)", "eb-tc-epsilon"),
    ("published.eb_tc_epsilon", "4 * log(4 + log(total / 2))", "4 * log(4 + log(total))", "eb-tc-epsilon"),
    ("published.eb_tc_epsilon", "VARIANCE = 0.25", "VARIANCE = 1.0", "eb-tc-epsilon"),
    ("published.eb_tc_epsilon", "+ state.settings[EPSILON]", "", "eb-tc-epsilon"),
    ("published.eb_tc_epsilon", "state.memory[LED, leader] / 2", "state.memory[LED, leader]", "eb-tc-epsilon"),
    # What is compared, and with what.
    ("evidence.kernels", "p * log(p / q) if p > 0", "q * log(q / p) if p > 0", "kl-lucb"),
    ("evidence.kernels", "return 1 - kl_upper(1 - p, level)", "return p - (kl_upper(p, level) - p)", "kl-racing"),
    ("evidence.kernels", "q < p and kl(p, q) >= level", "q < p and kl(q, p) >= level", "kl-lucb"),
    ("published.kl_racing", "kl(high, middle) + kl(low, middle)", "kl(high, middle)", "chernoff-racing"),
    (
        "published.kl_racing",
        "kl(high, middle) + kl(low, middle)",
        "kl(middle, high) + kl(middle, low)",
        "chernoff-racing",
    ),
    ("published.kl_racing", "middle = (high + low) / 2", "middle = low", "chernoff-racing"),
    ("published.kl_racing", "    if _beaten", "    if state.counts[best] > 9 and _beaten", "chernoff-racing"),
    ("published.track_and_stop", "- common > threshold", "- common > threshold / 2", "track-and-stop"),
    ("published.track_and_stop", "+ counts[arm] * entropy[arm] - common", "- common", "track-and-stop"),
    ("published.transport", "if slope > 0:", "if slope < 0:", "top-two"),
    ("published.transport", "+ _direct(memory, base, low, u)[0] - slack", "- slack", "top-two"),
    ("published.transport", "entropies - total * log(u)", "entropies - state.sums[high] * log(u)", "top-two"),
    # Who is pulled.
    ("published.track_and_stop", "sqrt(total) - n / 2", "-1.0", "track-and-stop"),  # nothing is forced
    ("published.track_and_stop", "sqrt(total) - n / 2", "sqrt(total) - n", "track-and-stop"),
    ("published.track_and_stop", "total * weights[arm] - state.counts[arm] >", "weights[arm] >", "track-and-stop"),
    (
        "published.optimal_weights",
        "move = (1 - total - pull) / slope",
        "move = (2 - total - pull) / slope",
        "track-and-stop",
    ),
    ("published.top_two", "cost[arm] + log_count[arm]", "cost[arm]", "top-two"),
    ("published.top_two", "if state.settings[DIRECTED] else 0.5", "if state.settings[DIRECTED] else 0.8", "top-two"),
    ("published.top_two", "leader_share(state, BASE, leader, challenger)", "0.5", "top-two-ids"),
    ("published.top_two", "or state.marks[ASKED] > 1 or state.pick[0] == leader", "", "top-two"),  # costs out of date
    ("published.ugape", "radius[guess] >= radius[rival]", "radius[guess] <= radius[rival]", "ugape"),
    ("published.gap_index", "(next_top if arm == first else top)", "top", "ugape"),
    ("published.ugape", "if gap <= state.memory[SMALLEST, 0]", "if True", "ugape-b"),  # the last guess, not the surest
    ("published.ugape", "total == 0 or (kind == BERNSTEIN and total == n)", "total == 0", "ugape-v"),
    ("published.kl_lucb", "if state.memory[CHOSEN, arm] > 0:\n            continue\n        mean", "mean", "kl-lucb"),
    (
        "published.kl_lucb",
        "if lower < least:",
        "if lower > least or weakest < 0:",
        "kl-lucb",
    ),  # of the m best the surest
    ("published.lucb", "if chosen and mean - radius < lower:", "if chosen:", "lucb"),
    ("algorithms.stepwise", "for rank in range(2, m + 1):", "for rank in range(2, m):", "lucb"),
    ("published.kl_lucb", "upper - state.settings[EPSILON]", "upper + state.settings[EPSILON]", "kl-lucb"),
    ("published.lucb", "top - lower <= state.settings[EPSILON]", "top - lower <= 2 * state.settings[EPSILON]", "lucb"),
    ("published.lucb", "mean + radius > top", "(challenger < 0 or mean + radius < top)", "lucb"),
    (
        "published.kl_racing",
        "state.sums[arm] <= state.sums[worst]",
        "state.sums[arm] >= state.sums[worst]",
        "kl-racing",
    ),
    # Counting.
    ("algorithms.stepwise", "state.counts[arm] += 1", "state.counts[arm] += 1 + (arm == 1)", "lucb"),  # one arm's twice
    ("algorithms.stepwise", "state.sums[arm] += reward", "state.sums[arm] += reward > 0", "lucb"),
    ("algorithms.stepwise", "state.squares[arm] += reward * reward", "state.squares[arm] += reward", "ugape-v"),
    ("algorithms.stepwise", "state.marks[TOTAL] += asked", "state.marks[TOTAL] += 1", "lucb"),
    ("algorithms.stepwise", "if mean > top:", "if mean >= top:", check_ties),  # of several leaders always the last
    ("published.transport", "weights[at] += 1\n", "weights[at] += 2\n", "top-two"),
    # Eliminations and budgets.
    ("published.median_elimination", "epsilon / 4, delta / 2", "epsilon / 4, delta", "median-elimination"),
    ("published.median_elimination", "epsilon / 4, delta / 2", "epsilon / 2, delta / 2", "median-elimination"),
    ("published.median_elimination", "log(3 / delta_l)", "log(1 / delta_l)", "median-elimination"),
    (
        "published.median_elimination",
        "3 * epsilon_l / 4, delta_l / 2",
        "epsilon_l / 2, delta_l / 2",
        "median-elimination",
    ),
    ("published.shared", "-means))[:keep]", "means))[:keep]", "median-elimination"),
    ("published.exponential_gap", "0.5**r / 4", "0.5**r", "exponential-gap-elimination"),
    ("published.exponential_gap", "50 * r**3", "50 * r**2", "exponential-gap-elimination"),
    (
        "published.exponential_gap",
        "epsilon_r / 2, delta_r, rng",
        "epsilon_r, delta_r, rng",
        "exponential-gap-elimination",
    ),
    (
        "published.exponential_gap",
        "== reference] - epsilon_r",
        "== guess] - epsilon_r / 8",
        "exponential-gap-elimination",
    ),
    ("published.distribution_based", "delta_r, 0.4, 0.1", "delta_r, 0.6, 0.1", "distribution-based-elimination"),
    ("published.distribution_based", "delta_r, 0.075, 0.025", "delta_r, 0.075, 0.05", "distribution-based-elimination"),
    ("published.distribution_based", "delta / (10 * 2**r)", "delta / 10", "distribution-based-elimination"),
    ("published.distribution_based", "(3 / slack) ** 2 / 2", "(3 / slack) ** 2", "distribution-based-elimination"),
    ("published.gap_entropy", "j: int = 16", "j: int = 15", "gap-entropy-elimination"),
    ("published.gap_entropy", "c: float = 1.0", "c: float = 2.0", "gap-entropy-elimination"),
    ("published.gap_entropy", "min(delta, 0.01)", "delta", "gap-entropy-elimination"),
    ("published.gap_entropy", "b, rho = 100.0**t, eta**2", "b, rho = 100.0**t, eta", "gap-entropy-elimination"),
    ("published.gap_entropy", "50 * t**2 * r**2", "50 * t**2", "gap-entropy-elimination"),
    (
        "published.gap_entropy",
        "2 * log(2 / alpha) / epsilon**2",
        "log(2 / alpha) / epsilon**2",
        "gap-entropy-elimination",
    ),
    ("published.gap_entropy", "0.01 / 2**k / 3", "0.01 / 2**k", "gap-entropy-elimination"),
    ("published.gap_entropy", "mean - 9 * epsilon / 8", "mean - epsilon", "gap-entropy-elimination"),
    ("published.gap_entropy", "mean - 5 * epsilon / 8", "mean - epsilon / 2", "gap-entropy-elimination"),
    ("published.gap_entropy", "4 * w * rho / b", "4 * w * eta / b", "gap-entropy-elimination"),
    ("published.gap_entropy", "ceil(36 / d**2", "ceil(18 / d**2", "gap-entropy-elimination"),
    ("published.gap_entropy", "means >= middle + epsilon / 4", "means >= middle", "gap-entropy-elimination"),
    ("published.gap_entropy", "middle, (0.05, 0.1)", "middle, (0.05, 0.5)", "gap-entropy-elimination"),
    ("published.gap_entropy", "accuracy, alpha / n, leader", "accuracy, alpha, leader", "gap-entropy-elimination"),
    ("published.sequential_halving", "(len(left) * rounds)", "(len(arms) * rounds)", "sequential-halving"),
    (
        "published.sequential_halving",
        "(len(arms) - 1).bit_length()",
        "len(arms).bit_length() - 1",
        "sequential-halving",
    ),
    ("published.shared", "0.5 + sum(1 / i for", "sum(1 / i for", "successive-rejects"),
    ("published.shared", "(log_bar * (n + 1 - k))", "(log_bar * (n + 2 - k))", "successive-rejects"),
    (
        "published.successive_rejects",
        "sums[left] += (times - done) * means",
        "sums[left] = means",
        "successive-rejects",
    ),
    ("published.ucb_e", "25 / 36 * (budget", "36 / 25 * (budget", "ucb-e"),
    ("published.ucb_e", "(i + 1) / max(gap", "i / max(gap", "ucb-e-adaptive"),
    ("published.ucb_e", "for i in range(n - phase, n)", "for i in range(1, n)", "ucb-e-adaptive"),
]


@pytest.mark.parametrize("check_all", [check_settings, check_ties])
def test_what_few_decisions_depend_on(check_all) -> None:
    check_all(RIVALS)


@pytest.mark.parametrize(("module", "right", "wrong", "seen_by"), MISTAKES)
def test_a_mistake_is_seen(module: str, right: str, wrong: str, seen_by) -> None:
    folder = "surest.algorithms" if module.startswith("published.") else "surest"
    entries = interpreted_rivals(f"{folder}.{module}", right, wrong)
    with pytest.raises((AssertionError, ValueError, ZeroDivisionError, OverflowError)):
        seen_by(entries) if callable(seen_by) else check(seen_by, entries[seen_by])
