"""The model beside published runs: no run beats it, and each number of the comparison is what it is said to be."""

import pandas as pd
import pytest

from model import Strategy, evaluate, load_hardware
from model.configuration import Pins
from model.integers import divisors
from model.pinned import fastest_strategy
from model.presets import PublishedRun, load_published_runs
from model.reality import GAP, model_shape, reality_breakdown, reality_check, run_configuration, run_strategies

RUNS = {run.name: run for run in load_published_runs()}
MEGATRON_145B = RUNS["Megatron GPT 145.6B"]
LLAMA = RUNS["Llama 3.1 405B on 8,192 GPUs"]
SMALLEST = RUNS["Megatron GPT 1.7B"]
every_run = pytest.mark.parametrize("run", [pytest.param(run, id=name) for name, run in RUNS.items()])


@pytest.fixture(scope="module")
def checked() -> pd.DataFrame:
    return reality_check().set_index("name", drop=False)


def check(run: PublishedRun) -> pd.Series:
    return reality_check([run]).iloc[0]


# --- the bound --------------------------------------------------------------------------------------------------------


def test_no_published_run_beats_the_model(checked):
    beaten = checked[~(checked.ratio < 1)]
    assert beaten.empty, f"the model is no upper bound: {beaten.ratio.to_dict()}"
    assert (checked.measured_step_s > checked.model_step_s).all()
    assert list(checked.name) == list(RUNS)


def test_a_run_that_is_faster_than_the_model_would_be_seen():
    twice_as_fast = SMALLEST.model_copy(update={"flop_per_s": 2.9e14})
    assert check(twice_as_fast).ratio > 1, "the test above could not fail"
    assert reality_breakdown(reality_check([twice_as_fast])).gap_s.item() < 0


