"""What must hold whatever the numbers are: degrees, sums of parts, orders, units, bounds, and the form of results."""

import math
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from pydantic import ValidationError
from test_oracle import (
    ROUNDING,
    TIE,
    approx,
    clusters_for_brute_force,
    configurations,
    examples,
    gpus,
    log_uniform,
    machines,
    networks,
    pinned,
    search,
    sizes,
)

from model import (
    Configuration,
    Shape,
    Strategy,
    evaluate,
    load_hardware,
    load_presets,
    simulate,
    training_limits,
)
from model.gpu import block_time, block_time_floor
from model.parallelism import pipeline_expert
from model.placement import pipeline_expert_floor, usages
from model.scaling import given_shape, round_friendly
from model.search import Clusters, Group

HARDWARE = load_hardware()
DEGREES = ("dp", "tp_model", "tp_ff", "pp", "ep")
H100 = Configuration(name="H100", gpu=HARDWARE["H100 SXM"].gpu, network=HARDWARE["H100 SXM"].network)


def variant(configuration: Configuration, **fields) -> Configuration:
    """A configuration with other fields, checked."""
    return Configuration(**{name: getattr(configuration, name) for name in Configuration.model_fields} | fields)


# --- every row of a curve ---------------------------------------------------------------------------------------------

NINE_EXPERTS_ON_FOUR_LEVELS = variant(
    H100,
    network=[
        {"name": "Node", "size": 4, "bandwidth": 9e11, "latency_s": 1e-6},
        {"name": "Rack", "size": 72, "bandwidth": 1e11, "latency_s": 5e-6},
        {"name": "Pod", "size": 6, "bandwidth": 4e11, "latency_s": 1e-6},
        {"name": "Cluster", "bandwidth": 5e10, "latency_s": 1e-5},
    ],
    scaling={"sparsity": {"law": "fixed", "factor": 9}, "d_ff_ratio": 3.5},
    assumptions={"overlap_dp": True, "overlap_tp": False, "activations": "recomputed"},
)
RUNS = {f"{title}: {run.name}": run for title, preset in load_presets().items() for run in preset.configurations}
RUNS["nine experts on four levels"] = NINE_EXPERTS_ON_FOUR_LEVELS


@pytest.fixture(scope="module", params=RUNS)
def run(request) -> tuple[Configuration, pd.DataFrame]:
    """A configuration and its curve."""
    return RUNS[request.param], simulate(RUNS[request.param])


def test_degrees_multiply_to_the_cluster(run):
    """If this fails, GPUs are left out, or used twice."""
    _, frame = run
    assert len(frame) > 10
    assert (frame["tp"] == frame["tp_model"] * frame["tp_ff"]).all()
    assert (frame["dp"] * frame["tp"] * frame["pp"] * frame["ep"] == frame["n_gpus"]).all()
    assert (frame["ep"] == frame["sparsity"]).all()
    for name in DEGREES:
        assert [math.prod(levels) for levels in frame[f"{name}_levels"]] == frame[name].tolist(), name


def test_degrees_fill_every_network_level(run):
    """If this fails, more GPUs are put behind fast links than there are, or fewer."""
    configuration, frame = run
    for row in frame.to_dict("records"):
        per_level = [math.prod(factors) for factors in zip(*(row[f"{name}_levels"] for name in DEGREES), strict=True)]
        assert len(per_level) == len(configuration.network)
        assert per_level[:-1] == list(oracle.units_joined(configuration.network, row["n_gpus"]))


def test_degrees_divide_the_model(run):
    """If this fails, a GPU has a fraction of a layer, an expert, a row or a token."""
    _, frame = run
    for row in frame.to_dict("records"):
        tokens, rest = divmod(row["batch_tokens"], row["dp"] * row["microbatches"] * row["sparsity"])
        assert (rest, tokens >= 1) == (0, True)
        assert row["d_model"] % row["tp_model"] == row["d_ff"] % row["tp_ff"] == row["n_layers"] % row["pp"] == 0
        assert math.isqrt(row["tp"]) <= row["tp_ff"] <= 4 * math.isqrt(row["tp"])
        assert row["microbatches"] >= row["pp"] * (2 if row["schedule"] == "zero-bubble" else 1)
        groups = row["n_layers"] // row["pp"] if row["schedule"] == "1F1B" and row["pp"] > 1 else 1
        assert row["interleaving"] == groups


