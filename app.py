"""How far AI training can scale: presets, curves, parallelism and limits, all computed by `model`."""

import math
from collections.abc import Iterator
from functools import partial

import altair as alt
import pandas as pd
import streamlit as st

from model import Configuration, load_presets, simulate, training_limits
from model.export import complete_output
from model.text import amount, degrees, degrees_in_words, duration, flop, percent, plain, quantity, scientific

st.set_page_config(page_title="How far can AI training scale?", page_icon="📈", layout="wide")

TERMS = {
    "Training compute": "The arithmetic of a whole training run, in FLOP: 6 for each active parameter and token.",
    "MFU": "Model FLOP utilization: the share of the GPUs' peak FLOP/s that goes into the model's own arithmetic.",
    "Peak sustained": "The most MFU can be: what long runs of large matrix multiplications sustain on this GPU.",
    "Linear scaling": "While MFU stays near its peak, twice the GPUs train twice the FLOP in the same time. That ends "
    "at the first training run whose MFU is no longer above the threshold, a share of peak sustained.",
    "Latency wall": "The largest training run that ends in time on any number of GPUs. Beyond the wall, steps, which "
    "must follow one another, take too long, because every message and every matmul has a latency. ≥ where the sweep "
    "ends before the wall.",
    "DP": "Data parallel: GPUs hold copies of the model, train on different sequences and add up gradients every step.",
    "TP": "Tensor parallel: GPUs split each weight matrix, along d_model and d_ff, and add up results at every layer.",
    "PP": "Pipeline parallel: GPUs hold successive layers and pass activations on from stage to stage.",
    "EP": "Expert parallel: GPUs hold different experts of a sparse model, and tokens travel to theirs.",
    "Microbatch": "A piece of the batch that moves through the pipeline by itself, so that every stage has work.",
    "Schedule": "The order of work in a pipeline. 1F1B alternates forward and backward passes; zero-bubble fills the "
    "waiting at the start and the end (the bubble) with weight gradients.",
    "Sparse": "A mixture of experts: each layer has several, and a token visits one. In a dense model there are none.",
    "Network level": "GPUs are joined in growing groups, such as nodes and clusters of nodes, by ever slower links.",
}
COLOURS = ("blue", "orange", "green", "violet", "red", "gray")  # the theme's, so that they suit light and dark
DASHES = {"━": [1, 0], "╍": [6, 3], "┅": [2, 2]}  # for more than six configurations, by their look in a line of text
DEGREES = {"DP": "dp", "TP": "tp", "PP": "pp", "EP": "ep"}
DEGREE_SHAPES = ["circle", "square", "triangle-up", "diamond"]
DEGREE_DASHES = [[1, 0], [7, 3], [2, 2], [9, 3, 2, 3]]
POWER_OF_TEN = """
    datum.value < 1e4 ? format(datum.value, ',')
    : '10' + replace(slice('⁰¹²³⁴⁵⁶⁷⁸⁹', POWER / 10, POWER / 10 + 1), '⁰', '')
    + slice('⁰¹²³⁴⁵⁶⁷⁸⁹', POWER % 10, POWER % 10 + 1)
""".replace("POWER", "round(log(datum.value) / LN10)")

Styles = dict[str, tuple[str, str]]  # colour and dash of every configuration

presets = st.cache_resource(load_presets, show_spinner=False)()


@st.cache_data(max_entries=256, show_spinner=False, hash_funcs={Configuration: Configuration.model_dump_json})
def run(configuration: Configuration) -> pd.DataFrame:
    """The sweep of a configuration, simulated once."""
    return simulate(configuration)


def meaning_of(*terms: str) -> str:
    return "\n".join(f"- **{term}.** {TERMS[term]}" for term in terms)


def swatch(style: tuple[str, str]) -> str:
    """A piece of a configuration's line, in Markdown."""
    colour, dash = style
    return f":{colour}[{dash}{dash}]"


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


def colour_of(styles: Styles) -> alt.Color:
    scale = alt.Scale(domain=list(styles), range=[colour for colour, _ in styles.values()])
    return alt.Color("configuration:N", scale=scale, legend=None)


def finished(chart: alt.LayerChart, height: int) -> alt.LayerChart:
    return chart.properties(height=height, padding={"left": 0, "right": 4, "top": 4, "bottom": 6}).configure_axis(
        labelFontSize=13, titleFontSize=13, labelPadding=6, titlePadding=8, labelFlush=False
    )


