"""Where on the network hierarchy a strategy's degrees lie, and what that can cost (spec section 5).

A cluster of E · 2^i GPUs fills each inner level with some units, whose twos are shared out among the degrees (their
odd part can only be expert parallelism); the outermost level takes what is left of each degree. How many twos of each
inner level a kind of parallelism uses is its *usage*. Data, tensor, and pipeline with expert parallelism touch each
other only through their usages, which must add up to the units: so each has a table of what it can cost at every usage,
and the search combines usages rather than placements.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from model.arrays import ZERO, Booleans, Floats, Integers
from model.incumbents import TIE
from model.integers import POWERS_OF_TWO, odd_part, twos
from model.network import point_to_point
from model.parallelism import Network, interfaces_within

Values = TypeVar("Values", Floats, Integers)

BLOCK = 2**18  # elements of a table that are worked out together


@dataclass(frozen=True)
class Usages:
    """Every way to use the twos of the inner levels, numbered so that numbers add as usages do.

    `vectors` (usages, inner levels) are the twos used, `fits` (usages, usages) says which pairs can go together, `odd`
    is the odd part of each level's units. The last usage is all there is.
    """

    vectors: Integers
    fits: Booleans
    grid: tuple[int, ...]
    odd: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.vectors)

    def least_within(self, least: Floats) -> Floats:
        """The least of a row's entries over all usages that are nowhere larger, for (rows, usages)."""
        result = least.reshape(-1, *self.grid[::-1])
        for axis in range(1, result.ndim):
            result = np.minimum.accumulate(result, axis=axis)
        return result.reshape(least.shape)


@lru_cache(maxsize=64)
def usages(units: tuple[int, ...]) -> Usages:
    """The usages of inner levels that join `units` units."""
    joined = np.array(units, dtype=int)
    most = twos(joined)
    grid = tuple(twos_here + 1 for twos_here in most.tolist())
    vectors = np.indices(grid[::-1]).reshape(len(grid), math.prod(grid))[::-1].T
    fits: Booleans = np.all(vectors[:, None, :] + vectors[None, :, :] <= most, axis=-1)
    return Usages(vectors, fits, grid, tuple(odd_part(joined).tolist()))


@dataclass(frozen=True)
class PairColumns:
    """Every pair of usages that two degrees can have beside each other, grouped by the usage they add up to.

    `first` and `second` (columns) are the two usages, `start` (usages) is where a usage's columns begin, `of_usage`
    (usages, most columns of any) are their numbers, padded with -1.
    """

    first: Integers
    second: Integers
    start: Integers
    of_usage: Integers

    def least(self, value: Values) -> Values:
        """The least of a row's entries over the pairs that add up to each usage, for (rows, columns)."""
        least: Values = np.minimum.reduceat(value, self.start, axis=1)
        return least


@lru_cache(maxsize=64)
def pair_columns(units: tuple[int, ...], second_most: int) -> PairColumns:
    """The pairs over inner levels that join `units` units, the second degree being at most 2^second_most."""
    space = usages(units)
    first, second = np.nonzero(space.fits & (space.vectors.sum(axis=-1) <= second_most))
    order = np.argsort(first + second, kind="stable")
    first, second = first[order], second[order]
    counts = np.bincount(first + second, minlength=len(space))
    start = np.cumsum(counts) - counts
    offset = np.arange(counts.max())
    of_usage = np.where(offset < counts[:, None], start[:, None] + offset, -1)
    return PairColumns(first, second, start, of_usage)


def over_levels(space: Usages, usage: Integers, exponent: Integers) -> tuple[list[Floats], Booleans]:
    """A power-of-two degree's factors at each level, innermost first, and whether it is large enough for its usage."""
    used = space.vectors[usage]
    outermost = exponent - used.sum(axis=-1)
    inner = [POWERS_OF_TWO[used[..., level]] for level in range(used.shape[-1])]
    return [*inner, POWERS_OF_TWO[np.maximum(outermost, 0)]], outermost >= 0


