"""Whatever is typed in whatever order, what was last valid stays, nothing is lost, and complaints have a place."""

import copy
from itertools import count

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from test_form import by_location
from test_oracle import examples

from model import Configuration, load_hardware, load_presets, simulate
from model.editing import (
    Asked,
    Entries,
    Entry,
    added,
    answered,
    asked_of,
    free_name,
    opened,
    put_back,
    typed,
    with_defaults,
    with_hardware,
    with_values,
)
from model.form import Draft, inputs, inputs_of, value_at
from model.questions import LatencyWallQuestion, Questions, StrategyQuestion
from model.text import quantity
from model.workspace import COLOURS, Shown, Workspace

DENSE = load_presets()["GPU generations, dense"]
H100, A100, V100 = DENSE.configurations


def page(*names: str) -> Entries:
    """The entries of a preset just opened, or of configurations that differ in their names alone."""
    configurations = tuple(H100.model_copy(update={"name": name}) for name in names) or DENSE.configurations
    return opened(Workspace(**dict(DENSE) | {"configurations": configurations}), count())


def type_in(entries: Entries, number: int, location: str, value) -> Entries:
    return typed(entries, number, by_location(entries[number].draft)[location], value)


def type_all(entries: Entries, number: int, *typed_values: tuple) -> Entries:
    for location, value in typed_values:
        entries = type_in(entries, number, location, value)
    return entries


def shown(entry: Entry, location: str):
    """What the widget of an input shows when it starts anew."""
    item = by_location(entry.draft)[location]
    return item.written(value_at(entry.draft, item.path))


def accepted(draft: Draft) -> Configuration | None:
    try:
        return Configuration.model_validate(draft)
    except ValidationError:
        return None


class TestOpened:
    def test_every_configuration_is_an_entry_that_is_to_be_simulated(self):
        workspace = Workspace(**dict(DENSE))
        entries = opened(workspace, count(7))
        assert list(entries) == [7, 8, 9]
        for entry, configuration, its_look in zip(
            entries.values(), workspace.configurations, workspace.shown, strict=True
        ):
            assert entry.valid == entry.applied == Configuration.model_validate(entry.draft) == configuration
            assert (entry.shown, entry.problems, entry.drawn) == (its_look, {}, None)

    def test_two_workspaces_take_their_numbers_from_one_iterator_without_a_gap(self):
        numbers = count()
        assert [*opened(Workspace(**dict(DENSE)), numbers), *opened(Workspace(**dict(DENSE)), numbers)] == [*range(6)]


