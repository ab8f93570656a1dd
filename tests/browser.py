"""The app in a real browser: fixtures that start the server and headless Chromium, for `pytest_plugins`.

PYTEST_DONT_REWRITE, for a test imports this before pytest does.
"""

import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

APP = Path(__file__).parents[1] / "app.py"
LOOPBACK = "127.0.0.1"
CHROMIUM_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {LOOPBACK}",  # nothing is asked of the world
)
CURVES = "[data-testid=stVegaLiteChart] svg.marks .mark-line path"
TELEPHONE = 390
MOST_KEPT = 2
STATE = "data-test-script-state"
# Counts the runs of the script that ended, so that one can wait for the run that an action causes: those that the page
# showed, and, because it skips the showing of a short one when it is busy, the messages that say so. An exception that
# the page shows, if only until the next run, becomes an error of the console, with which a test fails.
COUNTER = f"""
    Object.assign(window, {{shownRuns: 0, runs: 0, asked: 0, ended: 0}});
    new MutationObserver(changes => changes.forEach(({{target, oldValue}}) => {{
        const state = target.getAttribute("{STATE}");
        if (state === "notRunning" && oldValue !== state) shownRuns += 1;
    }})).observe(document, {{subtree: true, attributeFilter: ["{STATE}"], attributeOldValue: true}});
    new MutationObserver(() => {{
        document.querySelectorAll("[data-testid=stException]:not([data-noted])").forEach(one => {{
            one.dataset.noted = "";
            console.error(`the page shows an exception: ${{one.textContent}}`);
        }});
    }}).observe(document, {{subtree: true, childList: true}});
    window.WebSocket = class extends WebSocket {{
        constructor(...options) {{
            super(...options);
            this.addEventListener("message", ({{data}}) => {{
                const bytes = new Uint8Array(data);
                let at = 0;
                while (at < bytes.length && (bytes[at] & 7) === 2 && bytes[at + 1] < 128) at += 2 + bytes[at + 1];
                if (bytes[at] === 6 << 3) {{  // field 6 of the protocol's ForwardMsg: script_finished
                    runs += 1;
                    ended = performance.now();
                }}
            }});
        }}
        send(data) {{
            asked = performance.now();
            super.send(data);
        }}
    }};
"""
RAN = """([shownBefore, before]) =>
    shownRuns > shownBefore || runs > before && performance.now() - ended > 300
"""
QUIET = f"""() =>
    asked < ended && performance.now() - ended > 700
    && document.querySelector("[data-testid=stApp]").getAttribute("{STATE}") === "notRunning"
"""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        return listener.getsockname()[1]


@contextmanager
def running_server(script: Path, log) -> Iterator[str]:
    """The address of a server of a script, until it is left."""
    with server_process(script, log) as (_, url):
        yield url


