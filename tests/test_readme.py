"""The README: what it shows is there, and what it says to do does what it says."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", README, flags=re.DOTALL | re.MULTILINE)


def test_every_picture_is_there_and_none_is_left_over():
    """If this fails, a reader sees a broken picture, or the repository keeps one that nobody sees."""
    shown = set(re.findall(r"!\[[^\]]+\]\((docs/[^)]+)\)", README))
    assert shown == {f"docs/{path.name}" for path in (ROOT / "docs").iterdir()}


@pytest.mark.parametrize(("code", "printed"), PYTHON)
def test_examples_run_and_print_what_they_say(code, printed):
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert not run.stderr, "an example fails, or warns"
    assert run.stdout == printed, "an example does not print what stands below it"


def test_there_are_examples():
    assert PYTHON, "the README shows no code, or this test does not find it"


def test_a_proxy_lets_pass_what_the_server_does():
    server = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["server"]
    (passed,) = re.findall(r"client_max_body_size (\d+)m;", README)
    assert int(passed) > server["maxUploadSize"], "files that the app reads do not reach it"


def test_every_version_that_the_readme_names_is_admitted():
    admitted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    (oldest, newest) = re.search(r"on (3\.\d+) to (3\.\d+)\.", README).groups()
    assert admitted == f">={oldest},<3.{int(newest.removeprefix('3.')) + 1}", "Python that was not tested, or not all"
