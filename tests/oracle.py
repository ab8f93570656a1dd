"""The model of the specification in plain scalar Python: slow, easy to check, the oracle of the array engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import ceil, gcd, inf, isqrt, prod, sqrt
from operator import itemgetter
from typing import Any, NamedTuple

FRIENDLY = sorted({m << i for m in (1, 3, 5, 7, 9) for i in range(60)})
SECONDS_PER_YEAR = 3.154e7
TIE = 1e-9
LAST_MFU = 0.001
MICROBATCHES_1F1B = 4

Degrees = tuple[int, ...]
Times = tuple[float, float]  # bandwidth seconds, latency seconds


class Rates(NamedTuple):
    """What a GPU sustains (spec 2)."""

    word: float
    flops: float
    max_flops: float
    shared_bandwidth: float
    register_bytes: float
    l2_bandwidth: float
    l2_bytes: float
    hbm_bandwidth: float
    hbm_bytes: float
    sm_count: int
    distributed_shared_memory: bool
    matmul_latency_s: float


class Level(NamedTuple):
    """One network level (spec 3)."""

    bandwidth: float
    latency_s: float


Network = tuple[Level, ...]  # innermost first


class Shape(NamedTuple):
    """What is trained (spec 1)."""

    d_model: int
    d_ff: int
    n_layers: int
    sparsity: int
    params: int
    active_params: int
    dataset_tokens: float
    training_flop: float
    batch_tokens: int


class Strategy(NamedTuple):
    """Degrees over the network levels, innermost first, and the schedule (spec 4)."""

    dp: Degrees
    tp_model: Degrees
    tp_ff: Degrees
    pp: Degrees
    ep: Degrees
    microbatches: int
    interleaving: int
    schedule: str


Timed = tuple[float, float, Strategy]  # step seconds, communication seconds


def round_r(x: float) -> int:
    """The friendly number nearest to x, the smaller one at a tie (spec 1)."""
    return min(FRIENDLY, key=lambda r: (abs(r - x), r))


def widths(sweep: Any) -> list[int]:
    """Every d_model of a sweep: multiples with at most four significant bits (spec 1)."""
    four_bits = sorted(m << i for m in range(1, 16, 2) for i in range(64))
    return [d for d in four_bits if sweep.d_model_min <= d <= sweep.d_model_max and d % sweep.d_model_multiple == 0]


def layers_of(law: Any, multiplier: float, d_model: int, d_ff: int) -> int:
    """n_layers by a multiple of the depth law (spec 1)."""
    match law.law:
        case "hoffmann":
            return round_r(multiplier * (0.10056 * (d_model * d_ff) ** 0.3751))
        case "power":
            return round_r(multiplier * (law.coefficient * (d_model * d_ff) ** law.exponent))
        case "fixed":
            return max(1, round(multiplier * law.n_layers))


def sparsity_of(law: Any, d_model: int, d_ff: int) -> int:
    """E by the sparsity law (spec 1)."""
    match law.law:
        case "dense":
            return 1
        case "linear-width":
            return round_r(8 * (d_model * d_ff / (4 * 12288**2)) ** 0.5)
        case "fixed":
            return law.factor


def dataset_of(law: Any, params: int) -> float:
    """D, in tokens, by the dataset law (spec 1)."""
    match law.law:
        case "chinchilla":
            return law.tokens_per_parameter * params
        case "power":
            return law.coefficient * params**law.exponent


def batch_of(law: Any, multiplier: float, e: int, c: float, d: float, s: int) -> int:
    """b, in sequences, by a multiple of the batch law (spec 1)."""
    match law.law:
        case "default":
            x = e**0.5 * (c / 3e23) ** (1 / 6) * 2048 * 2048 / s
        case "constant":
            x = law.tokens / s
        case "deepseek":
            x = e**0.5 * 0.2920 * c**0.3271 / s
        case "zhang":
            x = e**0.5 * 17.75 * d**0.47 / s
        case "power":
            x = e**0.5 * (c / law.reference_flop) ** law.exponent * law.tokens_at_reference / s
    return e * round_r(multiplier * x / e)


def sizes(scaling: Any, d_model: int, d_ff: int, n_layers: int, e: int) -> tuple[int, int, float, float]:
    """Parameters, active parameters, dataset tokens and training FLOP (spec 1)."""
    params = 2 * d_model * d_ff * n_layers * e
    dataset_tokens = dataset_of(scaling.dataset, params)
    return params, params // e, dataset_tokens, 6 * params * dataset_tokens / e


def shape_of(configuration: Any, d_model: int) -> Shape:
    """The model that a configuration's scaling laws give at one width (spec 1)."""
    scaling = configuration.scaling
    d_ff = round(scaling.d_ff_ratio * d_model)
    n_layers = layers_of(scaling.depth, scaling.depth_multiplier, d_model, d_ff)
    e = sparsity_of(scaling.sparsity, d_model, d_ff)
    params, active_params, d, c = sizes(scaling, d_model, d_ff, n_layers, e)
    s = scaling.sequence_length
    b = batch_of(scaling.batch, scaling.batch_multiplier, e, c, d, s)
    return Shape(d_model, d_ff, n_layers, e, params, active_params, d, c, b * s)


