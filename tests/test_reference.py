"""The engine against the specification's own numbers: reference tables, results to land on, closed forms."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from model import (
    Configuration,
    Shape,
    Strategy,
    critical_compute,
    evaluate,
    latency_limit,
    latency_wall,
    load_hardware,
    load_presets,
    matmul_time,
    simulate,
    training_limits,
)
from model.limits import closed_form_walls, critical_compute_curves
from model.questions import LatencyWallQuestion

DATA = Path(__file__).with_name("data")
HARDWARE = load_hardware()
SPARSITY_LAWS = {"dense": "dense", "linear in width": "linear-width"}
DEGREES = ("tp_model", "tp_ff", "dp", "pp", "ep")
TIE = 1e-9  # the specification's: relative, for ties and for the agreement it asks of training time and MFU


def reference(name: str) -> list[dict]:
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def approx(expected: float):
    return pytest.approx(expected, rel=TIE, abs=0)


def configuration(gpu: str, **parts) -> Configuration:
    hardware = HARDWARE[gpu]
    return Configuration(name=gpu, gpu=hardware.gpu, network=hardware.network, **parts)


def numbered(cases: list[dict]) -> list:
    return [pytest.param(case, id=f"{number}-{case['gpu']}") for number, case in enumerate(cases)]


# --- reference/matmuls.json and strategies.json -----------------------------------------------------------------------


@pytest.mark.parametrize("case", numbered(reference("matmuls")))
def test_matmul_takes_the_reference_time(case):
    """If this fails, a term of the memory hierarchy is wrong (spec section 2)."""
    gpu = HARDWARE[case["gpu"]].gpu
    assert matmul_time(gpu, case["d1"], case["d2"], case["b"], case["weight_gradient"]) == approx(case["time_s"])


@pytest.mark.parametrize("case", numbered(reference("strategies")))
def test_pinned_strategy_takes_the_reference_times(case):
    """If this fails, a kind of communication, a schedule or an overlap is wrong (spec section 4)."""
    assumptions = {f"overlap_{kind}": bool(case[f"overlap_{kind}"]) for kind in ("tp", "pp", "dp")}
    row = evaluate(
        configuration(case["gpu"], assumptions={"activations": case["activations"], **assumptions}),
        Shape(**{name: case[name] for name in Shape.model_fields}),
        Strategy(**{name: case[name] for name in Strategy.model_fields}),
    ).iloc[0]
    assert row["training_s"] == approx(case["training_s"])
    assert row["mfu"] == approx(case["mfu"])
    for part in ("tp_comm_s", "dp_comm_s", "pp_ep_comm_s"):
        assert row[part] * row["steps"] == approx(case[part]), part
    assert (row["pipeline_latency_s"] + row["dp_latency_s"]) * row["steps"] == approx(case["latency_s"])


# --- reference/curves.json --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[pytest.param(case, id=case["case"]) for case in reference("curves")])
def curve(request) -> tuple[dict, pd.DataFrame]:
    """A curve of the reference, and ours."""
    case = request.param
    laws = {"sparsity": {"law": SPARSITY_LAWS[case["sparsity_law"]]}, "batch": {"law": case["batch_law"]}}
    ours = simulate(configuration(case["gpu"], scaling=laws, assumptions={"training_months": case["months"]}))
    return case, ours


def test_curve_has_the_reference_models_and_clusters(curve):
    """If this fails, a scaling law, the sweep, its end or the choice of the smallest cluster is wrong."""
    case, ours = curve
    exact = ["d_model", "n_layers", "sparsity", "batch_tokens", "training_flop", "n_gpus"]
    theirs = pd.DataFrame(case["rows"])
    pd.testing.assert_frame_equal(ours[exact], theirs[exact], check_exact=True)


def test_curve_has_the_reference_times(curve):
    """If this fails, the search misses the fastest strategies, or finds faster ones that are not allowed."""
    case, ours = curve
    for row, expected in zip(ours.to_dict("records"), case["rows"], strict=True):
        assert row["training_s"] == approx(expected["training_s"]), row["d_model"]
        assert row["mfu"] == approx(expected["mfu"]), row["d_model"]


def test_curve_has_the_reference_degrees_or_a_tie_that_ours_win(curve):
    """If this fails, the search picks another strategy than the spec's tie-breaks do.

    The reference breaks ties by exact comparison. Where its choice differs, ours communicates as much within a rounding
    (so that the two tie), and has less TP, PP or TP_ff, or 1F1B instead of zero-bubble.
    """
    case, ours = curve
    for row, expected in zip(ours.to_dict("records"), case["rows"], strict=True):
        parts = ("tp_comm_s", "dp_comm_s", "pp_ep_comm_s")
        comm = row["steps"] * sum(row[part] for part in parts)
        assert comm == approx(sum(expected[part] for part in parts)), row["d_model"]
        if any(row[name] != expected[name] for name in DEGREES):
            theirs = (expected["tp_model"] * expected["tp_ff"], expected["pp"], expected["tp_ff"])
            assert (row["tp"], row["pp"], row["tp_ff"]) < theirs, row["d_model"]


def test_curve_leaves_linear_scaling_where_the_reference_does(curve):
    """If this fails, the headline number of every chart is read off at the wrong point (section 6)."""
    case, ours = curve
    assert training_limits(ours)["linear_scaling_end_flop"].tolist() == [case["linear_scaling_end_flop"]]


# --- section 7 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpu", "batch", "column", "printed"),
    [
        ("H100 SXM", "default", "linear_scaling_end_flop", "2.05e+28"),
        ("H100 SXM", "default", "latency_wall_flop", "2.71e+31"),
        ("A100 SXM", "default", "linear_scaling_end_flop", "3.40e+28"),
        ("V100 SXM", "default", "linear_scaling_end_flop", "2.85e+27"),
        ("H100 SXM", "zhang", "linear_scaling_end_flop", "3.01e+30"),
        ("H100 SXM", "constant", "linear_scaling_end_flop", "2.85e+27"),
        ("GTX 580 3GB", "default", "linear_scaling_end_flop", "1.12e+26"),
    ],
)
def test_numbers_to_land_on(gpu, batch, column, printed):
    """If this fails, the simulator no longer gives the results that the paper and the articles report."""
    limits = training_limits(simulate(configuration(gpu, scaling={"batch": {"law": batch}})))
    assert f"{limits[column][0]:.2e}" == printed


def test_the_largest_run_on_gtx_580():
    """If this fails, the announcement's example (GPUs, strategy and cost) is not what we show."""
    preset = load_presets()["2012: the largest run on GTX 580"].configurations[0]
    frame = simulate(preset)
    end = training_limits(frame).iloc[0]
    assert (end["n_gpus"], end["dp"], end["pp"], end["tp"], end["ep"]) == (16_777_216, 1024, 32, 512, 1)
    row = frame[frame["training_flop"] == end["linear_scaling_end_flop"]].iloc[0]
    assert (row["tp_model"], row["tp_ff"]) == (16, 32)
    assert f"{end['n_gpus'] * preset.gpu.price_usd:.1e}" == "5.0e+09"


