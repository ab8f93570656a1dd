"""The page, without a browser: what is typed, ticked, opened and linked to is what is drawn, said, saved and shared."""

import io
import json
import math
import os
import random
import re
import string
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import pandas as pd
import pytest
import streamlit as st
from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.delta_generator import DeltaGenerator
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest, local_script_runner
from test_editing import GTX_580

import model
from model import Configuration
from model.characters import isolated
from model.editing import Entry
from model.form import MOST_LEVELS, Input, changed, inputs, value_at
from model.text import WORD_JOINER, plain
from model.words import sentence
from model.workload import MOST_AT_ONCE
from model.workspace import LONGEST_LINK, Shown, Workspace, edits, from_json, to_csv, to_json
from model.workspace import _packed as packed

APP = Path(__file__).parents[1] / "app.py"
DATA = Path(__file__).with_name("data")
VIEWS = UTILIZATION, PARALLELISM, MAXIMUM, TIME, LEVERS, FORMS, WHEN, STRATEGY, REALITY = (
    "Utilization",
    "Parallelism",
    "Maximum training compute",
    "Step time",
    "Levers",
    "Closed forms",
    "When and cost",
    "Any strategy",
    "Reality check",
)
PRESETS = model.load_presets()
HARDWARE = model.load_hardware()
DENSE, BATCH = PRESETS["GPU generations, dense"], PRESETS["Critical batch size"]
GTX_580_PRESET = PRESETS["2012: the largest run on GTX 580"]
H100, A100, V100 = DENSE.configurations
SECTIONS = list(dict.fromkeys(item.section for item in inputs(H100.model_dump()) if item.location != "name"))
LAWS = [item.location for item in inputs(H100.model_dump()) if item.kind == "law"]
WIDGETS = {
    "switch": "toggle",
    "choice": "selectbox",
    "law": "selectbox",
    "levels": "segmented_control",
    "several": "multiselect",
    "texts": "text_area",
}
SOURCES = {*model.load_known_models()["source"]}  # which may have a number as a program prints it in a title
RAW = re.compile(r"\de[+-]?\d|\d\.\d{6}|\b(nan|NaN|None|inf|True|False)\b")
LONGEST_ADDRESS = 8_000
simulate = model.simulate  # as it is before a test puts another in its place


# --- what a reader of the page does and sees --------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def as_on_a_server():
    """The script is compiled once, and packages are not searched for each page: both take longer than a run."""
    cache = ScriptCache()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "ScriptCache", lambda: cache)
        patch.setattr(BidiComponentManager, "discover_and_register_components", lambda *_, **options: None)
        yield


def run(node) -> AppTest:
    """The page after its script ran, which has to end well."""
    app = node.run()
    assert not app.exception, app.exception
    return app


def page(**address: str) -> AppTest:
    app = AppTest.from_file(APP, default_timeout=60)
    app.query_params.update(address)
    return run(app)


def workspace(*configurations: Configuration, **fields) -> Workspace:
    about = {"title": "Mine", "description": "Of a test.", "source": ""}
    return Workspace(**about | fields, configurations=configurations)


def of_the_catalogue(name: str) -> Configuration:
    return Configuration(name=name, **dict(HARDWARE[name]))


def open_file(app: AppTest, text: str, name: str = "file.json") -> AppTest:
    return run(app.file_uploader(key="file").upload(name, text.encode(), "application/json"))


def page_of(*configurations: Configuration, **fields) -> AppTest:
    return open_file(page(), to_json(workspace(*configurations, **fields)))


def form() -> AppTest:
    """A page of an H100 that is not ticked, so that every run is only of the sidebar."""
    return page_of(H100, shown=(Shown(included=False, colour=0),))


def show(app: AppTest, view: str) -> AppTest:
    """Open a tab, which the browser writes into the address."""
    app.session_state["view"] = app.query_params["view"] = view
    return run(app)


def select(app: AppTest, name: str) -> AppTest:
    return run(app.selectbox(key="configuration").select(name))


def selected(app: AppTest) -> str:
    return app.selectbox(key="configuration").value


def names(app: AppTest) -> list[str]:
    return app.selectbox(key="configuration").options


def button(app: AppTest, label: str):
    return next(each for each in app.sidebar.button if each.label == label)


def press(app: AppTest, label: str) -> AppTest:
    return run(button(app, label).click())


def choose(app: AppTest, menu: str, option: str) -> AppTest:
    return run(next(each for each in app.sidebar.menu_button if each.label == menu).click(option))


def choose_preset(app: AppTest, title: str) -> AppTest:
    return run(app.selectbox(key="preset").select(title))


def tick(app: AppTest, name: str, ticked: bool) -> AppTest:
    return run(next(each for each in app.sidebar.checkbox if each.label == name).set_value(ticked))


def entry(app: AppTest) -> Entry:
    """What is kept of the selected configuration."""
    entries = app.session_state["entries"][app.selectbox(key="preset").value]
    return next(each for each in entries.values() if each.valid.name == selected(app))


def items(app: AppTest) -> dict[str, Input]:
    return {item.location: item for item in inputs(entry(app).draft)}


def unfold(app: AppTest, section: str, unfolded: bool = True) -> AppTest:
    app.session_state[f"section {section}"] = unfolded
    return run(app)


def around(app: AppTest, item: Input):
    """The part of the sidebar in which an input stands."""
    if item.location == "name":
        return app.sidebar
    return next(each for each in app.sidebar.expander if each.label == item.section)


def widget(app: AppTest, location: str):
    """The widget of an input, by its label; of several alike, such as those of network levels, by their order."""
    item = items(app)[location]
    alike = [each.path for each in items(app).values() if (each.section, each.label) == (item.section, item.label)]
    found = [
        each for each in around(app, item).get(WIDGETS.get(item.kind, "text_input")) if each.label == plain(item.label)
    ]
    assert len(found) == len(alike), f"{len(found)} widgets for {len(alike)} inputs: {item.label}"
    return found[alike.index(item.path)]


def edit(app: AppTest, location: str, value) -> AppTest:
    """Set the widget of an input of the selected configuration; its section is unfolded first."""
    section = items(app)[location].section
    if location != "name" and not app.session_state[f"section {section}"]:
        app = unfold(app, section)
    return run(widget(app, location).set_value(value))


def complaint(app: AppTest, location: str) -> str:
    """What stands right below the widget of an input, if that is a complaint."""
    nodes = list(around(app, items(app)[location]))
    below = nodes[next(index for index, node in enumerate(nodes) if node is widget(app, location)) + 1]
    return below.value if below.type == "error" else ""


def headline(app: AppTest) -> dict[str, str]:
    """The numbers above the tabs."""
    in_tabs = {id(metric) for tab in app.tabs for metric in tab.metric}
    return {metric.label: metric.value for metric in app.main.metric if id(metric) not in in_tabs}


