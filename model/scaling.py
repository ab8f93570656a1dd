"""How a transformer, its dataset and its batch grow with its width (spec section 1)."""

from dataclasses import dataclass

import numpy as np

from model.arrays import Booleans, Floats, Integers, Numbers
from model.columns import Columns
from model.configuration import (
    FLOP_REFERENCE,
    TOKENS_DEFAULT,
    Configuration,
    ScalingLaws,
    Shape,
    Sweep,
)

SIGNIFICANT_BITS = 4
MOST_LAYERS, MOST_BATCH_TOKENS = 2**20, 2**53  # beyond every purpose; larger numbers would not be exact
GPT3_WIDTH = 12288  # d_model at which the linear-width sparsity law gives 8 experts
FRIENDLY = np.unique(np.array([m << i for m in (1, 3, 5, 7, 9) for i in range(60)], dtype=np.int64))


@dataclass(frozen=True)
class Shapes(Columns):
    """Models and their training, one per element of each array."""

    d_model: Integers
    d_ff: Integers
    n_layers: Integers
    sparsity: Integers
    params: Floats
    active_params: Floats
    dataset_tokens: Floats
    training_flop: Floats
    batch_tokens: Integers

    @property
    def steps(self) -> Floats:
        """Gradient steps of the run."""
        return self.dataset_tokens / self.batch_tokens


def round_friendly(x: Floats) -> Integers:
    """The nearest of m · 2^i, m in {1, 3, 5, 7, 9}; the smaller one at a tie (round_R of the spec)."""
    above = np.clip(np.searchsorted(FRIENDLY, x), 1, len(FRIENDLY) - 1)
    low, high = FRIENDLY[above - 1], FRIENDLY[above]
    return np.where(x - low <= high - x, low, high)


def widths(sweep: Sweep) -> Integers:
    """The sweep's d_model, ascending: multiples with at most four significant bits within its ends."""
    odd = np.arange(1, 2**SIGNIFICANT_BITS, 2)
    grid: Integers = np.unique(odd[:, None] << np.arange(sweep.d_model_max.bit_length()))
    inside: Booleans = (grid >= sweep.d_model_min) & (grid <= sweep.d_model_max) & (grid % sweep.d_model_multiple == 0)
    return grid[inside]


def layers(laws: ScalingLaws, d_model: Integers, d_ff: Integers) -> Integers:
    """Number of layers."""
    multiplier = laws.depth_multiplier
    match laws.depth.law:
        case "hoffmann":
            return round_friendly(multiplier * (0.10056 * (d_model * d_ff) ** 0.3751))
        case "power":
            return round_friendly(multiplier * (laws.depth.coefficient * (d_model * d_ff) ** laws.depth.exponent))
        case "fixed":
            return np.full(len(d_model), max(1, round(multiplier * laws.depth.n_layers)), dtype=np.int64)


def experts(laws: ScalingLaws, d_model: Integers, d_ff: Integers) -> Integers:
    """Experts per block, E."""
    match laws.sparsity.law:
        case "dense":
            return np.ones(len(d_model), dtype=np.int64)
        case "linear-width":
            return round_friendly(8 * (d_model * d_ff / (4 * GPT3_WIDTH**2)) ** 0.5)
        case "fixed":
            return np.full(len(d_model), laws.sparsity.factor, dtype=np.int64)


def dataset(laws: ScalingLaws, params: Floats) -> Floats:
    """Tokens trained on, D."""
    match laws.dataset.law:
        case "chinchilla":
            return laws.dataset.tokens_per_parameter * params
        case "power":
            return laws.dataset.coefficient * params**laws.dataset.exponent


