"""A workspace survives its file and its link to the bit, and whatever else is opened is refused in one sentence."""

import contextlib
import json
import math
import random
import string
import subprocess
import sys
import time
import tomllib
import tracemalloc
from importlib import metadata
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from test_oracle import assumptions, examples, gpus, networks, scaling_laws, sweeps

from model import Configuration, Preset, error_messages, load_hardware, load_presets, simulate, workspace
from model.characters import one_line
from model.configuration import Gpu, Schema
from model.questions import Questions
from model.workspace import Shown, Unreadable, Workspace, edits, from_edits, from_json, to_json

DATA = Path(__file__).with_name("data")
ROOT = Path(__file__).parents[1]
TITLES = list(load_presets())
DENSE = "GPU generations, dense"
MULTIPLIERS = {"scaling": {"depth_multiplier", "batch_multiplier"}}
ANSWERS = {
    "latency_wall": {"training_months": 6.5, "latency_s": 9e-07},
    "critical_compute": {"exponent_difference": -0.1},
    "growth": {"start_year": 2024.5, "slow_growth": 3.0, "fast_growth": 6.0},
    "strategy": {"dp": 8, "pp": 3, "schedule": "1F1B", "d_model": 12288, "batch_tokens": 10**12},
}
ASKED = Questions(**ANSWERS)
REST_OF_THE_URL = 200  # characters beside the edits
LONGEST_URL = 8000


def refuse_constant(literal: str) -> None:
    raise ValueError(f"{literal} is no JSON")


def strict(text: str):
    return json.loads(text, parse_constant=refuse_constant)


def opened(title: str) -> Workspace:
    return Workspace(**dict(load_presets()[title]))


def edited(whole: Workspace, index: int, **update) -> Workspace:
    """One configuration changed, the way a form changes it."""
    changed = list(whole.configurations)
    changed[index] = changed[index].model_copy(update=update)
    return whole.model_copy(update={"configurations": tuple(changed)})


def refusal(read, *arguments) -> str:
    with pytest.raises(Unreadable) as refused:
        read(*arguments)
    return str(refused.value)


def assert_same_to_the_bit(read: Workspace, written: Workspace) -> None:
    assert read == written, "what is read is not what was written"
    assert read.model_dump_json() == written.model_dump_json(), "a digit or a sign changed on the way"


def assert_not_multiplied(whole: Workspace) -> None:
    multipliers = {(each.scaling.depth_multiplier, each.scaling.batch_multiplier) for each in whole.configurations}
    assert multipliers == {(1, 1)}, "an old file or link shows other numbers than it did"


def versions_of(kind: str) -> list[int]:
    """The versions of which there is a file of a kind."""
    return sorted(int(path.stem.rpartition("-")[2]) for path in DATA.glob(f"{kind}-[0-9]*.json"))


# --- random workspaces ------------------------------------------------------------------------------------------------

names = st.text(min_size=1, max_size=80).map(one_line).filter(bool)


@st.composite
def named_configurations(draw, name: str) -> Configuration:
    """Everything random, texts of any script and numbers of any magnitude among it."""
    whole = Configuration(
        name=name,
        gpu=draw(gpus()),
        network=draw(networks(level_sizes=(1, 2, 3, 8))),
        scaling=draw(scaling_laws()),
        assumptions=draw(assumptions()),
        sweep=draw(sweeps()),
    )
    rates = draw(st.dictionaries(st.integers(1, 128), st.floats(0.001, 1e6), max_size=5))
    extra = {
        "name": draw(names),
        "flop_per_clock_per_thread": whole.gpu.flop_per_clock_per_thread | rates,
        "price_usd": draw(st.none() | st.floats(0, 1e9)),
        "power_w": draw(st.none() | st.floats(0, 1e6)),
        "sources": tuple(draw(st.lists(st.text(max_size=60), max_size=3))),
        "guesses": tuple(draw(st.lists(st.sampled_from([*Gpu.model_fields, "network"]), max_size=3))),
    }
    return whole.model_copy(update={"name": name, "gpu": whole.gpu.model_copy(update=extra)})


def random_field(info: FieldInfo) -> st.SearchStrategy:
    """What a field of a question may be: any number in its range, one of its words, or empty."""
    choices = get_args(info.annotation)
    if all(isinstance(choice, str) for choice in choices) and choices:
        return st.sampled_from(choices)
    bounds = {name: getattr(item, name) for item in info.metadata for name in ("ge", "le") if hasattr(item, name)}
    if type(None) in choices:
        return st.none() | st.integers(bounds["ge"], bounds["le"])
    return st.floats(bounds["ge"], bounds["le"]).map(lambda number: number + 0.0)  # no zero with a sign


def random_question(question: type[Schema]) -> st.SearchStrategy[Schema]:
    fields = {name: random_field(info) for name, info in question.model_fields.items()}
    return st.just(question()) | st.fixed_dictionaries({}, optional=fields).map(lambda values: question(**values))


questions = st.builds(Questions, **{name: random_question(type(each)) for name, each in Questions()})


