"""Where a step's time goes: each part by hand and by the scalar oracle, and their sum, whatever overlaps."""

import math

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_invariants import RUNS
from test_oracle import ROUNDING, TIE, approx, configurations, examples, gpus, machines, pinned, sizes

from model import Configuration, Shape, Strategy, evaluate, simulate, step_breakdown
from model.breakdown import matmul_table
from model.gpu import block_time, matmul_bounds, matmul_time

COMPUTE = ("ideal_compute_s", "clock_s", "padding_s", "memory_s", "kernel_latency_s", "recomputation_s")
WAITS = ("bubble_s", "tp_comm_s", "pp_ep_comm_s", "dp_comm_s", "latency_s")

# 2 · 64 GFLOP/s sustained at half the peak clock; no memory, no kernel and no message takes time.
TOY = Configuration(
    name="Toy",
    gpu={
        "name": "Toy",
        "precision_bits": 16,
        "flop_per_clock_per_thread": {16: 1},
        "register_bytes_per_block": 65536,
        "sm_count": 1,
        "l2_bandwidth": 1e21,
        "l2_bytes": 65536,
        "hbm_bandwidth": 1e21,
        "hbm_bytes": 1e9,
        "max_clock_hz": 1e9,
        "effective_utilization": 0.5,
        "distributed_shared_memory": False,
        "matmul_latency_s": 0,
    },
    network=[{"name": "All", "bandwidth": math.inf, "latency_s": 0}],
)


def toy(gpu: dict | None = None, **assumptions) -> Configuration:
    return TOY.model_copy(
        update={
            "gpu": TOY.gpu.model_copy(update=gpu or {}),
            "assumptions": TOY.assumptions.model_copy(update=assumptions),
        }
    )


# --- compute, by hand -------------------------------------------------------------------------------------------------

# Two microbatches of 36 tokens through two layers of 20 × 12 weights: 4 · 6 matmuls of 17,280 FLOP each, for which
# tensor cores do 3 · 2 · 5 tiles of 1,024 FLOP in 0.48 µs. Each moves (20 + 12) · 36 activations of 2 bytes in and out
# of any memory, 2,304 bytes; the weights stay.
SMALL = Shape(d_model=12, d_ff=20, n_layers=2, batch_tokens=72)
ALONE = Strategy(dp=(1,), tp_model=(1,), tp_ff=(1,), pp=(1,), ep=(1,), microbatches=2)
IDEAL_S = 24 * 17280 / 128e9
PADDING_S = 24 * (30720 - 17280) / 64e9


@pytest.mark.parametrize(
    ("gpu", "assumptions", "different"),
    [
        pytest.param({}, {}, {}, id="tensor cores alone"),
        pytest.param({"effective_utilization": 1.0}, {}, {"clock_s": 0, "padding_s": PADDING_S / 2}, id="peak clock"),
        pytest.param({"hbm_bandwidth": 2.304e9}, {}, {"memory_s": 24 * (1e-6 - 0.48e-6)}, id="HBM of 1 µs"),
        pytest.param({"l2_bandwidth": 4.608e9}, {}, {"memory_s": 24 * (1e-6 - 0.48e-6)}, id="L2 of 1 µs"),
        pytest.param({"hbm_bandwidth": 2.304e9 / 0.4}, {}, {"memory_s": 0}, id="HBM of 0.4 µs, behind tensor cores"),
        pytest.param({"matmul_latency_s": 1e-6}, {}, {"kernel_latency_s": 24e-6}, id="kernels of 1 µs"),
        pytest.param({}, {"activations": "recomputed"}, {"recomputation_s": 24 * 0.48e-6 / 3}, id="recomputation"),
        pytest.param(
            {"matmul_latency_s": 1e-6},
            {"activations": "recomputed"},
            {"kernel_latency_s": 24e-6, "recomputation_s": 24 * 1.48e-6 / 3},
            id="recomputation has its kernels",
        ),
    ],
)
def test_parts_of_compute_by_hand(gpu, assumptions, different):
    """If this fails, the time of a matmul is put down to the wrong cause: memory as padding, say."""
    configuration = toy(gpu, **assumptions)
    frame = evaluate(configuration, SMALL, ALONE)
    parts = step_breakdown(configuration, frame).iloc[0]
    plain = dict.fromkeys((*COMPUTE, *WAITS), 0)
    expected = plain | {"ideal_compute_s": IDEAL_S, "clock_s": IDEAL_S, "padding_s": PADDING_S} | different
    assert parts.to_dict() == pytest.approx(expected, rel=ROUNDING, abs=1e-20)


