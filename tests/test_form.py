"""The form shows every field of the schema once, takes what is typed without loss, and complains as people speak."""

import copy
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ConfigDict, Field, ValidationError, create_model
from test_configuration import CONFIGURATION, EXAMPLES, GPU, INNER, LAWS, OUTER, configurations
from test_oracle import assumptions, examples, gpus, networks, scaling_laws, sweeps

from model import form, load_hardware
from model.configuration import (
    TRAINING_RUN,
    Assumptions,
    Configuration,
    DenseSparsity,
    FixedSparsity,
    Gpu,
    ScalingLaws,
    Schema,
    error_messages,
    field,
)
from model.form import MOST_LEVELS, PRECISIONS, Draft, Input, Path, changed, inputs, inputs_of, replaced, value_at
from model.questions import Questions, StrategyQuestion
from model.text import quantity_from

NETWORKS = {count: [INNER] * (count - 1) + [OUTER] for count in range(1, MOST_LEVELS + 1)}
WHOLE = configurations() | {
    f"{count} levels": Configuration.model_validate(CONFIGURATION | {"network": network})
    for count, network in NETWORKS.items()
}
WIDEST = {"d_model_min": 64, "d_model_multiple": 64}  # so that every other bound of the sweep can be reached


def draft_of(**update) -> Draft:
    return Configuration.model_validate(CONFIGURATION | update).model_dump()


def with_gpu(**update) -> Draft:
    return draft_of(gpu=GPU | update)


def by_location(draft: Draft) -> dict[str, Input]:
    return {entry.location: entry for entry in inputs(draft)}


def messages_of(draft: Draft) -> dict[str, str]:
    try:
        Configuration.model_validate(draft)
    except ValidationError as error:
        return error_messages(error)
    return {}


def said(draft: Draft, location: str, typed) -> str:
    """What a form says beside an input after something is typed into it; nothing if the schema takes it."""
    entry = by_location(draft)[location]
    value = entry.read(typed)
    message = messages_of(changed(draft, entry, value)).get(location)
    return entry.complaint(value, message) if message else ""


def typed_into(draft: Draft, location: str, typed) -> Draft:
    entry = by_location(draft)[location]
    return changed(draft, entry, entry.read(typed))


NUMBERS = {
    entry.location: draft
    for draft in [
        *(draft_of(sweep=WIDEST, scaling={quantity: EXAMPLES[law]}) for quantity in LAWS for law in LAWS[quantity]),
        *(draft_of(sweep=WIDEST, network=network) for network in NETWORKS.values()),
    ]
    for entry in inputs(draft)
    if entry.kind in ("number", "integer")
}
every_number = pytest.mark.parametrize("location", NUMBERS)


# --- what is shown ----------------------------------------------------------------------------------------------------


def leaves(part: Schema, path: Path = ()) -> Iterator[Path]:
    """Where the inputs of a configuration should be, by its values alone."""
    for name in type(part).model_fields:
        value, here = getattr(part, name), (*path, name)
        if name == "law":
            yield path
        elif isinstance(value, Schema):
            yield from leaves(value, here)
        elif isinstance(value, dict):
            yield *here, part.precision_bits
        elif name == "network":
            yield here
            for index, level in enumerate(value):
                outermost_size = (*here, len(value) - 1, "size")
                yield from (leaf for leaf in leaves(level, (*here, index)) if leaf != outermost_size)
        else:
            yield here


