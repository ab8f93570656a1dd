"""Results in words say what the numbers say: every row its facts, every strategy its degrees, every step its parts."""

import math

import pandas as pd
import pytest

from model import Configuration, load_hardware, load_presets, simulate, step_breakdown, training_limits
from model.configuration import NetworkLevel
from model.words import (
    DEGREES,
    PART_TERMS,
    PARTS,
    TERMS,
    bottleneck,
    degrees_by_level,
    degrees_on_level,
    described_limits,
    facts,
    level_in_words,
    sentence,
)

SUPERPOD = load_hardware()["H100 SXM Superpod"]
WHOLE = Configuration(
    name="Superpod",
    gpu=SUPERPOD.gpu,
    network=SUPERPOD.network,
    scaling={"sparsity": {"law": "fixed", "factor": 8}},
    sweep={"d_model_max": 24576},
)
ROW = {
    "configuration": "Mine",
    "training_flop": 2.048e28,
    "mfu": 0.5527,
    "fraction_of_peak": 0.7896,
    "params": 13.07e12,
    "active_params": 1.6e12,
    "dataset_tokens": 32.7e12,
    "batch_tokens": 26_843_546,
    "n_gpus": 2**20,
    "dp": 256,
    "tp": 64,
    "tp_model": 4,
    "tp_ff": 16,
    "pp": 32,
    "ep": 2,
    "microbatches": 1,
    "interleaving": 1,
    "schedule": "1F1B",
    "training_s": 86400 * 89.6,
}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return simulate(WHOLE)


def row(**changes) -> pd.Series:
    return pd.Series(ROW | changes)


