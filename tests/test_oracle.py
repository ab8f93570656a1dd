"""The array engine against the plain scalar implementation, `oracle.py`, on random machines, models and strategies.

The same few hundred examples every time. `EXAMPLES=20 pytest tests/test_oracle.py --hypothesis-seed=1` tries 20 times
as many, other ones for every seed.
"""

import math
import os
from functools import lru_cache

import numpy as np
import oracle
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from model import Configuration, Gpu, NetworkLevel, Shape, Strategy, evaluate, load_hardware, matmul_time, simulate
from model.configuration import Assumptions, ScalingLaws, Sweep
from model.gpu import block_time
from model.scaling import Shapes, given_shape, shape_by_laws
from model.search import Clusters, ClusterSearch

TIE = 1e-9  # the specification's
ROUNDING = 1e-12  # relative difference that two orders of the same sums can make
MORE = int(os.environ.get("EXAMPLES", "1"))
MOST_PLACED = 25_000 * min(MORE, 10)  # strategies that brute force may have to go through for one cluster
PARTS = (
    "compute_s",
    "tp_comm_s",
    "pp_ep_comm_s",
    "dp_comm_s",
    "pipeline_latency_s",
    "dp_latency_s",
    "bubble",
    "step_s",
)


def examples(count: int) -> settings:
    """How many examples a test tries: the same ones every time, unless more are asked for."""
    return settings(max_examples=count * MORE, deadline=None, derandomize=MORE == 1)


def approx(expected: float, rel: float = TIE):
    return pytest.approx(expected, rel=rel, abs=0)


# --- random machines, models and strategies ---------------------------------------------------------------------------


def log_uniform(least: float, largest: float) -> st.SearchStrategy[float]:
    return st.floats(math.log2(least), math.log2(largest)).map(lambda exponent: 2.0**exponent)


def sizes(largest: int) -> st.SearchStrategy[int]:
    """Whole numbers of every magnitude, odd ones too."""
    return log_uniform(1, largest).map(round)


@st.composite
def few_odd_factors(draw, most_twos: int, odd: tuple[int, ...] = (1, 1, 3, 5, 7, 9, 11, 15, 75)) -> int:
    """A number that powers of two divide well."""
    return draw(st.sampled_from(odd)) << draw(st.integers(0, most_twos))


def gpus() -> st.SearchStrategy[Gpu]:
    """GPUs of which each has another weakest part."""
    return st.builds(
        lambda bits, rate, **fields: Gpu(
            name="Chip", precision_bits=bits, flop_per_clock_per_thread={bits: rate}, **fields
        ),
        st.sampled_from([8, 16, 32]),
        st.sampled_from([0.5, 1, 8, 12.5, 32, 64]),
        register_bytes_per_block=st.sampled_from([65536, 131072]) | log_uniform(1e4, 1e6),
        sm_count=st.integers(1, 200),
        l2_bandwidth=log_uniform(1e11, 2e13),
        l2_bytes=log_uniform(1e5, 1e8),
        hbm_bandwidth=log_uniform(1e10, 2e13),
        hbm_bytes=log_uniform(1e9, 1e12),
        max_clock_hz=log_uniform(1e8, 3e9),
        effective_utilization=st.floats(0.1, 1),
        distributed_shared_memory=st.booleans(),
        matmul_latency_s=st.just(0.0) | log_uniform(1e-8, 1e-3),
    )


LEVEL_SIZES = (1, 2, 3, 4, 6, 7, 8, 8, 9, 12, 16, 32, 64, 72, 100)
FREE = {"bandwidth": math.inf, "latency_s": 0.0}  # everything ties on such a network


