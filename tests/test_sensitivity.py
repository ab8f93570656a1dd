"""What would move the limits: limits that can be compared, that better hardware never lowers, and what moves them."""

import math
from itertools import pairwise

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_invariants import H100, HARDWARE, improvements, variant
from test_oracle import TIE, examples, machines
from test_simulation_progress import Stopped, stop_at

from model import simulate, training_limits
from model.sensitivity import (
    IMPROVEMENTS,
    ComparableLimits,
    attainable,
    comparable_limits,
    improvement_map,
    quantities,
    sensitivities,
    tornado,
)
from model.step import deadline

SLOW_NETWORK = variant(H100, network=[{"name": "Cluster", "bandwidth": 2e11, "latency_s": 2e-5}])
SPARSE = variant(H100, scaling={"sparsity": {"law": "fixed", "factor": 8}})
THRESHOLDS = (0.5, 0.8, 0.95)


def curve(
    flop: list[float], fraction: list[float], wall: float, ends: bool = True, operations: float = 0
) -> pd.DataFrame:
    """A curve as `attainable` gives it."""
    frame = pd.DataFrame({"training_flop": flop, "fraction_of_peak": fraction})
    frame.attrs.update(latency_wall_flop=wall, ends=ends, operations=operations)
    return frame


# --- curves without their jags ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("configuration", [SLOW_NETWORK, SPARSE], ids=["slow network", "sparse"])
def test_attainable_is_the_best_of_all_clusters(configuration):
    """If this fails, limits are compared by other numbers than the best MFU and the least time of any cluster.

    The scalar oracle tries every cluster of the last two widths before the wall and of the one beyond it.
    """
    found = attainable(configuration)
    longest = deadline(configuration.assumptions)
    least_s = []
    for d_model, fraction in found[["d_model", "fraction_of_peak"]].tail(3).itertuples(index=False):
        shape = oracle.shape_of(configuration, int(d_model))
        clusters = [shape.sparsity << i for i in range(60) if 1e-3 * shape.training_flop < 1e15 * longest * 2.0**i]
        limit = longest
        while not (best := [oracle.best_strategy(configuration, shape, n, True, limit) for n in clusters]).count(
            None
        ) < len(best):
            limit *= 2
        rows = [result for _, result in filter(None, best)]
        mfu = max((row["mfu"] for row in rows if row["training_s"] < longest), default=0)
        assert fraction == pytest.approx(mfu / configuration.gpu.effective_utilization, rel=TIE)
        least_s.append(min(row["training_s"] for row in rows))
    before, after = np.log(least_s[-2:])
    log_flop = np.log(found["training_flop"].to_numpy()[-2:])
    wall = math.exp(np.interp(math.log(longest), [before, after], log_flop))
    assert least_s[-2] < longest <= least_s[-1]
    assert found.attrs["latency_wall_flop"] == pytest.approx(wall, rel=1e-8)
    assert found.attrs["ends"]


def test_attainable_goes_on_beyond_the_sweep_to_the_wall():
    """If this fails, improvements seem to end where the sweep does."""
    short = variant(H100, sweep={"d_model_max": 16384})
    pd.testing.assert_frame_equal(attainable(short), attainable(H100))
    assert attainable(short).attrs["ends"]


def test_a_law_out_of_range_beyond_the_sweep_leaves_the_sweep():
    laws = {"batch": {"law": "power", "tokens_at_reference": 4e6, "reference_flop": 3e23, "exponent": 0.9}}
    steep = variant(H100, scaling=laws, sweep={"d_model_max": 24576})
    found = attainable(steep)
    assert list(found["d_model"]) == list(simulate(steep)["d_model"])
    assert not found.attrs["ends"]
    assert found.attrs["latency_wall_flop"] == found["training_flop"].iloc[-1]


def test_no_feasible_width_has_no_limits():
    hasty = variant(H100, assumptions={"training_months": 1e-9})
    limits = comparable_limits(attainable(hasty))
    assert np.isnan([limits.linear_scaling_end_flop, limits.latency_wall_flop]).all()
    nothing = variant(H100, sweep={"d_model_min": 12289, "d_model_max": 12290})
    assert attainable(nothing.model_copy(update={"sweep": nothing.sweep})).attrs["ends"]


