"""Whatever strangers send: links, files, configurations and typed text, made at random or by damaging good ones.

A few hundred examples of each, the same ones every time. Other ones, as many as one likes, for a run at night:

    FUZZ_EXAMPLES=10000 python -m pytest tests/test_fuzz.py
"""

import copy
import gc
import json
import math
import os
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from model import (
    Configuration,
    Preset,
    cluster_costs,
    error_messages,
    load_hardware,
    load_presets,
    simulate,
    step_breakdown,
    training_limits,
    workspace,
)
from model.breakdown import matmul_table
from model.characters import one_line
from model.editing import answered, asked_of, opened, typed
from model.form import Draft, Input, changed, inputs, inputs_of, replaced
from model.growth import limits_reached
from model.limits import closed_form_walls, node_rates
from model.questions import Questions, latency_wall_values
from model.text import plain, quantity_from
from model.words import bottleneck, described_limits, facts, guesses_in_words, level_in_words, sentence
from model.workspace import Unreadable, Workspace, edits, from_edits, from_json, to_json

DATA = Path(__file__).with_name("data")
ROOT = Path(__file__).parents[1]
DENSE = load_presets()["GPU generations, dense"]
H100 = DENSE.configurations[0]
MOST_CPU_S = 2  # of one refusal, on a machine that does other things too; most take a thousandth of it
MOST_SIMULATION_S = 6  # of what should take two at most
FUZZ_EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "0"))


def fuzz(few: int) -> settings:
    """So few examples in the suite, the same ones every time, and else as many as the environment says."""
    return settings(
        max_examples=FUZZ_EXAMPLES or few,
        derandomize=not FUZZ_EXAMPLES,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


# --- what is sent -----------------------------------------------------------------------------------------------------

WORDS = [
    *("", " ", "\x00", "a\x00b", "a\nb", "\u2028", "\ufffe", "\u202eabc", "\u2066", "אב", "مرحبا 12", "🦙" * 40),
    *("Infinity", "-Infinity", "NaN", "inf", "1e400", "H100 SXM", "H100", "law", "power", "__proto__", "${x}", "%s"),
    *("<script>alert(1)</script>", "[x](javascript:alert(1))", "$x^2$", ":material/home:", "x" * 10_000),
]
NUMBERS = [0, 1, -1, True, 0.5, -0.0, 5e-324, 1e-12, 1e21, 1e308, -1e308, 2**20, 2**53 + 1, 2**63, 10**400, -(10**400)]
MANY = [
    [[]] * 200,
    [None] * 2000,
    {"": None},
    {str(key): 1.0 for key in range(300)},
    [[[[[[[[[[]]]]]]]]]],
    [{}],
    {},
    [],
]
NASTY = st.sampled_from([None, *WORDS, *NUMBERS, *MANY, math.nan, math.inf, -math.inf])
KEYS = sorted({*Workspace.model_fields, *Configuration.model_fields, *type(H100.gpu).model_fields, "law", "size", ""})
ANYTHING = st.recursive(
    NASTY | st.text() | st.floats() | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner, max_size=4),
    max_leaves=12,
)


def places_of(document: Any, path: tuple = ()) -> list[tuple]:
    """The paths of all values in a document, its own first."""
    if isinstance(document, dict):
        inner = document.items()
    else:
        inner = enumerate(document) if isinstance(document, list | tuple) else ()
    return [path, *(place for step, value in inner for place in places_of(value, (*path, step)))]


@st.composite
def damaged_documents(draw, document: Any) -> Any:
    """A document with a few values replaced, dropped, added or given twice."""
    document = json.loads(json.dumps(document))
    for _ in range(draw(st.integers(1, 3))):
        *way, step = draw(st.sampled_from(places_of(document)[1:] or [("title",)]))
        place = document
        for before in way:
            place = place[before]
        act, new = draw(st.sampled_from(["replace", "drop", "add", "twice"])), copy.deepcopy(draw(NASTY | ANYTHING))
        if act == "replace":
            place[step] = new
        elif act == "drop":
            del place[step]
        elif isinstance(place, list):
            place.insert(step, copy.deepcopy(place[step]) if act == "twice" else new)
        else:
            place[draw(st.sampled_from(KEYS) | st.text(max_size=9))] = (
                copy.deepcopy(place[step]) if act == "twice" else new
            )
    return document