def batch(laws: ScalingLaws, sparsity: Integers, training_flop: Floats, dataset_tokens: Floats) -> Integers:
    """Tokens per gradient step, B: a friendly number of sequences for each expert."""
    root = sparsity**0.5
    tokens: Numbers
    match laws.batch.law:
        case "default":
            tokens = root * (training_flop / FLOP_REFERENCE) ** (1 / 6) * TOKENS_DEFAULT
        case "constant":
            tokens = laws.batch.tokens
        case "deepseek":
            tokens = root * 0.2920 * training_flop**0.3271
        case "zhang":
            tokens = root * 17.75 * dataset_tokens**0.47
        case "power":
            growth = (training_flop / laws.batch.reference_flop) ** laws.batch.exponent
            tokens = root * growth * laws.batch.tokens_at_reference
    tokens = laws.batch_multiplier * tokens
    sequences = sparsity * round_friendly(tokens / laws.sequence_length / sparsity).astype(float)
    batch_tokens: Integers = np.minimum(sequences * laws.sequence_length, 2.0**62).astype(np.int64)
    return batch_tokens


def sweep_shapes(configuration: Configuration) -> Shapes:
    """Every model of the configuration's sweep, ascending in width."""
    laws = configuration.scaling
    d_model = widths(configuration.sweep)
    d_ff = np.rint(laws.d_ff_ratio * d_model).astype(np.int64)
    n_layers = layers(laws, d_model, d_ff)
    sparsity = experts(laws, d_model, d_ff)
    shapes = _complete(laws, d_model, d_ff, n_layers, sparsity)
    _check_range(laws, shapes)
    return shapes


def shape_by_laws(
    configuration: Configuration, d_model: int, n_layers: int | None = None, batch_tokens: int | None = None
) -> Shape:
    """The model that the scaling laws give at one width, maybe with another depth or batch.

    Raises
    ------
    ValueError
        If a law leaves the range of numbers that can be handled; the message names the law.
    """
    laws, width = configuration.scaling, np.array([d_model])
    d_ff = np.rint(laws.d_ff_ratio * width).astype(np.int64)
    depth = layers(laws, width, d_ff) if n_layers is None else np.array([n_layers])
    shapes = _complete(laws, width, d_ff, depth, experts(laws, width, d_ff))
    _check_range(laws, shapes)
    return Shape(
        d_model=d_model,
        d_ff=int(d_ff[0]),
        n_layers=int(depth[0]),
        sparsity=int(shapes.sparsity[0]),
        batch_tokens=int(shapes.batch_tokens[0]) if batch_tokens is None else batch_tokens,
    )


def given_shape(configuration: Configuration, shape: Shape) -> Shapes:
    """One model of given sizes, trained on the configuration's dataset law."""
    sizes = (shape.d_model, shape.d_ff, shape.n_layers, shape.sparsity, shape.batch_tokens)
    d_model, d_ff, n_layers, sparsity, batch_tokens = (np.array([size]) for size in sizes)
    return _complete(configuration.scaling, d_model, d_ff, n_layers, sparsity, batch_tokens)


def _check_range(laws: ScalingLaws, shapes: Shapes) -> None:
    for law, values, most, what in (
        (laws.depth, shapes.n_layers, MOST_LAYERS, "layers"),
        (laws.batch, shapes.batch_tokens, MOST_BATCH_TOKENS, "tokens in a batch"),
    ):
        if np.any(values > most):
            first = int(np.argmax(values > most))
            raise ValueError(
                f"the law {law.law!r} gives {values[first]:.3g} {what} at d_model {shapes.d_model[first]}, of at most "
                f"{most:.3g}: give it a lower coefficient or exponent, or the sweep a lower d_model_max"
            )


def _complete(
    laws: ScalingLaws,
    d_model: Integers,
    d_ff: Integers,
    n_layers: Integers,
    sparsity: Integers,
    batch_tokens: Integers | None = None,
) -> Shapes:
    active_params = 2.0 * d_model * d_ff * n_layers
    params = active_params * sparsity
    dataset_tokens = dataset(laws, params)
    training_flop = 6 * active_params * dataset_tokens
    if batch_tokens is None:
        batch_tokens = batch(laws, sparsity, training_flop, dataset_tokens)
    return Shapes(d_model, d_ff, n_layers, sparsity, params, active_params, dataset_tokens, training_flop, batch_tokens)