@contextmanager
def server_process(script: Path, log) -> Iterator[tuple[subprocess.Popen, str]]:
    """A server of a script and its address, until it is left."""
    port = free_port()
    url = f"http://{LOOPBACK}:{port}"
    options = {
        "server.port": port,
        "server.address": LOOPBACK,
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    server = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", script.name, *arguments],
        cwd=script.parent,
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    try:
        wait_until_healthy(server, url)
        yield server, url
    finally:
        stop_server(server)


def wait_until_healthy(server: subprocess.Popen, url: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
    raise RuntimeError(f"the server of {url} is not up (exit code {server.poll()})")


def stop_server(server: subprocess.Popen) -> None:
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


@contextmanager
def launched_chromium() -> Iterator[Browser]:
    executable = shutil.which("chromium")
    if executable is None:
        raise RuntimeError("these need the browser `chromium` on the PATH: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(CHROMIUM_ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def app_url(tmp_path_factory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("server") / "log"
    with path.open("w") as log, running_server(APP, log) as url:
        yield url
    if "Traceback" in path.read_text():
        pytest.fail(path.read_text())


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with launched_chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def kept() -> dict[bool, list[Page]]:
    """Pages of earlier tests, those of telephones apart: the app opens twice as fast where its code was loaded once."""
    return defaultdict(list)


@pytest.fixture
def visit(app_url, chromium, kept):
    """Open the app as in a fresh browser; the test fails if the browser's console then holds an error.

    `visit(width=390, preset="…")`: keywords beside `address`, `width` and `scheme` are the page's query parameters.
    Pages of one test share nothing, and those of two tests only what the browser keeps of files.
    """
    opened = []
    complaints = []

    def note(message):
        if message.type in ("error", "warning"):
            complaints.append(f"{message.type}: {message.text}")

    def note_abroad(request):
        if request.url.startswith("http") and urlsplit(request.url).hostname != LOOPBACK:
            complaints.append(f"request to {request.url}")

    listeners = {
        "console": note,
        "pageerror": lambda error: complaints.append(f"uncaught: {error}"),
        "request": note_abroad,
    }

    def open_page(address: str = "", width: int = 1440, scheme: str = "light", **parameters: str) -> Page:
        telephone = width < 600
        page = kept[telephone].pop() if kept[telephone] else new_page(chromium, telephone)
        opened.append((page, telephone))
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        for event, listener in listeners.items():
            page.on(event, listener)
        page.goto(address or f"{app_url}/?{urlencode(parameters)}", wait_until="commit")
        settle(page)
        return page

    yield open_page
    for page, telephone in opened:
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        if len(kept[telephone]) < MOST_KEPT:
            leave(page, app_url)
            kept[telephone].append(page)
        else:
            page.context.close()
    if complaints:
        pytest.fail("\n".join(complaints))


def new_page(chromium: Browser, telephone: bool) -> Page:
    """A page in a context of its own."""
    context = chromium.new_context(has_touch=telephone, is_mobile=telephone)
    context.set_default_timeout(30_000)
    context.add_init_script(COUNTER)
    return context.new_page()


def leave(page: Page, app_url: str) -> None:
    """End the session of a page, and forget all that the browser keeps of it but the app's files."""
    page.goto(f"{app_url}/_stcore/health")
    page.evaluate("localStorage.clear(), sessionStorage.clear()")
    page.context.clear_cookies()
    page.context.clear_permissions()
    for other in page.context.pages:
        if other != page:
            other.close()


def settle(page: Page, charts: bool = True) -> None:
    """Wait until the script has run and what it sent is drawn, charts among it or not."""
    page.wait_for_selector(f"[data-testid=stApp][{STATE}=notRunning]")
    page.wait_for_selector("summary:has-text('What the words mean')")  # the last element of the page
    if charts:
        page.wait_for_selector("[role=tabpanel] .stVegaLiteChart svg.marks path", state="attached")
    page.wait_for_function("document.querySelectorAll('[data-testid=stSkeleton], [data-stale=true]').length === 0")
    page.wait_for_function(
        "[...document.querySelectorAll('.stVegaLiteChart')].every(chart => chart.querySelector('svg.marks path'))"
    )


@contextmanager
def rerun(page: Page, charts: bool = True) -> Iterator[None]:
    """Wait for the run of the script that what is done inside causes, and until it is drawn."""
    before = page.evaluate("[shownRuns, runs]")
    yield
    page.wait_for_function(RAN, arg=before)
    settle(page, charts)


def calm_down(page: Page) -> None:
    """Wait until every run is over that several quick actions caused; there may be fewer runs than actions."""
    page.wait_for_function(QUIET)
    settle(page)


def main_part(page: Page) -> Locator:
    return page.get_by_test_id("stMainBlockContainer")


def sidebar(page: Page) -> Locator:
    return page.get_by_test_id("stSidebar")


def open_tab(page: Page, name: str) -> None:
    tab = page.get_by_role("tab", name=name)
    if tab.get_attribute("aria-selected") == "false":
        with rerun(page):
            tab.click()


def open_section(page: Page, name: str) -> None:
    """Open, or close, a section of the sidebar."""
    with rerun(page):
        sidebar(page).locator("summary", has_text=name).click()


def field(page: Page, label: str, index: int = 0) -> Locator:
    """A text field of the sidebar; the index tells those of the network's levels apart."""
    return sidebar(page).get_by_label(label, exact=True).nth(index)


def enter(page: Page, label: str, text: str, index: int = 0) -> None:
    """Type a value."""
    with rerun(page):
        field(page, label, index).fill(text)
        field(page, label, index).press("Enter")


def scroll_to(box: Locator) -> None:
    """Scroll until a list is in view, and wait until that is over: scrolls close lists."""
    box.scroll_into_view_if_needed()
    box.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def option_of(page: Page, label: str, option: str) -> Locator:
    """What to choose of a list of the sidebar, which is opened."""
    box = sidebar(page).get_by_role("combobox", name=label, exact=True)
    scroll_to(box)
    box.click()
    return page.get_by_role("option", name=option, exact=True)


def choose(page: Page, label: str, option: str) -> None:
    """Choose from a list of the sidebar, unless it is chosen."""
    if sidebar(page).get_by_role("combobox", name=label, exact=True).input_value() == option:
        return
    chosen = option_of(page, label, option)
    with rerun(page):
        chosen.click()


def press(page: Page, name: str) -> None:
    """Press a button of the sidebar."""
    with rerun(page):
        sidebar(page).get_by_role("button", name=name, exact=True).click()


def switch(page: Page, name: str) -> None:
    """Turn a switch or tick a box, wherever it is."""
    box = page.locator("[data-testid=stCheckbox]:visible", has=page.get_by_label(name, exact=True))
    with rerun(page):
        box.locator("label").click(position={"x": 8, "y": 12})


def headline(page: Page) -> dict[str, str]:
    """The numbers above the charts by their labels."""
    metrics = page.get_by_test_id("stMetric").all()
    return {
        metric.get_by_test_id("stMetricLabel").inner_text().strip(): metric.get_by_test_id("stMetricValue").inner_text()
        for metric in metrics
    }


def points_of(path: str) -> int:
    """Points of an unbroken SVG line: one move, and a line to each of the others."""
    if path.count("M") != 1:
        raise ValueError(f"not one unbroken line: {path}")
    return 1 + path.count("L")