@pytest.mark.parametrize("whole", [pytest.param(each, id=name) for name, each in WHOLE.items()])
class TestEveryConfiguration:
    def test_every_field_has_one_input(self, whole):
        assert Counter(entry.path for entry in inputs(whole.model_dump())) == Counter(leaves(whole)), (
            "a field cannot be edited, or can be edited in two places"
        )

    def test_what_an_input_holds_is_one_of_its_options(self, whole):
        draft = whole.model_dump()
        for entry in inputs(draft):
            if entry.options:
                held = entry.written(value_at(draft, entry.path))
                assert {*(held if entry.kind == "several" else [held])} <= {*entry.options}, entry.location

    def test_every_input_tells_what_it_is(self, whole):
        entries = list(inputs(whole.model_dump()))
        for entry in entries:
            assert entry.title and entry.description and entry.section, entry.location
            assert all(entry.options.values()), "an option without a title"
        labels = Counter((entry.section, entry.group, entry.label) for entry in entries)
        assert max(labels.values()) == 1, f"inputs that look the same: {labels.most_common(1)}"


def test_every_law_and_number_of_levels_is_among_the_configurations():
    chosen = {(entry.location, value_at(draft, entry.path)["law"]) for draft, entry in kinds("law")}
    assert chosen == {(f"scaling.{name}", law) for name, laws in LAWS.items() for law in map(law_of, laws)}
    assert {len(value_at(draft, entry.path)) for draft, entry in kinds("levels")} == {1, 2, 3, 4}


def law_of(law: type[Schema]) -> str:
    return EXAMPLES[law]["law"]


def kinds(kind: str) -> list[tuple[Draft, Input]]:
    drafts = [whole.model_dump() for whole in WHOLE.values()]
    return [(draft, entry) for draft in drafts for entry in inputs(draft) if entry.kind == kind]


def test_sections_are_the_parts_of_the_form_in_order():
    sections = dict.fromkeys(entry.section for entry in inputs(draft_of()))
    assert " | ".join(sections) == (
        "Name | GPU | Network | Scaling laws | Training run | Parallelism and communication"
    )


def test_parameters_of_a_law_stand_in_its_section_under_its_name():
    depth = by_location(draft_of(scaling={"depth": {"law": "fixed", "n_layers": 96}}))["scaling.depth.fixed.n_layers"]
    assert (depth.section, depth.title) == ("Scaling laws", "Depth: layers")


WRONG = {"law": {"law": "moore"}, "levels": (), "text": 5, "texts": 5, "several": 5}


@pytest.mark.parametrize("whole", [pytest.param(WHOLE[name], id=name) for name in ("4 levels", "1 levels")])
def test_locations_are_where_the_schema_refuses(whole):
    draft = whole.model_dump()
    for entry in inputs(draft):
        refused = messages_of(replaced(draft, entry.path, WRONG.get(entry.kind, "wrong")))
        assert list(refused) == [entry.location], "what is wrong with this input would be shown elsewhere or nowhere"


@pytest.mark.parametrize(("quantity", "law"), [(quantity, law) for quantity in LAWS for law in LAWS[quantity]])
def test_locations_within_laws_are_where_the_schema_refuses(quantity, law):
    draft = draft_of(scaling={quantity: EXAMPLES[law]})
    for entry in inputs(draft):
        if entry.path[:2] == ("scaling", quantity) and entry.kind != "law":
            assert list(messages_of(replaced(draft, entry.path, "wrong"))) == [entry.location]


@every_number
def test_bounds_shown_are_the_schemas(location):
    draft, unit = NUMBERS[location], by_location(NUMBERS[location])[location].unit
    bounds = by_location(draft)[location].bounds
    number = r"\S+? × \S+?|\S+?"
    match = re.fullmatch(rf"From ({number}) to ({number})( [^×\s]+|%)?(, or infinite)?\.", bounds)
    assert match, f"no range is shown: {bounds!r}"
    least, most, shown_unit, infinite = match.groups()
    assert (shown_unit or "").strip() == unit, "the range is in another unit than the input"
    for bound in (least, most, "∞" if infinite else least):
        assert said(draft, location, bound) == "", f"{bound} is said to be allowed"
    # Numbers are rounded to three digits, but never out of the range; whole numbers are exact.
    whole = by_location(draft)[location].kind == "integer"
    low, high = quantity_from(least), quantity_from(most)
    below = low - 1 if whole or not low else low * (0.98 if low > 0 else 1.02)
    above = high + 1 if whole else high * 1.02
    for outside in (below, above):
        assert said(draft, location, f"{outside!r}") != "", f"{outside} is said to be refused"


