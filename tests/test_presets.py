"""The shipped data against the specification's own table, and how preset files are read."""

import json
import math
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from pydantic import ValidationError

from model import presets, simulate, training_limits
from model.configuration import Gpu, error_messages
from model.presets import load_hardware, load_known_models, load_presets, load_published_runs, resolve

# Spec section 8, as it stands there: one row a figure, one column a GPU, the last from the paragraph on the GTX 580.
GPUS = ("V100 SXM", "A100 SXM", "H100 PCIe", "H100 SXM", "GTX 580 3GB")
MIB = 2**20
TABLE = {
    "precision_bits": (16, 16, 16, 16, 32),
    "flop_per_clock_per_thread": (
        {32: 1, 16: 8},
        {32: 1, 16: 16, 8: 32},
        {32: 2, 16: 32, 8: 64},
        {32: 2, 16: 32, 8: 64},
        {64: 0.0625, 32: 0.5},
    ),
    "register_bytes_per_block": (65536, 65536, 65536, 65536, 131072),
    "sm_count": (80, 108, 114, 132, 16),
    "l2_bandwidth": (2155e9, 5603e9, 5563e9, 6441e9, 384.8e9),
    "l2_bytes": (6 * MIB, 40 * MIB, 50 * MIB, 50 * MIB, 786432),
    "hbm_bandwidth": (900e9, 1555e9, 2039e9, 3352e9, 192.4e9),
    "max_clock_hz": (1533e6, 1410e6, 1620e6, 1830e6, 1.544e9),
    "effective_utilization": (0.9, 0.85, 0.55, 0.7, 0.85),
    "distributed_shared_memory": (False, False, True, True, False),
    "hbm_bytes": (3.2e10, 4e10, 8e10, 8e10, 3.0e9),
    "matmul_latency_s": (4.5e-6, 4.5e-6, 4.5e-6, 4.5e-6, 2.25e-5),
    # Not in the spec: power and price of the project's hardware notes, and what is marked there or above as a guess.
    "power_w": (300, 400, 350, 700, 244),
    "price_usd": (10_000, 15_000, 25_000, 30_000, 300),
    "guesses": (
        {"price_usd"},
        {"price_usd"},
        {"price_usd"},
        {"price_usd"},
        {"effective_utilization", "matmul_latency_s", "network.latency_s"},
    ),
}
# The GPUs since, from the project's hardware notes; `guesses` are the figures starred there.
NEWER_GPUS = ("H200 SXM", "B200", "GB200 NVL72", "MI300X")
STARRED = {"effective_utilization", "matmul_latency_s", "price_usd", "network.latency_s"}
NEWER_TABLE = {
    "precision_bits": (16, 16, 16, 16),
    "flop_per_clock_per_thread": ({32: 2, 16: 32, 8: 64}, {16: 64, 8: 128}, {16: 64, 8: 128}, {16: 16, 8: 32}),
    "register_bytes_per_block": (65536, 65536, 65536, 131072),
    "sm_count": (132, 148, 148, 304),
    "l2_bandwidth": (6441e9, 1.29e13, 1.43e13, 1.72e13),
    "l2_bytes": (50 * MIB, 126 * MIB, 126 * MIB, 256 * MIB),
    "hbm_bandwidth": (4.8e12, 8e12, 8e12, 5.3e12),
    "max_clock_hz": (1.83e9, 1.856e9, 2.062e9, 2.1e9),
    "effective_utilization": (0.7, 0.7, 0.7, 0.6),
    "distributed_shared_memory": (True, True, True, False),
    "hbm_bytes": (1.41e11, 1.8e11, 1.86e11, 1.92e11),
    "matmul_latency_s": (4.5e-6, 4.5e-6, 4.5e-6, 4.5e-6),
    "power_w": (700, 1000, 1200, 750),
    "price_usd": (32_000, 40_000, 60_000, 15_000),
    "guesses": (STARRED | {"l2_bandwidth"}, STARRED | {"l2_bandwidth"}, STARRED | {"l2_bandwidth"}, STARRED),
}
COLUMNS = {
    name: {figure: values[index] for figure, values in table.items()}
    for names, table in ((GPUS, TABLE), (NEWER_GPUS, NEWER_TABLE))
    for index, name in enumerate(names)
}
COLUMNS["A100 SXM 80GB"] = COLUMNS["A100 SXM"] | {"hbm_bandwidth": 2039e9, "hbm_bytes": 8e10}
VARIANTS = (
    "H100 SXM Low Latency",
    "H100 SXM Superpod",
    "H100 SXM Global NVLink",
    "H100 SXM Global NVLink, Low Latency",
    "H100 SXM Infinite Network, Low Latency",
)
NETWORKS = {  # bandwidths, latencies, sizes of all levels but the outermost
    "V100 SXM": ((3e11, 1.25e10), (1.125e-6, 1.125e-6), (8,)),
    "A100 SXM": ((6e11, 5e10), (1.125e-6, 1.125e-6), (8,)),
    "A100 SXM 80GB": ((6e11, 5e10), (1.125e-6, 1.125e-6), (8,)),
    "H100 PCIe": ((9e11, 1e11), (1.125e-6, 1.125e-6), (8,)),
    "H100 SXM": ((9e11, 1e11), (1.125e-6, 1.125e-6), (8,)),
    "H100 SXM Low Latency": ((9e11, 1e11), (1.125e-7, 1.125e-7), (8,)),
    "H100 SXM Superpod": ((9e11, 4.5e11, 1e11), (1.125e-6, 1.125e-6, 1.125e-6), (8, 32)),
    "H100 SXM Global NVLink": ((9e11,), (1.125e-6,), ()),
    "H100 SXM Global NVLink, Low Latency": ((9e11,), (1.125e-7,), ()),
    "H100 SXM Infinite Network, Low Latency": ((math.inf,), (1.125e-7,), ()),
    "H200 SXM": ((9e11, 1e11), (1.125e-6, 1.125e-6), (8,)),
    "B200": ((1.8e12, 1e11), (1.125e-6, 1.125e-6), (8,)),
    "GB200 NVL72": ((1.8e12, 1e11), (1.125e-6, 1.125e-6), (72,)),
    "MI300X": ((8.96e11, 1e11), (1.125e-6, 1.125e-6), (8,)),
    "GTX 580 3GB": ((8e9, 1e9), (5e-6, 5e-6), (8,)),
}
# Dense FLOP/s of the data sheets, which the rates and clocks must multiply to.
DATA_SHEET_FLOP_PER_S = {
    "V100 SXM": 125e12,
    "A100 SXM": 312e12,
    "A100 SXM 80GB": 312e12,
    "H100 PCIe": 756e12,
    "H100 SXM": 989e12,
    "H200 SXM": 989e12,
    "B200": 2250e12,
    "GB200 NVL72": 2500e12,
    "MI300X": 1307e12,
    "GTX 580 3GB": 1.581e12,
}
TITLES = [
    "GPU generations, dense",
    "GPU generations, sparse",
    "Network technology, dense",
    "Network technology, sparse",
    "Critical batch size",
    "H100 node against Superpod",
    "2012: the largest run on GTX 580",
    "Today's hardware",
    "Across datacenters",
]