def facts(frame: pd.DataFrame) -> pd.DataFrame:
    """Everything about each point in words, by the titles that its tooltip shows."""
    strategies = frame[["dp", "tp_model", "tp_ff", "pp", "ep"]].itertuples(index=False)
    return pd.DataFrame(
        {
            "Configuration": frame["configuration"],
            "Training compute": frame["training_flop"].map(flop),
            "MFU": frame["mfu"].map(partial(percent, decimals=1)),
            "Share of peak sustained": frame["fraction_of_peak"].map(partial(percent, decimals=1)),
            "Parameters": frame["params"].map(amount),
            "Active parameters": frame["active_params"].map(amount),
            "Training tokens": frame["dataset_tokens"].map(amount),
            "Batch": frame["batch_tokens"].map(amount) + " tokens",
            "GPUs": frame["n_gpus"].map(amount),
            "Parallelism": [degrees_in_words(*strategy) for strategy in strategies],
            "Microbatches": frame["microbatches"].map(amount),
            "Schedule": frame["schedule"],
            "Training time": frame["training_s"].map(duration),
        }
    )


def tooltip(*titles: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(f"{title}:N", title=title) for title in titles]


def utilization_chart(frame, limits, styles: Styles, reference_lines) -> alt.LayerChart:
    """MFU against training compute, a line per configuration."""
    words = facts(frame)
    points = frame[["configuration", "training_flop", "mfu"]].assign(
        **words, spoken=words["Configuration"] + ", MFU " + words["MFU"] + " at " + words["Training compute"]
    )
    share = alt.Y(
        "mfu:Q", title="MFU", axis=alt.Axis(format="%", tickCount=8, titleAngle=0, titleAlign="left", titleY=-14)
    )
    curves = alt.Chart(points).encode(
        flop_axis("training_flop", decades(frame["training_flop"])), share, colour_of(styles)
    )
    nearest = alt.selection_point(nearest=True, on="pointerover", clear="pointerout", empty=False)
    dots = curves.mark_point(filled=True, opacity=1).encode(
        size=alt.when(nearest).then(alt.value(120)).otherwise(alt.value(20)),
        tooltip=tooltip(*words),
        description="spoken:N",
    )
    ends = alt.Chart(limits[["configuration", "linear_scaling_end_flop", "mfu"]].dropna())
    diamonds = ends.mark_point(shape="diamond", filled=True, size=160, opacity=1, aria=False).encode(
        alt.X("linear_scaling_end_flop:Q"), alt.Y("mfu:Q"), colour_of(styles)
    )
    references = alt.Chart(reference_lines).encode(alt.Y("mfu:Q"), colour_of(styles))
    rules = references.mark_rule(strokeDash=[3, 3], aria=False)
    labels = references.mark_text(align="left", baseline="bottom", dx=4, dy=-3, fontSize=13).encode(
        text="label:N", x=alt.value(0)
    )
    dashes = alt.Scale(domain=list(styles), range=[DASHES[dash] for _, dash in styles.values()])
    lines = curves.mark_line(strokeWidth=2, aria=False).encode(
        alt.StrokeDash("configuration:N", scale=dashes, legend=None)
    )
    return finished(alt.layer(rules, labels, lines, diamonds, dots.add_params(nearest)), 440)


def degrees_chart(frame, kinds: list[str], colour: str, flop_ticks: list[float], degree_ticks) -> alt.LayerChart:
    """The degrees in the columns `kinds` against training compute."""
    words = facts(frame)
    degree = log_axis(alt.Y, "degree", "Degree", degree_ticks, titleAngle=0, titleAlign="left", titleY=-16)
    base = (
        alt.Chart(words.join(frame[["training_flop", *kinds]]))
        .transform_fold(kinds, as_=["kind", "degree"])
        .transform_calculate(
            line="datum.kind",
            spoken="datum.kind + ' ' + format(datum.degree, ',') + ' at ' + datum['Training compute']",
        )
        .encode(flop_axis("training_flop", flop_ticks), degree, color=alt.value(colour))
    )
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
            *tooltip(*words),
        ],
    )
    return finished(alt.layer(lines, dots), 320)


