"""The page in headless Chromium: what people do with it by mouse and keyboard, and what they then read and save."""

import base64
import csv
import io
import json
import math
import re
from functools import partial
from xml.etree import ElementTree

import pandas as pd
import pytest
from browser import (
    CURVES,
    TELEPHONE,
    calm_down,
    choose,
    enter,
    field,
    headline,
    main_part,
    open_section,
    open_tab,
    option_of,
    points_of,
    press,
    rerun,
    settle,
    sidebar,
    switch,
)
from colours import COLOURS, THEMES, contrast, luminance
from playwright.sync_api import expect

from model import Configuration, load_known_models, load_presets, simulate, training_limits
from model.words import TERMS, degrees_by_level, facts, sentence

pytest_plugins = ("browser",)

DENSE = "GPU generations, dense"
GTX_580 = "2012: the largest run on GTX 580"
TABS = ("Utilization", "Parallelism", "Maximum training compute")
SECTIONS = ("GPU", "Network", "Scaling laws", "Training run", "Parallelism and communication")
BANDWIDTH = "Bandwidth per GPU (GB/s)"
CHART = ".stVegaLiteChart"
COMPLAINTS = "[data-testid=stSidebar] [data-testid=stAlert]"
NOTICES = "[data-testid=stMain] [data-testid=stAlert]"
RAW = re.compile(r"\d[eE][+-]?\d|\.\d{6}|undefined|null|NaN")
SVG = "{http://www.w3.org/2000/svg}"
# What focuses an element: also one in the shadow of a component.
HAS_FOCUS = """element => {
    let focused = document.activeElement;
    while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
    return focused === element;
}"""


def configurations_of(title: str) -> tuple[Configuration, ...]:
    return load_presets()[title].configurations


def expected_points(title: str) -> list[int]:
    return sorted(len(simulate(configuration)) for configuration in configurations_of(title))


def drawn_points(page, title: str) -> list[int]:
    expect(page.locator(CURVES)).to_have_count(len(expected_points(title)))
    return sorted(points_of(path.get_attribute("d")) for path in page.locator(CURVES).all())


def curves(page) -> dict[str, str]:
    """The drawn curves by their colours, once they are still."""
    return page.evaluate(
        """async selector => {
            for (let before = ""; ;) {
                const paths = [...document.querySelectorAll(selector)];
                const now = Object.fromEntries(paths.map(one => [one.getAttribute("stroke"), one.getAttribute("d")]));
                if (JSON.stringify(now) === before) return now;
                before = JSON.stringify(now);
                await new Promise(done => setTimeout(done, 60));
            }
        }""",
        CURVES,
    )


def hexes(scheme: str, count: int) -> list[str]:
    """The first colours that the theme has for configurations."""
    return [THEMES[scheme][f"{name}Color"] for name in COLOURS[:count]]


def rgb(hexadecimal: str) -> str:
    return f"rgb({', '.join(str(int(hexadecimal[at : at + 2], 16)) for at in (1, 3, 5))})"


def computed(page, selector: str, css: str) -> list[str]:
    return page.eval_on_selector_all(selector, f"found => found.map(one => getComputedStyle(one)['{css}'])")


def background(page) -> str:
    return page.eval_on_selector("[data-testid=stApp]", "app => getComputedStyle(app).backgroundColor")


def hexadecimal(colour: str) -> str:
    return "#" + "".join(f"{int(value):02X}" for value in re.findall(r"\d+", colour)[:3])


def dots(page, name: str):
    """The points of a configuration's curve."""
    return page.locator(f"{CHART} svg.marks .mark-symbol path[aria-label^='{name}, MFU']")


def centre(locator) -> tuple[float, float]:
    locator.scroll_into_view_if_needed()
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def saved(page, button) -> tuple[str, bytes]:
    """The name and the content of what a button downloads."""
    with page.expect_download() as started:
        button.click()
    return started.value.suggested_filename, started.value.path().read_bytes()


def cells(page) -> list[list[str]]:
    """The rows of the table, from what it has for screen readers."""
    rows = page.get_by_test_id("stDataFrame").locator("tbody tr")
    rows.first.wait_for(state="attached")
    return rows.evaluate_all("rows => rows.map(row => [...row.cells].map(cell => cell.textContent))")


def to_the_letter(shown: str) -> str:
    """What is seen of a text: word joiners have no width."""
    return shown.replace("\u2060", "").strip()


def tick_boxes(page):
    """The ticks of the sidebar that include configurations."""
    return sidebar(page).locator("input[type=checkbox]:not([role=switch])")


def offered(page) -> list[str]:
    """The names beside those ticks, as they are seen."""
    labels = sidebar(page).locator("label", has=page.locator("input[type=checkbox]:not([role=switch])"))
    return [to_the_letter(text) for text in labels.all_inner_texts()]


def ticked(page) -> dict[str, bool]:
    boxes = sidebar(page).get_by_role("checkbox").all()
    return {box.get_attribute("aria-label"): box.is_checked() for box in boxes}


def seen(page) -> dict:
    """What a reader would compare of two pages."""
    return {
        "headline": headline(page),
        "ticks": ticked(page),
        "selected": sidebar(page).get_by_role("combobox", name="Selected configuration").input_value(),
        "preset": sidebar(page).get_by_role("combobox", name="Preset").input_value(),
        "tab": page.get_by_role("tab", selected=True).inner_text(),
        "curves": curves(page),
    }


def open_file(page, name: str, content: bytes, *, drop: bool = False) -> None:
    """Choose a file, or drop it on the page's field for files."""
    if not page.locator("input[type=file]").count():
        with rerun(page):
            sidebar(page).locator("summary", has_text="Open a file").click()
    with rerun(page):
        if drop:
            transfer = page.evaluate_handle(
                """([name, data]) => {
                    const transfer = new DataTransfer();
                    const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
                    transfer.items.add(new File([bytes], name, {type: "application/json"}));
                    return transfer;
                }""",
                [name, base64.b64encode(content).decode()],
            )
            page.dispatch_event("[data-testid=stFileUploaderDropzone]", "drop", {"dataTransfer": transfer})
        else:
            file = {"name": name, "mimeType": "application/json", "buffer": content}
            page.locator("input[type=file]").set_input_files(file)


# What is drawn


def test_curves_have_a_point_for_every_row(visit):
    page = visit()
    assert drawn_points(page, DENSE) == expected_points(DENSE)
    assert "upper bound" in page.inner_text("[data-testid=stMain]")