def figures(gpu: Gpu) -> dict:
    return {**gpu.model_dump(exclude={"name", "sources"}), "guesses": set(gpu.guesses)}


def a_preset(**configuration) -> dict:
    return {"title": "T", "description": "", "source": "", "configurations": [{"name": "C", **configuration}]}


@cache
def curves(title: str) -> dict:
    """The simulated frames of a preset by the names of its configurations."""
    return {configuration.name: simulate(configuration) for configuration in load_presets()[title].configurations}


def limits(title: str, limit: str) -> dict[str, float]:
    """One of the limits at 80%, by configuration."""
    return {name: training_limits(frame)[limit][0] for name, frame in curves(title).items()}


def messages_of(preset) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        resolve(preset)
    return error_messages(caught.value)


class TestCatalogue:
    def test_has_exactly_the_entries_of_the_tables(self):
        assert set(load_hardware()) == set(NETWORKS) == {*COLUMNS, *VARIANTS}, "an entry is missing, misspelt or new"

    @pytest.mark.parametrize("name", COLUMNS)
    def test_gpu_is_its_column_of_the_table(self, name):
        gpu = load_hardware()[name].gpu
        assert figures(gpu) == COLUMNS[name], "a figure or its mark as a guess differs, or the table lacks a new one"
        assert gpu.name == name, "results would carry another GPU's name"

    @pytest.mark.parametrize("name", NETWORKS)
    def test_network_is_as_specified(self, name):
        network = load_hardware()[name].network
        bandwidths, latencies, sizes = NETWORKS[name]
        assert tuple(level.bandwidth for level in network) == bandwidths, "bandwidths differ from the specification"
        assert tuple(level.latency_s for level in network) == latencies, "latencies differ from the specification"
        assert tuple(level.size for level in network) == (*sizes, None), "level sizes differ from the specification"
        assert len({level.name for level in network}) == len(network), "two levels could not be told apart"

    @pytest.mark.parametrize("name", VARIANTS)
    def test_variants_differ_from_the_h100_in_latency_alone(self, name):
        low = "Low Latency" in name
        gpu = load_hardware()[name].gpu
        expected = COLUMNS["H100 SXM"] | ({"matmul_latency_s": 4.5e-7} if low else {})
        assert figures(gpu) == expected, "a variant is not the H100 SXM it is said to be"
        assert gpu.name == ("H100 SXM Low Latency" if low else "H100 SXM"), "results would name another chip"

    @pytest.mark.parametrize("name", COLUMNS)
    def test_peak_is_that_of_the_data_sheet(self, name):
        peak = load_hardware()[name].gpu.max_flop_per_s
        assert peak == pytest.approx(DATA_SHEET_FLOP_PER_S[name], rel=0.005), "MFU would be relative to a wrong peak"

    @pytest.mark.parametrize("name", NETWORKS)
    def test_every_entry_cites_its_sources(self, name):
        sources = load_hardware()[name].gpu.sources
        origin = "data sheet" if name in NEWER_GPUS else "Epoch AI" if name == "GTX 580 3GB" else "arXiv:2411.01137"
        assert any(origin in text for text in sources), "figures without the source they are from"

    @pytest.mark.parametrize(
        ("name", "levels"), [("MI300X", ["Node", "Cluster"]), ("GB200 NVL72", ["NVLink domain", "Cluster"])]
    )
    def test_levels_are_called_what_they_are(self, name, levels):
        assert [level.name for level in load_hardware()[name].network] == levels

    def test_a_variant_like_nothing_is_refused_by_name(self, tmp_path):
        (tmp_path / "hardware.json").write_text('{"Y": {"like": "X", "network": []}}')
        with pytest.raises(ValueError, match="'Y' is like 'X'"):
            presets._hardware(tmp_path)


