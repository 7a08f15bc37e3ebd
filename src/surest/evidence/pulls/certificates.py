"""The certificate: how sure it is that an arm j is not the best, given a nominee a whose fresh rewards speak for it.

Every arm has its rewards *before* the latest nomination and those *since*. If j is a best arm with mean c, then

    M = (1 − w)·exp B_j(c) + w·Σ_k π_k·S_k

is a nonnegative supermartingale that starts at most at 1. Slot k holds S_k = exp B_j(c) until nomination k, and for ever if j
itself is nominated there; otherwise, from the nomination on, S_k = exp B_j(c) at that moment, times what the slot's own bets
make of the rewards since: those of the nominee (above c) and those of j (below c). At the nomination data were seen, so the
slot's bets are placed where these data want them. That is allowed, as bets on rewards to come, and it is cheap: a slot pays
for a handful of bets, not for all that might have been. Hence

    C(a, j) = inf over x of log( base_j·exp B_j(x) + w·π_k·exp B_j^before(x)·J(x) )

with base_j = (1 − w) + w·Σ_{k>K} π_k + w·(shares of j's own slots) is at most log M, and reaches log(1/δ) with probability at
most δ. For ε > 0 the nominee is bet on at x and arm j at x + ε. docs/wager.md has the proof.
"""

from typing import NamedTuple

import numpy as np

from surest.core.protocol import FloatArray, IntArray
from surest.evidence.pulls.alike import kinds_of
from surest.evidence.pulls.digest import Digests
from surest.kernels import certificates
from surest.kernels.crowds import put_atoms

FEW_ATOMS = 4  # arms with more distinct rewards are hardly ever in the same state


class Evidence(NamedTuple):
    """What the certificates of a nominee against all others rest on."""

    nominee: int
    prices: FloatArray  # evidence needed against each arm beyond the goal
    before: Digests  # the rewards of all arms before the nomination, …
    since: Digests  # … and since
    bets: IntArray  # how many of the wide mixture's bets to count
    base: FloatArray
    share: float  # w·π_k
    guesses_nominee: FloatArray  # the slot's bets on the nominee are placed around this, …
    guesses: FloatArray  # … and those on the challenger around this
    among: float = 1.0
    """How many arms share the wide mixture: 1 where the best arm is asked for, m where the m best are."""
    accounts: FloatArray | None = None
    """The logarithms of the accounts of paired bets against each arm, where there are any."""

    def kernel(self) -> certificates.Evidence:
        """The same as kernels take it."""
        before, since = self.before.rows(), self.since.rows()
        return certificates.Evidence(*self._replace(before=before, since=since))  # type: ignore[arg-type]

    def settled(self) -> IntArray:
        """What does not change until the next nomination: equal numbers for arms in which all of that is equal."""
        own = np.where(self.before.size > FEW_ATOMS, np.arange(len(self.base)), -1)
        every = np.arange(len(self.base))
        bets = (self.prices, self.base, self.guesses_nominee, self.guesses)
        return kinds_of(own, *_atoms(self.before, every), *bets)[0]


def raise_alike(
    certified: FloatArray, minimisers: FloatArray, todo: IntArray, goal: float, epsilon: float, evidence: Evidence,
    settled: IntArray,
) -> int:  # fmt: skip
    """The same among very many arms: one search serves all arms in the same state. Returns how many searches there were.

    What was certified before is an arm's own: arms in the same state now may have come to it on different ways.
    """
    if not len(todo):
        return 0
    kinds, firsts = pair_kinds(todo, evidence, settled)
    one = todo[firsts]
    bounds, starts = certificates.bounds_against(one, minimisers[one], goal, epsilon, evidence.kernel())
    certified[todo] = np.maximum(certified[todo], bounds[kinds])
    minimisers[todo] = starts[kinds]
    return len(firsts)


def pair_kinds(arms: IntArray, evidence: Evidence, settled: IntArray) -> tuple[IntArray, IntArray]:
    """Which arms have equal certificates: the kind of each, and where the first of each kind is in `arms`.

    `settled` is what `Evidence.settled` said at the nomination.
    """
    if max(int(digests.size[arms].max(initial=0)) for digests in (evidence.before, evidence.since)) > FEW_ATOMS:
        return np.arange(len(arms)), np.arange(len(arms))
    accounts = [] if evidence.accounts is None else [evidence.accounts[arms]]
    return kinds_of(settled[arms], evidence.bets[arms], *accounts, *_atoms(evidence.since, arms))


def _atoms(digests: Digests, arms: IntArray) -> FloatArray:
    """The values and weights of the first few atoms of arms, as rows; zero where there are fewer."""
    columns = np.empty((2 * min(int(digests.size.max(initial=0)), FEW_ATOMS), len(arms)))
    put_atoms(columns, digests.rows(), arms)
    return columns
