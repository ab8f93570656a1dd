"""How far AI training can scale: a form for every input of `model`, and the curves, strategies and limits it gives."""

import gc
import itertools
import json
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial, wraps
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import altair as alt
import pandas as pd
import streamlit as st

from model import (
    Configuration,
    Hardware,
    Shape,
    critical_compute,
    latency_limit,
    latency_wall,
    load_hardware,
    load_known_models,
    load_presets,
    simulate,
    step_breakdown,
    training_limits,
)
from model.breakdown import matmul_table
from model.characters import isolated
from model.configuration import MOST_CONFIGURATIONS, Pins
from model.editing import (
    Entries,
    Entry,
    added,
    answered,
    asked_of,
    opened,
    put_back,
    removed,
    typed,
    with_defaults,
    with_hardware,
    with_values,
)
from model.form import Draft, Input, inputs, inputs_of, value_at
from model.growth import largest_runs, limits_reached
from model.limits import LIMITS, closed_form_walls, critical_compute_curves, node_rates
from model.money import cluster_costs
from model.pinned import fastest_strategy
from model.progress import TooMuchWork
from model.questions import Questions, latency_wall_values
from model.reality import GAP, reality_breakdown, reality_check
from model.scaling import shape_by_laws
from model.sensitivity import IMPROVEMENTS, attainable, improvement_map, quantities, sensitivities, tornado
from model.tables import (
    comparable_in_words,
    levers_in_words,
    limits_are_known,
    map_in_words,
    matmuls_in_words,
    parts_table,
    reached_in_words,
    runs_in_words,
    shares_in_words,
    strategies_in_words,
    years_of,
)
from model.text import MISSING, amount, dollars, duration, flop, percent, plain, quantity, scientific
from model.words import (
    DEGREES,
    PART_TERMS,
    PARTS,
    TERMS,
    bottleneck,
    degrees_by_level,
    degrees_on_level,
    described_limits,
    energy,
    facts,
    guesses_in_words,
    level_in_words,
    power,
    sentence,
)
from model.workload import MOST_AT_ONCE, MOST_OF_CURVE, Together
from model.workspace import (
    LEAST_THRESHOLD,
    LONGEST_LINK,
    MOST_THRESHOLD,
    THRESHOLD,
    Unreadable,
    Workspace,
    edits,
    from_edits,
    from_json,
    to_csv,
    to_json,
)

st.set_page_config(
    page_title="How far can AI training scale?", page_icon="📈", layout="wide", initial_sidebar_state=340
)

