"""Numbers read as a person writes them, whatever their size."""

import math
import time

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_oracle import examples

from model.text import (
    MOST_TYPED,
    WORD_JOINER,
    amount,
    degrees_in_words,
    dollars,
    duration,
    flop,
    number,
    percent,
    plain,
    quantity,
    quantity_from,
    scientific,
    unit_factor,
)


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


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (5_033_164_800, "$5.03 billion"),
        (30_000, "$30,000"),
        (0, "$0"),
        (math.inf, "$∞"),
        (math.nan, "—"),
        (None, "—"),
    ],
)
def test_dollars(value, words):
    assert dollars(value) == words


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
    ("value", "digits", "words"),
    [
        (1.581056e12, 4, "1.581 TFLOP/s"),
        (1.581056e12, 2, "1.6 TFLOP/s"),
        (9.9996e11, 4, "1 TFLOP/s"),
        (123456789, 9, "123.456789 MFLOP/s"),
    ],
)
def test_quantity_shows_the_digits_asked_for(value, digits, words):
    assert quantity(value, "FLOP/s", digits) == words


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
        ("A_b [x](y) *z*", r"A_b \[x\](y) \*z\*"),
        ("_a_ d_model __b", r"\_a\_ d_model \_\_b"),
        ("$5", "$5"),
        ("$5 or $6", r"\$5 or \$6"),
        (":red[!] <b> `c` ~d~", f":{WORD_JOINER}red\\[!\\] \\<b\\> \\`c\\` \\~d\\~"),
        (":smile: a -- b -> c", f":{WORD_JOINER}smile: a -{WORD_JOINER}- b -{WORD_JOINER}\\> c"),
        ("http://x www.y a@b", f"http:{WORD_JOINER}//x www{WORD_JOINER}.y a@{WORD_JOINER}b"),
        ("# a", r"\# a"),
        ("C# & D &amp;", r"C# & D \&amp;"),
        ("1. a", r"1\. a"),
        ("12) a", r"12\) a"),
        ("- a", r"\- a"),
        (" two\n\nlines ", "two lines"),
        ("אב *x*", "\u2068אב \\*x\\*\u2069"),
        ("\u202e*x* -\u2066-", f"\\*x\\* -{WORD_JOINER}-"),
        ("\x00# a", r"\# a"),
        ("H100 SXM: 8-bit, 2 levels (v1.0)", "H100 SXM: 8-bit, 2 levels (v1.0)"),  # a screen reader meets the escapes
    ],
)
def test_plain_escapes_only_what_markdown_would_take(name, markdown):
    assert plain(name) == markdown


# --- what people type -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("900", 900.0),
        (" 0.5 ", 0.5),
        (".5", 0.5),
        ("3.", 3.0),
        ("-4", -4.0),
        ("−4", -4.0),  # a minus sign, as the page writes it
        ("- 4", -4.0),
        ("1e9", 1e9),
        ("384.8e+9", 384.8e9),
        ("2.25E-5", 2.25e-5),
        ("786,432", 786432.0),
        ("1,234,567.5", 1234567.5),
        ("1_000_000", 1e6),
        ("1/16", 0.0625),
        ("2/3", 2 / 3),
        ("-1/2", -0.5),
        ("2^20", 1048576.0),
        ("2^-3", 0.125),
        ("-2^2", -4.0),
        ("10²³", 1e23),
        ("10⁻⁶", 1e-6),
        ("2²⁰", 1048576.0),
        ("3 × 10²³", 3e23),
        ("3x10^23", 3e23),
        ("3·10²³", 3e23),
        ("8 * 400 * 2", 6400.0),
        ("4 * 1/8", 0.5),
        ("16.8 million", 16.8e6),
        ("13.1 Trillion", 13.1e12),
        ("2billion", 2e9),
        ("7 quadrillion", 7e15),
        ("∞", math.inf),
        ("-∞", -math.inf),
        ("inf", math.inf),
        ("Infinity", math.inf),
        ("infinite", math.inf),
    ],
)
def test_numbers_as_people_type_them(typed, value):
    assert quantity_from(typed) == value


@pytest.mark.parametrize(
    ("typed", "shown", "unit", "value"),
    [
        ("900", "GB/s", "B/s", 9e11),
        ("0.9 TB/s", "GB/s", "B/s", 9e11),
        ("9e11 B/s", "GB/s", "B/s", 9e11),
        ("384.8e+9 Bps", "GB/s", "B/s", 384.8e9),
        ("8 GBps", "GB/s", "B/s", 8e9),
        ("∞ GB/s", "GB/s", "B/s", math.inf),
        ("2 × 450GB/s", "GB/s", "B/s", 9e11),
        ("50", "MiB", "B", 50 * 2**20),
        ("786,432 B", "MiB", "B", 786432),
        ("128 KiB", "MiB", "B", 131072),
        ("3 GB", "GiB", "B", 3e9),
        ("22.5", "µs", "s", 2.25e-5),
        ("2.25e-5 s", "µs", "s", 2.25e-5),
        ("5 us", "µs", "s", 5e-6),
        ("5 μs", "µs", "s", 5e-6),  # the Greek letter
        ("5 ns", "µs", "s", 5e-9),
        ("1.544 GHz", "MHz", "Hz", 1.544e9),
        ("85", "%", "", 0.85),
        ("85%", "%", "", 0.85),
        ("85 %", "%", "", 0.85),
        ("4 million tokens", "tokens", "tokens", 4e6),
        ("300 US$", "US$", "US$", 300),
        ("1/2 MHz", "MHz", "Hz", 5e5),
    ],
)
def test_quantities_as_people_type_them(typed, shown, unit, value):
    assert quantity_from(typed, shown, unit) == value


