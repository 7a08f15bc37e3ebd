"""Published algorithms to compare with, one file each, as their authors wrote them; docs/rivals.md says on what they rest."""

from collections.abc import Callable
from typing import Any

from surest.algorithms.entry import Entry, Goal, Problem, Standing
from surest.algorithms.published.controls import peeking_z_test, uniform_bonferroni
from surest.algorithms.published.distribution_based import distribution_based_elimination
from surest.algorithms.published.exponential_gap import exponential_gap_elimination
from surest.algorithms.published.kl_lucb import kl_lucb
from surest.algorithms.published.kl_racing import chernoff_racing, kl_racing
from surest.algorithms.published.lil_kl_ucb import lil_kl_ucb
from surest.algorithms.published.lil_ucb import lil_ucb, lil_ucb_heuristic
from surest.algorithms.published.lucb import lucb
from surest.algorithms.published.median_elimination import median_elimination
from surest.algorithms.published.sequential_halving import sequential_halving
from surest.algorithms.published.successive_elimination import successive_elimination
from surest.algorithms.published.successive_rejects import successive_rejects
from surest.algorithms.published.top_two import top_two
from surest.algorithms.published.track_and_stop import track_and_stop
from surest.algorithms.published.ucb_e import ucb_e, ucb_e_adaptive
from surest.algorithms.published.ugape import ugape, ugape_b
from surest.algorithms.stepwise import Stepwise, run
from surest.core.protocol import Answer, Procedure
from surest.errors import UsageError

EVEN_DAR = "Even-Dar, Mannor, Mansour 2002"
KARNIN = "Karnin, Koren, Somekh 2013"
LIL_UCB = "Jamieson, Malloy, Nowak, Bubeck 2014"
KAUFMANN = "Kaufmann, Kalyanakrishnan 2013"
GARIVIER = "Garivier, Kaufmann 2016"
GABILLON = "Gabillon, Ghavamzadeh, Lazaric 2012"
AUDIBERT = "Audibert, Bubeck 2010"
JOURDAN = "Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022"

Build = Callable[..., Stepwise]


def _pullwise(build: Build, goal: Goal, standing: Standing, reference: str, summary: str) -> Entry:
    """An algorithm that decides pull by pull."""
    return Entry(lambda p, **options: run(build(p, **options)), goal, standing, reference, summary, build)


def _best(rule: Build, **fixed: Any) -> Build:
    return lambda p, **options: rule(p.arms, p.delta, rng=p.rng, **fixed, **options)


def _near(rule: Build, **fixed: Any) -> Build:
    return lambda p, **options: rule(p.arms, p.delta, epsilon=p.epsilon, rng=p.rng, **fixed, **options)


def _spend(rule: Build, **fixed: Any) -> Build:
    return lambda p, **options: rule(p.arms, p.budget, rng=p.rng, **fixed, **options)


def _given(rule: Build, name: str) -> Build:
    """A rule that must be told H1."""

    def build(problem: Problem, *, h1: float | None = None) -> Stepwise:
        if h1 is None:
            raise UsageError(f"{name} must be told how hard the arms are: give h1 = Σ 1/gap², or use {name}-adaptive")
        return rule(problem.arms, problem.budget, rng=problem.rng, h1=h1)

    return build


def _certified(procedure: Procedure[int], reason: str = "certified") -> Procedure[Answer]:
    return Answer((yield from procedure), reason=reason)


def _spent(procedure: Procedure[int]) -> Procedure[Answer]:
    return Answer((yield from procedure), certified=False, reason="fixed budget")