UTILIZATION, PARALLELISM, MAXIMUM, TIME, LEVERS, FORMS, WHEN, STRATEGY, REALITY = VIEWS = (
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
THRESHOLDS = {str(percentage) for percentage in range(LEAST_THRESHOLD, MOST_THRESHOLD + 1)}
MOST_IN_LEGEND = 30  # names: Vega lists no more of them
LEAST_LABELLED = 0.05  # share of log(GPUs)
LEAST_DRAWN, LEAST_SHARE = 0.0001, 0.0005  # of a step, that a chart draws and a table names
PATIENCE_S, REFRESH_S = 0.4, 0.1  # of a simulation: until it shows its progress, and between two looks at it
COPY = "A copy of "
COLOURS = ("blue", "orange", "green", "violet", "red", "gray")  # the theme's, so that they suit light and dark
DASHES = {"━": [1, 0], "╍": [6, 3], "┅": [2, 2]}  # for more than six configurations, by their look in a line of text
NAMES_OF_DEGREES = {column: kind for kind, column in DEGREES.items()}
PART_STYLES = dict(
    zip(
        PARTS.values(),
        [
            *(("blue", 1), ("blue", 0.65), ("gray", 1), ("green", 1), ("violet", 0.6)),
            *(("green", 0.55), ("gray", 0.55), ("orange", 1), ("orange", 0.6), ("red", 1), ("violet", 1)),
        ],
        strict=True,
    )
)
DEGREE_SHAPES = ["circle", "square", "triangle-up", "diamond"]
DEGREE_DASHES = [[1, 0], [7, 3], [2, 2], [9, 3, 2, 3]]
ABOVE = {"titleAngle": 0, "titleAlign": "left", "titleY": -14}  # the title of a vertical axis
POWER_OF_TEN = """
    datum.value < 1e4 ? format(datum.value, ',')
    : '10' + replace(slice('⁰¹²³⁴⁵⁶⁷⁸⁹', POWER / 10, POWER / 10 + 1), '⁰', '')
    + slice('⁰¹²³⁴⁵⁶⁷⁸⁹', POWER % 10, POWER % 10 + 1)
""".replace("POWER", "round(log(datum.value) / LN10)")
FACTOR = """
    datum.value < 1 ? '÷' + format(1 / datum.value, '~r') : datum.value > 1 ? '×' + format(datum.value, '~r') : '1'
"""
INVERSE = FACTOR.replace("÷", "_").replace("×", "÷").replace("_", "×")
GAP_PART = "Not in the model"
MOST_SHOWN = 100  # times by which a limit moves, in a chart
LEVERS_PATIENCE_S = 15  # that the levers may take without being asked for
GENERATIONS = {"H100": "H100 SXM", "A100": "A100 SXM", "V100": "V100 SXM"}
ALPHAS = [step / 50 for step in range(-10, 11)]
COSTS = {  # columns, how they are said, and axes with their units
    "Cost of GPUs": ("capital_cost_usd", dollars, "Cost of GPUs (US$)", 1),
    "Power": ("power_w", power, "Power (W)", 1),
    "Energy": ("energy_j", energy, "Energy (Wh)", 3600),
}
MOST_YEARS = 60  # from the start, that a chart shows
ANY_PIN = dict.fromkeys(Pins.model_fields, "fastest")
COSTS_HELP = "Price and power of a GPU are inputs, under GPU at the left; known ones are filled in."
COMPARABLE = (
    "Curves are jagged, because models and clusters come in round sizes, and the first point below the threshold leaps "
    "from one width to another. What is compared here does not: at each width the best MFU of all clusters that finish "
    "in time, interpolated between widths; linear scaling ends where it would without the dips of the curve, and the "
    "wall lies between the last width that ends in time and the next. The sweep is continued beyond its largest width, "
    "up to the wall. So the numbers differ from the headline’s; and a faster network, memory or kernel can lower "
    "neither."
)

Styles = dict[str, tuple[str, str]]  # colour and dash of every configuration


def component(name: str):
    """A button whose work only the browser can do, from its files."""
    files = Path(__file__).parent / ".streamlit" / "components"
    html, js, css = (
        (files / file).read_text(encoding="utf-8") for file in (f"{name}.html", f"{name}.js", "buttons.css")
    )
    return st.components.v2.component(name, html=html, js=js, css=css)


@st.cache_resource(show_spinner=False)
def loaded() -> tuple:
    """What is read from files, once for all sessions."""
    gc.collect()
    gc.freeze()  # or every collection would take 40 ms to look at what the libraries keep anyway
    return component("copy_link"), component("download_chart"), load_presets(), load_hardware(), load_known_models()


st.html("<style>[data-testid=stStatusWidget] button { display: none }</style>")  # its stop leaves a page half drawn
copy_link, download_chart, presets, hardware, known_models = loaded()
state = st.session_state

# State: the entries of every preset that was looked at, and what changes them.


def open_workspace(workspace: Workspace) -> None:
    """Make a workspace the page's."""
    state.entries[workspace.title] = opened(workspace, state.numbers)
    state.asked = asked_of(workspace.questions)
    if workspace.title not in presets:
        state.sheets[workspace.title] = workspace


def read_link() -> str:
    """Open what the address asks for; say what of it cannot be read.

    Widgets take their values from the address too, unless they are set here.
    """
    query, first = st.query_params.to_dict(), next(iter(presets))
    title = query.get("preset", first)
    try:
        if "edits" in query:
            workspace = from_edits(query["edits"], presets.get(title))
        elif title in presets:
            workspace = sheet_of(title)
        else:
            raise Unreadable("there is no preset of this name")
    except Unreadable as error:
        state.preset = first
        return f"This link could not be opened: {plain(str(error))}. Here is “{plain(first)}” instead."
    open_workspace(workspace)
    if workspace.title != title:
        state.preset = workspace.title
    damaged = []
    names = [configuration.name for configuration in workspace.configurations]
    if query.get("configuration", names[0]) not in names:
        state.configuration = names[0]
        damaged.append("the selected configuration")
    if query.get("view", UTILIZATION) not in VIEWS:
        state.view = UTILIZATION
        damaged.append("the tab")
    for key, options, first_value, what in (
        ("threshold", THRESHOLDS, THRESHOLD, "the threshold"),
        ("limit", LIMITS, next(iter(LIMITS)), "the limit"),
        ("cost", COSTS, next(iter(COSTS)), "the measure of cost"),
    ):
        given = st.query_params.get_all(key)  # of several, the widget would take another one
        if len(given) > 1 or not {*given} <= {*options}:
            state[key] = first_value
            damaged.append(what)
    if not {query.get(key, "true").lower() for key in ("live", "models", "walls")} <= {"true", "false"}:
        damaged.append("a switch")
    return f"Part of this link is damaged and was left out: {', '.join(damaged)}." if damaged else ""


def sheet_of(title: str) -> Workspace:
    """What a title names: a preset, or a file that was opened."""
    return state.sheets.get(title) or Workspace(**dict(presets[title]))


# Callbacks name the preset and the number that they are about, for a click may come when the page shows others.


def change(title: str, number: int, act, *arguments) -> None:
    """Change an entry, or what is about it, by a function of `model.editing`; what is selected stays so."""
    before = state.entries[title]
    if number not in before:
        return
    selected = next((key for key, entry in before.items() if entry.valid.name == state.configuration), None)
    state.entries[title] = act(before, number, *arguments)
    if title == state.preset and selected in state.entries[title]:
        select(selected)
    go_on()


def go_on() -> None:
    """Forget a stop and a notice: the page has moved on."""
    state.stopped, state.notice = False, ""
    state.halted.clear()


def select(number: int) -> None:
    """Select a configuration, by its name of now."""
    state.chosen, state.configuration = number, state.entries[state.preset][number].valid.name


def type_in(title: str, number: int, item: Input, key: str, visit: int) -> None:
    """Take over what was typed into a widget, unless it is of an earlier visit to the preset and gone."""
    entry, value = state.entries[title].get(number), state.get(key)
    if visit != state.visit or entry is None or value is None:
        return
    try:
        before = value_at(entry.draft, item.path)
    except LookupError:  # of a law that another one took the place of
        return
    if item.read(value) != item.read(item.written(before)):
        change(title, number, typed, item, value)


def answer(item: Input, key: str) -> None:
    """Take over what was typed into the widget of a question."""
    if state.get(key) is not None:
        state.asked = answered(state.asked, item, state[key])
        state.halted.clear()


def take_hardware(title: str, number: int, key: str) -> None:
    change(title, number, with_hardware, hardware[state[key]])


def add(title: str, copied: int, choice: str) -> None:
    """Add a GPU of the catalogue, or a copy of a configuration, and select it."""
    entries, number = state.entries[title], next(state.numbers)
    if choice in hardware:
        configuration = Configuration(name=choice, **dict(hardware[choice]))
    elif copied in entries:
        configuration = entries[copied].valid
    else:
        return
    state.entries[title] = added(entries, number, configuration)
    if title == state.preset:
        select(number)
    go_on()


def remove(title: str, number: int) -> None:
    """Remove a configuration, and select the one before it."""
    numbers = list(state.entries[title])
    change(title, number, removed)
    if title == state.preset and number in numbers:
        select(numbers[numbers.index(number) - 1] if number != numbers[0] else numbers[1])


def open_file() -> None:
    """Open an uploaded file, or keep what is wrong with it for the page to say."""
    if state.file is None:
        return
    try:
        workspace = from_json(state.file.getvalue())
    except Unreadable as error:
        state.notice = f"**{plain(state.file.name)}** cannot be opened: {plain(str(error))}"
        return
    open_workspace(workspace)
    go_on()
    state.preset, state.threshold = workspace.title, workspace.threshold_percent
    state.view = workspace.view if workspace.view in VIEWS else UTILIZATION
    state.configuration = workspace.selected or workspace.configurations[0].name


def run_now() -> None:
    """Simulate the drafts as they are."""
    entries = state.entries[state.preset]
    entries.update({number: replace(entry, applied=entry.valid) for number, entry in entries.items()})
    go_on()


def stop() -> None:
    state.stopped = True


def halt(work: str) -> None:
    """Stop what is worked out beside the curves, until it is asked for again."""
    state.halted.add(work)


def want(work: str, configuration: Configuration) -> None:
    """Ask for what takes long, or for what was stopped."""
    state.halted.discard(work)
    state.wanted.add((work, what_counts(configuration)))


def pick() -> None:
    """Select the configuration and the point that were clicked."""
    points = state.curves.selection.picked
    if points:
        state.configuration, state.picked = points[0]["configuration"], points[0]["d_model"]


# Simulation


class Curve(NamedTuple):
    """A configuration as it was simulated, and what came of it."""

    name: str
    configuration: Configuration
    frame: pd.DataFrame
    words: pd.DataFrame


def what_counts(configuration: Configuration) -> str:
    """A configuration without what its curve does not depend on."""
    unused = {"name": True, "gpu": {"price_usd", "power_w", "sources", "guesses"}, "network": {"__all__": {"name"}}}
    return configuration.model_dump_json(exclude=unused)


@st.cache_resource(max_entries=256, show_spinner=False, hash_funcs={Configuration: what_counts})
def slot(configuration: Configuration) -> dict:
    """Where what is computed of a configuration is kept: its curve, the curve in words, or why there is none."""
    return {}


class Bar:
    """A bar and a button to stop, which appear when work takes long, after what need not wait for it."""

    def __init__(self, work: str, place, on_stop, meanwhile=lambda: None):
        self.work, self.place, self.on_stop, self.meanwhile = work, place, on_stop, meanwhile
        self.bar, self.next = None, time.monotonic() + PATIENCE_S

    def show(self, words: str, part: int, parts: int, share: float) -> None:
        """Tell how much of one of several parts is done; after a press on Stop, Streamlit ends the script here."""
        if time.monotonic() < self.next:
            return
        self.next = time.monotonic() + REFRESH_S
        if self.bar is None:
            self.meanwhile()
            with self.place.container(border=True):
                self.bar = st.progress(0.0)
                st.button("Stop", key=f"stop {self.work}", on_click=self.on_stop, icon=":material/stop_circle:")
        self.bar.progress((part + share) / parts, text=words)


def simulate_all(slots: list[tuple[Configuration, dict]], place, meanwhile) -> None:
    """Fill the slots of configurations that are empty; call `meanwhile` if that takes long, and show a bar in `place`.

    After a lot of work it stops, as if it had been told to.
    """
    bar, count = Bar("curves", place, stop, meanwhile), len(slots)
    operations = 0.0
    for index, (configuration, kept) in enumerate(slots):
        if kept:  # alike but for its name
            continue
        if operations > MOST_AT_ONCE:
            stop()
            break
        words = f"Simulating {plain(configuration.name)}, {index + 1} of {count}"
        try:
            frame = simulate(configuration, progress=partial(bar.show, words, index, count))
            kept |= {"frame": frame, "facts": facts(frame)}
            operations += frame.attrs["operations"]
        except ValueError as error:
            kept["refused"] = str(error)
            operations += MOST_OF_CURVE if isinstance(error, TooMuchWork) else 0
    place.empty()


@st.cache_resource(max_entries=4096, show_spinner=False, hash_funcs={Configuration: what_counts})
def small_slot(configuration: Configuration | None, *what: str) -> dict:
    """Where one result of some kilobytes is kept; a map has hundreds of them."""
    return {}


def kept_in(place: dict, work) -> pd.DataFrame:
    """What some work gave, once, and how long it took, or that it is too much; not cached, for it draws a bar."""
    if not place:
        start = time.monotonic()
        try:
            place |= {"found": work(), "seconds": time.monotonic() - start}
        except TooMuchWork as error:
            place["refused"] = str(error)
    if "refused" in place:
        raise TooMuchWork(place["refused"])
    return place["found"]


def remembered(configuration: Configuration, *, progress=None) -> pd.DataFrame:
    """`attainable`, once for each configuration."""
    return kept_in(small_slot(configuration, "attainable"), partial(attainable, configuration, progress=progress))


def remembered_with(bar: Bar, configuration: Configuration) -> None:
    """Remember the curve to compare by, which says how long others take, unless that was stopped."""
    if bar.work not in state.halted:
        remembered(configuration, progress=partial(bar.show, "Simulating larger clusters and models", 0, 1))


def worked_out(work, configuration: Configuration, words: str, place) -> pd.DataFrame | None:
    """What a function of `model.sensitivity` finds, which is kept; nothing if it was stopped."""
    name = work.__name__
    names_of_levels = (level.name for level in configuration.network)  # which quantities bear
    kept = small_slot(configuration, name, str(threshold), *names_of_levels)
    if not kept and name in state.halted:
        return None
    show = partial(Bar(name, place, partial(halt, name)).show, words, 0, 1)
    found = kept_in(kept, partial(work, configuration, threshold / 100, progress=show, attainable=remembered))
    place.empty()
    return found


def strategy_of(configuration: Configuration, shape: Shape, n_gpus: int, pins: Pins, bar: Bar) -> pd.DataFrame | None:
    """The fastest strategy that goes with what is given; nothing if the search was stopped."""
    kept = small_slot(configuration, shape.model_dump_json(), str(n_gpus), pins.model_dump_json())
    if not kept and STRATEGY in state.halted:
        return None
    show = partial(bar.show, "Searching for the fastest strategy", 0, 1)
    return kept_in(kept, partial(fastest_strategy, configuration, shape, n_gpus, pins, progress=show))


# The form


def complain(problem: str) -> None:
    st.error(plain(problem[:1].upper() + problem[1:]), icon=":material/error:")


def control(item: Input, draft: Draft, problems: Mapping[str, str], key: str, act, *arguments, empty: str = "") -> None:
    """The widget of one input, and below it what is wrong with its value; a change calls `act` with the arguments.

    `empty` is what stands in an empty input, as what it then means.
    """
    written = item.written(value_at(draft, item.path))
    if key in state and item.read(state[key]) != item.read(written):
        state[key] = written
    common = {
        "label": item.label,
        "key": key,
        "help": plain(f"{item.description} {item.bounds}".strip()),
        "on_change": act,
        "args": arguments,
    }
    if item.kind == "switch":
        st.toggle(value=written, **common)
    elif item.kind in ("choice", "law"):
        options = list(item.options)
        st.selectbox(options=options, index=options.index(written), format_func=item.options.get, **common)
    elif item.kind == "levels":
        st.segmented_control(options=list(item.options), default=written, required=True, **common)
    elif item.kind == "several":
        st.multiselect(options=list(item.options), default=written, format_func=item.options.get, **common)
    elif item.kind == "texts":
        st.text_area(value=written, **common)
    else:
        st.text_input(value=written, placeholder=empty or None, **common)
    if item.formula:
        st.caption(plain(item.formula))
    if item.location in problems:
        complain(problems[item.location])


def setting(title: str, number: int, entry: Entry, item: Input) -> None:
    """The widget of one input of a configuration."""
    key = f"{item.location} {number} {state.visit}"
    control(item, entry.draft, entry.problems, key, type_in, title, number, item, key, state.visit)


def questions_of(name: str) -> Iterator[Input]:
    """The inputs of one question."""
    return (item for item in inputs_of(Questions, state.asked.draft) if item.path[0] == name)


def ask(*items: Input, width: int = 150, empty: Mapping[str, str] = MappingProxyType({})) -> None:
    """The widgets of questions, side by side; `empty` says what they mean when nothing is in them, by field."""
    cells = st.grid(max(3, len(items)), min_column_width=width)
    for item in items:
        key = f"asked {item.location}"
        with cells.cell():
            meaning = empty.get(item.path[-1], "")
            control(item, state.asked.draft, state.asked.problems, key, answer, item, key, empty=meaning)


def editor(title: str, number: int, entry: Entry) -> None:
    """The form of one configuration, by sections, of which only the open ones are drawn."""
    items = list(inputs(entry.draft))
    for item in (item for item in items if item.location == "name"):
        setting(title, number, entry, item)
    for section in dict.fromkeys(item.section for item in items if item.location != "name"):
        here = [item for item in items if item.section == section]
        expander = st.expander(section, key=f"section {section}", on_change="rerun")
        if not expander.open:
            for item in (item for item in here if item.location in entry.problems):
                complain(f"{item.title}: {entry.problems[item.location]}")
            continue
        with expander:
            if section == "GPU":
                from_catalogue(title, number, entry)
            if section == "Network":
                st.caption(f"Bandwidths count reads plus writes: {TERMS['Reads plus writes']}")
            for item, before in zip(here, [None, *here[:-1]], strict=True):
                if item.group and (before is None or item.group != before.group):
                    st.markdown(f"**{item.group}**")
                setting(title, number, entry, item)
    for place in entry.problems.keys() - {item.location for item in items}:
        complain(f"{place}: {entry.problems[place]}")


def from_catalogue(title: str, number: int, entry: Entry) -> None:
    """A menu of GPUs to take over, and what the present one comes to."""
    key = f"hardware {number}"
    st.menu_button(
        "Take one of the catalogue",
        list(hardware),
        key=key,
        on_click=take_hardware,
        args=(title, number, key),
        icon=":material/memory:",
        help="Its GPU and its network replace this configuration's.",
        width="stretch",
    )
    gpu = entry.valid.gpu
    st.caption(
        f"{quantity(gpu.max_flop_per_s, 'FLOP/s', 4)} at peak, {quantity(gpu.flop_per_s, 'FLOP/s', 4)} sustained, "
        f"at {gpu.precision_bits} bits."
    )


# Charts


def swatch(style: tuple[str, str]) -> str:
    """A piece of a configuration's line, in Markdown."""
    colour, dash = style
    return f":{colour}[{dash}{dash}]"


def meaning_of(*terms: str) -> str:
    return "\n".join(f"- **{term}.** {TERMS[term]}" for term in terms)


def decades(*columns: pd.Series) -> list[float]:
    """The powers of ten around all values, at least two."""
    first = math.floor(math.log10(min(column.min() for column in columns)))
    last = math.ceil(math.log10(max(column.max() for column in columns)))
    return [10.0**power for power in range(first, max(first + 1, last) + 1)]


def log_axis(channel, field: str, title: str, ticks: list[float], **axis):
    scale = alt.Scale(type="log", domain=[ticks[0], ticks[-1]], nice=False)
    spoken = f"{title} from {scientific(ticks[0])} to {scientific(ticks[-1])}, logarithmic"
    axis = alt.Axis(values=ticks, labelExpr=POWER_OF_TEN, description=spoken, **axis)
    return channel(f"{field}:Q", scale=scale, title=title, axis=axis)


def flop_axis(field: str, ticks: list[float]) -> alt.X:
    return log_axis(alt.X, field, "Training compute (FLOP)", ticks)


def keys_of(names) -> dict[str, str]:
    """Names by which Vega knows the lines: any of ours could be one that JavaScript has a meaning for."""
    return {name: f"line {index}" for index, name in enumerate(names)}


def legend_of(names) -> alt.Legend | None:
    """A legend of lines above a chart, by their names; of too many, the sidebar has them beside their colours."""
    if len(names) > MOST_IN_LEGEND:
        return None
    return alt.Legend(
        title=None,
        orient="top",
        columns=alt.expr("max(1, floor(width / 260))"),
        labelExpr=f"slice({json.dumps([f' {name}' for name in names])}[toNumber(slice(datum.label, 5))], 1)",
        symbolType="stroke",
        symbolSize=300,
        symbolStrokeWidth=3,
        labelLimit=230,
        labelFontSize=13,
        offset=30,  # above the title of the vertical axis
    )


def colour_of(styles: Styles, legend=alt.Undefined) -> alt.Color:
    scale = alt.Scale(domain=list(keys_of(styles).values()), range=[colour for colour, _ in styles.values()])
    return alt.Color("line:N", scale=scale, legend=legend)


def finished(chart: alt.LayerChart, height: int) -> alt.LayerChart:
    """A chart of a height, with what all have in common."""
    return chart.properties(height=height, padding={"left": 0, "right": 10, "top": 4, "bottom": 6}).configure_axis(
        labelFontSize=13, titleFontSize=13, labelPadding=6, titlePadding=8, labelFlush=False
    )


def tooltip(*titles: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{title}:N", title=title) for title in titles]


@st.cache_resource(max_entries=256, show_spinner=False)
def built(name: str, arguments: tuple, _build) -> dict | pd.DataFrame:
    """What a function of this name builds, for charts of all sessions: nobody changes it."""
    return _build(*arguments)


def chart(build):
    """Cache the Vega-Lite of a chart by its arguments: its data sets, by name, are given where it is drawn.

    All charts share a cache, for Streamlit takes half a millisecond a run to set one up.
    """

    @wraps(build)
    def vega_lite(*arguments) -> dict:
        return built(build.__name__, arguments, lambda *arguments: build(*arguments).to_dict())

    return vega_lite


def draw(name: str, vega_lite: dict, datasets: dict[str, pd.DataFrame], spoken: str, **options) -> None:
    """Show a chart with buttons to save it; `spoken` should not change with the data, or the chart is built anew."""
    key = f"chart {name}"
    gray = st.get_option(f"theme.{st.context.theme.type or 'light'}.grayColor")  # Streamlit's own has little contrast
    config = vega_lite["config"]
    config = config | {
        "axis": config["axis"] | {"labelColor": gray, "titleColor": gray},
        "legend": {"labelColor": gray},
    }
    with st.container(key=key, gap="xsmall"):
        st.vega_lite_chart(vega_lite | {"datasets": datasets, "config": config}, alt=spoken, **options)
    what = {"chart": key.replace(" ", "-"), "name": name, "what": spoken.partition(". ")[0].removesuffix(".")}
    download_chart(key=f"download {name}", data=what, width="stretch")


@chart
def utilization_chart(styles: Styles, ticks: list[float], tips: list[str]) -> alt.LayerChart:
    """MFU against training compute, a line per configuration.

    Data sets: `points`, `ends` of linear scaling, the `selected` point, `levels` across, `known` models and `walls` in
    closed form.
    """
    share = alt.Y("mfu:Q", title="MFU", axis=alt.Axis(format="%", tickCount=8, **ABOVE))
    legend = legend_of(styles)
    curves = alt.Chart(alt.NamedData("points")).encode(
        flop_axis("training_flop", ticks), share, colour_of(styles, legend)
    )
    nearest = alt.selection_point(nearest=True, on="pointerover", clear="pointerout", empty=False)
    picked = alt.selection_point("picked", fields=["configuration", "d_model"], nearest=True, on="click")
    dots = curves.mark_point(filled=True, opacity=1).encode(
        size=alt.when(nearest).then(alt.value(120)).otherwise(alt.value(20)),
        tooltip=tooltip(*tips),
        description="spoken:N",
    )
    dashes = alt.Scale(domain=list(keys_of(styles).values()), range=[DASHES[dash] for _, dash in styles.values()])
    lines = curves.mark_line(strokeWidth=2, aria=False).encode(alt.StrokeDash("line:N", scale=dashes, legend=legend))
    at = {"x": "training_flop:Q", "y": "mfu:Q", "color": colour_of(styles)}
    diamonds = (
        alt.Chart(alt.NamedData("ends"))
        .mark_point(shape="diamond", filled=True, size=160, aria=False)
        .encode(opacity=alt.when("datum.above").then(alt.value(1)).otherwise(alt.value(0)))
    )
    ring = alt.Chart(alt.NamedData("selected")).mark_point(size=300, strokeWidth=2, aria=False)
    across = alt.Chart(alt.NamedData("levels")).encode(alt.Y("mfu:Q"), colour_of(styles))
    rules = across.mark_rule(strokeDash=[3, 3], aria=False)
    labels = across.mark_text(align="right", baseline="top", dx=-4, dy=3, fontSize=13).encode(
        text="label:N", description="label:N", x=alt.value(alt.expr("width"))
    )
    layers = [rules, labels, *known_model_marks(), *wall_marks(), lines, diamonds.encode(**at), ring.encode(**at)]
    return finished(alt.layer(*layers, dots.add_params(nearest, picked)), 460)


def on_top(name: str, results: pd.DataFrame, words: pd.DataFrame) -> pd.DataFrame:
    """The points of a utilization chart, those of one configuration last, so that its line is not covered."""
    names, keys = list(results["configuration"]), keys_of(results["configuration"].unique())
    said = zip(names, words["MFU"], words["Training compute"], strict=True)
    lines = {
        "line": [keys[each] for each in names],
        "spoken": [f"{each}, MFU {mfu} at {training_compute}" for each, mfu, training_compute in said],
    }
    numbers = results[["configuration", "training_flop", "mfu", "d_model"]]
    points = pd.concat([numbers, words, pd.DataFrame(lines)], axis=1)
    return points.take(sorted(range(len(names)), key=lambda row: names[row] == name))


def ends_of(limits: pd.DataFrame, results: pd.DataFrame) -> pd.DataFrame:
    """Where linear scaling ends; a curve without such a point gets its first, not to be seen: Vega wants some."""
    first = results[["training_flop", "mfu"]][~results["configuration"].duplicated()].reset_index(drop=True)
    ends = limits["linear_scaling_end_flop"]
    return pd.DataFrame(
        {
            "line": limits["line"],
            "training_flop": ends.fillna(first["training_flop"]),
            "mfu": limits["mfu"].fillna(first["mfu"]),
            "above": limits["above"] & ends.notna(),
        }
    )


def wall_marks() -> list[alt.Chart]:
    """Lines across the chart where the closed forms have walls, named above it."""
    at = alt.Chart(alt.NamedData("walls")).encode(
        alt.X("training_flop:Q"), color=alt.value("gray"), tooltip=tooltip("Wall in closed form", "Training compute")
    )
    names = [
        at.transform_filter(f"datum.side === '{side}'")
        .mark_text(align=side, dx=dx, baseline="middle", fontSize=12)
        .encode(alt.Y(value=alt.expr("datum.fall")), text="wall:N", description="spoken:N")
        for side, dx in (("left", 5), ("right", -5))
    ]
    return [at.mark_rule(strokeDash=[8, 4], strokeWidth=1.5, aria=False), *names]


def known_model_marks() -> list[alt.Chart]:
    """Ticks on the axis of training compute, each named on a line of its own."""
    at = alt.Chart(alt.NamedData("known")).encode(
        alt.X("training_flop:Q"),
        alt.Y(value=alt.expr("height - datum.rise")),
        color=alt.value("gray"),
        tooltip=tooltip("Known model", "Training compute", "Source"),
    )
    names = [
        at.transform_filter(f"datum.side === '{side}'")
        .mark_text(align=side, dx=dx, baseline="middle", fontSize=12)
        .encode(text="name:N", description="Known model:N")
        for side, dx in (("left", 5), ("right", -5))
    ]
    return [at.mark_rule(opacity=0.6, aria=False).encode(y2=alt.value(alt.expr("height"))), *names]


def known_in_sight(shown: bool, ticks: list[float]) -> pd.DataFrame:
    """The known models between the ends of an axis, with where their names stand and what their tooltips say."""
    models = known_models if shown else known_models[:0]
    known = models[models["training_flop"].between(ticks[0], ticks[-1])].reset_index(drop=True)
    late = known["training_flop"] > ticks[0] * (ticks[-1] / ticks[0]) ** 0.55  # no room for a name to the right
    row = known.index.where(late, (~late).sum() - 1 - known.index)
    return known.assign(
        rise=12 + 16 * row,
        side=late.map({False: "left", True: "right"}),
        **{
            "Known model": known["name"] + known["approximate"].map({True: " (estimated)", False: ""}),
            "Training compute": known["training_flop"].map(flop),
            "Source": known["source"],
        },
    )


def degree_base(kinds: list[str], colour: str, ticks: list[float]) -> alt.Chart:
    """Each row of the data set `points` once for every degree in the columns `kinds`."""
    return (
        alt.Chart(alt.NamedData("points"))
        .transform_fold(kinds, as_=["kind", "degree"])
        .transform_calculate(
            line="datum.kind",
            spoken="datum.kind + ' ' + format(datum.degree, ',') + ' at ' + datum['Training compute']",
        )
        .encode(flop_axis("training_flop", ticks), color=alt.value(colour))
    )


@chart
def degrees_chart(
    kinds: list[str], colour: str, ticks: list[float], degree_ticks: list[float], tips: list[str]
) -> alt.LayerChart:
    """The degrees in the columns `kinds` against training compute. Data set: `points`."""
    degree = log_axis(alt.Y, "degree", "Degree", degree_ticks, **ABOVE)
    base = degree_base(kinds, colour, ticks).encode(degree)
    dashes = alt.Scale(domain=kinds, range=DEGREE_DASHES)
    shapes = alt.Scale(domain=kinds, range=DEGREE_SHAPES)
    legend = alt.Legend(title=None, orient="top", symbolSize=70, symbolStrokeWidth=1, labelFontSize=13, padding=0)
    lines = base.mark_line(strokeWidth=1.5, aria=False).encode(alt.StrokeDash("line:N", scale=dashes, legend=None))
    dots = base.mark_point(filled=True, size=40, opacity=1).encode(
        alt.Shape("kind:N", scale=shapes, legend=legend),
        description="spoken:N",
        tooltip=[
            alt.Tooltip("kind:N", title="Kind"),
            alt.Tooltip("degree:Q", title="Degree", format=","),
            *tooltip(*tips),
        ],
    )
    return finished(alt.layer(lines, dots), 300)


@chart
def shares_chart(kinds: list[str], colour: str, ticks: list[float]) -> alt.LayerChart:
    """How the logarithm of the number of GPUs divides into those of the degrees. Data sets: `points`, `names`."""
    shades = alt.Scale(domain=kinds, range=[0.95, 0.65, 0.4, 0.2][: len(kinds)])
    areas = (
        degree_base(kinds, colour, ticks)
        .transform_calculate(log="log(datum.degree)", order=f"indexof({kinds}, datum.kind)")
        .mark_area(aria=False)
        .encode(
            alt.Y("log:Q", stack="normalize", title="Share of log(GPUs)", axis=alt.Axis(format="%", **ABOVE)),
            alt.Opacity("kind:O", sort=kinds, scale=shades, legend=None),
            alt.Order("order:Q"),
        )
    )
    names = (
        alt.Chart(alt.NamedData("names"))
        .mark_text(align="left", dx=4, fontSize=12)
        .encode(
            alt.X("training_flop:Q"), alt.Y("middle:Q"), text="kind:N", description="kind:N", color=alt.value(colour)
        )
    )
    return finished(alt.layer(areas, names), 170)


def share_labels(row: pd.Series, kinds: list[str]) -> pd.DataFrame:
    """Where the name of each degree stands beside its share of log(GPUs), if that is wide enough."""
    logs = pd.Series({kind: math.log(row[DEGREES[kind]]) for kind in kinds})
    shares = logs / logs.sum() if logs.sum() else logs
    shown = [kind if shares[kind] > LEAST_LABELLED else "" for kind in kinds]
    middle = (shares.cumsum() - shares / 2).to_numpy()
    return pd.DataFrame({"kind": shown, "middle": middle, "training_flop": row["training_flop"]})


@chart
def limits_chart(styles: Styles, ticks: list[float], rows: int) -> alt.LayerChart:
    """From the end of linear scaling to the latency wall, or to the end of the curve. Data set: `limits`."""
    base = alt.Chart(alt.NamedData("limits")).encode(
        alt.Y("line:N", sort=None, axis=None),
        colour_of(styles, None),
        tooltip=tooltip("Configuration", "Linear scaling ends", "Latency wall"),
    )
    names = base.mark_text(align="left", baseline="bottom", dx=4, dy=-10, fontSize=13, limit=alt.expr("width"))
    spans = base.mark_rule(strokeWidth=3, aria=False)
    ends = base.transform_filter("datum.above").mark_point(shape="diamond", filled=True, size=160, opacity=1)
    below = base.transform_filter("!datum.above").mark_point(shape="triangle-left", filled=True, size=140, opacity=1)
    walls = base.transform_filter("datum.at_the_wall").mark_tick(thickness=4, size=18, opacity=1)
    beyond = base.transform_filter("!datum.at_the_wall").mark_point(
        shape="triangle-right", filled=True, size=140, opacity=1
    )
    layers = [
        names.encode(text="Configuration:N", x=alt.value(0)),
        spans.encode(flop_axis("start", ticks), alt.X2("last:Q")),
        ends.encode(alt.X("end:Q"), description="Linear scaling ends:N"),
        below.encode(alt.X("end:Q"), description="Linear scaling ends:N"),
        walls.encode(alt.X("last:Q"), description="Latency wall:N"),
        beyond.encode(alt.X("last:Q"), description="Latency wall:N"),
    ]
    return finished(alt.layer(*layers), 44 * rows + 60)


def limits_table(limits, styles: Styles):
    """The limits in words, which sort as numbers; those of more than 2⁵³ are scaled, for the table's sake."""
    strategies = {kind: limits[column] for kind, column in DEGREES.items()}
    table = pd.DataFrame(
        {
            "Line": [styles[name][1] * 2 for name in limits["configuration"]],
            "Configuration": limits["configuration"],
            "Linear scaling ends (10^24 FLOP)": limits["linear_scaling_end_flop"] / 1e24,
            "Latency wall (10^24 FLOP)": limits["latency_wall_flop"] / 1e24,
            "Parameters (10^12)": limits["params"] / 1e12,
            "GPUs": limits["n_gpus"],
            "Cost of GPUs (10^9 US$)": limits["cost_usd"] / 1e9,
            "MFU": limits["mfu"],
            **strategies,
            "GPU": limits["gpu"],
            "Model": limits["sparse"].map({True: "sparse", False: "dense"}),
            "Last above (10^24 FLOP)": limits["last_above_flop"] / 1e24,
            "Crosses again": limits["recrosses"].map({True: "yes", False: "no"}),
        }
    )
    words = {
        "Linear scaling ends (10^24 FLOP)": limits["Linear scaling ends"],
        "Latency wall (10^24 FLOP)": limits["Latency wall"],
        "Parameters (10^12)": limits["params"].map(amount),
        "GPUs": limits["n_gpus"].map(amount),
        "Cost of GPUs (10^9 US$)": limits["Cost of GPUs"],
        "MFU": limits["mfu"].map(percent),
        **{kind: limits[column].map(amount) for kind, column in DEGREES.items()},
        "Last above (10^24 FLOP)": limits["last_above_flop"].map(flop),
    }
    styler = table.style
    for column, texts in words.items():
        for row, text in texts.items():
            styler.format(lambda _, text=text: text, subset=(row, column))
    theme = st.context.theme.type or "light"
    hexes = [f"color: {st.get_option(f'theme.{theme}.{styles[name][0]}Color')}" for name in limits["configuration"]]
    return styler.apply(lambda _: hexes, subset=["Line"])


def shades(field: str, styles: dict[str, tuple[str, float]]) -> tuple[alt.Color, alt.Opacity]:
    """Colour and opacity by the titles in a field, in one legend above the chart."""
    colours, opacities = zip(*styles.values(), strict=True)
    legend = alt.Legend(
        title=None,
        orient="top",
        columns=alt.expr("max(width < 200 ? 1 : 2, floor(width / 190))"),
        columnPadding=4,
        rowPadding=0,
        labelFontSize=alt.expr("width < 400 ? 11 : 13"),  # two columns on a telephone
        symbolType="square",
        offset=30,  # above the title of the vertical axis
    )
    scale = {"type": "ordinal", "domain": list(styles)}
    return (
        alt.Color(f"{field}:O", scale=alt.Scale(range=list(colours), **scale), legend=legend),
        alt.Opacity(f"{field}:O", scale=alt.Scale(range=list(opacities), **scale), legend=legend),
    )


def row_names(names: list[str], most: int = 220) -> alt.Axis:
    """An axis of numbered rows that shows names, which may be any text."""
    return alt.Axis(labelExpr=f"slice({json.dumps([f' {name}' for name in names])}[datum.value], 1)", labelLimit=most)


@chart
def parts_chart(parts: dict[str, tuple[str, float]], ticks: list[float]) -> alt.LayerChart:
    """Shares of the step, stacked, against training compute; `parts` are colours and opacities by title.

    Data sets: `parts` (a row for each part of each point), `points` (a column of words for each part), `selected`.
    """
    share = alt.Y("share:Q", stack=True, title="Share of the step", axis=alt.Axis(format="%", **ABOVE))
    areas = (
        alt.Chart(alt.NamedData("parts"))
        .mark_area(aria=False)
        .encode(
            flop_axis("training_flop", ticks),
            share.scale(domain=[0, 1], clamp=True),
            *shades("part", parts),
            alt.Order("order:Q"),
        )
    )
    nearest = alt.selection_point(nearest=True, on="pointerover", clear="pointerout", empty=False, encodings=["x"])
    rules = (
        alt.Chart(alt.NamedData("points"))
        .mark_rule(strokeWidth=2, color="gray")
        .encode(
            alt.X("training_flop:Q"),
            opacity=alt.when(nearest).then(alt.value(1)).otherwise(alt.value(0)),
            tooltip=tooltip("Training compute", *parts),
            description="spoken:N",
        )
        .add_params(nearest)
    )
    selected = (
        alt.Chart(alt.NamedData("selected"))
        .mark_rule(strokeWidth=2, strokeDash=[4, 3], color="gray", aria=False)
        .encode(alt.X("training_flop:Q"))
    )
    return finished(alt.layer(areas, selected, rules), 380)


@chart
def bars_chart(parts: dict[str, tuple[str, float]], rows: list[str], title: str, form: str) -> alt.LayerChart:
    """Parts of a few things, stacked in horizontal bars. Data set: `parts`."""
    bars = (
        alt.Chart(alt.NamedData("parts"))
        .mark_bar(size=18)
        .encode(
            alt.Y("row:O", title=None, axis=row_names(rows)),
            alt.X(
                "value:Q",
                stack=True,
                title=title,
                axis=alt.Axis(format=form, tickCount=alt.expr("max(2, floor(width / 90))")),
            ),
            *shades("part", parts),
            alt.Order("order:Q"),
            tooltip=tooltip("What", "Part", "Takes"),
            description="spoken:N",
        )
    )
    return finished(alt.layer(bars), 30 * len(rows) + 200)


@chart
def levers_chart(names: list[str], colour: str, ticks: list[float]) -> alt.LayerChart:
    """How far a limit moves if each quantity is multiplied or divided, most first. Data set: `levers`."""
    scale = alt.Scale(type="log", domain=[ticks[0], ticks[-1]], nice=False)
    bars = (
        alt.Chart(alt.NamedData("levers"))
        .mark_bar(height=alt.RelativeBandSize(0.8))
        .encode(
            alt.X("shown:Q", scale=scale, title="The limit moves by", axis=alt.Axis(values=ticks, labelExpr=FACTOR)),
            alt.X2("one:Q"),
            alt.Y("rank:O", title=None, axis=row_names(names)),
            alt.YOffset("offset:O"),
            *shades("Change", {"× 2": (colour, 1), "÷ 2": (colour, 0.55)}),
            tooltip=tooltip("Quantity", "Change", "Limit"),
            description="spoken:N",
        )
    )
    notes = [
        alt.Chart(alt.NamedData("levers"))
        .transform_filter(f"datum.note !== '' && datum.side === '{side}'")
        .mark_text(align=side, dx=dx, fontSize=12, aria=False)
        .encode(alt.X("one:Q"), alt.Y("rank:O"), alt.YOffset("offset:O"), text="note:N", color=alt.value(colour))
        for side, dx in (("left", 3), ("right", -3))
    ]
    return finished(alt.layer(bars, *notes), max(34 * len(names) + 60, 170))


@chart
def map_chart(ticks: list[float]) -> alt.LayerChart:
    """A limit by colour over better networks. Data sets: `cells`, and `here` for the network as it is."""
    powers_of_four = [factor for factor in IMPROVEMENTS if math.log(factor, 4) % 1 == 0]
    axis = {"labelAngle": 0, "values": powers_of_four}
    cells = (
        alt.Chart(alt.NamedData("cells"))
        .mark_rect()
        .encode(
            alt.X("bandwidth_factor:O", title="Bandwidth of the network", axis=alt.Axis(labelExpr=FACTOR, **axis)),
            alt.Y(
                "latency_factor:O",
                sort="descending",
                title="Latency of messages and matmuls",
                axis=alt.Axis(labelExpr=INVERSE, **axis, **ABOVE),
            ),
            color=alt.when("datum.is_known")
            .then(
                alt.Color(
                    "flop:Q",
                    scale=alt.Scale(type="log", scheme="viridis", domain=[ticks[0], ticks[-1]]),
                    legend=alt.Legend(title="FLOP", values=ticks, labelExpr=POWER_OF_TEN, gradientLength=300),
                )
            )
            .otherwise(alt.value("gray")),
            tooltip=tooltip("Bandwidth", "Latency", "Linear scaling ends", "Latency wall"),
            description="spoken:N",
        )
    )
    here = (
        alt.Chart(alt.NamedData("here"))
        .mark_point(size=140, strokeWidth=2.5, color="white", aria=False)
        .encode(alt.X("bandwidth_factor:O"), alt.Y("latency_factor:O", sort="descending"))
    )
    return finished(alt.layer(cells, here), 460)


@chart
def critical_chart(names: list[str], colours: list[str], ticks: list[float]) -> alt.LayerChart:
    """Closed forms against α. Data set: `curves` (line, exponent_difference, training_flop), `asked`."""
    keys = list(keys_of(names).values())
    legend = legend_of(names)
    colour = alt.Color("line:N", scale=alt.Scale(domain=keys, range=colours), legend=legend)
    x = alt.X(
        "exponent_difference:Q",
        title="α: growth of the batch less the depth’s",
        scale=alt.Scale(domain=[-0.2, 0.2], nice=False),
        axis=alt.Axis(format=".2~f"),
    )
    lines = (
        alt.Chart(alt.NamedData("curves"))
        .mark_line(strokeWidth=2, clip=True, aria=False)
        .encode(
            x,
            log_axis(alt.Y, "training_flop", "Training compute (FLOP)", ticks, **ABOVE),
            colour,
            alt.StrokeDash(
                "line:N", scale=alt.Scale(domain=keys, range=[*[[1, 0]] * (len(keys) - 1), [6, 3]]), legend=legend
            ),
        )
    )
    dots = (
        alt.Chart(alt.NamedData("curves"))
        .mark_point(filled=True, size=30, opacity=1, clip=True)
        .encode(
            alt.X("exponent_difference:Q"),
            alt.Y("training_flop:Q"),
            colour,
            tooltip=tooltip("Limit", "α", "Training compute"),
            description="spoken:N",
        )
    )
    asked = (
        alt.Chart(alt.NamedData("asked"))
        .mark_rule(strokeDash=[4, 3], color="gray", clip=True, aria=False)
        .encode(alt.X("exponent_difference:Q"))
    )
    return finished(alt.layer(asked, lines, dots), 400)


@chart
def growth_chart(styles: Styles, ticks: list[float], first: float, last: float) -> alt.LayerChart:
    """The largest runs of the years, and when they reach each limit. Data sets: `cone`, `limits`."""
    x = alt.X(
        "year:Q",
        title="Year",
        scale=alt.Scale(domain=[first, last], nice=False),
        axis=alt.Axis(format="d", tickMinStep=1),
    )
    cone = (
        alt.Chart(alt.NamedData("cone"))
        .mark_area(color="gray", opacity=0.25, clip=True, aria=False)
        .encode(x, log_axis(alt.Y, "slow", "Training compute (FLOP)", ticks, **ABOVE), alt.Y2("fast:Q"))
    )
    base = alt.Chart(alt.NamedData("limits")).encode(
        colour_of(styles, legend_of(styles)),
        alt.Y("training_flop:Q"),
        tooltip=tooltip("Configuration", "Limit", "Training compute", "Reached"),
    )
    spans = base.mark_rule(strokeWidth=4, clip=True).encode(
        alt.X("earliest:Q"), alt.X2("latest:Q"), description="spoken:N"
    )
    shapes = {"!datum.wall && datum.known": "diamond", "!datum.wall && !datum.known": "triangle-left"}
    shapes |= {"datum.wall && !datum.known": "triangle-right"}
    points = [
        base.transform_filter(which).mark_point(shape=shape, filled=True, size=160, opacity=1, clip=True)
        for which, shape in shapes.items()
    ]
    walls = base.transform_filter("datum.wall && datum.known").mark_tick(
        orient="vertical", thickness=4, size=18, opacity=1, clip=True
    )
    return finished(alt.layer(cone, spans, *(each.encode(alt.X("middle:Q")) for each in (*points, walls))), 400)


@chart
def costs_chart(styles: Styles, ticks: list[float], cost_ticks: list[float], title: str) -> alt.LayerChart:
    """What clusters cost against training compute, a line per configuration. Data sets: `points`, `selected`."""
    legend = legend_of(styles)
    dashes = alt.Scale(domain=list(keys_of(styles).values()), range=[DASHES[dash] for _, dash in styles.values()])
    base = alt.Chart(alt.NamedData("points")).encode(
        flop_axis("training_flop", ticks),
        log_axis(alt.Y, "cost", title, cost_ticks, **ABOVE),
        colour_of(styles, legend),
    )
    lines = base.mark_line(strokeWidth=2, aria=False).encode(alt.StrokeDash("line:N", scale=dashes, legend=legend))
    dots = base.mark_point(filled=True, size=30, opacity=1).encode(
        tooltip=tooltip("Configuration", "Training compute", "GPUs", "Cost of GPUs", "Power", "Energy"),
        description="spoken:N",
    )
    ring = (
        alt.Chart(alt.NamedData("selected"))
        .mark_point(size=300, strokeWidth=2, aria=False)
        .encode(alt.X("training_flop:Q"), alt.Y("cost:Q"), colour_of(styles))
    )
    return finished(alt.layer(lines, ring, dots), 360)


@chart
def reality_chart(names: list[str]) -> alt.LayerChart:
    """MFU as measured and as the model has it, a row per run. Data set: `runs`."""
    base = alt.Chart(alt.NamedData("runs")).encode(
        alt.Y("row:O", title=None, axis=row_names(names)),
        tooltip=tooltip("Run", "Measured MFU", "MFU of the model", "Ratio"),
    )
    x = alt.X("measured_mfu:Q", title="MFU", axis=alt.Axis(format="%"), scale=alt.Scale(domainMin=0))
    gaps = base.mark_rule(strokeWidth=2, color="gray", aria=False).encode(x, alt.X2("model_mfu:Q"))
    kinds = alt.Scale(domain=["Measured", "Model"], range=["circle", "diamond"])
    dots = (
        base.transform_fold(["measured_mfu", "model_mfu"], as_=["kind", "mfu"])
        .transform_calculate(
            which="datum.kind === 'measured_mfu' ? 'Measured' : 'Model'",
            spoken="datum.Run + ', ' + datum.which + ' MFU ' + format(datum.mfu, '.0%')",
        )
        .mark_point(filled=True, size=110, opacity=1)
        .encode(
            alt.X("mfu:Q"),
            alt.Shape("which:N", scale=kinds, legend=alt.Legend(title=None, orient="top", labelFontSize=13)),
            alt.Color("which:N", scale=alt.Scale(domain=["Measured", "Model"], range=["orange", "blue"])),
            description="spoken:N",
        )
    )
    return finished(alt.layer(gaps, dots), 26 * len(names) + 90)


lasting = set(globals())  # all that callbacks need; what follows is of this run alone

# The sidebar: what is run

if "entries" not in state:
    state.entries, state.sheets, state.numbers = {}, {}, itertools.count()
    state.stopped, state.halted, state.wanted, state.picked = False, set(), set(), None
    state.asked = asked_of(Questions())
    state.notice = read_link()


# What the tabs say


def choose_point(curve: Curve) -> None:
    """The slider of the selected point of a curve, in whichever tab is open."""
    st.markdown(f"{swatch(styles[curve.name])} **{plain(curve.name)} at one point**")
    compute = dict(zip(curve.frame["d_model"], curve.words["Training compute"], strict=True))
    st.select_slider(
        "Training compute",
        list(compute),
        format_func=compute.get,
        key="point",
        on_change=lambda: state.update(picked=state.point),
        help=TERMS["Training compute"],
    )


def walls_of(curve: Curve) -> pd.DataFrame:
    """The walls in closed form that are finite, of the questions' values and a curve's GPU and network."""
    asked, configuration = state.asked.valid, curve.configuration
    alpha = asked.critical_compute.exponent_difference
    walls = closed_form_walls(configuration.gpu, configuration.network, alpha, **asked.latency_wall.quantities)
    return walls[walls["training_flop"] < math.inf]


def walls_in_sight(walls: pd.DataFrame, ticks: list[float]) -> pd.DataFrame:
    """Walls with where their names stand on an axis and what their tooltips say."""
    late = walls["training_flop"] > ticks[0] * (ticks[-1] / ticks[0]) ** 0.7  # no room for a name to the right
    words = walls["training_flop"].map(flop).astype(str)  # of no wall, too
    return walls.assign(
        fall=-8 - 14 * walls.index,  # above the chart
        side=late.map({False: "left", True: "right"}),
        spoken=walls["wall"] + " in closed form: " + words,
        **{"Wall in closed form": walls["wall"], "Training compute": words},
    )


def stacked(parts: pd.DataFrame, **columns) -> pd.DataFrame:
    """A row for each part of each row of `step_breakdown`, in the order in which they stack."""
    named = parts.rename(columns=PARTS).assign(**columns)
    long = named.melt(list(columns), var_name="part", value_name="seconds")
    return long.assign(order=long["part"].map({title: order for order, title in enumerate(PARTS.values())}))


def time_tab(curve: Curve, point: pd.DataFrame, ticks: list[float]) -> None:
    """Where the time of a step goes, over a curve and at a point."""
    parts = step_breakdown(curve.configuration, curve.frame)
    shares = parts.div(parts.sum(axis=1), axis=0)
    shown = {PARTS[part]: PART_STYLES[PARTS[part]] for part in parts if shares[part].max() > LEAST_DRAWN}
    words = shares_in_words(parts).assign(
        **curve.words[["Training compute"]], training_flop=curve.frame["training_flop"]
    )
    long = stacked(shares[[part for part in parts if PARTS[part] in shown]], training_flop=curve.frame["training_flop"])
    with st.container(border=True):
        st.markdown(f"{swatch(styles[curve.name])} **Where a step of {plain(curve.name)} spends its time**")
        draw(
            "time",
            parts_chart(shown, ticks),
            {
                "parts": long.rename(columns={"seconds": "share"}),
                "points": words.assign(spoken=words["Training compute"] + ": " + words["Arithmetic"] + " arithmetic"),
                "selected": point[["training_flop"]],
            },
            "Shares of the time of a step. Stacked, against training compute on a logarithmic scale.",
        )
        st.caption(
            "Only what nothing hides is counted: communication that happens during compute takes no time of its own. "
            "The parts add up to the step.",
            help="\n".join(f"- **{title}.** {PART_TERMS[title]}" for title in shown),
        )
    with st.container(border=True):
        choose_point(curve)
        of_point = parts.loc[point.index[0]]
        st.markdown(plain(bottleneck(of_point)))
        st.space("small")  # for the table's toolbar, which a telephone shows above it
        tables = st.columns([3, 7])
        with tables[0]:
            st.dataframe(
                parts_table(of_point[of_point / of_point.sum() >= LEAST_SHARE]),
                hide_index=True,
                height="content",
                alt="Parts of the step at this point.",
            )
            st.space("small")  # for the next table's toolbar, which a telephone shows above it
        with tables[1]:
            st.dataframe(
                matmuls_in_words(matmul_table(curve.configuration, point.iloc[0])),
                hide_index=True,
                alt="The six matmuls of a layer at this point, and what bounds each.",
            )
            st.caption(
                "The matmuls of one layer and microbatch on one GPU. The slowest of tensor cores, HBM, L2 and shared "
                "memory sets the pace of each; the latency comes on top."
            )


def levers_tab(curve: Curve, limit: str) -> None:
    """What would move the limits. It takes a while to work out, and so comes after all else of the page."""
    with st.container(border=True):
        st.markdown(f"{swatch(styles[curve.name])} **{plain(curve.name)}: each quantity doubled and halved**")
        place, bar = st.container(), st.empty()
    with st.container(border=True):
        st.markdown(f"{swatch(styles[curve.name])} **{plain(curve.name)}: over slower and faster networks**")
        map_place, map_bar = st.container(), st.empty()
    st.caption(COMPARABLE)
    with place, said_if_too_much(bar):
        remembered_with(Bar("attainable", bar, partial(halt, "attainable")), curve.configuration)
        bar.empty()
        name, label = sensitivities.__name__, "Double and halve each quantity"
        if asked_for(name, label, 2 * len(quantities(curve.configuration)), curve, LEVERS_PATIENCE_S):
            found = worked_out(sensitivities, curve.configuration, "Doubling and halving each quantity", bar)
            if found is None:
                go_on_button(name, curve)
            else:
                draw_levers(found, limit, curve)
    with map_place, said_if_too_much(map_bar):
        name, label = improvement_map.__name__, "Draw the map"
        if asked_for(name, label, len(IMPROVEMENTS) ** 2, curve, 0):
            found = worked_out(improvement_map, curve.configuration, "Simulating slower and faster networks", map_bar)
            if found is None:
                go_on_button(name, curve)
            else:
                draw_map(found, limit, curve)


@contextmanager
def said_if_too_much(bar) -> Iterator[None]:
    """In place of what would be too much work, and of the bar that may tell of it, why, and what to do."""
    try:
        yield
    except TooMuchWork as error:
        bar.empty()
        st.info(plain(str(error)), icon=":material/block:")


def go_on_button(work: str, curve: Curve) -> None:
    icon = ":material/play_circle:"
    st.button("Stopped. Go on", on_click=want, args=(work, curve.configuration), key=f"go on {work}", icon=icon)


def asked_for(work: str, label: str, cases: int, curve: Curve, patience_s: float) -> bool:
    """Whether to work something out: at once if that is short, and else after a button that says how long it takes."""
    kept = small_slot(curve.configuration, "attainable")
    if "found" in kept:
        Together(curve.configuration, cases).expect(kept["found"].attrs["operations"])
    seconds = cases * kept.get("seconds", 0)
    if (work, what_counts(curve.configuration)) in state.wanted or (kept and seconds <= patience_s):
        return True
    takes = f", about {duration(max(float(f'{seconds:.1g}'), 1))}" if kept else ""
    st.button(
        label + takes,
        on_click=want,
        args=(work, curve.configuration),
        key=f"want {work}",
        icon=":material/grid_on:",
        help=f"{cases} simulations, of which none is done twice.",
    )
    return False


def draw_levers(found: pd.DataFrame, limit: str, curve: Curve) -> None:
    """The tornado chart, the quantities that move the limit most first."""
    unchanged = comparable_in_words(pd.DataFrame([found.attrs["unchanged"]]))[limit].iloc[0]
    read_off = limit_of.loc[curve.name, limit]
    is_known = not read_off.startswith(("≥", "≤", MISSING))
    st.markdown(
        f"{limit}: **{unchanged}**, without the jags of the curve"
        + (f", on which it is read off at {read_off}." if is_known else "."),
        help=COMPARABLE,
    )
    bars = tornado(found, LIMITS[limit])
    if bars.empty:
        st.info("None of them brings MFU above the threshold.", icon=":material/vertical_align_bottom:")
        return
    names = list(bars.drop_duplicates("rank").set_index("rank")["quantity"].sort_index())
    levers = levers_in_words(bars, comparable_in_words(found)[limit], MOST_SHOWN)
    draw(
        "levers",
        levers_chart(names, styles[curve.name][0], round_factors(levers["shown"])),
        {"levers": levers},
        f"What moves the limit of {curve.name}. {limit} with each quantity doubled and halved, most first.",
    )
    missing = [quantity for quantity in found["quantity"].unique() if quantity not in names]
    if missing:
        st.caption(
            f"Left out: {plain(', '.join(missing))}. Changed or not, no run is above the threshold, or the change is "
            "out of range."
        )
    notes = {
        "never above": "*never above*: with the change, no run is above the threshold.",
        "above it": "*above it*: only with the change, runs are above the threshold.",
        "[×÷]": f"▶ ◀: the limit moves by more than {MOST_SHOWN} times.",
    }
    explained = " ".join(says for note, says in notes.items() if levers["note"].str.contains(note).any())
    st.caption(
        "MFU, and with it the threshold, is relative to the GPU’s own peak: twice the FLOP/s with the same memory, on "
        "the chip and off it, and the same network are harder to keep busy. Depth changes the models too, and so the "
        f"training compute of each. {explained}"
    )


def round_factors(ratios: pd.Series) -> list[float]:
    """Round factors around all ratios, and at least from a half to two."""
    least, most = min(ratios.min(), 1 / 2) * 1.001, max(ratios.max(), 2) * 0.999
    steps = [digit * 10.0**power for power in range(-3, 3) for digit in (1, 2, 5)]
    first = max(index for index, step in enumerate(steps) if step <= least)
    last = min(index for index, step in enumerate(steps) if step >= most)
    ticks = steps[first : last + 1]
    return (
        ticks
        if len(ticks) <= 7
        else [tick for tick in ticks if f"{tick:e}"[0] == "1" or tick in ticks[:: len(ticks) - 1]]
    )


def draw_map(found: pd.DataFrame, limit: str, curve: Curve) -> None:
    """The map of a limit over bandwidth and latency."""
    cells = map_in_words(found).dropna(subset=LIMITS[limit])
    cells = cells.assign(flop=cells[LIMITS[limit]], is_known=cells["above"] | (limit != next(iter(LIMITS))))
    if not cells["is_known"].any():
        st.info(
            "On none of these networks is a run above the threshold: lower it, in the tab Maximum training compute, or "
            "look at the latency wall.",
            icon=":material/vertical_align_bottom:",
        )
        return
    cells["spoken"] = "Bandwidth " + cells["Bandwidth"] + ", latency " + cells["Latency"] + ": " + cells[limit]
    draw(
        "map",
        map_chart(decades(cells["flop"][cells["is_known"]])),
        {"cells": cells, "here": pd.DataFrame({"bandwidth_factor": [1.0], "latency_factor": [1.0]})},
        f"{limit} of {curve.name} over slower and faster networks. Bandwidth against latency, by colour.",
    )
    st.caption(
        "○ the network as it is. To the right all levels have more bandwidth, upwards messages and matmuls have less "
        "latency; half a power of two from cell to cell."
        + ("" if cells["is_known"].all() else " Grey: no run is above the threshold.")
    )


def forms_tab(curve: Curve) -> None:
    """The articles' arithmetic, with quantities to change."""
    asked = state.asked.valid
    with st.container(border=True):
        st.markdown("**Latency wall.** Steps follow one another, and so do the layers of each step.")
        ask(*questions_of("latency_wall"))
        quantities = asked.latency_wall.quantities
        params, training_flop = latency_wall(**quantities)
        metrics = st.grid(2, min_column_width=200)
        metrics.metric("Largest model", f"{scientific(params, 3)} parameters")
        metrics.metric("Its training", flop(training_flop, 3))
        time_s, batch, depth, latency_s, tokens = map(tex, quantities.values())
        st.markdown(
            "A layer has two matmuls forward and two backward that wait for one another, each for the latency of a "
            "matmul and the message after it. So each of the *L* layers adds at least four latencies *t* to a step, "
            "and the *N · r* tokens of the run, in batches of *B*, fit into its time *T* if there are at most so many "
            "parameters *N*, whose training takes so many FLOP *C*:"
        )
        st.latex(
            # In lines, for telephones.
            r"\begin{aligned} \rule{0pt}{1.7em} N &= \frac{T \cdot B}{4 \cdot r \cdot L \cdot t} \\ &= "
            rf"\frac{{{time_s} \cdot {batch}}}{{4 \cdot {tokens} \cdot {depth} \cdot {latency_s}}}"
            rf" \\ &= {tex(params)} \end{{aligned}}"
        )
        st.latex(rf"C = 6 \cdot r \cdot N^2 = {tex(training_flop)}")
        own = latency_wall_values(curve.configuration, curve.frame.iloc[-1])
        st.button(
            f"Take the values of {plain(curve.name)}",
            on_click=lambda: state.update(asked=with_values(state.asked, "latency_wall", own)),
            disabled=own["latency_s"] == 0,  # there is no wall then
            icon=":material/arrow_downward:",
            help="Its training time, and layers, batch and tokens at the end of its curve; the latency of a matmul and "
            "of an all-reduce over all levels.",
        )
        st.caption(
            "The simulation's wall is lower or higher as its depth and batch are those of the scaling laws, and as a "
            "matmul and the messages after it take their own times."
        )
        defaults_button("latency_wall")
    with st.container(border=True):
        st.markdown(
            "**Critical compute.** Where a node runs out of bandwidth, however a run is parallelised.",
            help=TERMS["Critical compute"],
        )
        ask(*questions_of("critical_compute"))
        alpha = asked.critical_compute.exponent_difference
        configuration = curve.configuration
        metrics = st.grid(2, min_column_width=200)
        critical = critical_compute(configuration.gpu, configuration.network, alpha)
        metrics.metric(f"Critical compute of {plain(curve.name)}", flop(float(critical), 3))
        metrics.metric("Latency alone allows", flop(float(latency_limit(alpha, asked.latency_wall.latency_s)), 3))
        rates = node_rates(configuration.gpu, configuration.network)
        st.markdown(
            "A node makes *M* multiply-adds a second: *n* for each word of its memory, and ¾ *s* for each word of the "
            "network between nodes. With 4 million tokens to 100 layers at 3 × 10²³ FLOP, a ratio *F* that grows as "
            "FLOP to the power of α, and three months *T*:"
        )
        st.latex(
            r"\begin{aligned} \rule{0pt}{2em} "
            r"C &= 2 \left[ \frac{1}{960} \left( \frac{F \cdot M \cdot T}{s^2 \cdot n} \right)^2 "
            r"\right]^{1 / (1 - 2 \alpha)}"
            rf" \\ M &= {tex(rates.mac_per_s)} \\ s &= {tex(rates.shard)} \\ n &= {tex(rates.nano)} \end{{aligned}}"
        )
        st.markdown(
            "Latency alone allows more: with the latency above, the same batch and layers that grow with α, and three "
            "months. The latency wall above has a batch and layers that do not grow."
        )
        shown = {name: hardware[entry] for name, entry in GENERATIONS.items()}
        machine = Hardware(gpu=configuration.gpu, network=configuration.network)
        if not any(math.isclose(critical_of(each), critical_of(machine)) for each in shown.values()):
            shown |= {f"{curve.name} ": machine}  # the space keeps it apart from one of that name
        curves = critical_compute_curves(shown, ALPHAS, asked.latency_wall.latency_s)
        curves = curves[curves["training_flop"] < math.inf]
        names = list(curves["curve"].unique())
        points = curves.assign(
            line=curves["curve"].map(keys_of(names)),
            **{"Limit": curves["curve"], "α": curves["exponent_difference"].map("{:+.2f}".format)},
            **{"Training compute": curves["training_flop"].map(flop)},
        )
        points["spoken"] = points["Limit"] + ", α " + points["α"] + ": " + points["Training compute"]
        draw(
            "critical compute",
            critical_chart(names, list(COLOURS[: len(names)]), decades(curves["training_flop"])),
            {"curves": points, "asked": pd.DataFrame({"exponent_difference": [alpha]})},
            "Critical compute against the exponent difference α. V100, A100, H100 and the limit by latency.",
        )
        st.caption(
            "If the batch may grow faster with training compute than models grow deeper, α is positive and there is "
            "more to do in parallel. Both walls can be shown in the Utilization chart."
        )
        defaults_button("critical_compute")


def critical_of(hardware: Hardware) -> float:
    return float(critical_compute(hardware.gpu, hardware.network, 0))


def tex(value: float) -> str:
    """A number for a formula."""
    mantissa, _, exponent = f"{value:.3g}".partition("e")
    return f"{mantissa} \\times 10^{{{int(exponent)}}}" if exponent else mantissa


def defaults_button(question: str, label: str = "As in the article") -> None:
    st.button(
        label,
        key=f"defaults {question}",
        on_click=lambda: state.update(asked=with_defaults(state.asked, question)),
        disabled=state.asked.draft[question] == getattr(Questions(), question).model_dump(),
        icon=":material/undo:",
    )


def when_tab(limits: pd.DataFrame, curves: dict[str, Curve], curve: Curve, point: pd.DataFrame, ticks) -> None:
    """When limits are reached, and what clusters cost."""
    growth = state.asked.valid.growth.model_dump()
    with growth_card:
        st.markdown("**When the largest training runs reach each limit**, if they go on growing as they did")
        ask(*questions_of("growth"))
        reached = limits_reached(limits, **growth)
        draw_growth(limits, reached, curve.name)
        st.space("small")  # for the table's toolbar, which a telephone shows above it
        st.dataframe(
            reached_in_words(limits, reached), hide_index=True, alt="The years in which each limit is reached."
        )
        st.caption(
            "Grey: the largest runs, from slow to fast growth. ◆ where linear scaling ends, ❙ the latency wall, each "
            "with its span of years. ◀ no run of the sweep is above the threshold. ▶ the sweep ends before a wall. "
            "Growth of 4–5 times a year is what Epoch AI found for 2010 to 2024."
        )
        defaults_button("growth", "As at first")
    with cost_card:
        costs = {name: cluster_costs(each.configuration, each.frame) for name, each in curves.items()}
        draw_costs(costs, curves, measure, curve, point, ticks)
        choose_point(curve)
        here = costs[curve.name].loc[point.index[0]]
        metrics = st.grid(4, min_column_width=150)
        metrics.metric("GPUs", amount(point["n_gpus"].iloc[0]))
        for title, (column, words, *_) in COSTS.items():
            metrics.metric(title, words(here[column]))
        if here.isna().any():
            st.info(
                f"{plain(curve.name)} has no price or power: type them under **GPU** at the left.",
                icon=":material/edit:",
            )
        guessed = [info for info in ("price_usd", "power_w") if info in curve.configuration.gpu.guesses]
        st.caption(
            "Of the GPUs alone, at board power: servers, network, cooling and spares come on top, and GPUs that wait "
            "take less." + (" The price is a guess." if "price_usd" in guessed else "")
        )


def draw_growth(limits: pd.DataFrame, reached: pd.DataFrame, name: str) -> None:
    """The cone of the largest runs, and the limits in it."""
    growth = state.asked.valid.growth.model_dump()
    known = reached.dropna(subset="training_flop")
    marks = known.assign(
        line=known["configuration"].map(limits.set_index("configuration")["line"]),
        middle=(known["earliest"] + known["latest"]) / 2,
        wall=known["limit"] == next(reversed(LIMITS)),
        Configuration=known["configuration"],
        Limit=known["limit"],
        Reached=years_of(limits, reached).loc[known.index],
        known=limits_are_known(limits).loc[known.index],
        **{"Training compute": known["training_flop"].map(flop)},
    )
    marks["spoken"] = marks["Configuration"] + ", " + marks["Limit"] + ": " + marks["Reached"]
    marks = marks.sort_values("configuration", key=lambda names: names == name, kind="stable")  # not to be covered
    start = growth["start_year"]
    first = math.floor(max(min(start, marks["earliest"].min()), start - MOST_YEARS))
    last = math.ceil(max(min(marks["latest"].max(), start + MOST_YEARS), first + 2))
    ticks = decades(marks["training_flop"], pd.Series([growth["start_flop"]]))
    cone = largest_runs(range(first, last + 1), **growth)
    cone[["slow", "fast"]] = cone[["slow", "fast"]].clip(ticks[0], ticks[-1])
    draw(
        "growth",
        growth_chart(styles_drawn, ticks, first, last),
        {"cone": cone, "limits": marks},
        "The largest training runs of the years to come. The cone of slow to fast growth, and when it reaches limits.",
    )


def draw_costs(costs, curves: dict[str, Curve], measure: str, curve: Curve, point: pd.DataFrame, ticks) -> None:
    column, _, axis, unit = COSTS[measure]
    points = pd.concat(
        [
            pd.DataFrame(
                {
                    "line": keys_of(curves)[name],
                    "training_flop": curves[name].frame["training_flop"],
                    "cost": each[column] / unit,
                    **curves[name].words[["Configuration", "Training compute", "GPUs"]],
                    **{title: each[of].map(said) for title, (of, said, *_) in COSTS.items()},
                }
            )
            for name, each in costs.items()
        ]
    ).dropna(subset="cost")
    points = points[points["cost"] > 0]
    if points.empty:
        st.info("No GPU here has a price or a power: type them under **GPU** at the left.", icon=":material/edit:")
        return
    points["spoken"] = points["Configuration"] + ", " + points[measure] + " at " + points["Training compute"]
    at_point = points[(points["line"] == keys_of(curves)[curve.name]) & (points.index == point.index[0])]
    draw(
        "costs",
        costs_chart(styles_drawn, ticks, decades(points["cost"]), axis),
        {"points": points, "selected": at_point},
        f"{measure} against training compute. A line for each of {', '.join(curves)}, both on logarithmic scales.",
    )


def strategy_tab(curve: Curve, point: pd.DataFrame) -> None:
    """A strategy of the reader's own, beside the best for the same model and cluster."""
    asked, row = state.asked.valid.strategy, point.iloc[0]
    with st.container(border=True):
        choose_point(curve)
        n_gpus = asked.n_gpus or int(row["n_gpus"])
        pins = Pins(**{name: getattr(asked, name) for name in Pins.model_fields})
        empty = {"d_model": f"{row['d_model']:,}", "n_gpus": f"{row['n_gpus']:,}"}
        problem, width = "", asked.d_model or int(row["d_model"])
        try:
            shape = shape_by_laws(curve.configuration, width, asked.n_layers, asked.batch_tokens)
            empty |= {"n_layers": f"{shape.n_layers:,}", "batch_tokens": f"{shape.batch_tokens:,}"}
        except ValueError as error:
            problem = str(error)
        items = list(questions_of("strategy"))
        st.markdown("**Model and cluster.** What is empty is that of the selected point.")
        ask(*(item for item in items if item.path[1] not in Pins.model_fields), empty=empty)
        if problem:
            complain(problem)
            return
        st.markdown(
            "**Strategy.** What is empty is searched for: the fastest that goes with the rest.",
            help=meaning_of(*DEGREES, "Microbatch", "Schedule"),
        )
        ask(*(item for item in items if item.path[1] in Pins.model_fields), width=110, empty=ANY_PIN)
        place = st.empty()
        bar = Bar(STRATEGY, place, partial(halt, STRATEGY))
        best, own = (strategy_of(curve.configuration, shape, n_gpus, given, bar) for given in (Pins(), pins))
        place.empty()
        if best is None or own is None:
            go_on_button(STRATEGY, curve)
            return
        with st.container(horizontal=True):
            st.button(
                "Take the best strategy's degrees",
                on_click=lambda: state.update(
                    asked=with_values(state.asked, "strategy", dict(best.iloc[0][[*Pins.model_fields]]))
                ),
                disabled=best.empty,
                icon=":material/arrow_downward:",
                help="To change one after the other.",
            )
            st.button(
                "Empty all",
                on_click=lambda: state.update(asked=with_defaults(state.asked, "strategy")),
                icon=":material/backspace:",
            )
    with st.container(border=True):
        st.markdown(f"**{amount(shape.d_model)} wide, {amount(shape.n_layers)} layers, on {amount(n_gpus)} GPUs**")
        whose = "Your strategy: " if pins != Pins() else ""
        for problem in own.attrs["broken"]:
            (st.error if own.empty else st.warning)(plain(f"{whose}{problem}"), icon=":material/block:")
        for problem in best.attrs["broken"] if pins != Pins() else ():
            st.warning(plain(f"The best strategy: {problem}"), icon=":material/block:")
        both = {"Yours": own, "Best": best} if pins != Pins() else {"Best": best}
        compared = {title: each for title, each in both.items() if not each.empty}
        if not compared:
            return
        st.space("small")  # for the table's toolbar, which a telephone shows above it
        st.dataframe(
            strategies_in_words(curve.configuration, compared),
            hide_index=True,
            height="content",
            alt="Your strategy beside the best for the same model and cluster.",
        )
        parts = {title: step_breakdown(curve.configuration, each) for title, each in compared.items()}
        together = pd.concat(parts.values(), ignore_index=True)
        shown = {PARTS[part]: PART_STYLES[PARTS[part]] for part in together if (together[part] > 0).any()}
        long = stacked(together, row=range(len(together)), What=list(compared))
        long = long[long["part"].isin(shown)].assign(Part=long["part"], Takes=long["seconds"].map(duration))
        long["spoken"] = long["What"] + ", " + long["Part"] + ": " + long["Takes"]
        draw(
            "strategies",
            bars_chart(shown, list(compared), "Time of a step (s)", "~g"),
            {"parts": long.rename(columns={"seconds": "value"})},
            "Where a step of your strategy and of the best spends its time. Parts, stacked, in seconds.",
        )
        for title, each in parts.items():
            st.markdown(plain(f"{title}: {bottleneck(each.iloc[0])}"))


def reality_tab() -> None:
    """Published training runs beside the model."""
    checked = kept_in(small_slot(None, REALITY), reality_check)
    names = list(checked["name"])
    with st.container(border=True):
        st.markdown("**Measured in published training runs, and what the model allows** with the same parallelism")
        runs = checked.assign(
            row=range(len(checked)),
            **{
                "Run": checked["name"],
                "Measured MFU": checked["measured_mfu"].map(percent),
                "MFU of the model": checked["model_mfu"].map(percent),
                "Ratio": checked["ratio"].map(percent),
            },
        )
        draw(
            "reality",
            reality_chart(names),
            {"runs": runs[["row", "measured_mfu", "model_mfu", "Run", "Measured MFU", "MFU of the model", "Ratio"]]},
            "MFU of published training runs. As measured and as the model has it.",
        )
        st.space("small")  # for the table's toolbar, which a telephone shows above it
        st.dataframe(
            runs_in_words(checked),
            hide_index=True,
            column_config={
                "Measured / model": st.column_config.ProgressColumn(format="%.0f%%", min_value=0, max_value=100)
            },
            height="content",
            alt="Published training runs beside the model.",
        )
    with st.container(border=True):
        st.markdown("**Where the measured step went:** what the model knows, and the gap")
        parts = reality_breakdown(checked).reset_index(drop=True)
        shares = parts.div(parts.sum(axis=1), axis=0).rename(columns=PARTS | {"gap_s": GAP_PART})
        drawn = {
            title: style
            for title, style in (PART_STYLES | {GAP_PART: ("gray", 0.35)}).items()
            if shares[title].max() > LEAST_DRAWN
        }
        long = shares.assign(row=range(len(shares)), What=names).melt(["row", "What"], var_name="part")
        long = long[long["part"].isin(drawn)].assign(
            Part=long["part"],
            Takes=long["value"].map(partial(percent, decimals=1)),
            order=long["part"].map({title: order for order, title in enumerate(drawn)}),
        )
        long["spoken"] = long["What"] + ", " + long["Part"] + ": " + long["Takes"]
        draw(
            "gap",
            bars_chart(drawn, names, "Share of the measured step", "%"),
            {"parts": long},
            "Where the measured step of published runs went. Parts of the model's step, and the gap to what it took.",
        )
        st.markdown("**What the gap is made of**\n" + "\n".join(f"- {plain(reason)}" for reason in GAP))
        beaten = list(checked["name"][checked["ratio"] > 1])
        st.caption(
            "Both on the same count of FLOP, 6 · parameters · tokens. The model is an upper bound, so no run should be "
            f"above it: {plain(', '.join(beaten) or 'none')} {'are' if len(beaten) > 1 else 'is'}."
        )


@cache
def draw_form() -> None:
    """Draw the form, once a run: after the curve, which an edit waits for, unless that takes long."""
    with form:
        editor(title, number, entries[number])
    state.form_of = number


with st.sidebar:
    titles = list(dict.fromkeys([*presets, *state.sheets]))
    title = st.selectbox(
        "Preset", titles, key="preset", bind="query-params", on_change=go_on, help="Configurations to compare."
    )
    if title not in state.entries:
        state.entries[title] = opened(sheet_of(title), state.numbers)
    sheet = sheet_of(title)
    entries: Entries = state.entries[title]
    if state.get("visited") != title:  # ticks start anew: after quick changes Streamlit may give old ones another value
        state.visited, state.visit = title, state.get("visit", 0) + 1
    st.subheader("Configurations", help="Tick what the charts, the tables and the downloads include.", anchor=False)
    styles: Styles = {
        entry.valid.name: (
            COLOURS[entry.shown.colour % len(COLOURS)],
            list(DASHES)[entry.shown.colour // len(COLOURS) % len(DASHES)],
        )
        for entry in entries.values()
    }
    rows = st.container()  # so that what is below keeps its place, and clicks on it, however many there are
    for number, entry in entries.items():
        key = f"include {number} {state.visit}"
        with rows.container(horizontal=True, wrap=False, vertical_alignment="center", gap="xsmall"):
            st.markdown(swatch(styles[entry.valid.name]), width="content")
            included = st.checkbox(plain(entry.valid.name), value=entry.shown.included, key=key, width="stretch")
        if included != entry.shown.included:
            shown = entry.shown.model_copy(update={"included": included})
            entries[number] = replace(entry, shown=shown)
    names = {entry.valid.name: number for number, entry in entries.items()}
    if state.get("configuration") not in names and state.get("chosen") in entries:  # a quick click brought an old name
        state.configuration = entries[state.chosen].valid.name
    name = st.selectbox(
        "Selected configuration",
        list(names),
        key="configuration",
        bind="query-params",
        help="The one to edit here, whose numbers stand above the charts.",
    )
    number = state.chosen = names[name]
    preset_configurations = {configuration.name: configuration for configuration in sheet.configurations}
    origin = preset_configurations.get(entries[number].shown.origin)
    full = len(entries) >= MOST_CONFIGURATIONS
    with st.container(horizontal=True, gap="xsmall"):
        st.button(
            "Duplicate", on_click=add, args=(title, number, COPY), disabled=full, help="A copy, to change and compare."
        )
        st.button(
            "Remove",
            on_click=remove,
            args=(title, number),
            disabled=len(entries) == 1,
            help="A tick leaves it out of the charts without removing it.",
        )
        st.button(
            "Put back",
            on_click=change,
            args=(title, number, put_back, origin),
            disabled=origin is None or entries[number].draft == origin.model_dump(),
            help="As it is in the preset.",
        )
    st.menu_button(
        "Add new configuration",
        [f"{COPY}{name}", *hardware],
        key="addition",
        format_func=plain,
        on_click=lambda title, number: add(title, number, state.addition),
        args=(title, number),
        disabled=full,
        icon=":material/add:",
        help="A copy of the selected one, or a GPU of the catalogue with its network.",
        width="stretch",
    )
    form = st.container()
    if state.get("form_of") != number:  # or one could still type into that of what was selected before
        draw_form()
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        live = st.toggle(
            "Live update", value=True, key="live", bind="query-params", help="Off: changes wait for “Run simulation”."
        )
        st.button(
            "Run simulation",
            on_click=run_now,
            type="secondary" if live else "primary",
            help="Simulates what has changed, and goes on after a stop.",
        )
    with st.expander("Open a file", icon=":material/folder_open:"):
        st.file_uploader(
            "A saved state, a complete output or a preset (JSON)", type="json", key="file", on_change=open_file
        )


# What comes of it

st.title("How far can AI training scale?", anchor=False)
st.markdown(
    "The largest training runs that moving data allows, inside GPUs and between them, after "
    "[Erdil & Schneider-Joseph 2024](https://arxiv.org/abs/2411.01137). **An upper bound:** attention, failures, "
    "stragglers and network congestion are left out."
)
lead, _, rest = sheet.description.partition(". ")
st.markdown(f"**{plain(title)}.** {plain(lead)}{'.' if rest else ''}")
if rest or sheet.source:
    with st.expander("What to look for", icon=":material/visibility:"):
        st.markdown(plain(rest))
        st.caption(f"Source: {plain(sheet.source)}")
if state.notice:
    st.warning(state.notice, icon=":material/warning:")
running = st.empty()

if live:
    entries.update({key: replace(entry, applied=entry.valid) for key, entry in entries.items()})
included = {key: entry for key, entry in entries.items() if entry.shown.included and entry.applied}
slots = {key: slot(entry.applied) for key, entry in included.items()}
if not state.stopped:
    empty = [(entry.applied, slots[key]) for key, entry in included.items() if not slots[key]]
    simulate_all(empty, running, draw_form)
unfinished = []
for key, entry in included.items():
    kept, spoken = slots[key], f"**{plain(entry.valid.name)}**"
    if "frame" in kept:
        entries[key] = included[key] = replace(entry, drawn=entry.applied)
        if kept["frame"].empty:
            st.warning(f"{spoken} has no feasible run. {plain(kept['frame'].attrs['reason'])}", icon=":material/block:")
    elif "refused" in kept:
        st.warning(f"{spoken} cannot be simulated: {plain(kept['refused'])}", icon=":material/block:")
    else:
        unfinished.append(entry.valid.name)
if unfinished:
    st.warning(
        f"Stopped before {plain(', '.join(map(isolated, unfinished)))}. “Run simulation” goes on.",
        icon=":material/stop_circle:",
    )
pending = [
    entry.valid.name
    for entry in entries.values()
    if entry.applied is not entry.valid
    and (entry.applied is None or what_counts(entry.applied) != what_counts(entry.valid))
]
if pending:
    st.info(
        f"Changed but not run: {plain(', '.join(map(isolated, pending)))}. Press “Run simulation”.",
        icon=":material/pending:",
    )

curves = {}
for key, entry in included.items():
    kept = slots[key] if entry.drawn is entry.applied else slot(entry.drawn) if entry.drawn else {}
    if "frame" in kept and not kept["frame"].empty:
        name = entry.valid.name
        frame, words = kept["frame"].copy(), kept["facts"].copy()  # pandas keeps a note of every view with its frame
        curves[name] = Curve(name, entry.drawn, frame.assign(configuration=name), words.assign(Configuration=name))

notices = st.container()
heading = st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom")
headline = st.container(border=True)
tabs = dict(zip(VIEWS, st.tabs(VIEWS, key="view", bind="query-params", on_change="rerun"), strict=True))
utilization, parallelism, maximum = tabs[UTILIZATION], tabs[PARALLELISM], tabs[MAXIMUM]
# Widgets of the address are drawn in every run, or it would lose them where their tab is not open.
utilization_card = utilization.container(border=True)
with utilization_card.container(horizontal=True):
    st.toggle("Known models", value=True, key="models", bind="query-params", help="Marks on the axis.")
    st.toggle(
        "Walls in closed form",
        value=False,
        key="walls",
        bind="query-params",
        help="The articles’ arithmetic, of the tab of this name: the latency wall, and the critical compute "
        "of the selected configuration, as lines.",
    )
limit_to_move = tabs[LEVERS].segmented_control(
    "Limit",
    list(LIMITS),
    default=next(iter(LIMITS)),
    required=True,
    key="limit",
    bind="query-params",
    help=f"{TERMS['Linear scaling']} {TERMS['Latency wall']}",
)
growth_card, cost_card = tabs[WHEN].container(border=True), tabs[WHEN].container(border=True)
cost_card.markdown("**What clusters cost, and the power they take**", help=COSTS_HELP)
measure = cost_card.segmented_control(
    "Measure", list(COSTS), default=next(iter(COSTS)), required=True, key="cost", bind="query-params"
)
maximum_card = maximum.container(border=True)
threshold = maximum_card.slider(
    "Threshold, as a share of peak sustained",
    *(LEAST_THRESHOLD, MOST_THRESHOLD, THRESHOLD),
    format="%d%%",
    key="threshold",
    bind="query-params",
    width=400,
    help=f"{TERMS['Peak sustained']} {TERMS['Linear scaling']}",
)

if curves:
    results = pd.concat([curve.frame for curve in curves.values()], ignore_index=True)
    found = training_limits(results, threshold / 100)
    limits = described_limits(
        found,
        {name: curve.configuration.gpu for name, curve in curves.items()},
        {name: curve.frame.attrs["at_the_wall"] for name, curve in curves.items()},
    )
    limits["line"] = limits["configuration"].map(keys_of(curves))
    limit_of = limits.set_index("configuration")
    words = pd.concat([curve.words for curve in curves.values()], ignore_index=True)
    curve = curves.get(state.configuration)
    styles_drawn = {name: styles[name] for name in curves}
    reference = curve or next(iter(curves.values()))
    end_flop = limit_of["linear_scaling_end_flop"][reference.name]
    end_width = reference.frame["d_model"][reference.frame["training_flop"] == end_flop]
    widths = list(reference.frame["d_model"])
    state.point = state.picked if state.picked in widths else next(iter(end_width), widths[-1])
    point = reference.frame[reference.frame["d_model"] == state.point]

if curves and utilization.open:  # before what stands above it, for an edit waits for its curve
    with utilization_card:
        peak = reference.configuration.gpu.effective_utilization
        levels = pd.DataFrame(
            {
                "line": keys_of(curves)[reference.name],
                "mfu": [peak, peak * threshold / 100],
                "label": [f"Peak sustained, {percent(peak)}", f"Threshold, {threshold}% of it"],
            }
        )
        walls = walls_of(reference).iloc[: None if state.walls else 0]
        ticks = decades(results["training_flop"], *([walls["training_flop"]] if len(walls) else []))
        look = partial(walls_in_sight, walls, ticks)
        draw(
            "utilization",
            utilization_chart(styles_drawn, ticks, list(words)),
            {
                "points": on_top(reference.name, results, words),
                "ends": ends_of(limits, results),
                "selected": point[["training_flop", "mfu"]].assign(line=keys_of(curves)[reference.name]),
                "levels": levels,
                "known": built("known models", (state.models, ticks), known_in_sight),
                "walls": look() if len(walls) else built("no walls", (), look),
            },
            f"MFU against training compute. A line for each of {', '.join(curves)}, on a logarithmic scale of FLOP.",
            key="curves",
            on_select=pick,
            selection_mode="picked",
        )
        st.caption("◆ where linear scaling ends. ○ the selected point: click another, or move the slider below.")
        if len(walls):
            of = {"Critical compute": f", of {plain(reference.name)}", "Latency wall": ", with the values of that tab"}
            named = [f"{row.wall.lower()} {flop(row.training_flop)}{of[row.wall]}" for row in walls.itertuples()]
            st.caption(f"Closed forms: {'; '.join(named)}.")
    with utilization.container(border=True):
        choose_point(reference)
        st.markdown(plain(sentence(point.iloc[0])))
        st.space("small")  # for the table's toolbar, which a telephone shows above it
        st.dataframe(
            degrees_by_level(reference.configuration, point.iloc[0]),
            hide_index=True,
            alt="Degrees of parallelism at this point over each network level.",
        )

draw_form()
workspace = Workspace(
    title=title,
    description=sheet.description,
    source=sheet.source,
    configurations=tuple(entry.valid for entry in entries.values()),
    shown=tuple(entry.shown for entry in entries.values()),
    selected=state.configuration,
    threshold_percent=threshold,
    view=state.view,
    questions=state.asked.valid,
)
link = edits(workspace, presets.get(title))
if len(link) > LONGEST_LINK:
    notices.warning("This state is too long for a link: download it, and pass the file on.", icon=":material/link_off:")
    link = ""  # rather than that of an earlier state
if link != st.query_params.get("edits", ""):
    if link:
        st.query_params["edits"] = link
    else:
        del st.query_params["edits"]

style = styles[state.configuration]
with heading:
    st.subheader(f"{swatch(style)} {plain(state.configuration)}", anchor=False, width="stretch")
    with st.container(horizontal=True, gap="xsmall", width="content"):
        copy_link(key="copy link", width="content")
        download = partial(st.download_button, on_click="ignore", icon=":material/download:")
        download(
            "State",
            partial(to_json, workspace),
            file_name="training-scaling.json",
            mime="application/json",
            help="Everything set on this page (JSON); “Open a file” brings it back.",
        )
        if curves:
            download(
                "Complete output",
                partial(to_json, workspace, results),
                file_name="complete-output.json",
                mime="application/json",
                help="The state, and every column of every point of the curves (JSON). “Open a file” reads it too.",
            )
            download(
                "Points",
                partial(to_csv, results),
                file_name="points.csv",
                mime="text/csv",
                help="Every column of every point of the curves (CSV).",
            )
with headline:
    if unfinished and not curves:
        st.info("No curve is finished yet.", icon=":material/hourglass_empty:")
    elif not curves:
        st.info("Tick at least one configuration in the sidebar that can be run.", icon=":material/check_box:")
    elif curve is None:
        st.info(f"{plain(state.configuration)} is not among the curves.", icon=":material/visibility_off:")
    else:
        limit = limit_of.loc[state.configuration]
        metrics = st.grid(5, min_column_width=150)
        metrics.metric("Linear scaling ends", limit["Linear scaling ends"], help=TERMS["Linear scaling"])
        metrics.metric("Parameters", amount(limit["params"]), help="Of the model where linear scaling ends.")
        metrics.metric("GPUs", amount(limit["n_gpus"]), help="Of the cluster that trains it.")
        metrics.metric("MFU", percent(limit["mfu"]), help=f"{TERMS['MFU']} Here where linear scaling ends.")
        metrics.metric(
            "Latency wall",
            limit["Latency wall"],
            help=f"{TERMS['Latency wall']} {curve.frame.attrs['reason']}",
        )
        at_end = curve.frame[curve.frame["training_flop"] == limit["linear_scaling_end_flop"]]
        if at_end.empty:
            say = f"MFU stays above {threshold}% of peak sustained up to the end of the curve."
        elif not limit["above"]:
            say = f"MFU is nowhere above {threshold}% of peak sustained: this is the smallest run of the curve."
        else:
            say = f"Where linear scaling ends: {sentence(at_end.iloc[0])}"
        st.caption(
            plain(say),
            help=meaning_of(*DEGREES, "Microbatch", "Schedule"),
        )
        guesses = guesses_in_words(curve.configuration.gpu)
        if guesses:
            st.caption(f"Guesses that this rests on: {plain(guesses)}.", help="Marked beside their inputs too.")

if curves and parallelism.open:
    with parallelism:
        ticks = decades(results["training_flop"])
        degree_ticks = decades(*(results[column] for column in DEGREES.values()))
        kinds = [kind for kind in DEGREES if kind != "EP" or results["sparsity"].max() > 1]
        st.markdown("**Degrees of parallelism** of the fastest strategy", help=meaning_of(*DEGREES))
        panels = st.grid(2, min_column_width=340, border=True)
        for position, (name, drawn) in enumerate(curves.items(), start=1):
            points = drawn.words.join(drawn.frame[["training_flop", *DEGREES.values()]]).rename(
                columns=NAMES_OF_DEGREES
            )
            colour = styles[name][0]
            with panels.cell():
                st.markdown(f"{swatch(styles[name])}\u2002**{plain(name)}**")
                draw(
                    f"degrees {position}",
                    degrees_chart(kinds, colour, ticks, degree_ticks, list(words)),
                    {"points": points},
                    f"Degrees of parallelism of {name}. {', '.join(kinds)} against training compute, both on "
                    "logarithmic scales.",
                )
                draw(
                    f"shares {position}",
                    shares_chart(kinds, colour, ticks),
                    {"points": points, "names": share_labels(drawn.frame.iloc[-1], kinds)},
                    f"Shares in the logarithm of the number of GPUs of {name}. {', '.join(kinds)} against training "
                    "compute.",
                )
        if curve is not None:
            st.markdown(f"**{plain(curve.name)} over the levels of its network**", help=TERMS["Network level"])
            panels = st.grid(2, min_column_width=340, border=True)
            for index in range(len(curve.configuration.network)):
                level = level_in_words(curve.configuration, index)
                points = curve.words.join([curve.frame["training_flop"], degrees_on_level(curve.frame, index)])
                with panels.cell():
                    st.markdown(f"**{plain(level)}**")
                    draw(
                        f"level {index + 1}",
                        degrees_chart(kinds, styles[curve.name][0], ticks, degree_ticks, list(words)),
                        {"points": points},
                        f"Degrees of {curve.name} over a network level, {level}. {', '.join(kinds)} against training "
                        "compute.",
                    )

if curves and maximum.open:
    with maximum_card:
        end, last = limits["linear_scaling_end_flop"], limits["latency_wall_flop"]
        rows = limits.assign(end=end, last=last, start=end.fillna(last), Configuration=limits["configuration"])
        marks = ["line", "at_the_wall", "above", "end", "last", "start"]
        rows = rows[[*marks, "Configuration", "Linear scaling ends", "Latency wall"]]
        draw(
            "maximum training compute",
            limits_chart(styles_drawn, decades(rows["start"], rows["last"]), len(rows)),
            {"limits": rows},
            "For each configuration, from where linear scaling ends to the latency wall.",
        )
        st.space("small")
        table = limits_table(limits, styles)
        headings = {column: st.column_config.Column(column.partition(" (")[0]) for column in table.columns}
        st.dataframe(
            table,
            hide_index=True,
            placeholder="—",
            column_config=headings | {"Line": st.column_config.TextColumn("", width=24)},
            alt="Limits of each configuration; for screen readers in units of 10²⁴ FLOP, 10¹² parameters, 10⁹ US$.",
        )
        download(
            "Table",
            partial(to_csv, found.assign(cost_usd=limits["cost_usd"])),
            file_name="limits.csv",
            mime="text/csv",
            help="The limits in FLOP and US$ (CSV).",
        )
        st.caption(
            "Parameters, GPUs, their cost, parallelism and MFU are those where linear scaling ends. Curves are jagged, "
            "because models and clusters come in round sizes: *last above* is the last training run above the "
            "threshold, *crosses again* whether MFU rises above it once more. ≥: the sweep ends before a wall. "
            "≤: no run of the sweep is above the threshold. ≈: the price is a guess."
        )

if curves:
    ticks = decades(results["training_flop"])
    if tabs[TIME].open:
        with tabs[TIME]:
            time_tab(reference, point, ticks)
    if tabs[FORMS].open:
        with tabs[FORMS]:
            forms_tab(reference)
    if tabs[WHEN].open:
        with tabs[WHEN]:
            when_tab(limits, curves, reference, point, ticks)

with st.expander("What the words mean", icon=":material/menu_book:"):
    st.markdown(meaning_of(*TERMS))

# What takes long to work out, after all else, so that the page can be used meanwhile
if curves and tabs[LEVERS].open:
    with tabs[LEVERS]:
        levers_tab(reference, limit_to_move)
if curves and tabs[STRATEGY].open:
    with tabs[STRATEGY]:
        strategy_tab(reference, point)
if tabs[REALITY].open:
    with tabs[REALITY]:
        reality_tab()

# Streamlit keeps the callbacks of all widgets that a session ever drew, and with them the globals of their runs
for name in globals().keys() - lasting:
    del globals()[name]
