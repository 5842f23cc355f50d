"""Digit pairs are distributed as source 001 describes; files that are not what they should be are refused."""

from __future__ import annotations

import functools
import gzip
import hashlib
import os
import struct
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests

from rote.errors import DamagedFileError, UsageError
from rote.tasks import downloads, mnist
from rote.tasks.digits import DigitImages, DigitsTask, Pairs, Setting, single_digits
from rote.tasks.downloads import Remote, fetch, local

N = 20_000


def marked(copies: int = 3, height: int = 2, width: int = 3) -> DigitImages:
    """Image number i is filled with i, its class is i modulo 10: a drawn image can be told apart."""
    numbers = np.arange(10 * copies)
    images = np.broadcast_to(numbers[:, None, None], (len(numbers), height, width)).astype(np.float32)
    return DigitImages(images, numbers % 10)


def drawn(setting: Setting, seed: int = 0) -> Pairs:
    return DigitsTask(setting).training(marked(), seed, 0, N)


def shares(values: np.ndarray, classes: int = 10) -> np.ndarray:
    return np.bincount(values, minlength=classes) / len(values)


def test_setting_a_pairs_each_digit_with_itself_or_the_next_equally_often() -> None:
    pairs = drawn("redundant")
    offset = (pairs.right_labels - pairs.labels) % 10
    assert shares(offset)[:2] == pytest.approx([0.5, 0.5], abs=0.02)
    assert set(offset) == {0, 1}
    assert set(pairs.right_labels[pairs.labels == 9]) == {9, 0}  # modulo 10
    assert shares(pairs.labels) == pytest.approx([0.1] * 10, abs=0.01)


def test_setting_b_has_a_right_digit_that_tells_nothing() -> None:
    pairs = drawn("random")
    joint = np.histogram2d(pairs.labels, pairs.right_labels, bins=10)[0] / N
    assert joint == pytest.approx(np.full((10, 10), 0.01), abs=0.003)


@pytest.mark.parametrize("setting", ["redundant", "random"])
def test_the_test_has_only_combinations_that_setting_a_never_shows(setting: Setting) -> None:
    pairs = DigitsTask(setting).held_out(marked(), 0, N)
    offset = (pairs.right_labels - pairs.labels) % 10
    assert shares(offset) == pytest.approx([0, 0] + [1 / 8] * 8, abs=0.01)
    assert np.array_equal(pairs.images, DigitsTask("redundant").held_out(marked(), 0, N).images)


