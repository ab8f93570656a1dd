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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

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
)
CURVES = "[data-testid=stVegaLiteChart] svg.marks .mark-line path"


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        return listener.getsockname()[1]


def start_server(script: Path, port: int, log) -> subprocess.Popen:
    options = {
        "server.port": port,
        "server.address": LOOPBACK,
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": "false",
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    return subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", script.name, *arguments],
        cwd=script.parent,
        stdout=log,
        stderr=subprocess.STDOUT,
    )


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
    port = free_port()
    url = f"http://{LOOPBACK}:{port}"
    path = tmp_path_factory.mktemp("server") / "log"
    with path.open("w") as log:
        server = start_server(APP, port, log)
        try:
            wait_until_healthy(server, url)
            yield url
        finally:
            stop_server(server)
    if "Traceback" in path.read_text():
        pytest.fail(path.read_text())


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with launched_chromium() as browser:
        yield browser


@pytest.fixture
def visit(app_url, chromium):
    """Open the app in a context of its own; the test fails if the browser's console then holds an error.

    `visit(width=390, preset="…")`: keywords beside `width` and `scheme` are the page's query parameters.
    """
    contexts = []
    complaints = []

    def note(message):
        if message.type in ("error", "warning"):
            complaints.append(f"{message.type}: {message.text}")

    def refuse_abroad(route):
        if urlsplit(route.request.url).hostname == LOOPBACK:
            route.continue_()
        else:
            complaints.append(f"request to {route.request.url}")
            route.abort()

    def open_page(width: int = 1440, scheme: str = "light", **parameters: str) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, has_touch=width < 600, is_mobile=width < 600
        )
        contexts.append(context)
        context.set_default_timeout(30_000)
        page = context.new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(f"uncaught: {error}"))
        page.route("http*://**", refuse_abroad)
        page.goto(f"{app_url}/?{urlencode(parameters)}")
        settle(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    if complaints:
        pytest.fail("\n".join(complaints))


def settle(page: Page) -> None:
    """Wait until the script has run and what it sent is drawn."""
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_selector("[data-testid=stExpander]")  # the last element of the page
    page.wait_for_selector("[role=tabpanel] .stVegaLiteChart svg.marks path", state="attached")
    page.wait_for_function("document.querySelectorAll('[data-testid=stSkeleton], [data-stale=true]').length === 0")
    page.wait_for_function(
        "[...document.querySelectorAll('.stVegaLiteChart')].every(chart => chart.querySelector('svg.marks path'))"
    )


def open_tab(page: Page, name: str) -> None:
    """Open a tab and wait for its first chart; the charts of other tabs are gone by then."""
    before = page.locator(".stVegaLiteChart").first.element_handle()
    tab = page.get_by_role("tab", name=name)
    if tab.get_attribute("aria-selected") == "false":
        tab.click()
        before.wait_for_element_state("hidden")
    settle(page)


def points_of(path: str) -> int:
    """Points of an unbroken SVG line: one move, and a line to each of the others."""
    if path.count("M") != 1:
        raise ValueError(f"not one unbroken line: {path}")
    return 1 + path.count("L")
