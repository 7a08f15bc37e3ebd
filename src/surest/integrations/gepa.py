"""A rule of acceptance for GEPA: a proposal is accepted if it is certified to be better than the champion."""

from collections.abc import Sequence
from typing import Any

from surest.core.keywords import check_keywords
from surest.errors import MissingPackageError
from surest.search.champion import OWN, Challenge, Champion

try:
    from gepa.core.adapter import GEPAAdapter
    from gepa.core.state import GEPAState
    from gepa.proposer.base import CandidateProposal
except ImportError:
    raise MissingPackageError("surest.integrations.gepa needs gepa: pip install 'surest[gepa]'") from None


class ChampionAcceptance:
    """Accept a proposal of GEPA if its mean on the validation set is certified to be higher than the champion's.

    GEPA's own rule compares sums on a minibatch. Here each proposal challenges the champion, at first the seed candidate, as in
    `surest.Champion`: of all that are accepted an expected share of at most `delta` is wrong. The evaluations count towards
    GEPA's `max_metric_calls`. GEPA evaluates what is accepted on the whole validation set besides, whatever is left.

    Parameters
    ----------
    adapter : GEPAAdapter
        The one that GEPA is given: evaluates a candidate on an item.
    valset : sequence
        The items that the claim is about; the validation set that GEPA is given.
    max_metric_calls : int, optional
        What GEPA is given: a challenge that comes to it ends undecided, and the proposal is not accepted. GEPA itself looks only
        between proposals.
    **how
        What `surest.Champion` takes: `delta`, `worth`, `storage`, `bounds`, `executor`, …

    Attributes
    ----------
    champion : Champion
        `champion.best` is the candidate to use.
    challenges : list of Challenge
        The outcome of each proposal.

    Examples
    --------
    >>> import types
    >>> class Adapter:
    ...     def evaluate(self, batch, candidate, capture_traces=False):
    ...         right = [float(item % 10 < int(candidate["digits"])) for item in batch]
    ...         return types.SimpleNamespace(scores=right)
    >>> rule = ChampionAcceptance(Adapter(), range(300), worth=0.05)
    >>> state = types.SimpleNamespace(program_candidates=[{"digits": "5"}], increment_evals=lambda count: None)
    >>> [rule.should_accept(CandidateProposal({"digits": digits}, [0]), state) for digits in "473"]
    [False, True, False]
    """

    def __init__(
        self, adapter: "GEPAAdapter[Any, Any, Any]", valset: Sequence[Any], max_metric_calls: int | None = None,
        **how: Any,
    ) -> None:  # fmt: skip
        check_keywords(locals(), max_metric_calls=OWN["budget"])
        self._adapter, self._most = adapter, max_metric_calls
        self.champion = Champion(self._score, valset, **how)
        self._budget = self.champion.budget
        self.challenges: list[Challenge] = []

    def _score(self, candidate: dict[str, str], item: Any) -> float:
        return self._adapter.evaluate([item], candidate).scores[0]

    def should_accept(self, proposal: "CandidateProposal[Any]", state: "GEPAState[Any, Any]") -> bool:
        """Let a proposal challenge the champion."""
        if self._most is not None:
            left = max(self._most - state.total_num_evals, 0)
            self.champion.budget = left if self._budget is None else min(left, self._budget)
        if self.champion.best is None:
            self.champion.challenge(state.program_candidates[0])
        self.challenges.append(self.champion.challenge(proposal.candidate))
        state.increment_evals(self.challenges[-1].evaluations)
        return self.challenges[-1].promoted

    def reject_reason(self, proposal: "CandidateProposal[Any]", state: "GEPAState[Any, Any]") -> str:
        """What GEPA logs."""
        return f"Candidate not accepted: {self.challenges[-1]}"
