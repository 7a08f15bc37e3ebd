"""Very many arms, those in the same state taken together: which are alike, and where Wager pulls next among groups of them.

Each pull of the leader changes how far all others are told apart from it. In a heap of arms, all that tie would be looked at
again each time; in a heap of groups, there is only as much to look at as there are states.
"""

import numpy as np

from surest.core.protocol import BoolArray, FloatArray, IntArray, Words
from surest.kernels import libm, sampling
from surest.kernels.bets import Rows
from surest.kernels.constants import MIX, REJECTED, WORD
from surest.kernels.sampling import Seen


def numbered(words: Words) -> tuple[IntArray, IntArray]:
    """Number columns by what they hold, as they first come, with a hash table of at least twice as many places as kinds."""
    width, n, found, size = words.shape[0], words.shape[1], 0, 1024
    kinds_made, firsts_made = np.empty(n, np.int64), np.empty(n, np.int64)
    kinds, firsts, hashes, table = kinds_made, firsts_made, np.empty(n, np.int64), np.full(size, -1)
    for i in range(n):
        mixed = 0
        for p in range(width):
            word = int(words[p, i])
            mixed = (((mixed ^ (mixed >> 29)) + word) * MIX) & WORD
        mixed = (mixed ^ (mixed >> 32)) & 0x7FFFFFFF
        place, same = mixed & (size - 1), 0
        while table[place] >= 0:
            first, same = firsts[table[place]], 0
            while same < width and words[same, first] == words[same, i]:
                same += 1
            if same == width:
                break
            place = (place + 1) & (size - 1)
        if table[place] >= 0:
            kinds[i] = table[place]
            continue
        kinds[i] = table[place] = found
        firsts[found], hashes[found] = i, mixed
        found += 1
        if 2 * found == size:  # it grows with the kinds: a small one is near
            size *= 4
            table = np.full(size, -1)
            for k in range(found):
                place = hashes[k] & (size - 1)
                while table[place] >= 0:
                    place = (place + 1) & (size - 1)
                table[place] = k
    return kinds_made, firsts_made[:found].copy()