# --- section 6, closed forms ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("year_s", [3.154e7, 365.25 * 86400])
def test_latency_wall_of_the_article(year_s):
    """If this fails, the article's arithmetic for the latency wall is not reproduced, whichever year is meant."""
    params, training_flop = latency_wall(training_s=year_s / 4, batch_tokens=4e6, n_layers=120, latency_s=9e-6)
    assert f"{params:.2e}" == "3.65e+14"
    assert f"{training_flop:.2e}" == "1.60e+31"


def test_steps_at_the_latency_wall_fill_the_training_time():
    """If this fails, one of the five quantities enters the latency wall with the wrong power.

    The steps that a model of N parameters takes, each 4 latencies to a layer, must last as long as the training.
    """
    training_s, batch, layers, latency_s, ratio = 1e6, np.array([2.0, 3.0, 50.0]), 7, 1e-3, 11
    params, training_flop = latency_wall(training_s, batch, layers, latency_s, tokens_per_parameter=ratio)
    steps = params * ratio / batch
    np.testing.assert_allclose(steps * 4 * layers * latency_s, training_s, rtol=1e-12)
    np.testing.assert_allclose(training_flop, 6 * params * (params * ratio), rtol=1e-12)


@pytest.mark.parametrize(
    ("gpu", "difference", "printed"),
    [
        ("V100 SXM", 0, "1.305e+27"),
        ("A100 SXM", 0, "2.622e+28"),
        ("H100 SXM", 0, "1.924e+28"),
        ("V100 SXM", 0.2, "2.190e+29"),
        ("A100 SXM", 0.2, "3.253e+31"),
        ("H100 SXM", 0.2, "1.942e+31"),
    ],
)
def test_critical_compute_of_the_spec(gpu, difference, printed):
    """If this fails, the closed form of where bandwidth runs out is wrong."""
    hardware = HARDWARE[gpu]
    assert f"{critical_compute(hardware.gpu, hardware.network, difference):.3e}" == printed


