"""How much work one answer may be, and what to reduce where it is more."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from model.configuration import Configuration
from model.progress import Progress, TooMuchWork

# Operations, as `Progress` counts them. A processor of 2026 does 4e7 a second, or more.
MOST_OF_CURVE = 5e7  # the presets take 3e5 to 4.2e6
MOST_OF_ATTAINABLE = 8e7  # of all clusters, for each width
MOST_OF_STRATEGY = 4.5e7
MOST_AT_ONCE = 5e8  # of the curves of a page, after which it asks before it goes on
MOST_TOGETHER = 5e9  # of many curves that are compared, which show their progress and can be stopped


@contextmanager
def bounded(
    configuration: Configuration, widths: int | None, most: float, listener: Callable[[float], None] | None
) -> Iterator[Progress]:
    """The progress of a search over so many widths, which is refused with what to reduce if it is more than `most`.

    No number of widths means that the sweep is continued up to the wall, wherever it is said to end.

    Raises
    ------
    TooMuchWork
        Its message is two plain sentences.
    """
    try:
        yield Progress(listener, most)
    except TooMuchWork as error:
        raise _refusal("This search is", configuration, widths) from error


class Together:
    """The work of many curves up to the wall, which is refused as soon as it is known to be too much."""

    def __init__(self, configuration: Configuration, curves: int):
        self._configuration, self._curves = configuration, curves
        self._spent = 0.0

    def expect(self, operations: float) -> None:
        """Take it that each curve is so much work.

        Raises
        ------
        TooMuchWork
            As in `bounded`; also in `spend`.
        """
        self._check(operations * self._curves)

    def spend(self, operations: float) -> None:
        """Count the work of one curve."""
        self._spent += operations
        self._check(self._spent)

    def _check(self, operations: float) -> None:
        if operations > MOST_TOGETHER:
            raise _refusal(f"{self._curves} curves like this are", self._configuration, None)


def _refusal(what: str, configuration: Configuration, widths: int | None) -> TooMuchWork:
    """More work than is done, and how to make it less."""
    sizes = [level.size for level in configuration.network if level.size]
    ways = math.prod(size.bit_length() for size in sizes)
    advice = []
    if widths is None:
        advice.append("sweep fewer widths, by a larger step of d_model or a larger smallest one")
    elif widths > 1:
        advice.append(f"sweep fewer than {widths} widths, by a larger step of d_model or closer ends")
    if ways > 1:
        network = " × ".join(map(str, sizes))
        advice.append(f"give the network fewer levels, or smaller ones: {network} are shared out in {ways} ways")
    return TooMuchWork(f"{what} more work than the simulator takes on. To make it less, {', or '.join(advice)}.")
