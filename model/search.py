"""The fastest strategy for each of many clusters at once (spec section 5).

TP, DP and PP are powers of two, so a strategy is a few small exponents. Candidates are refined in stages: DP, then PP,
then how TP is split and a batch is scheduled, then the usage of the network levels, then the placement on them. At each
stage a lower bound of the step time, made of the same formulas, drops what cannot win: nothing that could is dropped.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from model.arrays import Booleans, Floats, Integers, Numbers
from model.columns import Columns
from model.configuration import Configuration
from model.costs import LARGEST_TP_FF, LEAST_TP_FF, SPLITS, NetworkCosts, network_costs, table_entries
from model.gpu import block_time, block_time_floor
from model.incumbents import Candidates, Incumbents
from model.integers import MAX_EXPONENT, POWERS_OF_TWO, first_divisors, odd_part, twos
from model.network import joined
from model.placement import NOTHING, Cost
from model.progress import Progress
from model.refinement import Refinement, row_chunks
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
FEW = 50  # degrees that are searched without setting a mark first
SEEDS, MARKS = 2, 2  # of each cluster: degrees, and candidates with them, most promising first, that set the mark
MARKING = 0.05  # share of the work that setting the mark is taken to be
# Operations, as `Progress` counts them, as they were measured:
OF_GROUP = 50_000  # of clusters that fill a network alike
OF_FLOOR = 15  # of a cluster with one DP
OF_ENTRY = 2  # of a table of costs
OF_BOUND = 2  # of what a degree costs at one usage
OF_DEGREES = 250  # of DP, TP and PP, whose splits and schedules are listed
OF_CANDIDATE = 40  # whose compute time is worked out


@dataclass(frozen=True)
class Clusters(Columns):
    """Clusters of sparsity · 2^twos GPUs, each with the model it is to train and the step time it must stay below."""

    shapes: Shapes
    twos: Integers
    limit: Floats

    @cached_property
    def n_gpus(self) -> Floats:
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

    def __init__(self, configuration: Configuration, clusters: Clusters, progress: Progress | None = None):
        self._progress = progress or Progress()
        sizes = tuple(level.size for level in configuration.network[:-1])
        units = [joined(int(n), sizes) for n in clusters.n_gpus]
        number = {hierarchy: index for index, hierarchy in enumerate(dict.fromkeys(units))}
        numbers = np.array([number[hierarchy] for hierarchy in units], dtype=int)
        self._members = [np.nonzero(numbers == index)[0] for index in range(len(number))]
        self._groups = [
            Group(configuration, clusters.take(members), hierarchy, self._progress)
            for members, hierarchy in zip(self._members, number, strict=True)
        ]
        self.limit = clusters.limit
        self.none = Strategies.none(len(configuration.network))
        self.floor = np.empty(len(clusters))
        known = [group.known_work for group in self._groups]
        self._progress.expect(sum(known))
        for members, group in self._progress.each(list(zip(self._members, self._groups, strict=True)), known):
            self._progress.spend(group.known_work)
            self.floor[members] = group.dp_floor.min(axis=1)

    def _by_group(self, chosen: Integers) -> Iterator[tuple[Integers, "Group", Integers]]:
        """Members of each group, the group, and which of its members are chosen, if any."""
        wanted = np.zeros(len(self.floor), dtype=bool)
        wanted[chosen] = True
        among_members = [np.nonzero(wanted[members])[0] for members in self._members]
        groups = [
            (members, group, here)
            for members, group, here in zip(self._members, self._groups, among_members, strict=True)
            if len(here)
        ]
        return self._progress.each(groups, [len(here) * len(group.costs.space) for _, group, here in groups])

    def tighten(self, chosen: Integers) -> None:
        """Raise the floors of the chosen clusters (ascending) by a closer look at their degrees."""
        for members, group, here in self._by_group(chosen):
            self.floor[members[here]] = group.tighten(here)

    def best(self, chosen: Integers) -> tuple[Integers, Strategies]:
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
    """Clusters whose inner network levels join the same numbers of units, and so share the costs of the network."""

    def __init__(
        self,
        configuration: Configuration,
        clusters: Clusters,
        units: tuple[int, ...],
        progress: Progress | None = None,
    ):
        shapes = clusters.shapes
        self.progress = progress or Progress()
        self.gpu = configuration.gpu
        self.network, self.units = configuration.network, units
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
        self.ratio = shapes.d_ff / shapes.d_model
        self.microbatches, self.batch_kind = self._microbatches()
        one_f_one_b = self.microbatches[..., :MICROBATCH_CHOICES]
        self.most_microbatches = np.where(np.isfinite(one_f_one_b), one_f_one_b, 1).max(axis=-1)

    def _microbatches(self) -> tuple[Floats, Integers]:
        """Counts to try, and each cluster's row of them: (rows, twos of B / (E · DP), exponent of PP, choice).

        The last choice is zero-bubble's; infinite where there is none.
        """
        odd, row = np.unique(odd_part(self.expert_batch), return_inverse=True)
        most_twos = int(self.batch_twos.max())
        tables = [first_divisors(int(part), MICROBATCH_CHOICES, most_twos, self.most_pp + 1) for part in odd]
        return np.stack([np.concatenate([table[:, :-1], table[:, 1:, :1]], axis=-1) for table in tables]), row

    @property
    def known_work(self) -> float:
        """Operations that come before any search: the tables of the network's costs, and the clusters' floors."""
        entries = table_entries(self.units, self.most_dp, self.most_tp)
        return OF_GROUP + OF_ENTRY * entries + OF_FLOOR * len(self.clusters) * (self.most_dp + 1)

    @cached_property
    def costs(self) -> NetworkCosts:
        """What each kind of parallelism costs on the network."""
        most_ep = int(twos(self.shapes.sparsity).max())
        ratios = float(self.ratio.min()), float(self.ratio.max())
        return network_costs(self.network, self.units, ratios, self.most_dp, self.most_tp, most_ep)

    def _interleaving(self, stage_layers: Floats, pp: Integers) -> Numbers:
        """Groups of layers of a stage under 1F1B."""
        return np.where(pp > 0, stage_layers, 1.0) if self.assumptions.interleaving else 1.0

    def step_time(
        self, zero_bubble: bool | Booleans, idle: Numbers, compute: Floats, dp: Cost, tp: Cost, pp_ep: Cost
    ) -> Floats:
        """Step time from compute and the costs of communication, in s."""
        latency = tp.latency + pp_ep.latency
        pipeline = pipeline_time(self.assumptions, zero_bubble, idle, compute, tp.comm, pp_ep.comm, latency)
        return batch_time(self.assumptions, pipeline, dp.comm, dp.latency)

    @cached_property
    def dp_floor(self) -> Floats:
        """A lower bound of the step time, (clusters, exponents of DP); infinite where not allowed.

        The shards are as small as with PP = 1, but compute is spread as thinly, and TP is as small, as any PP allows.
        """
        shapes, clusters = self.shapes, self.clusters
        cluster, dp = np.ix_(np.arange(len(clusters)), np.arange(self.most_dp + 1))
        tp_pp = clusters.twos[cluster] - dp
        least_tp = np.maximum(tp_pp - self.layer_twos[cluster], 0)
        memory = memory_bytes(shapes.params[cluster], POWERS_OF_TWO[dp], self.gpu.word_bytes)
        fits = memory <= clusters.n_gpus[cluster] * self.gpu.hbm_bytes
        divides = (shapes.batch_tokens % shapes.sparsity == 0)[cluster] & (dp <= self.batch_twos[cluster])
        allowed = fits & divides & (tp_pp >= 0) & (least_tp <= self.tp_twos[cluster])
        dp_least = self.costs.dp.within.pick(self.dp_scale, dp, -1, cluster)
        tp_least = self.costs.tp_or_more.pick(self.tp_scale, np.minimum(least_tp, self.most_tp), 0, cluster)
        tokens = self.expert_batch[cluster] / POWERS_OF_TWO[dp]
        weights = self.weights[cluster] / POWERS_OF_TWO[np.maximum(tp_pp, 0)]
        layers = self.compute_factor * shapes.n_layers[cluster]
        compute = layers * block_time_floor(self.gpu, weights, tokens)
        time = self.step_time(False, 0.0, compute, dp_least, tp_least, NOTHING)
        if self.assumptions.zero_bubble:
            twice_the_kernels = compute + layers * block_time_floor(self.gpu, 0.0, 0.0)
            time = np.minimum(time, self.step_time(True, 0.0, twice_the_kernels, dp_least, tp_least, NOTHING))
        return np.where(allowed, time, np.inf)

    def degrees_floor(self, cluster: Integers, dp: Integers, pp: Integers) -> Floats:
        """A lower bound of the step time with each of these exponents of DP and PP, which must be allowed.

        The fewest microbatches and the smallest bubble, which do not go together, and the best usage for DP and TP.
        """
        tp = self.clusters.twos[cluster] - dp - pp
        choices = self.microbatches[self.batch_kind[cluster], self.batch_twos[cluster] - dp, pp]
        stage_layers = self.shapes.n_layers[cluster] / POWERS_OF_TWO[pp]
        tokens = self.expert_batch[cluster] / POWERS_OF_TWO[dp]
        weights = self.weights[cluster] / POWERS_OF_TWO[tp]
        usage = np.arange(len(self.costs.space))[:, None]
        dp_least = self.costs.dp.at.pick(self.dp_scale, dp, usage, cluster)
        tp_least = self.costs.tp_within.pick(self.tp_scale, tp, usage[::-1], cluster)

        def floor(zero_bubble: bool, microbatches: Floats, idle: Numbers) -> Floats:
            block = block_time_floor(self.gpu, weights, tokens / microbatches, tokens / microbatches)
            compute = self.compute_factor * stage_layers * microbatches * block
            time: Floats = self.step_time(zero_bubble, idle, compute, dp_least, tp_least, NOTHING).min(axis=0)
            return time

        most = self.most_microbatches[self.batch_kind[cluster], self.batch_twos[cluster] - dp, pp]
        idle = bubble(POWERS_OF_TWO[pp], most, self._interleaving(stage_layers, pp))
        time = floor(False, choices[:, 0], idle)
        if self.assumptions.zero_bubble:
            time = np.minimum(time, floor(True, choices[:, -1], 0.0))
        return time

    def _all_degrees_floor(self, cluster: Integers, dp: Integers, pp: Integers) -> Floats:
        """`degrees_floor`, some at a time."""
        time = np.empty(len(cluster))
        self.progress.expect(OF_BOUND * len(time) * len(self.costs.space))
        for rows in self.progress.each(row_chunks(len(cluster), len(self.costs.space))):
            self.progress.spend(OF_BOUND * len(time[rows]) * len(self.costs.space))
            time[rows] = self.degrees_floor(cluster[rows], dp[rows], pp[rows])
        return time

    def candidates(self, cluster: Integers, dp: Integers, pp: Integers) -> Candidates:
        """Every allowed split of TP and schedule of the degrees that could win yet, compute being a lower bound."""
        self.progress.spend(OF_DEGREES * len(cluster))
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
        self.progress.spend(OF_CANDIDATE * len(found))
        f = self.shapes.d_ff[found.cluster] / POWERS_OF_TWO[found.tp_ff]
        d = self.shapes.d_model[found.cluster] / POWERS_OF_TWO[found.tp - found.tp_ff]
        found = replace(found, compute=found.blocks * block_time(self.gpu, f, d, found.tokens))
        return found.take(np.nonzero(self._could_win(found))[0])

    def best_first(self, found: Candidates) -> Candidates:
        """Each cluster's most promising candidate, then each one's second, and so on."""
        order = np.lexsort((found.rank, _coarse(self._floor(found)[0]), found.cluster))
        return found.take(order[np.argsort(_position(found.cluster[order]), kind="stable")])

    def _fits_memory(self, found: Candidates) -> bool | Booleans:
        if self.assumptions.activations == "ignored":  # parameters alone were looked at with the degrees
            return True
        cluster, dp, word = found.cluster, POWERS_OF_TWO[found.dp], self.gpu.word_bytes
        shapes = self.shapes.take(cluster)
        activations = activation_bytes(
            self.assumptions, shapes, dp, POWERS_OF_TWO[found.pp], found.tokens, found.zero_bubble, word
        )
        return memory_bytes(shapes.params, dp, word) + activations <= self.clusters.n_gpus[cluster] * self.gpu.hbm_bytes

    def _floor(self, found: Candidates) -> tuple[Floats, Cost]:
        """Lower bounds of the candidates' step time, and of what they communicate, wherever they are placed."""
        dp = self.costs.dp.within.pick(self.dp_scale, found.dp, -1, found.cluster)
        tp_row = self.costs.tp_row(found.tp, found.tp_ff)
        tp = self.costs.tp.within.pick(self.tp_scale, tp_row, -1, found.cluster)
        time = self.step_time(found.zero_bubble, found.bubble, found.compute, dp, tp, NOTHING)
        return time, Cost(dp.comm + tp.comm, dp.latency + tp.latency)

    def _could_win(self, found: Candidates) -> Booleans:
        time, network = self._floor(found)
        reached = self.incumbents.reached(found.cluster, time)
        return reached & ~self.incumbents.loses_tie(found.cluster, time, network.comm, found.rank, network.latency)

    def tighten(self, chosen: Integers) -> Floats:
        """The floors of the chosen clusters (ascending), from all their degrees, which are kept for `best`."""
        limit = self.clusters.limit
        row, dp = np.nonzero(self.dp_floor[chosen] < limit[chosen, None])
        cluster = chosen[row]
        tp_pp = self.clusters.twos[cluster] - dp
        pp = np.arange(self.most_pp + 1)
        allowed = (pp >= (tp_pp - self.tp_twos[cluster])[:, None]) & (pp <= tp_pp[:, None])
        pair, pp = np.nonzero(allowed & (pp <= self.layer_twos[cluster, None]))
        cluster, dp = cluster[pair], dp[pair]
        time = self._all_degrees_floor(cluster, dp, pp)
        below = np.nonzero(time < limit[cluster])[0]
        tp = tp_pp[pair] - pp
        below = below[np.lexsort((tp[below], _coarse(time[below]), cluster[below]))]
        self.degrees = cluster[below], dp[below], pp[below], time[below]
        floor = np.full(len(limit), np.inf)
        np.minimum.at(floor, cluster, time)
        return floor[chosen]

    def best(self, chosen: Integers) -> tuple[Integers, Strategies]:
        """Those of the chosen clusters that have a strategy below their limit, and the best of each."""
        self.incumbents: Incumbents[Candidates] = Incumbents(self.clusters.limit)
        wanted = np.zeros(len(self.clusters), dtype=bool)
        wanted[chosen] = True
        cluster, dp, pp, time = self.degrees
        asked = wanted[cluster]
        cluster, dp, pp, time = cluster[asked], dp[asked], pp[asked], time[asked]
        if len(cluster) > FEW:
            seeds = np.nonzero(_position(cluster) < SEEDS)[0]
            marks = self.best_first(self.candidates(cluster[seeds], dp[seeds], pp[seeds]))
            marks = marks.take(np.arange(min(len(marks), MARKS * len(chosen))))
            with self.progress.part(MARKING):
                Refinement(self, self.timed(marks)).run(greedy=True)
        rest = np.nonzero(self.incumbents.reached(cluster, time))[0]
        found = self.best_first(self.timed(self.candidates(cluster[rest], dp[rest], pp[rest])))
        Refinement(self, found).run()
        return self._strategies()

    def _strategies(self) -> tuple[Integers, Strategies]:
        best = self.incumbents.best
        if best is None:
            return np.array([], dtype=int), Strategies.none(len(self.costs.network))
        found = best.candidate
        degrees = self.costs.degrees(
            best.dp_usage,
            best.tp_column,
            best.pp_ep_column,
            found.dp,
            found.tp,
            found.tp_ff,
            found.pp,
            self.shapes.sparsity[found.cluster],
        )
        return found.cluster, Strategies(*degrees, found.microbatches, found.interleaving, found.zero_bubble)


def _coarse(time: Floats) -> Floats:
    """Times so rounded that those which tie are mostly equal, for ordering."""
    return time.astype(np.float32)


def _position(group: Integers) -> Integers:
    """The number of each element within its group, where groups stand together, ascending."""
    return np.arange(len(group)) - np.searchsorted(group, group)