def test_an_infinite_network_has_no_critical_compute():
    """If this fails, hardware without this limit is an error, or a warning on the page."""
    hardware = HARDWARE["H100 SXM Infinite Network, Low Latency"]
    with warnings.catch_warnings(action="error"):
        assert critical_compute(hardware.gpu, hardware.network, [-0.2, 0, 0.2]).tolist() == [math.inf] * 3


@pytest.mark.parametrize(("difference", "printed"), [(-0.2, "1.569e+29"), (0, "2.305e+31"), (0.2, "2.625e+36")])
def test_latency_limit_of_the_spec(difference, printed):
    """If this fails, the closed form of where latency stops everything is wrong."""
    assert f"{latency_limit(difference):.3e}" == printed


def test_curves_against_the_exponent_difference_go_through_the_numbers_of_the_spec():
    """If this fails, a curve of the plot bears another's name, or its points another α."""
    names = {"V100": "V100 SXM", "A100": "A100 SXM", "H100": "H100 SXM"}
    curves = critical_compute_curves({name: HARDWARE[key] for name, key in names.items()}, [-0.2, 0, 0.2])
    assert list(curves) == ["curve", "exponent_difference", "training_flop"]
    assert curves["exponent_difference"].tolist() == [-0.2, 0, 0.2] * 4
    table = curves.pivot(index="curve", columns="exponent_difference", values="training_flop").map("{:.3e}".format)
    assert table[0].to_dict() == {
        "V100": "1.305e+27",
        "A100": "2.622e+28",
        "H100": "1.924e+28",
        "Latency": "2.305e+31",
    }
    assert table[0.2].to_dict() == {
        "V100": "2.190e+29",
        "A100": "3.253e+31",
        "H100": "1.942e+31",
        "Latency": "2.625e+36",
    }
    assert table[-0.2]["Latency"] == "1.569e+29"


def test_only_latency_is_left_without_hardware():
    """If this fails, a plot for which no GPU is chosen is an error."""
    assert critical_compute_curves({}, [0])["curve"].tolist() == ["Latency"]


@pytest.mark.parametrize(
    ("gpu", "difference", "critical"),
    [
        ("H100 SXM", 0, "1.92e+28"),
        ("V100 SXM", 0.2, "2.19e+29"),
        ("H100 SXM Infinite Network, Low Latency", 0, "inf"),
    ],
)
def test_both_walls_are_those_of_the_formulas(gpu, difference, critical):
    """If this fails, a reference line in the chart stands elsewhere than the closed form that it is named after."""
    hardware = HARDWARE[gpu]
    walls = closed_form_walls(hardware.gpu, hardware.network, difference, **LatencyWallQuestion().quantities)
    assert list(walls) == ["wall", "training_flop"]
    printed = dict(zip(walls["wall"], walls["training_flop"].map("{:.2e}".format), strict=True))
    assert printed == {"Critical compute": critical, "Latency wall": "1.60e+31"}