def test_experts_repeat_a_layers_matmuls():
    """If this fails, the matmuls of a sparse model are counted for one expert only, or for all on every GPU."""
    shape = SMALL.model_copy(update={"sparsity": 3, "batch_tokens": 3 * SMALL.batch_tokens})
    configuration = toy({"matmul_latency_s": 1e-6})
    for ep in (1, 3):
        frame = evaluate(configuration, shape, ALONE.model_copy(update={"ep": (ep,)}))
        parts = step_breakdown(configuration, frame).iloc[0]
        here = 3 / ep
        expected = [here * IDEAL_S, here * IDEAL_S, here * PADDING_S, 0, here * 24e-6, 0]
        assert parts[[*COMPUTE]].tolist() == approx(expected, ROUNDING)


def test_whole_numbers_do_not_overflow():
    """If this fails, the deepest models that `evaluate` takes compute for less than no time."""
    shape = SMALL.model_copy(update={"n_layers": 2**62, "batch_tokens": 36 * 64})
    frame = evaluate(TOY, shape, ALONE.model_copy(update={"microbatches": 64}))
    parts = step_breakdown(TOY, frame).iloc[0]
    assert parts["padding_s"] == approx(2**62 * 64 / 4 * PADDING_S, ROUNDING)
    assert parts.sum() == approx(frame["step_s"].item(), ROUNDING)


def test_padding_is_negative_only_by_what_evaluate_leaves_out():
    """If this fails, a pinned strategy that does not divide the model no longer adds up, or hides what is left out."""
    shape = SMALL.model_copy(update={"d_model": 24, "d_ff": 16, "batch_tokens": 64, "n_layers": 3})
    frame = evaluate(TOY, shape, ALONE.model_copy(update={"pp": (2,)}))  # of 3 layers, each GPU has 1, not 1½
    left_out_s = 0.5 * 6 * (2 * 24 * 16) * 64 / 64e9
    assert step_breakdown(TOY, frame)["padding_s"].tolist() == approx([-left_out_s], ROUNDING)


# --- waits, by hand ---------------------------------------------------------------------------------------------------

# Seconds, of a step that computes for 10 s and is idle a fifth of the time, a quarter of the time that it works.
PARTS_S = {
    "compute_s": 10.0,
    "tp_comm_s": 9.0,
    "pp_ep_comm_s": 6.0,
    "dp_comm_s": 25.0,
    "pipeline_latency_s": 4.0,
    "dp_latency_s": 1.0,
    "bubble": 0.2,
    "schedule": "1F1B",
}
ZERO_BUBBLE = {"bubble": 0.0, "schedule": "zero-bubble"}


@pytest.mark.parametrize(
    ("overlaps", "changes", "bubble", "tp", "pp_ep", "dp", "latency"),
    [
        pytest.param("tp pp", {}, 3.75, 3, 2, 25, 5, id="5 s of 15 s stick out, 3 : 2"),
        pytest.param("tp pp dp", {}, 3.75, 3, 2, 25 - 22.75, 5, id="DP outlasts the pipeline"),
        pytest.param("tp pp dp", {"dp_comm_s": 22.0}, 3.75, 3, 2, 0, 5, id="DP hides behind the pipeline"),
        pytest.param("tp", {}, 4, 0, 6, 25, 5, id="TP hides, PP does not"),
        pytest.param("pp", {}, 4.75, 9, 0, 25, 5, id="PP hides, TP does not"),
        pytest.param("", {}, 6.25, 9, 6, 25, 5, id="nothing overlaps"),
        pytest.param("tp pp", {"compute_s": 20.0}, 5, 0, 0, 25, 5, id="all hide behind compute"),
        pytest.param("tp pp", ZERO_BUBBLE, 0, 3, 2, 25, 1, id="latency hides behind communication"),
        pytest.param(
            "tp pp", ZERO_BUBBLE | {"pipeline_latency_s": 18.0}, 0, 3, 2, 25, 4, id="3 s of latency stick out"
        ),
        pytest.param("", ZERO_BUBBLE | {"pipeline_latency_s": 18.0}, 0, 9, 6, 25, 9, id="latency hides behind compute"),
    ],
)
def test_waits_by_hand(overlaps, changes, bubble, tp, pp_ep, dp, latency):
    """If this fails, what hides behind compute is shown, or what sticks out of it is put down to the wrong cause."""
    names = overlaps.split()
    configuration = toy(**{f"overlap_{name}": name in names for name in ("tp", "pp", "dp")})
    frame = evaluate(configuration, SMALL, ALONE).assign(**PARTS_S | changes)
    assert step_breakdown(configuration, frame)[[*WAITS]].iloc[0].tolist() == approx(
        [bubble, tp, pp_ep, dp, latency], ROUNDING
    )


