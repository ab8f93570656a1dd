"""Types of the arrays that the model computes with.

Whole numbers that can exceed 2^63 on the way, as products of degrees do, are kept as floats.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating]
Integers: TypeAlias = NDArray[np.integer]
Booleans: TypeAlias = NDArray[np.bool_]
Array: TypeAlias = Floats | Integers
Numbers: TypeAlias = float | Array  # one for all cases, or one for each: arrays broadcast against each other

ZERO: Floats = np.zeros(())  # to add arrays of any shape to