def over_levels(configuration: Configuration, frame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each network level in words, and the degrees over it in the columns DP, TP, PP and EP."""
    for index, level in enumerate(configuration.network):
        joined = f"{amount(level.size)} {'of the level below' if index else 'GPUs'}" if level.size else "the rest"
        over = {column: frame[f"{column}_levels"].str[index] for column in ("dp", "tp_model", "tp_ff", "pp", "ep")}
        yield (
            f"{plain(level.name)} joins {joined}, {quantity(level.bandwidth, 'B/s')} per GPU",
            frame.assign(DP=over["dp"], TP=over["tp_model"] * over["tp_ff"], PP=over["pp"], EP=over["ep"]),
        )


def limits_chart(limits, styles: Styles) -> alt.LayerChart:
    """From the end of linear scaling to the latency wall, a row per configuration."""
    end, wall = limits["linear_scaling_end_flop"], limits["latency_wall_flop"]
    words = {
        "Configuration": limits["configuration"],
        "Linear scaling ends": end.map(flop),
        "Latency wall": limits["latency_wall"] + " FLOP",
    }
    rows = limits[["configuration"]].assign(end=end, wall=wall, start=end.fillna(wall), **words)
    base = alt.Chart(rows).encode(
        alt.Y("configuration:N", sort=None, axis=None), colour_of(styles), tooltip=tooltip(*words)
    )
    names = base.mark_text(align="left", baseline="bottom", dx=4, dy=-10, fontSize=13)
    spans = base.mark_rule(strokeWidth=3, aria=False)
    ends = base.mark_point(shape="diamond", filled=True, size=160, opacity=1)
    walls = base.mark_tick(thickness=4, size=18, opacity=1)
    layers = alt.layer(
        names.encode(text="configuration:N", x=alt.value(0)),
        spans.encode(flop_axis("start", decades(rows["start"], wall)), alt.X2("wall:Q")),
        ends.encode(alt.X("end:Q"), description="Linear scaling ends:N"),
        walls.encode(alt.X("wall:Q"), description="Latency wall:N"),
    )
    return finished(layers, 44 * len(limits) + 60)


def limits_table(limits, styles: Styles) -> pd.DataFrame:
    """The limits in words, a row per configuration."""
    strategies = limits[list(DEGREES.values())].itertuples(index=False)
    numbers = pd.DataFrame(
        {
            "Model": limits["sparse"].map({True: "sparse", False: "dense"}),
            "Linear scaling ends (FLOP)": limits["linear_scaling_end_flop"].map(scientific),
            "Latency wall (FLOP)": limits["latency_wall"],
            "Last above (FLOP)": limits["last_above_flop"].map(scientific),
            "Crosses again": limits["recrosses"].map({True: "yes", False: "no"}),
            "Parameters": limits["params"].map(amount),
            "GPUs": limits["n_gpus"].map(amount),
            "Parallelism": [degrees(*strategy) for strategy in strategies],
            "MFU": limits["mfu"].map(percent),
        }
    )
    names = {
        "Configuration": [
            f"{swatch(styles[name])} {plain(name)}".replace(" ", "\u00a0") for name in limits["configuration"]
        ],
        "GPU": limits["gpu"].map(plain),
    }
    unbroken = numbers.map(lambda words: words.replace(" ", "\u00a0").replace("·\u00a0", "· "))
    return pd.DataFrame(names).join(unbroken)


# What is run

with st.sidebar:
    title = st.selectbox("Preset", list(presets), key="preset", bind="query-params", help="Configurations to compare.")
    preset = presets[title]
    st.caption(plain(preset.description), help=f"Source: {plain(preset.source)}")
    st.subheader("Configurations", help="Tick what the charts, the table and the download include.", anchor=False)
    styles = {
        configuration.name: (COLOURS[index % len(COLOURS)], list(DASHES)[index // len(COLOURS) % len(DASHES)])
        for index, configuration in enumerate(preset.configurations)
    }
    included = []
    for configuration in preset.configurations:
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            st.markdown(swatch(styles[configuration.name]))
            if st.checkbox(
                plain(configuration.name),
                value=True,
                key=f"include {configuration.name} of {title}",
                width="stretch",
                persist_state="session",
            ):
                included.append(configuration)

# What comes of it

st.title("How far can AI training scale?", anchor=False)
st.markdown(
    "The largest training runs that moving data allows, inside GPUs and between them, after "
    "[Erdil & Schneider-Joseph 2024](https://arxiv.org/abs/2411.01137). **An upper bound:** attention, failures, "
    "stragglers and network congestion are left out."
)
if not included:
    st.info("Tick at least one configuration in the sidebar.", icon=":material/check_box:")
    st.stop()

runs = {configuration.name: run(configuration) for configuration in included}
for name, frame in runs.items():
    if frame.empty:
        st.warning(f"**{plain(name)}** has no feasible run. {plain(frame.attrs['reason'])}", icon=":material/block:")
feasible = {configuration.name: configuration for configuration in included if not runs[configuration.name].empty}
if not feasible:
    st.stop()
results = pd.concat([runs[name] for name in feasible], ignore_index=True)

with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
    selected = feasible[
        st.selectbox("Selected configuration", list(feasible), key="configuration", bind="query-params", width=340)
    ]
    st.download_button(
        "Complete output (JSON)",
        partial(complete_output, title, included, results),
        file_name="complete-output.json",
        mime="application/json",
        on_click="ignore",
        icon=":material/download:",
        help="The configurations as they were run, and every column of every point of their curves.",
    )
headline = st.container(border=True)
utilization, parallelism, maximum = st.tabs(
    ["Utilization", "Parallelism", "Maximum training compute"], key="view", bind="query-params"
)
maximum_card = maximum.container(border=True)
threshold = maximum_card.slider(
    "Threshold, as a share of peak sustained",
    *(50, 99, 80),
    format="%d%%",
    key="threshold",
    bind="query-params",
    width=400,
    help=f"{TERMS['Peak sustained']} {TERMS['Linear scaling']}",
)
limits = training_limits(results, threshold / 100)
limits["latency_wall"] = [
    ("" if runs[row.configuration].attrs["at_the_wall"] else "≥ ") + scientific(row.latency_wall_flop)
    for row in limits.itertuples()
]

with headline:
    limit = limits.set_index("configuration").loc[selected.name]
    at_end = runs[selected.name].query("training_flop == @limit.linear_scaling_end_flop")
    metrics = st.grid(5, min_column_width=150)
    metrics.metric("Linear scaling ends", flop(limit.linear_scaling_end_flop), help=TERMS["Linear scaling"])
    metrics.metric("Parameters", amount(limit.params), help="Of the model where linear scaling ends.")
    metrics.metric("GPUs", amount(limit.n_gpus), help="Of the cluster that trains it.")
    metrics.metric("MFU", percent(limit.mfu), help=f"{TERMS['MFU']} Here where linear scaling ends.")
    metrics.metric(
        "Latency wall",
        f"{limit.latency_wall} FLOP",
        help=f"{TERMS['Latency wall']} {runs[selected.name].attrs['reason']}",
    )
    if at_end.empty:
        st.caption(f"MFU stays above {threshold}% of peak sustained up to the end of the curve.")
    else:
        point = facts(at_end).iloc[0]
        st.caption(
            f"Where linear scaling ends: {plain(point['Parallelism'])}; {point['Microbatches']} microbatches, "
            f"{point['Schedule']} schedule; trained in {point['Training time']}.",
            help=meaning_of(*DEGREES, "Microbatch", "Schedule"),
        )

if utilization.open:
    with utilization, st.container(border=True):
        with st.container(horizontal=True, gap="small"):
            for name in feasible:
                st.markdown(f"{swatch(styles[name])}\u2002{plain(name)}")
            st.markdown("◆ linear scaling ends", help=TERMS["Linear scaling"])
        peak = selected.gpu.effective_utilization
        reference_lines = pd.DataFrame(
            {
                "configuration": selected.name,
                "mfu": [peak, peak * threshold / 100],
                "label": [f"Peak sustained, {percent(peak)}", f"Threshold, {threshold}% of it"],
            }
        )
        ends = ", ".join(f"{row.configuration} {flop(row.linear_scaling_end_flop)}" for row in limits.itertuples())
        st.altair_chart(
            utilization_chart(results, limits, styles, reference_lines),
            alt=f"Lines of MFU against training compute on a logarithmic scale. Linear scaling ends at: {ends}.",
        )

if parallelism.open:
    with parallelism:
        flop_ticks = decades(results["training_flop"])
        degree_ticks = decades(*(results[column] for column in DEGREES.values()))
        kinds = [kind for kind in DEGREES if kind != "EP" or results["sparsity"].max() > 1]
        st.markdown("**Degrees of parallelism** of the fastest strategy", help=meaning_of(*DEGREES))
        panels = st.grid(2, min_column_width=340, border=True)
        for name in feasible:
            whole = runs[name].assign(**{kind: runs[name][column] for kind, column in DEGREES.items()})
            with panels.cell():
                st.markdown(f"{swatch(styles[name])}\u2002**{plain(name)}**")
                st.altair_chart(
                    degrees_chart(whole, kinds, styles[name][0], flop_ticks, degree_ticks),
                    alt=f"Degrees of parallelism ({', '.join(kinds)}) of {name} against training compute, "
                    "both on logarithmic scales.",
                )
        st.markdown(f"**{plain(selected.name)} over the levels of its network**", help=TERMS["Network level"])
        panels = st.grid(2, min_column_width=340, border=True)
        for level, at_level in over_levels(selected, runs[selected.name]):
            with panels.cell():
                st.markdown(f"**{level}**")
                st.altair_chart(
                    degrees_chart(at_level, kinds, styles[selected.name][0], flop_ticks, degree_ticks),
                    alt=f"The same degrees of {selected.name} over one network level. {level}",
                )

if maximum.open:
    with maximum_card:
        st.altair_chart(
            limits_chart(limits, styles),
            alt="For each configuration, from where linear scaling ends to the latency wall.",
        )
        st.table(
            limits_table(limits, styles), border="horizontal", alt="Limits of each configuration at the threshold."
        )
        st.caption(
            "Parameters, GPUs, parallelism and MFU are those where linear scaling ends. Curves are jagged, because "
            "models and clusters come in round sizes: *last above* is the last training run above the threshold, "
            "*crosses again* whether MFU rises above it once more. ≥: the sweep ends before a wall."
        )

with st.expander("What the words mean", icon=":material/menu_book:"):
    st.markdown(meaning_of(*TERMS))
