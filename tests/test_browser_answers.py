"""The tabs that answer questions, in headless Chromium: what they draw, what they are asked, and what they say."""

import math
import re

import pytest
from browser import (
    CURVES,
    TELEPHONE,
    calm_down,
    choose,
    field,
    headline,
    main_part,
    open_section,
    open_tab,
    rerun,
    scroll_to,
    sidebar,
    switch,
)
from playwright.sync_api import expect
from test_browser import (
    BANDWIDTH,
    CHART,
    DENSE,
    HAS_FOCUS,
    RAW,
    assert_is_drawing_of,
    assert_is_picture_of,
    background,
    centre,
    configurations_of,
    hexes,
    saved,
)

from model import critical_compute, latency_wall, simulate, step_breakdown, training_limits
from model.breakdown import matmul_table
from model.configuration import Pins
from model.money import capital_cost_usd
from model.pinned import fastest_strategy
from model.questions import LatencyWallQuestion
from model.scaling import shape_by_laws
from model.sensitivity import IMPROVEMENTS, quantities
from model.tables import matmuls_in_words, parts_table, shares_in_words, strategies_in_words
from model.text import dollars, flop, scientific
from model.words import bottleneck

pytest_plugins = ("browser",)

UTILIZATION = "Utilization"
TIME, LEVERS, FORMS, WHEN, STRATEGY, REALITY = ANSWERS = (
    "Step time",
    "Levers",
    "Closed forms",
    "When and cost",
    "Any strategy",
    "Reality check",
)
H100 = configurations_of(DENSE)[0]
ENDS = "Linear scaling ends"
ALPHA = "α, batch against depth"
BARS = ".mark-rect.role-mark path"
# How many of which marks the charts of each tab have, for three configurations of which the first is selected.
MARKS = {
    UTILIZATION: {".mark-rule line[stroke-dasharray='8,4']": 2},
    TIME: {".mark-area.role-mark path": 9},
    LEVERS: {BARS: 2 * len(quantities(H100)), ".mark-text.role-mark text": 4},
    FORMS: {".mark-line.role-mark path": 4},
    WHEN: {".mark-area.role-mark path": 1, "line[aria-label*=': 20']": 6, ".mark-line.role-mark path": 3},
    STRATEGY: {BARS: 8},
    REALITY: {".mark-symbol.role-mark path": 28, BARS: 84},
}
# What is wrong with the layout of a chart: words beyond its edges or on other words, and too little room for marks.
WRONG = """svg => {
    const edge = svg.getBoundingClientRect(), wrong = [];
    const words = [...svg.querySelectorAll("text")].filter(one => one.textContent.trim() && one.checkVisibility())
        .map(one => [one.textContent, one.getBoundingClientRect()]);
    words.forEach(([text, box], at) => {
        const over = [edge.left - box.left, box.right - edge.right, edge.top - box.top, box.bottom - edge.bottom];
        if (Math.max(...over) > 1)
            wrong.push(`cut off: ${text}`);
        if (text.endsWith("…")) wrong.push(`shortened: ${text}`);
        for (const [other, its] of words.slice(0, at)) {
            const across = Math.min(box.right, its.right) - Math.max(box.left, its.left);
            if (across > 2 && Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top) > 7)  // of about 17
                wrong.push(`${text} on ${other}`);
        }
    });
    const area = svg.querySelector("path.background").getBoundingClientRect();
    const bars = [...svg.querySelectorAll(".mark-rect.role-mark path")].map(one => one.getBoundingClientRect());
    const rows = new Set(bars.map(({top}) => Math.round(top))).size;
    if (area.width < 130 || area.height < (rows === 1 ? 30 : 60))
        wrong.push(`${area.width} × ${area.height} for the marks`);
    if (bars.some(bar => bar.top < area.top - 1 || bar.bottom > area.bottom + 1)) wrong.push("bars out of the chart");
    return wrong;
}"""
# What lies on a button, or on words: on telephones the tools of a table are always there, above it.
ON_BUTTON = """button => {
    button.scrollIntoView({block: "center"});
    const {left, top, width, height} = button.getBoundingClientRect();
    const [x, y] = [left + width / 2, top + height / 2], host = button.getRootNode().host;
    const found = document.elementFromPoint(x, y);
    if (found === host && host.shadowRoot.elementFromPoint(x, y) === button) return [];
    return [`${button.ariaLabel} is below ${found.closest("[aria-label]")?.ariaLabel ?? found.tagName}`];
}"""
ON_WORDS = """panel => {
    const tools = [...panel.querySelectorAll("[data-testid=stElementToolbar]")]
        .filter(one => one.checkVisibility({opacityProperty: true, visibilityProperty: true}))
        .map(one => one.getBoundingClientRect());
    return [...panel.querySelectorAll("p")].flatMap(words => {
        const range = document.createRange();
        range.selectNodeContents(words);
        return [...range.getClientRects()].filter(line => tools.some(tool =>
            Math.min(line.right, tool.right) - Math.max(line.left, tool.left) > 1
            && Math.min(line.bottom, tool.bottom) - Math.max(line.top, tool.top) > 5
        )).map(() => `tools on the words “${words.textContent}”`);
    });
}"""