def test_training_meets_the_deadline_on_clusters_that_hold_the_model(run):
    """If this fails, a curve shows runs that take too long, or do not fit in memory."""
    configuration, frame = run
    assert (frame["training_s"] < configuration.assumptions.training_months / 12 * 3.154e7).all()
    word, memory = configuration.gpu.precision_bits / 8, frame["n_gpus"] * configuration.gpu.hbm_bytes
    assert (frame["params"] * word * (frame["dp"] + 4) <= memory).all()


def test_utilization_follows_from_time_and_stays_below_its_most(run):
    """If this fails, MFU is not model FLOP over peak FLOP, or GPUs compute faster than they can."""
    configuration, frame = run
    peak = configuration.gpu.max_flop_per_s * frame["n_gpus"] * frame["step_s"]
    np.testing.assert_allclose(frame["mfu"], 6 * frame["active_params"] * frame["batch_tokens"] / peak, rtol=ROUNDING)
    np.testing.assert_allclose(frame["steps"] * frame["step_s"], frame["training_s"], rtol=ROUNDING)
    np.testing.assert_allclose(frame["steps"] * frame["batch_tokens"], frame["dataset_tokens"], rtol=ROUNDING)
    most = configuration.gpu.effective_utilization
    assert (frame["mfu"] <= most * (1 + ROUNDING)).all()
    np.testing.assert_allclose(frame["fraction_of_peak"] * most, frame["mfu"], rtol=ROUNDING)


def recombined(assumptions, row: dict) -> float:
    """Step time from its parts, as section 4 of the specification puts them together."""
    overlapped = assumptions.overlap_pp * row["pp_ep_comm_s"] + assumptions.overlap_tp * row["tp_comm_s"]
    exposed = (1 - assumptions.overlap_pp) * row["pp_ep_comm_s"] + (1 - assumptions.overlap_tp) * row["tp_comm_s"]
    if row["schedule"] == "1F1B":
        pipeline = (max(row["compute_s"], overlapped) + exposed) / (1 - row["bubble"]) + row["pipeline_latency_s"]
    else:
        pipeline = max(row["compute_s"], overlapped, row["pipeline_latency_s"]) + exposed
    with_dp = max(pipeline, row["dp_comm_s"]) if assumptions.overlap_dp else pipeline + row["dp_comm_s"]
    return with_dp + row["dp_latency_s"]


def test_parts_of_the_step_recombine(run):
    """If this fails, the parts shown of a step are not those that its time was made of."""
    configuration, frame = run
    for row in frame.to_dict("records"):
        assert recombined(configuration.assumptions, row) == approx(row["step_s"], ROUNDING), row["d_model"]


@examples(200)
@given(machines(), st.data())
def test_parts_of_any_strategy_recombine(configuration, data):
    """If this fails, a schedule, an overlap or a bubble that no curve happens to have is put together wrongly."""
    row = evaluate(configuration, *data.draw(pinned(len(configuration.network)))).to_dict("records")[0]
    assert recombined(configuration.assumptions, row) == approx(row["step_s"], ROUNDING)
    v, m, pp = row["interleaving"], row["microbatches"], row["pp"]
    if row["schedule"] == "1F1B":
        waiting = (v - 1) * max(0, pp - m) + pp - 1
        assert row["bubble"] == pytest.approx(waiting / (waiting + v * m), rel=ROUNDING)
    else:
        assert row["bubble"] == 0


# --- better hardware, other units -------------------------------------------------------------------------------------

# What makes hardware better when it grows; latencies do when they fall.
BETTER = (
    *("register_bytes_per_block", "sm_count", "l2_bandwidth", "l2_bytes", "hbm_bandwidth", "hbm_bytes"),
    *("max_clock_hz", "effective_utilization", "flop_per_clock_per_thread"),
    *("matmul_latency_s", "bandwidth", "latency_s"),
)