class TestTyped:
    @pytest.mark.parametrize(
        ("location", "text"),
        [
            ("gpu.sm_count", "many"),
            ("gpu.sm_count", "1.5"),
            ("gpu.hbm_bandwidth", "3 GB"),
            ("gpu.flop_per_clock_per_thread.16", ""),
            ("network.0.size", ""),
            ("network.0.latency_s", "11 s"),
            ("network.1.name", ""),
            ("scaling.dataset.chinchilla.tokens_per_parameter", "-1"),
            ("sweep.d_model_max", "1000"),
            ("name", "x" * 81),
        ],
    )
    def test_what_is_refused_stays_typed_and_the_last_that_was_valid_stays_valid(self, location, text):
        entries = page()
        entry = type_in(entries, 1, location, text)[1]
        assert list(entry.problems) == [location], "the complaint is not beside what was typed"
        assert (entry.valid, entry.applied) == (A100, A100), "what is drawn vanishes while somebody types"
        assert shown(entry, location).replace(",", "") == text or location.endswith("latency_s"), "the text is lost"

    @pytest.mark.parametrize("lines", ["a data sheet\n" + "x" * 501, "\n".join(map(str, range(41)))])
    def test_a_complaint_about_a_line_is_beside_the_text(self, lines):
        (complaint,) = type_in(page(), 0, "gpu.sources", lines)[0].problems.items()
        assert complaint[0] == "gpu.sources" and complaint[1].startswith("Should have at most ")

    def test_the_rest_of_the_page_is_left_alone(self):
        entries = page()
        before = copy.deepcopy(entries)
        after = type_in(entries, 1, "gpu.sm_count", "99")
        assert entries == before, "what a function of the page was given changed in place"
        assert (after[0], after[2]) == (before[0], before[2])
        assert after[1].valid.gpu.sm_count == 99

    def test_a_second_change_that_makes_both_valid_applies_both(self):
        entries = type_in(page(), 0, "sweep.d_model_max", "4096")
        assert list(entries[0].problems) == ["sweep.d_model_max"] and entries[0].valid == H100
        entries = type_in(entries, 0, "sweep.d_model_min", "2048")
        assert entries[0].problems == {}
        assert (entries[0].valid.sweep.d_model_min, entries[0].valid.sweep.d_model_max) == (2048, 4096)

    def test_a_change_beside_a_refused_one_applies_with_its_correction(self):
        entries = type_all(page(), 0, ("gpu.sm_count", "many"), ("gpu.max_clock_hz", "2 GHz"))
        assert entries[0].valid == H100
        gpu = type_in(entries, 0, "gpu.sm_count", "99")[0].valid.gpu
        assert (gpu.sm_count, gpu.max_clock_hz) == (99, 2e9)

    def test_every_problem_is_said_at_once(self):
        entry = type_all(page(), 0, ("name", ""), ("gpu.sm_count", "0"), ("network.1.bandwidth", "fast"))[0]
        assert set(entry.problems) == {"name", "gpu.sm_count", "network.1.bandwidth"}

    def test_a_name_that_another_has_is_refused_beside_it(self):
        entries = type_in(page(), 0, "name", "V100")
        assert entries[0].problems == {"name": "Another configuration has this name."}
        assert entries[0].valid.name == "H100" and shown(entries[0], "name") == "V100"
        assert type_in(entries, 0, "name", "H100")[0].problems == {}, "its own name is refused"

    def test_a_name_that_another_only_tried_is_free(self):
        entries = type_in(type_in(page(), 0, "name", ""), 1, "name", "B200")
        assert entries[1].valid.name == "B200"
        assert type_in(entries, 2, "name", "A100")[2].problems == {}

    def test_parameters_come_back_with_their_law_refused_ones_too(self):
        parameter = "scaling.dataset.power.exponent"
        there_and_back = [("scaling.dataset", "chinchilla"), ("scaling.dataset", "power")]
        entries = type_all(page(), 0, ("scaling.dataset", "power"), (parameter, "0.75"), *there_and_back)
        assert entries[0].valid.scaling.dataset.exponent == 0.75
        entries = type_all(entries, 0, (parameter, "steep"), *there_and_back)
        assert shown(entries[0], parameter) == "steep" and list(entries[0].problems) == [parameter]

    def test_laws_of_one_name_keep_their_parameters_apart(self):
        depth = ("scaling.depth", "power"), ("scaling.depth.power.exponent", "0.25")
        entries = type_all(page(), 0, *depth, ("scaling.dataset", "power"))
        assert entries[0].valid.scaling.dataset.exponent == 1
        assert entries[0].valid.scaling.depth.exponent == 0.25


class TestPutBack:
    def test_it_is_as_in_the_preset(self):
        entries = type_all(
            page(), 0, ("gpu.sm_count", "0"), ("scaling.batch", "zhang"), ("network", 4), ("name", "Mine")
        )
        entry = put_back(entries, 0, H100)[0]
        assert entry.valid == H100 == Configuration.model_validate(entry.draft)
        assert (entry.problems, entry.laws) == ({}, {})
        assert entry.applied == H100, "what was simulated is another matter"

    def test_its_name_gets_a_number_if_another_took_it(self):
        entries = type_in(type_in(page(), 0, "name", "Mine"), 1, "name", "H100")
        assert put_back(entries, 0, H100)[0].valid == H100.model_copy(update={"name": "H100 (2)"})


