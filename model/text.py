"""Numbers, quantities and degrees as a reader takes them in at a glance, and as people type them."""

import math
import re
from decimal import Decimal, DecimalException

from pandas import isna

from model.characters import isolated
from model.step import SECONDS_PER_YEAR

MISSING = "—"
INFINITE = "∞"
WORD_JOINER = "\u2060"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_DIGITS = {over: under for under, over in _SUPERSCRIPTS.items()}
_LARGE = ((1e15, "quadrillion"), (1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))
_FACTORS = {prefix: size for size, prefix in _PREFIXES} | {
    "K": 1e3,
    "m": 1e-3,
    "µ": 1e-6,
    "μ": 1e-6,
    "u": 1e-6,
    "n": 1e-9,
}
_FACTORS |= {f"{prefix}i": 2.0 ** (10 * power) for power, prefix in enumerate("KMGTPE", start=1)}
_WHOLE = r"(?:\d{1,3}(?:,\d{3})+|\d+(?:_\d+)*)"
_POWER = rf"(?:{_WHOLE}(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?:\^-?\d+)?(?:/\d+)?"
_TYPED = re.compile(
    rf"(?:({_POWER}(?:\*{_POWER})*)|∞|inf(?:init[ey])?)\s*(?:((?:m|b|tr|quadr)illion)\s*)?([^\d\s].*)?", re.IGNORECASE
)
MOST_TYPED = 200
_TIMES = (
    (SECONDS_PER_YEAR, "years"),
    (SECONDS_PER_YEAR / 12, "months"),
    (86400, "days"),
    (3600, "hours"),
    (60, "min"),
    (1, "s"),
    (1e-3, "ms"),
    (1e-6, "µs"),
    (1e-9, "ns"),
)


def _out_of_scale(x: float) -> str | None:
    """How a value without digits reads: missing, infinite or zero."""
    if isna(x):
        return MISSING
    if math.isinf(x):
        return INFINITE if x > 0 else f"−{INFINITE}"
    return "0" if x == 0 else None


def _rounded(x: float, digits: int = 3) -> float:
    """x to significant digits."""
    return float(f"{x:.{digits - 1}e}")


def scientific(x: float, digits: int = 2) -> str:
    """2.048e28 → 2.0 × 10²⁸, to significant digits."""
    if special := _out_of_scale(x):
        return special
    mantissa, exponent = f"{x:.{digits - 1}e}".split("e")
    return f"{mantissa.replace('-', '−')} × 10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def flop(x: float, digits: int = 2) -> str:
    """2.048e28 → 2.0 × 10²⁸ FLOP."""
    return MISSING if isna(x) else f"{scientific(x, digits)} FLOP"


def amount(x: float) -> str:
    """A count: 16777216 → 16.8 million, 8192 → 8,192."""
    if special := _out_of_scale(x):
        return special
    if abs(x) < 1e6:
        return f"{x:,.0f}"
    rounded = _rounded(x)
    if abs(rounded) >= 1e18:
        return scientific(x)
    size, name = next((size, name) for size, name in _LARGE if abs(rounded) >= size)
    return f"{rounded / size:g} {name}"


def dollars(x: float) -> str:
    """A sum of money: 5.03e9 → $5.03 billion."""
    return MISSING if isna(x) else f"${amount(x)}"


def percent(share: float, decimals: int = 0) -> str:
    """0.6989 → 70%."""
    return MISSING if isna(share) else f"{100 * share:.{decimals}f}%"


def quantity(x: float, unit: str, digits: int = 3) -> str:
    """9e11 of B/s → 900 GB/s, to significant digits."""
    special = _out_of_scale(x)
    if special == MISSING:
        return special
    if special:
        return f"{special} {unit}"
    rounded = _rounded(x, digits)
    size, prefix = next(((size, prefix) for size, prefix in _PREFIXES if rounded >= size), (1, ""))
    return f"{rounded / size:,.{max(digits, 6)}g} {prefix}{unit}"


def duration(seconds: float) -> str:
    """7.9e6 → 3.01 months, 4.5e-6 → 4.5 µs, to three significant digits."""
    special = _out_of_scale(seconds)
    if special:
        return special if special == MISSING else f"{special} s"
    size, name = next(((size, name) for size, name in _TIMES if _rounded(seconds / size) >= 1), _TIMES[-1])
    rounded = _rounded(seconds / size)
    count = f"{rounded:,g}" if rounded == 0 or 1e-3 <= abs(rounded) < 1e6 else scientific(rounded, 3)
    return f"{count} {name.removesuffix('s') if count == '1' and len(name) > 2 else name}"


