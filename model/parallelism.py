"""What a strategy's four kinds of parallelism send over the network in one step (spec section 4).

Degrees are given per network level, innermost first: a sequence of arrays that broadcast against each other.
Every function returns bandwidth time and latency time, in s.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from model.arrays import ZERO, Array, Floats, Numbers
from model.configuration import NetworkLevel
from model.network import all_reduce, point_to_point

Network: TypeAlias = Sequence[NetworkLevel]
Degree: TypeAlias = Sequence[Numbers]


def above(degree: Degree, level: int) -> Numbers:
    """Product of a degree's factors over the levels beyond `level`."""
    product: Numbers = np.float64(1)
    for factor in degree[level + 1 :]:
        product = product * factor
    return product


def data_parallel(
    network: Network, dp: Degree, params: Numbers, n_gpus: Numbers, word_bytes: float
) -> tuple[Floats, Floats]:
    """All-reduce of the gradients: the slowest level's bandwidth time, the sum of the latencies."""
    comm = latency = ZERO
    for index, level in enumerate(network):
        bandwidth_s, latency_s = all_reduce(level, dp[index], params, 1, above(dp, index), n_gpus, word_bytes)
        comm = np.maximum(comm, bandwidth_s)
        latency = latency + latency_s
    return comm, latency


def tensor_parallel(
    network: Network,
    tp_model: Degree,
    tp_ff: Degree,
    d_model: Numbers,
    d_ff: Numbers,
    n_layers: Numbers,
    batch: Numbers,
    n_gpus: Numbers,
    word_bytes: float,
) -> tuple[Floats, Floats]:
    """All-reduces of the activations, over both dimensions: as `data_parallel`, each level's two added up."""
    comm = latency = ZERO
    sequential = 2 * n_layers
    for index, level in enumerate(network):
        over_model = batch * above(tp_model, index)
        over_ff = batch * above(tp_ff, index)
        model_s, model_latency = all_reduce(level, tp_model[index], d_ff, sequential, over_model, n_gpus, word_bytes)
        ff_s, ff_latency = all_reduce(level, tp_ff[index], d_model, sequential, over_ff, n_gpus, word_bytes)
        comm = np.maximum(comm, model_s + ff_s)
        latency = latency + model_latency + ff_latency
    return comm, latency


def interfaces_within(stages_beyond: Numbers, interleaving: Numbers, n_layers: Numbers) -> Array:
    """How many of the n_layers - 1 interfaces stay within a level, with so many pipeline stages beyond it."""
    return n_layers - 1 - np.where(stages_beyond > 1, interleaving * stages_beyond - 1, 0)


def pipeline_expert(
    network: Network,
    pp: Degree,
    ep: Degree,
    interleaving: Numbers,
    n_layers: Numbers,
    d_model: Numbers,
    batch: Numbers,
    n_gpus: Numbers,
    word_bytes: float,
) -> tuple[Floats, Floats]:
    """Point-to-point messages between stages and experts: the sums of bandwidth times and of latencies.

    A message travels at the higher of the levels that the pipeline and the experts cross, independently: it stays
    within a level if both do. For bandwidth, a token's expert is within with probability 1 / (EP beyond the level);
    for latency, only if all experts are. Messages at a level are those within it less those within the level below.
    """
    comm = latency = stays = waits_stay = ZERO
    for index in range(-1, len(network)):
        interfaces = interfaces_within(above(pp, index), interleaving, n_layers)
        experts_beyond = above(ep, index)
        within, waits_within = interfaces / experts_beyond, interfaces * (experts_beyond == 1)
        if index >= 0:
            level = network[index]
            bandwidth_s, _ = point_to_point(level, d_model, 2 * (within - stays), batch, n_gpus, word_bytes)
            _, latency_s = point_to_point(level, d_model, 2 * (waits_within - waits_stay), batch, n_gpus, word_bytes)
            comm = comm + bandwidth_s
            latency = latency + latency_s
        stays, waits_stay = within, waits_within
    return comm, latency
