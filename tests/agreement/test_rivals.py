"""Every rival does what its slow transcription says, and seeded mistakes are seen; tests/kernels compares with plain Python."""

from pathlib import Path

import pytest

from agreement.interpreted_rivals import PUBLISHED, RIVALS, interpreted_rivals
from agreement.rivals_agreement import RULES, WALKS, check, check_settings, check_ties

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


MISTAKES = {  # by module: its text, the mistake, the rival whose transcription disagrees, or the check that fails
    "lab.rivals.optimism": [
        ("log(K1 * n / delta)", "log(K1 / delta)", "kl-lucb"),
        ("log(K1 * n / delta)", "log(K1 * n)", "kl-lucb"),
        ("ALPHA, K1 = 1.1, 405.5", "ALPHA, K1 = 1.1, 405.0", check_settings),
        ("ALPHA, K1 = 1.1, 405.5", "ALPHA, K1 = 1.0, 405.5", "kl-racing"),
        ("return log(1 / delta), 0.0", "return log(2 / delta), 0.0", "kl-lucb-heuristic"),
        ("log(1.25 * len(arms) / delta)", "log(1.25 / delta)", "lucb"),
        ("log(1.25 * len(arms) / delta)", "log(len(arms) / delta)", "lucb"),
        ("(2 + epsilon) / epsilon *", "(1 + epsilon) / epsilon *", "lil-ucb"),
        ("(4 * c), delta / (3 * c * n)", "(4 * c), delta / (3 * c)", check_settings),
        ("stop, delta / (c * n)", "stop, delta / c", "lil-ucb-lucb-stop"),
        ("((2 + beta) / beta) ** 2", "(2 + beta) / beta", "lil-ucb"),
        ("0.5, delta / 5", "0.5, delta", "lil-ucb-heuristic"),
        ("delta / 5, 1 + 10 / n", "delta / 5, 1 + 1 / n", "lil-ucb-heuristic"),
        ("log(2 * (n - 1) / delta)", "log(2 / delta)", "lil-kl-ucb"),
        ("settings = log(2 / delta)", "settings = log(1 / delta)", "lil-kl-ucb"),
        ("log(4 * len(arms) / delta)", "log(4 / delta)", "ugape"),
        ("(budget - n) / 16", "(budget - n) / 4", "ugape-b"),
    ],
    "lab.kernels.divergence": [
        ("return z + libm.log(z)", "return z", "kl-lucb"),
        ("log_inverse + libm.log(1 + libm.log(total))", "log_inverse + libm.log(1 + total)", "kl-racing-heuristic"),
        ("alpha * libm.log(total)", "alpha * libm.log(total) / libm.log(2)", "kl-lucb"),
        ("libm.sqrt(log_inverse / (2 * count))", "libm.sqrt(log_inverse / count)", "ugape"),
        ("libm.log((1 + epsilon) * count)", "libm.log(count)", "lil-ucb-lucb-stop"),
        ("(1 + libm.sqrt(epsilon)) * libm.sqrt(", "libm.sqrt(", "lil-ucb"),
        ("libm.log(1 + libm.log(count) / libm.log(ratio))", "libm.log(1 + libm.log(count))", "lil-kl-ucb"),
        ("7 * log_inverse / (3 * (count - 1))", "0.0", "ugape-v"),
        ("libm.sqrt(2 * variance * log_inverse", "libm.sqrt(variance * log_inverse", "ugape-v"),
        ("p * libm.log(p / q) if p > 0", "q * libm.log(q / p) if p > 0", "kl-lucb"),
        ("return 1 - kl_upper(1 - p, level)", "return p - (kl_upper(p, level) - p)", "kl-racing"),
        ("q < p and kl(p, q) >= level", "q < p and kl(q, p) >= level", "kl-lucb"),
    ],
    "lab.kernels.rivals": [
        ("4 * libm.log(total)", "3 * libm.log(total)", "lucb"),
        ("4 * libm.log(total)", "4 * libm.log(state.counts[0])", "lucb"),
        ("mean + (1 + beta) * divergence", "mean + divergence", "lil-ucb"),
        ("most >= 1 + stop *", "most >= stop *", "lil-ucb-heuristic"),
        ("2 * libm.log(t)) / t", "libm.log(t)) / t", "successive-elimination"),
        ("< 2 * radius", "< radius", "successive-elimination"),
        ("3 * libm.log(state.marks[TOTAL])", "2 * libm.log(state.marks[TOTAL])", "ugape-v"),
        ("max(spread, 0.0) / (count - 1)", "0.0", "ugape-v"),
        ("max(spread, 0.0) / (count - 1)", "max(spread, 0.0) / count", "ugape-v"),
        ("4 * libm.log(4 + libm.log(total / 2.0))", "4 * libm.log(4 + libm.log(total))", "eb-tc-epsilon"),
        (" + state.settings[1]\n        memory", "\n        memory", "eb-tc-epsilon"),
        ("memory[0, leader] / 2", "memory[0, leader]", "eb-tc-epsilon"),
        (
            "(divergence.kl(high, middle) + divergence.kl(low, middle))",
            "divergence.kl(high, middle)",
            "chernoff-racing",
        ),
        ("divergence.kl(high, middle) + div", "divergence.kl(middle, high) + div", "chernoff-racing"),
        ("middle = (high + low) / 2", "middle = low", "chernoff-racing"),
        ("    if beaten", "    if state.counts[best] > 9 and beaten", "chernoff-racing"),
        ("memory[0, guess] >= state.memory[0, rival]", "memory[0, guess] <= state.memory[0, rival]", "ugape"),
        ("(next_top if arm == first else top)", "top", "ugape"),
        ("if gap <= state.memory[1, 0]", "if True", "ugape-b"),
        ("total == 0 or (kind == 1 and total == n)", "total == 0", "ugape-v"),
        ("if state.memory[CHOSEN, arm] > 0:\n            continue\n        mean", "mean", "kl-lucb"),
        ("if lower < least:", "if lower > least or weakest < 0:", "kl-lucb"),
        ("if chosen and mean - radius < lower:", "if chosen:", "lucb"),
        ("upper - state.settings[2]", "upper + state.settings[2]", "kl-lucb"),
        ("top - lower <= state.settings[1]", "top - lower <= 2 * state.settings[1]", "lucb"),
        ("mean + radius > top", "(challenger < 0 or mean + radius < top)", "lucb"),
        ("state.sums[arm] <= state.sums[worst]", "state.sums[arm] >= state.sums[worst]", "kl-racing"),
        ("(i + 1) / max(gap", "i / max(gap", "ucb-e-adaptive"),
        ("for i in range(n - phase, n)", "for i in range(1, n)", "ucb-e-adaptive"),
    ],
    "lab.kernels.constants": [
        ("VARIANCE = 0.25", "VARIANCE = 1.0", "lil-ucb"),
        ("EPOCH_POWER = 1.2, 1.25", "EPOCH_POWER = 1.1, 1.25", "lil-kl-ucb"),
        ("TRUNCATION = 0.5", "TRUNCATION = 0.9", "betting-racing"),
        ("VARIANCE = 0.25", "VARIANCE = 1.0", "eb-tc-epsilon"),
    ],
    "lab.rivals.racing": [
        ("log(c * len(arms) / delta)", "log(c / delta)", "successive-elimination"),
        ("c: float = 5.0", "c: float = 4.0", "successive-elimination"),
        ("log(len(arms) / delta)", "log(1 / delta)", "betting-racing"),
        ("log(1 / delta), len(arms) / delta", "log(1 / delta), 1 / delta", "peak"),
    ],
    "lab.rivals.tracking": [
        ("log(2 * (len(arms) - 1) / delta)", "log(2 / delta)", "track-and-stop"),
        ("log(2 * (len(arms) - 1) / delta)", "log((len(arms) - 1) / delta)", "track-and-stop"),
        ("log((len(arms) - 1) / delta) + 2", "log((len(arms) - 1) / delta)", "top-two"),
        ("log((len(arms) - 1) / delta) + 2", "log(1 / delta) + 2", "top-two"),
        ("log(1 / delta) if heuristic else log((", "log(1 / delta) + 2 if heuristic else log((", "top-two-heuristic"),
        ("information_directed=True, heuristic=True", "heuristic=True", "top-two-ids-heuristic"),
        ("0.5 * log((len(arms) - 1) / delta)", "0.5 * log(1 / delta)", "eb-tc-epsilon"),
    ],
    "lab.kernels.tracking": [
        ("else libm.log(total)", "else libm.log(1 + libm.log(total))", "track-and-stop"),
        ("- common > threshold", "- common > threshold / 2", "track-and-stop"),
        ("own + other - common", "own - common", "track-and-stop"),
        ("libm.sqrt(total) - n / 2.0", "-1.0", "track-and-stop"),
        ("libm.sqrt(total) - n / 2.0", "libm.sqrt(total) - n", "track-and-stop"),
        ("ahead = total * state.memory[0, arm] - state.counts[arm]", "ahead = state.memory[0, arm]", "track-and-stop"),
        ("move = (1 - total - pull) / slope", "move = (2 - total - pull) / slope", "track-and-stop"),
    ],
    "lab.kernels.top_two": [
        ("2 * libm.log(1 + total / 2.0)", "libm.log(1 + total / 2.0)", "top-two"),
        ("libm.log(1 + libm.log(total)) if", "libm.log(1 + total) if", "top-two-heuristic"),
        ("if slope > 0:", "if slope < 0:", "top-two"),
        ("+ direct(memory, low, u)[0] - slack", "- slack", "top-two"),
        ("entropies - total * libm.log(u)", "entropies - state.sums[high] * libm.log(u)", "top-two"),
        ("memory[0, arm] + memory[1, arm]", "memory[0, arm]", "top-two"),
        ("if state.settings[1] else 0.5", "if state.settings[1] else 0.8", "top-two"),
        ("leader_share(state, leader, challenger)", "0.5", "top-two-ids"),
        ("or state.marks[ASKED] > 1 or state.pick[0] == leader", "", "top-two"),
        ("memory[weights + at, arm] += 1\n", "memory[weights + at, arm] += 2\n", "top-two"),
    ],
    "lab.kernels.capital": [
        ("variance * t * libm.log(1 + t)", "variance * t", "betting-racing"),
        ("(0.25 + state.memory[0, arm]) / t", "0.25", "betting-racing"),
        ("libm.log(1 - down", "libm.log(1 - up", "betting-racing"),
        ("min(0.5 * (libm.exp", "min(1.0 * (libm.exp", "peak"),
        ("least = min(least, memory[cells + g, arm])", "least = memory[cells + g, arm]", "peak"),
        ("capital < weakest", "capital > -weakest", "peak"),
    ],
    "lab.kernels.rules": [
        ("for rank in range(2, m + 1):", "for rank in range(2, m):", "lucb"),
        ("state.counts[arm] += 1", "state.counts[arm] += 1 + (arm == 1)", "lucb"),
        ("state.sums[arm] += reward", "state.sums[arm] += reward > 0", "lucb"),
        ("state.squares[arm] += reward * reward", "state.squares[arm] += reward", "ugape-v"),
        ("state.marks[TOTAL] += asked", "state.marks[TOTAL] += 1", "lucb"),
        ("if mean > top:", "if mean >= top:", check_ties),
    ],
    "lab.rivals.elimination": [
        ("epsilon / 4, delta / 2", "epsilon / 4, delta", "median-elimination"),
        ("epsilon / 4, delta / 2", "epsilon / 2, delta / 2", "median-elimination"),
        ("log(3 / delta_l)", "log(1 / delta_l)", "median-elimination"),
        ("3 * epsilon_l / 4, delta_l / 2", "epsilon_l / 2, delta_l / 2", "median-elimination"),
        ("0.5**r / 4", "0.5**r", "exponential-gap-elimination"),
        ("50 * r**3", "50 * r**2", "exponential-gap-elimination"),
        ("epsilon_r / 2, delta_r, rng", "epsilon_r, delta_r, rng", "exponential-gap-elimination"),
        ("== reference] - epsilon_r", "== guess] - epsilon_r / 8", "exponential-gap-elimination"),
        ("delta_r, 0.4, 0.1", "delta_r, 0.6, 0.1", "distribution-based-elimination"),
        ("delta_r, 0.075, 0.025", "delta_r, 0.075, 0.05", "distribution-based-elimination"),
        ("delta / (10 * 2**r)", "delta / 10", "distribution-based-elimination"),
        ("(3 / slack) ** 2 / 2", "(3 / slack) ** 2", "distribution-based-elimination"),
    ],
    "lab.rivals.shared": [
        ("-means))[:keep]", "means))[:keep]", "median-elimination"),
        ("0.5 + sum(1 / i for", "sum(1 / i for", "successive-rejects"),
        ("(log_bar * (n + 1 - k))", "(log_bar * (n + 2 - k))", "successive-rejects"),
    ],
    "lab.rivals.gap_entropy": [
        ("j: int = 16", "j: int = 15", "gap-entropy-elimination"),
        ("c: float = 1.0", "c: float = 2.0", "gap-entropy-elimination"),
        ("min(delta, 0.01)", "delta", "gap-entropy-elimination"),
        ("b, rho = 100.0**t, eta**2", "b, rho = 100.0**t, eta", "gap-entropy-elimination"),
        ("50 * t**2 * r**2", "50 * t**2", "gap-entropy-elimination"),
        ("2 * log(2 / alpha) / epsilon**2", "log(2 / alpha) / epsilon**2", "gap-entropy-elimination"),
        ("0.01 / 2**k / 3", "0.01 / 2**k", "gap-entropy-elimination"),
        ("mean - 9 * epsilon / 8", "mean - epsilon", "gap-entropy-elimination"),
        ("mean - 5 * epsilon / 8", "mean - epsilon / 2", "gap-entropy-elimination"),
        ("4 * w * rho / b", "4 * w * eta / b", "gap-entropy-elimination"),
        ("ceil(36 / d**2", "ceil(18 / d**2", "gap-entropy-elimination"),
        ("means >= middle + epsilon / 4", "means >= middle", "gap-entropy-elimination"),
        ("middle, (0.05, 0.1)", "middle, (0.05, 0.5)", "gap-entropy-elimination"),
        ("accuracy, alpha / n, leader", "accuracy, alpha, leader", "gap-entropy-elimination"),
    ],
    "lab.rivals.budgets": [
        ("(len(left) * rounds)", "(len(arms) * rounds)", "sequential-halving"),
        ("(len(arms) - 1).bit_length()", "len(arms).bit_length() - 1", "sequential-halving"),
        ("sums[left] += (times - done) * means", "sums[left] = means", "successive-rejects"),
        ("25 / 36 * (budget", "36 / 25 * (budget", "ucb-e"),
    ],
}


@pytest.mark.parametrize("check_all", [check_settings, check_ties])
def test_what_few_decisions_depend_on(check_all) -> None:
    check_all(RIVALS)


@pytest.mark.parametrize(
    ("module", "right", "wrong", "seen_by"), [(module, *one) for module, found in MISTAKES.items() for one in found]
)
def test_a_mistake_is_seen(module: str, right: str, wrong: str, seen_by) -> None:
    entries = interpreted_rivals(f"surest.{module}", right, wrong)
    with pytest.raises((AssertionError, ValueError, ZeroDivisionError, OverflowError)):
        seen_by(entries) if callable(seen_by) else check(seen_by, entries[seen_by])
