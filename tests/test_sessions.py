"""Several visitors at once on one server: nobody sees what another typed, and who leaves stops what they started."""

import asyncio
import gc
import random
import subprocess
from collections.abc import Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from itertools import permutations
from typing import Any, TypeVar

import pandas as pd
import pytest
from browser import APP, server_process
from load import LABEL, PRESETS, Process, Record, edit, is_right
from streamlit.testing.v1 import AppTest
from wire import TABS, Visitor, arriving, visiting

from model import Configuration, load_presets
from model.configuration import MOST_CONFIGURATIONS
from model.workspace import Workspace, edits, from_edits

Result = TypeVar("Result")
MAXIMUM = "Maximum training compute"
VIEWS = (
    *("Utilization", "Parallelism", MAXIMUM, "Step time", "Levers", "Closed forms"),
    *("When and cost", "Any strategy", "Reality check"),
)
DOWNLOADS = ("State", "Complete output", "Points")


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[tuple[subprocess.Popen, str]]:
    path = tmp_path_factory.mktemp("server") / "log"
    with path.open("w") as log, server_process(APP, log) as running:
        yield running
    assert "Traceback" not in path.read_text()


def finished(work: Coroutine[Any, Any, Result]) -> Result:
    """What some work gives, done in a thread of its own: in this one Playwright's loop may be running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def owned(owner: str, gpu_name: str) -> Configuration:
    """A configuration with everybody's numbers, and its owner's name wherever a name can be."""
    plain = PRESETS["H100 node against Superpod"][0]
    network = [
        level.model_copy(update={"name": f"Level {index} of {owner}"}) for index, level in enumerate(plain.network)
    ]
    gpu = plain.gpu.model_copy(update={"name": gpu_name.format(owner), "sources": (f"Book of {owner}",)})
    return plain.model_copy(update={"name": f"Run of {owner}", "gpu": gpu, "network": tuple(network)})


def link_to(title: str, *configurations: Configuration) -> dict[str, str]:
    workspace = Workspace(title=title, description="", source="", configurations=configurations)
    return {"preset": title, "edits": edits(workspace, None)}


async def look_around(visitor: Visitor, value: str, views: Iterable[str]) -> bytes:
    """All that a visitor gets who types a value and looks at tabs and files."""
    seen = b""
    for label, choice in (("GPU", True), (LABEL, value), *((TABS, view) for view in views)):
        await visitor.use(label, choice)
        async for message in visitor.messages():
            seen += message.SerializeToString()
    for label in DOWNLOADS:
        seen += await visitor.download(label)
    assert not visitor.shown("exception"), visitor.shown("exception")
    return seen


async def all_look_around(url: str, owners: list[str], gpu_name: str, *what) -> dict[str, bytes]:
    """What each gets, one after the other, so that what is kept is there for the next, while all are there."""
    async with AsyncExitStack() as stack:
        links = {owner: link_to(f"Work of {owner}", owned(owner, gpu_name)) for owner in owners}
        visitors = {owner: await stack.enter_async_context(visiting(url, **link)) for owner, link in links.items()}
        return {owner: await look_around(visitor, *what) for owner, visitor in visitors.items()}


@pytest.mark.parametrize(
    ("gpu_name", "value", "views"), [("A GPU", "1234.5", VIEWS), ("GPU of {}", "2345.6", [MAXIMUM])]
)
def test_names_are_seen_by_nobody_but_who_typed_them(server, gpu_name, value, views):
    """Curves are kept for all, by what counts in them: if this fails, with a name of whoever was first."""
    owners = ["Ada", "Boole"]
    names = ("Work of {}", "Run of {}", "Book of {}", "Level 0 of {}", "Level 1 of {}", gpu_name)
    seen = finished(all_look_around(server[1], owners, gpu_name, value, views))
    for one, other in permutations(owners):
        for name in names:
            assert name.format(one).encode() in seen[one], f"{one} does not see “{name}”"
        leaked = [name for name in names if "{}" in name and name.format(other).encode() in seen[one]]
        assert not leaked and other.encode() not in seen[one], f"{one} sees of {other}: {leaked}"


async def all_edit(url: str, presets: list[str], record: Record) -> list[tuple[str, str, dict[str, str]]]:
    """Each edits another configuration at the same time; their presets, links and values then."""

    async def one(number: int, preset: str) -> tuple[str, str, dict[str, str]]:
        chance, values = random.Random(number), {}
        async with visiting(url, preset=preset, configuration=PRESETS[preset][number].name) as visitor:
            await visitor.use("GPU")
            await visitor.settle()
            for _ in range(3):
                await edit(visitor, preset, values, f"{chance.uniform(200, 2000):.6f}", record)
            return preset, visitor.address["edits"], values

    return await asyncio.gather(*(one(number, preset) for number, preset in enumerate(presets)))


def test_everybody_sees_the_curves_of_their_own_values(server):
    """If this fails, an edit of one visitor changed the page, or the link, of another."""
    record, presets = Record(), ["GPU generations, dense", "GPU generations, dense", "Critical batch size"]
    left = finished(all_edit(server[1], presets, record))
    assert len(record.edits) == 9 and not record.errors
    assert all(map(is_right, record.edits)), "a page drew other curves than those of its own values"
    for preset, link, values in left:
        bandwidths = {
            each.name: each.gpu.hbm_bandwidth for each in from_edits(link, load_presets()[preset]).configurations
        }
        for configuration in PRESETS[preset]:
            typed = values.get(configuration.name)
            expected = 1e9 * float(typed) if typed else configuration.gpu.hbm_bandwidth
            assert bandwidths[configuration.name] == pytest.approx(expected), f"{configuration.name} in the link"


async def leave_at_work(server: subprocess.Popen, url: str, label: str, **address: str) -> tuple[int, float]:
    """Per cent of some long work that were done when a visitor left, and seconds of CPU in the three after that."""
    process = Process(server.pid)
    async with arriving(url, **address) as visitor:
        if label:
            await visitor.settle()
            await visitor.use(label)
        async for message in visitor.messages():
            if message.delta.new_element.HasField("progress"):
                break
        done, before = message.delta.new_element.progress.value, process.cpu_s()
    await asyncio.sleep(3)
    return done, process.cpu_s() - before


def slow(index: int) -> Configuration:
    """One of many configurations that each take a tenth of a second or more."""
    plain = PRESETS["H100 node against Superpod"][1]
    sweep = plain.sweep.model_copy(update={"d_model_multiple": 256})
    gpu = plain.gpu.model_copy(update={"hbm_bandwidth": plain.gpu.hbm_bandwidth * (1 + index / 100)})
    return plain.model_copy(update={"name": f"Slow {index}", "sweep": sweep, "gpu": gpu})


@pytest.mark.parametrize(
    ("label", "address"),
    [("", link_to("Many", *map(slow, range(MOST_CONFIGURATIONS)))), ("Draw the map", {"view": "Levers"})],
    ids=["curves", "map"],
)
def test_who_leaves_stops_what_they_started(server, label, address):
    """If this fails, tabs that were closed keep the server busy."""
    done, cpu_s = finished(leave_at_work(*server, label, **address))
    assert done < 50, "there was not enough work to tell"
    assert cpu_s < 1, "the server works on for nobody"


def frames() -> int:
    """How many frames there are in this process, without garbage."""
    gc.collect()
    return sum(isinstance(each, pd.DataFrame) for each in gc.get_objects())


def test_a_session_keeps_no_frames_of_its_earlier_runs():
    """Streamlit keeps the callbacks of widgets that are long gone: if this fails, a session grows with every preset."""
    app, titles = AppTest.from_file(APP, default_timeout=60).run(), list(PRESETS)[:2]
    kept = []
    for _ in range(4):
        for title in titles:
            app.selectbox(key="preset").set_value(title).run()
            assert not app.exception
        kept.append(frames())
    assert kept[-1] <= kept[1], f"more and more frames: {kept}"