# How far the names of walls reach down into the chart.
REACH = """svg => [...svg.querySelectorAll("text")]
    .filter(one => ["Critical compute", "Latency wall"].includes(one.textContent))
    .map(one => one.getBoundingClientRect().bottom - svg.querySelector("path.background").getBoundingClientRect().top)
"""


def panel(page):
    """What is in the open tab."""
    return page.get_by_role("tabpanel")


def drawn(page, name: str):
    """A chart of the open tab."""
    return panel(page).locator(f".st-key-chart-{name} svg.marks")


def asked(page, label: str):
    """An input of the open tab."""
    return panel(page).get_by_label(label, exact=True)


def ask(page, label: str, text: str) -> None:
    with rerun(page):
        asked(page, label).fill(text)
        asked(page, label).press("Enter")


def push(page, name: str) -> None:
    """Press a button of the open tab."""
    with rerun(page):
        panel(page).get_by_role("button", name=name).click()


def expect_table(page, number: int, expected) -> None:
    """A table of the open tab is this data frame of texts, as far as its columns are in sight."""
    table = panel(page).get_by_test_id("stDataFrame").nth(number)
    table.locator("th").first.wait_for(state="attached")
    columns = table.locator("th").count()
    expect(table.locator("th")).to_have_text(list(expected)[:columns])
    texts = [text for row in expected.astype(str).to_numpy().tolist() for text in row[:columns]]
    expect(table.locator("tbody td")).to_have_text(texts)


def selected_row(frame) -> int:
    """The point that is selected at first: where linear scaling ends."""
    end = training_limits(frame, 0.8)["linear_scaling_end_flop"].iloc[0]
    return list(frame["training_flop"]).index(end)


def told(page) -> dict[str, str]:
    """The tooltip, by its titles."""
    tooltip = page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    assert not RAW.search(tooltip.inner_text())
    keys, values = (tooltip.locator(f"td.{part}").all_inner_texts() for part in ("key", "value"))
    return dict(zip(keys, values, strict=True))


# What is drawn


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (TELEPHONE, "dark")])
def test_every_answer_is_drawn_and_fits(visit, width, scheme):
    """If this fails, a chart is empty, squeezed, cut off or illegible, or on a telephone a tab is out of reach."""

    def wrong() -> list[str]:
        charts = panel(page).locator(f"{CHART} svg.marks").all()
        problems = [problem for chart in charts for problem in chart.evaluate(WRONG)]
        problems += panel(page).evaluate(ON_WORDS)
        for button in page.locator("button[data-type]:visible").all():
            problems += button.evaluate(ON_BUTTON)
        problems += RAW.findall(main_part(page).inner_text())
        for selector in ("html", "[data-testid=stMain]"):
            scrolled, shown = page.locator(selector).evaluate("one => [one.scrollWidth, one.clientWidth]")
            problems += [f"{selector} scrolls sideways"] * (scrolled > shown)
        return problems

    page = visit(width=width, scheme=scheme, view=REALITY, walls="true")
    first, *_, last = (tab.bounding_box() for tab in page.get_by_role("tab").all())
    assert last["x"] + last["width"] <= width, "the tab that the link opens is out of sight"
    assert (first["x"] < 0) == (width == TELEPHONE), "all tabs are in sight, or none has to be"
    found = []
    for tab in (*reversed(ANSWERS), UTILIZATION):
        open_tab(page, tab)
        expect(page.get_by_role("tab", selected=True)).to_have_text(tab)
        for selector, count in MARKS[tab].items():
            expect(panel(page).locator(f"{CHART} svg.marks {selector}")).to_have_count(count)
        found += [f"{tab}: {problem}" for problem in wrong()]
        if tab == STRATEGY:
            ask(page, "PP", "32")
            expect(panel(page).locator(f"{CHART} svg.marks {BARS}")).to_have_count(2 * MARKS[tab][BARS])
            found += [f"{tab} beside the best: {problem}" for problem in wrong()]
    reach = panel(page).locator(f"{CHART} svg.marks").evaluate(REACH)
    assert len(reach) == 2 and max(reach) <= 1, "names of walls are in the way of curves"
    assert page.evaluate("innerWidth") == width, "the page is wider than the screen"
    assert not found, "\n".join(found)