# --- where they end ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fraction", "wall", "ends", "end", "above"),
    [
        ([1.0, 0.9, 0.7, 0.5], 1e24, True, 1e22 * 10**0.5, True),  # halfway between 0.9 and 0.7
        ([1.0, 0.75, 0.9, 0.5], 1e24, True, 10 ** (21 + 0.8 + 2 / 3 + 0.25), True),  # the dip's part is put last
        ([0.8, 0.8, 0.8, 0.8], 1e24, True, 1e21, False),  # not above the threshold, but at it
        ([0.5, 0.7, 0.9, 0.7], 1e24, True, 10 ** (21 + 0.5 + 0.5), True),
        ([1.0, 0.9, 0.85, 0.0], 3e23, True, 10 ** (23 + 0.05 / 0.85), True),  # no cluster trains the last in time
        ([1.0, 1.0, 1.0, 0.0], 1.2e23, True, 1.2e23, True),  # never beyond the wall
        ([1.0, 0.9, 0.85, 0.85], 1e24, False, 1e24, True),  # the sweep ends before
    ],
)
def test_where_linear_scaling_ends(fraction, wall, ends, end, above):
    """Each by hand, with the threshold 0.8 on a curve of one point in each decade of training FLOP."""
    limits = comparable_limits(curve([1e21, 1e22, 1e23, 1e24], fraction, wall, ends))
    assert limits == (pytest.approx(end, rel=1e-9), wall, above, ends)


@pytest.mark.parametrize("name", ["A100 SXM", "V100 SXM", "GTX 580 3GB"])
def test_a_curve_that_falls_once_ends_beside_the_papers_point(name):
    """If this fails, the compared limit is another than the paper's: it lies between the two points around it."""
    machine = HARDWARE[name]
    configuration = variant(H100, gpu=machine.gpu, network=machine.network)
    papers = training_limits(simulate(configuration)).iloc[0]
    limits = comparable_limits(attainable(configuration))
    assert not papers["recrosses"]
    assert papers["last_above_flop"] <= limits.linear_scaling_end_flop <= papers["linear_scaling_end_flop"]
    assert papers["latency_wall_flop"] <= limits.latency_wall_flop


@pytest.mark.parametrize("threshold", [0, 1, -0.1, 1.5, math.nan])
def test_a_threshold_out_of_range_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold must be above 0 and below 1"):
        comparable_limits(curve([1e21], [1.0], 1e21), threshold)


def assert_not_lower(better, before, what="") -> None:
    """Both limits, at several thresholds, up to the specification's ties."""
    for threshold in THRESHOLDS:
        old, new = comparable_limits(before, threshold), comparable_limits(better, threshold)
        for limit in ("linear_scaling_end_flop", "latency_wall_flop"):
            low, high = getattr(old, limit), getattr(new, limit)
            assert math.isnan(low) or high >= low * (1 - 1e-6), (what, limit, threshold, low, high)


IN_TIME = ("hbm_bandwidth", "l2_bandwidth", "matmul_latency_s", "bandwidth", "latency_s")


@examples(60)
@given(machines(depths=(1, 2, 2, 3)), st.data())
def test_faster_hardware_lowers_no_limit(configuration, data):
    """If this fails, a better network, memory or latency seems to make the largest run smaller."""
    sweep = {"d_model_min": 512, "d_model_max": 4096, "d_model_multiple": 512}
    configuration = variant(configuration, sweep=sweep, assumptions={"training_months": 0.01})
    better = data.draw(improvements(configuration, IN_TIME))
    assert_not_lower(attainable(better), attainable(configuration))


@pytest.mark.parametrize("configuration", [H100, SPARSE], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "quantity",
    ["Memory bandwidth", "L2 bandwidth", "Node: bandwidth", "Cluster: bandwidth", "Training time", "Batch size"],
)
def test_more_of_it_lowers_no_limit(configuration, quantity):
    """If this fails, the tornado chart shows physics that is none; each of these makes no step slower per token."""
    change = quantities(configuration)[quantity]
    curves = [attainable(change(configuration, factor)) for factor in (0.5, 1, 1.3, 2, 4)]
    for before, better in pairwise(curves):
        assert_not_lower(better, before, quantity)


# --- what moves them --------------------------------------------------------------------------------------------------


