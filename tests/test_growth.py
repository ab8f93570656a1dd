"""When the largest runs reach a limit: by hand, against the article, and whatever is missing, past or far ahead."""

import math

import numpy as np
import pandas as pd
import pytest

from model.growth import largest_runs, limits_reached, years_reached
from model.questions import GrowthQuestion
from model.words import years_in_words

ARTICLES = GrowthQuestion().model_dump()


@pytest.mark.parametrize(
    ("training_flop", "earliest", "latest"),
    [
        (1e24, 2000, 2000),
        (1e24 * 16, 2002, 2004),  # two years at fourfold growth, four at twofold
        (1e24 * 2, 2000.5, 2001),
        (1e24 / 4, 1998, 1999),  # backwards, slow growth leads further back
    ],
)
@pytest.mark.parametrize("growths", [(2, 4), (4, 2)])
def test_years_by_hand(training_flop, earliest, latest, growths):
    """If this fails, years are of another growth than the one given, or ends of the range change places."""
    years = years_reached(training_flop, 1e24, 2000, *growths)
    assert years == pytest.approx((earliest, latest), rel=1e-12)
    assert (years.earliest, years.latest) == tuple(years)


def test_the_articles_three_years():
    """If this fails, the page says another year than the article for 2 × 10²⁸ FLOP.

    "Data movement bottlenecks to large-scale model training" (Epoch AI, November 2024) expects it about three years
    ahead. The largest known run, of 5 × 10²⁵ FLOP, is from around the start of 2024, ten months earlier: 3.7 to 4.3
    years of growth from there are 2.9 to 3.5 from the article.
    """
    years = years_reached(2e28, **ARTICLES)
    assert years == pytest.approx((2024 + math.log(400) / math.log(5), 2024 + math.log(400) / math.log(4)), rel=1e-12)
    article = 2024 + 10 / 12
    assert [round(year - article) for year in years] == [3, 3]
    assert years_in_words(*years) == "2027–2028"


def test_arrays_and_missing_limits():
    """If this fails, a configuration without a limit gets a year, or takes those of the others with it."""
    earliest, latest = years_reached(np.array([5e25, np.nan, 2e28, np.inf]), **ARTICLES)
    alone = years_reached(2e28, **ARTICLES)
    np.testing.assert_array_equal(earliest, [2024, np.nan, alone.earliest, np.inf])
    np.testing.assert_array_equal(latest, [2024, np.nan, alone.latest, np.inf])


@pytest.mark.parametrize(("slow", "fast", "named"), [(1, 5, "1"), (4, 0.5, "0.5"), (math.nan, 5, "nan")])
def test_what_does_not_grow_is_refused(slow, fast, named):
    """If this fails, a shrinking run is said to reach a limit, in the past."""
    with pytest.raises(ValueError, match=f"growth must be above 1, got {named}$"):
        years_reached(2e28, **ARTICLES | {"slow_growth": slow, "fast_growth": fast})


LIMITS = pd.DataFrame(
    {
        "configuration": ["A", "B"],
        "linear_scaling_end_flop": [1e24 * 16, math.nan],
        "latency_wall_flop": [1e24 * 2**10, 1e24],
    }
)


def test_every_limit_of_every_configuration_has_its_years():
    """If this fails, years stand beside another limit or another configuration's name."""
    reached = limits_reached(LIMITS, start_flop=1e24, start_year=2000, slow_growth=2, fast_growth=4)
    assert list(reached) == ["limit", "configuration", "training_flop", "earliest", "latest"]
    expected = [
        ["Linear scaling ends", "A", 1e24 * 16, 2002, 2004],
        ["Linear scaling ends", "B", math.nan, math.nan, math.nan],
        ["Latency wall", "A", 1e24 * 2**10, 2005, 2010],
        ["Latency wall", "B", 1e24, 2000, 2000],
    ]
    pd.testing.assert_frame_equal(reached, pd.DataFrame(expected, columns=reached.columns), check_dtype=False)


def test_no_configuration_reaches_no_limit():
    """If this fails, a table without configurations is an error."""
    assert limits_reached(LIMITS[:0], **ARTICLES).empty


def test_largest_runs_grow_from_their_start_both_ways():
    """If this fails, the cone of the largest runs starts elsewhere, or opens at another rate."""
    runs = largest_runs([1998, 2000, 2001, 2003], start_flop=1e24, start_year=2000, slow_growth=2, fast_growth=10)
    expected = {
        "year": [1998, 2000, 2001, 2003],
        "slow": [1e24 / 4, 1e24, 2e24, 8e24],
        "fast": [1e22, 1e24, 1e25, 1e27],
    }
    pd.testing.assert_frame_equal(runs, pd.DataFrame(expected), check_dtype=False, rtol=1e-12)


@pytest.mark.parametrize("training_flop", [6e25, 2e28, 1e33])
def test_limits_are_reached_where_the_largest_runs_do(training_flop):
    """If this fails, a limit is drawn beside the cone that is said to reach it."""
    runs = largest_runs(years_reached(training_flop, **ARTICLES), **ARTICLES)
    assert (runs["fast"][0], runs["slow"][1]) == pytest.approx((training_flop, training_flop))


@pytest.mark.parametrize(
    ("earliest", "latest", "words"),
    [
        (2027.7, 2028.3, "2027–2028"),
        (2028.0, 2028.99, "2028"),
        (2027.999, 2028.0, "2027–2028"),
        (1950.0, 1951.5, "1950–1951"),
        (1949.9, 2030, "before 1950 to 2030"),
        (-3000, 1800, "before 1950"),
        (2200.9, 2200.9, "2200"),
        (2190, 2201, "2190 to after 2200"),
        (2201, 1e6, "after 2200"),
        (math.inf, math.inf, "after 2200"),
        (math.nan, math.nan, "—"),
    ],
)
def test_years_in_words(earliest, latest, words):
    """If this fails, a year is rounded into the next, or a date stands where there is only a number."""
    assert years_in_words(earliest, latest) == words
