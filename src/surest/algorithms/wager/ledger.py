"""What Wager knows: `Ledger`. Rewards, who was nominated when, and the certificates reached.

What makes an answer right is evidence and certificates (evidence/pulls/certificates.py), valid whatever is pulled when. What
makes it frugal is where it pulls (sampling.py) and whom it nominates when; neither can make it wrong.
"""

import math
from collections.abc import Sequence

import numpy as np

from surest.algorithms.wager.sampling import NEAREST, plan_many
from surest.core.protocol import Atoms, BoolArray, FloatArray, IntArray, Leads, Reply, Statistic, Status
from surest.evidence.pulls.alike import CROWD, kinds_of
from surest.evidence.pulls.apart import FEW_ARMS, FEW_CONTENDERS, lead_of, runner_up, shortfalls
from surest.evidence.pulls.betting import confidence_sequence
from surest.evidence.pulls.certificates import Evidence, pair_kinds, raise_alike
from surest.evidence.pulls.digest import Digests
from surest.kernels import each
from surest.kernels.bets import wide_bets
from surest.kernels.certificates import most_reached, raise_certificates, raise_weakest, smallest_epsilon
from surest.kernels.constants import ALPHA, NARROWEST
from surest.kernels.pairs import leader_ratio, place, settle
from surest.kernels.sampling import Seen, best_bets, plan, separations, update_optimistic

W = 0.95
"""The part of the prior that nominations may use; the rest speaks against every arm from the start."""
LEAST_PULLS = 10
"""Pulls that a leader needs to be nominated."""
EARLY, EASED, LATE = 1.5, 0.25, 0.5
"""Nats by which it must be separated then, by how much fewer per e-fold of its pulls, and at least: see `needed`."""
CLEAR = 0.6
"""The same where both arms are narrow, at any time: their pseudo-rewards make them look less separated than they are."""
LONG = 5_000
"""Pulls after which a first leader is nominated however close the others are: without a nominee nothing can be certified."""
MISJUDGED = 32.0
"""A leader is nominated anew when a gap turns out so many times smaller than its bets assumed."""
SHRINK = 0.8
"""Gaps look larger than they are when a leader is nominated."""
LOOK = 0.5
"""Certificates are computed where the separation is this part of the goal, and now and then everywhere."""
EVERYWHERE = 16
SPARED = 0.02
"""The part of the pulls of a long search that goes to the arm that looks worst for want of pulls, …"""
LONG_PER_ARM = 200
"""… once there were so many pulls an arm, beyond `LONG`."""
FIRST_SHARE, SECOND_SHARE = 0.88, 0.09
"""π_1 and π_2: most searches need one nomination only, and of the others most need two."""
NEAR, NEAR_ARMS = 1.0, 20
"""The end is near when every open arm may be within so many nats of being refuted, and so few are open."""
FEW = 10
"""A search that begins with so many arms at most has paired bets; while there are no more, each request has all arms in play."""
PAIRED = 0.98
"""The part of the prior that paired bets have then; the rest is Wager's levels'."""
MOST_ROUNDS = 2**15
"""Pulls of one arm in one request, at most: rewards of paired bets come one by one."""
LEAST_SHARE = 0.1
"""An arm that is nearly refuted is pulled so many times as often as the one that is furthest from it, at least."""
DOUBT = 0.5
"""Refuted arms have e^(−DOUBT·separation) of the leader's pulls, at least: a false refutation is found out soon."""
MANY = 2_000
"""Beyond so many arms in play that are not alike, a look at the status leaves certificates as they are."""


def slot_share(k: int) -> float:
    """π_k, the prior of the k-th nomination, k = 1, 2, …: they sum to one."""
    if k <= 2:
        return FIRST_SHARE if k == 1 else SECOND_SHARE
    return unused_share(2) / ((k - 1) * (k - 2))


def unused_share(k: int) -> float:
    """The prior of all nominations after the k-th: Σ_{m>k} π_m."""
    return 1 - FIRST_SHARE if k == 1 else (1 - FIRST_SHARE - SECOND_SHARE) / (k - 1)


