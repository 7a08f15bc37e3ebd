"""The numbers that the rivals' kernels share with the code around them."""

NOISE = 2685821657736338717  # the multiplier of xorshift64*
LEADER, TOTAL, ASKED = 0, 1, 2
"""Places in `marks` of a state: the arm it would name, all pulls so far, the arms asked for last."""
CHOSEN = 0
"""The row of `memory` that marks the arms it would name, where it names several: 1 the best one, 2 the next, …"""
STOPPED, SPENT, REFILL = 0, 1, 2  # why `rivals.advance` returned
LAST = 1e-8  # a Newton step smaller than this, in proportion, is the last one: it squares the error
VARIANCE = 0.25  # σ² of rewards in [0, 1]: they are sub-Gaussian with it
POINTS = 1001  # the grid of betting-racing and PEAK: 0, 0.001, …, 1, as fine as in its authors' program
TRUNCATION = 0.5  # c: the most that a bet at a point of that grid may stake, as a share
ATOMS = 64  # Top Two keeps an arm's rewards as at most so many values with weights
COIN = 1 << 30
EPOCH_RATIO, EPOCH_POWER = 1.2, 1.25
"""Of the epochs in `kl_iterated_log`. The paper's constants are others; these come with a proof in docs/rivals.md."""
(
    BETTING_RACING,
    EB_TC_EPSILON,
    KL_LUCB,
    KL_RACING,
    LIL_KL_UCB,
    LIL_UCB,
    LUCB,
    PEAK,
    PEEKING_Z_TEST,
    SUCCESSIVE_ELIMINATION,
    TOP_TWO,
    TRACK_AND_STOP,
    UCB_E,
    UGAPE,
) = range(14)
"""The rules that `rivals.decide` knows."""
TRACK_GLOBAL = 6
"""The row of Track-and-Stop's memory that has y, the best arm, or −1, and the arm that was unbeaten last."""
