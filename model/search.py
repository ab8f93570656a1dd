"""The fastest strategy for each of many clusters at once (spec section 5).

TP, DP and PP are powers of two, so a strategy is a few small exponents. Candidates are refined in stages: DP, then PP, then
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
from model.incumbents import Candidates, Incumbents, Placed
from model.integers import POWERS_OF_TWO, first_divisors, odd_part, twos
from model.network import joined
from model.parallelism import data_parallel, pipeline_expert, tensor_parallel
from model.placement import (
    NOTHING,
    Cost,
    CostTable,
    experts_over_levels,
    over_levels,
    pair_columns,
    pipeline_expert_floor,
    tabulate,
    usages,
)
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

MICROBATCH_CHOICES = 4  # microbatch counts tried with 1F1B; one more is tried with zero-bubble
MAX_EXPONENT = 62  # clusters stay below 2^63 GPUs
FEW = 50  # degrees that are placed without a mark set first
MARKS = 2
SEEDS = 2  # degrees of each cluster, most promising first, that set the mark for all others
FIRST_CHUNK, CHUNK = (
    2**13,
    2**18,
)  # elements of a stage's largest array, at first (its results make the rest fewer) and later


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


class ClusterSearch:
    """The search for the fastest strategies of clusters, in groups that fill the network's inner levels alike.

    Attributes
    ----------
    limit : ndarray, shape (clusters,)
        The step time that a cluster's strategies must stay below, in s.
    floor : ndarray, shape (clusters,)
        A lower bound of the step time that any strategy has, in s.
    none : Strategies
        No strategies.
    """

    def __init__(self, configuration: Configuration, clusters: Clusters):
        sizes = tuple(level.size for level in configuration.network[:-1])
        units = [joined(int(n), sizes) for n in clusters.n_gpus]
        number = {hierarchy: index for index, hierarchy in enumerate(dict.fromkeys(units))}
        numbers = np.array([number[hierarchy] for hierarchy in units], dtype=int)
        self._members = [np.nonzero(numbers == index)[0] for index in range(len(number))]
        self._groups = [
            Group(configuration, clusters.take(members), hierarchy)
            for members, hierarchy in zip(self._members, number, strict=True)
        ]
        self.limit = clusters.limit
        self.none = Strategies.none(len(configuration.network))
        self.floor = np.empty(len(clusters))
        for members, group in zip(self._members, self._groups, strict=True):
            self.floor[members] = group.dp_floor.min(axis=1)

    def _by_group(self, chosen: np.ndarray) -> Iterator[tuple[np.ndarray, "Group", np.ndarray]]:
        """Members of each group, the group, and which of its members are chosen, if any."""
        wanted = np.zeros(len(self.floor), dtype=bool)
        wanted[chosen] = True
        for members, group in zip(self._members, self._groups, strict=True):
            here = np.nonzero(wanted[members])[0]
            if len(here):
                yield members, group, here

    def tighten(self, chosen: np.ndarray) -> None:
        """Raise the floors of the chosen clusters (ascending) by a closer look at their degrees."""
        for members, group, here in self._by_group(chosen):
            self.floor[members[here]] = group.tighten(here)

    def best(self, chosen: np.ndarray) -> tuple[np.ndarray, Strategies]:
        """Those of the chosen clusters that have a strategy below their limit, ascending, and the fastest of each.

        The chosen clusters must be among those last looked at by `tighten`.
        """
        found = [(np.array([], dtype=int), self.none)]
        for members, group, here in self._by_group(chosen):
            index, strategies = group.best(here)
            found.append((members[index], strategies))
        cluster = np.concatenate([index for index, _ in found])
        order = np.argsort(cluster)
        return cluster[order], Strategies.concatenated([strategies for _, strategies in found]).take(order)


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
        self.layer_twos, self.model_twos, self.ff_twos = map(twos, (shapes.n_layers, shapes.d_model, shapes.d_ff))
        self.tp_twos = self.model_twos + self.ff_twos
        self.expert_batch = shapes.batch_tokens // shapes.sparsity
        self.batch_twos = twos(self.expert_batch)
        self.weights = 1.0 * shapes.d_model * shapes.d_ff

        self.compute_factor, comm_factor = recomputation(self.assumptions)
        word_per_gpu = self.gpu.word_bytes / clusters.n_gpus
        activations = comm_factor * shapes.batch_tokens * shapes.d_model * word_per_gpu
        self.dp_scale = Cost(shapes.params * word_per_gpu, np.ones(len(clusters)))
        self.tp_scale = Cost(activations * shapes.n_layers, comm_factor * shapes.n_layers)
        self.pp_ep_scale = Cost(activations, np.full(len(clusters), comm_factor))

        self.most_dp, self.most_tp, self.most_pp = (
            int(min(most.max(), clusters.twos.max())) for most in (self.batch_twos, self.tp_twos, self.layer_twos)
        )
        self.space = usages(units)
        self.tp_columns = pair_columns(units, MAX_EXPONENT)
        self.pp_ep_columns = pair_columns(units, int(twos(shapes.sparsity).max()))
        self.ratios, self.ratio = np.unique(shapes.d_ff / shapes.d_model, return_inverse=True)
        self.dp_costs = self._dp_costs()
        self.tp_costs = self._tp_costs()
        self.tp_least = Cost(*(cost.reshape(-1, SPLITS, len(self.space)).min(axis=1) for cost in self.tp_costs.within))
        by_ratio = (cost[:, -1].reshape(len(self.ratios), -1)[:, ::-1] for cost in self.tp_least)
        self.tp_least_from = Cost(*(np.minimum.accumulate(cost, axis=1)[:, ::-1] for cost in by_ratio))
        self.microbatches, self.batch_kind = self._microbatches()
        one_f_one_b = self.microbatches[..., :MICROBATCH_CHOICES]
        self.most_microbatches = np.where(np.isfinite(one_f_one_b), one_f_one_b, 1).max(axis=-1)

    def _dp_costs(self) -> CostTable:
        """Rows: the exponent of DP."""

        def cost(exponent, usage) -> Cost:
            factors, possible = over_levels(self.space, usage, exponent)
            return Cost(*data_parallel(self.network, factors, 1.0, 1.0, 1.0)).where(possible)

        return tabulate(self.space, self.most_dp + 1, None, cost)

    def _tp_costs(self) -> CostTable:
        """Rows: d_ff / d_model, the exponent of TP, how far the exponent of TP_ff is above its least."""

        def cost(row, column) -> Cost:
            ratio, tp, split = np.unravel_index(row, (len(self.ratios), self.most_tp + 1, SPLITS))
            return self._placed_tp(self.ratios[ratio], tp, np.minimum(LEAST_TP_FF[tp] + split, tp), column)

        return tabulate(self.space, len(self.ratios) * (self.most_tp + 1) * SPLITS, self.tp_columns, cost)

    def _placed_tp(self, ratio, tp, tp_ff, column) -> Cost:
        """What tensor parallelism costs, placed as columns of pairs say."""
        model, model_possible = over_levels(self.space, self.tp_columns.first[column], tp - tp_ff)
        ff, ff_possible = over_levels(self.space, self.tp_columns.second[column], tp_ff)
        costs = Cost(*tensor_parallel(self.network, model, ff, 1.0, ratio, 1.0, 1.0, 1.0, 1.0))
        return costs.where(model_possible & ff_possible)

    def _placed_pp_ep(self, pp, interleaving, cluster, column) -> Cost:
        """What pipeline and expert parallelism cost, placed as columns of pairs say."""
        n_layers, sparsity = self.shapes.n_layers[cluster], self.shapes.sparsity[cluster]
        stages, pp_possible = over_levels(self.space, self.pp_ep_columns.first[column], pp)
        experts, ep_possible = experts_over_levels(self.space, self.pp_ep_columns.second[column], sparsity)
        costs = Cost(*pipeline_expert(self.network, stages, experts, interleaving, n_layers, 1.0, 1.0, 1.0, 1.0))
        return costs.where(pp_possible & ep_possible)

    def _tp_row(self, found: Candidates) -> np.ndarray:
        tp_row = self.ratio[found.cluster] * (self.most_tp + 1) + found.tp
        return tp_row * SPLITS + found.tp_ff - LEAST_TP_FF[found.tp]

    def _microbatches(self) -> tuple[np.ndarray, np.ndarray]:
        """Counts to try, and each cluster's row of them: (rows, twos of B / (E · DP), exponent of PP, choice).

        The last choice is zero-bubble's; infinite where there is none.
        """
        odd, row = np.unique(odd_part(self.expert_batch), return_inverse=True)
        most_twos = int(self.batch_twos.max())
        tables = [first_divisors(int(part), MICROBATCH_CHOICES, most_twos, self.most_pp + 1) for part in odd]
        return np.stack([np.concatenate([table[:, :-1], table[:, 1:, :1]], axis=-1) for table in tables]), row

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
        fits = memory <= clusters.n_gpus[cluster] * self.gpu.hbm_bytes
        allowed = fits & (dp <= self.batch_twos[cluster]) & (tp_pp >= 0) & (least_tp <= self.tp_twos[cluster])
        dp_least = self.dp_costs.within.pick(self.dp_scale, dp, -1, cluster)
        tp_least = self.tp_least_from.pick(
            self.tp_scale, self.ratio[cluster], np.minimum(least_tp, self.most_tp), cluster
        )
        tokens = self.expert_batch[cluster] / POWERS_OF_TWO[dp]
        weights = self.weights[cluster] / POWERS_OF_TWO[np.maximum(tp_pp, 0)]
        layers = self.compute_factor * shapes.n_layers[cluster]
        compute = layers * block_time_floor(self.gpu, weights, tokens)
        time = self._step_time(False, 0.0, compute, dp_least, tp_least, NOTHING)
        if self.assumptions.zero_bubble:
            twice_the_kernels = compute + layers * block_time_floor(self.gpu, 0.0, 0.0)
            time = np.minimum(time, self._step_time(True, 0.0, twice_the_kernels, dp_least, tp_least, NOTHING))
        return np.where(allowed, time, np.inf)

    def degrees_floor(self, cluster, dp, pp) -> np.ndarray:
        """A lower bound of the step time with each of these exponents of DP and PP, which must be allowed.

        The fewest microbatches and the smallest bubble, which do not go together, and the best usage for DP and TP.
        """
        tp = self.clusters.twos[cluster] - dp - pp
        choices = self.microbatches[self.batch_kind[cluster], self.batch_twos[cluster] - dp, pp]
        stage_layers = self.shapes.n_layers[cluster] / POWERS_OF_TWO[pp]
        tokens = self.expert_batch[cluster] / POWERS_OF_TWO[dp]
        weights = self.weights[cluster] / POWERS_OF_TWO[tp]
        usage = np.arange(len(self.space))[:, None]
        dp_least = self.dp_costs.at.pick(self.dp_scale, dp, usage, cluster)
        tp_row = self.ratio[cluster] * (self.most_tp + 1) + tp
        tp_least = self.tp_least.pick(self.tp_scale, tp_row, usage[::-1], cluster)

        def floor(zero_bubble: bool, microbatches, idle):
            block = block_time_floor(self.gpu, weights, tokens / microbatches, tokens / microbatches)
            compute = self.compute_factor * stage_layers * microbatches * block
            return self._step_time(zero_bubble, idle, compute, dp_least, tp_least, NOTHING).min(axis=0)

        most = self.most_microbatches[self.batch_kind[cluster], self.batch_twos[cluster] - dp, pp]
        idle = bubble(POWERS_OF_TWO[pp], most, self._interleaving(stage_layers, pp))
        time = floor(False, choices[:, 0], idle)
        if self.assumptions.zero_bubble:
            time = np.minimum(time, floor(True, choices[:, -1], 0.0))
        return time

    def candidates(self, cluster: np.ndarray, dp: np.ndarray, pp: np.ndarray) -> Candidates:
        """Every allowed split of TP and schedule of the given degrees that could still win, its compute a lower bound."""
        tp = self.clusters.twos[cluster] - dp - pp
        choices = self.microbatches[self.batch_kind[cluster], self.batch_twos[cluster] - dp, pp]
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
        stage_layers = self.shapes.n_layers[cluster] / stages
        interleaving = np.where(zero_bubble, 1.0, self._interleaving(stage_layers, pp))
        idle = np.where(zero_bubble, 0.0, bubble(stages, microbatches, interleaving))
        rank = ((tp * MAX_EXPONENT + pp) * MAX_EXPONENT + tp_ff) * (MICROBATCH_CHOICES + 1) + choice
        tokens = self.expert_batch[cluster] / (POWERS_OF_TWO[dp] * microbatches)
        weights = self.weights[cluster] / POWERS_OF_TWO[tp]
        blocks = self.compute_factor * stage_layers * microbatches
        compute = blocks * block_time_floor(self.gpu, weights, tokens, tokens)
        found = Candidates(
            cluster, dp, tp, tp_ff, pp, zero_bubble, microbatches, interleaving, idle, tokens, blocks, compute, rank
        )
        return found.take(np.nonzero(self._fits_memory(found) & self._could_win(found))[0])

    def timed(self, found: Candidates) -> Candidates:
        """The candidates with their compute time, without those that it rules out."""
        f = self.shapes.d_ff[found.cluster] / POWERS_OF_TWO[found.tp_ff]
        d = self.shapes.d_model[found.cluster] / POWERS_OF_TWO[found.tp - found.tp_ff]
        found = replace(found, compute=found.blocks * block_time(self.gpu, f, d, found.tokens))
        return found.take(np.nonzero(self._could_win(found))[0])

    def best_first(self, found: Candidates) -> Candidates:
        """Each cluster's most promising candidate, then each one's second, and so on."""
        order = np.lexsort((self._floor(found)[0], found.cluster))
        return found.take(order[np.argsort(_position(found.cluster[order]), kind="stable")])

    def _fits_memory(self, found: Candidates):
        if self.assumptions.activations == "ignored":  # parameters alone were looked at with the degrees
            return True
        cluster, dp, word = found.cluster, POWERS_OF_TWO[found.dp], self.gpu.word_bytes
        shapes = self.shapes.take(cluster)
        activations = activation_bytes(
            self.assumptions, shapes, dp, POWERS_OF_TWO[found.pp], found.tokens, found.zero_bubble, word
        )
        return memory_bytes(shapes.params, dp, word) + activations <= self.clusters.n_gpus[cluster] * self.gpu.hbm_bytes

    def _floor(self, found: Candidates) -> tuple[np.ndarray, Cost]:
        """Lower bounds of the candidates' step time, and of what they communicate, wherever they are placed."""
        dp = self.dp_costs.within.pick(self.dp_scale, found.dp, -1, found.cluster)
        tp = self.tp_costs.within.pick(self.tp_scale, self._tp_row(found), -1, found.cluster)
        time = self._step_time(found.zero_bubble, found.bubble, found.compute, dp, tp, NOTHING)
        return time, Cost(dp.comm + tp.comm, dp.latency + tp.latency)

    def _could_win(self, found: Candidates) -> np.ndarray:
        time, network = self._floor(found)
        reached = self.incumbents.reached(found.cluster, time)
        return reached & ~self.incumbents.loses_tie(found.cluster, time, network.comm, found.rank, network.latency)

    def _pp_ep_floor(self, found: Candidates) -> tuple[Cost, np.ndarray]:
        """A row for each distinct cluster, PP and interleaving of the candidates; and each candidate's row."""
        key = (found.cluster * MAX_EXPONENT + found.pp) * 2 + (found.interleaving > 1)
        present = np.zeros(len(self.clusters) * MAX_EXPONENT * 2, dtype=bool)
        present[key] = True
        row = np.cumsum(present) - 1
        cluster, pp, interleaved = np.unravel_index(np.nonzero(present)[0], (len(self.clusters), MAX_EXPONENT, 2))
        n_layers, sparsity = self.shapes.n_layers[cluster], self.shapes.sparsity[cluster]
        interleaving = np.where(interleaved, n_layers / POWERS_OF_TWO[pp], 1.0)
        columns = (part[:, None] for part in (pp, sparsity, interleaving, n_layers))
        return pipeline_expert_floor(self.network, self.space, *columns), row[key]

    def place(self, found: Candidates, greedy: bool = False) -> None:
        """Put candidates on the network: the usage of DP, then of TP (PP and EP have the rest), then each placement.

        All that could win, or, if greedy, for each candidate what looks best at every stage.
        """
        if len(found) == 0:
            return
        pp_ep_at, pp_ep_row = self._pp_ep_floor(found)
        pp_ep_within = Cost(*(self.space.least_within(part) for part in pp_ep_at))
        tp_row = self._tp_row(found)
        last = len(self.space) - 1
        every_usage = np.arange(len(self.space))[None, :]

        def dp(kind: Cost, i, column):
            return kind.pick(self.dp_scale, found.dp[i], column, found.cluster[i])

        def tp(kind: Cost, i, column):
            return kind.pick(self.tp_scale, tp_row[i], column, found.cluster[i])

        def pp_ep(kind: Cost, i, column):
            return kind.pick(self.pp_ep_scale, pp_ep_row[i], column, found.cluster[i])

        def placed_tp(i, column):
            cluster = found.cluster[i]
            costs = self._placed_tp(self.ratios[self.ratio[cluster]], found.tp[i], found.tp_ff[i], column)
            return costs.times(self.tp_scale, cluster)

        def placed_pp_ep(i, column):
            costs = self._placed_pp_ep(found.pp[i], found.interleaving[i], found.cluster[i], column)
            return costs.times(self.pp_ep_scale, found.cluster[i])

        def dp_usages(i):
            x, rest = every_usage, last - every_usage
            return (
                x,
                True,
                (dp(self.dp_costs.at, i, x), tp(self.tp_costs.within, i, rest), pp_ep(pp_ep_within, i, rest)),
            )

        def tp_usages(i, x):
            y, rest = every_usage, last - x - every_usage
            costs = dp(self.dp_costs.at, i, x), tp(self.tp_costs.at, i, y), pp_ep(pp_ep_at, i, rest)
            return y, self.space.fits[x, y], costs

        def tp_placements(i, x, y):
            column = self.tp_columns.of_usage[y[:, 0]]
            costs = dp(self.dp_costs.at, i, x), placed_tp(i, column), pp_ep(pp_ep_at, i, last - x - y)
            return column, column >= 0, costs

        def pp_ep_placements(i, x, y, tp_column):
            column = self.pp_ep_columns.of_usage[last - x[:, 0] - y[:, 0]]
            costs = dp(self.dp_costs.at, i, x), placed_tp(i, tp_column), placed_pp_ep(i, column)
            return column, column >= 0, costs

        stages = (
            (dp_usages, len(self.space)),
            (tp_usages, len(self.space)),
            (tp_placements, self.tp_columns.of_usage.shape[1]),
            (pp_ep_placements, self.pp_ep_columns.of_usage.shape[1]),
        )
        if stages[-1][1] == 1:  # without experts the usage is the placement, and its floor the cost
            stages = stages[:-1]

        def refine(depth: int, state: list[np.ndarray]) -> None:
            stage, width = stages[depth]
            for rows in _chunks(len(state[0]), width, CHUNK if greedy else FIRST_CHUNK):
                chunk = [part[rows] for part in state]
                option, possible, costs = stage(*(part[:, None] for part in chunk))
                row, column, placed = self._promising(found, chunk[0], possible, costs, greedy)
                longer = [*(part[row] for part in chunk), option[row if len(option) > 1 else 0, column]]
                if depth + 1 < len(stages):
                    refine(depth + 1, longer)
                else:
                    i, x, y, tp_column, *pp_ep_column = longer
                    pp_ep_column = pp_ep_column[0] if pp_ep_column else self.pp_ep_columns.start[last - x - y]
                    self.incumbents.add(Placed(found.take(i), x, tp_column, pp_ep_column, *placed))

        refine(0, [np.arange(len(found))])

    def _promising(self, found: Candidates, i, possible, costs: tuple[Cost, Cost, Cost], greedy: bool):
        """Rows and columns of the options that could win (or, if greedy, look best), with time, communication, latency."""
        dp, tp, pp_ep = costs
        rows = i[:, None]
        time = self._step_time(found.zero_bubble[rows], found.bubble[rows], found.compute[rows], dp, tp, pp_ep)
        time = np.where(possible, time, np.inf)
        if greedy:
            column = np.argmin(time, axis=1)
            row = np.nonzero(np.isfinite(time[np.arange(len(time)), column]))[0]
            column = column[row]
        else:
            row, column = np.nonzero(self.incumbents.reached(found.cluster[rows], time))
        comm = np.broadcast_to(dp.comm + tp.comm + pp_ep.comm, time.shape)[row, column]
        latency = np.broadcast_to(dp.latency + tp.latency + pp_ep.latency, time.shape)[row, column]
        time = time[row, column]
        if not greedy:
            cluster, rank = found.cluster[i[row]], found.rank[i[row]]
            wins = np.nonzero(~self.incumbents.loses_tie(cluster, time, comm, rank, latency))[0]
            row, column, time, comm, latency = (part[wins] for part in (row, column, time, comm, latency))
        return row, column, (time, comm, latency)

    def tighten(self, chosen: np.ndarray) -> np.ndarray:
        """The floors of the chosen clusters (ascending), from all their degrees, which are kept for `best`."""
        limit = self.clusters.limit
        row, dp = np.nonzero(self.dp_floor[chosen] < limit[chosen, None])
        cluster = chosen[row]
        tp_pp = self.clusters.twos[cluster] - dp
        pp = np.arange(self.most_pp + 1)
        allowed = (pp >= (tp_pp - self.tp_twos[cluster])[:, None]) & (pp <= tp_pp[:, None])
        pair, pp = np.nonzero(allowed & (pp <= self.layer_twos[cluster, None]))
        cluster, dp = cluster[pair], dp[pair]
        time = self.degrees_floor(cluster, dp, pp)
        below = np.nonzero(time < limit[cluster])[0]
        below = below[np.lexsort((time[below], cluster[below]))]
        self.degrees = cluster[below], dp[below], pp[below], time[below]
        floor = np.full(len(limit), np.inf)
        np.minimum.at(floor, cluster, time)
        return floor[chosen]

    def best(self, chosen: np.ndarray) -> tuple[np.ndarray, Strategies]:
        """Those of the chosen clusters that have a strategy below their limit, and the best of each."""
        self.incumbents = Incumbents(self.clusters.limit)
        wanted = np.zeros(len(self.clusters), dtype=bool)
        wanted[chosen] = True
        cluster, dp, pp, time = (part[wanted[self.degrees[0]]] for part in self.degrees)
        if len(cluster) > FEW:
            seeds = np.nonzero(_position(cluster) < SEEDS)[0]
            marks = self.best_first(self.candidates(cluster[seeds], dp[seeds], pp[seeds]))
            self.place(self.timed(marks.take(np.arange(min(len(marks), MARKS * len(chosen))))), greedy=True)
        rest = np.nonzero(self.incumbents.reached(cluster, time))[0]
        self.place(self.best_first(self.timed(self.candidates(cluster[rest], dp[rest], pp[rest]))))
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
            experts_over_levels(self.space, self.pp_ep_columns.second[best.pp_ep_column], sparsity),
        ]
        levels = [np.stack(factors, axis=-1) for factors, _ in degrees]
        return found.cluster, Strategies(*levels, found.microbatches, found.interleaving, found.zero_bubble)


def _position(group: np.ndarray) -> np.ndarray:
    """The number of each element within its group, where groups stand together, ascending."""
    return np.arange(len(group)) - np.searchsorted(group, group)


def _chunks(count: int, width: int, elements: int) -> Iterator[slice]:
    """Slices of the rows of a (count, width) array, of about so many elements at first, and then more."""
    start = 0
    while start < count:
        rows = max(1, elements // width)
        yield slice(start, start + rows)
        start, elements = start + rows, min(4 * elements, CHUNK)