@st.composite
def networks(
    draw, depths: tuple[int, ...] = (1, 2, 3, 4), level_sizes: tuple[int, ...] = LEVEL_SIZES
) -> tuple[NetworkLevel, ...]:
    """Networks in which an inner level may be slower than an outer one."""
    count = draw(st.sampled_from(depths))
    free = draw(st.sampled_from([False] * 9 + [True]))
    levels = []
    for index in range(count):
        bandwidth = draw(log_uniform(1e8, 1e13) | st.sampled_from([1e10, 1e11, 9e11, math.inf]))
        latency_s = draw(log_uniform(1e-8, 1e-2) | st.sampled_from([1e-6, 1e-6, 0.0]))
        costs = FREE if free else {"bandwidth": bandwidth, "latency_s": latency_s}
        size = draw(st.sampled_from(level_sizes)) if index < count - 1 else None
        levels.append(NetworkLevel(name=f"Level {index}", size=size, **costs))
    return tuple(levels)


def assumptions() -> st.SearchStrategy[Assumptions]:
    return st.builds(
        Assumptions,
        overlap_tp=st.booleans(),
        overlap_pp=st.booleans(),
        overlap_dp=st.booleans(),
        zero_bubble=st.booleans(),
        interleaving=st.booleans(),
        activations=st.sampled_from(["ignored", "recomputed", "stored"]),
    )


def machines(**network) -> st.SearchStrategy[Configuration]:
    """Configurations whose laws and sweep do not matter."""
    return st.builds(
        Configuration, name=st.just("Random"), gpu=gpus(), network=networks(**network), assumptions=assumptions()
    )


def as_model(strategy: oracle.Strategy) -> Strategy:
    return Strategy(**strategy._asdict())


# --- single times -----------------------------------------------------------------------------------------------------


@examples(200)
@given(gpus(), st.lists(st.tuples(sizes(2**21), sizes(2**23), sizes(2**24)), min_size=1, max_size=50), st.booleans())
def test_matmul_times_are_the_oracles(gpu, products, weight_gradient):
    """If this fails, matmuls of some shape take the wrong time, or arrays of them do not give what single ones do."""
    expected = [oracle.matmul_time(gpu, *product, weight_gradient) for product in products]
    times = matmul_time(gpu, *np.array(products).T, weight_gradient)
    np.testing.assert_allclose(times, expected, rtol=TIE, atol=0)


@examples(200)
@given(gpus(), st.lists(st.tuples(sizes(2**23), sizes(2**21), sizes(2**24)), min_size=1, max_size=50))
def test_layer_times_are_the_oracles(gpu, layers):
    """If this fails, the six matmuls of a layer do not add up to its time, or cutting its matrix only once is wrong."""
    expected = [oracle.layer_time(oracle.rates(gpu), *layer) for layer in layers]
    np.testing.assert_allclose(block_time(gpu, *np.array(layers, dtype=float).T), expected, rtol=TIE, atol=0)


@examples(200)
@given(gpus(), st.lists(st.tuples(st.integers(1, 500), sizes(2**23), sizes(2**16)), min_size=1, max_size=50))
@example(load_hardware()["H100 SXM"].gpu, [(240, 5120, 512)])
def test_narrow_matrices_are_cut_as_the_specification_rounds(gpu, products):
    """If this fails, a matrix that is cut one way only counts traffic of a cut the other way where the spec does not.

    Whether "r > 1" holds can hang on the last bit: 240 × 5120 words make 1 row of tiles, 5120 × 240 words make
    1.0000000000000002 columns. Either side of a layer must be cut by itself, in the order of operations specified.
    """
    gpu = gpu.model_copy(update={"distributed_shared_memory": True})
    rates = oracle.rates(gpu)
    narrow, wide, tokens = np.array(products, dtype=float).T
    for f, d, sides in (
        (narrow, wide, products),
        (wide, narrow, [(wide, narrow, b) for narrow, wide, b in products]),
    ):
        layers = [oracle.layer_time(rates, *side) for side in sides]
        np.testing.assert_allclose(block_time(gpu, f, d, tokens), layers, rtol=TIE, atol=0)