@st.composite
def improvements(draw, configuration: Configuration, names: tuple[str, ...] = BETTER) -> Configuration:
    """The configuration with one thing of its hardware better."""
    gpu, network = configuration.gpu, list(configuration.network)
    name = draw(st.sampled_from(names))
    factor = draw(log_uniform(1.01, 100))
    if name in ("bandwidth", "latency_s"):
        level = draw(st.integers(0, len(network) - 1))
        value = getattr(network[level], name)
        better = value * factor if name == "bandwidth" else value / factor
        network[level] = network[level].model_copy(update={name: better})
        return configuration.model_copy(update={"network": tuple(network)})
    value = getattr(gpu, name)
    match name:
        case "matmul_latency_s":
            better = value / factor
        case "sm_count":
            better = value + math.ceil(factor)
        case "effective_utilization":
            better = min(1.0, value * factor)
        case "flop_per_clock_per_thread":
            better = {bits: rate * factor for bits, rate in value.items()}
        case _:
            better = value * factor
    return configuration.model_copy(update={"gpu": gpu.model_copy(update={name: better})})


@examples(150)
@given(machines(depths=(1, 2, 2, 3, 4)), st.data())
def test_better_hardware_is_never_slower_on_the_same_cluster(configuration, data):
    """If this fails, the search misses the best strategy of the better hardware (it has every one of the worse).

    The best is known to within the specification's ties.
    """
    shape, exponent = data.draw(clusters_for_brute_force(configuration, 8, enough=10**9))
    better = data.draw(improvements(configuration))
    before, after = (search(machine, [shape], [exponent], [1e30])[0].get(0) for machine in (configuration, better))
    if before:
        slower = evaluate(configuration, shape, before)["step_s"][0]
        assert evaluate(better, shape, after)["step_s"][0] <= slower * (1 + TIE)


@examples(60)
@given(configurations(), st.integers(-6, 6).filter(bool))
def test_time_has_no_unit_of_its_own(configuration, exponent):
    """If this fails, a number of seconds is hidden in the model, or a bandwidth, clock or latency counts twice.

    All is k times as slow and the deadline k times as far; k is a power of two, so that not even rounding differs.
    """
    k = 2.0**exponent
    gpu, assumptions = configuration.gpu, configuration.assumptions
    per_second = {name: getattr(gpu, name) / k for name in ("l2_bandwidth", "hbm_bandwidth", "max_clock_hz")}
    try:
        slower = configuration.model_copy(
            update={
                "gpu": gpu.model_copy(update={**per_second, "matmul_latency_s": gpu.matmul_latency_s * k}),
                "network": tuple(
                    level.model_copy(update={"bandwidth": level.bandwidth / k, "latency_s": level.latency_s * k})
                    for level in configuration.network
                ),
                "assumptions": assumptions.model_copy(update={"training_months": assumptions.training_months * k}),
            }
        )
    except ValidationError:
        reject()  # so slow or so fast a machine is out of the bounds of the schema
    before, after = simulate(configuration), simulate(slower)
    times = [name for name in before.columns if name.endswith("_s")]
    before[times] *= k
    pd.testing.assert_frame_equal(before, after, check_exact=True)


# --- bounds: one that is too high gives wrong answers without a sign --------------------------------------------------
# All are compared with exact times to within rounding, which the search allows for.


@examples(300)
@given(
    gpus(),
    st.lists(st.tuples(sizes(2**23), sizes(2**21), sizes(2**24), st.floats(0, 1)), min_size=1, max_size=50),
)
def test_no_layer_is_faster_than_its_floor(gpu, layers):
    """If this fails, strategies are dropped for matmuls that they do not have to wait for."""
    f, d, t, fewer = np.array(layers).T
    exact = block_time(gpu, f, d, t) * (1 + ROUNDING)
    assert (block_time_floor(gpu, f * d, t) <= exact).all()
    assert (block_time_floor(gpu, f * d, t, t) <= exact).all()
    assert (block_time_floor(gpu, f * d, t, fewer * t) <= exact).all()
    assert (block_time_floor(gpu, f * d * fewer, t * fewer, t * fewer) <= exact).all()