def test_tabs_show_their_charts_and_stay_in_the_address(visit):
    page = visit(preset="GPU generations, sparse")
    configurations = configurations_of("GPU generations, sparse")
    levels = len(configurations[0].network)

    open_tab(page, "Parallelism")
    charts = page.locator(f"{CHART} svg.marks:visible")
    expect(charts).to_have_count(2 * len(configurations) + levels)  # degrees and shares, and degrees over each level
    kinds = 4  # DP, TP, PP and EP
    expect(page.locator(CURVES)).to_have_count(kinds * (len(configurations) + levels))
    expect(page.locator(f"{CHART} .mark-area path:visible")).to_have_count(kinds * len(configurations))
    assert "view=Parallelism" in page.url

    open_tab(page, "Maximum training compute")
    expect(page.get_by_test_id("stDataFrame").locator("tbody tr")).to_have_count(len(configurations))
    assert [row[1] for row in cells(page)] == [configuration.name for configuration in configurations]
    assert "view=Maximum" in page.url
    page.reload()
    settle(page)
    assert page.get_by_role("tab", selected=True).inner_text() == "Maximum training compute"

    open_tab(page, "Utilization")
    assert drawn_points(page, "GPU generations, sparse") == expected_points("GPU generations, sparse")


def test_lines_of_peak_and_threshold_and_known_models_are_drawn(visit):
    page = visit()
    h100 = configurations_of(DENSE)[0]
    svg = page.locator(f"{CHART} svg.marks")
    blue = hexes("light", 1)[0]
    height = float(re.search(r"v([\d.]+)", svg.locator("path.background").first.get_attribute("d"))[1])
    lines = svg.locator(f"line[stroke='{blue}'][stroke-dasharray]")
    heights = [height - float(re.search(r",([\d.]+)\)", line.get_attribute("transform"))[1]) for line in lines.all()]
    top, under = sorted(heights, reverse=True)
    labels = svg.locator(".role-axis-label text").all_text_contents()
    most = max(float(label.rstrip("%")) for label in labels if "%" in label) / 100
    assert top / height * most == pytest.approx(h100.gpu.effective_utilization, rel=1e-3), "peak sustained is elsewhere"
    assert under / top == pytest.approx(0.8, rel=1e-3), "the threshold is elsewhere"
    words = svg.locator(f"text[fill='{blue}']").all_text_contents()
    assert words == ["Peak sustained, 70%", "Threshold, 80% of it"]

    known = [name for name in load_known_models()["name"] if name != "GPT-3"]  # that is before the first decade
    assert set(known) <= set(svg.locator("text").all_text_contents())
    with_marks = curves(page)
    switch(page, "Known models")
    expect(svg.locator("text", has_text="PaLM")).to_have_count(0)
    assert not set(known) & set(svg.locator("text").all_text_contents())
    assert curves(page) == with_marks, "the curves moved when the marks went"
    assert "models=false" in page.url


def test_tooltip_tells_everything_about_a_point(visit):
    page = visit()
    number = 15
    words = facts(simulate(configurations_of(DENSE)[2])).iloc[number]
    page.mouse.move(*centre(dots(page, "V100").nth(number)))
    tooltip = page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    keys, values = (tooltip.locator(f"td.{part}").all_inner_texts() for part in ("key", "value"))
    told = dict(zip(keys, values, strict=True))
    assert told == words.to_dict()
    for title in ("Training compute", "MFU", "Share of peak sustained", "Parameters", "Training tokens", "GPUs"):
        assert title in told, f"nobody learns the {title} of a point"
    assert re.search(r"[\d,]+-way data, [\d,]+-way tensor .* and [\d,]+-way pipeline parallelism", told["Parallelism"])
    assert re.fullmatch(r"[\d,]+", told["Microbatches"])
    assert re.fullmatch(r"[\d.]+ months", told["Training time"])
    assert not RAW.search(tooltip.inner_text())