def experts_over_levels(space: Usages, usage: Integers, sparsity: Integers) -> tuple[list[Floats], Booleans]:
    """Expert parallelism's factors at each level: as `over_levels`, with the odd factors of the units."""
    factors, large_enough = over_levels(space, usage, twos(sparsity))
    inner = [factor * odd for factor, odd in zip(factors, space.odd, strict=False)]
    return [*inner, factors[-1] * odd_part(sparsity) / math.prod(space.odd)], large_enough


class Cost(NamedTuple):
    """Bandwidth time and latency time of one kind of communication, in s."""

    comm: Floats
    latency: Floats

    def pick(self, scale: "Cost", row: Integers, column: Integers | int, case: Integers) -> "Cost":
        """The entries of a table at (row, column), times the scale of the case that asks."""
        return Cost(self.comm[row, column] * scale.comm[case], self.latency[row, column] * scale.latency[case])

    def rows(self, scale: "Cost", row: Integers, case: Integers) -> "Cost":
        """Whole rows of a table, times the scale of the case that asks: (rows, columns)."""
        return Cost(self.comm[row] * scale.comm[case, None], self.latency[row] * scale.latency[case, None])

    def reversed(self) -> "Cost":
        """With the columns in reverse, which for usages are what each leaves of the last."""
        return Cost(self.comm[:, ::-1], self.latency[:, ::-1])

    def times(self, scale: "Cost", case: Integers) -> "Cost":
        """Each cost, times the scale of its case."""
        return Cost(self.comm * scale.comm[case], self.latency * scale.latency[case])

    def where(self, possible: Booleans) -> "Cost":
        """The costs, infinite where not possible."""
        return Cost(np.where(possible, self.comm, np.inf), np.where(possible, self.latency, np.inf))


NOTHING = Cost(ZERO, ZERO)


@dataclass(frozen=True)
class CostTable:
    """The least that one kind of parallelism can cost, bandwidth time and latency separately: a row for each degree.

    `at` has a column for each usage; `within` is the least of `at` over all usages that fit in one. Infinite where the
    degree is too small for its usage.
    """

    at: Cost
    within: Cost


def repeated(count: Integers) -> tuple[Integers, Integers]:
    """Each index as often as `count` says, and the number of each repetition."""
    index = np.repeat(np.arange(len(count)), count)
    return index, np.arange(len(index)) - (np.cumsum(count) - count)[index]


@dataclass(frozen=True)
class Contenders:
    """The pairs of usages that could be the best for their sum, whatever they are compared with.

    `column` are numbers of pairs. Those of a row of the table and a usage stand together, `count` (rows, usages) of
    them from `start` on.
    """

    column: Integers
    start: Integers
    count: Integers

    def of(self, row: Integers, usage: Integers) -> tuple[Integers, Integers]:
        """The contenders of each case: the number of the case, and the pair."""
        case, number = repeated(self.count[row, usage])
        return case, self.column[self.start[row, usage][case] + number]


Costing: TypeAlias = Callable[[Integers, Integers], Cost]  # of a column of row numbers and the numbers of all columns


def tabulate(space: Usages, rows: int, cost: Costing) -> CostTable:
    """Table of `cost`, whose columns are usages."""
    at = cost(np.arange(rows)[:, None], np.arange(len(space)))
    return CostTable(at, Cost(*(space.least_within(part) for part in at)))