def damaged_texts(text: bytes | str) -> st.SearchStrategy:
    """A text cut off, with a piece replaced, or spliced with itself."""
    ends = st.integers(0, len(text))
    junk = st.binary(max_size=6) if isinstance(text, bytes) else st.text(max_size=6)
    cut = ends.map(lambda end: text[:end])
    patched = st.tuples(ends, ends, junk).map(lambda drawn: text[: drawn[0]] + drawn[2] + text[drawn[1] :])
    flipped = st.tuples(ends, junk).map(lambda drawn: text[: drawn[0]] + drawn[1] + text[drawn[0] + len(drawn[1]) :])
    return cut | patched | flipped


def json_of(document: Any, twice: str = "") -> str:
    """JSON, or what looks like it: NaN, infinities, numbers that nothing can hold, and a key twice."""
    text = json.dumps(document)
    if isinstance(document, dict) and twice in document:
        text = f'{text[:-1]}, "{twice}": {json.dumps(document[twice])}}}'.replace("Infinity", "1e400")
    return text


def link_of(document: Any) -> str:
    return f"1.{workspace._packed(document if isinstance(document, str) else json.dumps(document))}"


GOOD_FILES = [
    *(path.read_bytes() for path in sorted(DATA.glob("*-output-*.json"))),
    *(path.read_bytes() for path in sorted(DATA.glob("saved-state-*.json"))),
    *(path.read_bytes() for path in sorted((ROOT / "presets").glob("0*.json"))[:2]),
    to_json(Workspace(**dict(DENSE))).encode(),
]
GOOD_LINKS = [path.read_text().strip() for path in sorted(DATA.glob("link-*.txt"))]
GOOD_LINKS.append(edits(Workspace(**dict(DENSE)).model_copy(update={"selected": "H100"}), None))
LINKED = [json.loads(workspace._unpacked(link)) for link in GOOD_LINKS]


# --- what has to come of it -------------------------------------------------------------------------------------------


def assert_is_a_sentence(words: str) -> None:
    assert 0 < len(words) <= 400, "there is nothing to show, or too much"
    assert words == one_line(words), f"what is refused writes beyond its line: {words!r}"
    assert not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in plain(words)), "this cannot be shown"
    assert "Traceback" not in words and "Error" not in words, f"this is for programmers: {words}"


@contextmanager
def quickly(most_s: float = MOST_CPU_S) -> Iterator[None]:
    """What is done inside takes little time of the processor; what other examples left is not collected meanwhile."""
    gc.disable()
    began = time.process_time()
    try:
        yield
        took = time.process_time() - began
    finally:
        gc.enable()
    assert took < most_s, "one stranger would stop the page for everybody"


def assert_read_or_refused(read: Callable[..., Workspace], *arguments) -> None:
    """Either a workspace that can be saved, shared and opened again, or a sentence; neither takes long."""
    whole = sentence = None
    with quickly():
        try:
            whole = read(*arguments)
        except Unreadable as refused:
            sentence = str(refused)
    if whole is None:
        assert_is_a_sentence(sentence)
        return
    saved = whole.model_copy(update={"software_version": workspace.software_version()})
    assert from_json(to_json(whole)) == saved, "what was opened cannot be saved and opened again"
    link = edits(whole, None)
    if len(link) <= workspace.MOST_LINK_CHARACTERS:
        again = from_edits(link, None)
        assert again.configurations == whole.configurations, "what was opened cannot be shared"
    for each in whole.configurations:
        for text in (each.name, each.gpu.name, *each.gpu.sources, whole.title, whole.description, whole.source):
            assert text == one_line(text), "a text has characters that are not seen and change what stands beside it"


# --- links ------------------------------------------------------------------------------------------------------------


@fuzz(200)
@given(st.text() | st.text().map("1.".__add__) | st.binary().map(lambda raw: f"1.{raw.hex()}"))
@example("1.")
@example("1." + "A" * 10**6)
@example("\ud800")
@example("²." + "A" * 99)
@example("9" * 5000 + ".x")
@example(link_of(" " * 60_000_000))
def test_any_text_as_a_link(text):
    assert_read_or_refused(from_edits, text, DENSE)
    assert_read_or_refused(from_edits, text, None)


@fuzz(200)
@given(st.sampled_from(GOOD_LINKS).flatmap(damaged_texts))
def test_a_good_link_damaged(text):
    assert_read_or_refused(from_edits, text, None)


