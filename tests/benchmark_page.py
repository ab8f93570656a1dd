"""From a cold server's start to the first chart, ours against a bare one-chart page: `python tests/benchmark_page.py`.

Run by hand on a quiet machine. Both are measured in turns, in a fresh server and a fresh browser context every time,
after one round that only warms the disk's caches. The target is a ratio of at most 1.5.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from browser import APP, CURVES, launched_chromium, running_server
from playwright.sync_api import Browser

BARE = """
import altair as alt
import pandas as pd
import streamlit as st

frame = pd.DataFrame({"x": range(30), "y": range(30)})
st.altair_chart(alt.Chart(frame).mark_line().encode(x="x", y="y"))
"""


def seconds_to_first_chart(script: Path, chromium: Browser) -> tuple[float, float]:
    """Seconds from starting the server until it answers, and until a curve is visible."""
    with chromium.new_context(viewport={"width": 1440, "height": 900}) as context, tempfile.TemporaryFile() as log:
        page = context.new_page()
        start = time.perf_counter()
        with running_server(script, log) as url:
            healthy = time.perf_counter() - start
            page.goto(url, wait_until="commit")
            page.locator(CURVES).first.wait_for(timeout=120_000)
            return healthy, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="measurements of each page")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder, launched_chromium() as chromium:
        bare = Path(folder) / "bare.py"
        bare.write_text(BARE, encoding="utf-8")
        times = {"bare": [], "ours": []}
        for turn in range(runs + 1):
            for name, script in (("bare", bare), ("ours", APP)):
                healthy, drawn = seconds_to_first_chart(script, chromium)
                print(f"{name}: server up {healthy:.2f} s, first chart {drawn:.2f} s{'' if turn else ' (warm-up)'}")
                if turn:
                    times[name].append(drawn)
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    for name, median in medians.items():
        print(f"{name}: median {median:.2f} s of {runs}, from {min(times[name]):.2f} to {max(times[name]):.2f} s")
    print(f"ratio {medians['ours'] / medians['bare']:.2f} (target: at most 1.5)")


if __name__ == "__main__":
    main()