class TestShippedPresets:
    def test_order_is_that_of_the_files(self):
        assert list(load_presets()) == TITLES, "the menu would lack a preset or list them in another order"

    @pytest.mark.parametrize("title", TITLES)
    def test_configurations_can_be_told_apart(self, title):
        configurations = load_presets()[title].configurations
        names = [configuration.name for configuration in configurations]
        whole = [configuration.model_dump_json(exclude={"name"}) for configuration in configurations]
        assert len(set(names)) == len(names) > 1, "two lines of the chart would share a name, or there is only one"
        assert len(set(whole)) == len(whole), "two configurations are the same but for their name"

    @pytest.mark.parametrize("title", TITLES)
    def test_each_tells_what_it_is_and_where_from(self, title):
        preset = load_presets()[title]
        assert preset.title == title, "the key is not the title"
        assert len(preset.description) > 100 and preset.description.endswith("."), "no description to go by"
        assert preset.source, "no source"

    @pytest.mark.parametrize(
        ("title", "hardware"),
        [
            ("GPU generations", ["H100 SXM", "A100 SXM", "V100 SXM"]),
            (
                "Network technology",
                [
                    "H100 SXM",
                    "H100 SXM Low Latency",
                    "H100 SXM Global NVLink",
                    "H100 SXM Global NVLink, Low Latency",
                    "H100 SXM Infinite Network, Low Latency",
                ],
            ),
        ],
    )
    @pytest.mark.parametrize(("kind", "law"), [("dense", "dense"), ("sparse", "linear-width")])
    def test_dense_and_sparse_compare_the_same_hardware(self, title, hardware, kind, law):
        configurations = load_presets()[f"{title}, {kind}"].configurations
        catalogue = load_hardware()
        assert [(c.gpu, c.network) for c in configurations] == [
            (catalogue[name].gpu, catalogue[name].network) for name in hardware
        ], "a line is drawn for other hardware than its name says"
        assert {c.scaling.sparsity.law for c in configurations} == {law}, f"a line of the {kind} preset is not {kind}"

    def test_critical_batch_size_varies_only_the_batch_law(self):
        configurations = load_presets()["Critical batch size"].configurations
        assert [c.scaling.batch.law for c in configurations] == ["constant", "default", "deepseek", "zhang"]
        same = {c.model_dump_json(exclude={"name": True, "scaling": {"batch"}}) for c in configurations}
        assert len(same) == 1, "the lines differ in more than the batch law"

    def test_superpod_preset_adds_a_level_to_the_same_chips(self):
        node, superpod = load_presets()["H100 node against Superpod"].configurations
        assert node.gpu == superpod.gpu
        assert (len(node.network), len(superpod.network)) == (2, 3)

    def test_gtx_580_on_the_papers_grid_and_on_a_finer_one(self):
        paper, finer = load_presets()["2012: the largest run on GTX 580"].configurations
        assert (paper.sweep.d_model_min, paper.sweep.d_model_multiple) == (12288, 2048), "not the paper's grid"
        assert (finer.sweep.d_model_min, finer.sweep.d_model_multiple) == (2048, 256), "not the finer grid"
        assert paper.gpu == finer.gpu == load_hardware()["GTX 580 3GB"].gpu

    def test_todays_hardware_is_dense_models_on_the_catalogue_as_it_is(self):
        configurations = load_presets()["Today's hardware"].configurations
        assert [c.gpu.name for c in configurations] == ["H100 SXM", "H200 SXM", "B200", "GB200 NVL72", "MI300X"]
        for c in configurations:
            entry = load_hardware()[c.gpu.name]
            assert (c.gpu, c.network) == (entry.gpu, entry.network), "not the hardware that its name says"
            assert c.scaling.sparsity.law == "dense"

    def test_datacenters_add_a_slow_level_to_the_same_cluster(self):
        cluster, *spread = load_presets()["Across datacenters"].configurations
        h100 = load_hardware()["H100 SXM"]
        assert (cluster.gpu, cluster.network) == (h100.gpu, h100.network)
        links = []
        for c in spread:
            node, datacenter, wide = c.network
            assert node == h100.network[0], "the machines are not those of the cluster"
            whole = datacenter.model_copy(update={"name": "Cluster", "size": None})
            assert whole == h100.network[1], "a datacenter's network is not that of the cluster"
            assert datacenter.size == 4096, "not 4096 nodes to a datacenter"
            links.append((wide.bandwidth, wide.latency_s))
        assert links == [(1e9, 1e-3), (1e10, 1e-3), (1e9, 1e-4)], "the links are not what their names say"
        same = {c.model_dump_json(exclude={"name", "network"}) for c in (cluster, *spread)}
        assert len(same) == 1, "the lines differ in more than the network"

    @pytest.mark.parametrize("title", TITLES)
    def test_every_line_has_points(self, title):
        lengths = {name: len(frame) for name, frame in curves(title).items()}
        assert min(lengths.values()) > 1, f"a line of the chart is empty or a dot: {lengths}"

    @pytest.mark.parametrize("title", TITLES)
    def test_an_exported_preset_is_whole_and_reads_back(self, title, monkeypatch, tmp_path):
        preset = load_presets()[title]
        text = preset.model_dump_json()
        (tmp_path / "hardware.json").write_text("{}")
        monkeypatch.setattr(presets, "_folder", lambda: tmp_path)
        assert resolve(text) == preset, "an exported preset needs the catalogue, or is not the one that was exported"


