"""Numbers read as a person writes them, whatever their size."""

import math

import pandas as pd
import pytest

from model.text import amount, degrees, degrees_in_words, duration, flop, percent, plain, quantity, scientific


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (2.048e28, "2.0 × 10²⁸"),
        (9.96e27, "1.0 × 10²⁸"),  # rounding carries into the exponent
        (9.94e27, "9.9 × 10²⁷"),
        (1.0, "1.0 × 10⁰"),
        (-3.25e-15, "−3.2 × 10⁻¹⁵"),
        (10**31, "1.0 × 10³¹"),
        (0, "0"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "—"),
        (None, "—"),
        (pd.NA, "—"),
    ],
)
def test_scientific(value, words):
    assert scientific(value) == words


def test_scientific_shows_the_digits_asked_for():
    assert scientific(2.0484e28, digits=4) == "2.048 × 10²⁸"


def test_flop_has_its_unit_unless_it_is_missing():
    assert flop(2.048e28) == "2.0 × 10²⁸ FLOP"
    assert flop(math.nan) == flop(None) == "—"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1, "1"),
        (8192, "8,192"),
        (999_999, "999,999"),
        (16_777_216, "16.8 million"),
        (2_000_000, "2 million"),
        (999_600_000, "1 billion"),  # rounding carries into the next name
        (13_065_290_514_432.0, "13.1 trillion"),
        (7.3e15, "7.3 quadrillion"),
        (5.2e19, "5.2 × 10¹⁹"),
        (0, "0"),
        (math.nan, "—"),
        (None, "—"),
    ],
)
def test_amount(value, words):
    assert amount(value) == words


@pytest.mark.parametrize(("value", "words"), [(0.6989, "70%"), (1, "100%"), (0, "0%"), (math.nan, "—")])
def test_percent(value, words):
    assert percent(value) == words


def test_percent_shows_the_decimals_asked_for():
    assert percent(0.55267, decimals=1) == "55.3%"


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (9e11, "B/s", "900 GB/s"),
        (1.8e12, "B/s", "1.8 TB/s"),
        (1.25e10, "B/s", "12.5 GB/s"),
        (9.999e11, "B/s", "1 TB/s"),
        (989e12, "FLOP/s", "989 TFLOP/s"),
        (12, "B", "12 B"),
        (0.5, "B", "0.5 B"),
        (math.inf, "B/s", "∞ B/s"),
        (None, "B/s", "—"),
    ],
)
def test_quantity(value, unit, words):
    assert quantity(value, unit) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3.154e7 / 4, "3 months"),
        (3.154e7 / 12, "1 month"),
        (3.154e7, "1 year"),
        (86400 * 12.34, "12.3 days"),
        (3599.9, "1 hour"),
        (90, "1.5 min"),
        (1, "1 s"),
        (0.0123, "12.3 ms"),
        (4.5e-6, "4.5 µs"),
        (1.1e-7, "110 ns"),
        (2e-12, "0.002 ns"),
        (0, "0 s"),
        (math.inf, "∞ s"),
        (math.nan, "—"),
    ],
)
def test_duration(seconds, words):
    assert duration(seconds) == words


def test_degrees_name_experts_only_where_there_are_any():
    assert degrees(1024, 512, 32, 1) == "DP 1,024 · TP 512 · PP 32"
    assert degrees(1, 64, 8, 72) == "DP 1 · TP 64 · PP 8 · EP 72"
    assert degrees(math.nan, math.nan, math.nan, math.nan) == "—"


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        (
            (256, 16, 32, 64, 1),
            "256-way data, 512-way tensor (16 of d_model, 32 of d_ff) and 64-way pipeline parallelism",
        ),
        ((1, 1, 8, 1, 1), "8-way tensor parallelism"),
        ((2, 1, 1, 1, 72), "2-way data and 72-way expert parallelism"),
        ((1, 1, 1, 1, 1), "no parallelism: one GPU"),
    ],
)
def test_degrees_in_words(strategy, words):
    assert degrees_in_words(*strategy) == words


@pytest.mark.parametrize(
    ("name", "markdown"),
    [
        ("A_b [x](y) $5 *z*", r"A\_b \[x\](y) \$5 \*z\*"),
        (":red[!] <b> `c` ~d~", r"\:red\[!\] \<b\> \`c\` \~d\~"),
        ("H100 SXM: 8-bit, 2 levels (v1.0)", "H100 SXM: 8-bit, 2 levels (v1.0)"),  # a screen reader meets the escapes
    ],
)
def test_plain_escapes_only_what_markdown_would_take(name, markdown):
    assert plain(name) == markdown
