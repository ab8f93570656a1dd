"""How far AI training can scale: a form for every input of `model`, and the curves, strategies and limits it gives."""

import gc
import itertools
import json
import math
import time
from dataclasses import replace
from functools import cache, partial, wraps
from pathlib import Path
from typing import NamedTuple

import altair as alt
import pandas as pd
import streamlit as st

from model import Configuration, load_hardware, load_known_models, load_presets, simulate, training_limits
from model.configuration import MOST_CONFIGURATIONS
from model.editing import Entries, Entry, added, opened, put_back, removed, typed, with_hardware
from model.form import Input, inputs, value_at
from model.text import amount, flop, percent, plain, quantity, scientific
from model.words import (
    DEGREES,
    TERMS,
    degrees_by_level,
    degrees_on_level,
    described_limits,
    facts,
    guesses_in_words,
    level_in_words,
    sentence,
)
from model.workspace import (
    LEAST_THRESHOLD,
    MOST_LINK_CHARACTERS,
    MOST_THRESHOLD,
    THRESHOLD,
    Unreadable,
    Workspace,
    edits,
    from_edits,
    from_json,
    to_json,
)

st.set_page_config(
    page_title="How far can AI training scale?", page_icon="📈", layout="wide", initial_sidebar_state=340
)

UTILIZATION, PARALLELISM, MAXIMUM = VIEWS = ("Utilization", "Parallelism", "Maximum training compute")
THRESHOLDS = {str(percentage) for percentage in range(LEAST_THRESHOLD, MOST_THRESHOLD + 1)}
LEAST_LABELLED = 0.05  # share of log(GPUs)
PATIENCE_S, REFRESH_S = 0.4, 0.1  # of a simulation: until it shows its progress, and between two looks at it
COPY = "A copy of "
COLOURS = ("blue", "orange", "green", "violet", "red", "gray")  # the theme's, so that they suit light and dark
DASHES = {"━": [1, 0], "╍": [6, 3], "┅": [2, 2]}  # for more than six configurations, by their look in a line of text
NAMES_OF_DEGREES = {column: kind for kind, column in DEGREES.items()}
DEGREE_SHAPES = ["circle", "square", "triangle-up", "diamond"]
DEGREE_DASHES = [[1, 0], [7, 3], [2, 2], [9, 3, 2, 3]]
ABOVE = {"titleAngle": 0, "titleAlign": "left", "titleY": -14}  # the title of a vertical axis
POWER_OF_TEN = """
    datum.value < 1e4 ? format(datum.value, ',')
    : '10' + replace(slice('⁰¹²³⁴⁵⁶⁷⁸⁹', POWER / 10, POWER / 10 + 1), '⁰', '')
    + slice('⁰¹²³⁴⁵⁶⁷⁸⁹', POWER % 10, POWER % 10 + 1)
""".replace("POWER", "round(log(datum.value) / LN10)")

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
    gc.freeze()  # Streamlit collects garbage after every run: 40 ms of looking at what the libraries keep anyway
    return component("copy_link"), component("download_chart"), load_presets(), load_hardware(), load_known_models()


st.html("<style>[data-testid=stStatusWidget] button { display: none }</style>")  # its stop leaves a page half drawn
copy_link, download_chart, presets, hardware, known_models = loaded()
state = st.session_state

# State: the entries of every preset that was looked at, and what changes them.


def open_workspace(workspace: Workspace) -> None:
    """Make a workspace the page's."""
    state.entries[workspace.title] = opened(workspace, state.numbers)
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
    if query.get("threshold", str(THRESHOLD)) not in THRESHOLDS:
        state.threshold = THRESHOLD
        damaged.append("the threshold")
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
    """A bar and a button to stop, which appear when a simulation takes long, after what need not wait for it."""

    def __init__(self, place, names: list[str], meanwhile):
        self.place, self.names, self.meanwhile = place, names, meanwhile
        self.bar, self.next = None, time.monotonic() + PATIENCE_S

    def show(self, index: int, share: float) -> None:
        """Tell how much of one simulation is done; after a press on Stop, Streamlit ends the script here."""
        if time.monotonic() < self.next:
            return
        self.next = time.monotonic() + REFRESH_S
        if self.bar is None:
            self.meanwhile()
            with self.place.container(border=True):
                self.bar = st.progress(0.0)
                st.button("Stop", key="stop", on_click=stop, icon=":material/stop_circle:")
        words = f"Simulating {plain(self.names[index])}, {index + 1} of {len(self.names)}"
        self.bar.progress((index + share) / len(self.names), text=words)


