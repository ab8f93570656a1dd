"""What the page works on, as a file that can be opened again and as the text of a link."""

import base64
import codecs
import json
import math
import tomllib
import zlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, ValidationError, ValidationInfo, field_validator
from pydantic_core import from_json as json_values

from model.configuration import Configuration, Line, Name, Preset, Schema, as_tuple, field
from model.presets import resolve
from model.questions import Questions

if TYPE_CHECKING:
    import pandas as pd

PACKAGE = "training-scaling-simulator"
SCHEMA_VERSION = 3  # of files; 1 was the complete output without a title and how things are shown, 2 had no questions
COLOURS = 18
LEAST_THRESHOLD, THRESHOLD, MOST_THRESHOLD = 50, 80, 99  # % of peak sustained
MOST_FILE_BYTES = 20 * 2**20
MOST_LINK_CHARACTERS = 100_000  # that are read
LONGEST_LINK = 12_000  # to be sent: an address of 16 KB that arrives in pieces is refused by Streamlit's server
MOST_LINK_BYTES = 2**20  # once decompressed
MOST_VALUES = 100_000  # of a file without its results; the largest workspace has a fifth of them
MOST_BRACKETS = 500_000  # of a file; the results of the largest workspace have a fifth of them
MOST_SENTENCE = 300
MOST_QUOTED = 40  # characters of the input, twice in a sentence at most
FORMULA = ("=", "+", "-", "@")  # that a spreadsheet runs
DAMAGED = "This link is damaged or incomplete"

# The version of the text of a link, and what such texts may refer back to instead of repeating it. The dictionary only
# makes them shorter, but a text cannot be read with any other: a changed one is another version.
LINK_VERSION = 1
LINK_DICTIONARY = """\
{"law":"power","coefficient":20.0,"exponent":1.0},{"law":"constant","tokens":4194304.0},{"law":"deepseek"},
{"law":"zhang"},{"law":"power","tokens_at_reference":4194304.0,"reference_flop":3e+23,"exponent":0.1667},
{"name":"Pod","bandwidth":450000000000.0,"latency_s":1.125e-06,"size":32},
{"law":"linear-width"},{"law":"fixed","factor":8},{"law":"fixed","n_layers":100},"stored","recomputed","Infinity",
false,"hbm_bandwidth","effective_utilization","matmul_latency_s","network"],"title":"","description":"","source":"",
"shown":[{"included":false,"colour":1,"origin":null},{"included":true,"colour":0,"origin":"H100"}],"configurations":[
{"name":"H100","gpu":{"name":"H100 SXM","flop_per_clock_per_thread":{"32":2.0,"16":32.0,"8":64.0},"precision_bits":16,
"register_bytes_per_block":65536.0,"sm_count":132,"l2_bandwidth":6441000000000.0,"l2_bytes":52428800.0,
"hbm_bandwidth":3352000000000.0,"hbm_bytes":80000000000.0,"max_clock_hz":1830000000.0,"effective_utilization":0.7,
"distributed_shared_memory":true,"matmul_latency_s":4.5e-06,"price_usd":30000.0,"power_w":700.0,
"sources":["Erdil & Schneider-Joseph 2024, arXiv:2411.01137","NVIDIA H100 data sheet (power)"],"guesses":["price_usd"]},
"network":[{"name":"Node","bandwidth":900000000000.0,"latency_s":1.125e-06,"size":8},
{"name":"Cluster","bandwidth":100000000000.0,"latency_s":1.125e-06,"size":null}],"scaling":{"d_ff_ratio":4.0,
"sequence_length":2048,"dataset":{"law":"chinchilla","tokens_per_parameter":20.0},"depth":{"law":"hoffmann"},
"sparsity":{"law":"dense"},"batch":{"law":"default"}},"assumptions":{"training_months":3.0,"overlap_tp":true,
"overlap_pp":true,"overlap_dp":false,"zero_bubble":true,"interleaving":true,"activations":"ignored"},
"sweep":{"d_model_min":12288,"d_model_max":1572864,"d_model_multiple":2048}}]}""".replace("\n", "").encode()