def test_images_belong_to_their_labels_and_all_of_a_class_are_used() -> None:
    """An index off by one, or a class that is drawn from its first image only, would show here."""
    pairs = drawn("random")
    for images, labels in ((pairs.left, pairs.labels), (pairs.right, pairs.right_labels)):
        number = images[:, 0, 0].astype(int)
        assert np.array_equal(number % 10, labels)
        assert shares(number // 10, 3) == pytest.approx([1 / 3] * 3, abs=0.02)


def test_the_class_is_that_of_the_left_half() -> None:
    pairs = drawn("redundant")
    assert pairs.images.shape == (N, 2, 6)
    assert np.array_equal(pairs.images[:, :, :3], pairs.left)
    assert np.array_equal(pairs.images[:, 0, 0].astype(int) % 10, pairs.labels)


def test_settings_share_left_digits_and_seeds_and_steps_do_not() -> None:
    digits = marked()
    one, other = (DigitsTask(setting).training(digits, 3, 7, 50) for setting in ("redundant", "random"))
    assert np.array_equal(one.left, other.left)
    assert np.array_equal(one.labels, other.labels)
    again = DigitsTask("redundant").training(digits, 3, 7, 50)
    assert np.array_equal(one.images, again.images)
    for seed, step in ((3, 8), (4, 7)):
        assert not np.array_equal(one.labels, DigitsTask("redundant").training(digits, seed, step, 50).labels)
    assert not np.array_equal(one.labels, DigitsTask("redundant").seen(digits, 3, 50).labels)


def test_noise_is_added_to_the_right_image_in_training_only() -> None:
    digits = marked(height=20, width=20)
    plain, noisy = (DigitsTask(noise=noise).training(digits, 0, 0, 50) for noise in (0.0, 2.0))
    assert np.array_equal(plain.left, noisy.left)
    assert (noisy.right - plain.right).std() == pytest.approx(2.0, rel=0.03)
    assert np.array_equal(DigitsTask(noise=2.0).seen(digits, 0, 50).images, DigitsTask().seen(digits, 0, 50).images)


def test_images_to_combine_have_every_class_on_either_side_and_differ() -> None:
    left, right = single_digits(marked(copies=50), seed=1, each=4)
    for images in (left, right):
        assert np.array_equal(np.bincount(images[:, 0, 0].astype(int) % 10), [4] * 10)
    assert not np.array_equal(left, right)


def test_shrinking_averages_squares() -> None:
    images = np.arange(10 * 4 * 6, dtype=np.float32).reshape(10, 4, 6)
    small = DigitImages(images, np.arange(10)).shrunk(2)
    assert small.images.shape == (10, 2, 3)
    assert small.images[3, 1, 2] == images[3, 2:, 4:].mean()
    assert DigitImages(images, np.arange(10)).shrunk(9).images is images


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DigitImages(np.zeros((10, 2, 2)), np.arange(10) + 1), r"digits from 0 to 9. Got 10 at image 9"),
        (lambda: DigitImages(np.zeros((10, 2, 2)), np.arange(10) - 3), r"digits from 0 to 9. Got -3 at image 0"),
        (lambda: DigitImages(np.zeros((10, 2, 2)), np.arange(9)), r"one of 'labels' each. Got \(10, 2, 2\)"),
        (lambda: DigitImages(np.zeros((4, 2, 2)), np.array([0, 1, 2, 9])), "none of 3, 4, 5, 6, 7, 8"),
        (lambda: marked(height=4).shrunk(3), "must divide the 4 pixels of an image. Got 3"),
        (lambda: DigitsTask(noise=-1.0), "'noise' must be at least 0"),
    ],
)
def test_wrong_digits_are_refused(make: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


# --- files -------------------------------------------------------------------------------------------------------


def idx(values: np.ndarray) -> bytes:
    return b"\0\0\x08" + bytes([values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


IMAGES = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_idx_files_are_read(pack: Any, tmp_path: Path) -> None:
    (tmp_path / "images").write_bytes(pack(idx(IMAGES)))
    assert np.array_equal(mnist.read_idx(tmp_path / "images"), IMAGES)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            idx(IMAGES)[:-1],
            r"truncated or has something after its end: 39 bytes for the sizes \(2, 3, 4\), expected 40",
        ),
        (idx(IMAGES) + b"\0", "has something after its end: 41 bytes"),
        (idx(IMAGES)[:7], "truncated"),
        (gzip.compress(idx(IMAGES), mtime=0)[:-9], "truncated or damaged"),
        (gzip.compress(idx(IMAGES), mtime=0)[:-8] + b"\0" * 8, "truncated or damaged"),
        (b"<html>not here</html>", "not an idx file of bytes: it begins with 3c 68 74 6d"),
        (b"", "not an idx file"),
        (b"\0\0\x0d\x01" + bytes(8), "not an idx file of bytes: it begins with 00 00 0d 01"),
    ],
)
def test_damaged_idx_files_are_refused(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "images").write_bytes(data)
    with pytest.raises(DamagedFileError, match=message):
        mnist.read_idx(tmp_path / "images")


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Remote:
    """A file that nobody has, an empty cache, and no network."""

    def no_network(*words: Any, **more: Any) -> Any:
        raise requests.ConnectionError("no network")

    monkeypatch.setenv("ROTE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(downloads, "cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(requests, "get", no_network)
    monkeypatch.setattr(requests.Session, "request", no_network)
    return Remote(
        "some", "file", ("https://one.example/", "https://two.example/"), hashlib.sha256(b"right").hexdigest()
    )


def put(root: Path, data: bytes) -> Path:
    path = root / "some" / "file"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_the_mirror_goes_before_the_cache_and_the_cache_before_the_network(remote: Remote, tmp_path: Path) -> None:
    assert local(remote) is None
    with pytest.raises(
        UsageError, match=r"Cannot download file \(https://one.*; https://two.*set ROTE_DATA to a folder"
    ):
        fetch([remote])
    cached = put(tmp_path / "cache", b"right")
    assert fetch([remote]) == [cached]
    mirrored = put(tmp_path / "data", b"right")
    assert fetch([remote]) == [mirrored]


def test_a_download_with_another_checksum_is_refused_and_the_next_home_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROTE_DATA", raising=False)
    monkeypatch.setattr(downloads, "cache", lambda: tmp_path / "cache")
    for folder, data in (("bad", b"wrong"), ("good", b"right")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").write_bytes(data)
    handler = functools.partial(QuietHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        homes = tuple(f"http://127.0.0.1:{server.server_port}/{folder}/" for folder in ("none", "bad", "good"))
        remote = Remote("some", "file", homes, hashlib.sha256(b"right").hexdigest())
        with pytest.raises(UsageError, match=r"none/file: HTTPError; .*bad/file: another checksum"):
            fetch([Remote("some", "file", homes[:2], remote.sha256)])
        assert not (tmp_path / "cache" / "some" / "file").exists()
        (path,) = fetch([remote])
        server.shutdown()
    assert path.read_bytes() == b"right"
    assert local(remote) == path == tmp_path / "cache" / "some" / "file"


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Not on the terminal of the tests."""


def test_an_altered_file_of_the_mirror_is_refused_and_not_passed_over(remote: Remote, tmp_path: Path) -> None:
    put(tmp_path / "cache", b"right")
    put(tmp_path / "data", b"righ")
    with pytest.raises(DamagedFileError, match=r"data/some/file is truncated or altered: 4 bytes"):
        local(remote)


def test_without_mnist_and_network_there_is_the_stand_in_and_it_says_so(remote: Remote) -> None:
    assert mnist.available() == "stand-in"
    with pytest.raises(UsageError, match=r"Cannot download train-images-idx3-ubyte.gz"):
        mnist.download()
    found = mnist.load_digits("stand-in")
    assert "Not MNIST but a stand-in, scikit-learn's" in found.note
    assert found.training.images.shape == (1437, 8, 8)
    assert found.test.images.shape == (360, 8, 8)
    assert found.training.images.max() == found.test.images.max() == 1.0
    assert set(found.sha256) == {"scikit-learn digits"}


def test_mnist_is_what_it_is_known_to_be() -> None:
    if "ROTE_DATA" not in os.environ or mnist.available() != "mnist":
        pytest.skip("MNIST is not in $ROTE_DATA")
    found = mnist.load_digits("mnist")
    assert found.note == ""
    assert np.bincount(found.training.labels).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(found.test.labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert found.training.labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert found.training.images.mean() == pytest.approx(0.1307, abs=1e-4)
    assert found.test.images.shape == (10_000, 28, 28)