class TestWithHardware:
    B200 = load_hardware()["B200"]

    def test_gpu_and_network_are_replaced_and_the_rest_stays(self):
        entries = type_in(page(), 0, "scaling.batch", "zhang")
        entry = with_hardware(entries, 0, self.B200)[0]
        expected = {"gpu": self.B200.gpu, "network": self.B200.network}
        assert entry.valid == Configuration.model_validate(entry.draft) == entries[0].valid.model_copy(update=expected)

    def test_it_replaces_what_is_refused_of_the_old_and_keeps_what_is_refused_elsewhere(self):
        entries = type_all(page(), 0, ("gpu.sm_count", "many"), ("network.0.size", ""), ("sweep.d_model_max", "wide"))
        entry = with_hardware(entries, 0, self.B200)[0]
        assert list(entry.problems) == ["sweep.d_model_max"] and shown(entry, "sweep.d_model_max") == "wide"
        assert (entry.valid.gpu, entry.valid.sweep) == (self.B200.gpu, H100.sweep)

    def test_parameters_of_laws_come_back_on_other_hardware(self):
        fixed = ("scaling.depth", "fixed"), ("scaling.depth.fixed.n_layers", "7")
        entries = with_hardware(type_all(page(), 0, *fixed, ("scaling.depth", "hoffmann")), 0, self.B200)
        assert type_in(entries, 0, "scaling.depth", "fixed")[0].valid.scaling.depth.n_layers == 7


class TestAdded:
    def test_it_stands_at_the_end_ticked_in_a_free_colour_and_from_no_preset(self):
        entries = added(page(), 42, A100)
        assert list(entries) == [0, 1, 2, 42]
        entry = entries[42]
        assert entry.valid == Configuration.model_validate(entry.draft) == A100.model_copy(update={"name": "A100 (2)"})
        assert entry.shown == Shown(included=True, colour=3, origin=None)
        assert entry.applied is None, "it would be simulated before anybody asks"

    def test_a_colour_that_was_freed_is_taken_first(self):
        entries = page()
        del entries[1]
        assert added(entries, 3, H100)[3].shown.colour == 1

    def test_colours_are_used_again_evenly_once_all_are(self):
        entries = page()
        for number in range(3, 2 * COLOURS + 1):
            entries = added(entries, number, H100)
        used = [entry.shown.colour for entry in entries.values()]
        assert used == [*range(COLOURS), *range(COLOURS), 0]

    @pytest.mark.parametrize("name", ["H100", "x" * 80, "é" * 75, "H100 (2)"])
    def test_names_stay_apart_and_short_enough(self, name):
        entries = page(name)
        for number in range(1, 30):
            entries = added(entries, number, entries[0].valid)
        names = [entry.valid.name for entry in entries.values()]
        assert len(set(names)) == len(names) == 30 and max(map(len, names)) <= 80

    def test_numbers_of_names_count_from_two_and_fill_gaps(self):
        assert free_name("H100", ()) == "H100"
        assert free_name("H100", ("H100", "A100")) == "H100 (2)"
        assert free_name("H100", ("H100", "H100 (3)", "H100 (2)")) == "H100 (4)"
        assert free_name("H100", ("H100", "H100 (3)")) == "H100 (2)"


JUNK = ["", "-1", "0", "1", "2", "7", "0.5", "1/16", "2^20", "1e30", "∞", "many", "3 GB", "5 µs", "85%", "9,000"]


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 99), st.integers(0, 99)), max_size=25))
def test_whatever_is_typed_in_whatever_order_the_page_stands(steps):
    """If this fails, a page can lose its configurations, crash, or complain where nobody sees it."""
    entries = page()
    for number, which, what in steps:
        items = list(inputs(entries[number].draft))
        item = items[which % len(items)]
        options = {"switch": [False, True], "several": [["sm_count"], ["network"], []]}.get(item.kind, JUNK)
        if item.kind in ("choice", "law", "levels"):
            options = list(item.options)
        entries = typed(entries, number, item, options[what % len(options)])
        entry = entries[number]
        drafted = accepted(entry.draft)
        if entry.problems:
            assert drafted is None or set(entry.problems) == {"name"}, "a draft that is valid is complained about"
        else:
            assert entry.valid == drafted, "what is simulated is not what is typed"
        assert set(entry.problems) <= set(by_location(entry.draft)), "a complaint without an input to stand beside"
        assert not [words for words in entry.problems.values() if "Input" in words or "String" in words]
        names = [each.valid.name for each in entries.values()]
        assert len(set(names)) == len(names), "two configurations of one name cannot be told apart"


