"""MNIST (LeCun et al. 1998) from its idx files, and a small stand-in for machines that have neither it nor a network.

The stand-in is scikit-learn's copy of the UCI digits: 1,797 images of 8 x 8 pixels. It lets a study run, not be the
published experiment; every table made with it says so (``Digits.note``).
"""

from __future__ import annotations

import functools
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rote.errors import DamagedFileError
from rote.store.files import digest, reading
from rote.tasks.compressed import content
from rote.tasks.digits import DigitImages
from rote.tasks.downloads import Remote, fetch, local

Source = Literal["mnist", "stand-in"]
HOMES = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")
SHA256 = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
FILES = tuple(Remote("mnist", name, HOMES, sha256) for name, sha256 in SHA256.items())
STAND_IN = (
    "Not MNIST but a stand-in, scikit-learn's 1,797 digits of 8 x 8 pixels: MNIST was neither in $ROTE_DATA nor in the "
    "cache and could not be downloaded, or the preset asks for the stand-in. data=mnist asks for MNIST."
)


@dataclass(frozen=True)
class Digits:
    training: DigitImages
    test: DigitImages
    sha256: dict[str, str]  # by file, for the record of a run
    note: str = ""  # what every table made from them must say


def available() -> Source:
    """What is on this machine, without a look at the network."""
    return "mnist" if all(local(file) for file in FILES) else "stand-in"


def download() -> None:
    """MNIST on this machine, or a UsageError that says what was tried."""
    fetch(FILES)


@functools.cache
def load_digits(source: Source) -> Digits:
    return _mnist() if source == "mnist" else _stand_in()


def read_idx(path: Path) -> NDArray[np.uint8]:
    """The array of an idx file of bytes, compressed or not: 0 0 8 n, then n sizes, then the values."""
    with reading(path):
        data = content(path)
    if len(data) < 4 or data[:3] != b"\0\0\x08":
        raise DamagedFileError(f"{path} is not an idx file of bytes: it begins with {data[:4].hex(' ')}. Get it again.")
    axes = data[3]
    sizes = struct.unpack_from(f">{axes}I", data, 4) if len(data) >= 4 + 4 * axes else ()
    expected = 4 + 4 * axes + int(np.prod(sizes, dtype=np.int64))
    if not sizes or len(data) != expected:
        raise DamagedFileError(
            f"{path} is truncated or has something after its end: {len(data)} bytes for the sizes {sizes}, expected "
            f"{expected}. Get it again."
        )
    return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(sizes)


def _mnist() -> Digits:
    paths = fetch(FILES)
    images, labels, test_images, test_labels = (read_idx(path) for path in paths)
    return Digits(_scaled(images, labels, 255), _scaled(test_images, test_labels, 255), dict(SHA256))


def _stand_in() -> Digits:
    from sklearn.datasets import load_digits as bundled

    found = bundled()
    values, labels = found.images.astype(np.uint8), found.target.astype(np.uint8)
    test = np.arange(len(labels)) % 5 == 0
    checksum = digest(values.tobytes() + labels.tobytes())
    parts = (_scaled(values[~test], labels[~test], 16), _scaled(values[test], labels[test], 16))
    return Digits(*parts, {"scikit-learn digits": checksum}, STAND_IN)


def _scaled(images: NDArray[np.uint8], labels: NDArray[np.uint8], white: int) -> DigitImages:
    return DigitImages(images.astype(np.float32) / np.float32(white), labels.astype(np.int64))
