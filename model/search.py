"""The fastest strategy for each of many clusters at once (spec section 5).

TP, DP and PP are powers of two, so a strategy is a few small exponents. Candidates are refined in stages: degrees, then
how TP is split and a batch is scheduled, then the usage of the network levels, then the placement on them. At each stage a
lower bound of the step time, made of the same formulas, drops what cannot win, and nothing that could win is dropped.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from model.columns import Columns
from model.configuration import Configuration
from model.gpu import block_time, block_time_floor
from model.integers import POWERS_OF_TWO, first_divisors, odd_part, twos
from model.network import joined
from model.parallelism import data_parallel, pipeline_expert, tensor_parallel
from model.placement import Cost, CostTable, expert_levels, over_levels, pair_columns, usages
from model.scaling import Shapes
from model.step import (
    Strategies,
    activation_bytes,
    batch_time,
    bubble,
    memory_bytes,
    pipeline_time,
    recomputation,
)

TIE = 1e-9  # relative difference below which two strategies count as equally good
ROUNDING = 1e-12  # relative difference that two ways of computing one time can have
MICROBATCH_CHOICES = 4  # microbatch counts tried with 1F1B; one more is tried with zero-bubble
MAX_EXPONENT = 62  # clusters stay below 2^63 GPUs
SEEDS = 2  # degrees of each cluster, most promising first, that set the mark for all others
FIRST_CHUNK, CHUNK = 2**13, 2**18  # elements of a stage's largest array


def _split_window() -> tuple[np.ndarray, np.ndarray]:
    """Least and largest exponent of TP_ff, for each exponent of TP: the divisors in [isqrt(TP), 4 · isqrt(TP)]."""
    roots = [math.isqrt(1 << exponent) for exponent in range(MAX_EXPONENT + 1)]
    least = [(root - 1).bit_length() for root in roots]
    largest = [min(exponent, (4 * root).bit_length() - 1) for exponent, root in enumerate(roots)]
    return np.array(least), np.array(largest)


LEAST_TP_FF, LARGEST_TP_FF = _split_window()
SPLITS = int((LARGEST_TP_FF - LEAST_TP_FF).max()) + 1


@dataclass(frozen=True)
class Clusters(Columns):
    """Clusters of sparsity · 2^twos GPUs, each with the model it is to train and the step time it must stay below."""

    shapes: Shapes
    twos: np.ndarray
    limit: np.ndarray

    @cached_property
    def n_gpus(self) -> np.ndarray:
        """GPUs of each cluster."""
        return self.shapes.sparsity * POWERS_OF_TWO[self.twos]


@dataclass(frozen=True)
class Candidates(Columns):
    """Strategies without their placement: exponents of the degrees, schedule, compute time of a step in s.

    `rank` orders them as ties are broken: least TP, PP, TP_ff, 1F1B before zero-bubble, fewest microbatches.
    """

    cluster: np.ndarray
    dp: np.ndarray
    tp: np.ndarray
    tp_ff: np.ndarray
    pp: np.ndarray
    zero_bubble: np.ndarray
    microbatches: np.ndarray
    interleaving: np.ndarray
    bubble: np.ndarray
    compute: np.ndarray
    rank: np.ndarray


@dataclass(frozen=True)
class Placed(Columns):
    """Candidates with a placement, as columns of the cost tables, and what it makes of the step, in s."""

    candidate: Candidates
    dp_usage: np.ndarray
    tp_column: np.ndarray
    pp_ep_column: np.ndarray
    time: np.ndarray
    comm: np.ndarray
    latency: np.ndarray


class Incumbents:
    """The best placed strategy of each cluster so far, and all that tie with it in time."""

    def __init__(self, limit: np.ndarray):
        self.limit = limit
        self.tied: list[Placed] = []
        self.best: Placed | None = None
        self._know(np.array([], dtype=int), *np.empty((4, 0)))

    def _know(self, cluster, time, comm, rank, latency) -> None:
        self.time, self.comm, self.rank, self.latency = (self.limit.copy(), *np.full((3, len(self.limit)), np.inf))
        for known, value in ((self.time, time), (self.comm, comm), (self.rank, rank), (self.latency, latency)):
            known[cluster] = value

    def reached(self, cluster, time):
        """Whether a strategy of at least this time could be as fast as its cluster's best."""
        return time <= self.time[cluster] * (1 + TIE)

    def loses_tie(self, cluster, time, comm, rank, latency):
        """Whether a strategy with these lower bounds at best ties with its cluster's best, and then comes after it."""
        best_comm, best_rank = self.comm[cluster], self.rank[cluster]
        comes_later = (rank > best_rank) | ((rank == best_rank) & (latency >= self.latency[cluster]))
        loses = (comm > best_comm * (1 + 2 * TIE)) | ((comm * (1 + ROUNDING) >= best_comm) & comes_later)
        return loses & (time * (1 + ROUNDING) >= self.time[cluster])

    def add(self, placed: Placed) -> None:
        """Let newly placed strategies compete."""
        pool = Placed.concatenated([*self.tied, placed])
        cluster = pool.candidate.cluster
        least = _least_of_each(pool.time, cluster, len(self.limit))[cluster]
        pool = pool.take(np.nonzero((pool.time < self.limit[cluster]) & (pool.time <= least * (1 + TIE)))[0])
        best = pool.take(_first_of_each(pool, len(self.limit)))
        self._know(best.candidate.cluster, best.time, best.comm, best.candidate.rank, best.latency)
        self.tied, self.best = [pool], best