@examples(150)
@given(machines(depths=(1, 2, 2, 3, 4)), st.data())
def test_no_strategy_is_faster_than_the_floors_of_its_degrees(configuration, data):
    """If this fails, whole groups of strategies are dropped, or whole clusters, though the best may be among them."""
    shape, exponent = data.draw(clusters_for_brute_force(configuration, 6))
    n_gpus = shape.sparsity << exponent
    complete = oracle.complete(configuration, shape)
    clusters = Clusters(given_shape(configuration, shape), np.array([exponent]), np.array([1e30]))
    group = Group(configuration, clusters, oracle.units_joined(configuration.network, n_gpus))

    least = {}
    every = oracle.strategies(configuration, complete, n_gpus)
    for time, _, strategy in oracle.timed(configuration, oracle.levels(configuration.network), complete, every):
        degrees = math.prod(strategy.dp), math.prod(strategy.pp)
        least[degrees] = min(time, least.get(degrees, math.inf))
    if least:
        dp, pp = np.log2(list(least)).astype(int).T
        exact = np.array(list(least.values())) * (1 + ROUNDING)
        assert (group.dp_floor[0, dp] <= exact).all()
        assert (group.degrees_floor(np.zeros_like(dp), dp, pp) <= exact).all()


def shares(twos: tuple[int, ...], pp: int, ep: int):
    """Every way in which PP and EP can use the twos of the inner levels, no more of them than they have."""
    for pipeline in product(*(range(most + 1) for most in twos)):
        experts = [most - here for most, here in zip(twos, pipeline, strict=True)]
        if sum(pipeline) <= pp and sum(experts) <= ep:
            yield [*pipeline, pp - sum(pipeline)], [*experts, ep - sum(experts)]