@st.composite
def presets(draw) -> Preset:
    titles = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    return Preset(
        title=draw(names),
        description=draw(st.text(max_size=200)),
        source=draw(st.text(max_size=50)),
        configurations=tuple(draw(named_configurations(name)) for name in titles),
    )


@st.composite
def edited_workspaces(draw, preset: Preset) -> Workspace:
    """Some of the preset's configurations as they were, some changed and some new, in any order."""
    kept = draw(st.lists(st.sampled_from(preset.configurations), unique_by=lambda each: each.name))
    new = draw(st.lists(names, min_size=not kept, max_size=2, unique=True))
    whole = {each.name: each for each in kept} | {name: draw(named_configurations(name)) for name in new}
    compared = draw(st.permutations(list(whole.values())))
    origins = st.none() | st.sampled_from([each.name for each in preset.configurations])
    shown = st.builds(Shown, included=st.booleans(), colour=st.integers(0, 17), origin=origins)
    return Workspace(
        title=preset.title,
        description=preset.description,
        source=preset.source,
        configurations=tuple(compared),
        shown=draw(st.just(()) | st.tuples(*[shown] * len(compared))),
        questions=draw(questions),
    )


workspaces = presets().flatmap(edited_workspaces)


def random_number(generator: random.Random, least: float, most: float) -> float:
    """Of seventeen digits, as long as a number can be, and of any magnitude between the bounds."""
    while True:
        number = math.exp(generator.uniform(math.log(least), math.log(most)))
        if len(f"{number!r}".split("e")[0].strip("0.").replace(".", "")) >= 16:
            return number


def all_edited(generator: random.Random, name: str) -> Configuration:
    """A configuration no field of which is as in a preset."""

    def number(least: float, most: float) -> float:
        return random_number(generator, least, most)

    def text(length: int) -> str:
        return "".join(generator.choices(string.ascii_letters + string.digits, k=length))

    bits = generator.sample(range(1, 129), 4)
    level = [{"name": text(8), "bandwidth": number(1e8, 1e13), "latency_s": number(1e-8, 1e-2)} for _ in range(4)]
    inner = [each | {"size": generator.randint(2, 100)} for each in level[:3]]
    return Configuration.model_validate(
        {
            "name": name,
            "gpu": {
                "name": text(16),
                "flop_per_clock_per_thread": {bit: number(0.1, 1000) for bit in bits},
                "precision_bits": bits[0],
                "register_bytes_per_block": number(1e4, 1e6),
                "sm_count": generator.randint(1, 10**6),
                "l2_bandwidth": number(1e11, 1e14),
                "l2_bytes": number(1e5, 1e9),
                "hbm_bandwidth": number(1e10, 1e14),
                "hbm_bytes": number(1e9, 1e13),
                "max_clock_hz": number(1e8, 1e10),
                "effective_utilization": number(0.01, 1),
                "distributed_shared_memory": generator.random() < 0.5,
                "matmul_latency_s": number(1e-8, 1e-2),
                "price_usd": number(100, 1e6),
                "power_w": number(10, 1e5),
                "sources": [text(40), text(40)],
                "guesses": generator.sample(list(Gpu.model_fields), 4),
            },
            "network": [*inner, level[3]],
            "scaling": {
                "d_ff_ratio": number(0.25, 64),
                "sequence_length": generator.randint(1, 2**24),
                "dataset": {"law": "power", "coefficient": number(1, 1e12), "exponent": number(0.01, 2)},
                "depth": {"law": "power", "coefficient": number(0.01, 1e9), "exponent": number(0.01, 1)},
                "sparsity": {"law": "fixed", "factor": generator.randint(1, 2**16)},
                "batch": {
                    "law": "power",
                    "tokens_at_reference": number(1, 1e15),
                    "reference_flop": number(1e12, 1e36),
                    "exponent": number(0.01, 1),
                },
                "depth_multiplier": number(1e-3, 1e3),
                "batch_multiplier": number(1e-6, 1e6),
            },
            "assumptions": {
                "training_months": number(0.01, 1200),
                **{
                    name: generator.random() < 0.5
                    for name in ("overlap_tp", "overlap_pp", "overlap_dp", "zero_bubble", "interleaving")
                },
                "activations": generator.choice(["recomputed", "stored"]),
            },
            "sweep": {
                "d_model_min": generator.randint(64, 10**5),
                "d_model_max": generator.randint(10**5, 2**24),
                "d_model_multiple": generator.randint(1, 2**24),
            },
        }
    )


# --- what a workspace is ----------------------------------------------------------------------------------------------


