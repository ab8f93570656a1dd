"""What each kind of parallelism costs on one network, wherever it is placed.

All costs are of one word on one GPU: what they are multiplied by depends on the model and the cluster alone.
"""

import math
from functools import lru_cache, partial

import numpy as np

from model.arrays import Booleans, Floats, Integers, Numbers
from model.integers import MAX_EXPONENT
from model.parallelism import Network, data_parallel, pipeline_expert, tensor_parallel
from model.placement import (
    Cost,
    CostTable,
    experts_over_levels,
    over_levels,
    pair_columns,
    pipeline_expert_floor,
    tabulate,
    tabulate_pairs,
    usages,
)


def _split_window() -> tuple[Integers, Integers]:
    """Least and largest exponent of TP_ff, for each exponent of TP: the divisors in [isqrt(TP), 4 · isqrt(TP)]."""
    roots = [math.isqrt(1 << exponent) for exponent in range(MAX_EXPONENT + 1)]
    least = [(root - 1).bit_length() for root in roots]
    largest = [min(exponent, (4 * root).bit_length() - 1) for exponent, root in enumerate(roots)]
    return np.array(least), np.array(largest)


LEAST_TP_FF, LARGEST_TP_FF = _split_window()
SPLITS = int((LARGEST_TP_FF - LEAST_TP_FF).max()) + 1


class NetworkCosts:
    """Costs on a network whose inner levels join `units` units.

    d_ff / d_model is between the two `ratios`; the tables of TP, which are lower bounds, are of the lesser one.

    Attributes
    ----------
    space : Usages
    dp : CostTable
        Rows: the exponent of DP.
    tp : CostTable
    tp_contenders : Contenders
        Rows: `tp_row`, one for each TP and TP_ff.
    tp_within : Cost
        The least of `tp.within` over TP_ff. Rows: the exponent of TP.
    tp_or_more : Cost, shape (exponents of TP, 1)
        The least that so large a TP, or any larger one, costs.
    """

    def __init__(
        self,
        network: Network,
        units: tuple[int, ...],
        ratios: tuple[float, float],
        most_dp: int,
        most_tp: int,
        most_ep: int,
    ):
        self.network = network
        self.most_tp = most_tp
        self.space = usages(units)
        self.tp_pairs = pair_columns(units, MAX_EXPONENT)
        self.pp_ep_pairs = pair_columns(units, most_ep)
        self.dp = tabulate(self.space, most_dp + 1, self._placed_dp)
        least, most = (partial(self._placed_tp_row, ratio) for ratio in ratios)
        self.tp, self.tp_contenders = tabulate_pairs(
            self.space, (most_tp + 1) * SPLITS, self.tp_pairs, least, most if ratios[1] > ratios[0] else least
        )
        self.tp_within = Cost(*(cost.reshape(-1, SPLITS, len(self.space)).min(axis=1) for cost in self.tp.within))
        self.tp_or_more = Cost(*(np.minimum.accumulate(cost[::-1, -1:])[::-1] for cost in self.tp_within))

    def tp_row(self, tp: Integers, tp_ff: Integers) -> Integers:
        """Row of `tp` for the exponents of TP and TP_ff."""
        return tp * SPLITS + tp_ff - LEAST_TP_FF[tp]

    def _placed_dp(self, dp: Integers, usage: Integers) -> Cost:
        factors, possible = over_levels(self.space, usage, dp)
        return Cost(*data_parallel(self.network, factors, 1.0, 1.0, 1.0)).where(possible)

    def _placed_tp_row(self, ratio: float, row: Integers, column: Integers) -> Cost:
        tp, split = np.unravel_index(row, (self.most_tp + 1, SPLITS))
        return self.placed_tp(ratio, tp, np.minimum(LEAST_TP_FF[tp] + split, tp), column)

    def placed_tp(self, ratio: Numbers, tp: Integers, tp_ff: Integers, column: Integers) -> Cost:
        """Tensor parallelism, d_ff / d_model given, placed as columns of `tp_pairs` say; infinite where impossible."""
        model, model_possible = over_levels(self.space, self.tp_pairs.first[column], tp - tp_ff)
        ff, ff_possible = over_levels(self.space, self.tp_pairs.second[column], tp_ff)
        costs = Cost(*tensor_parallel(self.network, model, ff, 1.0, ratio, 1.0, 1.0, 1.0, 1.0))
        return costs.where(model_possible & ff_possible)

    def placed_pp_ep(
        self, pp: Integers, sparsity: Integers, interleaving: Floats, n_layers: Integers, column: Integers
    ) -> Cost:
        """Pipeline and expert parallelism, placed as columns of `pp_ep_pairs` say; infinite where impossible."""
        stages, pp_possible = over_levels(self.space, self.pp_ep_pairs.first[column], pp)
        experts, ep_possible = experts_over_levels(self.space, self.pp_ep_pairs.second[column], sparsity)
        costs = Cost(*pipeline_expert(self.network, stages, experts, interleaving, n_layers, 1.0, 1.0, 1.0, 1.0))
        return costs.where(pp_possible & ep_possible)

    def pp_ep_floor(self, pp: Integers, sparsity: Integers, interleaving: Floats, n_layers: Integers) -> CostTable:
        """Lower bounds of pipeline and expert parallelism, a row for each case."""
        at = pipeline_expert_floor(
            self.network, self.space, pp[:, None], sparsity[:, None], interleaving[:, None], n_layers[:, None]
        )
        return CostTable(at, Cost(*(self.space.least_within(part) for part in at)))

    def degrees(
        self,
        dp_usage: Integers,
        tp_column: Integers,
        pp_ep_column: Integers,
        dp: Integers,
        tp: Integers,
        tp_ff: Integers,
        pp: Integers,
        sparsity: Integers,
    ) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """DP, TP_model, TP_ff, PP and EP over the levels, (cases, levels), of exponents placed by usage and columns."""

        def stacked(placed: tuple[list[Floats], Booleans]) -> Floats:
            factors, _ = placed
            return np.stack(factors, axis=-1)

        tp_pair, pp_ep_pair = self.tp_pairs, self.pp_ep_pairs
        return (
            stacked(over_levels(self.space, dp_usage, dp)),
            stacked(over_levels(self.space, tp_pair.first[tp_column], tp - tp_ff)),
            stacked(over_levels(self.space, tp_pair.second[tp_column], tp_ff)),
            stacked(over_levels(self.space, pp_ep_pair.first[pp_ep_column], pp)),
            stacked(experts_over_levels(self.space, pp_ep_pair.second[pp_ep_column], sparsity)),
        )


def network_costs(
    network: Network, units: tuple[int, ...], ratios: tuple[float, float], most_dp: int, most_tp: int, most_ep: int
) -> NetworkCosts:
    """The costs for degrees of at most these exponents; the last few are kept."""
    return _kept_costs(network, units, ratios, _rounded_up(most_dp), _rounded_up(most_tp), most_ep)


def table_entries(units: tuple[int, ...], most_dp: int, most_tp: int) -> int:
    """Costs of TP's placements, and of DP's, that `network_costs` works out if it does not have them yet."""
    pairs = len(pair_columns(units, MAX_EXPONENT).first)
    return (_rounded_up(most_tp) + 1) * SPLITS * pairs + (_rounded_up(most_dp) + 1) * len(usages(units))


def _rounded_up(exponent: int) -> int:
    """To a multiple of 8, so that searches of other clusters find the same tables."""
    return min(-(-exponent // 8) * 8, MAX_EXPONENT)


_kept_costs = lru_cache(maxsize=32)(NetworkCosts)
