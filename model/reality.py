"""The model beside published training runs: the step that it allows with a run's own parallelism, and the one measured.

The model is an upper bound: what was measured should take longer, and `GAP` says why it does.
"""

from collections.abc import Callable, Iterable, Sequence
from math import gcd, prod
from typing import TYPE_CHECKING

import numpy as np

from model.arrays import Floats
from model.breakdown import step_breakdown
from model.configuration import Assumptions, Configuration, NetworkLevel, Shape
from model.gpu import TENSOR_CORE
from model.integers import divisors
from model.presets import PublishedRun, load_hardware, load_published_runs
from model.progress import Progress
from model.scaling import given_shape
from model.simulation import frame as as_frame
from model.step import Strategies, step_times

if TYPE_CHECKING:
    import pandas as pd

GAP = (
    "Attention. The model has none, and 6 · parameters · tokens does not count it: without causal masking, it adds 2 · "
    "layers · d_model · sequence length / parameters of that arithmetic.",
    "The vocabulary. Its arithmetic is counted, but as if it were spread over all layers; in truth the logits are one "
    "wide matmul on the last pipeline stage, for which the other stages wait.",
    "Kernels that are no matmuls. Layer norm, softmax, GeLU, dropout and sums of residuals take activations through "
    "memory for hardly any arithmetic, and so does the optimizer with its state.",
    "Matmuls of a library. The model fits the tiles of every matmul to it exactly; real tiles come in a few sizes, and "
    "the last of them leave SMs idle.",
    "Communication that nothing hides. The model hides all that can be hidden behind compute; in Megatron, matmuls "
    "waited for the all-reduces between them.",
    "More communication. With attention, a layer has two tensor-parallel all-reduces forward and two backward; the "
    "model, of feed-forward blocks alone, has one of each.",
    "Smaller matmuls. The model folds all parameters of a layer into two large matmuls; real layers have four to "
    "seven, and so start more kernels.",
    "Stages and GPUs that wait. Pipeline stages have unequal work, and a step takes as long as the slowest of its "
    "thousands of GPUs, with congestion of the network, loading of data and checkpoints.",
    "What was not published. Microbatches and interleaving are then the fastest for the model. Where only FLOP/s were "
    "(Llama 3.1), the step follows from them as if they counted no attention; if they did, the true step is longer.",
)
_FIRST_PART, _LAST_PART = "ideal_compute_s", "gap_s"  # of a measured step, among the columns of `reality_check`


def reality_check(
    runs: Iterable[PublishedRun] | None = None, *, progress: Callable[[float], None] | None = None
) -> "pd.DataFrame":
    """The model's step and MFU for the own parallelism of published runs, beside what was measured.

    Parameters
    ----------
    runs : iterable of PublishedRun, optional
        All that are shipped, if not given.
    progress : callable, optional
        Called with the share of the work that is done, from 0 to 1; what it raises stops the work and is passed on.

    Returns
    -------
    DataFrame
        One row per run: name, year, gpu, params, d_model, n_layers, n_gpus, dp, tp, pp, batch_tokens;
        measured_step_s and model_step_s; measured_mfu and model_mfu, both 6 · params · batch_tokens / (step · n_gpus ·
        peak FLOP/s); ratio = measured_mfu / model_mfu, at most 1 if the model is an upper bound; attention_share, what
        attention's FLOP are of 6 · params · batch_tokens, which leaves them out; hidden_comm_s, the communication that
        the model hides behind compute, in s per step; the model's microbatches and interleaving, which are the fastest
        where the run's were not published; source. Then the parts of the model's step as in
        `step_breakdown`, and gap_s, what the measured step takes beyond them (`reality_breakdown` picks these out).

    Notes
    -----
    The model's transformer has the run's width and parameters (`model_shape`), its hardware is the catalogue's entry,
    and all communication hides behind compute as far as it can: a bound of every run, whatever overlapped there.
    Recomputed activations cost what they do in the model. Those that are kept are ignored: a run that was made had the
    memory for them, and a bound must not forbid it.

    As the papers describe it, the schedule is 1F1B, and tensor parallelism splits d_ff alone and comes first in a node;
    then come copies, then stages. Microbatches are whole sequences.

    Examples
    --------
    >>> run = load_published_runs()[6]
    >>> bool(reality_check([run]).ratio[0] < 1)
    True
    """
    import pandas as pd

    runs = load_published_runs() if runs is None else list(runs)
    work = Progress(progress)
    rows = []
    for run in work.each(runs):
        work.spend(0)
        rows.append(_checked(run))
    if progress is not None:
        progress(1.0)
    return pd.concat(rows, ignore_index=True)


