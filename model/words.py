"""Results in words: what tooltips, tables and sentences say, and what the terms in them mean."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from model.configuration import Configuration, Gpu
from model.form import guessable
from model.money import capital_cost_usd
from model.text import amount, degrees_in_words, dollars, duration, flop, percent, quantity

if TYPE_CHECKING:
    import pandas as pd

TERMS = {
    "FLOP": "Floating-point operations: additions and multiplications. FLOP/s are those of a second.",
    "Training compute": "The arithmetic of a whole training run, in FLOP: 6 for each active parameter and token.",
    "MFU": "Model FLOP utilization: the share of the GPUs' peak FLOP/s that goes into the model's own arithmetic.",
    "Peak sustained": "The most MFU can be: what long runs of large matrix multiplications sustain on this GPU.",
    "Linear scaling": "While MFU stays near its peak, twice the GPUs train twice the FLOP in the same time. That ends "
    "at the first training run whose MFU is no longer above the threshold, a share of peak sustained.",
    "Latency wall": "The largest training run that ends in time on any number of GPUs. Beyond the wall, steps, which "
    "must follow one another, take too long, because every message and every matmul has a latency. ≥ where the sweep "
    "ends before the wall.",
    "Token": "A piece of text, about three quarters of an English word. Models train on sequences of tokens.",
    "Batch": "The tokens of one gradient step, after which all weights change.",
    "d_model, d_ff": "Width of a layer's input and output, and of its inner part; its two weight matrices are d_model "
    "× d_ff.",
    "DP": "Data parallel: GPUs hold copies of the model, train on different sequences and add up gradients every step.",
    "TP": "Tensor parallel: GPUs split each weight matrix, along d_model and d_ff, and add up results at every layer.",
    "PP": "Pipeline parallel: GPUs hold successive layers and pass activations on from stage to stage.",
    "EP": "Expert parallel: GPUs hold different experts of a sparse model, and tokens travel to theirs.",
    "Microbatch": "A piece of the batch that moves through the pipeline by itself, so that every stage has work.",
    "Schedule": "The order of work in a pipeline. 1F1B alternates forward and backward passes; zero-bubble fills the "
    "waiting at the start and the end (the bubble) with weight gradients.",
    "Sparse": "A mixture of experts: each layer has several, and a token visits one. In a dense model there are none.",
    "Reads plus writes": "A GPU that sends 1 GB/s while it receives 1 GB/s has a bandwidth of 2 GB/s.",
    "Network level": "GPUs are joined in growing groups, such as nodes and clusters of nodes, by ever slower links.",
}
DEGREES = {"DP": "dp", "TP": "tp", "PP": "pp", "EP": "ep"}


def facts(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Everything about each row of `simulate`, in words, by the titles that a tooltip shows."""
    import pandas as pd

    strategies = frame[["dp", "tp_model", "tp_ff", "pp", "ep"]].itertuples(index=False)
    return pd.DataFrame(
        {
            "Configuration": frame["configuration"],
            "Training compute": frame["training_flop"].map(flop),
            "MFU": frame["mfu"].map(partial(percent, decimals=1)),
            "Share of peak sustained": frame["fraction_of_peak"].map(partial(percent, decimals=1)),
            "Parameters": frame["params"].map(amount),
            "Active parameters": frame["active_params"].map(amount),
            "Training tokens": frame["dataset_tokens"].map(amount),
            "Batch": frame["batch_tokens"].map(lambda tokens: f"{amount(tokens)} tokens"),
            "GPUs": frame["n_gpus"].map(amount),
            "Parallelism": [degrees_in_words(*strategy) for strategy in strategies],
            "Microbatches": frame["microbatches"].map(amount),
            "Schedule": frame["schedule"],
            "Training time": frame["training_s"].map(duration),
        }
    )