# What is wrong with a value, by pydantic's type of error, for people who do not program.
_REASONS = {
    "missing": "is missing",
    "extra_forbidden": "is nothing that the simulator knows",
    "greater_than_equal": "should be at least {ge}",
    "less_than": "should be less than {lt}",
    "less_than_equal": "should be at most {le}",
    "finite_number": "should be a finite number",
    "float_type": "should be a number",
    "int_type": "should be a whole number",
    "int_from_float": "should be a whole number",
    "bool_type": "should be true or false",
    "string_type": "should be text",
    "string_unicode": "should be text without halves of characters",
    "string_too_short": "should have {min_length} or more characters",
    "string_too_long": "should have at most {max_length} characters",
    "too_short": "should have {min_length} or more entries, not {actual_length}",
    "too_long": "should have at most {max_length} entries, not {actual_length}",
    "literal_error": "should be {expected}",
    "union_tag_not_found": "should say which {discriminator} it is",
    "union_tag_invalid": "should have one of the laws {expected_tags}",
    "tuple_type": "should be a list",
    "dict_type": "should be a set of named values",
    "model_type": "should be a set of named values",
    "unknown_gpu": "should be a GPU, or the name of one in the hardware catalogue",
}


class Unreadable(ValueError):
    """A file or link that is no workspace; its message is one plain sentence."""

    def __init__(self, sentence: str):
        printable = "".join(letter if letter.isprintable() else " " for letter in sentence)
        super().__init__(_shortened(printable.strip(), MOST_SENTENCE))


