"""Where the time of a step goes: parts that add up to the step, whatever overlaps (spec section 4)."""

from typing import TYPE_CHECKING

import numpy as np

from model.configuration import Configuration

if TYPE_CHECKING:
    import pandas as pd


def step_breakdown(configuration: Configuration, frame: "pd.DataFrame") -> "pd.DataFrame":
    """The parts of each step that nothing hides.

    Parameters
    ----------
    configuration : Configuration
        The one whose rows these are; its assumptions say what overlaps.
    frame : DataFrame
        Rows of `simulate` or `evaluate`.

    Returns
    -------
    DataFrame
        With the index of `frame`, in s per step; the columns add up to `step_s`:
        ideal_compute_s, the model's arithmetic at peak FLOP/s; matmul_overhead_s, what matmuls take beyond that, and
        recomputation; tp_comm_s, pp_ep_comm_s, dp_comm_s, communication that does not hide behind compute (where tensor
        and pipeline communication overlap it together, each has its share of what sticks out); bubble_s, the pipeline's
        waiting; latency_s, of messages.

    Notes
    -----
    Erdil & Schneider-Joseph 2024, arXiv:2411.01137.
    """
    import pandas as pd

    assumptions = configuration.assumptions
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
    pipeline_latency = frame["pipeline_latency_s"].to_numpy()
    hidden = np.where(zero_bubble, np.maximum(compute, overlapped), 0)
    latency = np.maximum(pipeline_latency - hidden, 0)
    pipeline = compute + exposed_tp + exposed_pp_ep + bubble + latency
    ideal = (frame["mfu"] * frame["step_s"]).to_numpy()
    return pd.DataFrame(
        {
            "ideal_compute_s": ideal,
            "matmul_overhead_s": compute - ideal,
            "tp_comm_s": exposed_tp,
            "pp_ep_comm_s": exposed_pp_ep,
            "dp_comm_s": np.maximum(dp - pipeline, 0) if assumptions.overlap_dp else dp,
            "bubble_s": bubble,
            "latency_s": latency + frame["dp_latency_s"].to_numpy(),
        },
        index=frame.index,
    )
