"""When the largest training runs reach a limit, if they go on growing."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from model.arrays import Floats, Numbers
from model.limits import LIMITS

if TYPE_CHECKING:
    import pandas as pd


class Years(NamedTuple):
    """The years between which a limit is reached, with fractions: 2024.5 is the middle of 2024."""

    earliest: Floats
    latest: Floats


def years_reached(
    training_flop: ArrayLike, start_flop: Numbers, start_year: Numbers, slow_growth: Numbers, fast_growth: Numbers
) -> Years:
    """When the largest training run takes so many FLOP, at two rates of growth.

    Parameters
    ----------
    training_flop : array_like
        FLOP; NaN where there is no limit.
    start_flop, start_year : array_like
        FLOP of the largest run at the start, and the year of the start (2024 is its first day).
    slow_growth, fast_growth : array_like
        By how much the largest run grows in a year, as factors above 1, in either order.

    Returns
    -------
    Years
        start_year + log(training_flop / start_flop) / log(growth): before the start if a limit is below its FLOP, and
        NaN where the limit is.

    Raises
    ------
    ValueError
        If a growth is not above 1, so that no limit would be reached.

    Examples
    --------
    >>> earliest, latest = years_reached(2e28, start_flop=5e25, start_year=2024, slow_growth=4, fast_growth=5)
    >>> f"{earliest:.1f} to {latest:.1f}"
    '2027.7 to 2028.3'
    """
    for growth in (slow_growth, fast_growth):
        if not np.all(np.asarray(growth) > 1):
            raise ValueError(f"growth must be above 1, got {growth}")
    e_folds = np.log(np.asarray(training_flop) / start_flop)
    slow, fast = (start_year + e_folds / np.log(growth) for growth in (slow_growth, fast_growth))
    return Years(np.minimum(slow, fast), np.maximum(slow, fast))


def limits_reached(
    limits: "pd.DataFrame", start_flop: float, start_year: float, slow_growth: float, fast_growth: float
) -> "pd.DataFrame":
    """When each limit of each configuration is reached.

    Parameters
    ----------
    limits : DataFrame
        As `training_limits` gives them.
    start_flop, start_year, slow_growth, fast_growth : float
        As in `years_reached`.

    Returns
    -------
    DataFrame
        A row for each limit of `LIMITS` and, within it, each configuration, in order: limit (its title), configuration,
        training_flop, earliest and latest (years; missing where the limit is).
    """
    import pandas as pd

    def rows(title: str, column: str) -> "pd.DataFrame":
        years = years_reached(limits[column].to_numpy(), start_flop, start_year, slow_growth, fast_growth)
        return pd.DataFrame(
            {
                "limit": title,
                "configuration": limits["configuration"],
                "training_flop": limits[column],
                **years._asdict(),
            }
        )

    return pd.concat([rows(*limit) for limit in LIMITS.items()], ignore_index=True)


def largest_runs(
    years: ArrayLike, start_flop: float, start_year: float, slow_growth: float, fast_growth: float
) -> "pd.DataFrame":
    """The largest training runs of years, between slow and fast growth.

    Parameters
    ----------
    years : array_like
    start_flop, start_year, slow_growth, fast_growth : float
        As in `years_reached`.

    Returns
    -------
    DataFrame
        A row per year: year, slow and fast (FLOP).

    Examples
    --------
    >>> largest_runs([2024, 2026], start_flop=5e25, start_year=2024, slow_growth=4, fast_growth=5).fast.tolist()
    [5e+25, 1.25e+27]
    """
    import pandas as pd

    year = np.asarray(years, dtype=float)
    slow, fast = (start_flop * growth ** (year - start_year) for growth in (slow_growth, fast_growth))
    return pd.DataFrame({"year": year, "slow": slow, "fast": fast})
