"""The smallest cluster that trains each model of a sweep in time (spec section 5)."""

import numpy as np

from model.arrays import Booleans, Integers
from model.configuration import Configuration
from model.gpu import MATMULS
from model.progress import Progress
from model.scaling import Shapes
from model.search import Clusters, ClusterSearch
from model.step import Strategies, deadline

LARGEST_EXPONENT = 59  # of clusters, which are sparsity · 2^i GPUs
LARGEST_CLUSTER = 2**63
TOGETHER = 8  # cluster sizes of each model that are looked at with those of other models
LIKELY = 0.65  # a floor of the step time below this share of the limit
HOPEFUL = 0.85  # a floor, after a closer look, below this share
ROUND = 0.75  # share of the work that is left which a round is taken to be
LOOKING = 0.1  # share of a round that finding out where to search is taken to be


def smallest_clusters(configuration: Configuration, shapes: Shapes, progress: Progress) -> tuple[Integers, Strategies]:
    """The models before the first that no cluster trains in time, and the best strategy of each on its smallest.

    All models are searched together while that leads on; the first that is left, if it looks like the wall, alone.
    """
    longest = deadline(configuration.assumptions)
    limit = longest / shapes.steps
    to_try = _worth_trying(configuration, shapes, longest)
    solved = np.zeros(len(shapes), dtype=bool)
    found = [(np.array([], dtype=int), Strategies.none(len(configuration.network)))]
    together, hopeful_ones = True, 1
    while to_try.any():
        if together:
            looked_at = to_try & (np.cumsum(to_try, axis=1) <= TOGETHER)
        else:
            looked_at = to_try & (np.arange(len(shapes)) == np.argmin(solved))[:, None]
        model, exponent = np.nonzero(looked_at)
        clusters = Clusters(shapes.take(model), exponent, limit[model])
        with progress.part(ROUND):
            with progress.part(LOOKING):
                search = ClusterSearch(configuration, clusters, progress)
                chosen = _first_possible(search, model, hopeful_ones)
            index, strategies = search.best(chosen)
        models, smallest = np.unique(model[index], return_index=True)
        found.append((models, strategies.take(smallest)))

        failed = search.floor >= search.limit
        failed[chosen] = True
        to_try[model[failed], exponent[failed]] = False
        to_try[models] = False
        solved[models] = True
        to_try[np.argmin([*(solved | to_try.any(axis=1)), False]) :] = False  # beyond the latency wall
        led_on = len(models) > 0
        of_next = model == np.argmin(solved)
        together = led_on and not (of_next.any() and failed[of_next].all())
        hopeful_ones = 1 if led_on else 2 * hopeful_ones
    models = np.concatenate([models for models, _ in found])
    before_the_wall = np.argsort(models)[: np.argmin([*solved, False])]
    strategies = Strategies.concatenated([strategies for _, strategies in found])
    return models[before_the_wall], strategies.take(before_the_wall)


def can_be_split(configuration: Configuration, shapes: Shapes, progress: Progress) -> bool:
    """Whether any cluster has a strategy for the first model, however slow: one that divides it and fits in memory."""
    exponent = np.arange(LARGEST_EXPONENT + 1)
    exponent = exponent[shapes.sparsity[0] * 2.0**exponent < LARGEST_CLUSTER]
    model = shapes.take(np.zeros(len(exponent), dtype=int))
    search = ClusterSearch(configuration, Clusters(model, exponent, np.full(len(exponent), np.inf)), progress)
    return bool(np.isfinite(search.floor).any())


def _worth_trying(configuration: Configuration, shapes: Shapes, longest: float) -> Booleans:
    """Which clusters, (models, exponents), could finish in time if arithmetic, or the latency of kernels, were all."""
    n_gpus = shapes.sparsity[:, None] * 2.0 ** np.arange(LARGEST_EXPONENT + 1)
    least = shapes.training_flop / (longest * configuration.gpu.flop_per_s)
    kernels_alone = MATMULS * shapes.n_layers * configuration.gpu.matmul_latency_s * shapes.steps
    possible = np.logical_and.accumulate(kernels_alone < longest)
    return possible[:, None] & (n_gpus >= least[:, None]) & (n_gpus < LARGEST_CLUSTER)


def _first_possible(search: ClusterSearch, model: Integers, hopeful_ones: int) -> Integers:
    """The first clusters of each model whose floor is below the limit, so many of them with some room to spare.

    Floors are raised by a closer look, but only up to as many clusters as likely do without it.
    """
    possible = search.floor < search.limit
    likely = search.floor < LIKELY * search.limit
    search.tighten(np.nonzero(possible & (_before(likely, model) < hopeful_ones))[0])
    possible = search.floor < search.limit
    hopeful = search.floor < HOPEFUL * search.limit
    return np.nonzero(possible & (_before(likely, model) < hopeful_ones) & (_before(hopeful, model) < hopeful_ones))[0]


def _before(marked: Booleans, model: Integers) -> Integers:
    """How many clusters of the same model are marked before each."""
    count: Integers = np.concatenate([[0], np.cumsum(marked)])
    return count[:-1] - count[np.searchsorted(model, model)]
