"""The complete output of a run as JSON that any reader of the format accepts."""

import json
import math
from collections.abc import Iterable
from typing import Any

import pandas as pd

from model.configuration import Configuration

SCHEMA_VERSION = 1


def _value(value: Any) -> Any:
    """A cell of the frame in the types that JSON has."""
    if isinstance(value, (tuple, list)):
        return [_value(item) for item in value]
    if pd.isna(value):
        return None
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def complete_output(preset_title: str, configurations: Iterable[Configuration], frame: pd.DataFrame) -> str:
    """Everything a run took and gave.

    Parameters
    ----------
    preset_title : str
        Title of the preset the run started from.
    configurations : iterable of Configuration
        The configurations as they were run, those without a feasible width included.
    frame : DataFrame
        Rows of `simulate`, of one or more configurations.

    Returns
    -------
    str
        ``{"schema_version", "preset", "configurations", "results"}``: `results` has one object per row with every
        column. Missing values are null, tuples lists, infinities the strings "Infinity" and "-Infinity".
    """
    results = [{column: _value(value) for column, value in row.items()} for row in frame.to_dict("records")]
    output = {
        "schema_version": SCHEMA_VERSION,
        "preset": preset_title,
        "configurations": [configuration.model_dump(mode="json") for configuration in configurations],
        "results": results,
    }
    return json.dumps(output, allow_nan=False, ensure_ascii=False, indent=1)