@st.composite
def pinned(draw, levels: int) -> tuple[Shape, Strategy]:
    """A model and a strategy for it that `evaluate` takes, though its degrees seldom divide the model."""
    factor = st.sampled_from([1, 1, 1, 2, 2, 3, 4, 8])
    degrees = {name: tuple(draw(factor) for _ in range(levels)) for name in ("dp", "tp_model", "tp_ff", "pp", "ep")}
    dp, tp_model, tp_ff, pp, ep = map(math.prod, degrees.values())
    zero_bubble = draw(st.booleans())
    interleaving = 1 if zero_bubble or pp == 1 else draw(st.integers(1, 5))
    microbatches = draw(st.integers(2 * pp, 4 * pp) if zero_bubble else st.integers(1, 3 * pp))
    sparsity = ep * draw(st.integers(1, 3)) + draw(st.sampled_from([0, 0, 1]))
    shape = Shape(
        d_model=tp_model + draw(sizes(2**16)) - 1,
        d_ff=tp_ff + draw(sizes(2**18)) - 1,
        n_layers=pp * interleaving + draw(sizes(2**8)) - 1,
        sparsity=sparsity,
        batch_tokens=dp * microbatches * sparsity + draw(sizes(2**24)) - 1,
    )
    schedule = "zero-bubble" if zero_bubble else "1F1B"
    return shape, Strategy(**degrees, microbatches=microbatches, interleaving=interleaving, schedule=schedule)


@examples(300)
@given(machines(), st.data())
def test_pinned_strategies_are_the_oracles(configuration, data):
    """If this fails, some part of a step, an overlap, a schedule or recomputation is wrong (spec section 4)."""
    shape, strategy = data.draw(pinned(len(configuration.network)))
    expected = oracle.evaluate(configuration, shape, strategy)
    row = evaluate(configuration, shape, strategy).iloc[0]
    # Shares of messages are differences of products, so what is left of next to none is rounding.
    assert row["pp_ep_comm_s"] == pytest.approx(expected["pp_ep_comm_s"], rel=TIE, abs=TIE * expected["step_s"])
    for name in (*PARTS, "training_s", "mfu", "steps", "n_gpus"):
        if name != "pp_ep_comm_s":
            assert row[name] == approx(expected[name]), name


# --- one cluster: the search against brute force ----------------------------------------------------------------------