def rates(gpu: Any) -> Rates:
    """The sustained rates and usable sizes of a GPU (spec 2)."""
    clock = gpu.effective_utilization * gpu.max_clock_hz
    flop_per_clock = gpu.flop_per_clock_per_thread[gpu.precision_bits] * 128 * gpu.sm_count
    return Rates(
        word=gpu.precision_bits / 8,
        flops=flop_per_clock * clock,
        max_flops=flop_per_clock * gpu.max_clock_hz,
        shared_bandwidth=32 * 4 * gpu.sm_count * clock,
        register_bytes=0.75 * gpu.register_bytes_per_block,
        l2_bandwidth=gpu.l2_bandwidth,
        l2_bytes=0.75 * gpu.l2_bytes,
        hbm_bandwidth=gpu.hbm_bandwidth,
        hbm_bytes=gpu.hbm_bytes,
        sm_count=gpu.sm_count,
        distributed_shared_memory=gpu.distributed_shared_memory,
        matmul_latency_s=gpu.matmul_latency_s,
    )


def tile(m: int, n: int, cap: float, w: float) -> tuple[float, float]:
    """Rows and columns of tiles of an m × n matrix in memories of cap bytes (spec 2)."""
    count = ceil(m * n * w / cap)
    p = m * n / count
    tm = max(min(m, sqrt(p)), p / n)
    tn = p / tm
    return m / tm, n / tn


def io(d1: int, d2: int, b: int, grad: bool, cap: float, k: int, dist: bool, w: float) -> tuple[float, float]:
    """Bytes between two adjacent memory levels and between peers (spec 2)."""
    weights, left, right = d1 * d2 * w, d1 * b * w, d2 * b * w
    resident = 2 * weights <= cap * k
    if dist:
        (R, Q), (r, q) = tile(d1, d2, cap * k, w), tile(d1, d2, cap, w)
    else:
        (R, Q), (r, q) = tile(d1, d2, cap, w), (1, 1)
    inter = R * right + (Q * left if grad else (2 * Q - 1) * left)
    inter += 0 if resident else (2 * weights if grad else weights)
    peer = r * right if r > 1 else 0
    peer += (q * left if q > 1 else 0) if grad else 2 * (q - 1) * left
    return inter, peer


def matmul(gpu: Rates, d1: int, d2: int, b: int, grad: bool) -> float:
    """Seconds of a d1 × d2 weight matrix against b columns, at the rates of a GPU (spec 2)."""
    w, reg, sms = gpu.word, gpu.register_bytes, gpu.sm_count
    hbm, _ = io(d1, d2, b, grad, max(gpu.l2_bytes, 4 * reg), 1, False, w)
    sm, peer = io(d1, d2, b, grad, 4 * reg, sms, gpu.distributed_shared_memory, w)
    register, _ = io(d1, d2, b, grad, reg, 4 * sms, False, w)
    flop = 2 * 8**3 * ceil(d1 / 8) * ceil(d2 / 8) * ceil(b / 8)
    return gpu.matmul_latency_s + max(
        hbm / gpu.hbm_bandwidth,
        (hbm + sm) / gpu.l2_bandwidth,
        (sm + peer + register) / gpu.shared_bandwidth,
        flop / gpu.flops,
    )


def matmul_time(gpu: Any, d1: int, d2: int, b: int, weight_gradient: bool) -> float:
    """Seconds of a d1 × d2 weight matrix against b columns (spec 2)."""
    return matmul(rates(gpu), d1, d2, b, weight_gradient)


