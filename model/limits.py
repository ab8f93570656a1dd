"""What is read off a curve, and the closed forms beside it (spec section 6)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from model.arrays import Floats, Numbers
from model.configuration import FLOP_REFERENCE, Gpu, Hardware, NetworkLevel

if TYPE_CHECKING:
    import pandas as pd

LIMITS = {"Linear scaling ends": "linear_scaling_end_flop", "Latency wall": "latency_wall_flop"}  # columns by titles
AT_THE_END = ("params", "n_gpus", "dp", "tp", "pp", "ep", "mfu")

# The articles' arithmetic, which rounds differently from the simulation.
QUARTER_S = 365.25 * 86400 / 4
REFERENCE_BATCH = 4e6  # tokens at FLOP_REFERENCE
REFERENCE_LAYERS = 100
KERNEL_AND_NETWORK_S = 9e-6  # latency of a matmul and the communication after it
WAITING_MATMULS = 4  # of a layer, one after the other: two forward, two backward
LATENCY = "Latency"  # the curve beside those of hardware


def training_limits(frame: "pd.DataFrame", threshold: float = 0.8) -> "pd.DataFrame":
    """Where each configuration's curve leaves linear scaling, and where it ends.

    Parameters
    ----------
    frame : DataFrame
        Rows of `simulate`, of one configuration or of several.
    threshold : float
        Share of the peak sustained utilization that MFU must stay above.

    Returns
    -------
    DataFrame
        One row per configuration: configuration, gpu, sparse, threshold; linear_scaling_end_flop, the first point at or
        below the threshold, and params, n_gpus, dp, tp, pp, ep, mfu there (missing if the curve never falls to it);
        last_above_flop, the last point above it (missing if there is none); recrosses, whether the curve crosses it
        more than once; latency_wall_flop, the largest feasible training FLOP.

    Raises
    ------
    ValueError
        If the threshold is not between 0 and 1, or two curves have one name.

    Examples
    --------
    >>> from model import load_presets, simulate, training_limits
    >>> h100 = load_presets()["GPU generations, dense"].configurations[0]
    >>> limits = training_limits(simulate(h100))
    >>> f"{limits.linear_scaling_end_flop[0]:.2e}"
    '2.05e+28'
    """
    import pandas as pd

    if not 0 < threshold < 1:
        raise ValueError(f"threshold must be above 0 and below 1, got {threshold}")
    codes, names = pd.factorize(frame["configuration"])
    curves = [np.flatnonzero(codes == code) for code in range(len(names))]
    widths, training_flop, factor = (frame[name].to_numpy() for name in ("d_model", "training_flop", "sparsity"))
    for name, rows in zip(names, curves, strict=True):
        if (np.diff(widths[rows]) <= 0).any():
            raise ValueError(f"several curves are named {name!r}: rename their configurations")
    is_above = frame["fraction_of_peak"].to_numpy() > threshold
    ends = np.array([rows[np.argmin(is_above[rows])] for rows in curves], int)
    reached = ~is_above[ends]  # if all points are above, the first is taken, and left out below
    at_the_end = {name: frame[name].to_numpy()[ends] for name in AT_THE_END}
    return pd.DataFrame(
        {
            "configuration": names,
            "gpu": frame["gpu"].to_numpy()[ends],
            "sparse": np.array([(factor[rows] > 1).any() for rows in curves], bool),
            "threshold": np.full(len(curves), threshold, float),
            "linear_scaling_end_flop": np.where(reached, training_flop[ends], np.nan),
            "last_above_flop": np.array(
                [training_flop[rows[is_above[rows]]].max(initial=0) or np.nan for rows in curves], float
            ),
            "recrosses": np.array([np.count_nonzero(np.diff(is_above[rows])) > 1 for rows in curves], bool),
            "latency_wall_flop": np.array([training_flop[rows].max() for rows in curves], float),
        }
        | {
            name: pd.arrays.IntegerArray(values, ~reached)
            if values.dtype.kind == "i"
            else np.where(reached, values, np.nan)
            for name, values in at_the_end.items()
        }
    )


def latency_wall(
    training_s: ArrayLike,
    batch_tokens: Numbers,
    n_layers: ArrayLike,
    latency_s: Numbers,
    tokens_per_parameter: Numbers = 20,
) -> tuple[Floats, Floats]:
    """The largest model whose steps can follow each other in time, if every matmul waits for one latency.

    Parameters
    ----------
    training_s, batch_tokens, n_layers, latency_s : array_like
        Seconds of training, tokens per step, layers, seconds per matmul and its communication.
    tokens_per_parameter : array_like
        That the model is trained on.

    Returns
    -------
    params, training_flop : ndarray
        N, of which N · tokens_per_parameter / batch_tokens steps fill the training time if each takes 4 · n_layers ·
        latency (two matmuls of a layer forward, two backward), and C = 6 · tokens_per_parameter · N² FLOP ("Data
        movement bottlenecks to large-scale model training", Epoch AI 2024).

    Examples
    --------
    >>> params, training_flop = latency_wall(training_s=7.9e6, batch_tokens=4e6, n_layers=120, latency_s=9e-6)
    >>> f"{params:.1e} parameters, {training_flop:.1e} FLOP"
    '3.7e+14 parameters, 1.6e+31 FLOP'
    """
    most_steps = np.asarray(training_s) / (WAITING_MATMULS * np.asarray(n_layers) * latency_s)
    params = most_steps * batch_tokens / tokens_per_parameter
    return params, 6 * tokens_per_parameter * params**2


class NodeRates(NamedTuple):
    """What a node does in a second, and the intensities of arithmetic that its bandwidths need.

    Attributes
    ----------
    mac_per_s : float
        Multiply-adds per second at peak.
    shard : float
        Multiply-adds for each word of the network between nodes, times 4/3: the width of a shard of the weights below
        which that network binds.
    nano : float
        Multiply-adds for each word of memory: the tokens of a nanobatch below which memory binds.
    """

    mac_per_s: float
    shard: float
    nano: float


def node_rates(gpu: Gpu, network: tuple[NetworkLevel, ...]) -> NodeRates:
    """The rates of a node, which the innermost level is; the outermost connects nodes. One level: nodes of one GPU."""
    node = network[0].size or 1
    mac_per_s = node * gpu.max_flop_per_s / 2
    net_words_per_s = node * network[-1].bandwidth / (2 * gpu.word_bytes)
    mem_words_per_s = node * gpu.hbm_bandwidth / (2 * gpu.word_bytes)
    return NodeRates(mac_per_s, 4 * mac_per_s / (3 * net_words_per_s), mac_per_s / mem_words_per_s)


def critical_compute(gpu: Gpu, network: tuple[NetworkLevel, ...], exponent_difference: ArrayLike) -> Floats:
    """Training FLOP at which a node runs out of bandwidth, however the run is parallelised, in closed form.

    Parameters
    ----------
    gpu : Gpu
    network : tuple of NetworkLevel
        The innermost level is the node; the outermost connects nodes. One level is taken as nodes of one GPU.
    exponent_difference : array_like
        α, by how much faster the batch grows with training FLOP than the depth, as exponents; below 1/2.

    Returns
    -------
    ndarray
        FLOP (Erdil & Schneider-Joseph 2024, arXiv:2411.01137; three months).
    """
    mac_per_s, shard, nano = node_rates(gpu, network)
    alpha, batch_over_depth = _batch_over_depth(exponent_difference)
    with np.errstate(divide="ignore"):  # an infinite network has no limit
        params = batch_over_depth * mac_per_s * QUARTER_S / (shard**2 * nano)  # 240 N: 12 multiply-adds, 20 tokens
    return 2 * (params**2 / 960) ** (1 / (1 - 2 * alpha))  # at α = 0, 120 N²


def closed_form_walls(
    gpu: Gpu,
    network: tuple[NetworkLevel, ...],
    exponent_difference: float,
    training_s: float,
    batch_tokens: float,
    n_layers: float,
    latency_s: float,
    tokens_per_parameter: float,
) -> "pd.DataFrame":
    """Both walls in closed form, to compare a curve with: the arguments are those of the formulas.

    Returns
    -------
    DataFrame
        wall ("Critical compute" and "Latency wall") and training_flop in FLOP, infinite where nothing stops growth.
    """
    import pandas as pd

    critical = critical_compute(gpu, network, exponent_difference)
    _, latency = latency_wall(training_s, batch_tokens, n_layers, latency_s, tokens_per_parameter)
    return pd.DataFrame({"wall": ["Critical compute", "Latency wall"], "training_flop": [float(critical), latency]})


def kernel_and_network_s(gpu: Gpu, network: tuple[NetworkLevel, ...]) -> float:
    """Latency of a matmul and of the all-reduce after it, which passes every level to and fro, in s.

    Examples
    --------
    >>> from model import load_hardware
    >>> h100 = load_hardware()["H100 SXM"]
    >>> f"{kernel_and_network_s(h100.gpu, h100.network):.1e}"
    '9.0e-06'
    """
    return gpu.matmul_latency_s + 2 * sum(level.latency_s for level in network)


def latency_limit(exponent_difference: ArrayLike, latency_s: float = KERNEL_AND_NETWORK_S) -> Floats:
    """Training FLOP that latency alone allows in three months, in closed form (same source as `critical_compute`).

    Parameters
    ----------
    exponent_difference : array_like
        α, as in `critical_compute`.
    latency_s : float
        Seconds per matmul and its communication.

    Returns
    -------
    ndarray
        FLOP.
    """
    alpha, batch_over_depth = _batch_over_depth(exponent_difference)
    params = batch_over_depth * QUARTER_S / latency_s  # 80 N: 4 waiting matmuls of a layer, 20 tokens
    return 2 * (3 / 320 * params**2) ** (1 / (1 - 2 * alpha))  # at α = 0, 120 N²


def critical_compute_curves(
    hardware: Mapping[str, Hardware], exponent_differences: ArrayLike, latency_s: float = KERNEL_AND_NETWORK_S
) -> "pd.DataFrame":
    """The closed forms against α, one curve after the other: where each hardware, and where latency, stops growth.

    Parameters
    ----------
    hardware : dict of Hardware
        By the names of their curves.
    exponent_differences : array_like, of one dimension
        α, as in `critical_compute`.
    latency_s : float
        As in `latency_limit`.

    Returns
    -------
    DataFrame
        A row for every curve and α: curve, a name, the last of them `LATENCY`; exponent_difference; training_flop, of
        `critical_compute` for hardware and of `latency_limit` for latency.

    Examples
    --------
    >>> from model import load_hardware
    >>> curves = critical_compute_curves({"H100": load_hardware()["H100 SXM"]}, [0, 0.2])
    >>> [f"{row.curve}: {row.training_flop:.1e}" for row in curves.itertuples()]
    ['H100: 1.9e+28', 'H100: 1.9e+31', 'Latency: 2.3e+31', 'Latency: 2.6e+36']
    """
    import pandas as pd

    curves = {name: critical_compute(each.gpu, each.network, exponent_differences) for name, each in hardware.items()}
    curves |= {LATENCY: latency_limit(exponent_differences, latency_s)}
    return pd.concat(
        [
            pd.DataFrame({"curve": name, "exponent_difference": exponent_differences, "training_flop": training_flop})
            for name, training_flop in curves.items()
        ],
        ignore_index=True,
    )


def _batch_over_depth(exponent_difference: ArrayLike) -> tuple[Floats, Floats]:
    """α, and tokens per step over layers at one FLOP if their ratio grows as FLOP^α (F of the spec)."""
    alpha = np.asarray(exponent_difference, dtype=float)
    if np.any(alpha >= 0.5):
        raise ValueError(f"exponent_difference must be below 1/2, where the limit becomes infinite, got {alpha.max()}")
    return alpha, REFERENCE_BATCH / REFERENCE_LAYERS * FLOP_REFERENCE**-alpha
