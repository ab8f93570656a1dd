"""Arrays that belong together, one element of each to a case."""

from collections.abc import Sequence
from dataclasses import Field
from typing import Any, ClassVar, Self

import numpy as np

from model.arrays import Integers


class Columns:
    """Base of dataclasses whose fields are arrays of equal length, or such dataclasses again."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def take(self, index: Integers) -> Self:
        """The cases at `index`."""
        values = [getattr(self, name) for name in self.__dataclass_fields__]
        return type(self)(*[value.take(index) if isinstance(value, Columns) else value[index] for value in values])

    @classmethod
    def concatenated(cls, parts: Sequence[Self]) -> Self:
        """The cases of all parts, one part after the other."""
        columns = [[getattr(part, name) for part in parts] for name in cls.__dataclass_fields__]
        return cls(*[type(c[0]).concatenated(c) if isinstance(c[0], Columns) else np.concatenate(c) for c in columns])

    def __len__(self) -> int:
        return len(getattr(self, next(iter(self.__dataclass_fields__))))