def described_limits(
    limits: "pd.DataFrame", gpus: Mapping[str, Gpu], at_the_wall: Mapping[str, bool]
) -> "pd.DataFrame":
    """The limits of `training_limits`, and what a reader asks beside them.

    Parameters
    ----------
    limits : DataFrame
        As `training_limits` gives them.
    gpus : dict of Gpu
        The GPU of each configuration, by the name of the configuration.
    at_the_wall : dict of bool
        Whether each curve ends at the latency wall (`attrs["at_the_wall"]` of its frame).

    Returns
    -------
    DataFrame
        The same, with at_the_wall; above, whether any run is above the threshold; cost_usd of the GPUs; and in words
        "Linear scaling ends" (≤ where no run is above the threshold), "Latency wall" (≥ where the curve ends before)
        and "Cost of GPUs" (≈ where the price is a guess).
    """
    import pandas as pd

    ends_at_wall = limits["configuration"].map(at_the_wall).astype(bool)
    above = limits["last_above_flop"].notna()
    guessed = limits["configuration"].map({name: "price_usd" in gpu.guesses for name, gpu in gpus.items()}).astype(bool)
    counts = zip(limits["configuration"], limits["n_gpus"].astype(float), strict=True)
    cost = pd.Series([capital_cost_usd(gpus[name], count) for name, count in counts], index=limits.index, dtype=float)
    marks = (above.map({True: "", False: "≤ "}), ends_at_wall.map({True: "", False: "≥ "}))
    return limits.assign(
        at_the_wall=ends_at_wall,
        above=above,
        cost_usd=cost,
        **{
            "Linear scaling ends": marks[0] + limits["linear_scaling_end_flop"].map(flop),
            "Latency wall": marks[1] + limits["latency_wall_flop"].map(flop),
            "Cost of GPUs": (guessed & cost.notna()).map({True: "≈ ", False: ""}) + cost.map(dollars),
        },
    )


def guesses_in_words(gpu: Gpu) -> str:
    """What of a GPU, and of the network that it comes with, is a guess and enters a simulation."""
    titles = guessable(gpu.guesses)
    return ", ".join(titles[name] for name in gpu.guesses if name not in ("price_usd", "power_w"))


def level_in_words(configuration: Configuration, index: int) -> str:
    """A network level by what it joins: Node joins 8 GPUs, 900 GB/s per GPU."""
    level = configuration.network[index]
    units = "of the level below" if index else "GPU" if level.size == 1 else "GPUs"
    joined = f"{amount(level.size)} {units}" if level.size else "the rest"
    return f"{level.name} joins {joined}, {quantity(level.bandwidth, 'B/s')} per GPU"


def degrees_on_level(frame: "pd.DataFrame", index: int) -> "pd.DataFrame":
    """DP, TP, PP and EP of each row of `simulate` on one network level, counted from the innermost."""
    import pandas as pd

    over = {column: frame[f"{column}_levels"].str[index] for column in ("dp", "tp_model", "tp_ff", "pp", "ep")}
    return pd.DataFrame({"DP": over["dp"], "TP": over["tp_model"] * over["tp_ff"], "PP": over["pp"], "EP": over["ep"]})


def degrees_by_level(configuration: Configuration, row: "pd.Series") -> "pd.DataFrame":
    """How one strategy spreads over the network: a row per level, a column per degree.

    Parameters
    ----------
    configuration : Configuration
    row : Series
        A row of its `simulate` frame.

    Returns
    -------
    DataFrame
        Network level (name), and the degrees DP, TP of d_model, TP of d_ff, PP and EP on it; their product over levels
        and degrees is the number of GPUs.
    """
    import pandas as pd

    columns = {"DP": "dp", "TP of d_model": "tp_model", "TP of d_ff": "tp_ff", "PP": "pp", "EP": "ep"}
    names = [level.name for level in configuration.network]
    degrees = {title: list(row[f"{column}_levels"]) for title, column in columns.items()}
    return pd.DataFrame({"Network level": names} | degrees)


def sentence(row: "pd.Series") -> str:
    """The strategy of one row of `simulate`, in a sentence."""
    microbatches = f"{amount(row['microbatches'])} microbatch{'' if row['microbatches'] == 1 else 'es'}"
    groups = f" with {row['interleaving']:,} groups of layers per stage" if row["interleaving"] > 1 else ""
    gpus = "1 GPU trains" if row["n_gpus"] == 1 else f"{amount(row['n_gpus'])} GPUs train"
    strategy = degrees_in_words(*row[["dp", "tp_model", "tp_ff", "pp", "ep"]])
    return (
        f"{gpus} {amount(row['params'])} parameters on {amount(row['dataset_tokens'])} tokens in "
        f"{duration(row['training_s'])}: {strategy}, {microbatches} per pipeline and batch, {row['schedule']} "
        f"schedule{groups}."
    )
