"""Weights that others have trained: g2p_en's letters to phonemes, against its own equations in NumPy."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
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