class TestNewFields:
    """What is added to the schema appears in the form, which needs no code for it."""

    def test_a_field_of_every_kind(self, monkeypatch):
        new = {
            "recompute": (bool, field("Recompute", "Whether.", default=False)),
            "nodes": (int, field("Nodes", "How many.", default=3, ge=1, le=7)),
            "hop_s": (float, field("Hop", "How long.", unit="s", shown="ms", section=TRAINING_RUN, default=2e-3, ge=0)),
            "spares": (float | None, field("Spares", "If any.", default=None, ge=0, le=1)),
            "routing": (Literal["static", "adaptive"], field("Routing", "Which.", default="static")),
        }
        more = create_model("MoreAssumptions", __base__=Assumptions, **new)
        default = field("Assumptions", "More of them.", default=more())
        monkeypatch.setattr(
            form, "Configuration", create_model("Wider", __base__=Configuration, assumptions=(more, default))
        )
        draft = form.Configuration.model_validate(CONFIGURATION).model_dump()
        shown = {name: by_location(draft)[f"assumptions.{name}"] for name in new}
        assert [entry.kind for entry in shown.values()] == ["switch", "integer", "number", "number", "choice"]
        assert (shown["recompute"].title, shown["recompute"].description) == ("Recompute", "Whether.")
        assert shown["nodes"].bounds == "From 1 to 7."
        assert (shown["hop_s"].written(2e-3), shown["hop_s"].section) == ("2", TRAINING_RUN)
        assert shown["hop_s"].bounds == "At least 0 ms."
        assert (shown["spares"].written(None), shown["spares"].read("")) == ("", None)
        assert list(shown["routing"].options) == ["static", "adaptive"]

    def test_a_law(self, monkeypatch):
        growing = create_model(
            "GrowingSparsity",
            __base__=Schema,
            __doc__="E grows.",
            law=(Literal["growing"], ...),
            speed=(float, field("Speed", "How fast.", ge=0, le=9, examples=[1.5])),
        )
        growing.model_config = ConfigDict(growing.model_config, title="Growing")
        sparsity = Annotated[DenseSparsity | FixedSparsity | growing, Field(discriminator="law")]
        default = field("Sparsity", "Experts.", default=DenseSparsity())
        laws = create_model("MoreLaws", __base__=ScalingLaws, sparsity=(sparsity, default))
        wider = create_model("Wider", __base__=Configuration, scaling=(laws, field("Laws", "Laws.", default=laws())))
        monkeypatch.setattr(form, "Configuration", wider)
        draft = wider.model_validate(CONFIGURATION).model_dump()
        assert by_location(draft)["scaling.sparsity"].options["growing"] == "Growing"
        draft = typed_into(draft, "scaling.sparsity", "growing")
        assert wider.model_validate(draft).scaling.sparsity.speed == 1.5
        assert by_location(draft)["scaling.sparsity"].formula == "E grows."
        assert by_location(draft)["scaling.sparsity.growing.speed"].bounds == "From 0 to 9."


# --- what is typed ----------------------------------------------------------------------------------------------------


def assert_same_to_the_bit(read, value) -> None:
    assert read == value, "what an input shows is not what it holds"
    same_type = type(read) is type(value) or {type(read), type(value)} == {int, float}
    assert same_type and (not isinstance(value, float) or float(read).hex() == value.hex())


random_wholes = st.builds(
    Configuration,
    name=st.text(min_size=1, max_size=80),
    gpu=gpus(),
    network=networks(),
    scaling=scaling_laws(),
    assumptions=assumptions(),
    sweep=sweeps(),
)


