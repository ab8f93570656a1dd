"""Texts of any script are shown on one line and leave what stands beside them where it is."""

import doctest
import sys
import unicodedata

import pytest

from model import characters
from model.characters import isolated, one_line

EVERY = [chr(code) for code in range(sys.maxunicode + 1)]
TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # Unicode Standard Annex #9, table 4
FROM_RIGHT = {"R", "AL", "AN"}


def test_no_character_that_turns_or_cannot_be_seen_is_left_and_all_others_are():
    for letter in EVERY:
        shown = one_line(f"a{letter}b")
        if unicodedata.bidirectional(letter) in TURNING:
            assert shown == "ab", f"U+{ord(letter):04X} turns what stands beside it"
        elif unicodedata.category(letter) in ("Cc", "Zl", "Zp") or letter in "\ufffe\uffff":
            assert shown == "a b", f"U+{ord(letter):04X} breaks a line or a picture"
        else:
            assert shown == f"a{letter}b", f"U+{ord(letter):04X} is lost"


def test_every_letter_from_right_to_left_is_isolated_and_no_text_without_one():
    for letter in EVERY:
        kept = isolated(letter)
        if unicodedata.bidirectional(letter) in FROM_RIGHT:
            assert kept == f"\u2068{letter}\u2069", f"U+{ord(letter):04X} takes numbers beside it along"
        elif unicodedata.bidirectional(letter) == "L" or ord(letter) < 0x590:
            assert "\u2068" not in kept, f"a name with U+{ord(letter):04X} is copied with what nobody sees in it"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("H100 SXM", "H100 SXM"),
        ("Ωμέγα 漢字 🦙 é", "Ωμέγα 漢字 🦙 é"),
        ("אב 12", "\u2068אב 12\u2069"),
        ("\u202eabc", "abc"),
        ("a\u2067b", "ab"),
        ("\u2069\u2068אב", "\u2068אב\u2069"),
        ("\u2068א\u2069, \u2068ב\u2069", "\u2068א\u2069, \u2068ב\u2069"),
        ("\u2068א\u2069 ב", "\u2068\u2068א\u2069 ב\u2069"),
        ("a\x00\x07b", "a b"),
    ],
)
def test_what_is_isolated_is_closed_and_stays_so(text, kept):
    def shown(name):
        return name.replace("\u2068", "⟨").replace("\u2069", "⟩")  # or a failure would print as it turns

    assert shown(isolated(text)) == shown(kept)
    again = isolated(f"{isolated('אב')} joins {isolated(text)}")
    assert shown(again) == shown(f"\u2068אב\u2069 joins {kept}") or kept.count("\u2068") > 1, "it is isolated twice"


def test_examples_in_the_docstrings_are_true():
    failed, attempted = doctest.testmod(characters)
    assert attempted >= 3 and failed == 0
