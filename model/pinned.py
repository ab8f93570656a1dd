"""The fastest strategy for any model on any number of GPUs, where any part of it may be given (spec sections 4 and 5).

Strategies are first looked at without their placement: on one network level with all the bandwidth and the least
latency, where none is slower than on the real levels. Only those that are fast enough there are placed. As each kind of
communication costs what its own degrees' placement makes it cost, and more of any cost never makes a step faster, data,
tensor, and pipeline with expert parallelism are placed each by itself; only the best placements that use the same share
of the levels are kept, and combined where the shares fill the levels.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from model.arrays import ZERO, Array, Booleans, Floats, Integers
from model.characters import isolated
from model.cluster_size import LARGEST_CLUSTER
from model.columns import Columns
from model.configuration import MOST_BANDWIDTH, Configuration, NetworkLevel, Pins, Shape, Strategy
from model.incumbents import Incumbents, Placed
from model.integers import divisors
from model.network import joined
from model.parallelism import Degree, data_parallel, pipeline_expert, tensor_parallel
from model.placement import Cost, repeated
from model.progress import Progress, TooMuchWork
from model.refinement import FIRST_CHUNK, OF_CHUNK, row_chunks
from model.scaling import Shapes, given_shape
from model.search import MICROBATCH_CHOICES
from model.simulation import evaluate
from model.simulation import frame as as_frame
from model.step import (
    Steps,
    Strategies,
    activation_bytes,
    batch_time,
    deadline,
    memory_bytes,
    pipeline_time,
    recomputation,
    step_times,
)
from model.workload import MOST_OF_STRATEGY

if TYPE_CHECKING:
    import pandas as pd

NOTHING_GIVEN = Pins()
SEEDS = 16  # strategies, the most promising first, that are placed before all others
MOST_PAIRS = 2**18  # ways to share the inner levels out among two kinds of parallelism and the rest: some megabytes
# Operations, as `Progress` counts them, as they were measured:
OF_COUNT = 0.5  # of a number of microbatches that may divide what degrees leave of a batch
OF_STRATEGY = 40  # without its placement
OF_PAIR = 0.5  # of usages that degrees may have
OF_PLACEMENT = 12  # of degrees of one kind
OF_COMBINATION = 4  # of the least that a strategy's kinds cost at a pair of usages
OF_PLACED = 12  # strategy with a placement
ATTEMPT = 0.75  # share of the work that is left which a search with some choices is taken to be


@dataclass(frozen=True)
class Choices:
    """What is tried of a strategy where it is not given: the paper search's choices, or all there are.

    any_split : TP that cannot be split with TP_ff in [isqrt(TP), 4 · isqrt(TP)] is split in every other way.
    any_ep : EP is any common divisor of the GPUs and the experts, not only the greatest that the given degrees leave.
    any_microbatches : their number is any that divides, not only the first four (zero-bubble: the first) large enough.
    """

    any_split: bool = False
    any_ep: bool = False
    any_microbatches: bool = False


EVER_MORE_CHOICES = (
    Choices(),
    Choices(any_split=True),
    Choices(any_split=True, any_ep=True),
    Choices(any_split=True, any_ep=True, any_microbatches=True),
)


def fastest_strategy(
    configuration: Configuration,
    shape: Shape,
    n_gpus: int,
    pins: Pins = NOTHING_GIVEN,
    *,
    progress: Callable[[float], None] | None = None,
) -> "pd.DataFrame":
    """The fastest strategy for one model on a cluster of any size, among those that agree with what is given.

    Parameters
    ----------
    configuration : Configuration
        Its GPU, network, dataset law and assumptions are used. The deadline does not limit the search.
    shape : Shape
        The model and its batch.
    n_gpus : int
        All of them are used; from 1 to 2^63 - 1.
    pins : Pins
        What is given. A given EP may be any that divides, a given number of microbatches too, a given interleaving any
        that divides a stage's layers, and a given schedule is taken even if the assumptions leave it out.
    progress : callable, optional
        As for `simulate`.

    Returns
    -------
    DataFrame
        One row with the columns of `simulate` and memory_per_gpu_bytes, or none if nothing is possible.
        `attrs["broken"]` lists the constraints that it breaks, or that make it impossible, in sentences. It breaks that
        of memory only if every other strategy does too.

    Raises
    ------
    ValueError
        If `n_gpus` is out of range.

    Notes
    -----
    What is not given is searched as by Erdil & Schneider-Joseph 2024, arXiv:2411.01137, but with degrees that need not
    be powers of two: EP is the greatest common divisor of the experts and what the given degrees leave of the GPUs; TP
    is split so that TP_ff lies in [isqrt(TP), 4 · isqrt(TP)]; microbatches are the first four that divide and are not
    fewer than the stages (twice the stages and the first for zero-bubble); 1F1B interleaves single layers. If no such
    strategy fits in memory, then, one after the other: other splits of a TP that has none of those, other EP that
    divide, other numbers of microbatches.

    Examples
    --------
    >>> from model import Shape, load_presets
    >>> from model.configuration import Pins
    >>> h100 = load_presets()["GPU generations, dense"].configurations[0]
    >>> shape = Shape(d_model=20480, d_ff=81920, n_layers=105, batch_tokens=9 * 2**18)
    >>> row = fastest_strategy(h100, shape, 2520, Pins(pp=35)).iloc[0]
    >>> int(row.pp), int(row.dp * row.tp * row.pp)
    (35, 2520)
    """
    if not 1 <= n_gpus < LARGEST_CLUSTER:
        raise ValueError(f"n_gpus must be from 1 to 2^63 - 1, got {n_gpus}")
    n_gpus = int(n_gpus)  # numpy's whole numbers overflow
    shapes, strategies = given_shape(configuration, shape), None
    broken = _broken_splits(shape, n_gpus, pins)
    if not broken:
        try:
            strategies, broken = _search(configuration, shape, n_gpus, pins, Progress(progress, MOST_OF_STRATEGY))
        except TooMuchWork:
            broken = [_too_many(n_gpus)]
    if strategies is None:
        shapes, strategies = shapes.take(np.array([], dtype=int)), Strategies.none(len(configuration.network))
    found = as_frame(configuration, shapes, strategies, step_times(configuration, shapes, strategies))
    found["memory_per_gpu_bytes"] = memory_per_gpu_bytes(configuration, found)
    found.attrs["broken"] = broken or _broken_limits(configuration, found)
    if progress is not None:
        progress(1.0)
    return found


def memory_per_gpu_bytes(configuration: Configuration, frame: "pd.DataFrame") -> Floats:
    """Bytes that each GPU must hold, for each row of `simulate`, `evaluate` or `fastest_strategy`.

    Parameters, optimizer state and, where the configuration's assumptions count them, activations (spec section 4).
    """
    columns = {name: frame[name].to_numpy() for name in frame}
    shapes = Shapes(**{name: columns[name] for name in Shapes.__dataclass_fields__})
    zero_bubble = columns["schedule"] == "zero-bubble"
    dp, pp, microbatches = (columns[name].astype(float) for name in ("dp", "pp", "microbatches"))
    n_gpus: Integers = columns["n_gpus"]
    return _cluster_bytes(configuration, shapes, dp, pp, microbatches, zero_bubble) / n_gpus


def broken_constraints(configuration: Configuration, shape: Shape, strategy: Strategy) -> list[str]:
    """Every constraint that a strategy breaks, in sentences: what `evaluate` does not look at.

    Those are the sizes of the network levels, the divisibility of the model and its batch, the schedule, the memory and
    the deadline.

    Examples
    --------
    >>> from model import Shape, Strategy, load_presets
    >>> h100 = load_presets()["GPU generations, dense"].configurations[0]
    >>> shape = Shape(d_model=1024, d_ff=4096, n_layers=96, batch_tokens=2**20)
    >>> one = (1, 1)
    >>> broken_constraints(h100, shape, Strategy(dp=(1, 1), tp_model=one, tp_ff=(8, 1), pp=(1, 7), ep=one))
    ['PP = 7 does not divide the 96 layers.']
    """
    if len(strategy.dp) != len(configuration.network):
        levels = _counted(len(strategy.dp), "network level")
        return [f"The strategy has {levels}, but the network has {len(configuration.network)}."]
    dp, *split, pp, ep = (math.prod(getattr(strategy, name)) for name in ("dp", "tp_model", "tp_ff", "pp", "ep"))
    pins = Pins.model_construct(
        dp=dp,
        tp=math.prod(split),
        pp=pp,
        ep=ep,
        microbatches=strategy.microbatches,
        interleaving=strategy.interleaving,
        schedule=strategy.schedule,
    )
    n_gpus = dp * math.prod(split) * pp * ep
    if n_gpus >= LARGEST_CLUSTER:
        return ["DP · TP · PP · EP is 2^63 or more, but a cluster has fewer GPUs than that."]
    broken = _broken_levels(configuration, strategy, n_gpus) + _broken_splits(shape, n_gpus, pins, tuple(split))
    try:
        evaluated = evaluate(configuration, shape, strategy)
    except ValueError:  # of what divides nothing, which is broken already
        return broken
    evaluated["memory_per_gpu_bytes"] = memory_per_gpu_bytes(configuration, evaluated)
    return broken + _broken_limits(configuration, evaluated)


def _cluster_bytes(
    configuration: Configuration, shapes: Shapes, dp: Floats, pp: Floats, microbatches: Floats, zero_bubble: Booleans
) -> Floats:
    """Bytes that the whole cluster must hold."""
    word = configuration.gpu.word_bytes
    tokens = shapes.batch_tokens // (dp * microbatches * shapes.sparsity)
    activations = activation_bytes(configuration.assumptions, shapes, dp, pp, tokens, zero_bubble, word)
    return memory_bytes(shapes.params, dp, word) + activations


# --- strategies before they are placed --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unplaced(Columns):
    """Strategies as if the network had one level, which bounds their steps.

    `rank` is their order where they are equally good, `cluster` is 0: there is only one.
    """

    cluster: Integers
    strategies: Strategies
    steps: Steps
    rank: Integers

    @property
    def network(self) -> Cost:
        """Lower bounds of the bandwidth time and the latency time of all communication, in s."""
        steps = self.steps
        return Cost(
            steps.tp_comm + steps.dp_comm + steps.pp_ep_comm, steps.tp_latency + steps.dp_latency + steps.pp_ep_latency
        )


def _one_level(configuration: Configuration) -> Configuration:
    """The configuration with all levels in one, of the summed bandwidth and the least latency (spec section 5)."""
    bandwidth = sum(level.bandwidth for level in configuration.network)
    level = NetworkLevel(
        name="All levels",
        bandwidth=bandwidth if bandwidth <= MOST_BANDWIDTH else math.inf,
        latency_s=min(level.latency_s for level in configuration.network),
    )
    return configuration.model_copy(update={"network": (level,)})


def _common_divisors(given: int | None, *numbers: int) -> Integers:
    """All common divisors of the numbers, or the given one alone if it is among them."""
    common = math.gcd(*numbers)
    if given is not None:
        return np.array([given] if common % given == 0 else [], dtype=np.int64)
    return np.array(divisors(common), dtype=np.int64)


def _degrees(shape: Shape, n_gpus: int, pins: Pins, choices: Choices) -> Integers:
    """DP, TP, PP and EP, (4, cases), by TP and then PP: all that make up the cluster and divide model and batch."""
    if shape.batch_tokens % shape.sparsity:
        return np.empty((4, 0), dtype=np.int64)
    given = math.prod(degree or 1 for degree in (pins.dp, pins.tp, pins.pp, pins.ep))
    experts = _common_divisors(pins.ep, n_gpus if pins.ep else n_gpus // given, shape.sparsity)
    cases = []
    for ep in experts.tolist() if choices.any_ep else experts[-1:].tolist():
        left = n_gpus // ep
        pp = _common_divisors(pins.pp, left, shape.n_layers)[:, None]
        dp = _common_divisors(pins.dp, left, shape.batch_tokens // shape.sparsity)
        row, column = np.nonzero(left // pp % dp == 0)
        pp, dp = pp[row, 0], dp[column]
        cases.append(np.stack([dp, left // pp // dp, pp, np.full(len(dp), ep)]))
    dp, tp, pp, ep = np.concatenate(cases, axis=1) if cases else np.empty((4, 0), dtype=np.int64)
    possible = np.nonzero((shape.d_model * shape.d_ff % tp == 0) & (tp == (pins.tp or tp)))[0]
    return np.stack([dp, tp, pp, ep])[:, possible[np.lexsort((pp[possible], tp[possible]))]]


def _splits(shape: Shape, n_gpus: int, choices: Choices) -> Integers:
    """TP, TP_model and TP_ff, (3, cases), by TP and then TP_ff: all that divide d_model and d_ff."""
    tp_model = _common_divisors(None, n_gpus, shape.d_model)
    tp_ff = _common_divisors(None, n_gpus, shape.d_ff)
    tp_model, tp_ff = (part.ravel() for part in np.meshgrid(tp_model, tp_ff))
    tp = tp_model * tp_ff
    near_root = ((tp_ff + 1) ** 2 > tp) & ((-(-tp_ff // 4)) ** 2 <= tp)  # isqrt(TP) <= TP_ff <= 4 · isqrt(TP)
    allowed = near_root | ~np.isin(tp, tp[near_root]) if choices.any_split else near_root
    kept = np.nonzero(allowed)[0]
    return np.stack([tp, tp_model, tp_ff])[:, kept[np.lexsort((tp_ff[kept], tp[kept]))]]


def _counts(shape: Shape, pins: Pins) -> Integers:
    """Numbers of microbatches that divide an expert's part of the batch."""
    return _common_divisors(pins.microbatches, shape.batch_tokens // shape.sparsity)


def _has_free_microbatches(pins: Pins, choices: Choices) -> bool:
    """Whether only the first numbers of microbatches are tried that are large enough."""
    return pins.microbatches is None and not choices.any_microbatches


def _microbatches(tokens: Integers, counts: Integers, least: Integers | int, most: int) -> tuple[Integers, Integers]:
    """Rows, and the first so many counts, ascending, that divide a row's tokens and are at least its least."""
    divides = (tokens[:, None] % counts == 0) & (counts >= np.reshape(least, (-1, 1)))
    row, column = np.nonzero(divides & (np.cumsum(divides, axis=1) <= most))
    return row, counts[column]


def _schedules(
    configuration: Configuration,
    shape: Shape,
    dp: Integers,
    pp: Integers,
    counts: Integers,
    pins: Pins,
    choices: Choices,
) -> Integers:
    """Rows of the degrees, microbatches, interleaving and whether zero-bubble, (4, cases)."""
    assumptions = configuration.assumptions
    tokens = shape.batch_tokens // shape.sparsity // dp
    free = _has_free_microbatches(pins, choices)
    cases = [np.empty((4, 0), dtype=np.int64)]
    if pins.schedule != "zero-bubble":
        row, microbatches = _microbatches(
            tokens, counts, pp if free else 1, MICROBATCH_CHOICES if free else len(counts)
        )
        stages, stage_layers = pp[row], shape.n_layers // pp[row]
        usual = np.where((stages > 1) & assumptions.interleaving, stage_layers, 1)
        interleaving = usual if pins.interleaving is None else np.full(len(row), pins.interleaving)
        possible = (stage_layers % interleaving == 0) & ((stages > 1) | (interleaving == 1))
        cases.append(np.stack([row, microbatches, interleaving, np.zeros(len(row), dtype=int)])[:, possible])
    zero_bubble = assumptions.zero_bubble if pins.schedule == "fastest" else pins.schedule == "zero-bubble"
    if zero_bubble and pins.interleaving in (None, 1):
        row, microbatches = _microbatches(tokens, counts, 2 * pp, 1 if free else len(counts))
        one = np.ones(len(row), dtype=int)
        cases.append(np.stack([row, microbatches, one, one]))
    return np.concatenate(cases, axis=1)


def _on_one_level(degree: Integers) -> Floats:
    return degree[:, None].astype(float)


def _unplaced(
    configuration: Configuration, shape: Shape, n_gpus: int, pins: Pins, choices: Choices, progress: Progress
) -> Iterator[Strategies]:
    """All strategies, some at a time, in the order of preference among equally good ones."""
    degrees = _degrees(shape, n_gpus, pins, choices)
    split_tp, tp_model, tp_ff = _splits(shape, n_gpus, choices)
    counts = _counts(shape, pins)
    first, beyond = (np.searchsorted(split_tp, degrees[1], side) for side in ("left", "right"))
    tried = MICROBATCH_CHOICES + 1 if _has_free_microbatches(pins, choices) else 2 * len(counts)
    width = max(len(counts), tried * int((beyond - first).max(initial=1)))
    for rows in progress.each(row_chunks(degrees.shape[1], max(1, width))):
        dp, tp, pp, ep = degrees[:, rows]
        progress.spend(OF_COUNT * len(dp) * len(counts))
        row, microbatches, interleaving, zero_bubble = _schedules(configuration, shape, dp, pp, counts, pins, choices)
        case, number = repeated((beyond - first)[rows][row])
        row, split = row[case], first[rows][row[case]] + number
        order = np.lexsort((microbatches[case], zero_bubble[case], tp_ff[split], pp[row], tp[row]))
        row, split, case = row[order], split[order], case[order]
        progress.spend(OF_STRATEGY * len(case))
        yield Strategies(
            dp=_on_one_level(dp[row]),
            tp_model=_on_one_level(tp_model[split]),
            tp_ff=_on_one_level(tp_ff[split]),
            pp=_on_one_level(pp[row]),
            ep=_on_one_level(ep[row]),
            microbatches=microbatches[case].astype(float),
            interleaving=interleaving[case].astype(float),
            zero_bubble=zero_bubble[case].astype(bool),
        )


# --- placements on the levels -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DivisorUsages:
    """As `Usages` of `placement`, of any units: numbered so that numbers add where the divisors that are used multiply.

    `factors` (usages, inner levels) are what is used of each level's units, `whole` (usages) their products. `first`
    and `second` (pairs) are all pairs that go together. The last usage is all there is.
    """

    factors: Integers
    whole: Integers
    first: Integers
    second: Integers

    def __len__(self) -> int:
        return len(self.whole)

    def over_levels(self, degree: Array, usage: Integers) -> list[Array]:
        """A degree's factors at each level, innermost first; the outermost level takes what its usage leaves."""
        return [*self.factors[usage].T, degree / self.whole[usage]]


def _prime_powers(unit: int) -> list[tuple[int, int]]:
    """The primes of a number of units, and how often each divides it."""
    primes = [divisor for divisor in divisors(unit) if len(divisors(divisor)) == 2]
    return [(prime, sum(unit % prime**power == 0 for power in range(1, unit.bit_length()))) for prime in primes]


def _count_pairs(units: tuple[int, ...]) -> int:
    """How many pairs of usages go together."""
    return math.prod(math.comb(most + 2, 2) for unit in units for _, most in _prime_powers(unit))


@lru_cache(maxsize=16)
def _usages(units: tuple[int, ...]) -> DivisorUsages:
    """The usages of inner levels that join `units` units: a number has a digit for each prime of each level."""
    factors = np.ones((1, len(units)), dtype=np.int64)
    first = second = np.zeros(1, dtype=np.int64)
    for level, unit in enumerate(units):
        for prime, most in _prime_powers(unit):
            place, digit = len(factors), np.arange(most + 1)
            of_first, of_second = np.nonzero(digit[:, None] + digit <= most)
            first = np.add.outer(place * of_first, first).ravel()
            second = np.add.outer(place * of_second, second).ravel()
            factors = np.tile(factors, (most + 1, 1))
            factors[:, level] *= np.repeat(prime**digit, place)
    return DivisorUsages(factors, factors.prod(axis=1), first, second)


@dataclass(frozen=True)
class Placements:
    """The best placements of degrees that are placed together, such as TP_model and TP_ff: a key for each combination.

    A placement is best if no other with the same usage has both costs as low. Those of a key and a usage stand
    together, `count` (keys, usages) of them from `start` on; `column` is the number of a first times that of all
    usages, plus that of a second. `least` (keys, usages) is the least of either cost, infinite without a placement.
    """

    column: Integers
    cost: Cost
    start: Integers
    count: Integers
    least: Cost

    def floor(self, key: Integers) -> Cost:
        """The least of either cost of keys, wherever they are placed."""
        return _at(Cost(*(part.min(axis=1) for part in self.least)), key)


def _at(cost: Cost, *index: Integers) -> Cost:
    return Cost(cost.comm[index], cost.latency[index])


def _sum(costs: Iterable[Cost]) -> Cost:
    return Cost(*(sum(parts, ZERO) for parts in zip(*costs, strict=True)))


def _keys(*degrees: Floats) -> tuple[Integers, Integers]:
    """The different combinations of cases' degrees, (degrees, keys), and the key of each case."""
    combinations, key = np.unique(np.stack(degrees, axis=1).astype(np.int64), axis=0, return_inverse=True)
    return combinations.T, key.ravel()


def _best_of_each(group: Integers, cost: Cost) -> Integers:
    """The elements, group by group, than which no other of the group is as good or better in both costs."""
    order: Integers = np.lexsort((cost.latency, cost.comm, group))
    latencies, value = np.unique(cost.latency[order], return_inverse=True)
    value = value - group[order] * (len(latencies) + 1)  # a running minimum starts anew with each group
    falls = value[1:] < np.minimum.accumulate(value)[:-1]
    best: Booleans = np.concatenate([[True], falls])[: len(order)]
    return order[best]


def _placements(
    usages: DivisorUsages,
    first: Integers,
    second: Integers,
    cost: Callable[[Integers, Degree, Degree], Iterable[Floats]],
    progress: Progress,
) -> Placements:
    """The best placements of degrees, (keys) each, by `cost(keys, first over levels, second over levels)`."""
    parts = []
    for keys in row_chunks(len(first), len(usages.first)):
        progress.spend(OF_PAIR * len(first[keys]) * len(usages.first))
        first_fits, second_fits = (degree[keys, None] % usages.whole == 0 for degree in (first, second))
        key, pair = np.nonzero(first_fits[:, usages.first] & second_fits[:, usages.second])
        progress.spend(OF_PLACEMENT * len(key))
        key, one, other = key + keys.start, usages.first[pair], usages.second[pair]
        costs = cost(key, usages.over_levels(first[key], one), usages.over_levels(second[key], other))
        costs = Cost(*(np.broadcast_to(part, key.shape) for part in costs))
        group = key * len(usages) + one + other
        best = _best_of_each(group, costs)
        parts.append([part[best] for part in (group, one * len(usages) + other, *costs)])
    group, column, *costs = (np.concatenate(part) for part in zip(*parts, strict=True))
    shape = len(first), len(usages)
    count = np.bincount(group, minlength=math.prod(shape))
    least = np.full((2, math.prod(shape)), np.inf)
    for lowest, part in zip(least, costs, strict=True):
        np.minimum.at(lowest, group, part)
    start = (np.cumsum(count) - count).reshape(shape)
    return Placements(column, Cost(*costs), start, count.reshape(shape), Cost(*least.reshape(2, *shape)))


class Placing:
    """Puts strategies on the levels of a cluster's network, and remembers the fastest of all."""

    def __init__(
        self, configuration: Configuration, shapes: Shapes, n_gpus: int, units: tuple[int, ...], progress: Progress
    ):
        self.configuration = configuration
        self.shapes = shapes
        self.n_gpus = float(n_gpus)
        self.usages = _usages(units)
        self.progress = progress
        self.incumbents: Incumbents[Unplaced] = Incumbents(np.array([np.inf]))

    def could_win(self, rank: Integers, time: Floats, network: Cost) -> Booleans:
        """Whether strategies with these lower bounds could be better than the best."""
        losing = self.incumbents.loses_tie(0, time, network.comm, rank, network.latency)
        return self.incumbents.reached(0, time) & ~losing

    def place(self, found: Unplaced) -> None:
        """Let all placements of strategies compete that could win."""
        found = found.take(np.nonzero(self.could_win(found.rank, found.steps.time, found.network))[0])
        if len(found) == 0:
            return
        kinds, keys = zip(*self._kinds(found.strategies), strict=True)
        floors = [kind.floor(key) for kind, key in zip(kinds, keys, strict=True)]
        time, network = self._step_time(found, floors), _sum(floors)
        order = np.lexsort((found.rank, time))
        for rows in self.progress.each(row_chunks(len(order), len(self.usages.first), FIRST_CHUNK)):
            chunk = order[rows]
            chunk = chunk[self.could_win(found.rank[chunk], time[chunk], _at(network, chunk))]
            self._combine(found.take(chunk), kinds, [key[chunk] for key in keys])

    def best(self) -> Strategies | None:
        """The fastest strategy, over the levels, if there is any."""
        best = self.incumbents.best
        if best is None:
            return None
        whole, count = best.candidate.strategies, len(self.usages)
        degrees = (whole.dp, whole.tp_model, whole.tp_ff, whole.pp, whole.ep)
        usages = (best.dp_usage, *divmod(best.tp_column, count), *divmod(best.pp_ep_column, count))
        dp, tp_model, tp_ff, pp, ep = (
            np.stack(self.usages.over_levels(degree[:, 0], usage), axis=-1, dtype=np.float64)
            for degree, usage in zip(degrees, usages, strict=True)
        )
        return Strategies(dp, tp_model, tp_ff, pp, ep, whole.microbatches, whole.interleaving, whole.zero_bubble)

    def _kinds(self, whole: Strategies) -> Iterator[tuple[Placements, Integers]]:
        """Data, tensor, and pipeline with expert parallelism: their placements, and each strategy's key in them."""
        shapes, network = self.shapes, self.configuration.network
        sent = (shapes.batch_tokens, self.n_gpus, self.configuration.gpu.word_bytes)
        _, factor = recomputation(self.configuration.assumptions)
        dp, tp_model, tp_ff, pp, ep = (
            degree[:, 0] for degree in (whole.dp, whole.tp_model, whole.tp_ff, whole.pp, whole.ep)
        )

        def data(key: Integers, dp: Degree, _: Degree) -> Iterable[Floats]:
            return data_parallel(network, dp, shapes.params, *sent[1:])

        def tensor(key: Integers, tp_model: Degree, tp_ff: Degree) -> Iterable[Floats]:
            costs = tensor_parallel(network, tp_model, tp_ff, shapes.d_model, shapes.d_ff, shapes.n_layers, *sent)
            return (factor * cost for cost in costs)

        def pipeline(key: Integers, pp: Degree, ep: Degree) -> Iterable[Floats]:
            costs = pipeline_expert(network, pp, ep, interleaving[key], shapes.n_layers, shapes.d_model, *sent)
            return (factor * cost for cost in costs)

        (copies, alone), key = _keys(dp, np.ones(len(dp)))
        yield _placements(self.usages, copies, alone, data, self.progress), key
        (model_shards, ff_shards), key = _keys(tp_model, tp_ff)
        yield _placements(self.usages, model_shards, ff_shards, tensor, self.progress), key
        (stages, experts, interleaving), key = _keys(pp, ep, whole.interleaving)
        yield _placements(self.usages, stages, experts, pipeline, self.progress), key

    def _step_time(self, found: Unplaced, costs: Sequence[Cost]) -> Floats:
        """Step time of strategies, (cases) or (cases, placements) as the costs are, in s."""
        dp, tp, pp_ep = costs
        one_each = (-1, *(1,) * (dp.comm.ndim - 1))
        zero_bubble = found.strategies.zero_bubble.reshape(one_each)
        idle, compute = (part.reshape(one_each) for part in (found.steps.bubble, found.steps.compute))
        assumptions, latency = self.configuration.assumptions, tp.latency + pp_ep.latency
        pipeline = pipeline_time(assumptions, zero_bubble, idle, compute, tp.comm, pp_ep.comm, latency)
        return batch_time(assumptions, pipeline, dp.comm, dp.latency)

    def _combine(self, found: Unplaced, kinds: Sequence[Placements], keys: Sequence[Integers]) -> None:
        """Combine the placements of the three kinds whose usages add up to all there is."""
        usages = self.usages
        self.progress.spend(OF_CHUNK + OF_COMBINATION * len(found) * len(usages.first))
        used = [usages.first, usages.second, len(usages) - 1 - usages.first - usages.second]
        least = [_at(kind.least, key[:, None], usage) for kind, key, usage in zip(kinds, keys, used, strict=True)]
        time = self._step_time(found, least)
        case, pair = np.nonzero(self.could_win(found.rank[:, None], time, _sum(least)) & np.isfinite(time))
        where = [(key[case], usage[pair]) for key, usage in zip(keys, used, strict=True)]
        _, tp_count, pp_ep_count = (kind.count[at] for kind, at in zip(kinds, where, strict=True))
        each = tp_count * pp_ep_count
        self.progress.spend(OF_PLACED * int(each.sum()))
        part, number = repeated(each)
        numbers = (0, *divmod(number, pp_ep_count[part]))
        index = [kind.start[at][part] + nth for kind, at, nth in zip(kinds, where, numbers, strict=True)]
        costs = [_at(kind.cost, here) for kind, here in zip(kinds, index, strict=True)]
        found = found.take(case[part])
        time, network = self._step_time(found, costs), _sum(costs)
        kept = np.nonzero(self.could_win(found.rank, time, network))[0]
        if len(kept):
            dp, tp, pp_ep = (kind.column[here[kept]] for kind, here in zip(kinds, index, strict=True))
            self.incumbents.add(Placed(found.take(kept), dp // len(usages), tp, pp_ep, time[kept], *_at(network, kept)))


# --- the search -------------------------------------------------------------------------------------------------------


def _search(
    configuration: Configuration, shape: Shape, n_gpus: int, pins: Pins, progress: Progress
) -> tuple[Strategies | None, list[str]]:
    """The fastest strategy, if any, and why there is none."""
    shapes, gpu = given_shape(configuration, shape), configuration.gpu
    if shape.d_model * shape.d_ff * shape.n_layers * shape.batch_tokens % n_gpus:
        return None, [_nothing_on(n_gpus)]
    units = joined(n_gpus, tuple(level.size for level in configuration.network[:-1]))
    pairs = _count_pairs(units)
    if pairs > MOST_PAIRS:
        return None, [f"The network levels can be shared out in {pairs:,} ways, more than the {MOST_PAIRS:,} to try."]
    least = memory_bytes(shapes.params, pins.dp or 1, gpu.word_bytes)
    for fits_memory in (True, False) if least <= n_gpus * gpu.hbm_bytes else (False,):
        for choices in EVER_MORE_CHOICES:
            placing = Placing(configuration, shapes, n_gpus, units, progress)
            with progress.part(ATTEMPT):
                strategies = _unplaced(configuration, shape, n_gpus, pins, choices, progress)
                _place_all(placing, strategies, fits_memory)
            if placing.incumbents.best is not None:
                return placing.best(), []
    return None, _not_together(configuration, shape, n_gpus, pins, progress)


def _place_all(placing: Placing, strategies: Iterable[Strategies], fits_memory: bool) -> None:
    """Place all strategies, of each part the most promising first; if so asked, only those that fit in memory."""
    configuration, shapes = placing.configuration, placing.shapes
    one_level = _one_level(configuration)
    memory, seen = placing.n_gpus * configuration.gpu.hbm_bytes, 0
    for whole in strategies:
        rank = np.arange(seen, seen + len(whole))
        seen += len(whole)
        needed = _cluster_bytes(
            configuration, shapes, whole.dp[:, 0], whole.pp[:, 0], whole.microbatches, whole.zero_bubble
        )
        fitting = np.nonzero(needed <= memory)[0] if fits_memory else np.arange(len(whole))
        whole, rank = whole.take(fitting), rank[fitting]
        steps = step_times(one_level, shapes, whole)
        order = np.argsort(steps.time, kind="stable")
        found = Unplaced(np.zeros_like(rank), whole, steps, rank)
        for part in (order[:SEEDS], order[SEEDS:]):
            placing.place(found.take(part))


# --- what is wrong, in sentences --------------------------------------------------------------------------------------


def _counted(count: int, noun: str) -> str:
    """96 layers, 1 layer."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _broken_splits(shape: Shape, n_gpus: int, pins: Pins, split: tuple[int, int] | None = None) -> list[str]:
    """What keeps given degrees from dividing the cluster, the model and its batch; TP may be given as a split."""
    degrees = {"DP": pins.dp, "TP": pins.tp, "PP": pins.pp, "EP": pins.ep}
    given = {name: degree for name, degree in degrees.items() if degree is not None}
    product, names = math.prod(given.values()), " · ".join(given)
    if len(given) == len(degrees) and product != n_gpus:
        cluster = [f"{names} = {product:,}, but the cluster has {_counted(n_gpus, 'GPU')}."]
    elif n_gpus % product:
        cluster = [f"{names} = {product:,} does not divide the {_counted(n_gpus, 'GPU')}."]
    else:
        cluster = []
    said = {name: f"{name} = {degree:,}" for name, degree in given.items()}
    if len(given) == len(degrees) - 1 and not cluster:
        (missing,) = degrees.keys() - given.keys()
        degrees[missing] = n_gpus // product
        said[missing] = f"{missing} = {degrees[missing]:,}, which the other degrees leave,"
    dp, tp, pp, ep = degrees.values()
    model = []
    if tp and (shape.d_model * shape.d_ff % tp or (split and (shape.d_model % split[0] or shape.d_ff % split[1]))):
        shards = f"{said['TP']} ({split[0]:,} × {split[1]:,})" if split else said["TP"]
        model.append(f"{shards} cannot split d_model = {shape.d_model:,} and d_ff = {shape.d_ff:,}.")
    if pp and shape.n_layers % pp:
        model.append(f"{said['PP']} does not divide the {_counted(shape.n_layers, 'layer')}.")
    if ep and shape.sparsity % ep:
        experts = f"does not divide the {shape.sparsity:,} experts" if shape.sparsity > 1 else "needs experts to split"
        model.append(f"{said['EP']} {experts}.")
    return cluster + model + _broken_batch(shape, dp, pins) + _broken_schedule(shape, dp, pp, pins)


def _broken_batch(shape: Shape, dp: int | None, pins: Pins) -> list[str]:
    """What keeps a batch from being cut into whole tokens of each copy, expert and microbatch."""
    pieces = {
        f"DP {dp or 1:,}": dp or 1,
        f"{shape.sparsity:,} experts": shape.sparsity,
        f"{pins.microbatches or 1:,} microbatches": pins.microbatches or 1,
    }
    if shape.batch_tokens % math.prod(pieces.values()) == 0:
        return []
    cut = " × ".join(name for name, count in pieces.items() if count > 1)
    return [f"The batch of {_counted(shape.batch_tokens, 'token')} cannot be cut into {cut}."]


def _broken_schedule(shape: Shape, dp: int | None, pp: int | None, pins: Pins) -> list[str]:
    """What keeps a pipeline from being scheduled as given."""
    broken = []
    if pins.schedule == "zero-bubble":
        least, twice = 2 * (pp or 1), "2 · PP = " if pp else ""
        most = pins.microbatches or shape.batch_tokens // (shape.sparsity * (dp or 1))
        if most < least:
            offered = f"not {most:,}" if pins.microbatches else f"but the batch gives at most {most:,}"
            broken.append(f"The zero-bubble schedule needs at least {twice}{least:,} microbatches, {offered}.")
    interleaving = pins.interleaving or 1
    if interleaving == 1:
        return broken
    if pins.schedule == "zero-bubble":
        broken.append(f"The zero-bubble schedule cannot have interleaving {interleaving:,}, only 1.")
    elif pp == 1:
        broken.append(f"Interleaving {interleaving:,} needs a pipeline, but PP = 1.")
    elif shape.n_layers % (pp or 1) == 0 and shape.n_layers // (pp or 1) % interleaving:
        layers = f"{_counted(shape.n_layers // (pp or 1), 'layer')}{' of each stage' if pp else ''}"
        broken.append(f"Interleaving {interleaving:,} does not divide the {layers}.")
    return broken


def _nothing_on(n_gpus: int, given: str = "") -> str:
    return f"No strategy{given} splits the model and its batch evenly over {_counted(n_gpus, 'GPU')}."


def _too_many(n_gpus: int) -> str:
    return (
        f"There are too many ways to split the model over {_counted(n_gpus, 'GPU')} and the network to try them all: "
        "give some of the degrees, or numbers with fewer divisors."
    )


def _not_together(configuration: Configuration, shape: Shape, n_gpus: int, pins: Pins, progress: Progress) -> list[str]:
    """Why no strategy agrees with all that is given, if the given numbers by themselves show nothing."""

    def possible(pins: Pins) -> bool:
        strategies = _unplaced(configuration, shape, n_gpus, pins, EVER_MORE_CHOICES[-1], progress)
        return any(len(part) for part in strategies)

    if not possible(NOTHING_GIVEN):
        return [_nothing_on(n_gpus)]
    words = {"microbatches": "{:,} microbatches", "interleaving": "interleaving {:,}", "schedule": "the {} schedule"}
    said, alone = [], []
    for name in Pins.model_fields:
        value = getattr(pins, name)
        if value != getattr(NOTHING_GIVEN, name):
            said.append(words.get(name, f"{name.upper()} = {{:,}}").format(value))
            if not possible(Pins(**{name: value})):
                alone.append(_nothing_on(n_gpus, f" with {said[-1]}"))
    *first, last = said
    return alone or [
        f"On {_counted(n_gpus, 'GPU')}, {', '.join(first)} and {last} are each possible, but not together."
    ]


def _broken_levels(configuration: Configuration, strategy: Strategy, n_gpus: int) -> list[str]:
    """What keeps degrees from filling the inner network levels."""
    units = joined(n_gpus, tuple(level.size for level in configuration.network[:-1]))
    broken = []
    for index, unit in enumerate(units):
        used = math.prod(getattr(strategy, name)[index] for name in ("dp", "tp_model", "tp_ff", "pp", "ep"))
        if used != unit:
            of = _counted(unit, "unit") + " of the level below" if index else _counted(unit, "GPU")
            name = isolated(configuration.network[index].name)
            broken.append(f"On {name}, DP · TP · PP · EP = {used:,}, but {name} joins {of}.")
    return broken


def _broken_limits(configuration: Configuration, found: "pd.DataFrame") -> list[str]:
    """What a strategy needs beyond the memory of its GPUs and the deadline; nothing of no strategy."""
    from model.text import duration, quantity  # it needs pandas, which takes long to import

    broken = []
    limits = configuration.gpu.hbm_bytes, deadline(configuration.assumptions)
    for needed, training_s in zip(found["memory_per_gpu_bytes"], found["training_s"], strict=True):
        needs, has = (quantity(size, "B") for size in (needed, limits[0]))
        if needed > limits[0]:
            broken.append(f"It needs {needs if needs != has else 'slightly more'} of memory per GPU, of {has}.")
        takes, allowed = (duration(seconds) for seconds in (training_s, limits[1]))
        if training_s > limits[1]:
            longer = f"{takes}, longer" if takes != allowed else "slightly longer"
            broken.append(f"Training takes {longer} than the {allowed} allowed.")
    return broken