# Step time


def test_a_step_adds_up_where_one_points_and_where_the_slider_is(visit):
    """If this fails, the shares of a step are not those of the point that is pointed at, or selected."""
    page = visit(view=TIME)
    frame = simulate(H100)
    parts = step_breakdown(H100, frame)
    shares = shares_in_words(parts)
    number = 20
    page.mouse.move(*centre(drawn(page, "time").locator("line[aria-label$=arithmetic]").nth(number)))
    facts = told(page)
    assert facts.pop("Training compute") == flop(frame["training_flop"].iloc[number])
    assert sum(float(share.rstrip("%")) for share in facts.values()) == pytest.approx(100, abs=0.05 * len(facts))
    assert facts == {title: shares[title].iloc[number] for title in facts}

    def follows(number: int) -> None:
        expect(panel(page).get_by_text(bottleneck(parts.iloc[number]), exact=True)).to_be_visible()
        step = parts.iloc[number]
        expect_table(page, 0, parts_table(step[step >= 0.0005 * step.sum()]))
        expect_table(page, 1, matmuls_in_words(matmul_table(H100, frame.iloc[number])))

    number = selected_row(frame)
    follows(number)
    panel(page).get_by_role("slider").focus()
    with rerun(page):
        page.keyboard.press("ArrowRight")
    follows(number + 1)


# Levers


def test_the_map_is_worked_out_while_the_page_is_used(visit):
    """If this fails, some seconds of work keep people from the page, cannot be stopped, or are lost when they are."""

    def working() -> None:
        expect(bar).to_contain_text("Simulating slower and faster networks")
        expect(cells).to_have_count(0)

    page = visit(view=LEVERS)
    bar = page.get_by_test_id("stProgress")
    cells = drawn(page, "map").locator("path[aria-label^=Bandwidth]")
    end = page.get_by_test_id("stMetric").filter(has_text=ENDS).get_by_test_id("stMetricValue")
    draw, stop, go_on = (
        panel(page).get_by_role("button", name=name)
        for name in (re.compile("^Draw the map, about"), "Stop", "Stopped. Go on")
    )
    unchanged, read_off = re.search(
        r"ends: (.+), without the jags of the curve, on which it is read off at (.+)\.", panel(page).inner_text()
    ).groups()
    open_section(page, "Network")
    assert read_off == end.inner_text()
    expect(drawn(page, "levers").get_by_text("◀ never above")).to_be_visible()
    before, at_first = end.inner_text(), field(page, BANDWIDTH, 1).input_value()

    draw.click()
    working()
    page.get_by_role("tab", name=UTILIZATION).click()
    expect(page.locator(CURVES)).to_have_count(3)
    page.get_by_role("tab", name=LEVERS).click()
    working()  # so the other tab did not wait for it
    for text in ("200", at_first):
        field(page, BANDWIDTH, 1).fill(text)
        field(page, BANDWIDTH, 1).press("Enter")
        if text == at_first:
            expect(end).to_have_text(before)
        else:
            expect(end).not_to_have_text(before)
            expect(draw).to_be_visible()  # for the other network
    working()
    stop.click()
    expect(go_on).to_be_visible()
    expect(bar).to_have_count(0)
    push(page, "Stopped. Go on")

    expect(cells).to_have_count(len(IMPROVEMENTS) ** 2)
    labels = cells.evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    assert len({label.partition(":")[0] for label in labels}) == len(labels) == 289
    assert f"Bandwidth × 1, latency × 1: {unchanged}" in labels, "the map has another limit of the network as it is"
    page.mouse.move(*centre(cells.nth(100)))
    facts = told(page)
    assert labels[100] == f"Bandwidth {facts['Bandwidth']}, latency {facts['Latency']}: {facts[ENDS]}"

    fill = background(page)
    for number, (name, colours) in enumerate((("levers", hexes("light", 1)), ("map", []))):
        buttons = (panel(page).locator(f"button[data-type={kind}]").nth(number) for kind in ("svg", "png"))
        (svg, drawing), (png, picture) = (saved(page, button) for button in buttons)
        assert (svg, png) == (f"{name}.svg", f"{name}.png")
        gradient = re.compile(rb"url\(#(\w+)\)")
        assert all(b'id="%b"' % one in drawing for one in gradient.findall(drawing)), "its legend has no colours"
        assert_is_drawing_of(gradient.sub(b"", drawing), drawn(page, name), fill)
        assert_is_picture_of(picture, drawn(page, name), fill, colours)

    with rerun(page):
        panel(page).get_by_role("radio", name="Latency wall").click()
    walls = cells.evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    assert len(walls) == 289 and walls != labels, "the other limit has the same map"
    assert "limit=Latency" in page.url


