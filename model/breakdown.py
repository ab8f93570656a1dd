"""Where the time of a step goes: parts that add up to the step, whatever overlaps (spec section 4)."""

from typing import TYPE_CHECKING, Any, overload

import numpy as np

from model.arrays import Floats
from model.configuration import Assumptions, Configuration
from model.gpu import MATMULS, block_bounds, matmul_bounds, matmul_flop, over_block
from model.step import recomputation

if TYPE_CHECKING:
    import pandas as pd

UP, DOWN = "Up projection", "Down projection"
FORWARD, ACTIVATION_GRADIENT, WEIGHT_GRADIENT = "forward", "activation gradient", "weight gradient"
BOUNDS = {
    "hbm_s": "HBM",
    "l2_s": "L2",
    "shared_memory_s": "shared memory",
    "tensor_core_s": "tensor cores",
}
LATENCY = "latency"


def step_breakdown(configuration: Configuration, frame: "pd.DataFrame") -> "pd.DataFrame":
    """The parts of each step that nothing hides.

    Parameters
    ----------
    configuration : Configuration
        The one whose rows these are; its GPU says what matmuls wait for, its assumptions what overlaps.
    frame : DataFrame
        Rows of `simulate` or `evaluate`.

    Returns
    -------
    DataFrame
        With the index of `frame`, in s per step; the columns add up to `step_s`. Compute:
        ideal_compute_s, the model's arithmetic at peak FLOP/s; clock_s, what it takes longer at sustained FLOP/s;
        padding_s, the FLOP that fill tiles of 8 up, at sustained FLOP/s; memory_s, what the slowest of HBM, L2 and
        shared memory takes beyond the tensor cores, summed over all matmuls; kernel_latency_s, of all matmuls;
        recomputation_s, of activations, with all that its matmuls take. Then bubble_s, the pipeline's waiting;
        tp_comm_s, pp_ep_comm_s, dp_comm_s, communication that does not hide behind compute (where tensor and pipeline
        communication overlap it together, each has its share of what sticks out); latency_s, of messages.

        No part is negative, but for padding_s where `evaluate` leaves remainders out of the compute: it then holds,
        negative, the arithmetic that is left out.

    Notes
    -----
    Erdil & Schneider-Joseph 2024, arXiv:2411.01137.

    Examples
    --------
    >>> from model import load_presets, simulate, step_breakdown
    >>> h100 = load_presets()["GPU generations, dense"].configurations[0]
    >>> frame = simulate(h100)
    >>> step_breakdown(h100, frame).iloc[-1].idxmax()  # at the latency wall
    'kernel_latency_s'
    """
    import pandas as pd

    compute = _compute_parts(configuration, frame)
    waits = _waits(configuration.assumptions, frame)
    return pd.DataFrame(compute | waits, index=frame.index)


def _compute_parts(configuration: Configuration, frame: "pd.DataFrame") -> dict[str, Floats]:
    """What adds up to compute_s."""
    gpu = configuration.gpu
    sizes = [np.asarray(size, dtype=float) for size in _shard(frame)]
    columns = ("active_params", "batch_tokens", "n_gpus", "compute_s", "mfu", "step_s")
    active_params, batch_tokens, n_gpus, compute, mfu, step = (frame[name].to_numpy() for name in columns)
    layers, experts = frame["n_layers"] // frame["pp"], frame["sparsity"] // frame["ep"]
    blocks = (layers * 1.0 * experts * frame["microbatches"]).to_numpy()  # 1.0: whole numbers may overflow
    bounds = block_bounds(gpu, *sizes)
    beyond_tensor_cores = np.maximum(bounds.memory_s - bounds.tensor_core_s, 0)
    model_flop = 6 * active_params * batch_tokens / n_gpus
    tile_flop = MATMULS * blocks * matmul_flop(*sizes)
    compute_factor, _ = recomputation(configuration.assumptions)
    ideal = mfu * step
    return {
        "ideal_compute_s": ideal,
        "clock_s": ideal / gpu.effective_utilization - ideal,
        "padding_s": (tile_flop - model_flop) / gpu.flop_per_s,
        "memory_s": blocks * over_block(beyond_tensor_cores),
        "kernel_latency_s": MATMULS * blocks * gpu.matmul_latency_s,
        "recomputation_s": compute * (1 - 1 / compute_factor),
    }


