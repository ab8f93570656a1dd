"""What strangers put into a link, in headless Chromium: it is shown as the text it is, and moves nothing else."""

import json
from xml.etree import ElementTree

import pytest
from browser import TELEPHONE, choose, main_part, open_tab, settle, sidebar
from playwright.sync_api import expect

from model import load_presets, workspace

pytest_plugins = ("browser",)

CHART = ".stVegaLiteChart"
MANY = 47  # configurations; Vega lists 30
H100 = load_presets()["GPU generations, dense"].configurations[0]
HTML, MARKDOWN, FROM_RIGHT, OVERRIDE = NAMES = (
    "<img src=x onerror=alert(1)>",
    ":material/home: [x](javascript:y) $a$ $b$",
    "שרת (מהיר) 100",
    "evil exe.cod",
)
SENT = {OVERRIDE: "evil\x07\ufffe\u202eexe.cod"}
TITLE, DESCRIPTION = "<b>אב</b> שלום", "12 *GPUs* for $5 or $6. :smile: <script>alert(1)</script> مرحبا"
SHORT = {"d_model_min": 12288, "d_model_max": 40960, "d_model_multiple": 4096}
INJECTED = ", ".join(
    f"[data-testid={part}] {what}"
    for part in ("stMain", "stSidebar")
    for what in ("img", "script", "b", "i", "code", "h1 + h1", ".katex", "a[href^=javascript]", "a[href=x]")
)
# Where a piece of text of an element is on the screen: its own box, not that of the element.
PLACE = """(element, piece) => {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode());) {
        const at = node.data.indexOf(piece);
        if (at < 0) continue;
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + piece.length);
        const {left, right} = range.getBoundingClientRect();
        return {left, right};
    }
}"""


def hostile_link() -> str:
    """The link of somebody who does not use the page to make it."""
    whole = H100.model_dump(mode="json") | {"sweep": SHORT}
    document = {"title": TITLE, "description": DESCRIPTION, "source": "[s](javascript:x) `x`"}
    document["configurations"] = [
        whole
        | {"name": SENT.get(name, name), "gpu": whole["gpu"] | {"name": name, "effective_utilization": 0.9 - index / 8}}
        | {"network": [level | {"name": SENT.get(name, name)} for level in whole["network"]]}
        for index, name in enumerate(NAMES)
    ]
    return f"1.{workspace._packed(json.dumps(document))}"


def read(text: str) -> str:
    """A text as it is read: without line ends, and without word joiners and isolates, which nobody sees."""
    return " ".join(text.translate(dict.fromkeys(map(ord, "\u2060\u2068\u2069━"), None)).split())


@pytest.fixture
def page(visit):
    return visit(edits=hostile_link(), configuration=FROM_RIGHT)


def test_names_of_a_link_are_text_everywhere(page):
    def is_text(where: str) -> None:
        assert page.locator(INJECTED).evaluate_all("found => found.map(one => one.outerHTML)") == [], where

    ticks = sidebar(page).locator("label", has=page.locator("input[type=checkbox]:not([role=switch])"))
    assert [read(text) for text in ticks.all_inner_texts()] == list(NAMES)
    assert read(main_part(page).locator("h3").inner_text()) == FROM_RIGHT
    expect(page.locator(f"{CHART} svg.marks .role-legend-label text")).to_have_text(list(NAMES))
    is_text("Utilization")
    for name in NAMES:
        dot = page.locator(f"{CHART} svg.marks .mark-symbol path[aria-label^='{name}, MFU']").nth(1)
        dot.scroll_into_view_if_needed()
        box = dot.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        value = page.locator("#vg-tooltip-element td.value").first
        expect(value).to_have_text(name)
        assert value.locator("*").count() == 0, "the tooltip takes a name for HTML"
    page.mouse.move(0, 0)
    page.locator("summary", has_text="What to look for").click()
    assert ":smile: <script>alert(1)</script> مرحبا" in read(main_part(page).inner_text())
    is_text("the description")

    open_tab(page, "Parallelism")
    panels = [read(text) for text in page.locator("p:has(strong):visible").all_inner_texts()]
    assert [text for text in panels if text in NAMES] == list(NAMES)
    assert f"{FROM_RIGHT} joins 8 GPUs, 900 GB/s per GPU" in panels
    is_text("Parallelism")

    open_tab(page, "Maximum training compute")
    rows = page.get_by_test_id("stDataFrame").locator("tbody tr")
    rows.first.wait_for(state="attached")
    assert rows.evaluate_all("rows => rows.map(row => row.cells[1].textContent)") == list(NAMES)
    expect(page.locator(f"{CHART} svg.marks .role-mark text")).to_have_text(list(NAMES))
    is_text("Maximum training compute")


def test_a_name_from_right_to_left_moves_nothing_beside_it(page):
    def place(locator, piece: str) -> dict[str, float]:
        return locator.evaluate(PLACE, piece)

    about = main_part(page).locator("p", has_text="שלום").first
    assert place(about, "שלום")["right"] <= place(about, "12")["left"], "the number comes before the title"
    assert place(about, "12")["right"] <= place(about, "*GPUs*")["left"]
    for name in (FROM_RIGHT, OVERRIDE):
        choose(page, "Selected configuration", name)
        point = main_part(page).locator("p:visible", has_text="at one point")
        assert read(point.inner_text()) == f"{name} at one point"
        assert place(point, name)["right"] <= place(point, "at")["left"] < place(point, "point")["left"]


def test_a_picture_of_a_chart_with_such_names_can_be_opened(page):
    for kind in ("SVG", "PNG"):
        with page.expect_download() as started:
            page.locator(f"button[data-type={kind.lower()}]:visible").click()
        download = started.value
        assert download.suggested_filename == f"utilization.{kind.lower()}"
        content = download.path().read_bytes()
        if kind == "SVG":
            texts = ["".join(each.itertext()) for each in ElementTree.fromstring(content).iter() if each.text]
            assert {*NAMES} <= {*texts}, "the legend of the picture has other names"
        else:
            assert content.startswith(b"\x89PNG")


def test_any_address_shows_the_page_and_says_what_was_wrong(visit):
    page = visit(width=TELEPHONE)
    start = page.url.partition("?")[0]
    for query, said in {
        "edits=1.%E2%80%AE%00&preset=%ED%A0%80": "This link is damaged or incomplete",
        "threshold=1e400&limit=%00&cost=__proto__": "left out: the threshold, the limit, the measure of cost.",
        "threshold=60&threshold=70&live=%F0%9F%A6%99": "left out: the threshold, a switch.",
        f"configuration={'x' * 9000}&unknown[]=1&=2&%00=3": "left out: the selected configuration.",
    }.items():
        page.goto(f"{start}?{query}")
        settle(page)
        expect(page.locator("[data-testid=stMain] [data-testid=stAlert]")).to_contain_text(said)


def test_more_configurations_than_a_legend_lists_are_drawn_all_the_same(visit):
    """If this fails (an error in the console), charts of many configurations have no axes, or names on one another."""
    many = [H100.model_dump(mode="json") | {"name": f"H100 ({count})", "sweep": SHORT} for count in range(MANY)]
    document = json.dumps({"title": "Many", "description": "", "source": "", "configurations": many})
    page = visit(edits=f"1.{workspace._packed(document)}")
    expect(page.locator(f"{CHART} .mark-line path")).to_have_count(MANY)
    expect(page.locator(f"{CHART} .role-legend-label text")).to_have_count(0)
    open_tab(page, "When and cost")