@examples(60)
@given(random_wholes)
def test_inputs_show_what_they_hold_to_the_last_bit(whole):
    draft = whole.model_dump()
    for entry in inputs(draft):
        value = value_at(draft, entry.path)
        if entry.kind not in ("law", "levels"):  # which name their value by a part of it
            assert_same_to_the_bit(entry.read(entry.written(value)), value)


@every_number
def test_every_number_in_range_survives_its_input(location):
    entry = by_location(NUMBERS[location])[location]
    numbers = st.integers if entry.kind == "integer" else st.floats

    @examples(20)
    @given(numbers(entry.least, entry.most))
    def survives(value):
        assert_same_to_the_bit(entry.read(entry.written(value)), value)

    survives()


@pytest.mark.parametrize("value", [0.1 + 0.2, 2 / 3, 1.2345678901234567e-5, 9.869604401089358], ids=repr)
def test_seventeen_digits_are_shown(value):
    for location in ("gpu.register_bytes_per_block", "gpu.effective_utilization", "gpu.matmul_latency_s"):
        entry = by_location(draft_of())[location]
        assert_same_to_the_bit(entry.read(entry.written(value)), value)


@pytest.mark.parametrize(
    ("location", "typed", "value"),
    [
        ("network.0.bandwidth", "∞", math.inf),
        ("network.0.bandwidth", "Infinity", math.inf),
        ("network.0.bandwidth", "0.9 TB/s", 9e11),
        ("network.0.bandwidth", "900", 9e11),
        ("network.0.size", "2^3", 8),
        ("network.0.size", " 16 ", 16),
        ("gpu.price_usd", " ", None),
        ("gpu.price_usd", "30,000", 30000.0),
        ("gpu.effective_utilization", "85", 0.85),
        ("gpu.l2_bytes", "786,432 B", 786432.0),
        ("gpu.sources", " a data sheet \n\n  a paper", ("a data sheet", "a paper")),
        ("gpu.sources", "", ()),
        ("gpu.distributed_shared_memory", False, False),
        ("gpu.guesses", ["sm_count", "network"], ("sm_count", "network")),
        ("assumptions.activations", "stored", "stored"),
        ("name", "Mine: 2 × 8", "Mine: 2 × 8"),
    ],
)
def test_what_is_typed_is_in_the_configuration(location, typed, value):
    draft = typed_into(draft_of(), location, typed)
    whole = Configuration.model_validate(draft).model_dump()
    taken = value_at(whole, by_location(draft)[location].path)
    assert taken == value and type(taken) is type(value)


def test_a_change_leaves_everything_else_and_the_old_draft_as_they_were():
    before = draft_of()
    kept = copy.deepcopy(before)
    after = typed_into(before, "network.1.latency_s", "7")
    assert before == kept, "the draft was changed in place"
    assert after["network"][1].pop("latency_s") == pytest.approx(7e-6)
    del before["network"][1]["latency_s"]
    assert after == before, "another field was changed too"


# --- what is refused --------------------------------------------------------------------------------------------------


@every_number
def test_complaints_about_numbers_are_in_the_words_and_unit_of_the_screen(location):
    draft = NUMBERS[location]
    entry = by_location(draft)[location]
    for typed in ("many", "-1e30", "1e40", "2.5"):
        complaint = said(draft, location, typed)
        if typed == "2.5" and entry.kind == "number":
            continue
        assert complaint.endswith(entry.bounds) and entry.bounds, "the range is not said"
        assert not re.search(r"Input should|Value|Error|got|\de\+|inf\b|nan", complaint), "that is a program's language"
    assert said(draft, location, "many").startswith("“many” is not a number")
    assert said(draft, location, "1e40").startswith("Out of range")
    if entry.kind == "integer":
        assert said(draft, location, "2.5").startswith("Should be a whole number")