@lru_cache(2**16)
def layer_time(gpu: Rates, f: int, d: int, t: int) -> float:
    """Compute seconds per layer and microbatch, forward and backward (spec 4)."""
    forward = 2 * matmul(gpu, f, d, t, False) + 2 * matmul(gpu, d, f, t, False)
    return forward + matmul(gpu, f, d, t, True) + matmul(gpu, d, f, t, True)


def all_reduce(level: Level, n: int, w: float, p: int, words: int, sequential: int, parallel: int) -> Times:
    """Bandwidth seconds and latency seconds of an all-reduce over p participants (spec 3)."""
    bandwidth_time = 2 * (p - 1) * words * sequential * parallel * w / (n * level.bandwidth / 2)
    return bandwidth_time, 2 * sequential * level.latency_s if p > 1 else 0.0


def point_to_point(level: Level, n: int, w: float, words: int, sequential: float, parallel: int) -> Times:
    """Bandwidth seconds and latency seconds of a point-to-point message (spec 3)."""
    return words * sequential * parallel * w / (n * level.bandwidth / 2), sequential * level.latency_s


@lru_cache(2**16)
def data_parallel(network: Network, n: int, w: float, params: int, dp: Degrees) -> Times:
    """dp_comm and dp_latency (spec 4)."""
    times = [all_reduce(level, n, w, dp[i], params, 1, prod(dp[i + 1 :])) for i, level in enumerate(network)]
    return max(seconds for seconds, _ in times), sum(latency for _, latency in times)


@lru_cache(2**16)
def tensor_parallel(network: Network, n: int, w: float, shape: Shape, tp_model: Degrees, tp_ff: Degrees) -> Times:
    """tp_comm and tp_latency (spec 4)."""
    comm, latency = 0.0, 0.0
    for i, level in enumerate(network):
        sequential, batch = 2 * shape.n_layers, shape.batch_tokens
        model = all_reduce(level, n, w, tp_model[i], shape.d_ff, sequential, batch * prod(tp_model[i + 1 :]))
        ff = all_reduce(level, n, w, tp_ff[i], shape.d_model, sequential, batch * prod(tp_ff[i + 1 :]))
        comm = max(comm, model[0] + ff[0])
        latency += model[1] + ff[1]
    return comm, latency


def pipeline_shares(n_layers: int, pp: Degrees, v: int) -> dict[int, float]:
    """Share of the interfaces whose transfer crosses exactly each level, -1 for none (spec 4)."""
    top = max((i for i, p in enumerate(pp) if p > 1), default=-1)
    if top == -1:
        return {-1: 1.0}
    crossings = {-1: n_layers - v * prod(pp), top: v * pp[top] - 1}
    for i in range(top):
        crossings[i] = v * prod(pp[i + 1 :]) * (pp[i] - 1)
    return {i: count / (n_layers - 1) for i, count in crossings.items()}


def expert_shares(ep: Degrees) -> dict[int, float]:
    """Share of the tokens that cross exactly each level on the way to their expert, -1 for none (spec 4)."""
    shares = {i: 1 / prod(ep[i + 1 :]) - 1 / prod(ep[i:]) for i in range(len(ep))}
    return {-1: 1 / prod(ep), **shares}


@lru_cache(2**16)
def pipeline_and_expert_parallel(
    network: Network, n: int, w: float, shape: Shape, pp: Degrees, ep: Degrees, v: int
) -> Times:
    """pp_ep_comm and pp_ep_latency (spec 4)."""
    if shape.n_layers == 1:
        return 0.0, 0.0
    comm, latency = 0.0, 0.0
    transfers = 2 * (shape.n_layers - 1)
    expert_top = max((i for i, e in enumerate(ep) if e > 1), default=-1)
    for pipeline_level, pipeline_share in pipeline_shares(shape.n_layers, pp, v).items():
        for expert_level, expert_share in expert_shares(ep).items():
            sequential = transfers * pipeline_share * expert_share
            if (level := max(pipeline_level, expert_level)) >= 0:
                comm += point_to_point(network[level], n, w, shape.d_model, sequential, shape.batch_tokens)[0]
        sequential = transfers * pipeline_share
        if (level := max(pipeline_level, expert_top)) >= 0:
            latency += point_to_point(network[level], n, w, shape.d_model, sequential, shape.batch_tokens)[1]
    return comm, latency