@every_run
def test_nothing_that_was_not_published_could_be_faster(run, checked):
    """By pinned strategies, one at a time: any whole sequences to a microbatch, any interleaving."""
    shape, configuration = model_shape(run), run_configuration(run)
    per_copy = run.batch_sequences // run.dp
    counts = [per_copy // run.microbatch_sequences] if run.microbatch_sequences else divisors(per_copy)
    in_node = 8 // run.tp
    steps = [
        evaluate(
            configuration,
            shape,
            Strategy(
                dp=(in_node, run.dp // in_node),
                tp_model=(1, 1),
                tp_ff=(run.tp, 1),
                pp=(1, run.pp),
                ep=(1, 1),
                microbatches=microbatches,
                interleaving=interleaving,
            ),
        ).step_s.item()
        for microbatches in counts
        for interleaving in (divisors(shape.n_layers // run.pp) if run.pp > 1 else [1])
    ]
    assert checked.model_step_s[run.name] == pytest.approx(min(steps), rel=1e-12)


@every_run
def test_the_fastest_placement_of_the_same_degrees_is_hardly_faster(run, checked):
    """The search may put tensor parallelism across nodes and split d_model too, which no run did."""
    row = checked.loc[run.name]
    pins = Pins(dp=run.dp, tp=run.tp, pp=run.pp, microbatches=int(row.microbatches), schedule="1F1B")
    fastest = fastest_strategy(run_configuration(run), model_shape(run), run.n_gpus, pins).step_s.item()
    assert 0.9 * row.model_step_s < fastest <= row.model_step_s * (1 + 1e-9)


# --- one run by hand --------------------------------------------------------------------------------------------------


def test_megatron_145b_by_hand(checked):
    """2,304 sequences of 2,048 tokens on 1,536 A100s: DP 24 · TP 8 · PP 8, 96 microbatches, 10 layers to a stage."""
    row = checked.loc["Megatron GPT 145.6B"]
    tokens, gpus, peak = 2304 * 2048, 1536, 16 * 128 * 108 * 1.41e9
    ideal = 6 * 145.6e9 * tokens / (gpus * peak)
    assert (row.batch_tokens, row.n_gpus, row.dp, row.tp, row.pp) == (tokens, gpus, 24, 8, 8)
    assert (row.microbatches, row.interleaving) == (96, 10)

    measured = 96 * tokens * 80 * 12288**2 * (1 + 2048 / (6 * 12288) + 51200 / (16 * 80 * 12288)) / (148e12 * gpus)
    assert row.measured_step_s == pytest.approx(measured) == pytest.approx(24.8174, rel=2e-5)
    assert row.measured_mfu == pytest.approx(ideal / measured) == pytest.approx(0.3467, abs=1e-4)

    # d_ff = 145.6e9 / (2 · 12288 · 80) = 74,056 to a multiple of 64. Every matmul is bound by the tensor cores, which
    # sustain 85% of peak; a microbatch is one sequence, and each of 10 layers has 6 matmuls, recomputed to 8.
    d_ff = 74048
    matmul = 2 * (12288 * d_ff / 8) * 2048 / (0.85 * peak) + 4.5e-6
    compute = 4 / 3 * 10 * 96 * 6 * matmul
    bubble = (8 - 1) / (8 - 1 + 10 * 96)  # each stage waits for 7 of 967 slots
    # Messages of two all-reduces a layer (one way is two messages) and of 79 interfaces, forward and backward, and half
    # as many again when activations are recomputed; and of the reduction of gradients.
    latency = 1.5 * (2 * (2 * 80) + 2 * 79) * 1.125e-6 + 2 * 1.125e-6
    step = compute / (1 - bubble) + latency  # the reduction of gradients hides behind it, as all communication does
    assert row.model_step_s == pytest.approx(step, rel=1e-6)
    assert row.model_mfu == pytest.approx(ideal / step, rel=1e-6)
    assert row.ratio == pytest.approx(step / measured, rel=1e-6)
    assert row.attention_share == pytest.approx(2 * 80 * 12288 * 2048 / 145.6e9) == pytest.approx(0.0277, abs=1e-4)


# --- what is compared -------------------------------------------------------------------------------------------------


@every_run
def test_both_utilizations_count_the_same_flop(run, checked):
    row, peak = checked.loc[run.name], load_hardware()[run.gpu].gpu.max_flop_per_s
    flop = 6 * run.params * run.batch_sequences * run.sequence_length
    for whose in ("measured", "model"):
        assert row[f"{whose}_mfu"] * row[f"{whose}_step_s"] * run.n_gpus * peak == pytest.approx(flop), whose
    assert row.ratio == pytest.approx(row.measured_mfu / row.model_mfu)


@every_run
def test_parts_add_up_to_the_measured_step(run, checked):
    parts = reality_breakdown(checked).loc[run.name]
    assert parts.sum() == pytest.approx(checked.measured_step_s[run.name], rel=1e-12)
    assert parts.drop("gap_s").sum() == pytest.approx(checked.model_step_s[run.name], rel=1e-12)
    assert parts.drop("padding_s").min() >= 0
    assert abs(parts.padding_s) < 1e-9 * parts.sum(), "shards do not fill tensor cores, which the run's do"
    assert (parts.recomputation_s > 0) == (run.recomputation == "full")


@every_run
def test_the_model_uses_the_runs_own_parallelism(run, checked):
    row = checked.loc[run.name]
    assert (row.n_gpus, row.dp, row.tp, row.pp) == (run.n_gpus, run.dp, run.tp, run.pp)
    assert row.batch_tokens == run.batch_sequences * run.sequence_length
    assert run.batch_sequences % (run.dp * row.microbatches) == 0, "a sequence is cut"
    if run.microbatch_sequences:
        assert row.microbatches * run.dp * run.microbatch_sequences == run.batch_sequences


@every_run
def test_the_models_transformer_has_the_runs_width_and_parameters(run):
    shape = model_shape(run)
    assert shape.d_model == run.d_model
    assert 2 * shape.d_model * shape.d_ff * shape.n_layers == pytest.approx(run.params, rel=1e-3)
    assert shape.d_ff % (8 * run.tp) == 0, "tensor cores of a shard are not full"
    assert shape.n_layers % run.pp == 0 and 0 <= shape.n_layers - run.n_layers < run.pp


def test_only_llamas_pipeline_does_not_divide_its_layers():
    added = {name: model_shape(run).n_layers - run.n_layers for name, run in RUNS.items()}
    assert {name: more for name, more in added.items() if more} == {LLAMA.name: 2}


def test_what_is_recomputed_costs_a_third_more_compute():
    kept = check(MEGATRON_145B.model_copy(update={"recomputation": "none"}))
    full = check(MEGATRON_145B)
    assert kept.recomputation_s == 0
    compute = kept["ideal_compute_s":"kernel_latency_s"].sum()
    assert full.recomputation_s == pytest.approx(compute / 3)
    assert kept.model_step_s < full.model_step_s


@pytest.mark.parametrize(
    ("degrees", "tp_ff", "dp", "pp"),
    [
        ({"tp": 8, "dp": 24, "pp": 8}, [8, 1], [1, 24], [1, 8]),
        ({"tp": 16, "dp": 24, "pp": 4}, [8, 2], [1, 24], [1, 4]),
        ({"tp": 2, "dp": 48, "pp": 16}, [2, 1], [4, 12], [1, 16]),
        ({"tp": 2, "dp": 3, "pp": 256}, [2, 1], [1, 3], [4, 64]),
    ],
)
def test_tensor_parallelism_comes_first_in_a_node_then_copies_then_stages(degrees, tp_ff, dp, pp):
    run = MEGATRON_145B.model_copy(update=degrees)
    strategies = run_strategies(run, run_configuration(run).network)
    assert (strategies.tp_ff[0].tolist(), strategies.dp[0].tolist(), strategies.pp[0].tolist()) == (tp_ff, dp, pp)
    assert (strategies.n_gpus == 1536).all()


def test_what_was_published_is_not_searched():
    pinned = {"microbatch_sequences": 4, "interleaving": 2}
    row = check(MEGATRON_145B.model_copy(update=pinned))
    assert (row.microbatches, row.interleaving) == (24, 2)
    assert row.model_step_s > check(MEGATRON_145B).model_step_s, "what is pinned is faster than the fastest"


# --- what the gap is made of ------------------------------------------------------------------------------------------


@every_run
def test_attentions_share_is_that_of_the_papers_formula(run, checked):
    """Of 96 · B · s · L · h² · s / (6h), three of four passes are none of recomputation."""
    tokens = run.batch_sequences * run.sequence_length
    attention = 96 * tokens * run.n_layers * run.d_model**2 * run.sequence_length / (6 * run.d_model)
    assert checked.attention_share[run.name] == pytest.approx(3 / 4 * attention / (6 * run.params * tokens))


def test_attention_is_a_small_part_of_the_gap(checked):
    assert 0.13 < checked.attention_share.max() < 0.14 and checked.attention_share.idxmax() == SMALLEST.name
    sustained = checked.ideal_compute_s + checked.clock_s + checked.recomputation_s
    assert (checked.attention_share * sustained < checked.gap_s).all(), "attention alone is more than the gap"


def test_hidden_communication_by_hand(checked):
    """All-reduces of d_model numbers a token over the 8 GPUs of a node, messages from stage to stage, and gradients.

    Those of all 2 · 12288 · d_ff · 80 parameters over 24 copies, one GPU of each in a node: 25 GB/s out.
    """
    row = checked.loc["Megatron GPT 145.6B"]
    passes = 1.5 * 2  # forward, backward, and recomputed
    all_reduces = 2 * (8 - 1) * 12288 * passes * 80 * row.batch_tokens * 2 / (1536 * 3e11)
    messages = passes * 79 * 12288 * row.batch_tokens * 2 / (1536 * 25e9)
    gradients = 2 * (24 - 1) * (2 * 12288 * 74048 * 80) * 2 / (1536 * 25e9)
    assert row.hidden_comm_s == pytest.approx(all_reduces + messages + gradients, rel=1e-9)
    assert row.tp_comm_s == row.pp_ep_comm_s == row.dp_comm_s == 0
    assert row.hidden_comm_s < row.gap_s


def test_the_gap_is_explained_in_sentences():
    assert len(GAP) >= 5 and all(sentence.endswith(".") for sentence in GAP)
    said = " ".join(GAP)
    for cause in ("Attention", "vocabulary", "softmax", "optimizer", "all-reduces", "loading of data", "congestion"):
        assert cause in said, f"{cause} is not among the causes"


# --- how it is called -------------------------------------------------------------------------------------------------


def test_progress_grows_to_one_and_can_stop_the_work():
    shares = []
    reality_check([SMALLEST, MEGATRON_145B], progress=shares.append)
    assert shares == [0, 0.5, 1]

    def stop(share):
        raise InterruptedError

    with pytest.raises(InterruptedError):
        reality_check([SMALLEST], progress=stop)