def needed(pulls: float, spreads: FloatArray) -> FloatArray:
    """The nats by which a leader of so many pulls must be separated from each other arm to be nominated.

    After few pulls a leader is often a lucky one, and a false nomination costs about two nats. A late one is nearly always
    right, and to wait longer would waste rewards. `spreads` are the smaller ones of both arms.

    >>> [needed(pulls, np.array([1.0, 20.0])).round(2).tolist() for pulls in (10, 100, 1_000)]
    [[1.5, 0.6], [0.92, 0.6], [0.5, 0.6]]
    """
    nats: FloatArray = np.where(spreads > NARROWEST, CLEAR, max(LATE, EARLY - EASED * math.log(pulls / LEAST_PULLS)))
    return nats


class Ledger:
    """What Wager knows: rewards before and since the latest nomination, and the certificates reached."""

    def __init__(
        self, n: int, delta: float, epsilon: float = 0.0, reserve: float = 0.0, *, may_pair: bool = True
    ) -> None:
        self.goal = math.log(1 / delta)
        self.costs = np.empty(0)
        """What a pull of each arm costs, where sampling is to heed it; else nothing."""
        self.delta, self.epsilon, self.reserve = delta, epsilon, reserve
        self.paired = may_pair and epsilon == 0 and n <= FEW
        """Whether there are paired bets on what is pulled."""
        self.prices, self.accounts = np.zeros(0), np.zeros(0)
        self._price(n, -math.log(1 - reserve))
        self.additions = 0
        self.live = False  # whether the latest nomination still holds
        self.before, self.since = Digests(n), Digests(n)
        self.squares = np.zeros(n)
        self.certified = np.full(n, -np.inf)  # R_j: the largest certificate against each arm, less its price
        self.minimisers = np.full(n, 0.5)
        self.nominees: list[int] = []
        self.shares = np.zeros(n)  # Σ π_k over an arm's own slots
        self.guesses_nominee, self.guesses, self.assumed = np.zeros((3, n))
        self.optimistic = np.ones(n)
        self.leader = 0
        self.rounds = 0
        self.missing = np.inf  # nats up to the end, where it is near
        self._describe()

    @property
    def nominee(self) -> int | None:
        """The latest nominee, if its nomination still holds."""
        return self.nominees[-1] if self.live else None

    @property
    def is_crowd(self) -> bool:
        """Whether there are so many arms that those in the same state are treated together."""
        return len(self.counts) >= CROWD

    @property
    def statistic(self) -> Statistic:
        """What it needs to know of rewards."""
        return Statistic.REWARDS if self.paired else Statistic.ATOMS

    @property
    def decided(self) -> bool:
        """Whether every arm but the leader is refuted, with a leader that was nominated where there are no paired bets."""
        others = self.certified >= self.goal
        others[self.leader] = True
        return (self.paired or self.leader == self.nominee) and bool(others.all())

    @property
    def in_play(self) -> BoolArray:
        """The arms that are not refuted, and the leader."""
        playing: BoolArray = self.certified < self.goal
        playing[self.leader] = True
        return playing

    def _price(self, more: int, price: float) -> None:
        """Set the terms for new arms: log of the account, and the evidence that refutes them beyond the goal.

        Both are in units of what Wager's levels begin with, which is all of the prior where there are no paired bets.
        """
        account = math.log(PAIRED / (1 - PAIRED)) if self.paired else -np.inf
        self.prices = np.append(self.prices, np.full(more, price - (math.log(1 - PAIRED) if self.paired else 0.0)))
        self.accounts = np.append(self.accounts, np.full(more, account))

    def stakes(self, arms: IntArray, times: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """The paired bets on a request to come: of each arm the opponent, the level and the stake; none against refuted ones."""
        sums = self.before.sums + self.since.sums
        return place(arms, times, self.counts, sums, self.squares, self.certified < self.goal)

    def count(self, arms: IntArray, rewards: Reply, times: IntArray | None = None) -> None:
        """Take in the rewards of a batch. Where they come one by one, paired bets were on them: `times` says how many an arm."""
        if not isinstance(rewards, Atoms):
            assert times is not None
            settle(self.accounts, arms, times, *self.stakes(arms, times), rewards)
            start = np.append(0, np.cumsum(times))
            rewards = Atoms(start, rewards, np.ones(len(rewards), np.int64))
        (self.since if self.nominees else self.before).add_atoms(arms, rewards)
        self.squares[arms] += np.add.reduceat(rewards.counts * rewards.values**2, rewards.start[:-1])
        self._describe()
        self._be_optimistic(arms)
        self.rounds += 1

    def _be_optimistic(self, arms: IntArray) -> None:
        """Upper bounds of the means of arms that were pulled."""
        one = arms
        if self.is_crowd:
            kinds, firsts = kinds_of(self.states[0][arms])
            one = arms[firsts]
        update_optimistic(self.optimistic, one, self.counts, self.means, self.spreads)
        if self.is_crowd:
            self.optimistic[arms] = self.optimistic[one][kinds]

    def grow(self, more: int) -> None:
        """Take in new arms. Additions may depend on what was seen, so the k-th one spends its own part of δ, of the reserve.

        The current nomination lapses: its bets against the new arms would be placed after its rewards were seen. With
        ε > 0 its certificates lapse too: they speak for it alone, and the leader may be another until the next nomination.
        """
        self.additions += 1
        k = self.additions
        price = math.log(k * (k + 1) / self.reserve) if self.reserve > 0 else np.inf  # without a reserve: never refuted
        self._price(more, price)
        fresh = dict.fromkeys(("squares", "shares", "guesses_nominee", "guesses", "assumed"), 0.0)
        fresh |= {"certified": -np.inf, "minimisers": 0.5, "optimistic": 1.0}
        for name, value in fresh.items():
            setattr(self, name, np.append(getattr(self, name), np.full(more, value)))
        self.before.grow(more)
        self.since.grow(more)
        self.live = False
        if self.epsilon > 0:
            self.certified[:] = -np.inf
        self._describe()

    def _describe(self) -> None:
        """Counts, means and variances, the latter two with a pseudo-reward that is half 0, half 1."""
        self.counts = self.before.counts + self.since.counts
        sums = self.before.sums + self.since.sums
        self.empirical = np.divide(sums, self.counts, out=np.zeros_like(sums), where=self.counts > 0)
        self.means = (sums + 0.5) / (self.counts + 1)
        self.variances = (self.squares + 0.5) / (self.counts + 1) - self.means**2
        self.spreads = np.maximum(self.means * (1 - self.means) / self.variances, 1.0)
        self.leader = int(self.empirical.argmax())
        nominee = self.nominee
        if nominee is not None and self.empirical[nominee] >= self.empirical[self.leader] - self.epsilon / 2:
            self.leader = nominee  # with ε > 0 there is no need to follow every change of the lead
        if self.is_crowd:  # which arms are in the same state, and the first arm in each
            self.states = kinds_of(self.counts, self.means, self.spreads)

    def _separations(self, a: int) -> FloatArray:
        """How far an arm is told apart from each other, which may be better by ε; infinite for itself."""
        if not self.is_crowd:
            return separations(a, self.counts, self.means, self.spreads, self.epsilon)
        kinds, firsts = self.states
        one = np.append(firsts, a)  # the arm itself comes last
        apart = separations(len(firsts), self.counts[one], self.means[one], self.spreads[one], self.epsilon)[kinds]
        apart[a] = np.inf
        return apart

    def nominate_if_due(self) -> None:
        """Nominate the leader if it is a new one and clear enough, or if its bets assumed far too large gaps."""
        a = self.leader
        self.apart = self._separations(a)
        if a == self.nominee:
            due = bool(((self.certified < self.goal) & (self.assumed > MISJUDGED * self.gaps(a))).any())
        else:
            due = self.counts[a] >= LEAST_PULLS and self._is_clear(a)
            most = self.counts.max() if self.paired else self.counts[a]
            due = due or (not self.nominees and most >= LONG)
        if due:
            self.nominate(a)

    def _is_clear(self, a: int) -> bool:
        return bool((self.apart >= needed(self.counts[a], np.minimum(self.spreads, self.spreads[a]))).all())

    def nominate(self, arm: int) -> None:
        """Give an arm the next slot: from now on its fresh rewards count for it, with bets that suit what was seen so far."""
        if self.epsilon > 0 and arm != self.nominee:
            self.certified[:] = -np.inf  # these were for another nominee: with ε > 0 a refutation is of the pair
        self.nominees.append(arm)
        self.live = True
        self.shares[arm] += slot_share(len(self.nominees))
        self.before.take(self.since)
        self._place_bets(arm)
        if self.is_crowd:
            self.settled = self.evidence().settled()

    def gaps(self, a: int) -> FloatArray:
        """An arm's lead over each other, or the standard error of it where that is larger."""
        error = self.variances / self.counts
        gaps: FloatArray = np.maximum(self.means[a] - self.means + self.epsilon, np.sqrt(error + error[a]))
        return gaps

    def _place_bets(self, a: int) -> None:
        self.assumed, self.minimisers, self.guesses_nominee, self.guesses = self.suited_bets(a)

    def suited_bets(
        self, a: int, beside: Sequence[int] | IntArray = ()
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The bets of a new slot: those that suit the gaps seen, shared by the errors of both arms' means.

        For each other arm: the gap, a level between both means, the bet on arm `a`, the bet on the other. The arms `beside`
        it are not bet against.
        """
        error, gaps = self.variances / self.counts, self.gaps(a)
        x = self.means[a] - gaps * error[a] / (error[a] + error)
        own, other = self.means[a] - x, x + self.epsilon - self.means
        x = np.clip(x, 1e-6, 1 - 1e-6)
        nominee = np.clip(SHRINK * own * x / (self.variances[a] + own**2), 0, ALPHA)
        guesses = np.clip(SHRINK * other * (1 - x) / (self.variances + other**2), 0, ALPHA)
        best_bets(a, self._seen(), self.epsilon, nominee, guesses)
        apart = self._separations(a)
        apart[np.asarray(beside, np.int64)] = np.inf
        closest = nominee[apart.argmin()]
        # Against an arm of few pulls the least bet on the nominee would do, were it not for the pulls to come.
        return gaps, x, np.maximum(nominee, closest), guesses

    def refute(self) -> None:
        """Compute certificates where they may reach the goal."""
        self.missing = np.inf
        if self.paired:
            self.certified = np.maximum(self.certified, self.accounts - self.prices)
            left = self.certified < self.goal
            left[self.leader] = False
            self.missing = self.goal - float((self.accounts - self.prices)[left].min(initial=np.inf))
        if self.leader != self.nominee:
            return
        everywhere = self.rounds % EVERYWHERE == 0
        worth = (self.apart >= LOOK * self.goal) | everywhere
        worth[self.leader] = False  # there is no certificate of an arm against itself
        todo = (worth & (self.certified < self.goal)).nonzero()[0]
        evidence = self.evidence()
        if self.is_crowd:
            raise_alike(self.certified, self.minimisers, todo, self.goal, self.epsilon, evidence, self.settled)
        else:
            raise_certificates(self.certified, self.minimisers, todo, self.goal, self.epsilon, evidence.kernel())
        self.missing = min(self.missing, self._missing(evidence))

    def _missing(self, evidence: Evidence) -> float:
        """The nats by which the weakest certificate misses the goal, at least; infinite where the end is not near."""
        left = (self.certified < self.goal).nonzero()[0]
        left = left[left != self.leader]
        if len(left) > NEAR_ARMS or (self.apart[left] < LOOK * self.goal).any():
            return np.inf
        weakest_first = left[self.apart[left].argsort()]
        return self.goal - most_reached(
            weakest_first, self.minimisers, self.goal - NEAR, self.epsilon, evidence.kernel()
        )

    def evidence(self) -> Evidence:
        """What the latest nominee's certificates rest on."""
        used = len(self.nominees)
        return Evidence(
            self.nominees[-1],
            self.prices,
            self.before,
            self.since,
            wide_bets(self.counts, self.empirical * self.counts, False),
            (1 - W) + W * unused_share(used) + W * self.shares,
            W * slot_share(used),
            self.guesses_nominee,
            self.guesses,
            accounts=self.accounts if self.paired else None,
        )

    def _seen(self) -> Seen:
        """What sampling goes by."""
        rows = self.before.rows(), self.since.rows()
        return Seen(self.counts, self.means, self.spreads, self.empirical, *rows)

    def next_batch(self, rng: np.random.Generator, size: int, pending: IntArray) -> IntArray:
        """How often to pull each arm in the next `size` pulls, after those that are still pending."""
        if self.paired and len(self.counts) <= FEW:
            return self._rounds(size, pending)
        leader = int(self.optimistic.argmax())
        if self.epsilon > 0 and self.leader == self.nominee:
            leader = self.leader  # it need not be the best: see that it is good enough
        rejected = self.certified >= self.goal
        total = self.counts.sum() + pending.sum()
        late = total >= LONG + LONG_PER_ARM * len(self.counts)
        spared = int(SPARED * (total + size)) - int(SPARED * total) if late else 0
        given = leader, self._seen(), self.counts + pending, rejected, self.epsilon, rng.random(size), spared
        return plan_many(self.states[0], pending, *given) if self.is_crowd else plan(*given, self.costs)

    def _rounds(self, size: int, pending: IntArray) -> IntArray:
        """The same with paired bets: of the arms in play, each as often as it needs evidence, so that all are refuted at about
        the same time, and the leader as often as tells it soonest from the closest one. Refuted ones are pulled as far as
        they have too few pulls for how far they are separated."""
        open_ones = self.in_play
        open_ones[self.leader] = False
        needs = np.where(open_ones, np.maximum(self.goal + self.prices - self.accounts, NEAREST), 0.0)
        shares = np.where(open_ones, np.maximum(needs / needs.max(initial=NEAREST), LEAST_SHARE), 0.0)
        others, closest = float(shares.sum()), int(np.where(open_ones, self.empirical, -np.inf).argmax())
        price = float(shares @ self.costs) / self.costs[self.leader] if len(self.costs) else others
        ratio = leader_ratio(self.leader, closest, price, self.counts, self.empirical * self.counts, self.squares)
        rounds = math.ceil(min(max(size / (ratio + others), 1 / ratio), MOST_ROUNDS / max(ratio, 1.0)))
        planned = self.counts + pending
        lacking = planned[self.leader] * each.exp(-DOUBT * self.apart) - planned
        times: IntArray = np.where(open_ones, np.ceil(rounds * shares), np.clip(lacking, 0, rounds)).astype(np.int64)
        times[self.leader] = int(ratio * rounds + 0.5)
        return times

    def weakest(self) -> tuple[float, float]:
        """The evidence, in nats, where it is weakest, and how much a decision needs: what a status says of them, no more."""
        arm, certified, _ = self._as_they_stand()
        return float(np.delete(certified, arm).min()), self.goal

    @property
    def _spoken_for(self) -> int:
        """The arm that evidence speaks for: the nominee, or the leader if there is none, or if paired bets speak for any."""
        return self.leader if self.paired or self.nominee is None else self.nominee

    def _as_they_stand(self) -> tuple[int, FloatArray, FloatArray]:
        """The nominee, or leader, and the certificates against all others now, and their minimisers.

        The latter are copies: to look must change nothing, not even where the next search for a minimiser starts.
        """
        n, arm = len(self.counts), self._spoken_for
        others = np.arange(n) != arm
        certified, starts = np.maximum(self.certified, self.accounts - self.prices), self.minimisers.copy()
        if self.live:
            evidence, todo = self.evidence(), np.flatnonzero(others & (certified < self.goal))
            kinds, firsts = self._kinds(todo, evidence)
            one = todo[firsts]
            if len(one) <= MANY:  # else what was found before holds as well
                fresh = np.full(n, -np.inf)
                if self.is_crowd:
                    one_by_one = one[np.argsort(self._separations(arm)[one])]
                    raise_weakest(fresh, starts, one_by_one, self.goal, self.epsilon, evidence.kernel())
                else:
                    raise_certificates(fresh, starts, one, np.inf, self.epsilon, evidence.kernel())
                certified[todo] = np.maximum(certified[todo], fresh[one][kinds])
        return arm, certified, starts

    def status(self) -> Status:
        """All that can be said at this moment, of the nominee if there is one: it is the arm with certificates."""
        arm, certified, starts = self._as_they_stand()
        others = np.arange(len(certified)) != arm
        weakest = float(certified[others].min())
        return Status(
            leader=arm,
            achieved_delta=min(1.0, math.exp(-weakest)),
            epsilon_certified=self.epsilon if self.decided else self._smallest_epsilon(starts),
            in_play=1 + int((certified[others] < self.goal).sum()),
            evidence=weakest,
            threshold=self.goal,
            forecast=self.forecast(float(self._separations(arm).min()) if self.rounds else 0.0, weakest),
            nominees=tuple(self.nominees),
            intervals=confidence_sequence(self.before, self.delta, self.since),
            contenders=self.contenders(),
            apart=self._apart(),
            lead=self._lead(arm),
        )

    def _lead(self, arm: int) -> Leads | None:
        """By how much an arm is ahead of the runner-up. All pairs of arms share δ, so there is no saying once arms were added."""
        if self.additions:
            return None
        return lead_of(self.before, arm, runner_up(self.empirical, [arm]), self.delta, self.since)

    def _apart(self) -> float | None:
        """How far below the best any contender can be, where there are a few: docs/questions/top.md has the proof.

        It is for the arms of the start, which share δ: once arms were added, there is no saying."""
        left = self.contenders()
        if self.additions or self.decided or len(self.counts) > FEW_ARMS or not 2 <= len(left) <= FEW_CONTENDERS:
            return None
        return float(shortfalls(self.before, left, self.delta, self.since).max())

    def contenders(self) -> tuple[int, ...]:
        """The arms that may still be right: the nominee (or leader) and all that are not refuted.

        At ε = 0 any one best arm is among them at all times with probability at least 1 − δ; with ε > 0 an arm within ε of
        the best is.
        """
        arm = self._spoken_for
        return tuple(np.flatnonzero((self.certified < self.goal) | (np.arange(len(self.certified)) == arm)).tolist())

    def forecast(self, apart: float, weakest: float) -> float | None:
        """The pulls still needed: evidence grows as the least separation does, in proportion to pulls, less what it has cost."""
        if not apart > 0 or not math.isfinite(weakest):
            return None
        return float(max(self.goal - weakest, 0.0) / apart * self.counts.sum())

    def _smallest_epsilon(self, starts: FloatArray) -> float:
        """The smallest ε, from the requested one on, for which the nominee is certified ε-optimal at δ."""
        arm = self.nominee
        if arm is None or (self.paired and arm != self.leader):
            return 1.0
        doubtful = np.argsort(self._separations(arm))
        doubtful = doubtful[(doubtful != arm) & (self.certified[doubtful] < self.goal)]
        evidence = self.evidence()
        doubtful = doubtful[self._kinds(doubtful, evidence)[1]]
        return float(smallest_epsilon(self.epsilon, doubtful, self.goal, starts, evidence.kernel()))

    def _kinds(self, arms: IntArray, evidence: Evidence) -> tuple[IntArray, IntArray]:
        """Which arms have equal certificates: the kind of each, and where the first of each is. Each its own, among few arms."""
        return (
            pair_kinds(arms, evidence, self.settled) if self.is_crowd else (np.arange(len(arms)), np.arange(len(arms)))
        )
