"""Arrays that belong together, one element of each to a case."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Self

import numpy as np


class Columns:
    """Base of dataclasses whose fields are arrays of equal length, or such dataclasses again."""

    def take(self, index: np.ndarray) -> Self:
        """The cases at `index`."""
        values = (getattr(self, column.name) for column in fields(self))
        return type(self)(*(value.take(index) if isinstance(value, Columns) else value[index] for value in values))

    @classmethod
    def concatenated(cls, parts: Sequence[Self]) -> Self:
        """The cases of all parts, one part after the other."""
        columns = ([getattr(part, column.name) for part in parts] for column in fields(cls))
        return cls(
            *(type(c[0]).concatenated(c) if isinstance(c[0], Columns) else np.concatenate(c) for c in columns)
        )

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))
