"""ChampionAcceptance in real runs of GEPA, on a toy with known true means."""

import random
from types import SimpleNamespace
from typing import Any

import gepa
import pytest
from gepa.core.adapter import EvaluationBatch
from gepa.strategies.acceptance import AcceptanceCriterion

from surest.integrations.gepa import ChampionAcceptance

VALSET, TRAINSET = list(range(300)), list(range(300, 400))


class Adapter:
    """A candidate is right on a share of the questions, and it says which."""

    propose_new_texts = None

    def evaluate(self, batch: list[int], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        scores = [
            float(random.Random(f"{candidate['rate']} {item}").random() < float(candidate["rate"])) for item in batch
        ]
        return EvaluationBatch(outputs=scores, scores=scores, trajectories=scores if capture_traces else None)

    def make_reflective_dataset(self, candidate: Any, batch: Any, components: list[str]) -> dict[str, Any]:
        return {name: [{"score": 0}] for name in components}


def mean(candidate: dict[str, str]) -> float:
    return sum(Adapter().evaluate(VALSET, candidate).scores) / len(VALSET)


def optimised(rule: Any, calls: int) -> tuple[Any, list[str]]:
    rng, lines = random.Random(3), list[str]()

    def proposed(candidate: dict[str, str], *_: Any) -> dict[str, str]:
        return {"rate": f"{min(max(float(candidate['rate']) + rng.choice([-0.2, -0.1, 0, 0.15]), 0.05), 0.95):.4f}"}

    result = gepa.optimize(
        {"rate": "0.4"}, TRAINSET, VALSET, Adapter(), custom_candidate_proposer=proposed, max_metric_calls=calls,
        acceptance_criterion=rule, logger=SimpleNamespace(log=lines.append), candidate_selection_strategy="current_best",
    )  # fmt: skip
    return result, lines


def wrong(result: Any) -> int:
    """How many were accepted that are not better than their parent."""
    pairs = zip(result.candidates[1:], result.parents[1:], strict=True)
    return sum(mean(candidate) <= mean(result.candidates[parents[0]]) for candidate, parents in pairs)


def test_gepa_accepts_what_is_better_and_its_own_rule_much_that_is_not() -> None:
    rule = ChampionAcceptance(Adapter(), VALSET, worth=0.05, seed=1)
    assert isinstance(rule, AcceptanceCriterion)
    result, log = optimised(rule, 5000)
    promoted = [one for one in rule.challenges if one.promoted]
    assert len(result.candidates) == 1 + len(promoted) >= 3
    assert (wrong(result), rule.champion.best) == (0, result.best_candidate)
    assert mean(result.best_candidate) > mean({"rate": "0.4"}) + 0.2
    assert any("not accepted: rejected after" in line for line in log)
    assert sum(one.evaluations for one in rule.challenges) < result.total_metric_calls, "they count towards the limit"
    own, _ = optimised("strict_improvement", 5000)
    assert wrong(own) > 0.3 * (len(own.candidates) - 1) > 0


def test_evaluations_end_where_those_of_gepa_do_and_none_is_made_twice() -> None:
    cells = list[tuple[str, int]]()

    class Recorded(Adapter):
        def evaluate(self, batch: list[int], candidate: dict[str, str], capture_traces: bool = False) -> Any:
            cells.extend((candidate["rate"], item) for item in batch)
            return super().evaluate(batch, candidate, capture_traces)

    rule = ChampionAcceptance(Recorded(), VALSET, max_metric_calls=400, seed=1)
    result, log = optimised(rule, 400)
    *_, last = rule.challenges
    assert (last.verdict, last.evaluations > 0) == ("undecided", True)
    assert (last.note, result.total_metric_calls) == (f"the budget of {last.evaluations} evaluations is spent", 400)
    assert log[-1].endswith(f"not accepted: {last}")
    assert len(result.candidates) == 1
    rule.champion.budget = None
    before = len(cells)
    again = rule.champion.challenge({"rate": cells[-2][0]})
    assert (again.number, len(cells) - before) == (last.number + 1, again.evaluations)
    assert len(cells) == len({*cells}) > before, "what was measured until then is known"
    less = ChampionAcceptance(Adapter(), VALSET, max_metric_calls=400, budget=20, seed=1)
    optimised(less, 400)
    assert max(one.evaluations for one in less.challenges) == 20


def test_what_champion_refuses_is_refused() -> None:
    with pytest.raises(ValueError, match="worth"):
        ChampionAcceptance(Adapter(), VALSET, worth=2)
    with pytest.raises(ValueError, match=r"max_metric_calls is 0; give a whole number of evaluations, at least 1"):
        ChampionAcceptance(Adapter(), VALSET, max_metric_calls=0)