@pytest.mark.parametrize(
    ("location", "typed", "complaint"),
    [
        ("network.0.bandwidth", "1e22", "Out of range. From 1 × 10⁻⁶ to 1 × 10¹² GB/s, or infinite."),
        ("network.0.bandwidth", "9 GB", "“9 GB” is not a number of GB/s. From 1 × 10⁻⁶"),
        ("network.0.size", "", "Should be a number. From 1 to 1,048,576."),
        ("network.0.size", "∞", "Should be a whole number."),
        ("gpu.matmul_latency_s", "11 s", "Out of range. From 0 to 1 × 10⁷ µs."),
        ("gpu.price_usd", "-1", "Out of range. From 0 to 1 × 10⁹ US$."),
        ("gpu.effective_utilization", "x" * 1000, f"“{'x' * 40}” is not a number of %."),
        ("sweep.d_model_max", "2048", "the largest d_model must not be below the smallest, 12,288"),
        ("name", "", "Should have at least 1 character"),
        ("name", "x" * 81, "Should have at most 80 characters"),
    ],
)
def test_a_complaint_says_what_may_be(location, typed, complaint):
    assert said(draft_of(), location, typed).startswith(complaint)


# --- what follows from a change ---------------------------------------------------------------------------------------


@examples(40)
@given(networks(), st.lists(st.integers(1, MOST_LEVELS), min_size=1, max_size=5))
def test_levels_come_and_go_and_always_make_a_network(network, counts):
    draft = draft_of(network=[level.model_dump() for level in network])
    for count in counts:
        before = draft["network"]
        draft = typed_into(draft, "network", count)
        after = Configuration.model_validate(draft).model_dump()["network"]
        assert len(after) == count
        kept = min(count, len(before))
        for old, new in zip(before[:kept], after[:kept], strict=True):
            assert {**old, "size": 0} == {**new, "size": 0}, "a level that stays was changed"
        assert [level["size"] for level in after[: kept - 1]] == [level["size"] for level in before[: kept - 1]]


def test_an_added_level_is_like_the_outermost_under_a_name_of_its_own():
    added = typed_into(draft_of(), "network", 3)["network"]
    assert [level["name"] for level in added] == ["Node", "Cluster", "Level 3"]
    assert [level["bandwidth"] for level in added] == [9e11, 1e11, 1e11]
    assert [level["size"] is None for level in added] == [False, False, True]


def test_a_level_that_makes_the_network_too_large_is_refused_with_the_fix_beside_the_levels():
    draft = typed_into(draft_of(network=[INNER | {"size": 2**20}, OUTER]), "network", 3)
    assert "make the largest smaller" in said(draft, "network", 4)


@pytest.mark.parametrize("quantity", LAWS)
def test_every_law_can_be_chosen_from_every_law(quantity):
    for left in LAWS[quantity]:
        for chosen in LAWS[quantity]:
            draft = typed_into(draft_of(scaling={quantity: EXAMPLES[left]}), f"scaling.{quantity}", law_of(chosen))
            law = getattr(Configuration.model_validate(draft).scaling, quantity)
            assert type(law) is chosen
            assert by_location(draft)[f"scaling.{quantity}"].formula == chosen.__doc__


