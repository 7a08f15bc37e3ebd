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
    """… and the leader's count then."""
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
    times, leader = np.zeros(len(kinds), np.int64), rule.leader
    head, tail, following = groups.head, groups.tail, groups.following
    for j in range(len(kinds)):
        if j != leader:
            _append(j, kinds[j], head, tail, following)
    starved, least = -1, np.inf
    for g in range(groups.sizes[1]):
        if head[g] >= 0:
            key = _group_key(g, rule, groups)
            _push(key, g, groups)
            if key + math.log(groups.moved[g]) < least:
                starved, least = g, key + math.log(groups.moved[g])
    if spared > 0:
        later = _opened(starved, float(spared), groups)
        times[head[starved]] += spared - 1
        _pull_in_turn(starved, later, 0.0, coins[:1], times, groups)
        _push(_group_key(later, rule, groups), later, groups)
    at = spared
    while at < len(coins):
        g = _first(rule, groups)
        if coins[at] < groups.parts[g]:
            times[leader] += 1
            rule.moved[leader] += 1.0
            at += 1
            continue
        if groups.onward[g] < 0:
            groups.onward[g] = _opened(g, 1.0, groups)
        later = groups.onward[g]
        is_waiting = tail[later] >= 0
        at += _pull_in_turn(g, later, groups.parts[g], coins[at:], times, groups)
        if not is_waiting:
            _push(_group_key(later, rule, groups), later, groups)
    return times


@compiled
def _group_key(g: int, rule: Rule, groups: Groups) -> float:
    """How little the arms of a group are told apart from the leader, by one of them."""
    j, seen = groups.arm[g], rule.seen
    rule.moved[j] = groups.moved[g]
    if rule.narrow[j]:
        key, part = _narrow_key(j, rule.leader, rule.moved, seen, rule.rejected, rule.epsilon)
    else:
        key, part = _key(j, rule.leader, rule.moved, seen.means, seen.spreads, rule.rejected, rule.epsilon)
    groups.parts[g], groups.stamps[g] = part, rule.moved[rule.leader]
    return key


@compiled
def _first(rule: Rule, groups: Groups) -> int:
    """The group least told apart from the leader. Keys only rise: one that rose goes back. Empty groups drop out."""
    keys, heap, sizes = groups.keys, groups.heap, groups.sizes
    while True:
        g, last = heap[0], sizes[0] - 1
        if groups.head[g] < 0:
            sizes[0], keys[0], heap[0] = last, keys[last], heap[last]
            groups.tail[g] = -1  # it is not in the heap any more
        elif groups.stamps[g] == rule.moved[rule.leader]:
            return int(g)
        else:
            key = _group_key(g, rule, groups)
            if not key > keys[0]:
                return int(g)
            keys[0] = key
        _sift(keys[: sizes[0]], heap[: sizes[0]], 0)


@compiled
def _opened(g: int, more: float, groups: Groups) -> int:
    """A new group, for arms of this one after so many more pulls."""
    new = groups.sizes[1]
    groups.sizes[1] = new + 1
    groups.arm[new], groups.moved[new] = groups.arm[g], groups.moved[g] + more
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
def _pull_in_turn(g: int, later: int, part: float, coins: FloatArray, times: IntArray, groups: Groups) -> int:
    """Pull arms of a group, each once, until it is empty or a coin says that it is the leader's turn. Returns how many.

    The group stays first all that time: neither its key nor the leader's count changes, and pulled arms have larger keys.
    """
    head, tail, following, pulled = groups.head, groups.tail, groups.following, 0
    while pulled < len(coins) and coins[pulled] >= part and head[g] >= 0:
        j = head[g]
        times[j] += 1
        head[g] = following[j]
        _append(j, later, head, tail, following)
        pulled += 1
    return pulled


@compiled
def _push(key: float, g: int, groups: Groups) -> None:
    """Put a group into the heap."""
    keys, heap, place = groups.keys, groups.heap, groups.sizes[0]
    groups.sizes[0] = place + 1
    while place > 0 and keys[(place - 1) // 2] > key:
        keys[place], heap[place] = keys[(place - 1) // 2], heap[(place - 1) // 2]
        place = (place - 1) // 2
    keys[place], heap[place] = key, g