@pytest.mark.parametrize(
    "typed",
    [
        *("", " ", "-", ".", "abc", "NaN", "nan", "1 2", "1 . 5", "--5", "5-", "1e", "1e5e5", "e5", "5k", "½", "⁵"),
        *("1/0", "0/0", "0^0", "0^-1", "1/", "/2", "1/2/3", "1/-2", "2^", "2^0.5", "2^3^2", "10⁻", "3 ×", "× 3"),
        *("million", "3 zillion", "1.5.5", "1__0", "∞∞", "∞5", "infinitely", "9 GB/s", "9 %%", "1\n2", "0b1", "1j"),
        *("1e400", "-1e400", "10^400", "1e999999999", "10^999999999", "1e300 × 1e300"),  # which no float can hold
        *("1,5", "1,,000", "12,34", "1,2345", "1,000,00", ",5"),  # a decimal comma would count as a thousand
    ],
)
def test_what_is_no_quantity(typed):
    assert quantity_from(typed) is None, "something else than what was typed would be simulated"


@pytest.mark.parametrize("typed", ["9 B", "9 GB/s2", "9 bits", "9 G", "9 s", "9 GHz", "9%", "9 gb/s", "9 GB/s B/s"])
def test_another_unit_is_no_bandwidth(typed):
    assert quantity_from(typed, "GB/s", "B/s") is None


@pytest.mark.parametrize(
    "typed",
    [
        "11*" * 20 + "11\n1",
        "1" * 5000 + "\n1",
        "1" + " " * 20_000 + "\n1",
        "1,111" * 5000,
        "1.1^" + "9" * 190,
        "9^9^" * 5000,
        "2^999999999999",
        "1e" + "9" * 190,
        "1/" * 5000,
        "10" + "⁹" * 190,
        " " * 10**6 + "x",
        "∞" * 10**6,
        "9" * 10**6,
        "x" * MOST_TYPED,
    ],
    ids=lambda typed: typed[:10],
)
def test_hostile_text_is_refused_at_once(typed):
    start = time.perf_counter()
    assert quantity_from(typed, "GB/s", "B/s") is None
    assert time.perf_counter() - start < 0.5, "a page could be made to hang by what is typed into it"


@examples(300)
@given(st.text(alphabet="0123456789 .,_^/*×x·eE+-−²⁻∞%\nGiBsµillon", max_size=30) | st.text())
def test_any_text_is_a_quantity_or_none(typed):
    value = quantity_from(typed, "GB/s", "B/s")
    assert value is None or (type(value) is float and not math.isnan(value))


UNITS = [("", ""), ("GB/s", "B/s"), ("µs", "s"), ("%", ""), ("KiB", "B"), ("MiB", "B"), ("MHz", "Hz"), ("EB", "B")]


@pytest.mark.parametrize(("shown", "unit"), UNITS)
def test_a_number_to_be_edited_reads_back_to_the_bit(shown, unit):
    @examples(100)
    @given(st.floats(allow_nan=False, allow_infinity=False) | st.floats(1e-6, 1e6) | st.integers(0, 2**24).map(float))
    def reads_back(value):
        typed = number(value, unit_factor(shown, unit))
        for text in (typed, f"{typed} {shown}"):
            read = quantity_from(text, shown, unit)
            assert read is not None and read.hex() == value.hex(), "an untouched field changes the simulation"

    reads_back()


@pytest.mark.parametrize(
    ("value", "factor", "text"),
    [
        (9e11, 1e9, "900"),
        (1.125e-6, 1e-6, "1.125"),
        (0.7, 0.01, "70"),
        (131072.0, 1024.0, "128"),
        (1572864, 1, "1,572,864"),
        (4.5e-6, 1, "4.5 × 10⁻⁶"),
        (1e21, 1, "1 × 10²¹"),
        (0.1 + 0.2, 1, "0.30000000000000004"),
        (0.0, 1e-6, "0"),
        (math.inf, 1e9, "∞"),
    ],
)
def test_a_number_to_be_edited_is_short_where_it_can_be(value, factor, text):
    assert number(value, factor) == text


@pytest.mark.parametrize(
    ("shown", "unit", "factor"),
    [
        ("GB/s", "B/s", 1e9),
        ("MiB", "B", 2**20),
        ("kB", "B", 1e3),
        ("KB", "B", 1e3),
        ("ns", "s", 1e-9),
        ("us", "s", 1e-6),
        ("%", "", 0.01),
        ("months", "months", 1),
        ("", "", 1),
    ],
)
def test_unit_factor(shown, unit, factor):
    assert unit_factor(shown, unit) == factor


@pytest.mark.parametrize(
    ("shown", "unit"),
    [
        ("GB", "B/s"),
        ("", "B/s"),
        ("k", ""),
        ("%", "B"),
        ("gB", "B"),
        ("B/s", "B"),
        ("BB", "B"),
        ("GGB", "B"),
        ("x", ""),
    ],
)
def test_unit_factor_refuses_what_differs_by_more_than_a_prefix(shown, unit):
    with pytest.raises(ValueError, match="with a prefix") as refused:
        unit_factor(shown, unit)
    assert repr(shown) in str(refused.value) and repr(unit) in str(refused.value)