def captions(app: AppTest) -> list[str]:
    return [caption.value for caption in app.main.caption]


def said(elements) -> str:
    """What messages say, as it reads once Markdown is taken as it is."""
    return "\n".join(element.value for element in elements).replace("\\", "")


def charts(app: AppTest) -> list:
    return app.get("vega_lite_chart")


def data_of(chart, name: str) -> pd.DataFrame:
    data = next(each.data.data for each in chart.proto.datasets if each.name == name)
    return convert_arrow_bytes_to_pandas_df(data)


def strings_of(frame: pd.DataFrame) -> list[str]:
    """The texts in a frame, headings too."""
    return [text for text in [*frame, *frame.to_numpy().flatten()] if isinstance(text, str)]


def markup(app: AppTest) -> list[str]:
    """All beside the sidebar that the page says in Markdown."""
    kinds = ("markdown", "subheader", "caption", "warning", "info", "error")
    return [each.value for kind in kinds for each in app.main.get(kind)] + [each.label for each in app.main.metric]


def texts(app: AppTest) -> list[str]:
    """All that the page says beside the sidebar, in tables, charts and tooltips too."""
    found = markup(app) + [each.value for each in (*app.main.metric, *app.main.latex)]
    found += [option for slider in app.main.select_slider for option in slider.options]
    frames = [table.value for table in app.main.dataframe]
    frames += [data_of(chart, data.name) for chart in charts(app) for data in chart.proto.datasets]
    return found + [text for frame in frames for text in strings_of(frame)]


def curves(app: AppTest) -> dict[str, list[tuple[float, float]]]:
    """The lines of the first tab's chart, by the names of their configurations."""
    points = data_of(charts(app)[0], "points")
    return {
        name: list(zip(rows["training_flop"], rows["mfu"], strict=True))
        for name, rows in points.groupby("configuration")
    }


def curve_of(configuration: Configuration) -> list[tuple[float, float]]:
    frame = simulate(configuration)
    return list(zip(frame["training_flop"], frame["mfu"], strict=True))


def numbers(app: AppTest) -> pd.DataFrame:
    """The table of limits, as it sorts."""
    return app.main.dataframe[0].value.set_index("Configuration")


def words(app: AppTest) -> pd.DataFrame:
    """The table of limits, as it reads, without units in its headings."""
    arrow = app.main.dataframe[0].proto.arrow_data
    shown = convert_arrow_bytes_to_pandas_df(arrow.styler.display_values).set_index("Configuration")
    return shown.rename(columns=lambda column: column.partition(" (")[0])


def swatches(app: AppTest) -> dict[str, str]:
    """The colours and dashes of lines in the sidebar, by configuration."""
    lines = [each.value for each in app.sidebar.markdown if re.fullmatch(r":\w+\[\W+\]", each.value)]
    return dict(zip([each.label for each in app.sidebar.checkbox], lines, strict=True))


def address(app: AppTest) -> dict[str, str]:
    """What the browser's address says: what the page wrote, and the browser for widgets that are bound to it."""
    nodes = [*app.sidebar, *app.main]
    protos = [node.proto.tab_container if node.type == "tab_container" else node.proto for node in nodes]
    bound = {key for proto in protos if (key := getattr(proto, "query_param_key", ""))}
    values = {key: app.session_state[key] for key in bound}
    return app.query_params | {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in values.items()
    }