class TestKnownModels:
    def test_figures_and_marks(self):
        models = load_known_models()
        assert list(models.columns) == ["name", "training_flop", "approximate", "source"]
        assert dict(zip(models.name, models.training_flop, strict=True)) == {
            "GPT-3": 3e23,
            "PaLM": 2.5e24,
            "GPT-4": 2e25,
            "Llama 3.1 405B": 3.8e25,
            "Largest known in 2024": 5e25,
        }
        assert set(models.name[models.approximate]) == {"GPT-4", "Largest known in 2024"}, "an estimate is not marked"
        assert models.name.is_unique, "two landmarks share a label"

    def test_every_figure_has_a_source_and_estimates_name_who_made_them(self):
        models = load_known_models().set_index("name")
        assert models.source.str.contains("arXiv:|Epoch AI").all(), "a figure without a source"
        assert models.source[models.approximate].str.contains("Epoch AI's estimate").all()

    def test_least_comes_first(self, tmp_path, monkeypatch):
        models = [{"name": str(flop), "training_flop": flop, "source": "S"} for flop in (3e24, 1e24, 2e24)]
        (tmp_path / "known-models.json").write_text(json.dumps(models))
        monkeypatch.setattr(presets, "_folder", lambda: tmp_path)
        assert load_known_models().training_flop.tolist() == [1e24, 2e24, 3e24]
        assert not load_known_models().approximate.any(), "a published figure is taken for an estimate"

    def test_types_suit_a_chart(self):
        models = load_known_models()
        assert models.training_flop.dtype == float and models.approximate.dtype == bool

    @pytest.mark.parametrize(
        "wrong", [{"training_flop": -1.0}, {"training_flop": "3e23"}, {"source": ""}, {"name": ""}, {"year": 2020}]
    )
    def test_a_wrong_entry_is_refused_by_field(self, wrong, tmp_path, monkeypatch):
        model = {"name": "M", "training_flop": 3e23, "source": "S"}
        (tmp_path / "known-models.json").write_text(json.dumps([model | wrong]))
        monkeypatch.setattr(presets, "_folder", lambda: tmp_path)
        with pytest.raises(ValidationError) as caught:
            load_known_models()
        assert list(error_messages(caught.value)) == [f"0.{next(iter(wrong))}"], "nobody could tell what to mend"

    def test_result_is_the_callers_own(self):
        models = load_known_models()
        models["training_flop"] = 0.0
        assert load_known_models().training_flop.min() == 3e23, "a caller changed the data of the next one"