GTX_580 = (  # the table of Epoch's article
    ("gpu.precision_bits", 64),
    ("gpu.flop_per_clock_per_thread.64", "1/16"),
    ("gpu.precision_bits", 32),
    ("gpu.flop_per_clock_per_thread.32", "1/2"),
    ("gpu.register_bytes_per_block", "128 KiB"),
    ("gpu.sm_count", "16"),
    ("gpu.l2_bandwidth", "384.8e+9 Bps"),
    ("gpu.l2_bytes", "786,432 B"),
    ("gpu.hbm_bandwidth", "192.4e+9 Bps"),
    ("gpu.hbm_bytes", "3 GB"),
    ("gpu.max_clock_hz", "1.544 GHz"),
    ("gpu.effective_utilization", "85%"),
    ("gpu.distributed_shared_memory", False),
    ("gpu.matmul_latency_s", "2.25e-5 s"),
    ("network", 2),
    ("network.0.bandwidth", "8e+9 Bps"),
    ("network.0.latency_s", "5e-6 s"),
    ("network.0.size", "8"),
    ("network.1.bandwidth", "1e+9 Bps"),
    ("network.1.latency_s", "5e-6 s"),
    ("sweep.d_model_max", "16384"),
)
LABELS = {"gpu": {"name", "price_usd", "power_w", "sources", "guesses", "flop_per_clock_per_thread"}, "name": True}


@pytest.fixture(scope="module")
def by_hand() -> Configuration:
    """The GTX 580, typed into a copy of the H100."""
    entries = added(page(), 3, H100)
    for location, value in GTX_580:
        entries = type_in(entries, 3, location, value)
        assert entries[3].problems == {}, location
    return entries[3].valid


@pytest.fixture(scope="module")
def of_the_catalogue(by_hand) -> Configuration:
    return by_hand.model_copy(update=dict(load_hardware()["GTX 580 3GB"]))


def test_a_gtx_580_typed_by_hand_has_every_figure_of_the_catalogues(by_hand, of_the_catalogue):
    figures = of_the_catalogue.model_dump(exclude=LABELS)
    assert by_hand.model_dump(exclude=LABELS) == figures
    rates = of_the_catalogue.gpu.flop_per_clock_per_thread
    assert by_hand.gpu.flop_per_clock_per_thread.items() >= rates.items()


def test_a_gtx_580_typed_by_hand_simulates_to_the_same_numbers(by_hand, of_the_catalogue):
    curve = simulate(by_hand).drop(columns=["configuration", "gpu"])
    assert len(curve) > 1
    pd.testing.assert_frame_equal(curve, simulate(of_the_catalogue)[curve.columns], check_exact=True)


def test_a_gtx_580_typed_by_hand_has_the_peak_of_the_article(by_hand):
    assert quantity(by_hand.gpu.max_flop_per_s, "FLOP/s", digits=4) == "1.581 TFLOP/s"


# --- questions --------------------------------------------------------------------------------------------------------


def answer(asked: Asked, *typed_values: tuple) -> Asked:
    for location, value in typed_values:
        items = {item.location: item for item in inputs_of(Questions, asked.draft)}
        asked = answered(asked, items[location], value)
    return asked


UNCHANGED = asked_of(Questions())
LATENCY_IN_SECONDS = ("latency_wall.latency_s", "15 s")