# --- any strategy -----------------------------------------------------------------------------------------------------


def scalar_bounds(gpu, d1: int, d2: int, b: int, weight_gradient: bool) -> dict[str, float]:
    """What bounds a matmul, from the oracle's bytes (spec section 2)."""
    rates = oracle.rates(gpu)
    register, sms, distributed = rates.register_bytes, rates.sm_count, rates.distributed_shared_memory

    def moved(*cut):
        return oracle.io(d1, d2, b, weight_gradient, *cut, rates.word)

    hbm, _ = moved(max(rates.l2_bytes, 4 * register), 1, False)
    sm, peer = moved(4 * register, sms, distributed)
    within, _ = moved(register, 4 * sms, False)
    return {
        "hbm_s": hbm / rates.hbm_bandwidth,
        "l2_s": (hbm + sm) / rates.l2_bandwidth,
        "shared_memory_s": (sm + peer + within) / rates.shared_bandwidth,
        "tensor_core_s": 1024 * math.ceil(d1 / 8) * math.ceil(d2 / 8) * math.ceil(b / 8) / rates.flops,
        "latency_s": rates.matmul_latency_s,
    }


def shard(shape: Shape, strategy: Strategy) -> tuple[int, int, int]:
    """f, d and t of the spec."""
    microbatches = math.prod(strategy.dp) * strategy.microbatches * shape.sparsity
    return (
        shape.d_ff // math.prod(strategy.tp_ff),
        shape.d_model // math.prod(strategy.tp_model),
        shape.batch_tokens // microbatches,
    )


def scalar_compute(configuration: Configuration, shape: Shape, strategy: Strategy) -> dict[str, float]:
    """The parts of compute, matmul by matmul."""
    gpu, step = configuration.gpu, oracle.evaluate(configuration, shape, strategy)
    f, d, t = shard(shape, strategy)
    matmuls = [scalar_bounds(gpu, *size, t, gradient) for size in ((f, d), (d, f)) for gradient in (False, False, True)]
    layers, experts = shape.n_layers // math.prod(strategy.pp), shape.sparsity // math.prod(strategy.ep)
    often = strategy.microbatches * layers * experts
    ideal = step["mfu"] * step["step_s"]
    sustained = ideal / gpu.effective_utilization
    memory = 0.0
    for matmul in matmuls:
        slowest = max(matmul["hbm_s"], matmul["l2_s"], matmul["shared_memory_s"])
        memory += often * max(0, slowest - matmul["tensor_core_s"])
    seconds = {
        "ideal_compute_s": ideal,
        "clock_s": sustained - ideal,
        "padding_s": often * sum(matmul["tensor_core_s"] for matmul in matmuls) - sustained,
        "memory_s": memory,
        "kernel_latency_s": often * 6 * gpu.matmul_latency_s,
    }
    recomputed = configuration.assumptions.activations == "recomputed"
    return seconds | {"recomputation_s": sum(seconds.values()) / 3 if recomputed else 0}