def test_a_click_selects_a_configuration_and_a_point(visit):
    def follows(number: int) -> None:
        row = frame.iloc[number]
        expect(panel.get_by_text(sentence(row), exact=True)).to_be_visible()
        spoken = facts(frame)["Training compute"].iloc[number]
        expect(panel.get_by_role("slider")).to_have_attribute("aria-valuetext", spoken)
        levels = [str(value) for value in degrees_by_level(a100, row).to_numpy().ravel()]
        expect(page.get_by_test_id("stDataFrame").locator("tbody td")).to_have_text(levels)
        ring = panel.locator(f"svg.marks path[fill=transparent][stroke='{hexes('light', 2)[1]}']")
        expect(ring).to_have_attribute("transform", dots(page, "A100").nth(number).get_attribute("transform"))

    page = visit()
    panel = page.get_by_role("tabpanel")
    a100 = configurations_of(DENSE)[1]
    frame = simulate(a100)
    number = 3
    before = headline(page)
    with rerun(page):
        page.mouse.click(*centre(dots(page, "A100").nth(number)))
    follows(number)
    assert "configuration=A100" in page.url
    assert sidebar(page).get_by_role("combobox", name="Selected configuration").input_value() == "A100"
    assert field(page, "Name").input_value() == "A100", "the form is still the other's"
    expect(main_part(page).get_by_role("heading", name="A100")).to_be_visible()
    limits = training_limits(frame, 0.8).iloc[0]
    assert headline(page)["MFU"] == f"{limits['mfu']:.0%}" != before["MFU"]

    panel.get_by_role("slider").focus()
    with rerun(page):
        page.keyboard.press("ArrowRight")
    follows(number + 1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_configuration_has_one_colour_everywhere_and_it_stands_out(visit, scheme):
    page = visit(scheme=scheme)
    names = [configuration.name for configuration in configurations_of(DENSE)]
    colours = dict(zip(names, hexes(scheme, len(names)), strict=True))
    behind = hexadecimal(background(page))
    assert (luminance(behind) < 0.5) == (scheme == "dark")
    for colour in colours.values():
        assert contrast(colour, behind) >= 3, f"{colour} is hard to see"

    swatches = computed(page, "[data-testid=stSidebar] .stMarkdownColoredText", "color")
    assert swatches == [rgb(colour) for colour in colours.values()]
    for name, colour in colours.items():
        assert set(dots(page, name).evaluate_all("all => all.map(one => one.getAttribute('fill'))")) == {colour}
    assert set(curves(page)) == set(colours.values())
    title = computed(page, "[data-testid=stMain] h3 .stMarkdownColoredText", "color")
    assert title == [rgb(colours["H100"])]

    open_tab(page, "Parallelism")
    strokes = computed(page, CURVES, "stroke")
    each = [rgb(colour) for colour in colours.values() for _ in range(3)]
    assert strokes == [*each, *[rgb(colours["H100"])] * 6], "the colours of the panels are not their configurations'"
    areas = computed(page, f"{CHART} .mark-area path", "fill")
    assert areas == each

    open_tab(page, "Maximum training compute")
    labels = page.locator(f"{CHART} svg.marks .role-mark text")
    drawn = labels.evaluate_all("all => all.map(one => [one.textContent, one.getAttribute('fill')])")
    assert dict(drawn) == colours
    canvas = page.get_by_test_id("stDataFrame").get_by_test_id("data-grid-canvas")
    assert cells(page)
    rows = canvas.evaluate(
        """(canvas, rows) => {
            const {width, height} = canvas;
            const copy = Object.assign(document.createElement("canvas"), {width, height});
            const context = copy.getContext("2d", {willReadFrequently: true});
            context.drawImage(canvas, 0, 0);
            const head = 35, row = (canvas.clientHeight - head) / rows, scale = width / canvas.clientWidth;
            return [...Array(rows).keys()].map(at => {
                const y = (head + at * row + 2) * scale, height = (row - 4) * scale;
                const {data} = context.getImageData(2 * scale, y, 22 * scale, height);
                const found = new Set();
                for (let at = 0; at < data.length; at += 4) found.add(`rgb(${data.slice(at, at + 3).join(", ")})`);
                return [...found];
            });
        }""",
        len(names),
    )
    for pixels, colour in zip(rows, colours.values(), strict=True):
        assert {rgb(other) for other in colours.values()} & set(pixels) == {rgb(colour)}, "the table's swatches differ"

    open_tab(page, "Utilization")
    before = curves(page)
    switch(page, "A100")
    expect(page.locator(CURVES)).to_have_count(len(names) - 1)
    assert set(curves(page)) == set(before) - {colours["A100"]}, "the others changed colour when one was unticked"


# Edits


def test_a_value_with_its_unit_moves_its_curve_and_no_other(visit):
    page = visit()
    blue, *others = hexes("light", 3)
    open_section(page, "Network")
    drawn = curves(page)
    for label, text, index in (
        (BANDWIDTH, "1.8 TB/s", 1),
        (BANDWIDTH, "∞", 1),
        (BANDWIDTH, "9e9 Bps", 0),
        ("Size", "2^10", 0),
    ):
        enter(page, label, text, index)
        expect(page.locator(f"{CURVES}[stroke='{blue}']")).not_to_have_attribute("d", drawn[blue])
        after = curves(page)
        for other in others:
            assert after[other] == drawn[other], f"{text} moved the curve of another configuration"
        drawn = after
        assert not page.locator(COMPLAINTS).count()
        assert field(page, label, index).input_value() == text, "what was typed was rewritten"
    assert "edits=" in page.url
    press(page, "Put back")
    assert field(page, BANDWIDTH, 1).input_value() == "100"
    assert "edits=" not in page.url


def test_invalid_text_is_refused_beside_its_field_and_nothing_is_lost(visit):
    def stays() -> None:
        assert curves(page) == drawn, "refused text changed a curve"
        assert headline(page) == numbers
        assert field(page, BANDWIDTH).input_value() == "fast", "typed text was lost"
        expect(message).to_have_count(1)

    page = visit()
    open_section(page, "Network")
    drawn, numbers, address = curves(page), headline(page), page.url
    enter(page, BANDWIDTH, "fast")
    message = page.locator(COMPLAINTS).filter(has_text="“fast” is not a number of GB/s")
    stays()
    above, below = field(page, BANDWIDTH).bounding_box(), field(page, "Latency (µs)").bounding_box()
    assert above["y"] < message.bounding_box()["y"] < below["y"], "the message is not beside its field"
    assert page.url == address, "the link has what was refused"
    switch(page, "Known models")
    stays()
    enter(page, "Latency (µs)", "20", 1)  # another field, which waits until the first is right
    stays()
    open_section(page, "Network")
    expect(message).to_contain_text("Bandwidth per GPU")
    open_section(page, "Network")
    stays()
    enter(page, BANDWIDTH, "800")
    expect(page.locator(COMPLAINTS)).to_have_count(0)
    assert curves(page) != drawn
    assert field(page, "Latency (µs)", 1).input_value() == "20"


def test_the_whole_journey_by_keyboard(visit):
    page = visit()

    def tab_to(locator, key: str = "Tab") -> None:
        for _ in range(80):
            page.keyboard.press(key)
            if locator.count() and locator.evaluate(HAS_FOCUS):
                return
        pytest.fail(f"{locator} is out of reach by {key}")

    tab_to(sidebar(page).get_by_role("combobox", name="Preset"))
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option")).to_have_count(len(load_presets()))
    page.keyboard.press("ArrowDown")
    with rerun(page):
        page.keyboard.press("Enter")
    title = "Network technology, dense"
    assert drawn_points(page, title) == expected_points(title)

    tab_to(sidebar(page).locator("summary", has_text="Network"))
    with rerun(page):
        page.keyboard.press("Enter")
    before, blue = curves(page), hexes("light", 1)[0]
    tab_to(field(page, BANDWIDTH, 1))
    page.keyboard.press("Control+A")
    page.keyboard.type("1.8 TB/s")
    with rerun(page):
        page.keyboard.press("Enter")
    expect(page.locator(f"{CURVES}[stroke='{blue}']")).not_to_have_attribute("d", before[blue])
    assert field(page, BANDWIDTH, 1).evaluate(HAS_FOCUS), "the focus is lost after an edit"

    tab_to(sidebar(page).get_by_role("checkbox", name="Low latency", exact=True), "Shift+Tab")
    with rerun(page):
        page.keyboard.press("Space")
    expect(page.locator(CURVES)).to_have_count(len(before) - 1)

    tab_to(page.get_by_role("tab", name="Utilization"))
    page.keyboard.press("ArrowRight")
    with rerun(page):
        page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Parallelism")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text("over the levels of its network")).to_be_visible()
    tab_to(page.locator("button[data-type=svg]").first)
    with page.expect_download() as started:
        page.keyboard.press("Enter")
    assert started.value.suggested_filename == "degrees 1.svg"


def test_everything_is_within_reach_of_the_keyboard(visit):
    page = visit()
    side, main = sidebar(page), main_part(page)
    wanted = {
        "preset": side.get_by_role("combobox", name="Preset"),
        "selected": side.get_by_role("combobox", name="Selected configuration"),
        "live": side.get_by_role("switch", name="Live update"),
        "file": side.locator("summary", has_text="Open a file"),
        "tabs": main.get_by_role("tab", name="Utilization"),
        "known models": main.get_by_role("switch", name="Known models"),
        "svg": main.locator("button[data-type=svg]"),
        "png": main.locator("button[data-type=png]"),
        "point": main.get_by_role("slider"),
        "words": main.locator("summary", has_text="What the words mean"),
    }
    wanted |= {name: side.locator("summary", has_text=name) for name in SECTIONS}
    wanted |= {c.name: side.get_by_role("checkbox", name=c.name) for c in configurations_of(DENSE)}
    for name in ("Duplicate", "Remove", "Add new configuration", "Run simulation"):
        wanted[name] = side.get_by_role("button", name=name)
    for name in ("Copy link", "State", "Complete output", "Points"):
        wanted[name] = main.get_by_role("button", name=name)
    for name, locator in wanted.items():
        assert locator.count() == 1, name
    handles = [locator.element_handle() for locator in wanted.values()]
    reached = set()
    for _ in range(90):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(f"handles => handles.findIndex({HAS_FOCUS})", handles))
    assert not [name for number, name in enumerate(wanted) if number not in reached]


