"""Every analysis on every architecture: it works, or says what the model lacks and what to do instead."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import sklearn.linear_model  # noqa: F401  # its first import draws from Python's random state
import torch
from torch import Tensor, nn

import rote
from rote.analyses import Result, analyses
from rote.errors import UsageError
from rote.models import Architecture, TransformerConfig, architectures, capabilities_of
from rote.models.architecture import EVERYTHING
from rote.testing import check_analysis, check_model, untouched

BATCH, TIME = 3, 4
SMALL: dict[str, dict[str, Any]] = {
    "autocomplete": {"units": 4},
    "blocks": {"mixer": "attention", "width": 4, "heads": 2, "longest": 3, "mlp": 5, "tied": True, "cap": 5.0},
    "cnn": {"depths": (2,), "hidden": 4},
    "encoder_decoder": {"hidden": 4, "embedding": 3},
    "language_model": {"embedding": 3, "hidden": 4},
    "mlp": {"hidden": 4, "layers": 2, "activation": "tanh"},
    "text": {"embedding": 3, "hidden": 4, "layers": 2, "bidirectional": True},
    "transformer": {"width": 8, "heads": 2, "feedforward": 8},
    "translator": {"embedding": 3, "hidden": 2},
    "window": {"embedding": 3, "hidden": 4},
    "word_average": {"embedding": 3, "hidden": 4},
}
INPUTS, OUTPUTS = {"autocomplete": 28}, {"cnn": 5}
LABELS = [[position % 2 for position in range(TIME)] for _ in range(BATCH)]


def config_of(name: str) -> Architecture:
    return architectures[name](**SMALL.get(name, {}))


def built(name: str, seed: int = 0, dtype: torch.dtype = torch.float64) -> nn.Module:
    return config_of(name).build(INPUTS.get(name, 6), OUTPUTS.get(name), seed=seed, dtype=dtype)


def inputs_of(name: str, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    match architectures[name].reads:
        case "vectors":
            return torch.randn(BATCH, TIME, 6, generator=generator, dtype=dtype)
        case "images":
            return torch.randn(BATCH, 6, 6, generator=generator, dtype=dtype)
    return torch.randint(2, 6, (BATCH, TIME), generator=generator)


def last_logits(model: Any) -> Callable[[Tensor, Tensor], Tensor]:
    def answer(first: Tensor, rest: Tensor) -> Tensor:
        logits: Tensor = model(torch.cat([first, rest], 1))
        return logits[:, -1] if logits.dim() == 3 else logits

    return answer


def of_information(model: Any, x: Tensor) -> Result:
    asked = last_logits(model) if "logits" in capabilities_of(model) else model
    return rote.information((x[:, :1], x[:, 1:]), asked, gradients=2)


def matrix_of(model: nn.Module) -> Tensor:
    return next(weight for weight in model.parameters() if weight.dim() > 1).detach().flatten(0, -2)


def seen(model: Any, x: Tensor) -> Any:
    """The trace of a model, or itself where it has none: the analysis then has to say so."""
    return rote.trace(model, x) if "states" in capabilities_of(model) else model


def hidden(model: Any, x: Tensor) -> Any:
    found = seen(model, x)
    return found if found is model else list(found.hidden.values())[-1]


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    first = torch.zeros(*x.shape[:1], 1, x.shape[1], dtype=torch.bool)
    second = first.clone()
    first[..., 0], second[..., 1:] = True, True
    return first, second


CALLS: Mapping[str, Callable[[Any, Tensor], Result]] = {
    "activation_distribution": lambda model, x: rote.activation_distribution(seen(model, x)),
    "attribute": lambda model, x: rote.attribute(model, x, "two"),
    "cluster": lambda model, x: rote.cluster(seen(model, x), LABELS),
    "connectivity": rote.connectivity,
    "decompose": lambda model, x: rote.decompose(model, x, [(1, 2)]),
    "decompose_all": rote.decompose_all,
    "diagnose": lambda model, x: rote.diagnose(hidden(model, x), LABELS, splits=2, iterations=20),
    "erase": rote.erase,
    "gate_saturation": lambda model, x: rote.gate_saturation(seen(model, x)),
    "gradient_flow": lambda model, x: rote.gradient_flow(model, x, 2),
    "information": of_information,
    "interdependence": lambda model, x: rote.interdependence(model, x, *halves(x)),
    "neuron_graph": lambda model, x: rote.neuron_graph(matrix_of(model)),
    "shapley": rote.shapley,
    "suggest": lambda model, x: rote.suggest(model, "a b"),
    "trace": rote.trace,
    "weight_map": lambda model, x: rote.weight_map(matrix_of(model)),
}


def test_every_analysis_and_every_architecture_is_asked() -> None:
    assert set(CALLS) == {entry.name for entry in analyses.entries() if not entry.outside}
    assert set(SMALL) == {entry.name for entry in architectures.entries() if not entry.outside}  # other tests add some


@pytest.mark.parametrize("name", sorted(analyses))
def test_every_analysis_says_what_it_needs(name: str) -> None:
    assert analyses[name].needs in (*EVERYTHING, None)


@pytest.mark.parametrize("architecture", sorted(architectures))
def test_a_built_network_can_do_what_its_architecture_says(architecture: str) -> None:
    model = built(architecture)
    assert capabilities_of(model) == architectures[architecture].capabilities
    assert {weight.dtype for weight in model.parameters()} == {torch.float64}
    assert all(weight.requires_grad for weight in model.parameters()), "it could not be trained as a whole"
    if "arithmetic" in capabilities_of(model):
        check_model(model)  # type: ignore[arg-type]


@pytest.mark.parametrize("architecture", sorted(architectures))
def test_a_seed_is_one_network_in_either_precision_and_leaves_no_trace(architecture: str) -> None:
    with untouched():
        first, again, other = built(architecture, 3), built(architecture, 3), built(architecture, 4)
    single = built(architecture, 3, torch.float32)
    assert any(not torch.equal(a, b) for a, b in zip(first.parameters(), other.parameters(), strict=True))
    for name, weight in first.named_parameters():
        assert torch.equal(weight, again.get_parameter(name)), name
        assert torch.equal(weight.float(), single.get_parameter(name)), name


@pytest.mark.parametrize("architecture", sorted(architectures))
@pytest.mark.parametrize("name", sorted(analyses))
def test_an_analysis_works_or_says_what_is_lacking_and_what_to_do(name: str, architecture: str) -> None:
    model, x = built(architecture), inputs_of(architecture)
    needed = analyses[name].needs
    with untouched(model):
        if name == "suggest" and architecture != "autocomplete":
            with pytest.raises(UsageError, match=r"rote\.suggest needs an AutocompleteModel.*load_autocomplete"):
                CALLS[name](model, x)
        elif needed is None or needed in architectures[architecture].capabilities:
            assert isinstance(CALLS[name](model, x), Result)
        else:
            with pytest.raises(UsageError) as error:
                CALLS[name](model, x)
            said = str(error.value)
            assert said.startswith(f"rote.{name} needs {needed!r} of a model: ")
            assert f"{type(model).__name__} has " in said
            assert re.search(r"rote\.connectivity|Give (one of its parts|a function)", said), said
            assert "\n" not in said


def test_a_causal_transformer_never_depends_on_what_comes_later() -> None:
    model, tokens = built("transformer"), inputs_of("transformer")
    found = check_analysis(rote.connectivity, model, tokens)
    assert isinstance(found, rote.analyses.Connectivity)
    assert float(found.values.triu(1).abs().max()) == 0.0
    assert bool((found.values.diagonal(dim1=1, dim2=2) > 0).all())
    assert float(found.error.max()) < 1e-11
    embedding = model.get_submodule("embedding").weight  # type: ignore[union-attr]
    vectors = nn.functional.embedding(tokens[:1], embedding).detach().requires_grad_()  # type: ignore[arg-type]
    values = vectors + model.positions[:TIME]  # type: ignore[operator,index]
    for layer in model.layers:  # type: ignore[union-attr]
        values = layer(values, torch.full((TIME, TIME), -torch.inf, dtype=torch.float64).triu(1))
    logits = model.readout(model.norm(values))[0]  # type: ignore[operator]
    for step in range(TIME):
        (gradient,) = torch.autograd.grad(logits[step, int(found.targets[0, step])], vectors, retain_graph=True)
        expected = (gradient[0] @ embedding.T).norm(dim=-1)  # type: ignore[union-attr]
        torch.testing.assert_close(found.values[0, step], expected.detach(), rtol=0, atol=1e-12)


def test_a_transformers_settings_are_checked_where_they_are_given() -> None:
    with pytest.raises(UsageError, match=r"'width' must be a multiple of the 3 heads. Got 8"):
        TransformerConfig(width=8, heads=3)
    with pytest.raises(UsageError, match=r"predicts the symbols that it reads.* 6 inputs and 7 outputs"):
        config_of("transformer").build(6, 7)
    with pytest.raises(UsageError, match=r"at most 4 steps \('longest'\). Got 5"):
        TransformerConfig(width=8, longest=4).build(6)(torch.zeros(1, 5, dtype=torch.long))
    with pytest.raises(UsageError, match=r"'inputs' of TransformerConfig.build\(\) must be at least 1. Got 0"):
        config_of("transformer").build(0)


def test_all_layers_of_a_transformer_begin_apart() -> None:
    """nn.TransformerEncoder would copy one layer."""
    first, second = built("transformer").get_submodule("layers").children()
    assert not torch.equal(first.linear1.weight, second.linear1.weight)  # type: ignore[union-attr,arg-type]


class Watched(nn.Module):
    """A model of a user with states, but without steps in the arithmetic."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.gru, self.readout = nn.Embedding(6, 3), nn.GRU(3, 5, batch_first=True), nn.Linear(5, 6)
        self.drop = nn.Dropout(0.5)

    def layer_states(self, tokens: Tensor) -> dict[int, dict[str, Tensor]]:
        return {0: {"hidden": self.drop(self.gru(self.embedding(tokens))[0])}}

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.readout(self.layer_states(tokens)[0]["hidden"])
        return logits


