"""The numbers that kernels share with the code around them. The .pxd file of a kernel that uses one says its type in C."""

from math import fsum, log, sqrt

import numpy as np

from surest.core.protocol import FloatArray

# --- bets on a mean: evidence/pulls/betting.py -------------------------------------------------------------------------------

ALPHA = 0.98  # the largest bet; below 1, so that no single reward can ruin
RHO = sqrt(2.0)  # the ratio of neighbouring bets
DECAY = 0.9  # the ratio of their weights
IDLE = 0.05  # the weight on not betting: a mixture never falls below it

# --- certificates: evidence/pulls/certificates.py ------------------------------------------------------------------------

DOWN, UP = 12, 6  # a slot's bets on an arm: its guess times ρ^−DOWN … ρ^UP
JOINT_BETS = DOWN + UP + 1
LOWEST = 1.0 / (RHO * RHO) ** (DOWN // 2)  # ρ^−DOWN
WAIT = 0.4  # B's weight on not betting, here: against a close rival, wide bets only lose while there is no nominee
SCALE, RATIO = 0.6, 0.5
"""How the weights fall with a common change of scale of both guesses, and with a change of their ratio."""


def _joint_weights() -> FloatArray:
    steps = range(-DOWN, UP + 1)  # powers of Python's: those of NumPy depend on the processor
    weights = np.array([[SCALE ** (abs(i + j) / 2) * RATIO ** abs(i - j) for j in steps] for i in steps])
    joint: FloatArray = weights * ((1 - IDLE) / fsum(weights.flat))
    return joint


JOINT = _joint_weights()
"""The weight of each pair (bet on the nominee, bet on the challenger); the rest, IDLE, bets nothing."""

# --- paired bets: kernels/pairs.py ---------------------------------------------------------------------------------------

LARGEST_STAKE = 0.9
"""The part of an account that a single reward can take, at most."""
LEAST_LEVEL = 1e-6
"""Levels are so far from 0 and 1."""
POOLED, POOLED_COINS, POOLED_LONG = 4.0, 3.0, 40.0
"""An arm's variance is estimated as if it had so many rewards more, of the variance of all arms together: where stakes are
placed; there, as often as there are arms, if rewards are 0 or 1, of which a few say little; and where it is settled how often the
leader is pulled. There, mistakes of the first few rewards would cost more."""
MANY_GAPS = 27
GAPS = 2.0 ** (-np.arange(MANY_GAPS) / 2)
"""Gaps between two means, in standard deviations of the difference of two rewards, …"""
GAP_PRIOR = np.interp(np.log(GAPS), np.log([1e-4, 0.01, 0.1, 0.4, 1.0]), [-15.5, -1.7, 0.0, -2.0, -3.8])
"""… and the logarithms of how likely they are: most are about 0.1, few below 0.01."""
LEAST_RATIO, RATIOS = 0.125, 13
"""How many times as often as each of the others the leader is pulled: an eighth, or √2 times as much, …, 8."""
ROUNDED = 2.0**-50
"""A bound of what each step adds to a sum of logarithms by rounding, as a part of it."""

# --- bars and differences: evidence/pulls/bars.py, apart.py --------------------------------------------------------------

BAR_ALPHA, BAR_DECAY, BAR_IDLE = 0.8, 0.88, 0.01
"""The bets at a bar: the largest one, the ratio of their weights, and the weight on not betting. At one fixed level less needs
to be kept back than where a level is searched for: 3 to 7 % fewer pulls on 20 arms between 0.3 and 0.7."""
NEAR = 1e-6  # How far a returned infimum may be below the true one, in nats. It is never above.
BOUNDS = 1e-4  # how far a returned bound of a difference may be outside of the true one
CLOSE = 1e-4  # how much larger than the smallest a returned shortfall may be

# --- where Wager pulls next: algorithms/wager/sampling.py ----------------------------------------------------------------

NARROWEST = 6.0
"""After many pulls all rewards of an arm are looked at only where a Bernoulli arm of its mean has more than so many times its
variance."""
REJECTED = 4.0  # Nats by which a rejected arm comes later. It stays eligible: the rejection may have been false.
HALF = 0.5  # the weight of the reward of the worst kind
MIX, WORD = 0x2545F4914F6CDD1D, 2**64 - 1  # what words are multiplied by to mix them, and the bits of a word

# --- lists of items: evidence/lists ---------------------------------------------------------------------------------------

OPPONENTS = 4  # at most so many arms are bet on against one arm, at one item
STEPS = 8  # the fixed bets beside the portfolio: CAP·2^−k, k = 0 … STEPS − 1, on the leading opponent
FIXED = 0.02  # the part of the wealth that the fixed bets begin with
WEIGHTS = np.append(1 - FIXED, np.full(STEPS, FIXED / STEPS))  # what the portfolio and the fixed bets begin with
CAP = 0.9  # the largest part of the wealth that one item can take
MEMORY = 10.0
PRIOR = 1.5  # second moments of differences are shrunk as if MEMORY items had come before, of PRIOR in sum
LEADS = 2.0 ** np.arange(3, -4, -1)
"""By how much a difference of two arms may be more than what is to be refuted, in multiples of what is likely, …"""
LEAD_WEIGHTS = np.array([1 / (1 + log(lead) ** 2) for lead in LEADS.tolist()])
LEAD_WEIGHTS /= fsum(LEAD_WEIGHTS.tolist())
"""… and the parts of the wealth that suppose so."""
LEAST_LEAD = 0.03  # what is likely is at least so much, however long the list
PLAIN = 0.3  # the part of the wealth that bets without predictions, where differences are predicted
RIDGE = 4.0
TOLERANCE_ON_LISTS = 1e-9
"""Sums that differ by less than this times N may be equal: .8 + .9 + .1 + .2 is not 2 in floating point."""
TINY, HUGE = 1e-290, 1e290
"""Wealth below the one is lost, wealth above the other is not counted. Near 1e-308 a product may be rounded up to what it was,
again and again: a lost bet would cost nothing."""

# --- random numbers: kernels/philox.py -----------------------------------------------------------------------------------

LOW = 2**32 - 1
MULTIPLY_0, MULTIPLY_2 = 0xD2E7470EE14C6C93, 0xCA5A826395121157
ADD_0, ADD_1 = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
TWO_TO_MINUS_53 = 2.0**-53
