"""Time of a matrix multiplication on one GPU, through its memory hierarchy (spec section 2).

Every function takes and returns arrays that broadcast against each other.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from model.arrays import Booleans, Floats, Numbers
from model.configuration import Gpu

USABLE = 0.75  # share of registers and L2 that a kernel can fill with tiles
TENSOR_CORE = 8  # tensor cores work in chunks of 8 × 8 × 8
MATMULS = 6  # of a layer, forward and backward
BLOCKS_PER_SM = 4  # processing blocks of a streaming multiprocessor
SHARED_BYTES_PER_CLOCK = 32 * 4  # banks × bytes, per SM


class Tiles(NamedTuple):
    """Rows and columns of tiles that a weight matrix is cut into, not rounded."""

    rows: Floats
    columns: Floats


class Tilings(NamedTuple):
    """The tiles of one weight matrix at each level of the memory hierarchy."""

    hbm: Tiles
    sm: Tiles
    sm_peer: Tiles
    register: Tiles


class MatmulBounds(NamedTuple):
    """Seconds that a matmul spends at each level if nothing else holds it up, to broadcast against each other."""

    hbm_s: Floats
    l2_s: Floats
    shared_memory_s: Floats
    tensor_core_s: Floats
    latency_s: float

    @property
    def memory_s(self) -> Floats:
        """The slowest level of the memory hierarchy."""
        return np.maximum(np.maximum(self.hbm_s, self.l2_s), self.shared_memory_s)

    @property
    def time_s(self) -> Floats:
        """The slowest of memory and tensor cores, which work at the same time, plus the latency of a kernel."""
        return np.maximum(self.memory_s, self.tensor_core_s) + self.latency_s


def register_bytes(gpu: Gpu) -> float:
    """Usable register bytes of one processing block (REG of the spec)."""
    return USABLE * gpu.register_bytes_per_block


def l2_capacity(gpu: Gpu) -> float:
    """Bytes that stay on the GPU between reads of HBM."""
    return max(USABLE * gpu.l2_bytes, BLOCKS_PER_SM * register_bytes(gpu))


def shared_bandwidth(gpu: Gpu) -> float:
    """Bandwidth of all shared memory, bytes/s."""
    return SHARED_BYTES_PER_CLOCK * gpu.sm_count * gpu.effective_utilization * gpu.max_clock_hz


def tile(m: Floats, n: Floats, capacity: float, word_bytes: float) -> Tiles:
    """Cut an m × n matrix into equal tiles of at most `capacity` bytes, as square as they can be."""
    count = np.ceil(m * n * word_bytes / capacity)
    words = m * n / count
    height = np.maximum(np.minimum(m, np.sqrt(words)), words / n)
    return Tiles(m / height, n / (words / height))


def tilings(gpu: Gpu, d1: Floats, d2: Floats) -> Tilings:
    """The tiles of a d1 × d2 weight matrix at each level."""
    register = register_bytes(gpu)
    sm = BLOCKS_PER_SM * register
    sm_tiles = tile(d1, d2, sm, gpu.word_bytes)
    one = Tiles(np.ones(()), np.ones(()))
    return Tilings(
        hbm=tile(d1, d2, l2_capacity(gpu), gpu.word_bytes),
        sm=tile(d1, d2, sm * gpu.sm_count, gpu.word_bytes) if gpu.distributed_shared_memory else sm_tiles,
        sm_peer=sm_tiles if gpu.distributed_shared_memory else one,
        register=tile(d1, d2, register, gpu.word_bytes),
    )


def io(
    d1: Floats,
    d2: Floats,
    b: Floats,
    weight_gradient: Booleans,
    tiles: Tiles,
    weight_capacity: float,
    word_bytes: float,
) -> Floats:
    """Bytes moved between two adjacent levels of memory (`inter` of the spec).

    `weight_capacity` is what the lower level holds in all: weights and their gradients that fit stay there.
    """
    weights = d1 * d2 * word_bytes
    left = d1 * b * word_bytes
    right = d2 * b * word_bytes
    resident = 2 * weights <= weight_capacity
    activations = tiles.rows * right + np.where(weight_gradient, tiles.columns, 2 * tiles.columns - 1) * left
    return activations + np.where(resident, 0, np.where(weight_gradient, 2 * weights, weights))


def peer_io(d1: Floats, d2: Floats, b: Floats, weight_gradient: Booleans, tiles: Tiles, word_bytes: float) -> Floats:
    """Bytes moved between SMs through distributed shared memory (`peer` of the spec)."""
    left = d1 * b * word_bytes
    right = d2 * b * word_bytes
    forward = 2 * (tiles.columns - 1) * left
    gradient = np.where(tiles.columns > 1, tiles.columns * left, 0)
    return np.where(tiles.rows > 1, tiles.rows * right, 0) + np.where(weight_gradient, gradient, forward)


def matmul_flop(d1: Floats, d2: Floats, b: Floats) -> Floats:
    """FLOP that the tensor cores spend, padding included."""
    chunks = np.ceil(d1 / TENSOR_CORE) * np.ceil(d2 / TENSOR_CORE) * np.ceil(b / TENSOR_CORE)
    return 2 * TENSOR_CORE**3 * chunks


def matmul_bounds(gpu: Gpu, d1: ArrayLike, d2: ArrayLike, b: ArrayLike, weight_gradient: ArrayLike) -> MatmulBounds:
    """What bounds the time of multiplying d1 × d2 weights by b columns of activations: as `matmul_time`."""
    d1, d2, b = (np.asarray(size, dtype=float) for size in (d1, d2, b))
    gradient = np.asarray(weight_gradient, dtype=bool)
    word = gpu.word_bytes
    sm_capacity = BLOCKS_PER_SM * register_bytes(gpu) * gpu.sm_count
    cut = tilings(gpu, d1, d2)
    hbm = io(d1, d2, b, gradient, cut.hbm, l2_capacity(gpu), word)
    sm = io(d1, d2, b, gradient, cut.sm, sm_capacity, word)
    peer = peer_io(d1, d2, b, gradient, cut.sm_peer, word)
    reg = io(d1, d2, b, gradient, cut.register, sm_capacity, word)
    return MatmulBounds(
        hbm_s=hbm / gpu.hbm_bandwidth,
        l2_s=(hbm + sm) / gpu.l2_bandwidth,
        shared_memory_s=(sm + peer + reg) / shared_bandwidth(gpu),
        tensor_core_s=matmul_flop(d1, d2, b) / gpu.flop_per_s,
        latency_s=gpu.matmul_latency_s,
    )


def matmul_time(gpu: Gpu, d1: ArrayLike, d2: ArrayLike, b: ArrayLike, weight_gradient: ArrayLike) -> Floats:
    """Time of multiplying d1 × d2 weights by b columns of activations.

    Parameters
    ----------
    gpu : Gpu
    d1, d2 : array_like of int
        Rows and columns of the weights.
    b : array_like of int
        Activation columns (tokens).
    weight_gradient : array_like of bool
        Whether the product is the gradient of the weights.

    Returns
    -------
    ndarray
        Seconds, of the broadcast shape of all four.

    Notes
    -----
    The slowest of HBM, L2, shared memory and tensor cores, plus the latency of a kernel (Erdil & Schneider-Joseph
    2024, arXiv:2411.01137).

    Examples
    --------
    >>> from model import load_hardware, matmul_time
    >>> gpu = load_hardware()["H100 SXM"].gpu
    >>> float(matmul_time(gpu, 12288, 49152, 2048, weight_gradient=False)) > 0
    True
    """
    return matmul_bounds(gpu, d1, d2, b, weight_gradient).time_s


def block_bounds(gpu: Gpu, f: Numbers, d: Numbers, t: Numbers) -> MatmulBounds:
    """What bounds a layer's matmuls of f × d weights on t tokens (spec section 4).

    Arrays of shape (2, 2, …) once broadcast: first the forward product, which the gradient of the activations takes as
    long as, then the gradient of the weights; of f × d weights, then of d × f. The sizes may have any common shape.
    """
    f, d, t = np.broadcast_arrays(f, d, t)
    gradient = np.array([False, True]).reshape(2, 1, *(1,) * f.ndim)
    return matmul_bounds(gpu, np.stack([f, d]), np.stack([d, f]), t, gradient)


def over_block(seconds: Floats) -> Floats:
    """Sum over a layer's six matmuls, forward and backward, of what `block_bounds` gives for each kind: seconds."""
    by_kind: Floats = seconds.sum(axis=1)
    return 2 * by_kind[0, ...] + by_kind[1, ...]


def block_time(gpu: Gpu, f: Numbers, d: Numbers, t: Numbers) -> Floats:
    """Time of a layer's six matmuls, forward and backward, of f × d weights on t tokens: seconds (spec section 4)."""
    return over_block(block_bounds(gpu, f, d, t).time_s)


def block_time_floor(gpu: Gpu, weights: Numbers, t: Numbers, activations: Numbers | None = None) -> Floats:
    """A lower bound of `block_time` that knows only how many weights each matmul has: seconds.

    The arithmetic, the weights not padded; in HBM and L2, each weight read once, its gradient once more, and the
    activations once, which are fewest if the weights are square. `activations` is t, or less to bound several shapes.
    """
    arithmetic_s = 12 * weights * np.maximum(t, TENSOR_CORE) / gpu.flop_per_s
    streamed = np.where(2 * weights * gpu.word_bytes <= l2_capacity(gpu), 0, 8 * weights)
    words = streamed if activations is None else streamed + 12 * np.sqrt(weights) * activations
    bandwidth = min(gpu.hbm_bandwidth, gpu.l2_bandwidth)
    return np.maximum(arithmetic_s, words * gpu.word_bytes / bandwidth) + MATMULS * gpu.matmul_latency_s