def test_a_model_with_states_alone_is_traced_and_its_states_are_diagnosed_and_clustered() -> None:
    torch.manual_seed(0)
    model, tokens = Watched().double(), inputs_of("transformer")
    assert capabilities_of(model) == ("logits", "states")
    lengths = [4, 2, 3]
    found = check_analysis(rote.trace, model, tokens, lengths=lengths)
    same = rote.adapt(recurrent=model.gru, embedding=model.embedding, readout=model.readout)
    expected = rote.trace(same, tokens, lengths=lengths)
    assert isinstance(found, rote.analyses.Trace)
    torch.testing.assert_close(found.hidden[0], expected.hidden[0], rtol=0, atol=1e-14)
    torch.testing.assert_close(found.logits * found.mask[..., None], expected.logits * found.mask[..., None])
    assert torch.equal(found.mask, expected.mask)
    labels = [row[:length] for row, length in zip(LABELS, lengths, strict=True)]
    for result in (rote.cluster(found, labels), rote.activation_distribution(found)):
        assert result.to_table().rows
    with pytest.raises(UsageError, match="nor has a model of which only states are known"):
        rote.gate_saturation(found)
    with pytest.raises(
        UsageError, match=r"rote\.decompose needs 'arithmetic' .* Watched has only 'logits' and 'states'"
    ):
        rote.decompose(model, tokens, [(0, 1)])
    with pytest.raises(UsageError, match=r"'trace' must be .* Give rote.trace\(model, tokens\)"):
        rote.cluster(model, labels)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"'initial' is for models that rote\.adapt gives"):
        rote.trace(model, tokens, initial=torch.zeros(1, 3, 5))


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (None, r"must give \{layer: \{name: states\}\} with a state 'hidden' in every layer. Got None"),
        ({0: {"memory": torch.zeros(3, 4, 2)}}, "with a state 'hidden' in every layer"),
        (
            {0: {"hidden": torch.zeros(4, 3, 2)}},
            r"\[batch=3, time=4, unit\]. Got torch.float32 \(4, 3, 2\) for 'hidden'",
        ),
    ],
)
def test_states_that_are_not_what_they_should_be_are_refused(states: Any, message: str) -> None:
    model = Watched()
    model.layer_states = lambda tokens: states  # type: ignore[method-assign]
    with pytest.raises(UsageError, match=message):
        rote.trace(model, inputs_of("transformer"))


