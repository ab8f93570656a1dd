"""Putting candidates on the network, a stage at a time (spec section 5).

The stages choose the usage of DP, then that of TP, which leaves the rest to PP and EP, then the placement of TP within
its usage, then that of PP and EP. After each, what cannot win any more is dropped.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from model.arrays import Booleans, Floats, Integers
from model.incumbents import Candidates, Placed
from model.integers import MAX_EXPONENT, POWERS_OF_TWO
from model.placement import Cost, CostTable

if TYPE_CHECKING:
    from model.search import Group

FIRST_CHUNK, CHUNK = 2**13, 2**18  # elements of a stage's largest array, at first and later: early results prune

# Operations, as `Progress` counts them, as they were measured:
OF_CHUNK = 4000  # of a stage
OF_STAGE = (1, 1, 7, 7)  # of an option of each stage
OF_PLACED = 40  # strategy that competes with the best so far
OF_PIPELINE = 8  # of the lower bound of a pipeline at one usage

Costs: TypeAlias = tuple[Cost, Cost, Cost]  # of DP, of TP, of PP and EP
# Of a stage: the state that each row continues, if not its own; options, whether they are possible, and their costs.
Options: TypeAlias = tuple[Integers | None, Integers, bool | Booleans, Costs]
Stage: TypeAlias = Callable[..., Options]  # takes the choices that were made so far


class Refinement:
    """The stages, for some candidates of a group of clusters.

    A stage takes the choices made so far (candidates, then usages and columns), each (states, 1); it gives the options
    for the next choice, whether they are possible, and what they cost at least, to broadcast to (states, options). If
    some states have many more options than others, it gives each state once with every option, and says which it is.
    """

    def __init__(self, group: "Group", found: Candidates):
        self.group = group
        self.costs = group.costs
        self.found = found
        self.tp_row = self.costs.tp_row(found.tp, found.tp_ff)
        self.pp_ep, self.pp_ep_row = self._pp_ep_floor()
        self.everything = len(self.costs.space) - 1
        self.usages = np.arange(len(self.costs.space))[None, :]
        self.stages: list[Stage] = [self.dp_usages, self.tp_usages, self.tp_placements, self.pp_ep_placements]
        self.widths = [
            len(self.costs.space),
            len(self.costs.space),
            None,  # as many as TP has contenders
            self.costs.pp_ep_pairs.of_usage.shape[1],
        ]
        if self.widths[-1] == 1:  # without experts the usage is the placement, and its floor the cost
            self.stages.pop()

    def _pp_ep_floor(self) -> tuple[CostTable, Integers]:
        """A table with a row for each distinct cluster, PP and interleaving; and each candidate's row."""
        found, shapes = self.found, self.group.shapes
        kinds = (len(shapes), MAX_EXPONENT + 1, 2)
        key = np.ravel_multi_index((found.cluster, found.pp, (found.interleaving > 1).astype(int)), kinds)
        present = np.zeros(np.prod(kinds), dtype=bool)
        present[key] = True
        row = np.cumsum(present) - 1
        cluster, pp, interleaved = np.unravel_index(np.nonzero(present)[0], kinds)
        self.group.progress.spend(OF_PIPELINE * len(cluster) * len(self.costs.space))
        n_layers = shapes.n_layers[cluster]
        interleaving = np.where(interleaved, n_layers / POWERS_OF_TWO[pp], 1.0)
        return self.costs.pp_ep_floor(pp, shapes.sparsity[cluster], interleaving, n_layers), row[key]

    def _dp(self, i: Integers, usage: Integers) -> Cost:
        return self.costs.dp.at.pick(self.group.dp_scale, self.found.dp[i], usage, self.found.cluster[i])

    def _pp_ep(self, i: Integers, usage: Integers) -> Cost:
        return self.pp_ep.at.pick(self.group.pp_ep_scale, self.pp_ep_row[i], usage, self.found.cluster[i])

    def _placed_tp(self, i: Integers, column: Integers) -> Cost:
        found, cluster = self.found, self.found.cluster[i]
        costs = self.costs.placed_tp(self.group.ratio[cluster], found.tp[i], found.tp_ff[i], column)
        return costs.times(self.group.tp_scale, cluster)

    def _placed_pp_ep(self, i: Integers, column: Integers) -> Cost:
        found, cluster, shapes = self.found, self.found.cluster[i], self.group.shapes
        costs = self.costs.placed_pp_ep(
            found.pp[i], shapes.sparsity[cluster], found.interleaving[i], shapes.n_layers[cluster], column
        )
        return costs.times(self.group.pp_ep_scale, cluster)

    def dp_usages(self, i: Integers) -> Options:
        """The usage x of DP; TP, and PP and EP, each have at best all the rest."""
        group, i = self.group, i[:, 0]
        cluster = self.found.cluster[i]
        dp = self.costs.dp.at.rows(group.dp_scale, self.found.dp[i], cluster)
        tp = self.costs.tp.within.reversed().rows(group.tp_scale, self.tp_row[i], cluster)
        pp_ep = self.pp_ep.within.reversed().rows(group.pp_ep_scale, self.pp_ep_row[i], cluster)
        return None, self.usages, True, (dp, tp, pp_ep)

    def tp_usages(self, i: Integers, x: Integers) -> Options:
        """The usage y of TP; PP and EP have the rest."""
        y, rest = self.usages, self.everything - x - self.usages
        tp = self.costs.tp.at.rows(self.group.tp_scale, self.tp_row[i[:, 0]], self.found.cluster[i[:, 0]])
        return None, y, self.costs.space.fits[x[:, 0]], (self._dp(i, x), tp, self._pp_ep(i, rest))

    def tp_placements(self, i: Integers, x: Integers, y: Integers) -> Options:
        """The column of a pair of usages of TP_model and TP_ff that adds up to y."""
        state, column = self.costs.tp_contenders.of(self.tp_row[i[:, 0]], y[:, 0])
        i, x, y, column = i[state], x[state], y[state], column[:, None]
        pp_ep = self._pp_ep(i, self.everything - x - y)
        return state, column, True, (self._dp(i, x), self._placed_tp(i, column), pp_ep)

    def pp_ep_placements(self, i: Integers, x: Integers, y: Integers, tp_column: Integers) -> Options:
        """The column of a pair of usages of PP and EP that adds up to the rest."""
        column = self.costs.pp_ep_pairs.of_usage[self.everything - x[:, 0] - y[:, 0]]
        costs = self._dp(i, x), self._placed_tp(i, tp_column), self._placed_pp_ep(i, column)
        return None, column, column >= 0, costs

    def run(self, greedy: bool = False) -> None:
        """Place all that could win, or, if greedy, each candidate by what looks best at every stage."""
        if len(self.found):
            self._refine(0, [np.arange(len(self.found))], greedy)

    def _refine(self, depth: int, state: list[Integers], greedy: bool) -> None:
        options = self._count_options(depth, state)
        self.group.progress.expect(OF_STAGE[depth] * int(options.sum()))
        chunks = row_chunks(len(options), options, CHUNK if greedy else FIRST_CHUNK)
        # Candidates come best first, and late ones are pruned: a chunk is about a third of the work that is left.
        sizes = [1.5**later if depth == 0 else 1 for later in reversed(range(len(chunks)))]
        for rows in self.group.progress.each(chunks, sizes):
            chunk = [part[rows] for part in state]
            self.group.progress.spend(OF_CHUNK + OF_STAGE[depth] * int(options[rows].sum()))
            of_state, option, possible, costs = self.stages[depth](*(part[:, None] for part in chunk))
            if of_state is not None:
                chunk = [part[of_state] for part in chunk]
            row, column, outcome = self._promising(chunk[0], possible, costs, greedy)
            longer = [*(part[row] for part in chunk), option[row if len(option) > 1 else 0, column]]
            if depth + 1 < len(self.stages):
                self._refine(depth + 1, longer, greedy)
            else:
                i, x, y, tp_column, *pp_ep = longer
                self.group.progress.spend(OF_PLACED * (len(i) + self.group.incumbents.count_tied()))
                pp_ep_column = pp_ep[0] if pp_ep else self.costs.pp_ep_pairs.start[self.everything - x - y]
                self.group.incumbents.add(Placed(self.found.take(i), x, tp_column, pp_ep_column, *outcome))

    def _count_options(self, depth: int, state: list[Integers]) -> Integers:
        """How many options each state has at a stage."""
        if self.widths[depth] is None:
            i, _, y = state
            return self.costs.tp_contenders.count[self.tp_row[i], y]
        return np.full(len(state[0]), self.widths[depth])

    def _promising(
        self, i: Integers, possible: bool | Booleans, costs: Costs, greedy: bool
    ) -> tuple[Integers, Integers, tuple[Floats, Floats, Floats]]:
        """Rows and columns of options that could win (or, if greedy, look best), and time, communication, latency."""
        found, incumbents = self.found, self.group.incumbents
        dp, tp, pp_ep = costs
        time = self.group.step_time(found.zero_bubble[i, None], found.bubble[i, None], found.compute[i, None], *costs)
        time = np.where(possible, time, np.inf)
        if greedy:
            column = np.argmin(time, axis=1)
            row = np.nonzero(np.isfinite(time[np.arange(len(time)), column]))[0]
            column = column[row]
        else:
            row, column = np.nonzero(incumbents.reached(found.cluster[i, None], time))
        comm = np.broadcast_to(dp.comm + tp.comm + pp_ep.comm, time.shape)[row, column]
        latency = np.broadcast_to(dp.latency + tp.latency + pp_ep.latency, time.shape)[row, column]
        time = time[row, column]
        if not greedy:
            kept = ~incumbents.loses_tie(found.cluster[i[row]], time, comm, found.rank[i[row]], latency)
            row, column, time, comm, latency = row[kept], column[kept], time[kept], comm[kept], latency[kept]
        return row, column, (time, comm, latency)


def row_chunks(count: int, width: int | Integers, elements: int = CHUNK) -> list[slice]:
    """Slices of `count` rows, each of its width, that have about so many elements at first, and then more."""
    chunks, start = [], 0
    ends = np.cumsum(np.broadcast_to(width, count))
    while start < count:
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + elements, side="right")))
        chunks.append(slice(start, stop))
        start, elements = stop, min(4 * elements, CHUNK)
    return chunks
