"""How fast the engine is, and beside what: `python tests/benchmark.py [--quick]`, by hand, on a quiet machine.

"Cold" is the first sweep of a fresh process (numpy, pandas and the model are imported by then), "warm" the median of
later ones. "Plain" is the scalar implementation in `oracle.py`, in a fresh process too. "Strategies" are the placed
ones in the plain search space of the clusters that a sweep has to look at, from the first that could compute fast
enough to the first that trains in time: the engine finds the best of them, but does not go through them one by one.
"""

import argparse
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import oracle
import pandas as pd

from model import (
    Configuration,
    NetworkLevel,
    Pins,
    attainable,
    fastest_strategy,
    load_hardware,
    load_presets,
    sensitivities,
    shape_by_laws,
    simulate,
    step_breakdown,
)
from model.configuration import Sweep

ROOT = Path(__file__).parents[1]
HARDWARE = load_hardware()
H100, SUPERPOD = (
    Configuration(name=name, gpu=HARDWARE[name].gpu, network=HARDWARE[name].network)
    for name in ("H100 SXM", "H100 SXM Superpod")
)
WIDE = H100.model_copy(
    update={
        "name": "H100, 8 · 4096 · rest",
        "network": (
            NetworkLevel(name="Node", bandwidth=9e11, latency_s=1.125e-6, size=8),
            NetworkLevel(name="Site", bandwidth=1e11, latency_s=1.125e-6, size=4096),
            NetworkLevel(name="World", bandwidth=1e9, latency_s=1e-3),
        ),
    }
)
GROWING = [
    H100.model_copy(update={"sweep": Sweep(d_model_min=192 << shift, d_model_multiple=1)}) for shift in (9, 8, 6, 3, 0)
]


def fresh(function: Callable, *arguments):
    """What a function returns in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def seconds(function: Callable, *arguments) -> float:
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def sweep_seconds(configuration: Configuration, runs: int) -> tuple[float, list[float]]:
    """Seconds of the first sweep, and of each of the next ones."""
    return seconds(simulate, configuration), [seconds(simulate, configuration) for _ in range(runs)]


def plain_seconds(configuration: Configuration) -> float:
    return seconds(oracle.simulate, configuration)


def peak_bytes(configuration: Configuration) -> tuple[int, int]:
    """The most memory that a first sweep and a later one take, beside what is there before."""
    peaks = []
    for _ in range(2):
        tracemalloc.start()
        simulate(configuration)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return peaks[0], peaks[1]


def strategies(configuration: Configuration, frame: pd.DataFrame) -> int:
    """Placed strategies in the plain search space of a sweep, of which `frame` is the result."""
    from test_oracle import count_placed

    deadline_s = configuration.assumptions.training_months / 12 * oracle.SECONDS_PER_YEAR
    least_flop_per_gpu = deadline_s * oracle.rates(configuration.gpu).flops
    smallest = dict(zip(frame["d_model"], frame["n_gpus"], strict=True))
    looked_at = [*smallest, *(width for width in oracle.widths(configuration.sweep) if width not in smallest)]
    count = 0
    for d_model in looked_at[: len(smallest) + frame.attrs["at_the_wall"]]:
        shape = oracle.shape_of(configuration, d_model)
        sizes = [shape.sparsity << exponent for exponent in range(60)]
        enough = smallest.get(d_model, 2**63 - 1)
        sizes = [n for n in sizes if shape.training_flop / least_flop_per_gpu <= n <= enough]
        count += sum(count_placed(configuration, shape, n) for n in sizes)
    return count


def import_seconds(package: str) -> float:
    program = f"import time; start = time.perf_counter(); import {package}; print(time.perf_counter() - start)"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


def table(title: str, header: str, rows: list[tuple]) -> None:
    """Print a table whose first column is text and whose others are numbers, already formatted."""
    cells = [tuple(header.split(" | ")), *rows]
    widths = [max(len(str(row[column])) for row in cells) for column in range(len(cells[0]))]
    print(f"\n{title}")
    for row in cells:
        first, *others = (str(cell) for cell in row)
        print("  ".join([first.ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(others, widths[1:], strict=True))]))


def ms(value: float) -> str:
    return f"{1e3 * value:.1f}"


def presets(runs: int, quick: bool) -> None:
    """Every configuration of every preset; when quick, the last one of each."""
    rows, known = [], {}
    for number, preset in enumerate(load_presets().values(), start=1):
        for configuration in preset.configurations[-1:] if quick else preset.configurations:
            key = configuration.model_copy(update={"name": "the same"}).model_dump_json()
            if key not in known:
                cold, warm = fresh(sweep_seconds, configuration, runs)
                frame = simulate(configuration)
                count, plain = strategies(configuration, frame), fresh(plain_seconds, configuration)
                known[key] = (len(frame), cold, statistics.median(warm), count, plain)
            points, cold, warm, count, plain = known[key]
            rows.append(
                (
                    f"{number} {configuration.name}",
                    points,
                    ms(cold),
                    ms(warm),
                    f"{count:,}",
                    f"{count / warm:.1e}",
                    f"{plain:.2f}",
                    f"{plain / warm:,.0f}",
                )
            )
    header = "preset, configuration | points | cold ms | warm ms | strategies | per second | plain s | plain/warm"
    table(f"Sweeps of the presets (warm: median of {runs})", header, rows)


def levels(runs: int) -> None:
    """How the time grows with the network's levels, in turns in one process."""
    configurations = (H100, SUPERPOD, WIDE)
    times = {configuration.name: [] for configuration in configurations}
    for _ in range(runs + 1):
        for configuration in configurations:
            times[configuration.name].append(seconds(simulate, configuration))
    warm = {name: statistics.median(each[1:]) for name, each in times.items()}
    rows = [(name, ms(value), f"{value / warm[H100.name]:.1f}") for name, value in warm.items()]
    table(f"Levels of the network (median of {runs})", "network | warm ms | × two levels", rows)