class TestPrecision:
    @pytest.mark.parametrize("name", load_hardware())
    def test_a_precision_without_a_rate_gets_one_in_proportion(self, name):
        gpu = load_hardware()[name].gpu
        for bits in PRECISIONS:
            draft = typed_into(with_gpu(**gpu.model_dump()), "gpu.precision_bits", bits)
            changed_gpu = Configuration.model_validate(draft).gpu
            rates = changed_gpu.flop_per_clock_per_thread
            assert rates.items() >= gpu.flop_per_clock_per_thread.items(), "a known rate was changed"
            if bits not in gpu.flop_per_clock_per_thread:
                known = {rate * width for width, rate in gpu.flop_per_clock_per_thread.items()}
                assert rates[bits] * bits in known, "bits a second are none of the GPU's"
            assert by_location(draft)[f"gpu.flop_per_clock_per_thread.{bits}"].written(rates[bits])

    def test_the_nearest_precision_sets_the_rate(self):
        rates = {"32": 1.0, "16": 16.0}
        draft = with_gpu(flop_per_clock_per_thread=rates)
        assert value_at(typed_into(draft, "gpu.precision_bits", 64), ("gpu", "flop_per_clock_per_thread", 64)) == 0.5
        assert value_at(typed_into(draft, "gpu.precision_bits", 8), ("gpu", "flop_per_clock_per_thread", 8)) == 32

    def test_a_known_precision_keeps_its_rate_to_the_bit(self):
        rates = {3: 0.1, 8: 1.0, 24: 0.7}  # 0.1 × 3 ÷ 3 is another number, and so is 0.7 × 24 ÷ 24
        for bits in rates:
            draft = typed_into(with_gpu(flop_per_clock_per_thread=rates, precision_bits=8), "gpu.precision_bits", bits)
            assert draft["gpu"]["flop_per_clock_per_thread"] == rates

    @pytest.mark.parametrize("refused", ["fast", "1e30", "0"])
    @pytest.mark.parametrize("bits", PRECISIONS)
    def test_a_refused_rate_does_not_stay_behind_where_nobody_sees_it(self, refused, bits):
        rate = "gpu.flop_per_clock_per_thread.16"
        draft = typed_into(typed_into(with_gpu(), rate, refused), "gpu.precision_bits", bits)
        assert messages_of(draft) == {}

    def test_a_refused_rate_that_is_the_only_one_moves_to_the_precision(self):
        draft = with_gpu(flop_per_clock_per_thread={"16": 32})
        draft = typed_into(typed_into(draft, "gpu.flop_per_clock_per_thread.16", "fast"), "gpu.precision_bits", 8)
        assert set(messages_of(draft)) == {"gpu.flop_per_clock_per_thread.8"}
        assert by_location(draft)["gpu.flop_per_clock_per_thread.8"].written("fast") == "fast"


class TestGuesses:
    @pytest.mark.parametrize(
        ("guess", "location"),
        [
            ("sm_count", "gpu.sm_count"),
            ("flop_per_clock_per_thread", "gpu.flop_per_clock_per_thread.16"),
            ("network.latency_s", "network.1.latency_s"),
            ("network", "network.0.bandwidth"),
        ],
    )
    def test_typing_over_a_guess_makes_it_none(self, guess, location):
        draft = with_gpu(guesses=["price_usd", guess])
        assert by_location(draft)[location].label.endswith(" · a guess")
        draft = typed_into(draft, location, "3")
        assert draft["gpu"]["guesses"] == ("price_usd",), "the guess stays one, or another is lost"
        assert not by_location(draft)[location].guess

    def test_typing_over_what_is_no_guess_keeps_the_guesses(self):
        draft = with_gpu(guesses=["price_usd", "network.latency_s", "effective_utilization"])
        before = draft["gpu"]["guesses"]
        for location, typed in [("network.0.bandwidth", "5"), ("gpu.sm_count", "5"), ("sweep.d_model_min", "4096")]:
            draft = typed_into(draft, location, typed)
        assert draft["gpu"]["guesses"] == before

    def test_only_what_is_a_guess_is_called_one(self):
        draft = with_gpu(guesses=["network.latency_s", "hbm_bytes"])
        called = {entry.location for entry in inputs(draft) if entry.guess}
        assert called == {"network.0.latency_s", "network.1.latency_s", "gpu.hbm_bytes"}

    def test_whatever_the_schema_takes_for_a_guess_is_an_option(self):
        names = [*Gpu.model_fields, "network", *(f"network.{name}" for name in INNER)]
        entry = by_location(with_gpu(guesses=names))["gpu.guesses"]
        assert set(names) == set(entry.options), "a guess would vanish when another is added"
        offered = by_location(draft_of())["gpu.guesses"].options
        assert not {"name", "sources", "guesses"} & set(offered), "no figure could be a guess there"
        assert messages_of(with_gpu(guesses=list(offered))) == {}