@examples(150)
@given(networks(level_sizes=(1, 2, 3, 8, 9, 12, 32, 72)), st.data())
def test_no_pipeline_is_cheaper_than_its_floor(network, data):
    """If this fails, placements of PP and EP are dropped that cost less than the search thinks any of theirs can."""
    sparsity = data.draw(st.sampled_from([1, 1, 2, 3, 8, 9, 12, 72, 64, 96]))
    units = oracle.units_joined(network, sparsity << data.draw(st.integers(0, 14)))
    space = usages(units)
    odd = [unit // (unit & -unit) for unit in units]
    odd.append(sparsity // (sparsity & -sparsity) // math.prod(odd))
    ep = (sparsity & -sparsity).bit_length() - 1
    pp = np.arange(7)[:, None]
    n_layers = (data.draw(st.sampled_from([1, 1, 3, 5, 9])) << 6) + 0 * pp
    interleaving = np.where(data.draw(st.booleans()) & (pp > 0), n_layers / 2.0**pp, 1)
    floor = pipeline_expert_floor(network, space, pp, sparsity + 0 * pp, interleaving, n_layers)

    one_message = [2 / (level.bandwidth / 2) for level in network]
    # Shares of messages are differences, so a share of nothing may come out as a rounding of all messages.
    nothing = 1e-14 * n_layers[0, 0]
    for usage, vector in enumerate(space.vectors.tolist()):
        for stages in pp[:, 0]:
            ways = list(shares(tuple(vector), int(stages), ep))
            if not ways:
                continue
            pipeline, experts = (2.0 ** np.array(exponents).T for exponents in zip(*ways, strict=True))
            experts = [factors * here for factors, here in zip(experts, odd, strict=True)]
            v, layers = interleaving[stages, 0], n_layers[stages, 0]
            comm, latency = pipeline_expert(network, list(pipeline), experts, v, layers, 1.0, 1.0, 1.0, 1.0)
            assert floor.comm[stages, usage] <= comm.min() * (1 + ROUNDING) + nothing * max(one_message)
            slowest = max(level.latency_s for level in network)
            assert floor.latency[stages, usage] <= latency.min() * (1 + ROUNDING) + 2 * nothing * slowest


# --- the form of results ----------------------------------------------------------------------------------------------

COLUMNS = (  # as in the design, in order
    *("configuration", "gpu", "d_model", "d_ff", "n_layers", "sparsity", "params", "active_params", "dataset_tokens"),
    *("batch_tokens", "training_flop", "n_gpus", "training_s", "mfu", "fraction_of_peak"),
    *("dp", "tp", "tp_model", "tp_ff", "pp", "ep", "interleaving", "microbatches", "schedule"),
    *("dp_levels", "tp_model_levels", "tp_ff_levels", "pp_levels", "ep_levels", "step_s", "steps"),
    *("compute_s", "tp_comm_s", "pp_ep_comm_s", "dp_comm_s", "pipeline_latency_s", "dp_latency_s", "bubble"),
)
LIMIT_COLUMNS = (
    *("configuration", "gpu", "sparse", "threshold", "linear_scaling_end_flop", "last_above_flop", "recrosses"),
    *("latency_wall_flop", "params", "n_gpus", "dp", "tp", "pp", "ep", "mfu"),
)
WHOLE = {
    *("d_model", "d_ff", "n_layers", "sparsity", "batch_tokens", "n_gpus", "interleaving", "microbatches"),
    *("dp", "tp", "tp_model", "tp_ff", "pp", "ep"),
}
WORDS = {"configuration", "gpu", "schedule"}
TUPLES = {f"{name}_levels" for name in DEGREES}
SMALL = variant(H100, sweep={"d_model_min": 12288, "d_model_max": 14336})
EMPTY = {
    "no width": variant(H100, sweep={"d_model_min": 12289, "d_model_max": 12290}),
    "no time": variant(H100, assumptions={"training_months": 1e-9}),
    "no memory": variant(
        H100,
        gpu=H100.gpu.model_copy(update={"hbm_bytes": 1e3}),
        scaling={
            "depth": {"law": "fixed", "n_layers": 1},
            "batch": {"law": "constant", "tokens": 1},
            "sequence_length": 1,
        },
        sweep={"d_model_min": 832, "d_model_max": 832, "d_model_multiple": 1},
    ),
}
PINNED = (
    Shape(d_model=12288, d_ff=49152, n_layers=96, sparsity=4, batch_tokens=2**22),
    Strategy(dp=(2, 8), tp_model=(1, 2), tp_ff=(4, 1), pp=(1, 8), ep=(1, 4), microbatches=8, interleaving=12),
)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(lambda: simulate(SMALL), id="curve"),
        pytest.param(lambda: evaluate(SMALL, *PINNED), id="pinned strategy"),
        *(pytest.param(lambda run=run: simulate(run), id=name) for name, run in EMPTY.items()),
    ],
)
def test_columns_are_those_of_the_design(frame):
    """If this fails, code that reads a result by the design finds a column missing, moved or of another type."""
    frame = frame()
    assert tuple(frame.columns) == COLUMNS
    for name in COLUMNS:
        if name in WHOLE:
            assert frame[name].dtype == np.int64, name
        elif name in TUPLES:
            assert frame[name].map(lambda levels: isinstance(levels, tuple)).all(), name
            assert all(type(degree) is int for levels in frame[name] for degree in levels), name
        elif name in WORDS:
            assert frame[name].map(lambda word: isinstance(word, str)).all(), name
        else:
            assert frame[name].dtype == np.float64, name


def test_levels_are_innermost_first():
    """If this fails, the degrees of the network levels are shown in the wrong order."""
    row = evaluate(SMALL, *PINNED).iloc[0]
    assert {name: row[f"{name}_levels"] for name in DEGREES} == {name: getattr(PINNED[1], name) for name in DEGREES}


@pytest.mark.parametrize("name", EMPTY)
def test_an_infeasible_configuration_is_an_empty_frame_with_a_reason(name):
    """If this fails, the user is shown an exception, or nothing, instead of why there is no curve."""
    frame = simulate(EMPTY[name])
    assert len(frame) == 0
    words = {"no width": "has no width", "no time": "No cluster trains", "no memory": "fits in the memory"}
    assert words[name] in frame.attrs["reason"]
    assert frame.attrs["at_the_wall"] == (name == "no time")


def test_memory_alone_can_make_a_configuration_infeasible():
    """If this fails, the curve above is empty for another reason, and memory may not be looked at."""
    assert len(simulate(variant(EMPTY["no memory"], gpu=H100.gpu))) == 1