@fuzz(150)
@given(ANYTHING | st.sampled_from(LINKED).flatmap(damaged_documents), st.booleans())
@example({"configurations": [{"gpu": {}}] * 45_000}, False)
@example({"configurations": ["H100"] * 90_000}, True)
@example({"configurations": ["H100"], "shown": [None] * 90_000}, True)
@example({"configurations": ["H100"], "schema_version": 4}, True)
@example({"configurations": [[]], "title": 10**400}, True)
def test_any_document_as_a_link(document, of_a_preset):
    assert_read_or_refused(from_edits, link_of(document), DENSE if of_a_preset else None)


# --- files ------------------------------------------------------------------------------------------------------------


@fuzz(200)
@given(st.binary() | st.text() | st.sampled_from(GOOD_FILES).flatmap(damaged_texts))
@example("\ufeff\ufeff{}")
@example(GOOD_FILES[0].decode().encode("utf-16"))
@example(GOOD_FILES[0].decode().encode("utf-32-be"))
@example(b'{"title": "\\ud800"}')
@example(b"[" * 10**6)
@example(b'{"configurations":' + b"[" * 10**5 + b"]" * 10**5 + b"}")
@example(b'{"configurations": [' + b"[]," * (6 * 2**20) + b"[]]}")
@example(b'{"configurations": [1' + b"0" * (19 * 2**20) + b"]}")
@example(b'{"configurations": [0.' + b"3" * (19 * 2**20) + b"]}")
@example(b'{"configurations": [' + b'{"gpu":{}},' * 45_000 + b"{}]}")
@example("{" + ",".join(f'"{key}":1' for key in range(1_300_000)) + "}")
def test_any_bytes_as_a_file(text):
    assert_read_or_refused(from_json, text)


@fuzz(250)
@given(
    ANYTHING | st.sampled_from([json.loads(text) for text in GOOD_FILES]).flatmap(damaged_documents),
    st.sampled_from(["", "title", "configurations", "shown", "schema_version"]),
)
@example(json.loads(GOOD_FILES[-1]) | {" ": None}, "")
@example(json.loads(GOOD_FILES[-1]) | {"software_version": ""}, "title")
@example(
    json.loads(GOOD_FILES[-1]) | {"shown": [], "configurations": json.loads(GOOD_FILES[-1])["configurations"] * 4000},
    "",
)
def test_any_document_as_a_file(document, twice):
    assert_read_or_refused(from_json, json_of(document, twice))


# --- configurations ---------------------------------------------------------------------------------------------------


def values_for(item: Input) -> st.SearchStrategy:
    """Values of an input at its bounds, between and beyond them, of any magnitude, and what is no value at all."""
    if item.kind not in ("number", "integer"):
        options = {"switch": [True, False], "choice": list(item.options), "text": ["A", "אב"], "texts": [(), ("a",)]}
        return st.sampled_from(options.get(item.kind, [()]))
    least = item.least if item.least is not None else 1
    most = item.most if item.most is not None else 2**20
    between = st.floats(0, 1).map(lambda share: least + (most - least) * share ** draw_steepness(least, most))
    good = st.sampled_from([least, most, *([math.inf] if item.infinite else [])]) | between
    good = good.map(lambda value: value if math.isinf(value) else round(value)) if item.kind == "integer" else good
    return good if item.kind == "integer" else good.map(float)


def draw_steepness(least: float, most: float) -> float:
    """A power that draws small values of a wide range as often as large ones."""
    return max(1.0, math.log10(max(most - least, 10)))


@st.composite
def drafts(draw) -> Draft:
    """A configuration in which many inputs are anything that they may be, and a few are nonsense."""
    hardware = draw(st.sampled_from(list(load_hardware().values())))
    draft = Configuration(name="Any", **dict(hardware)).model_dump()
    levels = next(item for item in inputs(draft) if item.kind == "levels")
    draft = changed(draft, levels, draw(st.sampled_from(list(levels.options))))
    for law in [item for item in inputs(draft) if item.kind == "law"]:
        draft = changed(draft, law, draw(st.sampled_from(list(law.options))))
    items = [item for item in inputs(draft) if item.kind not in ("law", "levels", "several")]
    for item in draw(st.lists(st.sampled_from(items), unique_by=lambda item: item.location, max_size=len(items))):
        draft = replaced(draft, item.path, draw(values_for(item)))
    for item in draw(st.lists(st.sampled_from(items), max_size=1)) if draw(st.integers(0, 4)) == 0 else ():
        draft = replaced(draft, item.path, draw(NASTY | ANYTHING))
    return draft