def test_quantities_are_scaled_where_they_are_meant():
    """If this fails, a bar of the tornado chart is about another quantity than its title says."""
    changes = quantities(H100)
    before = H100.model_dump()
    for title, places in {
        "FLOP/s": {("gpu", "flop_per_clock_per_thread", bits) for bits in H100.gpu.flop_per_clock_per_thread},
        "Memory bandwidth": {("gpu", "hbm_bandwidth")},
        "L2 bandwidth": {("gpu", "l2_bandwidth")},
        "L2 size": {("gpu", "l2_bytes")},
        "Matmul latency": {("gpu", "matmul_latency_s")},
        "Node: bandwidth": {("network", 0, "bandwidth")},
        "Cluster: bandwidth": {("network", 1, "bandwidth")},
        "Node: latency": {("network", 0, "latency_s")},
        "Cluster: latency": {("network", 1, "latency_s")},
        "Node: size": {("network", 0, "size")},
        "Batch size": {("scaling", "batch_multiplier")},
        "Depth": {("scaling", "depth_multiplier")},
        "Training time": {("assumptions", "training_months")},
    }.items():
        after = changes.pop(title)(H100, 2).model_dump()
        differences = dict(differing(before, after))
        assert differences == dict.fromkeys(places, 2), title
    assert not changes


def differing(before, after, place=()):
    """Where two nested values differ, and by which factor."""
    if isinstance(before, dict):
        for key in before:
            yield from differing(before[key], after[key], (*place, key))
    elif isinstance(before, tuple) and place and place[-1] == "network":
        for index, pair in enumerate(zip(before, after, strict=True)):
            yield from differing(*pair, (*place, index))
    elif before != after:
        yield place, after / before


def test_levels_of_one_name_are_told_apart():
    twins = variant(
        H100,
        network=[{**H100.network[0].model_dump(), "name": "Twin"}, {**H100.network[1].model_dump(), "name": "Twin"}],
    )
    assert {"Twin (level 1): bandwidth", "Twin (level 2): bandwidth"} <= quantities(twins).keys()


def test_doubling_the_batch_and_the_depth_doubles_them():
    """If this fails, the multipliers of the schema multiply something else, or are lost in rounding."""
    plain = simulate(H100)
    for title, column in (("Batch size", "batch_tokens"), ("Depth", "n_layers")):
        doubled = simulate(quantities(H100)[title](H100, 2))
        both = plain.merge(doubled, on="d_model", suffixes=("", "_doubled"))
        assert len(both) > 20
        assert (both[f"{column}_doubled"] == 2 * both[column]).all()


def test_sensitivities_are_the_limits_of_the_changed_configurations():
    """If this fails, a bar of the tornado chart is not what simulating the changed configuration gives."""
    found = sensitivities(H100, 0.75).set_index(["quantity", "factor"])
    unchanged = comparable_limits(attainable(H100), 0.75)
    assert found.attrs["unchanged"] == unchanged
    assert list(found.index) == [(title, by) for title in quantities(H100) for by in (2, 0.5)]
    for (title, by), row in found.iterrows():
        limits = comparable_limits(attainable(quantities(H100)[title](H100, by)), 0.75)
        assert tuple(row[list(ComparableLimits._fields)]) == limits
        ratio = limits.linear_scaling_end_flop / unchanged.linear_scaling_end_flop
        assert row["linear_scaling_end_ratio"] == ratio if limits.above else math.isnan(row["linear_scaling_end_ratio"])
        assert row["latency_wall_ratio"] == limits.latency_wall_flop / unchanged.latency_wall_flop


def test_a_curve_that_is_nowhere_above_the_threshold_has_no_ratios():
    """If this fails, bars of the chart tell how the start of the sweep moves, which is no limit of training."""
    b200 = variant(H100, gpu=HARDWARE["B200"].gpu, network=HARDWARE["B200"].network)
    found = sensitivities(b200)
    assert found["linear_scaling_end_ratio"].isna().all()
    assert found["latency_wall_ratio"].notna().all()
    bars = tornado(found, "linear_scaling_end_flop").set_index(["quantity", "factor"])
    assert list(bars.index) == [("FLOP/s", 0.5)] and bars["open"].item() == 1
    assert len(tornado(found, "latency_wall_flop")) == len(found)


def test_a_tornado_has_what_moves_the_limit_most_first_and_open_bars_for_bounds():
    """If this fails, a bound, which depends on where the sweep starts, is drawn or ranked as if it were a limit."""
    found = pd.DataFrame(
        {
            "quantity": ["A", "A", "B", "B", "C", "C", "D", "D"],
            "factor": [2, 0.5] * 4,
            "linear_scaling_end_flop": [2e25, 1e24, 1e22, 3e25, 1e25, 1e25, math.nan, math.nan],
            "linear_scaling_end_ratio": [2, 0.1, math.nan, 3, 1, 1, math.nan, math.nan],
            "above": [True, True, False, True, True, True, False, False],
        }
    )
    found.attrs["unchanged"] = ComparableLimits(1e25, 1e26, True, True)
    bars = tornado(found, "linear_scaling_end_flop")
    assert list(bars["quantity"]) == ["A", "A", "B", "B", "C", "C"]
    assert list(bars["rank"]) == [0, 0, 1, 1, 2, 2]
    assert list(bars["open"]) == [0, 0, -1, 0, 0, 0]


