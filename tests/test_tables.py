"""Tables for people say what their frames do: every row in its place, every number in words, bounds marked as such."""

import math

import pandas as pd
import pytest

from model import Configuration, Shape, Strategy, evaluate, load_hardware
from model.breakdown import matmul_table
from model.configuration import NetworkLevel, Pins
from model.pinned import fastest_strategy
from model.tables import (
    comparable_in_words,
    levers_in_words,
    limits_are_known,
    map_in_words,
    matmuls_in_words,
    parts_table,
    reached_in_words,
    runs_in_words,
    shares_in_words,
    strategies_in_words,
    years_of,
)

HARDWARE = load_hardware()["H100 SXM"]
NODE, CLUSTER = HARDWARE.network
H100 = Configuration(name="H100", gpu=HARDWARE.gpu, network=HARDWARE.network)
SHAPE = Shape(d_model=1024, d_ff=4096, n_layers=96, batch_tokens=2**20)


# --- a step -----------------------------------------------------------------------------------------------------------


def test_shares_are_of_each_step_by_itself():
    """If this fails, a share is of all steps together, or under another part's title."""
    parts = pd.DataFrame({"ideal_compute_s": [3.0, 1.0], "bubble_s": [1.0, 0.0], "dp_comm_s": [0.0, 2.0]}, index=[7, 9])
    assert shares_in_words(parts).to_dict("index") == {
        7: {"Arithmetic": "75.0%", "Pipeline bubble": "25.0%", "DP communication": "0.0%"},
        9: {"Arithmetic": "33.3%", "Pipeline bubble": "0.0%", "DP communication": "66.7%"},
    }


def test_parts_of_one_step():
    parts = pd.Series({"ideal_compute_s": 0.3, "kernel_latency_s": 0.0995, "latency_s": 0.0005})
    assert parts_table(parts).to_dict("records") == [
        {"Part of the step": "Arithmetic", "Share": "75.0%", "Time": "300 ms"},
        {"Part of the step": "Kernel latency", "Share": "24.9%", "Time": "99.5 ms"},
        {"Part of the step": "Network latency", "Share": "0.1%", "Time": "500 µs"},
    ]


def test_matmuls_keep_their_times_apart():
    """If this fails, the time of one part of the memory hierarchy stands under another's heading."""
    matmuls = pd.DataFrame(
        {
            "matmul": ["Up projection", "Down projection"],
            "pass": ["forward", "weight gradient"],
            "d1": [4096, 1024],
            "d2": [1024, 512],
            "tokens": [768, 2**20],
            "hbm_s": [1e-6, 1e-3],
            "l2_s": [2e-6, 2e-3],
            "shared_memory_s": [3e-6, 3e-3],
            "tensor_core_s": [4e-6, 4e-3],
            "latency_s": [5e-6, 5e-6],
            "time_s": [9e-6, 4.005e-3],
            "bound": ["latency", "tensor cores"],
        }
    )
    table = matmuls_in_words(matmuls)
    memory = ["Tensor cores", "Shared memory", "L2", "HBM"]
    assert list(table) == ["Matmul", "Bound by", "Time", *memory, "Latency", "Weights", "Tokens"], (
        "the memory hierarchy is not in the order in which data passes it"
    )
    assert table.to_dict("records") == [
        {
            "Matmul": "Up projection, forward",
            "Bound by": "latency",
            "Time": "9 µs",
            "Tensor cores": "4 µs",
            "Shared memory": "3 µs",
            "L2": "2 µs",
            "HBM": "1 µs",
            "Latency": "5 µs",
            "Weights": "4,096 × 1,024",
            "Tokens": "768",
        },
        {
            "Matmul": "Down projection, weight gradient",
            "Bound by": "tensor cores",
            "Time": "4 ms",
            "Tensor cores": "4 ms",
            "Shared memory": "3 ms",
            "L2": "2 ms",
            "HBM": "1 ms",
            "Latency": "5 µs",
            "Weights": "1,024 × 512",
            "Tokens": "1.05 million",
        },
    ]