def assert_is_said(configuration: Configuration) -> None:
    """It is simulated, and the page finds words for all that it says of that; or it is refused in a sentence."""
    frame = refused = None
    with quickly(MOST_SIMULATION_S):
        try:
            frame = simulate(configuration)
        except ValueError as error:
            refused = str(error)
    if frame is None:
        assert_is_a_sentence(refused)
        return
    assert_is_a_sentence(frame.attrs["reason"])
    if frame.empty:
        return
    assert (frame["training_flop"] > 0).all() and frame["mfu"].between(0, 1).all()
    assert np.isfinite(frame.select_dtypes("number").to_numpy(dtype=float)).all(), "a curve has points nowhere"
    limits = training_limits(frame, 0.8)
    described = described_limits(limits, {configuration.name: configuration.gpu}, {configuration.name: True})
    parts, costs = step_breakdown(configuration, frame), cluster_costs(configuration, frame)
    walls = closed_form_walls(configuration.gpu, configuration.network, 0, **Questions().latency_wall.quantities)
    reached = limits_reached(described, **Questions().growth.model_dump())
    assert len(costs) == len(parts) == len(facts(frame)) and len(walls) and len(reached)
    latency_wall_values(configuration, frame.iloc[-1])
    matmul_table(configuration, frame.iloc[-1])
    node_rates(configuration.gpu, configuration.network)
    to_json(Workspace(title="T", description="", source="", configurations=(configuration,)), frame)
    for words in (
        *(sentence(frame.iloc[-1]), bottleneck(parts.iloc[-1]), guesses_in_words(configuration.gpu) or "none"),
        *(level_in_words(configuration, index) for index in range(len(configuration.network))),
    ):
        assert "nan" not in words.lower().replace("nano", ""), f"a number is missing: {words}"


@fuzz(40)
@given(drafts())
def test_any_configuration(draft):
    try:
        configuration = Configuration.model_validate(draft)
    except ValidationError as refused:
        for location, message in error_messages(refused).items():
            assert location and message, "nobody could tell what to mend"
        return
    with np.errstate(all="raise", under="ignore"):
        assert_is_said(configuration)


# --- what is typed ----------------------------------------------------------------------------------------------------

FORM = [item for item in inputs(H100.model_dump()) if item.kind in ("number", "integer", "text", "texts")]
QUESTIONS = [item for item in inputs_of(Questions, Questions().model_dump()) if item.kind in ("number", "integer")]
LIKE_NUMBERS = st.text(alphabet="0123456789٣५ .,_^/*×x·eE+-−²⁻∞%\nGBisµmillonqudtrk", max_size=40)
TYPED = (
    LIKE_NUMBERS | st.text() | st.sampled_from(WORDS) | st.from_regex(r"\d{1,9}(\^\d{1,60}|e\d{1,9}|/\d{1,90}){1,3}")
)


@fuzz(300)
@given(TYPED, st.sampled_from([*FORM, *QUESTIONS]))
@example("1.0000001^" + "9" * 180, QUESTIONS[0])
@example("9" * 10**6, FORM[0])
@example("1e300", next(item for item in FORM if item.kind == "integer"))
@example("\u202eabc", FORM[0])
def test_any_text_in_any_field(text, item):
    with quickly():
        quantity_from(text, item.unit, item.si)
        if item in FORM:
            after = typed(opened(Workspace(**dict(DENSE)), count()), 0, item, text)[0]
        else:
            after = answered(asked_of(Questions()), item, text)
    valid = after.valid
    assert valid == type(valid).model_validate(valid.model_dump()), "what is simulated is not valid"
    for message in after.problems.values():
        assert len(message) < 500 and plain(message), "there is no sentence to show"


@fuzz(200)
@given(st.text() | st.sampled_from(WORDS))
def test_any_text_as_a_title_or_a_name(text):
    for schema, field, whole in ((Configuration, "name", H100), (Preset, "title", DENSE)):
        try:
            kept = getattr(schema.model_validate(dict(whole) | {field: text}), field)
        except ValidationError as refused:
            assert [*error_messages(refused)] == [field]
        else:
            assert kept == one_line(text), "the name is another one"
