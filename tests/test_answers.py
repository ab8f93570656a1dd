"""The page's answers: what each tab beside the curves draws and says is what the model gives for what is asked."""

import functools
import json
import math
import re
import time
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.testing.v1 import AppTest
from test_app import (
    A100,
    DENSE,
    FORMS,
    GTX_580_PRESET,
    H100,
    HOSTILE,
    LEVERS,
    PRESETS,
    RAW,
    REALITY,
    SHORT,
    STRATEGY,
    TIME,
    TINY,
    UTILIZATION,
    V100,
    VIEWS,
    WHEN,
    address,
    as_on_a_server,  # noqa: F401, a fixture
    assert_reads,
    captions,
    charts,
    choose_preset,
    data_of,
    downloads,  # noqa: F401, a fixture
    edit,
    headline,
    of_the_catalogue,
    open_file,
    page,
    press_while_it_runs,
    run,
    said,
    select,
    show,
    simulate,
    texts,
    workspace,
)

import model
from model import Configuration, Shape, step_breakdown, training_limits
from model.breakdown import matmul_table
from model.characters import isolated
from model.configuration import Pins
from model.growth import limits_reached
from model.limits import LATENCY, critical_compute_curves
from model.pinned import fastest_strategy
from model.progress import TooMuchWork
from model.questions import Questions
from model.reality import GAP, reality_check
from model.scaling import shape_by_laws
from model.sensitivity import IMPROVEMENTS, attainable, quantities, sensitivities
from model.tables import matmuls_in_words
from model.text import amount, duration, flop, percent, plain, scientific
from model.words import PARTS, bottleneck
from model.workload import MOST_TOGETHER
from model.workspace import edits, from_json, to_json

HARDWARE = model.load_hardware()
ANSWERS = TIME, LEVERS, FORMS, WHEN, STRATEGY, REALITY
SPARSE = PRESETS["GPU generations, sparse"].configurations[0]
GTX_580 = GTX_580_PRESET.configurations[0]
TODAY = PRESETS["Today's hardware"]
INFINITE = of_the_catalogue("H100 SXM Infinite Network, Low Latency")


# --- what a reader of the answers does and sees -----------------------------------------------------------------------


def page_with(*configurations: Configuration, view: str, **fields) -> AppTest:
    """A page that a link opens, so that nothing else was on it before."""
    return page(edits=edits(workspace(*configurations, **fields), None), view=view)


def tab(app: AppTest, view: str):
    """What is in one tab."""
    return next(each for each in app.tabs if each.label == view)


def answer(app: AppTest, **typed: str) -> AppTest:
    """Type into inputs of questions, by their names; all of them before the page runs."""
    for name, value in typed.items():
        question(app, name).set_value(value)
    return run(app)


def question(app: AppTest, name: str):
    """The widget of a question, by the name of its field."""
    inputs = [*app.main.text_input, *app.main.selectbox]
    return next(each for each in inputs if each.key.startswith("asked ") and each.key.endswith(f".{name}"))


def asked(app: AppTest, view: str) -> dict[str, str]:
    """All that is typed into a tab's inputs, by the names of their fields."""
    inputs = [*tab(app, view).text_input, *tab(app, view).selectbox]
    return {each.key.rpartition(".")[2]: each.value for each in inputs}


def press(app: AppTest, label: str, number: int = 0) -> AppTest:
    """Press the button of a label among those beside the sidebar; of several alike, by their order."""
    return run([each for each in app.main.button if each.label == label][number].click())


def labels(app: AppTest) -> list[str]:
    return [each.label for each in app.main.button]


def without_times(app: AppTest) -> list[str]:
    """The labels of buttons, without how long it takes, which is measured."""
    return [re.sub(r", about [1-9][\d.]* (s|min|h)$", ", about …", label) for label in labels(app)]


DRAW_MAP = "Draw the map, about …"


def press_for_map(app: AppTest) -> AppTest:
    return press(app, labels(app)[without_times(app).index(DRAW_MAP)])


def move_to(app: AppTest, row: pd.Series) -> AppTest:
    """Move the slider to a point of the curve."""
    return run(app.select_slider(key="point").set_value(row["d_model"]))


def metrics(app: AppTest, view: str) -> dict[str, str]:
    return {each.label: each.value for each in tab(app, view).metric}


def paragraphs(app: AppTest, view: str) -> list[str]:
    return [each.value for each in tab(app, view).markdown]


def table(app: AppTest, number: int = 0) -> pd.DataFrame:
    return app.main.dataframe[number].value


def by_name(comparison: pd.DataFrame) -> pd.DataFrame:
    """The table of strategies, by what its rows are about."""
    return comparison.set_index(" ")


def layers(chart, kind: str) -> list[dict]:
    """The layers of a chart whose marks are of one kind."""
    return [each for each in json.loads(chart.proto.spec)["layer"] if each["mark"]["type"] == kind]


def end_of(configuration: Configuration) -> pd.Series:
    """The row of a curve at which linear scaling ends, which is the point selected at first."""
    frame = simulate(configuration)
    return frame[frame["training_flop"] == training_limits(frame)["linear_scaling_end_flop"][0]].iloc[0]


def with_gpu(configuration: Configuration, **fields) -> Configuration:
    return configuration.model_copy(update={"gpu": configuration.gpu.model_copy(update=fields)})


def test_the_tabs_here_and_those_of_the_page_are_the_same():
    """If this fails, a tab was added or renamed, and nothing below looks at it."""
    assert [each.label for each in page().tabs] == list(VIEWS)


def test_answers_are_of_the_selected_configuration():
    """If this fails, a tab answers for another configuration than the one whose name stands above it."""
    for view, heading in ((TIME, "**Where a step of {} spends its time**"), (STRATEGY, "**{} at one point**")):
        app = page(view=view)
        for name in ("H100", "V100"):
            assert any(each.endswith(heading.format(name)) for each in paragraphs(select(app, name), view)), view


# --- step time --------------------------------------------------------------------------------------------------------


def shares_of(configuration: Configuration) -> pd.DataFrame:
    """The share of each part of the step, by titles, over training compute."""
    frame = simulate(configuration)
    parts = step_breakdown(configuration, frame).div(frame["step_s"], axis=0)
    return parts.rename(columns=PARTS).set_index(frame["training_flop"])


def table_of_parts(app: AppTest) -> dict[str, list[str]]:
    """Share and time of each part of the step at the selected point."""
    return {title: said_of_it for title, *said_of_it in table(app).to_numpy().tolist()}


def drawn_shares(app: AppTest) -> pd.DataFrame:
    return data_of(charts(app)[0], "parts").pivot(index="training_flop", columns="part", values="share")


@pytest.mark.parametrize("configuration", [H100, SPARSE, GTX_580, INFINITE], ids=lambda each: each.name)
def test_shares_of_the_step_are_the_breakdowns_and_fill_it(configuration):
    """If this fails, the areas show other times than the model's, or leave a gap at the top."""
    app = page_with(configuration, view=TIME)
    drawn, expected = drawn_shares(app), shares_of(configuration)
    np.testing.assert_allclose(drawn.sum(axis=1), 1, atol=1e-3)
    pd.testing.assert_frame_equal(drawn, expected[drawn.columns], check_names=False, rtol=1e-9)
    assert (expected[expected.columns.difference(drawn.columns)] <= 1e-4).all(axis=None), (
        "a part that counts is left out"
    )
    points = data_of(charts(app)[0], "points").set_index("training_flop")
    for part in expected:
        said_of_it = points[part].tolist()
        assert said_of_it == [percent(share, 1) for share in expected[part]], f"tooltips say another share of {part}"
    assert points["Arithmetic"].tolist() == [percent(mfu, 1) for mfu in simulate(configuration)["mfu"]]


