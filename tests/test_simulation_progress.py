"""The progress that a simulation tells: it changes nothing, it only grows, and it can stop the simulation anywhere."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_invariants import EMPTY, H100, NINE_EXPERTS_ON_FOUR_LEVELS, variant
from test_oracle import examples

from model import Configuration, load_presets, simulate
from model.costs import _kept_costs
from model.progress import Progress
from model.search import Group

RUNS = {
    **{f"first of {title}": preset.configurations[0] for title, preset in load_presets().items()},
    "nine experts on four levels": NINE_EXPERTS_ON_FOUR_LEVELS,
    **EMPTY,
}
WIDE = variant(
    H100,
    network=[
        {"name": "Node", "size": 8, "bandwidth": 9e11, "latency_s": 1.125e-6},
        {"name": "Rack", "size": 32, "bandwidth": 4.5e11, "latency_s": 1.125e-6},
        {"name": "Site", "size": 4096, "bandwidth": 2.25e11, "latency_s": 1.125e-6},
        {"name": "World", "bandwidth": 1.125e11, "latency_s": 1.125e-6},
    ],
    scaling={"sparsity": {"law": "fixed", "factor": 8}},
)


class Stopped(BaseException):
    """As frameworks raise to end a script: not an Exception, so that nobody catches it by mistake."""


def told(configuration: Configuration) -> list[float]:
    """All that a simulation tells."""
    shares = []
    simulate(configuration, progress=shares.append)
    return shares


def stop_at(call: int, reason: BaseException):
    """A listener that raises at a call, and the calls that it gets."""
    calls = []

    def listener(share: float) -> None:
        calls.append(share)
        if len(calls) == call:
            raise reason

    return listener, calls


def assert_same(frame: pd.DataFrame, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(frame, expected, check_exact=True)
    assert frame.attrs == expected.attrs


@pytest.mark.parametrize("name", RUNS)
def test_telling_progress_changes_no_result(name):
    """If this fails, what the page shows is not what a script computes."""
    assert_same(simulate(RUNS[name], progress=lambda share: None), simulate(RUNS[name]))


@pytest.mark.parametrize("name", RUNS)
def test_shares_grow_to_all(name):
    """If this fails, a bar runs backwards, beyond its end, or stays short of it."""
    shares = told(RUNS[name])
    assert shares == sorted(shares)
    assert shares[0] == (0 if len(shares) > 1 else 1)
    assert shares[-1] == 1
    assert len(set(shares)) > 3 or name in EMPTY


@st.composite
def divisions(draw, depth: int = 3):
    """Work cut into parts of some sizes, and those again; none is a part that is not cut."""
    if depth == 0 or draw(st.booleans()):
        return None
    sizes = draw(st.lists(st.integers(1, 2**70), min_size=1, max_size=7))
    return sizes, [draw(divisions(depth - 1)) for _ in sizes]


@examples(100)
@given(st.lists(st.tuples(st.floats(0, 1), divisions()), min_size=1, max_size=5))
def test_parts_of_parts_add_up(steps):
    """If this fails, rounding makes shares fall, or parts are counted beside the wholes they are parts of."""
    shares = []
    progress = Progress(shares.append)

    def work(division) -> None:
        progress.spend(0)
        if division:
            sizes, parts = division
            for part in progress.each(parts, sizes):
                work(part)
        progress.spend(0)

    left = 1.0
    for share, division in steps:
        with progress.part(share):
            work(division)
        progress.spend(0)
        left *= 1 - share
        assert shares[-1] == pytest.approx(1 - left, abs=1e-12)
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] <= 1


def test_parts_count_by_their_sizes():
    """If this fails, a small part of the work is counted as much as a large one."""
    shares = []
    progress = Progress(shares.append)
    for name in progress.each("abc", [1, 2, 5]):
        for _ in progress.each(range(2)) if name == "c" else "-":
            progress.spend(0)
    assert shares == [0, 1 / 8, 3 / 8, 11 / 16]


@pytest.mark.parametrize("name", ["nine experts on four levels", "no time", "no memory"])
@pytest.mark.parametrize(
    "reason", [ValueError("stop"), StopIteration("stop"), Stopped()], ids=lambda r: type(r).__name__
)
def test_a_simulation_stops_where_its_listener_raises_and_leaves_nothing_behind(name, reason):
    """If this fails, a stop button does nothing, shows another error, or spoils what is simulated next."""
    expected, count = simulate(RUNS[name]), len(told(RUNS[name]))
    assert count >= 5
    for call in sorted({1, 2, 3, count // 3, 2 * count // 3, count - 1, count}):
        _kept_costs.cache_clear()  # so that tables are being made
        listener, calls = stop_at(call, reason)
        with pytest.raises(type(reason)) as raised:
            simulate(RUNS[name], progress=listener)
        assert raised.value is reason
        assert len(calls) == call
        assert_same(simulate(RUNS[name]), expected)


@pytest.fixture(scope="module")
def slow() -> tuple[np.ndarray, np.ndarray]:
    """All shares told by a simulation of seconds, and the shares of its work that were done by then.

    Work is counted in step times, of which a search works out as many as its arrays have elements.
    """
    counted, at_call, shares = [0], [], []
    step_time = Group.step_time

    def counting(*arguments):
        time = step_time(*arguments)
        counted[0] += np.size(time)
        return time

    def listener(share: float) -> None:
        shares.append(share)
        at_call.append(counted[0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Group, "step_time", counting)
        simulate(WIDE, progress=listener)
    assert counted[0] > 1e7, "this is no slow simulation"
    return np.array(shares), np.array(at_call) / counted[0]


def test_a_slow_simulation_tells_often(slow):
    """If this fails, a search of seconds or minutes does long stretches of its work without a chance to stop it."""
    shares, work = slow
    assert len(shares) > 200
    assert np.diff([0, *work, 1]).max() < 0.02


def test_shares_of_a_slow_simulation_are_about_those_of_its_work(slow):
    """If this fails, a bar stands still, or at its end, while most of the work is done.

    Only about: the search does not know how many candidates it will drop, nor that no other round will follow.
    """
    shares, work = slow
    assert np.abs(shares - work)[:-1].max() < 0.35
    assert np.diff(shares[:-1]).max() < 0.1
