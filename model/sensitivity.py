"""What would move the limits: each quantity doubled and halved, and bandwidth against latency.

Models and clusters come in round sizes, so curves are jagged, and the first point below a threshold leaps from one
width to another. What is compared here does not. At each width the best MFU of all clusters that finish in time is
taken; between widths it is interpolated linearly in log(training FLOP). Linear scaling is said to end where it would if
the curve's stretches above the threshold were put together, without the dips between them: for a curve that falls only
once, where it crosses the threshold. The latency wall is interpolated between the last width that ends in time and the
next, by the least training time of any cluster. What makes no strategy slower raises the best MFU and lowers the least
time at every width, and so can lower neither limit.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from model.arrays import Booleans, Floats, Integers
from model.characters import isolated
from model.cluster_size import LARGEST_CLUSTER, LARGEST_EXPONENT, smallest_clusters
from model.configuration import MAX_D_MODEL, Configuration
from model.gpu import MATMULS
from model.integers import POWERS_OF_TWO
from model.progress import Progress, TooMuchWork
from model.scaling import Shapes, sweep_shapes
from model.search import Clusters, ClusterSearch
from model.step import Steps, Strategies, deadline, step_times
from model.workload import MOST_OF_ATTAINABLE, Together, bounded

if TYPE_CHECKING:
    import pandas as pd

EXPONENTS = np.arange(LARGEST_EXPONENT + 1)
SLOWER = (2, 8, 64, 4096)  # times the deadline, up to which the least time beyond the latency wall is looked for
SMALLEST_PART, LARGER_PART, SEARCH_PART = 0.45, 0.15, 0.3  # shares of the work that is left which parts are taken to be
IMPROVEMENTS = tuple(2.0 ** (half / 2) for half in range(-4, 13))  # of the map: from a quarter to 64 times

Attainable = Callable[..., "pd.DataFrame"]  # what `attainable` is
Change = Callable[[Configuration, float], Configuration]
By = TypeVar("By")


class ComparableLimits(NamedTuple):
    """The limits of a curve as they are compared, in FLOP.

    Attributes
    ----------
    linear_scaling_end_flop, latency_wall_flop : float
        Missing if not even the smallest model ends in time.
    above : bool
        Whether any of the curve is above the threshold: if not, linear scaling ends at or before the first width.
    ends : bool
        Whether the curve ends at a wall: if not, a limit at its end is a lower bound.
    """

    linear_scaling_end_flop: float
    latency_wall_flop: float
    above: bool
    ends: bool


# Curves without their jags


def attainable(configuration: Configuration, *, progress: Callable[[float], None] | None = None) -> "pd.DataFrame":
    """The best MFU of all clusters that train each model in time, to compare limits by.

    Parameters
    ----------
    configuration : Configuration
        Its sweep is continued beyond its largest width, up to the wall, as far as the scaling laws allow.
    progress : callable, optional
        As in `simulate`.

    Returns
    -------
    DataFrame
        d_model; training_flop; fraction_of_peak, MFU over effective utilization: a row per width, ascending, up to the
        first that no cluster trains in time, where it is 0. `attrs["latency_wall_flop"]` is the training FLOP that
        would just end in time (missing if the first width does not), `attrs["ends"]` whether there is such a wall,
        `attrs["operations"]` the work that it took, as `Progress` counts.

    Raises
    ------
    ValueError
        As `simulate`.
    """
    import pandas as pd

    shapes = _continued(configuration)
    with bounded(configuration, None, MOST_OF_ATTAINABLE, progress) as work:
        with work.part(SMALLEST_PART):
            trained, strategies = smallest_clusters(configuration, shapes, work)
        steps = step_times(configuration, shapes.take(trained), strategies)
        with work.part(LARGER_PART):
            mfu = _best_mfu(configuration, shapes.take(trained), strategies, steps, work)
        ends = len(trained) < len(shapes)
        rows = shapes.take(np.arange(len(trained) + ends))
        wall = rows.training_flop[-1] if len(trained) else np.nan
        if ends and len(trained):
            wall = _wall(configuration, rows, steps.time[-1] * rows.steps[-2], work)
    fraction = np.zeros(len(rows))
    fraction[: len(trained)] = mfu / configuration.gpu.effective_utilization
    frame = pd.DataFrame({"d_model": rows.d_model, "training_flop": rows.training_flop, "fraction_of_peak": fraction})
    frame.attrs.update(latency_wall_flop=float(wall), ends=ends, operations=work.spent)
    if progress is not None:
        progress(1.0)
    return frame


def _continued(configuration: Configuration) -> Shapes:
    """The models of the sweep and, if the laws reach so far, larger ones."""
    sweep = configuration.sweep.model_copy(update={"d_model_max": MAX_D_MODEL})
    try:
        return sweep_shapes(configuration.model_copy(update={"sweep": sweep}))
    except ValueError:
        return sweep_shapes(configuration)


def _best_mfu(
    configuration: Configuration, shapes: Shapes, strategies: Strategies, steps: Steps, work: Progress
) -> Floats:
    """The best MFU of each model on its smallest cluster, whose strategies are given, and on all larger ones."""
    best = steps.mfu.copy()
    gpu_seconds = steps.time * strategies.n_gpus  # of a step; what has fewer has a higher MFU
    limit = gpu_seconds[:, None] / _n_gpus(shapes)
    larger = _n_gpus(shapes) > strategies.n_gpus[:, None]
    model, found, better = _searched(configuration, shapes, limit, larger, work)
    np.maximum.at(best, model, step_times(configuration, found, better).mfu)
    return best


def _wall(configuration: Configuration, shapes: Shapes, known_s: float, work: Progress) -> float:
    """Training FLOP at which the least training time is the deadline, between the last two models.

    `known_s` is a training time of the one before the last, which meets the deadline.
    """
    last, beyond = (shapes.take(np.array([index])) for index in (-2, -1))
    longest = deadline(configuration.assumptions)
    before = min(known_s, _least_training_time(configuration, last, (known_s,), work))
    after = _least_training_time(configuration, beyond, [slower * longest for slower in SLOWER], work)
    share = (np.log(longest) - np.log(before)) / (np.log(after) - np.log(before))
    return float(np.exp((1 - share) * np.log(last.training_flop[0]) + share * np.log(beyond.training_flop[0])))


def _least_training_time(
    configuration: Configuration, model: Shapes, bounds_s: Sequence[float], work: Progress
) -> float:
    """The least training time of one model on any cluster, in s; infinite if none is below the last of the bounds."""

    def searched(below_s: float, most: int | None) -> float:
        limit = np.full((1, len(EXPONENTS)), below_s / model.steps[0])
        with work.part(SEARCH_PART):
            _, found, strategies = _searched(configuration, model, limit, np.ones(limit.shape, dtype=bool), work, most)
        return float(model.steps[0] * step_times(configuration, found, strategies).time.min(initial=np.inf))

    # The likeliest cluster first: its time rules out nearly all others.
    marks = (searched(bound_s, most) for bound_s in bounds_s for most in (1, None))
    mark = next(filter(np.isfinite, marks), np.inf)
    return min(mark, searched(mark, None)) if mark < np.inf else mark


def _n_gpus(shapes: Shapes) -> Floats:
    """GPUs of every cluster that a model can have, (models, exponents)."""
    return shapes.sparsity[:, None] * POWERS_OF_TWO[EXPONENTS]


def _searched(
    configuration: Configuration,
    shapes: Shapes,
    limit: Floats,
    wanted: Booleans,
    work: Progress,
    most: int | None = None,
) -> tuple[Integers, Shapes, Strategies]:
    """The best strategies below the limits (step times) of the wanted clusters, both (models, exponents).

    Returns the number of each one's model, the model and the strategy; of the `most` likeliest clusters, if given.
    """
    kernels = MATMULS * shapes.n_layers * configuration.gpu.matmul_latency_s
    wanted = wanted & (_n_gpus(shapes) < LARGEST_CLUSTER) & (limit > kernels[:, None])
    model, exponent = np.nonzero(wanted)
    clusters = Clusters(shapes.take(model), exponent, limit[model, exponent])
    search = ClusterSearch(configuration, clusters, work)
    search.tighten(np.nonzero(search.floor < search.limit)[0])
    hopeful = np.nonzero(search.floor < search.limit)[0]
    likeliest = hopeful[np.argsort(search.floor[hopeful], kind="stable")][:most]
    index, strategies = search.best(np.sort(likeliest))
    return model[index], clusters.shapes.take(index), strategies


def comparable_limits(curve: "pd.DataFrame", threshold: float = 0.8) -> ComparableLimits:
    """Where linear scaling ends and the latency wall, by a measure that does not leap with the jags of a curve.

    Parameters
    ----------
    curve : DataFrame
        Of `attainable`.
    threshold : float
        As in `training_limits`.

    Returns
    -------
    ComparableLimits
        The end of linear scaling is never beyond the wall.

    Raises
    ------
    ValueError
        If the threshold is not between 0 and 1.
    """
    if not 0 < threshold < 1:
        raise ValueError(f"threshold must be above 0 and below 1, got {threshold}")
    wall, ends = curve.attrs["latency_wall_flop"], curve.attrs["ends"]
    excess = curve["fraction_of_peak"].to_numpy() - threshold
    if not (excess > 0).any():
        first = np.nan if np.isnan(wall) else curve["training_flop"].iloc[0]
        return ComparableLimits(float(first), wall, False, ends)
    log_flop = np.log(curve["training_flop"].to_numpy())
    high, low = np.maximum(excess[:-1], excess[1:]), np.minimum(excess[:-1], excess[1:])
    share_above = np.clip(np.divide(high, high - low, out=np.ones_like(high), where=low < np.minimum(high, 0)), 0, 1)
    end = np.exp(log_flop[0] + (np.diff(log_flop) * share_above).sum())
    return ComparableLimits(float(min(end, wall)), wall, True, ends)


# What moves the limits


def quantities(configuration: Configuration) -> dict[str, Change]:
    """What of hardware and algorithms can be scaled, by title: functions of a configuration and a factor."""
    names = [isolated(level.name) for level in configuration.network]
    titles = [f"{name} (level {index})" if len({*names}) < len(names) else name for index, name in enumerate(names, 1)]
    return {
        "FLOP/s": _scaled_flop,
        "Memory bandwidth": partial(_scaled, ("gpu", "hbm_bandwidth")),
        "L2 bandwidth": partial(_scaled, ("gpu", "l2_bandwidth")),
        "L2 size": partial(_scaled, ("gpu", "l2_bytes")),
        "Matmul latency": partial(_scaled, ("gpu", "matmul_latency_s")),
        **{f"{title}: bandwidth": partial(_scaled_level, i, "bandwidth") for i, title in enumerate(titles)},
        **{f"{title}: latency": partial(_scaled_level, i, "latency_s") for i, title in enumerate(titles)},
        **{f"{title}: size": partial(_scaled_level, i, "size") for i, title in enumerate(titles[:-1])},
        "Batch size": partial(_scaled, ("scaling", "batch_multiplier")),
        "Depth": partial(_scaled, ("scaling", "depth_multiplier")),
        "Training time": partial(_scaled, ("assumptions", "training_months")),
    }


def _scaled(path: tuple[str, str], configuration: Configuration, factor: float) -> Configuration:
    part, name = path
    inner = getattr(configuration, part)
    return configuration.model_copy(update={part: inner.model_copy(update={name: factor * getattr(inner, name)})})


def _scaled_flop(configuration: Configuration, factor: float) -> Configuration:
    rates = configuration.gpu.flop_per_clock_per_thread
    scaled = {bits: factor * rate for bits, rate in rates.items()}
    gpu = configuration.gpu.model_copy(update={"flop_per_clock_per_thread": scaled})
    return configuration.model_copy(update={"gpu": gpu})


def _scaled_level(index: int, name: str, configuration: Configuration, factor: float) -> Configuration:
    levels = list(configuration.network)
    value = factor * getattr(levels[index], name)
    levels[index] = levels[index].model_copy(update={name: max(1, round(value)) if name == "size" else value})
    return configuration.model_copy(update={"network": tuple(levels)})


def sensitivities(
    configuration: Configuration,
    threshold: float = 0.8,
    *,
    factor: float = 2,
    progress: Callable[[float], None] | None = None,
    attainable: Attainable = attainable,
) -> "pd.DataFrame":
    """How far the limits move if each quantity is multiplied, and divided, by a factor.

    Parameters
    ----------
    configuration : Configuration
    threshold : float
        As in `training_limits`.
    factor : float
        Above 1.
    progress : callable, optional
        As in `simulate`.
    attainable : callable, optional
        Takes the place of `attainable`, for instance to remember what it gave before.

    Returns
    -------
    DataFrame
        Two rows per quantity: quantity; factor, the given one or its inverse; linear_scaling_end_flop and
        latency_wall_flop as `comparable_limits` has them (missing if the schema or a law refuses the changed quantity,
        or its curve would be too much work),
        with above and ends; linear_scaling_end_ratio and latency_wall_ratio, those over the unchanged ones, which are
        in `attrs["unchanged"]` (ComparableLimits); the first is missing where a curve is nowhere above the threshold.
    """
    import pandas as pd

    cases = [(title, by, change) for title, change in quantities(configuration).items() for by in (factor, 1 / factor)]
    changes = [(change, by) for _, by, change in cases]
    unchanged, found = _limits_of_each(configuration, changes, threshold, attainable, progress)
    frame = pd.DataFrame(found, columns=list(ComparableLimits._fields))
    frame.insert(0, "quantity", [title for title, _, _ in cases])
    frame.insert(1, "factor", [by for _, by, _ in cases])
    for limit in ("linear_scaling_end", "latency_wall"):
        frame[f"{limit}_ratio"] = frame[f"{limit}_flop"] / getattr(unchanged, f"{limit}_flop")
    frame.loc[~(frame["above"] & unchanged.above), "linear_scaling_end_ratio"] = np.nan
    frame.attrs["unchanged"] = unchanged
    return frame


def tornado(found: "pd.DataFrame", limit: str) -> "pd.DataFrame":
    """What a tornado chart of one limit shows, the quantities that move it most first.

    Parameters
    ----------
    found : DataFrame
        Of `sensitivities`.
    limit : str
        A column of it: linear_scaling_end_flop or latency_wall_flop.

    Returns
    -------
    DataFrame
        Rows of `found` that say something: quantity; factor; rank, from 0, by the farthest that the quantity is known
        to move the limit; ratio, by which it does; open, -1 where with the change no run is above the threshold any
        more, 1 where only then some run is, and 0 else: the ratio of such a bar is missing.
    """
    unchanged = found.attrs["unchanged"]
    ratio = found[limit.replace("_flop", "_ratio")]
    open_ended = (
        (found["above"].astype(int) - unchanged.above) if limit == "linear_scaling_end_flop" else 0 * found.index
    )
    bars = found[["quantity", "factor"]].assign(ratio=ratio, open=open_ended)
    bars = bars[found[limit].notna() & (bars["ratio"].notna() | (bars["open"] != 0))]
    farthest = np.log(bars["ratio"]).abs().fillna(0).groupby(bars["quantity"], sort=False).max()
    ranks = farthest.rank(method="first", ascending=False).astype(int) - 1
    return bars.assign(rank=bars["quantity"].map(ranks))


def improvement_map(
    configuration: Configuration,
    threshold: float = 0.8,
    *,
    bandwidths: Sequence[float] = IMPROVEMENTS,
    latencies: Sequence[float] = IMPROVEMENTS,
    progress: Callable[[float], None] | None = None,
    attainable: Attainable = attainable,
) -> "pd.DataFrame":
    """The largest runs over better networks: bandwidth against latency.

    Parameters
    ----------
    configuration : Configuration
    threshold : float
        As in `training_limits`.
    bandwidths, latencies : sequence of float
        Factors by which the bandwidths of all network levels are multiplied, and by which the latencies of all levels
        and of matmuls are divided.
    progress, attainable : callable, optional
        As in `sensitivities`.

    Returns
    -------
    DataFrame
        A row per pair, latencies innermost: bandwidth_factor, latency_factor, and linear_scaling_end_flop,
        latency_wall_flop, above, ends as `comparable_limits` has them.
    """
    import pandas as pd

    pairs = [(bandwidth, latency) for bandwidth in bandwidths for latency in latencies]
    changes = [(_improved, pair) for pair in pairs]
    _, found = _limits_of_each(configuration, changes, threshold, attainable, progress)
    frame = pd.DataFrame(found, columns=list(ComparableLimits._fields))
    frame.insert(0, "bandwidth_factor", [bandwidth for bandwidth, _ in pairs])
    frame.insert(1, "latency_factor", [latency for _, latency in pairs])
    return frame


def _improved(configuration: Configuration, factors: tuple[float, float]) -> Configuration:
    """The configuration with all bandwidths of the network multiplied, and all latencies divided, by factors."""
    bandwidth, latency = factors
    network = tuple(
        level.model_copy(update={"bandwidth": bandwidth * level.bandwidth, "latency_s": level.latency_s / latency})
        for level in configuration.network
    )
    gpu = configuration.gpu.model_copy(update={"matmul_latency_s": configuration.gpu.matmul_latency_s / latency})
    return configuration.model_copy(update={"gpu": gpu, "network": network})


def _limits_of_each(
    configuration: Configuration,
    changes: Sequence[tuple[Callable[[Configuration, By], Configuration], By]],
    threshold: float,
    attainable: Attainable,
    progress: Callable[[float], None] | None,
) -> tuple[ComparableLimits, list[ComparableLimits]]:
    """The limits of a configuration, and with each change made: a function of the configuration and what it is told.

    They are missing where the schema or a law does not allow the change, or its curve alone would be too much work.
    """
    tell = _shares(progress, len(changes) + 1)
    unchanged = attainable(configuration, progress=next(tell))
    work = Together(configuration, len(changes))
    work.expect(unchanged.attrs["operations"])
    found = []
    for (change, by), listener in zip(changes, tell, strict=True):
        limits, spent = ComparableLimits(np.nan, np.nan, False, False), 0.0
        try:
            curve = attainable(change(configuration, by), progress=listener)
            limits, spent = comparable_limits(curve, threshold), curve.attrs["operations"]
        except TooMuchWork:
            spent = MOST_OF_ATTAINABLE
        except ValueError:  # pydantic's is one
            pass
        work.spend(spent)
        found.append(limits)
    return comparable_limits(unchanged, threshold), found


def _shares(progress: Callable[[float], None] | None, count: int) -> Iterator[Callable[[float], None] | None]:
    """A listener for each of so many equal parts of the work, that tells `progress` of the whole."""
    for index in range(count):
        yield None if progress is None else partial(_tell_share, progress, count, index)


def _tell_share(progress: Callable[[float], None], count: int, index: int, share: float) -> None:
    progress((index + share) / count)
