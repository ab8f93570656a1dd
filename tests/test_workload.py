"""Work is bounded: what would take too long is refused, soon and with what to do, and what is not fits in memory."""

import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_invariants import H100, variant
from test_oracle import assumptions, examples, gpus, log_uniform, one_of_laws
from test_sensitivity import curve

from model import Configuration, attainable, improvement_map, load_presets, sensitivities, simulate
from model.configuration import MAX_D_MODEL, MOST_LEVELS, MOST_USAGES, NetworkLevel
from model.costs import NetworkCosts, _kept_costs
from model.integers import divisors
from model.progress import TooMuchWork
from model.workload import MOST_OF_ATTAINABLE, MOST_OF_CURVE, MOST_TOGETHER

FINEST = {"d_model_min": 64, "d_model_max": MAX_D_MODEL, "d_model_multiple": 1}
LONG = {"training_months": 1200}
MOST_MEGABYTES = 300


def network(*sizes: int) -> list[dict]:
    """Levels of which each is slower and of higher latency than the one within it."""
    return [
        {"name": f"Level {index}", "size": size, "bandwidth": 1e12 / 4**index, "latency_s": 1e-6 * 4**index}
        for index, size in enumerate([*sizes, None])
    ]


SPARSE = {"sparsity": {"law": "linear-width"}}
# As heavy as they come, and near the bound: four levels, odd sizes, the finest sweep, experts, long training.
HEAVY = {
    "four levels": variant(H100, network=network(8, 16, 32), sweep=FINEST, assumptions=LONG),
    "four levels, sparse": variant(H100, network=network(8, 16, 32), scaling=SPARSE, sweep=FINEST, assumptions=LONG),
    "odd sizes": variant(H100, network=network(72, 36, 6), scaling=SPARSE, sweep=FINEST, assumptions=LONG),
    "one large level": variant(H100, network=network(2**20 - 1), scaling=SPARSE, sweep=FINEST, assumptions=LONG),
    "d_ff / d_model with many digits": variant(
        H100, network=network(128, 64), scaling={"d_ff_ratio": 3.14159}, sweep=FINEST, assumptions=LONG
    ),
    "odd experts": variant(
        H100,
        network=network(9, 15, 60),
        scaling={"sparsity": {"law": "fixed", "factor": 3**4 * 5 * 7}},
        sweep=FINEST,
        assumptions=LONG,
    ),
    "large levels, a coarse sweep": variant(H100, network=network(8, 32, 1024), scaling=SPARSE),
    "stored activations": variant(
        H100, network=network(8, 8, 8), sweep=FINEST, assumptions=LONG | {"activations": "stored"}
    ),
    "a batch with many divisors": variant(
        H100, network=network(8, 32), scaling={"sequence_length": 4849845}, sweep=FINEST, assumptions=LONG
    ),
}
# Where nothing but latency counts, millions of strategies take the same time but for a billionth.
ALL_TIE = variant(
    H100,
    gpu=H100.gpu.model_copy(
        update={
            "flop_per_clock_per_thread": {16: 1e-6},
            "l2_bytes": 1e18,
            "register_bytes_per_block": 1e18,
            "sm_count": 108,
        }
    ),
    network=[
        {"name": "Node", "size": 8, "bandwidth": 6e11, "latency_s": 10.0},
        {"name": "Cluster", "size": 2**20, "bandwidth": 1e21, "latency_s": 1.125e-6},
        {"name": "Beyond", "bandwidth": 5e10, "latency_s": 1.125e-6},
    ],
    scaling={"batch": {"law": "zhang"}, "batch_multiplier": 1e6},
)
TOO_HEAVY = {
    "all tie": ALL_TIE,
    "large levels": variant(H100, network=network(128, 64, 64), scaling=SPARSE, sweep=FINEST, assumptions=LONG),
    "large odd levels": variant(
        H100,
        network=network(144, 96, 48),
        scaling=SPARSE | {"sequence_length": 15015, "batch": {"law": "zhang"}},
        sweep=FINEST,
        assumptions=LONG,
    ),
}


def refusal(work, *arguments) -> str:
    with pytest.raises(TooMuchWork) as refused:
        work(*arguments)
    return str(refused.value)


