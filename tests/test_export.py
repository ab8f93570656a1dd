"""The complete output is strict JSON that holds everything."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from model import Configuration, load_hardware, simulate
from model.export import complete_output


def refuse(literal):
    raise ValueError(f"{literal} is no JSON")


def strict(text: str):
    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def configuration() -> Configuration:
    hardware = load_hardware()["H100 SXM Infinite Network, Low Latency"]
    return Configuration(name="Infinite “network”", gpu=hardware.gpu, network=hardware.network)


def test_values_that_json_lacks_have_a_form_in_it(configuration):
    frame = pd.DataFrame(
        {
            "whole": np.array([2**53 - 1, 1], dtype=np.int64),
            "real": [math.inf, -math.inf],
            "missing": [math.nan, None],
            "nothing": pd.array([pd.NA, 3], dtype="Int64"),
            "levels": [(np.int64(8), np.float64("inf")), (1, 2)],
            "flag": [True, False],
            "word": ["1F1B", None],
        }
    )
    assert strict(complete_output("T", [configuration], frame))["results"] == [
        {
            "whole": 2**53 - 1,
            "real": "Infinity",
            "missing": None,
            "nothing": None,
            "levels": [8, "Infinity"],
            "flag": True,
            "word": "1F1B",
        },
        {
            "whole": 1,
            "real": "-Infinity",
            "missing": None,
            "nothing": 3,
            "levels": [1, 2],
            "flag": False,
            "word": None,
        },
    ]


def test_every_column_of_every_row_is_there_to_the_last_digit(configuration):
    frame = simulate(configuration)
    results = strict(complete_output("T", [configuration], frame))["results"]
    assert len(results) == len(frame) > 0
    for column in frame:
        cells = [list(cell) if isinstance(cell, tuple) else cell for cell in frame[column]]
        assert [row[column] for row in results] == cells, column


def test_configurations_can_be_run_again(configuration):
    output = strict(complete_output("A title, with “quotes”", [configuration], pd.DataFrame()))
    assert output["preset"] == "A title, with “quotes”"
    assert output["configurations"][0]["network"][0]["bandwidth"] == "Infinity"
    assert [Configuration.model_validate(raw) for raw in output["configurations"]] == [configuration]
    assert output["results"] == []


def test_the_format_is_versioned(configuration):
    output = strict(complete_output("T", [configuration], pd.DataFrame()))
    assert list(output) == ["schema_version", "preset", "configurations", "results"]
    assert output["schema_version"] == 1
