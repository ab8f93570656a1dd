"""Results as tables for people: numbers in words, a column or a row for each thing that a reader looks up."""

from collections.abc import Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from model.characters import isolated
from model.configuration import Configuration
from model.limits import LIMITS
from model.text import MISSING, amount, duration, flop, percent, quantity
from model.words import DEGREES, PARTS, degrees_by_level, years_in_words

if TYPE_CHECKING:
    import pandas as pd

LEAST_MOVE = 1.005  # times by which a lever has an effect
_TIMES_OF_MATMULS = {
    "Time": "time_s",
    "Tensor cores": "tensor_core_s",
    "Shared memory": "shared_memory_s",
    "L2": "l2_s",
    "HBM": "hbm_s",
    "Latency": "latency_s",
}


def shares_in_words(parts: "pd.DataFrame") -> "pd.DataFrame":
    """The share of every part of every step of `step_breakdown`, by the titles of the parts."""
    return parts.div(parts.sum(axis=1), axis=0).rename(columns=PARTS).map(partial(percent, decimals=1))


def parts_table(parts: "pd.Series") -> "pd.DataFrame":
    """The parts of one step: a row of `step_breakdown`, or those of its parts that are to be shown."""
    import pandas as pd

    return pd.DataFrame(
        {
            "Part of the step": parts.index.map(PARTS),
            "Share": [percent(part / parts.sum(), 1) for part in parts],
            "Time": [duration(part) for part in parts],
        }
    )


def matmuls_in_words(matmuls: "pd.DataFrame") -> "pd.DataFrame":
    """What `matmul_table` says, a row for each matmul."""
    import pandas as pd

    return pd.DataFrame(
        {
            "Matmul": matmuls["matmul"] + ", " + matmuls["pass"],
            "Bound by": matmuls["bound"],
            **{title: matmuls[column].map(duration) for title, column in _TIMES_OF_MATMULS.items()},
            "Weights": [f"{d1:,} × {d2:,}" for d1, d2 in zip(matmuls["d1"], matmuls["d2"], strict=True)],
            "Tokens": matmuls["tokens"].map(amount),
        }
    )


def strategies_in_words(configuration: Configuration, compared: Mapping[str, "pd.DataFrame"]) -> "pd.DataFrame":
    """Strategies side by side.

    Parameters
    ----------
    configuration : Configuration
    compared : dict of DataFrame
        Frames of `fastest_strategy` with one row, by the titles of their columns in the table.

    Returns
    -------
    DataFrame
        A row for each thing about them, which the column " " names.
    """
    import pandas as pd

    described = {title: _strategy(configuration, frame.iloc[0]) for title, frame in compared.items()}
    table = pd.DataFrame(described)
    table.insert(0, " ", table.index)
    return table.reset_index(drop=True)


def _strategy(configuration: Configuration, row: "pd.Series") -> dict[str, str]:
    levels = degrees_by_level(configuration, row).to_dict("records")
    return {
        "MFU": percent(row["mfu"], 1),
        "Step": duration(row["step_s"]),
        "Training time": duration(row["training_s"]),
        "Memory per GPU": quantity(row["memory_per_gpu_bytes"], "B"),
        **{kind: f"{row[column]:,}" for kind, column in DEGREES.items()},
        "Microbatches": f"{row['microbatches']:,}",
        "Schedule": row["schedule"],
        "Interleaving": f"{row['interleaving']:,}",
        **{
            f"{isolated(level.pop('Network level'))} (level {i})": _used(level)
            for i, level in enumerate(levels, start=1)
        },
    }


def _used(degrees: Mapping[Hashable, int]) -> str:
    """The degrees that are more than one, in words."""
    return " · ".join(f"{kind} {degree:,}" for kind, degree in degrees.items() if degree > 1) or "one GPU"


def runs_in_words(checked: "pd.DataFrame") -> "pd.DataFrame":
    """What `reality_check` says, a row for each run; "Measured / model" stays a number, in %."""
    import pandas as pd

    return pd.DataFrame(
        {
            "Run": checked["name"],
            "Measured / model": 100 * checked["ratio"],
            "Measured MFU": checked["measured_mfu"].map(percent),
            "MFU of the model": checked["model_mfu"].map(percent),
            "Measured step": checked["measured_step_s"].map(duration),
            "Step of the model": checked["model_step_s"].map(duration),
            "Attention on top": checked["attention_share"].map(percent),
            "Hidden communication": (checked["hidden_comm_s"] / checked["measured_step_s"]).map(percent),
            "GPU": checked["gpu"],
            "GPUs": checked["n_gpus"].map(amount),
            **{kind: checked[kind.lower()] for kind in ("DP", "TP", "PP")},
            "Source": checked["source"],
        }
    )