def stopped_or(work, configuration: Configuration) -> float:
    """The operations of some work, or what of them was told until it was refused."""
    try:
        return work(configuration).attrs["operations"]
    except TooMuchWork:
        return np.nan


@pytest.mark.parametrize("title", load_presets())
def test_presets_are_far_from_the_bound(title):
    """If this fails, a small change to a preset is refused."""
    for configuration in load_presets()[title].configurations:
        assert 0 < simulate(configuration).attrs["operations"] < MOST_OF_CURVE / 8
        assert 0 < attainable(configuration).attrs["operations"] < MOST_OF_ATTAINABLE / 4


@pytest.mark.parametrize("name", HEAVY)
def test_the_heaviest_that_are_accepted_stay_within_the_bound_and_in_memory(name):
    """If this fails, a stranger's link takes the memory of the server; numpy tells tracemalloc of its arrays."""
    _kept_costs.cache_clear()
    tracemalloc.start()
    try:
        operations = simulate(HEAVY[name]).attrs["operations"]
        peak = tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
    assert 1e6 < operations <= MOST_OF_CURVE, "this is no heavy configuration"
    assert peak < MOST_MEGABYTES


@pytest.mark.parametrize("name", TOO_HEAVY)
def test_what_is_too_much_is_refused_with_what_to_reduce(name):
    """If this fails, somebody waits for minutes, or does not know what to change."""
    said = refusal(simulate, TOO_HEAVY[name])
    sizes = " × ".join(str(level.size) for level in TOO_HEAVY[name].network[:-1])
    assert said.startswith("This search is more work than the simulator takes on. To make it less, sweep fewer than ")
    assert f"smaller ones: {sizes} are shared out in " in said


@pytest.mark.parametrize("name", TOO_HEAVY)
def test_the_advice_of_a_refusal_helps(name):
    """If this fails, who does as told is refused again."""
    coarse = variant(TOO_HEAVY[name], sweep={"d_model_min": 12288, "d_model_max": 49152, "d_model_multiple": 12288})
    fewer = TOO_HEAVY[name].model_copy(update={"network": TOO_HEAVY[name].network[2:]})
    assert len(simulate(coarse)) > 0
    assert len(simulate(fewer)) > 0


@pytest.mark.parametrize("name", [*HEAVY, *TOO_HEAVY])
def test_work_does_not_depend_on_what_is_remembered(name):
    """If this fails, a link is refused on one server and opens on another, or opens the second time."""
    configuration = (HEAVY | TOO_HEAVY)[name]
    _kept_costs.cache_clear()
    first, second = stopped_or(simulate, configuration), stopped_or(simulate, configuration)
    assert np.array_equal(first, second, equal_nan=True)


def test_tables_that_are_too_large_are_refused_before_they_are_made(monkeypatch):
    """If this fails, a refused configuration costs as much as an accepted one."""
    made = []
    monkeypatch.setattr(NetworkCosts, "__init__", lambda *arguments: made.append(arguments))
    _kept_costs.cache_clear()
    many_large_ones = variant(H100, network=network(255, 255, 255), scaling=SPARSE, sweep=FINEST, assumptions=LONG)
    refusal(simulate, many_large_ones)
    assert not made


@st.composite
def any_networks(draw) -> tuple[NetworkLevel, ...]:
    """Networks of every size that the schema allows."""
    count = draw(st.integers(0, MOST_LEVELS - 1))
    sizes, ways = [], MOST_USAGES
    for _ in range(count):
        most = min(ways.bit_length() if ways.bit_length() < 20 else 20, ways)
        sizes.append(draw(st.integers(1, 2**most - 1) | st.sampled_from([1 << power for power in range(most)])))
        ways //= sizes[-1].bit_length()
        if ways < 2:
            break
    bandwidths = [draw(log_uniform(1e8, 1e13) | st.just(float("inf"))) for _ in (*sizes, None)]
    latencies = [draw(log_uniform(1e-9, 1e-3) | st.just(0.0)) for _ in (*sizes, None)]
    return tuple(
        NetworkLevel(name=f"Level {index}", size=size, bandwidth=bandwidth, latency_s=latency_s)
        for index, (size, bandwidth, latency_s) in enumerate(zip([*sizes, None], bandwidths, latencies, strict=True))
    )