def reality_breakdown(checked: "pd.DataFrame") -> "pd.DataFrame":
    """What the model knows of each measured step, and what it does not.

    Parameters
    ----------
    checked : DataFrame
        As `reality_check` gives it.

    Returns
    -------
    DataFrame
        Indexed by name, in s per step: the columns of `step_breakdown`, and gap_s, the rest; they add up to
        measured_step_s.
    """
    return checked.set_index("name").loc[:, _FIRST_PART:_LAST_PART]


def model_shape(run: PublishedRun) -> Shape:
    """A transformer of feed-forward blocks only that is like the run's.

    It has the run's width and, within 0.1%, its parameters: d_ff = params / (2 · d_model · n_layers), rounded so that
    each tensor-parallel shard fills tensor cores. Where the pipeline does not divide the layers, there are as many more
    (and thinner) as make all stages equal, which is no slower than the run's longest stage.
    """
    n_layers = -(-run.n_layers // run.pp) * run.pp
    multiple = TENSOR_CORE * run.tp
    d_ff = multiple * round(run.params / (2 * run.d_model * n_layers) / multiple)
    return Shape(d_model=run.d_model, d_ff=d_ff, n_layers=n_layers, batch_tokens=run.batch_tokens)


def run_configuration(run: PublishedRun) -> Configuration:
    """The run's hardware, activations recomputed or not, and all communication hidden that can be."""
    hardware = load_hardware()[run.gpu]
    assumptions = Assumptions(activations="recomputed" if run.recomputation == "full" else "ignored", overlap_dp=True)
    return Configuration(name=run.name, gpu=hardware.gpu, network=hardware.network, assumptions=assumptions)


def run_strategies(run: PublishedRun, network: Sequence[NetworkLevel]) -> Strategies:
    """The run's strategy; if microbatches or interleaving were not published, with each that is possible."""
    sequences, stage_layers = run.batch_sequences // run.dp, -(-run.n_layers // run.pp)
    counts = [sequences // run.microbatch_sequences] if run.microbatch_sequences else divisors(sequences)
    groups = [run.interleaving] if run.interleaving else divisors(stage_layers) if run.pp > 1 else [1]
    microbatches, interleaving = (choice.ravel().astype(float) for choice in np.meshgrid(counts, groups))
    tp_ff, dp, pp = np.tile(_over_levels(network, run.tp, run.dp, run.pp), (len(microbatches), 1, 1)).swapaxes(0, 1)
    return Strategies(
        dp=dp,
        tp_model=np.ones_like(dp),
        tp_ff=tp_ff,
        pp=pp,
        ep=np.ones_like(dp),
        microbatches=microbatches,
        interleaving=interleaving,
        zero_bubble=np.zeros(len(microbatches), dtype=bool),
    )


def _over_levels(network: Sequence[NetworkLevel], *degrees: int) -> Floats:
    """Each degree's factors at each level, innermost first, (degrees, levels); the first degree takes all it can."""
    left, factors = list(degrees), []
    for level in network:
        room, here = level.size or prod(left), []
        for degree in left:
            here.append(gcd(degree, room))
            room //= here[-1]
        left = [degree // factor for degree, factor in zip(left, here, strict=True)]
        factors.append(here)
    return np.array(factors, dtype=float).T


def _checked(run: PublishedRun) -> "pd.DataFrame":
    configuration = run_configuration(run)
    shapes, strategies = given_shape(configuration, model_shape(run)), run_strategies(run, configuration.network)
    fastest = strategies.take(np.array([step_times(configuration, shapes, strategies).time.argmin()]))
    best = as_frame(configuration, shapes, fastest, step_times(configuration, shapes, fastest))
    parts = step_breakdown(configuration, best)
    ideal_s = run.model_flop / (run.n_gpus * configuration.gpu.max_flop_per_s)
    model_step_s = best["step_s"]
    communication = ["tp_comm_s", "pp_ep_comm_s", "dp_comm_s"]
    return best[[]].assign(
        **run.model_dump(include={"name", "year", "gpu", "params", "d_model", "n_layers"}),
        **best[["n_gpus", "dp", "tp", "pp", "batch_tokens"]],
        measured_step_s=run.measured_step_s,
        model_step_s=model_step_s,
        measured_mfu=ideal_s / run.measured_step_s,
        model_mfu=ideal_s / model_step_s,
        ratio=model_step_s / run.measured_step_s,
        attention_share=2 * run.n_layers * run.d_model * run.sequence_length / run.params,
        hidden_comm_s=(best[communication] - parts[communication]).sum(axis=1),
        **best[["microbatches", "interleaving"]],
        source=run.source,
        **parts,
        gap_s=run.measured_step_s - model_step_s,
    )
