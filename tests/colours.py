"""The colours of the themes, and how much two differ in brightness."""

import tomllib
from pathlib import Path

import numpy as np

THEMES = tomllib.loads((Path(__file__).parents[1] / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
COLOURS = ("blue", "orange", "green", "violet", "red", "gray")  # of configurations
LUMINANCE = (0.2126, 0.7152, 0.0722)


def linear(colour: str) -> np.ndarray:
    """The linear RGB, from 0 to 1, of a colour such as #3E59DC."""
    srgb = np.array([int(colour[index : index + 2], 16) for index in (1, 3, 5)]) / 255
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG has it."""
    return LUMINANCE @ linear(colour)


def contrast(one: str, other: str) -> float:
    """How many times brighter the brighter one is, as WCAG has it."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)