# Closed forms


def test_closed_forms_follow_their_inputs_into_the_curves_chart(visit):
    """If this fails, a result, its formula or its line in the chart of the curves is not that of what was typed."""

    def wall_positions() -> list[float]:
        """FLOP of the lines across the chart of the curves."""
        lines = page.locator(f"{CHART} svg.marks .mark-rule line[stroke-dasharray='8,4']")
        expect(lines).to_have_count(2)
        at = [float(re.search(r"\(([\d.]+)", line.get_attribute("transform"))[1]) for line in lines.all()]
        axis = page.locator(f"{CHART} svg.marks [aria-label*='Training compute (FLOP) from']").get_attribute(
            "aria-label"
        )
        first, last = (int(power.translate(superscripts)) for power in re.findall("10([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", axis)[-2:])
        area = page.locator(f"{CHART} svg.marks path.background").first.bounding_box()["width"]
        return sorted(10 ** (first + (last - first) * x / area) for x in at)

    superscripts = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
    page = visit(view=FORMS)
    alpha, depth = 0.04, 240
    ask(page, "Layers", f"{depth}")
    params, training_flop = latency_wall(**LatencyWallQuestion(n_layers=depth).quantities)
    numbers = headline(page)
    assert numbers["Largest model"] == f"{scientific(params, 3)} parameters"
    assert numbers["Its training"] == flop(training_flop, 3)
    formula = panel(page).locator(".katex annotation").first
    expect(formula).to_contain_text(rf"{{4 \cdot 20 \cdot {depth} \cdot 9 \times 10^{{-6}}}}")
    expect(formula).to_contain_text(f"= {params / 1e14:.3g}")
    ask(page, ALPHA, f"{alpha}")
    critical = float(critical_compute(H100.gpu, H100.network, alpha))
    assert headline(page)["Critical compute of H100"] == flop(critical, 3)

    open_tab(page, UTILIZATION)
    switch(page, "Walls in closed form")
    assert wall_positions() == pytest.approx([critical, training_flop], rel=0.01), "the lines are elsewhere"
    assert "walls=true" in page.url
    open_tab(page, FORMS)
    ask(page, "Layers", "many")
    expect(panel(page).get_by_test_id("stAlert")).to_contain_text("many")
    assert headline(page)["Its training"] == flop(training_flop, 3), "refused text changed the result"
    panel(page).get_by_role("button", name="As in the article").first.click()
    expect(asked(page, "Layers")).to_have_value("120")
    expect(panel(page).get_by_test_id("stAlert")).to_have_count(0)


# When and cost