def test_configurations_come_and_go(visit):
    page = visit()
    for button, option, name in (
        ("Add new configuration", "GTX 580 3GB", "GTX 580 3GB"),
        ("Add new configuration", "A copy of GTX 580 3GB", "GTX 580 3GB (2)"),
    ):
        sidebar(page).get_by_role("button", name=button).click()
        with rerun(page):
            page.get_by_role("menuitem", name=option, exact=True).click()
        assert sidebar(page).get_by_role("combobox", name="Selected configuration").input_value() == name
    expect(page.locator(CURVES)).to_have_count(5)
    assert headline(page)["Linear scaling ends"] == "1.1 × 10²⁶ FLOP"
    open_section(page, "GPU")
    sidebar(page).get_by_role("button", name="Take one of the catalogue").click()
    with rerun(page):
        page.get_by_role("menuitem", name="H100 SXM", exact=True).click()
    assert headline(page)["Linear scaling ends"] == "2.0 × 10²⁸ FLOP"
    assert field(page, "SMs").input_value() == "132"
    press(page, "Remove")
    press(page, "Remove")
    assert sidebar(page).get_by_role("combobox", name="Selected configuration").input_value() == "V100"
    expect(page.locator(CURVES)).to_have_count(3)
    assert "edits=" not in page.url, "the preset is as it was, but the link says it is edited"


def test_a_copy_has_the_value_that_is_still_being_typed(visit):
    page = visit()
    open_section(page, "Network")
    for count, value in enumerate(("700", "650"), start=2):
        field(page, BANDWIDTH).fill(value)
        with rerun(page):
            sidebar(page).get_by_role("button", name="Duplicate", exact=True).click()
        expect(field(page, "Name")).to_have_value(f"H100 ({count})")
        expect(field(page, BANDWIDTH)).to_have_value(value)  # and not the one before
        settle(page)
        choose(page, "Selected configuration", "H100")
        expect(field(page, BANDWIDTH)).to_have_value(value)


# Clicks that come before the page shows what the last one asked for


@pytest.fixture
def hurried(visit):
    """A page with open sections and two presets to change between, and how to click soon after something else."""
    page = visit()
    other = "Network technology, dense"

    def change_preset_and_click(locator, delay: int) -> None:
        """`locator` is found before; a click on what is gone by then does nothing, as by a mouse."""
        target = locator.element_handle()
        now = sidebar(page).get_by_role("combobox", name="Preset").input_value()
        title = other if now == DENSE else DENSE
        option = option_of(page, "Preset", title)
        with rerun(page):
            option.click()
            page.wait_for_timeout(delay)
            target.evaluate("one => one.click()")
        expect(sidebar(page).get_by_role("combobox", name="Preset")).to_have_value(title)
        calm_down(page)

    return page, change_preset_and_click, (DENSE, other)


DELAYS = (40, 120, 250)  # ms


def test_a_quick_click_on_a_tab_a_section_or_a_switch_after_another_preset_counts(hurried):
    page, change_preset_and_click, _ = hurried
    live = sidebar(page).get_by_role("switch", name="Live update")
    for number, delay in enumerate(DELAYS):
        tab = page.get_by_role("tab", name=TABS[1 - number % 2])
        change_preset_and_click(tab, delay)
        expect(tab).to_have_attribute("aria-selected", "true")
        change_preset_and_click(sidebar(page).locator("summary", has_text="Network"), delay)
        expect(field(page, BANDWIDTH)).to_be_visible(visible=number % 2 == 0)
        change_preset_and_click(live, delay)
        expect(live).to_be_checked(checked=number % 2 == 1)
        settle(page)
        expect(page.locator(NOTICES)).to_have_count(0)
        assert all(ticked(page).values()), "a tick went with the click"


def test_a_quick_click_on_a_button_or_a_tick_after_another_preset_is_about_one_of_the_two(hurried):
    page, change_preset_and_click, titles = hurried
    names = {title: [configuration.name for configuration in configurations_of(title)] for title in titles}
    button = partial(sidebar(page).get_by_role, "button", exact=True)
    for delay in DELAYS:
        for locator, more in ((button(name="Duplicate"), 1), (button(name="Remove"), -1)):
            change_preset_and_click(locator, delay)
            found = {}
            for title in titles:
                choose(page, "Preset", title)
                assert all(ticked(page).values()), "a tick went with the click on a button"
                found[title] = offered(page)
                expect(page.locator(CURVES)).to_have_count(len(found[title]))
            # Where the page was just about to replace the button, the click may come to nothing.
            change = sum(map(len, found.values())) - sum(map(len, names.values()))
            assert change in (0, more), f"after {delay} ms: {found} of {names}"
            assert sum(found[title] != names[title] for title in titles) == abs(change)
            names = found
    for delay in DELAYS:
        change_preset_and_click(tick_boxes(page).nth(1), delay)
        left_out = 0
        for title in titles:
            choose(page, "Preset", title)
            assert offered(page) == names[title]
            boxes = tick_boxes(page)
            unticked = [box for box in boxes.all() if not box.is_checked()]
            expect(page.locator(CURVES)).to_have_count(boxes.count() - len(unticked))
            left_out += len(unticked)
            for box in unticked:
                switch(page, box.get_attribute("aria-label"))
        assert left_out <= 1, "one click took two ticks"


def test_a_quick_click_on_the_tick_of_what_is_removed_does_nothing(visit):
    page = visit(preset="Today's hardware")
    names = [configuration.name for configuration in configurations_of("Today's hardware")]
    for delay in DELAYS:
        choose(page, "Selected configuration", names[-1])
        tick = tick_boxes(page).last.element_handle()
        with rerun(page):
            sidebar(page).get_by_role("button", name="Remove", exact=True).click()
            page.wait_for_timeout(delay)
            tick.evaluate("one => one.click()")
        calm_down(page)
        names.pop()
        expect(tick_boxes(page)).to_have_count(len(names))
        expect(page.locator(CURVES)).to_have_count(len(names))
        assert offered(page) == names
        assert all(ticked(page).values()), "another configuration lost its tick"
        expect(sidebar(page).get_by_role("combobox", name="Selected configuration")).to_have_value(names[-1])
        settle(page)


