"""The inputs of a configuration, or of any schema, read off it: what a form shows, and how it takes what is typed.

A form works on a draft: a configuration as nested dicts and tuples, in which a field may also hold text that is no
value yet. The fields known here by name are those whose inputs depend on each other: precisions and their rates, the
sizes of network levels, guesses.
"""

import math
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from model.characters import isolated
from model.configuration import (
    MOST_BANDWIDTH,
    MOST_LEVELS,
    Configuration,
    Gpu,
    NetworkLevel,
    Schema,
    infinite_if_huge,
    noted,
)
from model.text import number, quantity_from, unit_factor

Path = tuple[str | int, ...]
Draft = Any
ADDED_LEVEL_SIZE = 32
PRECISIONS = (4, 8, 16, 32, 64)
YEAR = "year"  # the unit of a date, which is written without commas and not counted: 2024


@dataclass(frozen=True)
class Input:
    """One input of a form.

    Attributes
    ----------
    path : tuple
        Where its value is in the draft.
    location : str
        Where `error_messages` says it is; an identifier among all inputs of a configuration.
    kind : str
        "number", "integer", "text", "texts" (one a line), "switch", "choice", "law", "several" or "levels".
    title, description, unit : str
        For people; the unit is the one that suits a screen.
    section, group : str
        Part of the form, and part of the part ("" if none).
    options : dict
        What a "choice", "law", "several" or "levels" may be, with titles.
    laws, formula : dict, str
        The schemas of the laws that a "law" may be, and what the chosen one says.
    least, most : float or None
        Bounds, in the unit of the schema.
    infinite : bool
        Whether it may be infinite all the same.
    si : str
        The unit of the schema.
    optional : bool
        Whether it may be left empty.
    guess : bool
        Whether its value is a guess.
    """

    path: Path
    location: str
    kind: str
    title: str
    description: str
    section: str
    group: str = ""
    unit: str = ""
    options: Mapping[Any, str] = field(default_factory=dict)
    laws: Mapping[str, type[Schema]] = field(default_factory=dict)
    formula: str = ""
    least: float | None = None
    most: float | None = None
    infinite: bool = False
    si: str = ""
    optional: bool = False
    guess: bool = False

    @property
    def factor(self) -> float:
        """What one of the screen's unit is in the schema's."""
        return unit_factor(self.unit, self.si)

    @property
    def label(self) -> str:
        """Title, unit and whether the value is a guess."""
        return self.title + (f" ({self.unit})" if self.unit else "") + (" · a guess" if self.guess else "")

    @property
    def bounds(self) -> str:
        """The range in the screen's unit, in words, if there is one."""
        if self.kind not in ("number", "integer") or self.least is None:
            return ""
        unit = {"": "", YEAR: "", "%": "%"}.get(self.unit, f" {self.unit}")
        least = self._shown_bound(self.least, ROUND_CEILING)
        if self.most is None:
            return f"At least {least}{unit}."
        infinite = ", or infinite" if self.infinite else ""
        return f"From {least} to {self._shown_bound(self.most, ROUND_FLOOR)}{unit}{infinite}."

    def _shown_bound(self, bound: float, rounding: str) -> str:
        """A bound in the screen's unit, to the digit if it is whole and else rounded to what is in the range."""
        if self.kind == "integer" or self.unit == YEAR:
            return self._in_digits(bound)
        rounded = Context(prec=3, rounding=rounding).divide(Decimal(repr(bound)), Decimal(repr(self.factor)))
        return number(float(rounded), plain_below=1e7)

    def _in_digits(self, value: float) -> str:
        """A number in the screen's unit, without loss."""
        digits = number(value, self.factor, plain_below=1e16 if self.kind == "integer" else 1e15)
        return digits.replace(",", "") if self.unit == YEAR else digits

    def written(self, value: Any) -> Any:
        """The value as its widget holds it: numbers and texts as one text, the rest as it is."""
        if self.kind == "texts" and not isinstance(value, str):
            return "\n".join(value)
        if self.kind in ("number", "integer") and not isinstance(value, str):
            return "" if value is None else self._in_digits(value)
        if self.kind == "levels":
            return len(value)
        if self.kind == "law":
            return value["law"]
        return list(value) if self.kind == "several" else value

    def read(self, typed: Any) -> Any:
        """The value of what its widget holds; text that is no number stays text, which the schema then refuses."""
        if self.kind == "texts":
            return tuple(line.strip() for line in typed.splitlines() if line.strip())
        if self.kind == "several":
            return tuple(typed)
        if self.kind not in ("number", "integer"):
            return typed
        if self.optional and not typed.strip():
            return None
        value = quantity_from(typed, self.unit, self.si)
        if value is None:
            return typed
        return int(value) if self.kind == "integer" and value.is_integer() else value

    def complaint(self, value: Any, message: str) -> str:
        """Why the schema refuses a value, in the words and units of the screen."""
        if self.kind in ("number", "integer") and value is not None:
            unit = f" of {self.unit}" if self.unit not in ("", YEAR) else ""
            if isinstance(value, str):
                said = (
                    f"“{isolated(value[:40])}” is not a number{unit}" if value.strip() else f"Should be a number{unit}"
                )
                return f"{said}. {self.bounds}"
            if self.kind == "integer" and isinstance(value, float):
                return f"Should be a whole number. {self.bounds}"
            least = -math.inf if self.least is None else self.least
            most = math.inf if self.most is None else self.most
            if not least <= value <= most:
                return f"Out of range. {self.bounds}"
        reason = message.partition("; got ")[0].replace(" after validation", "")
        return re.sub("^(String|Value|Input) should", "Should", reason)