def degrees_in_words(dp: float, tp_model: float, tp_ff: float, pp: float, ep: float) -> str:
    """256-way data, 512-way tensor (16 of d_model, 32 of d_ff) and 64-way pipeline parallelism."""
    named = {"data": dp, "tensor": tp_model * tp_ff, "pipeline": pp, "expert": ep}
    words = [f"{degree:,.0f}-way {name}" for name, degree in named.items() if degree > 1]
    if tp_model > 1 and tp_ff > 1:
        words = [
            f"{word} ({tp_model:,.0f} of d_model, {tp_ff:,.0f} of d_ff)" if "tensor" in word else word for word in words
        ]
    if not words:
        return "no parallelism: one GPU"
    *first, last = words
    return f"{', '.join(first)} and {last} parallelism" if first else f"{last} parallelism"


def plain(text: str) -> str:
    """A text of one line as Markdown that shows it to the letter.

    What Markdown would act on is escaped; where that is no help, because Streamlit reads shortcodes, arrows and links
    in the text itself, a word joiner, which has no width, comes between. A text from right to left is isolated.
    """
    text = " ".join(isolated(text).split())
    text = re.sub(
        r"([\\`*\[\]<>~|]|(?<![^\W_])_|_(?![^\W_])|&(?=[#\w])|^[#+=-]|(?<=^\d)[.)]|(?<=^\d\d)[.)])", r"\\\1", text
    )
    if text.count("$") > 1:
        text = text.replace("$", r"\$")
    return re.sub(r"(?<=[-<>=!+])(?=\\?[-<>=!+])|(?<=:)(?=\S)|(?<=@)(?=\w)|(?<=www)(?=\.)", WORD_JOINER, text)


def unit_factor(shown: str, unit: str) -> float:
    """What one of a unit is in another that differs by a prefix: GB/s in B/s is 1e9, % of a share 0.01.

    Raises
    ------
    ValueError
        If the units differ by more.
    """
    if shown == unit:
        return 1
    if shown == "%" and unit == "":
        return 0.01
    prefix = shown.removesuffix(unit)
    if not unit or prefix not in _FACTORS or not shown.endswith(unit):
        raise ValueError(f"{shown!r} is not {unit!r} with a prefix")
    return _FACTORS[prefix]


def number(value: float, factor: float = 1, plain_below: float = 1e15) -> str:
    """A number to be edited, in a unit that is `factor` of its own, without loss: 1.125e-6 by 1e-6 → 1.125."""
    if math.isinf(value):
        return INFINITE
    exact = (Decimal(repr(value)) / Decimal(repr(factor))).normalize()
    if not exact or Decimal("1e-4") <= abs(exact) < plain_below:
        return f"{exact:,f}"
    mantissa, exponent = f"{exact:e}".split("e")
    return f"{mantissa} × 10{str(int(exponent)).translate(_SUPERSCRIPTS)}"


def quantity_from(typed: str, shown: str = "", unit: str = "") -> float | None:
    """What somebody typed, in a unit: 900, 0.9 TB/s or 9e2 GB/s → 9e11 of B/s where GB/s are shown.

    Parameters
    ----------
    typed : str
        A number, maybe with thousands commas, powers (2^20), a fraction (1/16), products (3 × 10²³), a word (16.8
        million) or a unit; ∞ or inf. At most `MOST_TYPED` characters.
    shown, unit : str
        The unit of a bare number, and that of the result, which differ by a prefix.

    Returns
    -------
    float or None
        None if it is no such quantity.
    """
    if len(typed) > MOST_TYPED:
        return None
    plain = re.sub(r"(?<=\d)[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda power: f"^{power[0].translate(_DIGITS)}", typed.strip())
    plain = re.sub(r"\s*[×x·*]\s*(?=\d)", "*", plain).replace("Bps", "B/s").replace("−", "-")
    sign = -1 if plain.startswith("-") else 1
    match = _TYPED.fullmatch(plain.removeprefix("-").lstrip())
    if not match:
        return None
    factors, word, typed_unit = match.groups()
    size = {name: size for size, name in _LARGE}[word.lower()] if word else 1
    try:
        scale = unit_factor((typed_unit or shown).strip(), unit)
        if factors is None:
            return sign * math.inf
        value = sign * math.prod(map(_factor, factors.split("*"))) * Decimal(repr(size)) * Decimal(repr(scale))
        return None if math.isinf(float(value)) else float(value)
    except (ValueError, DecimalException):
        return None


def _factor(text: str) -> Decimal:
    over, _, under = text.partition("/")
    base, _, power = over.partition("^")
    return Decimal(base.replace(",", "").replace("_", "")) ** int(power or 1) / int(under or 1)