class TestFacts:
    def test_every_fact_is_in_words(self):
        assert facts(pd.DataFrame([ROW])).iloc[0].to_dict() == {
            "Configuration": "Mine",
            "Training compute": "2.0 × 10²⁸ FLOP",
            "MFU": "55.3%",
            "Share of peak sustained": "79.0%",
            "Parameters": "13.1 trillion",
            "Active parameters": "1.6 trillion",
            "Training tokens": "32.7 trillion",
            "Batch": "26.8 million tokens",
            "GPUs": "1.05 million",
            "Parallelism": "256-way data, 64-way tensor (4 of d_model, 16 of d_ff), 32-way pipeline and 2-way expert "
            "parallelism",
            "Microbatches": "1",
            "Schedule": "1F1B",
            "Training time": "2.95 months",
        }

    def test_rows_are_those_of_the_frame(self, frame):
        shuffled = frame.iloc[::-1]
        words = facts(shuffled)
        assert list(words.index) == list(shuffled.index), "words would stand beside the numbers of another row"
        for position in (0, len(frame) // 2, -1):
            assert words.iloc[position].equals(facts(shuffled.iloc[[position]]).iloc[0])
        assert words.map(type).eq(str).all(axis=None), "a tooltip would show a bare number"

    def test_a_frame_without_rows_has_the_same_columns(self, frame):
        words = facts(frame[:0])
        assert list(words) == list(facts(frame)) and words.empty, "a configuration without a feasible run is an error"


class TestSentence:
    def test_it_says_what_the_run_is(self):
        assert sentence(row()) == (
            "1.05 million GPUs train 13.1 trillion parameters on 32.7 trillion tokens in 2.95 months: 256-way data, "
            "64-way tensor (4 of d_model, 16 of d_ff), 32-way pipeline and 2-way expert parallelism, "
            "1 microbatch per pipeline and batch, 1F1B schedule."
        )

    @pytest.mark.parametrize(("microbatches", "words"), [(1, ", 1 microbatch per"), (64, ", 64 microbatches per")])
    def test_microbatches_are_counted(self, microbatches, words):
        assert words in sentence(row(microbatches=microbatches))

    @pytest.mark.parametrize(
        ("interleaving", "words"),
        [(1, "1F1B schedule."), (1500, "1F1B schedule with 1,500 groups of layers per stage.")],
    )
    def test_groups_of_layers_are_said_where_there_are_several(self, interleaving, words):
        assert sentence(row(interleaving=interleaving)).endswith(words)

    def test_the_schedule_is_named(self):
        assert "zero-bubble schedule" in sentence(row(schedule="zero-bubble"))

    def test_one_gpu_is_one(self):
        one = row(n_gpus=1, dp=1, tp=1, tp_model=1, tp_ff=1, pp=1, ep=1)
        assert sentence(one).startswith("1 GPU trains 13.1 trillion parameters")
        assert "no parallelism: one GPU, 1 microbatch" in sentence(one)

    def test_a_row_of_a_simulation_is_a_sentence_without_bare_numbers(self, frame):
        for _, each in frame.iterrows():
            words = sentence(each)
            assert words.endswith(".") and not any(bare in words for bare in ("nan", "None", "e+", ".0 "))
            assert f"{each['schedule']} schedule" in words


class TestLevels:
    def test_a_level_is_what_it_joins_and_how_fast(self):
        assert [level_in_words(WHOLE, index) for index in range(3)] == [
            "Node joins 8 GPUs, 900 GB/s per GPU",
            "Pod joins 32 of the level below, 450 GB/s per GPU",
            "Cluster joins the rest, 100 GB/s per GPU",
        ]

    @pytest.mark.parametrize(
        ("size", "bandwidth", "words"),
        [
            (1, 1e9, "Lone joins 1 GPU, 1 GB/s per GPU"),
            (2, math.inf, "Lone joins 2 GPUs, ∞ B/s per GPU"),
            (1024, 1.8e12, "Lone joins 1,024 GPUs, 1.8 TB/s per GPU"),
        ],
    )
    def test_sizes_and_bandwidths_of_any_magnitude(self, size, bandwidth, words):
        inner = NetworkLevel(name="Lone", bandwidth=bandwidth, latency_s=0, size=size)
        assert level_in_words(WHOLE.model_copy(update={"network": (inner, WHOLE.network[-1])}), 0) == words

    def test_degrees_by_level_multiply_to_the_gpus_and_to_the_degrees(self, frame):
        for _, each in frame.iterrows():
            table = degrees_by_level(WHOLE, each)
            assert list(table) == ["Network level", "DP", "TP of d_model", "TP of d_ff", "PP", "EP"]
            assert list(table["Network level"]) == ["Node", "Pod", "Cluster"]
            over_levels = table.drop(columns="Network level").prod()
            assert over_levels.prod() == each["n_gpus"], "some GPUs are on no level"
            assert list(over_levels) == [each[name] for name in ("dp", "tp_model", "tp_ff", "pp", "ep")]
        assert frame["n_gpus"].iloc[-1] > 1 and frame["ep"].max() > 1, "one GPU without experts would show nothing"

    def test_degrees_on_a_level_are_those_of_the_table_by_level(self, frame):
        levels = [degrees_on_level(frame, index) for index in range(3)]
        assert [list(level) for level in levels] == [list(DEGREES)] * 3
        for index, level in enumerate(levels):
            assert list(level.index) == list(frame.index)
            for label, each in frame.iterrows():
                table = degrees_by_level(WHOLE, each).iloc[index]
                tensor = table["TP of d_model"] * table["TP of d_ff"]
                assert list(level.loc[label]) == [table["DP"], tensor, table["PP"], table["EP"]]
        product = levels[0] * levels[1] * levels[2]
        for kind, column in DEGREES.items():
            assert (product[kind] == frame[column]).all()


def test_every_degree_is_explained_in_whole_sentences():
    assert set(DEGREES) < set(TERMS), "a degree on the page is explained nowhere"
    assert all(meaning[0].isupper() and meaning.endswith(".") for meaning in TERMS.values())


STEP = {"ideal_compute_s": 6.2, "clock_s": 1.2, "dp_comm_s": 1.4, "kernel_latency_s": 0.7, "latency_s": 0.5}


class TestBottleneck:
    def parts(self, **seconds) -> pd.Series:
        return pd.Series(dict.fromkeys(PARTS, 0.0) | seconds)

    def test_arithmetic_binds_and_two_runners_up_are_named(self):
        assert bottleneck(self.parts(**STEP)) == (
            "62% of the step is arithmetic at peak speed, and another 12% is lost because chips cannot sustain that "
            "speed; the data-parallel all-reduce is next, with 14%, then kernel latency (the start and end of each "
            "matmul), with 7%."
        )

    def test_what_takes_more_than_the_arithmetic_comes_first(self):
        parts = self.parts(**STEP | {"latency_s": 11.5})
        assert bottleneck(parts) == (
            "Network latency takes 55% of the step, more than the arithmetic, 30%; the data-parallel all-reduce is "
            "next, with 7%, then kernel latency (the start and end of each matmul), with 3%."
        )

    def test_arithmetic_is_compared_with_even_where_it_is_not_the_runner_up(self):
        parts = self.parts(ideal_compute_s=1, kernel_latency_s=6, latency_s=3)
        assert bottleneck(parts) == (
            "Kernel latency (the start and end of each matmul) takes 60% of the step, more than the arithmetic, 10%; "
            "network latency is next, with 30%."
        )

    def test_what_is_rounded_to_the_same_is_not_said_to_be_more(self):
        parts = self.parts(ideal_compute_s=4.98, bubble_s=5.02)
        assert bottleneck(parts) == "The pipeline bubble takes 50% of the step, as much as the arithmetic, 50%."

    def test_what_is_nothing_in_whole_percents_is_not_named(self):
        assert bottleneck(self.parts(ideal_compute_s=1)) == "100% of the step is arithmetic."
        assert bottleneck(self.parts(ideal_compute_s=99.6, clock_s=0.4)) == "100% of the step is arithmetic."
        assert bottleneck(self.parts(ideal_compute_s=99.4, clock_s=0.6)) == (
            "99% of the step is arithmetic at peak speed, and another 1% is lost because chips cannot sustain that "
            "speed."
        )

    @pytest.mark.parametrize("part", PARTS)
    def test_every_part_has_its_words(self, part):
        """Each sentence names one part: no two share their words."""
        others = [bottleneck(self.parts(**{"ideal_compute_s": 1, other: 2})) for other in PARTS if other != part]
        ours = bottleneck(self.parts(**{"ideal_compute_s": 1, part: 2}))
        assert ours not in others and ours[0].isupper() | ours[0].isdecimal() and ours.endswith(".")

    def test_parts_are_those_of_the_breakdown_in_its_order_each_explained_in_whole_sentences(self, frame):
        assert list(PARTS) == list(step_breakdown(WHOLE, frame))
        assert list(PART_TERMS) == list(PARTS.values())
        assert all(meaning[0].isupper() and meaning.endswith(".") for meaning in PART_TERMS.values())

    def test_percentages_are_of_the_step_that_is_shown(self, frame):
        parts = step_breakdown(WHOLE, frame)
        for label, row in frame.iterrows():
            assert f"{100 * row['mfu']:.0f}%" in bottleneck(parts.loc[label]), "arithmetic is not MFU"


def test_limits_are_described_with_what_is_beyond_the_sweep_and_what_is_a_guess():
    h100 = load_presets()["GPU generations, dense"].configurations[0]
    gpu = h100.gpu
    slow = h100.model_copy(update={"name": "Never above", "gpu": load_hardware()["B200"].gpu})
    short = h100.model_copy(
        update={
            "name": "Short",
            "gpu": gpu.model_copy(update={"price_usd": None}),
            "sweep": h100.sweep.model_copy(update={"d_model_max": 20480}),
        }
    )
    known = h100.model_copy(update={"name": "Known", "gpu": gpu.model_copy(update={"guesses": ()})})
    configurations = [h100, slow, short, known]
    frames = [simulate(configuration) for configuration in configurations]
    table = described_limits(
        training_limits(pd.concat(frames)),
        {each.name: each.gpu for each in configurations},
        {each.name: frame.attrs["at_the_wall"] for each, frame in zip(configurations, frames, strict=True)},
    ).set_index("configuration")
    assert table["Linear scaling ends"].to_dict() == {
        "H100": "2.0 × 10²⁸ FLOP",
        "Never above": "≤ 6.5 × 10²⁴ FLOP",
        "Short": "—",
        "Known": "2.0 × 10²⁸ FLOP",
    }
    assert table["Latency wall"]["H100"] == "2.7 × 10³¹ FLOP"
    assert table["Latency wall"]["Short"].startswith("≥ "), "the end of a sweep is passed off as a wall"
    assert table["Cost of GPUs"].to_dict() == {
        "H100": "≈ $252 billion",
        "Never above": "≈ $41 million",
        "Short": "—",
        "Known": "$252 billion",
    }
    assert table["cost_usd"]["Known"] == 30000 * table["n_gpus"]["Known"]
