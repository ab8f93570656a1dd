"""The fastest strategy with any part of it given, against brute force over every divisor and placement."""

import math
from itertools import product

import oracle
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from test_invariants import DEGREES, H100, HARDWARE, NINE_EXPERTS_ON_FOUR_LEVELS, variant
from test_oracle import TIE, approx, comm, examples, machines, pinned
from test_simulation_progress import Stopped, stop_at

from model import Configuration, Shape, Strategy, evaluate, load_presets, simulate
from model.configuration import Pins
from model.pinned import Choices, _splits, broken_constraints, fastest_strategy, memory_per_gpu_bytes

ENDLESS = 1e18  # bytes of memory
GPT3 = Shape(d_model=12288, d_ff=49152, n_layers=96, batch_tokens=2**22)
EIGHT_EXPERTS = GPT3.model_copy(update={"sparsity": 8})
IN_TIME = variant(H100, assumptions={"training_months": 1200.0})


def strategy_of(row: dict) -> Strategy:
    """The strategy that a row of `simulate` describes."""
    levels = {name: row[f"{name}_levels"] for name in DEGREES}
    return Strategy(**levels, **{name: row[name] for name in ("microbatches", "interleaving", "schedule")})


def pins_of(strategy: Strategy | oracle.Strategy) -> dict:
    """All that can be given of a strategy."""
    dp, tp_model, tp_ff, pp, ep = (math.prod(getattr(strategy, name)) for name in DEGREES)
    rest = {name: getattr(strategy, name) for name in ("microbatches", "interleaving", "schedule")}
    return {"dp": dp, "tp": tp_model * tp_ff, "pp": pp, "ep": ep, **rest}


def shape_of(row: dict) -> Shape:
    """The model that a row of `simulate` describes."""
    return Shape(**{name: row[name] for name in Shape.model_fields})


# --- brute force ------------------------------------------------------------------------------------------------------