# Narayanan et al. 2021, table 1: parameters (10⁹), d_model, layers, TP, PP, GPUs, batch, TFLOP/s per GPU; and the step
# that follows from these, in s, as the project's reference figures have it.
MEGATRON = (
    (1.7, 2304, 24, 1, 1, 32, 512, 137, 3.528),
    (3.6, 3072, 30, 2, 1, 64, 512, 138, 3.6974),
    (7.5, 4096, 36, 4, 1, 128, 512, 142, 3.6963),
    (18.4, 6144, 40, 8, 1, 256, 1024, 135, 9.3993),
    (39.1, 8192, 48, 8, 2, 512, 1536, 138, 14.4535),
    (76.1, 10240, 60, 8, 4, 1024, 1792, 140, 16.0578),
    (145.6, 12288, 80, 8, 8, 1536, 2304, 148, 24.8174),
    (310.1, 16384, 96, 8, 16, 1920, 2160, 155, 37.6143),
    (529.6, 20480, 105, 8, 35, 2520, 2520, 163, 54.085),
    (1008, 25600, 128, 8, 64, 3072, 3072, 163, 102.63),
)
# Smith et al. 2022: GPUs, DP, step in s, TFLOP/s per GPU.
MT_NLG = ((2240, 8, 60.1, 126), (2800, 10, 50.2, 121), (3360, 12, 44.4, 113))
RUNS = load_published_runs()
every_run = pytest.mark.parametrize("run", [pytest.param(run, id=run.name) for run in RUNS])