def test_growth_moves_years_and_a_price_the_cost(visit):
    """If this fails, the years are not those of the typed growth, or the cost not that of the typed price."""
    page = visit(view=WHEN)
    frame = simulate(H100)
    row = frame.iloc[selected_row(frame)]
    wall = frame["training_flop"].iloc[-1]
    table = panel(page).get_by_test_id("stDataFrame").first.locator("tbody tr").first
    before = table.text_content()
    for label in ("Slow growth", "Fast growth"):
        ask(page, label, "10")
    years = [f"{math.floor(2024 + math.log10(limit / 5e25))}" for limit in (row["training_flop"], wall)]
    expect(table.locator("td")).to_have_text(["H100", flop(row["training_flop"]), years[0], flop(wall), years[1]])
    assert table.text_content() != before
    mark = drawn(page, "growth").locator(f"[aria-label^='H100, {ENDS}']").first
    expect(mark).to_have_attribute("aria-label", f"H100, {ENDS}: {years[0]}")

    open_section(page, "GPU")
    price = sidebar(page).get_by_role("textbox", name=re.compile("^Price"))
    for text, lines in (("60,000", 3), ("", 2), ("45000", 3)):
        with rerun(page):
            price.fill(text)
            price.press("Enter")
        expect(drawn(page, "costs").locator(".mark-line.role-mark path")).to_have_count(lines)
        if text:
            gpu = H100.gpu.model_copy(update={"price_usd": float(text.replace(",", ""))})
            assert headline(page)["Cost of GPUs"] == dollars(capital_cost_usd(gpu, row["n_gpus"]))
            expect(panel(page).get_by_test_id("stAlert")).to_have_count(0)
        else:
            expect(panel(page).get_by_test_id("stAlert")).to_contain_text("H100 has no price")

    push(page, "As at first")
    triangles = drawn(page, "growth").locator(".mark-symbol.role-mark path")
    for preset, name, bound, years in (
        ("Critical batch size", "DeepSeek", f"≥ {flop(2.4e36)}", "2039–2041 or later"),
        ("Today's hardware", "B200", f"≤ {flop(6.5e24)}", "2022 or before"),
    ):
        choose(page, "Preset", preset)
        expect(
            panel(page).get_by_test_id("stDataFrame").first.locator("tr", has_text=re.compile(f"^{name}"))
        ).to_contain_text(bound)
        label = drawn(page, "growth").locator(f"line[aria-label^='{name}, '][aria-label$='{years}']")
        expect(label).to_have_count(1)
        shapes = triangles.evaluate_all("all => all.map(one => one.getAttribute('d').split(/[ML]/).length - 1)")
        assert sorted({*shapes}) == [3, 4], "there is no triangle, or no diamond"


# Any strategy


def test_a_strategy_of_ones_own_beside_the_best(visit):
    """If this fails, what is compared is not what was typed, however quickly, or a broken constraint is not named."""

    def found(**pins):
        return fastest_strategy(H100, shape, int(row["n_gpus"]), Pins(**pins))

    def compare(**pins) -> None:
        compared = {"Yours": found(**pins), "Best": best} if pins else {"Best": best}
        expect_table(page, 0, strategies_in_words(H100, compared))

    page = visit(view=STRATEGY)
    frame = simulate(H100)
    row = frame.iloc[selected_row(frame)]
    shape = shape_by_laws(H100, int(row["d_model"]))
    best = found()
    compare()
    ask(page, "PP", "7")
    broken = found(pp=7).attrs["broken"]
    assert broken[0].startswith("PP = 7 does not divide")
    expect(panel(page).get_by_test_id("stAlert")).to_have_text([re.compile(re.escape(problem)) for problem in broken])

    own = {"dp": 512, "tp": 256, "pp": 64, "ep": 1, "microbatches": 256}
    assert {name: best[name].iloc[0] for name in own} != own
    asked(page, "DP").focus()
    for value in own.values():
        page.keyboard.press("Control+A")
        page.keyboard.type(str(value))
        page.keyboard.press("Tab")  # to the help of the next input
        page.keyboard.press("Tab")
    calm_down(page)
    labels = {"dp": "DP", "tp": "TP", "pp": "PP", "ep": "EP", "microbatches": "Microbatches"}
    for name, label in labels.items():
        expect(asked(page, label)).to_have_value(str(own[name]))
    compare(**own)
    expect(panel(page).get_by_test_id("stAlert")).to_have_count(0)

    push(page, "Take the best strategy's degrees")
    for name, label in labels.items():
        expect(asked(page, label)).to_have_value(f"{best[name].iloc[0]:,}")
    compare(**{name: int(best[name].iloc[0]) for name in labels})
    push(page, "Empty all")
    for label in labels.values():
        expect(asked(page, label)).to_have_value("")
    compare()