def heavy_configurations() -> st.SearchStrategy[Configuration]:
    """The finest sweep of what makes searches large."""
    return st.builds(
        Configuration,
        name=st.just("Random"),
        gpu=gpus(),
        network=any_networks(),
        scaling=st.fixed_dictionaries(
            {
                "d_ff_ratio": st.sampled_from([1.0, 2.0, 4.0, 8 / 3, 3.14159, 64.0]),
                "sequence_length": st.sampled_from([1, 2048, 15015, 2**24, 4849845]),
                "sparsity": one_of_laws(
                    **{"dense": {}, "linear-width": {}},
                    fixed={"factor": st.sampled_from([8, 9, 255, 1155, 2310, 65536])},
                ),
                "depth": one_of_laws(hoffmann={}, fixed={"n_layers": st.sampled_from([1, 96, 720, 2**20])}),
                "batch": one_of_laws(default={}, deepseek={}, zhang={}, constant={"tokens": log_uniform(1e3, 1e14)}),
            }
        ),
        assumptions=st.builds(
            lambda software, months: software.model_copy(update={"training_months": months}),
            assumptions(),
            st.sampled_from([1200.0, 3.0, 1e-3, 1e-6]),
        ),
        sweep=st.just(FINEST),
    )


@given(heavy_configurations())
@examples(20)
def test_any_configuration_stays_within_the_bound(configuration):
    """If this fails, some configuration takes longer than it may, or is refused without a word of help."""
    try:
        assert simulate(configuration).attrs["operations"] <= MOST_OF_CURVE
    except TooMuchWork as refused:
        assert "To make it less, " in str(refused)
    except ValueError as refused:
        assert "the law" in str(refused)


# --- many curves ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compare", [sensitivities, improvement_map])
def test_many_curves_are_refused_before_they_start_if_one_of_them_is_large(compare):
    """If this fails, the map of a large network keeps the server busy for an hour."""
    asked = []

    def large(configuration, *, progress=None):
        asked.append(configuration)
        return curve([1e21, 1e22], [1.0, 0.5], 1e22, operations=MOST_TOGETHER / 10)

    said = refusal(lambda: compare(H100, attainable=large))
    assert len(asked) == 1
    assert "curves like this are more work than the simulator takes on" in said


def test_many_curves_are_stopped_if_they_turn_out_to_be_large():
    """If this fails, work is bounded only if changes do not make it more."""
    asked = []

    def larger(configuration, *, progress=None):
        asked.append(configuration)
        operations = MOST_TOGETHER / 10 if len(asked) > 1 else 1
        return curve([1e21, 1e22], [1.0, 0.5], 1e22, operations=operations)

    refusal(lambda: improvement_map(H100, attainable=larger))
    assert len(asked) == 12


def test_a_change_that_is_too_much_by_itself_is_left_out():
    """If this fails, one bar that cannot be worked out takes all others along."""

    def only_unchanged(configuration, *, progress=None):
        if configuration.gpu.hbm_bandwidth != H100.gpu.hbm_bandwidth:
            raise TooMuchWork("More work")
        return curve([1e21, 1e22], [1.0, 0.5], 1e22)

    found = sensitivities(H100, attainable=only_unchanged).set_index("quantity")
    assert found.loc["Memory bandwidth", "latency_wall_flop"].isna().all()
    assert found.drop("Memory bandwidth")["latency_wall_flop"].notna().all()


# --- divisors ---------------------------------------------------------------------------------------------------------


@given(st.integers(1, 10**6))
@examples(100)
def test_divisors_are_all_that_divide(n):
    """If this fails, degrees or microbatches are missing."""
    assert divisors(n) == tuple(number for number in range(1, n + 1) if n % number == 0)


def test_divisors_of_the_largest_primes_are_soon_found():
    """If this fails (it would not end for minutes), a batch of a prime number of tokens keeps the server busy."""
    prime = 2**53 - 111
    assert divisors(prime) == (1, prime)
    assert divisors(2 * prime) == (1, 2, prime, 2 * prime)


def test_a_configuration_that_was_refused_can_be_kept():
    """If this fails, what is too much now cannot be saved and made smaller later."""
    whole = TOO_HEAVY["large levels"]
    assert Configuration.model_validate(json.loads(whole.model_dump_json())) == whole