def test_parts_stack_in_one_order_and_only_those_are_named_that_are_drawn():
    app = page(view=TIME)
    parts = data_of(charts(app)[0], "parts")
    order = parts.drop_duplicates("part").sort_values("order")["part"].tolist()
    assert order == [title for title in PARTS.values() if title in order]
    legend = json.loads(charts(app)[0].proto.spec)["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert legend == order
    assert table(app)["Part of the step"].tolist() == [title for title in order if title in table_of_parts(app)]
    assert "Recomputation" not in order, "a part that this configuration does not have is in the legend"


def test_sentence_and_tables_are_of_the_selected_point():
    """If this fails, what is said of a point is of another one."""
    app, frame = page(view=TIME), simulate(H100)
    parts = step_breakdown(H100, frame)
    for row in (frame.iloc[0], frame.iloc[15], frame.iloc[-1]):
        move_to(app, row)
        of_row = parts.loc[row.name]
        assert data_of(charts(app)[0], "selected")["training_flop"].tolist() == [row["training_flop"]]
        assert plain(bottleneck(of_row)) in paragraphs(app, TIME)
        assert table_of_parts(app)["Arithmetic"] == [percent(row["mfu"], 1), duration(row["mfu"] * row["step_s"])]
        assert table_of_parts(app) == {
            title: [percent(of_row[part] / row["step_s"], 1), duration(of_row[part])]
            for part, title in PARTS.items()
            if of_row[part] >= 0.0005 * row["step_s"]
        }
        pd.testing.assert_frame_equal(table(app, 1), matmuls_in_words(matmul_table(H100, row)), check_dtype=False)
    sentences = {plain(bottleneck(parts.loc[number])) for number in (0, 15, len(frame) - 1)}
    assert len(sentences) == 3, "the points are too alike to tell"


@pytest.mark.parametrize("configuration", [H100, SPARSE], ids=lambda each: each.name)
def test_the_table_leaves_out_what_would_be_nothing_of_the_step(configuration):
    """If this fails, rows of the table say 0.0%, or a part that the chart shows at this point is not in the table."""
    app, frame = page_with(configuration, view=TIME), simulate(configuration)
    left_out = set()
    for row in (frame.iloc[0], frame.iloc[len(frame) // 2], frame.iloc[-1]):
        move_to(app, row)
        shares = [float(share.rstrip("%")) for share, _ in table_of_parts(app).values()]
        assert min(shares) >= 0.1 and sum(shares) == pytest.approx(100, abs=0.05 * len(PARTS))
        of_row = drawn_shares(app).loc[row["training_flop"]]
        assert set(table_of_parts(app)) == set(of_row[of_row >= 0.0005].index)
        left_out |= set(of_row[of_row > 0].index) - set(table_of_parts(app))
    assert left_out, "nothing here is little enough to be left out"


def test_step_time_follows_another_selection_and_an_edit():
    app = select(page(view=TIME), "A100")
    pd.testing.assert_frame_equal(drawn_shares(app), shares_of(A100)[drawn_shares(app).columns], check_names=False)
    edit(app, "gpu.matmul_latency_s", "45")
    slower = with_gpu(A100, matmul_latency_s=45e-6)
    pd.testing.assert_frame_equal(drawn_shares(app), shares_of(slower)[drawn_shares(app).columns], check_names=False)
    row = simulate(slower).set_index("d_model").loc[app.select_slider(key="point").value]
    assert table(app, 1)["Latency"].unique().tolist() == ["45 µs"]
    assert table(app)["Share"][0] == percent(row["mfu"], 1)


# --- levers -----------------------------------------------------------------------------------------------------------


def drawn_levers(app: AppTest) -> pd.Series:
    """By how much the limit moves, by quantity and change."""
    levers = data_of(charts(app)[0], "levers").set_index(["Quantity", "Change"])["shown"]
    return levers.sort_index()


@functools.cache
def attained(configuration: str) -> pd.DataFrame:
    return attainable(Configuration.model_validate_json(configuration))


def changes_of(configuration: Configuration, threshold: float = 0.8) -> pd.DataFrame:
    """The sensitivities of a configuration, whose curves are simulated once."""
    return sensitivities(
        configuration, threshold, attainable=lambda each, *, progress: attained(each.model_dump_json())
    )


def levers_of(configuration: Configuration, column: str, threshold: float = 0.8) -> pd.Series:
    found = changes_of(configuration, threshold)
    found["Change"] = found["factor"].map({2: "× 2", 0.5: "÷ 2"})
    if column == "linear_scaling_end_ratio":  # goes on to where nothing was simulated
        above = found.attrs["unchanged"].above
        found.loc[above & ~found["above"], column], found.loc[found["above"] & (not above), column] = 0, math.inf
    return found.set_index(["quantity", "Change"])[column].clip(1 / 100, 100).sort_index()


def assert_levers(app: AppTest, *arguments) -> None:
    pd.testing.assert_series_equal(drawn_levers(app), levers_of(*arguments), check_names=False, rtol=1e-9)


def test_levers_are_the_sensitivities_of_the_limit_and_the_threshold():
    """If this fails, the bars show another configuration's limits, another limit or another threshold."""
    app = page(view=LEVERS)
    assert_levers(app, H100, "linear_scaling_end_ratio")
    assert read_off(app) == ("Linear scaling ends", "5.5 × 10²⁸ FLOP", "2.0 × 10²⁸ FLOP")
    assert read_off(app)[1] == flop(changes_of(H100).attrs["unchanged"].linear_scaling_end_flop)
    run(app.segmented_control(key="limit").set_value("Latency wall"))
    assert_levers(app, H100, "latency_wall_ratio")
    unchanged = changes_of(H100).attrs["unchanged"]
    assert read_off(app) == ("Latency wall", flop(unchanged.latency_wall_flop), headline(app)["Latency wall"])
    run(app.segmented_control(key="limit").set_value("Linear scaling ends"))
    run(app.slider(key="threshold").set_value(60))
    assert_levers(app, H100, "linear_scaling_end_ratio", 0.6)
    assert read_off(app)[2] == headline(app)["Linear scaling ends"] != "2.0 × 10²⁸ FLOP"
    assert_levers(select(app, "V100"), V100, "linear_scaling_end_ratio", 0.6)
    end = changes_of(V100, 0.6).attrs["unchanged"].linear_scaling_end_flop
    assert read_off(app) == ("Linear scaling ends", flop(end), headline(app)["Linear scaling ends"])


def read_off(app: AppTest) -> tuple[str, ...]:
    """The limit that moves, its value without the jags of the curve, and with them."""
    words = r"(.+): \*\*(.+)\*\*, without the jags of the curve, on which it is read off at (.+)\."
    (found,) = [match for each in paragraphs(app, LEVERS) if (match := re.fullmatch(words, each))]
    return found.groups()


def test_what_is_not_on_the_curve_is_not_read_off_it(made):
    """If this fails, a bound, or nothing at all, is said to be where a curve has its limit."""
    app = page_with(small(), view=LEVERS)
    bounds = headline(app)["Linear scaling ends"], headline(app)["Latency wall"]
    assert bounds[0] == "—" and bounds[1].startswith("≥ ")
    for limit, value in (("Linear scaling ends", 1e28), ("Latency wall", 1e34)):
        run(app.segmented_control(key="limit").set_value(limit))
        assert f"{limit}: **{flop(value)}**, without the jags of the curve." in paragraphs(app, LEVERS)
        assert not [each for each in paragraphs(app, LEVERS) if "read off" in each]
    app = page(preset=TODAY.title, view=LEVERS, configuration="B200")
    (sentence,) = [each for each in paragraphs(app, LEVERS) if each.startswith("Linear scaling ends: ")]
    assert headline(app)["Linear scaling ends"].startswith("≤ ")
    assert sentence.endswith(", without the jags of the curve.")


def notes(app: AppTest) -> dict[tuple[str, str], str]:
    """What is written beside bars, by quantity and change."""
    levers = data_of(charts(app)[0], "levers").set_index(["Quantity", "Change"])
    return levers.loc[levers["note"] != "", "note"].to_dict()


def test_what_moves_nothing_is_said_to_and_nothing_else_is():
    """If this fails, a row without bars looks like one that is missing, or a lever is said to be none."""
    app = page(view=LEVERS)
    for limit, column in (("Linear scaling ends", "linear_scaling_end_ratio"), ("Latency wall", "latency_wall_ratio")):
        run(app.segmented_control(key="limit").set_value(limit))
        moved = changes_of(H100).set_index("quantity")[column].map(math.log).abs().groupby(level=0).max()
        without = {quantity for quantity, note in notes(app).items() if note == "no effect"}
        assert without == {(quantity, "× 2") for quantity in moved.index[moved < math.log(1.005)]}
        assert 0 < len(without) < len(moved)


def test_what_moves_the_limit_most_is_first():
    levers = data_of(charts(page(view=LEVERS))[0], "levers")
    known = levers[~levers["note"].str.contains("above")]
    spread = known["shown"].map(math.log).abs().groupby(known["rank"]).max()
    assert len(known) == len(levers) - 1 and spread.index.tolist() == list(range(len(spread)))
    assert spread.is_monotonic_decreasing and spread.iloc[0] > spread.iloc[-1]
    names = levers.drop_duplicates("rank").sort_values("rank")["Quantity"].tolist()
    axis = json.loads(charts(page(view=LEVERS))[0].proto.spec)["layer"][0]["encoding"]["y"]["axis"]["labelExpr"]
    assert json.dumps([f" {name}" for name in names]) in axis, "bars bear other names"


def widgets() -> set[str]:
    """What the page shows so far, while its script runs."""
    return set(get_script_run_ctx().shared.widget_ids_this_run.snapshot())


def stop_as_soon_as_possible(progress: Callable[[float], None]) -> None:
    """Work during which somebody presses Stop, and which never ends by itself."""
    before = widgets()
    time.sleep(0.45)
    progress(0.5)
    (stop,) = widgets() - before
    press_while_it_runs(stop)
    time.sleep(0.15)
    progress(0.75)
    raise AssertionError("a press on Stop does nothing")


class Made:
    """Takes the place of `attainable`: limits that can be worked out by hand, from the outermost level, without work.

    Attributes
    ----------
    done : list of Configuration
        What was asked for.
    best : float
        Share of peak sustained that the first point has.
    gain : float
        Power of the level's bandwidth, by which that share grows.
    seconds : float
        That a curve takes.
    power : float
        Of the level's latency, by which the latency wall falls.
    operations : float
        That it says it took; if it is infinite, it is refused.
    stop_at : int or None
        How many curves are done when somebody presses Stop, once.
    """

    def __init__(self):
        self.done, self.best, self.gain, self.power = [], 1.0, 0, 2
        self.seconds, self.operations, self.stop_at = 0, 0, None

    def __call__(self, configuration: Configuration, *, progress: Callable[[float], None] | None = None):
        if len(self.done) == self.stop_at:
            self.stop_at = None
            stop_as_soon_as_possible(progress)
        self.done.append(configuration)
        if self.operations == math.inf:
            raise TooMuchWork("More work than the simulator takes on.")
        outer = configuration.network[-1]
        time.sleep(self.seconds)
        factor = outer.bandwidth / 1e11
        best = self.best * factor**self.gain
        frame = pd.DataFrame(
            {"training_flop": [1e27, factor * 1e28, 1e40], "fraction_of_peak": [best, 0.8 * best, 0.0]}
        )
        wall = 1e34 / (outer.latency_s / 1e-6) ** self.power
        frame.attrs = {"latency_wall_flop": wall, "ends": True, "operations": self.operations}
        return frame


@pytest.fixture
def made(monkeypatch) -> Iterator[Made]:
    """Curves that are made up, from a start with nothing in store."""
    made = Made()
    monkeypatch.setattr(model.sensitivity, "attainable", made)
    st.cache_resource.clear()
    yield made
    st.cache_resource.clear()


def small(name: str = "Small", **fields) -> Configuration:
    """An H100 with a curve of one point, and a network of round numbers."""
    inner, outer = H100.network
    network = (inner, outer.model_copy(update={"bandwidth": 1e11, "latency_s": 1e-6}))
    sweep = H100.sweep.model_copy(update=TINY)
    return H100.model_copy(update={"name": name, "network": network, "sweep": sweep} | fields)


def cells(app: AppTest, column: str = "flop") -> pd.DataFrame:
    return data_of(charts(app)[1], "cells").pivot(index="latency_factor", columns="bandwidth_factor", values=column)


def test_bars_that_are_cut_off_say_so(made):
    """If this fails, a bar looks as if the limit moved by less than it does."""
    made.power = 8
    app = page_with(small(), view=LEVERS)
    assert not explained(app) and {*notes(app).values()} == {"no effect"}
    run(app.segmented_control(key="limit").set_value("Latency wall"))
    assert drawn_levers(app)["Cluster: latency"].to_dict() == {"× 2": 1 / 100, "÷ 2": 100}
    assert explained(app) == ["cut off"]
    cut_off = {quantity: note for quantity, note in notes(app).items() if note != "no effect"}
    assert cut_off == {("Cluster: latency", "× 2"): "◀ ÷ 256", ("Cluster: latency", "÷ 2"): "× 256 ▶"}
    assert_notes_beside_their_bars(app)
    said_of_bars = data_of(charts(app)[0], "levers").set_index(["Quantity", "Change"])["Limit"]
    assert said_of_bars["Cluster: latency"].to_dict() == {"× 2": flop(1e34 / 256), "÷ 2": flop(1e34 * 256)}


def assert_notes_beside_their_bars(app: AppTest) -> None:
    """Notes start at the end of a bar that does not move, so that they are across from it."""
    levers = data_of(charts(app)[0], "levers")
    beyond = levers[levers["note"].str.contains("[◀▶]")]
    sides = (beyond["shown"] > 1).map({True: "right", False: "left"})  # to which the words are aligned, at the middle
    assert beyond["side"].tolist() == sides.tolist() and set(sides) == {"left", "right"}
    for layer in layers(charts(app)[0], "text"):
        align, dx = layer["mark"]["align"], layer["mark"]["dx"]
        assert layer["transform"] == [{"filter": f"datum.note !== '' && datum.side === '{align}'"}]
        assert layer["encoding"]["x"]["field"] == "one" and (dx > 0) == (align == "left")
    assert {layer["mark"]["align"] for layer in layers(charts(app)[0], "text")} == {"left", "right"}


@pytest.mark.parametrize(("power", "note"), [(14, "16,384"), (22, "4.19 million"), (70, "1.2 × 10²¹")])
def test_however_far_a_bar_goes_its_note_is_in_words(made, power, note):
    made.power = power
    app = page_with(small(), view=LEVERS)
    run(app.segmented_control(key="limit").set_value("Latency wall"))
    assert notes(app)["Cluster: latency", "× 2"] == f"◀ ÷ {note}"
    assert notes(app)["Cluster: latency", "÷ 2"] == f"× {note} ▶"


NEVER = "*never above*: with the change, no run is above the threshold."
ONLY_THEN = "*above it*: only with the change, runs are above the threshold."


def explained(app: AppTest) -> list[str]:
    """The notes that the captions explain."""
    words = {"never": NEVER, "only then": ONLY_THEN, "cut off": "▶ ◀: the limit moves by more than 100 times."}
    return [note for note, says in words.items() if says in "".join(captions(app))]


def test_the_real_bar_of_which_no_end_is_known_is_open():
    """If this fails, a bar of the H100's chart has an end although no run is above the threshold with twice the FLOP/s.

    There linear scaling ends before the first run of the sweep, wherever that is.
    """
    app = page(view=LEVERS)
    beyond = {quantity: note for quantity, note in notes(app).items() if note != "no effect"}
    changed = changes_of(H100).set_index(["quantity", "factor"])
    assert changed.index[~changed["above"]].tolist() == [("FLOP/s", 2)]
    assert math.isnan(changed["linear_scaling_end_ratio"]["FLOP/s", 2])
    assert beyond == {("FLOP/s", "× 2"): "◀ never above"} and drawn_levers(app)["FLOP/s", "× 2"] == 1 / 100
    bar = data_of(charts(app)[0], "levers").set_index(["Quantity", "Change"]).loc[("FLOP/s", "× 2")]
    assert bar["Limit"].startswith("≤ ") and bar["side"] == "left"
    assert explained(app) == ["never"]
    run(app.segmented_control(key="limit").set_value("Latency wall"))
    assert {*notes(app).values()} == {"no effect"} and not explained(app)


def test_a_change_that_only_brings_mfu_above_the_threshold_has_an_open_bar(made):
    """If this fails, the chart says by how much a limit moves that was not there before, or hides that it came."""
    made.best, made.gain = 0.7, 0.25
    app = page_with(small(), view=LEVERS)
    assert drawn_levers(app).to_dict() == {("Cluster: bandwidth", "× 2"): 100}
    assert notes(app) == {("Cluster: bandwidth", "× 2"): "above it ▶"} and explained(app) == ["only then"]
    left_out = next(each for each in captions(app) if each.startswith("Left out: "))
    assert "Cluster: latency" in left_out and "Cluster: bandwidth" not in left_out
    run(app.slider(key="threshold").set_value(65))
    assert notes(app)["Cluster: bandwidth", "÷ 2"] == "◀ never above" and explained(app) == ["never"]
    assert drawn_levers(app)["Cluster: bandwidth", "÷ 2"] == 1 / 100
    assert 1 < drawn_levers(app)["Cluster: bandwidth", "× 2"] < 100, "the other bar is not open"


def test_changes_that_are_out_of_range_have_no_bar(made):
    """If this fails, a bar stands for a limit that there is not. The longest training is of 1,200 months."""
    longest = H100.assumptions.model_copy(update={"training_months": 1200})
    drawn = drawn_levers(page_with(small(assumptions=longest), view=LEVERS))
    assert list(drawn["Training time"].index) == ["÷ 2"] and list(drawn["Depth"].index) == ["× 2", "÷ 2"]


def test_a_limit_that_nothing_moves_is_said_to_be(made):
    """If this fails, a configuration that is nowhere above the threshold has bars, or an error of the program."""
    made.best = 0.7
    app = page_with(small(), view=LEVERS)
    assert "None of them brings MFU above the threshold." in said(app.main.info) and not charts(app)
    run(app.slider(key="threshold").set_value(60))
    assert "None of them" not in said(app.main.info) and len(charts(app)) == 1


def test_the_map_is_drawn_when_asked_for_and_kept(made):
    """If this fails, a look at the levers takes as long as the map, or the map as long each time."""
    app = page_with(small(), A100, view=LEVERS)
    levers = len(made.done)
    assert len(charts(app)) == 1 and levers == len(drawn_levers(app)) + 1
    press_for_map(app)
    factors = np.array(IMPROVEMENTS)
    assert cells(app).index.tolist() == cells(app).columns.tolist() == factors.tolist() and len(factors) == 17
    np.testing.assert_allclose(cells(app), np.broadcast_to(1e28 * factors, (17, 17)), rtol=1e-9)
    run(app.segmented_control(key="limit").set_value("Latency wall"))
    np.testing.assert_allclose(cells(app), np.broadcast_to(1e34 * factors[:, None] ** 2, (17, 17)), rtol=1e-9)
    assert len(made.done) == levers + 17 * 17 - 1, "the network as it is was simulated twice, or others not at all"
    run(app.segmented_control(key="limit").set_value("Linear scaling ends"))
    show(show(app, UTILIZATION), LEVERS)
    assert len(charts(app)) == 2 and len(made.done) == levers + 17 * 17 - 1, "it is simulated again"


def test_cells_without_any_run_above_the_threshold_are_grey(made):
    """If this fails, a bound has the colour of a limit, or known limits have none. At 0.7 · √factor, from × √2 on."""
    made.best, made.gain = 0.7, 0.5
    app = press_for_map(page_with(small(), view=LEVERS))
    known = np.broadcast_to(np.array(IMPROVEMENTS) > 1, (17, 17))
    assert cells(app, "is_known").to_numpy().tolist() == known.tolist()
    (colour,) = [layer["encoding"]["color"] for layer in layers(charts(app)[1], "rect")]
    assert colour["condition"]["test"] == "datum.is_known" and colour["condition"]["field"] == "flop"
    assert colour["value"] == "gray" and "Grey: no run is above the threshold." in said(app.main.caption)
    limit = cells(app, "Linear scaling ends")
    assert limit[0.5].str.startswith("≤ ").all() and not limit[2.0].str.startswith("≤ ").any()
    least, *_, most = colour["condition"]["scale"]["domain"]
    assert least <= cells(app).to_numpy()[known].min() and cells(app).to_numpy()[known].max() <= most
    run(app.segmented_control(key="limit").set_value("Latency wall"))
    assert cells(app, "is_known").all(axis=None) and "Grey" not in said(app.main.caption)


def test_a_map_without_any_run_above_the_threshold_says_so(made):
    """If this fails, the map is a grey square."""
    made.best = 0.7
    app = press_for_map(page_with(small(), view=LEVERS))
    assert "On none of these networks is a run above the threshold" in said(app.main.info) and not charts(app)
    run(app.segmented_control(key="limit").set_value("Latency wall"))
    assert "On none of these" not in said(app.main.info) and len(charts(app)) == 2


def test_levers_that_take_long_are_asked_for_and_buttons_say_how_long(made):
    """If this fails, a look at the tab starts minutes of work, or nobody knows how long to wait.

    A curve takes 0.6 s or a bit more, so that 26 take about 20 s and 289 about 200 s.
    """
    made.seconds = 0.6
    app = page_with(small(), view=LEVERS)
    count = len(quantities(small()))
    assert count == 13 and len(made.done) == 1 and not charts(app)
    levers = f"Double and halve each quantity, about {duration(20)}"
    assert labels(app)[-2:] == [levers, f"Draw the map, about {duration(200)}"]
    made.seconds = 0
    press(app, levers)
    assert len(charts(app)) == 1 and len(made.done) == 2 * count + 1
    run(app.slider(key="threshold").set_value(70))
    assert len(charts(app)) == 1, "what was asked for is forgotten"
    made.seconds = 0.6
    edit(app, "network.1.bandwidth", "300")
    assert levers in labels(app) and not charts(app), "another network is not what was asked for"


def test_a_map_of_too_much_work_is_no_offer(made):
    """If this fails, somebody waits for what is refused, or is not told how to get it."""
    made.operations = MOST_TOGETHER / 100
    app = page_with(small(), view=LEVERS)
    assert "289 curves like this are more work than the simulator takes on. To make it less, " in said(app.main.info)
    assert len(charts(app)) == 1 and DRAW_MAP not in without_times(app), "the levers are less work"


def test_levers_of_too_much_work_are_refused_once(made):
    """If this fails, the page breaks, or works for seconds at every rerun for what it cannot show."""
    made.operations = math.inf
    app = page_with(small(), view=LEVERS)
    assert "More work than the simulator takes on." in said(app.main.info) and not charts(app)
    run(app.slider(key="threshold").set_value(70))
    assert len(made.done) == 1 and not app.main.progress


def test_stop_ends_the_curve_to_compare_by(made):
    """If this fails, the first of the curves cannot be stopped, or nothing can be asked for after that."""
    made.stop_at = 0
    app = page_with(small(), view=LEVERS)
    assert labels(app)[-2:] == ["Double and halve each quantity", "Draw the map"] and not charts(app)
    run(app.slider(key="threshold").set_value(70))
    assert not made.done and not app.main.progress, "it goes on by itself"
    press(app, "Double and halve each quantity")
    assert len(charts(app)) == 1 and len(made.done) == len(drawn_levers(app)) + 1
    assert without_times(app)[-1] == DRAW_MAP


def test_another_threshold_simulates_nothing_again(made):
    """If this fails, moving the threshold takes as long as all the simulations."""
    app = press_for_map(page_with(small(), view=LEVERS))
    done = len(made.done)
    run(app.slider(key="threshold").set_value(90))
    assert len(charts(app)) == 2 and len(made.done) == done
    assert (cells(app) < 1e28 * np.array(IMPROVEMENTS)).all(axis=None), "it is still that of the other threshold"


def test_the_map_of_what_is_edited_or_selected_is_asked_for_again(made):
    """If this fails, an edit starts minutes of work that nobody asked for, or the map is of something else."""
    app = press_for_map(page_with(small(), A100, view=LEVERS))
    select(app, "A100")
    assert len(charts(app)) == 1 and DRAW_MAP in without_times(app)
    select(app, "Small")
    assert len(charts(app)) == 2
    edit(app, "network.1.bandwidth", "200")
    assert len(charts(app)) == 1 and DRAW_MAP in without_times(app)
    press_for_map(app)
    assert cells(app).loc[1, 1] == pytest.approx(2e28)


def test_tooltips_of_the_map_say_its_cells(made):
    app = press_for_map(page_with(small(), view=LEVERS))
    cell = data_of(charts(app)[1], "cells").set_index(["bandwidth_factor", "latency_factor"]).loc[(4.0, 0.25)]
    assert cell[["Bandwidth", "Latency"]].tolist() == ["× 4", "× 4"], "less latency is not a lower factor of latency"
    assert cell[["Linear scaling ends", "Latency wall"]].tolist() == [flop(4e28), flop(1e34 / 16)]
    assert data_of(charts(app)[1], "here").to_numpy().tolist() == [[1, 1]]


def test_stop_ends_the_levers_and_go_on_takes_them_up_again(made):
    """If this fails, Stop does not stop, takes the page with it, or what was done is done again."""
    made.stop_at = 4
    app = page_with(small(), view=LEVERS)
    assert without_times(app)[-2:] == ["Stopped. Go on", DRAW_MAP] and not charts(app)
    assert headline(app)["Latency wall"] != "—" and not app.main.progress
    run(app.slider(key="threshold").set_value(70))
    assert len(made.done) == 4, "it goes on by itself"
    press(app, "Stopped. Go on")
    assert "Stopped. Go on" not in labels(app)
    assert len(made.done) == len(drawn_levers(app)) + 1


def test_stop_ends_the_map_and_leaves_the_levers(made):
    app = page_with(small(), view=LEVERS)
    levers = len(made.done)
    made.stop_at = levers + 20
    press_for_map(app)
    assert len(charts(app)) == 1 and labels(app)[-1] == "Stopped. Go on"
    assert len(made.done) == levers + 20
    press(app, "Stopped. Go on")
    assert len(charts(app)) == 2 and len(made.done) == levers + 17 * 17 - 1


def edit_the_selected(app: AppTest) -> AppTest:
    return edit(app, "gpu.matmul_latency_s", "5")


def edit_another(app: AppTest) -> AppTest:
    return select(edit(select(app, "A100"), "gpu.sm_count", "54"), "Small")


@pytest.mark.parametrize("act", [edit_the_selected, edit_another])
def test_after_a_stop_an_edit_goes_on(made, act):
    """If this fails, the tab stays stopped although what is asked is something else."""
    made.stop_at = 4
    app = page_with(small(), A100, view=LEVERS)
    assert "Stopped. Go on" in labels(app)
    act(app)
    assert "Stopped. Go on" not in labels(app) and charts(app)


def test_levers_bear_the_names_of_their_own_network_levels(made):
    """If this fails, they bear those of another configuration, which is alike but for its names."""
    inner, outer = small().network
    app = page_with(small(), small("Other", network=(inner.model_copy(update={"name": "Tray"}), outer)), view=LEVERS)
    assert "Node: bandwidth" in drawn_levers(app)
    done = len(made.done)
    assert "Tray: bandwidth" in drawn_levers(select(app, "Other"))
    assert len(made.done) == done, "the same is simulated under another name"


def test_the_page_is_there_while_levers_are_worked_out(made, monkeypatch):
    """If this fails, nothing can be downloaded, edited or read until the work is done."""
    seen = []
    monkeypatch.setattr(
        model.sensitivity, "attainable", lambda *given, **options: (seen.append(str(widgets())), made(*given))[1]
    )
    page_with(small(), view=LEVERS)
    assert all(f"-{part}" in seen[0] for part in ("name ", "copy link", "threshold", "view", "limit"))


# --- closed forms -----------------------------------------------------------------------------------------------------

ARTICLE = {"Largest model": "3.65 × 10¹⁴ parameters", "Its training": "1.60 × 10³¹ FLOP"}
ARTICLE_PARAMS = 3.154e7 / 4 * 4e6 / (4 * 20 * 120 * 9e-6)


def wall(app: AppTest) -> dict[str, str]:
    return {name: metrics(app, FORMS)[name] for name in ARTICLE}


def test_the_articles_values_give_the_articles_latency_wall():
    assert wall(page(view=FORMS)) == ARTICLE


@pytest.mark.parametrize(
    ("name", "typed", "params", "training_flop"),
    [
        ("training_months", "6", 2, 4),
        ("batch_tokens", "8e6", 2, 4),
        ("n_layers", "240", 1 / 2, 1 / 4),
        ("latency_s", "18", 1 / 2, 1 / 4),
        ("tokens_per_parameter", "40", 1 / 2, 1 / 2),
    ],
)
def test_each_quantity_moves_the_latency_wall_by_the_formula(name, typed, params, training_flop):
    """If this fails, an input enters the wall with another power, in another unit, or not at all.

    N = T · B / (4 · r · L · t), C = 6 · r · N².
    """
    app = answer(page(view=FORMS), **{name: typed})
    expected = ARTICLE_PARAMS * params, 6 * 20 * ARTICLE_PARAMS**2 * training_flop
    assert list(wall(app).values()) == [f"{scientific(expected[0], 3)} parameters", flop(expected[1], 3)]
    model_of, training_of, _ = formulas(app)
    for formula, value in ((model_of, expected[0]), (training_of, expected[1])):
        mantissa, _, exponent = f"{value:.3g}".partition("e+")
        assert formula.endswith(rf" = {mantissa} \times 10^{{{exponent}}}"), "the formula says another"


def formulas(app: AppTest) -> list[str]:
    """What is typeset, in TeX, without how it is laid out in lines."""
    layout = r"\\(begin|end)\{aligned\}|\\rule(\{[^}]*\}){2}|&|\\\\"
    return [" ".join(re.sub(layout, "", each.value.strip("$\n")).split()) for each in tab(app, FORMS).latex]


def test_formulas_are_typeset_with_the_typed_values():
    """If this fails, a formula has other values in it than those above it, or one at another letter's place."""
    app = answer(page(view=FORMS), n_layers="240", latency_s="18", tokens_per_parameter="25", batch_tokens="8e6")
    model_of, training_of, _ = formulas(app)
    letters, values, _ = model_of.removeprefix("N = ").split(" = ")
    assert letters == r"\frac{T \cdot B}{4 \cdot r \cdot L \cdot t}"
    assert values == (r"\frac{7.88 \times 10^{6} \cdot 8 \times 10^{6}}{4 \cdot 25 \cdot 240 \cdot 1.8 \times 10^{-5}}")
    assert training_of.startswith(r"C = 6 \cdot r \cdot N^2 = ")
    assert not [each for each in paragraphs(app, FORMS) if "$" in each], "a formula is left in the text"


@pytest.mark.parametrize("configuration", [H100, V100], ids=lambda each: each.name)
def test_critical_compute_is_typeset_with_the_rates_of_the_selected_node(configuration):
    """If this fails, the formula has rates of other hardware, or does not give the value beside it.

    Of 4 million tokens to 100 layers, F is 4 × 10⁴; a quarter has 7.885 million seconds.
    """
    app = select(page(view=FORMS), configuration.name)
    *_, critical = formulas(app)
    formula, *rates = re.split(r" (?=[Msn] = )", critical)
    assert formula == (
        r"C = 2 \left[ \frac{1}{960} \left( \frac{F \cdot M \cdot T}{s^2 \cdot n} \right)^2 "
        r"\right]^{1 / (1 - 2 \alpha)}"
    )
    letters, values = zip(*(rate.split(" = ") for rate in rates), strict=True)
    assert letters == ("M", "s", "n")
    mac_per_s, shard, nano = (float(re.sub(r" \\times 10\^\{(\d+)\}$", r"e\1", value)) for value in values)
    gpu, (node, cluster) = configuration.gpu, configuration.network
    words_per_s = [size / (2 * gpu.word_bytes) for size in (gpu.hbm_bandwidth, cluster.bandwidth)]
    assert mac_per_s == pytest.approx(node.size * gpu.max_flop_per_s / 2, rel=5e-3)
    assert nano == pytest.approx(gpu.max_flop_per_s / 2 / words_per_s[0], rel=5e-3)
    assert 3 / 4 * shard == pytest.approx(gpu.max_flop_per_s / 2 / words_per_s[1], rel=5e-3)
    expected = 2 / 960 * (4e4 * mac_per_s * 7.885e6 / (shard**2 * nano)) ** 2
    stated = metrics(app, FORMS)[f"Critical compute of {configuration.name}"]
    assert expected == pytest.approx(float(model.critical_compute(gpu, configuration.network, 0)), rel=0.05)
    assert stated == flop(float(model.critical_compute(gpu, configuration.network, 0)), 3)


def test_values_without_any_latency_cannot_be_taken():
    """If this fails, inputs hold values that are refused, beside formulas of other values."""
    network = tuple(level.model_copy(update={"latency_s": 0.0}) for level in H100.network)
    gpu = H100.gpu.model_copy(update={"matmul_latency_s": 0.0})
    app = page_with(H100.model_copy(update={"gpu": gpu, "network": network}), view=FORMS)
    (take,) = [each for each in app.main.button if each.label.startswith("Take the values of ")]
    assert take.disabled
    (take,) = [each for each in page(view=FORMS).main.button if each.label.startswith("Take the values of ")]
    assert not take.disabled


@pytest.mark.parametrize(("name", "latency"), [("H100", 9e-6), ("A100", None)])
def test_the_latency_wall_can_be_that_of_the_selected_configuration(name, latency):
    """If this fails, a value that is taken over is another configuration's, another point's or in another unit."""
    months = {"H100": H100, "A100": A100}[name]
    half_a_year = months.model_copy(
        update={"assumptions": months.assumptions.model_copy(update={"training_months": 6})}
    )
    app = page_with(half_a_year, view=FORMS)
    answer(app, latency_s="long", n_layers="7")
    press(app, f"Take the values of {name}")
    row, gpu = simulate(half_a_year).iloc[-1], half_a_year.gpu
    latency_s = gpu.matmul_latency_s + 2 * sum(level.latency_s for level in half_a_year.network)
    assert latency is None or latency_s == pytest.approx(latency)
    expected = {
        "training_months": 6,
        "batch_tokens": row["batch_tokens"],
        "n_layers": row["n_layers"],
        "latency_s": latency_s * 1e6,
        "tokens_per_parameter": row["dataset_tokens"] / row["params"],
    }
    typed = asked(app, FORMS)
    assert {each: float(typed[each].replace(",", "")) for each in expected} == pytest.approx(expected, rel=1e-9)
    assert not app.error and typed["exponent_difference"] == question(page(view=FORMS), "exponent_difference").value
    months_s = 3.154e7 / 12 * 6
    params = months_s * row["batch_tokens"] / (4 * expected["tokens_per_parameter"] * row["n_layers"] * latency_s)
    assert wall(app) == {
        "Largest model": f"{scientific(params, 3)} parameters",
        "Its training": flop(6 * expected["tokens_per_parameter"] * params**2, 3),
    }
    press(app, "As in the article", 0)
    assert wall(app) == ARTICLE


def complaint(app: AppTest, view: str, name: str) -> str:
    """What stands right below the input of a question, if that is a complaint."""
    nodes = list(tab(app, view))
    below = nodes[next(index for index, node in enumerate(nodes) if node is question(app, name)) + 1]
    return below.value if below.type == "error" else ""


def test_a_refused_value_is_explained_beside_its_input_and_the_last_result_stays():
    """If this fails, half a number typed in takes the result away, or shows an error of the program."""
    app = answer(page(view=FORMS), latency_s="18")
    before = wall(app)
    answer(app, latency_s="long")
    assert complaint(app, FORMS, "latency_s").startswith("“long” is not a number of µs. From ")
    assert not complaint(app, FORMS, "n_layers") and len(app.error) == 1
    assert question(app, "latency_s").value == "long" and wall(app) == before != ARTICLE
    for out_of_range in ("0", "1,000,001"):
        answer(app, n_layers=out_of_range)
        assert complaint(app, FORMS, "n_layers").startswith("Out of range."), out_of_range
    answer(app, exponent_difference="0.2")
    assert metrics(app, FORMS)["Critical compute of H100"] == "1.94 × 10³¹ FLOP", "one question waits for another"
    press(app, "As in the article", 0)
    assert not app.error and wall(app) == ARTICLE
    assert asked(app, FORMS)["latency_s"] == "9" and asked(app, FORMS)["exponent_difference"] == "0.2"


def test_as_in_the_article_is_off_while_it_is():
    app = page(view=FORMS)

    def disabled() -> list[bool]:
        return [each.disabled for each in app.main.button if each.label == "As in the article"]

    assert disabled() == [True, True]
    answer(app, exponent_difference="0.1")
    assert disabled() == [True, False]
    press(app, "As in the article", 1)
    assert disabled() == [True, True] and metrics(app, FORMS)["Critical compute of H100"] == "1.92 × 10²⁸ FLOP"


@pytest.mark.parametrize(
    ("alpha", "critical", "latency"),
    [("0", "1.92 × 10²⁸ FLOP", "2.31 × 10³¹ FLOP"), ("0.2", "1.94 × 10³¹ FLOP", "2.62 × 10³⁶ FLOP")],
)
def test_critical_compute_is_that_of_the_spec(alpha, critical, latency):
    app = answer(page(view=FORMS), exponent_difference=alpha)
    assert metrics(app, FORMS)["Critical compute of H100"] == critical
    assert metrics(app, FORMS)["Latency alone allows"] == latency
    assert data_of(charts(app)[0], "asked")["exponent_difference"].tolist() == [float(alpha)]


def test_critical_compute_is_of_the_selected_configuration_as_it_is_edited():
    app = select(page(view=FORMS), "A100")
    assert metrics(app, FORMS)["Critical compute of A100"] == "2.62 × 10²⁸ FLOP"
    edit(app, "network.1.bandwidth", "1000 TB/s")
    faster = A100.network[1].model_copy(update={"bandwidth": 1e15})
    expected = model.critical_compute(A100.gpu, (A100.network[0], faster), 0)
    assert metrics(app, FORMS)["Critical compute of A100"] == flop(float(expected), 3)


@pytest.mark.parametrize(("typed", "latency_s"), [("9", 9e-6), ("1", 1e-6)])
def test_the_plot_of_critical_compute_is_the_closed_forms(typed, latency_s):
    """If this fails, a curve is of other hardware, of another α or of another latency than its name says."""
    app = answer(page(view=FORMS), latency_s=typed)
    generations = {name: HARDWARE[f"{name} SXM"] for name in ("H100", "A100", "V100")}
    expected = critical_compute_curves(generations, np.arange(-10, 11) / 50, latency_s)
    drawn = data_of(charts(app)[0], "curves")
    pd.testing.assert_frame_equal(drawn[list(expected)], expected, check_dtype=False, rtol=1e-9)
    assert drawn["exponent_difference"].min() == -0.2 and drawn["exponent_difference"].max() == 0.2
    assert drawn["Training compute"].tolist() == expected["training_flop"].map(flop).tolist()
    assert metrics(app, FORMS)["Latency alone allows"] == flop(float(model.latency_limit(0, latency_s)), 3)
    assert limits_drawn(app) == ["H100", "A100", "V100", LATENCY]


def limits_drawn(app: AppTest) -> list[str]:
    """The limits in the plot of critical compute, which its legend has to name in the same order."""
    drawn = data_of(charts(app)[0], "curves").drop_duplicates("line")
    assert drawn["line"].tolist() == [f"line {number}" for number in range(len(drawn))]
    colour = layers(charts(app)[0], "line")[0]["encoding"]["color"]
    assert colour["scale"]["domain"] == drawn["line"].tolist()
    assert len({*colour["scale"]["range"]}) == len(drawn), "two limits have one colour"
    assert json.dumps([f" {name}" for name in drawn["curve"]]) in colour["legend"]["labelExpr"]
    assert drawn["Limit"].tolist() == drawn["curve"].tolist()
    return drawn["curve"].tolist()


def test_hardware_of_ones_own_has_a_curve_of_its_own():
    """If this fails, the selected configuration is not in the plot, or there twice because it is one of the three."""
    app = page(view=FORMS)
    assert limits_drawn(select(app, "V100")) == ["H100", "A100", "V100", LATENCY]
    edit(select(app, "H100"), "network.1.bandwidth", "30")
    slower = H100.network[1].model_copy(update={"bandwidth": 3e10})
    assert limits_drawn(app) == ["H100", "A100", "V100", "H100 ", LATENCY], "two curves have one name"
    drawn = data_of(charts(app)[0], "curves").set_index("curve")
    np.testing.assert_allclose(
        drawn.loc["H100 ", "training_flop"],
        model.critical_compute(H100.gpu, (H100.network[0], slower), drawn.loc["H100 ", "exponent_difference"]),
    )
    assert drawn.loc["H100 ", "training_flop"].tolist() != drawn.loc["H100", "training_flop"].tolist()
    edit(app, "gpu.price_usd", "1")
    edit(app, "network.1.bandwidth", f"{H100.network[1].bandwidth / 1e9:g}")
    assert limits_drawn(app) == ["H100", "A100", "V100", LATENCY], "a price is no other hardware"


def test_the_label_of_alpha_says_what_it_is():
    assert question(page(view=FORMS), "exponent_difference").label == "α, batch against depth"


def walls(app: AppTest) -> dict[str, float]:
    """The reference lines in the utilization chart."""
    return data_of(charts(app)[0], "walls").set_index("wall")["training_flop"].to_dict()


def with_walls(app: AppTest) -> AppTest:
    return run(app.toggle(key="walls").set_value(True))


H100_WALLS = {"Critical compute": 1.924e28, "Latency wall": 1.598e31}


def test_walls_are_drawn_in_the_utilization_chart_when_asked_for():
    """If this fails, a line stands at another training compute than the closed form's."""
    app = page()
    assert walls(app) == {} and "Closed forms" not in said(app.main.caption)
    with_walls(app)
    assert walls(app) == pytest.approx(H100_WALLS, rel=1e-3)
    assert (
        "Closed forms: critical compute 1.9 × 10²⁸ FLOP, of H100; latency wall 1.6 × 10³¹ FLOP, with the values of "
        "that tab."
    ) in captions(app)
    assert data_of(charts(app)[0], "walls")["Training compute"].tolist() == ["1.9 × 10²⁸ FLOP", "1.6 × 10³¹ FLOP"]
    assert address(app)["walls"] == "true" and walls(page(**address(app))) == walls(app)
    run(app.toggle(key="walls").set_value(False))
    assert walls(app) == {}


def test_walls_follow_the_selection_an_edit_and_what_is_typed():
    app = with_walls(page())
    assert walls(select(app, "V100"))["Critical compute"] == pytest.approx(1.305e27, rel=1e-3)
    (caption,) = [each for each in captions(app) if each.startswith("Closed forms: ")]
    assert caption.startswith("Closed forms: critical compute 1.3 × 10²⁷ FLOP, of V100; ")
    (lines,) = [each for each in layers(charts(app)[0], "rule") if each["mark"].get("strokeDash") == [8, 4]]
    assert lines["encoding"]["color"] == {"value": "gray"}, "they are in the colour of a configuration"
    select(app, "A100")
    edit(app, "gpu.hbm_bandwidth", "1")
    changed = with_gpu(A100, hbm_bandwidth=1e9)
    assert walls(app)["Critical compute"] == pytest.approx(model.critical_compute(changed.gpu, changed.network, 0))
    answer(show(select(app, "H100"), FORMS), training_months="6", exponent_difference="0.2")
    assert walls(show(app, UTILIZATION)) == pytest.approx(
        {"Critical compute": 1.942e31, "Latency wall": 4 * 1.598e31}, rel=1e-3
    )


def wall_names(app: AppTest) -> dict[str, tuple[str, int]]:
    """On which side of its wall each name ends, and how far below the top of the chart."""
    drawn = data_of(charts(app)[0], "walls").set_index("wall")
    return dict(zip(drawn.index, zip(drawn["side"], drawn["fall"], strict=True), strict=True))


def test_names_of_walls_stand_above_the_chart_each_in_a_line_of_its_own():
    """If this fails, a name covers a curve, or that of the other wall, or is cut off by the edge of the chart.

    The side is that of the words which is at the line, so that "right" stands to the left of it.
    """
    app = with_walls(page())
    names = [layer for layer in layers(charts(app)[0], "text") if layer["encoding"]["text"]["field"] == "wall"]
    assert {layer["mark"]["align"] for layer in names} == {"left", "right"}
    for layer in names:
        assert layer["encoding"]["y"]["value"] == {"expr": "datum.fall"}
        assert layer["transform"] == [{"filter": f"datum.side === '{layer['mark']['align']}'"}]
        assert (layer["mark"]["dx"] > 0) == (layer["mark"]["align"] == "left")
    assert wall_names(app) == {"Critical compute": ("left", -8), "Latency wall": ("right", -22)}
    answer(show(app, FORMS), latency_s="900")  # lowers the wall by 10⁴, so that there is room to its right
    assert wall_names(show(app, UTILIZATION)) == {"Critical compute": ("left", -8), "Latency wall": ("left", -22)}


def axis_of(chart) -> tuple[float, float]:
    """The ends of the axis of training compute."""
    layers = json.loads(chart.proto.spec)["layer"]
    ends = [layer["encoding"].get("x", {}).get("scale", {}).get("domain") for layer in layers]
    ((least, most),) = {tuple(each) for each in ends if each}
    return least, most


def test_the_axis_reaches_to_walls_beyond_the_curve():
    """If this fails, a wall is drawn outside the chart."""
    app = answer(page(view=FORMS), training_months="1200", latency_s="1e-3")
    with_walls(show(app, UTILIZATION))
    least, most = axis_of(charts(app)[0])
    assert least <= min(walls(app).values()) and max(walls(app).values()) <= most
    assert most > axis_of(charts(page())[0])[1], "these walls are within any axis"


def test_an_infinite_network_has_no_critical_compute_and_no_line():
    """If this fails, a chart gets an infinite axis, or no sign says that nothing stops growth."""
    app = page_with(INFINITE, view=FORMS)
    assert metrics(app, FORMS)[f"Critical compute of {INFINITE.name}"] == "∞ FLOP"
    assert limits_drawn(app) == ["H100", "A100", "V100", LATENCY]
    assert np.isfinite(data_of(charts(app)[0], "curves")["training_flop"]).all()
    assert list(walls(with_walls(show(app, UTILIZATION)))) == ["Latency wall"]


# --- when and at what cost --------------------------------------------------------------------------------------------


def reached_by(*configurations: Configuration, **growth) -> pd.DataFrame:
    limits = training_limits(pd.concat(map(simulate, configurations), ignore_index=True))
    return limits_reached(limits, **Questions().growth.model_dump() | growth)


def assert_years(app: AppTest, expected: pd.DataFrame) -> None:
    """The chart has these limits and years, those of the selected configuration last."""
    selected = expected["configuration"] == app.selectbox(key="configuration").value
    in_order = pd.concat([expected[~selected], expected[selected]], ignore_index=True)
    drawn = data_of(charts(app)[0], "limits").reset_index(drop=True)
    pd.testing.assert_frame_equal(drawn[list(expected)], in_order, check_dtype=False)


def test_years_in_chart_and_table_are_those_of_the_limits():
    """If this fails, a limit is said to be reached in another year than growth from the start gives."""
    app = page(view=WHEN)
    assert table(app).set_index("Configuration").loc["H100"].to_dict() == {
        "Linear scaling ends": "2.0 × 10²⁸ FLOP",
        "Linear scaling ends in": "2027–2028",
        "Latency wall": "2.7 × 10³¹ FLOP",
        "Latency wall in": "2032–2033",
    }
    assert_years(app, reached_by(*DENSE.configurations))
    h100 = data_of(charts(app)[0], "limits").set_index(["configuration", "limit"]).loc["H100", "Linear scaling ends"]
    growth = math.log(h100["training_flop"] / 5e25)
    assert h100["earliest"] == pytest.approx(2024 + growth / math.log(5))
    assert h100["latest"] == pytest.approx(2024 + growth / math.log(4))
    assert h100["Reached"] == "2027–2028"


def test_marks_of_the_selected_configuration_are_on_top():
    """If this fails, its marks are covered by those of configurations with about the same limits."""
    app = page(preset=TODAY.title, view=WHEN)
    for name in ("H100", "GB200 NVL72", "H200"):
        drawn = data_of(charts(select(app, name))[0], "limits")["configuration"].tolist()
        assert drawn[-2:] == [name, name] and name not in drawn[:-2]
        assert_years(app, reached_by(*TODAY.configurations))


MARKS_OF_LIMITS = {("Linear scaling ends", True): "diamond", ("Linear scaling ends", False): "triangle-left"}
MARKS_OF_LIMITS |= {("Latency wall", True): "tick", ("Latency wall", False): "triangle-right"}


def marks(app: AppTest) -> dict[tuple[str, str], str]:
    """The shape of the mark of each limit, by configuration and limit, as Vega filters them."""
    drawn, found = data_of(charts(app)[0], "limits"), {}
    for layer in [*layers(charts(app)[0], "point"), *layers(charts(app)[0], "tick")]:
        ((condition,),) = (transform.values() for transform in layer["transform"])
        terms = [(term.strip("!").removeprefix("datum."), not term.startswith("!")) for term in condition.split(" && ")]
        assert {field for field, _ in terms} == {"wall", "known"}
        chosen = drawn[np.all([drawn[field] == value for field, value in terms], axis=0)]
        for each in zip(chosen["configuration"], chosen["limit"], strict=True):
            assert each not in found, "two marks for one limit"
            found[each] = layer["mark"].get("shape", "tick")
    assert len(found) == len(drawn), "a limit without a mark"
    return found


@pytest.mark.parametrize(
    ("preset", "bounds"),
    [
        (
            "Today's hardware",
            {
                ("B200", "Linear scaling ends"): ("≤ 6.5 × 10²⁴ FLOP", "2022 or before"),
                ("GB200 NVL72", "Linear scaling ends"): ("≤ 6.5 × 10²⁴ FLOP", "2022 or before"),
            },
        ),
        ("Critical batch size", {("DeepSeek", "Latency wall"): ("≥ 2.4 × 10³⁶ FLOP", "2039–2041 or later")}),
    ],
)
def test_years_of_what_is_only_a_bound_are_only_a_bound(preset, bounds):
    """If this fails, a limit beyond the ends of a sweep is said, or drawn, to be reached in a certain year."""
    app = page(preset=preset, view=WHEN)
    years = table(app).set_index("Configuration")
    for (name, limit), said_of_it in bounds.items():
        assert tuple(years.loc[name, [limit, f"{limit} in"]]) == said_of_it
    drawn = data_of(charts(app)[0], "limits").set_index(["configuration", "limit"])
    assert drawn["Reached"].to_dict() == {each: years.loc[each[0], f"{each[1]} in"] for each in drawn.index}
    assert {each for each in drawn.index if " or " in drawn["Reached"][each]} == bounds.keys()
    assert marks(app) == {each: MARKS_OF_LIMITS[each[1], each not in bounds] for each in drawn.index}
    assert drawn["spoken"].to_dict() == {
        (name, limit): f"{name}, {limit}: {reached}" for (name, limit), reached in drawn["Reached"].items()
    }


def test_growth_that_is_typed_in_moves_the_years():
    """If this fails, one of the four inputs of growth does nothing.

    The largest run doubles or grows tenfold a year, from 10²⁴ FLOP in 2000.
    """
    app = answer(page(view=WHEN), start_flop="1e24", start_year="2000", slow_growth="2", fast_growth="10")
    typed = {"start_flop": 1e24, "start_year": 2000, "slow_growth": 2, "fast_growth": 10}
    assert_years(app, reached_by(*DENSE.configurations, **typed))
    end = math.log10(end_of(H100)["training_flop"] / 1e24)
    years = math.floor(2000 + end), math.floor(2000 + end / math.log10(2))
    assert table(app)["Linear scaling ends in"][0] == f"{years[0]}–{years[1]}" == "2004–2014"
    cone = data_of(charts(app)[0], "cone").set_index("year")
    assert cone.loc[2000].tolist() == [1e24, 1e24]
    assert cone.loc[2003].tolist() == pytest.approx([8e24, 1e27])
    press(app, "As at first")
    assert table(app)["Linear scaling ends in"][0] == "2027–2028"
    assert labels(app).count("As at first") == 1 and "As in the article" not in labels(app), "growth is of no article"


@pytest.mark.parametrize(
    "typed",
    [
        {"start_flop": "1e36", "slow_growth": "1.01", "fast_growth": "1.01"},
        {"start_flop": "1e12", "slow_growth": "1.01", "fast_growth": "1000", "start_year": "1950"},
        {"start_flop": "1e36", "slow_growth": "1000", "fast_growth": "1.01", "start_year": "2200"},
        {"start_year": "2024.5"},
    ],
)
def test_whatever_growth_is_typed_the_chart_stands(typed):
    """If this fails, a start or a growth at the end of its range breaks the page."""
    app = answer(page(view=WHEN), **typed)
    assert not app.error and len(charts(app)) == 2
    cone = data_of(charts(app)[0], "cone")
    assert np.isfinite(cone.to_numpy()).all() and len(cone) <= 2 * 60 + 2


def test_a_curve_that_never_reaches_a_limit_has_no_year():
    app = page_with(SHORT, view=WHEN)
    assert table(app)[["Linear scaling ends", "Linear scaling ends in"]].to_numpy().tolist() == [["—", "—"]]
    assert data_of(charts(app)[0], "limits")["limit"].tolist() == ["Latency wall"]
    assert table(app)["Latency wall"][0].startswith("≥ ") and table(app)["Latency wall in"][0].endswith(" or later")
    assert marks(app) == {(SHORT.name, "Latency wall"): "triangle-right"}


def test_the_largest_run_on_gtx_580s_costs_five_billion_dollars():
    """If this fails, the article's example has another price, power or energy on the page.

    2²⁴ GPUs at $300 are $5.03 billion; at 244 W they take 4.09 GW, and that for the time of training.
    """
    app = page(preset=GTX_580_PRESET.title, view=WHEN)
    energy_wh = 2**24 * 244 * end_of(GTX_580)["training_s"] / 3600
    assert metrics(app, WHEN) == {
        "GPUs": "16.8 million",
        "Cost of GPUs": "$5.03 billion",
        "Power": "4.09 GW",
        "Energy": f"{energy_wh / 1e12:.3g} TWh",
    }
    edit(app, "gpu.price_usd", "600")
    assert metrics(app, WHEN)["Cost of GPUs"] == "$10.1 billion"
    edit(app, "gpu.power_w", "122")
    assert metrics(app, WHEN)["Power"] == "2.05 GW" and metrics(app, WHEN)["Cost of GPUs"] == "$10.1 billion"
    frame = simulate(GTX_580)
    move_to(app, frame.iloc[0])
    assert metrics(app, WHEN)["GPUs"] == amount(frame["n_gpus"][0])
    assert metrics(app, WHEN)["Cost of GPUs"] == model.text.dollars(600 * frame["n_gpus"][0])


@pytest.mark.parametrize(
    ("measure", "per_gpu"),
    [
        ("Cost of GPUs", lambda gpu, frame: gpu.price_usd),
        ("Power", lambda gpu, frame: gpu.power_w),
        ("Energy", lambda gpu, frame: gpu.power_w * frame["training_s"] / 3600),
    ],
)
def test_lines_of_costs_are_numbers_of_gpus_times_what_each_costs(measure, per_gpu):
    """If this fails, a line is another configuration's, or its axis has another unit (Wh for energy)."""
    app = page(view=WHEN)
    run(app.segmented_control(key="cost").set_value(measure))
    points = data_of(charts(app)[1], "points").set_index("Configuration")
    for each in DENSE.configurations:
        frame = simulate(each)
        assert points.loc[each.name, "training_flop"].tolist() == frame["training_flop"].tolist()
        assert points.loc[each.name, "cost"].tolist() == pytest.approx(
            (frame["n_gpus"] * per_gpu(each.gpu, frame)).tolist()
        )
    selected = data_of(charts(app)[1], "selected")
    assert selected[measure].tolist() == [metrics(app, WHEN)[measure]]
    assert selected["training_flop"].tolist() == [end_of(H100)["training_flop"]]


def test_what_is_not_known_is_said_to_be_and_leaves_the_chart():
    app = edit(page(view=WHEN), "gpu.price_usd", "")
    assert metrics(app, WHEN)["Cost of GPUs"] == "—" and metrics(app, WHEN)["Power"] != "—"
    assert said(app.main.info) == "H100 has no price or power: type them under **GPU** at the left."
    assert set(data_of(charts(app)[1], "points")["Configuration"]) == {"A100", "V100"}
    assert data_of(charts(app)[1], "selected").empty
    alone = page_with(with_gpu(H100, price_usd=None, power_w=None), view=WHEN)
    assert len(charts(alone)) == 1 and "No GPU here has a price or a power" in said(alone.main.info)


def test_a_price_that_is_a_guess_is_said_to_be():
    app = page(view=WHEN)
    assert "The price is a guess." in said(app.main.caption)
    edit(app, "gpu.price_usd", "25,000")
    assert "The price is a guess." not in said(app.main.caption)


# --- any strategy -----------------------------------------------------------------------------------------------------

PINNED = ("DP", "TP", "PP", "EP", "Microbatches", "Schedule", "Interleaving")


@pytest.mark.parametrize("configuration", [H100, SPARSE, GTX_580], ids=lambda each: each.name)
def test_nothing_typed_shows_the_best_alone(configuration):
    """If this fails, the search for any strategy finds another one than the curve has, or the table shows another.

    Before anything of a strategy is typed there is none of the reader's own to compare the best with.
    """
    app, row = page_with(configuration, view=STRATEGY), end_of(configuration)
    compared = by_name(table(app))
    assert shown_strategies(app) == ["Best"]
    for name in PINNED:
        value = row[name.lower()]
        assert compared["Best"][name] == (value if isinstance(value, str) else f"{value:,}"), name
    assert compared["Best"]["MFU"] == percent(row["mfu"], 1) and compared["Best"]["Step"] == duration(row["step_s"])
    parts = data_of(charts(app)[0], "parts")
    assert parts.groupby("What")["value"].sum().to_dict() == pytest.approx({"Best": row["step_s"]})


def shown_strategies(app: AppTest) -> list[str]:
    """What is compared, which has to be the same in the table, the bars and the sentences."""
    compared = list(by_name(table(app)))
    (bars,) = charts(app)
    assert data_of(bars, "parts").drop_duplicates("row")["What"].tolist() == compared
    assert (
        json.dumps([f" {title}" for title in compared]) in layers(bars, "bar")[0]["encoding"]["y"]["axis"]["labelExpr"]
    )
    sentences = [each.partition(": ")[0] for each in paragraphs(app, STRATEGY)]
    assert [title for title in sentences if title in ("Yours", "Best")] == compared
    return compared


def test_ones_own_strategy_comes_and_goes_with_what_is_typed():
    """If this fails, a strategy is said to be the reader's who has typed none, or one that is typed is not shown."""
    app = page(view=STRATEGY)
    for typed, expected in (
        ({"d_model": "65,536"}, ["Best"]),  # a model, not a strategy
        ({"tp": "64"}, ["Yours", "Best"]),
        ({"tp": ""}, ["Best"]),
        ({"schedule": "1F1B"}, ["Yours", "Best"]),
        ({"schedule": "fastest", "interleaving": "1"}, ["Yours", "Best"]),
        ({"interleaving": ""}, ["Best"]),
    ):
        assert shown_strategies(answer(app, **typed)) == expected, typed


def test_the_schedule_may_be_the_fastest_of_all():
    app = page(view=STRATEGY)
    assert question(app, "schedule").value == "fastest"
    assert question(app, "schedule").options == ["Fastest", "1F1B", "Zero-bubble"]


def shape_of(row: pd.Series) -> Shape:
    return Shape(**{name: int(row[name]) for name in Shape.model_fields})


@pytest.mark.parametrize(
    "typed",
    [
        {"pp": 32},
        {"dp": 512, "tp": 1024},
        {"microbatches": 64, "schedule": "1F1B"},
        {"pp": 64, "interleaving": 3},
        {"schedule": "zero-bubble", "tp": 2048},
    ],
    ids=str,
)
def test_what_is_typed_is_obeyed_and_the_rest_is_the_fastest(typed):
    """If this fails, the strategy of the reader is not the one that is compared."""
    row = end_of(H100)
    app = answer(page(view=STRATEGY), **{name: f"{value}" for name, value in typed.items()})
    (own,) = fastest_strategy(H100, shape_of(row), int(row["n_gpus"]), Pins(**typed)).to_dict("records")
    compared = by_name(table(app))
    for name, value in typed.items():
        column = name.upper() if len(name) == 2 else name.capitalize()
        assert compared["Yours"][column] == (value if isinstance(value, str) else f"{value:,}")
    for name in PINNED:
        value = own[name.lower()]
        assert compared["Yours"][name] == (value if isinstance(value, str) else f"{value:,}")
    assert compared["Yours"]["Step"] == duration(own["step_s"])
    assert compared["Best"]["Step"] == duration(row["step_s"]), "the best changes with what is typed"
    steps = data_of(charts(app)[0], "parts").groupby("What")["value"].sum().to_dict()
    assert steps == pytest.approx({"Yours": own["step_s"], "Best": row["step_s"]})
    assert steps["Yours"] > steps["Best"]
    breakdown = step_breakdown(H100, pd.DataFrame([own])).iloc[0]
    assert plain(f"Yours: {bottleneck(breakdown)}") in paragraphs(app, STRATEGY)


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ({"pp": "7"}, "PP = 7 does not divide the 8,388,608 GPUs."),
        ({"pp": "128"}, "PP = 128 does not divide the 576 layers."),
        ({"ep": "2"}, "EP = 2 needs experts to split."),
        (
            {"dp": "1", "tp": "1", "pp": "1", "ep": "1"},
            "DP · TP · PP · EP = 1, but the cluster has 8,388,608 GPUs.",
        ),
        (
            {"pp": "64", "microbatches": "64", "schedule": "zero-bubble"},
            "The zero-bubble schedule needs at least 2 · PP = 128 microbatches, not 64.",
        ),
    ],
)
def test_a_strategy_that_is_impossible_says_why_and_the_best_stays(typed, problem):
    app = page(view=STRATEGY)
    best = by_name(table(app))["Best"].to_dict()
    answer(app, **typed)
    assert f"Your strategy: {problem}" in said(app.main.error).splitlines()
    assert list(by_name(table(app))) == ["Best"] and by_name(table(app))["Best"].to_dict() == best
    assert set(data_of(charts(app)[0], "parts")["What"]) == {"Best"}
    press(app, "Empty all")
    assert not app.main.error and by_name(table(app)).to_dict() == {"Best": best}


def test_a_strategy_beyond_memory_or_deadline_says_by_how_much():
    """If this fails, a strategy that cannot run looks like one that can."""
    app = answer(page(view=STRATEGY), n_gpus="8")
    messages = said([*app.main.error, *app.main.warning])
    row = end_of(H100)
    found = fastest_strategy(H100, shape_of(row), 8)
    broken = found.attrs["broken"]
    assert re.search(r"^It needs [\d.]+ TB of memory per GPU, of 80 GB\.$", broken[0])
    assert re.search(r"^Training takes .* longer than the 3 months allowed\.$", broken[1])
    assert messages.splitlines() == broken, "it is said to be the reader's, who has typed none"
    assert by_name(table(app))["Best"]["Memory per GPU"] in broken[0]
    pins = Pins(dp=8, tp=1, pp=1, ep=1)
    answer(app, dp="8", tp="1", pp="1", ep="1")
    messages, own = said(app.main.warning).splitlines(), fastest_strategy(H100, shape_of(row), 8, pins)
    assert len(own.attrs["broken"]) == 2 and own.attrs["broken"] != broken
    assert messages == [
        *(f"Your strategy: {each}" for each in own.attrs["broken"]),
        *(f"The best strategy: {each}" for each in broken),
    ]
    assert by_name(table(app))["Yours"]["Memory per GPU"] in own.attrs["broken"][0]


@pytest.mark.parametrize(
    "typed",
    [{"d_model": "16,777,216", "n_gpus": "1"}, {"d_model": "1", "n_gpus": "2", "n_layers": "2", "batch_tokens": "2"}],
)
def test_times_of_any_length_are_in_words(typed):
    """If this fails, the years or the nanoseconds of an extreme strategy are as a program prints them."""
    assert not [text for text in texts(answer(page(view=STRATEGY), **typed)) if RAW.search(text)]


def test_the_best_strategy_can_be_taken_and_changed():
    app, row = press(page(view=STRATEGY), "Take the best strategy's degrees"), end_of(H100)
    typed = asked(app, STRATEGY)
    for name in Pins.model_fields:
        assert typed[name] == (row[name] if isinstance(row[name], str) else f"{row[name]:,}")
    assert typed["d_model"] == typed["n_gpus"] == "", "the model and the cluster are pinned too"
    compared = by_name(table(app))
    assert compared["Yours"].tolist() == compared["Best"].tolist()
    answer(app, microbatches=f"{2 * row['microbatches']}")
    assert by_name(table(app))["Yours"]["Microbatches"] == f"{2 * row['microbatches']:,}"
    press(app, "Empty all")
    assert {*asked(app, STRATEGY).values()} == {"", "fastest"} and shown_strategies(app) == ["Best"]
    assert by_name(table(app))["Best"]["Microbatches"] == f"{row['microbatches']:,}"


def test_another_model_on_another_cluster():
    """If this fails, a model or a cluster that is no point of the curve cannot be asked for.

    Narayanan et al. 2021 trained on 2,240 GPUs, 105 layers of 20,480 by 3 million tokens.
    """
    app = page(view=STRATEGY)
    answer(app, d_model="20,480", n_layers="105", batch_tokens="9 × 2^18", n_gpus="2,240")
    shape = Shape(d_model=20480, d_ff=4 * 20480, n_layers=105, batch_tokens=9 * 2**18)
    (best,) = fastest_strategy(H100, shape, 2240).to_dict("records")
    assert best["dp"] * best["tp"] * best["pp"] * best["ep"] == 2240
    compared = by_name(table(app))["Best"]
    assert math.prod(int(compared[kind].replace(",", "")) for kind in ("DP", "TP", "PP", "EP")) == 2240
    assert compared["Step"] == duration(best["step_s"]) and compared["MFU"] == percent(best["mfu"], 1)
    assert "**20,480 wide, 105 layers, on 2,240 GPUs**" in paragraphs(app, STRATEGY)


def test_what_is_empty_is_that_of_the_selected_point_and_its_laws():
    """If this fails, an empty input means something else than it says."""
    app, frame = page(view=STRATEGY), simulate(H100)
    row = frame.iloc[3]
    move_to(app, row)
    fields = ("d_model", "n_layers", "batch_tokens", "n_gpus")
    placeholders = {name: question(app, name).proto.placeholder for name in fields}
    assert placeholders == {name: f"{row[name]:,}" for name in fields}
    assert by_name(table(app))["Best"]["Step"] == duration(row["step_s"])
    answer(app, d_model="65,536")
    shape = shape_by_laws(H100, 65536)
    assert question(app, "n_layers").proto.placeholder == f"{shape.n_layers:,}"
    assert question(app, "batch_tokens").proto.placeholder == f"{shape.batch_tokens:,}"
    (best,) = fastest_strategy(H100, shape, int(row["n_gpus"])).to_dict("records")
    assert by_name(table(app))["Best"]["Step"] == duration(best["step_s"])


def test_strategies_are_of_the_selected_configuration_as_it_is_edited():
    app = edit(page(view=STRATEGY, configuration="A100"), "network.0.size", "16")
    level = A100.network[0].model_copy(update={"size": 16})
    larger = A100.model_copy(update={"network": (level, A100.network[1])})
    row = simulate(larger).set_index("d_model").loc[app.select_slider(key="point").value]
    compared = by_name(table(app))["Best"]
    assert compared["Step"] == duration(row["step_s"])
    on_the_node = compared["Node (level 1)"]
    assert math.prod(int(each.replace(",", "")) for each in re.findall(r"[\d,]+(?= ·|$)", on_the_node)) == 16


def test_what_no_law_allows_is_said_in_place_of_an_answer():
    depth = model.configuration.PowerDepth(law="power", coefficient=0.10056, exponent=0.5)
    deep = H100.model_copy(update={"scaling": H100.scaling.model_copy(update={"depth": depth})})
    app = answer(page_with(deep, view=STRATEGY), d_model="16,777,216")
    with pytest.raises(ValueError, match=r"the law 'power' gives .* layers at d_model 16777216") as refused:
        shape_by_laws(deep, 16777216)
    assert said(app.main.error) == str(refused.value).replace("the law", "The law")
    assert not tab(app, STRATEGY).dataframe and not charts(app)
    answer(app, d_model="")
    assert not app.main.error and charts(app)


def test_a_search_can_be_stopped_and_goes_on(monkeypatch):
    """If this fails, a search that takes long cannot be ended, or takes the page with it."""
    begun, searched = [], []

    def slow(*given, progress):
        begun.append(given)
        if len(begun) == 1:
            stop_as_soon_as_possible(progress)
        searched.append(given[-1])
        return fastest_strategy(*given, progress=progress)

    monkeypatch.setattr(model.pinned, "fastest_strategy", slow)
    odd = H100.model_copy(update={"assumptions": H100.assumptions.model_copy(update={"training_months": 2.75})})
    app = page_with(odd, view=STRATEGY)
    assert begun and not searched and not charts(app)
    assert headline(app)["GPUs"] != "—" and "Stopped. Go on" in labels(app)
    press(app, "Stopped. Go on")
    assert searched == [Pins()] and by_name(table(app))["Best"]["MFU"], "the same is searched for twice, or not at all"
    answer(app, pp="64")
    assert searched == [Pins(), Pins(pp=64)]


# --- reality check ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checked() -> pd.DataFrame:
    return reality_check()


def test_published_runs_are_those_of_the_check(checked):
    """If this fails, chart or table show another MFU than what was measured or what the model gives."""
    app = page(view=REALITY)
    runs = data_of(charts(app)[0], "runs")
    columns = {"Run": "name", "measured_mfu": "measured_mfu", "model_mfu": "model_mfu"}
    assert runs[list(columns)].to_numpy().tolist() == checked[list(columns.values())].to_numpy().tolist()
    shown = table(app).set_index("Run")
    ratios = checked.set_index("name")["ratio"]
    assert shown["Measured / model"].to_dict() == pytest.approx((100 * ratios).to_dict())
    bar = json.loads(app.main.dataframe[0].proto.columns)["Measured / model"]["type_config"]
    assert bar == {"type": "progress", "format": "%.0f%%", "min_value": 0, "max_value": 100}
    assert runs["Ratio"].tolist() == checked["ratio"].map(percent).tolist()
    assert shown["Measured step"].tolist() == checked["measured_step_s"].map(duration).tolist()
    assert shown["Step of the model"].tolist() == checked["model_step_s"].map(duration).tolist()
    for title, column in (("Hidden communication", "hidden_comm_s"), ("Attention on top", "attention_share")):
        whole = checked["measured_step_s"] if column.endswith("_s") else 1
        assert shown[title].tolist() == (checked[column] / whole).map(percent).tolist()
    assert shown["Hidden communication"].nunique() > 5, "hardly any communication is hidden"
    assert len(shown) == len(model.presets.load_published_runs()) >= 14


def test_parts_of_the_measured_step_fill_it(checked):
    app = page(view=REALITY)
    parts = data_of(charts(app)[1], "parts").pivot(index="What", columns="part", values="value").loc[checked["name"]]
    np.testing.assert_allclose(parts.sum(axis=1), 1, atol=1e-3)
    gap = 1 - checked.set_index("name")["ratio"]
    assert parts["Not in the model"].to_dict() == pytest.approx(gap.to_dict())
    ideal = (checked["ideal_compute_s"] / checked["measured_step_s"]).tolist()
    assert parts["Arithmetic"].tolist() == pytest.approx(ideal)
    legend = layers(charts(app)[1], "bar")[0]["encoding"]["color"]["scale"]["domain"]
    assert legend == [title for title in PARTS.values() if title in parts] + ["Not in the model"], "the gap is not last"


def test_the_gap_is_explained_and_no_run_beats_the_model():
    app = page(view=REALITY)
    reasons = next(each for each in paragraphs(app, REALITY) if "What the gap is made of" in each)
    assert reasons.splitlines()[1:] == [f"- {plain(reason)}" for reason in GAP]
    assert "so no run should be above it: none is." in said(app.main.caption)


@pytest.fixture
def beating_runs(monkeypatch) -> Iterator[None]:
    """Three runs take the place of all, two of them edited so that they beat the model."""
    checked = reality_check(model.presets.load_published_runs()[:3])
    beating = checked.assign(ratio=[1.01, 0.5, 1.2], name=["A *fast* one", "A slow one", "A faster one"])
    monkeypatch.setattr(model.reality, "reality_check", lambda: beating)
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.mark.usefixtures("beating_runs")
def test_runs_that_beat_the_model_are_named():
    """If this fails, the page says that the model is an upper bound where it is not."""
    assert "so no run should be above it: A *fast* one, A faster one are." in said(page(view=REALITY).main.caption)


def test_published_runs_are_there_without_any_curve():
    app = page_with(H100, view=REALITY, shown=(model.workspace.Shown(included=False, colour=0),))
    assert len(charts(app)) == 2 and len(table(app)) >= 14


# --- names ------------------------------------------------------------------------------------------------------------

LEVEL_NAMES = ["constructor", "**x**", "$a$ $b$", "<i>y</i>", "__proto__", "אב"]


@pytest.mark.parametrize(("name", "level_name"), [*zip(HOSTILE, LEVEL_NAMES, strict=True)])
def test_names_show_as_the_text_they_are_in_answers(name, level_name):
    """If this fails, the name of a configuration or a network level is taken for markup, or for a part of a chart."""
    levels = tuple(level.model_copy(update={"name": level_name}) for level in H100.network)
    named = with_gpu(H100.model_copy(update={"name": name, "network": levels}), hbm_bandwidth=1e12)
    app = page_with(named, view=TIME)
    for view in (TIME, WHEN, STRATEGY):
        (heading,) = [each for each in paragraphs(show(app, view), view) if each.endswith(" at one point**")]
        assert_reads(heading.partition(" **")[2].removesuffix(" at one point**"), name)
    show(app, LEVERS)
    level = isolated(level_name)  # the words after it stay where they are
    assert {f"{level} (level 1): bandwidth", f"{level} (level 2): latency"} <= {*drawn_levers(app).index.levels[0]}
    labels = json.loads(charts(app)[0].proto.spec)["layer"][0]["encoding"]["y"]["axis"]["labelExpr"]
    assert json.dumps(f" {level} (level 1): bandwidth") in labels
    show(app, STRATEGY)
    assert {f"{level} (level 1)", f"{level} (level 2)"} <= {*by_name(table(app)).index}
    show(app, WHEN)
    assert table(app)["Configuration"].tolist() == [name]
    assert {*data_of(charts(app)[0], "limits")["Configuration"]} == {name}
    assert {*data_of(charts(app)[1], "points")["line"]} == {"line 0"}
    show(app, FORMS)
    (label,) = [each.label for each in tab(app, FORMS).metric if each.label.startswith("Critical compute of ")]
    assert_reads(label.removeprefix("Critical compute of "), name)
    (label,) = [each for each in [each.label for each in app.main.button] if each.startswith("Take the values of ")]
    assert_reads(label.removeprefix("Take the values of "), name)
    assert limits_drawn(app) == ["H100", "A100", "V100", f"{name} ", LATENCY]
    (caption,) = [
        each for each in captions(with_walls(show(app, UTILIZATION))) if each.startswith("Closed forms: critical ")
    ]
    assert_reads(caption.partition(" FLOP, of ")[2].rpartition("; latency wall")[0], name)


# --- what is asked is kept --------------------------------------------------------------------------------------------

TYPED = {
    FORMS: {
        "training_months": "6",
        "batch_tokens": "8,000,000",
        "n_layers": "100",
        "latency_s": "4.5",
        "tokens_per_parameter": "25",
        "exponent_difference": "0.125",
    },
    WHEN: {"start_flop": "3 × 10²⁶", "start_year": "2025.5", "slow_growth": "2", "fast_growth": "10"},
    STRATEGY: {
        "d_model": "20,480",
        "n_layers": "105",
        "batch_tokens": "2,359,296",
        "n_gpus": "2,240",
        "dp": "2",
        "tp": "32",
        "pp": "35",
        "ep": "1",
        "microbatches": "192",
        "interleaving": "3",
        "schedule": "1F1B",
    },
}


def asked_throughout() -> AppTest:
    app = page(configuration="A100")
    for view, typed in TYPED.items():
        answer(show(app, view), **typed)
    return app


def test_every_input_of_every_question_is_on_the_page():
    """If this fails, there is a question that cannot be asked, or that nothing below looks at."""
    for view, typed in TYPED.items():
        assert asked(page(view=view), view).keys() == typed.keys()
    fields = [name for question in Questions.model_fields.values() for name in question.annotation.model_fields]
    assert sorted(fields) == sorted(name for typed in TYPED.values() for name in typed)


def answers(app: AppTest) -> dict[str, object]:
    """All that is typed and said in the tabs with inputs."""
    found = {}
    for view in TYPED:
        show(app, view)
        found[view] = asked(app, view), texts(app)
    return found


def test_what_is_asked_outlives_looks_at_other_tabs_presets_and_configurations():
    app = asked_throughout()
    for act in (
        lambda: show(app, UTILIZATION),
        lambda: choose_preset(app, GTX_580_PRESET.title),
        lambda: choose_preset(app, DENSE.title),
        lambda: select(app, "V100"),
        lambda: edit(app, "gpu.sm_count", "40"),
    ):
        act()
        assert {view: asked(show(app, view), view) for view in TYPED} == TYPED


def test_a_link_gives_the_same_answers():
    """If this fails, somebody who is sent a link reads other answers than were sent."""
    app = asked_throughout()
    before = answers(app)
    assert {view: typed for view, (typed, _) in before.items()} == TYPED
    again = page(**address(app))
    assert "link" not in said(again.warning)
    assert answers(again) == before
    for view in ANSWERS:
        assert texts(page(**address(app) | {"view": view})) == texts(show(app, view)), view


def test_questions_make_a_link_and_defaults_none():
    app = answer(page(view=FORMS), n_layers="100")
    assert address(app)["edits"]
    answer(app, n_layers="120")
    assert "edits" not in address(app), "a link repeats what is so anyway"


def test_files_keep_what_is_asked_and_bring_it_back(downloads):  # noqa: F811, a fixture
    """If this fails, a saved state forgets what was typed, or a file opened leaves what was typed before."""
    app = asked_throughout()
    before, saved = answers(app), {label: downloads[label]() for label in ("State", "Complete output")}
    for text in saved.values():
        kept = from_json(text).questions
        assert kept.latency_wall.latency_s == pytest.approx(4.5e-6) and kept.strategy.pp == 35
        assert answers(open_file(page(), text)) == before
    fresh = open_file(app, to_json(workspace(H100)))
    assert {view: asked(show(fresh, view), view) for view in TYPED} == {
        view: asked(page(view=view), view) for view in TYPED
    }


def test_a_refused_answer_stays_typed_but_is_not_linked_to():
    app = answer(page(view=WHEN), slow_growth="2")
    answer(app, slow_growth="never")
    assert complaint(app, WHEN, "slow_growth").startswith("“never” is not a number.")
    assert asked(show(show(app, UTILIZATION), WHEN), WHEN)["slow_growth"] == "never"
    assert asked(page(**address(app)), WHEN)["slow_growth"] == "2"