def test_there_and_back_again_quickly_leaves_all_ticks(visit):
    page = visit()
    for delay in (0, *DELAYS):
        with rerun(page):
            option_of(page, "Preset", "Network technology, dense").click()
            page.wait_for_timeout(delay)
            option_of(page, "Preset", DENSE).click()
        calm_down(page)
        expect(sidebar(page).get_by_role("combobox", name="Preset")).to_have_value(DENSE)
        names = [configuration.name for configuration in configurations_of(DENSE)]
        expect(tick_boxes(page)).to_have_count(len(names))
        settle(page)
        assert ticked(page) == dict.fromkeys(names, True), f"after {delay} ms"
        assert drawn_points(page, DENSE) == expected_points(DENSE)


def test_nothing_ticked_says_what_to_do(visit):
    page = visit(preset=GTX_580)
    for name in ("GTX 580", "GTX 580, finer steps"):
        page.locator("[data-testid=stCheckbox]", has=page.get_by_label(name, exact=True)).locator("label").click()
    expect(page.locator(NOTICES)).to_contain_text("Tick at least one configuration in the sidebar")
    expect(page.locator(CHART)).to_have_count(0)
    switch(page, "GTX 580")
    expect(page.locator(CURVES)).to_have_count(1)


def test_the_form_keeps_its_values_while_no_curve_is_drawn(visit):
    """If this fails, inputs come back empty, and the empty texts take the place of the numbers."""
    page = visit(preset=GTX_580)
    open_section(page, "GPU")
    before = [field.input_value() for field in sidebar(page).get_by_role("textbox").all()]
    assert len(before) > 10
    without_charts = partial(rerun, page, charts=False)
    for name in ("GTX 580", "GTX 580, finer steps"):
        with without_charts():
            page.locator("[data-testid=stCheckbox]", has=page.get_by_label(name, exact=True)).locator("label").click()
    expect(page.locator(CHART)).to_have_count(0)
    for name in ("GTX 580, finer steps", "GTX 580"):
        option = option_of(page, "Selected configuration", name)
        with without_charts():
            option.click()
        expect(field(page, "Name")).to_have_value(name)
    for _ in range(2):
        with without_charts():
            sidebar(page).locator("summary", has_text="GPU").click()
    assert [field.input_value() for field in sidebar(page).get_by_role("textbox").all()] == before
    switch(page, "GTX 580")
    expect(page.locator(COMPLAINTS)).to_have_count(0)
    assert [field.input_value() for field in sidebar(page).get_by_role("textbox").all()] == before


# The journey of the issue: a GPU of the article's table by hand, and what comes of it, here and from its link.


def test_gtx_580_by_hand_has_the_articles_numbers_and_so_has_its_link(visit):
    page = visit()
    press(page, "Duplicate")
    enter(page, "Name", "By hand")
    open_section(page, "GPU")
    for bits, rate in (("64 bits", "1/16"), ("32 bits", "1/2")):
        choose(page, "Precision (bits)", bits)
        enter(page, "FLOP per clock per thread", rate)
    for label, text in {
        "Registers per processing block (KiB)": "128 KiB",
        "SMs": "16",
        "L2 bandwidth (GB/s)": "384.8e+9 Bps",
        "L2 cache (MiB)": "786,432 B",
        "Memory bandwidth (GB/s)": "192.4e+9 Bps",
        "Memory (GB)": "3 GB",
        "Maximum clock (MHz)": "1.544 GHz",
        "Effective utilization (%)": "85 %",
        "Matmul latency (µs)": "2.25e-5 s",
    }.items():
        enter(page, label, text)
    switch(page, "Distributed shared memory")
    open_section(page, "Network")
    for level, bandwidth in enumerate(("8e+9 Bps", "1e+9 Bps")):
        enter(page, BANDWIDTH, bandwidth, level)
        enter(page, "Latency (µs)", "5e-6 s", level)
    assert field(page, "Size").input_value() == "8"

    assert not page.locator(COMPLAINTS).count()
    expect(sidebar(page).get_by_text("1.581 TFLOP/s at peak, 1.344 TFLOP/s sustained, at 32 bits.")).to_be_visible()
    numbers = headline(page)
    assert numbers["Linear scaling ends"] == "1.1 × 10²⁶ FLOP"
    assert numbers["GPUs"] == "16.8 million"
    strategy = "1,024-way data, 512-way tensor (16 of d_model, 32 of d_ff) and 32-way pipeline parallelism"
    for text in page.get_by_text("Where linear scaling ends:"), page.get_by_role("tabpanel").get_by_text("GPUs train"):
        expect(text).to_contain_text(strategy)

    switch(page, "V100")
    here = seen(page)
    assert here["selected"] == "By hand" and here["ticks"]["V100"] is False
    fresh = visit(address=page.url)
    assert seen(fresh) == here, "the link shows something else"
    assert fresh.url == page.url
    open_section(fresh, "GPU")
    for label, text in {
        "L2 bandwidth (GB/s)": "384.8",
        "Maximum clock (MHz)": "1,544",
        "L2 cache (MiB)": "0.75",
    }.items():
        assert field(fresh, label).input_value() == text
    choose(fresh, "Precision (bits)", "64 bits")
    assert field(fresh, "FLOP per clock per thread").input_value() == "0.0625", "the other precision's rate is lost"


# Names


def test_names_are_shown_to_the_letter(visit):
    page = visit()
    names = ["toString", "__proto__", ":smile: -- <b>x</b> $a$ $b$"]
    selected = sidebar(page).get_by_role("combobox", name="Selected configuration")
    for old, new in zip([configuration.name for configuration in configurations_of(DENSE)], names, strict=True):
        choose(page, "Selected configuration", old)
        enter(page, "Name", new)
        expect(selected).to_have_value(new)
        heading = main_part(page).locator("h3")
        expect(heading).to_contain_text("━━")
        assert to_the_letter(heading.inner_text().replace("━", "")) == new
    assert offered(page) == names
    assert drawn_points(page, DENSE) == expected_points(DENSE)
    assert set(curves(page)) == set(hexes("light", 3)), "the lines have lost their colours"
    legend = page.locator(f"{CHART} svg.marks .role-legend-label text")
    expect(legend).to_have_text(names)
    assert {dots(page, name).count() for name in names} == {
        len(simulate(configuration)) for configuration in configurations_of(DENSE)
    }
    here = seen(page)
    sidebar(page).get_by_role("button", name="Add new configuration").click()
    assert to_the_letter(page.get_by_role("menuitem").first.inner_text()) == f"A copy of {names[-1]}"
    page.keyboard.press("Escape")

    open_tab(page, "Parallelism")
    panels = [to_the_letter(text.replace("━", "")) for text in page.locator("p:has(strong):visible").all_inner_texts()]
    assert [text for text in panels if text in names] == names
    open_tab(page, "Maximum training compute")
    assert [row[1] for row in cells(page)] == names
    expect(page.locator(f"{CHART} svg.marks .role-mark text")).to_have_text(names)

    open_tab(page, "Utilization")
    fresh = visit(address=page.url)
    assert seen(fresh) == here, "the link shows something else"


# Links