def test_what_binds_is_what_moves_the_limits():
    """If this fails, the chart contradicts the paper: latency sets the wall, the network the end of scaling."""
    found = sensitivities(H100)
    doubled = found[found["factor"] == 2].set_index("quantity")
    assert doubled["latency_wall_ratio"]["Cluster: bandwidth"] == pytest.approx(1, abs=0.2)
    assert doubled["latency_wall_ratio"]["Training time"] > 2
    assert doubled["linear_scaling_end_ratio"]["Cluster: bandwidth"] > 1.2


def test_what_the_schema_refuses_is_missing():
    """If this fails, one impossible change takes the whole chart with it."""
    fast = [level.model_copy(update={"bandwidth": 9e20}) for level in H100.network]
    found = sensitivities(variant(H100, network=fast)).set_index(["quantity", "factor"])
    assert np.isnan(found["latency_wall_flop"]["Cluster: bandwidth", 2])
    assert found["latency_wall_flop"].notna().sum() == len(found) - 2


# --- bandwidth against latency ----------------------------------------------------------------------------------------


def test_the_map_holds_the_variants_of_the_paper():
    """If this fails, the map's axes are not what they say: the paper's low latency is all latencies divided by ten."""
    found = improvement_map(H100, bandwidths=(1, 2), latencies=(1, 10)).set_index(
        ["bandwidth_factor", "latency_factor"]
    )
    low = HARDWARE["H100 SXM Low Latency"]
    twice = [level.model_copy(update={"bandwidth": 2 * level.bandwidth}) for level in H100.network]
    for place, configuration in {
        (1, 1): H100,
        (1, 10): variant(H100, gpu=low.gpu, network=low.network),
        (2, 1): variant(H100, network=twice),
    }.items():
        limits = comparable_limits(attainable(configuration))
        assert tuple(found.loc[place]) == pytest.approx(limits, rel=1e-9)


@pytest.mark.parametrize("threshold", [0.8, 0.97])
@pytest.mark.parametrize("configuration", [H100, SPARSE, SLOW_NETWORK], ids=["dense", "sparse", "slow network"])
def test_the_map_never_falls_along_its_axes(configuration, threshold):
    """If this fails, a faster network seems to train less."""
    steps = IMPROVEMENTS[::4]
    found = improvement_map(configuration, threshold, bandwidths=steps, latencies=steps)
    for limit in ("linear_scaling_end_flop", "latency_wall_flop"):
        grid = found.pivot(index="bandwidth_factor", columns="latency_factor", values=limit).to_numpy()
        assert np.isfinite(grid).all()
        assert (np.diff(np.log(grid), axis=0) > -1e-6).all()
        assert (np.diff(np.log(grid), axis=1) > -1e-6).all()


def test_the_map_is_fine_enough():
    assert len(IMPROVEMENTS) >= 15
    assert 1.0 in IMPROVEMENTS


# --- progress ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "work",
    [
        attainable,
        lambda configuration, progress: sensitivities(configuration, progress=progress),
        lambda configuration, progress: improvement_map(
            configuration, bandwidths=(1, 2), latencies=(1, 2), progress=progress
        ),
    ],
    ids=["attainable", "sensitivities", "map"],
)
def test_progress_only_grows_and_can_stop_the_work(work):
    shares = []
    work(H100, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[0] < 0.5
    assert shares[-1] == pytest.approx(1)
    listener, calls = stop_at(len(shares) // 2, Stopped())
    with pytest.raises(Stopped):
        work(H100, progress=listener)
    assert len(calls) == len(shares) // 2


def test_what_was_found_before_can_be_remembered():
    """If this fails, a page that keeps curves computes them all again."""
    asked = []

    def remembered(configuration, *, progress=None):
        asked.append(configuration)
        return curve([1e21, 1e22], [1.0, 0.5], 1e22)

    found = sensitivities(H100, attainable=remembered)
    assert len(asked) == len(found) + 1
    assert (found["latency_wall_ratio"] == 1).all()