def scalar_waits(configuration: Configuration, row: dict) -> dict[str, float]:
    """What the step takes beyond compute, from the parts before any overlap."""
    overlap = configuration.assumptions
    hidden_tp = row["tp_comm_s"] if overlap.overlap_tp else 0
    hidden_pp = row["pp_ep_comm_s"] if overlap.overlap_pp else 0
    busy = max(row["compute_s"], hidden_tp + hidden_pp)
    out = (busy - row["compute_s"]) / (hidden_tp + hidden_pp) if hidden_tp + hidden_pp else 0
    tp = out * hidden_tp if overlap.overlap_tp else row["tp_comm_s"]
    pp_ep = out * hidden_pp if overlap.overlap_pp else row["pp_ep_comm_s"]
    working = row["compute_s"] + tp + pp_ep
    waiting = working / (1 - row["bubble"])
    latency = row["pipeline_latency_s"]
    if row["schedule"] == "zero-bubble":
        latency = max(busy, latency) - busy
    dp = max(waiting + latency, row["dp_comm_s"]) - (waiting + latency) if overlap.overlap_dp else row["dp_comm_s"]
    return {
        "bubble_s": waiting - working,
        "tp_comm_s": tp,
        "pp_ep_comm_s": pp_ep,
        "dp_comm_s": dp,
        "latency_s": latency + row["dp_latency_s"],
    }


@examples(300)
@given(machines(), st.data())
def test_every_part_of_any_strategy_is_the_oracles(configuration, data):
    """If this fails, a part is wrong that no curve happens to have, or parts do not add up under some overlap."""
    shape, strategy = data.draw(pinned(len(configuration.network)))
    frame = evaluate(configuration, shape, strategy)
    row, parts = frame.iloc[0], step_breakdown(configuration, frame).iloc[0]
    expected = scalar_compute(configuration, shape, strategy) | scalar_waits(configuration, row.to_dict())
    assert list(parts.index) == [*COMPUTE, *WAITS]
    size = max(row["step_s"], parts["ideal_compute_s"] / configuration.gpu.effective_utilization)
    for name, value in expected.items():
        assert parts[name] == pytest.approx(value, rel=TIE, abs=ROUNDING * size), name
    assert math.fsum(parts) == pytest.approx(row["step_s"], rel=ROUNDING, abs=0)
    assert (parts.drop("padding_s") >= -ROUNDING * row["step_s"]).all()


@examples(150)
@given(configurations())
def test_breakdown_of_any_curve_leaves_no_time_out_and_has_none_below_zero(configuration):
    """If this fails, a chart of where the time goes has a layer that folds over, or does not end at the step."""
    frame = simulate(configuration)
    parts = step_breakdown(configuration, frame)
    np.testing.assert_allclose(parts.sum(axis=1), frame["step_s"], rtol=ROUNDING, atol=0)
    assert parts.ge(-ROUNDING * frame["step_s"], axis=0).all(axis=None)


