"""Strategies under comparison, and the best of each cluster so far (spec section 5, ties included)."""

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from model.arrays import Array, Booleans, Floats, Integers
from model.columns import Columns

TIE = 1e-9  # relative difference below which two strategies count as equally good
ROUNDING = 1e-12  # relative difference that two ways of computing one time can have


class Ranked(Protocol):
    """Strategies of clusters, and their order where they are equally good."""

    @property
    def cluster(self) -> Integers:
        """The number of the cluster of each."""

    @property
    def rank(self) -> Array:
        """The lower, the earlier."""


Strategy = TypeVar("Strategy", bound=Ranked)


@dataclass(frozen=True)
class Candidates(Columns):
    """Strategies without their placement: exponents of the degrees, schedule, compute time of a step in s.

    `tokens` are those of an expert's microbatch, `blocks` the feed-forward blocks that a GPU runs one after the other.
    `rank` orders them as ties are broken: least TP, PP, TP_ff, 1F1B before zero-bubble, fewest microbatches.
    """

    cluster: Integers
    dp: Integers
    tp: Integers
    tp_ff: Integers
    pp: Integers
    zero_bubble: Booleans
    microbatches: Floats
    interleaving: Floats
    bubble: Floats
    tokens: Floats
    blocks: Floats
    compute: Floats
    rank: Array


@dataclass(frozen=True)
class Placed(Columns, Generic[Strategy]):
    """Candidates with a placement (usage of DP, columns of pairs of usages), and what it makes of the step, in s."""

    candidate: Strategy
    dp_usage: Integers
    tp_column: Integers
    pp_ep_column: Integers
    time: Floats
    comm: Floats
    latency: Floats


class Incumbents(Generic[Strategy]):
    """The best placed strategy of each cluster so far, and those that tie with it in time and may yet come before it.

    `limit` is the time that a cluster's strategies must stay below.
    """

    time: Floats
    comm: Floats
    rank: Floats
    latency: Floats

    def __init__(self, limit: Floats):
        self.limit = limit
        self.tied: list[Placed[Strategy]] = []
        self.best: Placed[Strategy] | None = None
        self._know(np.array([], dtype=int), *np.empty((4, 0)))

    def _know(self, cluster: Integers, time: Floats, comm: Floats, rank: Array, latency: Floats) -> None:
        self.time, self.comm, self.rank, self.latency = (self.limit.copy(), *np.full((3, len(self.limit)), np.inf))
        for known, value in ((self.time, time), (self.comm, comm), (self.rank, rank), (self.latency, latency)):
            known[cluster] = value

    def reached(self, cluster: Integers | int, time: Floats) -> Booleans:
        """Whether a strategy of at least this time could be as fast as its cluster's best."""
        return time <= self.time[cluster] * (1 + TIE)

    def loses_tie(self, cluster: Integers | int, time: Floats, comm: Floats, rank: Array, latency: Floats) -> Booleans:
        """Whether a strategy with these lower bounds at best ties with its cluster's best, and then comes after it."""
        best_comm, best_rank = self.comm[cluster], self.rank[cluster]
        comes_later = (rank > best_rank) | ((rank == best_rank) & (latency >= self.latency[cluster]))
        loses = (comm > best_comm * (1 + 2 * TIE)) | ((comm * (1 + ROUNDING) >= best_comm) & comes_later)
        certain: Booleans = loses & (time * (1 + ROUNDING) >= self.time[cluster])
        return certain

    def count_tied(self) -> int:
        """How many strategies tie so far."""
        return sum(map(len, self.tied))

    def add(self, placed: Placed[Strategy]) -> None:
        """Let newly placed strategies compete."""
        pool = Placed.concatenated([*self.tied, placed])
        cluster = pool.candidate.cluster
        least = _least_of_each(pool.time, cluster, len(self.limit))[cluster]
        pool = pool.take(np.nonzero((pool.time < self.limit[cluster]) & (pool.time <= least * (1 + TIE)))[0])
        first = _first_of_each(pool, len(self.limit))
        best = pool.take(first)
        self._know(best.candidate.cluster, best.time, best.comm, best.candidate.rank, best.latency)
        losing = self.loses_tie(pool.candidate.cluster, pool.time, pool.comm, pool.candidate.rank, pool.latency)
        kept = ~(losing | _communicates_more_than_faster_ones(pool))
        kept[first] = True
        self.tied, self.best = [pool.take(np.nonzero(kept)[0])], best


def _communicates_more_than_faster_ones(tied: Placed[Strategy]) -> Booleans:
    """Which strategies have another of their cluster that is no slower, and communicates so much less that it wins."""
    order = np.lexsort((tied.time, tied.candidate.cluster))
    cluster, comm = tied.candidate.cluster[order], tied.comm[order]
    values, number = np.unique(comm, return_inverse=True)
    start = cluster * len(values)  # a running minimum starts anew with each cluster
    least = values[np.minimum.accumulate(number - start) + start]
    more: Booleans = np.empty(len(order), dtype=bool)
    more[order] = comm > least * (1 + 2 * TIE)
    return more


def _least_of_each(value: Floats, group: Integers, count: int) -> Floats:
    """The least value of each of `count` groups, infinite where a group has none."""
    least = np.full(count, np.inf)
    np.minimum.at(least, group, value)
    return least


def _first_of_each(tied: Placed[Strategy], count: int) -> Integers:
    """Of strategies that tie in time, each cluster's best: least communication, then rank, then latency."""
    cluster = tied.candidate.cluster
    least = _least_of_each(tied.comm, cluster, count)
    more_comm = tied.comm > least[cluster] * (1 + TIE)
    order = np.lexsort((tied.latency, tied.candidate.rank, more_comm, cluster))
    _, first = np.unique(cluster[order], return_index=True)
    return order[first]
