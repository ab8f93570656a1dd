"""Results in words: what tooltips, tables and sentences say, and what the terms in them mean."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING

from model.characters import isolated
from model.configuration import Configuration, Gpu
from model.form import guessable
from model.limits import LIMITS
from model.money import capital_cost_usd
from model.text import MISSING, amount, degrees_in_words, dollars, duration, flop, percent, quantity, scientific

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
    "Critical compute": "The training run at which nodes of GPUs run out of bandwidth, however it is parallelised, in "
    "closed form: the end of linear scaling by a formula.",
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
    "Bubble": "The time in which stages of a pipeline wait: at the start for the first microbatch, at the end for the "
    "last.",
    "Sparse": "A mixture of experts: each layer has several, and a token visits one. In a dense model there are none.",
    "Reads plus writes": "A GPU that sends 1 GB/s while it receives 1 GB/s has a bandwidth of 2 GB/s.",
    "Network level": "GPUs are joined in growing groups, such as nodes and clusters of nodes, by ever slower links.",
}
DEGREES = {"DP": "dp", "TP": "tp", "PP": "pp", "EP": "ep"}

# The parts of a step by the columns of `step_breakdown`, in the order in which they stack.
PARTS = {
    "ideal_compute_s": "Arithmetic",
    "clock_s": "Sustained clock",
    "padding_s": "Tile padding",
    "memory_s": "Memory traffic",
    "kernel_latency_s": "Kernel latency",
    "recomputation_s": "Recomputation",
    "bubble_s": "Pipeline bubble",
    "tp_comm_s": "TP communication",
    "pp_ep_comm_s": "PP and EP communication",
    "dp_comm_s": "DP communication",
    "latency_s": "Network latency",
}
PART_TERMS = {
    "Arithmetic": "The model's own additions and multiplications, at peak FLOP/s. Its share of a step is the MFU.",
    "Sustained clock": "What the same arithmetic takes longer because chips cannot sustain their peak speed, mainly "
    "for power and heat: at every scale the same share of the arithmetic.",
    "Tile padding": "Tensor cores multiply tiles of 8 × 8 × 8 numbers. Where a matrix ends within one, the rest idles.",
    "Memory traffic": "What matmuls take beyond the arithmetic because numbers arrive too slowly from the GPU's own "
    "memory: HBM, L2 or shared memory.",
    "Kernel latency": "The fixed time that starting and ending a matmul takes, however small it is.",
    "Recomputation": "A second forward pass that saves memory: activations are computed again and not kept.",
    "Pipeline bubble": "Pipeline stages wait for the first microbatch to reach them, and for the last to come back.",
    "TP communication": "Adding up results between the GPUs that share a weight matrix, as far as it does not happen "
    "during compute.",
    "PP and EP communication": "Sending activations to the next stage or to the experts, as far as it does not "
    "happen during compute.",
    "DP communication": "Adding up gradients between the copies of the model, as far as it does not happen during "
    "compute.",
    "Network latency": "The time that messages take to arrive, however short they are.",
}
_IN_A_SENTENCE = {
    "ideal_compute_s": "arithmetic",
    "padding_s": "the padding of tiles",
    "memory_s": "memory traffic on the GPU",
    "kernel_latency_s": "kernel latency (the start and end of each matmul)",
    "recomputation_s": "the recomputation of activations",
    "bubble_s": "the pipeline bubble",
    "tp_comm_s": "tensor-parallel communication",
    "pp_ep_comm_s": "pipeline and expert communication",
    "dp_comm_s": "the data-parallel all-reduce",
    "latency_s": "network latency",
}
LEAST_NAMED = 0.005  # share of a step that is not 0% in words

FIRST_YEAR, LAST_YEAR = 1950, 2200  # beyond them a year is a number, not a date


def facts(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Everything about each row of `simulate`, in words, by the titles that a tooltip shows."""
    import pandas as pd

    def said(words: Callable[[float], str], column: str) -> list[str]:
        return [words(value) for value in frame[column].tolist()]

    strategies = frame[["dp", "tp_model", "tp_ff", "pp", "ep"]].itertuples(index=False)
    return pd.DataFrame(
        {
            "Configuration": frame["configuration"],
            "Training compute": said(flop, "training_flop"),
            "MFU": said(partial(percent, decimals=1), "mfu"),
            "Share of peak sustained": said(partial(percent, decimals=1), "fraction_of_peak"),
            "Parameters": said(amount, "params"),
            "Active parameters": said(amount, "active_params"),
            "Training tokens": said(amount, "dataset_tokens"),
            "Batch": said(lambda tokens: f"{amount(tokens)} tokens", "batch_tokens"),
            "GPUs": said(amount, "n_gpus"),
            "Parallelism": [degrees_in_words(*strategy) for strategy in strategies],
            "Microbatches": said(amount, "microbatches"),
            "Schedule": frame["schedule"],
            "Training time": said(duration, "training_s"),
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

    names, above = limits["configuration"].tolist(), limits["last_above_flop"].notna().tolist()
    ends_at_wall = [bool(at_the_wall[name]) for name in names]
    counts = limits["n_gpus"].astype(float).tolist()
    cost = [float(capital_cost_usd(gpus[name], count)) for name, count in zip(names, counts, strict=True)]
    guessed = ["price_usd" in gpus[name].guesses for name in names]
    marks = (["" if each else "≤ " for each in above], ["" if each else "≥ " for each in ends_at_wall])
    described = {
        "at_the_wall": ends_at_wall,
        "above": above,
        "cost_usd": cost,
        **{
            title: [mark + flop(value) for mark, value in zip(of, limits[column].tolist(), strict=True)]
            for (title, column), of in zip(LIMITS.items(), marks, strict=True)
        },
        "Cost of GPUs": [
            f"{'≈ ' if guess and not math.isnan(usd) else ''}{dollars(usd)}"
            for guess, usd in zip(guessed, cost, strict=True)
        ],
    }
    return pd.concat([limits, pd.DataFrame(described, index=limits.index)], axis=1)


def guesses_in_words(gpu: Gpu) -> str:
    """What of a GPU, and of the network that it comes with, is a guess and enters a simulation."""
    titles = guessable(gpu.guesses)
    return ", ".join(titles[name] for name in gpu.guesses if name not in ("price_usd", "power_w"))


def level_in_words(configuration: Configuration, index: int) -> str:
    """A network level by what it joins: Node joins 8 GPUs, 900 GB/s per GPU."""
    level = configuration.network[index]
    units = "of the level below" if index else "GPU" if level.size == 1 else "GPUs"
    joined = f"{amount(level.size)} {units}" if level.size else "the rest"
    return f"{isolated(level.name)} joins {joined}, {quantity(level.bandwidth, 'B/s')} per GPU"


def degrees_on_level(frame: "pd.DataFrame", index: int) -> "pd.DataFrame":
    """DP, TP, PP and EP of each row of `simulate` on one network level, counted from the innermost."""
    import pandas as pd

    over = {
        column: frame[f"{column}_levels"].map(itemgetter(index)) for column in ("dp", "tp_model", "tp_ff", "pp", "ep")
    }
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


def bottleneck(parts: "pd.Series") -> str:
    """What a step waits for most, and what comes next, in a sentence.

    Parameters
    ----------
    parts : Series
        A row of `step_breakdown`.

    Returns
    -------
    str
        Such as "62% of the step is arithmetic at peak speed, and another 12% is lost because chips cannot sustain that
        speed; the data-parallel all-reduce is next, with 14%."; what takes more than the arithmetic comes first. The
        sustained clock is part of the arithmetic here: nothing but another chip would change it.
    """
    shares = parts / parts.sum()
    arithmetic, clock = shares["ideal_compute_s"], shares["clock_s"]
    others = shares.drop(["ideal_compute_s", "clock_s"]).sort_values(ascending=False, kind="stable")
    others = others[others >= LEAST_NAMED]
    first = f"{percent(arithmetic)} of the step is arithmetic"
    if len(others) and others.iloc[0] > arithmetic:
        (largest, share), others = next(others.items()), others.iloc[1:]
        name = _IN_A_SENTENCE[str(largest)]
        compared = "as much as" if percent(share) == percent(arithmetic) else "more than"
        first = f"{name[0].upper()}{name[1:]} takes {percent(share)} of the step, {compared} the arithmetic, "
        first += percent(arithmetic)
    elif clock >= LEAST_NAMED:
        first += f" at peak speed, and another {percent(clock)} is lost because chips cannot sustain that speed"
    named = [
        f"{_IN_A_SENTENCE[part]}{verb}, with {percent(others[part])}"
        for part, verb in zip(others.index, (" is next", ""), strict=False)
    ]
    return f"{'; '.join([first, ', then '.join(named)]) if named else first}."


def years_in_words(earliest: float, latest: float) -> str:
    """The years of `years_reached`: 2027.7 and 2028.3 → 2027–2028."""
    if math.isnan(earliest) or math.isnan(latest):
        return MISSING
    first, last = _year(earliest), _year(latest)
    if first == last:
        return first
    return f"{first}{'–' if first.isdecimal() and last.isdecimal() else ' to '}{last}"


def _year(year: float) -> str:
    if year < FIRST_YEAR:
        return f"before {FIRST_YEAR}"
    return f"after {LAST_YEAR}" if year >= LAST_YEAR + 1 else f"{math.floor(year)}"


def power(watts: float) -> str:
    """4.09e9 → 4.09 GW."""
    return _with_prefix(watts, "W")


def energy(joules: float) -> str:
    """The hours of power that bills and statistics count: 3.6e15 J → 1 TWh."""
    return _with_prefix(joules / 3600, "Wh")


def _with_prefix(x: float, unit: str) -> str:
    """A quantity, in powers of ten beyond the last prefix."""
    return f"{scientific(x)} {unit}" if 1e21 <= x < math.inf else quantity(x, unit)