def memory(configuration: Any, shape: Shape, strategy: Strategy) -> float:
    """Bytes that the whole cluster must hold (spec 4)."""
    w, activations = configuration.gpu.precision_bits / 8, configuration.assumptions.activations
    dp, pp, e = prod(strategy.dp), prod(strategy.pp), shape.sparsity
    t = shape.batch_tokens // (dp * strategy.microbatches * e)
    k = pp if strategy.schedule == "1F1B" else 2 * pp - 1
    parameters = shape.params * w * dp + 4 * shape.params * w
    if activations == "recomputed":
        return parameters + shape.d_model * pp * w * t * k * dp * e
    if activations == "stored":
        return parameters + (shape.d_model + shape.d_ff) * w * t * k * shape.n_layers * dp * e
    return parameters


def step(gpu: Rates, network: Network, assumptions: Any, shape: Shape, strategy: Strategy) -> dict[str, float]:
    """The time of one batch and its parts (spec 4)."""
    dp, tp_model, tp_ff, pp, ep, m, v, schedule = strategy
    DP, TP_model, TP_ff, PP, EP = prod(dp), prod(tp_model), prod(tp_ff), prod(pp), prod(ep)
    n = DP * TP_model * TP_ff * PP * EP
    w, E, B = gpu.word, shape.sparsity, shape.batch_tokens

    t = B // (DP * m * E)
    per_layer = layer_time(gpu, shape.d_ff // TP_ff, shape.d_model // TP_model, t)
    compute = (shape.n_layers // PP) * (E // EP) * m * per_layer
    dp_comm, dp_latency = data_parallel(network, n, w, shape.params, dp)
    tp_comm, tp_latency = tensor_parallel(network, n, w, shape, tp_model, tp_ff)
    pp_ep_comm, pp_ep_latency = pipeline_and_expert_parallel(network, n, w, shape, pp, ep, v)
    if assumptions.activations == "recomputed":
        compute *= 4 / 3
        tp_comm, tp_latency = tp_comm * 3 / 2, tp_latency * 3 / 2
        pp_ep_comm, pp_ep_latency = pp_ep_comm * 3 / 2, pp_ep_latency * 3 / 2

    overlapped = (pp_ep_comm if assumptions.overlap_pp else 0) + (tp_comm if assumptions.overlap_tp else 0)
    exposed = (0 if assumptions.overlap_pp else pp_ep_comm) + (0 if assumptions.overlap_tp else tp_comm)
    pipeline_latency = tp_latency + pp_ep_latency
    if schedule == "1F1B":
        z = (v - 1) * max(0, PP - m)
        bubble = (z + PP - 1) / (z + PP - 1 + v * m)
        pipeline = (max(compute, overlapped) + exposed) / (1 - bubble) + pipeline_latency
    else:
        bubble = 0.0
        pipeline = max(compute, overlapped, pipeline_latency) + exposed
    batch_time = (max(pipeline, dp_comm) if assumptions.overlap_dp else pipeline + dp_comm) + dp_latency

    return {
        "compute_s": compute,
        "tp_comm_s": tp_comm,
        "pp_ep_comm_s": pp_ep_comm,
        "dp_comm_s": dp_comm,
        "tp_latency_s": tp_latency,
        "pp_ep_latency_s": pp_ep_latency,
        "pipeline_latency_s": pipeline_latency,
        "dp_latency_s": dp_latency,
        "bubble": bubble,
        "step_s": batch_time,
    }


def levels(network: Sequence[Any]) -> Network:
    """The network levels of a configuration, innermost first (spec 3)."""
    return tuple(Level(level.bandwidth, level.latency_s) for level in network)


def complete(configuration: Any, shape: Any) -> Shape:
    """A pinned shape with the counts that follow from it (spec 1)."""
    fixed = (shape.d_model, shape.d_ff, shape.n_layers, shape.sparsity)
    return Shape(*fixed, *sizes(configuration.scaling, *fixed), shape.batch_tokens)


def evaluate(configuration: Any, shape: Any, strategy: Any) -> dict[str, float]:
    """One pinned strategy: seconds per step by part, and the whole run (spec 4)."""
    gpu, shape = rates(configuration.gpu), complete(configuration, shape)
    strategy = Strategy(*(getattr(strategy, field) for field in Strategy._fields))
    n = prod(map(prod, strategy[:5]))

    parts = step(gpu, levels(configuration.network), configuration.assumptions, shape, strategy)
    ideal_compute = 6 * (shape.params / shape.sparsity) * shape.batch_tokens / (gpu.max_flops * n)
    steps = shape.dataset_tokens / shape.batch_tokens
    return parts | {
        "steps": steps,
        "training_s": steps * parts["step_s"],
        "mfu": ideal_compute / parts["step_s"],
        "memory_bytes": memory(configuration, shape, strategy),
        "n_gpus": n,
    }


@lru_cache(2**16)
def divisors(n: int) -> tuple[int, ...]:
    """Every divisor of n, ascending."""
    found, p = [1], 2
    while n > 1:
        if p * p > n:
            p = n
        power, powers = 1, [1]
        while n % p == 0:
            n //= p
            power *= p
            powers.append(power)
        found = [d * q for d in found for q in powers]
        p += 1
    return tuple(sorted(found))


@lru_cache(2**16)
def microbatches(tokens: int, least: int, count: int) -> tuple[int, ...]:
    """The first count divisors of a data-parallel rank's tokens that are at least so many (spec 5)."""
    return tuple(m for m in divisors(tokens) if m >= least)[:count]


def unplaced_strategies(configuration: Any, shape: Shape, n: int) -> Iterator[Strategy]:
    """Every strategy for n GPUs before it is placed, as strategies over a single level (spec 5)."""
    assumptions, e, batch, layers = configuration.assumptions, shape.sparsity, shape.batch_tokens, shape.n_layers
    ep = gcd(n, e)
    for tp in divisors(n // ep):
        if shape.d_model * shape.d_ff % tp:
            continue
        low = isqrt(tp)
        splits = [(tp // f, f) for f in divisors(tp) if low <= f <= 4 * low]
        splits = [(d, f) for d, f in splits if shape.d_model % d == 0 and shape.d_ff % f == 0]
        for dp in divisors(n // ep // tp):
            pp = n // ep // tp // dp
            if batch % (e * dp) or layers % pp:
                continue
            v = layers // pp if pp > 1 and assumptions.interleaving else 1
            tokens = batch // (e * dp)
            schedules = [(m, v, "1F1B") for m in microbatches(tokens, pp, MICROBATCHES_1F1B)]
            if assumptions.zero_bubble:
                schedules += [(m, 1, "zero-bubble") for m in microbatches(tokens, 2 * pp, 1)]
            for tp_model, tp_ff in splits:
                for schedule in schedules:
                    yield Strategy((dp,), (tp_model,), (tp_ff,), (pp,), (ep,), *schedule)


def units_joined(network: Sequence[Any], n: int) -> tuple[int, ...]:
    """u: how many units each inner level joins (spec 5)."""
    joined: list[int] = []
    for level in network[:-1]:
        joined.append(max(u for u in divisors(n // prod(joined)) if u <= level.size))
    return tuple(joined)


@lru_cache(2**12)
def factorisations(u: int, limits: Degrees) -> list[Degrees]:
    """Every ordered factorisation of u into factors that divide the limits (spec 5)."""
    if len(limits) == 1:
        return [(u,)] if limits[0] % u == 0 else []
    return [
        (first, *others) for first in divisors(gcd(u, limits[0])) for others in factorisations(u // first, limits[1:])
    ]


@lru_cache(2**5)
def placements(whole: Degrees, joined: tuple[int, ...]) -> list[tuple[Degrees, ...]]:
    """Every factorisation of the degrees over the levels; the outermost takes what is left (spec 5)."""
    if not joined:
        return [tuple((degree,) for degree in whole)]
    return [
        tuple((i, *o) for i, o in zip(inner, outer, strict=True))
        for inner in factorisations(joined[0], whole)
        for outer in placements(tuple(d // i for d, i in zip(whole, inner, strict=True)), joined[1:])
    ]


def placed(unplaced: Strategy, joined: tuple[int, ...]) -> Iterator[Strategy]:
    """A strategy over a single level in each of its placements over the levels (spec 5)."""
    for placement in placements(tuple(degree for (degree,) in unplaced[:5]), joined):
        yield Strategy(*placement, *unplaced[5:])


def strategies(configuration: Any, shape: Shape, n: int) -> Iterator[Strategy]:
    """Every strategy for n GPUs in every placement, whether it fits in memory or not (spec 5)."""
    joined = units_joined(configuration.network, n)
    for unplaced in unplaced_strategies(configuration, shape, n):
        yield from placed(unplaced, joined)


def order(s: Strategy) -> tuple[int, ...]:
    """What is least in the better of two strategies of equal time and communication (spec 5)."""
    return prod(s.tp_model) * prod(s.tp_ff), prod(s.pp), prod(s.tp_ff), s.schedule == "zero-bubble", s.microbatches


def choose(timed: list[Timed]) -> Strategy | None:
    """The best of (step seconds, communication seconds, strategy), with the tie-breaks (spec 5)."""
    least = min((seconds for seconds, _, _ in timed), default=inf)
    fastest = [(comm, strategy) for seconds, comm, strategy in timed if seconds <= least * (1 + TIE)]
    least = min((comm for comm, _ in fastest), default=inf)
    return min((strategy for comm, strategy in fastest if comm <= least * (1 + TIE)), key=order, default=None)


def timed(configuration: Any, network: Network, shape: Shape, candidates: Iterable[Strategy]) -> Iterator[Timed]:
    """The candidates that fit in memory, with their times on a network (spec 5)."""
    gpu, assumptions = rates(configuration.gpu), configuration.assumptions
    for strategy in candidates:
        if memory(configuration, shape, strategy) <= prod(map(prod, strategy[:5])) * gpu.hbm_bytes:
            parts = step(gpu, network, assumptions, shape, strategy)
            yield parts["step_s"], parts["tp_comm_s"] + parts["dp_comm_s"] + parts["pp_ep_comm_s"], strategy


def timed_unless_hopeless(configuration: Any, shape: Shape, n: int, limit_s: float) -> list[Timed]:
    """Every strategy whose bound, on one merged network level, does not rule it out (spec 5)."""
    network, joined = levels(configuration.network), units_joined(configuration.network, n)
    merged = (Level(sum(level.bandwidth for level in network), min(level.latency_s for level in network)),)
    bounded = timed(configuration, merged, shape, unplaced_strategies(configuration, shape, n))

    least, kept = limit_s * shape.batch_tokens / shape.dataset_tokens, []
    for bound_s, _, unplaced in sorted(bounded, key=itemgetter(0)):
        if bound_s > least * (1 + 2 * TIE):
            break
        for each in timed(configuration, network, shape, placed(unplaced, joined)):
            if each[0] <= least * (1 + 2 * TIE):
                kept.append(each)
                least = min(least, each[0])
    return kept


def best_strategy(
    configuration: Any, shape: Any, n: int, prune: bool = True, limit_s: float = inf
) -> tuple[Strategy, dict[str, float]] | None:
    """The strategy of least training time on n GPUs; if pruned, only one that trains within the limit (spec 5)."""
    shape = complete(configuration, shape)
    if prune:
        best = choose(timed_unless_hopeless(configuration, shape, n, limit_s))
    else:
        every = strategies(configuration, shape, n)
        best = choose(list(timed(configuration, levels(configuration.network), shape, every)))
    return (best, evaluate(configuration, shape, best)) if best else None


def first_cluster(configuration: Any, shape: Shape, prune: bool) -> tuple[Strategy, dict[str, float]] | None:
    """The best strategy of the smallest cluster that meets the deadline (spec 5)."""
    deadline_s = configuration.assumptions.training_months / 12 * SECONDS_PER_YEAR
    flops = rates(configuration.gpu).flops
    for i in range(60):
        n = shape.sparsity << i
        if shape.training_flop / (deadline_s * flops) <= n < 2**63:
            best = best_strategy(configuration, shape, n, prune, deadline_s)
            if best and best[1]["training_s"] < deadline_s:
                return best
    return None


def simulate(configuration: Any, prune: bool = True) -> list[dict[str, Any]]:
    """One row per width, ascending, up to the latency wall or a vanishing MFU (spec 1, 5)."""
    rows: list[dict[str, Any]] = []
    for d_model in widths(configuration.sweep):
        shape = shape_of(configuration, d_model)
        best = first_cluster(configuration, shape, prune)
        if best is None:
            break
        strategy, result = best
        placement = dict(zip(Strategy._fields[:5], strategy[:5], strict=True))
        row = shape._asdict() | strategy._asdict() | result
        row |= {f"{name}_levels": degrees for name, degrees in placement.items()}
        row |= {name: prod(degrees) for name, degrees in placement.items()}
        row["tp"] = row["tp_model"] * row["tp_ff"]
        rows.append(row)
        if row["mfu"] < LAST_MFU:
            break
    return rows


def linear_scaling_end(
    rows: Sequence[dict[str, Any]], effective_utilization: float, threshold: float = 0.8
) -> float | None:
    """Training FLOP of the first point whose MFU is at most threshold · η (spec 6)."""
    return next((r["training_flop"] for r in rows if r["mfu"] <= threshold * effective_utilization), None)