def test_copy_link_copies_the_address_in_any_browser(visit):
    page = visit()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    press(page, "Duplicate")
    button = page.locator(".st-key-copy-link button")
    button.click()
    expect(button).to_have_text("Copied")
    expect(page.locator(".st-key-copy-link [role=status]")).to_have_text("Link copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.evaluate("location.href")
    expect(button).to_have_text("Copy link")

    page.evaluate("navigator.clipboard.writeText('nothing')")
    page.evaluate("Object.defineProperty(Navigator.prototype, 'clipboard', {value: undefined})")  # as on plain http
    button.click()
    expect(button).to_have_text("Copied")
    assert button.evaluate(HAS_FOCUS)
    name = field(page, "Name")
    name.press("Control+A")
    name.press("Control+V")
    assert name.input_value() == page.url
    name.press("Escape")
    page.evaluate("document.execCommand = () => false")
    button.click()
    expect(button).to_have_text("Not copied")


def test_five_edited_configurations_fit_a_link(visit):
    title = "Today's hardware"
    page = visit(preset=title)
    open_section(page, "Training run")
    assert len(configurations_of(title)) == 5
    for number, configuration in enumerate(configurations_of(title), start=1):
        choose(page, "Selected configuration", configuration.name)
        enter(page, "Training time (months)", f"{number}.{number}")
        enter(page, "Name", f"{configuration.name}, {number}.{number} months")
    assert page.locator(CURVES).count() == 5
    assert len(page.url) < 8000
    here = seen(page)
    fresh = visit(address=page.url)
    assert seen(fresh) == here


def test_a_preset_in_the_address_opens_it_in_a_fresh_browser(visit):
    title = list(load_presets())[-1]
    page = visit()
    choose(page, "Preset", title)
    assert drawn_points(page, title) == expected_points(title)
    fresh = visit(preset=title)
    assert fresh.url == page.url
    assert seen(fresh) == seen(page)


def test_damaged_links_say_so_and_show_the_first_preset(visit):
    page = visit()
    for query, words in {
        "preset=No+such+preset": "This link could not be opened: there is no preset of this name",
        "edits=1.ePkLWzqwq8YsiGAFkCOE": "This link is damaged or incomplete",
        "threshold=abc&configuration=zzz&view=foo": "was left out: the selected configuration, the tab, the threshold.",
    }.items():
        page.goto(f"{page.url.partition('?')[0]}?{query}")
        settle(page)
        expect(page.locator(NOTICES)).to_contain_text(words)
        assert drawn_points(page, DENSE) == expected_points(DENSE)
        assert page.url.rstrip("?").endswith("/"), "the address still has what is damaged"
    press(page, "Duplicate")
    expect(page.locator(NOTICES)).to_have_count(0)


# Files


def test_files_bring_everything_back_and_a_bad_one_says_why(visit):
    page = visit(preset="Network technology, dense", threshold="70", view="Maximum training compute")
    choose(page, "Selected configuration", "Global NVLink")
    open_section(page, "Network")
    enter(page, BANDWIDTH, "∞")
    enter(page, "Name", "Global ∞")
    switch(page, "Low latency")
    open_tab(page, "Utilization")
    curves_here = curves(page)
    open_tab(page, "Maximum training compute")
    table = cells(page)
    here = seen(page)
    files = [saved(page, page.get_by_role("button", name=name, exact=True)) for name in ("State", "Complete output")]
    assert [name for name, _ in files] == ["training-scaling.json", "complete-output.json"]

    for drop, file in zip((False, True), files, strict=True):
        fresh = visit()
        open_file(fresh, *file, drop=drop)
        expect(fresh.get_by_role("tab", name="Maximum training compute")).to_have_attribute("aria-selected", "true")
        assert seen(fresh) == here, f"{file[0]} opens as something else"
        assert cells(fresh) == table
        expect(fresh.get_by_role("slider")).to_have_attribute("aria-valuetext", "70%")
        open_tab(fresh, "Utilization")
        assert curves(fresh) == curves_here

    out_of_range = files[0][1].replace(b'"threshold_percent": 70', b'"threshold_percent": 20')
    for content, reason in (
        (out_of_range, "threshold_percent: should be at least 50; got 20"),
        (b"\x00\x01", "is no JSON"),
    ):
        open_file(fresh, "bad.json", content)
        notice = fresh.locator(NOTICES)
        expect(notice).to_contain_text("bad.json cannot be opened")
        expect(notice).to_contain_text(reason)
        assert curves(fresh) == curves_here, "a bad file took the curves away"
    assert seen(fresh)["selected"] == "Global ∞"


def test_complete_output_is_strict_json_and_equals_the_simulation(visit):
    def refuse(literal):
        raise ValueError(f"{literal} is no JSON")

    title = "Network technology, dense"  # it has an infinity
    configurations = configurations_of(title)
    assert any(math.isinf(level.bandwidth) for c in configurations for level in c.network)
    page = visit(preset=title)
    _, content = saved(page, page.get_by_role("button", name="Complete output", exact=True))
    output = json.loads(content.decode(), parse_constant=refuse)
    assert output["title"] == title
    assert [Configuration.model_validate(raw) for raw in output["configurations"]] == list(configurations)
    name, points = saved(page, page.get_by_role("button", name="Points", exact=True))
    assert name == "points.csv"
    lines = list(csv.DictReader(io.StringIO(points.decode())))
    assert len(lines) == len(output["results"])
    for configuration in configurations:
        frame = simulate(configuration)
        rows = [row for row in output["results"] if row["configuration"] == configuration.name]
        assert len(rows) == len(frame)
        for column in frame:
            values = [list(cell) if isinstance(cell, tuple) else cell for cell in frame[column]]
            assert [row[column] for row in rows] == values, column
        flops = [float(line["training_flop"]) for line in lines if line["configuration"] == configuration.name]
        assert flops == list(frame["training_flop"])


def assert_is_drawing_of(content: bytes, chart, fill: str) -> None:
    """Whether an SVG file is what is shown, on a background, and needs nothing else."""
    root = ElementTree.fromstring(content)
    assert root.tag == f"{SVG}svg"
    assert not re.search(r"href|url\(|var\(|currentColor|@import", content.decode()), "it needs something else"
    rect, box = root[0], chart.bounding_box()
    for element in (root, rect):
        assert [float(element.get(side)) for side in ("width", "height")] == [box["width"], box["height"]]
    assert rect.tag == f"{SVG}rect" and rgb(rect.get("fill")) == fill, "its background is another"
    shown = chart.locator("path").evaluate_all("all => all.map(one => one.getAttribute('d'))")
    assert [path.get("d") for path in root.iter(f"{SVG}path")] == shown, "it is another picture"
    lines = chart.locator(".mark-line path").evaluate_all("all => all.map(one => one.getAttribute('d'))")
    assert set(lines) <= set(shown)


def assert_is_picture_of(content: bytes, chart, fill: str, colours: list[str]) -> None:
    """Whether a PNG file opens, large, opaque and with those of the colours that are shown."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    picture = chart.evaluate(
        """async (svg, [data, colours]) => {
            const image = new Image();
            image.src = `data:image/png;base64,${data}`;
            await image.decode();
            const {width, height} = image;
            const context = Object.assign(document.createElement("canvas"), {width, height}).getContext("2d");
            context.drawImage(image, 0, 0);
            const {data: pixels} = context.getImageData(0, 0, width, height);
            const corners = [0, pixels.length - 4].map(at => `rgb(${[...pixels.slice(at, at + 3)].join(", ")})`);
            const found = new Set();
            let opaque = true;
            for (let at = 0; at < pixels.length; at += 4) {
                found.add(pixels[at] << 16 | pixels[at + 1] << 8 | pixels[at + 2]);
                opaque &&= pixels[at + 3] === 255;
            }
            const shown = colours.filter(colour => svg.outerHTML.includes(colour));
            const missing = shown.filter(colour => !found.has(parseInt(colour.slice(1), 16)));
            return {width, height, opaque, missing, corners};
        }""",
        [base64.b64encode(content).decode(), colours],
    )
    box = chart.bounding_box()
    scale = max(2, 2000 / box["width"])
    assert picture["width"] == round(box["width"] * scale)
    assert picture["height"] == pytest.approx(box["height"] * scale, abs=0.51)
    assert picture["opaque"], "it is transparent"
    assert picture["corners"] == [fill] * 2, "its background is another"
    assert not picture["missing"], "a curve is missing"


@pytest.mark.parametrize(("scheme", "tabs"), [("light", TABS[:1]), ("dark", TABS)])
def test_charts_are_saved_as_pictures_that_stand_alone(visit, scheme, tabs, tmp_path):
    page = visit(scheme=scheme)
    fill, colours = background(page), hexes(scheme, 3)
    names, kinds = set(), set()
    for tab in tabs:
        open_tab(page, tab)
        for number, chart in enumerate(charts := page.locator(f"{CHART} svg.marks:visible").all()):
            svg, png = (page.locator(f"button[data-type={kind}]:visible") for kind in ("svg", "png"))
            assert svg.count() == png.count() == len(charts)
            name, content = saved(page, svg.nth(number))
            assert name.endswith(".svg") and name not in names, "two charts are saved under one name"
            names.add(name)
            assert_is_drawing_of(content, chart, fill)
            kind = re.sub(r" ?\d*\.svg$", "", name)
            if kind not in kinds:  # one of each, because pictures take the browser long
                kinds.add(kind)
                name, picture = saved(page, png.nth(number))
                assert name.endswith(".png")
                assert_is_picture_of(picture, chart, fill, colours)

    file = tmp_path / "chart.svg"
    file.write_bytes(content)
    alone = page.context.new_page()
    alone.goto(file.as_uri())
    expect(alone.locator("text", has_text="10²⁸").first).to_be_visible()
    assert alone.locator("svg").bounding_box()["width"] > 800


def test_the_table_sorts_by_number_and_is_saved(visit):
    page = visit(view="Maximum training compute")
    grid = page.get_by_test_id("stDataFrame")
    canvas = grid.get_by_test_id("data-grid-canvas")
    heads = grid.locator("th")
    expect(grid.locator("tbody tr")).to_have_count(3)
    titles = heads.all_text_contents()

    def sort_by(title: str) -> list[str]:
        """Click a header, which is found by halves, for it is drawn and no element; the names, least first."""
        canvas.scroll_into_view_if_needed()
        box, wanted = canvas.bounding_box(), titles.index(title)
        left, right = 0, box["width"]
        for _ in range(8):
            x = (left + right) / 2
            page.mouse.click(box["x"] + x, box["y"] + 15)
            if page.get_by_test_id("stDataFrameColumnMenu").count():  # of the button at the end of a header
                page.keyboard.press("Escape")
                page.mouse.click(box["x"] + x - 25, box["y"] + 15)
            expect(heads.filter(has_text=re.compile("[↑↓]"))).to_have_count(1)
            page.wait_for_timeout(300)  # what screen readers get lags behind
            hit, arrow = next((at, text[0]) for at, text in enumerate(heads.all_text_contents()) if text[:1] in {*"↑↓"})
            if hit == wanted:
                return [row[1] for row in cells(page)][:: 1 if arrow == "↑" else -1]
            left, right = (x, right) if hit < wanted else (left, x)
        pytest.fail(f"no click sorts by {title}")

    limits = training_limits(pd.concat([simulate(configuration) for configuration in configurations_of(DENSE)]), 0.8)
    for title, column in (("GPUs", "n_gpus"), ("Linear scaling ends", "linear_scaling_end_flop")):
        values = limits.set_index("configuration")[column]
        order = [values[name] for name in sort_by(title)]
        assert order == sorted(values), f"{title} are not sorted by number"

    name, content = saved(page, page.get_by_role("button", name="Table", exact=True))
    assert name == "limits.csv"
    lines = list(csv.DictReader(io.StringIO(content.decode())))
    assert [line["configuration"] for line in lines] == limits["configuration"].tolist()
    for column in ("linear_scaling_end_flop", "latency_wall_flop", "n_gpus", "mfu"):
        assert [float(line[column]) for line in lines] == pytest.approx(limits[column].tolist(), rel=1e-12)


# Simulations


def test_without_live_update_changes_wait(visit):
    page = visit()
    switch(page, "Live update")
    assert "live=false" in page.url
    open_section(page, "Network")
    drawn, numbers = curves(page), headline(page)
    enter(page, BANDWIDTH, "90")
    expect(page.locator(NOTICES)).to_contain_text("Changed but not run: H100. Press “Run simulation”.")
    assert curves(page) == drawn and headline(page) == numbers, "a change did not wait"
    press(page, "Run simulation")
    blue = hexes("light", 1)[0]
    expect(page.locator(f"{CURVES}[stroke='{blue}']")).not_to_have_attribute("d", drawn[blue])
    expect(page.locator(NOTICES)).to_have_count(0)
    assert headline(page) != numbers


def test_a_long_run_shows_its_progress_can_be_stopped_and_goes_on(visit):
    page = visit(preset=GTX_580)
    switch(page, "Live update")
    open_section(page, "Network")
    with rerun(page):
        sidebar(page).get_by_role("radio", name="4").click()
    for level, size in enumerate(("255", "128", "128")):
        enter(page, "Size", size, level)
    drawn, numbers = curves(page), headline(page)
    bar = page.get_by_test_id("stProgress")
    stop = main_part(page).get_by_role("button", name="Stop")
    run = sidebar(page).get_by_role("button", name="Run simulation")

    run.click()
    expect(bar).to_contain_text("Simulating GTX 580")
    share = int(bar.get_by_role("progressbar").get_attribute("aria-valuenow"))
    assert curves(page) == drawn, "the old curves are gone while new ones are computed"
    expect(stop).to_be_enabled()
    assert 0 <= share < 100
    with rerun(page):
        stop.click()
    expect(page.locator(NOTICES)).to_contain_text("Stopped before GTX 580. “Run simulation” goes on.")
    expect(bar).to_have_count(0)
    assert curves(page) == drawn and headline(page) == numbers, "a run that was stopped took the curves away"
    run.click()
    expect(bar).to_contain_text("Simulating GTX 580")
    stop.click()
    expect(bar).to_have_count(0)


# Telephones, screen readers and words


@pytest.mark.parametrize(
    ("preset", "scheme"), [("Network technology, sparse", "light"), ("Across datacenters", "dark")]
)
def test_nothing_overflows_a_telephone(visit, preset, scheme):
    def check(where: str, *selectors: str) -> None:
        for selector in ("html", "[data-testid=stMain]", *selectors):
            scrolled, shown = page.locator(selector).evaluate("one => [one.scrollWidth, one.clientWidth]")
            assert scrolled <= shown, f"{where}: {selector} scrolls sideways"
        assert page.evaluate("innerWidth") == TELEPHONE, f"{where}: the page is wider than the screen"

    page = visit(width=TELEPHONE, preset=preset, scheme=scheme)
    for tab in TABS:
        open_tab(page, tab)
        check(tab)
        svgs = page.locator(f"{CHART} svg.marks:visible").all()
        boxes = [svg.bounding_box() for svg in svgs]
        for box in boxes:
            assert box["x"] >= 0 and box["x"] + box["width"] <= TELEPHONE, tab
            assert box["width"] >= 290, f"{tab}: a chart has not the width that there is"
        assert len({box["x"] for box in boxes}) == 1, f"{tab}: panels do not stack in one column"
        for svg in svgs:
            overflowing = svg.evaluate(
                """svg => {
                    const {left, right} = svg.getBoundingClientRect();
                    return [...svg.querySelectorAll("text")].filter(text => {
                        const box = text.getBoundingClientRect();
                        return box.left < left - 1 || box.right > right + 1;
                    }).map(text => text.textContent);
                }"""
            )
            assert not overflowing, f"{tab}: words are cut off"

    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("combobox", name="Preset").wait_for()
    for section in SECTIONS:
        open_section(page, section)
    check("sidebar", "[data-testid=stSidebarContent]")


def test_pictures_of_charts_are_within_reach_of_a_finger(visit):
    page = visit(width=TELEPHONE)
    for tab in TABS:
        open_tab(page, tab)
        charts = page.locator(f"{CHART} svg.marks:visible").count()
        buttons = page.locator("button[data-type]:visible")
        expect(buttons).to_have_count(2 * charts)
        for button in buttons.all():
            hit = button.evaluate(
                """button => {
                    button.scrollIntoView({block: "center"});
                    const {left, top, width, height} = button.getBoundingClientRect();
                    const [x, y] = [left + width / 2, top + height / 2], host = button.getRootNode().host;
                    const found = document.elementFromPoint(x, y);
                    return found === host && host.shadowRoot.elementFromPoint(x, y) === button || found.outerHTML;
                }"""
            )
            assert hit is True, f"{tab}: something covers {button.get_attribute('aria-label')}: {hit}"


def test_the_longest_name_leaves_room_for_the_charts_of_a_telephone(visit):
    page = visit(width=TELEPHONE)
    page.get_by_test_id("stExpandSidebarButton").click()
    enter(page, "Name", "W" * 80)
    sidebar(page).get_by_test_id("stSidebarCollapseButton").locator("button").click()
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_visible()
    for tab in reversed(TABS):
        open_tab(page, tab)
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") == TELEPHONE
        for chart in page.locator(f"{CHART} svg.marks:visible").all():
            area = chart.locator("path.background").first.bounding_box()
            assert area["width"] > 240, f"{tab}: a name takes the room of a chart"


def test_charts_widgets_and_words_speak_to_screen_readers(visit):
    page = visit()
    for section in SECTIONS:
        open_section(page, section)
    assert not RAW.search(page.inner_text("[data-testid=stSidebar]")), "a raw number in the sidebar"
    accessibility = page.context.new_cdp_session(page)
    widgets = {"button", "checkbox", "combobox", "link", "radio", "radiogroup", "slider", "switch", "tab", "textbox"}
    unnamed, raw, escaped, repeated = [], [], [], []
    for tab in TABS:
        open_tab(page, tab)
        tree = accessibility.send("Accessibility.getFullAXTree")["nodes"]
        named = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node["ignored"]]
        charts = [name for role, name in named if role == "graphics-document"]
        assert len(charts) == page.locator(CHART).count()
        for name in charts:
            assert re.search("training compute|latency wall|network level", name), (tab, name)
        assert len(charts) == len(set(charts)), f"{tab}: charts of one name"
        tables = page.get_by_test_id("stDataFrameResizable")
        unnamed += [(tab, "table") for table in tables.all() if not table.get_attribute("aria-label")]
        unnamed += [(tab, role) for role, name in named if role in widgets and not name.strip()]
        escaped += [name for role, name in named if role in widgets and "\\" in name]
        drawings = ("graphics-document", "graphics-symbol")
        spoken = [name for role, name in named if role in drawings or role in widgets]
        assert len(spoken) > 50, tab
        raw += [name for name in spoken if RAW.search(name)]
        saving = [name for role, name in named if role == "button" and name.startswith("Download")]
        repeated += [name for name in saving if saving.count(name) > 1]
    assert not unnamed, "widgets without a label"
    assert not escaped, "labels that are read with backslashes"
    assert not raw, "numbers that are read digit by digit"
    assert not repeated, "buttons that one cannot tell apart"


def test_numbers_are_in_words_and_the_words_are_explained(visit):
    page = visit()
    for tab in TABS:
        open_tab(page, tab)
        labels = page.locator(f"{CHART} svg.marks .role-axis-label text:visible").all_text_contents()
        assert {"10²⁸", "10²⁹", "10³⁰", "10³¹"} <= set(labels), tab
        assert not RAW.search(page.inner_text("[data-testid=stMain]")), f"{tab}: a raw number"
        glossary = page.locator("details", has=page.locator("summary", has_text="What the words mean"))
        assert glossary.count() == 1
    glossary.locator("summary").click()
    for term, meaning in TERMS.items():
        expect(glossary.get_by_text(f"{term}. {meaning}", exact=True)).to_be_visible()
    button = main_part(page).get_by_role("button", name="Help for Latency wall")
    button.hover()
    expect(page.get_by_test_id("stTooltipContent")).to_contain_text(TERMS["Latency wall"])
