"""Where Wager pulls next among very many arms: the rule of `sampling.plan`, with arms in the same state taken together.

Each pull of the leader changes how far all others are told apart from it. In a heap of arms, all that tie would be looked at
again each time; in a heap of groups, there is only as much to look at as there are states.
"""

import math
from typing import NamedTuple

import numpy as np

from surest.algorithms.wager.sampling import Seen, _key, _narrow_key, _sift, narrow_pairs
from surest.compiled import compiled
from surest.core.protocol import BoolArray, FloatArray, IntArray
from surest.evidence.alike import kinds_of


class Rule(NamedTuple):
    """What decides which group comes first."""

    leader: int
    seen: Seen
    moved: FloatArray
    """Counts as they move within the batch: the leader's, and those of an arm while its group is looked at."""
    rejected: BoolArray
    narrow: BoolArray
    epsilon: float


class Groups(NamedTuple):
    """Queues of arms of one kind that were pulled equally often in this batch, and a heap of those that are not empty."""

    arm: IntArray
    """An arm of the group's kind."""
    moved: FloatArray
    """The count of each of its arms."""
    head: IntArray
    """The first arm of the queue, −1 if it is empty."""
    tail: IntArray
    """The last arm, −1 if the group is not in the heap."""
    following: IntArray
    """The arm that follows each arm in its queue."""
    onward: IntArray
    """The group of arms that were pulled once more; −1 if there is none yet."""
    keys: FloatArray
    """How little a group is told apart from the leader, in the order of the heap, …"""
    parts: FloatArray
    """… and by group: the leader's part in it, …"""
    stamps: FloatArray
    """… and the leader's count then; −1 if the key is only a lower bound."""
    heap: IntArray
    sizes: IntArray
    """How many groups are in the heap, and how many there are."""


def plan_many(leader: int, seen: Seen, rejected: BoolArray, epsilon: float, coins: FloatArray, spared: int) -> IntArray:
    """How often to pull each arm: as `sampling.plan` says, but for which of several arms in the same state is pulled."""
    narrow = narrow_pairs(leader, seen)
    own = np.where(narrow, np.arange(len(narrow)), -1)  # these are told apart by all of their rewards
    own[leader] = leader
    kinds, firsts = kinds_of(seen.counts, seen.planned, seen.means, seen.spreads, rejected, own)
    rule = Rule(leader, seen, seen.planned.copy(), rejected, narrow, epsilon)
    groups = _grouped(firsts, rule, len(firsts) + len(coins) + 1)
    times: IntArray = _plan(kinds, rule, groups, coins, spared)
    return times


def _grouped(firsts: IntArray, rule: Rule, room: int) -> Groups:
    """A group a kind, without arms yet."""
    k, none = len(firsts), np.full(room, -1)
    arm, moved = none.copy(), np.zeros(room)
    arm[:k], moved[:k] = firsts, rule.moved[firsts]
    following = np.full(len(rule.moved), -1)
    keys, parts, stamps, heap, sizes = (
        np.empty(room),
        np.empty(room),
        np.full(room, -1.0),
        none.copy(),
        np.array([0, k]),
    )
    return Groups(arm, moved, none.copy(), none.copy(), following, none, keys, parts, stamps, heap, sizes)


@compiled
def _plan(kinds: IntArray, rule: Rule, groups: Groups, coins: FloatArray, spared: int) -> IntArray:
    """Pull by pull, as `sampling.plan` does."""
    times = np.zeros(len(kinds), np.int64)
    starved = _begin(kinds, rule, groups)
    if spared > 0:
        times[groups.head[starved]] += spared - 1
        later = _opened(starved, float(spared), groups.arm, groups.moved, groups.sizes)
        _push(groups.keys[0], later, groups.keys, groups.heap, groups.sizes)
        _pull_in_turn(starved, later, 0.0, coins[:1], 0, times, groups.head, groups.tail, groups.following)
    _pull(rule, groups, coins[spared:], times)
    return times