@cache
def software_version() -> str:
    """The version that pyproject.toml states, by way of the package's metadata once it is installed."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        stated = Path(__file__).parents[1] / "pyproject.toml"
        return tomllib.loads(stated.read_text(encoding="utf-8"))["project"]["version"] if stated.is_file() else ""


class Shown(Schema):
    """How the page shows one configuration."""

    included: bool = field("Included", "Whether it is ticked.", default=True)
    colour: int = field("Colour", "Slot of its colour, which it keeps when others are removed.", ge=0, lt=COLOURS)
    origin: Name | None = field(
        "Origin", "Name of the preset's configuration that it came from, to put it back to.", default=None
    )


def _shown_at_first(configurations: tuple[Configuration, ...]) -> tuple[Shown, ...]:
    return tuple(
        Shown(colour=position % COLOURS, origin=configuration.name)
        for position, configuration in enumerate(configurations)
    )


class Workspace(Preset):
    """The configurations that a page compares, how it shows them, and what else it is asked.

    A preset becomes one by ``Workspace(**dict(preset))``: all its configurations are included, have the colour of
    their position and are their own origin.
    """

    schema_version: int = field(
        "Schema version", "Of the file's format.", default=SCHEMA_VERSION, ge=SCHEMA_VERSION, le=SCHEMA_VERSION
    )
    software_version: str = field(
        "Software version", "Of the simulator that made it.", default_factory=software_version, max_length=40
    )
    shown: Annotated[tuple[Shown, ...], BeforeValidator(as_tuple)] = field(
        "Shown", "How each configuration is shown.", default=(), validate_default=True
    )
    selected: Line | None = field("Selected", "Name of the selected configuration.", default=None)
    threshold_percent: int = field(
        "Threshold",
        "Where linear scaling ends, as a share of peak sustained.",
        unit="%",
        default=THRESHOLD,
        ge=LEAST_THRESHOLD,
        le=MOST_THRESHOLD,
    )
    view: str = field("View", "Name of the open tab; empty for the first.", default="", max_length=40)
    questions: Questions = field("Questions", "What the page is asked beside the curves.", default=Questions())

    @field_validator("shown")
    @classmethod
    def _one_for_each(cls, shown: tuple[Shown, ...], info: ValidationInfo) -> tuple[Shown, ...]:
        configurations = info.data.get("configurations", ())
        if shown and configurations and len(shown) != len(configurations):
            raise ValueError(
                f"should have one entry for each of {len(configurations)} configurations, not {len(shown)}"
            )
        return shown or _shown_at_first(configurations)

    @field_validator("selected")
    @classmethod
    def _selected_is_there(cls, selected: str | None, info: ValidationInfo) -> str | None:
        names = [configuration.name for configuration in info.data.get("configurations", ())]
        if selected is not None and names and selected not in names:
            raise ValueError("should be the name of one of the configurations")
        return selected


# --- as a file --------------------------------------------------------------------------------------------------------


def to_json(workspace: Workspace, frame: "pd.DataFrame | None" = None) -> str:
    """The text of a file: the saved state, or with results the complete output.

    Parameters
    ----------
    workspace : Workspace
        What is saved; `software_version` is written as that of the software that writes.
    frame : DataFrame, optional
        Rows of `simulate` for the workspace's configurations.

    Returns
    -------
    str
        A JSON object with the fields of a workspace and, if there is a frame, `results`: one object per row with every
        column. Missing values are null, tuples lists, infinities the strings "Infinity" and "-Infinity".

    Examples
    --------
    >>> from model import load_presets
    >>> workspace = Workspace(**dict(load_presets()["GPU generations, dense"]), threshold_percent=90)
    >>> from_json(to_json(workspace)) == workspace
    True
    """
    versions = {"schema_version": SCHEMA_VERSION, "software_version": software_version()}
    output = versions | workspace.model_dump(mode="json") | versions
    if frame is not None:
        output["results"] = _rows(frame)
    return json.dumps(output, allow_nan=False, ensure_ascii=False, indent=1)


def to_csv(frame: "pd.DataFrame") -> str:
    """The text of a table for spreadsheets and scripts, with a heading.

    A name that a spreadsheet would run as a formula has an apostrophe before it, as one types it there: files and links
    of strangers can hold any name.

    Parameters
    ----------
    frame : DataFrame
        Rows of `simulate` or of `training_limits`.

    Examples
    --------
    >>> import pandas as pd
    >>> print(to_csv(pd.DataFrame({"configuration": ["H100", "=1+1"], "gpu": "H100 SXM", "dp": 8})), end="")
    configuration,gpu,dp
    H100,H100 SXM,8
    '=1+1,H100 SXM,8
    """
    names = {
        column: [f"'{name}" if name.startswith(FORMULA) else name for name in frame[column]]
        for column in ("configuration", "gpu")
    }
    return frame.assign(**names).to_csv(index=False)


def from_json(text: str | bytes) -> Workspace:
    """The workspace in the text of a file.

    Parameters
    ----------
    text : str or bytes
        A preset, in which a GPU may be a name of the hardware catalogue; a saved state; or a complete output, also one
        of the first schema version. Results are left aside. At most 20 MB.

    Returns
    -------
    Workspace
        What the file does not say is as in a preset just opened.

    Raises
    ------
    Unreadable
        If the text is none of these, is too large or was made by a newer version.

    Examples
    --------
    >>> text = '{"title": "One", "description": "", "source": "", "configurations": [{"name": "A", "gpu": "A100 SXM"}]}'
    >>> from_json(text).shown
    (Shown(included=True, colour=0, origin='A'),)
    >>> from_json(text.replace('"One"', "1"))
    Traceback (most recent call last):
    model.workspace.Unreadable: title: should be text; got 1
    """
    if len(text) > MOST_FILE_BYTES:
        raise Unreadable(f"This file is larger than the {MOST_FILE_BYTES >> 20} MB that are read")
    document = _current(_document(text, "file"))
    try:
        preset = resolve({name: document.pop(name) for name in Preset.model_fields if name in document})
        return Workspace.model_validate(dict(preset) | document)
    except ValidationError as error:
        raise Unreadable(_sentence(error)) from error


def _current(document: dict[str, Any]) -> dict[str, Any]:
    """The document of a file of any version in the form of this one."""
    version = document.get("schema_version", SCHEMA_VERSION)
    if type(version) is not int or version < 1:
        raise Unreadable(f"schema_version: should be a whole number from 1 to {SCHEMA_VERSION}{_got(version)}")
    if version > SCHEMA_VERSION:
        raise Unreadable(
            "This file was made by a newer version of the simulator "
            f"(schema {_shortened(str(version))}; this one reads up to {SCHEMA_VERSION})"
        )
    if "configurations" not in document:
        raise Unreadable("This file holds no configurations")
    if version == 1:
        preset = {"title": document.get("preset"), "description": "", "source": ""}
        return preset | {"configurations": document["configurations"]}
    return document | {"schema_version": SCHEMA_VERSION}


def _rows(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    return [{str(column): _json_value(value) for column, value in row.items()} for row in frame.to_dict("records")]


def _json_value(value: Any) -> Any:
    """A cell of a frame in the types that JSON has."""
    from pandas import isna

    if isinstance(value, tuple | list):
        return [_json_value(item) for item in value]
    if isna(value):
        return None
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


# --- as a link --------------------------------------------------------------------------------------------------------


def edits(workspace: Workspace, preset: Preset | None) -> str:
    """What sets the workspace's configurations and how they are shown apart from the preset, as text for a link.

    A configuration that is the preset's own is written by its name and follows the preset; any other is written whole,
    so that a link gives the same numbers whatever becomes of presets, catalogue and defaults. Of the questions, only
    what differs from the defaults is written. The threshold, the selected configuration and the view are not in it.

    Parameters
    ----------
    workspace : Workspace
        What to link to.
    preset : Preset or None
        What the reader of the link starts from; without one, the title, the description and the source are written too.

    Returns
    -------
    str
        Text of letters, digits, ``-``, ``_`` and ``.``; empty if nothing differs. Pages of text in the workspace can
        make it longer than `LONGEST_LINK`, or than `MOST_LINK_CHARACTERS`, which `from_edits` does not read.

    Examples
    --------
    >>> from model import load_presets
    >>> preset = load_presets()["GPU generations, dense"]
    >>> workspace = Workspace(**dict(preset))
    >>> edits(workspace, preset)
    ''
    >>> without_v100 = workspace.model_copy(
    ...     update={"configurations": workspace.configurations[:2], "shown": workspace.shown[:2]}
    ... )
    >>> from_edits(edits(without_v100, preset), preset) == without_v100
    True
    """
    document: dict[str, Any] = {}
    questions = workspace.questions.model_dump(mode="json", exclude_defaults=True)
    if preset is None:
        document = {name: getattr(workspace, name) for name in ("title", "description", "source")}
    elif (
        preset.configurations == workspace.configurations
        and _shown_at_first(preset.configurations) == workspace.shown
        and not questions
    ):
        return ""
    own = _by_name(preset)
    document["configurations"] = [
        each.name if each == own.get(each.name) else each.model_dump(mode="json") for each in workspace.configurations
    ]
    if workspace.shown != _shown_at_first(workspace.configurations):
        document["shown"] = [shown.model_dump(mode="json") for shown in workspace.shown]
    if questions:
        document["questions"] = questions
    return f"{LINK_VERSION}.{_packed(json.dumps(document, ensure_ascii=False, separators=(',', ':')))}"


def from_edits(text: str, preset: Preset | None) -> Workspace:
    """The workspace that a link describes: the inverse of `edits`.

    Parameters
    ----------
    text : str
        What `edits` gave.
    preset : Preset or None
        The preset that it was given.

    Returns
    -------
    Workspace
        Threshold, selected configuration and view are the defaults.

    Raises
    ------
    Unreadable
        If the text is damaged, incomplete, too long or made by a newer version, or if it names a configuration that the
        preset does not have.

    Examples
    --------
    >>> from_edits("1.abc", None)
    Traceback (most recent call last):
    model.workspace.Unreadable: This link is damaged or incomplete
    """
    if not text and preset:
        return Workspace(**dict(preset))
    document = _document(_unpacked(text), "link")
    document["configurations"] = _with_named(document.get("configurations"), _by_name(preset))
    try:
        return Workspace.model_validate((dict(preset) if preset else {}) | document)
    except ValidationError as error:
        raise Unreadable(_sentence(error)) from error


def _by_name(preset: Preset | None) -> dict[str, Configuration]:
    return {configuration.name: configuration for configuration in preset.configurations} if preset else {}


def _with_named(configurations: Any, own: Mapping[str, Configuration]) -> Any:
    """The configurations of a link, with the preset's own in place of their names."""
    if not isinstance(configurations, list):
        return configurations
    unknown = next((each for each in configurations if isinstance(each, str) and each not in own), None)
    if unknown is not None:
        raise Unreadable(f"This link needs a configuration that its preset does not have{_got(unknown)}")
    return [own[each] if isinstance(each, str) else each for each in configurations]