def another(item: Input, value):
    """Another valid value of an input, as its widget holds it."""
    if item.kind in ("number", "integer"):
        return item.written(value // 3 if item.kind == "integer" else value / 3)
    if item.kind in ("text", "texts"):
        return f"{item.written(value)}, changed"
    if item.kind == "several":
        return [*value, next(option for option in item.options if option not in value)]
    if item.kind == "switch":
        return not value
    return next(option for option in item.options if option != item.written(value))


@pytest.fixture
def downloads(monkeypatch) -> dict[str, Callable[[], str]]:
    """What the buttons of the last run would download, by their labels."""
    given, button = {}, st.download_button

    def offer(label, data, **options):
        given[label] = data
        return button(label, data, **options)

    monkeypatch.setattr(st, "download_button", offer)
    return given


@pytest.fixture
def written() -> Iterator[list[str]]:
    """The files that are opened to be written."""
    paths, listening = [], True

    def note(event, arguments):
        if listening and event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
            paths.append(arguments[0])

    sys.addaudithook(note)
    yield paths
    listening = False  # a hook stays


@pytest.fixture
def simulated(monkeypatch) -> Iterator[list[str]]:
    """The names of what is simulated, one after the other, from a start with nothing in store."""
    done = []

    def noted(configuration, **options):
        done.append(configuration.name)
        return simulate(configuration, **options)

    monkeypatch.setattr(model, "simulate", noted)
    st.cache_resource.clear()
    yield done
    st.cache_resource.clear()


# --- results ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("title", PRESETS)
def test_every_preset_renders_in_every_tab_and_in_words(title, view):
    """If this fails, a preset cannot be looked at, or shows a number as a program prints it."""
    app = page(preset=title, view=view)
    assert charts(app)
    shown = texts(app) + (strings_of(words(app)) if view == MAXIMUM else [])
    assert not [text for text in shown if RAW.search(text) and text not in SOURCES]


def test_headline_is_of_the_selected_configuration():
    app = page()
    assert headline(app) == {
        "Linear scaling ends": "2.0 × 10²⁸ FLOP",
        "Parameters": "13.1 trillion",
        "GPUs": "8.39 million",
        "MFU": "55%",
        "Latency wall": "2.7 × 10³¹ FLOP",
    }
    assert headline(select(app, "V100"))["Linear scaling ends"] == "2.8 × 10²⁷ FLOP"
    assert app.main.subheader[0].value.endswith(" V100")


def test_lines_are_the_simulations():
    assert curves(page()) == {each.name: curve_of(each) for each in DENSE.configurations}


def test_parallelism_has_panels_for_each_configuration_and_each_network_level():
    degrees_and_shares = 2 * len(DENSE.configurations)
    assert len(charts(page(view=PARALLELISM))) == degrees_and_shares + len(H100.network)


def test_table_says_the_papers_numbers_and_sorts_by_them():
    app = page(view=MAXIMUM)
    assert words(app)["Linear scaling ends"].to_dict() == {
        "H100": "2.0 × 10²⁸ FLOP",
        "A100": "3.4 × 10²⁸ FLOP",
        "V100": "2.8 × 10²⁷ FLOP",
    }
    h100 = words(app).loc["H100"]
    assert h100[list(headline(app))].to_dict() == headline(app), "the table says something else than the headline"
    assert h100[["Cost of GPUs", "Model", "Crosses again"]].tolist() == ["≈ $252 billion", "dense", "yes"]
    limits = model.training_limits(pd.concat(map(simulate, DENSE.configurations))).set_index("configuration")
    for heading, column, unit in (
        ("Linear scaling ends (10^24 FLOP)", "linear_scaling_end_flop", 1e24),
        ("Latency wall (10^24 FLOP)", "latency_wall_flop", 1e24),
        ("Last above (10^24 FLOP)", "last_above_flop", 1e24),
        ("Parameters (10^12)", "params", 1e12),
        ("GPUs", "n_gpus", 1),
        ("TP", "tp", 1),
        ("MFU", "mfu", 1),
    ):
        shown = numbers(app)[heading] * unit
        assert shown.to_dict() == pytest.approx(limits[column].to_dict()), f"{heading} sorts by something else"
    prices = {each.name: each.gpu.price_usd * limits["n_gpus"][each.name] / 1e9 for each in DENSE.configurations}
    assert numbers(app)["Cost of GPUs (10^9 US$)"].to_dict() == pytest.approx(prices)


def test_a_curve_that_ends_with_the_sweep_claims_no_latency_wall():
    walls = words(page(preset=BATCH.title, view=MAXIMUM))["Latency wall"]
    assert walls["DeepSeek"] == "≥ 2.4 × 10³⁶ FLOP"
    assert not walls.drop("DeepSeek").str.contains("≥").any()


def test_threshold_moves_table_headline_and_selected_point():
    app = page(view=MAXIMUM)
    before, at_80 = words(app), headline(app)
    run(app.slider(key="threshold").set_value(50))
    assert (words(app)["Linear scaling ends"] != before["Linear scaling ends"]).all()
    assert headline(app)["Linear scaling ends"] == words(app).loc["H100", "Linear scaling ends"]
    assert headline(app)["Linear scaling ends"] != at_80["Linear scaling ends"]
    assert headline(app)["Latency wall"] == at_80["Latency wall"]
    show(app, UTILIZATION)
    limits = model.training_limits(simulate(H100), 0.5)
    point = data_of(charts(app)[0], "selected")
    assert point["training_flop"].tolist() == limits["linear_scaling_end_flop"].tolist()
    slider = app.select_slider(key="point")
    assert slider.format_func(slider.value) == headline(app)["Linear scaling ends"]


def test_selected_point_is_told_in_a_sentence_and_over_the_levels_of_the_network():
    app = page()
    frame = simulate(H100)
    for row in (frame.iloc[0], frame.iloc[20], frame.iloc[-1]):
        run(app.select_slider(key="point").set_value(row["d_model"]))
        assert data_of(charts(app)[0], "selected")["training_flop"].tolist() == [row["training_flop"]]
        assert plain(sentence(row)) in [each.value for each in app.main.markdown]
        levels = app.main.dataframe[0].value.set_index("Network level")
        assert list(levels.index) == [level.name for level in H100.network]
        assert math.prod(levels.to_numpy().flatten().tolist()) == row["n_gpus"]
    assert headline(app) == headline(page()), "the headline is where linear scaling ends, not the selected point"
    select(app, "A100")
    assert app.select_slider(key="point").value == frame["d_model"].iloc[-1], "a comparison at one width is lost"


def test_known_models_can_be_hidden():
    app = page()
    assert "GPT-3" not in str(data_of(charts(app)[0], "known")) and len(data_of(charts(app)[0], "known")) > 2
    run(app.toggle(key="models").set_value(False))
    assert data_of(charts(app)[0], "known").empty
    assert address(app)["models"] == "false"


def test_an_infeasible_configuration_shows_its_reason_beside_the_others():
    in_a_minute = H100.assumptions.model_copy(update={"training_months": 2e-5})
    rushed = H100.model_copy(update={"name": "Rushed", "assumptions": in_a_minute})
    app = page_of(rushed, A100)
    assert said(app.warning) == f"**Rushed** has no feasible run. {simulate(rushed).attrs['reason']}"
    assert list(curves(app)) == ["A100"]
    assert said(app.main.info) == "Rushed is not among the curves."
    tick(app, "A100", False)
    assert not charts(app)
    assert said(app.main.info) == "Tick at least one configuration in the sidebar that can be run."


SHORT = H100.model_copy(update={"sweep": H100.sweep.model_copy(update={"d_model_max": 20480})})
TINY = {"d_model_min": 256, "d_model_max": 256, "d_model_multiple": 256}


def test_a_curve_that_never_falls_to_the_threshold_says_so():
    app = page_of(SHORT)
    for view in VIEWS:
        show(app, view)
        assert headline(app)["Linear scaling ends"] == headline(app)["Parameters"] == headline(app)["GPUs"] == "—"
        assert headline(app)["Latency wall"].startswith("≥ ")
        assert "MFU stays above 80% of peak sustained up to the end of the curve." in captions(app)
    assert words(show(app, MAXIMUM)).loc["H100", ["Linear scaling ends", "Cost of GPUs"]].tolist() == ["—", "—"]


def test_a_curve_that_is_nowhere_above_the_threshold_says_so():
    late = {"d_model_min": 131072, "d_model_max": 262144}
    app = page_of(H100.model_copy(update={"sweep": H100.sweep.model_copy(update=late)}))
    assert "MFU is nowhere above 80% of peak sustained: this is the smallest run of the curve." in captions(app)


def test_a_curve_of_one_point_is_drawn():
    tiny = H100.model_copy(update={"sweep": H100.sweep.model_copy(update=TINY)})
    assert len(simulate(tiny)) == 1
    app = page_of(tiny)
    for view in VIEWS:
        assert charts(show(app, view))


# --- the editor -------------------------------------------------------------------------------------------------------


def assert_takes(app: AppTest, location: str, value=None) -> None:
    """The widget's new value is in the configuration at its path, and nothing is complained about."""
    item, before = items(app)[location], entry(app).valid
    if value is None:
        value = another(item, value_at(entry(app).draft, item.path))
    edit(app, location, value)
    after = entry(app).valid
    held = value_at(after.model_dump(), item.path)
    as_typed = {"levels": len, "law": lambda law: law["law"]}.get(item.kind, lambda held: held)
    assert as_typed(held) == item.read(value), location
    assert after != before and not entry(app).problems, f"{location} has no effect"


@pytest.mark.parametrize("section", SECTIONS)
def test_every_input_of_every_section_can_be_edited(section):
    """If this fails, there is a parameter of the simulation that the page shows but does not take."""
    app = unfold(form(), section)
    for location in [location for location, item in items(app).items() if item.section == section]:
        if location in items(app):  # not a parameter of a law that another replaced
            assert_takes(app, location)


@pytest.mark.parametrize("quantity", LAWS)
def test_every_law_can_be_chosen_and_its_parameters_edited(quantity):
    app = form()
    first, *others = items(app)[quantity].options
    for law in (*others, first):
        assert_takes(app, quantity, law)
        for location in [each for each in items(app) if each.startswith(f"{quantity}.{law}.")]:
            assert_takes(app, location)


def test_all_numbers_of_network_levels_can_be_chosen_and_every_level_edited():
    app = unfold(form(), "Network")
    for count in (1, 2, 3, MOST_LEVELS):
        assert_takes(app, "network", count)
        groups = [each.value for each in around(app, items(app)["network"]).markdown]
        assert groups == [f"**Level {index}**" for index in range(1, count + 1)]
    for location in [each for each in items(app) if each.startswith("network.")]:
        assert_takes(app, location)


def test_what_is_edited_is_drawn():
    app = edit(page(), "gpu.sm_count", "66")
    halved = H100.model_copy(update={"gpu": H100.gpu.model_copy(update={"sm_count": 66})})
    assert curves(app) == {"H100": curve_of(halved), "A100": curve_of(A100), "V100": curve_of(V100)}
    assert "494.7 TFLOP/s at peak" in said(app.sidebar.caption)


def test_what_is_refused_stays_typed_with_the_reason_beside_it_and_the_last_results_stay():
    app = edit(page(), "gpu.sm_count", "66")
    before = headline(app), curves(app)
    edit(app, "gpu.sm_count", "many")
    assert widget(app, "gpu.sm_count").value == "many"
    assert complaint(app, "gpu.sm_count") == "“many” is not a number. From 1 to 1,000,000."
    assert (headline(app), curves(app)) == before
    assert len(app.error) == 1 and not app.warning and not app.main.info
    edit(app, "gpu.hbm_bytes", "40")
    assert (headline(app), curves(app)) == before, "half of an edit is drawn"
    edit(app, "gpu.sm_count", "1/0")
    assert complaint(app, "gpu.sm_count").startswith("“1/0” is not a number.")
    edit(app, "gpu.sm_count", "132")
    assert not app.error
    fewer_bytes = H100.gpu.model_copy(update={"hbm_bytes": 40e9})
    assert curves(app)["H100"] == curve_of(H100.model_copy(update={"gpu": fewer_bytes}))


def test_a_complaint_outlives_its_section_and_a_look_at_another_configuration():
    app = unfold(edit(page(), "gpu.sm_count", "many"), "GPU", False)
    assert not around(app, items(app)["gpu.sm_count"]).text_input
    assert said(app.error) == "SMs: “many” is not a number. From 1 to 1,000,000."
    select(app, "A100")
    assert not app.error
    unfold(select(app, "H100"), "GPU")
    assert widget(app, "gpu.sm_count").value == "many" and complaint(app, "gpu.sm_count")


def test_ends_of_the_sweep_in_the_wrong_order_are_refused_until_the_other_end_moves():
    app = edit(page(), "sweep.d_model_min", "2,097,152")
    assert complaint(app, "sweep.d_model_max")
    assert not complaint(app, "sweep.d_model_min")
    assert entry(app).valid == H100 and curves(app)["H100"] == curve_of(H100)
    edit(app, "sweep.d_model_max", "4,194,304")
    assert not app.error
    assert (entry(app).valid.sweep.d_model_min, entry(app).valid.sweep.d_model_max) == (2**21, 2**22)


def test_what_cannot_be_simulated_says_why_and_keeps_the_last_line():
    app = edit(page(), "scaling.depth", "power")
    before = curves(app)
    edit(app, "scaling.depth.power.coefficient", "1e9")
    with pytest.raises(ValueError) as refused:
        simulate(entry(app).valid)
    assert said(app.main.warning) == f"**H100** cannot be simulated: {refused.value}"
    assert curves(app) == before
    edit(app, "scaling.depth.power.coefficient", "0.2")
    assert not app.main.warning and curves(app)["H100"] == curve_of(entry(app).valid) != before["H100"]


def test_what_rests_on_guesses_says_so_until_they_are_typed_over():
    app = page(preset=GTX_580_PRESET.title)
    rests_on = "Guesses that this rests on: Effective utilization, Matmul latency, Network: Latency."
    assert rests_on in captions(app) and rests_on not in captions(page())
    edit(app, "gpu.guesses", ["effective_utilization"])
    assert "Guesses that this rests on: Effective utilization." in captions(app)
    assert widget(app, "gpu.effective_utilization").label == "Effective utilization (%) · a guess"
    edit(app, "gpu.effective_utilization", "84")
    assert widget(app, "gpu.guesses").value == [], "the form goes on to call it a guess"
    assert widget(app, "gpu.effective_utilization").label == "Effective utilization (%)"
    assert "Guesses" not in said(app.main.caption)


def test_a_gtx_580_typed_from_the_articles_table_gives_the_articles_numbers():
    app = choose(form(), "Add new configuration", "A copy of H100")
    run(app.toggle(key="live").set_value(False))
    for location, value in GTX_580:
        if location != "sweep.d_model_max":
            edit(app, location, value)
    press(app, "Run simulation")
    assert headline(app)["Linear scaling ends"] == "1.1 × 10²⁶ FLOP"
    assert headline(app)["GPUs"] == "16.8 million"
    (at_the_end,) = [each for each in captions(app) if each.startswith("Where linear scaling ends: ")]
    assert re.search(r"1,024-way data, 512-way tensor \(.*\) and 32-way pipeline parallelism", at_the_end)
    assert "1.581 TFLOP/s at peak" in said(app.sidebar.caption)


def test_a_gpu_of_the_catalogue_replaces_gpu_and_network():
    app = choose(unfold(edit(page(), "assumptions.training_months", "6"), "GPU"), "Take one of the catalogue", "B200")
    longer = H100.assumptions.model_copy(update={"training_months": 6})
    assert entry(app).valid == H100.model_copy(update=dict(HARDWARE["B200"]) | {"assumptions": longer})
    assert widget(app, "gpu.name").value == HARDWARE["B200"].gpu.name, "the form goes on to show the other GPU"
    assert curves(app)["H100"] == curve_of(entry(app).valid)


# --- configurations ---------------------------------------------------------------------------------------------------


def test_a_gpu_of_the_catalogue_is_added_ticked_selected_and_drawn():
    app = choose(page(), "Add new configuration", "B200")
    assert names(app) == ["H100", "A100", "V100", "B200"]
    assert selected(app) == address(app)["configuration"] == "B200"
    assert entry(app).valid == of_the_catalogue("B200") and curves(app)["B200"] == curve_of(entry(app).valid)
    assert len(set(swatches(app).values())) == 4
    assert choose(app, "Add new configuration", "B200") and selected(app) == "B200 (2)"


def duplicate(app: AppTest) -> AppTest:
    return press(app, "Duplicate")


def add_a_copy(app: AppTest) -> AppTest:
    return choose(app, "Add new configuration", "A copy of A100")


def test_the_form_waits_for_a_curve_only_after_an_edit_and_not_for_long(monkeypatch, simulated):
    """If this fails, one types into the form of what was selected before, or an edit's curve waits for the form."""
    app, seen = page(), []

    def slow(configuration, *, progress):
        def form_is_there() -> bool:
            return any("-name " in one for one in get_script_run_ctx().shared.widget_ids_this_run.snapshot())

        seen.append(form_is_there())
        time.sleep(0.45)
        progress(0.5)
        seen.append(form_is_there())
        return simulate(configuration, progress=progress)

    monkeypatch.setattr(model, "simulate", slow)
    app = choose(app, "Add new configuration", "MI300X")
    assert selected(app) == "MI300X"
    assert seen == [True, True]
    edit(app, "gpu.sm_count", "81")
    assert seen == [True, True, False, True]


@pytest.mark.parametrize("copy", [duplicate, add_a_copy])
def test_a_copy_starts_alike_and_goes_its_own_way(copy):
    app = copy(edit(page(configuration="A100"), "gpu.sm_count", "54"))
    assert selected(app) == "A100 (2)"
    assert curves(app)["A100 (2)"] == curves(app)["A100"]
    edit(app, "gpu.sm_count", "27")
    assert curves(app)["A100 (2)"] != curves(app)["A100"]
    assert select(app, "A100") and widget(app, "gpu.sm_count").value == "54"


def test_a_renamed_configuration_stays_selected_here_and_in_the_address():
    app = page(configuration="A100")
    before, colour = headline(app), swatches(app)["A100"]
    edit(app, "name", "Older")
    assert selected(app) == address(app)["configuration"] == "Older"
    assert names(app) == ["H100", "Older", "V100"] == list(swatches(app))
    assert headline(app) == before and swatches(app)["Older"] == colour
    assert curves(app)["Older"] == curve_of(A100)
    assert set(data_of(charts(app)[0], "points")["Configuration"]) == {*names(app)}, "tooltips tell the old name"


def test_a_name_that_another_has_is_refused_beside_it():
    app = edit(page(), "name", "V100")
    assert complaint(app, "name") == "Another configuration has this name."
    assert widget(app, "name").value == "V100" and names(app) == ["H100", "A100", "V100"]
    assert selected(app) == "H100"
    edit(app, "name", "H100 of 2022")
    assert not app.error and selected(app) == "H100 of 2022"
    edit(app, "name", "")
    assert complaint(app, "name") and selected(app) == "H100 of 2022"


def test_configurations_go_one_by_one_but_the_last_stays():
    app = select(page(), "A100")
    colours = swatches(app)
    press(app, "Remove")
    assert names(app) == ["H100", "V100"] == list(curves(app))
    assert selected(app) == "H100"
    assert swatches(app) == {name: colours[name] for name in names(app)}, "a line changes its colour as another goes"
    scale = json.loads(charts(app)[0].proto.spec)["layer"][-1]["encoding"]["color"]["scale"]
    assert [f":{colour}[━━]" for colour in scale["range"]] == list(swatches(app).values())
    press(app, "Remove")
    assert names(app) == [selected(app)] == ["V100"]
    assert button(app, "Remove").disabled
    choose(app, "Add new configuration", "A100 SXM")
    assert not button(app, "Remove").disabled


def test_put_back_is_as_in_the_preset_and_off_when_nothing_changed():
    app = page()
    assert button(app, "Put back").disabled
    before = headline(app), curves(app)
    edit(app, "gpu.sm_count", "66")
    edit(app, "gpu.l2_bytes", "none")
    assert headline(app) != before[0]
    press(app, "Put back")
    assert (headline(app), curves(app)) == before and not app.error
    assert widget(app, "gpu.sm_count").value == "132"
    assert button(app, "Put back").disabled and "edits" not in address(app)
    duplicate(app)
    assert button(app, "Put back").disabled, "there is nothing that a new configuration could be put back to"


def test_the_selection_stays_when_put_back_under_the_old_name():
    app = press(edit(page(configuration="A100"), "name", "Older"), "Put back")
    assert names(app) == ["H100", "A100", "V100"]
    assert selected(app) == "A100", "another configuration is edited from now on"


def test_the_selection_stays_when_hardware_of_the_catalogue_makes_a_new_name_valid():
    app = edit(edit(page(configuration="A100"), "gpu.sm_count", "many"), "name", "Newer")
    assert selected(app) == "A100"
    choose(app, "Take one of the catalogue", "B200")
    assert names(app) == ["H100", "Newer", "V100"]
    assert selected(app) == "Newer", "another configuration is edited from now on"


def test_unticked_configurations_leave_chart_table_and_downloads(downloads):
    app = tick(page(), "H100", False)
    assert set(curves(app)) == {"A100", "V100"}
    assert said(app.main.info) == "H100 is not among the curves." and not headline(app)
    assert {row["configuration"] for row in json.loads(downloads["Complete output"]())["results"]} == {"A100", "V100"}
    assert list(words(show(app, MAXIMUM)).index) == ["A100", "V100"]
    assert set(curves(show(tick(app, "H100", True), UTILIZATION))) == {"H100", "A100", "V100"}
    assert headline(app)


def test_edits_and_ticks_outlive_a_look_at_another_preset():
    app = tick(edit(page(), "gpu.sm_count", "66"), "A100", False)
    before = curves(app)
    choose_preset(app, BATCH.title)
    assert set(curves(app)) == {each.name for each in BATCH.configurations} and "edits" not in address(app)
    choose_preset(app, DENSE.title)
    assert curves(app) == before and set(before) == {"H100", "V100"}


def test_nothing_ticked_says_what_to_do():
    app = page()
    for checkbox in app.sidebar.checkbox:
        checkbox.uncheck()
    run(app)
    assert said(app.main.info) == "Tick at least one configuration in the sidebar that can be run."
    assert not charts(app)


def test_as_many_configurations_as_a_file_may_hold_and_no_more():
    most = 100
    many = [H100.model_copy(update={"name": f"H100 no. {number}"}) for number in range(1, most + 1)]
    app = page_of(*many)
    assert len(names(app)) == most
    if not button(app, "Duplicate").disabled:
        duplicate(app)
    assert len(names(app)) == most, "one more than can be saved, linked to or shown"


HOSTILE = [
    "**bold** _it_ `code` ~~no~~",
    "<b>tag</b> &lt; <!-- gone -->",
    "$x^2$ :red[no] :smile: [a](b)",
    r"back\slash \* \$ |a|b|",
    "# 1. First\u00a0- <script>alert(1)</script>",
    "عربي: [نص](x) *אב*",
]


def assert_reads(markdown: str, name: str) -> None:
    seen = re.sub(r"\\([!-/:-@[-`{-~])", r"\1", markdown).replace(WORD_JOINER, "")
    assert seen == isolated(" ".join(name.split())), "a reader sees another name"
    acts = r"[*`~<\[|]|\b_|_\b|&(?=[#\w])|^[#+>-]|\$.*\$|:\w+:|--|->|(?<=^\d)\."  # of Markdown, or of Streamlit in it
    assert not re.search(rf"(?<!\\)(\\\\)*({acts})", markdown), "part of the name is taken for markup"


def called(name: str) -> Configuration:
    """An H100 of a name, which its GPU and the levels of its network have too."""
    levels = tuple(level.model_copy(update={"name": name}) for level in H100.network)
    gpu = H100.gpu.model_copy(update={"name": name})
    return H100.model_copy(update={"name": name, "gpu": gpu, "network": levels})


def test_names_show_as_the_text_they_are():
    """If this fails, a name is taken for Markdown, HTML or LaTeX, or shows backslashes."""
    app = page_of(*map(called, HOSTILE))
    assert names(app) == HOSTILE, "the list, which takes no Markdown, shows other names"
    for checkbox, name in zip(app.sidebar.checkbox, HOSTILE, strict=True):
        assert_reads(checkbox.label, name)
    for name in HOSTILE:
        assert_reads(select(app, name).main.subheader[0].value.partition(" ")[2], name)
        assert address(app)["configuration"] == name
    assert set(curves(app)) == set(HOSTILE), "the chart, which takes no Markdown, names others"
    for view in VIEWS:
        show(app, view)
        assert not [text for text in markup(app) for name in HOSTILE if name in text.replace(plain(name), "")]
    assert list(words(show(app, MAXIMUM)).index) == HOSTILE
    tick(app, app.sidebar.checkbox[-1].label, False)
    assert_reads(app.main.info[0].value.removesuffix(" is not among the curves."), HOSTILE[-1])


# --- when it is simulated ---------------------------------------------------------------------------------------------


def test_without_live_update_edits_wait_for_their_run():
    app = page(live="false")
    before = headline(app), curves(app)
    assert not app.main.info, "nothing was changed"
    edit(app, "gpu.sm_count", "66")
    choose(app, "Add new configuration", "B200")
    assert selected(app) == "B200"
    select(app, "H100")
    assert (headline(app), curves(app)) == before
    assert said(app.main.info) == "Changed but not run: H100, B200. Press “Run simulation”."
    press(app, "Run simulation")
    assert not app.main.info
    assert headline(app) != before[0]
    assert curves(app)["H100"] != before[1]["H100"] and set(curves(app)) == {*before[1], "B200"}


def test_without_live_update_ticks_and_the_threshold_act_at_once():
    app = tick(page(live="false"), "A100", False)
    assert set(curves(app)) == {"H100", "V100"}
    before = headline(app)
    run(app.slider(key="threshold").set_value(50))
    assert headline(app)["Linear scaling ends"] != before["Linear scaling ends"]
    assert not app.main.info


def test_live_update_switched_on_runs_what_waits():
    app = edit(page(live="false"), "gpu.sm_count", "66")
    assert app.main.info
    run(app.toggle(key="live").set_value(True))
    assert not app.main.info and curves(app)["H100"] == curve_of(entry(app).valid)


def test_only_what_changed_is_simulated_again(simulated):
    """If this fails, every edit takes as long as all configurations together."""
    app = page()
    assert simulated == ["H100", "A100", "V100"]
    for act in (
        lambda: run(app),
        lambda: edit(app, "name", "Newest"),
        lambda: run(app.slider(key="threshold").set_value(60)),
        lambda: tick(app, "A100", False),
        lambda: tick(app, "A100", True),
        lambda: show(app, PARALLELISM),
        lambda: duplicate(app),
        lambda: edit(app, "gpu.sm_count", "many"),
        lambda: press(app, "Run simulation"),
    ):
        act()
    assert simulated == ["H100", "A100", "V100"]
    edit(app, "gpu.sm_count", "66")
    edit(app, "gpu.sm_count", "132")
    assert simulated == ["H100", "A100", "V100", "Newest (2)"]


def test_unticked_configurations_are_not_simulated_until_they_are_ticked(simulated):
    app = page_of(H100, A100, shown=(Shown(included=True, colour=0), Shown(included=False, colour=1)))
    del simulated[:]
    edit(select(app, "A100"), "gpu.sm_count", "54")
    assert simulated == []
    tick(app, "A100", True)
    assert simulated == ["A100"]


def test_a_parameter_of_a_law_that_goes_at_the_same_time_does_nothing():
    """If this fails, a quick choice of another law after typing shows an error of the program."""
    app = edit(form(), "scaling.batch", "power")
    widget(app, "scaling.batch").set_value("constant")
    widget(app, "scaling.batch.power.exponent").set_value("1/4")
    app = run(app)
    assert "scaling.batch.power.exponent" not in items(app)
    assert widget(app, "scaling.batch").value == "constant"


def test_configurations_that_differ_in_their_names_alone_are_simulated_once(simulated):
    page_of(*(H100.model_copy(update={"name": name, "sweep": SHORT.sweep}) for name in ("One", "Other")))
    assert simulated == ["H100", "A100", "V100", "One"]


def press_while_it_runs(button_id: str) -> None:
    states = WidgetStates()
    states.widgets.add(id=button_id, trigger_value=True)
    get_script_run_ctx().script_requests.request_rerun(RerunData(widget_states=states))


@pytest.fixture
def impatient(monkeypatch, simulated) -> list[tuple[float, str]]:
    """Let somebody press Stop as soon as there is one, in the midst of A100; what the bar says until then."""
    noted, draw, told = model.simulate, DeltaGenerator.progress, []

    def tell(bar, value, text=None):
        told.append((value, text))
        return draw(bar, value, text)

    def widgets() -> set[str]:
        return set(get_script_run_ctx().shared.widget_ids_this_run.snapshot())

    def slow(configuration: Configuration, *, progress):
        if configuration.name == "A100":
            first, before = not told, widgets()
            progress(0.25)
            assert widgets() == before, "a bar flickers for what takes no time"
            time.sleep(0.45)
            progress(0.5)
            if first:
                (stop,) = widgets() - before
                press_while_it_runs(stop)
                time.sleep(0.15)
                progress(0.75)
                simulated.append("on and on")
        return noted(configuration, progress=progress)

    monkeypatch.setattr(DeltaGenerator, "progress", tell)
    monkeypatch.setattr(model, "simulate", slow)
    return told


def test_stop_keeps_what_is_done_and_says_what_is_missing(impatient, simulated):
    app = page()
    assert impatient[0] == (pytest.approx(1.5 / 3), "Simulating A100, 2 of 3")
    assert simulated == ["H100"]
    assert said(app.main.warning) == "Stopped before A100, V100. “Run simulation” goes on."
    assert set(curves(app)) == {"H100"} and headline(app)["GPUs"] == "8.39 million"
    run(app.slider(key="threshold").set_value(70))
    assert simulated == ["H100"], "it goes on by itself"
    press(app, "Run simulation")
    assert simulated == ["H100", "A100", "V100"]
    assert {words for _, words in impatient[2:]} == {"Simulating A100, 1 of 2"}
    assert not app.main.progress and not app.main.button, "the bar stays when all is done"
    assert not app.main.warning and set(curves(app)) == {"H100", "A100", "V100"}


def test_after_a_lot_of_work_the_page_asks_before_it_goes_on(monkeypatch, simulated):
    """If this fails, a link to a hundred large configurations keeps the server busy for minutes."""
    noted = model.simulate

    def large(configuration: Configuration, **options):
        frame = noted(configuration, **options)
        frame.attrs["operations"] = 0.6 * MOST_AT_ONCE
        return frame

    monkeypatch.setattr(model, "simulate", large)
    app = page()
    assert simulated == ["H100", "A100"] and set(curves(app)) == {"H100", "A100"}
    assert said(app.main.warning) == "Stopped before V100. “Run simulation” goes on."
    press(app, "Run simulation")
    assert simulated == ["H100", "A100", "V100"] and set(curves(app)) == {"H100", "A100", "V100"}


def edit_another(app: AppTest) -> AppTest:
    return edit(select(app, "V100"), "gpu.sm_count", "66")


def look_at_another_preset(app: AppTest) -> AppTest:
    return choose_preset(app, BATCH.title)


def open_a_file(app: AppTest) -> AppTest:
    return open_file(app, to_json(workspace(SHORT, A100)))


@pytest.mark.parametrize("act", [edit_another, look_at_another_preset, open_a_file])
def test_after_a_stop_what_comes_next_is_simulated(impatient, act):
    app = act(page())
    assert not app.main.warning
    assert set(curves(app)) == set(names(app))


# --- links ------------------------------------------------------------------------------------------------------------


def look(app: AppTest) -> dict[str, object]:
    """All that a page is set to, and the numbers it shows."""
    entries = app.session_state["entries"][app.selectbox(key="preset").value].values()
    return {
        "preset": app.selectbox(key="preset").value,
        "configurations": [each.valid for each in entries],
        "shown": [each.shown for each in entries],
        "ticks": [(each.label, each.value) for each in app.sidebar.checkbox],
        "colours": swatches(app),
        "selected": selected(app),
        "threshold": app.slider(key="threshold").value,
        "view": app.session_state["view"],
        "headline": headline(app),
        "table": words(show(app, MAXIMUM)).to_dict(),
    }


def much_changed() -> AppTest:
    app = page(preset=BATCH.title)
    edit(app, "name", "Steady: 4 × 10⁶ & no more")
    edit(select(app, "Default"), "gpu.sm_count", "66")
    edit(app, "network", 3)
    tick(app, "DeepSeek", False)
    press(select(app, "Zhang et al."), "Remove")
    choose(app, "Add new configuration", "B200")
    run(app.slider(key="threshold").set_value(65))
    return show(select(app, "Default"), MAXIMUM)


def test_a_link_shows_everything_again():
    app = much_changed()
    again = page(**address(app))
    assert not again.warning
    assert look(again) == look(app)
    assert address(again) == address(app)


def test_a_link_to_another_preset_takes_no_edits_along():
    app = much_changed()
    choose_preset(app, DENSE.title)
    assert "edits" not in address(app)
    assert look(page(**address(app))) == look(app)


def test_what_is_too_long_for_a_link_leaves_none_of_an_earlier_state():
    app = edit(page(), "name", "Newest")
    assert "edits" in address(app)
    noise = random.Random(0)
    sources = [tuple("".join(noise.choices(string.ascii_letters, k=500)) for _ in range(40)) for _ in range(8)]
    gpus = [H100.gpu.model_copy(update={"name": texts[0][:9], "sources": texts}) for texts in sources]
    many = [H100.model_copy(update={"name": gpu.name, "gpu": gpu, "sweep": SHORT.sweep}) for gpu in gpus]
    open_file(app, to_json(workspace(*many, title=DENSE.title)))
    assert said(app.main.warning) == "This state is too long for a link: download it, and pass the file on."
    assert "edits" not in address(app), "the address is a link to something else"
    assert len(edits(workspace(*many[:2]), None)) > LONGEST_LINK, "this tries nothing"
    open_file(app, to_json(workspace(*many[:2])))
    assert "edits" not in address(app), "the server would not open this link"


def test_links_to_five_configurations_changed_throughout_are_short_enough_for_chats():
    app = page_of(*map(changed_throughout, [*DENSE.configurations, *map(of_the_catalogue, ("B200", "MI300X"))]))
    assert not [warning for warning in app.warning if "link" in warning.value]
    assert len(f"https://training-scaling.example.org/?{urlencode(address(app))}") < LONGEST_ADDRESS


def changed_throughout(configuration: Configuration) -> Configuration:
    draft = configuration.model_dump()
    for item in inputs(draft):
        if item.kind not in ("law", "levels"):
            draft = changed(draft, item, item.read(another(item, value_at(draft, item.path))))
    return Configuration.model_validate(draft)


@pytest.fixture(scope="module")
def first_look() -> dict[str, object]:
    return look(page())


CUT_SHORT = (DATA / "link-1.txt").read_text(encoding="utf-8").strip()[:-9]
BOMB, DEEP = (f"1.{packed(text)}" for text in (" " * 10**7, "[" * 10**5))
MOST_READ = "100000 characters that are read"
UNOPENED = "This link could not be opened: {}"
LEFT_OUT = "Part of this link is damaged and was left out: {}."


@pytest.mark.parametrize(
    ("broken", "notice"),
    [
        ({"preset": "Nothing"}, UNOPENED.format("there is no preset of this name")),
        ({"edits": CUT_SHORT}, UNOPENED.format("This link is damaged or incomplete")),
        ({"edits": "1.<b>**x**"}, UNOPENED.format("This link is damaged or incomplete")),
        ({"edits": "9.x"}, UNOPENED.format("This link was made by a newer version of the simulator")),
        ({"threshold": "200"}, LEFT_OUT.format("the threshold")),
        ({"threshold": "high"}, LEFT_OUT.format("the threshold")),
        ({"view": "Nowhere"}, LEFT_OUT.format("the tab")),
        ({"configuration": "Nobody"}, LEFT_OUT.format("the selected configuration")),
        ({"models": "zzz"}, LEFT_OUT.format("a switch")),
        ({"live": "\x00", "walls": "2"}, LEFT_OUT.format("a switch")),
        ({"threshold": ["60", "70"], "limit": ["x"] * 9}, LEFT_OUT.format("the threshold, the limit")),
        (
            {"preset": "\x00\u202e", "edits": "A" * 200_000},
            UNOPENED.format(f"This link is longer than the {MOST_READ}"),
        ),
        ({"edits": BOMB}, UNOPENED.format("This link holds more than the 1 MB that are read")),
        ({"edits": DEEP}, UNOPENED.format("This link is no JSON: recursion limit exceeded")),
        (
            {"threshold": "", "view": "?", "configuration": "A"},
            LEFT_OUT.format("the selected configuration, the tab, the threshold"),
        ),
    ],
)
def test_a_damaged_link_gives_one_plain_notice_and_the_page(first_look, broken, notice):
    app = page(**broken)
    (warning,) = app.warning
    assert warning.value.startswith(notice)
    assert not {*broken} & {*app.query_params}, "the address would give the same notice again"
    assert look(app) == first_look
    assert not edit(app, "name", "Newest").warning, "it is still said after the page went on"


def test_the_notice_of_a_damaged_link_tells_what_is_shown_instead():
    app = page(preset=BATCH.title, edits=CUT_SHORT)
    assert app.selectbox(key="preset").value == next(iter(PRESETS)) or "first preset" not in said(app.warning)


def test_a_notice_of_a_link_goes_with_a_look_at_another_preset():
    assert not choose_preset(page(preset="Nothing"), BATCH.title).warning


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_file_brings_everything_back(downloads):
    app = much_changed()
    for saved in [downloads[label]() for label in ("State", "Complete output")]:
        again = open_file(page(), saved)
        assert not again.warning
        assert look(again) == look(app)
    assert entry(press(again, "Put back")).valid == BATCH.configurations[1], "it is the file's, not the preset's"


def test_a_link_is_saved_as_it_is_opened(downloads):
    page(threshold="90", view=PARALLELISM, configuration="V100")
    saved = from_json(downloads["State"]())
    assert (saved.threshold_percent, saved.view, saved.selected) == (90, PARALLELISM, "V100")


def test_downloads_hold_every_row_and_column_of_the_simulation(downloads):
    page(view=MAXIMUM)
    results = pd.concat(map(simulate, DENSE.configurations), ignore_index=True)
    rows = json.loads(downloads["Complete output"]())["results"]
    assert [list(row) for row in rows] == [list(results)] * len(results)
    assert [row["training_flop"] for row in rows] == results["training_flop"].tolist()
    assert downloads["Points"]() == to_csv(results)
    limits = model.training_limits(results)
    table = pd.read_csv(io.StringIO(downloads["Table"]()))
    pd.testing.assert_frame_equal(table[list(limits)], limits, check_dtype=False)


UNREADABLE = {
    "": "This file is no JSON",
    "[1, 2]": "This file holds no configurations",
    '{"title": "A"}': "This file holds no configurations",
    '{"schema_version": 99, "configurations": []}': "This file was made by a newer version of the simulator",
    to_json(workspace(H100)).replace('"sm_count": 132', '"sm_count": -1'): "should be at least 1; got -1",
    to_json(workspace(H100)).replace("132", "1e400"): "a number that is too large to read",
    to_json(workspace(H100)).replace("132", "NaN"): "This file is no JSON",
    to_json(workspace(H100)).replace("132", "9" * 400): "should be at most 1000000; got 999",
    to_json(workspace(H100))[:-9]: "This file is no JSON: EOF",
    to_json(workspace(H100)).replace('"H100"', r'"\ud800"'): "This file is no JSON",
    '{"configurations": ' + "[" * 10**5: "This file is no JSON: recursion limit exceeded",
    json.dumps({"configurations": [{"gpu": {}}] * 10_000}): "is missing",
    " " * (20 * 2**20 + 1): "This file is larger than the 20 MB that are read",
}


def test_a_file_that_cannot_be_opened_leaves_the_page_as_it_was(written):
    app = much_changed()
    before = look(app)
    written.clear()  # of what the libraries keep when they are first used
    for text, reason in UNREADABLE.items():
        open_file(app, text, "my **best** file\u202e.json")
        (warning,) = app.main.warning
        assert warning.value.startswith(f"**{plain('my **best** file.json')}** cannot be opened: ")
        assert reason in said([warning]) and "Traceback" not in warning.value
    assert look(app) == before
    assert not open_file(app, to_json(workspace(H100))).warning, "it is still said after another was opened"
    assert not written, "what strangers send is kept on the server"


def test_a_file_of_its_own_title_is_among_the_presets_and_its_link_stands_alone():
    app = page_of(
        of_the_catalogue("B200"),
        of_the_catalogue("MI300X"),
        title="Mine: *2026*",
        description="Two. And more.",
        selected="MI300X",
    )
    assert app.selectbox(key="preset").options[-1] == app.selectbox(key="preset").value == "Mine: *2026*"
    assert set(app.selectbox(key="preset").options[:-1]) == set(PRESETS)
    assert button(app, "Put back").disabled
    again = page(**address(app))
    assert look(again) == look(app) and selected(again) == "MI300X"
    assert "**Mine: \\*2026\\*.** Two." in [each.value for each in again.main.markdown]
    edit(again, "gpu.sm_count", "1")
    press(again, "Put back")
    assert look(again) == look(app)
    choose_preset(app, DENSE.title)
    assert set(curves(show(app, UTILIZATION))) == {"H100", "A100", "V100"}
    assert names(choose_preset(app, "Mine: *2026*")) == ["B200", "MI300X"]


def test_a_link_without_its_preset_shows_what_it_holds():
    link = address(page_of(of_the_catalogue("B200")))["edits"]
    for rest in ({}, {"preset": "Another title"}):
        app = page(edits=link, **rest)
        assert app.selectbox(key="preset").value == "Mine" and names(app) == ["B200"]


def test_a_preset_and_files_of_earlier_versions_can_be_opened():
    app = page()
    for path in (*sorted(DATA.glob("*-output-*.json")), *sorted(DATA.glob("saved-state-*.json"))):
        open_file(app, path.read_text(encoding="utf-8"))
        assert not app.main.warning and charts(app)
    open_file(app, next((APP.parent / "presets").glob("05-*.json")).read_text(encoding="utf-8"))
    assert look(app) == look(page(preset=BATCH.title))