def _least_of_each(value: np.ndarray, group: np.ndarray, count: int) -> np.ndarray:
    """The least value of each of `count` groups, infinite where a group has none."""
    least = np.full(count, np.inf)
    np.minimum.at(least, group, value)
    return least


def _first_of_each(tied: Placed, count: int) -> np.ndarray:
    """Of strategies that tie in time, each cluster's best: least communication, then rank, then latency."""
    cluster = tied.candidate.cluster
    least = _least_of_each(tied.comm, cluster, count)
    more_comm = tied.comm > least[cluster] * (1 + TIE)
    order = np.lexsort((tied.latency, tied.candidate.rank, more_comm, cluster))
    _, first = np.unique(cluster[order], return_index=True)
    return order[first]


def _position(group: np.ndarray) -> np.ndarray:
    """The number of each element within its group, where groups stand together, ascending."""
    return np.arange(len(group)) - np.searchsorted(group, group)


def _chunks(count: int, width: int) -> Iterator[slice]:
    """Slices of the rows of a (count, width) array: small ones first, whose results make the rest fewer."""
    start, elements = 0, FIRST_CHUNK
    while start < count:
        rows = max(1, elements // width)
        yield slice(start, start + rows)
        start, elements = start + rows, min(4 * elements, CHUNK)


class Group:
    """Clusters whose inner network levels join the same numbers of units, and the cost tables that they share.

    Tables hold the times of one word on one GPU; the factors by which they are multiplied depend on the cluster only.
    """

    def __init__(self, configuration: Configuration, clusters: Clusters, units: tuple[int, ...]):
        shapes = clusters.shapes
        self.network = configuration.network
        self.gpu = configuration.gpu
        self.assumptions = configuration.assumptions
        self.clusters = clusters
        self.shapes = shapes
        self.model_twos, self.ff_twos, self.layer_twos = map(twos, (shapes.d_model, shapes.d_ff, shapes.n_layers))
        self.expert_batch = shapes.batch_tokens // shapes.sparsity
        self.batch_twos = twos(self.expert_batch)
        self.weights = 1.0 * shapes.d_model * shapes.d_ff

        self.compute_factor, comm_factor = recomputation(self.assumptions)
        word_per_gpu = self.gpu.word_bytes / clusters.n_gpus
        activations = comm_factor * shapes.batch_tokens * shapes.d_model * word_per_gpu
        self.dp_scale = Cost(shapes.params * word_per_gpu, np.ones(len(clusters)))
        self.tp_scale = Cost(activations * shapes.n_layers, comm_factor * shapes.n_layers)
        self.pp_ep_scale = Cost(activations, np.full(len(clusters), comm_factor))

        self.most_dp = int(min(self.batch_twos.max(), clusters.twos.max()))
        self.most_tp = int(min((self.model_twos + self.ff_twos).max(), clusters.twos.max()))
        self.most_pp = int(min(self.layer_twos.max(), clusters.twos.max()))
        self.space = usages(units)
        self.tp_columns = pair_columns(units, MAX_EXPONENT)
        self.pp_ep_columns = pair_columns(units, int(twos(shapes.sparsity).max()))
        ratios, self.ratio = np.unique(shapes.d_ff / shapes.d_model, return_inverse=True)
        self.dp_costs = self._dp_costs()
        self.tp_costs = self._tp_costs(ratios)
        self.tp_least = Cost(*(cost.reshape(-1, SPLITS, len(self.space)).min(axis=1) for cost in self.tp_costs.within))
        by_ratio = (cost[:, -1].reshape(len(ratios), -1)[:, ::-1] for cost in self.tp_least)
        self.tp_least_from = Cost(*(np.minimum.accumulate(cost, axis=1)[:, ::-1] for cost in by_ratio))
        odd, self.odd_kind = np.unique(odd_part(self.expert_batch), return_inverse=True)
        self.microbatches = self._microbatches(odd)

    def _dp_costs(self) -> CostTable:
        """Rows: the exponent of DP."""
        exponent = np.arange(self.most_dp + 1)[:, None]
        factors, possible = over_levels(self.space, np.arange(len(self.space)), exponent)
        comm, latency = data_parallel(self.network, factors, 1.0, 1.0, 1.0)
        return CostTable.tabulated(self.space, comm, latency, possible)

    def _tp_costs(self, ratios: np.ndarray) -> CostTable:
        """Rows: d_ff / d_model, the exponent of TP, how far the exponent of TP_ff is above its least."""
        rows = np.meshgrid(ratios, np.arange(self.most_tp + 1), np.arange(SPLITS), indexing="ij")
        ratio, tp, split = (row.reshape(-1, 1) for row in rows)
        tp_ff = np.minimum(LEAST_TP_FF[tp] + split, tp)
        model, model_possible = over_levels(self.space, self.tp_columns.first, tp - tp_ff)
        ff, ff_possible = over_levels(self.space, self.tp_columns.second, tp_ff)
        comm, latency = tensor_parallel(self.network, model, ff, 1.0, ratio, 1.0, 1.0, 1.0, 1.0)
        return CostTable.tabulated(self.space, comm, latency, model_possible & ff_possible, self.tp_columns)

    def _tp_row(self, found: Candidates) -> np.ndarray:
        tp_row = self.ratio[found.cluster] * (self.most_tp + 1) + found.tp
        return tp_row * SPLITS + found.tp_ff - LEAST_TP_FF[found.tp]

    def _pp_ep_costs(self, found: Candidates) -> tuple[CostTable, np.ndarray]:
        """Rows: the distinct clusters, PP and interleavings of the candidates; and each candidate's row."""
        key = (found.cluster * MAX_EXPONENT + found.pp) * 2 + (found.interleaving > 1)
        present = np.zeros(len(self.clusters) * MAX_EXPONENT * 2, dtype=bool)
        present[key] = True
        keys = np.nonzero(present)[0][:, None]
        row = np.cumsum(present)[key] - 1
        cluster, pp, interleaved = keys // 2 // MAX_EXPONENT, keys // 2 % MAX_EXPONENT, keys % 2 == 1
        n_layers = self.shapes.n_layers[cluster]
        stages, pp_possible = over_levels(self.space, self.pp_ep_columns.first, pp)
        experts, ep_possible = expert_levels(self.space, self.pp_ep_columns.second, self.shapes.sparsity[cluster])
        interleaving = np.where(interleaved, n_layers / POWERS_OF_TWO[pp], 1.0)
        comm, latency = pipeline_expert(self.network, stages, experts, interleaving, n_layers, 1.0, 1.0, 1.0, 1.0)
        return CostTable.tabulated(self.space, comm, latency, pp_possible & ep_possible, self.pp_ep_columns), row

    def _microbatches(self, odd: np.ndarray) -> np.ndarray:
        """Counts to try, (odd part of B / E, twos of B / (E · DP), exponent of PP, choice); the last choice is zero-bubble's."""
        tables = [
            first_divisors(int(part), MICROBATCH_CHOICES, int(self.batch_twos.max()), self.most_pp + 1) for part in odd
        ]
        return np.stack([np.concatenate([table[:, :-1], table[:, 1:, :1]], axis=-1) for table in tables])

    def _interleaving(self, stage_layers, pp):
        """Groups of layers of a stage under 1F1B."""
        return np.where(pp > 0, stage_layers, 1.0) if self.assumptions.interleaving else 1.0

    def _step_time(self, zero_bubble, idle, compute, dp: Cost, tp: Cost, pp_ep: Cost):
        latency = tp.latency + pp_ep.latency
        pipeline = pipeline_time(self.assumptions, zero_bubble, idle, compute, tp.comm, pp_ep.comm, latency)
        return batch_time(self.assumptions, pipeline, dp.comm, dp.latency)

    @cached_property
    def dp_floor(self) -> np.ndarray:
        """A lower bound of the step time, (clusters, exponents of DP); infinite where not allowed.

        The shards are as small as with PP = 1, but compute is spread as thinly, and TP is as small, as any PP allows.
        """
        shapes, clusters = self.shapes, self.clusters
        cluster, dp = np.ix_(np.arange(len(clusters)), np.arange(self.most_dp + 1))
        tp_pp = clusters.twos[cluster] - dp
        least_tp = np.maximum(tp_pp - self.layer_twos[cluster], 0)
        memory = memory_bytes(shapes.params[cluster], POWERS_OF_TWO[dp], self.gpu.word_bytes)
        allowed = (
            ((dp <= self.batch_twos[cluster]) & (memory <= clusters.n_gpus[cluster] * self.gpu.hbm_bytes))
            & ((tp_pp >= 0) & (least_tp <= (self.model_twos + self.ff_twos)[cluster]))
        )
        dp_least = self.dp_costs.within.pick(self.dp_scale, dp, -1, cluster)
        least_tp = np.minimum(least_tp, self.most_tp)
        tp_least = self.tp_least_from.pick(self.tp_scale, self.ratio[cluster], least_tp, cluster)
        tokens = self.expert_batch[cluster] / POWERS_OF_TWO[dp]
        weights = self.weights[cluster] / POWERS_OF_TWO[np.maximum(tp_pp, 0)]
        layers = self.compute_factor * shapes.n_layers[cluster]
        compute = layers * block_time_floor(self.gpu, weights, tokens)
        time = self._step_time(False, 0.0, compute, dp_least, tp_least, Cost(0.0, 0.0))
        if self.assumptions.zero_bubble:
            twice_the_kernels = compute + layers * block_time_floor(self.gpu, 0.0, 0.0)
            time = np.minimum(time, self._step_time(True, 0.0, twice_the_kernels, dp_least, tp_least, Cost(0.0, 0.0)))
        return np.where(allowed, time, np.inf)

    def degrees_floor(self, cluster, dp, pp) -> np.ndarray:
        """A lower bound of the step time with each of these exponents of DP and PP; infinite where not allowed."""
        shapes = self.shapes
        tp = self.clusters.twos[cluster] - dp - pp
        choices = self.microbatches[self.odd_kind[cluster], self.batch_twos[cluster] - dp, pp]
        stage_layers = shapes.n_layers[cluster] / POWERS_OF_TWO[pp]
        tokens = self.expert_batch[cluster] / POWERS_OF_TWO[dp]
        weights = self.weights[cluster] / POWERS_OF_TWO[tp]
        usage = np.arange(len(self.space))
        dp_least = self.dp_costs.at.pick(self.dp_scale, dp[:, None], usage, cluster[:, None])
        tp_row = self.ratio[cluster] * (self.most_tp + 1) + tp
        tp_least = self.tp_least.pick(self.tp_scale, tp_row[:, None], usage[::-1], cluster[:, None])

        def floor(zero_bubble: bool, microbatches, idle):
            block = block_time_floor(self.gpu, weights, tokens / microbatches)
            compute = self.compute_factor * stage_layers * microbatches * block
            time = self._step_time(zero_bubble, idle, compute[:, None], dp_least, tp_least, Cost(0.0, 0.0))
            return time.min(axis=1)

        one_f_one_b = choices[:, :MICROBATCH_CHOICES]
        most = np.max(one_f_one_b, axis=-1, where=np.isfinite(one_f_one_b), initial=1)
        idle = bubble(POWERS_OF_TWO[pp], most, self._interleaving(stage_layers, pp))
        time = floor(False, choices[:, 0], idle[:, None])
        if self.assumptions.zero_bubble:
            time = np.minimum(time, floor(True, choices[:, -1], 0.0))
        return time

    def candidates(self, cluster: np.ndarray, dp: np.ndarray, pp: np.ndarray) -> Candidates:
        """Every allowed split of TP and schedule of the given degrees that could still win, with its compute time."""
        shapes = self.shapes
        tp = self.clusters.twos[cluster] - dp - pp
        choices = self.microbatches[self.odd_kind[cluster], self.batch_twos[cluster] - dp, pp]
        if not self.assumptions.zero_bubble:
            choices = choices[:, :MICROBATCH_CHOICES]
        tp_ff = LEAST_TP_FF[tp][:, None] + np.arange(SPLITS)
        least = np.maximum(LEAST_TP_FF[tp], tp - self.model_twos[cluster])[:, None]
        largest = np.minimum(LARGEST_TP_FF[tp], self.ff_twos[cluster])[:, None]
        splits = (tp_ff >= least) & (tp_ff <= largest)
        row, split, choice = np.nonzero(splits[:, :, None] & np.isfinite(choices)[:, None, :])
        tp_ff, microbatches = tp_ff[row, split], choices[row, choice]
        cluster, dp, tp, pp = cluster[row], dp[row], tp[row], pp[row]

        zero_bubble = choice == MICROBATCH_CHOICES
        stages = POWERS_OF_TWO[pp]
        stage_layers = shapes.n_layers[cluster] / stages
        interleaving = np.where(zero_bubble, 1.0, self._interleaving(stage_layers, pp))
        idle = np.where(zero_bubble, 0.0, bubble(stages, microbatches, interleaving))
        rank = (((tp * MAX_EXPONENT + pp) * MAX_EXPONENT + tp_ff) * 2 + zero_bubble) * (MICROBATCH_CHOICES + 1) + choice
        tokens = self.expert_batch[cluster] / (POWERS_OF_TWO[dp] * microbatches)
        blocks = self.compute_factor * stage_layers * microbatches
        compute = blocks * block_time_floor(self.gpu, self.weights[cluster] / POWERS_OF_TWO[tp], tokens)
        found = Candidates(cluster, dp, tp, tp_ff, pp, zero_bubble, microbatches, interleaving, idle, compute, rank)

        keep = np.nonzero(self._fits_memory(found, tokens) & self._could_win(found))[0]
        found, tokens, blocks = found.take(keep), tokens[keep], blocks[keep]
        f = shapes.d_ff[found.cluster] / POWERS_OF_TWO[found.tp_ff]
        d = shapes.d_model[found.cluster] / POWERS_OF_TWO[found.tp - found.tp_ff]
        found = replace(found, compute=blocks * block_time(self.gpu, f, d, tokens))
        return found.take(np.nonzero(self._could_win(found))[0])

    def _fits_memory(self, found: Candidates, tokens):
        if self.assumptions.activations == "ignored":
            return True
        shapes, cluster, dp, word = self.shapes, found.cluster, POWERS_OF_TWO[found.dp], self.gpu.word_bytes
        activations = activation_bytes(
            self.assumptions, shapes.take(cluster), dp, POWERS_OF_TWO[found.pp], tokens, found.zero_bubble, word
        )
        needed = memory_bytes(shapes.params[cluster], dp, word) + activations
        return needed <= self.clusters.n_gpus[cluster] * self.gpu.hbm_bytes

    def _floor(self, found: Candidates) -> tuple[np.ndarray, Cost]:
        """Lower bounds of the candidates' step time, and of what they communicate, wherever they are placed."""
        dp = self.dp_costs.within.pick(self.dp_scale, found.dp, -1, found.cluster)
        tp = self.tp_costs.within.pick(self.tp_scale, self._tp_row(found), -1, found.cluster)
        time = self._step_time(found.zero_bubble, found.bubble, found.compute, dp, tp, Cost(0.0, 0.0))
        return time, Cost(dp.comm + tp.comm, dp.latency + tp.latency)

    def _could_win(self, found: Candidates) -> np.ndarray:
        time, network = self._floor(found)
        reached = self.incumbents.reached(found.cluster, time)
        return reached & ~self.incumbents.loses_tie(found.cluster, time, network.comm, found.rank, network.latency)

    def place(self, found: Candidates, greedy: bool = False) -> None:
        """Put candidates on the network: the usage of DP, then of TP (PP and EP have the rest), then each placement.

        All that could win, or, if greedy, for each candidate what looks best at every stage.
        """
        if len(found) == 0:
            return
        pp_ep_costs, pp_ep_row = self._pp_ep_costs(found)
        tp_row = self._tp_row(found)
        last = len(self.space) - 1
        every_usage = np.arange(len(self.space))[None, :]

        def dp(kind: Cost, i, column):
            return kind.pick(self.dp_scale, found.dp[i], column, found.cluster[i])

        def tp(kind: Cost, i, column):
            return kind.pick(self.tp_scale, tp_row[i], column, found.cluster[i])

        def pp_ep(kind: Cost, i, column):
            return kind.pick(self.pp_ep_scale, pp_ep_row[i], column, found.cluster[i])

        def dp_usages(i):
            x, rest = every_usage, last - every_usage
            costs = dp(self.dp_costs.at, i, x), tp(self.tp_costs.within, i, rest), pp_ep(pp_ep_costs.within, i, rest)
            return x, np.True_, costs

        def tp_usages(i, x):
            y, rest = every_usage, last - x - every_usage
            costs = dp(self.dp_costs.at, i, x), tp(self.tp_costs.at, i, y), pp_ep(pp_ep_costs.at, i, rest)
            return y, self.space.fits[x, y], costs

        def tp_placements(i, x, y):
            column = self.tp_columns.of_usage[y[:, 0]]
            costs = dp(self.dp_costs.at, i, x), tp(self.tp_costs.placed, i, column), pp_ep(pp_ep_costs.at, i, last - x - y)
            return column, column >= 0, costs

        def pp_ep_placements(i, x, y, tp_column):
            column = self.pp_ep_columns.of_usage[last - x[:, 0] - y[:, 0]]
            costs = (
                dp(self.dp_costs.at, i, x),
                tp(self.tp_costs.placed, i, tp_column),
                pp_ep(pp_ep_costs.placed, i, column),
            )
            return column, column >= 0, costs

        stages = (
            (dp_usages, len(self.space)),
            (tp_usages, len(self.space)),
            (tp_placements, self.tp_columns.of_usage.shape[1]),
            (pp_ep_placements, self.pp_ep_columns.of_usage.shape[1]),
        )

        def refine(depth: int, state: list[np.ndarray]) -> None:
            stage, width = stages[depth]
            for rows in _chunks(len(state[0]), width):
                chunk = [part[rows] for part in state]
                option, possible, costs = stage(*(part[:, None] for part in chunk))
                row, column, placed = self._promising(found, chunk[0], possible, costs, greedy)
                longer = [*(part[row] for part in chunk), option[row if len(option) > 1 else 0, column]]
                if depth + 1 < len(stages):
                    refine(depth + 1, longer)
                else:
                    i, x, _, tp_column, pp_ep_column = longer
                    self.incumbents.add(Placed(found.take(i), x, tp_column, pp_ep_column, *placed))

        refine(0, [np.arange(len(found))])

    def _promising(self, found: Candidates, i, possible, costs: tuple[Cost, Cost, Cost], greedy: bool):
        """Rows and columns of the options that could win (or, if greedy, look best), with time, communication, latency."""
        dp, tp, pp_ep = costs
        i = i[:, None]
        time = self._step_time(found.zero_bubble[i], found.bubble[i], found.compute[i], *costs)
        time = np.where(possible, time, np.inf)
        shape = time.shape
        if greedy:
            column = np.argmin(time, axis=1)
            row = np.nonzero(np.isfinite(time[np.arange(len(time)), column]))[0]
            column = column[row]
        else:
            row, column = np.nonzero(self.incumbents.reached(found.cluster[i], time))
        time = time[row, column]
        comm, latency = (
            np.broadcast_to(part, shape)[row, column]
            for part in (dp.comm + tp.comm + pp_ep.comm, dp.latency + tp.latency + pp_ep.latency)
        )
        if greedy:
            return row, column, (time, comm, latency)
        cluster, rank = found.cluster[i[row, 0]], found.rank[i[row, 0]]
        wins = np.nonzero(~self.incumbents.loses_tie(cluster, time, comm, rank, latency))[0]
        return row[wins], column[wins], (time[wins], comm[wins], latency[wins])

    def best(self, chosen: np.ndarray) -> tuple[np.ndarray, Strategies]:
        """Those of the chosen clusters (ascending) that have a strategy below their limit, and the best of each."""
        self.incumbents = Incumbents(self.clusters.limit)
        row, dp = np.nonzero(self.dp_floor[chosen] < self.clusters.limit[chosen, None])
        most_pp = np.minimum(self.layer_twos[chosen[row]], self.clusters.twos[chosen[row]] - dp)
        least_pp = self.clusters.twos[chosen[row]] - dp - (self.model_twos + self.ff_twos)[chosen[row]]
        pp = np.arange(self.most_pp + 1)
        pair, pp = np.nonzero((pp >= least_pp[:, None]) & (pp <= most_pp[:, None]))
        cluster, dp = chosen[row[pair]], dp[pair]
        time = self.degrees_floor(cluster, dp, pp)
        order = np.lexsort((time, cluster))
        order = order[self.incumbents.reached(cluster[order], time[order])]
        cluster, dp, pp, time = cluster[order], dp[order], pp[order], time[order]
        seeds = np.nonzero(_position(cluster) < SEEDS)[0]
        self.place(self.candidates(cluster[seeds], dp[seeds], pp[seeds]), greedy=True)

        rest = np.nonzero(self.incumbents.reached(cluster, time))[0]
        found = self.candidates(cluster[rest], dp[rest], pp[rest])
        time, _ = self._floor(found)
        order = np.lexsort((time, found.cluster))
        order = order[np.argsort(_position(found.cluster[order]), kind="stable")]
        self.place(found.take(order))
        return self._strategies()

    def _strategies(self) -> tuple[np.ndarray, Strategies]:
        best = self.incumbents.best
        if best is None:
            return np.array([], dtype=int), Strategies.none(len(self.network))
        found = best.candidate
        sparsity = self.shapes.sparsity[found.cluster]
        degrees = [
            over_levels(self.space, best.dp_usage, found.dp),
            over_levels(self.space, self.tp_columns.first[best.tp_column], found.tp - found.tp_ff),
            over_levels(self.space, self.tp_columns.second[best.tp_column], found.tp_ff),
            over_levels(self.space, self.pp_ep_columns.first[best.pp_ep_column], found.pp),
            expert_levels(self.space, self.pp_ep_columns.second[best.pp_ep_column], sparsity),
        ]
        levels = [np.stack([np.broadcast_to(f, sparsity.shape) for f in factors], axis=-1) for factors, _ in degrees]
        return found.cluster, Strategies(*levels, found.microbatches, found.interleaving, found.zero_bubble)


class ClusterSearch:
    """The search for the fastest strategies of clusters, in groups that fill the network's inner levels alike.

    Attributes
    ----------
    reachable : ndarray of bool
        Whether a cluster could have a strategy below its limit at all.
    """

    def __init__(self, configuration: Configuration, clusters: Clusters):
        sizes = tuple(level.size for level in configuration.network[:-1])
        units = [joined(int(n), sizes) for n in clusters.n_gpus]
        hierarchies = sorted(set(units))
        number = np.array([hierarchies.index(unit) for unit in units])
        self._members = [np.nonzero(number == index)[0] for index in range(len(hierarchies))]
        self._groups = [
            Group(configuration, clusters.take(members), hierarchy)
            for members, hierarchy in zip(self._members, hierarchies, strict=True)
        ]
        self._none = Strategies.none(len(configuration.network))
        self.reachable = np.zeros(len(clusters), dtype=bool)
        for members, group in zip(self._members, self._groups, strict=True):
            self.reachable[members] = group.dp_floor.min(axis=1) < group.clusters.limit

    def best(self, chosen: np.ndarray) -> tuple[np.ndarray, Strategies]:
        """Those of the chosen clusters that have a strategy below their limit, ascending, and the fastest of each."""
        wanted = np.zeros(len(self.reachable), dtype=bool)
        wanted[chosen] = True
        found = [(np.array([], dtype=int), self._none)]
        for members, group in zip(self._members, self._groups, strict=True):
            index, strategies = group.best(np.nonzero(wanted[members])[0])
            found.append((members[index], strategies))
        cluster = np.concatenate([index for index, _ in found])
        order = np.argsort(cluster)
        return cluster[order], Strategies.concatenated([strategies for _, strategies in found]).take(order)