def put_atoms(columns: FloatArray, rows: Rows, arms: IntArray) -> None:
    """The values and weights of the first atoms of arms, as rows; zero where there are fewer."""
    for i in range(len(arms)):
        arm = arms[i]
        for p in range(columns.shape[0] // 2):
            columns[2 * p, i] = rows.values[arm, p] if p < rows.size[arm] else 0.0
            columns[2 * p + 1, i] = rows.weights[arm, p] if p < rows.size[arm] else 0.0


class Rule:
    """What decides which group comes first."""

    def __init__(
        self, leader: int, seen: Seen, moved: FloatArray, rejected: BoolArray, narrow: BoolArray, epsilon: float
    ) -> None:
        self.leader, self.seen, self.rejected, self.narrow, self.epsilon = leader, seen, rejected, narrow, epsilon
        # Counts as they move within the batch: the leader's, and an arm's while its group is looked at.
        self.moved = moved


class Groups:
    """Queues of arms of one kind that were pulled equally often in this batch, and a heap of those that are not empty."""

    def __init__(self, n: int, room: int) -> None:
        self.following = np.empty(n, np.int64)  # the arm that follows each arm in its queue
        # By group: an arm of its kind; the ends of its queue, −1 where it is empty and not in the heap; the group of arms
        # that were pulled once more, −1 if there is none yet. The heap has groups by how little they are told apart from the
        # leader, with these keys. There may be as many groups as pulls, but hardly ever are: what is not touched costs nothing.
        self.arm, self.head, self.tail, self.onward, self.heap = np.empty((5, room), np.int64)
        # By group: the count of each of its arms; the leader's part in its key, and the leader's count then, −1 if the key
        # is only a lower bound.
        self.moved, self.keys, self.parts, self.stamps = np.empty((4, room))
        self.used, self.size = 0, 0  # how many groups there are, and how many are in the heap


def plan(kinds: IntArray, firsts: IntArray, rule: Rule, coins: FloatArray, spared: int) -> IntArray:
    """Pull by pull, as `sampling.plan` does, with the kind of each arm and the first arm of each kind."""
    made, groups = np.zeros(len(kinds), np.int64), Groups(len(kinds), len(firsts) + len(coins) + 1)
    times = made
    starved = begin(kinds, firsts, rule, groups)
    if spared > 0:
        times[groups.head[starved]] += spared - 1
        later = opened(groups.arm[starved], groups.moved[starved] + spared, groups)
        push(groups.keys[0], later, groups)
        pull_in_turn(starved, later, 0.0, coins, 0, 1, times, groups)
    pull(rule, groups, coins, spared, times)
    return made


def begin(kinds: IntArray, firsts: IntArray, rule: Rule, groups: Groups) -> int:
    """Fill the groups and the heap. Returns the group that looks worst for want of pulls."""
    leader, moved = rule.leader, rule.moved
    for g in range(len(firsts)):
        opened(firsts[g], moved[firsts[g]], groups)
    for j in range(len(kinds)):
        if j != leader:
            append(j, kinds[j], groups)
    starved, least = -1, libm.inf
    for g in range(groups.used):
        if groups.head[g] >= 0:
            key, part = key_of(groups.arm[g], rule)
            groups.parts[g], groups.stamps[g] = part, moved[leader]
            push(key, g, groups)
            flat = key + libm.log(moved[groups.arm[g]])
            if flat < least:
                starved, least = g, flat
    return starved


def key_of(arm: int, rule: Rule) -> tuple[float, float]:
    """How little an arm is told apart from the leader, and the leader's part in it."""
    a, seen, often = rule.leader, rule.seen, rule.moved[arm]
    if rule.narrow[arm]:
        return sampling.narrow_key(arm, a, rule.moved, seen, rule.rejected[arm], rule.epsilon)
    apart, part = sampling.separation(  # as `sampling.key_of`, which would be handed a whole array each time
        rule.moved[a], seen.means[a], seen.spreads[a], often, seen.means[arm], seen.spreads[arm], rule.epsilon
    )
    return apart + libm.log(often) + (REJECTED if rule.rejected[arm] else 0.0), part


def pull(rule: Rule, groups: Groups, coins: FloatArray, at: int, times: IntArray) -> None:
    """A pull a coin: of the leader, or of an arm of the first group. Keys only rise: a group whose key rose goes back."""
    leader, moved, keys = rule.leader, rule.moved, groups.keys
    while at < len(coins):
        g = groups.heap[0]
        if groups.head[g] < 0:  # it is empty, and leaves the heap
            groups.size -= 1
            groups.tail[g], keys[0], groups.heap[0] = -1, keys[groups.size], groups.heap[groups.size]
            sampling.sift(keys, groups.heap, groups.size, 0)
            continue
        if groups.stamps[g] != moved[leader]:
            moved[groups.arm[g]] = groups.moved[g]
            key, part = key_of(groups.arm[g], rule)
            groups.parts[g], groups.stamps[g] = part, moved[leader]
            if key > keys[0]:
                keys[0] = key
                sampling.sift(keys, groups.heap, groups.size, 0)
                continue
        if coins[at] < groups.parts[g]:
            times[leader] += 1
            moved[leader] += 1.0
            at += 1
            continue
        if groups.onward[g] < 0:
            groups.onward[g] = opened(groups.arm[g], groups.moved[g] + 1.0, groups)
        later = groups.onward[g]
        if groups.tail[later] < 0:  # its key is not known yet, but at least as large
            groups.stamps[later] = -1.0
            push(keys[0], later, groups)
        at = pull_in_turn(g, later, groups.parts[g], coins, at, len(coins), times, groups)


def opened(arm: int, moved: float, groups: Groups) -> int:
    """A new group, for arms like this one after so many pulls."""
    new = groups.used
    groups.used = new + 1
    groups.arm[new], groups.moved[new], groups.stamps[new] = arm, moved, -1.0
    groups.head[new], groups.tail[new], groups.onward[new] = -1, -1, -1
    return new


def append(j: int, g: int, groups: Groups) -> None:
    """Put an arm at the end of a group."""
    groups.following[j] = -1
    if groups.head[g] < 0:
        groups.head[g] = j
    else:
        groups.following[groups.tail[g]] = j
    groups.tail[g] = j


def pull_in_turn(
    g: int, later: int, part: float, coins: FloatArray, at: int, end: int, times: IntArray, groups: Groups
) -> int:
    """Pull arms of a group, each once, until it is empty or a coin says that it is the leader's turn. Returns the next coin.

    The group stays first all that time: neither its key nor the leader's count changes, and pulled arms have larger keys.
    """
    first, last, j = groups.head[g], -1, groups.head[g]
    while at < end and coins[at] >= part and j >= 0:
        times[j] += 1
        last, j = j, groups.following[j]
        at += 1
    if last >= 0:  # those that were pulled go to the end of the other group as they are, one after the other
        if groups.head[later] < 0:
            groups.head[later] = first
        else:
            groups.following[groups.tail[later]] = first
        groups.tail[later], groups.following[last], groups.head[g] = last, -1, j
    return at


def push(key: float, g: int, groups: Groups) -> None:
    """Put a group into the heap."""
    place, keys, heap = groups.size, groups.keys, groups.heap
    groups.size = place + 1
    while place > 0 and keys[(place - 1) // 2] > key:
        keys[place], heap[place] = keys[(place - 1) // 2], heap[(place - 1) // 2]
        place = (place - 1) // 2
    keys[place], heap[place] = key, g