RIVALS: dict[str, Entry] = {
    "successive-elimination": _pullwise(
        _best(successive_elimination),
        "best arm",
        "proven",
        EVEN_DAR,
        "Pulls all arms in turn and drops those that are clearly worse; Hoeffding bounds.",
    ),
    "median-elimination": Entry(
        lambda p: _certified(median_elimination(p.arms, p.epsilon, p.delta, rng=p.rng), "certified ε-optimal"),
        "ε-optimal arm",
        "proven",
        EVEN_DAR,
        "Drops the worse half, more carefully each time; the cost does not depend on the gaps.",
    ),
    "exponential-gap-elimination": Entry(
        lambda p: _certified(exponential_gap_elimination(p.arms, p.delta, rng=p.rng)),
        "best arm",
        "proven",
        KARNIN,
        "Halves the accuracy round by round, around an arm found by median elimination.",
    ),
    "distribution-based-elimination": Entry(
        lambda p: _certified(distribution_based_elimination(p.arms, p.delta, rng=p.rng)),
        "best arm",
        "reconstruction",
        "Chen, Li 2015",
        "Eliminates only when a test finds enough bad arms; constants for theorems.",
    ),
    "lil-ucb": _pullwise(
        _best(lil_ucb),
        "best arm",
        "proven",
        LIL_UCB,
        "Optimism with iterated-logarithm bounds; stops when one arm has nine times the pulls of all others.",
    ),
    "lil-ucb-lucb-stop": _pullwise(
        _best(lil_ucb, lucb_stop=True),
        "best arm",
        "proven",
        LIL_UCB,
        "lil-ucb, stopped when one arm's lower bound reaches the others' upper ones.",
    ),
    "lil-ucb-heuristic": _pullwise(
        _best(lil_ucb_heuristic),
        "best arm",
        "heuristic",
        LIL_UCB,
        "lil-ucb with the constants of its authors' experiments; no proof.",
    ),
    "lucb": _pullwise(
        _near(lucb),
        "either",
        "proven",
        "Kalyanakrishnan, Tewari, Auer, Stone 2012",
        "Pulls the leader and its most optimistic rival; Hoeffding bounds.",
    ),
    "kl-lucb": _pullwise(
        _near(kl_lucb), "either", "proven", KAUFMANN, "LUCB with Chernoff bounds, shorter for means near 0 or 1."
    ),
    "kl-lucb-heuristic": _pullwise(
        _near(kl_lucb, heuristic=True),
        "either",
        "heuristic",
        KAUFMANN,
        "kl-lucb with the rate ln((1 + ln t)/δ) of its authors' experiments; no proof.",
    ),
    "kl-racing": _pullwise(
        _best(kl_racing), "best arm", "proven", KAUFMANN, "Pulls all arms in turn, drops the worst when it is sure."
    ),
    "kl-racing-heuristic": _pullwise(
        _best(kl_racing, heuristic=True),
        "best arm",
        "heuristic",
        KAUFMANN,
        "kl-racing with the rate ln((1 + ln t)/δ) of its authors' experiments; no proof.",
    ),
    "chernoff-racing": _pullwise(
        _best(chernoff_racing),
        "best arm",
        "heuristic",
        GARIVIER,
        "Racing on likelihood ratios with the rate ln((1 + ln t)/δ); no proof.",
    ),
    "ugape": _pullwise(
        _near(ugape), "either", "proven", GABILLON, "Shrinks the gap between the best guess and what could beat it."
    ),
    "ugape-v": _pullwise(
        _near(ugape, variance=True),
        "either",
        "proven",
        GABILLON,
        "ugape with empirical Bernstein bounds: arms of small variance need fewer pulls.",
    ),
    "lil-kl-ucb": _pullwise(
        _near(lil_kl_ucb),
        "either",
        "reconstruction",
        "Tánczos, Nowak, Mankoff 2017",
        "KL-LUCB with iterated-logarithm bounds; constants derived here, not the authors'.",
    ),
    "track-and-stop": _pullwise(
        _best(track_and_stop),
        "best arm",
        "proven",
        GARIVIER,
        "Tracks the optimal proportions of pulls; likelihood-ratio stop.",
    ),
    "track-and-stop-heuristic": _pullwise(
        _best(track_and_stop, heuristic=True),
        "best arm",
        "heuristic",
        GARIVIER,
        "track-and-stop with the threshold ln((1 + ln t)/δ) of its authors' experiments; no proof.",
    ),
    "top-two": _pullwise(
        _best(top_two),
        "best arm",
        "proven",
        JOURDAN,
        "Pulls the leader or its closest challenger, by a fair coin; K_inf.",
    ),
    "top-two-ids": _pullwise(
        _best(top_two, information_directed=True),
        "best arm",
        "proven",
        f"{JOURDAN}; You, Qin, Wang, Yang 2023",
        "top-two with a coin weighted by what either pull would tell.",
    ),
    "successive-rejects": Entry(
        lambda p: _spent(successive_rejects(p.arms, p.budget, rng=p.rng)),
        "fixed budget",
        "proven",
        AUDIBERT,
        "Spends the budget in phases and rejects the worst arm after each.",
    ),
    "sequential-halving": Entry(
        lambda p: _spent(sequential_halving(p.arms, p.budget, rng=p.rng)),
        "fixed budget",
        "proven",
        KARNIN,
        "Spends the budget in log2 n rounds and keeps the better half after each.",
    ),
    "ucb-e": _pullwise(
        _given(ucb_e, "ucb-e"),
        "fixed budget",
        "proven",
        AUDIBERT,
        "Optimism for a fixed budget; must be told H1 = Σ 1/gap².",
    ),
    "ucb-e-adaptive": _pullwise(
        _spend(ucb_e_adaptive),
        "fixed budget",
        "heuristic",
        AUDIBERT,
        "ucb-e with the hardness estimated as it goes; no proof.",
    ),
    "ugape-b": _pullwise(
        _given(ugape_b, "ugape-b"),
        "fixed budget",
        "proven",
        GABILLON,
        "ugape for a fixed budget; must be told H1 = Σ 1/gap².",
    ),
    "ugape-b-adaptive": _pullwise(
        _spend(ugape_b, h1=None),
        "fixed budget",
        "heuristic",
        GABILLON,
        "ugape-b with the hardness estimated as it goes; no proof.",
    ),
    "uniform-bonferroni": Entry(
        lambda p, **options: uniform_bonferroni(p.arms, p.delta, **options),
        "best arm",
        "heuristic",
        "a control: the classical fixed-size experiment",
        "A sample size from a power calculation, then one z-test a rival; often undecided.",
    ),
    "peeking-z-test": _pullwise(
        _best(peeking_z_test),
        "best arm",
        "heuristic",
        "a control: what not to do",
        "INVALID: a z-test after every round, stopped when significant; errs far more often than δ.",
    ),
}
