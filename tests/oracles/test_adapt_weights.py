"""Weights that others have trained, against their own equations in NumPy: g2p_en's letters to phonemes, silero-vad's
listening for speech."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from torch import Tensor, nn

import rote
from rote.models.traced.build import TracedModel
from rote.models.traced.own_forward import OwnForward

WORD, START, END = "phone", 2, 3  # numbers of <s> and </s> among the phonemes
F, OW1, N = 35, 51, 48


@pytest.fixture(scope="module")
def saved() -> dict[str, np.ndarray]:
    spec = importlib.util.find_spec("g2p_en")  # not imported: that would download a dictionary
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return dict(np.load(Path(spec.submodule_search_locations[0]) / "checkpoint20.npz", allow_pickle=False))


def gru(saved: dict[str, np.ndarray], side: str) -> nn.GRU:
    made = nn.GRU(256, 256, batch_first=True)
    for kind in ("weight", "bias"):
        for way in ("ih", "hh"):
            getattr(made, f"{kind}_{way}_l0").data = torch.from_numpy(saved[f"{side}_{kind[0]}_{way}"])
    return made


class Speller(nn.Module):
    def __init__(self, saved: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.letters, self.phonemes = (
            nn.Embedding.from_pretrained(torch.from_numpy(saved[f"{side}_emb"])) for side in ("enc", "dec")
        )
        self.encoder, self.decoder, self.out = gru(saved, "enc"), gru(saved, "dec"), nn.Linear(256, 74)
        self.out.weight.data, self.out.bias.data = torch.from_numpy(saved["fc_w"]), torch.from_numpy(saved["fc_b"])

    def forward(self, letters: Tensor, said: Tensor) -> Tensor:
        return self.out(self.decoder(self.phonemes(said), self.encoder(self.letters(letters))[1])[0])


def in_numpy(saved: dict[str, np.ndarray], letters: list[int], said: list[int]) -> np.ndarray:
    """The logits by the equations of a GRU, written out."""

    def step(side: str, number: int, h: np.ndarray) -> np.ndarray:
        x = saved[f"{side}_emb"][number]
        given = saved[f"{side}_w_ih"] @ x + saved[f"{side}_b_ih"]
        kept = saved[f"{side}_w_hh"] @ h + saved[f"{side}_b_hh"]
        r, z = np.split(1 / (1 + np.exp(-(given[:512] + kept[:512]))), 2)
        return (1 - z) * np.tanh(given[512:] + r * kept[512:]) + z * h

    h = np.zeros(256)
    for number in letters:
        h = step("enc", number, h)
    logits = []
    for number in said:
        h = step("dec", number, h)
        logits.append(saved["fc_w"] @ h + saved["fc_b"])
    return np.array(logits)


def test_phonemes_are_those_of_the_package_and_rest_on_letters(saved: dict[str, np.ndarray]) -> None:
    letters, said = [3 + "abcdefghijklmnopqrstuvwxyz".index(letter) for letter in WORD] + [2], [START, F, OW1, N]
    model = Speller(saved)
    source, target = torch.tensor([letters]), torch.tensor([said])
    adapted = rote.adapt(model, example=(source, target))
    assert isinstance(adapted, OwnForward)
    expected = in_numpy(saved, letters, said)
    assert expected.argmax(1).tolist() == [F, OW1, N, END]
    np.testing.assert_allclose(adapted(source).detach()[0].numpy(), expected, atol=1e-4)
    reach = rote.connectivity(adapted, source, wrt="embedding", norm="signed")
    assert float(reach.error.max()) < 1e-4
    turned = dict(saved)  # gradient times input is the slope of the logit as a letter's vector grows
    for place in (0, 3):
        table = saved["enc_emb"].astype(float)
        slopes = []
        for change in (1e-4, -1e-4):
            extended = np.vstack([table, table[letters[place]] * (1 + change)])
            turned["enc_emb"] = extended
            changed = [len(table) if at == place else number for at, number in enumerate(letters)]
            slopes.append(in_numpy(turned, changed, said)[1, OW1])
        np.testing.assert_allclose(float(reach.values[0, 1, place]), (slopes[0] - slopes[1]) / 2e-4, atol=1e-3)


def test_the_encoder_alone_is_taken_apart(saved: dict[str, np.ndarray]) -> None:
    model = Speller(saved).double()
    letters = torch.tensor([[18, 10, 17, 16, 7, 2]])
    adapted = rote.adapt(nn.Sequential(model.letters, Last(model.encoder)), example=letters)
    assert isinstance(adapted, TracedModel)
    parts = rote.decompose_all(adapted, letters, at=-1)
    with torch.no_grad():
        (state,) = model.encoder(model.letters(letters))[1]
    both = parts.relevant + parts.irrelevant + parts.reference[:, None]
    torch.testing.assert_close(both[0, :, 0], state.expand(parts.spans.shape[1], -1))
    assert float(parts.error.max()) < 1e-9


class Last(nn.Module):
    def __init__(self, rnn: nn.GRU) -> None:
        super().__init__()
        self.rnn = rnn

    def forward(self, vectors: Tensor) -> Tensor:
        return self.rnn(vectors)[1][0]


@pytest.fixture(scope="module")
def heard() -> dict[str, np.ndarray]:
    spec = importlib.util.find_spec("silero_vad")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return load_file(Path(spec.submodule_search_locations[0]) / "data" / "silero_vad_16k.safetensors")


def convolved(frames: np.ndarray, weight: np.ndarray, bias: np.ndarray, stride: int, pad: int) -> np.ndarray:
    """[frame, channel, time]."""
    padded = np.pad(frames, [(0, 0), (0, 0), (pad, pad)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[-1], -1)[:, :, ::stride]
    return np.einsum("nctk,ock->not", windows, weight) + bias[:, None]


def features(heard: dict[str, np.ndarray], sound: np.ndarray) -> np.ndarray:
    """The spectrum and the convolutions of each frame of 512 samples, with 64 of the frame before."""
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(sound, (64, 0)), 576)[::512]
    waves = convolved(
        np.pad(frames, [(0, 0), (0, 64)], "reflect")[:, None], heard["stft_conv.weight"], np.zeros(258), 128, 0
    )
    found = np.sqrt(waves[:, :129] ** 2 + waves[:, 129:] ** 2)
    for number, stride in ((1, 1), (2, 2), (3, 2), (4, 1)):
        weight, bias = heard[f"conv{number}.weight"], heard[f"conv{number}.bias"]
        found = np.maximum(convolved(found, weight, bias, stride, 1), 0)
    return found[:, :, 0]


def listened(heard: dict[str, np.ndarray], vectors: np.ndarray) -> np.ndarray:
    """The logits by the equations of an LSTM, written out."""
    h, c, logits = np.zeros(128), np.zeros(128), []
    weights = {name: heard[f"lstm_cell.{name}"].astype(float) for name in ("weight_ih", "weight_hh")}
    bias = heard["lstm_cell.bias_ih"] + heard["lstm_cell.bias_hh"]
    for x in vectors:
        i, f, g, o = np.split(weights["weight_ih"] @ x + weights["weight_hh"] @ h + bias, 4)
        c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        h = np.tanh(c) / (1 + np.exp(-o))
        logits.append(heard["final_conv.weight"][0, :, 0] @ np.maximum(h, 0) + heard["final_conv.bias"][0])
    return np.array(logits)


class Listener(nn.Module):
    def __init__(self, heard: dict[str, np.ndarray]) -> None:
        super().__init__()
        saved = {name: torch.from_numpy(value) for name, value in heard.items()}
        self.cell, self.out = nn.LSTMCell(128, 128), nn.Linear(128, 1)
        self.cell.load_state_dict({name: saved[f"lstm_cell.{name}"] for name in self.cell.state_dict()})
        self.out.load_state_dict({"weight": saved["final_conv.weight"][:, :, 0], "bias": saved["final_conv.bias"]})

    def forward(self, vectors: Tensor) -> Tensor:
        state, said = None, []
        for vector in vectors.unbind(1):
            state = self.cell(vector, state)
            said.append(self.out(state[0].relu()).sigmoid())
        return torch.stack(said, 1)


def vowel(frames: int, pitch: int = 120) -> np.ndarray:
    time = np.arange(512 * frames) / 16_000
    voice = np.zeros_like(time)
    for k in range(1, 4000 // pitch + 1):
        strength = sum(1 / (1 + ((k * pitch - at) / width) ** 2) for at, width in ((700, 90), (1200, 110), (2600, 160)))
        voice += strength * np.sin(k * (2 * np.pi * pitch * time + 0.3))
    return 0.3 * voice / np.abs(voice).max()


def test_speech_is_heard_as_the_package_hears_it_and_decomposes(heard: dict[str, np.ndarray]) -> None:
    noise = 0.001 * np.random.default_rng(0).normal(size=512 * 10)
    vectors = features(heard, np.concatenate([noise, vowel(8), noise]))
    expected = listened(heard, vectors)
    assert max(expected[5:10]) < -3 < 1 < min(expected[10:13])  # quiet, and then a voice
    model, given = Listener(heard).double(), torch.from_numpy(vectors)[None]
    adapted = rote.adapt(model, example=given)
    assert isinstance(adapted, TracedModel)
    np.testing.assert_allclose(rote.trace(adapted, given).logits[0, :, 0].numpy(), expected, atol=1e-6)
    parts = rote.decompose(adapted, given, spans=[(10, 17)])
    assert float(parts.error.max()) < 1e-10
    assert float(parts.logits()[0, 0, 10, 0]) > 2  # the voice itself makes it speech
    assert not parts.relevant[0, 0, :10].any()


def test_how_far_the_listener_remembers_is_the_slope_of_its_equations(heard: dict[str, np.ndarray]) -> None:
    noise = 0.001 * np.random.default_rng(1).normal(size=512 * 3)
    vectors = features(heard, np.concatenate([noise, vowel(4), noise]))
    reach = rote.connectivity(
        rote.adapt(Listener(heard).double(), example=torch.from_numpy(vectors)[None]),
        torch.from_numpy(vectors)[None], wrt="embedding", norm="signed",
    )  # fmt: skip
    for at, place in ((9, 9), (9, 4), (6, 3)):
        slopes = []
        for change in (1e-4, -1e-4):
            changed = vectors.copy()
            changed[place] *= 1 + change
            slopes.append(listened(heard, changed)[at])
        np.testing.assert_allclose(float(reach.values[0, at, place]), (slopes[0] - slopes[1]) / 2e-4, atol=1e-5)
