"""The README: what it shows is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_picture_is_there_and_none_is_left_over():
    """If this fails, a reader sees a broken picture, or the repository keeps one that nobody sees."""
    shown = set(re.findall(r"!\[[^\]]+\]\((docs/[^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert shown == {f"docs/{path.name}" for path in (ROOT / "docs").iterdir()}
