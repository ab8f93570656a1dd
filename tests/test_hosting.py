"""The settings of .streamlit/config.toml, each by its effect on a server that runs with them."""

import shutil
import tomllib
import urllib.error
import urllib.request
from http.cookies import SimpleCookie
from pathlib import Path

import pytest
from browser import STATE, rerun, running_server, settle, sidebar
from playwright.sync_api import expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from model.workspace import MOST_FILE_BYTES, MOST_LINK_CHARACTERS

pytest_plugins = ("browser",)

CONFIG = Path(__file__).parents[1] / ".streamlit" / "config.toml"
SETTINGS = tomllib.loads(CONFIG.read_text(encoding="utf-8"))
FAILING = """
import streamlit as st

st.write("Before")
raise ValueError("a secret")
"""


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """A server of a script that fails, with the app's settings: its address, and the file of its log."""
    folder = tmp_path_factory.mktemp("failing")
    (folder / ".streamlit").mkdir()
    shutil.copy(CONFIG, folder / ".streamlit")
    script, log = folder / "failing.py", folder / "log"
    script.write_text(FAILING)
    with log.open("w") as file, running_server(script, file) as url:
        yield url, log


def stream(url: str, origin: str):
    """A connection to a server's websocket, from a page of some origin."""
    return connect(f"{url.replace('http', 'ws')}/_stcore/stream", origin=origin, subprotocols=["streamlit"])


def test_a_file_that_may_be_uploaded_may_be_read_and_no_larger_one():
    assert SETTINGS["server"]["maxUploadSize"] * 2**20 == MOST_FILE_BYTES, "two limits for one file"


def test_a_browser_may_send_the_longest_link():
    assert SETTINGS["server"]["maxWidgetStateSize"] * 10**6 > 10 * MOST_LINK_CHARACTERS, "a link would end its session"


def test_health_is_told_to_whoever_asks(app_url):
    """If this fails, proxies and monitors take the app for dead."""
    with urllib.request.urlopen(f"{app_url}/_stcore/health") as answer:
        assert (answer.status, answer.read()) == (200, b"ok")


def test_a_check_that_runs_the_script_is_not_open_to_strangers(app_url):
    with urllib.request.urlopen(f"{app_url}/_stcore/script-health-check") as answer:
        assert answer.read() != b"ok", "anybody could run the script as often as they like"


def test_too_large_a_file_is_refused_and_the_page_stands(visit, tmp_path):
    file = tmp_path / "large.json"
    file.write_bytes(b" " * (MOST_FILE_BYTES + 1))
    page = visit()
    sidebar(page).locator("summary", has_text="Open a file").click()
    page.locator("input[type=file]").set_input_files(file)
    expect(sidebar(page)).to_contain_text("File must be 20.0MB or smaller")
    settle(page)
    with rerun(page):
        page.get_by_role("tab", name="Parallelism").click()


def put(url: str, **headers: str) -> int:
    """The status of an upload to a session that does not exist."""
    body = b'--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n{}\r\n--x--\r\n'
    request = urllib.request.Request(
        f"{url}/_stcore/upload_file/session/file",
        body,
        headers | {"Content-Type": "multipart/form-data; boundary=x"},
        method="PUT",
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    return refused.value.code


def test_nobody_uploads_without_the_token_of_the_page(app_url):
    """If this fails, another site can upload in the name of who visits it."""
    with urllib.request.urlopen(f"{app_url}/_stcore/health") as answer:
        token = SimpleCookie(answer.headers["Set-Cookie"])["_streamlit_xsrf"]
    assert token["samesite"] == "Lax"
    assert put(app_url) == 403
    cookie = f"_streamlit_xsrf={token.value}"
    assert put(app_url, Cookie=cookie) == 403, "the cookie alone, which the browser adds by itself, is enough"
    assert put(app_url, Cookie=cookie, **{"X-Xsrftoken": token.value}) == 400, "the token does not open the way"


def test_no_other_site_opens_a_session(app_url):
    with stream(app_url, app_url) as connection:
        assert connection.response.status_code == 101
    with pytest.raises(InvalidStatus) as refused:
        stream(app_url, "https://other.example")
    assert refused.value.response.status_code == 403


def test_a_message_larger_than_any_page_sends_ends_the_session(app_url):
    def send(size: int) -> None:
        message = BackMsg()
        message.rerun_script.query_string = "x" * size
        with stream(app_url, app_url) as connection:
            connection.send(message.SerializeToString())
            connection.recv(timeout=30)

    send(MOST_LINK_CHARACTERS)
    with pytest.raises(ConnectionClosed) as closed:
        send(SETTINGS["server"]["maxWidgetStateSize"] * 10**6)
    assert closed.value.rcvd.code == 1009, "message too big"


def test_who_meets_an_error_reads_nothing_of_the_code_and_the_log_tells_all(failing, chromium):
    url, log = failing
    page = chromium.new_page()
    page.goto(url)
    page.wait_for_selector(f"[data-testid=stApp][{STATE}=notRunning]")
    error = page.get_by_test_id("stException")
    expect(error).to_contain_text("This app has encountered an error")
    words = page.locator("body").inner_text()
    page.context.close()
    assert "Before" in words, "what was there before the error is gone"
    for detail in ("a secret", "ValueError", "Traceback", "failing.py", "Google", "ChatGPT"):
        assert detail not in words, f"strangers read “{detail}”"
    assert "ValueError: a secret" in log.read_text(), "nobody can find out what went wrong"
