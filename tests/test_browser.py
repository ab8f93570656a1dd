"""The page in headless Chromium: what is drawn is what was computed, in every tab, theme and width."""

import json
import math
import re

import pytest
from browser import CURVES, open_tab, points_of, settle
from playwright.sync_api import expect

from model import Configuration, load_presets, simulate

pytest_plugins = ("browser",)

DENSE = "GPU generations, dense"
TABS = ("Utilization", "Parallelism", "Maximum training compute")


def expected_points(title: str) -> list[int]:
    return sorted(len(simulate(configuration)) for configuration in load_presets()[title].configurations)


def drawn_points(page, title: str) -> list[int]:
    expect(page.locator(CURVES)).to_have_count(len(expected_points(title)))
    return sorted(points_of(path.get_attribute("d")) for path in page.locator(CURVES).all())


def colours(page, selector: str, css: str) -> list[str]:
    return page.eval_on_selector_all(selector, f"found => found.map(one => getComputedStyle(one)['{css}'])")


def luminance(rgb: str) -> float:
    channels = [int(value) / 255 for value in re.findall(r"\d+", rgb)[:3]]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_curves_have_a_point_for_every_row(visit):
    page = visit()
    assert drawn_points(page, DENSE) == expected_points(DENSE)
    assert "upper bound" in page.inner_text("[data-testid=stMain]")


def test_a_preset_in_the_address_opens_it_in_a_fresh_browser(visit):
    title = list(load_presets())[-1]
    page = visit()
    page.get_by_role("combobox", name="Preset").click()
    page.get_by_role("option", name=title).click()
    page.wait_for_url("**preset=*")
    settle(page)
    assert drawn_points(page, title) == expected_points(title)

    fresh = visit(preset=title)
    assert fresh.url == page.url
    assert drawn_points(fresh, title) == expected_points(title)


def test_an_unknown_preset_in_the_address_falls_back(visit):
    assert drawn_points(visit(preset="No such preset"), DENSE) == expected_points(DENSE)


def test_tabs_show_their_charts_and_stay_in_the_address(visit):
    page = visit()
    configurations = load_presets()[DENSE].configurations

    open_tab(page, "Parallelism")
    panels = len(configurations) + len(configurations[0].network)
    expect(page.locator(".stVegaLiteChart svg.marks:visible")).to_have_count(panels)
    expect(page.locator(CURVES)).to_have_count(3 * panels)  # DP, TP and PP in each

    open_tab(page, "Maximum training compute")
    rows = page.locator("[data-testid=stTable] tbody tr:visible").all_inner_texts()
    assert [row.split("\t")[0].split()[-1] for row in rows] == [c.name for c in configurations]
    assert "view=Maximum" in page.url

    open_tab(page, "Utilization")
    assert drawn_points(page, DENSE) == expected_points(DENSE)


def test_experts_are_drawn_where_there_are_any(visit):
    page = visit(preset="GPU generations, sparse")
    open_tab(page, "Parallelism")
    preset = load_presets()["GPU generations, sparse"]
    panels = len(preset.configurations) + len(preset.configurations[0].network)
    expect(page.locator(CURVES)).to_have_count(4 * panels)  # DP, TP, PP and EP in each


def test_numbers_on_axes_have_superscripts(visit):
    page = visit()
    for tab in TABS:
        open_tab(page, tab)
        labels = page.locator(
            "[data-testid=stVegaLiteChart] svg.marks .role-axis-label text:visible"
        ).all_text_contents()
        assert {"10²⁸", "10²⁹", "10³⁰", "10³¹"} <= set(labels), tab
        assert not re.search(r"\de[+-]?\d", page.inner_text("[data-testid=stMain]")), tab


def test_tooltip_tells_everything_about_a_point(visit):
    page = visit()
    curve = page.locator(CURVES).first.bounding_box()
    page.mouse.move(curve["x"] + curve["width"] / 2, curve["y"] + curve["height"] / 2)
    tooltip = page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    titles = set(tooltip.locator("td.key").all_inner_texts())
    assert {
        "Training compute",
        "MFU",
        "Share of peak sustained",
        "Parameters",
        "Training tokens",
        "GPUs",
        "Parallelism",
        "Microbatches",
        "Schedule",
        "Training time",
    } <= titles
    values = " ".join(tooltip.locator("td.value").all_inner_texts())
    assert re.search(r"\d × 10[⁰¹²³⁴⁵⁶⁷⁸⁹]+ FLOP", values)
    assert not re.search(r"\de[+-]?\d|undefined|null|NaN", values)