class TestPublishedRuns:
    def test_megatrons_are_the_papers_table_and_their_steps_follow_from_it(self):
        runs = [run for run in RUNS if run.name.startswith("Megatron")]
        for run, row in zip(runs, MEGATRON, strict=True):
            params, d_model, n_layers, tp, pp, n_gpus, batch, tflop_per_s, step_s = row
            assert run.name == f"Megatron GPT {params}B"
            assert (run.params, run.d_model, run.n_layers) == (params * 1e9, d_model, n_layers)
            assert (run.tp, run.pp, run.n_gpus, run.batch_sequences) == (tp, pp, n_gpus, batch)
            assert (run.flop_per_s, run.recomputation, run.counted) == (tflop_per_s * 1e12, "full", "hardware")
            flop = 96 * batch * 2048 * n_layers * d_model**2
            flop *= 1 + 2048 / (6 * d_model) + 51200 / (16 * n_layers * d_model)
            assert run.measured_step_s == pytest.approx(flop / (n_gpus * tflop_per_s * 1e12), rel=1e-12)
            assert run.measured_step_s == pytest.approx(step_s, rel=2e-5), "not the reference's step"

    def test_mt_nlg_is_as_published_and_its_speed_agrees_with_its_step(self):
        runs = [run for run in RUNS if run.name.startswith("MT-NLG")]
        for run, (n_gpus, dp, step_s, tflop_per_s) in zip(runs, MT_NLG, strict=True):
            assert (run.params, run.d_model, run.n_layers, run.batch_sequences) == (530e9, 20480, 105, 1920)
            assert (run.n_gpus, run.dp, run.tp, run.pp, run.microbatch_sequences) == (n_gpus, dp, 8, 35, 1)
            assert (run.measured_step_s, run.flop_per_s) == (step_s, tflop_per_s * 1e12)
            counted = run.hardware_flop / (n_gpus * step_s)
            assert counted == pytest.approx(run.flop_per_s, rel=0.005), "its FLOP are not counted like Megatron's"

    def test_llama_is_as_published_and_its_step_follows_from_its_speed(self):
        run = RUNS[-1]
        assert (run.params, run.d_model, run.n_layers, run.sequence_length) == (405e9, 16384, 126, 8192)
        assert (run.n_gpus, run.tp, run.pp, run.dp, run.batch_tokens) == (8192, 8, 16, 64, 2**24)
        assert (run.recomputation, run.counted, run.step_s) == ("none", "model", None)
        assert run.measured_step_s == pytest.approx(6 * 405e9 * 2**24 / (430e12 * 8192))

    @every_run
    def test_a_run_is_whole(self, run):
        assert run.gpu in load_hardware(), "it cannot be simulated"
        assert run.dp * run.tp * run.pp == run.n_gpus, "GPUs have no place in the parallelism"
        assert run.batch_sequences % (run.dp * (run.microbatch_sequences or 1)) == 0, "a sequence is cut"
        assert 0.85 < 12 * run.n_layers * run.d_model**2 / run.params < 1.01, "the parameters are another model's"
        assert "arXiv:" in run.source

    def test_runs_can_be_told_apart(self):
        assert len({run.name for run in RUNS}) == len(RUNS) == len(MEGATRON) + len(MT_NLG) + 1

    @pytest.mark.parametrize(
        ("wrong", "place"),
        [
            ({"n_gpus": 31}, "0"),
            ({"batch_sequences": 500}, "0"),
            ({"microbatch_sequences": 32}, "0"),
            ({"interleaving": 2}, "0"),
            ({"recomputation": "some"}, "0.recomputation"),
            ({"flop_per_s": 137.0}, "0.flop_per_s"),
            ({"step_s": 0.0}, "0.step_s"),
            ({"batch": 512}, "0.batch"),
        ],
    )
    def test_a_wrong_entry_is_refused_by_field(self, wrong, place, tmp_path, monkeypatch):
        (tmp_path / "published-runs.json").write_text(json.dumps([RUNS[0].model_dump() | wrong]))
        monkeypatch.setattr(presets, "_folder", lambda: tmp_path)
        with pytest.raises(ValidationError) as caught:
            load_published_runs()
        assert list(error_messages(caught.value)) == [place], "nobody could tell what to mend"