def test_matmuls_are_those_of_a_shard():
    """If this fails, the table of a real step has other columns than the frame that it is made of.

    32-way tensor parallelism splits d_ff into 8 and d_model into 4; 4 copies and 2 microbatches share 2^20 tokens.
    """
    strategy = Strategy(dp=(1, 4), tp_model=(1, 4), tp_ff=(8, 1), pp=(1, 1), ep=(1, 1), microbatches=2)
    table = matmuls_in_words(matmul_table(H100, evaluate(H100, SHAPE, strategy).iloc[0]))
    assert len(table) == 6 and set(table["Weights"]) == {"512 × 256", "256 × 512"}
    assert set(table["Tokens"]) == {"131,072"}


# --- strategies -------------------------------------------------------------------------------------------------------


def test_strategies_stand_side_by_side():
    """If this fails, a number of one strategy stands in the other's column, or beside another name."""
    ours = fastest_strategy(H100, SHAPE, 64, Pins(dp=4, tp=2, pp=8, microbatches=16, schedule="zero-bubble"))
    best = fastest_strategy(H100, SHAPE, 64, Pins(dp=64, microbatches=1))
    table = strategies_in_words(H100, {"Yours": ours, "Best": best})
    assert list(table) == [" ", "Yours", "Best"] and table.index.tolist() == list(range(len(table)))
    rows = table.set_index(" ")
    assert rows.loc["DP":"Interleaving"].to_dict() == {
        "Yours": {
            "DP": "4",
            "TP": "2",
            "PP": "8",
            "EP": "1",
            "Microbatches": "16",
            "Schedule": "zero-bubble",
            "Interleaving": "1",
        },
        "Best": {
            "DP": "64",
            "TP": "1",
            "PP": "1",
            "EP": "1",
            "Microbatches": "1",
            "Schedule": "1F1B",
            "Interleaving": "1",
        },
    }
    assert rows.loc["Node (level 1)", "Best"] == rows.loc["Cluster (level 2)", "Best"] == "DP 8"
    assert rows.index[:4].tolist() == ["MFU", "Step", "Training time", "Memory per GPU"]
    assert rows.loc["MFU", "Yours"] == f"{ours['mfu'][0]:.1%}" and rows.loc["MFU", "Best"] == f"{best['mfu'][0]:.1%}"


def test_network_levels_of_one_name_have_rows_of_their_own():
    """If this fails, a level's degrees are lost because another has its name, or that of a row."""
    levels = [
        NetworkLevel(name="MFU", bandwidth=9e11, latency_s=1e-6, size=8),
        NetworkLevel(name="MFU", bandwidth=1e11, latency_s=1e-6, size=2),
        NetworkLevel(name="Outer", bandwidth=5e10, latency_s=1e-6),
    ]
    configuration = H100.model_copy(update={"network": tuple(levels)})
    found = fastest_strategy(configuration, SHAPE, 32, Pins(dp=8, tp=1, pp=4, microbatches=4, schedule="1F1B"))
    table = strategies_in_words(configuration, {"Yours": found}).set_index(" ")["Yours"]
    assert table.index.is_unique and table["MFU"] == f"{found['mfu'][0]:.1%}"
    row = found.iloc[0]
    for index, name in enumerate(("MFU (level 1)", "MFU (level 2)", "Outer (level 3)")):
        degrees = {"DP": row["dp_levels"][index], "PP": row["pp_levels"][index]}
        assert table[name] == " · ".join(f"{kind} {degree}" for kind, degree in degrees.items() if degree > 1)


