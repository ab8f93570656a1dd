"""The most that one curve takes: `python tests/benchmark_bounds.py [--configurations 300]`, by hand on a quiet machine.

Simulates random configurations of the kind that makes searches large (four levels, odd sizes, the finest sweep,
experts, long training), accepted and refused ones, and prints the longest. The engine bounds a count of operations;
here it is seen in seconds and bytes. The targets are 2 s, and 300 MB beside what Python and the libraries take.
"""

import argparse
import sys
import time
import tracemalloc
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from hypothesis import HealthCheck, Phase, given, seed, settings
from test_workload import HEAVY, heavy_configurations

from model import Configuration, simulate

SHOWN = 10


class Taken(NamedTuple):
    """What one configuration took, and what came of it."""

    seconds: float
    megabytes: float
    result: str
    configuration: Configuration


def outcome(configuration: Configuration) -> str:
    try:
        frame = simulate(configuration)
    except ValueError as refused:
        return f"refused: {refused}"
    return f"{len(frame)} widths, {frame.attrs['operations']:.1e} operations"


def taken(configuration: Configuration) -> Taken:
    """Seconds of the first of two runs, and the peak of the memory in the second, which tracing makes slow."""
    start = time.perf_counter()
    result = outcome(configuration)
    seconds = time.perf_counter() - start
    tracemalloc.start()
    outcome(configuration)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return Taken(seconds, peak / 1e6, result, configuration)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configurations", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = [taken(configuration) for configuration in HEAVY.values()]

    @seed(options.seed)
    @settings(
        max_examples=options.configurations,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        suppress_health_check=[*HealthCheck],
    )
    @given(heavy_configurations())
    def measure(configuration: Configuration) -> None:
        found.append(taken(configuration))

    measure()
    for quantity, unit in (("seconds", "s"), ("megabytes", "MB")):
        ordered = sorted(found, key=lambda each: getattr(each, quantity), reverse=True)
        print(f"\n{quantity}, the most of {len(found)} configurations:")
        for each in ordered[:SHOWN]:
            sizes = " × ".join(str(level.size or "rest") for level in each.configuration.network)
            print(f"  {getattr(each, quantity):7.2f} {unit}  {sizes}: {each.result[:70]}")


if __name__ == "__main__":
    main()
