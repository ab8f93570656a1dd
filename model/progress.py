"""How far a long search has come, and how far it may go."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

Part = TypeVar("Part")


class TooMuchWork(ValueError):
    """A search that would take longer than it may."""


class Progress:
    """How much of some work is done, for whoever wants to know, and a bound on how much it may be.

    The work is cut into parts, which whatever does them may cut again: within `part`, and the body of a loop over
    `each`, the work under way is that part. Only `spend` calls `listener`, so what that raises comes out of there.

    Attributes
    ----------
    spent : float
        Operations so far, each on one element of the arrays of a search: about 25 ns of a processor of 2026. They are
        counted rather than timed, and what is remembered of earlier searches is counted too, so that the same search
        is refused on every machine or on none.
    most : float
        Operations that may be spent.
    """

    def __init__(self, listener: Callable[[float], None] | None = None, most: float = math.inf):
        self.listener = listener
        self.spent, self.most = 0.0, most
        self._done, self._end = 0.0, 1.0

    def spend(self, operations: float) -> None:
        """Count operations that are about to be done, and tell the listener the share of all the work that is done.

        Raises
        ------
        TooMuchWork
            If they are more than is left.
        """
        self.expect(operations)
        self.spent += operations
        if self.listener is not None:
            self.listener(self._done)

    def expect(self, operations: float) -> None:
        """Refuse operations that are known to come, before they start, as `spend` would."""
        if self.spent + operations > self.most:
            raise TooMuchWork(f"This takes more than {self.most:.3g} operations.")

    @contextmanager
    def part(self, share: float) -> Iterator[None]:
        """The next part of the work under way, such a share of what is left of it."""
        end = self._end
        self._end = self._done + share * (end - self._done)
        yield
        self._done, self._end = self._end, end

    def each(self, parts: Sequence[Part], sizes: Sequence[float] | None = None) -> Iterator[Part]:
        """The parts of the work under way, one after the other; of one size, if not given."""
        if self.listener is None:  # nobody asks, and the many small parts of a short search would cost a percent
            yield from parts
            return
        sizes = sizes or [1] * len(parts)
        left = sum(sizes)
        for part, size in zip(parts, sizes, strict=True):
            with self.part(size / left):
                yield part
            left -= size