def test_one_gpu_uses_no_level():
    alone = fastest_strategy(H100, SHAPE, 1)
    table = strategies_in_words(H100, {"Alone": alone}).set_index(" ")["Alone"]
    assert table["Node (level 1)"] == table["Cluster (level 2)"] == "one GPU"


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("above", "ends", "words"),
    [
        (True, True, ("1 × 10²⁸ FLOP", "2 × 10³¹ FLOP")),
        (True, False, ("≥ 1 × 10²⁸ FLOP", "≥ 2 × 10³¹ FLOP")),
        (False, True, ("≤ 1 × 10²⁸ FLOP", "2 × 10³¹ FLOP")),
        (False, False, ("≤ 1 × 10²⁸ FLOP", "≥ 2 × 10³¹ FLOP")),
    ],
)
def test_comparable_limits_say_what_is_only_a_bound(above, ends, words):
    """If this fails, a bound is read as a limit, or a limit as a bound."""
    found = pd.DataFrame(
        {"linear_scaling_end_flop": [1e28], "latency_wall_flop": [2e31], "above": [above], "ends": [ends]}
    )
    said = comparable_in_words(found).iloc[0]
    assert tuple(said[["Linear scaling ends", "Latency wall"]].str.replace(".0 ", " ")) == words


def limits_and_years() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Limits of three configurations, each of which is a limit, a bound or missing, and the years of all of them."""
    limits = pd.DataFrame(
        {
            "configuration": ["C", "B", "A"],
            "Linear scaling ends": ["2.0 × 10²⁸ FLOP", "≤ 6.5 × 10²⁴ FLOP", "—"],
            "Latency wall": ["≥ 2.4 × 10³⁶ FLOP", "2.7 × 10³¹ FLOP", "≥ 1.0 × 10³⁰ FLOP"],
            "above": [True, False, False],
            "at_the_wall": [False, True, False],
        }
    )
    reached = pd.DataFrame(
        {
            "limit": ["Linear scaling ends"] * 3 + ["Latency wall"] * 3,
            "configuration": ["C", "B", "A"] * 2,
            "training_flop": [2.0e28, 6.5e24, math.nan, 2.4e36, 2.7e31, 1e30],
            "earliest": [2027.7, 2022.5, math.nan, 2039.2, 2032.2, 2030.1],
            "latest": [2028.3, 2022.7, math.nan, 2041.5, 2033.6, 2030.9],
        }
    )
    return limits, reached


YEARS = ["2027–2028", "2022 or before", "—", "2039–2041 or later", "2032–2033", "2030 or later"]


def test_years_stand_beside_their_own_limits():
    """If this fails, a configuration's limit is said to be reached in another's years."""
    limits, reached = limits_and_years()
    table = reached_in_words(limits, reached)
    assert list(table) == [
        "Configuration",
        "Linear scaling ends",
        "Linear scaling ends in",
        "Latency wall",
        "Latency wall in",
    ]
    assert table.to_numpy().tolist() == [
        ["C", "2.0 × 10²⁸ FLOP", "2027–2028", "≥ 2.4 × 10³⁶ FLOP", "2039–2041 or later"],
        ["B", "≤ 6.5 × 10²⁴ FLOP", "2022 or before", "2.7 × 10³¹ FLOP", "2032–2033"],
        ["A", "—", "—", "≥ 1.0 × 10³⁰ FLOP", "2030 or later"],
    ]


def test_years_of_a_bound_are_a_bound():
    """If this fails, a limit that may be reached any time before or after is said to be reached in a certain year.

    Linear scaling that ends by 6.5 × 10²⁴ FLOP ends "or before", a wall beyond a sweep is reached "or later", and there
    is nothing to say of a limit that is missing.
    """
    limits, reached = limits_and_years()
    assert years_of(limits, reached).tolist() == YEARS
    marked = pd.Series([(" or " in years or years == "—") for years in YEARS])
    assert limits_are_known(limits).tolist() == (~marked).tolist()


def test_years_follow_the_order_of_the_configurations():
    """If this fails, a bound is looked up by the place of a row, not by what the row is about."""
    limits, reached = limits_and_years()
    swapped = limits.iloc[::-1].reset_index(drop=True)
    turned = pd.concat([reached.iloc[2::-1], reached.iloc[:2:-1]], ignore_index=True)
    expected = dict(zip(zip(reached["limit"], reached["configuration"], strict=True), YEARS, strict=True))
    found = dict(
        zip(zip(turned["limit"], turned["configuration"], strict=True), years_of(swapped, turned), strict=True)
    )
    assert found == expected


# --- published runs ---------------------------------------------------------------------------------------------------


def test_a_published_run_in_words():
    """If this fails, what was measured and what the model gives change places, or a ratio is not in percent."""
    checked = pd.DataFrame(
        [
            {
                "name": "A run",
                "ratio": 0.4949,
                "measured_mfu": 0.304,
                "model_mfu": 0.614,
                "measured_step_s": 3.7,
                "model_step_s": 1.831,
                "gpu": "A100 SXM 80GB",
                "n_gpus": 2240,
                "dp": 4,
                "tp": 8,
                "pp": 70,
                "attention_share": 0.017,
                "hidden_comm_s": 0.37,
                "source": "Somebody 2021",
            }
        ]
    )
    (run,) = runs_in_words(checked).to_dict("records")
    assert run.pop("Measured / model") == pytest.approx(49.49)
    assert run == {
        "Run": "A run",
        "Measured MFU": "30%",
        "MFU of the model": "61%",
        "Measured step": "3.7 s",
        "Step of the model": "1.83 s",
        "GPU": "A100 SXM 80GB",
        "GPUs": "2,240",
        "DP": 4,
        "TP": 8,
        "PP": 70,
        "Attention on top": "2%",
        "Hidden communication": "10%",
        "Source": "Somebody 2021",
    }


def test_bars_of_levers_say_how_far_they_go():
    """If this fails, a bound is drawn as a value, or a note stands by another bar."""
    bars = pd.DataFrame(
        {
            "quantity": ["A", "A", "B", "B", "C", "C"],
            "factor": [2.0, 0.5] * 3,
            "rank": [0, 0, 1, 1, 2, 2],
            "ratio": [2.5, 1 / 8000, math.nan, 1.2, 1.0, 1.001],
            "open": [0, 0, -1, 0, 0, 0],
        }
    )
    limit = pd.Series(["a", "b", "≤ c", "d", "e", "f"])
    levers = levers_in_words(bars, limit, 100)
    assert levers["shown"].tolist() == [2.5, 0.01, 0.01, 1.2, 1.0, 1.001]
    assert levers["note"].tolist() == ["", "◀ ÷ 8,000", "◀ never above", "", "no effect", ""]
    assert levers["side"].tolist() == ["right", "left", "left", "right", "left", "left"]
    assert levers["Change"].tolist() == ["× 2", "÷ 2"] * 3
    assert levers["spoken"].tolist()[2] == "B × 2: ≤ c"
    assert levers["offset"].tolist() == [0, 1] * 3
    only_then = levers_in_words(bars.assign(open=1, ratio=math.nan), limit, 100)
    assert set(only_then["note"]) == {"above it ▶"} and set(only_then["shown"]) == {100}


def test_cells_of_the_map_say_their_factors():
    """If this fails, bandwidth and latency change places, or a lower latency reads as a higher one."""
    found = pd.DataFrame(
        {
            "bandwidth_factor": [0.25, 2.0],
            "latency_factor": [0.5, 64.0],
            "linear_scaling_end_flop": [1e24, 2e28],
            "latency_wall_flop": [1e30, 2e31],
            "above": [False, True],
            "ends": [True, True],
        }
    )
    cells = map_in_words(found)
    assert cells["Bandwidth"].tolist() == ["÷ 4", "× 2"]
    assert cells["Latency"].tolist() == ["× 2", "÷ 64"]
    assert cells["Linear scaling ends"].tolist() == ["≤ 1.0 × 10²⁴ FLOP", "2.0 × 10²⁸ FLOP"]