# All of them


def answers(page, tabs: tuple[str, ...]) -> dict[str, tuple]:
    """What tabs say, in words and in tables."""
    said = {}
    for tab in tabs:
        open_tab(page, tab)
        tables = panel(page).get_by_test_id("stDataFrame").all()
        for table in tables:
            table.locator("tbody td").first.wait_for(state="attached")
        rows = [table.locator("tr").all_text_contents() for table in tables]
        said[tab] = headline(page), panel(page).inner_text(), rows
    return said


def test_the_address_holds_every_question(visit):
    """If this fails, who opens a link sees other answers than who sent it."""
    typed = {
        FORMS: {"Training time (months)": "6", ALPHA: "0.1"},
        WHEN: {"Slow growth": "10"},
        STRATEGY: {"GPUs": "4,194,304", "PP": "32", "DP": "2^8"},
    }
    page = visit()
    switch(page, "Walls in closed form")
    for tab, texts in typed.items():
        open_tab(page, tab)
        for label, text in texts.items():
            ask(page, label, text)
        if tab == WHEN:
            with rerun(page):
                panel(page).get_by_role("radio", name="Power").click()
    link = page.url
    here = answers(page, (WHEN, UTILIZATION, STRATEGY))  # each anew: what screen readers have of a table comes late
    fresh = visit(address=link)
    assert fresh.url == link
    for label, text in {"GPUs": "4,194,304", "PP": "32", "DP": "256"}.items():
        expect(asked(fresh, label)).to_have_value(text)
    there = answers(fresh, (STRATEGY, WHEN, UTILIZATION))
    assert "Critical compute" in there[UTILIZATION][1] and "Power (W)" in there[WHEN][1]
    for tab in there:
        assert there[tab] == here[tab], f"{tab}: the link shows something else"


def test_answers_are_asked_for_by_keyboard(visit):
    """If this fails, those who use no mouse cannot reach or change what a tab is asked."""
    page = visit(view=LEVERS)
    for tab in (LEVERS, FORMS, WHEN, STRATEGY):
        open_tab(page, tab)
        inputs = [one for role in ("textbox", "slider", "combobox") for one in panel(page).get_by_role(role).all()]
        inputs += panel(page).get_by_role("button", disabled=False).filter(has_text=re.compile(r"\w{3}")).all()
        inputs += panel(page).get_by_role("radio", checked=True).all()  # the arrows lead to the others
        assert inputs, tab
        handles = [one.element_handle() for one in inputs]
        page.get_by_role("tab", name=tab).focus()
        reached = set()
        for _ in range(4 * len(handles) + 20):
            page.keyboard.press("Tab")
            reached.add(page.evaluate(f"handles => handles.findIndex({HAS_FOCUS})", handles))
            if len(reached - {-1}) == len(handles):
                break
        assert reached >= set(range(len(handles))), f"{tab}: out of reach of the keyboard"

    open_tab(page, WHEN)
    panel(page).get_by_role("radio", name="Cost of GPUs").focus()
    with rerun(page):
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Space")
    expect(drawn(page, "costs").locator(".role-axis-title text").last).to_have_text(re.compile("Power"))
    open_tab(page, STRATEGY)
    scroll_to(asked(page, "Schedule"))
    asked(page, "Schedule").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option")).to_have_text(["Fastest", "1F1B", "Zero-bubble"])
    with rerun(page):
        page.keyboard.press("Enter")
    expect(asked(page, "Schedule")).to_have_value("1F1B")
    schedules = panel(page).get_by_test_id("stDataFrame").locator("tr", has_text="Schedule")
    expect(schedules).to_contain_text("1F1B")
