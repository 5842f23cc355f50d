"""A field of numbers as a small PNG: what a heat map of a dense grid costs in a page.

A 41x41 grid is 1,681 marks as rectangles and a few hundred bytes as an image. Indexed colors with transparency
(PNG specification, sections 11.2 and 11.3), so that the paper shows through.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np

from rote.figures.style import Rgba

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def encode(indices: np.ndarray, palette: Sequence[Rgba]) -> bytes:
    """The PNG file of ``indices`` [row, column], top row first, into ``palette`` (at most 256 colors)."""
    height, width = indices.shape
    if not 1 <= len(palette) <= 256:
        raise ValueError(f"A PNG palette holds 1 to 256 colors. Got {len(palette)}.")
    if indices.min() < 0 or indices.max() >= len(palette):
        raise ValueError(f"Indices must lie in 0..{len(palette) - 1}. Got {indices.min()}..{indices.max()}.")
    colors = bytes(channel for color in palette for channel in color[:3])
    alphas = bytes(round(255 * color[3]) for color in palette)
    # Each row starts with its filter type: 0, none.
    rows = np.zeros((height, width + 1), dtype=np.uint8)
    rows[:, 1:] = indices
    return b"".join(
        (
            _SIGNATURE,
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", colors),
            _chunk(b"tRNS", alphas),
            _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
            _chunk(b"IEND", b""),
        )
    )


def data_uri(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