def _waits(assumptions: Assumptions, frame: "pd.DataFrame") -> dict[str, Floats]:
    """What the step takes beyond compute_s."""
    compute, tp, pp_ep, dp = (
        frame[name].to_numpy() for name in ("compute_s", "tp_comm_s", "pp_ep_comm_s", "dp_comm_s")
    )
    zero_bubble = (frame["schedule"] == "zero-bubble").to_numpy()
    overlapped = tp * assumptions.overlap_tp + pp_ep * assumptions.overlap_pp
    sticks_out = np.maximum(overlapped - compute, 0) / np.where(overlapped > 0, overlapped, 1)
    exposed_tp = tp * sticks_out if assumptions.overlap_tp else tp
    exposed_pp_ep = pp_ep * sticks_out if assumptions.overlap_pp else pp_ep
    idle = frame["bubble"].to_numpy()
    bubble = (compute + exposed_tp + exposed_pp_ep) * idle / (1 - idle)
    hidden = np.where(zero_bubble, np.maximum(compute, overlapped), 0)
    latency = np.maximum(frame["pipeline_latency_s"].to_numpy() - hidden, 0)
    pipeline = compute + exposed_tp + exposed_pp_ep + bubble + latency
    return {
        "bubble_s": bubble,
        "tp_comm_s": exposed_tp,
        "pp_ep_comm_s": exposed_pp_ep,
        "dp_comm_s": np.maximum(dp - pipeline, 0) if assumptions.overlap_dp else dp,
        "latency_s": latency + frame["dp_latency_s"].to_numpy(),
    }


def matmul_table(configuration: Configuration, row: "pd.Series[Any]") -> "pd.DataFrame":
    """The six matmuls that a GPU does for each of its layers and microbatches, and what bounds each.

    Parameters
    ----------
    configuration : Configuration
        The one whose row this is.
    row : Series
        A row of `simulate` or `evaluate`.

    Returns
    -------
    DataFrame
        Six rows: matmul (up or down projection of the feed-forward block) and pass (forward, gradient of the
        activations, of the weights); the weights d1 × d2 of the GPU's shard, as they are multiplied, and tokens; hbm_s,
        l2_s, shared_memory_s, tensor_core_s, which run at the same time, and latency_s, which is added to the slowest
        of them: time_s. `bound` names the slowest, or the latency if that is more.

    Notes
    -----
    Spec sections 2 and 4. With experts, each has such matmuls; recomputation is not listed.

    Examples
    --------
    >>> from model import load_presets, simulate
    >>> from model.breakdown import matmul_table
    >>> h100 = load_presets()["GPU generations, dense"].configurations[0]
    >>> matmul_table(h100, simulate(h100).iloc[0])["bound"].unique().tolist()
    ['tensor cores']
    """
    import pandas as pd

    f, d, t = _shard(row)
    up, down = (f, d), (d, f)
    table = pd.DataFrame(
        [
            (UP, FORWARD, *up),
            (UP, ACTIVATION_GRADIENT, *down),
            (UP, WEIGHT_GRADIENT, *up),
            (DOWN, FORWARD, *down),
            (DOWN, ACTIVATION_GRADIENT, *up),
            (DOWN, WEIGHT_GRADIENT, *down),
        ],
        columns=["matmul", "pass", "d1", "d2"],
    ).assign(tokens=t)
    is_weight_gradient = (table["pass"] == WEIGHT_GRADIENT).to_numpy()
    bounds = matmul_bounds(configuration.gpu, table["d1"], table["d2"], t, is_weight_gradient)
    table = table.assign(**bounds._asdict(), time_s=bounds.time_s)
    levels = table[[*BOUNDS]]
    slowest = levels.idxmax(axis=1).map(BOUNDS)
    return table.assign(bound=slowest.mask(table["latency_s"] > levels.max(axis=1), LATENCY))


@overload
def _shard(rows: "pd.DataFrame") -> "tuple[pd.Series[int], pd.Series[int], pd.Series[int]]": ...
@overload
def _shard(rows: "pd.Series[Any]") -> tuple[int, int, int]: ...
def _shard(rows: "pd.DataFrame | pd.Series[Any]") -> tuple[Any, Any, Any]:
    """A GPU's part of a weight matrix and of a microbatch: f, d and t of the spec, of a frame or of a row."""
    tokens = rows["batch_tokens"] // (rows["dp"] * rows["microbatches"] * rows["sparsity"])
    return rows["d_ff"] // rows["tp_ff"], rows["d_model"] // rows["tp_model"], tokens
