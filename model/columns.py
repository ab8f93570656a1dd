"""Arrays that belong together, one element of each to a case."""

from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import Self

import numpy as np


@cache
def _names(cls: type) -> tuple[str, ...]:
    return tuple(column.name for column in fields(cls))


class Columns:
    """Base of dataclasses whose fields are arrays of equal length, or such dataclasses again."""

    def take(self, index: np.ndarray) -> Self:
        """The cases at `index`."""
        values = [getattr(self, name) for name in _names(type(self))]
        return type(self)(*[value.take(index) if isinstance(value, Columns) else value[index] for value in values])

    @classmethod
    def concatenated(cls, parts: Sequence[Self]) -> Self:
        """The cases of all parts, one part after the other."""
        columns = [[getattr(part, name) for part in parts] for name in _names(cls)]
        return cls(*[type(c[0]).concatenated(c) if isinstance(c[0], Columns) else np.concatenate(c) for c in columns])

    def __len__(self) -> int:
        return len(getattr(self, _names(type(self))[0]))
