"""A training step: what a strategy computes and sends, and how the parts overlap and add up (spec section 4)."""

from dataclasses import dataclass

import numpy as np

from model.arrays import ZERO, Array, Booleans, Floats, Numbers
from model.columns import Columns
from model.configuration import Assumptions, Configuration
from model.gpu import block_time
from model.parallelism import data_parallel, pipeline_expert, tensor_parallel
from model.scaling import Shapes

SECONDS_PER_YEAR = 3.154e7
RECOMPUTED_COMPUTE = 4 / 3  # a second forward pass
RECOMPUTED_COMM = 3 / 2


@dataclass(frozen=True)
class Strategies(Columns):
    """Strategies: degrees (cases, network levels), innermost level first, and schedule (cases)."""

    dp: Floats
    tp_model: Floats
    tp_ff: Floats
    pp: Floats
    ep: Floats
    microbatches: Floats
    interleaving: Floats
    zero_bubble: Booleans

    @classmethod
    def none(cls, levels: int) -> "Strategies":
        """No case, on a network of so many levels."""
        degree, each = np.empty((0, levels)), np.empty(0)
        return cls(degree, degree, degree, degree, degree, each, each, np.empty(0, dtype=bool))

    @property
    def n_gpus(self) -> Floats:
        """GPUs that each occupies."""
        degrees = (self.dp, self.tp_model, self.tp_ff, self.pp, self.ep)
        n_gpus: Floats = np.prod([degree.prod(axis=-1) for degree in degrees], axis=0)
        return n_gpus


@dataclass(frozen=True)
class Steps(Columns):
    """The parts of steps, in s (spec section 4's names), before any overlap."""

    ideal_compute: Floats
    compute: Floats
    tp_comm: Floats
    pp_ep_comm: Floats
    dp_comm: Floats
    tp_latency: Floats
    pp_ep_latency: Floats
    dp_latency: Floats
    bubble: Floats
    time: Floats

    @property
    def mfu(self) -> Floats:
        """Model FLOP utilization."""
        return self.ideal_compute / self.time


def deadline(assumptions: Assumptions) -> float:
    """Longest allowed training time, in s."""
    return assumptions.training_months / 12 * SECONDS_PER_YEAR


def recomputation(assumptions: Assumptions) -> tuple[float, float]:
    """What recomputing activations multiplies compute by; and tensor, pipeline and expert communication."""
    return (RECOMPUTED_COMPUTE, RECOMPUTED_COMM) if assumptions.activations == "recomputed" else (1.0, 1.0)


def bubble(stages: Floats, microbatches: Floats, interleaving: Numbers) -> Floats:
    """Share of a 1F1B pipeline's time in which a stage has nothing to do."""
    waiting = (interleaving - 1) * np.maximum(0, stages - microbatches)
    return (waiting + stages - 1) / (waiting + stages - 1 + interleaving * microbatches)


def pipeline_time(
    assumptions: Assumptions,
    zero_bubble: bool | Booleans,
    bubble: Numbers,
    compute: Floats,
    tp_comm: Numbers,
    pp_ep_comm: Numbers,
    latency: Numbers,
) -> Floats:
    """Time of a batch's forward and backward passes, before gradients are reduced, in s."""
    overlapped = (pp_ep_comm if assumptions.overlap_pp else 0) + (tp_comm if assumptions.overlap_tp else 0)
    exposed = (0 if assumptions.overlap_pp else pp_ep_comm) + (0 if assumptions.overlap_tp else tp_comm)
    busy = np.maximum(compute, overlapped)
    if zero_bubble is True:
        return np.maximum(busy, latency) + exposed
    one_f_one_b = (busy + exposed) / (1 - bubble) + latency
    if zero_bubble is False:
        return one_f_one_b
    return np.where(zero_bubble, np.maximum(busy, latency) + exposed, one_f_one_b)


def batch_time(assumptions: Assumptions, pipeline: Floats, dp_comm: Floats, dp_latency: Floats) -> Floats:
    """Time of one step, in s."""
    return (np.maximum(pipeline, dp_comm) if assumptions.overlap_dp else pipeline + dp_comm) + dp_latency


def memory_bytes(params: Floats, dp: Numbers, word_bytes: float) -> Floats:
    """Bytes of parameters and optimiser state on the whole cluster: 4 words per parameter are sharded over DP."""
    return params * word_bytes * dp + 4 * params * word_bytes


def activation_bytes(
    assumptions: Assumptions,
    shapes: Shapes,
    dp: Floats,
    pp: Floats,
    tokens: Floats,
    zero_bubble: bool | Booleans,
    word_bytes: float,
) -> Floats:
    """Bytes of live activations on the whole cluster, with `tokens` to an expert's microbatch."""
    if assumptions.activations == "ignored":
        return ZERO
    live = np.where(zero_bubble, 2 * pp - 1, pp)
    per_token: Array
    if assumptions.activations == "recomputed":
        per_token = shapes.d_model * pp
    else:
        per_token = (shapes.d_model + shapes.d_ff) * shapes.n_layers
    return per_token * word_bytes * tokens * live * dp * shapes.sparsity


def step_times(configuration: Configuration, shapes: Shapes, strategies: Strategies) -> Steps:
    """The step of each model under each strategy, and all its parts."""
    gpu, network, assumptions = configuration.gpu, configuration.network, configuration.assumptions
    word, n_gpus = gpu.word_bytes, strategies.n_gpus
    dp, tp_model, tp_ff, pp, ep = (
        list(degree.T)
        for degree in (strategies.dp, strategies.tp_model, strategies.tp_ff, strategies.pp, strategies.ep)
    )
    stages = strategies.pp.prod(axis=-1)
    m, v = strategies.microbatches, strategies.interleaving
    compute_factor, comm_factor = recomputation(assumptions)

    f = shapes.d_ff // strategies.tp_ff.prod(axis=-1)
    d = shapes.d_model // strategies.tp_model.prod(axis=-1)
    t = shapes.batch_tokens // (strategies.dp.prod(axis=-1) * m * shapes.sparsity)
    blocks = (shapes.n_layers // stages) * (shapes.sparsity // strategies.ep.prod(axis=-1)) * m
    compute = compute_factor * blocks * block_time(gpu, f, d, t)
    ideal_compute = 6 * shapes.active_params * shapes.batch_tokens / (gpu.max_flop_per_s * n_gpus)

    dp_comm, dp_latency = data_parallel(network, dp, shapes.params, n_gpus, word)
    tp_comm, tp_latency = (
        comm_factor * part
        for part in tensor_parallel(
            network,
            tp_model,
            tp_ff,
            shapes.d_model,
            shapes.d_ff,
            shapes.n_layers,
            shapes.batch_tokens,
            n_gpus,
            word,
        )
    )
    pp_ep_comm, pp_ep_latency = (
        comm_factor * part
        for part in pipeline_expert(
            network, pp, ep, v, shapes.n_layers, shapes.d_model, shapes.batch_tokens, n_gpus, word
        )
    )
    idle = np.where(strategies.zero_bubble, 0.0, bubble(stages, m, v))
    pipeline = pipeline_time(
        assumptions, strategies.zero_bubble, idle, compute, tp_comm, pp_ep_comm, tp_latency + pp_ep_latency
    )
    return Steps(
        ideal_compute,
        compute,
        tp_comm,
        pp_ep_comm,
        dp_comm,
        tp_latency,
        pp_ep_latency,
        dp_latency,
        idle,
        batch_time(assumptions, pipeline, dp_comm, dp_latency),
    )
