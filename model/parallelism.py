"""What a strategy's four kinds of parallelism send over the network in one step (spec section 4).

Degrees are given per network level, innermost first: a sequence of arrays that broadcast against each other.
Every function returns bandwidth time and latency time, in s.
"""

from collections.abc import Sequence

import numpy as np

from model.configuration import NetworkLevel
from model.network import all_reduce, point_to_point

Network = Sequence[NetworkLevel]


def above(degree: Sequence, level: int):
    """Product of a degree's factors over the levels beyond `level`."""
    product = np.float64(1)
    for factor in degree[level + 1 :]:
        product = product * factor
    return product


def is_top(degree: Sequence, level: int):
    """Whether `level` is the highest over which the degree spreads."""
    return (degree[level] > 1) & (above(degree, level) == 1)


def data_parallel(network: Network, dp: Sequence, params, n_gpus, word_bytes: float):
    """All-reduce of the gradients: the slowest level's bandwidth time, the sum of the latencies."""
    comm = latency = np.float64(0)
    for index, level in enumerate(network):
        bandwidth_s, latency_s = all_reduce(level, dp[index], params, 1, above(dp, index), n_gpus, word_bytes)
        comm = np.maximum(comm, bandwidth_s)
        latency = latency + latency_s
    return comm, latency


def tensor_parallel(
    network: Network, tp_model: Sequence, tp_ff: Sequence, d_model, d_ff, n_layers, batch, n_gpus, word_bytes: float
):
    """All-reduces of the activations over both dimensions: the slowest level's bandwidth time, the sum of the latencies."""
    comm = latency = np.float64(0)
    sequential = 2 * n_layers
    for index, level in enumerate(network):
        over_model = batch * above(tp_model, index)
        over_ff = batch * above(tp_ff, index)
        model_s, model_latency = all_reduce(level, tp_model[index], d_ff, sequential, over_model, n_gpus, word_bytes)
        ff_s, ff_latency = all_reduce(level, tp_ff[index], d_model, sequential, over_ff, n_gpus, word_bytes)
        comm = np.maximum(comm, model_s + ff_s)
        latency = latency + model_latency + ff_latency
    return comm, latency


def pipeline_expert(
    network: Network, pp: Sequence, ep: Sequence, interleaving, n_layers, d_model, batch, n_gpus, word_bytes: float
):
    """Point-to-point messages between stages and experts: the sums of bandwidth times and of latencies.

    A message travels at the higher of the level that the pipeline crosses and the level that the experts cross, so it
    is at a level if one is there and the other there or below.
    """
    stages = above(pp, -1)
    pp_below = np.where(stages > 1, n_layers - interleaving * stages, n_layers - 1)  # interfaces inside a GPU
    ep_below = 1 / above(ep, -1)  # share of tokens whose expert is on their GPU
    ep_reached = above(ep, -1) == 1  # whether the farthest expert is this near
    comm = latency = np.float64(0)
    for index, level in enumerate(network):
        pp_here = interleaving * above(pp, index) * (pp[index] - 1) + is_top(pp, index) * (interleaving - 1)
        ep_to_here = 1 / above(ep, index)
        ep_farthest_here = is_top(ep, index)
        crossings = pp_here * ep_to_here + pp_below * (ep_to_here - ep_below)
        waits = pp_here * (ep_reached | ep_farthest_here) + pp_below * ep_farthest_here
        bandwidth_s, _ = point_to_point(level, d_model, 2 * crossings, batch, n_gpus, word_bytes)
        _, latency_s = point_to_point(level, d_model, 2 * waits, batch, n_gpus, word_bytes)
        comm = comm + bandwidth_s
        latency = latency + latency_s
        pp_below = pp_below + pp_here
        ep_below = ep_to_here
        ep_reached = ep_reached | ep_farthest_here
    return comm, latency
