"""Many users at once: how long their edits take, and what these cost the server.

`python tests/load.py`, by hand on a quiet machine, for it takes two cores. Each user opens a preset over Streamlit's
own websocket and changes the memory bandwidth of the selected configuration every few seconds, to a value that was
never simulated; now and then another tab, configuration or preset is looked at instead. An edit is timed from when it
is sent to the message with its curve, and to the end of the run. Whether all curves were those of the user's own values
is checked afterwards, with `simulate`. The target is at most 1.5 s at the 95th percentile, and memory that is flat
after the first third.
"""

import argparse
import asyncio
import math
import random
import statistics
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from os import sysconf
from pathlib import Path
from typing import NamedTuple

import numpy as np
from browser import APP, server_process
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from websockets.exceptions import ConnectionClosed
from wire import TABS, Visitor, visiting

from model import Configuration, load_presets, simulate
from model.form import changed, inputs

LABEL = "Memory bandwidth (GB/s)"
VIEWS = ("Utilization", "Parallelism", "Maximum training compute", "Step time", "Closed forms", "When and cost")
LOOKS = 0.1  # share of a user's actions that are no edits
TARGET_S = 1.5
FLAT = 0.03  # share by which the memory of the last third may be above that of the second
PRESETS = {title: preset.configurations for title, preset in load_presets().items()}