class TestWorkspace:
    def test_a_preset_just_opened_includes_everything_in_the_colours_of_the_positions(self):
        whole = opened(DENSE)
        assert whole.shown == tuple(
            Shown(included=True, colour=position, origin=name) for position, name in enumerate(["H100", "A100", "V100"])
        )
        assert (whole.selected, whole.threshold_percent, whole.view) == (None, 80, "")

    def test_more_configurations_than_colours_share_them(self):
        first = load_presets()[DENSE].configurations[0]
        many = tuple(first.model_copy(update={"name": f"{index}"}) for index in range(100))
        shown = opened(DENSE).model_copy(update={"configurations": many, "shown": ()}).shown
        assert [each.colour for each in shown] == [*range(18)] * 5 + [*range(10)]

    @pytest.mark.parametrize(
        ("update", "key"),
        [
            ({"shown": (Shown(colour=0),)}, "shown"),
            ({"selected": "Nobody"}, "selected"),
            ({"threshold_percent": 49}, "threshold_percent"),
            ({"threshold_percent": 100}, "threshold_percent"),
            ({"view": "x" * 41}, "view"),
            ({"schema_version": 2}, "schema_version"),
        ],
    )
    def test_what_the_page_could_not_show_is_refused_at_its_field(self, update, key):
        with pytest.raises(ValidationError) as refused:
            opened(DENSE).model_copy(update=update)
        assert list(error_messages(refused.value)) == [key]

    @pytest.mark.parametrize("colour", [-1, 18])
    def test_there_are_eighteen_colours(self, colour):
        with pytest.raises(ValidationError):
            Shown(colour=colour)

    def test_the_version_is_that_of_pyproject_in_a_clone_and_of_the_package_once_installed(self, monkeypatch):
        def not_installed(name):
            raise metadata.PackageNotFoundError(name)

        stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert stated["name"] == workspace.PACKAGE, "the installed package is looked up by another name"
        monkeypatch.setattr(metadata, "version", not_installed)
        assert workspace.software_version.__wrapped__() == stated["version"]
        monkeypatch.setattr(metadata, "version", {workspace.PACKAGE: "9.8.7"}.get)
        assert workspace.software_version.__wrapped__() == "9.8.7"


# --- as a file --------------------------------------------------------------------------------------------------------


class TestFile:
    @examples(60)
    @given(workspaces, st.integers(50, 99), st.text(max_size=40), st.data())
    def test_a_saved_state_reads_back_to_the_bit(self, whole, threshold_percent, view, data):
        selected = data.draw(st.none() | st.sampled_from([each.name for each in whole.configurations]))
        update = {"selected": selected, "threshold_percent": threshold_percent, "view": view}
        saved = whole.model_copy(update=update)
        text = to_json(saved)
        strict(text)
        assert_same_to_the_bit(from_json(text), saved)
        assert_same_to_the_bit(from_json(text.encode()), saved)

    @pytest.mark.parametrize("path", sorted((ROOT / "presets").glob("[0-9]*.json")), ids=lambda path: path.stem)
    def test_the_presets_own_files_open(self, path):
        title = json.loads(path.read_text(encoding="utf-8"))["title"]
        assert_same_to_the_bit(from_json(path.read_bytes()), opened(title))

    @pytest.mark.parametrize("title", TITLES)
    def test_an_exported_preset_opens(self, title):
        assert from_json(load_presets()[title].model_dump_json()) == opened(title)

    def test_a_byte_order_mark_does_no_harm(self):
        text = to_json(opened(DENSE))
        assert from_json("\ufeff" + text) == from_json(text.encode("utf-8-sig")) == opened(DENSE)

    def test_a_complete_output_of_the_first_schema_opens_as_its_configurations(self):
        text = (DATA / "complete-output-1.json").read_text(encoding="utf-8")
        configurations = strict(text)["configurations"]
        assert "preset" in strict(text) and strict(text)["results"], "this is no output of the first schema"
        whole = from_json(text)
        assert [each.model_dump(mode="json", exclude=MULTIPLIERS) for each in whole.configurations] == configurations
        assert whole.configurations[1].network[0].bandwidth == math.inf
        assert (whole.title, whole.description, whole.source) == (DENSE, "", "")
        assert [each.included for each in whole.shown] == [True, True]

    def test_a_state_that_an_earlier_release_saved_opens(self):
        whole = from_json((DATA / "saved-state-2.json").read_bytes())
        assert [each.name for each in whole.configurations] == ["H100, half the months", "Infinite “network”"]
        assert whole.configurations[0].assumptions.training_months == 1.5
        assert whole.shown == (Shown(colour=5, origin="H100"), Shown(included=False, colour=2))
        assert (whole.selected, whole.threshold_percent, whole.view) == ("Infinite “network”", 90, "Parallelism")
        assert whole.questions == Questions(), "a file without questions asks some"

    def test_a_state_with_questions_opens(self):
        whole = from_json((DATA / "saved-state-3.json").read_bytes())
        assert [each.scaling.batch_multiplier for each in whole.configurations] == [0.5, 1]
        assert whole.questions == ASKED
        assert (whole.shown[1].included, whole.selected, whole.view) == (False, "Infinite “network”", "Money")

    @pytest.mark.parametrize("name", ["complete-output-1.json", "complete-output-2.json", "saved-state-2.json"])
    def test_what_is_older_than_the_multipliers_opens_without_their_effect(self, name):
        assert "multiplier" not in (DATA / name).read_text(encoding="utf-8"), "this file is not as old as it should be"
        assert_not_multiplied(from_json((DATA / name).read_bytes()))

    def test_a_file_of_every_version_is_kept_and_opens(self):
        kept = {name: versions_of(name) for name in ("complete-output", "saved-state")}
        now = workspace.SCHEMA_VERSION
        assert kept == {"complete-output": [*range(1, now + 1)], "saved-state": [*range(2, now + 1)]}, (
            "files that people have saved are no longer tried: keep one of each version"
        )
        for version in range(2, now + 1):
            output, saved = ((DATA / f"{name}-{version}.json").read_text(encoding="utf-8") for name in kept)
            document = strict(output)
            assert document["schema_version"] == version and document["software_version"]
            assert len(document["results"]) > 3 and len(document["results"][0]) > 30, "this is no complete output"
            assert from_json(output) == from_json(saved) == from_json(to_json(from_json(output)))

    def test_a_file_of_a_version_to_come_says_that_it_is_newer(self):
        assert refusal(from_json, (DATA / "newer-4.json").read_bytes()) == (
            "This file was made by a newer version of the simulator (schema 4; this one reads up to 3)"
        )

    def test_a_name_that_earlier_versions_allowed_opens_without_what_is_not_seen_in_it(self):
        document = strict(to_json(opened(DENSE)))
        document["configurations"][0]["name"] = document["shown"][0]["origin"] = "A\u202e\x07\nb\u2069"
        document |= {"selected": "A\u202e\x07\nb\u2069", "title": "\tT\u2028", "description": "One.\r\nTwo."}
        whole = from_json(json.dumps(document))
        assert whole.configurations[0].name == whole.selected == whole.shown[0].origin == "A b"
        assert (whole.title, whole.description) == ("T", "One. Two.")
        linked = {name: document[name] for name in ("title", "description", "source", "configurations", "shown")}
        assert from_edits(f"1.{workspace._packed(json.dumps(linked))}", None).configurations == whole.configurations

    def test_what_is_saved_again_names_the_version_that_saved_it(self):
        whole = opened(DENSE).model_copy(update={"software_version": "0.0.1"})
        assert from_json(to_json(whole)).software_version == workspace.software_version() != "0.0.1"


