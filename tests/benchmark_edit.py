"""From an edit to the redrawn curve, ours with five configurations against a bare page.

`python tests/benchmark_edit.py`, by hand on a quiet machine. The bare page has one text input and one line chart. Edits
of both alternate, each to a value that was never simulated, and are timed inside the page: from the Enter key to the
first frame with another curve. The target is a ratio of at most 2 at the 95th percentile.
"""

import argparse
import statistics
import tempfile
from contextlib import contextmanager
from pathlib import Path

from browser import APP, CURVES, launched_chromium, running_server
from playwright.sync_api import Browser, Page

BARE = """
import altair as alt
import pandas as pd
import streamlit as st

slope = float(st.text_input("Slope", "1"))
frame = pd.DataFrame({"x": range(30), "y": [slope * x for x in range(30)]})
st.altair_chart(alt.Chart(frame).mark_line().encode(x="x", y=alt.Y("y").scale(domain=[0, 100])))
"""
TIMER = """() => {
    const curves = () => [...document.querySelectorAll(".stVegaLiteChart svg.marks .mark-line path")]
        .map(path => path.getAttribute("d")).join("|");
    document.addEventListener("keydown", event => {
        if (event.key !== "Enter") return;
        const start = performance.now(), before = curves(), parts = before.split("|").length;
        window.elapsed = null;
        const look = () => {
            const now = curves();
            if (now !== before && now.split("|").length === parts) window.elapsed = performance.now() - start;
            else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
    }, {capture: true});
}"""


@contextmanager
def timed_page(script: Path, chromium: Browser, address: str):
    """The page of a script on its own server, with the timer in it."""
    with (
        tempfile.TemporaryFile() as log,
        running_server(script, log) as url,
        chromium.new_context(viewport={"width": 1440, "height": 900}) as context,
    ):
        page = context.new_page()
        page.goto(f"{url}/{address}")
        page.locator(CURVES).first.wait_for()
        page.evaluate(TIMER)
        yield page


def edit(page: Page, label: str, value: str) -> float:
    """Milliseconds from Enter to another curve."""
    field = page.get_by_label(label, exact=True)
    field.fill(value)
    field.press("Enter")
    elapsed = page.wait_for_function("window.elapsed", timeout=30_000).json_value()
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_timeout(300)
    return elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=60, help="of each page")
    edits = parser.parse_args().edits
    with tempfile.TemporaryDirectory() as folder, launched_chromium() as chromium:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE, encoding="utf-8")
        with (
            timed_page(bare, chromium, "") as bare_page,
            timed_page(APP, chromium, "?preset=Today%27s+hardware") as our_page,
        ):
            our_page.get_by_text("GPU", exact=True).first.click()
            our_page.get_by_label("Memory bandwidth (GB/s)", exact=True).wait_for()
            times = {"bare": [], "ours": []}
            for turn in range(-3, edits):
                bare_ms = edit(bare_page, "Slope", f"{1 + (turn % 2) + turn / 1000}")
                our_ms = edit(our_page, "Memory bandwidth (GB/s)", f"{1500 + 900 * (turn % 2) + turn}")
                if turn >= 0:
                    times["bare"].append(bare_ms)
                    times["ours"].append(our_ms)
    p95 = {}
    for name, measured in times.items():
        p95[name] = statistics.quantiles(measured, n=20, method="inclusive")[-1]
        print(f"{name}: median {statistics.median(measured):.0f} ms, p95 {p95[name]:.0f} ms of {edits} edits")
    print(f"ratio at p95 {p95['ours'] / p95['bare']:.2f} (target: at most 2)")


if __name__ == "__main__":
    main()