def inputs(draft: Draft) -> Iterator[Input]:
    """Every input of a configuration, in the order of its schema.

    Parameters
    ----------
    draft : nested dicts and tuples
        As `Configuration.model_dump` gives it, maybe with values that are refused.

    Yields
    ------
    Input

    Examples
    --------
    >>> from model import load_presets
    >>> h100 = load_presets()["GPU generations, dense"].configurations[0].model_dump()
    >>> {entry.location: entry.written(value_at(h100, entry.path)) for entry in inputs(h100)}["network.0.bandwidth"]
    '900'
    """
    yield from inputs_of(Configuration, draft)


def inputs_of(schema: type[Schema], draft: Draft) -> Iterator[Input]:
    """Every input of any schema, in its order; a section for each field of the schema.

    Parameters
    ----------
    schema : type of Schema
    draft : nested dicts and tuples
        As `model_dump` gives it, maybe with values that are refused. The guesses of its `gpu`, if it has one, are
        marked.

    Yields
    ------
    Input

    Examples
    --------
    >>> from model.configuration import Pins
    >>> {entry.location: entry.bounds for entry in inputs_of(Pins, Pins().model_dump())}["dp"]
    'From 1 to 1,000,000,000,000.'
    """
    yield from _of_schema(schema, draft, _Place(guesses=draft.get("gpu", {}).get("guesses", ())))


def value_at(draft: Draft, path: Path) -> Any:
    """What a draft holds at a path."""
    for step in path:
        draft = draft[step]
    return draft


def changed(draft: Draft, entry: Input, value: Any) -> Draft:
    """A draft with the value of one input changed, and what follows from that.

    Another law starts with its defaults; a network level more is like the outermost; a precision without a rate starts
    with one in proportion, and a refused rate is not left behind; a guess that is typed over is none any more.
    """
    if entry.kind == "levels":
        return {**draft, "network": _with_levels(draft["network"], value)}
    if entry.kind == "law":
        return replaced(draft, entry.path, _starting_values(entry.laws[value]))
    draft = replaced(draft, entry.path, value)
    if entry.path == ("gpu", "precision_bits"):
        draft = replaced(draft, ("gpu", "flop_per_clock_per_thread"), _with_rate(draft["gpu"], value))
    if entry.guess:
        kept = tuple(name for name in draft["gpu"]["guesses"] if name not in _names_of_guess(entry.path))
        draft = replaced(draft, ("gpu", "guesses"), kept)
    return draft