class TestQuestions:
    def test_nothing_is_wrong_with_questions_just_opened(self):
        questions = Questions(strategy={"dp": 8})
        asked = asked_of(questions)
        assert (asked.valid, asked.problems, Questions.model_validate(asked.draft)) == (questions, {}, questions)

    def test_what_is_typed_is_asked(self):
        asked = answer(
            UNCHANGED, ("latency_wall.latency_s", "0.9"), ("strategy.dp", "2^3"), ("strategy.schedule", "1F1B")
        )
        assert asked.problems == {}
        assert asked.valid == Questions(latency_wall={"latency_s": 9e-7}, strategy={"dp": 8, "schedule": "1F1B"})

    def test_what_is_refused_stays_typed_and_the_last_that_was_valid_is_asked(self):
        asked = answer(UNCHANGED, ("latency_wall.n_layers", "90"), ("latency_wall.n_layers", "few"))
        assert asked.problems == {"latency_wall.n_layers": "“few” is not a number. From 1 to 1,000,000."}
        assert asked.draft["latency_wall"]["n_layers"] == "few"
        assert asked.valid.latency_wall.n_layers == 90

    def test_a_refused_answer_holds_up_its_own_question_only(self):
        asked = answer(UNCHANGED, LATENCY_IN_SECONDS, ("growth.fast_growth", "7"), ("latency_wall.n_layers", "90"))
        assert list(asked.problems) == ["latency_wall.latency_s"]
        assert asked.valid == Questions(growth={"fast_growth": 7}), "another question waits for one that is wrong"
        asked = answer(asked, ("latency_wall.latency_s", "15"))
        assert asked.problems == {}
        assert (asked.valid.latency_wall.latency_s, asked.valid.latency_wall.n_layers) == (1.5e-5, 90)

    def test_every_problem_is_said_at_once(self):
        asked = answer(UNCHANGED, LATENCY_IN_SECONDS, ("strategy.tp", "0"), ("growth.start_year", ""))
        assert set(asked.problems) == {"latency_wall.latency_s", "strategy.tp", "growth.start_year"}
        assert asked.valid == Questions()

    def test_a_question_goes_back_to_its_defaults_and_no_other_does(self):
        asked = answer(UNCHANGED, LATENCY_IN_SECONDS, ("growth.fast_growth", "7"), ("strategy.tp", "many"))
        asked = with_defaults(asked, "latency_wall")
        assert list(asked.problems) == ["strategy.tp"] and asked.draft["strategy"]["tp"] == "many"
        assert asked.valid == Questions(growth={"fast_growth": 7})
        assert asked.draft["latency_wall"] == LatencyWallQuestion().model_dump()

    def test_degrees_of_a_frame_are_taken_at_once_over_refused_ones(self):
        asked = answer(UNCHANGED, ("strategy.tp", "many"), ("strategy.ep", "3"))
        row = pd.Series({"dp": np.int64(8), "tp": np.int64(4), "schedule": "zero-bubble"}, dtype=object)
        asked = with_values(asked, "strategy", row)
        expected = StrategyQuestion(dp=8, tp=4, ep=3, schedule="zero-bubble")
        assert (asked.problems, asked.valid.strategy) == ({}, expected), "a button does not do what it says"
        assert with_values(asked, "strategy", {"dp": None}).valid.strategy.dp is None

    def test_no_function_changes_what_it_was_given(self):
        asked = answer(UNCHANGED, ("strategy.dp", "8"))
        before = copy.deepcopy(asked)
        answer(asked, ("strategy.dp", "9"))
        with_values(asked, "strategy", {"dp": 10})
        with_defaults(asked, "strategy")
        assert asked == before


QUESTION_ITEMS = list(inputs_of(Questions, Questions().model_dump()))


@examples(60)
@given(st.lists(st.tuples(st.sampled_from(QUESTION_ITEMS), st.integers(0, 99)), max_size=25))
def test_whatever_is_answered_in_whatever_order_every_question_is_a_valid_one(steps):
    """If this fails, a question shows an answer to something that is not typed, or complains where nobody sees it."""
    asked = UNCHANGED
    for item, what in steps:
        options = list(item.options) or JUNK
        before, asked = asked, answered(asked, item, options[what % len(options)])
        refused = {location.partition(".")[0] for location in asked.problems}
        for question, schema in Questions.model_fields.items():
            kept = getattr(before.valid, question)
            if question in refused:
                assert getattr(asked.valid, question) == kept
                with pytest.raises(ValidationError):
                    schema.annotation.model_validate(asked.draft[question])
            else:
                assert getattr(asked.valid, question) == schema.annotation.model_validate(asked.draft[question])
        assert set(asked.problems) <= {item.location for item in QUESTION_ITEMS}
        assert not [words for words in asked.problems.values() if "Input" in words or "String" in words]