def test_download_is_strict_json_and_equals_the_simulation(visit):
    def refuse(literal):
        raise ValueError(f"{literal} is no JSON")

    title = next(  # one with an infinity in it
        title
        for title, preset in load_presets().items()
        if any(math.isinf(level.bandwidth) for c in preset.configurations for level in c.network)
    )
    page = visit(preset=title)
    with page.expect_download() as started:
        page.get_by_role("button", name="Complete output (JSON)").click()
    output = json.loads(started.value.path().read_text(encoding="utf-8"), parse_constant=refuse)

    assert started.value.suggested_filename.endswith(".json")
    assert output["preset"] == title
    configurations = load_presets()[title].configurations
    assert [Configuration.model_validate(raw) for raw in output["configurations"]] == list(configurations)
    for configuration in configurations:
        frame = simulate(configuration)
        rows = [row for row in output["results"] if row["configuration"] == configuration.name]
        assert len(rows) == len(frame)
        for column in frame:
            cells = [list(cell) if isinstance(cell, tuple) else cell for cell in frame[column]]
            assert [row[column] for row in rows] == cells, column


def test_unticked_configuration_leaves_the_chart_and_colours_stay(visit):
    page = visit()
    before = colours(page, CURVES, "stroke")
    page.locator("[data-testid=stSidebar] [data-testid=stCheckbox]").first.locator("label").click()
    expect(page.locator(CURVES)).to_have_count(len(before) - 1)
    assert colours(page, CURVES, "stroke") == before[1:]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_configuration_has_one_colour_and_it_stands_out(visit, scheme):
    page = visit(scheme=scheme)
    background = page.eval_on_selector("[data-testid=stApp]", "app => getComputedStyle(app).backgroundColor")
    assert (luminance(background) < 0.5) == (scheme == "dark")
    sidebar = colours(page, "[data-testid=stSidebar] .stMarkdownColoredText", "color")
    assert len(set(sidebar)) == len(load_presets()[DENSE].configurations)
    assert colours(page, CURVES, "stroke") == sidebar
    for colour in sidebar:
        assert contrast(colour, background) >= 3, (colour, background)
    open_tab(page, "Parallelism")
    whole = colours(page, CURVES, "stroke")[: 3 * len(sidebar)]
    assert whole == [colour for colour in sidebar for _ in range(3)]


def test_charts_speak_to_screen_readers_and_in_words(visit):
    page = visit()
    for tab in TABS:
        open_tab(page, tab)
        charts = page.locator(".stVegaLiteChart:visible")
        for name in charts.evaluate_all("charts => charts.map(chart => chart.getAttribute('aria-label'))"):
            assert re.search("training compute|latency wall|network level", name or ""), (tab, name)
        spoken = charts.locator("[aria-label]").evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
        assert len(spoken) > 3, tab
        assert not [words for words in spoken if re.search(r"\de[+-]?\d|null|undefined", words)], tab


def test_everything_is_within_reach_of_the_keyboard(visit):
    page = visit()
    wanted = {
        "preset": page.get_by_role("combobox", name="Preset"),
        "selected": page.get_by_role("combobox", name="Selected configuration"),
        "download": page.get_by_role("button", name="Complete output (JSON)"),
        "tabs": page.get_by_role("tab", name="Utilization"),
        "words": page.locator("summary", has_text="What the words mean"),
    } | {c.name: page.get_by_role("checkbox", name=c.name) for c in load_presets()[DENSE].configurations}
    for locator in wanted.values():
        expect(locator).to_have_count(1)
    for _ in range(60):
        page.keyboard.press("Tab")
        for name, locator in list(wanted.items()):
            if locator.evaluate("one => one === document.activeElement"):
                del wanted[name]
    assert not wanted


def test_tabs_change_by_the_keyboard(visit):
    page = visit()
    page.get_by_role("tab", name="Utilization").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="Parallelism")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text("over the levels of its network")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_a_telephone(visit, scheme):
    page = visit(width=390, scheme=scheme)
    for tab in TABS:
        open_tab(page, tab)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= innerWidth"), tab
        for svg in page.locator("[data-testid=stVegaLiteChart] svg.marks:visible").all():
            box = svg.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= 390, tab
            assert box["width"] >= 290, tab  # it has the width that there is

    open_tab(page, "Parallelism")
    lefts = {svg.bounding_box()["x"] for svg in page.locator("[data-testid=stVegaLiteChart] svg.marks:visible").all()}
    assert len(lefts) == 1, "panels stack in one column"

    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("combobox", name="Preset").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