def comparable_in_words(found: "pd.DataFrame") -> "pd.DataFrame":
    """Both limits of each row of `sensitivities` or `improvement_map`, with ≤ and ≥ where only a bound is known."""
    import pandas as pd

    known = found["latency_wall_flop"].notna()
    below = found["above"].map({True: "", False: "≤ "}).where(known, "")
    beyond = found["ends"].map({True: "", False: "≥ "}).where(known, "")
    end, wall = (found[column].map(flop) for column in LIMITS.values())
    return pd.DataFrame(dict(zip(LIMITS, (below.where(~found["above"], beyond) + end, beyond + wall), strict=True)))


def levers_in_words(bars: "pd.DataFrame", limit: "pd.Series", most: float) -> "pd.DataFrame":
    """The bars of `tornado` as they are drawn, from `one` to `shown`, and said.

    Parameters
    ----------
    bars : DataFrame
    limit : Series
        The limit of each row of `sensitivities`, in words.
    most : float
        Times by which a bar moves the limit at most; those that go on say how far.

    Returns
    -------
    DataFrame
        rank; offset, 0 if the quantity is multiplied and 1 if divided; shown and one; note, beside the bar on a side
        of one; and in words Quantity, Change, Limit, spoken.
    """
    import pandas as pd

    reaches = bars["ratio"].fillna(bars["open"].map({-1: 0.0, 1: float("inf")}))
    shown = reaches.clip(1 / most, most)
    change = bars["factor"].map(_times)
    note = bars["open"].map({-1: "◀ never above", 0: "", 1: "above it ▶"})
    cut_off = (bars["open"] == 0) & (shown != reaches)
    how_far = [f"{_times(ratio)} ▶" if ratio > 1 else f"◀ {_times(ratio)}" for ratio in reaches.where(cut_off, 1.0)]
    note = note.mask(cut_off, pd.Series(how_far, index=bars.index))
    moves = ~reaches.between(1 / LEAST_MOVE, LEAST_MOVE)
    note = note.mask(~moves.groupby(bars["quantity"]).transform("any") & (bars["factor"] > 1), "no effect")
    return pd.DataFrame(
        {
            "rank": bars["rank"],
            "offset": (bars["factor"] < 1).astype(int),
            "shown": shown,
            "one": 1.0,
            "note": note,
            "side": (reaches > LEAST_MOVE).map({True: "right", False: "left"}),
            "Quantity": bars["quantity"],
            "Change": change,
            "Limit": limit.loc[bars.index],
            "spoken": bars["quantity"] + " " + change + ": " + limit.loc[bars.index],
        }
    )


def map_in_words(found: "pd.DataFrame") -> "pd.DataFrame":
    """The cells of `improvement_map`, with both limits, Bandwidth and Latency in words."""
    return found.assign(
        **comparable_in_words(found),
        Bandwidth=found["bandwidth_factor"].map(_times),
        Latency=(1 / found["latency_factor"]).map(_times),
    )


def _times(factor: float) -> str:
    """× 2, or ÷ 2 of a half."""
    return f"× {_factor(factor)}" if factor >= 1 else f"÷ {_factor(1 / factor)}"


def _factor(factor: float) -> str:
    return f"{factor:.3g}" if factor < 1000 else amount(factor)


def reached_in_words(limits: "pd.DataFrame", reached: "pd.DataFrame") -> "pd.DataFrame":
    """When each configuration's limits are reached.

    Parameters
    ----------
    limits : DataFrame
        As `described_limits` gives them.
    reached : DataFrame
        As `limits_reached` gives it for them.

    Returns
    -------
    DataFrame
        A row per configuration: both limits, and the years of each.
    """
    import pandas as pd

    years = years_of(limits, reached)
    columns: dict[str, pd.Series[str] | list[str]] = {"Configuration": limits["configuration"]}
    for title in LIMITS:
        columns |= {title: limits[title], f"{title} in": list(years[reached["limit"] == title])}
    return pd.DataFrame(columns)


def limits_are_known(limits: "pd.DataFrame") -> "pd.Series":
    """Whether each row of `limits_reached` is about a limit, and not only a bound of it, as `described_limits` says."""
    import pandas as pd

    return pd.concat([limits["above"], limits["at_the_wall"]], ignore_index=True).astype(bool)


def years_of(limits: "pd.DataFrame", reached: "pd.DataFrame") -> "pd.Series":
    """The years of each row of `limits_reached`: "2027–2028", "2022 or before" where a limit is a bound."""
    import pandas as pd

    in_words = [years_in_words(*each) for each in zip(reached["earliest"], reached["latest"], strict=True)]
    years = pd.Series(in_words, index=reached.index)
    bound = reached["limit"].map(dict(zip(LIMITS, (" or before", " or later"), strict=True)))
    marked = years + bound.mask(limits_are_known(limits) | years.str.contains("before|after|later"), "")
    return marked.mask(reached["training_flop"].isna(), MISSING)