class TestWhatDescriptionsSay:
    """A description states numbers; if one of these fails, the text is to be changed along with it."""

    def test_todays_hardware(self):
        title = "Today's hardware"
        frames = curves(title)
        ends = limits(title, "linear_scaling_end_flop")
        assert frames["H100"].mfu.tolist() == frames["H200"].mfu.tolist(), "the lines of H100 and H200 are not one"
        assert f"{ends['H100']:.1e} {ends['MI300X']:.1e}" == "2.0e+28 2.0e+29"
        for name in ("B200", "GB200 NVL72"):
            share = frames[name].fraction_of_peak
            assert f"{share[0]:.0%}" == "61%" and share.max() < 0.8, f"{name} does not start at 61%"
        kept = [
            frame.training_flop[frame.fraction_of_peak < 0.8 * frame.fraction_of_peak[0]].min()
            for frame in (frames["B200"], frames["GB200 NVL72"])
        ]
        assert round(kept[1] / kept[0]) == 9, "the GB200 does not keep its level nine times as far as the B200"
        assert len(set(limits(title, "latency_wall_flop").values())) == 1, "the five do not end at one wall"

    def test_mi300x_owes_its_place_to_a_guess(self):
        run = load_presets()["Today's hardware"].configurations[-1]
        assert run.gpu.name == "MI300X"
        as_others = run.model_copy(update={"gpu": run.gpu.model_copy(update={"effective_utilization": 0.7})})
        assert f"{training_limits(simulate(as_others)).linear_scaling_end_flop[0]:.1e}" == "1.5e+28"

    def test_across_datacenters(self):
        title = "Across datacenters"
        cluster, spread, fast, near = curves(title).values()
        flop = spread.training_flop
        walls, last = limits(title, "latency_wall_flop"), limits(title, "last_above_flop")
        assert [f"{wall:.1e}" for wall in walls.values()] == ["2.7e+31", "2.0e+29", "1.4e+30", "1.4e+30"]
        assert f"{walls['One cluster'] / walls['Across datacenters']:.2g}" == "1.3e+02"
        assert f"{last['One cluster']:.1e} {last['Across datacenters']:.1e}" == "5.8e+28 3.4e+28"
        assert set(limits(title, "linear_scaling_end_flop").values()) == {cluster.training_flop[15]}

        share = cluster.fraction_of_peak[: len(spread)]
        free = spread[flop < 6e27]
        assert free.fraction_of_peak.tolist() == pytest.approx(share[flop < 6e27].tolist(), rel=1e-4)
        assert free.n_gpus.max() == 64 * 4096 * 8 == 2**21, "not 64 datacenters"
        crossing = free[["dp_levels", "tp_model_levels", "tp_ff_levels"]].map(lambda levels: levels[-1])
        assert (crossing == 1).all(axis=None), "more than the pipeline crosses the slow link"
        assert (spread.fraction_of_peak < 0.99 * share)[flop > 6e27].all(), "the link still costs nothing"

        until = flop < 2.1e29
        assert (fast.fraction_of_peak[: len(spread)] > 0.98 * share)[until].all(), "ten times the speed is not enough"
        assert (near.fraction_of_peak[: len(spread)] < 1.02 * spread.fraction_of_peak)[flop < 1.5e29].all()


class TestResolve:
    @pytest.mark.parametrize("name", NETWORKS)
    def test_name_stands_for_gpu_and_network(self, name):
        configuration = resolve(a_preset(gpu=name)).configurations[0]
        entry = load_hardware()[name]
        assert (configuration.gpu, configuration.network) == (entry.gpu, entry.network)

    def test_own_network_is_kept(self):
        level = {"name": "Wire", "bandwidth": 1e9, "latency_s": 0.5}
        configuration = resolve(a_preset(gpu="H100 SXM", network=[level])).configurations[0]
        assert [found.name for found in configuration.network] == ["Wire"], "the file's network was overwritten"

    def test_text_bytes_and_mapping_read_alike(self):
        preset = a_preset(gpu="A100 SXM")
        text = json.dumps(preset)
        assert resolve(text) == resolve(text.encode()) == resolve(preset)

    def test_argument_is_left_as_it_was(self):
        preset = a_preset(gpu="A100 SXM")
        before = json.dumps(preset)
        resolve(preset)
        assert json.dumps(preset) == before, "the caller's document was changed"

    def test_unknown_gpu_is_named_with_the_known_ones(self):
        messages = messages_of(a_preset(gpu="H1000"))
        assert list(messages) == ["configurations.0.gpu"], "the reader cannot tell which configuration is wrong"
        message = messages["configurations.0.gpu"]
        assert "'H1000'" in message, "the reader cannot see what was refused"
        missing = [name for name in NETWORKS if name not in message]
        assert not missing, "the reader cannot see which names there are"

    def test_each_unknown_gpu_is_named(self):
        preset = a_preset(gpu="A100 SXM")
        preset["configurations"] += [{"name": "D", "gpu": "No such"}, {"name": "E", "gpu": ""}]
        assert set(messages_of(preset)) == {"configurations.1.gpu", "configurations.2.gpu"}

    @pytest.mark.parametrize(
        ("preset", "key", "got"),
        [
            ("{", "configuration", "Invalid JSON"),
            ("", "configuration", "Invalid JSON"),
            (b"\xff\xfe", "configuration", "Invalid JSON"),
            ("[1]", "configuration", "got [1]"),
            ("null", "configuration", "got None"),
            ({}, "configurations", "Field required"),
            (a_preset() | {"configurations": "all"}, "configurations", "got 'all'"),
            (a_preset() | {"configurations": []}, "configurations", "not 0"),
            (a_preset() | {"configurations": [7]}, "configurations.0", "got 7"),
            (a_preset() | {"configurations": ["H100 SXM"]}, "configurations.0", "got 'H100 SXM'"),
            (a_preset(), "configurations.0.gpu", "Field required"),
            (a_preset(gpu=5), "configurations.0.gpu", "got 5"),
            (a_preset(gpu="H100 SXM", network=None), "configurations.0.network", "got None"),
            (a_preset(gpu="H100 SXM", network="InfiniBand"), "configurations.0.network", "got 'InfiniBand'"),
            (a_preset(gpu="H100 SXM", netwrok=[]), "configurations.0.netwrok", "got []"),
            (a_preset(gpu="H100 SXM", sweep={"d_model_min": 0}), "configurations.0.sweep.d_model_min", "got 0"),
            (a_preset(gpu="H100 SXM") | {"colour": "red"}, "colour", "got 'red'"),
        ],
    )
    def test_bad_file_is_refused_by_field(self, preset, key, got):
        messages = messages_of(preset)
        assert key in messages, "the message is not at the field that is wrong"
        assert got in messages[key], "the message does not show what it got"

    def test_two_configurations_of_one_name_are_refused(self):
        preset = a_preset(gpu="A100 SXM")
        preset["configurations"] *= 2
        assert "'C'" in messages_of(preset)["configurations"], "two curves would run together under one name"