def growth(runs: int) -> None:
    """How the time grows with the number of widths."""
    rows = []
    for configuration in GROWING:
        points = len(simulate(configuration))
        warm = statistics.median(seconds(simulate, configuration) for _ in range(runs))
        rows.append(
            (f"from d_model {configuration.sweep.d_model_min:,}", points, ms(warm), f"{1e3 * warm / points:.2f}")
        )
    table(f"Widths of a sweep, H100 (median of {runs})", "sweep | points | warm ms | ms per point", rows)


def answers_of(configuration: Configuration) -> dict[str, Callable]:
    """What else is asked of a configuration, beside its sweep."""
    frame = simulate(configuration)
    row = frame.iloc[-10]
    shape, n_gpus = shape_by_laws(configuration, int(row["d_model"])), int(row["n_gpus"])
    return {
        "simulate": partial(simulate, configuration),
        "attainable": partial(attainable, configuration),
        "sensitivities": partial(sensitivities, configuration),
        "fastest_strategy": partial(fastest_strategy, configuration, shape, n_gpus),
        "fastest_strategy, TP 8": partial(fastest_strategy, configuration, shape, n_gpus, Pins(tp=8)),
        "step_breakdown": partial(step_breakdown, configuration, frame),
    }


def answers(runs: int) -> None:
    """How long the other answers take, in turns."""
    rows = []
    for configuration in (H100, SUPERPOD):
        asked = answers_of(configuration)
        times = [{name: seconds(ask) for name, ask in asked.items()} for _ in range(runs + 1)]
        warm = {name: statistics.median(each[name] for each in times[1:]) for name in asked}
        rows += [
            (f"{configuration.name}: {name}", ms(value), f"{value / warm['simulate']:.2f}")
            for name, value in warm.items()
        ]
    table(f"Other answers (median of {runs})", "answer | warm ms | × simulate", rows)


def memory() -> None:
    rows = []
    for configuration in (H100, SUPERPOD, WIDE):
        cold, warm = fresh(peak_bytes, configuration)
        rows.append((configuration.name, f"{cold / 2**20:.0f}", f"{warm / 2**20:.0f}"))
    table("Peak memory of a sweep (tracemalloc)", "network | cold MiB | warm MiB", rows)


def imports(runs: int) -> None:
    times = {"model": [], "pandas": []}
    for _ in range(runs):
        for package, measured in times.items():
            measured.append(import_seconds(package))
    medians = {package: statistics.median(measured) for package, measured in times.items()}
    rows = [(package, ms(median), f"{median / medians['pandas']:.2f}") for package, median in medians.items()]
    table(f"Import, each in a fresh process (median of {runs})", "package | ms | × pandas", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one configuration of each preset, fewer runs")
    quick = parser.parse_args().quick
    runs = 7 if quick else 31
    imports(5 if quick else 15)
    levels(runs)
    growth(runs)
    answers(runs)
    memory()
    presets(runs, quick)


if __name__ == "__main__":
    main()