def test_a_curve_says_why_it_ends():
    """If this fails, a sweep that is cut short looks like the latency wall, or the other way round."""
    stops = {
        "its largest d_model trains in time": SMALL,
        "No cluster trains the next model": H100,
        "MFU falls below 0.001": variant(H100, gpu=H100.gpu.model_copy(update={"hbm_bandwidth": 1e8})),
    }
    for reason, configuration in stops.items():
        frame = simulate(configuration)
        assert reason in frame.attrs["reason"]
        assert frame.attrs["at_the_wall"] == (configuration is H100)


def test_a_curve_ends_after_its_first_point_of_next_to_no_utilization():
    """If this fails, a curve ends too early, or goes on where nobody would train."""
    frame = simulate(variant(H100, gpu=H100.gpu.model_copy(update={"hbm_bandwidth": 3e9})))
    assert len(frame) > 10
    assert (frame["mfu"].iloc[:-1] >= 0.001).all()
    assert frame["mfu"].iloc[-1] < 0.001


def test_frames_concatenate():
    """If this fails, the curves of several configurations cannot be kept in one table."""
    full = simulate(SMALL)
    parts = [full, *map(simulate, EMPTY.values()), evaluate(SMALL, *PINNED), simulate(variant(SMALL, name="Other"))]
    whole = pd.concat(parts, ignore_index=True)
    assert tuple(whole.columns) == COLUMNS
    pd.testing.assert_series_equal(whole.dtypes, full.dtypes)
    assert whole["configuration"].tolist() == ["H100", "H100", "H100", "Other", "Other"]


def test_simulation_repeats_itself_and_changes_nothing():
    """If this fails, a result depends on what was simulated before, or on what was done to an earlier result."""
    document = NINE_EXPERTS_ON_FOUR_LEVELS.model_dump_json()
    first = simulate(NINE_EXPERTS_ON_FOUR_LEVELS)
    kept = first.copy(deep=True)
    first.loc[:, ["d_model", "mfu", "n_gpus"]] = 0
    simulate(H100)
    pd.testing.assert_frame_equal(simulate(NINE_EXPERTS_ON_FOUR_LEVELS), kept, check_exact=True)
    assert NINE_EXPERTS_ON_FOUR_LEVELS.model_dump_json() == document


# --- what is read off a curve -----------------------------------------------------------------------------------------


def curve(name: str, fractions: list[float]) -> pd.DataFrame:
    """A curve of points at 1, 2, 3, … FLOP with such fractions of the peak sustained utilization."""
    count = len(fractions)
    frame = pd.concat([evaluate(SMALL, *PINNED)] * count, ignore_index=True)
    points = np.arange(1, count + 1)
    mfu = np.array(fractions) * SMALL.gpu.effective_utilization
    return frame.assign(
        configuration=name,
        d_model=points,
        training_flop=1.0 * points,
        n_gpus=10 * points,
        mfu=mfu,
        fraction_of_peak=fractions,
    )


def test_limits_of_two_curves_of_one_name_are_refused():
    """If this fails, the end of one curve is shown beside the wall of another."""
    with pytest.raises(ValueError, match="several curves are named 'A'"):
        training_limits(pd.concat([curve("A", [0.9, 0.5]), curve("A", [0.9, 0.7])]))


def test_friendly_numbers_are_the_nearest_and_at_a_tie_the_smaller():
    """If this fails, models and batches have other sizes than the specification's round_R gives them."""
    assert round_friendly(np.array([0.1, 1.4, 11, 11.5, 13, 15, 1e30])).tolist() == [1, 1, 10, 12, 12, 14, 9 << 59]


@pytest.mark.parametrize(
    ("fractions", "end", "last_above", "recrosses"),
    [
        ([0.95, 0.9, 0.7, 0.6], 3, 2, False),
        ([0.95, 0.8, 0.7], 2, 1, False),  # at the threshold is not above it
        ([0.95, 0.7, 0.9, 0.6], 2, 3, True),
        ([0.95, 0.7, 0.9], 2, 3, True),
        ([0.7, 0.9, 0.95], 1, 3, False),
        ([0.7, 0.6], 1, None, False),
        ([0.95, 0.9], None, 2, False),
    ],
)
def test_limits_of_a_curve(fractions, end, last_above, recrosses):
    """If this fails, the maximum training compute in the table is not where the curve meets the threshold."""
    limits = training_limits(curve("A", fractions)).iloc[0]
    assert limits["latency_wall_flop"] == len(fractions)
    assert limits["recrosses"] == recrosses
    for name, expected in (("linear_scaling_end_flop", end), ("last_above_flop", last_above)):
        assert pd.isna(limits[name]) if expected is None else limits[name] == expected, name
    at_the_end = limits[["params", "n_gpus", "dp", "tp", "pp", "ep", "mfu"]]
    if end is None:
        assert at_the_end.isna().all()
    else:
        assert (limits["n_gpus"], limits["dp"], limits["tp"]) == (10 * end, 16, 8)
        assert limits["mfu"] == approx(fractions[end - 1] * SMALL.gpu.effective_utilization)