def tabulate_pairs(
    space: Usages, rows: int, pairs: PairColumns, least: Costing, most: Costing
) -> tuple[CostTable, Contenders]:
    """Table of the least of `least` over the pairs that make a usage, and which of them could be the best.

    Pairs cost at least `least` and at most `most`.
    """
    columns = np.arange(len(pairs.first))
    step = max(1, BLOCK // len(columns))
    blocks = []
    for start in range(0, rows, step):
        row = np.arange(start, min(start + step, rows))[:, None]
        low = least(row, columns)
        kept = _could_be_best(pairs, low, low if most == least else most(row, columns))
        count = np.add.reduceat(kept, pairs.start, axis=1, dtype=np.int32)
        blocks.append((pairs.least(low.comm), pairs.least(low.latency), count, np.nonzero(kept)[1].astype(np.int32)))
    comm, latency, count, column = (np.concatenate(part) for part in zip(*blocks, strict=True))
    at = Cost(comm, latency)
    contenders = Contenders(column, (np.cumsum(count) - count.ravel()).reshape(count.shape), count)
    return CostTable(at, Cost(*(space.least_within(part) for part in at))), contenders


def _could_be_best(pairs: PairColumns, low: Cost, high: Cost) -> Booleans:
    """Which pairs could be the best of their usage, (rows, columns), if they cost from `low` to `high`.

    Of those with the least bandwidth time, the first with the least latency leads; those that are nowhere below it are
    no better.
    """
    usage, number = pairs.first + pairs.second, np.arange(len(pairs.first))
    latency = np.where(high.comm <= pairs.least(high.comm)[:, usage] * (1 + TIE), high.latency, np.inf)
    leads = latency <= pairs.least(latency)[:, usage] * (1 + TIE)
    first: Integers = np.where(leads, number, len(number))
    leader = pairs.least(first)[:, usage]
    comm, latency = (np.take_along_axis(part, leader, axis=1) for part in high)
    could: Booleans = (comm > low.comm) | (latency > low.latency) | (leader == number)
    return could


def pipeline_expert_floor(
    network: Network, space: Usages, pp: Integers, sparsity: Integers, interleaving: Floats, n_layers: Integers
) -> Cost:
    """A lower bound of `pipeline_expert` for one word on one GPU, (rows, usages); infinite where impossible.

    `pp` (an exponent) and the other arguments are (rows, 1). The messages within a level are a product of what the
    pipeline and what the experts keep within it, and the time is a weighted sum of them over the levels: the bound
    takes the best share of the usage up to each level for that level alone.
    """
    interfaces = n_layers - 1
    ep = twos(sparsity)
    units = [Cost(*map(np.asarray, point_to_point(level, 1.0, 2.0, 1.0, 1.0, 1.0))) for level in network]
    stay = interfaces_within(POWERS_OF_TWO[pp], interleaving, n_layers)
    comm = interfaces * units[-1].comm - stay / sparsity * units[0].comm
    latency = interfaces * units[-1].latency - stay * (sparsity == 1) * units[0].latency
    used = np.cumsum(space.vectors, axis=1)
    pp, ep, sparsity, n_layers = (part[:, :, None] for part in (pp, ep, sparsity, n_layers))
    interleaving = interleaving[:, :, None]
    for index, (here, beyond) in enumerate(pairwise(units)):
        total, pipeline = np.ogrid[: used[-1, index] + 1, : used[-1, index] + 1]
        experts = total - pipeline
        possible = (experts >= 0) & (pipeline <= pp) & (experts <= ep)
        stages_beyond = POWERS_OF_TWO[np.maximum(pp - pipeline, 0)]
        experts_beyond = sparsity / (math.prod(space.odd[: index + 1]) * POWERS_OF_TWO[np.maximum(experts, 0)])
        within = interfaces_within(stages_beyond, interleaving, n_layers)
        gain = Cost(within / experts_beyond * (here.comm - beyond.comm), within * (here.latency - beyond.latency))
        gain = Cost(gain.comm, np.where(experts_beyond == 1, gain.latency, 0)).where(possible)
        comm = comm + gain.comm.min(axis=-1)[:, used[:, index]]
        latency = latency + gain.latency.min(axis=-1)[:, used[:, index]]
    rounding = 1e-14 * interfaces[:, :1]
    comm = np.maximum(comm - rounding * max(unit.comm for unit in units), 0)
    latency = np.maximum(latency - rounding * max(unit.latency for unit in units), 0)
    return Cost(comm, latency)