# --- the inputs of other schemas --------------------------------------------------------------------------------------


def question_inputs(**update) -> dict[str, Input]:
    return {entry.location: entry for entry in inputs_of(Questions, Questions(**update).model_dump())}


class TestQuestions:
    def test_every_field_has_one_input_in_the_section_of_its_question(self):
        entries = list(question_inputs().values())
        assert Counter(entry.path for entry in entries) == Counter(leaves(Questions()))
        sections = dict.fromkeys((entry.path[0], entry.section) for entry in entries)
        assert list(sections) == [(name, info.title) for name, info in Questions.model_fields.items()]
        assert all(entry.title and entry.description for entry in entries)
        labels = Counter((entry.section, entry.label) for entry in entries)
        assert max(labels.values()) == 1, f"inputs that look the same: {labels.most_common(1)}"

    def test_a_schema_by_itself_is_shown_as_well(self):
        paths = [entry.path for entry in inputs_of(StrategyQuestion, StrategyQuestion().model_dump())]
        assert paths == [(name,) for name in StrategyQuestion.model_fields]

    def test_nothing_but_hardware_has_guesses(self):
        assert not any(entry.guess for entry in question_inputs().values())

    @pytest.mark.parametrize("name", [name for name in StrategyQuestion.model_fields if name != "schedule"])
    def test_an_empty_text_is_none_and_the_other_way_round(self, name):
        entry = question_inputs()[f"strategy.{name}"]
        assert (entry.kind, entry.optional) == ("integer", True)
        assert (entry.written(None), entry.read(""), entry.read("  ")) == ("", None, None)
        assert (entry.written(4096), entry.read("4,096"), entry.read("2^12")) == ("4,096", 4096, 4096)
        assert type(entry.read("2^12")) is int

    @pytest.mark.parametrize(
        ("location", "typed", "complaint"),
        [
            ("strategy.dp", "0", "Out of range. From 1 to 1,000,000,000,000."),
            ("strategy.dp", "1.5", "Should be a whole number. From 1 to 1,000,000,000,000."),
            ("strategy.n_layers", "many", "“many” is not a number. From 1 to 1,048,576."),
            ("strategy.batch_tokens", "2^40", "Out of range. From 1 to 1,000,000,000,000 tokens."),
            ("latency_wall.latency_s", "11 s", "Out of range. From 1 × 10⁻⁶ to 1 × 10⁷ µs."),
            ("critical_compute.exponent_difference", "0.5", "Out of range. From -1 to 0.4."),
            ("growth.start_year", "1949", "Out of range. From 1950 to 2200."),
            ("growth.start_year", "soon", "“soon” is not a number. From 1950 to 2200."),
        ],
    )
    def test_a_complaint_says_what_may_be(self, location, typed, complaint):
        entry = question_inputs()[location]
        draft = replaced(Questions().model_dump(), entry.path, entry.read(typed))
        with pytest.raises(ValidationError) as refused:
            Questions.model_validate(draft)
        assert entry.complaint(entry.read(typed), error_messages(refused.value)[location]) == complaint

    @pytest.mark.parametrize("year", [1950, 2024, 2024.5])
    def test_a_year_has_no_comma(self, year):
        entry = question_inputs()["growth.start_year"]
        assert (entry.label, entry.written(year)) == ("Start (year)", str(year))
        assert entry.read(entry.written(year)) == year

    def test_choices_keep_the_capitals_that_they_have(self):
        assert question_inputs()["strategy.schedule"].options == {
            "fastest": "Fastest",
            "1F1B": "1F1B",
            "zero-bubble": "Zero-bubble",
        }
        activations = by_location(draft_of())["assumptions.activations"].options
        assert list(activations.values()) == ["Ignored", "Recomputed", "Stored"]