class TestCompleteOutput:
    def test_values_that_json_lacks_have_a_form_in_it(self):
        frame = pd.DataFrame(
            {
                "whole": np.array([2**53 - 1, 1], dtype=np.int64),
                "real": [math.inf, -math.inf],
                "missing": [math.nan, None],
                "nothing": pd.array([pd.NA, 3], dtype="Int64"),
                "levels": [(np.int64(8), np.float64("inf")), (1, 2)],
                "flag": [True, False],
                "word": ["1F1B", None],
            }
        )
        assert strict(to_json(opened(DENSE), frame))["results"] == [
            {
                "whole": 2**53 - 1,
                "real": "Infinity",
                "missing": None,
                "nothing": None,
                "levels": [8, "Infinity"],
                "flag": True,
                "word": "1F1B",
            },
            {
                "whole": 1,
                "real": "-Infinity",
                "missing": None,
                "nothing": 3,
                "levels": [1, 2],
                "flag": False,
                "word": None,
            },
        ]

    def test_every_column_of_every_row_is_there_to_the_last_digit(self):
        hardware = load_hardware()["H100 SXM Infinite Network, Low Latency"]
        frame = simulate(Configuration(name="Infinite “network”", gpu=hardware.gpu, network=hardware.network))
        results = strict(to_json(opened(DENSE), frame))["results"]
        assert len(results) == len(frame) > 0
        for column in frame:
            cells = [list(cell) if isinstance(cell, tuple) else cell for cell in frame[column]]
            assert [row[column] for row in results] == cells, column

    def test_it_is_a_saved_state_with_results(self):
        whole = opened(DENSE)
        output = strict(to_json(whole, pd.DataFrame({"mfu": [0.5]})))
        assert list(output)[:2] == ["schema_version", "software_version"], "a reader must look for the version"
        assert list(output)[-1] == "results"
        assert output.pop("results") == [{"mfu": 0.5}]
        assert output == strict(to_json(whole)), "the output has more, or less, than what was run and its results"

    def test_it_opens_without_its_results(self):
        whole = opened(DENSE)
        assert from_json(to_json(whole, pd.DataFrame({"mfu": [0.5, math.nan]}))) == whole

    def test_reading_and_writing_without_results_loads_neither_pandas_nor_the_screen(self):
        code = (
            "import sys; from model.workspace import *; from model.presets import load_presets\n"
            "for preset in load_presets().values(): from_json(to_json(Workspace(**dict(preset))))\n"
            "print({'pandas', 'streamlit', 'altair'} & set(sys.modules))"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
        assert run.stdout.strip() == "set()", "importing the library became as slow as importing pandas"


# --- as a link --------------------------------------------------------------------------------------------------------


def link_length(whole: Workspace, preset: Preset | None) -> int:
    text = edits(whole, preset)
    assert set(text) <= set(string.ascii_letters + string.digits + "-_."), "a browser would have to escape the text"
    assert_same_to_the_bit(from_edits(text, preset), whole)
    return len(text)


class TestLink:
    @pytest.mark.parametrize("title", TITLES)
    def test_a_plain_preset_needs_no_text(self, title):
        preset = load_presets()[title]
        assert edits(opened(title), preset) == ""
        assert from_edits("", preset) == opened(title)

    @examples(100)
    @given(presets().flatmap(lambda preset: st.tuples(st.just(preset), edited_workspaces(preset))))
    def test_edits_read_back_to_the_bit(self, drawn):
        preset, whole = drawn
        assert_same_to_the_bit(from_edits(edits(whole, preset), preset), whole)

    @examples(40)
    @given(workspaces)
    def test_a_workspace_without_a_preset_reads_back_to_the_bit(self, whole):
        assert_same_to_the_bit(from_edits(edits(whole, None), None), whole)

    def test_threshold_selection_and_view_are_not_in_it(self):
        whole = opened(DENSE).model_copy(update={"selected": "A100", "threshold_percent": 99, "view": "Parallelism"})
        assert edits(whole, load_presets()[DENSE]) == "", "the page would say them twice, and one could be stale"

    @pytest.mark.parametrize("title", TITLES)
    def test_one_edited_field_gives_a_short_link(self, title):
        preset = load_presets()[title]
        for index, configuration in enumerate(preset.configurations):
            longer = configuration.assumptions.model_copy(update={"training_months": 6})
            whole = edited(opened(title), index, assumptions=longer)
            assert link_length(whole, preset) < 500, f"{configuration.name}: too long to send"

    def test_ticks_and_removals_give_a_short_link(self):
        preset, whole = load_presets()[DENSE], opened(DENSE)
        unticked = (whole.shown[0], Shown(included=False, colour=1, origin="A100"), whole.shown[2])
        assert link_length(whole.model_copy(update={"shown": unticked}), preset) < 120
        without_first = {"configurations": whole.configurations[1:], "shown": whole.shown[1:]}
        assert link_length(whole.model_copy(update=without_first), preset) < 120

    @pytest.mark.parametrize("seed", range(5))
    def test_five_configurations_edited_in_every_field_fit_in_a_url(self, seed):
        generator = random.Random(seed)
        compared = tuple(all_edited(generator, f"Configuration {index}") for index in range(5))
        shown = tuple(Shown(colour=generator.randrange(18), origin="H100") for _ in compared)
        whole = opened(DENSE).model_copy(update={"configurations": compared, "shown": shown})
        assert link_length(whole, load_presets()[DENSE]) + REST_OF_THE_URL < LONGEST_URL

    def test_an_edited_configuration_outlives_its_preset_and_the_catalogue(self, monkeypatch):
        preset = load_presets()[DENSE]
        whole = edited(opened(DENSE), 1, sweep=preset.configurations[0].sweep.model_copy(update={"d_model_max": 65536}))
        text = edits(whole, preset)
        months = preset.configurations[0].assumptions.model_copy(update={"training_months": 4})
        later = edited(edited(opened(DENSE), 0, assumptions=months), 1, assumptions=months)
        monkeypatch.setattr("model.presets.load_hardware", lambda: {})
        read = from_edits(text, Preset(**{name: getattr(later, name) for name in Preset.model_fields}))
        assert read.configurations[1] == whole.configurations[1], "an old link shows other numbers than it did"
        assert read.configurations[0] == later.configurations[0], "a configuration nobody edited is not the preset's"

    def test_a_link_of_an_earlier_release_opens(self):
        read = from_edits((DATA / "link-1.txt").read_text().strip(), None)
        saved = from_json((DATA / "saved-state-2.json").read_bytes())
        for name in ("title", "description", "source", "configurations", "shown"):
            assert getattr(read, name) == getattr(saved, name), "links that people have sent no longer work"

    def test_a_link_older_than_the_multipliers_opens_without_their_effect(self):
        text = (DATA / "link-1.txt").read_text().strip()
        assert b"multiplier" not in workspace._unpacked(text), "this link is not as old as it should be"
        assert_not_multiplied(from_edits(text, None))

    def test_questions_alone_make_a_short_link(self):
        preset, whole = load_presets()[DENSE], opened(DENSE).model_copy(update={"questions": ASKED})
        assert link_length(whole, preset) < 350
        one = Questions(growth={"fast_growth": 6})
        assert link_length(whole.model_copy(update={"questions": one}), preset) < 100

    @pytest.mark.parametrize("question", Questions.model_fields)
    def test_only_answers_that_are_not_the_defaults_are_in_it(self, question):
        for title in (DENSE, None):
            preset = load_presets()[title] if title else None
            whole = opened(DENSE).model_copy(update={"questions": Questions(**{question: getattr(ASKED, question)})})
            document = strict(workspace._unpacked(edits(whole, preset)).decode())
            assert document["questions"] == {question: ANSWERS[question]}, (
                "the link is longer than it needs to be, or lacks an answer"
            )

    def test_a_link_with_questions_of_an_earlier_release_opens(self):
        read = from_edits((DATA / "link-1-questions.txt").read_text().strip(), None)
        assert (read.title, read.questions) == (DENSE, ASKED), "links that people have sent no longer work"

    def test_a_link_to_a_configuration_that_the_preset_lost_says_so(self):
        preset = load_presets()[DENSE]
        text = edits(edited(opened(DENSE), 1, name="A100, mine"), preset)
        fewer = preset.model_copy(update={"configurations": preset.configurations[1:]})
        assert refusal(from_edits, text, fewer) == (
            'This link needs a configuration that its preset does not have; got "H100"'
        )
        assert '"H100"' in refusal(from_edits, text, None)


# --- what is refused --------------------------------------------------------------------------------------------------


def changed(path: tuple, value) -> str:
    """The text of a saved state with one value replaced."""
    document = place = strict(to_json(opened(DENSE)))
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(document)


def many(value: dict) -> list[dict]:
    return [value | {"name": str(number)} for number in range(10_000)]


FIRST = strict(to_json(opened(DENSE)))["configurations"][0]
SECOND = ("configurations", 1)


class TestRefusedFile:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "This file is no JSON: EOF while parsing a value at line 1 column 0"),
            ("{'title': 1}", "This file is no JSON: key must be a string at line 1 column 2"),
            (b"\xff\xfe{\x00", "This file is no JSON: "),
            ("\ud800", "This file is no JSON: "),
            ("[" * 100_000, "This file is no JSON: recursion limit exceeded"),
            ('{"configurations": NaN}', "This file is no JSON: expected value at line 1 column 20"),
            ('{"results": [Infinity]}', "This file is no JSON: "),
            ("[1]", "This file holds no configurations"),
            ('{"name": "some package"}', "This file holds no configurations"),
            ('{"schema_version": 7}', "(schema 7; this one reads up to 3)"),
            (changed(("schema_version",), 4), "This file was made by a newer version of the simulator (schema 4"),
            (changed(("schema_version",), 0), "schema_version: should be a whole number from 1 to 3; got 0"),
            (changed(("schema_version",), True), "schema_version: should be a whole number from 1 to 3; got true"),
            (changed(("schema_version",), "2"), 'schema_version: should be a whole number from 1 to 3; got "2"'),
            (changed(("schema_version",), 1), "title: should be text; got null"),
            (changed(("title",), 5), "title: should be text; got 5"),
            (changed(("colour",), "red"), 'colour: is nothing that the simulator knows; got "red"'),
            (changed((*SECOND, "gpu", "sm_count"), 0), "configurations.1.gpu.sm_count: should be at least 1; got 0"),
            (changed((*SECOND, "gpu", "sm_count"), 0.5), "gpu.sm_count: should be a whole number; got 0.5"),
            (changed((*SECOND, "gpu", "sm_count"), 10**4000), "gpu.sm_count: should be at most 1000000; got 1000"),
            (changed((*SECOND, "gpu", "l2_bytes"), 10**4000), "gpu.l2_bytes: should be a number; got 1000"),
            (changed((*SECOND, "gpu", "hbm_bytes"), "80"), 'gpu.hbm_bytes: should be a number; got "80"'),
            (changed((*SECOND, "gpu", "effective_utilization"), 0), "utilization: should be at least 0.0001; got 0"),
            (changed((*SECOND, "gpu", "distributed_shared_memory"), 1), "memory: should be true or false; got 1"),
            (changed((*SECOND, "gpu"), "B9000"), 'in the hardware catalogue; got "B9000"'),
            (changed((*SECOND, "gpu"), {}), "configurations.1.gpu.name: is missing"),
            (changed((*SECOND, "gpu"), 3), "configurations.1.gpu: should be a set of named values; got 3"),
            (changed((*SECOND, "network"), "wire"), 'configurations.1.network: should be a list; got "wire"'),
            (changed((*SECOND, "network"), []), "network: should have 1 or more entries, not 0"),
            (changed((*SECOND, "network"), FIRST["network"][:1] * 9), "network: should have at most 4 entries, not 9"),
            (
                changed((*SECOND, "network", 0, "size"), None),
                "network.0.size is missing: every level but the outermost",
            ),
            (
                changed((*SECOND, "scaling", "batch"), {"law": "moore"}),
                "batch: should have one of the laws 'default', ",
            ),
            (changed((*SECOND, "scaling", "batch"), {}), "batch: should say which 'law' it is"),
            (changed((*SECOND, "assumptions", "activations"), "kept"), "'recomputed' or 'stored'; got \"kept\""),
            (changed((*SECOND, "name"), "H100"), "must have different names, got 'H100' repeated"),
            (changed((*SECOND, "name"), ""), 'configurations.1.name: should have 1 or more characters; got ""'),
            (changed(SECOND, None), "configurations.1: should be a set of named values; got null"),
            (
                changed((*SECOND, "name"), " \u202e\n"),
                'configurations.1.name: should have 1 or more characters; got ""',
            ),
            (changed((*SECOND, "gpu", "flop_per_clock_per_thread"), {"9" * 5000: 1}), "should be a whole number; got"),
            (
                changed((*SECOND, "network", 0, "bandwidth"), math.inf).replace("Infinity", "1e400"),
                "This file holds a number that is too large to read, such as 1e400",
            ),
            (to_json(opened(DENSE)).encode("utf-16"), "This file is no JSON: its text is not UTF-8"),
            (changed(("configurations",), []), "configurations: should have 1 or more entries, not 0"),
            (changed(("configurations",), {}), "configurations: should be a list"),
            (changed(("shown",), [{"colour": 1}]), "shown: should have one entry for each of 3 configurations, not 1"),
            (changed(("shown", 2, "colour"), 18), "shown.2.colour: should be less than 18; got 18"),
            (changed(("selected",), "B200"), 'selected: should be the name of one of the configurations; got "B200"'),
            (changed(("threshold_percent",), 100), "threshold_percent: should be at most 99; got 100"),
            (changed(("questions", "growth", "start_year"), 1), "growth.start_year: should be at least 1950"),
            (changed(("questions", "strategy", "dp"), 0), "questions.strategy.dp: should be at least 1; got 0"),
            (changed(("questions", "strategy", "schedule"), "gpipe"), "'1F1B' or 'zero-bubble'; got \"gpipe\""),
            (changed(("questions",), []), "questions: should be a set of named values"),
        ],
        ids=lambda value: str(value)[:30],
    )
    def test_the_sentence_says_where_and_what(self, text, said):
        assert said in refusal(from_json, text), "the reader cannot tell what to mend"

    @pytest.mark.parametrize(
        "text",
        [
            changed(("configurations",), many({})),
            changed(("configurations",), [{"gpu": {}}] * 45_000),
            '{"configurations": [' + "[]," * (6 * 2**20) + "[]]}",
            changed(("configurations",), many({"gpu": "No such"})),
            changed(("configurations",), many(FIRST | {"gpu": "H100 SXM"})),
            changed(("configurations",), [[]] * 1_000_000),
            changed((*SECOND, "gpu", "flop_per_clock_per_thread"), {str(key): 0 for key in range(1_000_000)}),
            json.dumps({str(key): 0 for key in range(1_000_000)} | {"configurations": []}),
            " " * (20 * 2**20 + 1),
            b" " * (20 * 2**20 + 1),
        ],
        ids=lambda text: f"{len(text)} of {type(text).__name__}",
    )
    def test_a_huge_file_is_refused_before_it_costs_much(self, text):
        began = time.process_time()
        refusal(from_json, text)
        assert time.process_time() - began < 5, "one upload would stop the page for everybody"

    def test_the_largest_workspace_is_not_too_large(self):
        gpu = FIRST["gpu"] | {
            "flop_per_clock_per_thread": {str(bits): 1 for bits in range(16, 24)},
            "sources": ["x"] * 40,
            "guesses": ["sm_count"] * 40,
        }
        network = [FIRST["network"][0]] * 3 + [FIRST["network"][-1]]
        largest = many(FIRST | {"gpu": gpu, "network": network})[:100]
        text = json.dumps({"title": "T", "description": "", "source": "", "configurations": largest})
        assert len(from_json(text).configurations) == 100, "a file that the page saves could not be opened"

    @pytest.mark.parametrize(
        "text",
        [
            changed((*SECOND, "name"), "q" * 10_000),
            changed((*SECOND, "q" * 10_000), "q" * 10_000),
            changed((*SECOND, "gpu"), "q" * 10_000),
            changed((*SECOND, "gpu", "guesses"), ["q" * 10_000] * 30),
            changed((*SECOND, "gpu", "flop_per_clock_per_thread"), {"q" * 10_000: "q" * 10_000}),
            changed((*SECOND, "scaling", "depth"), {"law": "q" * 10_000}),
            changed((*SECOND, "assumptions", "activations"), "q" * 10_000),
            changed(("configurations",), [FIRST | {"name": "q" * 70 + str(index // 2)} for index in range(100)]),
            changed(("schema_version",), "q" * 10_000),
            changed(("selected",), "q" * 10_000),
            "q" * 10_000,
        ],
        ids=range(11),
    )
    def test_little_of_the_input_is_repeated(self, text):
        sentence = refusal(from_json, text)
        assert sentence.count("q") <= 105, "a hostile file writes on the page"
        assert len(sentence) <= 300

    @examples(100)
    @given(
        st.sampled_from([(), ("gpu",), ("network",), ("network", 0), ("scaling",), ("scaling", "batch"), ("sweep",)]),
        st.text(max_size=9)
        | st.sampled_from(["name", "gpu", "network", "scaling", "law", "bandwidth", "size", "sources"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        ),
    )
    def test_any_value_anywhere_is_read_or_refused_in_a_sentence(self, path, key, value):
        key = 0 if path == ("network",) else key
        try:
            whole = from_json(changed((*SECOND, *path, key), value))
        except Unreadable as refused:
            assert 0 < len(str(refused)) <= 300 and str(refused).isprintable(), "no sentence to show"
        else:
            assert from_json(to_json(whole)) == whole

    @examples(50)
    @given(st.integers(0, 10**6), st.binary(max_size=3))
    def test_a_file_damaged_anywhere_is_read_or_refused(self, place, junk):
        whole = to_json(opened(DENSE)).encode()
        place %= len(whole)
        with contextlib.suppress(Unreadable):
            from_json(whole[:place] + junk + whole[place + 1 :])


class TestRefusedLink:
    PRESET = load_presets()[DENSE]
    TEXT = edits(edited(opened(DENSE), 1, name="A100, mine"), PRESET)
    DAMAGED = "This link is damaged or incomplete"

    def test_a_link_cut_short_anywhere_is_refused(self):
        for end in range(1, len(self.TEXT)):
            assert refusal(from_edits, self.TEXT[:end], self.PRESET) == self.DAMAGED

    @pytest.mark.parametrize("more", [".", "A", "AAAA", "=A", ")", " ", "é", "\ud800", TEXT])
    def test_a_link_with_more_after_it_is_refused(self, more):
        assert refusal(from_edits, self.TEXT + more, self.PRESET) == self.DAMAGED

    @examples(200)
    @given(st.integers(0, len(TEXT) - 1), st.sampled_from(string.ascii_letters + string.digits + "-_.+/ %é"))
    def test_a_link_with_one_wrong_character_never_gives_other_numbers(self, place, letter):
        text = self.TEXT[:place] + letter + self.TEXT[place + 1 :]
        try:
            read = from_edits(text, self.PRESET)
        except Unreadable as refused:
            assert str(refused) in (self.DAMAGED, "This link was made by a newer version of the simulator")
        else:
            assert edits(read, self.PRESET) == self.TEXT, "a damaged link shows numbers that nobody sent"

    @examples(100)
    @given(st.text(max_size=100) | st.text(alphabet=string.ascii_letters + string.digits + "-_.").map("1.".__add__))
    def test_garbage_is_refused(self, text):
        try:
            assert from_edits(text, self.PRESET) == opened(DENSE) and text == ""
        except Unreadable as refused:
            assert len(str(refused)) <= 300

    @examples(100)
    @given(st.binary(max_size=200) | st.text().map(str.encode))
    def test_whatever_is_packed_is_read_or_refused(self, packed):
        try:
            from_edits(f"1.{workspace._packed(packed.decode(errors='replace'))}", None)
        except Unreadable as refused:
            assert 0 < len(str(refused)) <= 300

    @pytest.mark.parametrize(
        ("document", "said"),
        [
            ("[]", "This link holds no configurations"),
            ("{}", "configurations: should be a list"),
            ('{"configurations": 3}', "configurations: should be a list; got 3"),
            ('{"configurations": ["H100", "H100"]}', "got 'H100' repeated"),
            ('{"configurations": ["H100", []]}', "configurations.1: should be a set of named values"),
            (
                '{"configurations": ["H100"], "shown": [{"colour": 99}]}',
                "shown.0.colour: should be less than 18; got 99",
            ),
            ('{"configurations": ["H100"], "shown": NaN}', "This link is no JSON"),
            (
                '{"configurations": ["H100"], "questions": {"growth": 5}}',
                "growth: should be a set of named values; got 5",
            ),
            ('{"configurations": ["H100"], "price": 1}', "price: is nothing that the simulator knows"),
            ("[" * 1000, "This link is no JSON: recursion limit exceeded"),
        ],
    )
    def test_the_sentence_says_what_is_wrong_with_a_forged_link(self, document, said):
        assert said in refusal(from_edits, f"1.{workspace._packed(document)}", self.PRESET)

    def test_a_link_without_a_preset_or_configurations_is_refused(self):
        assert refusal(from_edits, "", None) == self.DAMAGED

    @pytest.mark.parametrize("version", ["2", "10", "9" * 5000])
    def test_a_newer_link_is_refused_as_such(self, version):
        text = f"{version}.{self.TEXT.partition('.')[2]}"
        assert refusal(from_edits, text, self.PRESET) == "This link was made by a newer version of the simulator"

    def test_a_link_that_unpacks_to_too_much_is_refused_without_unpacking_it(self):
        bomb = f"1.{workspace._packed(' ' * 60_000_000)}"
        assert len(bomb) < workspace.MOST_LINK_CHARACTERS, "this is refused for its length already"
        tracemalloc.start()
        try:
            assert refusal(from_edits, bomb, self.PRESET) == "This link holds more than the 1 MB that are read"
            assert tracemalloc.get_traced_memory()[1] < 8e6, "a short link fills the memory"
        finally:
            tracemalloc.stop()

    def test_a_link_that_is_too_long_is_refused(self):
        assert (
            refusal(from_edits, "1." + "A" * 100_000, None)
            == "This link is longer than the 100000 characters that are read"
        )
