"""Price, power and energy of clusters: by hand, of every row, and of hardware of which they are not known."""

import math

import numpy as np
import pandas as pd
import pytest

from model import capital_cost_usd, load_hardware, load_presets, simulate, training_limits
from model.money import cluster_costs, cluster_power_w
from model.words import energy, power

GTX_580 = load_hardware()["GTX 580 3GB"].gpu
LARGEST_RUN = load_presets()["2012: the largest run on GTX 580"].configurations[0]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return simulate(LARGEST_RUN)


def with_gpu(**changes):
    return LARGEST_RUN.model_copy(update={"gpu": LARGEST_RUN.gpu.model_copy(update=changes)})


def test_the_largest_run_on_gtx_580s_costs_five_billion_dollars(frame):
    """If this fails, the announcement's sum is not ours: 16.8 million GPUs at $300, of 244 W for 2.9 months."""
    end = training_limits(frame).iloc[0]
    row = frame["training_flop"] == end["linear_scaling_end_flop"]
    costs = cluster_costs(LARGEST_RUN, frame)[row].iloc[0]
    assert costs["capital_cost_usd"] == 300 * 2**24 == pytest.approx(5.0e9, rel=0.01)
    assert costs["power_w"] == 244 * 2**24
    assert costs["energy_j"] == pytest.approx(244 * 2**24 * 2.9 / 12 * 3.154e7, rel=0.001)
    assert (power(costs["power_w"]), energy(costs["energy_j"])) == ("4.09 GW", "8.67 TWh")


def test_costs_are_those_of_their_rows(frame):
    """If this fails, sums stand beside the points of other runs."""
    configuration = with_gpu(price_usd=2.0, power_w=3.0)
    shuffled = frame.iloc[::-1]
    costs = cluster_costs(configuration, shuffled)
    assert list(costs.index) == list(shuffled.index)
    for label, row in shuffled.iterrows():
        n_gpus = row["n_gpus"]
        assert costs.loc[label].tolist() == [2 * n_gpus, 3 * n_gpus, 3 * n_gpus * row["training_s"]]
    assert cluster_costs(configuration, frame[:0]).empty


@pytest.mark.parametrize(
    ("unknown", "missing"), [("price_usd", {"capital_cost_usd"}), ("power_w", {"power_w", "energy_j"})]
)
def test_what_is_not_known_is_missing_and_nothing_else_is(frame, unknown, missing):
    """If this fails, a cluster of unknown price is free, or its power is lost with its price."""
    costs = cluster_costs(with_gpu(**{unknown: None}), frame)
    assert set(costs.columns[costs.isna().all()]) == missing
    assert set(costs.columns[costs.notna().all()]) == set(costs) - missing
    free = cluster_costs(with_gpu(**{unknown: 0.0}), frame)
    assert (free[[*missing]] == 0).all(axis=None), "nothing is a price, too"


@pytest.mark.parametrize(("function", "field"), [(capital_cost_usd, "price_usd"), (cluster_power_w, "power_w")])
def test_a_number_of_gpus_is_multiplied_whatever_its_type(function, field):
    """If this fails, a tooltip or a table of one kind has no cost, or not its rows'."""
    gpu = GTX_580.model_copy(update={field: 300.0})
    assert function(gpu, 8) == 2400
    np.testing.assert_array_equal(function(gpu, np.array([1, 8])), [300, 2400])
    series = pd.Series([1, 8], index=["a", "b"])
    pd.testing.assert_series_equal(function(gpu, series), series * 300.0)
    unknown = gpu.model_copy(update={field: None})
    assert math.isnan(function(unknown, 8)) and np.isnan(function(unknown, np.array([1, 8]))).all()


@pytest.mark.parametrize(
    ("joules", "words"),
    [
        (3600, "1 Wh"),
        (900, "0.25 Wh"),
        (3.6e6, "1 kWh"),
        (3.6e15 * 1.234, "1.23 TWh"),
        (3.6e24, "1.0 × 10²¹ Wh"),
        (0, "0 Wh"),
        (math.inf, "∞ Wh"),
        (math.nan, "—"),
    ],
)
def test_energy_is_in_watt_hours(joules, words):
    """If this fails, energy is 3,600 times what it is, or an unknown one has a number."""
    assert energy(joules) == words


@pytest.mark.parametrize(
    ("watts", "words"),
    [(244, "244 W"), (4.0936e9, "4.09 GW"), (1e20, "100 EW"), (1.5e24, "1.5 × 10²⁴ W"), (math.nan, "—")],
)
def test_power_in_words(watts, words):
    """If this fails, a gigawatt reads as another power of ten, or as a Python number."""
    assert power(watts) == words
