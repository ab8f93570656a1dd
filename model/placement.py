"""Where on the network hierarchy a strategy's degrees lie (spec section 5).

A cluster of E · 2^i GPUs fills each inner level with some units, whose twos are shared out among the degrees (their odd
part can only be expert parallelism); the outermost level takes what is left of each degree. How many twos of each inner
level a kind of parallelism uses is its *usage*, a mixed-radix number. Data, tensor, and pipeline with expert parallelism
touch each other only through usage, which must add up to the units: so each has a table of what it can cost at every
usage, and the search combines tables rather than placements.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from model.integers import POWERS_OF_TWO, odd_part, twos


@dataclass(frozen=True)
class Usages:
    """Every way to use the twos of the inner levels, numbered so that numbers add as usages do.

    `vectors` (count, inner levels) are the twos used, `fits` (count, count) says whether two usages leave room for each
    other. The last usage is all there is.
    """

    vectors: np.ndarray
    fits: np.ndarray
    grid: tuple[int, ...]
    odd: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.vectors)

    def least_within(self, least: np.ndarray) -> np.ndarray:
        """Running minimum of (rows, usages) over every usage that is nowhere larger."""
        result = least.reshape(-1, *self.grid[::-1])
        for axis in range(1, result.ndim):
            result = np.minimum.accumulate(result, axis=axis)
        return result.reshape(least.shape)


@lru_cache(maxsize=64)
def usages(units: tuple[int, ...]) -> Usages:
    """The usages of inner levels that join `units` units."""
    most = [int(twos(unit)) for unit in units]
    grid = tuple(twos_here + 1 for twos_here in most)
    vectors = np.indices(grid[::-1]).reshape(len(grid), math.prod(grid))[::-1].T
    fits = (vectors[:, None, :] + vectors[None, :, :] <= np.array(most, dtype=int)).all(axis=-1)
    return Usages(vectors, fits, grid, tuple(int(odd_part(unit)) for unit in units))


@dataclass(frozen=True)
class PairColumns:
    """Every pair of usages that two degrees can have beside each other, grouped by the usage they add up to.

    `first` and `second` (columns) are the two usages, `start` (usages) where a usage's columns begin, `of_usage`
    (usages, most columns of any) their numbers, padded with -1.
    """

    first: np.ndarray
    second: np.ndarray
    start: np.ndarray
    of_usage: np.ndarray


@lru_cache(maxsize=64)
def pair_columns(units: tuple[int, ...], second_most: int) -> PairColumns:
    """The columns of tables of two degrees, the second of at most 2^second_most, over levels that join `units` units."""
    space = usages(units)
    first, second = np.nonzero(space.fits & (space.vectors.sum(axis=-1) <= second_most))
    order = np.argsort(first + second, kind="stable")
    first, second = first[order], second[order]
    counts = np.bincount(first + second, minlength=len(space))
    start = np.cumsum(counts) - counts
    offset = np.arange(counts.max())
    of_usage = np.where(offset < counts[:, None], start[:, None] + offset, -1)
    return PairColumns(first, second, start, of_usage)


def over_levels(space: Usages, usage: np.ndarray, exponent: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """A power-of-two degree's factors at each level, innermost first, and whether it is large enough for its usage."""
    used = space.vectors[usage]
    outermost = exponent - used.sum(axis=-1)
    inner = [POWERS_OF_TWO[used[..., level]] for level in range(used.shape[-1])]
    return [*inner, POWERS_OF_TWO[np.maximum(outermost, 0)]], outermost >= 0


def expert_levels(space: Usages, usage: np.ndarray, sparsity: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Expert parallelism's factors at each level: as `over_levels`, and every odd factor of the units besides."""
    factors, large_enough = over_levels(space, usage, twos(sparsity))
    inner = [factor * odd for factor, odd in zip(factors, space.odd, strict=False)]
    odd_outermost = odd_part(sparsity) / np.prod(np.array(space.odd, dtype=float))
    return [*inner, factors[-1] * odd_outermost], large_enough


class Cost(NamedTuple):
    """Bandwidth time and latency time of one kind of communication, in s."""

    comm: np.ndarray
    latency: np.ndarray

    def pick(self, scale: "Cost", row, column, case) -> "Cost":
        """The entries of a table at (row, column), times the scale of the case that asks."""
        return Cost(self.comm[row, column] * scale.comm[case], self.latency[row, column] * scale.latency[case])


@dataclass(frozen=True)
class CostTable:
    """What one kind of parallelism can cost: a row for each degree.

    `placed` has a column for each placement, infinite where it asks for more than the degree has. The least bandwidth
    time and the least latency of each row, separately, stand in `at` for every exact usage and in `within` for all usages
    that fit in one.
    """

    placed: Cost
    at: Cost
    within: Cost

    @classmethod
    def tabulated(cls, space: Usages, comm, latency, possible, columns: "PairColumns | None" = None) -> "CostTable":
        """From the costs of (rows, columns) and whether each is possible; a column for each usage, or for pairs of usages."""
        placed = Cost(np.where(possible, comm, np.inf), np.where(possible, latency, np.inf))
        if columns is None:
            at = placed
        else:
            placed = _undominated(placed, columns)
            at = Cost(*(np.minimum.reduceat(cost, columns.start, axis=1) for cost in placed))
        return cls(placed, at, Cost(*(space.least_within(cost) for cost in at)))


def _undominated(placed: Cost, columns: PairColumns) -> Cost:
    """The costs, infinite where another placement of the same usage has less of one of them and no more of the other."""
    count = np.diff(columns.start, append=len(columns.first))
    least = np.full((len(placed.comm), len(count)), np.inf)
    kept = np.zeros(placed.comm.shape, dtype=bool)
    for latency in np.unique(placed.latency):
        comm = np.where(placed.latency == latency, placed.comm, np.inf)
        least_here = np.minimum.reduceat(comm, columns.start, axis=1)
        worth = np.where(least_here < least, least_here, -np.inf)
        kept |= comm == np.repeat(worth, count, axis=1)
        least = np.minimum(least, least_here)
    return Cost(*(np.where(kept, cost, np.inf) for cost in placed))