def test_limits_of_several_curves():
    """If this fails, curves in one table are mixed up, or one without an end spoils the others."""
    together = pd.concat([curve("B", [0.9, 0.5]), simulate(EMPTY["no time"]), curve("A", [0.9, 0.85])])
    limits = training_limits(together, threshold=0.6)
    assert tuple(limits.columns) == LIMIT_COLUMNS
    assert limits["configuration"].tolist() == ["B", "A"]
    assert limits["gpu"].tolist() == [SMALL.gpu.name] * 2
    assert limits["threshold"].tolist() == [0.6, 0.6]
    assert limits["sparse"].tolist() == [True, True]
    assert limits["linear_scaling_end_flop"].tolist() == pytest.approx([2, math.nan], nan_ok=True)
    assert list(limits["n_gpus"]) == [20, pd.NA]


def test_limits_of_no_curve():
    """If this fails, a run in which nothing is feasible breaks the table of limits."""
    nothing, something = training_limits(simulate(EMPTY["no time"])), training_limits(simulate(SMALL))
    assert len(nothing) == 0
    assert list(nothing.columns) == list(something.columns)


@pytest.mark.parametrize("threshold", [0, 1, -0.1, 1.5, math.nan, math.inf])
def test_a_threshold_out_of_range_is_refused(threshold):
    """If this fails, a mistyped threshold gives a table that means nothing."""
    with pytest.raises(ValueError, match="threshold"):
        training_limits(simulate(SMALL), threshold)


# --- bad input, imports -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("dp", dict.fromkeys(DEGREES, (1, 1, 1))),
        ("dp", {"dp": (1024, 1024)}),
        ("tp_model", {"tp_model": (16384, 1)}),
        ("tp_ff", {"tp_ff": (8, 8192)}),
        ("pp", {"pp": (1, 128)}),
        ("interleaving", {"interleaving": 13}),
        ("interleaving", {"pp": (1, 1), "interleaving": 2}),
        ("ep", {"ep": (5, 1)}),
        ("microbatches", {"microbatches": 2**20}),
    ],
)
def test_a_strategy_that_leaves_gpus_without_work_is_refused(field, change):
    """If this fails, such a strategy is timed as if it could run, or the message does not say what to change."""
    shape, strategy = PINNED
    with pytest.raises(ValueError, match=rf"\b{field}\b"):
        evaluate(SMALL, shape, Strategy(**strategy.model_dump() | change))


def test_clusters_of_more_gpus_than_can_be_counted_are_refused():
    """If this fails, a cluster beyond the range of integers is shown with a negative number of GPUs."""
    shape = Shape(d_model=2**10, d_ff=2**12, n_layers=2**12, batch_tokens=2**53)
    half = {**dict.fromkeys(DEGREES, (1, 1)), "dp": (1, 2**40), "tp_model": (1, 2**10), "pp": (1, 2**12)}
    assert evaluate(SMALL, shape, Strategy(**half))["n_gpus"].tolist() == [2**62]
    with pytest.raises(ValueError, match=r"number of GPUs, is 9.22e\+18, which must be below 2\^63"):
        evaluate(SMALL, shape, Strategy(**half | {"tp_ff": (2, 1)}))


def test_importing_the_model_imports_no_other_heavy_package():
    """If this fails, every script, and the app's first page, waits for packages that it may not need."""
    program = "import sys, model; print(*sorted({'pandas', 'streamlit', 'altair'} & set(sys.modules)))"
    folder = Path(__file__).parents[1]
    imported = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True)
    assert imported.stdout.strip() == ""