@lru_cache(2**18)
def count_placements(whole: tuple[int, ...], joined: tuple[int, ...]) -> int:
    """How many placements brute force has to try for degrees on inner levels that join so many units."""
    if not joined:
        return 1
    inner = oracle.factorisations(joined[0], whole)
    return sum(count_placements(tuple(d // i for d, i in zip(whole, here, strict=True)), joined[1:]) for here in inner)


def count_placed(configuration: Configuration, shape: oracle.Shape, n_gpus: int) -> int:
    """How many placed strategies a cluster has."""
    joined = oracle.units_joined(configuration.network, n_gpus)
    return sum(
        count_placements(tuple(degree for (degree,) in strategy[:5]), joined)
        for strategy in oracle.unplaced_strategies(configuration, shape, n_gpus)
    )


@st.composite
def clusters_for_brute_force(
    draw, configuration: Configuration, most_twos: int, enough: int = MOST_PLACED
) -> tuple[Shape, int]:
    """A model and the exponent of a cluster's size, with many strategies, but no more than are enough."""
    twos = [draw(st.integers(most // 3, most)) for most in (most_twos, most_twos + 2, most_twos, most_twos + 4)]
    odds = [
        draw(st.sampled_from(odd)) for odd in ((1, 1, 16, 37, 75), (1, 3, 11, 101), (1, 1, 3, 5, 9), (1, 3, 27, 1001))
    ]
    d_model, d_ff, n_layers, sequences = (odd << exponent for odd, exponent in zip(odds, twos, strict=True))
    sparsity = draw(st.sampled_from([1, 1, 1, 2, 3, 4, 8, 9, 12, 64, 72]))
    batch = sparsity * sequences + draw(st.sampled_from([0] * 19 + [1]))  # which the experts may not divide
    shape = Shape(d_model=d_model, d_ff=d_ff, n_layers=n_layers, sparsity=sparsity, batch_tokens=batch)
    exponent = draw(st.integers(sum(twos) // 4, (3 * sum(twos) + 3) // 4))
    while count_placed(configuration, oracle.complete(configuration, shape), sparsity << exponent) > enough:
        exponent -= 1
    return shape, exponent


def search(configuration: Configuration, shapes: list[Shape], twos: list[int], limit: list[float]):
    """The engine's choices for clusters of sparsity · 2^twos GPUs, by their numbers, and floors of the step times."""
    clusters = Clusters(
        Shapes.concatenated([given_shape(configuration, shape) for shape in shapes]), np.array(twos), np.array(limit)
    )
    searched = ClusterSearch(configuration, clusters)
    first_floor = searched.floor.copy()
    every = np.arange(len(clusters))
    searched.tighten(every)
    found, best = searched.best(every)
    choices = {}
    for position, cluster in enumerate(found.tolist()):
        levels = {
            name: tuple(getattr(best, name)[position].astype(int).tolist())
            for name in ("dp", "tp_model", "tp_ff", "pp", "ep")
        }
        choices[cluster] = Strategy(
            **levels,
            microbatches=int(best.microbatches[position]),
            interleaving=int(best.interleaving[position]),
            schedule="zero-bubble" if best.zero_bubble[position] else "1F1B",
        )
    return choices, np.maximum(first_floor, searched.floor)


def degrees(strategy: Strategy | oracle.Strategy) -> dict:
    """What the tie-breaks decide."""
    dp, tp_model, tp_ff, pp, ep = (
        math.prod(getattr(strategy, name)) for name in ("dp", "tp_model", "tp_ff", "pp", "ep")
    )
    return {"dp": dp, "tp": tp_model * tp_ff, "tp_ff": tp_ff, "pp": pp, "ep": ep, "schedule": strategy.schedule}


def comm(parts) -> float:
    return parts["tp_comm_s"] + parts["dp_comm_s"] + parts["pp_ep_comm_s"]


def assert_finds_what_brute_force_finds(configuration: Configuration, data: st.DataObject, most_twos: int) -> None:
    """Search one to three clusters together; each must get brute force's best, if that is below its limit."""
    chosen, twos, limits, expected = [], [], [], []
    for shape, exponent in data.draw(
        st.lists(clusters_for_brute_force(configuration, most_twos), min_size=1, max_size=3)
    ):
        best = oracle.best_strategy(configuration, shape, shape.sparsity << exponent, prune=False)
        step_s = best[1]["step_s"] if best else 1.0
        limit = data.draw(st.sampled_from([1e30, 1e30, step_s * (1 + 1e-6), step_s * (1 - 1e-6)]))
        chosen.append(shape)
        twos.append(exponent)
        limits.append(limit)
        expected.append(best)
    assume(any(expected))

    choices, floors = search(configuration, chosen, twos, limits)
    for number, best in enumerate(expected):
        if not best or best[1]["step_s"] > limits[number]:
            assert number not in choices
            continue
        strategy, parts = best
        assert floors[number] <= parts["step_s"] * (1 + ROUNDING)
        ours = oracle.evaluate(configuration, chosen[number], choices[number])
        assert ours["step_s"] == approx(parts["step_s"])
        assert comm(ours) == pytest.approx(comm(parts), rel=TIE, abs=1e-12 * ours["step_s"])
        assert degrees(choices[number]) == degrees(strategy)
        _assert_can_be_placed(configuration, chosen[number], choices[number])


def _assert_can_be_placed(configuration: Configuration, shape: Shape, strategy: Strategy) -> None:
    """The strategy is one of those that the spec allows on its cluster."""
    complete = oracle.complete(configuration, shape)
    plain = oracle.Strategy(*(getattr(strategy, name) for name in oracle.Strategy._fields))
    n_gpus = math.prod(map(math.prod, plain[:5]))
    whole = oracle.Strategy(*((math.prod(levels),) for levels in plain[:5]), *plain[5:])
    assert whole in set(oracle.unplaced_strategies(configuration, complete, n_gpus))
    for level, units in enumerate(oracle.units_joined(configuration.network, n_gpus)):
        assert math.prod(levels[level] for levels in plain[:5]) == units


@examples(150)
@given(machines(depths=(1, 2, 2, 2)), st.data())
def test_search_finds_the_best_on_two_levels(configuration, data):
    """If this fails, the search is wrong on networks of one or two levels, those of nearly all presets."""
    assert_finds_what_brute_force_finds(configuration, data, most_twos=8)


@examples(120)
@given(machines(depths=(3, 4), level_sizes=(2, 3, 4, 8)), st.data())
def test_search_finds_the_best_on_up_to_four_levels(configuration, data):
    """If this fails, combining usages of the levels loses placements, or combines ones that do not go together."""
    assert_finds_what_brute_force_finds(configuration, data, most_twos=4)


@examples(80)
@given(machines(depths=(2, 3, 3), level_sizes=(8, 64, 72)), st.data())
def test_search_finds_the_best_on_wide_levels(configuration, data):
    """If this fails, wide levels, with many usages each, are not placed exactly."""
    assert_finds_what_brute_force_finds(configuration, data, most_twos=6)


@examples(30)
@given(gpus(), assumptions(), st.sampled_from([0, 1, 2, 2, 3]), st.data())
def test_search_breaks_ties_as_the_spec_does(gpu, assumptions, inner_levels, data):
    """If this fails, the degrees shown depend on the order of the search where communication is free and all ties."""
    free = [NetworkLevel(name=f"Level {index}", size=8, **FREE) for index in range(inner_levels)]
    network = (*free, NetworkLevel(name="Outermost", **FREE))
    configuration = Configuration(
        name="Free", gpu=gpu.model_copy(update={"matmul_latency_s": 0.0}), network=network, assumptions=assumptions
    )
    assert_finds_what_brute_force_finds(configuration, data, most_twos=4)


# --- whole sweeps -----------------------------------------------------------------------------------------------------

GRID = [width for width in sorted({odd << shift for odd in range(1, 16, 2) for shift in range(13)}) if width >= 64]


@st.composite
def sweeps(draw) -> Sweep:
    """A few widths, from a random one on, sometimes between those of the grid."""
    first = draw(st.integers(0, len(GRID) - 5))
    least = max(64, GRID[first] - draw(st.sampled_from([0, 0, 0, 1])))
    largest = GRID[first + draw(st.sampled_from([0, 1, 2, 3, 4]))]
    return Sweep(d_model_min=least, d_model_max=largest, d_model_multiple=draw(st.sampled_from([1] * 5 + [2, 3, 256])))


@st.composite
def one_of_laws(draw, **laws: dict) -> dict:
    law = draw(st.sampled_from(sorted(laws)))
    return {"law": law, **{name: draw(values) for name, values in laws[law].items()}}


def scaling_laws() -> st.SearchStrategy[ScalingLaws]:
    return st.builds(
        ScalingLaws,
        d_ff_ratio=st.sampled_from([4.0, 4.0, 1.0, 2.5, 3.5, 8 / 3]) | st.floats(1, 8),
        sequence_length=st.sampled_from([2048, 2048, 1, 128, 1000, 4097]),
        depth_multiplier=st.sampled_from([1.0, 1.0, 0.5, 2.0, 3.3]),
        batch_multiplier=st.sampled_from([1.0, 1.0, 0.5, 2.0, 0.07]),
        dataset=one_of_laws(
            chinchilla={"tokens_per_parameter": st.floats(1, 1000)},
            power={"coefficient": log_uniform(1, 1e4), "exponent": st.floats(0.5, 1.2)},
        ),
        depth=one_of_laws(
            hoffmann={},
            power={"coefficient": log_uniform(0.01, 10), "exponent": st.floats(0, 0.4)},
            fixed={"n_layers": st.sampled_from([1, 2, 12, 37, 64, 96])},
        ),
        sparsity=st.sampled_from(
            [{"law": "dense"}, {"law": "linear-width"}, *({"law": "fixed", "factor": e} for e in (1, 3, 8, 9, 12))]
        ),
        batch=one_of_laws(
            default={},
            constant={"tokens": log_uniform(1, 1e8)},
            deepseek={},
            zhang={},
            power={
                "tokens_at_reference": log_uniform(1e5, 1e8),
                "reference_flop": log_uniform(1e18, 1e26),
                "exponent": st.floats(0, 0.5),
            },
        ),
    )


@st.composite
def configurations(draw) -> Configuration:
    """Everything random; the time is such that clusters from a fraction of a GPU to a million of them are needed."""
    gpu, laws, sweep = draw(gpus()), draw(scaling_laws()), draw(sweeps())
    whole = Configuration(
        name="Random",
        gpu=gpu,
        network=draw(networks(depths=(1, 2)) | networks(depths=(3, 4), level_sizes=(2, 3, 4))),
        scaling=laws,
        assumptions=draw(assumptions()),
        sweep=sweep,
    )
    gpu_seconds = oracle.shape_of(whole, sweep.d_model_max).training_flop / oracle.rates(gpu).flops
    n_gpus = 1.1 * draw(log_uniform(0.1, 2**20))  # the factor: no deadline is exactly the time of arithmetic alone
    months = gpu_seconds / n_gpus * 12 / oracle.SECONDS_PER_YEAR
    in_time = whole.assumptions.model_copy(update={"training_months": min(max(months, 1e-12), 1200.0)})
    return whole.model_copy(update={"assumptions": in_time})


EQUAL = (
    *("d_model", "d_ff", "n_layers", "sparsity", "batch_tokens", "n_gpus"),
    *("dp", "tp", "tp_ff", "pp", "ep", "schedule"),
)
CLOSE = ("params", "active_params", "dataset_tokens", "training_flop", "steps", "step_s", "training_s", "mfu")


@examples(500)
@given(configurations())
def test_sweeps_are_the_oracles(configuration):
    """If this fails, a law, the smallest cluster, the end of the sweep, or the choice of strategies is wrong."""
    expected = oracle.simulate(configuration)
    rows = simulate(configuration).to_dict("records")
    assert [row["d_model"] for row in rows] == [row["d_model"] for row in expected]
    for row, their in zip(rows, expected, strict=True):
        assert {name: row[name] for name in EQUAL} == {name: their[name] for name in EQUAL}
        for name in CLOSE:
            assert row[name] == approx(their[name]), name
        assert comm(row) == pytest.approx(comm(their), rel=TIE, abs=1e-12 * row["step_s"])


@examples(300)
@given(
    machines(depths=(1,)),
    scaling_laws(),
    sizes(2**20),
    st.none() | st.integers(1, 2**12),
    st.none() | st.integers(1, 2**40),
)
def test_models_of_any_width_and_depth_are_by_the_laws(configuration, laws, d_model, n_layers, batch_tokens):
    """If this fails, a model between those of a curve, or of another depth, has other experts or another batch.

    The batch is the law's for the depth that is given, for the training FLOP follows from it.
    """
    whole = configuration.model_copy(update={"scaling": laws})
    their = oracle.shape_of(whole, d_model)
    if n_layers:
        _, _, tokens, flop = oracle.sizes(laws, d_model, their.d_ff, n_layers, their.sparsity)
        s = laws.sequence_length
        batch = s * oracle.batch_of(laws.batch, laws.batch_multiplier, their.sparsity, flop, tokens, s)
        their = their._replace(n_layers=n_layers, batch_tokens=batch)
    if batch_tokens:
        their = their._replace(batch_tokens=batch_tokens)
    assert shape_by_laws(whole, d_model, n_layers, batch_tokens) == Shape(
        **{name: getattr(their, name) for name in Shape.model_fields}
    )


@pytest.mark.parametrize(
    ("laws", "named"),
    [
        ({"depth": {"law": "power", "coefficient": 1e6, "exponent": 0.5}}, "'power' gives .* layers at d_model 4096"),
        (
            {"batch": {"law": "constant", "tokens": 1e15}, "batch_multiplier": 1e6},
            "'constant' gives .* tokens in a batch",
        ),
    ],
)
def test_a_model_beyond_the_range_of_numbers_names_its_law(laws, named):
    """If this fails, a width that no curve reaches is an error that does not say what to change."""
    gpu, network = dict(load_hardware()["H100 SXM"]).values()
    configuration = Configuration(name="Deep", gpu=gpu, network=network, scaling=laws)
    with pytest.raises(ValueError, match=f"^the law {named}"):
        shape_by_laws(configuration, 4096)