def test_an_architecture_of_ones_own_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(architectures, "_registered", dict(architectures._registered))
    monkeypatch.setattr(architectures, "_loaded", dict(architectures._loaded))

    @architectures.register("bag_of_tests")
    @dataclass(frozen=True)
    class Bag(Architecture):
        """Symbols one by one."""

        capabilities = ("logits",)
        width: int = 3

        def make(self, inputs: int, outputs: int, seed: int, dtype: torch.dtype) -> nn.Module:
            return nn.Sequential(nn.Embedding(inputs, self.width), nn.Linear(self.width, outputs)).to(dtype)

    assert "bag_of_tests" in architectures
    model = architectures["bag_of_tests"]().build(6, dtype=torch.float64)
    found = rote.connectivity(model, inputs_of("transformer"))
    assert bool((found.values == found.values * torch.eye(TIME)).all())  # a symbol moves its own output alone


def test_architectures_are_listed_and_read_without_torch() -> None:
    script = (
        "import sys; from rote.cli import main; code = main(['list', 'architectures', '--json'])\n"
        "from rote.models import architectures, MLPConfig; assert architectures['mlp'] is MLPConfig\n"
        "assert 'torch' not in sys.modules; sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    listed = {row["name"]: row["about"] for row in json.loads(done.stdout)}
    assert set(listed) == set(SMALL)
    assert listed["transformer"].startswith("Causal transformer")
