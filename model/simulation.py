"""Sweeps, and single strategies, as data frames."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from model.arrays import Array, Floats, Integers
from model.cluster_size import LARGEST_CLUSTER, can_be_split, smallest_clusters
from model.configuration import Configuration, Shape, Strategy
from model.progress import Progress
from model.scaling import Shapes, given_shape, sweep_shapes
from model.step import Steps, Strategies, step_times
from model.workload import MOST_OF_CURVE, bounded

if TYPE_CHECKING:
    import pandas as pd

LEAST_MFU = 0.001


def simulate(configuration: Configuration, *, progress: Callable[[float], None] | None = None) -> "pd.DataFrame":
    """The best strategy at every width of a configuration's sweep, each on the smallest cluster that trains it in time.

    Parameters
    ----------
    configuration : Configuration
    progress : callable, optional
        Called with the share of the work that is done, from 0 to 1, never less than before, and with 1 when all is.
        That is a guess at the share of the time: the parts of a round of the search are known beforehand, but not how
        many rounds there will be, so each is taken to be three quarters of what is left. Mostly the first is nearly
        all, and the share ends with a leap. The calls come every few milliseconds, or tenths of a second where tables
        for a wide network are first made (a second if d_ff_ratio has many digits): what is slow to show should be shown
        at some of them only. Whatever `progress` raises stops the simulation and is passed on.

    Returns
    -------
    DataFrame
        One row per width, ascending, that is, per model (d_model, d_ff, n_layers, sparsity, params, active_params),
        its training (dataset_tokens, batch_tokens in tokens, training_flop), its cluster (n_gpus), how well that is
        used (training_s for the whole run, mfu, fraction_of_peak = mfu / effective utilization) and how: the degrees
        dp, tp = tp_model · tp_ff, pp, ep, also over the network levels (`*_levels`, tuples, innermost first),
        interleaving, microbatches, schedule. A step takes step_s and there are `steps`; its parts before any overlap,
        in s per step: compute_s, tp_comm_s, pp_ep_comm_s, dp_comm_s, pipeline_latency_s, dp_latency_s, and bubble, a
        share of the pipeline's time (`step_breakdown` adds them up). The frame ends at the last width that some cluster
        trains in time, or after the first whose MFU is below 0.001, or with the sweep; `attrs["reason"]` says which, in
        a sentence, also when no width is feasible and the frame is empty, and `attrs["at_the_wall"]` whether it is the
        deadline (the latency wall) that ends it; `attrs["operations"]` is the work that it took, as `Progress` counts.

    Raises
    ------
    ValueError
        If a scaling law leaves the range of numbers that the search can handle, or the search is larger than the second
        or so that it may take; the message names the law, or says what to reduce.

    Notes
    -----
    Erdil & Schneider-Joseph 2024, arXiv:2411.01137. Utilization is an upper bound: attention, failures, stragglers and
    congestion are left out.

    Examples
    --------
    >>> from model import load_presets, simulate
    >>> preset = load_presets()["GPU generations, dense"]
    >>> frame = simulate(preset.configurations[0])
    >>> bool((frame.mfu > 0).all())
    True
    """
    shapes = sweep_shapes(configuration)
    with bounded(configuration, len(shapes), MOST_OF_CURVE, progress) as work:
        found, strategies = smallest_clusters(configuration, shapes, work)
        reason, at_the_wall = _end_of(configuration, shapes, len(found), work)
    trained = shapes.take(found)
    steps = step_times(configuration, trained, strategies)
    kept = np.arange(len(trained))
    fallen = np.nonzero(steps.mfu < LEAST_MFU)[0]
    if len(fallen):
        kept = kept[: fallen[0] + 1]
        at_the_wall = False
        reason = f"The curve is cut off here: MFU falls below {LEAST_MFU}."
    result = frame(configuration, trained.take(kept), strategies.take(kept), steps.take(kept))
    result.attrs.update(reason=reason, at_the_wall=at_the_wall, operations=work.spent)
    if progress is not None:
        progress(1.0)
    return result


def _end_of(configuration: Configuration, shapes: Shapes, trained: int, work: Progress) -> tuple[str, bool]:
    """Why a curve has no more than its first so many shapes, in a sentence, and whether that is the latency wall."""
    from model.text import number, scientific  # it needs pandas, which takes long to import

    if len(shapes) == 0:
        return (
            "The sweep has no width: none between its ends is a multiple of its step with at most 4 significant bits.",
            False,
        )
    if trained == len(shapes):
        return "The sweep ends here: its largest d_model trains in time.", False
    d_model, flop = shapes.d_model[trained], shapes.training_flop[trained]
    if trained == 0 and not can_be_split(configuration, shapes, work):
        return (
            f"No strategy divides even the smallest model (d_model {d_model:,}) evenly and fits in the memory of its "
            "cluster."
        ), False
    months = configuration.assumptions.training_months
    next_model = f"the next model (d_model {d_model:,}, {scientific(flop, 3)} FLOP)"
    return f"No cluster trains {next_model} within {number(months)} months.", True


def evaluate(configuration: Configuration, shape: Shape, strategy: Strategy) -> "pd.DataFrame":
    """One pinned strategy, as it is: no search, and no look at the deadline, the memory or the sizes of network levels.

    Parameters
    ----------
    configuration : Configuration
        Its GPU, network, dataset law and assumptions are used.
    shape : Shape
        The model and its batch. Where a degree does not divide it, the remainder is left out of the compute, as in the
        spec.
    strategy : Strategy
        Degrees over the network's levels, and schedule.

    Returns
    -------
    DataFrame
        One row, with the columns of `simulate`.

    Raises
    ------
    ValueError
        If the degrees do not match the network's levels, leave a GPU without work, or make a cluster of 2^63 GPUs or
        more; the message says which.
    """
    shapes = given_shape(configuration, shape)
    strategies = Strategies(
        dp=np.array([strategy.dp], dtype=float),
        tp_model=np.array([strategy.tp_model], dtype=float),
        tp_ff=np.array([strategy.tp_ff], dtype=float),
        pp=np.array([strategy.pp], dtype=float),
        ep=np.array([strategy.ep], dtype=float),
        microbatches=np.array([float(strategy.microbatches)]),
        interleaving=np.array([float(strategy.interleaving)]),
        zero_bubble=np.array([strategy.schedule == "zero-bubble"]),
    )
    problem = _mismatch(configuration, shape, strategy)
    if problem:
        raise ValueError(problem)
    return frame(configuration, shapes, strategies, step_times(configuration, shapes, strategies))


def _mismatch(configuration: Configuration, shape: Shape, strategy: Strategy) -> str | None:
    """Why the strategy cannot be evaluated, if it cannot."""
    if len(strategy.dp) != len(configuration.network):
        return f"dp has {len(strategy.dp)} levels, but the network has {len(configuration.network)}"
    dp, tp_model, tp_ff, pp, ep = (
        math.prod(getattr(strategy, name)) for name in ("dp", "tp_model", "tp_ff", "pp", "ep")
    )
    tokens = dp * strategy.microbatches * shape.sparsity
    for degree, name, most, what in (
        (tp_model, "tp_model", shape.d_model, "d_model"),
        (tp_ff, "tp_ff", shape.d_ff, "d_ff"),
        (pp * strategy.interleaving, "pp · interleaving", shape.n_layers, "n_layers"),
        (ep, "ep", shape.sparsity, "sparsity"),
        (tokens, "dp · microbatches · sparsity", shape.batch_tokens, "batch_tokens"),
    ):
        if degree > most:
            return f"{name} is {degree}, which must not exceed {what}, {most}"
    if pp == 1 and strategy.interleaving > 1:
        return f"interleaving is {strategy.interleaving}, but without pipeline parallelism (pp = 1) it must be 1"
    n_gpus = dp * tp_model * tp_ff * pp * ep
    if n_gpus >= LARGEST_CLUSTER:
        return f"dp · tp_model · tp_ff · pp · ep, the number of GPUs, is {n_gpus:.3g}, which must be below 2^63"
    return None


def frame(configuration: Configuration, shapes: Shapes, strategies: Strategies, steps: Steps) -> "pd.DataFrame":
    """The columns of `simulate`, one row per case."""
    import pandas as pd

    def integers(values: Array) -> Integers:
        return values.astype(np.int64)

    def levels(degree: Floats) -> list[tuple[int, ...]]:
        return [tuple(row) for row in integers(degree).tolist()]

    tp_model, tp_ff = strategies.tp_model.prod(axis=-1), strategies.tp_ff.prod(axis=-1)
    return pd.DataFrame(
        {
            "configuration": configuration.name,
            "gpu": configuration.gpu.name,
            "d_model": shapes.d_model,
            "d_ff": shapes.d_ff,
            "n_layers": shapes.n_layers,
            "sparsity": shapes.sparsity,
            "params": shapes.params,
            "active_params": shapes.active_params,
            "dataset_tokens": shapes.dataset_tokens,
            "batch_tokens": shapes.batch_tokens,
            "training_flop": shapes.training_flop,
            "n_gpus": integers(strategies.n_gpus),
            "training_s": shapes.steps * steps.time,
            "mfu": steps.mfu,
            "fraction_of_peak": steps.mfu / configuration.gpu.effective_utilization,
            "dp": integers(strategies.dp.prod(axis=-1)),
            "tp": integers(tp_model * tp_ff),
            "tp_model": integers(tp_model),
            "tp_ff": integers(tp_ff),
            "pp": integers(strategies.pp.prod(axis=-1)),
            "ep": integers(strategies.ep.prod(axis=-1)),
            "interleaving": integers(strategies.interleaving),
            "microbatches": integers(strategies.microbatches),
            "schedule": np.where(strategies.zero_bubble, "zero-bubble", "1F1B"),
            "dp_levels": levels(strategies.dp),
            "tp_model_levels": levels(strategies.tp_model),
            "tp_ff_levels": levels(strategies.tp_ff),
            "pp_levels": levels(strategies.pp),
            "ep_levels": levels(strategies.ep),
            "step_s": steps.time,
            "steps": shapes.steps,
            "compute_s": steps.compute,
            "tp_comm_s": steps.tp_comm,
            "pp_ep_comm_s": steps.pp_ep_comm,
            "dp_comm_s": steps.dp_comm,
            "pipeline_latency_s": steps.tp_latency + steps.pp_ep_latency,
            "dp_latency_s": steps.dp_latency,
            "bubble": steps.bubble,
        }
    )