def simulate_all(configurations: list[Configuration], place, meanwhile) -> None:
    """Fill the slots of configurations; call `meanwhile` if that takes long, and show a bar in `place`."""
    bar = Bar(place, [configuration.name for configuration in configurations], meanwhile)
    for index, configuration in enumerate(configurations):
        kept = slot(configuration)
        if kept:  # alike but for its name
            continue
        try:
            frame = simulate(configuration, progress=partial(bar.show, index))
            kept |= {"frame": frame, "facts": facts(frame)}
        except ValueError as error:
            kept["refused"] = str(error)
    place.empty()


# The form


def complain(problem: str) -> None:
    st.error(plain(problem[:1].upper() + problem[1:]), icon=":material/error:")


def control(title: str, number: int, entry: Entry, item: Input) -> None:
    """The widget of one input, and below it what is wrong with its value."""
    key = f"{item.location} {number} {state.visit}"
    written = item.written(value_at(entry.draft, item.path))
    if key in state and item.read(state[key]) != item.read(written):
        state[key] = written
    common = {
        "label": item.label,
        "key": key,
        "help": plain(f"{item.description} {item.bounds}".strip()),
        "on_change": type_in,
        "args": (title, number, item, key, state.visit),
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
        st.text_input(value=written, **common)
    if item.formula:
        st.caption(plain(item.formula))
    if item.location in entry.problems:
        complain(entry.problems[item.location])


def editor(title: str, number: int, entry: Entry) -> None:
    """The form of one configuration, by sections, of which only the open ones are drawn."""
    items = list(inputs(entry.draft))
    for item in (item for item in items if item.location == "name"):
        control(title, number, entry, item)
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
                control(title, number, entry, item)
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


def colour_of(styles: Styles, legend=alt.Undefined) -> alt.Color:
    scale = alt.Scale(domain=list(keys_of(styles).values()), range=[colour for colour, _ in styles.values()])
    return alt.Color("line:N", scale=scale, legend=legend)


def finished(chart: alt.LayerChart, height: int) -> alt.LayerChart:
    """A chart of a height, with what all have in common."""
    return chart.properties(height=height, padding={"left": 0, "right": 4, "top": 4, "bottom": 6}).configure_axis(
        labelFontSize=13, titleFontSize=13, labelPadding=6, titlePadding=8, labelFlush=False
    )


def tooltip(*titles: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{title}:N", title=title) for title in titles]


@st.cache_resource(max_entries=256, show_spinner=False)
def vega_lite_of(name: str, arguments: tuple, _build) -> dict:
    """The Vega-Lite of a chart that a function of this name builds."""
    return _build(*arguments).to_dict()


def chart(build):
    """Cache the Vega-Lite of a chart by its arguments: its data sets, by name, are given where it is drawn.

    All charts share a cache, for Streamlit takes half a millisecond a run to set one up.
    """

    @wraps(build)
    def vega_lite(*arguments) -> dict:
        return vega_lite_of(build.__name__, arguments, build)

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

    Data sets: `points`, `ends` of linear scaling, the `selected` point, `levels` across and `known` models.
    """
    share = alt.Y("mfu:Q", title="MFU", axis=alt.Axis(format="%", tickCount=8, **ABOVE))
    legend = alt.Legend(
        title=None,
        orient="top",
        columns=alt.expr("max(1, floor(width / 260))"),
        labelExpr=f"slice({json.dumps([f' {name}' for name in styles])}[toNumber(slice(datum.label, 5))], 1)",
        symbolType="stroke",
        symbolSize=300,
        symbolStrokeWidth=3,
        labelLimit=230,
        labelFontSize=13,
    )
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
    labels = across.mark_text(align="right", baseline="bottom", dx=-4, dy=-3, fontSize=13).encode(
        text="label:N", description="label:N", x=alt.value(alt.expr("width"))
    )
    layers = [rules, labels, *known_model_marks(), lines, diamonds.encode(**at), ring.encode(**at)]
    return finished(alt.layer(*layers, dots.add_params(nearest, picked)), 460)


def on_top(name: str, results: pd.DataFrame, words: pd.DataFrame) -> pd.DataFrame:
    """The points of a utilization chart, those of one configuration last, so that its line is not covered."""
    points = results[["configuration", "training_flop", "mfu", "d_model"]].assign(
        **words,
        line=results["configuration"].map(keys_of(results["configuration"].unique())),
        spoken=words["Configuration"] + ", MFU " + words["MFU"] + " at " + words["Training compute"],
    )
    return points.sort_values("configuration", key=lambda names: names == name, kind="stable")


def ends_of(limits: pd.DataFrame, results: pd.DataFrame) -> pd.DataFrame:
    """Where linear scaling ends; a curve without such a point gets its first, not to be seen: Vega wants some."""
    first = results.drop_duplicates("configuration").reset_index()
    return pd.DataFrame(
        {
            "line": limits["line"],
            "training_flop": limits["linear_scaling_end_flop"].fillna(first["training_flop"]),
            "mfu": limits["mfu"].astype(float).fillna(first["mfu"]),
            "above": limits["above"] & limits["linear_scaling_end_flop"].notna(),
        }
    )


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


def known_in_sight(models: pd.DataFrame, ticks: list[float]) -> pd.DataFrame:
    """The known models between the ends of an axis, with where their names stand and what their tooltips say."""
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


# The sidebar: what is run

if "entries" not in state:
    state.entries, state.sheets, state.numbers = {}, {}, itertools.count()
    state.stopped, state.picked = False, None
    state.notice = read_link()


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
    simulate_all([entry.applied for key, entry in included.items() if not slots[key]], running, draw_form)
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
        f"Stopped before {plain(', '.join(unfinished))}. “Run simulation” goes on.", icon=":material/stop_circle:"
    )
pending = [
    entry.valid.name
    for entry in entries.values()
    if entry.applied is not entry.valid
    and (entry.applied is None or what_counts(entry.applied) != what_counts(entry.valid))
]
if pending:
    st.info(f"Changed but not run: {plain(', '.join(pending))}. Press “Run simulation”.", icon=":material/pending:")

curves = {}
for key, entry in included.items():
    kept = slots[key] if entry.drawn is entry.applied else slot(entry.drawn) if entry.drawn else {}
    if "frame" in kept and not kept["frame"].empty:
        name = entry.valid.name
        curves[name] = Curve(
            name, entry.drawn, kept["frame"].assign(configuration=name), kept["facts"].assign(Configuration=name)
        )

notices = st.container()
heading = st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom")
headline = st.container(border=True)
utilization, parallelism, maximum = st.tabs(VIEWS, key="view", bind="query-params", on_change="rerun")
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

if curves and utilization.open:  # before what stands above it, for an edit waits for its curve
    reference = curve or next(iter(curves.values()))
    end_flop = limit_of["linear_scaling_end_flop"][reference.name]
    end_width = reference.frame["d_model"][reference.frame["training_flop"] == end_flop]
    widths = list(reference.frame["d_model"])
    state.point = state.picked if state.picked in widths else next(iter(end_width), widths[-1])
    point = reference.frame[reference.frame["d_model"] == state.point]
    with utilization.container(border=True):
        st.toggle("Known models", value=True, key="models", bind="query-params", help="Marks on the axis.")
        peak = reference.configuration.gpu.effective_utilization
        levels = pd.DataFrame(
            {
                "line": keys_of(curves)[reference.name],
                "mfu": [peak, peak * threshold / 100],
                "label": [f"Peak sustained, {percent(peak)}", f"Threshold, {threshold}% of it"],
            }
        )
        ticks = decades(results["training_flop"])
        draw(
            "utilization",
            utilization_chart(styles_drawn, ticks, list(words)),
            {
                "points": on_top(reference.name, results, words),
                "ends": ends_of(limits, results),
                "selected": point[["training_flop", "mfu"]].assign(line=keys_of(curves)[reference.name]),
                "levels": levels,
                "known": known_in_sight(known_models if state.models else known_models[:0], ticks),
            },
            f"MFU against training compute. A line for each of {', '.join(curves)}, on a logarithmic scale of FLOP.",
            key="curves",
            on_select=pick,
            selection_mode="picked",
        )
        st.caption("◆ where linear scaling ends. ○ the selected point: click another, or move the slider below.")
    with utilization.container(border=True):
        st.markdown(f"{swatch(styles[reference.name])} **{plain(reference.name)} at one point**")
        compute = dict(zip(widths, reference.words["Training compute"], strict=True))
        st.select_slider(
            "Training compute",
            widths,
            format_func=compute.get,
            key="point",
            on_change=lambda: state.update(picked=state.point),
            help=TERMS["Training compute"],
        )
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
)
link = edits(workspace, presets.get(title))
if len(link) > MOST_LINK_CHARACTERS:
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
                partial(results.to_csv, index=False),
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
            partial(found.assign(cost_usd=limits["cost_usd"]).to_csv, index=False),
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

with st.expander("What the words mean", icon=":material/menu_book:"):
    st.markdown(meaning_of(*TERMS))
