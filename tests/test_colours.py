"""The colours of configurations can be told apart, and from the background, also without one kind of cone."""

import itertools

import numpy as np
import pytest
from colours import COLOURS, THEMES, contrast, linear

# Linear RGB as it is seen with all cones and without one kind: Machado, Oliveira & Fernandes 2009, severity 1.
SIGHT = {
    "all cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# Ottosson 2020, "A perceptual color space for image processing"
TO_LMS = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
TO_OKLAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def oklab(rgb: np.ndarray) -> np.ndarray:
    return TO_OKLAB @ np.cbrt(TO_LMS @ np.clip(rgb, 0, 1))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("sight", SIGHT)
def test_every_two_colours_can_be_told_apart(theme, sight):
    """If this fails, two configurations look alike to somebody."""
    seen = {name: oklab(np.array(SIGHT[sight]) @ linear(THEMES[theme][f"{name}Color"])) for name in COLOURS}
    distances = {pair: np.linalg.norm(seen[pair[0]] - seen[pair[1]]) for pair in itertools.combinations(COLOURS, 2)}
    assert min(distances.values()) >= 0.09, min(distances, key=distances.get)


@pytest.mark.parametrize(
    ("theme", "part", "default"),
    [
        ("light", "backgroundColor", "#FFFFFF"),
        ("light", "secondaryBackgroundColor", "#F0F2F6"),
        ("dark", "backgroundColor", None),
        ("dark", "secondaryBackgroundColor", None),
    ],
)
def test_every_colour_stands_out_from_what_is_behind_it(theme, part, default):
    """If this fails, a thin line of a chart, or that beside a configuration's name, is hard to see."""
    background = THEMES[theme].get(part, default)
    for name in COLOURS:
        assert contrast(THEMES[theme][f"{name}Color"], background) >= 3, name