@compiled
def _begin(kinds: IntArray, rule: Rule, groups: Groups) -> int:
    """Fill the groups and the heap. Returns the group that looks worst for want of pulls."""
    leader, seen, moved, rejected, narrow, epsilon = rule
    arm, _, head, tail, following, _, keys, parts, stamps, heap, sizes = groups
    means, spreads = seen.means, seen.spreads
    for j in range(len(kinds)):
        if j != leader:
            _append(j, kinds[j], head, tail, following)
    starved, least = -1, np.inf
    for g in range(sizes[1]):
        if head[g] >= 0:
            if narrow[arm[g]]:
                key, part = _narrow_key(arm[g], leader, moved, seen, rejected, epsilon)
            else:
                key, part = _key(arm[g], leader, moved, means, spreads, rejected, epsilon)
            parts[g], stamps[g] = part, moved[leader]
            _push(key, g, keys, heap, sizes)
            flat = key + math.log(moved[arm[g]])
            if flat < least:
                starved, least = g, flat
    return starved


@compiled
def _pull(rule: Rule, groups: Groups, coins: FloatArray, times: IntArray) -> None:
    """A pull a coin: of the leader, or of an arm of the first group. Keys only rise: a group whose key rose goes back."""
    leader, seen, moved, rejected, narrow, epsilon = rule  # taken apart once: it takes longer than a key
    arm, moved_to, head, tail, following, onward, keys, parts, stamps, heap, sizes = groups
    means, spreads, at = seen.means, seen.spreads, 0
    while at < len(coins):
        g, last = heap[0], sizes[0] - 1
        if head[g] < 0:  # it is empty, and leaves the heap
            tail[g], sizes[0], keys[0], heap[0] = -1, last, keys[last], heap[last]
            _sift(keys[:last], heap[:last], 0)
            continue
        if stamps[g] != moved[leader]:
            moved[arm[g]] = moved_to[g]
            if narrow[arm[g]]:
                key, part = _narrow_key(arm[g], leader, moved, seen, rejected, epsilon)
            else:
                key, part = _key(arm[g], leader, moved, means, spreads, rejected, epsilon)
            parts[g], stamps[g] = part, moved[leader]
            if key > keys[0]:
                keys[0] = key
                _sift(keys[: last + 1], heap[: last + 1], 0)
                continue
        if coins[at] < parts[g]:
            times[leader] += 1
            moved[leader] += 1.0
            at += 1
            continue
        if onward[g] < 0:
            onward[g] = _opened(g, 1.0, arm, moved_to, sizes)
        if tail[onward[g]] < 0:  # its key is not known yet, but at least as large
            stamps[onward[g]] = -1.0
            _push(keys[0], onward[g], keys, heap, sizes)
        at = _pull_in_turn(g, onward[g], parts[g], coins, at, times, head, tail, following)


@compiled
def _opened(g: int, more: float, arm: IntArray, moved_to: FloatArray, sizes: IntArray) -> int:
    """A new group, for arms of this one after so many more pulls."""
    new = sizes[1]
    sizes[1] = new + 1
    arm[new], moved_to[new] = arm[g], moved_to[g] + more
    return int(new)


@compiled
def _append(j: int, g: int, head: IntArray, tail: IntArray, following: IntArray) -> None:
    """Put an arm at the end of a group."""
    following[j] = -1
    if head[g] < 0:
        head[g] = j
    else:
        following[tail[g]] = j
    tail[g] = j


@compiled
def _pull_in_turn(
    g: int,
    later: int,
    part: float,
    coins: FloatArray,
    at: int,
    times: IntArray,
    head: IntArray,
    tail: IntArray,
    following: IntArray,
) -> int:
    """Pull arms of a group, each once, until it is empty or a coin says that it is the leader's turn. Returns the next coin.

    The group stays first all that time: neither its key nor the leader's count changes, and pulled arms have larger keys.
    """
    while at < len(coins) and coins[at] >= part and head[g] >= 0:
        j = head[g]
        times[j] += 1
        head[g] = following[j]
        _append(j, later, head, tail, following)
        at += 1
    return at


@compiled
def _push(key: float, g: int, keys: FloatArray, heap: IntArray, sizes: IntArray) -> None:
    """Put a group into the heap."""
    place = sizes[0]
    sizes[0] = place + 1
    while place > 0 and keys[(place - 1) // 2] > key:
        keys[place], heap[place] = keys[(place - 1) // 2], heap[(place - 1) // 2]
        place = (place - 1) // 2
    keys[place], heap[place] = key, g