def replaced(draft: Draft, path: Path, value: Any) -> Draft:
    """A draft with another value at a path."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(draft, Mapping):
        return {**draft, step: replaced(draft.get(step), rest, value)}
    return tuple(replaced(item, rest, value) if index == step else item for index, item in enumerate(draft))


@dataclass(frozen=True)
class _Place:
    """Where in the form a field is."""

    path: Path = ()
    location: str = ""
    section: str = ""
    group: str = ""
    guesses: tuple[str, ...] = ()

    def inside(self, step: str | int, *, tag: str = "", section: str = "", group: str = "") -> "_Place":
        """One step deeper; a tag is a step that only locations have."""
        location = ".".join(str(part) for part in (self.location, tag, step) if part != "")
        return _Place((*self.path, step), location, section or self.section, group or self.group, self.guesses)

    def input(self, kind: str, info: FieldInfo, **more: Any) -> Input:
        """The input of a field here."""
        return Input(
            path=self.path,
            location=self.location,
            kind=kind,
            title=info.title or "",
            description=info.description or "",
            section=self.section,
            group=self.group,
            unit=noted(info)["shown"],
            si=noted(info)["unit"],
            guess=not {*self.guesses}.isdisjoint(_names_of_guess(self.path)),
            **more,
        )


def _of_schema(schema: type[Schema], draft: Draft, place: _Place) -> Iterator[Input]:
    for name, info in schema.model_fields.items():
        section = noted(info)["section"] or ("" if place.section else info.title or "")
        yield from _of_field(info, draft, name, place.inside(name, section=section))


def _of_field(info: FieldInfo, draft: Draft, name: str, place: _Place) -> Iterator[Input]:
    value, plain = draft[name], _without_none(info.annotation)
    optional = plain is not info.annotation
    if info.discriminator:
        yield from _of_law(info, value, place)
    elif isinstance(plain, type) and issubclass(plain, Schema):
        yield from _of_schema(plain, value, place)
    elif get_args(plain)[:1] == (NetworkLevel,):
        yield from _of_network(info, value, place)
    elif noted(info)["chosen_by"]:
        key = draft[noted(info)["chosen_by"]]
        bounds = _bounds(_metadata(get_args(plain)[1]))
        yield place.inside(key).input("number", info, **bounds)
    elif name == "precision_bits":
        known = sorted({*PRECISIONS, *draft["flop_per_clock_per_thread"]})
        yield place.input("choice", info, options={bits: f"{bits} bits" for bits in known})
    elif name == "guesses":
        yield place.input("several", info, options=guessable(value))
    elif get_origin(plain) is Literal:
        yield place.input("choice", info, options={option: _titled(option) for option in get_args(plain)})
    elif plain is bool and optional:
        yield place.input("choice", info, options={None: "Not known", True: "Yes", False: "No"})
    elif plain is bool:
        yield place.input("switch", info)
    elif plain in (int, float):
        kind = "integer" if plain is int else "number"
        yield place.input(kind, info, optional=optional, **_bounds(info.metadata))
    else:
        yield place.input("text" if plain is str else "texts", info)


def _titled(option: str) -> str:
    """An option with a capital at its start, and the rest as it is: any → Any, 1F1B → 1F1B."""
    return option[0].upper() + option[1:]


def _of_law(info: FieldInfo, value: Draft, place: _Place) -> Iterator[Input]:
    laws, chosen = _laws(info), value[info.discriminator]
    titles = {key: law.model_config["title"] for key, law in laws.items()}
    yield place.input("law", info, options=titles, laws=laws, formula=laws[chosen].__doc__)
    for name, parameter in laws[chosen].model_fields.items():
        if name != info.discriminator:
            for entry in _of_field(parameter, value, name, place.inside(name, tag=chosen)):
                yield replace(entry, title=f"{info.title}: {entry.title.lower()}")


def _of_network(info: FieldInfo, levels: tuple[Draft, ...], place: _Place) -> Iterator[Input]:
    options = {count: str(count) for count in range(1, MOST_LEVELS + 1)}
    yield place.input("levels", info, options=options)
    for index, level in enumerate(levels):
        here = place.inside(index, group=f"Level {index + 1}")
        for entry in _of_schema(NetworkLevel, level, here):
            if entry.path[-1] != "size":
                yield entry
            elif index < len(levels) - 1:
                yield replace(entry, optional=False)


def _laws(info: FieldInfo) -> dict[str, type[Schema]]:
    """The alternatives of a discriminated union, by their discriminators."""
    alternatives = get_args(info.annotation)
    return {get_args(law.model_fields[info.discriminator].annotation)[0]: law for law in alternatives}


def _starting_values(law: type[Schema]) -> dict[str, Any]:
    """Defaults of a law, or the examples of its fields without one, with the name that it is chosen by."""
    return {name: _starting_value(info) for name, info in law.model_fields.items()}


def _starting_value(info: FieldInfo) -> Any:
    if not info.is_required():
        return info.default
    return info.examples[0] if info.examples else get_args(info.annotation)[0]


def _with_levels(levels: tuple[Draft, ...], count: int) -> tuple[Draft, ...]:
    """The innermost levels, or these and more like the outermost; the outermost has no size."""
    if count <= len(levels):
        return (*levels[: count - 1], levels[count - 1] | {"size": None})
    sized = (*levels[:-1], levels[-1] | {"size": ADDED_LEVEL_SIZE})
    return _with_levels((*sized, levels[-1] | {"name": f"Level {len(levels) + 1}"}), count)


def _with_rate(gpu: Draft, bits: int) -> dict[int, float]:
    """FLOP per clock per thread with an entry for a precision: if it has none, in proportion to the nearest's.

    What is no rate goes, because a form shows only that of the precision, or moves there if there is no other.
    """
    typed = gpu["flop_per_clock_per_thread"]
    bounds = _bounds(_metadata(get_args(Gpu.model_fields["flop_per_clock_per_thread"].annotation)[1]))
    rates = {
        known: rate
        for known, rate in typed.items()
        if not isinstance(rate, str) and bounds["least"] <= rate <= bounds["most"]
    }
    if not rates:
        return {bits: next(iter(typed.values()))}
    if bits in rates:
        return rates
    nearest = min(rates, key=lambda known: (abs(known - bits), known))
    return rates | {bits: rates[nearest] * nearest / bits}


def guessable(guesses: tuple[str, ...]) -> dict[str, str]:
    """Names of what can be a guess, and of what is called one, with titles."""
    figures = {
        name: info.title or ""
        for name, info in Gpu.model_fields.items()
        if name in guesses or not (info.annotation is str or get_origin(info.annotation) is tuple)
    }
    of_network = {f"network.{name}": f"Network: {info.title}" for name, info in NetworkLevel.model_fields.items()}
    return figures | {"network": "Network"} | of_network


def _names_of_guess(path: Path) -> set[str]:
    """What a guess of the value at a path may be called."""
    if path[:1] == ("network",) and len(path) == 3:
        return {"network", f"network.{path[2]}"}
    return {str(path[1])} if path[:1] == ("gpu",) and len(path) > 1 else set()


def _without_none(annotation: Any) -> Any:
    """The X of X | None."""
    if get_origin(annotation) in (Union, types.UnionType):
        rest = [part for part in get_args(annotation) if part is not types.NoneType]
        return rest[0] if len(rest) == 1 else annotation
    return annotation


def _metadata(annotated: Any) -> list[Any]:
    return [item for info in annotated.__metadata__ for item in getattr(info, "metadata", [info])]


def _bounds(metadata: list[Any]) -> dict[str, float]:
    """Least and most, as far as the constraints say."""
    names = {"ge": "least", "gt": "least", "le": "most", "lt": "most"}
    bounds = {
        names[name]: getattr(item, name) for item in metadata for name in names if getattr(item, name, None) is not None
    }
    unlimited = any(getattr(item, "func", None) is infinite_if_huge for item in metadata)
    return bounds | {"most": MOST_BANDWIDTH, "infinite": True} if unlimited else bounds
