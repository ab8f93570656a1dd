"""How far a long search has come."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


class Progress:
    """How much of some work is done, for whoever wants to know.

    The work is cut into parts, which whatever does them may cut again: within `part`, and the body of a loop over
    `each`, the work under way is that part. Only `tell` calls `listener`, so what that raises comes out of there.
    """

    def __init__(self, listener: Callable[[float], None] | None = None):
        self.listener = listener
        self._done, self._end = 0.0, 1.0

    def tell(self) -> None:
        """Tell the listener the share of all the work that is done."""
        if self.listener is not None:
            self.listener(self._done)

    @contextmanager
    def part(self, share: float) -> Iterator[None]:
        """The next part of the work under way, such a share of what is left of it."""
        end = self._end
        self._end = self._done + share * (end - self._done)
        yield
        self._done, self._end = self._end, end

    def each(self, parts: Sequence, sizes: Sequence[int] | None = None) -> Iterator:
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