def splits(shape: oracle.Shape, tp: int, any_split: bool) -> list[tuple[int, int]]:
    """TP_model and TP_ff: near the root, or all if there is none near it."""
    every = [(tp // ff, ff) for ff in oracle.divisors(tp) if shape.d_model % (tp // ff) == 0 and shape.d_ff % ff == 0]
    near = [(model, ff) for model, ff in every if math.isqrt(tp) <= ff <= 4 * math.isqrt(tp)]
    return near or (every if any_split else [])


def schedules(configuration, shape: oracle.Shape, dp: int, pp: int, pins: Pins, any_microbatches: bool):
    """Microbatches, interleaving and schedule."""
    counts = oracle.divisors(shape.batch_tokens // shape.sparsity // dp)
    least_1f1b, most_1f1b, most_zero_bubble = (1, None, None) if any_microbatches else (pp, 4, 1)
    if pins.microbatches:
        counts = [count for count in counts if count == pins.microbatches]
        least_1f1b = 1
    stage_layers = shape.n_layers // pp
    interleaving = stage_layers if pp > 1 and configuration.assumptions.interleaving else 1
    interleaving = pins.interleaving or interleaving
    allowed = pins.schedule == "fastest" and configuration.assumptions.zero_bubble
    zero_bubble = pins.schedule == "zero-bubble" or allowed
    if pins.schedule != "zero-bubble" and stage_layers % interleaving == 0 and (pp > 1 or interleaving == 1):
        for count in [count for count in counts if count >= least_1f1b][:most_1f1b]:
            yield count, interleaving, "1F1B"
    if zero_bubble and pins.interleaving in (None, 1):
        for count in [count for count in counts if count >= 2 * pp][:most_zero_bubble]:
            yield count, 1, "zero-bubble"


def unplaced(configuration, shape: oracle.Shape, n: int, pins: Pins, any_split=False, any_ep=False, any_count=False):
    """Every strategy before it is placed that agrees with the pins, as strategies over a single level."""
    if shape.batch_tokens % shape.sparsity:
        return
    left = n // math.prod(degree or 1 for degree in (pins.dp, pins.tp, pins.pp, pins.ep))
    for ep, pp, dp in product(oracle.divisors(n), repeat=3):
        tp = n // (ep * pp * dp)
        wanted = all(pin in (None, is_) for pin, is_ in ((pins.dp, dp), (pins.tp, tp), (pins.pp, pp), (pins.ep, ep)))
        usual_ep = any_ep or pins.ep or ep == math.gcd(left, shape.sparsity)
        divides = shape.sparsity % ep == 0 and shape.n_layers % pp == 0
        divides = divides and shape.batch_tokens // shape.sparsity % dp == 0
        if ep * pp * dp * tp == n and wanted and usual_ep and divides:
            for tp_model, tp_ff in splits(shape, tp, any_split):
                for schedule in schedules(configuration, shape, dp, pp, pins, any_count):
                    yield oracle.Strategy((dp,), (tp_model,), (tp_ff,), (pp,), (ep,), *schedule)


def by_brute_force(configuration: Configuration, shape: Shape, n: int, pins: Pins) -> oracle.Strategy | None:
    """The best strategy of all; if none fits in memory, the best of those that do not."""
    shape, joined = oracle.complete(configuration, shape), oracle.units_joined(configuration.network, n)
    endless = configuration.model_copy(
        update={"gpu": configuration.gpu.model_copy(update={"hbm_bytes": ENDLESS})},
    )
    for machine, looser in product((configuration, endless), range(4)):
        every = unplaced(machine, shape, n, pins, looser > 0, looser > 1, looser > 2)
        placed = (strategy for whole in every for strategy in oracle.placed(whole, joined))
        best = oracle.choose(list(oracle.timed(machine, oracle.levels(machine.network), shape, placed)))
        if best:
            return best
    return None


@st.composite
def shapes(draw) -> Shape:
    """Small models with many divisors, some of them odd."""
    sparsity = draw(st.sampled_from([1, 1, 2, 3, 4, 6, 12]))
    batch = sparsity * draw(st.sampled_from([1, 6, 17, 36, 48, 144, 2**10, 6**5])) + draw(
        st.sampled_from([0] * 9 + [1])
    )
    return Shape(
        d_model=draw(st.sampled_from([7, 12, 64, 210, 240, 1024])),
        d_ff=draw(st.sampled_from([1, 17, 36, 64, 720, 4096])),
        n_layers=draw(st.sampled_from([1, 2, 6, 12, 35, 72])),
        sparsity=sparsity,
        batch_tokens=batch,
    )


@st.composite
def some_of(draw, whole: dict) -> Pins:
    """Some of the pins, and sometimes another number for one of them."""
    pins = {name: value for name, value in whole.items() if draw(st.booleans())}
    if draw(st.sampled_from([False] * 4 + [True])):
        pins[draw(st.sampled_from(["dp", "tp", "pp", "ep", "microbatches", "interleaving"]))] = draw(st.integers(1, 8))
    return Pins(**pins)


@st.composite
def problems(draw, **network) -> tuple[Configuration, Shape, int, Pins]:
    """A machine with enough memory or not quite, a model, a small cluster, and what is given of its strategy."""
    configuration, shape = draw(machines(**network)), draw(shapes())
    n = draw(st.sampled_from([1, 5, 8, 12, 24, 36, 60, 64, 72]))
    complete = oracle.complete(configuration, shape)
    every = list(unplaced(configuration, complete, n, Pins(), True, True, True))
    pins = draw(some_of(pins_of(draw(st.sampled_from(every))))) if every else Pins()
    hbm_bytes = ENDLESS
    if every and draw(st.booleans()):
        hbm_bytes = max(1e3, oracle.memory(configuration, complete, draw(st.sampled_from(every))) / n)
    gpu = configuration.gpu.model_copy(update={"hbm_bytes": hbm_bytes})
    return configuration.model_copy(update={"gpu": gpu}), shape, n, pins


def assert_finds_what_brute_force_finds(configuration: Configuration, shape: Shape, n: int, pins: Pins) -> None:
    """The strategy is brute force's, agrees with all that is given, and can be placed."""
    best = by_brute_force(configuration, shape, n, pins)
    frame = fastest_strategy(configuration, shape, n, pins)
    assert len(frame) == (best is not None)
    if not best:
        assert frame.attrs["broken"]
        return
    (row,) = frame.to_dict("records")
    ours, parts = strategy_of(row), oracle.evaluate(configuration, shape, best)
    assert row["step_s"] == approx(parts["step_s"])
    assert oracle.evaluate(configuration, shape, ours)["step_s"] == approx(row["step_s"])
    assert comm(row) == pytest.approx(comm(parts), rel=TIE, abs=1e-12 * row["step_s"])
    assert oracle.order(ours) == oracle.order(best)

    found = pins_of(ours)
    default = Pins()
    assert {name: found[name] for name, value in pins if value != getattr(default, name)} == {
        name: value for name, value in pins if value != getattr(default, name)
    }
    assert row["n_gpus"] == n
    assert math.prod(found[name] for name in ("dp", "tp", "pp", "ep")) == n
    assert row["memory_per_gpu_bytes"] == approx(parts["memory_bytes"] / n)
    assert broken_constraints(configuration, shape, ours) == frame.attrs["broken"]


@examples(250)
@given(problems(depths=(1, 2, 2), level_sizes=(1, 2, 3, 4, 6, 8, 12)))
def test_finds_the_best_on_two_levels(problem):
    """If this fails, another strategy that agrees with what is given is faster, or fits in memory, or breaks a tie."""
    assert_finds_what_brute_force_finds(*problem)


@examples(100)
@given(problems(depths=(3, 4), level_sizes=(1, 2, 3, 4, 6)))
def test_finds_the_best_on_up_to_four_levels(problem):
    """If this fails, the placements that are dropped or combined lose the best one."""
    assert_finds_what_brute_force_finds(*problem)


@examples(150)
@given(machines(depths=(1, 2, 3)), shapes(), st.sampled_from([12, 24, 36, 60]), st.data())
def test_no_choice_of_the_papers_beats_the_unpinned_search(configuration, shape, n, data):
    """If this fails, giving a degree that the free search tries makes training faster: the free search missed it."""
    gpu = configuration.gpu.model_copy(update={"hbm_bytes": ENDLESS})
    configuration = configuration.model_copy(update={"gpu": gpu})
    every = list(unplaced(configuration, oracle.complete(configuration, shape), n, Pins()))
    assume(every)
    whole = pins_of(data.draw(st.sampled_from(every)))
    whole.pop("microbatches")  # with a given number of which more schedules are tried
    pins = Pins(**{name: value for name, value in whole.items() if data.draw(st.booleans())})
    free, ours = (fastest_strategy(configuration, shape, n, given).iloc[0] for given in (Pins(), pins))
    assert ours["step_s"] >= free["step_s"] * (1 - TIE)


# --- the paper's search -----------------------------------------------------------------------------------------------

PAPERS = {
    f"{title}: {run.name}": run
    for title, preset in load_presets().items()
    for run in (preset.configurations[0], preset.configurations[-1])
}
PAPERS["nine experts on four levels"] = NINE_EXPERTS_ON_FOUR_LEVELS
SUPERPOD = HARDWARE["H100 SXM Superpod"]
PAPERS["sparse, on three levels"] = variant(
    H100, network=SUPERPOD.network, scaling={"sparsity": {"law": "linear-width"}}, assumptions={"activations": "stored"}
)


@pytest.mark.parametrize("name", PAPERS)
def test_free_search_is_the_papers_on_its_clusters(name):
    """If this fails, the pinned strategy is compared with a "best" that the curve does not show."""
    configuration = PAPERS[name]
    curve = simulate(configuration).iloc[::3]
    assert len(curve) > 3
    for row in curve.to_dict("records"):
        found = fastest_strategy(configuration, shape_of(row), row["n_gpus"])
        assert found.attrs["broken"] == []
        (ours,) = found.to_dict("records")
        assert ours["training_s"] == approx(row["training_s"])
        names = ("dp", "tp", "tp_ff", "pp", "ep", "schedule", "n_gpus")
        assert {name: ours[name] for name in names} == {name: row[name] for name in names}


@pytest.mark.parametrize(
    ("shape", "n_gpus"),
    [
        (GPT3, 3072),
        (EIGHT_EXPERTS.model_copy(update={"n_layers": 120}), 1920),
        (Shape(d_model=20480, d_ff=81920, n_layers=105, batch_tokens=9 * 2**19), 2240),
        (Shape(d_model=16384, d_ff=53248, n_layers=126, batch_tokens=2**24), 16384),
    ],
)
def test_the_best_strategy_given_back_is_itself(shape, n_gpus):
    """If this fails, the strategy and its own degrees are two different things on the page."""
    best = fastest_strategy(H100, shape, n_gpus)
    assert best["n_gpus"].tolist() == [n_gpus]
    again = fastest_strategy(H100, shape, n_gpus, Pins(**pins_of(strategy_of(best.iloc[0].to_dict()))))
    pd.testing.assert_frame_equal(again, best, check_exact=True)
    assert again.attrs == best.attrs


def test_degrees_of_published_runs_are_found_as_they_are():
    """If this fails, PP 35 and DP 9 are refused, or searched as if they were powers of two."""
    shape = Shape(d_model=20480, d_ff=81920, n_layers=105, batch_tokens=9 * 8 * 2**15)
    row = fastest_strategy(H100, shape, 2520, Pins(dp=9, tp=8, pp=35, microbatches=2**6)).iloc[0]
    assert (row["dp"], row["tp"], row["pp"], row["microbatches"]) == (9, 8, 35, 64)
    assert row["tp_model_levels"][0] * row["tp_ff_levels"][0] == 8  # tensor parallelism belongs on the fast links


# --- choices beyond the paper's ---------------------------------------------------------------------------------------


def test_tp_that_cannot_be_split_near_its_root_is_split_elsewhere():
    """If this fails, TP 17 is refused though it divides d_ff: isqrt(17) is 4, and 17 has no divisor in [4, 16]."""
    shape = GPT3.model_copy(update={"d_ff": 17 * 2048})
    row = fastest_strategy(IN_TIME, shape, 17 * 64, Pins(tp=17)).iloc[0]
    assert (row["tp_model"], row["tp_ff"]) == (1, 17)


def test_splits_near_the_root_are_the_specifications():
    """If this fails, TP 18 is split with TP_ff 18, beyond 4 · isqrt(18) = 16, or 2 is not tried for TP 8."""
    shape = Shape(d_model=720720, d_ff=720720, n_layers=1, batch_tokens=1)
    expected = [
        (tp, tp // ff, ff)
        for tp in oracle.divisors(720720)
        for ff in oracle.divisors(tp)
        if math.isqrt(tp) <= ff <= 4 * math.isqrt(tp)
    ]
    found = [split for split in _splits(shape, 720720, Choices()).T.tolist() if split[0] <= 720720]
    assert [tuple(split) for split in found if 720720 % split[0] == 0] == expected


def test_ep_is_what_the_given_degrees_leave():
    """If this fails, DP 16 on 16 GPUs is refused because a free EP would have been 8; or a given EP of 2 is."""
    row = fastest_strategy(IN_TIME, EIGHT_EXPERTS, 16, Pins(dp=16)).iloc[0]
    assert (row["dp"], row["ep"]) == (16, 1)
    assert fastest_strategy(IN_TIME, EIGHT_EXPERTS, 64, Pins(ep=2))["ep"].tolist() == [2]
    assert fastest_strategy(IN_TIME, EIGHT_EXPERTS, 64)["ep"].tolist() == [8]


def test_a_free_ep_is_the_papers_even_where_another_is_faster():
    """If this fails, the free search is no more the paper's, whose EP is the greatest common divisor.

    Over slow links, two pipeline stages with one interface between them beat experts that half of the tokens travel to.
    """
    slow = {"name": "Cluster", "bandwidth": 1e9, "latency_s": 1e-6}
    exposed = {"overlap_pp": False, "interleaving": False}
    configuration = variant(H100, network=[slow], assumptions=exposed)
    free, pipeline = (
        fastest_strategy(configuration, EIGHT_EXPERTS, 16, pins).iloc[0] for pins in (Pins(dp=8), Pins(dp=8, ep=1))
    )
    assert (free["ep"], pipeline["ep"], pipeline["pp"]) == (2, 1, 2)
    assert pipeline["step_s"] < free["step_s"]


def test_more_microbatches_are_tried_where_fewer_need_too_much_memory():
    """If this fails, a strategy that fits in memory is said not to exist.

    A microbatch of one token holds 1/512 of the activations of one that is 512 as large: by hand, each of 8 stages
    stores (d_model + d_ff) · 2 bytes · tokens · 8 microbatches of an eighth of the layers.
    """
    shape = Shape(d_model=1024, d_ff=4096, n_layers=8, batch_tokens=2**13)
    parameters = 5 * 2 * 2 * 1024 * 4096 * 8 / 8  # bytes a GPU, with the optimizer state
    of_a_token = (1024 + 4096) * 2 * 8 * 8 / 8
    gpu = H100.gpu.model_copy(update={"hbm_bytes": parameters + 4 * of_a_token})
    tight = variant(H100, gpu=gpu, assumptions={"activations": "stored", "zero_bubble": False})
    found = fastest_strategy(tight, shape, 8, Pins(pp=8))
    assert found["microbatches"].tolist() == [2**11]
    assert found["memory_per_gpu_bytes"].tolist() == [parameters + 4 * of_a_token]
    assert found.attrs["broken"] == []


def test_the_zero_bubble_schedule_can_be_given_where_it_is_not_tried():
    """If this fails, a given schedule is ignored, or an assumption overrules it."""
    configuration = variant(H100, assumptions={"zero_bubble": False})
    assert fastest_strategy(configuration, GPT3, 1024, Pins(pp=8))["schedule"].tolist() == ["1F1B"]
    row = fastest_strategy(configuration, GPT3, 1024, Pins(pp=8, schedule="zero-bubble")).iloc[0]
    assert (row["schedule"], row["interleaving"]) == ("zero-bubble", 1)
    assert row["microbatches"] >= 16


# --- what is said of constraints --------------------------------------------------------------------------------------

SIZES = "d_model = 12,288 and d_ff = 49,152"
IMPOSSIBLE = {
    "the product": (
        {"dp": 2, "tp": 3, "pp": 4, "ep": 1},
        {},
        32,
        "DP · TP · PP · EP = 24, but the cluster has 32 GPUs.",
    ),
    "the part of a product": ({"dp": 4, "pp": 3}, {}, 32, "DP · PP = 12 does not divide the 32 GPUs."),
    "one degree": ({"dp": 2}, {}, 1, "DP = 2 does not divide the 1 GPU."),
    "layers": ({"pp": 7}, {}, 56, "PP = 7 does not divide the 96 layers."),
    "the left layers": (
        {"dp": 2, "tp": 4, "ep": 1},
        {},
        56,
        "PP = 7, which the other degrees leave, does not divide the 96 layers.",
    ),
    "tensors": ({"tp": 5}, {}, 40, f"TP = 5 cannot split {SIZES}."),
    "experts": ({"ep": 3}, {"sparsity": 8}, 48, "EP = 3 does not divide the 8 experts."),
    "no experts": ({"ep": 2}, {}, 32, "EP = 2 needs experts to split."),
    "the batch": (
        {"dp": 3, "microbatches": 5},
        {"sparsity": 8},
        48,
        "The batch of 4,194,304 tokens cannot be cut into DP 3 × 8 experts × 5 microbatches.",
    ),
    "the batch of copies": ({"dp": 3}, {}, 48, "The batch of 4,194,304 tokens cannot be cut into DP 3."),
    "the batch of experts": (
        {},
        {"sparsity": 3},
        48,
        "The batch of 4,194,304 tokens cannot be cut into 3 experts.",
    ),
    "zero-bubble": (
        {"pp": 16, "microbatches": 8, "schedule": "zero-bubble"},
        {},
        32,
        "The zero-bubble schedule needs at least 2 · PP = 32 microbatches, not 8.",
    ),
    "zero-bubble of a small batch": (
        {"pp": 16, "schedule": "zero-bubble"},
        {"batch_tokens": 16},
        32,
        "The zero-bubble schedule needs at least 2 · PP = 32 microbatches, but the batch gives at most 16.",
    ),
    "zero-bubble with one microbatch": (
        {"microbatches": 1, "schedule": "zero-bubble"},
        {},
        32,
        "The zero-bubble schedule needs at least 2 microbatches, not 1.",
    ),
    "zero-bubble interleaved": (
        {"interleaving": 2, "schedule": "zero-bubble"},
        {},
        32,
        "The zero-bubble schedule cannot have interleaving 2, only 1.",
    ),
    "interleaving": (
        {"pp": 8, "interleaving": 5},
        {},
        32,
        "Interleaving 5 does not divide the 12 layers of each stage.",
    ),
    "interleaving of all": ({"interleaving": 5}, {}, 32, "Interleaving 5 does not divide the 96 layers."),
    "interleaving without a pipeline": (
        {"pp": 1, "interleaving": 2},
        {},
        32,
        "Interleaving 2 needs a pipeline, but PP = 1.",
    ),
    "anything": ({}, {}, 17, "No strategy splits the model and its batch evenly over 17 GPUs."),
    "anything beside one": (
        {"microbatches": 2**22},
        {"d_model": 3, "d_ff": 3, "n_layers": 1},
        16,
        "No strategy with 4,194,304 microbatches splits the model and its batch evenly over 16 GPUs.",
    ),
    "each but not all": (
        {"dp": 2, "pp": 1},
        {"d_model": 3, "d_ff": 3, "n_layers": 4, "batch_tokens": 8},
        8,
        "On 8 GPUs, DP = 2 and PP = 1 are each possible, but not together.",
    ),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_strategy_says_which_constraint_it_breaks(case):
    """If this fails, a reader learns that nothing was found, but not what to change; or is told more than is wrong."""
    pins, sizes, n_gpus, sentence = IMPOSSIBLE[case]
    frame = fastest_strategy(H100, GPT3.model_copy(update=sizes), n_gpus, Pins(**pins))
    assert frame.attrs["broken"] == [sentence]
    assert frame.empty
    assert list(frame) == list(fastest_strategy(H100, GPT3, 32))


def test_every_broken_constraint_is_named():
    """If this fails, a reader mends one number only to be told of the next."""
    pins = Pins(dp=3, tp=5, pp=7, ep=3, microbatches=8, schedule="zero-bubble")
    assert fastest_strategy(H100, EIGHT_EXPERTS, 32, pins).attrs["broken"] == [
        "DP · TP · PP · EP = 315, but the cluster has 32 GPUs.",
        f"TP = 5 cannot split {SIZES}.",
        "PP = 7 does not divide the 96 layers.",
        "EP = 3 does not divide the 8 experts.",
        "The batch of 4,194,304 tokens cannot be cut into DP 3 × 8 experts × 8 microbatches.",
        "The zero-bubble schedule needs at least 2 · PP = 14 microbatches, not 8.",
    ]


def test_too_little_memory_is_said_and_the_fastest_is_shown():
    """If this fails, a strategy that does not fit is shown as if it did, or not at all.

    By hand: 2 · 12288 · 49152 · 96 parameters of 2 bytes on each of 8 copies, and 4 words of optimizer state once.
    """
    params = 2 * 12288 * 49152 * 96
    frame = fastest_strategy(IN_TIME, GPT3, 32, Pins(dp=8))
    assert frame["memory_per_gpu_bytes"].tolist() == [params * 2 * (8 + 4) / 32]
    assert frame.attrs["broken"] == ["It needs 87 GB of memory per GPU, of 80 GB."]
    assert fastest_strategy(IN_TIME, GPT3, 32, Pins(dp=4)).attrs["broken"] == []


def test_a_late_end_is_said():
    """If this fails, the deadline is not looked at, or 30 days are said to be months."""
    frame = fastest_strategy(H100, GPT3, 256)
    months = frame["training_s"].iloc[0] / (3.154e7 / 12)
    assert 3.01 < months < 12
    assert frame.attrs["broken"] == [f"Training takes {months:.3g} months, longer than the 3 months allowed."]


def test_next_to_nothing_too_much_is_said_so():
    """If this fails, a reader is told that 3 months are longer than 3 months, or 80 GB more than 80 GB."""
    best = fastest_strategy(IN_TIME, GPT3, 1024).iloc[0]
    months = best["training_s"] / (3.154e7 / 12) * (1 - 1e-9)
    gpu = H100.gpu.model_copy(update={"hbm_bytes": best["memory_per_gpu_bytes"] * (1 - 1e-9)})
    tight = variant(H100, gpu=gpu, assumptions={"training_months": months})
    memory, time = broken_constraints(tight, GPT3, strategy_of(best.to_dict()))
    assert memory.startswith("It needs slightly more of memory per GPU, of ")
    assert time.startswith("Training takes slightly longer than the ")


def test_levels_with_too_many_ways_to_be_filled_are_refused():
    """If this fails, a cluster that a stranger types in takes all the memory of the server."""
    wide = [
        {"name": name, "size": size, "bandwidth": 1e11, "latency_s": 1e-6}
        for name, size in (("Node", 720720), ("Pod", 720720), ("Cluster", None))
    ]
    shape = Shape(d_model=720720, d_ff=720720, n_layers=720720, batch_tokens=720720)
    (sentence,) = fastest_strategy(variant(H100, network=wide), shape, 720720**2).attrs["broken"]
    assert sentence.startswith("The network levels can be shared out in 53,144,100 ways")


def test_models_with_too_many_ways_to_be_split_are_refused():
    """If this fails, a model that a stranger types in keeps the server busy for half a minute."""
    width = 16 * 720720
    shape = Shape(d_model=width, d_ff=4 * width, n_layers=720720, batch_tokens=2**8 * 720720**2)
    (sentence,) = fastest_strategy(H100, shape, 720720**2).attrs["broken"]
    assert sentence.startswith("There are too many ways to split the model over 519,437,318,400 GPUs")


def test_a_cluster_without_gpus_is_refused():
    """If this fails, a division by zero reaches the page."""
    with pytest.raises(ValueError, match="n_gpus must be from 1 to"):
        fastest_strategy(H100, GPT3, 0)


GOOD = {"dp": (1, 4), "tp_model": (2, 1), "tp_ff": (4, 1), "pp": (1, 8), "ep": (1, 1), "microbatches": 8}
BROKEN = {
    "nothing": ({}, []),
    "a level that is too full": (
        {"tp_model": (4, 1), "pp": (1, 4)},
        ["On Node, DP · TP · PP · EP = 16, but Node joins 8 GPUs."],
    ),
    "a level that is not full": ({"tp_model": (1, 2)}, ["On Node, DP · TP · PP · EP = 4, but Node joins 8 GPUs."]),
    "levels": (
        dict.fromkeys(DEGREES, (1,)),
        ["The strategy has 1 network level, but the network has 2."],
    ),
    "layers": ({"pp": (1, 7)}, ["PP = 7 does not divide the 96 layers."]),
    "tensors": ({"tp_model": (1, 5), "tp_ff": (8, 1)}, [f"TP = 40 (5 × 8) cannot split {SIZES}."]),
    "the batch": ({"dp": (1, 12)}, ["The batch of 4,194,304 tokens cannot be cut into DP 12 × 8 microbatches."]),
    "experts": ({"ep": (1, 2)}, ["EP = 2 needs experts to split."]),
    "interleaving": ({"interleaving": 5}, ["Interleaving 5 does not divide the 12 layers of each stage."]),
    "memory": ({"dp": (1, 32), "pp": (1, 1)}, ["It needs 32.6 GB of memory per GPU, of 20 GB."]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_whole_strategy_says_which_constraint_it_breaks(case):
    """If this fails, `broken_constraints` misses what `evaluate` does not look at, or blames what is right."""
    changes, sentences = BROKEN[case]
    roomy = variant(IN_TIME, gpu=H100.gpu.model_copy(update={"hbm_bytes": 2e10}))
    assert broken_constraints(roomy, GPT3, Strategy(**GOOD | changes)) == sentences


def test_a_level_of_levels_is_named_by_what_it_joins():
    """If this fails, a pod of 32 nodes is said to have 32 GPUs."""
    superpod = variant(IN_TIME, network=SUPERPOD.network)
    strategy = Strategy(dp=(1, 16, 4), tp_model=(2, 1, 1), tp_ff=(4, 1, 1), pp=(1, 1, 8), ep=(1, 1, 1), microbatches=8)
    name = SUPERPOD.network[1].name
    assert broken_constraints(superpod, GPT3, strategy) == [
        f"On {name}, DP · TP · PP · EP = 16, but {name} joins 32 units of the level below."
    ]


# --- memory and progress ----------------------------------------------------------------------------------------------


@examples(100)
@given(machines(), st.data())
def test_memory_is_the_oracles(configuration, data):
    """If this fails, memory per GPU is wrong for some schedule, some experts or some way to keep activations."""
    shape, strategy = data.draw(pinned(len(configuration.network)))
    expected = oracle.evaluate(configuration, shape, strategy)
    (memory,) = memory_per_gpu_bytes(configuration, evaluate(configuration, shape, strategy))
    assert memory == approx(expected["memory_bytes"] / expected["n_gpus"])


def test_memory_of_a_curve_is_that_of_its_rows():
    """If this fails, rows of a curve get each other's memory, or more than the GPU has."""
    curve = simulate(NINE_EXPERTS_ON_FOUR_LEVELS)
    memory = memory_per_gpu_bytes(NINE_EXPERTS_ON_FOUR_LEVELS, curve)
    alone = [memory_per_gpu_bytes(NINE_EXPERTS_ON_FOUR_LEVELS, curve.iloc[[row]])[0] for row in range(len(curve))]
    assert memory.tolist() == alone
    assert (memory <= NINE_EXPERTS_ON_FOUR_LEVELS.gpu.hbm_bytes).all()


def test_progress_changes_nothing_and_grows_to_all():
    """If this fails, a bar runs backwards or stays short of its end, or watching it changes the strategy."""
    shares = []
    levels = (("Node", 64, 9e11), ("Rack", 64, 2e11), ("Pod", 64, 1e11), ("Cluster", None, 2e10))
    network = [{"name": name, "size": size, "bandwidth": width, "latency_s": 1e-6} for name, size, width in levels]
    wide, large = variant(H100, network=network), Shape(d_model=2**19, d_ff=2**21, n_layers=512, batch_tokens=2**27)
    watched = fastest_strategy(wide, large, 2**40, progress=shares.append)
    pd.testing.assert_frame_equal(watched, fastest_strategy(wide, large, 2**40), check_exact=True)
    assert shares == sorted(shares)
    assert len(set(shares)) > 3
    assert shares[-1] == 1


def test_a_listener_can_stop_the_search():
    """If this fails, Stop does not stop, and what it raises is swallowed."""
    listener, calls = stop_at(2, Stopped())
    with pytest.raises(Stopped):
        fastest_strategy(H100, GPT3, 2**16, progress=listener)
    assert len(calls) == 2