def _packed(text: str) -> str:
    compressor = zlib.compressobj(level=9, memLevel=9, zdict=LINK_DICTIONARY)
    packed = compressor.compress(text.encode()) + compressor.flush()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _unpacked(text: str) -> bytes:
    if len(text) > MOST_LINK_CHARACTERS:
        raise Unreadable(f"This link is longer than the {MOST_LINK_CHARACTERS} characters that are read")
    version, _, packed = text.partition(".")
    if version != str(LINK_VERSION):
        newer = version.isdecimal() and int(version[:9]) > LINK_VERSION
        raise Unreadable("This link was made by a newer version of the simulator" if newer else DAMAGED)
    decompressor = zlib.decompressobj(zdict=LINK_DICTIONARY)
    try:
        deflated = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        unpacked = decompressor.decompress(deflated, MOST_LINK_BYTES)
    except (ValueError, zlib.error) as error:
        raise Unreadable(DAMAGED) from error
    if decompressor.unconsumed_tail:
        raise Unreadable(f"This link holds more than the {MOST_LINK_BYTES >> 20} MB that are read")
    if not decompressor.eof or decompressor.unused_data:
        raise Unreadable(DAMAGED)
    return unpacked


# --- what is refused --------------------------------------------------------------------------------------------------


def _document(text: str | bytes, source: str) -> dict[str, Any]:
    """The JSON object in a text, without results, if it is small enough to check."""
    try:
        encoded = (text.encode() if isinstance(text, str) else text).removeprefix(codecs.BOM_UTF8)
        encoded.decode()
    except UnicodeError as error:
        raise Unreadable(f"This {source} is no JSON: its text is not UTF-8") from error
    if encoded.count(b"[") + encoded.count(b"{") > MOST_BRACKETS:  # seconds, once each is a list
        raise Unreadable(f"This {source} holds more values than any workspace has")
    try:
        document = json_values(encoded, allow_inf_nan=False)
    except ValueError as error:
        raise Unreadable(f"This {source} is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise Unreadable(f"This {source} holds no configurations")
    document.pop("results", None)
    for count, value in enumerate(_values(document)):
        if count > MOST_VALUES:
            raise Unreadable(f"This {source} holds more values than any workspace has")
        if isinstance(value, float) and math.isinf(value):  # which JSON does not have
            raise Unreadable(f"This {source} holds a number that is too large to read, such as 1e400")
    return document


def _values(document: Any) -> Iterator[Any]:
    """All that a JSON document holds, at any depth."""
    pending = [iter((document,))]
    while pending:
        for value in pending[-1]:
            yield value
            if isinstance(value, dict | list):
                pending.append(iter(value.values() if isinstance(value, dict) else value))
                break
        else:
            pending.pop()


def _sentence(error: ValidationError) -> str:
    """What is wrong with the first refused value, and where it is."""
    detail = error.errors(include_url=False)[0]
    place = ".".join(_shortened(str(part)) for part in detail["loc"]) or "workspace"
    return f"{place}: {_reason(detail)}"


def _reason(detail: Mapping[str, Any]) -> str:
    if detail["type"] in _REASONS:
        reason = _REASONS[detail["type"]].format(**detail.get("ctx", {}))
        return reason.removesuffix(", not None") + _got(detail["input"])  # of very many, pydantic does not count all
    reason = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
    quotes_at_length = detail["loc"][-1:] in (("configurations",), ("guesses",))  # all that are repeated or unknown
    return (_shortened(reason, 3 * MOST_QUOTED) if quotes_at_length else reason) + _got(detail["input"])


def _got(value: Any) -> str:
    """A refused value in the words of JSON, unless it is a whole list or object."""
    if isinstance(value, str):
        value = _shortened(value)
    simple = value is None or isinstance(value, str | int | float)
    return f"; got {_shortened(json.dumps(value, ensure_ascii=False), MOST_QUOTED + 2)}" if simple else ""


def _shortened(text: str, most: int = MOST_QUOTED) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