class TestLoading:
    def test_what_a_caller_does_to_a_result_stays_with_the_caller(self):
        hardware, loaded = load_hardware(), load_presets()
        hardware["H100 SXM"].gpu.flop_per_clock_per_thread[16] = 1.0
        loaded[TITLES[0]].configurations[0].gpu.flop_per_clock_per_thread[16] = 1.0
        resolve(a_preset(gpu="H100 SXM")).configurations[0].gpu.flop_per_clock_per_thread[16] = 1.0
        hardware.pop("A100 SXM")
        loaded.clear()
        assert "A100 SXM" in load_hardware() and list(load_presets()) == TITLES, "a caller emptied the next one's dict"
        assert load_hardware()["H100 SXM"].gpu.flop_per_clock_per_thread[16] == 32, "a caller changed the catalogue"
        h100 = load_presets()[TITLES[0]].configurations[0].gpu
        assert h100.flop_per_clock_per_thread[16] == 32, "a caller changed a preset"

    def test_a_loaded_preset_cannot_be_assigned_to(self):
        preset = load_presets()[TITLES[0]]
        with pytest.raises(ValidationError, match="frozen"):
            preset.title = "Other"
        with pytest.raises(ValidationError, match="frozen"):
            preset.configurations[0].gpu.sm_count = 1

    def test_files_are_read_in_the_order_of_their_numbers(self, tmp_path):
        for number, title in (("10", "last"), ("02", "second"), ("01", "zeroth")):
            (tmp_path / f"{number}-x.json").write_text(json.dumps(a_preset(gpu="A100 SXM") | {"title": title}))
        (tmp_path / "notes.json").write_text("not a preset")
        assert list(presets._presets(tmp_path)) == ["zeroth", "second", "last"]

    def test_a_bad_file_is_named(self, tmp_path):
        (tmp_path / "01-broken.json").write_text(json.dumps(a_preset(gpu="nothing")))
        with pytest.raises(ValidationError) as caught:
            presets._presets(tmp_path)
        assert "01-broken.json" in "".join(caught.value.__notes__), "nobody could tell which file to mend"

    def test_two_files_of_one_title_are_refused(self, tmp_path):
        for number in (1, 2):
            (tmp_path / f"0{number}.json").write_text(json.dumps(a_preset(gpu="A100 SXM")))
        with pytest.raises(ValueError, match=r"02\.json has the title of an earlier preset: 'T'"):
            presets._presets(tmp_path)

    def test_data_inside_an_installed_package_is_found(self, tmp_path, monkeypatch):
        monkeypatch.setattr(presets, "__file__", str(tmp_path / "model" / "presets.py"))
        assert presets._folder() == tmp_path / "presets", "in a clone the data is beside the package"
        (tmp_path / "model" / "presets").mkdir(parents=True)
        assert presets._folder() == tmp_path / "model" / "presets", "in a wheel the data is inside the package"

    def test_loading_presets_loads_neither_pandas_nor_the_screen(self):
        heavy = "{'pandas', 'streamlit', 'altair'}"
        code = f"import sys, model.presets; model.presets.load_presets(); print({heavy} & set(sys.modules))"
        root = Path(__file__).parents[1]
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
        assert run.stdout.strip() == "set()", "importing the library became as slow as importing pandas"