class Process(NamedTuple):
    """What Linux tells of a process."""

    pid: int

    def cpu_s(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / sysconf("SC_CLK_TCK")

    def resident_mb(self) -> float:
        """Memory that it holds."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * sysconf("SC_PAGE_SIZE") / 2**20


class Edit(NamedTuple):
    """What a preset's configurations hold after an edit, the points that came of it, and how many seconds that took."""

    preset: str
    values: dict[str, str]
    points: bytes
    to_curve_s: float
    to_end_s: float


@dataclass
class Record:
    """What happened to all users."""

    edits: list[Edit] = field(default_factory=list)
    looks_s: list[float] = field(default_factory=list)
    errors: Counter = field(default_factory=Counter)

    def note(self, visitor: Visitor) -> None:
        """Note what the page complains of."""
        self.errors.update(f"exception on the page: {shown.type}" for shown in visitor.shown("exception"))


async def edit(visitor: Visitor, preset: str, values: dict[str, str], value: str, record: Record) -> None:
    """Type another memory bandwidth for the selected configuration, and time what comes of it."""
    values[visitor.widget("Selected configuration").value] = value
    points, to_curve_s, start = b"", math.nan, time.perf_counter()
    await visitor.use(LABEL, value)
    async for message in visitor.messages():
        element = visitor.elements.get(tuple(message.metadata.delta_path))
        if element is not None and element.vega_lite_chart.id.endswith("-curves"):
            to_curve_s = time.perf_counter() - start
            points = next(each.data.data for each in element.vega_lite_chart.datasets if each.name == "points")
    record.edits.append(Edit(preset, dict(values), points, to_curve_s, time.perf_counter() - start))
    record.note(visitor)


async def look(visitor: Visitor, label: str, value: str | bool, record: Record) -> None:
    """Choose what to look at."""
    start = time.perf_counter()
    await visitor.use(label, value)
    await visitor.settle()
    record.looks_s.append(time.perf_counter() - start)
    record.note(visitor)


async def visit(url: str, number: int, end: float, every_s: float, record: Record) -> None:
    """Open a preset, do something every few seconds until the end, and leave."""
    chance, titles = random.Random(f"{number} {end}"), list(PRESETS)
    preset, values = titles[number % len(titles)], {title: {} for title in titles}
    await asyncio.sleep(chance.uniform(0, 2 * every_s))
    async with visiting(url, preset=preset) as visitor:
        await look(visitor, "GPU", True, record)
        while time.monotonic() < end:
            await asyncio.sleep(every_s * chance.uniform(0.5, 1.5))
            what = chance.choices(["edit", "tab", "configuration", "preset"], [1 - LOOKS, *[LOOKS / 3] * 3])[0]
            if what == "edit":
                await edit(visitor, preset, values[preset], f"{chance.uniform(200, 2000):.6f}", record)
            elif what == "tab":
                await look(visitor, TABS, chance.choice(VIEWS), record)
                await asyncio.sleep(every_s)
                await look(visitor, TABS, "Utilization", record)
            elif what == "configuration":
                names = [configuration.name for configuration in PRESETS[preset]]
                await look(visitor, "Selected configuration", chance.choice(names), record)
            else:
                preset = chance.choice(titles)
                await look(visitor, "Preset", preset, record)


async def stay(url: str, number: int, end: float, every_s: float, record: Record) -> None:
    """Visit until the end, and again after anything went wrong."""
    while time.monotonic() < end:
        try:
            await visit(url, number, end, every_s, record)
        except (ConnectionClosed, TimeoutError, LookupError) as error:
            record.errors[f"{type(error).__name__}: {error}"[:200]] += 1


async def watch(process: Process, end: float) -> list[float]:
    """MB of memory of a process, every second."""
    seen = []
    while time.monotonic() < end:
        seen.append(process.resident_mb())
        await asyncio.sleep(1)
    return seen


@cache
def curve(preset: str, name: str, value: str) -> tuple[tuple[float, float], ...]:
    """Training compute and MFU of a preset's configuration with what was typed."""
    draft = next(each for each in PRESETS[preset] if each.name == name).model_dump()
    if value:
        item = next(item for item in inputs(draft) if item.label == LABEL)
        draft = changed(draft, item, item.read(value))
    frame = simulate(Configuration.model_validate(draft))
    return tuple(zip(frame["training_flop"], frame["mfu"], strict=True))


def is_right(edit: Edit) -> bool:
    """Whether the page drew the curves of the user's own values, all of them."""
    if not edit.points:
        return False
    drawn = convert_arrow_bytes_to_pandas_df(edit.points)
    names = [configuration.name for configuration in PRESETS[edit.preset]]
    expected = {name: curve(edit.preset, name, edit.values.get(name, "")) for name in names}
    found = {
        name: tuple(zip(points["training_flop"], points["mfu"], strict=True))
        for name, points in drawn.groupby("configuration")
    }
    return found == {name: points for name, points in expected.items() if points}


def described(seconds: list[float]) -> str:
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return ", ".join(f"p{share} {cuts[share - 1]:.2f} s" for share in (50, 95, 99)) + f", most {max(seconds):.2f} s"


async def drive(url: str, server: Process, users: int, seconds: float, every_s: float) -> None:
    async with visiting(url):
        pass  # the first visitor's run imports the app
    record, end = Record(), time.monotonic() + seconds
    cpu_s, own_cpu_s = server.cpu_s(), time.process_time()
    memory, *_ = await asyncio.gather(
        watch(server, end), *(stay(url, number, end, every_s, record) for number in range(users))
    )
    cpu_s, own_cpu_s = server.cpu_s() - cpu_s, time.process_time() - own_cpu_s
    runs = len(record.edits) + len(record.looks_s) + users
    print(f"{users} users, {seconds:.0f} s: {len(record.edits)} edits and {runs - len(record.edits)} other runs")
    print(f"edit to curve: {described([edit.to_curve_s for edit in record.edits])} (target: p95 {TARGET_S} s)")
    print(f"edit to end of run: {described([edit.to_end_s for edit in record.edits])}")
    print(f"other runs, to their end: {described(record.looks_s)}")
    print(f"CPU of the server: {1000 * cpu_s / runs:.0f} ms a run, {cpu_s / seconds:.2f} cores")
    print(f"CPU of this client: {own_cpu_s / seconds:.2f} cores")
    thirds = [statistics.mean(part) for part in np.array_split(memory, 3)]
    growth = thirds[2] / thirds[1] - 1
    print(
        f"memory: {memory[0]:.0f} MB at first, in the thirds of the time {', '.join(f'{mb:.0f}' for mb in thirds)} MB; "
        f"the last is {growth:+.1%} of the second: {'flat' if growth < FLAT else 'NOT FLAT'} (limit {FLAT:.0%})"
    )
    wrong = sum(not is_right(edit) for edit in record.edits)
    print(f"curves of other values than the user's: {wrong} of {len(record.edits)}")
    print(f"errors: {dict(record.errors) or 'none'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--every", type=float, default=3, help="seconds between two edits of a user, on average")
    given = parser.parse_args()
    with tempfile.TemporaryFile() as log:
        with server_process(APP, log) as (server, url):
            asyncio.run(drive(url, Process(server.pid), given.users, given.seconds, given.every))
        log.seek(0)
        print(f"tracebacks in the server's log: {log.read().count(b'Traceback')}")


if __name__ == "__main__":
    main()