@pytest.mark.parametrize("name", RUNS)
def test_breakdown_of_a_curve(name):
    """If this fails, the chart of where the time goes leaves time out, counts it twice, or shows less than none."""
    frame = simulate(RUNS[name])
    parts = step_breakdown(RUNS[name], frame)
    np.testing.assert_allclose(parts.sum(axis=1), frame["step_s"], rtol=ROUNDING, atol=0)
    assert parts.ge(-ROUNDING * frame["step_s"], axis=0).all(axis=None)
    tokens = frame["batch_tokens"] // (frame["dp"] * frame["microbatches"] * frame["sparsity"])
    sides = [frame["d_ff"] // frame["tp_ff"], frame["d_model"] // frame["tp_model"], tokens]
    whole_tiles = np.logical_and.reduce([side % 8 == 0 for side in sides])
    assert whole_tiles.any() and (parts["padding_s"][whole_tiles] == 0).all(), "rounding is shown as padding"
    assert (parts["padding_s"][~whole_tiles] > 0).all()


def test_rows_keep_their_index_and_an_empty_curve_has_the_same_parts():
    """If this fails, parts stand beside the wrong points, or a configuration without a run is an error."""
    configuration = RUNS["GPU generations, sparse: H100"]
    frame = simulate(configuration)
    whole = step_breakdown(configuration, frame)
    some = frame.iloc[[7, 2]]
    pd.testing.assert_frame_equal(step_breakdown(configuration, some), whole.loc[[7, 2]])
    empty = step_breakdown(configuration, frame[:0])
    assert list(empty) == list(whole) and empty.empty


# --- matmul by matmul -------------------------------------------------------------------------------------------------


@examples(200)
@given(gpus(), st.lists(st.tuples(sizes(2**21), sizes(2**23), sizes(2**24)), min_size=1, max_size=20), st.booleans())
def test_bounds_of_a_matmul_are_the_oracles_and_make_its_time(gpu, products, weight_gradient):
    """If this fails, a matmul is said to wait for a level that it does not wait for."""
    d1, d2, b = np.array(products).T
    bounds = matmul_bounds(gpu, d1, d2, b, weight_gradient)
    expected = [scalar_bounds(gpu, *product, weight_gradient) for product in products]
    for name, values in bounds._asdict().items():
        values = np.broadcast_to(values, len(products))
        np.testing.assert_allclose(values, [each[name] for each in expected], rtol=TIE, atol=0)
    slowest = np.maximum.reduce(bounds[:4])
    np.testing.assert_array_equal(slowest + gpu.matmul_latency_s, matmul_time(gpu, d1, d2, b, weight_gradient))


@examples(150)
@given(machines(), st.data())
def test_matmul_table_is_a_layers_six_matmuls(configuration, data):
    """If this fails, the table shows other products than those that the time of a layer is made of."""
    shape, strategy = data.draw(pinned(len(configuration.network)))
    table = matmul_table(configuration, evaluate(configuration, shape, strategy).iloc[0])
    f, d, t = shard(shape, strategy)
    products = table[["matmul", "pass", "d1", "d2", "tokens"]].itertuples(index=False, name=None)
    assert list(products) == [
        ("Up projection", "forward", f, d, t),
        ("Up projection", "activation gradient", d, f, t),
        ("Up projection", "weight gradient", f, d, t),
        ("Down projection", "forward", d, f, t),
        ("Down projection", "activation gradient", f, d, t),
        ("Down projection", "weight gradient", d, f, t),
    ]
    for row in table.to_dict("records"):
        expected = scalar_bounds(configuration.gpu, row["d1"], row["d2"], t, row["pass"] == "weight gradient")
        assert {name: row[name] for name in expected} == approx(expected)
    assert table["time_s"].sum() == approx(float(block_time(configuration.gpu, f, d, t)), ROUNDING)


@pytest.mark.parametrize(
    ("gpu", "bound"),
    [
        ({}, "tensor cores"),
        ({"hbm_bandwidth": 2e9, "l2_bandwidth": 4.1e9}, "HBM"),
        ({"hbm_bandwidth": 2e9, "l2_bandwidth": 3.9e9}, "L2"),
        ({"flop_per_clock_per_thread": {16: 100}}, "shared memory"),
        ({"matmul_latency_s": 0.47e-6}, "tensor cores"),
        ({"matmul_latency_s": 0.49e-6}, "latency"),
        ({"matmul_latency_s": 0.49e-6, "hbm_bandwidth": 2.304e9}, "HBM"),
    ],
)
def test_what_binds_a_matmul_by_hand(gpu, bound):
    """If this fails, the table blames the wrong level: HBM moves 2,304 bytes, L2 twice that; tiles take 0.48 µs."""
    row = evaluate(toy(gpu), SMALL, ALONE).iloc[0]
    assert matmul_table(toy(gpu), row)["bound"].tolist() == [bound] * 6


def test_forward_and_backward_can_be_bound_by_different_levels():
    """If this fails, one bound is shown for all six: the gradient of weights that do not stay is moved besides them."""
    shape = Shape(d_model=1024, d_ff=1024, n_layers=1, batch_tokens=128)
    configuration = toy({"hbm_bandwidth": 1.6e9, "l2_bytes": 2e6})  # weights of 2.1 MB in 1.3 ms; tiles take 2.1 ms
    table = matmul_table(configuration, evaluate(configuration, shape, ALONE).iloc[0])
    assert table["bound"].tolist() == 2 * ["tensor cores", "tensor cores", "HBM"]
