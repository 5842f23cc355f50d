"""The colors of figures keep apart on both papers, and for readers who do not see all colors."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rote.figures.style import CATEGORY, INK, MUTED, NEGATIVE, PAPER, POSITIVE, Theme

# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
SIGHT = {
    "all colors": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
THEMES: tuple[Theme, ...] = ("light", "dark")


def linear(color: str) -> np.ndarray:
    channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ rgb.clip(0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one: str, other: str) -> float:
    dark, light = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) for color in (one, other))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_marks_and_text_stand_out_from_the_paper(theme: Theme) -> None:
    assert min(contrast(color, PAPER[theme]) for color in (*CATEGORY[theme], POSITIVE, NEGATIVE)) >= 3.0
    assert min(contrast(color, PAPER[theme]) for color in (INK[theme], MUTED[theme])) >= 4.5


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", THEMES)
def test_no_two_series_look_alike(theme: Theme, sight: str) -> None:
    seen = [lab(np.array(SIGHT[sight]) @ linear(color)) for color in CATEGORY[theme]]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) >= 20


@pytest.mark.parametrize("sight", SIGHT)
def test_the_two_classes_look_different(sight: str) -> None:
    one, other = (lab(np.array(SIGHT[sight]) @ linear(color)) for color in (POSITIVE, NEGATIVE))
    assert np.linalg.norm(one - other) >= 60
